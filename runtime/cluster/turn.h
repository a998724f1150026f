/*
 * The verbs of an interhost actor's turn, for the files that share it: interhost.c,
 * interhost_out.c, interhost_in.c. All of them are effects of the handler in hand; errors are those
 * of effects: TR_MEMORY, TR_LIMIT.
 */
#ifndef TR_RUNTIME_CLUSTER_TURN_H
#define TR_RUNTIME_CLUSTER_TURN_H

#include "runtime/cluster/pair.h"

/* -------------------------------------------------------------- interhost.c */

/* The group that this interhost actor is of, and its epoch. */
uint64_t tri_interhost_group(const struct tri_interhost_turn *turn);
uint32_t tri_interhost_epoch(const struct tri_interhost_turn *turn);

/* Whether the link to the host of a group is up, as this interhost actor has heard: what it says is
 * always meant for the session that it knows of, so it sends nothing new before it has sent
 * again. */
bool tri_interhost_is_up(const struct tri_interhost_turn *turn, uint64_t group);
void tri_interhost_note_link(struct tri_interhost_turn *turn, const struct tr_interhost_link *link);

/* Says something to the interhost actor of a group elsewhere. */
TR_MUST_USE int tri_interhost_say(struct tri_interhost_turn *turn, uint64_t group,
                                  const struct tr_schema *schema, const void *body);

/* Makes a message that goes no further a dead letter, at once: nothing may fail after it. */
void tri_interhost_give_up(struct tri_interhost_turn *turn, struct tr_bytes bytes, int reason);

/* Makes sure that pairs are looked at by then; 0 is never. */
TR_MUST_USE int tri_interhost_wake_by(struct tri_interhost_turn *turn, uint64_t due_ms);

/* Says when the next thing about a pair is due, as it now is. */
TR_MUST_USE int tri_interhost_set_due(struct tri_interhost_turn *turn, struct tri_pair *pair);

/* Asks, monitors and links make somebody of the group wait for another host. */
void tri_interhost_note_waiting(struct tri_interhost_turn *turn, const uint8_t *message);

/* Forgets a pair of which nothing is left. */
TR_MUST_USE int tri_interhost_drop_if_done(struct tri_interhost_turn *turn, uint32_t page);

/* ---------------------------------------------------------- interhost_out.c */

/* From an actor of the group; how far another group has come; that it has forgotten a stream. */
TR_MUST_USE int tri_interhost_on_out(struct tri_interhost_turn *turn,
                                     const struct tr_message *message);
TR_MUST_USE int tri_interhost_on_ack(struct tri_interhost_turn *turn,
                                     const struct tr_message *message);
TR_MUST_USE int tri_interhost_on_ended(struct tri_interhost_turn *turn,
                                       const struct tr_message *message);

/* Something may be due; a link is up or down. */
TR_MUST_USE int tri_interhost_on_timer(struct tri_interhost_turn *turn,
                                       const struct tr_message *message);
TR_MUST_USE int tri_interhost_on_link(struct tri_interhost_turn *turn,
                                      const struct tr_message *message);

/* ----------------------------------------------------------- interhost_in.c */

/* From another group: a message; the end of a stream. */
TR_MUST_USE int tri_interhost_on_send(struct tri_interhost_turn *turn,
                                      const struct tr_message *message);
TR_MUST_USE int tri_interhost_on_end(struct tri_interhost_turn *turn,
                                     const struct tr_message *message);

#endif
