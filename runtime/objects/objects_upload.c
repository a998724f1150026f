/*
 * Sending an object: its bytes are gathered, and go as one request, or, if they are more than a
 * part, in parts of equal size, which the last request makes one object. Until then nobody sees it.
 * An upload whose end was lost is dropped by a sweep.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/fetch/fetch_list.h"
#include "runtime/memory.h"
#include "runtime/objects/objects_inside.h"
#include "schemas/codec/error.h"

#define COMPLETE_BEGIN "<CompleteMultipartUpload>"
#define COMPLETE_END "</CompleteMultipartUpload>"

struct upload {
    struct tri_blob_upload base; /* stays first */
    struct tri_objects *objects;
    char key[TRI_OBJECTS_KEY_BYTES];
    char number[3 * TR_OBJECT_UPLOAD_BYTES_MAX]; /* of the upload in parts, encoded; "": none yet */
    unsigned parts;
    struct tri_buffer bytes; /* gathered */
    struct tri_buffer list;  /* what completes it: the parts */
};

static struct tri_objects_request request_of(const struct upload *upload, const char *method,
                                             const char *query)
{
    return (struct tri_objects_request){.objects = upload->objects,
                                        .call = upload->base.call,
                                        .method = method,
                                        .key = tr_text_of(upload->key),
                                        .query = query,
                                        .descriptor = -1};
}

static struct tr_bytes bytes_of(const struct tri_buffer *buffer)
{
    return (struct tr_bytes){.data = tri_buffer_front(buffer), .size = tri_buffer_size(buffer)};
}

int tri_objects_begin(struct tri_blob_remote *remote, struct tri_blob_call *call, const char *name,
                      struct tri_blob_upload **out)
{
    struct upload *upload = tr_alloc_zero(1, sizeof *upload);
    if (upload == NULL) {
        return TR_MEMORY;
    }
    upload->base.call = call;
    upload->objects = (struct tri_objects *)remote;
    (void)tri_objects_key(upload->objects, name, upload->key);
    *out = &upload->base;
    return 0;
}

/* ---- Parts. --------------------------------------------------------------------------------- */

/* Keeps the number of an upload, encoded for queries. */
static int take_number(struct upload *upload, const struct tri_objects_request *request,
                       const struct tri_objects_answer *answer)
{
    struct tri_buffer encoded = {0};
    struct tr_text number;
    size_t at = 0;
    bool is_found = tri_fetch_find_element(bytes_of(&answer->body), &at, "UploadId", &number) &&
                    number.size > 0 && number.size <= TR_OBJECT_UPLOAD_BYTES_MAX;
    if (!is_found) {
        return tri_objects_fail_malformed(request, "names no upload");
    }
    int error = tri_fetch_location_encode(number, &encoded);
    if (error == 0) {
        snprintf(upload->number, sizeof upload->number, "%.*s", (int)tri_buffer_size(&encoded),
                 (const char *)tri_buffer_front(&encoded));
    }
    tri_buffer_fini(&encoded);
    return error;
}

static int begin_parts(struct upload *upload)
{
    struct tri_objects_answer answer = {.status = 0};
    const struct tri_objects_request request = request_of(upload, "POST", "uploads=");
    int error = tri_objects_ask(&request, 0, &answer);
    if (error == 0) {
        error = take_number(upload, &request, &answer);
    }
    tri_buffer_fini(&answer.body);
    return error;
}

/* Adds a part to the list that completes the upload. */
static int note_part(struct upload *upload, const char *tag)
{
    char line[TR_OBJECT_TAG_BYTES_MAX + 100];
    int size =
        snprintf(line, sizeof line, "%s<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>",
                 upload->parts == 1 ? COMPLETE_BEGIN : "", upload->parts, tag);
    return tri_buffer_append(&upload->list, line, (size_t)size);
}

