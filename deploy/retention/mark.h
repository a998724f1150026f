/*
 * Which blobs and graphs of a store are still needed, read beside a live engine too.
 *
 * A file stays when it is young: a blob that was stored or asked for since `blobs_before_ms`, a
 * graph since `graphs_before_ms`. That is what a commit still to come may name. Of the others those
 * stay that are named by
 *
 *     what the store has of actors: states, pages, messages not handled
 *     the history, but for executions that are taken as `gone`
 *     the documents of the cache
 *     a graph that stays, or a large value that stays (a blob without a name of its own)
 */
#ifndef TR_DEPLOY_RETENTION_MARK_H
#define TR_DEPLOY_RETENTION_MARK_H

#include <stdatomic.h>

#include "deploy/retention/references.h"

struct tr_mark_options {
    const char *folder; /* of the store */
    uint64_t blobs_before_ms;
    uint64_t graphs_before_ms;
    const uint64_t *gone; /* numbers of executions, in order */
    size_t gone_count;
    const atomic_bool *is_stopping; /* ends it with TR_CLOSED */
};

/*
 * Finds them. What cannot be read is an error, since it might name something: those of the store,
 * TR_SYSTEM (errno), TR_MEMORY, TR_CLOSED; `explain` (TRI_STORE_EXPLAIN_BYTES) has words.
 */
TR_MUST_USE int tr_mark_referenced(const struct tr_mark_options *options, char *explain,
                                   struct tr_references **references);

/*
 * The blobs in the folder of a store, of which those are named that actors name, and what these
 * name: all that a running attempt may have a path of. Errors as above.
 */
TR_MUST_USE int tr_mark_active(const struct tr_mark_options *options, char *explain,
                               struct tr_references **references);

/*
 * The blobs and graphs of a store, none of them named yet, in order. TR_MEMORY, TR_SYSTEM (errno)
 * with words.
 */
TR_MUST_USE int tr_mark_list(const char *folder, char *explain, struct tr_references **references);

/* Reads what the named ones name, until there is nothing new. Errors as tr_mark_referenced. */
TR_MUST_USE int tr_mark_follow(const char *folder, struct tr_references *references, char *explain);

#endif
