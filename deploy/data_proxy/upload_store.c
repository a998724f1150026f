/*
 * Uploads on their way into their place. The door's thread checks the URL and collects what comes;
 * a thread of the store's own, which may wait for the disk, writes it into a new file, digests it,
 * syncs it at the end and gives it its name. What has a name is never written again: the same
 * content is there already, and other content is refused.
 *
 * The two threads hand an upload to each other, so that each has its part of it alone: while the
 * store's has it, the door's only collects.
 */
#include "deploy/data_proxy/upload_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/value/literal.h"
#include "deploy/api_wire/api_limits.h"
#include "deploy/common/clock.h"
#include "deploy/common/file.h"
#include "deploy/data_proxy/data_proxy_limits.h"
#include "deploy/data_proxy/signing_key.h"
#include "runtime/env/buffer.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define NEW_PREFIX ".new-"
#define FOLDER_MODE 0700
#define FILE_MODE 0400

struct tri_upload {
    struct tr_work in_queue;
    struct tri_upload_store *store;
    struct tr_api *api;
    uint64_t call;
    struct tr_signed_url url; /* but for its path */
    char place[PATH_MAX];     /* where it goes */

    /* The door's. */
    struct tri_buffer pending; /* what came while the other thread had it */
    bool has_ended;
    bool is_given; /* to the store's thread */
    bool is_gone;  /* the call has */

    /* Of whom has it. */
    struct tri_buffer batch; /* what is to be written */
    bool is_last;
    int descriptor;                                    /* -1: not opened yet */
    char fresh[PATH_MAX + sizeof NEW_PREFIX "XXXXXX"]; /* where it is written */
    struct tr_md5 md5;
    enum tr_api_code code;
    char words[256];
};

/* ------------------------------------------------------------------ the way of one */

static void free_upload(struct tri_upload *upload)
{
    if (upload->descriptor >= 0) {
        (void)close(upload->descriptor);
        (void)unlink(upload->fresh);
    }
    tri_buffer_fini(&upload->pending);
    tri_buffer_fini(&upload->batch);
    tr_md5_fini(&upload->md5);
    tr_free(upload);
}

static enum tr_api_code refuse(char *words, enum tr_api_code code, const char *text)
{
    (void)snprintf(words, TR_API_WORDS_BYTES, "%s", text);
    return code;
}

/* The header as what the URL says; without it the URL is enough. */
static bool is_digest(struct tr_text header, const struct tr_signed_url *url)
{
    struct tr_arena arena;
    struct tr_bytes bytes = {.size = 0};
    if (header.size == 0 || !url->has_md5) {
        return true;
    }
    tr_arena_init(&arena);
    bool is_same = tri_base64_read(header, &arena, &bytes) && bytes.size == TR_MD5_BYTES &&
                   memcmp(bytes.data, url->md5, TR_MD5_BYTES) == 0;
    tr_arena_fini(&arena);
    return is_same;
}

static enum tr_api_code begin(void *self, struct tr_api_call *call, struct tr_text path,
                              struct tr_text query, struct tr_text md5, char *words)
{
    struct tri_upload_store *store = self;
    struct tr_signed_url url = {.method = "PUT", .path = path};
    if (!tr_signed_url_read(&url, query, store->key)) {
        return refuse(words, TR_API_PERMISSION_DENIED,
                      "this URL was not signed by this store, or was changed; ask for one by "
                      "CreateUploadLocation");
    }
    if (url.expires_s <= tr_clock_wall_ms() / 1000) {
        return refuse(words, TR_API_PERMISSION_DENIED,
                      "this URL has expired; ask for a new one by CreateUploadLocation");
    }
    if (!is_digest(md5, &url)) {
        return refuse(words, TR_API_INVALID_ARGUMENT,
                      "Content-MD5 is not that of the URL's upload");
    }
    struct tri_upload *upload = tr_alloc_zero(1, sizeof *upload);
    if (upload == NULL) {
        return refuse(words, TR_API_RESOURCE_EXHAUSTED, "there is no memory for the upload");
    }
    upload->store = store;
    upload->api = tr_api_call_api(call);
    upload->call = tr_api_call_number(call);
    upload->descriptor = -1;
    upload->url = url;
    upload->url.path = (struct tr_text){.size = 0}; /* it goes with the head */
    tr_md5_init(&upload->md5);
    int size =
        snprintf(upload->place, sizeof upload->place, "%s/%.*s", store->folder, TRI_TEXT(path));
    if (size < 0 || (size_t)size >= sizeof upload->place) {
        free_upload(upload);
        return refuse(words, TR_API_INVALID_ARGUMENT, "the path of the upload is too long");
    }
    tr_api_call_state_set(call, upload);
    return TR_API_OK;
}

