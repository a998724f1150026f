/*
 * The asking thread's side of downloads: beginning, joining, taking ended ones, making blobs.
 *
 * The http thread returns a download through an unbounded list, and an eventfd wakes the asking
 * thread. An ended download stays in the list of all until it is freed, so that a caller of the
 * same URI joins it, and two never write into one folder of parts.
 */
#include "runtime/fetch/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/env/boot.h"
#include "runtime/fetch/fetch_inside.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* ---- All of them. --------------------------------------------------------------------------- */

int tri_fetches_new(const struct tri_fetches_options *options, struct tri_fetches **out)
{
    struct tri_fetches *fetches = tr_alloc_zero(1, sizeof *fetches);
    if (fetches == NULL) {
        return TR_MEMORY;
    }
    fetches->options = *options;
    fetches->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fetches->wake < 0) {
        tr_free(fetches);
        return TR_SYSTEM;
    }
    *out = fetches;
    return 0;
}

void tri_fetches_free(struct tri_fetches *fetches)
{
    if (fetches == NULL) {
        return;
    }
    tri_http_stop(fetches->http); /* ends all downloads */
    while (fetches->all != NULL) {
        tri_fetch_free(fetches->all);
    }
    close(fetches->wake);
    tr_free(fetches);
}

int tri_fetches_fd(const struct tri_fetches *fetches)
{
    return fetches->wake;
}

bool tri_fetches_has_room(const struct tri_fetches *fetches)
{
    return fetches->count < TR_FETCHES_AT_ONCE;
}

bool tri_fetch_is_supported(struct tr_text uri)
{
    return tri_fetch_location_is_supported(uri);
}

/* ---- What has ended. ------------------------------------------------------------------------ */

/*
 * Release here and acquire in take_ended: the asking thread sees all writes to it. After the push
 * it may be freed.
 */
