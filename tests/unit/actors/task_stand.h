/*
 * What the tests of a task stand on: a stage with a parent that begins one task and writes down
 * what it hears of it, an outside that answers as the test says, and plugins made of functions.
 */
#ifndef TR_TESTS_UNIT_ACTORS_TASK_STAND_H
#define TR_TESTS_UNIT_ACTORS_TASK_STAND_H

#include "actors/engine.h"
#include "actors/task/task.h"
#include "plugins/sdk/plugin.h"
#include "tests/sim/model_store.h"
#include "tests/support/stage.h"

/* The plugin `fake actor`: what its functions do is the test's. Its state counts. */
#define TR_FAKE_ACTOR_STATE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, events, 1, 0)                     \
    FIELD(u64, call, 1, 0)                       \
    ARRAY(text, words, 5000, 2, 0)
#define TR_BOSS_FIELDS(FIELD, ARRAY) \
    FIELD(ref, child, 1, 0)          \
    FIELD(u32, ended, 1, 0)
#define TR_BOSS_GO_FIELDS(FIELD, ARRAY) FIELD(bytes, start, 1, 0)
#define TR_OUTSIDE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)            \
    FIELD(text, key, 1, 0)

#define TASK_STAND_SCHEMAS(S)                                              \
    S(fake_actor_state, 61100, TR_STATE, 2, 0, TR_FAKE_ACTOR_STATE_FIELDS) \
    S(boss, 61101, TR_STATE, 1, 0, TR_BOSS_FIELDS)                         \
    S(boss_go, 61100, TR_MESSAGE, 1, TR_DURABLE, TR_BOSS_GO_FIELDS)        \
    S(outside_ask, 61101, TR_MESSAGE, 1, TR_DURABLE, TR_OUTSIDE_FIELDS)    \
    S(outside_told, 61102, TR_MESSAGE, 1, TR_DURABLE, TR_OUTSIDE_FIELDS)

TASK_STAND_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

typedef int task_stand_function(struct tr_task_context *task, struct tr_fake_actor_state *state,
                                const struct tr_task_event *event,
                                struct tr_transition *transition);

/* A message that left for a service. */
struct outside_message {
    struct tr_ref from;
    uint16_t service;
    uint16_t type;
    uint8_t version;
    uint8_t kind;
    uint64_t sequence;
    struct tr_bytes body; /* lives until the stand ends */
};

/* What each of the retries of the system waits at most. */
#define SYSTEM_RETRY_MS 4000

#define STAND_NEWS_MAX 64
#define STAND_OUTSIDE_MAX 4096

struct task_stand {
    struct stage stage;
    struct tri_model *model; /* NULL: without a store */
    struct tri_store *store;
    struct tr_engine *engine;
    uint64_t graph;
    const struct tr_graph *compiled;
    struct tr_ref boss;
    uint32_t bystanders;    /* actors that are there without a task */
    void (*reopened)(void); /* behind a crash, before anything runs; NULL: nothing */

    /* What the boss heard. */
    uint32_t ended_count;
    struct tr_node_ended ended; /* texts are copies */
    uint32_t news_count;
    struct tr_node_news news[STAND_NEWS_MAX];
    struct stand_block *blocks; /* copies; not of the engine's memory, which has to come back */

    /* The fake actor plugin. */
    task_stand_function *handle;
    task_stand_function *abort;
    uint32_t finalized;
    uint8_t finalized_phase;
    bool last_is_hard;

    struct outside_message outside[STAND_OUTSIDE_MAX];
    uint32_t outside_count;
    uint32_t served;
};

extern struct task_stand stand;

/* What is registered as the task's behaviour: itself, or a wrapper of it. */
extern const struct tr_behaviour *stand_task_behaviour;
extern const struct tr_plugin stand_fake_plugin;
extern const struct tr_behaviour stand_boss_behaviour;

/* Compiles a definition and opens a stage; with a store where `is_durable`. */
void stand_begin(const char *yaml, bool is_durable);
void stand_end(void);

/* The process ends, and another one begins with what is in the store. */
void stand_crash(void);

/* Begins node `id` of workflow `main` with these inputs (JSON list of slots by type). */
struct stand_start {
    const char *node;
    const char *inputs; /* a JSON object, NULL: none */
    uint64_t element;   /* with is_element */
    bool is_element;
    uint8_t cache_mode;
};
void stand_start(const struct stand_start *start);

/* The same, and nothing has happened yet. */
void stand_prepare(const struct stand_start *start);

/* The task, if it lives, and its state. */
struct tri_actor *stand_task(void);
const struct tr_task_state *stand_state(void);

/* Reads what has left for services since the last look. Returns how many there are in all. */
uint32_t stand_look_outside(void);

/* The last message of a schema that left, or NULL. */
const struct outside_message *stand_outside_last(const struct tr_schema *schema);
uint32_t stand_outside_times(const struct tr_schema *schema);

/* Begins the engine's services and tells the engine of them. */
void stand_begin_resources(uint32_t fakes);
void stand_begin_catalog(void);

/* Answers a call, or says something without one (`kind` TR_KIND_TELL). */
void stand_answer(const struct outside_message *call, const struct tr_schema *schema,
                  const void *body);
void stand_say(uint16_t service, const struct tr_schema *schema, const void *body);
void stand_say_to(struct tr_ref task, uint16_t service, const struct tr_schema *schema,
                  const void *body);

/* Lets the boss say node_abort to the task begun last, or to one of several. */
void stand_abort(uint8_t phase, bool is_hard);
void stand_abort_one(struct tr_ref task);

/* Lets the boss say node_pause to the task begun last. */
void stand_pause(bool is_paused);

/* Ends a task without a word, as nothing in the engine does. */
void stand_kill(struct tr_ref task);

/* The task begun last. */
struct tr_ref stand_child(void);

/* Shows each message that has left and was not shown yet to `serve`, which may answer. */
typedef void stand_service(const struct outside_message *message);
void stand_serve(stand_service *serve);

/* Lets things happen, with a service, until nothing happens any more. */
void stand_run(stand_service *serve);

/*
 * Runs a task to its end with a crash after `turns` turns of the stage; false: it had ended before.
 * Timers within `milliseconds` behind that come due.
 */
bool stand_run_with_crash(const struct stand_start *start, stand_service *serve, uint32_t turns,
                          uint64_t milliseconds);

/* How often the boss has heard an end, by its own state, which no crash lies about. */
uint32_t stand_ends(void);

/* The outputs that the boss heard, as JSON: a list of values. */
const char *stand_outputs(void);

#endif
