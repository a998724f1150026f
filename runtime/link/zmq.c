/*
 * Links over ZeroMQ inproc.
 *
 * ZeroMQ keeps the order of messages per pipe, and there is one pipe from each place to each other,
 * so batches between two places keep their order. Sockets are used by one thread only, only the
 * wait blocks, and a full pipe is TR_BUSY. A ZeroMQ message is one batch: without batching, a
 * message costs ten times as much.
 *
 * This uses libzmq directly: czmq cannot pass memory on without a copy.
 *
 * Memory is passed on, not copied: the sender's block goes through the pipe as it is, and the
 * receiver's thread frees it when it releases the frame. A place has one PULL, bound to its name,
 * and a PUSH to each place that it has sent to.
 */
#include "runtime/link/zmq.h"

#include <nss.h>
#include <stdio.h>
#include <zmq.h>

#include "runtime/memory.h"

/* ZeroMQ adds the sender's and the receiver's mark for an inproc pipe, so each gets half. */
#define HIGH_WATER_MARK (TR_PIPE_BATCHES_MAX / 2)

/*
 * ThreadSanitizer does not see inside libzmq, so it is told the ordering of the library's queues:
 * what a sender does before it sends happens before what the receiver does with the batch.
 */
#if defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif
#ifdef HAS_THREAD_SANITIZER
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define SENT(address) __tsan_release(address)
#define RECEIVED(address) __tsan_acquire(address)
#else
#define SENT(address) ((void)(address))
#define RECEIVED(address) ((void)(address))
#endif

struct zmq_link {
    struct tri_channel base;
    void *context;
    void *pull;
    void *push[TRI_PLACE_COUNT];
    zmq_msg_t received;
};

void tri_zmq_context_free(void *context)
{
    if (context != NULL) {
        zmq_ctx_term(context);
    }
}

/*
 * Makes a socket and closes it, because libzmq starts its threads with the first socket and aborts
 * the process when it cannot.
 *
 * The library asks for the number of the protocol `pgm` when it begins, for which the C library
 * would look into a hundred folders for a database that hardly any machine has.
 */
void *tri_zmq_context_new(int io_threads)
{
    (void)__nss_configure_lookup("protocols", "files");
    void *context = zmq_ctx_new();
    if (context != NULL) {
        (void)zmq_ctx_set(context, ZMQ_IO_THREADS, io_threads);
    }
    /* The library's threads start with the first socket: now, while resources are available. */
    void *first = context == NULL ? NULL : zmq_socket(context, ZMQ_PAIR);
    if (first == NULL) {
        tri_zmq_context_free(context);
        return NULL;
    }
    zmq_close(first);
    return context;
}

static void endpoint_of(uint32_t place, char *buffer, size_t size)
{
    snprintf(buffer, size, "inproc://place-%u", place);
}

/*
 * No linger: a host that ends has flushed its messages, and must not wait for places that are gone.
 */
static void *socket_new(void *context, int type)
{
    void *socket = zmq_socket(context, type);
    int mark = HIGH_WATER_MARK;
    int linger = 0;
    if (socket == NULL) {
        return NULL;
    }
    if (zmq_setsockopt(socket, ZMQ_SNDHWM, &mark, sizeof mark) != 0 ||
        zmq_setsockopt(socket, ZMQ_RCVHWM, &mark, sizeof mark) != 0 ||
        zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger) != 0) {
        zmq_close(socket);
        return NULL;
    }
    return socket;
}

/*
 * The PUSH to a place, connected at its first use; NULL: the system refused.
 *
 * An inproc socket may connect before the other side has bound: ZeroMQ keeps the batches until
 * then, so places may start in any order.
 */
static void *push_to(struct zmq_link *link, uint32_t place)
{
    if (link->push[place] == NULL) {
        char endpoint[32];
        endpoint_of(place, endpoint, sizeof endpoint);
        void *socket = socket_new(link->context, ZMQ_PUSH);
        if (socket != NULL && zmq_connect(socket, endpoint) != 0) {
            zmq_close(socket);
            socket = NULL;
        }
        link->push[place] = socket;
    }
    return link->push[place];
}

/* The receiver has released a batch: frees its bytes. */
static void free_batch(void *data, void *hint)
{
    (void)hint;
    RECEIVED(data);
    tr_free(data);
}

/*
 * Checked before the memory is passed on: zmq_msg_init_data passes ownership to the message, and
 * closing a message that could not be sent would free a batch that the caller still owns.
 */
