/*
 * What a worker has in hand: the message that its handler is looking at right now.
 *
 * It lies in memory that outlives a crash of the process (a small mapped file), so that the next
 * start knows which message to attribute a crash to; and a watchdog reads from it how long a
 * handler is at it. One writer, the worker; the stores are ordered so that a reader never sees half
 * a name as whole.
 *
 * A message of an actor is known by its sender and number for ever. What the runtime itself says
 * (a timer, a DOWN, a failed question) is said again after a crash, with another number: it is
 * known by what it says.
 */
#ifndef TR_RUNTIME_ACTOR_CURRENT_MESSAGE_H
#define TR_RUNTIME_ACTOR_CURRENT_MESSAGE_H

#include <stdatomic.h>

#include "runtime/limits.h"
#include "schemas/runtime/envelope.h"

/* `ended_by` of a handler that did not return, beside the numbers of signals. */
#define TRI_ENDED_STUCK 255

struct tri_in_hand {
    atomic_uint_fast64_t turn; /* odd while a handler runs; grows by one at its begin and its end */
    uint64_t actor_group;
    uint64_t actor_serial;
    uint64_t from_group;
    uint64_t from_serial;
    uint32_t from_incarnation;
    uint32_t type;
    uint64_t sequence;
    uint64_t digest; /* of what a worker itself sends; 0 for all else */
    /* By what this handler has ended the process: a signal, TRI_ENDED_STUCK; 0: it has not. */
    atomic_uint ended_by;
    char part
        /* whose function it has called (tr_attribute_crash); "": none */
        [TR_ATTRIBUTION_PART_BYTES_MAX];
    char function[TR_ATTRIBUTION_FUNCTION_BYTES_MAX];
};

/* By what a message is known over restarts, as above. All zeros: no message. */
struct tri_message_name {
    struct tr_ref from;
    uint64_t sequence;
    uint64_t digest;
    uint16_t type;
};

/* The digest of a message as above: not 0 for what a worker says itself, 0 for all else. */
uint64_t tri_in_hand_digest(const uint8_t *envelope);

struct tri_message_name tri_message_name_of(const uint8_t *envelope);

/* Whether two names are of the same message. */
bool tri_message_name_equal(const struct tri_message_name *a, const struct tri_message_name *b);

/* A handler begins to look at this message. */
static inline void tri_in_hand_set(struct tri_in_hand *in_hand, const uint8_t *envelope)
{
    in_hand->actor_group = tr_envelope_get(envelope, 64, to_group);
    in_hand->actor_serial = tr_envelope_get(envelope, 64, to_serial);
    in_hand->from_group = tr_envelope_get(envelope, 64, from_group);
    in_hand->from_serial = tr_envelope_get(envelope, 64, from_serial);
    in_hand->from_incarnation = tr_envelope_get(envelope, 32, from_incarnation);
    in_hand->type = tr_envelope_get(envelope, 16, type);
    in_hand->sequence = tr_envelope_get(envelope, 64, sequence);
    in_hand->digest = in_hand->from_group != 0 ? 0 : tri_in_hand_digest(envelope);
    if (in_hand->part[0] != '\0') {
        in_hand->part[0] = '\0';
    }
    uint64_t turn = atomic_load_explicit(&in_hand->turn, memory_order_relaxed);
    atomic_store_explicit(&in_hand->turn, turn + 1, memory_order_release);
}

/* It has returned. */
static inline void tri_in_hand_clear(struct tri_in_hand *in_hand)
{
    uint64_t turn = atomic_load_explicit(&in_hand->turn, memory_order_relaxed);
    atomic_store_explicit(&in_hand->turn, turn + 1, memory_order_release);
}

/* The handler ends the process by this. The first word counts; safe in a signal, any thread. */
static inline void tri_in_hand_end(struct tri_in_hand *in_hand, uint32_t ended_by)
{
    uint32_t none = 0;
    (void)atomic_compare_exchange_strong(&in_hand->ended_by, &none, ended_by);
}

/* The handler calls a function of a part of the program; NULL: it has returned. */
void tri_in_hand_attribute(struct tri_in_hand *in_hand, const char *part, const char *function);

/* Whether a handler is running. */
static inline bool tri_in_hand_is_busy(struct tri_in_hand *in_hand)
{
    return (atomic_load_explicit(&in_hand->turn, memory_order_acquire) & 1) != 0;
}

#endif
