/*
 * Downloads. The http thread writes chunks to the file and fills in how it ended; then the download
 * belongs to the files service again, which finds it in a list.
 *
 * A download goes back and forth between two threads, but belongs to one at a time: the service
 * makes it and submits it; from then on only the http thread touches it; the list gives it back,
 * which always has room. An eventfd wakes the service, which waits for it beside its link. Bytes go
 * from the socket to a file of the blob store, so a download takes no memory for its size.
 *
 * A crash leaves a file that has no name as a blob yet; the next start removes it.
 */
#include "runtime/services/files_fetch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/http/http.h"
#include "runtime/memory.h"

/* Without a byte of an answer for so long, a download has failed. */
#define IDLE_TIMEOUT_MS 60000
#define REDIRECTS_MAX 10

/* Downloads at once. */
#define FETCHES_MAX 4096

struct tri_fetches {
    struct tri_blobs *blobs;
    struct tri_http *http;
    _Atomic(struct tri_fetch *) ended; /* the latest first */
    struct tri_fetch *taken;           /* of these, the earliest first */
    int wake;                          /* an eventfd */
};

int tri_fetches_new(struct tri_blobs *blobs, struct tri_fetches **out)
{
    struct tri_fetches *fetches = tr_alloc_zero(1, sizeof *fetches);
    if (fetches == NULL) {
        return TR_MEMORY;
    }
    fetches->blobs = blobs;
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
    struct tri_fetch *fetch;
    if (fetches == NULL) {
        return;
    }
    tri_http_stop(fetches->http); /* ends all; what they wrote is removed at the next start */
    while ((fetch = tri_fetches_next(fetches)) != NULL) {
        tri_fetch_free(fetch);
    }
    close(fetches->wake);
    tr_free(fetches);
}

int tri_fetches_fd(const struct tri_fetches *fetches)
{
    return fetches->wake;
}

/*
 * All that have ended, the earliest first. The http thread rings behind its push, and here the bell
 * is read before the list, so one that ends meanwhile is taken now or wakes the service again.
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
        latest = fetch->next;
        fetch->next = earliest;
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
        fetches->taken = fetch->next;
    }
    return fetch;
}

void tri_fetch_free(struct tri_fetch *fetch)
{
    if (fetch->fd >= 0) {
        close(fetch->fd);
    }
    tr_free(fetch);
}

/* ---- The http thread. ----------------------------------------------------------------------- */

static void fail(struct tri_fetch *fetch, int error, const char *words)
{
    if (fetch->error == 0) {
        fetch->error = error;
        snprintf(fetch->words, sizeof fetch->words, "%.400s", words);
    }
}

static void take_chunk(struct tri_fetch *fetch, struct tr_bytes bytes)
{
    fetch->size += bytes.size;
    if (fetch->error != 0) {
        return; /* it is being cancelled */
    }
    if (fetch->size > TR_BLOB_FETCH_BYTES_MAX) {
        fail(fetch, TR_LIMIT, "it is larger than TR_BLOB_FETCH_BYTES_MAX");
    } else {
        int error = tri_below_write_all(fetch->fd, bytes);
        if (error != 0) {
            fail(fetch, error, strerror(errno));
        }
    }
    if (fetch->error != 0) {
        /* Without memory for that it comes in vain to its end. */
        (void)!tri_http_cancel(fetch->fetches->http, (uint64_t)(uintptr_t)fetch);
    }
}

/*
 * Gives a download back. Release here and acquire in take_ended: the service sees all that was
 * written to it. Once it is in the list the service may free it.
 */
static void give_back(struct tri_fetches *fetches, struct tri_fetch *fetch)
{
    fetch->next = atomic_load_explicit(&fetches->ended, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&fetches->ended, &fetch->next, fetch,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    (void)!eventfd_write(fetches->wake, 1);
}

/* On the http thread, once for each download. */
static void take_end(struct tri_fetch *fetch, const struct tri_http_event *event)
{
    char words[64];
    if (event->fault != TRI_HTTP_NONE) {
        fail(fetch, event->fault == TRI_HTTP_INVALID ? TR_INVALID : TR_SYSTEM, event->words);
    } else if (event->status < 200 || event->status > 299) {
        bool is_absent = event->status == 404 || event->status == 410;
        snprintf(words, sizeof words, "the server answers with status %u", event->status);
        fail(fetch, is_absent ? TR_NOT_FOUND : TR_SYSTEM, words);
    }
    give_back(fetch->fetches, fetch);
}

static void deliver(void *self, const struct tri_http_event *event)
{
    struct tri_fetch *fetch = (struct tri_fetch *)(uintptr_t)event->id;
    (void)self;
    if (event->kind == TRI_HTTP_PART) {
        take_chunk(fetch, event->body);
    } else if (event->kind == TRI_HTTP_END) {
        take_end(fetch, event);
    }
}

/* ---- The service's side. -------------------------------------------------------------------- */

static bool begins_with(struct tr_text text, const char *prefix)
{
    size_t size = strlen(prefix);
    return text.size >= size && memcmp(text.data, prefix, size) == 0;
}

bool tri_fetch_can(struct tr_text uri)
{
    return begins_with(uri, "http://") || begins_with(uri, "https://");
}

/*
 * The last part of the URI's path, before a question mark, for the blob's name.
 *
 * The blob store makes it fit for a file name.
 */
static void take_hint(struct tri_fetch *fetch, struct tr_text uri)
{
    size_t end = 0;
    while (end < uri.size && uri.data[end] != '?' && uri.data[end] != '#') {
        end++;
    }
    size_t begin = end;
    while (begin > 0 && uri.data[begin - 1] != '/') {
        begin--;
    }
    snprintf(fetch->hint, sizeof fetch->hint, "%.*s", (int)(end - begin), uri.data + begin);
}

static int start_http(struct tri_fetches *fetches)
{
    struct tri_http_options options = {
        .deliver = deliver, .self = fetches, .requests_max = FETCHES_MAX};
    return fetches->http != NULL ? 0 : tri_http_start(&options, &fetches->http);
}

static int submit(struct tri_fetches *fetches, struct tri_fetch *fetch, struct tr_text uri)
{
    struct tri_http_request request = {
        .id = (uint64_t)(uintptr_t)fetch,
        .method = tr_text_of("GET"),
        .url = uri,
        .idle_timeout_ms = IDLE_TIMEOUT_MS,
        .delivery = TRI_HTTP_CHUNKS,
        .is_proxied = true,
        .redirects_max = REDIRECTS_MAX,
    };
    return tri_http_submit(fetches->http, &request);
}

int tri_fetch_begin(struct tri_fetches *fetches, struct tr_text uri,
                    const struct tri_caller *caller)
{
    int error = start_http(fetches);
    if (error != 0) {
        return error;
    }
    struct tri_fetch *fetch = tr_alloc_zero(1, sizeof *fetch);
    if (fetch == NULL) {
        return TR_MEMORY;
    }
    fetch->caller = *caller;
    fetch->fetches = fetches;
    fetch->fd = -1;
    take_hint(fetch, uri);
    error = tri_blob_begin(fetches->blobs, fetch->name, &fetch->fd);
    if (error == 0) {
        error = submit(fetches, fetch, uri);
    }
    if (error != 0) {
        /* The request was not submitted, so no END comes, and the begun file has no other owner. */
        if (fetch->fd >= 0) {
            tri_blob_give_up(fetches->blobs, fetch->name);
        }
        tri_fetch_free(fetch);
    }
    return error;
}