/* Gives what has come to the store's thread. False: that has ended. */
static bool give(struct tri_upload *upload)
{
    struct tri_buffer empty = upload->batch;
    upload->batch = upload->pending;
    upload->pending = empty;
    upload->is_last = upload->has_ended;
    upload->is_given = tr_work_queue_add(&upload->store->queue, &upload->in_queue) == TR_WORK_TAKEN;
    return upload->is_given;
}

static void give_or_fail(struct tr_api_call *call, struct tri_upload *upload)
{
    if (!give(upload)) {
        tr_api_fail(call, TR_API_UNAVAILABLE, "the engine leaves");
    }
}

static void take(struct tr_api_call *call, struct tr_bytes piece)
{
    struct tri_upload *upload = tr_api_call_state(call);
    if (tri_buffer_append(&upload->pending, piece.data, piece.size) != 0) {
        tr_api_fail(call, TR_API_RESOURCE_EXHAUSTED, "there is no memory for the upload");
    } else if (!upload->is_given) {
        give_or_fail(call, upload);
    } else if (tri_buffer_size(&upload->pending) >= TR_UPLOAD_PENDING_BYTES_MAX) {
        tr_api_upload_hold(call, true);
    }
}

static void end(struct tr_api_call *call)
{
    struct tri_upload *upload = tr_api_call_state(call);
    upload->has_ended = true;
    if (!upload->is_given) {
        give_or_fail(call, upload);
    }
}

/* What the store's thread has is freed when it comes back. */
static void gone(struct tr_api_call *call)
{
    struct tri_upload *upload = tr_api_call_state(call);
    upload->is_gone = true;
    if (!upload->is_given) {
        free_upload(upload);
    }
}

/* The store's thread has done its part. */
static void give_back(void *argument)
{
    struct tri_upload *upload = argument;
    struct tr_api_call *call = tr_api_call_find(upload->api, upload->call);
    upload->is_given = false;
    if (upload->is_gone || call == NULL) {
        free_upload(upload);
    } else if (upload->code != TR_API_OK) {
        tr_api_fail(call, upload->code, "%s", upload->words);
    } else if (upload->is_last) {
        tr_api_upload_done(call);
    } else {
        tr_api_upload_hold(call, false);
        if (tri_buffer_size(&upload->pending) > 0 || upload->has_ended) {
            give_or_fail(call, upload);
        }
    }
}

/* ------------------------------------------------------------------ the store's thread */

static void fail_disk(struct tri_upload *upload, int number)
{
    (void)snprintf(upload->words, sizeof upload->words, "the store cannot take it: %s",
                   strerror(number));
    upload->code =
        number == ENOSPC || number == EDQUOT ? TR_API_RESOURCE_EXHAUSTED : TR_API_UNAVAILABLE;
}

static void fail(struct tri_upload *upload, enum tr_api_code code, const char *words)
{
    (void)snprintf(upload->words, sizeof upload->words, "%s", words);
    upload->code = code;
}

static bool open_file(struct tri_upload *upload)
{
    if (upload->descriptor < 0) {
        (void)snprintf(upload->fresh, sizeof upload->fresh, "%s/" NEW_PREFIX "XXXXXX",
                       upload->store->folder);
        upload->descriptor = mkostemp(upload->fresh, O_CLOEXEC);
    }
    if (upload->descriptor < 0) {
        fail_disk(upload, errno);
    }
    return upload->descriptor >= 0;
}

static bool write_batch(struct tri_upload *upload)
{
    struct tr_bytes rest = {.data = tri_buffer_front(&upload->batch),
                            .size = tri_buffer_size(&upload->batch)};
    if (rest.size == 0) {
        return true;
    }
    if (upload->url.has_md5) { /* most of the work on an upload */
        tr_md5_add(&upload->md5, rest);
    }
    while (rest.size > 0) {
        ssize_t count = write(upload->descriptor, rest.data, rest.size);
        if (count < 0 && errno != EINTR) {
            fail_disk(upload, errno);
            return false;
        }
        size_t written = count > 0 ? (size_t)count : 0;
        rest.data += written;
        rest.size -= written;
    }
    tri_buffer_clear(&upload->batch);
    return true;
}

