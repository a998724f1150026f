/*
 * The verbs of a border's turn, for the files that share it: border.c, border_out.c, border_in.c.
 * All of them are effects of the handler in hand; errors are those of effects: TR_MEMORY, TR_LIMIT.
 */
#ifndef TR_RUNTIME_BORDER_TURN_H
#define TR_RUNTIME_BORDER_TURN_H

#include "runtime/cluster/pair.h"

/* -------------------------------------------------------------- border.c */

/* The group that this border is of, and its epoch. */
uint64_t tri_border_group(const struct tri_border_turn *turn);
uint32_t tri_border_epoch(const struct tri_border_turn *turn);

/* Whether the link to the host of a group is up, as this border has heard: what it says is always
 * meant for the session that it knows of, so it sends nothing new before it has sent again. */
bool tri_border_is_up(const struct tri_border_turn *turn, uint64_t group);
void tri_border_note_link(struct tri_border_turn *turn, const struct tr_border_link *link);

/* Says something to the border of a group elsewhere. */
TR_MUST_USE int tri_border_say(struct tri_border_turn *turn, uint64_t group,
                               const struct tr_schema *schema, const void *body);

/* Makes a message that goes no further a dead letter, at once: nothing may fail after it. */
void tri_border_give_up(struct tri_border_turn *turn, struct tr_bytes bytes, int reason);

/* Makes sure that pairs are looked at by then; 0 is never. */
TR_MUST_USE int tri_border_wake_by(struct tri_border_turn *turn, uint64_t due_ms);

/* Says when the next thing about a pair is due, as it now is. */
TR_MUST_USE int tri_border_set_due(struct tri_border_turn *turn, struct tri_pair *pair);

/* Asks, monitors and links make somebody of the group wait for another host. */
void tri_border_note_waiting(struct tri_border_turn *turn, const uint8_t *message);

/* Forgets a pair of which nothing is left. */
TR_MUST_USE int tri_border_drop_if_done(struct tri_border_turn *turn, uint32_t page);

/* ---------------------------------------------------------- border_out.c */

/* From an actor of the group; how far another group has come; that it has forgotten a stream. */
TR_MUST_USE int tri_border_on_out(struct tri_border_turn *turn, const struct tr_message *message);
TR_MUST_USE int tri_border_on_ack(struct tri_border_turn *turn, const struct tr_message *message);
TR_MUST_USE int tri_border_on_ended(struct tri_border_turn *turn, const struct tr_message *message);

/* Something may be due; a link is up or down. */
TR_MUST_USE int tri_border_on_timer(struct tri_border_turn *turn, const struct tr_message *message);
TR_MUST_USE int tri_border_on_link(struct tri_border_turn *turn, const struct tr_message *message);

/* ----------------------------------------------------------- border_in.c */

/* From another group: a message; the end of a stream. */
TR_MUST_USE int tri_border_on_send(struct tri_border_turn *turn, const struct tr_message *message);
TR_MUST_USE int tri_border_on_end(struct tri_border_turn *turn, const struct tr_message *message);

#endif
