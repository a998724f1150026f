/*
 * Readers: calls of the back end, and what is the same for all of them.
 */
#include "runtime/journal/reader.h"

#include "runtime/env/env.h"
#include "runtime/journal/reader_ops.h"

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

void tr_reader_close(struct tr_reader *reader)
{
    if (reader != NULL) {
        reader->ops->close(reader);
    }
}
