/*
 * A service sender: sends messages of a place that is no worker. The journal, the program and the
 * services build whole messages with it and send them over their link.
 */
#ifndef TR_RUNTIME_LINK_SENDER_H
#define TR_RUNTIME_LINK_SENDER_H

#include "runtime/link/outbox.h"
#include "schemas/codec/field.h"
#include "schemas/runtime/envelope.h"

struct tri_sender {
    struct tri_channel *link; /* the sender's link; owned by its opener */
    struct tri_outbox outbox;
    struct tr_ref from; /* in the host's own group */
    uint64_t said;
};

/*
 * Initializes a sender for the service `serial` of a host (its own group and incarnation); the link
 * is set when it is open.
 */
void tri_sender_init(struct tri_sender *sender, uint64_t serial, struct tr_ref host);
void tri_sender_fini(struct tri_sender *sender);

/*
 * Adds a message to the frame for a place. The caller sets kind, flags, to, cause and deadline; the
 * sender sets the rest. Errors: TR_LIMIT, TR_MEMORY, those of packing.
 */
TR_MUST_USE int tri_sender_send(struct tri_sender *sender, uint32_t place,
                                const struct tr_envelope *wanted, const struct tr_schema *schema,
                                const void *body);

/* Sends the added messages, as far as the pipes have room. */
void tri_sender_flush(struct tri_sender *sender);

#endif
