/*
 * Pages of entities, by the indexes of the store.
 */
#ifndef TR_DEPLOY_ENTITIES_LIST_H
#define TR_DEPLOY_ENTITIES_LIST_H

#include <flyteidl/admin_common.pb-c.h>

#include "deploy/entities/list_match.h"
#include "deploy/entities/registrar_inside.h"

/* What is asked for; texts as they came, NULL as if empty. */
struct tri_list_request {
    enum tr_entity_kind kind;
    const char *project;
    const char *domain;
    const char *name; /* of all versions of it; empty: of all names */
    bool is_active;   /* launch plans that are, alone */
    uint32_t limit;
    const char *token;
    const char *filters;
    const Flyteidl__Admin__Sort *sort;
};

/* A page: its rows, in the job's arena, and the token of the next one, or "". */
struct tri_list_page {
    struct tri_vector rows; /* struct tr_entity */
    char *token;
};

/* Reads one; false: the job has failed. */
TR_MUST_USE bool tri_list(struct tri_job *job, const struct tri_list_request *request,
                          struct tri_list_page *page);

/* What lists have in common. */

/* How many rows a page has; a request without a number has TR_LIST_LIMIT. */
uint32_t tri_list_limit(uint32_t asked);

/* Reads filters and the token; false: the job has failed. */
TR_MUST_USE bool tri_list_read_filters(struct tri_job *job, const char *text,
                                       struct tr_list_filters *filters);
TR_MUST_USE bool tri_list_read_token(struct tri_job *job, const char *text,
                                     struct tr_list_token *token);

/* A token behind a row; NULL: the job has failed. */
TR_MUST_USE char *tri_list_token_new(struct tri_job *job, const struct tr_list_token *token);

#endif
