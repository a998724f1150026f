/*
 * Pipes in memory. Batches of one pipe come due in their order, whatever their delays.
 *
 * The batches themselves are the runtime's memory, so that what a crash leaves in a pipe counts as
 * the host's; the small cells that hold them are the simulator's own.
 */
#include "tests/sim/net.h"

#include <stdlib.h>

#include "runtime/memory.h"
#include "tests/sim/inject.h"
#include "tests/sim/world.h"

static struct sim_end *end_of(struct tri_channel *link)
{
    return (struct sim_end *)link;
}

void sim_net_push(struct sim_net *net, uint32_t from, uint32_t to, uint8_t *data, size_t size)
{
    struct sim_world *world = net->host->world;
    struct sim_pipe *pipe = &net->pipes[to][from];
    struct sim_frame *frame = sim_must(malloc(sizeof *frame));
    uint64_t delay = world->plan.delay_ns_max;
    uint64_t due = world->now_ns;
    if (delay > 0 && !world->is_calm) {
        due += sim_below(&world->chance.net, delay + 1);
    }
    if (pipe->tail != NULL && pipe->tail->due_ns > due) {
        due = pipe->tail->due_ns;
    }
    *frame = (struct sim_frame){.data = data, .size = size, .due_ns = due};
    if (pipe->tail != NULL) {
        pipe->tail->next = frame;
    } else {
        pipe->head = frame;
    }
    pipe->tail = frame;
    pipe->count++;
    net->ends[to].waiting++;
    net->in_flight++;
}

void sim_net_swap_last(struct sim_net *net, uint32_t from, uint32_t to)
{
    struct sim_frame *before = net->pipes[to][from].head;
    struct sim_frame *last = net->pipes[to][from].tail;
    while (before != NULL && before->next != last) {
        before = before->next;
    }
    if (before != NULL) {
        struct sim_frame kept = *before;
        before->data = last->data;
        before->size = last->size;
        last->data = kept.data;
        last->size = kept.size;
    }
}

/* Whether the pipe refuses a batch. */
static bool is_full(struct sim_net *net, uint32_t from, uint32_t to)
{
    struct sim_world *world = net->host->world;
    if (net->is_never_full) {
        return false;
    }
    return net->pipes[to][from].count >= world->plan.pipe_frames_max ||
           (!world->is_calm && sim_chance(&world->chance.net, world->plan.clog));
}

static int net_send(struct tri_channel *link, uint32_t place, uint8_t *data, size_t size)
{
    struct sim_end *end = end_of(link);
    struct sim_net *net = end->net;
    if (is_full(net, link->place, place)) {
        return TR_BUSY;
    }
    if (place == TRI_PLACE_JOURNAL && link->place < TR_WORKERS_MAX) {
        sim_shadow_capture(net->host, link->place, data, size);
    }
    sim_inject_send(net->host, link->place, place, data, size);
    return 0;
}

/* The pipe to read from: any of those that have something due. */
static struct sim_pipe *choose_pipe(struct sim_net *net, uint32_t place)
{
    struct sim_world *world = net->host->world;
    struct sim_pipe *due[TRI_PLACE_COUNT];
    uint32_t count = 0;
    for (uint32_t from = 0; from < TRI_PLACE_COUNT; from++) {
        struct sim_pipe *pipe = &net->pipes[place][from];
        if (pipe->head != NULL && pipe->head->due_ns <= world->now_ns) {
            due[count++] = pipe;
        }
    }
    if (count == 0) {
        return NULL;
    }
    return due[count == 1 ? 0 : sim_below(&world->chance.net, count)];
}

static int net_receive(struct tri_channel *link, struct tri_frame *frame)
{
    struct sim_end *end = end_of(link);
    struct sim_net *net = end->net;
    struct sim_pipe *pipe = end->waiting == 0 ? NULL : choose_pipe(net, link->place);
    if (pipe == NULL) {
        return TR_NOT_FOUND;
    }
    struct sim_frame *first = pipe->head;
    pipe->head = first->next;
    if (pipe->head == NULL) {
        pipe->tail = NULL;
    }
    pipe->count--;
    end->waiting--;
    net->in_flight--;
    net->delivered++;
    end->received = first->data;
    sim_say_frame(net->host, link->place, first);
    *frame = (struct tri_frame){.data = first->data, .size = first->size};
    free(first);
    return 0;
}

static void net_release(struct tri_channel *link, struct tri_frame *frame)
{
    struct sim_end *end = end_of(link);
    tr_free(end->received);
    end->received = NULL;
    *frame = (struct tri_frame){0};
}

/* In one thread nobody can wait: whoever sleeps is not stepped. */
static void net_wait(struct tri_channel *link, uint64_t timeout_ns)
{
    (void)link;
    (void)timeout_ns;
    sim_fail("something waits on a link inside of a step");
}

static void net_close(struct tri_channel *link)
{
    struct sim_end *end = end_of(link);
    tr_free(end->received);
    end->received = NULL;
    end->is_open = false;
}

static const struct tri_channel_ops net_ops = {
    .send = net_send,
    .receive = net_receive,
    .release = net_release,
    .wait = net_wait,
    .close = net_close,
};

int sim_net_open(struct sim_net *net, uint32_t place, struct tri_channel **link)
{
    struct sim_end *end = &net->ends[place];
    if (end->is_open) {
        return TR_EXISTS;
    }
    end->base = (struct tri_channel){.ops = &net_ops, .place = place};
    end->net = net;
    end->is_open = true;
    *link = &end->base;
    return 0;
}

static void drop_pipe(struct sim_pipe *pipe)
{
    while (pipe->head != NULL) {
        struct sim_frame *frame = pipe->head;
        pipe->head = frame->next;
        tr_free(frame->data);
        free(frame);
    }
    *pipe = (struct sim_pipe){0};
}

void sim_net_drop(struct sim_net *net)
{
    for (uint32_t to = 0; to < TRI_PLACE_COUNT; to++) {
        for (uint32_t from = 0; from < TRI_PLACE_COUNT && net->ends[to].waiting > 0; from++) {
            net->ends[to].waiting -= net->pipes[to][from].count;
            drop_pipe(&net->pipes[to][from]);
        }
        if (net->ends[to].is_open) {
            tri_channel_close(&net->ends[to].base);
        }
    }
    net->in_flight = 0;
}

uint64_t sim_net_due_ns(const struct sim_net *net, uint32_t place)
{
    uint64_t due_ns = UINT64_MAX;
    for (uint32_t from = 0; net->ends[place].waiting > 0 && from < TRI_PLACE_COUNT; from++) {
        const struct sim_frame *head = net->pipes[place][from].head;
        if (head != NULL && head->due_ns < due_ns) {
            due_ns = head->due_ns;
        }
    }
    return due_ns;
}

void sim_net_hurry(struct sim_net *net)
{
    for (uint32_t to = 0; to < TRI_PLACE_COUNT; to++) {
        for (uint32_t from = 0; from < TRI_PLACE_COUNT; from++) {
            struct sim_frame *frame = net->pipes[to][from].head;
            for (; frame != NULL; frame = frame->next) {
                frame->due_ns = net->host->world->now_ns;
            }
        }
    }
}
