/*
 * A stage: a whole host in one thread, with a clock that stands still and pipes made of lists.
 *
 * Workers, journal and the program's own place are the real ones; only what lies behind tr_env is
 * made up. Nothing moves but in stage_step, so a test sees the same order each time. The functions
 * of runtime/troupe.h that wait work here too: waiting is stepping.
 *
 *     struct stage stage;
 *     stage_open(&stage, &(struct stage_options){.worker_count = 2});
 *     struct tr_ref actor = stage_spawn(&stage, &fake_actor_behaviour, NULL);
 *     fake_actor_note(&stage, actor, 1);
 *     stage_run(&stage);
 *     stage_close(&stage);
 *
 * Closing it insists that all memory has come back.
 */
#ifndef TR_TESTS_SUPPORT_STAGE_H
#define TR_TESTS_SUPPORT_STAGE_H

#include "runtime/host/host.h"
#include "tests/support/test.h"

/* Where a stage begins its clocks. */
#define STAGE_START_NS 1000000000ULL
#define STAGE_START_WALL_MS 1700000000000ULL

struct stage_parcel;

/* What was sent to one place and is not read yet. */
struct stage_inbox {
    struct stage_parcel *head;
    struct stage_parcel *tail;
    size_t count;
    size_t capacity; /* frames that it takes; SIZE_MAX while it is no test's matter */
};

struct stage_options {
    uint32_t worker_count; /* 0: one */
    struct tri_store *store;
    struct tri_poison_messages *poison; /* what was in hand at crashes; the test's */
    const struct tr_schema *const *records;
    size_t record_count;
    const struct tr_behaviour *const *behaviours; /* NULL: the fake actors */
    size_t behaviour_count;
    void *program;          /* for tr_program */
    uint32_t counter_count; /* of tr_count */
    uint16_t number;        /* of several hosts; 0: alone */
    const struct tr_peer *peers;
    size_t peer_count;
    const uint16_t *partitions; /* who has which; NULL: as tr_host_options */
    const uint32_t *epochs;     /* of them; NULL: none */
    size_t partition_count;
    uint64_t view;
    const struct tri_group_range *ranges; /* of groups, to be loaded one after the other */
    size_t range_count;                   /* 0: all at once */
    uint64_t passed_ms;                   /* it begins so long after other stages do */
};

struct stage {
    struct tr_env env;
    struct tr_host host;
    uint64_t now_ns;
    uint64_t wall_ms;
    uint64_t memory_before;
    bool is_one_of_several; /* memory is counted for all stages together, by the test */
    struct stage_inbox inboxes[TRI_PLACE_COUNT];
    bool is_open[TRI_PLACE_COUNT];
    bool journal_sleeps; /* the journal gets no turn */
    bool worker_sleeps[TR_WORKERS_MAX];
    uint64_t idle_waits; /* in a row: a wait for what never comes fails the test */
};

/* Makes and loads the host. The store, if there is one, stays the caller's. */
void stage_open(struct stage *stage, const struct stage_options *options);

/* The same, and gives the error of making or loading it; on an error it is closed again. */
int stage_try_open(struct stage *stage, const struct stage_options *options);

/* Ends it without a last cut, as a crash does, and insists that all memory is back. */
void stage_close(struct stage *stage);

/* One turn of everybody who is awake; whether there was anything to do. */
bool stage_step(struct stage *stage);

/* Turns until nobody has anything to do. */
void stage_run(struct stage *stage);

/* Lets time pass in steps of a millisecond, with all that comes due. */
void stage_advance(struct stage *stage, uint64_t milliseconds);

static inline struct tri_worker *stage_worker(struct stage *stage, uint32_t index)
{
    return &stage->host.workers[index];
}

/* A root actor; worker 0 gets the first one, and so on in turn. */
struct tr_ref stage_spawn(struct stage *stage, const struct tr_behaviour *behaviour,
                          const struct tr_spawn_options *options);

/* Tells an actor something from outside. Nothing has happened yet when it returns. */
void stage_tell(struct stage *stage, struct tr_ref to, const struct tr_schema *schema,
                const void *body);

/* Gives a worker a message that any actor might have sent; 0 or what making it says. */
void stage_send(struct stage *stage, uint32_t place, const struct tri_heading *heading,
                const struct tr_schema *schema, const void *body);

/* Puts a frame of one item with these bytes into a place's pipe. */
void stage_send_bytes(struct stage *stage, uint32_t from, uint32_t place, struct tr_bytes bytes);

/* The next frame that was sent to a place which nobody turns, to tr_free; NULL: there is none. */
uint8_t *stage_receive(struct stage *stage, uint32_t place, size_t *size);

/* Moves an actor and waits until it has arrived. */
void stage_move(struct stage *stage, struct tr_ref actor, uint32_t worker);

/* The actor, wherever it lives, or NULL; and the worker it lives on. */
struct tri_actor *stage_actor(struct stage *stage, struct tr_ref actor);
struct tri_worker *stage_home(struct stage *stage, struct tr_ref actor);

/* All that it monitors cannot be reached any more, as when the links to other hosts go down. */
void stage_lose_monitors(struct stage *stage, struct tr_ref actor);

/* How many actors live on all workers. */
uint32_t stage_actor_count(struct stage *stage);

/* Dead letters for this reason that are still kept, over all workers. */
size_t stage_dead_letters(struct stage *stage, int reason);

/* A gauge of all states, and a counter of the program's, over all workers. */
int64_t stage_gauge(const struct stage *stage, uint32_t gauge);
uint64_t stage_counter(const struct stage *stage, uint32_t counter);

/* The sum of a metric over all workers: stage_metric(&stage, mutes). */
#define stage_metric(stage, name)                                                      \
    ({                                                                                 \
        uint64_t total = 0;                                                            \
        for (uint32_t place = 0; place < (stage)->host.shared.worker_count; place++) { \
            total += (stage)->host.workers[place].metrics.name;                        \
        }                                                                              \
        total;                                                                         \
    })

/* From now on the allocation after `count` others fails, and all that follow it when `for_good`. */
void stage_fail_allocation(uint64_t count, bool for_good);

/* Ends that; whether an allocation failed since. */
bool stage_allocations_succeed(void);

#endif
