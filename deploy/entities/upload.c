/*
 * DataProxyService.CreateUploadLocation: where a client may put something, and by which URL. As
 * with Flyte's data proxy the place hangs on the root that the client says, or on the digest.
 */
#include <flyteidl/service_dataproxy.pb-c.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "deploy/common/clock.h"
#include "deploy/common/file.h"
#include "deploy/entities/entity_calls.h"
#include "deploy/entities/entity_id.h"
#include "schemas/codec/error.h"

#define NAME_BYTES 21

typedef Flyteidl__Service__CreateUploadLocationRequest upload_request;

/* ------------------------------------------------------------------ parts of the path */

/*
 * A part as it stands in the path and in the URL: neither fsspec, which takes some characters for
 * patterns, nor a URL reads anything into it.
 */
static struct tr_text plain_part(struct tri_job *job, const char *text)
{
    char plain[TR_UPLOAD_PART_BYTES_MAX + 1];
    size_t size = 0;
    for (; text[size] != '\0' && size < TR_UPLOAD_PART_BYTES_MAX; size++) {
        char byte = text[size];
        bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                        (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '=' ||
                        (byte == '.' && size > 0);
        plain[size] = is_plain ? byte : '_';
    }
    return tr_arena_text(&job->arena, (struct tr_text){.data = plain, .size = size});
}

/*
 * The folder of an upload: 64 digits, so that whatever has its path names it as blobs are named
 * (deploy/retention/references.h). What a client calls by one root lies in one folder.
 */
static struct tr_text make_folder(struct tri_job *job, const upload_request *request)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    char digits[2 * sizeof hash + 1];
    struct tr_buffer said;
    tr_buffer_init(&said, 0);
    tr_buffer_print(&said, "%s\n%s\n%s\n", request->project, request->domain,
                    request->filename_root);
    if (request->filename_root[0] == '\0') {
        tr_buffer_add(&said, request->content_md5.data, request->content_md5.len);
    }
    job->arena.error = job->arena.error != 0 ? job->arena.error : said.error;
    (void)crypto_hash_sha256(hash, said.data, said.size);
    tr_buffer_fini(&said);
    return tr_arena_text(&job->arena,
                         tr_text_of(sodium_bin2hex(digits, sizeof digits, hash, sizeof hash)));
}

/* A name for what has none, as the digest or the time tells it from others. */
static struct tr_text make_name(struct tri_job *job, const upload_request *request)
{
    char name[NAME_BYTES + 1];
    if (request->content_md5.len == TR_MD5_BYTES) {
        (void)snprintf(name, sizeof name, "%02x%02x%02x%02x%02x%02x%02x%02x%02x%02x",
                       request->content_md5.data[0], request->content_md5.data[1],
                       request->content_md5.data[2], request->content_md5.data[3],
                       request->content_md5.data[4], request->content_md5.data[5],
                       request->content_md5.data[6], request->content_md5.data[7],
                       request->content_md5.data[8], request->content_md5.data[9]);
    } else {
        (void)snprintf(name, sizeof name, "%012llx%08llx", (unsigned long long)tr_clock_wall_ms(),
                       (unsigned long long)(job->call & 0xffffffff));
    }
    return tr_arena_text(&job->arena, tr_text_of(name));
}

/* ------------------------------------------------------------------ the request */

static bool check(struct tri_job *job, const upload_request *request)
{
    if (!tri_id_check_part(job, request->project, "project") ||
        !tri_id_check_part(job, request->domain, "domain")) {
        return false;
    }
    size_t size = request->content_md5.len;
    if (size == 0 && request->filename_root[0] == '\0') {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT,
                     "content_md5 or filename_root must be specified");
        return false;
    }
    if (size != 0 && size != TR_MD5_BYTES) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT, "content_md5 has %zu bytes, and an MD5 has %d",
                     size, TR_MD5_BYTES);
        return false;
    }
    return true;
}

/* Until when the URL is good, in seconds since 1970; 0: the job has failed. */
static uint64_t read_expiry(struct tri_job *job, const Google__Protobuf__Duration *duration)
{
    uint64_t now_s = tr_clock_wall_ms() / 1000;
    bool is_right =
        duration == NULL || (duration->seconds >= 0 && duration->nanos >= 0 &&
                             duration->seconds + (duration->nanos > 0) <= TR_UPLOAD_EXPIRY_S_MAX);
    if (!is_right) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT,
                     "expires_in cannot exceed %d s (TR_UPLOAD_EXPIRY_S_MAX), nor be negative",
                     TR_UPLOAD_EXPIRY_S_MAX);
        return 0;
    }
    uint64_t seconds = duration == NULL || (duration->seconds == 0 && duration->nanos == 0)
                           ? TR_UPLOAD_EXPIRY_S_MAX
                           : (uint64_t)duration->seconds + (duration->nanos > 0 ? 1 : 0);
    return now_s + seconds;
}

