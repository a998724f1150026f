/*
 * Requests of a download and their results, on the http thread.
 *
 * A part is a growing file. An interrupted one is requested from its end on (Range), on the
 * condition that the object has not changed (If-Range): otherwise the server sends the whole
 * object. The file of a single object is named by its tag, so after a crash the name holds the
 * condition; without a tag it starts from the beginning.
 *
 * The first error cancels the other requests; the download is returned after the last one has
 * ended, when nothing is written to it any more.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/env/clock.h"
#include "runtime/fetch/fetch_inside.h"
#include "schemas/codec/error.h"

/* Prefix of a part's file name with its tag in hexadecimal, and the name without one. */
#define TAGGED "tag-"
#define UNTAGGED "part"

#define LINE_BYTES (TR_FETCH_TAG_BYTES_MAX + 40)

int tri_fetch_fail(struct tri_fetch *fetch, int error, const char *format, ...)
{
    if (fetch->error == 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(fetch->words, sizeof fetch->words, format, arguments);
        va_end(arguments);
        fetch->error = error;
    }
    return fetch->error;
}

/* ---- Asking. -------------------------------------------------------------------------------- */

struct tri_fetch_request *tri_fetch_free_request(struct tri_fetch *fetch)
{
    for (size_t i = 0; i < TR_COUNT_OF(fetch->requests); i++) {
        struct tri_fetch_request *request = &fetch->requests[i];
        if (!request->is_used) {
            struct tri_buffer url = request->url;
            tri_buffer_clear(&url);
            *request = (struct tri_fetch_request){
                .fetch = fetch, .url = url, .wanted = TRI_FETCH_SIZE_NONE, .fd = -1};
            return request;
        }
    }
    return NULL;
}

int tri_fetch_submit(struct tri_fetch_request *request, const struct tr_text *headers, size_t count)
{
    struct tri_fetch *fetch = request->fetch;
    const struct tri_fetch_location *location = &fetch->location;
    bool has_secret = tri_fetch_location_has_secret(location);
    uint32_t idle_ms = fetch->fetches->options.idle_ms;
    struct tri_http_request http = {
        .id = (uint64_t)(uintptr_t)request,
        .method = tr_text_of("GET"),
        .url = tr_text_of((const char *)tri_buffer_front(&request->url)),
        .headers = headers,
        .header_count = count,
        .secrets = has_secret ? &location->store->secret : NULL,
        .secret_count = has_secret ? 1 : 0,
        .aws_region = location->region,
        .aws_service = tr_text_of("s3"),
        .idle_timeout_ms = idle_ms != 0 ? idle_ms : TR_FETCH_IDLE_MS,
        .delivery = request->is_page ? TRI_HTTP_WHOLE : TRI_HTTP_CHUNKS,
        .response_bytes_max = TR_FETCH_PAGE_BYTES_MAX,
        .ca_file = location->store != NULL ? location->store->ca_file : (struct tr_text){0},
        .is_proxied = true,
        .redirects_max = has_secret ? 0 : TR_FETCH_REDIRECTS_MAX,
    };
    tri_blob_parts_renew(fetch->parts);
    request->renewed_ms = tri_monotonic_ms();
    /* After it is submitted the http thread may have ended it, and with it the whole download. */
    request->is_used = true;
    fetch->under_way++;
    int error = tri_http_submit(fetch->fetches->http, &http);
    if (error != 0) {
        request->is_used = false;
        fetch->under_way--;
        return tri_fetch_fail(fetch, error, "it cannot be requested: %s", tr_error_text(error));
    }
    return 0;
}

static struct tr_text header_line(char line[LINE_BYTES], const char *name, const char *value)
{
    snprintf(line, LINE_BYTES, "%s: %s", name, value);
    return tr_text_of(line);
}

/* The tag in a part's name; false: none. */
static bool tag_in(const char *entry, char tag[TR_FETCH_TAG_BYTES_MAX + 1])
{
    size_t size = 0;
    size_t head = strlen(TAGGED);
    bool is_tagged = strncmp(entry, TAGGED, head) == 0 &&
                     sodium_hex2bin((uint8_t *)tag, TR_FETCH_TAG_BYTES_MAX, entry + head,
                                    strlen(entry + head), NULL, &size, NULL) == 0;
    tag[is_tagged ? size : 0] = '\0';
    return is_tagged && size > 0;
}