/* Makes the folders on the way to a file below the store's. */
static int make_way(const struct tri_upload_store *store, char *path)
{
    size_t begin = strlen(store->folder) + 1;
    for (char *slash = strchr(path + begin, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int error = mkdir(path, FOLDER_MODE) == 0 ? tr_file_sync_name(path)
                    : errno == EEXIST             ? 0
                                                  : TR_SYSTEM;
        *slash = '/';
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int digest_file(const char *path, uint8_t digest[TR_MD5_BYTES])
{
    struct tr_bytes bytes;
    struct tr_md5 md5;
    int error = tr_file_map(path, &bytes);
    if (error == 0) {
        tr_md5_init(&md5);
        tr_md5_add(&md5, bytes);
        tr_md5_end(&md5, digest);
        tr_file_unmap(bytes);
    }
    return error;
}

/* Something is there: the same once more is fine, and makes it as young as if it were new. */
static void compare(struct tri_upload *upload)
{
    uint8_t there[TR_MD5_BYTES];
    uint8_t fresh[TR_MD5_BYTES];
    int error = digest_file(upload->place, there);
    if (error == 0) {
        error = digest_file(upload->fresh, fresh);
    }
    if (error != 0 || memcmp(there, fresh, sizeof there) != 0) {
        fail(upload, TR_API_ALREADY_EXISTS,
             "something else was uploaded there already; ask for a new URL");
    } else if (utimensat(AT_FDCWD, upload->place, NULL, 0) != 0) {
        fail_disk(upload, errno); /* it was pruned at this moment */
    }
}

/* Without a digest in it the URL is for anything. */
static bool is_what_the_url_says(struct tri_upload *upload)
{
    uint8_t digest[TR_MD5_BYTES];
    tr_md5_end(&upload->md5, digest);
    return !upload->url.has_md5 || memcmp(digest, upload->url.md5, sizeof digest) == 0;
}

/* A link and no renaming: that would put it in the place of what is there. */
static void place(struct tri_upload *upload)
{
    int number = 0;
    if (!is_what_the_url_says(upload)) {
        fail(upload, TR_API_INVALID_ARGUMENT,
             "what came is not what the URL is for: its MD5 is another");
        return;
    }
    if (fchmod(upload->descriptor, FILE_MODE) != 0 || fsync(upload->descriptor) != 0 ||
        make_way(upload->store, upload->place) != 0 || link(upload->fresh, upload->place) != 0) {
        number = errno;
    }
    if (number == EEXIST) {
        compare(upload);
    } else if (number != 0 || tr_file_sync_name(upload->place) != 0) {
        fail_disk(upload, number != 0 ? number : errno);
    }
}

static void do_part(struct tri_upload *upload)
{
    upload->code = TR_API_OK;
    if (open_file(upload) && write_batch(upload) && upload->is_last) {
        place(upload);
    }
}

static void do_work(void *self, struct tr_work_list *taken, bool is_stopping)
{
    struct tri_upload *upload = (struct tri_upload *)tr_work_list_take(taken);
    (void)self;
    (void)is_stopping; /* what was given is done */
    do_part(upload);
    /* Without memory the call waits in vain, until its client gives up. */
    (void)!tr_api_post(upload->api, give_back, upload);
}

/* ------------------------------------------------------------------ opening */

static void remove_unfinished(const char *folder)
{
    char path[PATH_MAX];
    DIR *opened = opendir(folder);
    const struct dirent *entry = opened == NULL ? NULL : readdir(opened);
    for (; entry != NULL; entry = readdir(opened)) {
        int size = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strncmp(entry->d_name, NEW_PREFIX, strlen(NEW_PREFIX)) == 0 && size > 0 &&
            (size_t)size < sizeof path) {
            (void)unlink(path);
        }
    }
    if (opened != NULL) {
        (void)closedir(opened);
    }
}

int tri_upload_store_open(struct tri_upload_store *store, const char *store_folder)
{
    store->uploads = (struct tr_api_uploads){
        .self = store, .begin = begin, .take = take, .end = end, .gone = gone};
    tr_work_queue_init(&store->queue, &(struct tr_work_options){.do_work = do_work});
    int size = snprintf(store->folder, sizeof store->folder, "%s/" TR_STORE_UPLOADS, store_folder);
    if (size < 0 || (size_t)size >= sizeof store->folder) {
        return TR_SYSTEM;
    }
    if (mkdir(store->folder, FOLDER_MODE) != 0 && errno != EEXIST) {
        return TR_SYSTEM;
    }
    remove_unfinished(store->folder);
    int error = tr_signing_key_read(store_folder, store->key);
    if (error == 0) {
        error = tr_work_queue_begin(&store->queue, store);
    }
    return error;
}

void tri_upload_store_stop(struct tri_upload_store *store)
{
    tr_work_queue_stop(&store->queue);
}

void tri_upload_store_close(struct tri_upload_store *store)
{
    tr_work_queue_fini(&store->queue);
}

bool tri_upload_store_has(const struct tri_upload_store *store, const char *path)
{
    size_t size = strlen(store->folder);
    return strncmp(path, store->folder, size) == 0 && path[size] == '/' &&
           strstr(path, "/../") == NULL && strstr(path + size, "/.") == NULL;
}
