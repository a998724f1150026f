/*
 * Reading the contents of a modelled store, and checking what is to be written; see the header.
 */
#include "tests/sim/model_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"

int tri_model_say(char *words, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(words, TRI_STORE_EXPLAIN_BYTES, format, arguments);
    va_end(arguments);
    return error;
}

/* --- Records and their schemas. --- */

/* The place of a record that is known, or the number of these. */
static size_t find_record(const struct tri_model_records *records, uint16_t id)
{
    size_t i = 0;
    while (i < records->count && records->known[i].id != id) {
        i++;
    }
    return i;
}

int tri_model_records_check(const struct tri_model_records *records,
                            const struct tri_store_options *options, char *words)
{
    for (size_t i = 0; i < options->record_count; i++) {
        const struct tr_schema *schema = options->records[i];
        size_t at = find_record(records, schema->id);
        if (at == records->count) {
            continue;
        }
        if (strcmp(records->known[at].name, schema->name) != 0) {
            return tri_model_say(words, TR_INVALID, "model: record id %d belongs to %s", schema->id,
                                 records->known[at].name);
        }
        if (records->known[at].version > schema->version) {
            return tri_model_say(words, TR_STORE_NEWER, "model: record %s has version %d",
                                 schema->name, records->known[at].version);
        }
    }
    return 0;
}

void tri_model_records_note(struct tri_model_records *records,
                            const struct tri_store_options *options)
{
    for (size_t i = 0; i < options->record_count; i++) {
        const struct tr_schema *schema = options->records[i];
        size_t at = find_record(records, schema->id);
        TR_ASSERT(at < TRI_MODEL_RECORDS_MAX);
        if (at == records->count) {
            records->count++;
            records->known[at].id = schema->id;
            (void)snprintf(records->known[at].name, sizeof records->known[at].name, "%s",
                           schema->name);
        }
        records->known[at].version = schema->version;
    }
}

static const struct tr_schema *find_schema(const struct tr_schema *const *records,
                                           size_t record_count, uint16_t id)
{
    for (size_t i = 0; i < record_count; i++) {
        if (records[i]->id == id) {
            return records[i];
        }
    }
    return NULL;
}

static int check_record(const struct tr_schema *schema, const struct tri_op *op, char *words)
{
    void *row = tri_model_must(calloc(1, schema->struct_size + 1));
    uint8_t version = op->incarnation <= UINT8_MAX ? (uint8_t)op->incarnation : 0;
    int error = schema->unpack(op->data, version, row);
    free(row);
    struct tri_op found = *op;
    if (error == 0 && op->kind == TRI_OP_DELETE_RECORDS) {
        error = tri_op_find_row_key(&found, schema);
    }
    return error == 0
               ? 0
               : tri_model_say(words, error, "model: a record %s cannot be unpacked", schema->name);
}

int tri_model_check_ops(const struct tr_schema *const *records, size_t record_count,
                        const struct tri_commit *commit, char *words)
{
    const struct tri_op *unsound = tri_commit_unsound(commit);
    int error = unsound == NULL ? 0
                                : tri_model_say(words, TR_INVALID,
                                                "model: an operation of kind %d makes no sense",
                                                (int)unsound->kind);
    for (size_t i = 0; error == 0 && i < commit->count; i++) {
        const struct tri_op *op = &commit->ops[i];
        if (op->kind != TRI_OP_PUT_RECORD && op->kind != TRI_OP_DELETE_RECORDS) {
            continue;
        }
        const struct tr_schema *schema = find_schema(records, record_count, op->type);
        error = schema != NULL
                    ? check_record(schema, op, words)
                    : tri_model_say(words, TR_UNKNOWN_TYPE,
                                    "model: no schema for record %d was given", op->type);
    }
    return error;
}

/* --- Reading. --- */

/* The rows of a list that are of a range of groups: from `at` up to `end`. */
struct span {
    const struct tri_model_list *list;
    size_t at;
    size_t end;
};

static struct span span_of(const struct tri_model_version *version, enum tri_model_class class,
                           struct tri_group_range range)
{
    struct span span = {.list = version->lists[class]};
    size_t count = span.list != NULL ? span.list->count : 0;
    for (; span.end < count; span.end++) {
        const struct tri_op *op = &span.list->rows[span.end].op;
        uint64_t group = class == TRI_MODEL_MESSAGES ? op->to_group : op->key.group;
        if (group > range.last) {
            break;
        }
        span.at += group < range.first;
    }
    return span;
}

static int tell(struct span span, int (*callback)(void *, const struct tri_op *), void *self)
{
    int error = 0;
    for (; callback != NULL && error == 0 && span.at < span.end; span.at++) {
        error = callback(self, &span.list->rows[span.at].op);
    }
    return error;
}

/* Tells the pages of one actor, with which the span begins. */
static int tell_pages(struct span *pages, struct tr_key key,
                      const struct tri_store_visitor *visitor)
{
    int error = 0;
    while (error == 0 && pages->at < pages->end &&
           tr_key_equal(pages->list->rows[pages->at].op.key, key)) {
        error = visitor->page(visitor->self, &pages->list->rows[pages->at++].op);
    }
    return error;
}

