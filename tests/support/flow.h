/*
 * A stage for workflows: launcher and workflow as they are, a graph compiled from a text, a store
 * that is a model, and fake actors in place of tasks and arrays, which end as the test says.
 *
 *     struct flow *flow = flow_new(text);
 *     flow_run(flow, "main", "[]", "one");
 *     assert_int_equal(flow_phase(flow, "one"), TR_EXECUTION_SUCCEEDED);
 *     assert_string_equal(flow_outputs(flow, "one"), "{\"sum\":3}");
 *     flow_free(flow);
 *
 * A fake actor does what `script` answers; without one it succeeds with outputs that are made from
 * its inputs: the numbers in them, summed up. What happened is read from the history in the store,
 * so it is what was committed. `flow_crash` forgets all else and goes on from there.
 */
#ifndef TR_TESTS_SUPPORT_FLOW_H
#define TR_TESTS_SUPPORT_FLOW_H

#include "actors/engine.h"
#include "actors/graph/compiler/compile.h"
#include "runtime/services/service.h"
#include "schemas/engine/history.h"
#include "tests/sim/model_store.h"
#include "tests/support/stage.h"

/* What a fake actor stands for: views that live until the script has returned. */
struct flow_task {
    const struct tr_graph *graph;
    const struct tr_node *node;
    const struct tr_node_start *start;
    uint64_t number; /* the sum of all numbers in its inputs */
};

/* How it ends; zeros succeed at once. */
struct flow_answer {
    uint8_t phase;     /* of a node; 0: succeeded */
    uint64_t delay_ms; /* before it ends */
    bool is_deaf;      /* to aborts */
    const char *code;
    const char *message;
    struct tr_bytes outputs; /* packed slots; empty: made from the number */
};

/* A script that is a table: `self` is an array of rows, ended by one without a path. */
struct flow_rule {
    const char *path;
    struct flow_answer answer;
};

/*
 * What an earlier execution says of a node: enum tr_recovery_way, and what goes with it in `slots`,
 * as schemas/engine/recovery.h has it; nothing stands for nil.
 */
typedef uint8_t flow_recall(void *self, struct tr_text path, bool is_again,
                            struct tr_buffer *slots);

typedef void flow_script(void *self, const struct flow_task *task, struct flow_answer *answer);

struct flow {
    struct stage stage;
    struct tr_engine *engine;
    struct tr_graph *graph;
    struct tri_model *model; /* NULL: nothing is recorded */
    struct tri_store *store;
    struct tr_ref launcher;
    struct tr_ref client;
    uint64_t graph_number;
    uint32_t worker_count;
    bool has_arrays; /* no fake actors in their place */
    flow_script *script;
    void *self;

    struct tri_service files;
    struct tr_graph *stored;   /* what graph_read finds, which takes it; NULL: nothing */
    struct tr_bytes elsewhere; /* the literal that lies at any URI; empty: there is none */

    /* Of an execution that recovers another one: what that says, and how often it was asked. */
    flow_recall *recall;   /* NULL: executions recover none */
    uint32_t asked;        /* questions */
    uint32_t asked_nodes;  /* in all of them */
    uint32_t answered_max; /* nodes in one answer; 0: all */
    uint32_t refusals;     /* so many questions come to nothing, */
    int refusal;           /* with this error */

    /* What came of the last launch. */
    int launch_error;
    struct tr_ref execution;
    uint64_t held; /* what the launcher last said about graphs (graph_held) */
    uint64_t held_graphs;
    uint64_t lacking;
    bool is_answered;

    /* The allocation within workflows' handlers that fails, counted from 1; 0: none. */
    uint64_t fail_at;
    uint64_t allocations;

    /* What was seen of the fake actors, crashes included. */
    uint32_t alive;
    uint32_t alive_max;
    uint32_t begun;
    uint32_t ended;
    uint32_t aborted;
    uint32_t hard;
    uint32_t paused; /* how many were told of a pause, and of its end */
    uint32_t resumed;

    struct tr_buffer text; /* what the last question was answered with */
};

/* Everything, and a launcher; the definition has to be right. */
struct flow *flow_new(const char *definition);

