/*
 * Operations on a worker: delivering messages, running, ending and failing actors.
 */
#ifndef TR_RUNTIME_ACTOR_DELIVER_H
#define TR_RUNTIME_ACTOR_DELIVER_H

#include "runtime/actor/parts.h"

/* ------------------------------------------------------------- deliver.c */

/*
 * Takes ownership of a message and delivers it: to a mailbox here, an outbound batch, or the dead
 * letters. `hint` is the receiver's slot, 0 for none.
 */
void tri_deliver(struct tri_worker *worker, struct tri_message *message, uint32_t hint);

/* The same for a receiver on this worker. */
void tri_deliver_here(struct tri_worker *worker, struct tri_actor *actor,
                      struct tri_message *message);

/* An actor was spawned: moves messages that waited for it to its mailbox. */
void tri_deliver_unspawned(struct tri_worker *worker, struct tr_key spawned);

/* Keeps a message whose receiver may still begin here; the store has it meanwhile. */
void tri_deliver_later(struct tri_worker *worker, struct tri_message *message);

/* Delivers all that waits so again: what it waits for may have changed. */
void tri_deliver_waiting(struct tri_worker *worker);

/* Makes a message of the runtime itself and delivers it. Always has memory: a reserve. */
void tri_deliver_signal(struct tri_worker *worker, const struct tri_heading *heading,
                        const struct tr_schema *schema, const void *body);

/* Sends another worker, or a service of this host, a message that is for no actor. */
void tri_tell_worker(struct tri_worker *worker, uint32_t place, const struct tr_schema *schema,
                     const void *body);

/* The same for a moving actor: up to TR_SNAPSHOT_BYTES_MAX. TR_LIMIT, TR_MEMORY. */
TR_MUST_USE int tri_tell_worker_large(struct tri_worker *worker, uint32_t place,
                                      const struct tr_schema *schema, const void *body);

/*
 * Makes a message a dead letter: keeps it for people, answers a question with a failure, frees it.
 */
void tri_dead_letter(struct tri_worker *worker, struct tri_message *message, int reason);

/* Adds a message to the frame for another place, and frees it. */
void tri_outbound_add(struct tri_worker *worker, uint32_t place, struct tri_message *message);

/* The worker of an actor that is not on this one. */
uint32_t tri_deliver_route(struct tri_worker *worker, struct tr_key key);

/* The place to which a message to `to` is sent; this worker's own: it stays here. */
uint32_t tri_place_of(struct tri_worker *worker, struct tr_key to);

/* Unmutes the senders that this mailbox has muted. */
void tri_unmute_senders(struct tri_worker *worker, struct tri_actor *actor);

/*
 * A move is complete: no message can arrive by the old way any more, so the held messages are
 * appended to the mailbox (law 9 of runtime/ARCHITECTURE.md).
 */
void tri_hold_release(struct tri_worker *worker, struct tri_actor *actor);

/* The actor has ended: its held messages become dead letters. */
void tri_hold_forget(struct tri_worker *worker, struct tr_key key);

/* ----------------------------------------------------------------- run.c */

/* Runs an actor returned by tri_queue_pop: up to TR_RUN_MESSAGES_MAX messages. */
void tri_run_actor(struct tri_worker *worker, struct tri_actor *actor);

/*
 * Runs only the handler for a message: when it returns 0 the state is the new one, and all other
 * effects are prepared in the worker's context, to be committed. For sandboxes; tri_run_actor does
 * the same in its own way. `answered` is the edge to remove afterwards, or NULL. Errors: the
 * handler's, those of preparing, TR_LATE_REPLY (no edge waits for this answer).
 */
TR_MUST_USE int tri_run_handler(struct tri_worker *worker, struct tri_actor *actor,
                                struct tri_message *message, struct tri_edge **answered);

/* Removes the first message of the mailbox; the caller owns it. */
struct tri_message *tri_mailbox_pop(struct tri_worker *worker, struct tri_actor *actor);

/* Appends a message to the mailbox only. */
void tri_mailbox_push(struct tri_actor *actor, struct tri_message *message);

/* Turns a due edge into a message to its actor: a timer, the deadline of a question, a restart. */
void tri_edge_due(struct tri_worker *worker, struct tri_edge *edge);

/* ------------------------------------------------ effects.c and commit.c */

/*
 * A message of the running handler, of at most `bytes_max`; sets the heading's sender and number,
 * the actor's next one. Errors as tr_tell.
 */
TR_MUST_USE int tri_effects_send(struct tr_context *context, struct tri_heading *heading,
                                 uint32_t hint, const struct tr_schema *schema, const void *body,
                                 size_t bytes_max);

/*
 * The same for a complete message of another sender, unchanged except for its clock, which is set
 * to this worker's. TR_LIMIT, TR_MEMORY.
 */
TR_MUST_USE int tri_effects_send_bytes(struct tr_context *context, struct tr_bytes bytes);

/* Tells an actor that it is not monitored by this number any more. Errors as tr_tell. */
TR_MUST_USE int tri_effects_demonitor(struct tr_context *context, struct tr_ref peer,
                                      uint64_t monitor);

/* Adds an effect that is no message. TR_LIMIT, TR_MEMORY. */
TR_MUST_USE int tri_effect_add(struct tr_context *context, struct tri_effect effect);

/* Begins the handling of a message, without effects. */
void tri_effects_begin(struct tri_worker *worker, struct tri_actor *actor,
                       const struct tr_message *message);

/*
 * Allocates everything that the effects need, or cuts them back: TR_MEMORY, TR_LIMIT. `answered` is
 * the edge that the message removes, or NULL.
 */
TR_MUST_USE int tri_effects_prepare(struct tri_worker *worker, struct tri_edge *answered);

/* Applies all prepared effects. Afterwards the actor may be gone. */
void tri_effects_commit(struct tri_worker *worker);

/* Drops all effects of the handler, and releases what was prepared for them. */
void tri_effects_cut_back(struct tri_worker *worker);

/* ----------------------------------------------------------------- cut.c */

/* Sends the journal everything that changed. Only between two messages. */
void tri_cut_make(struct tri_worker *worker);

/* Cuts, then sends the frames for other places. */
void tri_cut_flush(struct tri_worker *worker);

/* The last flush of a worker that ends: when it returns, the journal has everything. */
void tri_cut_flush_journal(struct tri_worker *worker);

/* Whether the worker must not run actors: a pipe or the journal is behind. */
bool tri_is_congested(const struct tri_worker *worker);

/* ----------------------------------------------------------- supervise.c */

/* Handles a control message to an actor of this worker; settles and frees it. */
void tri_actor_control(struct tri_worker *worker, struct tri_actor *actor,
                       struct tri_message *message);

/* The handler failed with the first message of the mailbox. */
void tri_actor_fail(struct tri_worker *worker, struct tri_actor *actor, int reason);

/* Ends an actor and all its children; `reason` is 0 or a tr_error. */
void tri_actor_end(struct tri_worker *worker, struct tri_actor *actor, int reason);

/* Removes a group from this worker, at once or with its last actor here. */
void tri_end_group(struct tri_worker *worker, uint64_t number);

/* Removes the route to an actor that had moved and has ended, here and on all workers. */
void tri_forget_route(struct tri_worker *worker, struct tr_key key);

/* Quarantines an actor, with its mailbox, until tr_host_resume. */
void tri_actor_quarantine(struct tri_worker *worker, struct tri_actor *actor);

/* A backing-off actor may run again. */
void tri_actor_restart(struct tri_worker *worker, struct tri_actor *actor);

#endif