static bool has_room(void *push)
{
    int events = 0;
    size_t size = sizeof events;
    return zmq_getsockopt(push, ZMQ_EVENTS, &events, &size) == 0 && (events & ZMQ_POLLOUT) != 0;
}

/*
 * Takes ownership when it returns 0: the receiver's thread frees it. On TR_BUSY the caller keeps
 * it.
 */
static int zmq_link_send(struct tri_channel *base, uint32_t place, uint8_t *data, size_t size)
{
    struct zmq_link *link = (struct zmq_link *)base;
    void *push = push_to(link, place);
    zmq_msg_t message;
    if (push == NULL) {
        return TR_MEMORY;
    }
    if (!has_room(push)) {
        return TR_BUSY;
    }
    if (zmq_msg_init_data(&message, data, size, free_batch, NULL) != 0) {
        return TR_MEMORY;
    }
    /* Before the send: afterwards the receiver may already have freed the batch. */
    SENT(data);
    int sent = zmq_msg_send(&message, push, ZMQ_DONTWAIT);
    TR_ASSERT(sent >= 0); /* there was room, and only this thread writes to this pipe */
    return 0;
}

/* The frame is a view of the ZeroMQ message, until it is released; one at a time. */
static int zmq_link_receive(struct tri_channel *base, struct tri_frame *frame)
{
    struct zmq_link *link = (struct zmq_link *)base;
    zmq_msg_init(&link->received);
    if (zmq_msg_recv(&link->received, link->pull, ZMQ_DONTWAIT) < 0) {
        return TR_NOT_FOUND;
    }
    *frame = (struct tri_frame){.data = zmq_msg_data(&link->received),
                                .size = zmq_msg_size(&link->received)};
    RECEIVED(zmq_msg_data(&link->received));
    return 0;
}

static void zmq_link_release(struct tri_channel *base, struct tri_frame *frame)
{
    struct zmq_link *link = (struct zmq_link *)base;
    zmq_msg_close(&link->received);
    *frame = (struct tri_frame){0};
}

static void zmq_link_wait(struct tri_channel *base, uint64_t timeout_ns)
{
    struct zmq_link *link = (struct zmq_link *)base;
    zmq_pollitem_t item = {.socket = link->pull, .events = ZMQ_POLLIN};
    /* Rounded up: rounded down, a wait of less than a millisecond would spin. */
    long timeout_ms = (long)((timeout_ns + 999999) / 1000000);
    (void)zmq_poll(&item, 1, timeout_ms); /* early is fine: the caller checks again */
}

static void zmq_link_wait_also(struct tri_channel *base, int descriptor, uint64_t timeout_ns)
{
    struct zmq_link *link = (struct zmq_link *)base;
    zmq_pollitem_t items[] = {{.socket = link->pull, .events = ZMQ_POLLIN},
                              {.fd = descriptor, .events = ZMQ_POLLIN}};
    long timeout_ms = (long)((timeout_ns + 999999) / 1000000);
    (void)zmq_poll(items, TR_COUNT_OF(items), timeout_ms);
}

static void zmq_link_close(struct tri_channel *base)
{
    struct zmq_link *link = (struct zmq_link *)base;
    for (uint32_t i = 0; i < TRI_PLACE_COUNT; i++) {
        if (link->push[i] != NULL) {
            zmq_close(link->push[i]);
        }
    }
    zmq_close(link->pull);
    tr_free(link);
}

static const struct tri_channel_ops zmq_link_ops = {
    .send = zmq_link_send,
    .receive = zmq_link_receive,
    .release = zmq_link_release,
    .wait = zmq_link_wait,
    .wait_also = zmq_link_wait_also,
    .close = zmq_link_close,
};

int tri_zmq_channel_open(void *context, uint32_t place, struct tri_channel **out)
{
    struct zmq_link *link = tr_alloc_zero(1, sizeof *link);
    if (link == NULL) {
        return TR_MEMORY;
    }
    link->base = (struct tri_channel){.ops = &zmq_link_ops, .place = place};
    link->context = context;
    link->pull = socket_new(context, ZMQ_PULL);
    char endpoint[32];
    endpoint_of(place, endpoint, sizeof endpoint);
    if (link->pull == NULL || zmq_bind(link->pull, endpoint) != 0) {
        if (link->pull != NULL) {
            zmq_close(link->pull);
        }
        tr_free(link);
        return TR_SYSTEM;
    }
    *out = &link->base;
    return 0;
}