static bool part_size(const struct tri_fetch *fetch, const char *entry, uint64_t *size)
{
    struct stat status;
    bool is_there = fstatat(fetch->parts, entry, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISREG(status.st_mode) && status.st_size > 0;
    *size = is_there ? (uint64_t)status.st_size : 0;
    return is_there;
}

/* Finds the part of an earlier engine, or of an interrupted answer. */
static void find_part(struct tri_fetch_request *request, char tag[TR_FETCH_TAG_BYTES_MAX + 1])
{
    struct tri_fetch *fetch = request->fetch;
    int copy = openat(fetch->parts, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    while (folder != NULL && request->offset == 0 && (entry = readdir(folder)) != NULL) {
        if (tag_in(entry->d_name, tag) && part_size(fetch, entry->d_name, &request->offset)) {
            snprintf(request->entry, sizeof request->entry, "%s", entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    } else if (copy >= 0) {
        close(copy);
    }
}

static int ask_file(struct tri_fetch_request *request, const char *tag)
{
    const struct tri_fetch *fetch = request->fetch;
    const struct tri_fetch_cached *known = &fetch->cached;
    char lines[4][LINE_BYTES];
    char range[32];
    struct tr_text headers[4];
    size_t count = 0;
    bool is_known = known->blob.uri[0] != '\0';
    if (is_known && known->tag[0] != '\0') {
        headers[count] = header_line(lines[count], "If-None-Match", known->tag);
        count++;
    } else if (is_known && known->modified[0] != '\0') {
        headers[count] = header_line(lines[count], "If-Modified-Since", known->modified);
        count++;
    }
    if (request->offset > 0) {
        snprintf(range, sizeof range, "bytes=%llu-", (unsigned long long)request->offset);
        headers[count] = header_line(lines[count], "Range", range);
        count++;
        headers[count] = header_line(lines[count], "If-Range", tag);
        count++;
    }
    return tri_fetch_submit(request, headers, count);
}

int tri_fetch_ask_file(struct tri_fetch *fetch)
{
    char tag[TR_FETCH_TAG_BYTES_MAX + 1];
    struct tri_fetch_request *request = tri_fetch_free_request(fetch);
    if (fetch->location.bucket.size > 0 && fetch->location.key.size == 0) {
        return tri_fetch_fail(fetch, TR_INVALID, "it names a bucket but no object");
    }
    int error = tri_fetch_location_url(&fetch->location, fetch->location.key, &request->url);
    if (error == 0) {
        error = tri_buffer_append(&request->url, "", 1);
    }
    if (error != 0) {
        return tri_fetch_fail(fetch, error, "%s", tr_error_text(error));
    }
    find_part(request, tag);
    return ask_file(request, tag);
}

/* ---- Parts. --------------------------------------------------------------------------------- */

/* Copies a header that is used as validator. */
static void take_header(const struct tri_http_event *event, const char *name,
                        char value[TR_FETCH_TAG_BYTES_MAX + 1])
{
    struct tr_text text = tri_http_header(event->headers, name);
    bool fits = text.size <= TR_FETCH_TAG_BYTES_MAX;
    snprintf(value, TR_FETCH_TAG_BYTES_MAX + 1, "%.*s", fits ? (int)text.size : 0, text.data);
}

/* Names the file by its tag. A weak tag does not guarantee equal bytes. */
static void name_entry(struct tri_fetch_request *request)
{
    const char *tag = request->fetch->found.tag;
    bool is_strong = tag[0] == '"';
    snprintf(request->entry, sizeof request->entry, "%s", is_strong ? TAGGED : UNTAGGED);
    if (is_strong) {
        size_t head = strlen(TAGGED);
        sodium_bin2hex(request->entry + head, sizeof request->entry - head, (const uint8_t *)tag,
                       strlen(tag));
    }
}

static uint64_t number_at(struct tr_text text)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        number = number > UINT64_MAX / 16 ? number : number * 10 + (uint64_t)(text.data[i] - '0');
    }
    return number;
}

/* Whether the answer begins at the end of the part: Content-Range: bytes FIRST-LAST/ALL. */
static bool is_range_of(const struct tri_http_event *event, uint64_t offset)
{
    static const char unit[] = "bytes ";
    struct tr_text range = tri_http_header(event->headers, "Content-Range");
    if (range.size < sizeof unit || memcmp(range.data, unit, sizeof unit - 1) != 0) {
        return false;
    }
    return number_at((struct tr_text){range.data + sizeof unit - 1,
                                      range.size - (sizeof unit - 1)}) == offset;
}

static int fail_too_large(struct tri_fetch *fetch, uint64_t size)
{
    return tri_fetch_fail(fetch, TR_LIMIT,
                          "it has %llu bytes or more, and TR_BLOB_FETCH_BYTES_MAX is %llu",
                          (unsigned long long)size, (unsigned long long)TR_BLOB_FETCH_BYTES_MAX);
}

static int fail_system(struct tri_fetch *fetch)
{
    int error = tri_below_error();
    return tri_fetch_fail(fetch, error, "it cannot be written into the store: %s", strerror(errno));
}

/* Handles the first bytes of an answer: their offset, and the limit of the whole. */
static int begin_part(struct tri_fetch_request *request, const struct tri_http_event *event)
{
    struct tri_fetch *fetch = request->fetch;
    bool is_single = fetch->kind != TR_PATH_DIRECTORY;
    bool goes_on = event->status == 206;
    if (goes_on && !is_range_of(event, request->offset)) {
        (void)unlinkat(fetch->parts, request->entry, 0);
        return tri_fetch_fail(fetch, TR_NO_CONNECTION,
                              "the server sent another range than requested");
    }
    if (is_single) {
        take_header(event, "ETag", fetch->found.tag);
        take_header(event, "Last-Modified", fetch->found.modified);
    }
    if (!goes_on) {
        request->offset = 0;
        if (is_single) {
            name_entry(request);
        }
    }
    request->size = request->offset;
    uint64_t announced =
        request->offset + number_at(tri_http_header(event->headers, "Content-Length"));
    if (announced > TR_BLOB_FETCH_BYTES_MAX) {
        return fail_too_large(fetch, announced);
    }
    request->fd = openat(
        fetch->parts, request->entry,
        O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_APPEND | (goes_on ? 0 : O_TRUNC), 0600);
    request->is_begun = true;
    return request->fd < 0 ? fail_system(fetch) : 0;
}

static int write_part(struct tri_fetch_request *request, struct tr_bytes bytes)
{
    struct tri_fetch *fetch = request->fetch;
    request->size += bytes.size;
    if (request->size > TR_BLOB_FETCH_BYTES_MAX) {
        return fail_too_large(fetch, request->size);
    }
    uint64_t now_ms = tri_monotonic_ms();
    if (now_ms - request->renewed_ms > TR_FETCH_RENEW_MS) {
        request->renewed_ms = now_ms;
        tri_blob_parts_renew(fetch->parts);
    }
    return tri_below_write_all(request->fd, bytes) == 0 ? 0 : fail_system(fetch);
}

/* Handles a complete answer. An empty one is an empty file. */
static int end_part(struct tri_fetch_request *request, const struct tri_http_event *event)
{
    struct tri_fetch *fetch = request->fetch;
    int error = request->is_begun ? 0 : begin_part(request, event);
    if (error == 0 && request->wanted != TRI_FETCH_SIZE_NONE && request->size != request->wanted) {
        (void)unlinkat(fetch->parts, request->entry, 0);
        error = tri_fetch_fail(
            fetch, TR_NO_CONNECTION, "GET %s gave %llu bytes, and the list of its bucket says %llu",
            (const char *)tri_buffer_front(&request->url), (unsigned long long)request->size,
            (unsigned long long)request->wanted);
    }
    if (error == 0) {
        snprintf(fetch->entry, sizeof fetch->entry, "%s", request->entry);
    }
    return error;
}

/* ---- Answers. ------------------------------------------------------------------------------- */

static void stop_all(struct tri_fetch *fetch)
{
    for (size_t i = 0; i < TR_COUNT_OF(fetch->requests); i++) {
        if (fetch->requests[i].is_used) {
            /* Without memory for the cancel it continues to its end and is ignored. */
            (void)!tri_http_cancel(fetch->fetches->http, (uint64_t)(uintptr_t)&fetch->requests[i]);
        }
    }
}

static void take_part(struct tri_fetch_request *request, const struct tri_http_event *event)
{
    struct tri_fetch *fetch = request->fetch;
    if (fetch->error != 0) {
        return; /* being cancelled */
    }
    int error = request->is_begun ? 0 : begin_part(request, event);
    if (error == 0) {
        error = write_part(request, event->body);
    }
    if (error != 0) {
        stop_all(fetch);
    }
}

static int judge(struct tri_fetch_request *request, const struct tri_http_event *event)
{
    struct tri_fetch *fetch = request->fetch;
    bool is_success = event->status >= 200 && event->status <= 299;
    if (event->fault != TRI_HTTP_NONE) {
        return tri_fetch_fail_fault(request, event);
    }
    if (is_success) {
        return request->is_page ? tri_fetch_take_page(fetch, event->body)
                                : end_part(request, event);
    }
    if (event->status == 304 && fetch->cached.blob.uri[0] != '\0' &&
        fetch->kind != TR_PATH_DIRECTORY) {
        fetch->is_unchanged = true;
        return 0;
    }
    if (event->status == 416 && request->offset > 0) {
        /* The part is longer than the object, or complete: starts from the beginning. */
        (void)unlinkat(fetch->parts, request->entry, 0);
        request->offset = 0;
        request->entry[0] = '\0';
        return ask_file(request, "");
    }
    return tri_fetch_fail_status(request, event);
}

static void take_end(struct tri_fetch_request *request, const struct tri_http_event *event)
{
    struct tri_fetch *fetch = request->fetch;
    if (request->fd >= 0) {
        close(request->fd);
        request->fd = -1;
    }
    request->is_used = false;
    fetch->under_way--;
    int error = fetch->error != 0 ? fetch->error : judge(request, event);
    if (error == 0 && fetch->objects.is_listed && !fetch->is_unchanged) {
        error = tri_fetch_ask_objects(fetch);
    }
    if (error != 0) {
        stop_all(fetch);
    }
    if (fetch->under_way == 0) {
        tri_fetch_return(fetch);
    }
}

void tri_fetch_deliver(void *self, const struct tri_http_event *event)
{
    struct tri_fetch_request *request = (struct tri_fetch_request *)(uintptr_t)event->id;
    (void)self;
    if (event->kind == TRI_HTTP_PART) {
        take_part(request, event);
    } else if (event->kind == TRI_HTTP_END) {
        take_end(request, event);
    }
}
