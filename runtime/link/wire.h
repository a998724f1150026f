/*
 * How frames get from one host to another: the interface behind which ZeroMQ over
 * tcp and the simulator's network stand.
 *
 * A wire promises little: a frame arrives whole or not at all, late, in any order, twice. What is
 * made of that stands in runtime/cluster/session.h. A wire is used by one thread and never blocks.
 */
#ifndef TR_RUNTIME_LINK_WIRE_H
#define TR_RUNTIME_LINK_WIRE_H

#include "runtime/link/link.h"

struct tri_wire;

struct tri_wire_ops {
    int (*send)(struct tri_wire *wire, uint16_t host, uint8_t *data, size_t size);
    int (*receive)(struct tri_wire *wire, struct tri_frame *frame);
    void (*release)(struct tri_wire *wire, struct tri_frame *frame);
    int (*descriptor)(struct tri_wire *wire);
    void (*close)(struct tri_wire *wire);
};

/* The head of every wire's own struct. */
struct tri_wire {
    const struct tri_wire_ops *ops;
};

/*
 * Sends a frame to a host, and takes over its bytes, which are of tr_alloc, whatever becomes of
 * them. TR_BUSY (too much is on its way), TR_NOT_FOUND (no such host), TR_MEMORY: it is lost.
 */
TR_MUST_USE static inline int tri_wire_send(struct tri_wire *wire, uint16_t host, uint8_t *data,
                                            size_t size)
{
    return wire->ops->send(wire, host, data, size);
}

/* The next frame, from whichever host, or TR_NOT_FOUND. Release it before the next call. */
TR_MUST_USE static inline int tri_wire_receive(struct tri_wire *wire, struct tri_frame *frame)
{
    return wire->ops->receive(wire, frame);
}

static inline void tri_wire_release(struct tri_wire *wire, struct tri_frame *frame)
{
    wire->ops->release(wire, frame);
}

/* A file descriptor that becomes readable when a frame may be there. Read until there is none. */
static inline int tri_wire_descriptor(struct tri_wire *wire)
{
    return wire->ops->descriptor(wire);
}

static inline void tri_wire_close(struct tri_wire *wire)
{
    if (wire != NULL) {
        wire->ops->close(wire);
    }
}

#endif
