/*
 * A wire carries frames between hosts: the interface, with ZeroMQ over tcp and the simulator's
 * network as implementations.
 *
 * A frame arrives whole or not at all, late, in any order, or twice. Sessions
 * (runtime/cluster/session.h) make a reliable stream of that. A wire is used by one thread and
 * never blocks.
 */
#ifndef TR_RUNTIME_LINK_WIRE_H
#define TR_RUNTIME_LINK_WIRE_H

#include "runtime/link/link.h"

struct tri_wire;

struct tri_wire_ops {
    int (*send)(struct tri_wire *wire, uint16_t host, uint8_t *data, size_t size);
    int (*receive)(struct tri_wire *wire, struct tri_frame *frame);
    void (*release)(struct tri_wire *wire, struct tri_frame *frame);
    int (*connect)(struct tri_wire *wire, uint16_t host);
    int (*descriptor)(struct tri_wire *wire);
    void (*close)(struct tri_wire *wire);
};

/* The first member of every wire's struct. */
struct tri_wire {
    const struct tri_wire_ops *ops;
};

/*
 * Sends a frame to a host, and takes ownership of its bytes, allocated by tr_alloc, in any case.
 * TR_BUSY (too many unsent frames), TR_NOT_FOUND (no such host), TR_MEMORY: the frame is lost.
 */
TR_MUST_USE static inline int tri_wire_send(struct tri_wire *wire, uint16_t host, uint8_t *data,
                                            size_t size)
{
    return wire->ops->send(wire, host, data, size);
}

/*
 * Connects to a host of the directory whose address or key there is new; frames that are under way
 * to it may be lost. One without an address gets nothing any more. TR_NOT_FOUND (no such host),
 * TR_INVALID, TR_SYSTEM: it is not connected, as without an address.
 */
TR_MUST_USE static inline int tri_wire_connect(struct tri_wire *wire, uint16_t host)
{
    return wire->ops->connect(wire, host);
}

/* The next frame, from any host, or TR_NOT_FOUND. Release it before the next call. */
TR_MUST_USE static inline int tri_wire_receive(struct tri_wire *wire, struct tri_frame *frame)
{
    return wire->ops->receive(wire, frame);
}

static inline void tri_wire_release(struct tri_wire *wire, struct tri_frame *frame)
{
    wire->ops->release(wire, frame);
}

/*
 * A file descriptor that becomes readable when frames may have arrived. Read until there are none.
 */
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
