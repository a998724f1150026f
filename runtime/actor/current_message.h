/*
 * The message that a worker is handling.
 *
 * It is in memory that survives a crash of the process (a small mapped file), so that the next
 * start can attribute the crash to a message; and a watchdog reads from it how long a handler has
 * been running. Only the worker writes it; the stores are ordered so that a reader never takes an
 * incomplete name for complete.
 *
 * A message of an actor is identified by its sender and number for ever. A message of the runtime
 * itself (a timer, a DOWN, a failed question) is sent again after a crash with another number: it
 * is identified by its contents.
 */
#ifndef TR_RUNTIME_ACTOR_CURRENT_MESSAGE_H
#define TR_RUNTIME_ACTOR_CURRENT_MESSAGE_H

#include <stdatomic.h>

#include "runtime/limits.h"
#include "schemas/runtime/envelope.h"

/* `ended_by` of a handler that did not return, beside the numbers of signals. */
#define TRI_ENDED_STUCK 255

struct tri_current_message {
    atomic_uint_fast64_t turn; /* odd while a handler runs; incremented at its begin and end */
    uint64_t actor_group;
    uint64_t actor_serial;
    uint64_t from_group;
    uint64_t from_serial;
    uint32_t from_incarnation;
    uint32_t type;
    uint64_t sequence;
    uint64_t digest; /* of a message of a worker itself; otherwise 0 */
    /* How this handler ended the process: a signal, TRI_ENDED_STUCK; 0: it did not. */
    atomic_uint ended_by;
    char part[TR_ATTRIBUTION_PART_BYTES_MAX]; /* that it called (tr_attribute_crash); "": none */
    char function[TR_ATTRIBUTION_FUNCTION_BYTES_MAX];
};

/* The identity of a message across restarts, as above. All zeros: no message. */
struct tri_message_name {
    struct tr_ref from;
    uint64_t sequence;
    uint64_t digest;
    uint16_t type;
};

/* The digest of a message: not 0 for a message of a worker itself, otherwise 0. */
uint64_t tri_current_message_digest(const uint8_t *envelope);

struct tri_message_name tri_message_name_of(const uint8_t *envelope);

/* Whether two names identify the same message. */
bool tri_message_name_equal(const struct tri_message_name *a, const struct tri_message_name *b);

/* A handler begins with this message. */
static inline void tri_current_message_set(struct tri_current_message *current,
                                           const uint8_t *envelope)
{
    current->actor_group = tr_envelope_get(envelope, 64, to_group);
    current->actor_serial = tr_envelope_get(envelope, 64, to_serial);
    current->from_group = tr_envelope_get(envelope, 64, from_group);
    current->from_serial = tr_envelope_get(envelope, 64, from_serial);
    current->from_incarnation = tr_envelope_get(envelope, 32, from_incarnation);
    current->type = tr_envelope_get(envelope, 16, type);
    current->sequence = tr_envelope_get(envelope, 64, sequence);
    current->digest =
        tr_group_is_host(current->from_group) ? tri_current_message_digest(envelope) : 0;
    if (current->part[0] != '\0') {
        current->part[0] = '\0';
    }
    uint64_t turn = atomic_load_explicit(&current->turn, memory_order_relaxed);
    atomic_store_explicit(&current->turn, turn + 1, memory_order_release);
}

/* The handler has returned. */
static inline void tri_current_message_clear(struct tri_current_message *current)
{
    uint64_t turn = atomic_load_explicit(&current->turn, memory_order_relaxed);
    atomic_store_explicit(&current->turn, turn + 1, memory_order_release);
}

/*
 * Records how the handler ends the process. The first record counts; async-signal-safe, any thread.
 */
static inline void tri_current_message_end(struct tri_current_message *current, uint32_t ended_by)
{
    uint32_t none = 0;
    (void)atomic_compare_exchange_strong(&current->ended_by, &none, ended_by);
}

/* The handler calls a function of a part of the program; NULL: the function has returned. */
void tri_current_message_attribute(struct tri_current_message *current, const char *part,
                                   const char *function);

/* Whether a handler is running. */
static inline bool tri_current_message_is_busy(struct tri_current_message *current)
{
    return (atomic_load_explicit(&current->turn, memory_order_acquire) & 1) != 0;
}

#endif
