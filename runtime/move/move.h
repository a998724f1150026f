/*
 * Moves a live actor to another worker (law 9 of runtime/ARCHITECTURE.md): no message is lost,
 * duplicated or reordered.
 *
 *     worker 0          A (has it)            B (gets it)         every other S, and B
 *     move_freeze ─────▶ frozen, image ──────▶ held
 *                        ◀──────── move_ready
 *                        move_route ───────────────────────────▶ new route; from now on
 *                        ◀────────────────────────── move_flush   straight to B
 *                        move_flush ─────────▶ one for each S and B
 *     ◀────────────────────────── move_done   opens
 *
 * Between freezing and the last flush A forwards messages that still arrive. B holds messages that
 * come directly until every old way is empty, so an actor's messages keep their order; and the
 * actor does not run until then, so its messages from A have arrived before those from B.
 *
 * Worker 0 makes one move at a time: only then an empty old way stays empty.
 */
#ifndef TR_RUNTIME_MOVE_MOVE_H
#define TR_RUNTIME_MOVE_MOVE_H

#include "runtime/actor/deliver.h"

TR_MUST_USE int tri_moves_init(struct tri_worker *worker);
void tri_moves_fini(struct tri_worker *worker);

/* The steps, each the handler of one message. */
void tri_move_on_ask(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_freeze(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_image(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_ready(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_route(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_flush(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_done(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_forget(struct tri_worker *worker, const struct tr_message *message);

/*
 * A parent has ended on another worker, as this worker was told. An actor that has just left it may
 * be a child of that parent, and its new worker may have been told before it arrived: so until the
 * last flush has passed through here, such reports are forwarded to it.
 */
void tri_move_forward_orphans(struct tri_worker *worker, const struct tr_orphans *orphans);

#endif
