/*
 * Conditions of lists as Flyte's clients write them, OP(FIELD,VALUE)+OP(FIELD,VALUE), and tokens,
 * which say where the next page begins. Pure.
 */
#ifndef TR_DEPLOY_ENTITIES_LIST_FILTER_H
#define TR_DEPLOY_ENTITIES_LIST_FILTER_H

#include "actors/graph/document/buffer.h"
#include "deploy/entities/entity_limits.h"
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
    struct tr_text field; /* without the entity in front of it */
    struct tr_text value; /* a view of the filters */
};

struct tr_list_filters {
    struct tr_list_filter items[TR_LIST_FILTERS_MAX];
    size_t count;
};

/* Enough for what is wrong with them. */
#define TR_LIST_PROBLEM_BYTES 320

/* Reads them; an empty text has none. TR_INVALID with the reason in `problem`. */
TR_MUST_USE int tr_list_filters_read(struct tr_text text, struct tr_list_filters *filters,
                                     char *problem);

/* What a condition looks at: a number, a time, or a text. */
struct tr_list_value {
    bool is_number;
    bool is_time; /* the number is milliseconds since 1970 */
    uint64_t number;
    struct tr_text text;
};

/*
 * Whether a condition is one for values of a kind: TR_INVALID, with the reason in `problem`. And
 * whether it holds for one of them, after that.
 */
TR_MUST_USE int tr_list_filter_check(const struct tr_list_filter *filter,
                                     const struct tr_list_value *kind, char *problem);
bool tr_list_filter_holds(const struct tr_list_filter *filter, const struct tr_list_value *value);

/* The value as a number or a time. False: it is none. */
bool tr_list_number(struct tr_text text, bool is_time, uint64_t *number);

/* Where a page begins. */
struct tr_list_token {
    uint64_t skip;        /* rows to pass over, as flytectl counts pages; or behind a row: */
    bool is_behind;       /* whose */
    struct tr_text value; /* of the field that it is sorted by, */
    struct tr_text name;
    struct tr_text version; /* and the two by which equal ones are */
};

/*
 * Reads one, whose texts go into `room`, which is half as large as the token; an empty one is the
 * beginning. TR_INVALID: it is none of ours.
 */
TR_MUST_USE int tr_list_token_read(struct tr_text text, char *room, struct tr_list_token *token);

/* Appends one that is behind a row. */
void tr_list_token_print(const struct tr_list_token *token, struct tr_buffer *text);

#endif
