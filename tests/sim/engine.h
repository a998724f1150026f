/*
 * The play of the engine: executions of random workflows in hosts that crash, against a model.
 *
 * Each host has the services of an engine (resource manager, catalog, launcher) and a client, an
 * actor that launches executions, aborts some, and waits for all of them. What their tasks do is
 * done by the plugin `remote` (remote.h). What history says of them is read from what is committed
 * (engine_history.c) and held against the model when all is over (engine_check.c).
 */
#ifndef TR_TESTS_SIM_ENGINE_H
#define TR_TESTS_SIM_ENGINE_H

#include "actors/engine.h"
#include "tests/sim/remote.h"
#include "tests/sim/world.h"

#define SIM_EXECUTIONS_MAX 8 /* of a world */
#define SIM_GRAPHS_MAX 3
#define SIM_EXECUTION_NAME_BYTES 16

/* What the engine allows of failures that are not the task's. */
#define SIM_SYSTEM_RETRIES 2

/* What the program says to the client, once; and the client to itself. */
#define SIM_CLIENT_GO_FIELDS(FIELD, ARRAY) FIELD(ref, launcher, 1, 0)

/* Bits count the executions of the world: asked for, begun, ended. */
#define SIM_CLIENT_FIELDS(FIELD, ARRAY) \
    FIELD(u64, asked, 1, 0)             \
    FIELD(u64, begun, 1, 0)             \
    FIELD(u64, ended, 1, 0)             \
    ARRAY(bytes, table, 1024, 1, 0)

#define SIM_CLIENT_SCHEMAS(S)                                              \
    S(sim_client_go, 932, TR_MESSAGE, 1, TR_DURABLE, SIM_CLIENT_GO_FIELDS) \
    S(sim_client, 931, TR_STATE, 1, TR_DURABLE, SIM_CLIENT_FIELDS)

SIM_CLIENT_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

extern const struct tr_behaviour sim_client_behaviour;

/* A graph of a world. */
struct sim_graph {
    struct tr_graph *graph;  /* for the environment and the model */
    struct tr_buffer packed; /* as hosts read it at their starts */
};

/* Bytes of the simulator's own: memory that no host has to give back. */
struct sim_bytes {
    uint8_t *data;
    size_t size;
};

void sim_bytes_set(struct sim_bytes *bytes, const void *data, size_t size);

static inline struct tr_bytes sim_bytes_of(const struct sim_bytes *bytes)
{
    return (struct tr_bytes){.data = bytes->data, .size = bytes->size};
}

static inline struct tr_text sim_text_of(const struct sim_bytes *bytes)
{
    return (struct tr_text){.data = (const char *)bytes->data, .size = bytes->size};
}

/* What is to be run, and what became of it. */
struct sim_execution {
    char name[SIM_EXECUTION_NAME_BYTES];
    uint32_t host;
    uint32_t graph;
    struct tr_buffer inputs;
    uint8_t cache_mode;
    bool is_aborted; /* the client aborts it */
    bool is_hard;
    uint64_t abort_after_ms;
    uint64_t number;                  /* of its group, 0 before history knows it */
    const struct sim_execution *from; /* the one that it recovers, when that has ended; or NULL */
    struct sim_edits *edits; /* what it runs again all the same; NULL: that is not drawn so far */
    uint8_t phase;           /* as committed; so are the rest */
    bool is_paused;
    uint64_t failed_element;
    struct sim_bytes failed;
    struct sim_bytes code;
};

/* How likely attempts fail, in thousands. */
struct sim_rates {
    uint32_t user;
    uint32_t system;
    uint32_t for_good;
    uint32_t cancelled; /* by others than Troupe */
    uint32_t refused;   /* by whoever was to begin them */
};

struct sim_edits;
struct sim_history;

