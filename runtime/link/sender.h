/*
 * A service sender: how a place that is no worker sends messages. The journal, the program and the
 * services make whole messages with it and send them over their link.
 */
#ifndef TR_RUNTIME_LINK_SENDER_H
#define TR_RUNTIME_LINK_SENDER_H

#include "runtime/link/outbox.h"
#include "schemas/codec/field.h"
#include "schemas/runtime/envelope.h"

struct tri_sender {
    struct tri_channel *link; /* the speaker's own; belongs to who opened it */
    struct tri_outbox outbox;
    struct tr_ref from; /* in group 0 */
    uint64_t said;
};

/* A sender for the service `serial` of a host with this epoch; the link comes when it is open. */
void tri_sender_init(struct tri_sender *sender, uint64_t serial, uint32_t host_epoch);
void tri_sender_fini(struct tri_sender *sender);

/*
 * Puts a message into the frame for a place. The caller fills in what it is to its receiver: kind,
 * flags, to, cause, deadline; the rest is the sender's. Errors: TR_LIMIT, TR_MEMORY, packing's.
 */
TR_MUST_USE int tri_sender_say(struct tri_sender *sender, uint32_t place,
                               const struct tr_envelope *wanted, const struct tr_schema *schema,
                               const void *body);

/* Sends what was said, as far as the pipes have room. */
void tri_sender_flush(struct tri_sender *sender);

#endif
