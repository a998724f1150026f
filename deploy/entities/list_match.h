/*
 * Whether the conditions of a list hold for a row, and tokens, which say where the next page
 * begins. Pure.
 */
#ifndef TR_DEPLOY_ENTITIES_LIST_MATCH_H
#define TR_DEPLOY_ENTITIES_LIST_MATCH_H

#include "actors/graph/document/buffer.h"
#include "deploy/api_wire/list_filter.h"
#include "deploy/entities/entity_limits.h"
#include "schemas/codec/base.h"

/* A field without the entity that may stand in front of it: task.name is name. */
struct tr_text tr_list_match_field(struct tr_text field);

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
TR_MUST_USE int tr_list_match_check(const struct tr_list_filter *filter,
                                    const struct tr_list_value *kind, char *problem);
bool tr_list_match_holds(const struct tr_list_filter *filter, const struct tr_list_value *value);

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
