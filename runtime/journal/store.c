/*
 * What every store has in common: the order in which a commit's operations are written.
 *
 * Writes in key order touch each page of a table once; in random order the same rows cost seven
 * times as much (architecture.md, Durability).
 */
#include "runtime/journal/store.h"

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a == b ? 0 : a < b ? -1 : 1;
}

int tri_op_compare(const struct tri_op *a, const struct tri_op *b)
{
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    if (a->kind == TRI_OP_PUT_RECORD && a->type != b->type) {
        return a->type < b->type ? -1 : 1;
    }
    int order = tr_key_compare(a->key, b->key);
    if (order != 0) {
        return order;
    }
    if (a->incarnation != b->incarnation) {
        return a->incarnation < b->incarnation ? -1 : 1;
    }
    return compare_numbers(a->number, b->number);
}
