/*
 * An import into a store that has a live engine, on the engine's side: a client (giving.h) has read
 * the file and put its blobs into the store; it hands over the rest share by share.
 *
 * Graphs and rows of the history are written as they come, and nobody finds them without their
 * execution. All else is kept in memory until the end: then actors, their pages and messages are
 * written in shares, too, and one last commit has the first actors and the rows of the executions,
 * without which all of it is nothing. When that is done, workers load the actors, which are
 * dormant; `resume` wakes them. What is under way has a mark in the store
 * (deploy/engine/import_marks.h), so whatever is interrupted is forgotten.
 *
 * The thread of the engine's loop; it waits for one commit at a time. The last one is not waited
 * for: tr_taking_step finishes.
 */
#ifndef TR_DEPLOY_TRANSFER_TAKING_H
#define TR_DEPLOY_TRANSFER_TAKING_H

#include "deploy/engine/assemble.h"
#include "deploy/transfer/import_live.h"
#include "schemas/runtime/request.h"

struct tr_taking;

/* TR_MEMORY. */
TR_MUST_USE int tr_taking_new(struct tr_live *live, struct tr_taking **taking);

/* What is under way is forgotten by the next engine; NULL is fine. Before the engine is closed. */
void tr_taking_free(struct tr_taking *taking);

/*
 * Begins one; one that had begun and is not being written is given up. `*explain`, of the session
 * or constant, says what is wrong. Errors: TR_BUSY (the memory is at its limit, or one is being
 * written), those of tr_unpacking_take and tr_unpacking_check, and of the store.
 */
TR_MUST_USE int tr_taking_begin(struct tr_taking *taking, const struct tr_begin_import *begin,
                                uint64_t *session, const char **explain);

/* Takes a share. After an error all of it is given up. TR_NOT_FOUND: another client has begun. */
TR_MUST_USE int tr_taking_ops(struct tr_taking *taking, const struct tr_import_ops *ops,
                              const char **explain);

/* Begins to write the end; `peer` is told. Errors as above, and TR_EXISTS (a name is taken). */
TR_MUST_USE int tr_taking_finish(struct tr_taking *taking, uint64_t session,
                                 const struct tri_peer *peer, const char **explain);

/* Goes on with what is being written, and answers. */
void tr_taking_step(struct tr_taking *taking);

/* Whether something is being written, so that the next step should come soon. */
bool tr_taking_is_writing(const struct tr_taking *taking);

#endif
