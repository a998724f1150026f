/*
 * Uploads on their way into their place. The door's thread checks the URL and collects what comes
 * in batches. Two threads of the store's own, which may wait for the disk, take each batch at the
 * same time: one writes it into a new file, the other digests it, as either takes about as long as
 * the network. At the end the file is synced and gets its name. What has a name is never written
 * again: the same content is there already, and other content is refused.
 *
 * A batch is the door's while it is filled. From when it is given until both others have done their
 * part they only read it, and the second of them sends it back. Both take batches in the order in
 * which they were given, so all of an upload are done when its last one is.
 */
#include "deploy/data_proxy/upload_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
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

/* What came of an upload at about the same time. */
struct batch {
    struct part {
        struct tr_work in_queue;
        struct batch *batch;
    } to_write, to_digest;
    struct tri_upload *upload;
    struct tri_buffer bytes;
    bool is_last;
    bool has_failed;
    atomic_uint parts_left; /* that are not done */
};

struct tri_upload {
    struct tri_upload_store *store;
    struct tr_api *api;
    uint64_t call;
    struct tr_signed_url url; /* but for its path */
    char place[PATH_MAX];     /* where it goes */

    /* The door's: a ring, of which some are given, and the next one is filled. */
    struct batch batches[TR_UPLOAD_BATCHES];
    size_t filled;
    size_t given_count;
    bool is_gone; /* the call has */

    /* Of the thread that digests. */
    struct tr_md5 md5;

    /* Of the one that writes, until the last batch is done. */
    int descriptor;                                    /* -1: not opened yet */
    uint64_t written_bytes;                            /* of the file */
    uint64_t begun_bytes;                              /* of these, what goes to the disk already */
    char fresh[PATH_MAX + sizeof NEW_PREFIX "XXXXXX"]; /* where it is written */
    enum tr_api_code code; /* the first failure, of one of its batches */
    char words[256];
};

/* ------------------------------------------------------------------ the way of one */

