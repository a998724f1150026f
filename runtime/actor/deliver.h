/*
 * The verbs on a worker that move messages and lives: delivering, running, ending, failing.
 */
#ifndef TR_RUNTIME_ACTOR_DELIVER_H
#define TR_RUNTIME_ACTOR_DELIVER_H

#include "runtime/actor/parts.h"

/* ------------------------------------------------------------- deliver.c */

/* Takes a message over and brings it to where its receiver is: a mailbox here, an outbound batch,
 * or the dead letters. `hint` is the receiver's slot, 0 for none. */
void tri_deliver(struct tri_worker *worker, struct tri_message *message, uint32_t hint);

/* The same for a message whose receiver lives here. */
void tri_accept(struct tri_worker *worker, struct tri_actor *actor, struct tri_message *message);

/* An actor is spawned: what came for it before goes into its mailbox. */
void tri_deliver_unspawned(struct tri_worker *worker, struct tr_key spawned);

/* Makes a message of a schema and delivers it: what the runtime itself says. It always has room. */
void tri_say(struct tri_worker *worker, const struct tri_heading *heading,
             const struct tr_schema *schema, const void *body);

/* Tells another worker, or a service of this host, something that is meant for no actor. */
void tri_tell_worker(struct tri_worker *worker, uint32_t place, const struct tr_schema *schema,
                     const void *body);

/* The same for an actor on its way: up to TR_SNAPSHOT_BYTES_MAX. TR_LIMIT, TR_MEMORY. */
TR_MUST_USE int tri_tell_worker_large(struct tri_worker *worker, uint32_t place,
                                      const struct tr_schema *schema, const void *body);

/* Ends a message's way: keeps it for people to see, answers a question, frees it. */
void tri_dead_letter(struct tri_worker *worker, struct tri_message *message, int reason);

/* Adds a message to what goes to another place, and frees it. */
void tri_outbound_add(struct tri_worker *worker, uint32_t place, struct tri_message *message);

/* The worker where an actor that is not here must be. */
uint32_t tri_route(struct tri_worker *worker, struct tr_key key);

/* The place that a message to `to` may leave for; this worker's own: it stays. */
uint32_t tri_place_of(struct tri_worker *worker, struct tr_key to);

/* Lets go of the senders that wait for this mailbox. */
void tri_unmute_senders(struct tri_worker *worker, struct tri_actor *actor);

/* A move is over: no message can come by the old way any more, so those held meanwhile go behind
 * the mailbox (law 9 of runtime/ARCHITECTURE.md). */
void tri_hold_release(struct tri_worker *worker, struct tri_actor *actor);

/* The actor has ended: what was held for it are dead letters. */
void tri_hold_forget(struct tri_worker *worker, struct tr_key key);

/* ----------------------------------------------------------------- run.c */

/* Runs an actor that tri_next_ready gave: up to TR_RUN_MESSAGES_MAX messages. */
void tri_run(struct tri_worker *worker, struct tri_actor *actor);

/*
 * Runs the handler for a message and nothing else: when it returns 0 the state is the new one, and
 * all else that was asked for is prepared in the worker's context, to be committed. For sandboxes;
 * tri_run does the same in its own way. `answered` is the edge to remove after it, or NULL. Errors:
 * the handler's, those of preparing, TR_LATE_REPLY (nobody waits for this answer).
 */
TR_MUST_USE int tri_handle(struct tri_worker *worker, struct tri_actor *actor,
                           struct tri_message *message, struct tri_edge **answered);

/* Takes the first message out of the mailbox; it is no longer the actor's. */
struct tri_message *tri_mailbox_pop(struct tri_worker *worker, struct tri_actor *actor);

/* Appends a message to the mailbox, and does nothing else. */
void tri_mailbox_push(struct tri_actor *actor, struct tri_message *message);

/* Makes an actor's message come due: a timer, the deadline of a question, a restart. */
void tri_edge_due(struct tri_worker *worker, struct tri_edge *edge);

/* ------------------------------------------------ effects.c and commit.c */

/* A message of the handler in hand, of at most `bytes_max`; the heading's sender and number are
 * filled in, its number is the actor's next one. Errors as tr_tell. */
TR_MUST_USE int tri_send(struct tr_context *context, struct tri_heading *heading, uint32_t hint,
                         const struct tr_schema *schema, const void *body, size_t bytes_max);

/* The same for a whole message of somebody else, as it is but for its clock, which is this worker's
 * from now on. TR_LIMIT, TR_MEMORY. */
TR_MUST_USE int tri_send_bytes(struct tr_context *context, struct tr_bytes bytes);

/* Keeps what a handler asks for beside messages. TR_LIMIT, TR_MEMORY. */
TR_MUST_USE int tri_effect_add(struct tr_context *context, struct tri_effect effect);

/* Begins a message: nothing is asked for yet. */
void tri_effects_begin(struct tri_worker *worker, struct tri_actor *actor,
                       const struct tr_message *message);

/* Takes all that the effects will need, or cuts them back: TR_MEMORY, TR_LIMIT. `answered` is the
 * edge that goes with the message, or NULL. */
TR_MUST_USE int tri_effects_prepare(struct tri_worker *worker, struct tri_edge *answered);

/* Does all that was prepared. After it the actor may be gone. */
void tri_effects_commit(struct tri_worker *worker);

/* Forgets all that the handler asked for, and gives back what was prepared for it. */
void tri_effects_cut_back(struct tri_worker *worker);

/* ----------------------------------------------------------------- cut.c */

/* Gives the journal everything that changed. Only between two messages. */
void tri_cut(struct tri_worker *worker);

/* Cuts, then sends all that waits for other places. */
void tri_flush(struct tri_worker *worker);

/* The last flush of a worker that ends: the journal has got everything when it returns. */
void tri_flush_journal(struct tri_worker *worker);

/* Whether the worker must not run actors: a pipe or the journal is behind. */
bool tri_is_congested(const struct tri_worker *worker);

/* ----------------------------------------------------------- supervise.c */

/* A control message that has come to an actor of this worker; it is settled and freed. */
void tri_control(struct tri_worker *worker, struct tri_actor *actor, struct tri_message *message);

/* The handler failed with the message in front of the mailbox. */
void tri_fail(struct tri_worker *worker, struct tri_actor *actor, int reason);

/* Ends an actor and all its children; `reason` is 0 or a tr_error. */
void tri_end(struct tri_worker *worker, struct tri_actor *actor, int reason);

/* Ends what this worker knows of a group that will have no actors here, with the last of them. */
void tri_end_group(struct tri_worker *worker, uint64_t number);

/* Forgets the way to an actor that has moved and is nowhere any more, here and everywhere. */
void tri_forget_route(struct tri_worker *worker, struct tr_key key);

/* Puts an actor aside, with its mailbox, until tr_host_resume. */
void tri_quarantine(struct tri_worker *worker, struct tri_actor *actor);

/* A backing-off actor may try again. */
void tri_restart(struct tri_worker *worker, struct tri_actor *actor);

#endif
