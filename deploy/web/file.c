/*
 * Files that executions name. The command that tells of them asks here for a URL of each, which
 * says by itself which file it is for and until when: so a picture, a frame and a download need no
 * header, and nobody can ask for another file. Keys live as long as the process.
 *
 * A file is read by the queue that looks, a piece ahead of what the client has taken; between two
 * pieces the job is its visit's. It is the file that was linked or none: what a descriptor leads to
 * has to be the very path, so that a link that a task puts there later leads nowhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/api/download.h"
#include "deploy/api_wire/rest.h"
#include "deploy/common/clock.h"
#include "deploy/data_proxy/download_store.h"
#include "deploy/web/handlers.h"
#include "deploy/web/web_inside.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* A header Range, and a media type. */
#define RANGE_BYTES 128
#define TYPE_BYTES 64

/* What a URL is made of: the type, the name and the path, a line each. */
#define NAMED_BYTES (TYPE_BYTES + 3 * NAME_MAX + PATH_MAX + 3)
#define CODED sodium_base64_VARIANT_URLSAFE_NO_PADDING

/* What is no page runs nothing and loads nothing. */
#define INERT "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

struct tr_web_file {
    char named[NAMED_BYTES];
    const char *type; /* in it, as the next */
    const char *name;
    const char *path;
    char range[RANGE_BYTES];
    bool has_begun;
    int descriptor; /* -1: not opened yet */
    struct tr_api_download_part part;
    uint64_t at; /* in the file: behind `piece` */
    size_t piece_size;
    uint8_t piece[TR_WEB_PIECE_BYTES];
};

void tri_web_file_free(struct tr_web_file *file)
{
    if (file != NULL && file->descriptor >= 0) {
        (void)close(file->descriptor);
    }
    tr_free(file);
}

/* --------------------------------------------------------------------------- linking */

/*
 * Whether who calls may have a file. Of the store that is what tasks have left, for all who may
 * look; elsewhere, all for who may have programs run anyway.
 */
static bool is_open(const struct tr_web_job *job, const char *path)
{
    char folder[PATH_MAX];
    char name[PATH_MAX];
    if (realpath(tr_web_options(job->web)->folder, folder) == NULL) {
        return false;
    }
    size_t size = strlen(folder);
    bool is_of_store = strncmp(path, folder, size) == 0 && path[size] == '/';
    return is_of_store ? tr_download_name(folder, path, name) : job->may_register;
}

static void print_url(const struct tr_web_job *job, struct tr_bytes named, struct tr_buffer *url)
{
    char coded[sodium_base64_ENCODED_LEN(NAMED_BYTES, CODED)];
    (void)sodium_bin2base64(coded, sizeof coded, named.data, named.size, CODED);
    uint64_t now_s = tr_clock_wall_ms() / 1000;
    /* The same URL for a time, so that a page that asks again finds nothing new. */
    const struct tr_signed_url signing = {.method = "GET",
                                          .path = tr_text_of(coded),
                                          .expires_s = (now_s / TR_WEB_LINK_S + 2) * TR_WEB_LINK_S};
    tr_buffer_print(url, TR_WEB_BASE "/files/%s", coded);
    tr_signed_url_print(&signing, job->web->key, url);
}

int tri_web_link(void *self, struct tr_console_file *file)
{
    const struct tr_web_job *job = self;
    char path[PATH_MAX];
    struct stat status;
    struct tr_buffer named;
    if (realpath(file->path, path) == NULL || stat(path, &status) != 0) {
        return errno == EACCES ? TR_DENIED : job->may_register ? TR_NOT_FOUND : TR_OUTSIDE;
    }
    if (!is_open(job, path)) {
        return TR_OUTSIDE;
    }
    if (!S_ISREG(status.st_mode)) {
        return S_ISDIR(status.st_mode) ? TR_NO_FILE : TR_NOT_FOUND;
    }
    file->size_bytes = (uint64_t)status.st_size;
    tr_buffer_init(&named, NAMED_BYTES - 1);
    tr_buffer_print(&named, "%s\n", file->media_type);
    tr_rest_escape(tr_text_of(file->name), "", &named);
    tr_buffer_print(&named, "\n%s", path);
    int error = named.error;
    if (error == 0) {
        print_url(job, tr_buffer_bytes(&named), file->url);
        error = file->url->error;
    }
    tr_buffer_fini(&named);
    return error == TR_LIMIT ? TR_NOT_FOUND : error;
}

