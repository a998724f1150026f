/*
 * `troupe explain`: what anything of an execution waits for that has not ended, and why one that
 * has ended did not succeed.
 */
#ifndef TR_DEPLOY_LOOK_EXPLAIN_H
#define TR_DEPLOY_LOOK_EXPLAIN_H

#include <stdio.h>

#include "actors/explain/explain.h"
#include "deploy/cli/command.h"
#include "deploy/history/target.h"
#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

/* Elements of one array that wait for the same kind of thing: so many are shown without -v. */
#define TR_EXPLAIN_ALIKE 3

/* Nodes of one workflow that have not begun: so many are shown without -v. */
#define TR_EXPLAIN_NODES 20

struct tr_document;

struct tr_explain_request {
    struct tr_reader *reader;
    const char *folder; /* of the store */
    const struct tr_execution *execution;
    const struct tr_target *target; /* what is meant of it */
    bool is_live;                   /* an engine has the store, */
    bool is_dormant;                /* which lets it sleep */
    uint32_t jobs;                  /* its job slots; 0: not known */
    bool is_aside;                  /* which has not loaded it, as the next one will not */
    uint64_t now_ms;
    struct tr_explain_now now; /* by the clock of states */
    enum tr_output output;
    bool is_verbose;
    const struct tr_explain_hosts *hosts; /* what hosts are called; NULL: by their numbers */
    const char *host;                     /* that has it; NULL: it has ended, or one has all */
    const char *goes_to;                  /* the host where it is wanted; NULL: it stays */
    FILE *stream;
};

/* Writes the explanation. TR_MEMORY, TR_MALFORMED, and what the reader says. */
TR_MUST_USE int tr_explain_write(const struct tr_explain_request *request);

/*
 * Writes why an execution or a target of it failed, as text or, unless that is NULL, into a list of
 * the document. Errors as above.
 */
TR_MUST_USE int tri_explain_causes(const struct tr_explain_request *request,
                                   struct tr_document *document);

/*
 * The same of a target that the cache had no result for: in what the nearest entry differs from
 * what was looked for. Nothing where no node is meant.
 */
TR_MUST_USE int tri_explain_cache(const struct tr_explain_request *request,
                                  struct tr_document *document);

#endif