/* The same with so many workers; and without a store, for graphs that are large. */
struct flow *flow_new_wide(const char *definition, uint32_t worker_count);
struct flow *flow_new_unrecorded(const char *definition);

/* The same with the engine's own arrays, and without a store for large ones. */
struct flow *flow_new_arrays(const char *definition);
struct flow *flow_new_arrays_unrecorded(const char *definition);

/* Ends it and insists that all memory is back. */
void flow_free(struct flow *flow);

/* Lets fake actors end by a table of their paths. */
void flow_obey(struct flow *flow, const struct flow_rule *rules);

/* Asks the launcher for an execution; inputs are a JSON list in the order of the interface. */
void flow_launch(struct flow *flow, const char *workflow, const char *inputs, const char *name);

/* The same with any request, as it stands. */
void flow_ask(struct flow *flow, const struct tr_launch *request);

/* The same without waiting for the answer; the request has to stay until it is there. */
void flow_ask_on(struct flow *flow, const struct tr_launch *request);

/* Lets so much time pass, step by step, and the files service answer. */
void flow_advance(struct flow *flow, uint64_t milliseconds);

/* Asks the launcher to hold a graph, or all: how many executions it holds it for. */
#define FLOW_ALL_GRAPHS UINT64_MAX
uint64_t flow_hold(struct flow *flow, uint64_t graph);

/* Launches, and lets time pass until everything has ended (or for an hour). */
void flow_run(struct flow *flow, const char *workflow, const char *inputs, const char *name);

/* Lets time pass until nothing lives but the launcher and this stage's client. */
void flow_finish(struct flow *flow);

/* Whether nothing else lives. */
bool flow_is_idle(struct flow *flow);

/* Ends an execution from above. */
void flow_abort(struct flow *flow, struct tr_ref execution, const char *cause, bool is_hard);

/*
 * Answers the gates of the execution launched last: all of an id, or the one of a path. `value` is
 * packed. How many waited; -1 when the answer was refused, or the execution has gone.
 */
int64_t flow_send(struct flow *flow, const char *id, const char *path, struct tr_bytes value);

/* The same with a verdict or a whole number below 128. */
int64_t flow_send_bool(struct flow *flow, const char *id, const char *path, bool value);
int64_t flow_send_int(struct flow *flow, const char *id, const char *path, uint8_t value);

/* Pauses the execution launched last, or lets it go on. */
void flow_pause(struct flow *flow, bool is_paused);

/* The power fails: what was not committed is forgotten, and the engine starts again. */
void flow_crash(struct flow *flow);

/* Whether an execution is recorded, and how it stands. Views live until the store changes. */
bool flow_execution(struct flow *flow, const char *name, struct tr_execution *row);
uint8_t flow_phase(struct flow *flow, const char *name);

/* A node's phase by its path in the last execution of this name; 0 where it never began. */
uint8_t flow_node_phase(struct flow *flow, const char *name, const char *path);
bool flow_node(struct flow *flow, const char *name, const char *path, struct tr_node_status *row);

/* The outputs of an execution as a JSON object, "none" where none are recorded. */
const char *flow_outputs(struct flow *flow, const char *name);

/* The same of a node, by the types of an interface's variables, and of its inputs. */
const char *flow_values(struct flow *flow, const char *name, const char *path,
                        enum tr_value_side side, const struct tr_variables *variables);

/* Slots as a JSON object; one that lies elsewhere is its URI in angles. */
void flow_print(const struct tr_variables *variables, struct tr_bytes slots,
                struct tr_buffer *text);

/* "code: message" of an execution's error, and the path of the node that failed behind it. */
const char *flow_error(struct flow *flow, const char *name);

/* The phases that something went through, in words, "running, succeeded". */
const char *flow_history(struct flow *flow, const char *name, const char *path);

/* The outputs that a fake actor makes from its inputs: packed slots. */
void flow_make_outputs(const struct flow_task *task, struct tr_buffer *buffer);

/* The entries of a map's elements, block by block, as they are recorded. */
const char *flow_elements(struct flow *flow, const char *name, const char *path);

/* The sum of the numbers in a packed value; and a value of a type made from a number. */
uint64_t flow_sum(struct tr_bytes value);
void flow_make(const struct tr_type *type, uint64_t number, struct tr_buffer *buffer);

#endif