/* --------------------------------------------------------------------------- reading */

static bool open_file(struct tr_web_job *job)
{
    struct tr_web_file *file = job->file;
    char link[64];
    char found[PATH_MAX];
    struct stat status;
    file->descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file->descriptor);
    ssize_t size = file->descriptor < 0 ? -1 : readlink(link, found, sizeof found - 1);
    found[size > 0 ? size : 0] = '\0';
    if (strcmp(found, file->path) != 0 || fstat(file->descriptor, &status) != 0 ||
        !S_ISREG(status.st_mode)) {
        tr_web_job_refuse(job, TR_WEB_NOT_FOUND, "there is no such file any more");
        return false;
    }
    file->part.size = (uint64_t)status.st_size;
    tr_download_range(tr_text_of(file->range), &file->part);
    file->at = file->part.first;
    return true;
}

void tr_web_read_file(struct tr_web_job *job)
{
    struct tr_web_file *file = job->file;
    if (file->descriptor < 0 && !open_file(job)) {
        return;
    }
    uint64_t rest = file->part.is_outside ? 0 : file->part.end - file->at;
    size_t size = rest < sizeof file->piece ? (size_t)rest : sizeof file->piece;
    ssize_t count = 1;
    while (size > 0 && file->piece_size == 0 && count != 0) {
        count = pread(file->descriptor, file->piece, size, (off_t)file->at);
        if (count < 0 && errno != EINTR) {
            tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "%s", strerror(errno));
            return;
        }
        file->piece_size = count > 0 ? (size_t)count : 0;
    }
    if (count == 0) {
        tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "the file became shorter");
    }
    file->at += file->piece_size;
}

/* ---------------------------------------------------------------------- the response */

static void begin_response(struct tr_door_exchange *exchange, const struct tr_web_file *file)
{
    const struct tr_api_download_part *part = &file->part;
    struct tr_door_headers headers = {.count = 0};
    char length[32];
    char range[96];
    char named[sizeof "inline; filename*=UTF-8''" + 3 * NAME_MAX];
    bool is_page = strcmp(file->type, "text/html") == 0;
    int status = part->is_outside ? 416 : part->is_part ? 206 : 200;
    (void)snprintf(length, sizeof length, "%llu",
                   part->is_outside ? 0 : (unsigned long long)(part->end - part->first));
    (void)snprintf(named, sizeof named, "inline; filename*=UTF-8''%s", file->name);
    tr_door_headers_add(&headers, "content-length", length);
    tr_door_headers_add(&headers, "content-type", file->type);
    tr_door_headers_add(&headers, "content-disposition", named);
    tr_door_headers_add(&headers, "content-security-policy", is_page ? TR_API_PAGE_POLICY : INERT);
    tr_door_headers_add(&headers, "cross-origin-resource-policy", "same-origin");
    tr_door_headers_add(&headers, "x-content-type-options", "nosniff");
    tr_door_headers_add(&headers, "referrer-policy", "no-referrer");
    tr_door_headers_add(&headers, "cache-control", "no-store");
    tr_door_headers_add(&headers, "accept-ranges", "bytes");
    if (part->is_outside) {
        (void)snprintf(range, sizeof range, "bytes */%llu", (unsigned long long)part->size);
    } else {
        (void)snprintf(range, sizeof range, "bytes %llu-%llu/%llu", (unsigned long long)part->first,
                       (unsigned long long)part->end - 1, (unsigned long long)part->size);
    }
    if (part->is_outside || part->is_part) {
        tr_door_headers_add(&headers, "content-range", range);
    }
    tr_door_exchange_begin(exchange, status, headers.items, headers.count);
}

