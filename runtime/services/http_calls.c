/*
 * A table of calls by actor and number, which only its owner changes, and a list of ended calls.
 *
 * The list is a Treiber stack without a pop: a call is pushed with compare-and-swap, by the http
 * thread or, if it was never submitted, by the owner; the owner takes the whole list by exchanging
 * it for NULL. So there is no ABA problem, and neither thread waits for the other.
 */
#include "runtime/services/http_calls.h"

#include "runtime/memory.h"

/*
 * The incarnation is compared but not hashed: two incarnations of an actor seldom have the same
 * call open.
 */
static size_t bucket_of(struct tr_key actor, uint64_t ask)
{
    uint64_t mixed = (actor.group ^ actor.serial * 31 ^ ask) * 0x9e3779b97f4a7c15ULL;
    return (size_t)(mixed >> 32) % TRI_HTTP_CALL_BUCKETS;
}

/* Both threads have ended, so no call is pushed any more. */
void tri_http_calls_fini(struct tri_http_calls *calls)
{
    tri_http_calls_free_ended(calls);
    for (size_t i = 0; i < TRI_HTTP_CALL_BUCKETS; i++) {
        while (calls->buckets[i] != NULL) {
            struct tri_http_call *call = calls->buckets[i];
            calls->buckets[i] = call->next_in_bucket;
            tr_free(call);
        }
    }
}

static void count_calls(struct tri_http_calls *calls, int change)
{
    uint_fast32_t count = atomic_load_explicit(&calls->count, memory_order_relaxed);
    atomic_store_explicit(&calls->count, count + (uint_fast32_t)change, memory_order_relaxed);
}

struct tri_http_call *tri_http_calls_add(struct tri_http_calls *calls,
                                         const struct tri_caller *caller)
{
    struct tri_http_call *call = tr_alloc(sizeof *call);
    if (call != NULL) {
        struct tri_http_call **bucket = &calls->buckets[bucket_of(caller->ref.key, caller->ask)];
        *call = (struct tri_http_call){.caller = *caller, .next_in_bucket = *bucket};
        *bucket = call;
        count_calls(calls, 1);
    }
    return call;
}

struct tri_http_call *tri_http_calls_find(const struct tri_http_calls *calls, struct tr_ref actor,
                                          uint64_t ask)
{
    struct tri_http_call *call = calls->buckets[bucket_of(actor.key, ask)];
    while (call != NULL &&
           (call->caller.ask != ask || !tr_key_equal(call->caller.ref.key, actor.key) ||
            call->caller.ref.incarnation != actor.incarnation)) {
        call = call->next_in_bucket;
    }
    return call;
}

void tri_http_calls_end(struct tri_http_calls *calls, struct tri_http_call *call)
{
    struct tri_http_call *newest = atomic_load_explicit(&calls->ended, memory_order_relaxed);
    do {
        call->next_ended = newest;
        /* Release: the call is freed after all uses of it. */
    } while (!atomic_compare_exchange_weak_explicit(&calls->ended, &newest, call,
                                                    memory_order_release, memory_order_relaxed));
}

/*
 * The acquire pairs with the release of tri_http_calls_end: the http thread has finished with each
 * call found here. Only this thread changes the buckets.
 */
void tri_http_calls_free_ended(struct tri_http_calls *calls)
{
    struct tri_http_call *call =
        atomic_exchange_explicit(&calls->ended, NULL, memory_order_acquire);
    while (call != NULL) {
        struct tri_http_call *next = call->next_ended;
        struct tri_http_call **link =
            &calls->buckets[bucket_of(call->caller.ref.key, call->caller.ask)];
        while (*link != call) {
            link = &(*link)->next_in_bucket;
        }
        *link = call->next_in_bucket;
        tr_free(call);
        count_calls(calls, -1);
        call = next;
    }
}
