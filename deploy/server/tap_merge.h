/*
 * The taps of several hosts as one: an engine that is asked for one opens it at the others, too,
 * where the filter may concern them, and merges what comes by the hybrid clock. What comes later
 * than the time that it waits stands behind what was shown before it.
 */
#ifndef TR_DEPLOY_SERVER_TAP_MERGE_H
#define TR_DEPLOY_SERVER_TAP_MERGE_H

#include "deploy/engine/assemble.h"
#include "runtime/trace/filter.h"
#include "schemas/runtime/request.h"

/* How long an event waits for earlier ones of other hosts. */
#define TR_TAP_MERGE_MS 50

/* Lines that wait, of all hosts; what comes beyond is lost, which is said. */
#define TR_TAP_MERGE_LINES_MAX 8192

struct tr_tap_merge;

/*
 * Opens the same tap at the other hosts. `*merge` stays NULL if it concerns none of them.
 * TR_MEMORY.
 */
TR_MUST_USE int tr_tap_merge_open(struct tr_live *live, const struct tr_open_tap *open,
                                  const struct tr_tap_filter *filter, struct tr_tap_merge **merge);

/* A line of this host; `is_lost`: that it has lost some. TR_MEMORY. */
TR_MUST_USE int tr_tap_merge_add(struct tr_tap_merge *merge, struct tr_text line, uint64_t clock,
                                 bool is_lost, uint64_t now_ms);

/* Takes what has come from the others. TR_MEMORY. */
TR_MUST_USE int tr_tap_merge_read(struct tr_tap_merge *merge, uint64_t now_ms);

/* The next line that has waited long enough, valid until the next call. TR_NOT_FOUND. */
TR_MUST_USE int tr_tap_merge_next(struct tr_tap_merge *merge, uint64_t now_ms,
                                  struct tr_text *line);

/* Whether nothing comes any more: the limit is reached, or all of the others have ended. */
bool tr_tap_merge_is_over(const struct tr_tap_merge *merge);
bool tr_tap_merge_is_full(const struct tr_tap_merge *merge);

/* NULL is fine. */
void tr_tap_merge_free(struct tr_tap_merge *merge);

#endif