static int tell_actors(struct span actors, struct span pages,
                       const struct tri_store_visitor *visitor, char *words)
{
    if (visitor->actor == NULL || visitor->page == NULL) {
        int error = tell(actors, visitor->actor, visitor->self);
        return error != 0 ? error : tell(pages, visitor->page, visitor->self);
    }
    int error = 0;
    for (; error == 0 && actors.at < actors.end; actors.at++) {
        const struct tri_op *op = &actors.list->rows[actors.at].op;
        error = visitor->actor(visitor->self, op);
        if (error == 0) {
            error = tell_pages(&pages, op->key, visitor);
        }
    }
    if (error == 0 && pages.at < pages.end) {
        error = tri_model_say(words, TR_STORE_DAMAGED, "model: a page belongs to no actor");
    }
    return error;
}

int tri_model_version_tell(const struct tri_model_version *version, struct tri_group_range range,
                           const struct tri_store_visitor *visitor, char *words)
{
    int error = tell(span_of(version, TRI_MODEL_COUNTERS, range), visitor->counter, visitor->self);
    if (error == 0) {
        error = tell_actors(span_of(version, TRI_MODEL_ACTORS, range),
                            span_of(version, TRI_MODEL_PAGES, range), visitor, words);
    }
    return error != 0
               ? error
               : tell(span_of(version, TRI_MODEL_MESSAGES, range), visitor->message, visitor->self);
}

int tri_model_version_read(const struct tri_model_version *version, enum tri_model_class class,
                           const struct tri_op *wanted, void *buffer, size_t capacity, size_t *size,
                           char *words)
{
    const struct tri_model_list *list = version->lists[class];
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        const struct tri_op *op = &list->rows[i].op;
        if (tri_model_compare(class, op, wanted) != 0) {
            continue;
        }
        if (op->data.size > capacity) {
            return tri_model_say(words, TR_LIMIT, "model: no room for %zu bytes", op->data.size);
        }
        if (op->data.size > 0) {
            memcpy(buffer, op->data.data, op->data.size);
        }
        *size = op->data.size;
        return 0;
    }
    return tri_model_say(words, TR_NOT_FOUND, "model: there is no such row");
}

int tri_model_version_read_graph(const struct tri_model_version *version, const uint8_t *hash,
                                 uint8_t **data, size_t *size, char *words)
{
    const struct tri_model_list *list = version->lists[TRI_MODEL_GRAPHS];
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        struct tr_bytes row = list->rows[i].op.data;
        if (memcmp(row.data, hash, TRI_GRAPH_HASH_BYTES) != 0) {
            continue;
        }
        *size = row.size - TRI_GRAPH_HASH_BYTES;
        *data = tri_model_must(tr_alloc(row.size));
        memcpy(*data, row.data + TRI_GRAPH_HASH_BYTES, *size);
        return 0;
    }
    return tri_model_say(words, TR_NOT_FOUND, "model: there is no such graph");
}

int tri_model_version_list_graphs(const struct tri_model_version *version, const uint8_t *after,
                                  size_t limit,
                                  int (*each)(void *self, const struct tri_graph_entry *graph),
                                  void *target)
{
    const struct tri_model_list *list = version->lists[TRI_MODEL_GRAPHS];
    int error = 0;
    for (size_t i = 0; list != NULL && error == 0 && limit > 0 && i < list->count; i++) {
        const struct tri_op *op = &list->rows[i].op;
        const struct tri_graph_entry graph = {.hash = op->data.data,
                                              .put_ms = op->number,
                                              .bytes = op->data.size - TRI_GRAPH_HASH_BYTES};
        if (after == NULL || memcmp(graph.hash, after, TRI_GRAPH_HASH_BYTES) > 0) {
            error = each(target, &graph);
            limit--;
        }
    }
    return error;
}

int tri_model_version_list_crashes(const struct tri_model_version *version,
                                   int (*each)(void *self, const struct tri_op *op), void *target)
{
    return tell(span_of(version, TRI_MODEL_CRASHES, tri_all_groups), each, target);
}

/* --- Records. --- */

static size_t count_type(const struct tri_model_list *list, uint16_t type)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        count += list->rows[i].op.type == type;
    }
    return count;
}

size_t tri_model_version_record_count(const struct tri_model_version *version, uint16_t type)
{
    size_t count = 0;
    const struct tri_model_list *list = version->lists[TRI_MODEL_RECORDS];
    for (; list != NULL; list = list->before) {
        count += count_type(list, type);
    }
    return count;
}

const struct tri_op *tri_model_version_record(const struct tri_model_version *version,
                                              uint16_t type, size_t index)
{
    const struct tri_model_list *list = version->lists[TRI_MODEL_RECORDS];
    size_t left = tri_model_version_record_count(version, type);
    /* From the newest list back to the one that holds it. */
    while (list != NULL && left - count_type(list, type) > index) {
        left -= count_type(list, type);
        list = list->before;
    }
    size_t at = list != NULL ? left - count_type(list, type) : 0;
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        if (list->rows[i].op.type == type && at++ == index) {
            return &list->rows[i].op;
        }
    }
    return NULL;
}
