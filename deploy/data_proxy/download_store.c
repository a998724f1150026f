/*
 * Downloads on their way out. The door's thread checks the URL and writes; a thread of the store's
 * own, which may wait for the disk, opens the file and reads it, a piece ahead of what the client
 * has taken.
 *
 * The two threads hand a download to each other, so that one has it at a time.
 */
#include "deploy/data_proxy/download_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/value/literal.h"
#include "deploy/api_wire/api_limits.h"
#include "deploy/api_wire/rest.h"
#include "deploy/common/clock.h"
#include "deploy/data_proxy/data_proxy_limits.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/process.h"

/* Whose files may be had: those of folders that hold no secret of the store. */
static const char *const open_folders[] = {TR_STORE_UPLOADS, "attempts", "blobs"};

struct tri_download {
    struct tr_work in_queue;
    struct tri_download_store *store;
    struct tr_api *api;
    uint64_t call;
    char file[PATH_MAX]; /* below the store's folder */
    char range[128];
    bool is_given; /* to the store's thread */
    bool is_gone;  /* the call has */
    bool has_begun;

    /* Of whom has it. */
    int descriptor; /* -1: not opened yet */
    struct tr_api_download_part part;
    uint64_t at; /* in the file: behind `piece` */
    uint8_t *piece;
    size_t piece_size;
    enum tr_api_code code;
    char words[256];
};

/* ------------------------------------------------------------------ ranges */

/* Takes digits off the front; false: there are none, or too many, which stay. */
static bool take_number(struct tr_text *text, uint64_t *number)
{
    size_t digits = 0;
    *number = 0;
    while (digits < text->size && text->data[digits] >= '0' && text->data[digits] <= '9') {
        *number = digits < 18 ? 10 * *number + (uint64_t)(text->data[digits] - '0') : 0;
        digits++;
    }
    if (digits == 0 || digits > 18) {
        return false;
    }
    text->data += digits;
    text->size -= digits;
    return true;
}

void tr_download_range(struct tr_text range, struct tr_api_download_part *part)
{
    static const char unit[] = "bytes=";
    uint64_t first = 0;
    uint64_t last = 0;
    part->first = 0;
    part->end = part->size;
    part->is_part = part->is_outside = false;
    if (range.size < sizeof unit || memcmp(range.data, unit, sizeof unit - 1) != 0) {
        return;
    }
    struct tr_text rest = {.data = range.data + sizeof unit - 1,
                           .size = range.size - (sizeof unit - 1)};
    bool has_first = take_number(&rest, &first);
    if (rest.size == 0 || rest.data[0] != '-') {
        return;
    }
    rest.data++;
    rest.size--;
    bool has_last = take_number(&rest, &last);
    if (rest.size > 0 || (!has_first && !has_last) || (has_first && has_last && last < first)) {
        return;
    }
    part->is_part = true;
    if (!has_first) {
        part->is_outside = last == 0 || part->size == 0;
        part->first = last < part->size ? part->size - last : 0;
        return;
    }
    part->is_outside = first >= part->size;
    part->first = part->is_outside ? 0 : first;
    part->end = has_last && last < part->size ? last + 1 : part->size;
}

/* ------------------------------------------------------------------ the way of one */

static void free_download(struct tri_download *download)
{
    if (download->descriptor >= 0) {
        (void)close(download->descriptor);
    }
    tr_free(download->piece);
    tr_free(download);
}

static enum tr_api_code refuse(char *words, enum tr_api_code code, const char *text)
{
    (void)snprintf(words, TR_API_WORDS_BYTES, "%s", text);
    return code;
}

/* Gives it to the store's thread. False: that has ended. */
static bool give(struct tri_download *download)
{
    download->is_given =
        tr_work_queue_add(&download->store->queue, &download->in_queue) == TR_WORK_TAKEN;
    return download->is_given;
}