/* What is at a place that a client has named itself may be another thing than it means. */
static bool check_place(struct tri_job *job, const upload_request *request, const char *path)
{
    struct tr_bytes bytes;
    uint8_t digest[TR_MD5_BYTES];
    struct tr_md5 md5;
    if (request->filename[0] == '\0' || request->filename_root[0] == '\0' ||
        tr_file_map(path, &bytes) != 0) {
        return true;
    }
    tr_md5_init(&md5);
    tr_md5_add(&md5, bytes);
    tr_md5_end(&md5, digest);
    tr_file_unmap(bytes);
    bool is_same = request->content_md5.len == TR_MD5_BYTES &&
                   memcmp(request->content_md5.data, digest, sizeof digest) == 0;
    if (!is_same) {
        tri_job_fail(job, TR_API_ALREADY_EXISTS,
                     "file already exists at the location %s, with other content or none said",
                     path);
    }
    return is_same;
}

static char *signed_url(struct tri_job *job, const struct tr_signed_url *url)
{
    struct tr_buffer query;
    tr_buffer_init(&query, 0);
    tr_signed_url_print(url, job->registrar->uploads.key, &query);
    job->arena.error = job->arena.error != 0 ? job->arena.error : query.error;
    struct tr_text whole = tr_arena_print(
        &job->arena, "%s://%.*s" TR_API_UPLOAD_PATH "%.*s%.*s", job->is_secure ? "https" : "http",
        TRI_TEXT(job->authority), TRI_TEXT(url->path), TRI_TEXT(tr_buffer_text(&query)));
    tr_buffer_fini(&query);
    return (char *)(uintptr_t)whole.data;
}

static struct tr_text make_path(struct tri_job *job, const upload_request *request)
{
    struct tr_text project = plain_part(job, request->project);
    struct tr_text domain = plain_part(job, request->domain);
    struct tr_text folder = make_folder(job, request);
    struct tr_text name =
        request->filename[0] != '\0' ? plain_part(job, request->filename) : make_name(job, request);
    return tr_arena_print(&job->arena, "%.*s/%.*s/%.*s/%.*s", TRI_TEXT(project), TRI_TEXT(domain),
                          TRI_TEXT(folder), TRI_TEXT(name));
}

/* Whoever has the URL may use it: so it is a change to ask for one. False: the job has failed. */
static bool keep_audit(struct tri_job *job)
{
    struct tri_keep keep;
    tri_keep_init(&keep);
    bool is_kept = tri_keep_commit(job, &keep, NULL, NULL);
    tri_keep_fini(&keep);
    return is_kept;
}

void tri_create_upload_location(struct tri_job *job, const void *message)
{
    const upload_request *request = message;
    if (!check(job, request)) {
        return;
    }
    struct tr_signed_url url = {.method = "PUT",
                                .expires_s = read_expiry(job, request->expires_in),
                                .has_md5 = request->content_md5.len == TR_MD5_BYTES};
    if (url.expires_s == 0) {
        return;
    }
    if (url.has_md5) {
        memcpy(url.md5, request->content_md5.data, sizeof url.md5);
    }
    url.path = make_path(job, request);
    struct tr_text place =
        tr_arena_print(&job->arena, "%s/%.*s", job->registrar->uploads.folder, TRI_TEXT(url.path));
    Flyteidl__Service__CreateUploadLocationResponse *response =
        tri_job_new(job, &flyteidl__service__create_upload_location_response__descriptor);
    Google__Protobuf__Timestamp *expires =
        tri_job_new(job, &google__protobuf__timestamp__descriptor);
    if (job->arena.error != 0 || !check_place(job, request, place.data)) {
        return;
    }
    expires->seconds = (int64_t)url.expires_s;
    response->signed_url = signed_url(job, &url);
    response->native_url = (char *)(uintptr_t)place.data;
    response->expires_at = expires;
    if (job->arena.error != 0) {
        tri_job_fail_error(job, job->arena.error, "");
    } else if (keep_audit(job)) {
        tri_job_answer(job, &response->base);
    }
}
