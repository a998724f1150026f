/*
 * Links carry batches of bytes between the places of a host: the interface, with ZeroMQ and a
 * simulator as implementations.
 *
 * A place is a worker or a service thread; it owns one link, which receives from all other places.
 * Batches from one place to another keep their order and are neither lost nor duplicated while both
 * live. Only tri_channel_wait blocks.
 */
#ifndef TR_RUNTIME_LINK_LINK_H
#define TR_RUNTIME_LINK_LINK_H

#include "runtime/limits.h"
#include "schemas/codec/base.h"
#include "schemas/codec/error.h"

/* The places of a host. Workers come first. */
enum tri_place_number {
    TRI_PLACE_JOURNAL = TR_WORKERS_MAX,
    TRI_PLACE_CONTROL, /* the thread that made the host */
    TRI_PLACE_HTTP,
    TRI_PLACE_HTTP_ANSWERS, /* only sends */
    TRI_PLACE_PROCESSES,
    TRI_PLACE_INTERHOST, /* connects to other hosts */
    TRI_PLACE_FILES,
    TRI_PLACE_COUNT,
};

struct tri_channel;

/* A received batch; the link owns its bytes until they are released. */
struct tri_frame {
    const uint8_t *data;
    size_t size;
    void *owner;
};

struct tri_channel_ops {
    int (*send)(struct tri_channel *link, uint32_t place, uint8_t *data, size_t size);
    int (*receive)(struct tri_channel *link, struct tri_frame *frame);
    void (*release)(struct tri_channel *link, struct tri_frame *frame);
    void (*wait)(struct tri_channel *link, uint64_t timeout_ns);
    /* As wait, and also until a descriptor is readable; may be NULL. */
    void (*wait_also)(struct tri_channel *link, int descriptor, uint64_t timeout_ns);
    void (*close)(struct tri_channel *link);
};

/* The first member of every link's struct. */
struct tri_channel {
    const struct tri_channel_ops *ops;
    uint32_t place;
};

/*
 * Sends a batch allocated with tr_alloc, and takes ownership. TR_BUSY when the pipe is full and
 * TR_MEMORY: the caller keeps it.
 */
TR_MUST_USE static inline int tri_channel_send(struct tri_channel *link, uint32_t place,
                                               uint8_t *data, size_t size)
{
    return link->ops->send(link, place, data, size);
}

/* The next batch, or TR_NOT_FOUND. Release it before the next call. */
TR_MUST_USE static inline int tri_channel_receive(struct tri_channel *link, struct tri_frame *frame)
{
    return link->ops->receive(link, frame);
}

static inline void tri_channel_release(struct tri_channel *link, struct tri_frame *frame)
{
    link->ops->release(link, frame);
}

/* Waits until a batch is available, or the time is over; may return early. */
static inline void tri_channel_wait(struct tri_channel *link, uint64_t timeout_ns)
{
    link->ops->wait(link, timeout_ns);
}

/* The same, and also until this file descriptor is readable. */
static inline void tri_channel_wait_also(struct tri_channel *link, int descriptor,
                                         uint64_t timeout_ns)
{
    link->ops->wait_also(link, descriptor, timeout_ns);
}

static inline void tri_channel_close(struct tri_channel *link)
{
    if (link != NULL) {
        link->ops->close(link);
    }
}

#endif