/* Hands on what was read, and has more of it read; until then, or at its end, it has the job. */
static void give(struct tri_web_visit *visit, struct tr_web_job *job)
{
    struct tr_web_file *file = job->file;
    struct tr_bytes piece = {.data = file->piece, .size = file->piece_size};
    int error = piece.size == 0 ? 0 : tr_door_exchange_write(visit->exchange, piece);
    if (error == TR_BUSY) {
        visit->job = job;
        return;
    }
    file->piece_size = 0;
    bool is_head =
        tr_text_equal(tr_door_exchange_request(visit->exchange)->method, tr_text_of("HEAD"));
    if (error == 0 && !is_head && !file->part.is_outside && file->at < file->part.end) {
        tri_web_hand(visit->web, job);
        return;
    }
    if (error == 0) {
        tr_door_exchange_end(visit->exchange, NULL, 0);
    }
    tr_web_job_free(job);
}

void tri_web_file_take(struct tr_web_job *job)
{
    struct tr_web_file *file = job->file;
    struct tr_door_exchange *exchange = tr_door_find(job->door, job->exchange);
    if (exchange == NULL || tr_door_exchange_has_ended(exchange)) {
        tr_web_job_free(job);
        return;
    }
    if (job->problem != TR_WEB_FINE) {
        if (file->has_begun) {
            tr_door_exchange_reset(exchange); /* the client sees that something is missing */
        } else {
            tri_web_answer(exchange, job);
        }
        tr_web_job_free(job);
        return;
    }
    if (!file->has_begun) {
        file->has_begun = true;
        begin_response(exchange, file);
    }
    give(tr_door_exchange_state(exchange), job);
}

void tri_web_file_room(struct tri_web_visit *visit)
{
    struct tr_web_job *job = visit->job;
    if (job != NULL && job->file != NULL) {
        visit->job = NULL;
        give(visit, job);
    }
}

/* ------------------------------------------------------------------------ the request */

/* Takes apart what a URL is made of, which was signed. */
static bool read_named(const char *coded, struct tr_web_file *file)
{
    size_t size = 0;
    if (sodium_base642bin((uint8_t *)file->named, sizeof file->named - 1, coded, strlen(coded),
                          NULL, &size, NULL, CODED) != 0) {
        return false;
    }
    file->named[size] = '\0';
    char *name = strchr(file->named, '\n');
    char *path = name == NULL ? NULL : strchr(name + 1, '\n');
    if (path == NULL) {
        return false;
    }
    *name = '\0';
    *path = '\0';
    file->type = file->named;
    file->name = name + 1;
    file->path = path + 1;
    return true;
}

static void read_request(struct tri_web_visit *visit, struct tr_web_job *job)
{
    const struct tr_door_request *request = tr_door_exchange_request(visit->exchange);
    struct tr_text range = tr_door_exchange_header(visit->exchange, "range");
    const char *coded = tr_web_request_value(&job->request, "file");
    struct tr_signed_url url = {.method = "GET", .path = tr_text_of(coded)};
    if (!tr_signed_url_read(&url, request->query, visit->web->key) ||
        !read_named(coded, job->file)) {
        tr_web_job_refuse(job, TR_WEB_FORBIDDEN,
                          "this URL was not given by this engine, or was changed; ask for the "
                          "files of the execution again");
    } else if (url.expires_s <= tr_clock_wall_ms() / 1000) {
        tr_web_job_refuse(job, TR_WEB_FORBIDDEN,
                          "this URL has expired; ask for the files of the execution again");
    }
    /* With If-Range nothing says that the file is the same: it comes whole. */
    bool has_range = range.size < sizeof job->file->range &&
                     tr_door_exchange_header(visit->exchange, "if-range").data == NULL;
    if (has_range) {
        (void)snprintf(job->file->range, sizeof job->file->range, "%.*s", (int)range.size,
                       range.data);
    }
}

bool tri_web_file_begin(struct tri_web_visit *visit)
{
    struct tr_web_job *job = visit->job;
    if ((job->request.route->flags & TR_WEB_GIVES_FILE) == 0) {
        return false;
    }
    job->file = tr_alloc_zero(1, sizeof *job->file);
    if (job->file == NULL) {
        tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "%s", tr_error_text(TR_MEMORY));
    } else {
        job->file->descriptor = -1;
        read_request(visit, job);
    }
    if (job->problem != TR_WEB_FINE) {
        tri_web_answer(visit->exchange, job);
        return true;
    }
    visit->job = NULL;
    tri_web_hand(visit->web, job);
    return true;
}
