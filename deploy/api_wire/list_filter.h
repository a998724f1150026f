/*
 * Conditions of lists as Flyte's clients write them: OP(FIELD,VALUE)+OP(FIELD,VALUE). Pure.
 */
#ifndef TR_DEPLOY_API_WIRE_LIST_FILTER_H
#define TR_DEPLOY_API_WIRE_LIST_FILTER_H

#include "deploy/api_wire/api_limits.h"
#include "schemas/codec/base.h"

/* The comparisons. Of the last two a value is a list with ; between. */
#define TR_LIST_OPS(O)      \
    O(CONTAINS, "contains") \
    O(NOT_LIKE, "not_like") \
    O(GREATER, "gt")        \
    O(GREATER_EQUAL, "gte") \
    O(LESS, "lt")           \
    O(LESS_EQUAL, "lte")    \
    O(EQUAL, "eq")          \
    O(NOT_EQUAL, "ne")      \
    O(AMONG, "value_in")    \
    O(NOT_AMONG, "value_not_in")

enum tr_list_op {
#define TRI_LIST_OP(name, word) TR_LIST_##name,
    TR_LIST_OPS(TRI_LIST_OP)
#undef TRI_LIST_OP
};

struct tr_list_filter {
    enum tr_list_op op;
    struct tr_text field; /* views of the text */
    struct tr_text value;
};

struct tr_list_filters {
    struct tr_list_filter items[TR_LIST_FILTERS_MAX];
    size_t count;
};

/* Enough for what is wrong with them. */
#define TR_LIST_FILTER_PROBLEM_BYTES 320

/* Reads them; an empty text has none. TR_INVALID with the reason in `problem`. */
TR_MUST_USE int tr_list_filters_read(struct tr_text text, struct tr_list_filters *filters,
                                     char *problem);

/* Whether the value is a list. */
bool tr_list_op_has_list(enum tr_list_op op);

/* The next value of a list; `is_last` is false at first. False: there is none. */
bool tr_list_filter_next(struct tr_text *rest, bool *is_last, struct tr_text *value);

/* A text as a number, or as a time in milliseconds since 1970. False: it is none. */
bool tr_list_filter_number(struct tr_text text, bool is_time, uint64_t *number);

#endif
