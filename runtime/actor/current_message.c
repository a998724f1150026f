/*
 * Identifies a message of the runtime itself after a crash.
 *
 * An actor's message keeps its sender and number across a restart, because both are in the store. A
 * signal such as a timer may be lost in the crash and sent again by the next start with a new
 * number. So its name is a digest of what does not change: type, cause and body.
 */
#include "runtime/actor/current_message.h"

#include <string.h>

#include "runtime/behaviour.h"

/* Bytes of a body in the digest; signals are small. */
#define DIGESTED_BYTES_MAX 64

static uint64_t mix(uint64_t digest, uint64_t value)
{
    return (digest ^ value) * 0x100000001b3U; /* FNV-1a, by larger pieces */
}

/* The lowest bit is set, so that a digest is never 0, which means "not from a worker". */
uint64_t tri_current_message_digest(const uint8_t *envelope)
{
    bool is_sender = tr_group_is_host(tr_envelope_get(envelope, 64, from_group)) &&
                     tr_envelope_get(envelope, 64, from_serial) >= TR_SERVICE_WORKERS;
    if (!is_sender) {
        return 0;
    }
    struct tr_bytes body = tr_envelope_body(envelope);
    uint64_t digest = mix(0xcbf29ce484222325U, tr_envelope_get(envelope, 16, type));
    digest = mix(digest, tr_envelope_get(envelope, 64, cause_sequence));
    for (size_t i = 0; i < body.size && i < DIGESTED_BYTES_MAX; i++) {
        digest = mix(digest, body.data[i]);
    }
    return digest | 1;
}

struct tri_message_name tri_message_name_of(const uint8_t *envelope)
{
    return (struct tri_message_name){
        .from = {{tr_envelope_get(envelope, 64, from_group),
                  tr_envelope_get(envelope, 64, from_serial)},
                 tr_envelope_get(envelope, 32, from_incarnation)},
        .sequence = tr_envelope_get(envelope, 64, sequence),
        .digest = tri_current_message_digest(envelope),
        .type = tr_envelope_get(envelope, 16, type),
    };
}

bool tri_message_name_equal(const struct tri_message_name *a, const struct tri_message_name *b)
{
    if (a->digest != 0 || b->digest != 0) {
        return a->digest == b->digest && a->type == b->type;
    }
    return tr_key_equal(a->from.key, b->from.key) && a->from.incarnation == b->from.incarnation &&
           a->sequence == b->sequence;
}

static void copy(char *to, size_t capacity, const char *from)
{
    size_t size = strnlen(from, capacity - 1);
    memcpy(to, from, size);
    to[size] = '\0';
}

/*
 * The function is written before the part: a part that is not empty shows a reader that there is an
 * attribution. The readers are a signal handler on this thread and the next process, so the
 * compiler's order of the stores is enough.
 */
void tri_current_message_attribute(struct tri_current_message *current, const char *part,
                                   const char *function)
{
    copy(current->function, sizeof current->function, function == NULL ? "" : function);
    copy(current->part, sizeof current->part, part == NULL ? "" : part);
    /* The process may end at any moment, in ways that the compiler does not see. */
    atomic_signal_fence(memory_order_seq_cst);
}