static void free_upload(struct tri_upload *upload)
{
    if (upload->descriptor >= 0) {
        (void)close(upload->descriptor);
        (void)unlink(upload->fresh);
    }
    for (size_t i = 0; i < TR_UPLOAD_BATCHES; i++) {
        tri_buffer_fini(&upload->batches[i].bytes);
    }
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

static struct tri_upload *new_upload(struct tri_upload_store *store, struct tr_api_call *call)
{
    struct tri_upload *upload = tr_alloc_zero(1, sizeof *upload);
    if (upload == NULL) {
        return NULL;
    }
    upload->store = store;
    upload->api = tr_api_call_api(call);
    upload->call = tr_api_call_number(call);
    upload->descriptor = -1;
    tr_md5_init(&upload->md5);
    for (size_t i = 0; i < TR_UPLOAD_BATCHES; i++) {
        struct batch *batch = &upload->batches[i];
        batch->upload = upload;
        batch->to_write.batch = batch;
        batch->to_digest.batch = batch;
    }
    return upload;
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
    struct tri_upload *upload = new_upload(store, call);
    if (upload == NULL) {
        return refuse(words, TR_API_RESOURCE_EXHAUSTED, "there is no memory for the upload");
    }
    upload->url = url;
    upload->url.path = (struct tr_text){.size = 0}; /* it goes with the head */
    int size =
        snprintf(upload->place, sizeof upload->place, "%s/%.*s", store->folder, TRI_TEXT(path));
    if (size < 0 || (size_t)size >= sizeof upload->place) {
        free_upload(upload);
        return refuse(words, TR_API_INVALID_ARGUMENT, "the path of the upload is too long");
    }
    tr_api_call_state_set(call, upload);
    return TR_API_OK;
}

static void give(struct tr_api_call *call, struct tri_upload *upload, struct batch *batch)
{
    atomic_init(&batch->parts_left, upload->url.has_md5 ? 2 : 1);
    if (tr_work_queue_add(&upload->store->writing, &batch->to_write.in_queue) == TR_WORK_TAKEN) {
        upload->given_count++;
        upload->filled = (upload->filled + 1) % TR_UPLOAD_BATCHES;
    } else {
        tr_api_fail(call, TR_API_UNAVAILABLE, "the engine leaves");
    }
}

/* One that is not full is given where the others have nothing to do. One is always kept. */
static void give_what_is_due(struct tr_api_call *call, struct tri_upload *upload)
{
    struct batch *batch = &upload->batches[upload->filled];
    size_t size = tri_buffer_size(&batch->bytes);
    bool is_due =
        batch->is_last || size >= TR_UPLOAD_BATCH_BYTES || (size > 0 && upload->given_count == 0);
    if (is_due && upload->given_count < TR_UPLOAD_BATCHES - 1) {
        give(call, upload, batch);
    }
    batch = &upload->batches[upload->filled];
    tr_api_upload_hold(call, tri_buffer_size(&batch->bytes) >= TR_UPLOAD_BATCH_BYTES);
}

static void take(struct tr_api_call *call, struct tr_bytes piece)
{
    struct tri_upload *upload = tr_api_call_state(call);
    struct batch *batch = &upload->batches[upload->filled];
    if (tri_buffer_append(&batch->bytes, piece.data, piece.size) != 0) {
        tr_api_fail(call, TR_API_RESOURCE_EXHAUSTED, "there is no memory for the upload");
    } else {
        give_what_is_due(call, upload);
    }
}

static void end(struct tr_api_call *call)
{
    struct tri_upload *upload = tr_api_call_state(call);
    upload->batches[upload->filled].is_last = true;
    give_what_is_due(call, upload);
}

/* What is given is freed when it comes back. */
static void gone(struct tr_api_call *call)
{
    struct tri_upload *upload = tr_api_call_state(call);
    upload->is_gone = true;
    if (upload->given_count == 0) {
        free_upload(upload);
    }
}

/* A client that sends much before it is held leaves a large block, which is not kept. */
static void empty(struct batch *batch)
{
    if (batch->bytes.capacity > 2 * TR_UPLOAD_BATCH_BYTES) {
        tri_buffer_fini(&batch->bytes);
    } else {
        tri_buffer_clear(&batch->bytes);
    }
}

static void send_on(struct tr_api_call *call, struct batch *batch)
{
    struct tri_upload *upload = batch->upload;
    if (batch->has_failed) {
        tr_api_fail(call, upload->code, "%s", upload->words);
    } else if (batch->is_last) {
        tr_api_upload_done(call);
    } else {
        give_what_is_due(call, upload);
    }
}

/* Both threads have done their part. */
static void give_back(void *argument)
{
    struct batch *batch = argument;
    struct tri_upload *upload = batch->upload;
    empty(batch);
    upload->given_count--;
    if (!upload->is_gone) {
        send_on(tr_api_call_find(upload->api, upload->call), batch);
    } else if (upload->given_count == 0) {
        free_upload(upload);
    }
}

/* ------------------------------------------------------------------ the store's threads */

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

/*
 * The disk begins with what was written while more comes, so that the end of a large file does not
 * wait for all of it. Only a hint: whether it got there says the fsync of the end.
 */
static void begin_writeback(struct tri_upload *upload)
{
    uint64_t bytes = upload->written_bytes - upload->begun_bytes;
    if (bytes >= TR_UPLOAD_WRITEBACK_BYTES) {
        (void)sync_file_range(upload->descriptor, (off_t)upload->begun_bytes, (off_t)bytes,
                              SYNC_FILE_RANGE_WRITE);
        upload->begun_bytes = upload->written_bytes;
    }
}

static bool write_batch(struct tri_upload *upload, const struct batch *batch)
{
    struct tr_bytes rest = {.data = tri_buffer_front(&batch->bytes),
                            .size = tri_buffer_size(&batch->bytes)};
    while (rest.size > 0) {
        ssize_t count = write(upload->descriptor, rest.data, rest.size);
        if (count < 0 && errno != EINTR) {
            fail_disk(upload, errno);
            return false;
        }
        size_t written = count > 0 ? (size_t)count : 0;
        rest.data += written;
        rest.size -= written;
        upload->written_bytes += written;
    }
    begin_writeback(upload);
    return true;
}

/*
 * Makes the folders on the way to a file below the store's. Of two threads at once one would rely
 * on a folder whose name the other has not synced yet.
 */
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

/* The second of both threads gives the file its name, one at a time: see make_way. */
static void end_part(struct batch *batch)
{
    struct tri_upload *upload = batch->upload;
    if (atomic_fetch_sub(&batch->parts_left, 1) > 1) {
        return;
    }
    if (batch->is_last && !batch->has_failed) {
        (void)pthread_mutex_lock(&upload->store->placing);
        place(upload);
        (void)pthread_mutex_unlock(&upload->store->placing);
        batch->has_failed = upload->code != TR_API_OK;
    }
    /* Without memory the call waits in vain, until its client gives up. */
    (void)!tr_api_post(upload->api, give_back, batch);
}

static struct batch *take_batch(struct tr_work_list *taken)
{
    return ((struct part *)tr_work_list_take(taken))->batch;
}

/* What was given is done, also while the engine leaves. The other thread stops after this one. */
static void do_writing(void *self, struct tr_work_list *taken, bool is_stopping)
{
    struct tri_upload_store *store = self;
    struct batch *batch = take_batch(taken);
    struct tri_upload *upload = batch->upload;
    (void)is_stopping;
    if (upload->url.has_md5) {
        enum tr_work_taken is_taken =
            tr_work_queue_add(&store->digesting, &batch->to_digest.in_queue);
        TR_ASSERT(is_taken == TR_WORK_TAKEN);
    }
    batch->has_failed =
        upload->code != TR_API_OK || !open_file(upload) || !write_batch(upload, batch);
    end_part(batch);
}

static void do_digesting(void *self, struct tr_work_list *taken, bool is_stopping)
{
    struct batch *batch = take_batch(taken);
    (void)self;
    (void)is_stopping;
    tr_md5_add(&batch->upload->md5, (struct tr_bytes){.data = tri_buffer_front(&batch->bytes),
                                                      .size = tri_buffer_size(&batch->bytes)});
    end_part(batch);
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
    tr_work_queue_init(&store->writing, &(struct tr_work_options){.do_work = do_writing});
    tr_work_queue_init(&store->digesting, &(struct tr_work_options){.do_work = do_digesting});
    (void)pthread_mutex_init(&store->placing, NULL);
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
        error = tr_work_queue_begin(&store->digesting, store);
    }
    if (error == 0) {
        error = tr_work_queue_begin(&store->writing, store);
    }
    return error;
}

void tri_upload_store_stop(struct tri_upload_store *store)
{
    tr_work_queue_stop(&store->writing);
    tr_work_queue_stop(&store->digesting);
}

void tri_upload_store_close(struct tri_upload_store *store)
{
    tr_work_queue_fini(&store->writing);
    tr_work_queue_fini(&store->digesting);
    (void)pthread_mutex_destroy(&store->placing);
}

bool tri_upload_store_has(const struct tri_upload_store *store, const char *path)
{
    size_t size = strlen(store->folder);
    return strncmp(path, store->folder, size) == 0 && path[size] == '/' &&
           strstr(path, "/../") == NULL && strstr(path + size, "/.") == NULL;
}
