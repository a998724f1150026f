/*
 * Readers: calls of the back end, and what is the same for all of them.
 */
#include "runtime/journal/reader.h"

#include <pthread.h>
#include <string.h>

#include "runtime/env/env.h"
#include "runtime/journal/reader_ops.h"
#include "runtime/memory.h"

int tr_reader_refresh(struct tr_reader *reader)
{
    return reader->ops->refresh(reader);
}

void tr_reader_release(struct tr_reader *reader)
{
    reader->ops->release(reader);
}

int tr_reader_steady_ms(struct tr_reader *reader, uint64_t now_ms, uint64_t *steady_ms)
{
    struct tri_kept_clock kept = {0};
    size_t size = 0;
    int error =
        tri_store_read_meta(reader->ops->store(reader), TRI_META_CLOCK, &kept, sizeof kept, &size);
    if (error != 0 && error != TR_NOT_FOUND) {
        return error;
    }
    now_ms += kept.ahead_ms;
    *steady_ms = now_ms > kept.steady_ms ? now_ms : kept.steady_ms;
    return 0;
}

int tr_reader_rows(struct tr_reader *reader, const struct tr_reader_query *query,
                   int (*row)(void *self, const void *row), void *self)
{
    return reader->ops->rows(reader, query, row, self);
}

int tr_reader_count(struct tr_reader *reader, const struct tr_reader_query *query, uint64_t *count)
{
    return reader->ops->count(reader, query, count);
}

int tr_reader_graph(struct tr_reader *reader, const uint8_t *hash, uint8_t **data, size_t *size)
{
    return tri_store_read_graph(reader->ops->store(reader), hash, data, size);
}

const char *tr_reader_folder(const struct tr_reader *reader)
{
    return reader->folder;
}

const char *tr_reader_explain(const struct tr_reader *reader)
{
    return tri_store_explain(reader->ops->store(reader));
}

/* --------------------------------------------------------------- closing and keeping */

/* What a thread keeps ends with it. */
static pthread_key_t kept;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;
static bool has_kept;
static _Thread_local bool is_keeping;

static void close_now(void *self)
{
    struct tr_reader *reader = self;
    tr_free(reader->locator);
    reader->ops->close(reader);
}

static void make_kept(void)
{
    has_kept = pthread_key_create(&kept, close_now) == 0;
}

/* Takes what the thread keeps; NULL: nothing. */
static struct tr_reader *take(void)
{
    struct tr_reader *reader = has_kept ? pthread_getspecific(kept) : NULL;
    if (reader != NULL) {
        (void)pthread_setspecific(kept, NULL);
    }
    return reader;
}

void tr_reader_keep(bool keeps)
{
    (void)pthread_once(&kept_once, make_kept);
    is_keeping = keeps && has_kept;
    struct tr_reader *reader = is_keeping ? NULL : take();
    if (reader != NULL) {
        close_now(reader);
    }
}

void tr_reader_close(struct tr_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    if (!is_keeping || reader->locator == NULL || pthread_getspecific(kept) != NULL ||
        pthread_setspecific(kept, reader) != 0) {
        close_now(reader);
        return;
    }
    reader->ops->release(reader);
}

/* The options that have an effect and may differ; those of a test are never kept. */
static bool is_alike(const struct tr_reader *reader, const struct tr_reader_options *options)
{
    const char *folder = options->folder == NULL ? "" : options->folder;
    return strcmp(reader->folder, folder) == 0 && reader->records == options->records &&
           strcmp(reader->locator, options->locator == NULL ? "" : options->locator) == 0;
}

struct tr_reader *tri_reader_take_kept(const struct tr_reader_options *options)
{
    struct tr_reader *reader = is_keeping ? take() : NULL;
    if (reader != NULL && (!is_alike(reader, options) || reader->ops->refresh(reader) != 0)) {
        close_now(reader);
        reader = NULL;
    }
    return reader;
}

void tri_reader_mark(struct tr_reader *reader, const struct tr_reader_options *options)
{
    const char *locator = options->locator == NULL ? "" : options->locator;
    if (is_keeping && options->vfs == NULL && options->patience_ms == 0) {
        reader->records = options->records;
        reader->locator = tr_text_copy(tr_text_of(locator));
    }
}
