/*
 * The nodes of one execution, as Flyte's clients ask for them: found by their ids, told as Flyte
 * tells them.
 */
#ifndef TR_DEPLOY_API_NODES_LOOK_NODES_H
#define TR_DEPLOY_API_NODES_LOOK_NODES_H

#include "deploy/api_runs/node_ids.h"
#include "deploy/api_runs/run_list.h"
#include "deploy/api_runs/view.h"
#include "deploy/graphs/decided.h"
#include "deploy/graphs/route.h"
#include "schemas/engine/history.h"

/* An execution that is looked at. */
struct tr_look {
    struct tr_desk_job *job;
    struct tr_executions_row found;
    const struct tr_graph *graph;
    struct tr_route route;
    struct tr_decided decided;
    bool has_route;
};

/* One of its nodes. */
struct tr_look_node {
    struct tr_text path;
    struct tr_stop stop;
    struct tr_node_status row;
};

/* Begins to look. False: the job has failed. To be ended in any case. */
TR_MUST_USE bool tr_look_begin(struct tr_look *look, struct tr_desk_job *job,
                               const tr_execution_id *id);
void tr_look_end(struct tr_look *look);

/* Whether a word is one of the two ids that no graph has, which every execution has in Flyte. */
bool tr_look_is_sentinel(struct tr_text word);

/* Finds a node that has begun. False: the job has failed, with NOT_FOUND where there is none. */
TR_MUST_USE bool tr_look_node_find(struct tr_look *look, const char *word,
                                   struct tr_look_node *node);

/* As messages; NULL: memory ended. */
Flyteidl__Admin__NodeExecution *tr_look_node_view(struct tr_look *look,
                                                  const struct tr_look_node *node);
Flyteidl__Admin__NodeExecution *tr_look_sentinel_view(struct tr_look *look, bool is_end);

/* By which URL GetData gives a node's deck; NULL without memory. */
char *tr_look_deck_url(struct tr_look *look, const char *word);

/* Answers with the nodes that lie in one, or at the top where `parent` is empty. */
void tr_look_nodes_list(struct tr_look *look, const char *parent,
                        const struct tr_run_list_request *request);

/* Answers with the attempts of a node, or with one of them (`attempt` UINT32_MAX: all). */
struct tr_look_attempts {
    struct tr_look_node node;
    bool is_array; /* one attempt, with its elements */
    struct tr_attempt *items;
    uint32_t count;
};
TR_MUST_USE bool tr_look_attempts_read(struct tr_look *look, const char *word, uint32_t attempt,
                                       struct tr_look_attempts *attempts);

/*
 * The same of an element of an array, which is no node, by its array's word and its number: n0-3.
 * None where the word is no such one. False: the job has failed.
 */
TR_MUST_USE bool tr_look_element_attempts_read(struct tr_look *look, const char *word,
                                               uint32_t attempt, struct tr_look_attempts *attempts);
Flyteidl__Admin__TaskExecution *tr_look_attempt_view(struct tr_look *look,
                                                     const struct tr_look_attempts *attempts,
                                                     uint32_t at);

#endif