static enum tr_api_code begin(void *self, struct tr_api_call *call,
                              const struct tr_api_download *asked, char *words)
{
    struct tri_download_store *store = self;
    struct tr_signed_url url = {.method = "GET", .path = asked->path};
    if (!tr_signed_url_read(&url, asked->query, store->key)) {
        return refuse(words, TR_API_PERMISSION_DENIED,
                      "this URL was not signed by this store, or was changed; ask for one by "
                      "CreateDownloadLocation");
    }
    if (url.expires_s <= tr_clock_wall_ms() / 1000) {
        return refuse(words, TR_API_PERMISSION_DENIED,
                      "this URL has expired; ask for a new one by CreateDownloadLocation");
    }
    struct tri_download *download = tr_alloc_zero(1, sizeof *download);
    if (download == NULL || asked->file.size >= sizeof download->file) {
        tr_free(download);
        return refuse(words, TR_API_RESOURCE_EXHAUSTED, "there is no memory for the download");
    }
    download->store = store;
    download->api = tr_api_call_api(call);
    download->call = tr_api_call_number(call);
    download->descriptor = -1;
    (void)snprintf(download->file, sizeof download->file, "%.*s", TRI_TEXT(asked->file));
    if (asked->range.size < sizeof download->range) {
        (void)snprintf(download->range, sizeof download->range, "%.*s", TRI_TEXT(asked->range));
    }
    if (!give(download)) {
        free_download(download);
        return refuse(words, TR_API_UNAVAILABLE, "the engine leaves");
    }
    tr_api_call_state_set(call, download);
    return TR_API_OK;
}

/* Has more of it read, unless all was. */
static void go_on(struct tr_api_call *call, struct tri_download *download)
{
    download->piece_size = 0;
    if (download->at == download->part.end) {
        tr_api_download_end(call);
    } else if (!give(download)) {
        tr_api_download_break(call);
    }
}

static void room(struct tr_api_call *call)
{
    struct tri_download *download = tr_api_call_state(call);
    struct tr_bytes piece = {.data = download->piece, .size = download->piece_size};
    if (!download->is_given && piece.size > 0 && tr_api_download_write(call, piece) == 0) {
        go_on(call, download);
    }
}

/* What the store's thread has is freed when it comes back. */
static void gone(struct tr_api_call *call)
{
    struct tri_download *download = tr_api_call_state(call);
    download->is_gone = true;
    if (!download->is_given) {
        free_download(download);
    }
}

/* The store's thread has done its part. */
static void give_back(void *argument)
{
    struct tri_download *download = argument;
    struct tr_api_call *call = tr_api_call_find(download->api, download->call);
    download->is_given = false;
    if (download->is_gone || call == NULL) {
        free_download(download);
    } else if (download->code != TR_API_OK) {
        tr_api_fail(call, download->code, "%s", download->words);
    } else if (download->has_begun || tr_api_download_begin(call, &download->part)) {
        download->has_begun = true;
        room(call);
    }
}

/* ------------------------------------------------------------------ where files are */

bool tr_download_name(const char *store_folder, const char *path, char file[PATH_MAX])
{
    for (size_t i = 0; i < TR_COUNT_OF(open_folders); i++) {
        char named[2 * PATH_MAX];
        char folder[PATH_MAX];
        (void)snprintf(named, sizeof named, "%s/%s", store_folder, open_folders[i]);
        size_t size = realpath(named, folder) == NULL ? 0 : strlen(folder);
        if (size > 0 && strncmp(path, folder, size) == 0 && path[size] == '/') {
            int length = snprintf(file, PATH_MAX, "%s%s", open_folders[i], path + size);
            return length > 0 && length < PATH_MAX;
        }
    }
    return false;
}

static int find(void *self, const char *path, char file[PATH_MAX])
{
    const struct tri_download_store *store = self;
    char found[PATH_MAX];
    struct stat status;
    if (realpath(path, found) == NULL) {
        return errno == EACCES ? TR_DENIED : TR_NOT_FOUND;
    }
    if (!tr_download_name(store->folder, found, file)) {
        return TR_OUTSIDE;
    }
    return stat(found, &status) != 0 ? TR_NOT_FOUND : S_ISREG(status.st_mode) ? 0 : TR_NO_FILE;
}

/* ------------------------------------------------------------------ URLs */

static void sign(void *self, const struct tr_api_download_url *wanted, struct tr_buffer *url)
{
    const struct tri_download_store *store = self;
    struct tr_buffer path;
    tr_buffer_init(&path, 0);
    tr_rest_escape(wanted->file, "/", &path);
    const struct tr_signed_url signing = {
        .method = "GET", .path = tr_buffer_text(&path), .expires_s = wanted->expires_s};
    tr_buffer_print(url, "%s://%.*s" TR_API_DOWNLOAD_PATH "%.*s",
                    wanted->is_secure ? "https" : "http", TRI_TEXT(wanted->authority),
                    TRI_TEXT(signing.path));
    tr_signed_url_print(&signing, store->key, url);
    url->error = url->error != 0 ? url->error : path.error;
    tr_buffer_fini(&path);
}