/* Sends what is gathered as the next part. */
static int send_part(struct upload *upload)
{
    char query[sizeof upload->number + 64];
    struct tri_objects_answer answer = {.status = 0};
    int error = upload->number[0] != '\0' ? 0 : begin_parts(upload);
    if (error != 0) {
        return error;
    }
    snprintf(query, sizeof query, "partNumber=%u&uploadId=%s", upload->parts + 1, upload->number);
    struct tri_objects_request request = request_of(upload, "PUT", query);
    request.body = bytes_of(&upload->bytes);
    error = tri_objects_ask(&request, 0, &answer);
    if (error == 0 && answer.tag[0] == '\0') {
        error = tri_objects_fail_malformed(&request, "has no ETag of a part");
    }
    if (error == 0) {
        upload->parts++;
        error = note_part(upload, answer.tag);
        tri_buffer_clear(&upload->bytes);
    }
    tri_buffer_fini(&answer.body);
    return error;
}

static int fail_too_large(const struct upload *upload)
{
    snprintf(upload->base.call->words, sizeof upload->base.call->words,
             "%.300s: it has more bytes than TR_OBJECT_BYTES_MAX (%llu); keep it in several files",
             upload->key, (unsigned long long)TR_OBJECT_BYTES_MAX);
    return TR_LIMIT;
}

int tri_objects_add(struct tri_blob_upload *base, struct tr_bytes bytes)
{
    struct upload *upload = (struct upload *)base;
    int error = 0;
    while (error == 0 && bytes.size > 0) {
        size_t room = TR_OBJECT_PART_BYTES - tri_buffer_size(&upload->bytes);
        size_t taken = bytes.size < room ? bytes.size : room;
        if (room == 0) {
            error = upload->parts + 1 < TR_OBJECT_PARTS_MAX ? send_part(upload)
                                                            : fail_too_large(upload);
        } else {
            error = tri_buffer_append(&upload->bytes, bytes.data, taken);
            bytes.data += taken;
            bytes.size -= taken;
        }
    }
    return error;
}

/* ---- The end. ------------------------------------------------------------------------------- */

/* Sends all in one request. */
static int send_whole(struct upload *upload)
{
    struct tri_objects_answer answer = {.status = 0};
    struct tri_objects_request request = request_of(upload, "PUT", NULL);
    request.body = bytes_of(&upload->bytes);
    int error = tri_objects_ask(&request, 0, &answer);
    tri_buffer_fini(&answer.body);
    return error;
}

/* Whether the object is there: the answer of an earlier try that completed it may be lost. */
static int check_there(const struct upload *upload)
{
    struct tri_objects_answer answer = {.status = 0};
    const struct tri_objects_request request = request_of(upload, "HEAD", NULL);
    int error = tri_objects_ask(&request, 0, &answer);
    tri_buffer_fini(&answer.body);
    return error;
}

/*
 * Makes the parts one object. A server may say so (200) before it has done it, and then tell an
 * error after all.
 */
static int complete(struct upload *upload)
{
    char query[sizeof upload->number + 16];
    struct tri_objects_answer answer = {.status = 0};
    int error = tri_buffer_append(&upload->list, COMPLETE_END, strlen(COMPLETE_END));
    if (error != 0) {
        return error;
    }
    snprintf(query, sizeof query, "uploadId=%s", upload->number);
    struct tri_objects_request request = request_of(upload, "POST", query);
    request.body = bytes_of(&upload->list);
    error = tri_objects_ask(&request, 0, &answer);
    if (error == TR_NOT_FOUND && answer.was_repeated) {
        error = check_there(upload);
    } else if (error == 0 && tri_fetch_error_code(bytes_of(&answer.body)).size > 0) {
        error = tri_objects_fail_malformed(&request, "is an error of a success");
        error = error == TR_MALFORMED ? TR_NO_CONNECTION : error;
    }
    tri_buffer_fini(&answer.body);
    return error;
}

static int drop(struct tri_objects *objects, struct tri_blob_call *call, const char *key,
                const char *number)
{
    char query[3 * TR_OBJECT_UPLOAD_BYTES_MAX + 16];
    struct tri_objects_answer answer = {.status = 0};
    snprintf(query, sizeof query, "uploadId=%s", number);
    const struct tri_objects_request request = {.objects = objects,
                                                .call = call,
                                                .method = "DELETE",
                                                .key = tr_text_of(key),
                                                .query = query,
                                                .descriptor = -1};
    int error = tri_objects_ask(&request, 404, &answer);
    tri_buffer_fini(&answer.body);
    return error;
}

