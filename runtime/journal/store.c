/*
 * Common to all stores: the order in which a commit's operations are written, and the keys of
 * records' rows.
 *
 * Writes in key order touch each page of a table once; in random order the same rows cost seven
 * times as much.
 */
#include "runtime/journal/store.h"

#include <endian.h>
#include <string.h>

#include "runtime/limits.h"

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a == b ? 0 : a < b ? -1 : 1;
}

/* Deletions of rows are sorted among the puts of rows. */
static unsigned rank_of(enum tri_op_kind kind)
{
    return kind == TRI_OP_DELETE_RECORDS ? TRI_OP_PUT_RECORD : kind;
}

/* `key` holds the first bytes; the rest is compared only if they are equal. */
static int compare_row_keys(const struct tri_op *a, const struct tri_op *b)
{
    int order = tr_key_compare(a->key, b->key);
    if (order != 0 || (a->key_size <= sizeof a->key && a->key_size == b->key_size)) {
        return order;
    }
    struct tr_bytes left = tri_op_row_key(a);
    struct tr_bytes right = tri_op_row_key(b);
    size_t size = left.size < right.size ? left.size : right.size;
    order = size > 0 ? memcmp(left.data, right.data, size) : 0;
    return order != 0 ? order : compare_numbers(left.size, right.size);
}

static int compare_rows(const struct tri_op *a, const struct tri_op *b)
{
    if (a->type != b->type) {
        return a->type < b->type ? -1 : 1;
    }
    if (a->turn != b->turn) {
        return a->turn < b->turn ? -1 : 1;
    }
    if (a->kind != b->kind) {
        return a->kind == TRI_OP_PUT_RECORD ? -1 : 1; /* a deletion ends its turn */
    }
    int order = compare_row_keys(a, b);
    return order != 0 ? order : compare_numbers(a->number, b->number);
}

static bool is_of_graph(const struct tri_op *op)
{
    return op->kind == TRI_OP_PUT_GRAPH || op->kind == TRI_OP_DELETE_GRAPH;
}

/* Counts of crashes are sorted by what is counted; the type of an actor does not tell it apart. */
static uint16_t type_of(const struct tri_op *op)
{
    return op->kind == TRI_OP_PUT_CRASH || op->kind == TRI_OP_DELETE_CRASH ? op->type : 0;
}

int tri_op_compare(const struct tri_op *a, const struct tri_op *b)
{
    if (rank_of(a->kind) != rank_of(b->kind)) {
        return rank_of(a->kind) < rank_of(b->kind) ? -1 : 1;
    }
    if (rank_of(a->kind) == TRI_OP_PUT_RECORD) {
        return compare_rows(a, b);
    }
    int order = compare_numbers(a->to_group, b->to_group);
    if (order == 0) {
        order = compare_numbers(type_of(a), type_of(b));
    }
    if (order == 0) {
        order = tr_key_compare(a->key, b->key);
    }
    if (order != 0) {
        return order;
    }
    if (a->incarnation != b->incarnation) {
        return a->incarnation < b->incarnation ? -1 : 1;
    }
    order = is_of_graph(a) ? memcmp(a->data.data, b->data.data, TRI_GRAPH_HASH_BYTES) : 0;
    return order != 0 ? order : compare_numbers(a->number, b->number);
}

struct tr_bytes tri_op_row_key(const struct tri_op *op)
{
    if (op->key_size == 0) {
        return (struct tr_bytes){0};
    }
    struct tr_cursor cursor = tr_cursor_of(op->data);
    (void)tr_read_array(&cursor);
    TR_ASSERT(cursor.error == 0 && tr_cursor_left(&cursor) >= op->key_size);
    return (struct tr_bytes){.data = cursor.at, .size = op->key_size};
}

void tri_op_sort_by_row(struct tri_op *op)
{
    struct tr_bytes bytes = tri_op_row_key(op);
    uint64_t words[2] = {0};
    if (bytes.size > 0) {
        memcpy(words, bytes.data, bytes.size < sizeof words ? bytes.size : sizeof words);
    }
    op->key = (struct tr_key){be64toh(words[0]), be64toh(words[1])};
}

static bool is_sound(const struct tri_op *op)
{
    switch (op->kind) {
    case TRI_OP_PUT_GRAPH:
        return op->data.size >= TRI_GRAPH_HASH_BYTES;
    case TRI_OP_DELETE_GRAPH:
        return op->data.size == TRI_GRAPH_HASH_BYTES;
    default:
        return op->kind >= TRI_OP_PUT_COUNTER && op->kind < TRI_OP_KINDS;
    }
}

const struct tri_op *tri_commit_unsound(const struct tri_commit *commit)
{
    for (size_t i = 0; i < commit->count; i++) {
        if (!is_sound(&commit->ops[i])) {
            return &commit->ops[i];
        }
    }
    return NULL;
}

void tri_op_sort_by_hash(struct tri_op *op)
{
    uint64_t words[2];
    TR_ASSERT(op->data.size >= TRI_GRAPH_HASH_BYTES);
    memcpy(words, op->data.data, sizeof words);
    op->key = (struct tr_key){be64toh(words[0]), be64toh(words[1])};
}

int tri_op_find_row_key(struct tri_op *op, const struct tr_schema *schema)
{
    uint16_t count = tr_row_key_count(schema);
    if (op->kind == TRI_OP_DELETE_RECORDS) {
        if (op->number == 0 || op->number > count) {
            return TR_INVALID;
        }
        count = (uint16_t)op->number;
    }
    struct tr_bytes key = {0};
    int error = tr_row_key_bytes(op->data, count, &key);
    if (error == 0 && key.size > TR_ROW_KEY_BYTES_MAX) {
        error = TR_LIMIT;
    }
    if (error == 0) {
        op->key_size = (uint16_t)key.size;
        tri_op_sort_by_row(op);
    }
    return error;
}
