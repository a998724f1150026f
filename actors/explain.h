/*
 * What a task waits for, in words: from its committed state, and where it waits for others, from
 * theirs. Pure functions, for commands that read a store beside a live engine or without one.
 *
 *     tr_explain_task      where it stands: "waits to be tried again, at 2026-…: …"
 *     tr_explain_request   what is in the way of its token: "8 of 8 slots of 'process' are in use…"
 *     tr_explain_cache     who makes what it waits for
 *
 * Texts end without a line feed; several sentences are divided by "; ".
 */
#ifndef TR_ACTORS_EXPLAIN_H
#define TR_ACTORS_EXPLAIN_H

#include "actors/graph/buffer.h"
#include "actors/rows.h"
#include "schemas/state_service.h"
#include "schemas/state_task.h"

/* The pages of an actor as they are in the store: none where there is none. */
struct tr_explain_pages {
    tr_rows_page *page;
    void *self;
};

/* Holders of a quota that are named. */
#define TR_EXPLAIN_HOLDERS_MAX 5

/* TR_MALFORMED: pages that are none of a task's; TR_MEMORY. */
TR_MUST_USE int tr_explain_task(const struct tr_task_state *state,
                                const struct tr_explain_pages *pages, uint64_t now_ms,
                                struct tr_buffer *text);

/* Of a task in step TOKEN. TR_NOT_FOUND: the manager does not know it (any more). */
TR_MUST_USE int tr_explain_request(const struct tr_resources_state *state,
                                   const struct tr_explain_pages *pages, struct tr_key task,
                                   uint64_t now_ms, struct tr_buffer *text);

/* Of a task in step RESERVE. TR_NOT_FOUND as above. */
TR_MUST_USE int tr_explain_cache(const struct tr_catalog_state *state,
                                 const struct tr_explain_pages *pages, struct tr_key task,
                                 struct tr_buffer *text);

#endif
