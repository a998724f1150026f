/*
 * Queries of a reader as requests, and what is read as parts of answers (schemas/runtime/query.h).
 * Pure: what comes from the network is checked here, by what a reader takes.
 */
#ifndef TR_RUNTIME_REMOTE_REMOTE_QUERY_H
#define TR_RUNTIME_REMOTE_REMOTE_QUERY_H

#include "runtime/journal/reader.h"
#include "schemas/runtime/query.h"

/* Bytes of a query, and of one part of an answer; a larger row is a part alone. */
#define TRI_REMOTE_QUERY_BYTES 65536
#define TRI_REMOTE_PART_BYTES 65536

/* A whole answer ends behind so many bytes: what is behind it is asked for anew. */
#define TRI_REMOTE_ANSWER_BYTES (4U << 20)

/* Conditions on other records that one query may have, and filters of all together. */
#define TRI_REMOTE_RELATED_MAX 4
#define TRI_REMOTE_FILTERS_MAX 64

/* Which cell is read. */
enum tri_remote_cell { TRI_REMOTE_PAGE = 1, TRI_REMOTE_META, TRI_REMOTE_GRAPH };

/*
 * Packs a query; what `read` refers to is in `room` (TRI_REMOTE_QUERY_BYTES). TR_LIMIT: it is too
 * large; TR_INVALID: a text of it is none.
 */
TR_MUST_USE int tri_remote_query_pack(const struct tr_reader_query *query, bool counts,
                                      uint8_t *room, struct tr_read_rows *read);

/* A query that came; texts of it are those of the request, copies of names its own. */
struct tri_remote_query {
    struct tr_reader_query query;
    struct tr_reader_filter filters[TRI_REMOTE_FILTERS_MAX];
    struct tr_reader_related related[TRI_REMOTE_RELATED_MAX];
};

/*
 * Unpacks it, for the records that there are. TR_UNKNOWN_TYPE: there is no such record; TR_INVALID:
 * it has a field that is none, or more than may be; and errors of unpacking.
 */
TR_MUST_USE int tri_remote_query_unpack(const struct tr_read_rows *read,
                                        const struct tr_schema *const *records, size_t record_count,
                                        struct tri_remote_query *query);

/* An operation that a visit shows, as a value in a part; and back. Errors of the codec. */
void tri_remote_op_write(const struct tri_op *op, struct tr_writer *writer);
void tri_remote_op_read(struct tr_cursor *cursor, struct tri_op *op);

#endif
