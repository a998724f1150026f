/*
 * What tasks, arrays and workflows wait for, in words: from their committed states, and where they
 * wait for others, from theirs. Pure functions, for commands that read a store beside a live engine
 * or without one.
 *
 *     tr_explain_task      where it stands: "waits to be tried again, at 2026-…: …"
 *     tr_explain_request   which slot it waits for: "a slot in 'processes' (8 of 8 in use: …)"
 *     tr_explain_cache     which task makes what it waits for
 *     tr_explain_job       what its job waits for at the refresh actor of its back end
 *     tr_explain_array     how many elements are where, and what keeps others from beginning
 *     tr_explain_workflow  what it does at the moment
 *     tr_explain_launch    which execution it waits for
 *     tr_explain_nodes     what each of its nodes waits for that has not begun, or is a gate
 *
 * Texts end without a line feed; several sentences are divided by "; ".
 */
#ifndef TR_ACTORS_EXPLAIN_EXPLAIN_H
#define TR_ACTORS_EXPLAIN_EXPLAIN_H

#include "actors/graph/compiled/graph.h"
#include "actors/store/rows.h"
#include "schemas/engine/state_array.h"
#include "schemas/engine/state_launch.h"
#include "schemas/engine/state_refresh.h"
#include "schemas/engine/state_service.h"
#include "schemas/engine/state_task.h"
#include "schemas/engine/state_workflow.h"

/* How late it is by the clock of states, and how far that is ahead of what people read. */
struct tr_explain_now {
    uint64_t steady_ms;
    uint64_t ahead_ms;
};

/* The pages of an actor as they are in the store: none where there is none. */
struct tr_explain_pages {
    tr_rows_page *page;
    void *self;
    bool is_left; /* by an engine that has ended: what it says of the outside was so then */
};

/* What hosts are called, for words. Writes nothing for one it does not know. */
typedef void tr_explain_host_name(void *self, uint16_t host, struct tr_buffer *text);

struct tr_explain_hosts {
    tr_explain_host_name *name;
    void *self;
};

/* Appends "host b", or "host 2" where nobody knows its name. */
void tr_explain_host(const struct tr_explain_hosts *hosts, uint16_t host, struct tr_buffer *text);

/* Holders of a quota that are named. */
#define TR_EXPLAIN_HOLDERS_MAX 5

/* `generated_name` is its attempt's. TR_MALFORMED: pages that are none of a task's; TR_MEMORY. */
TR_MUST_USE int tr_explain_task(const struct tr_task_state *state,
                                const struct tr_explain_pages *pages, struct tr_text generated_name,
                                struct tr_explain_now now, struct tr_buffer *text);

/*
 * Of a task in step TOKEN. TR_NOT_FOUND: the manager does not know it (any more). Of several hosts
 * it names the one whose machine it waits for.
 */
TR_MUST_USE int tr_explain_request(const struct tr_resources_state *state,
                                   const struct tr_explain_pages *pages, struct tr_key task,
                                   struct tr_explain_now now, const struct tr_explain_hosts *hosts,
                                   struct tr_buffer *text);

/* Of a task in step RESERVE, and the execution whose task makes it, 0: its own. TR_NOT_FOUND as
 * above. */
TR_MUST_USE int tr_explain_cache(const struct tr_catalog_state *state,
                                 const struct tr_explain_pages *pages, struct tr_key task,
                                 struct tr_buffer *text, uint64_t *maker);

/* Of a task that its plugin has handed to a back end, by the attempt's generated name.
 * TR_NOT_FOUND: this refresh actor does not know it. */
TR_MUST_USE int tr_explain_job(const struct tr_refresh_state *state,
                               const struct tr_explain_pages *pages, struct tr_text identity,
                               struct tr_explain_now now, struct tr_buffer *text);

/* Says that an execution is dormant, if the resource manager knows it is. */
void tr_explain_dormant(const struct tr_resources_state *state,
                        const struct tr_explain_pages *pages, uint64_t execution,
                        struct tr_buffer *text);

/* Those of a workflow's nodes that are named when another one waits for them. */
#define TR_EXPLAIN_UPSTREAMS_MAX 5

/* TR_MALFORMED: a state that does not suit the graph; TR_MEMORY. */
TR_MUST_USE int tr_explain_array(const struct tr_array_state *state, const struct tr_graph *graph,
                                 struct tr_buffer *text);
TR_MUST_USE int tr_explain_workflow(const struct tr_workflow_state *state,
                                    const struct tr_graph *graph, struct tr_buffer *text);

TR_MUST_USE int tr_explain_launch(const struct tr_launch_state *state,
                                  const struct tr_explain_pages *pages,
                                  const struct tr_graph *graph, struct tr_buffer *text);

/* A workflow whose nodes are looked at. `execution` is its name, for commands that are named. */
struct tr_explain_scene {
    const struct tr_workflow_state *state;
    const struct tr_explain_pages *pages;
    const struct tr_graph *graph;
    struct tr_text execution;
    struct tr_explain_now now;
};

/*
 * Calls `show` for each node of a workflow that is a gate or a sleep and waits, and for each that
 * has not begun and waits for one that goes on now; the text lives as long as the call. `behind`
 * counts those that wait for others of them. What `show` returns other than 0 ends it. Other errors
 * as above.
 */
TR_MUST_USE int tr_explain_nodes(const struct tr_explain_scene *scene,
                                 int (*show)(void *self, const struct tr_node *node,
                                             struct tr_text text),
                                 void *self, uint32_t *behind);

/* Appends a time, and how far it is away when it is still to come. */
void tri_explain_time(uint64_t at_ms, struct tr_explain_now now, struct tr_buffer *text);

#endif
