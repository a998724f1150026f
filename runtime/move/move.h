/*
 * Moving a live actor to another worker (law 9 of runtime/ARCHITECTURE.md): nothing is lost,
 * doubled or reordered.
 *
 *     worker 0          A (has it)            B (gets it)         every other S, and B
 *     move_freeze ─────▶ frozen, image ──────▶ held
 *                        ◀──────── move_ready
 *                        move_route ───────────────────────────▶ new route; from now on
 *                        ◀────────────────────────── move_flush   straight to B
 *                        move_flush ─────────▶ one for each S and B
 *     ◀────────────────────────── move_done   opens
 *
 * Between freezing and the last flush A forwards what still comes. B keeps what comes straight to
 * it until every old way is empty, so an actor's messages keep their order; and the actor does not
 * run until then, so what it sent from A has arrived before what it sends from B.
 *
 * One move at a time, by worker 0: only then does an empty old way stay empty.
 */
#ifndef TR_RUNTIME_MOVE_MOVE_H
#define TR_RUNTIME_MOVE_MOVE_H

#include "runtime/actor/deliver.h"

TR_MUST_USE int tri_moves_init(struct tri_worker *worker);
void tri_moves_fini(struct tri_worker *worker);

/* The steps, each the answer to one message. */
void tri_move_on_ask(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_freeze(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_image(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_ready(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_route(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_flush(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_done(struct tri_worker *worker, const struct tr_message *message);
void tri_move_on_forget(struct tri_worker *worker, const struct tr_message *message);

/*
 * This worker has heard that a parent ended elsewhere. An actor that has just left it may be a
 * child of that one, and the worker it goes to may have heard the same before it came: so until the
 * last flush has passed through here, such news follow the actor.
 */
void tri_move_pass_on_orphans(struct tri_worker *worker, const struct tr_orphans *orphans);

#endif