/* Drops the parts; the words of what went wrong stay. */
static void abandon(struct upload *upload)
{
    struct tri_blob_call *call = upload->base.call;
    char words[TR_BLOB_WORDS_BYTES_MAX];
    memcpy(words, call->words, sizeof words);
    if (upload->number[0] != '\0') {
        (void)!drop(upload->objects, call, upload->key, upload->number); /* else a sweep does */
    }
    memcpy(call->words, words, sizeof words);
}

int tri_objects_end(struct tri_blob_upload *base, bool is_whole)
{
    struct upload *upload = (struct upload *)base;
    bool has_parts = upload->number[0] != '\0';
    int error = 0;
    if (is_whole) {
        error = !has_parts ? send_whole(upload) : send_part(upload);
        if (error == 0 && has_parts) {
            error = complete(upload);
        }
    }
    if (!is_whole || error != 0) {
        abandon(upload);
    }
    tri_buffer_fini(&upload->bytes);
    tri_buffer_fini(&upload->list);
    tr_free(upload);
    return error;
}

/* ---- What never ended. ---------------------------------------------------------------------- */

/* Drops one of a list of uploads, if it is old. */
static int drop_listed(struct tri_objects *objects, struct tri_blob_call *call,
                       struct tr_text listed, uint64_t before_ms)
{
    const struct tr_bytes xml = {(const uint8_t *)listed.data, listed.size};
    struct tri_buffer texts = {0};
    struct tr_text key;
    struct tr_text number;
    struct tr_text begun;
    size_t at[3] = {0};
    bool is_whole = tri_fetch_find_element(xml, &at[0], "Key", &key) &&
                    tri_fetch_find_element(xml, &at[1], "UploadId", &number) &&
                    tri_fetch_find_element(xml, &at[2], "Initiated", &begun);
    if (!is_whole || number.size > TR_OBJECT_UPLOAD_BYTES_MAX ||
        tri_fetch_moment_ms(begun) > before_ms) {
        return 0;
    }
    int error = tri_fetch_add_text(&texts, key);
    if (error == 0) {
        error = tri_buffer_append(&texts, "", 1);
    }
    size_t key_size = tri_buffer_size(&texts);
    if (error == 0) {
        error = tri_fetch_location_encode(number, &texts);
    }
    if (error == 0) {
        error = tri_buffer_append(&texts, "", 1);
    }
    if (error == 0) {
        const char *text = (const char *)tri_buffer_front(&texts);
        error = drop(objects, call, text, text + key_size);
    }
    tri_buffer_fini(&texts);
    return error == TR_MALFORMED ? 0 : error;
}

int tri_objects_drop_uploads(struct tri_objects *objects, struct tri_blob_call *call,
                             uint64_t before_ms)
{
    char key[TRI_OBJECTS_KEY_BYTES];
    struct tri_buffer query = {0};
    struct tri_objects_answer answer = {.status = 0};
    struct tr_text listed;
    size_t at = 0;
    int error = tri_buffer_append(&query, "prefix=", strlen("prefix="));
    if (error == 0) {
        error = tri_fetch_location_encode(tri_objects_key(objects, "", key), &query);
    }
    if (error == 0) {
        error = tri_buffer_append(&query, "&uploads=", sizeof "&uploads=");
    }
    const struct tri_objects_request request = {.objects = objects,
                                                .call = call,
                                                .method = "GET",
                                                .query = (const char *)tri_buffer_front(&query),
                                                .descriptor = -1};
    if (error == 0) {
        error = tri_objects_ask(&request, 0, &answer);
    }
    while (error == 0 && tri_fetch_find_element(bytes_of(&answer.body), &at, "Upload", &listed)) {
        error = drop_listed(objects, call, listed, before_ms);
    }
    tri_buffer_fini(&answer.body);
    tri_buffer_fini(&query);
    return error;
}