void tri_fetch_return(struct tri_fetch *fetch)
{
    struct tri_fetches *fetches = fetch->fetches;
    fetch->next_ended = atomic_load_explicit(&fetches->ended, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&fetches->ended, &fetch->next_ended, fetch,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    (void)!eventfd_write(fetches->wake, 1);
}

/*
 * All ended downloads, oldest first. The http thread writes the eventfd after its push, and here
 * the eventfd is read before the list, so one that ends meanwhile is taken now or wakes this thread
 * again.
 */
static struct tri_fetch *take_ended(struct tri_fetches *fetches)
{
    eventfd_t rings;
    (void)!eventfd_read(fetches->wake, &rings);
    struct tri_fetch *latest =
        atomic_exchange_explicit(&fetches->ended, NULL, memory_order_acquire);
    struct tri_fetch *earliest = NULL;
    while (latest != NULL) {
        struct tri_fetch *fetch = latest;
        latest = fetch->next_ended;
        fetch->next_ended = earliest;
        earliest = fetch;
    }
    return earliest;
}

struct tri_fetch *tri_fetches_next(struct tri_fetches *fetches)
{
    if (fetches->taken == NULL) {
        fetches->taken = take_ended(fetches);
    }
    struct tri_fetch *fetch = fetches->taken;
    if (fetch != NULL) {
        fetches->taken = fetch->next_ended;
    }
    return fetch;
}

/* ---- One. ----------------------------------------------------------------------------------- */

const struct tri_fetch_owner *tri_fetch_owner(const struct tri_fetch *fetch)
{
    return fetch->owners;
}

struct tri_fetch_owner *tri_fetch_take_owner(struct tri_fetch *fetch)
{
    struct tri_fetch_owner *owner = fetch->owners;
    fetch->owners = owner == NULL ? NULL : owner->next;
    return owner;
}

static void add_owner(struct tri_fetch *fetch, struct tri_fetch_owner *owner)
{
    owner->next = fetch->owners;
    fetch->owners = owner;
}

static void take_out(struct tri_fetch *fetch)
{
    struct tri_fetches *fetches = fetch->fetches;
    struct tri_fetch **at = &fetches->all;
    while (*at != fetch) {
        at = &(*at)->next;
    }
    *at = fetch->next;
    fetches->count--;
}

void tri_fetch_free(struct tri_fetch *fetch)
{
    struct tri_fetch_owner *owner;
    take_out(fetch);
    while ((owner = tri_fetch_take_owner(fetch)) != NULL) {
        tr_free(owner);
    }
    for (size_t i = 0; i < TR_COUNT_OF(fetch->requests); i++) {
        tri_buffer_fini(&fetch->requests[i].url);
    }
    if (fetch->parts >= 0) {
        close(fetch->parts);
    }
    tri_fetch_objects_fini(&fetch->objects);
    tr_free(fetch->uri);
    tr_free(fetch);
}

bool tri_fetch_join(struct tri_fetches *fetches, struct tr_text uri, enum tr_path_kind kind,
                    struct tri_fetch_owner *owner)
{
    char name[TRI_FETCH_NAME_BYTES];
    tri_fetch_cache_name(uri, kind, name);
    struct tri_fetch *fetch = fetches->all;
    while (fetch != NULL && strcmp(fetch->name, name) != 0) {
        fetch = fetch->next;
    }
    if (fetch != NULL) {
        add_owner(fetch, owner);
    }
    return fetch != NULL;
}

/* ---- Beginning. ----------------------------------------------------------------------------- */

static int start_http(struct tri_fetches *fetches)
{
    struct tri_http_options options = {
        .deliver = tri_fetch_deliver,
        .self = fetches,
        .requests_max = TR_FETCHES_AT_ONCE * TR_FETCH_OBJECTS_AT_ONCE,
        .secret_sources = fetches->options.secrets,
        .secret_source_count = fetches->options.secret_count,
    };
    return fetches->http != NULL ? 0 : tri_http_start(&options, &fetches->http);
}

static struct tri_fetch *fetch_new(struct tri_fetches *fetches, struct tr_text uri,
                                   enum tr_path_kind kind)
{
    struct tri_fetch *fetch = tr_alloc_zero(1, sizeof *fetch);
    if (fetch == NULL) {
        return NULL;
    }
    fetch->fetches = fetches;
    fetch->parts = -1;
    fetch->kind = kind;
    fetch->next = fetches->all;
    fetches->all = fetch;
    fetches->count++;
    fetch->uri = tr_text_copy(uri);
    return fetch;
}

/*
 * Opens the folder of its parts; parts of another boot are not used, since unsynced writes may be
 * lost.
 */
static int open_parts(struct tri_fetch *fetch)
{
    char boot[TRI_BOOT_ID_BYTES];
    if (!tri_boot_id(boot)) {
        return tri_fetch_fail(fetch, TR_SYSTEM, "the boot id cannot be read: %s", strerror(errno));
    }
    snprintf(fetch->parts_name, sizeof fetch->parts_name, "fetch-%.8s-%s", boot, fetch->name);
    struct tri_blobs *blobs = fetch->fetches->options.blobs;
    int error = tri_blob_parts_open(blobs, tr_text_of(fetch->parts_name), &fetch->parts);
    return error != 0 ? tri_fetch_fail(fetch, error, "%s", tri_blobs_words(blobs)) : 0;
}

static int begin(struct tri_fetch *fetch)
{
    const struct tri_fetches_options *options = &fetch->fetches->options;
    if (fetch->uri == NULL) {
        return tri_fetch_fail(fetch, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
    }
    struct tr_text uri = tr_text_of(fetch->uri);
    tri_fetch_cache_name(uri, fetch->kind, fetch->name);
    if (tri_fetch_location_find(options->stores, options->store_count, uri, &fetch->location) !=
        0) {
        return tri_fetch_fail(fetch, TR_INVALID, "it names no bucket; write s3://BUCKET/KEY");
    }
    int error = start_http(fetch->fetches);
    if (error != 0) {
        return tri_fetch_fail(fetch, error, "http is not available: %s",
                              tri_http_start_words(error));
    }
    error = open_parts(fetch);
    if (error != 0) {
        return error;
    }
    tri_fetch_cache_read(options->blobs, fetch->name, uri, &fetch->cached);
    return fetch->kind == TR_PATH_DIRECTORY ? tri_fetch_ask_folder(fetch)
                                            : tri_fetch_ask_file(fetch);
}

int tri_fetch_begin(struct tri_fetches *fetches, struct tr_text uri, enum tr_path_kind kind,
                    struct tri_fetch_owner *owner, char *words)
{
    if (tri_fetch_join(fetches, uri, kind, owner)) {
        return 0;
    }
    struct tri_fetch *fetch = NULL;
    int error = TR_BUSY;
    if (tri_fetches_has_room(fetches)) {
        fetch = fetch_new(fetches, uri, kind);
        error = TR_MEMORY;
    }
    if (fetch == NULL) {
        snprintf(words, TR_BLOB_WORDS_BYTES_MAX, "%s", tr_error_text(error));
        return error;
    }
    /* After it is submitted the http thread may have ended it, but only this thread takes it. */
    error = begin(fetch);
    if (error != 0) {
        snprintf(words, TR_BLOB_WORDS_BYTES_MAX, "%s", fetch->words);
        if (fetch->parts >= 0) {
            tri_blob_parts_remove(fetches->options.blobs, tr_text_of(fetch->parts_name));
        }
        tri_fetch_free(fetch);
        return error;
    }
    add_owner(fetch, owner);
    return 0;
}

/* ---- Finishing. ----------------------------------------------------------------------------- */

/*
 * The last part of the URI's path, before a question mark, for the blob's name.
 *
 * The blob store makes it fit for a file name.
 */
static struct tr_text hint_of(const struct tri_fetch *fetch)
{
    bool is_object = fetch->location.bucket.size > 0;
    size_t end = is_object ? strlen(fetch->uri) : strcspn(fetch->uri, "?#");
    while (end > 0 && fetch->uri[end - 1] == '/') {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && fetch->uri[begin - 1] != '/') {
        begin--;
    }
    return (struct tr_text){.data = fetch->uri + begin, .size = end - begin};
}

static int make_blob(struct tri_fetch *fetch, const struct tr_turn *turn)
{
    struct tri_blobs *blobs = fetch->fetches->options.blobs;
    bool is_folder = fetch->kind == TR_PATH_DIRECTORY;
    int error = is_folder ? tri_fetch_build(fetch, turn) : 0;
    if (error != 0) {
        return error;
    }
    const char *entry = is_folder ? TRI_FETCH_TREE : fetch->entry;
    error = tri_blob_parts_adopt(blobs, fetch->parts, entry, hint_of(fetch), &fetch->found.blob);
    return error != 0 ? tri_fetch_fail(fetch, error, "%s", tri_blobs_words(blobs)) : 0;
}

/* Without a validator of the server there is nothing to compare next time. */
static void write_known(struct tri_fetch *fetch)
{
    const struct tri_fetch_cached *found = &fetch->found;
    if (found->tag[0] != '\0' || found->modified[0] != '\0') {
        /* If it cannot be written the content is downloaded again next time. */
        (void)!tri_fetch_cache_write(fetch->fetches->options.blobs, fetch->name,
                                     tr_text_of(fetch->uri), found);
    }
}

/* Whether the parts so far are useful for a retry. */
static bool is_resumed(int error)
{
    return error == TR_NO_CONNECTION || error == TR_CLOSED || tr_error_is_shortage(error);
}

int tri_fetch_finish(struct tri_fetch *fetch, const struct tr_turn *turn, struct tri_blob *blob,
                     char *words)
{
    struct tri_blobs *blobs = fetch->fetches->options.blobs;
    int error = fetch->error != 0 || fetch->is_unchanged ? fetch->error : make_blob(fetch, turn);
    if (error == 0 && !fetch->is_unchanged) {
        write_known(fetch);
    }
    if (!is_resumed(error)) {
        tri_blob_parts_remove(blobs, tr_text_of(fetch->parts_name));
    }
    if (error == 0) {
        *blob = fetch->is_unchanged ? fetch->cached.blob : fetch->found.blob;
        return 0;
    }
    snprintf(words, TR_BLOB_WORDS_BYTES_MAX, "%s", fetch->words);
    return error;
}