/* ------------------------------------------------------------------ the store's thread */

static void fail(struct tri_download *download, enum tr_api_code code, const char *words)
{
    (void)snprintf(download->words, sizeof download->words, "%s", words);
    download->code = code;
}

static void fail_disk(struct tri_download *download, int number)
{
    bool is_none = number == ENOENT || number == ENOTDIR || number == ELOOP;
    fail(download, is_none ? TR_API_NOT_FOUND : TR_API_UNAVAILABLE,
         is_none ? "there is no such file any more" : strerror(number));
}

/*
 * Whether what was opened lies in one of the open folders, wherever links have led: a task may
 * leave links to anything.
 */
static bool is_open_to_all(const struct tri_download *download)
{
    char link[64];
    char found[PATH_MAX];
    char file[PATH_MAX];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", download->descriptor);
    ssize_t size = readlink(link, found, sizeof found - 1);
    found[size > 0 ? size : 0] = '\0';
    return size > 0 && tr_download_name(download->store->folder, found, file);
}

static bool open_file(struct tri_download *download)
{
    char path[2 * PATH_MAX];
    struct stat status;
    (void)snprintf(path, sizeof path, "%s/%s", download->store->folder, download->file);
    download->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (download->descriptor < 0 || fstat(download->descriptor, &status) != 0) {
        fail_disk(download, errno);
        return false;
    }
    if (!S_ISREG(status.st_mode) || !is_open_to_all(download)) {
        fail(download, TR_API_NOT_FOUND, "there is no such file that may be downloaded");
        return false;
    }
    download->part.size = (uint64_t)status.st_size;
    download->part.name = download->file;
    tr_download_range(tr_text_of(download->range), &download->part);
    download->at = download->part.first;
    return true;
}

static void read_piece(struct tri_download *download)
{
    uint64_t rest = download->part.end - download->at;
    size_t size =
        rest < TR_DOWNLOAD_PIECE_BYTES_MAX ? (size_t)rest : (size_t)TR_DOWNLOAD_PIECE_BYTES_MAX;
    if (download->piece == NULL) {
        download->piece = tr_alloc(TR_DOWNLOAD_PIECE_BYTES_MAX);
    }
    if (download->piece == NULL) {
        fail(download, TR_API_RESOURCE_EXHAUSTED, "there is no memory for the download");
        return;
    }
    while (size > 0 && download->piece_size == 0) {
        ssize_t count = pread(download->descriptor, download->piece, size, (off_t)download->at);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            fail(download, TR_API_DATA_LOSS,
                 count == 0 ? "the file became shorter" : strerror(errno));
            return;
        }
        download->piece_size = count > 0 ? (size_t)count : 0;
    }
    download->at += download->piece_size;
}

static void do_part(struct tri_download *download)
{
    download->code = TR_API_OK;
    if (download->descriptor >= 0 || open_file(download)) {
        if (!download->part.is_outside) {
            read_piece(download);
        }
    }
}

static void do_work(void *self, struct tr_work_list *taken, bool is_stopping)
{
    struct tri_download *download = (struct tri_download *)tr_work_list_take(taken);
    (void)self;
    (void)is_stopping; /* what was given is done */
    do_part(download);
    /* Without memory the call waits in vain, until its client gives up. */
    (void)!tr_api_post(download->api, give_back, download);
}

/* ------------------------------------------------------------------ opening */

int tri_download_store_open(struct tri_download_store *store, const char *store_folder,
                            const uint8_t key[TR_SIGNED_KEY_BYTES])
{
    store->downloads = (struct tr_api_downloads){
        .self = store, .begin = begin, .room = room, .gone = gone, .find = find, .sign = sign};
    store->key = key;
    tr_work_queue_init(&store->queue, &(struct tr_work_options){.do_work = do_work});
    (void)snprintf(store->folder, sizeof store->folder, "%s", store_folder);
    return tr_work_queue_begin(&store->queue, store);
}

void tri_download_store_stop(struct tri_download_store *store)
{
    tr_work_queue_stop(&store->queue);
}

void tri_download_store_close(struct tri_download_store *store)
{
    tr_work_queue_fini(&store->queue);
}
