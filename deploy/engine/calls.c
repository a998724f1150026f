/*
 * A list of who waits, each with a condition of its own on its stack; an event wakes the engine's
 * loop.
 */
#include "deploy/engine/calls.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "deploy/engine/assemble.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

struct call {
    void (*run)(struct tr_live *live, void *self);
    void *self;
    int error;
    bool is_over;
    pthread_cond_t over;
    struct call *next;
};

struct tr_live_calls {
    int event;
    pthread_mutex_t mutex; /* of what follows */
    struct call *first;
    struct call *last;
    bool is_closed;
};

int tr_live_calls_new(struct tr_live_calls **out)
{
    struct tr_live_calls *calls = tr_alloc_zero(1, sizeof *calls);
    if (calls == NULL) {
        return TR_MEMORY;
    }
    calls->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (calls->event < 0) {
        tr_free(calls);
        return TR_SYSTEM;
    }
    pthread_mutex_init(&calls->mutex, NULL);
    *out = calls;
    return 0;
}

void tr_live_calls_free(struct tr_live_calls *calls)
{
    if (calls != NULL) {
        TR_ASSERT(calls->first == NULL);
        pthread_mutex_destroy(&calls->mutex);
        (void)close(calls->event);
        tr_free(calls);
    }
}

int tr_live_calls_descriptor(const struct tr_live_calls *calls)
{
    return calls->event;
}

/* The caller's stack has the call until it is over. */
static void end(struct tr_live_calls *calls, struct call *call, int error)
{
    pthread_mutex_lock(&calls->mutex);
    call->error = error;
    call->is_over = true;
    pthread_cond_signal(&call->over);
    pthread_mutex_unlock(&calls->mutex);
}

static struct call *take(struct tr_live_calls *calls)
{
    pthread_mutex_lock(&calls->mutex);
    struct call *call = calls->first;
    if (call != NULL) {
        calls->first = call->next;
        calls->last = calls->first == NULL ? NULL : calls->last;
    }
    pthread_mutex_unlock(&calls->mutex);
    return call;
}

void tr_live_calls_run(struct tr_live_calls *calls, struct tr_live *live)
{
    eventfd_t count;
    (void)eventfd_read(calls->event, &count);
    for (struct call *call = take(calls); call != NULL; call = take(calls)) {
        call->run(live, call->self);
        end(calls, call, 0);
    }
}

void tr_live_calls_close(struct tr_live_calls *calls)
{
    pthread_mutex_lock(&calls->mutex);
    calls->is_closed = true;
    pthread_mutex_unlock(&calls->mutex);
    for (struct call *call = take(calls); call != NULL; call = take(calls)) {
        end(calls, call, TR_CLOSED);
    }
}

static void add(struct tr_live_calls *calls, struct call *call)
{
    if (calls->last != NULL) {
        calls->last->next = call;
    } else {
        calls->first = call;
    }
    calls->last = call;
    (void)eventfd_write(calls->event, 1);
}

int tr_live_call(struct tr_live *live, void (*run)(struct tr_live *live, void *self), void *self)
{
    struct tr_live_calls *calls = live->calls;
    struct call call = {.run = run, .self = self};
    pthread_cond_init(&call.over, NULL);
    pthread_mutex_lock(&calls->mutex);
    if (calls->is_closed) {
        call.error = TR_CLOSED;
        call.is_over = true;
    } else {
        add(calls, &call);
    }
    while (!call.is_over) {
        pthread_cond_wait(&call.over, &calls->mutex);
    }
    pthread_mutex_unlock(&calls->mutex);
    pthread_cond_destroy(&call.over);
    return call.error;
}