/* What a world of the engine is about: its `own`. */
struct sim_stage {
    struct sim_world *world;
    struct sim_graph graphs[SIM_GRAPHS_MAX];
    uint32_t graph_count;
    struct sim_execution executions[SIM_EXECUTIONS_MAX];
    uint32_t execution_count;
    struct sim_rates rates;
    uint32_t quota;                     /* slots of the plugin's namespace */
    bool has_timing;                    /* its graphs have timeouts */
    bool has_gates;                     /* and gates */
    bool has_launches;                  /* and launch plans */
    bool has_pauses;                    /* people pause executions */
    bool has_dynamic;                   /* tasks decide graphs */
    bool has_schedules;                 /* plans fire by themselves, on the first host */
    bool has_planner;                   /* who registers them was spawned, and that is committed */
    bool has_recoveries;                /* executions recover others */
    bool has_notifications;             /* somebody is told of executions */
    bool has_lost_answers;              /* too many crashes came between, so attempts have failed */
    bool has_client[SIM_HOSTS_MAX];     /* it was spawned, and that is committed */
    bool is_quota_known[SIM_HOSTS_MAX]; /* to the resource manager, since the host's start */
    struct sim_backend *backend;
    struct sim_documents *documents;
    struct sim_decisions *decisions;
    struct sim_repeats *repeats;
    struct sim_timetable *timetable; /* NULL: there are no schedules */
    struct sim_told *told;           /* NULL: there are no notifications */
    struct sim_history *history;
};

static inline struct sim_stage *sim_stage_of(const struct sim_world *world)
{
    return world->own;
}

/* What was seen in all worlds so far: for tests that want to know that it was worth something. */
#define SIM_SEEN(S)          \
    S(executions)            \
    S(succeeded)             \
    S(failed)                \
    S(aborted)               \
    S(timed_out)             \
    S(nodes)                 \
    S(nodes_skipped)         \
    S(nodes_failed)          \
    S(nodes_aborted)         \
    S(elements)              \
    S(elements_failed)       \
    S(elements_of_workflows) \
    S(values_compared)       \
    S(jobs)                  \
    S(jobs_again)            \
    S(jobs_cancelled)        \
    S(jobs_cancelled_before) \
    S(cached)                \
    S(gates)                 \
    S(sleeps)                \
    S(pauses)                \
    S(dormant)               \
    S(launched)              \
    S(fired)                 \
    S(fires_skipped)         \
    S(fires_paused)          \
    S(fired_by_cron)         \
    S(fired_near_a_change)   \
    S(recoveries)            \
    S(inputs_edited)         \
    S(node_inputs_edited)    \
    S(kept)                  \
    S(elements_kept)         \
    S(graphs_decided)        \
    S(graphs_wrong)          \
    S(decided_plainly)       \
    S(texts_bound)           \
    S(texts_without_form)    \
    S(maps_run_to_failure)   \
    S(retries_left_out)      \
    S(labels_inherited)      \
    S(labels_outweighed)     \
    S(told)                  \
    S(told_again)            \
    S(told_refused)

struct sim_seen {
#define SIM_SEEN_MEMBER(name) uint64_t name;
    SIM_SEEN(SIM_SEEN_MEMBER)
#undef SIM_SEEN_MEMBER
};

extern struct sim_seen sim_engine_seen;

/* What becomes of an attempt: enum sim_job_status. */
uint8_t sim_outcome(const struct sim_stage *stage, const struct sim_execution *execution,
                    const struct tr_task *task, struct tr_bytes inputs, struct tr_text path,
                    uint64_t element, uint32_t attempt);

/* What people answer to a gate of this name: whether they approve; a value of the type. */
bool sim_approves(const struct sim_stage *stage, const struct sim_execution *execution,
                  struct tr_text id);
void sim_signal_value(const struct sim_stage *stage, const struct sim_execution *execution,
                      struct tr_text id, const struct tr_type *type, struct tr_buffer *value);

/* The resource manager has heard of its quota. */
void sim_engine_note_quota(struct sim_host *host);

/* Whether the fault is injected that the plugin submits without asking. */
bool sim_engine_submits_blindly(void);

#endif
