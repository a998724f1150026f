/*
 * The inside of an execution's signals, and their bounds. Reaching a bound is told to the sender
 * of the value, or fails the gate that would be one too many; both name it.
 *
 * Only actors/signals*.c include this.
 */
#ifndef TR_ACTORS_SERVICES_SIGNALS_H
#define TR_ACTORS_SERVICES_SIGNALS_H

#include "actors/engine.h"
#include "actors/graph/value/slot.h"
#include "actors/store/index.h"
#include "schemas/engine/state_signals.h"

/* One value, packed: as large as a literal may be that lies in no blob. */
#define TR_SIGNAL_VALUE_BYTES_MAX TR_INLINE_BYTES_MAX

/* The sender, and what they wrote to it; what is longer is cut. */
#define TR_SIGNAL_BY_BYTES_MAX 256U
#define TR_SIGNAL_MESSAGE_BYTES_MAX 4096U

/* Values that are kept for gates to come, and their bytes all together. */
#define TR_SIGNAL_VALUES_MAX 1024U
#define TR_SIGNAL_KEPT_BYTES_MAX (16ULL << 20)

/* Gates of one execution that wait at once. */
#define TR_SIGNAL_GATES_MAX 250000U

/* Gates that are told of a value in one handler, and what that may come to. */
#define TR_SIGNAL_SHARE 64U
#define TR_SIGNAL_SHARE_BYTES (1ULL << 20)

/* One handler of the signals. */
struct tri_board {
    struct tr_context *context;
    struct tr_signals_state *state;
    struct tr_index index;
};

/* ------------------------------------------------------- signals_value.c */

/*
 * Keeps a value in a slot; in a new one, which becomes `*slot`, when that is 0. `words` say why it
 * is not kept, if there is a reason.
 */
TR_MUST_USE int tri_signal_keep(struct tri_board *board, const struct tr_send_signal *sent,
                                uint32_t *slot, char *words, size_t words_size);

/* What a slot keeps: views of the bytes in `buffer`. */
TR_MUST_USE int tri_signal_kept(struct tri_board *board, uint32_t slot, struct tr_buffer *buffer,
                                struct tr_send_signal *sent);

/* Gives a slot back. */
TR_MUST_USE int tri_signal_drop(struct tri_board *board, uint32_t slot);

/* What keeps a value of `size` packed bytes, in place of `before`, from being kept, in words. */
void tri_signal_refuse(const struct tri_board *board, uint32_t slot, size_t size, uint32_t before,
                       char *words, size_t words_size);

#endif
