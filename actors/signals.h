/*
 * The bounds of an execution's signals (actors/signals.c). Reaching one is told to whoever sent the
 * value, or fails the gate that would be one too many; both name it.
 */
#ifndef TR_ACTORS_SIGNALS_H
#define TR_ACTORS_SIGNALS_H

#include "actors/engine.h"
#include "actors/value.h"

/* One value, packed: as large as a literal may be that lies in no blob. */
#define TR_SIGNAL_VALUE_BYTES_MAX TR_INLINE_BYTES_MAX

/* Who sent it, and what they wrote to it; what is longer is cut. */
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

#endif
