/*
 * The compiled form of a definition: one immutable graph that executions share, made to be walked
 * by index. Nothing in it is looked up by name while work runs, nothing allocates, and a
 * holder may read it from any thread.
 *
 * It follows the Flyte IDL (CompiledWorkflowClosure): tasks, workflows, launch plans, nodes,
 * bindings, conditions and types mean what they mean there, so that closures compile to it too.
 * A graph holds a whole definition, with what it includes, and is named by the SHA-256 of its
 * packed form (graph_pack.c).
 *
 *     for (uint32_t i = 0; i < workflow->order_count; i++) {
 *         const struct tr_node *node = &workflow->nodes[workflow->order[i]];
 *         for (uint32_t k = 0; k < node->upstream_count; k++) {
 *             wait_for(workflow->upstream[node->upstream_first + k]);
 *         }
 *     }
 *
 * Durations are nanoseconds; 0 means there is no bound unless a field says otherwise.
 */
#ifndef TR_ACTORS_GRAPH_COMPILED_GRAPH_H
#define TR_ACTORS_GRAPH_COMPILED_GRAPH_H

#include "actors/graph/value/literal.h"
#include "schemas/engine/flow.h"
#include "schemas/engine/notify.h"
#include "schemas/engine/plugin.h"

/* Where an index would stand and there is none. */
#define TR_GRAPH_NONE UINT32_MAX

/* The bytes of a graph's name. */
#define TR_GRAPH_HASH_BYTES 32

/*
 * Where something was written, for messages. It is not packed: of a graph that was unpacked nobody
 * knows, and `file` is empty.
 */
struct tr_origin {
    struct tr_text file; /* as messages show it */
    uint32_t line;
    uint32_t column;
};

/* One input or output of a task, a workflow or a node. */
struct tr_variable {
    struct tr_text name;
    struct tr_text description;
    const struct tr_type *type;
    bool has_default;              /* an input that may be left out */
    struct tr_bytes default_value; /* the value it has then, packed by its type */
};

/* Variables in the order they are declared, and their positions in the order of their names. */
struct tr_variables {
    const struct tr_variable *items;
    const uint32_t *by_name;
    uint32_t count;
};

/* flyteidl.core.TypedInterface. An input whose type can be none has the default none. */
struct tr_interface {
    struct tr_variables inputs;
    struct tr_variables outputs;
};

/* Waits between retries: first, first * factor, ... up to max, with jitter. */
struct tr_backoff {
    int64_t first_ns; /* 0: retries begin at once */
    int64_t max_ns;   /* 0: no bound */
    double factor;
};

struct tr_cache {
    struct tr_text version;   /* empty: not cached */
    struct tr_text signature; /* of a task of Flyte's: hashes of its interface, IN-OUT */
    bool is_serialized;       /* equal work waits for the one that runs */
    const uint32_t *ignored;  /* inputs that the key leaves out, ascending */
    uint32_t ignored_count;
};

/* How a task is run: its own command, with what a node overrides merged in. */
struct tr_settings {
    uint32_t retries;               /* of user failures; system failures have their own budget */
    const struct tr_text *retry_on; /* which of them, by their codes; none: all (retry_codes.h) */
    uint32_t retry_on_count;
    const struct tr_text *never_retry_on; /* which not, whatever `retry_on` says */
    uint32_t never_retry_on_count;
    struct tr_backoff backoff;
    int64_t timeout_ns; /* of one attempt */
    int64_t grace_ns;   /* between SIGTERM and SIGKILL; TR_GRACE_NS unless it is given */
    struct tr_cache cache;
    bool is_interruptible;
    struct tr_resources resources;
    uint32_t pool; /* or TR_GRAPH_NONE */
    const struct tr_environment *environment;
    uint32_t environment_count;
    const struct tr_secret *secrets;
    uint32_t secret_count;
    struct tr_bytes config; /* the plugin's own, a packed struct; empty: none */
    struct tr_software software;
    struct tr_origin config_origin;
};

#define TR_GRACE_NS 10000000000LL

/* flyteidl.core.TaskTemplate. */
struct tr_task {
    struct tr_text name;
    struct tr_text description;
    struct tr_text type;   /* "process" and whatever plugins are there for */
    struct tr_text folder; /* of the file that declares it, for `./` in argv and TROUPE_FOLDER */
    const struct tr_text *argv; /* the command as it is written */
    uint32_t argc;
    bool is_stdin_inputs;   /* inputs come through stdin */
    bool is_stdout_outputs; /* outputs are what it writes to stdout */
    struct tr_interface interface;
    struct tr_settings settings;
    struct tr_origin origin; /* of its type, or of its name */
    /*
     * What a task of Flyte's says beside that, for its plugin: a flyteidl.core.TaskTemplate as
     * JSON, a packed map; empty: nothing.
     */
    struct tr_bytes extra;
};

/* Where a value of an input comes from: flyteidl.core.BindingData. */
enum tr_binding_kind {
    TR_BINDING_LITERAL,   /* `literal` */
    TR_BINDING_REFERENCE, /* `steps` into output `output` of node `node` */
    TR_BINDING_LIST,      /* `count` parts from `first` on */
    TR_BINDING_MAP,       /* the same, each under its `key` */
    TR_BINDING_ERROR,     /* `steps` into the workflow's error, in on_failure and finally */
    TR_BINDING_TEXT,      /* `count` parts from `first` on as one text (literal.h) */
};

struct tr_binding {
    uint8_t kind;               /* enum tr_binding_kind */
    bool is_mapped;             /* of a map: each element gets its own */
    struct tr_text key;         /* the name of the input, output or key it is for */
    const struct tr_type *type; /* of the place; NULL: known at run time only */
    /*
     * What comes out of the reference, or what a list, a map or a text is put together as. Where it
     * is another than `type`, tr_literal_cast makes one of the other. NULL: known at run time only.
     */
    const struct tr_type *source;
    struct tr_bytes literal; /* packed by `type`, or a slot that says where it lies (slot.h) */
    uint32_t node;           /* the workflow's inputs are the outputs of node 0 */
    uint32_t output;
    uint32_t first; /* parts: in the workflow's bindings; steps: in its steps */
    uint32_t count;
};

/* Whether `first` and `count` of a binding are parts that it is put together of. */
static inline bool tr_binding_has_parts(const struct tr_binding *binding)
{
    return binding->kind == TR_BINDING_LIST || binding->kind == TR_BINDING_MAP ||
           binding->kind == TR_BINDING_TEXT;
}

/* One part of a condition: flyteidl.core.BooleanExpression, with `not` beside it. */
enum tr_condition_kind {
    TR_CONDITION_AND,
    TR_CONDITION_OR,
    TR_CONDITION_NOT, /* `left` only */
    TR_CONDITION_EQUAL,
    TR_CONDITION_NOT_EQUAL,
    TR_CONDITION_LESS,
    TR_CONDITION_LESS_EQUAL,
    TR_CONDITION_GREATER,
    TR_CONDITION_GREATER_EQUAL,
    TR_CONDITION_INPUT,   /* the value of input `input` of the branch node */
    TR_CONDITION_LITERAL, /* `literal`, of type `type` */
};

struct tr_condition {
    uint8_t kind;  /* enum tr_condition_kind */
    uint32_t left; /* in the workflow's conditions, smaller than its own position */
    uint32_t right;
    uint32_t input;
    const struct tr_type *type;
    struct tr_bytes literal;
};

/* What a branch does: flyteidl.core.IfBlock, `else` being an arm without a condition. */
enum tr_arm_kind {
    TR_ARM_NODE, /* runs `node` */
    TR_ARM_SKIP, /* succeeds with outputs that are none */
    TR_ARM_FAIL, /* fails with `message` */
};

struct tr_arm {
    uint8_t kind;             /* enum tr_arm_kind */
    uint32_t condition;       /* the root, in the workflow's conditions; TR_GRAPH_NONE: else */
    uint32_t condition_first; /* all parts of it are from here to the root */
    uint32_t node;
    struct tr_text message;
    uint32_t message_input; /* the input of the branch that is the message; or TR_GRAPH_NONE */
    /* For each output of the branch, its position in the outputs of `node`. */
    const uint32_t *outputs;
    uint32_t output_count;
};

enum tr_node_kind {
    TR_NODE_START, /* node 0: its outputs are the workflow's inputs */
    TR_NODE_END,   /* its inputs are the workflow's outputs */
    TR_NODE_TASK,
    TR_NODE_WORKFLOW, /* runs inside this execution */
    TR_NODE_LAUNCH,   /* is an execution of its own */
    TR_NODE_DYNAMIC,  /* a task that writes the graph to run next */
    TR_NODE_MAP,      /* `target` once for each element */
    TR_NODE_BRANCH,
    TR_NODE_APPROVE,
    TR_NODE_SIGNAL,
    TR_NODE_SLEEP,
};

/* What `target` counts in. */
enum tr_target_kind {
    TR_TARGET_NONE,
    TR_TARGET_TASK,
    TR_TARGET_WORKFLOW, /* of launch: the workflow itself, without a plan */
    TR_TARGET_PLAN,
};

/* Which part of a workflow a node belongs to. */
enum tr_node_role {
    TR_ROLE_GRAPH,
    TR_ROLE_ON_FAILURE,
    TR_ROLE_FINALLY,
};

/* flyteidl.core.Node. */
struct tr_node {
    struct tr_text id;
    struct tr_text name; /* what people see; the id unless one is given */
    uint8_t kind;        /* enum tr_node_kind */
    uint8_t target_kind; /* enum tr_target_kind */
    uint8_t role;        /* enum tr_node_role */
    bool is_optional;    /* its failure is recorded, and what follows goes on with none */
    uint32_t target;     /* task, workflow or launch plan */
    uint32_t parent;     /* of an arm's node: its branch; TR_GRAPH_NONE */

    /*
     * The bindings of its inputs: one for each input of the target, in its order; for a branch
     * the values its conditions ask for; for a gate what `with` holds.
     */
    uint32_t input_first;
    uint32_t input_count;
    struct tr_variables outputs;

    /* What it waits for, and what waits for it; an arm's node waits for its branch, too. */
    uint32_t upstream_first;
    uint32_t upstream_count;
    uint32_t downstream_first;
    uint32_t downstream_count;

    /* TASK, DYNAMIC and MAP over a task: the task's settings with this node's overrides. */
    const struct tr_settings *settings;
    int64_t deadline_ns; /* bounds all attempts and waits together */

    /* MAP */
    uint32_t parallelism;     /* elements at once; 0: no bound */
    uint32_t min_successes;   /* 0: by the ratio */
    double min_success_ratio; /* of the elements, rounded up */
    uint32_t errors_output;   /* the output that lists errors, or TR_GRAPH_NONE */
    bool runs_all;            /* all elements run, also when too few are left to succeed */

    /* BRANCH: its arms, in the workflow's arms, tried in their order */
    uint32_t arm_first;
    uint32_t arm_count;

    /* APPROVE, SIGNAL: what people answer; of a signal's value the type, without optional's none */
    struct tr_text signal_id;
    const struct tr_type *signal_type;

    int64_t sleep_ns; /* SLEEP */

    /*
     * What its definition says beside that nobody acts on: of Flyte's, overrides, configuration and
     * the like, a flyteidl.core.Node as JSON, a packed map; empty: nothing.
     */
    struct tr_bytes extra;
};

/*
 * Who is told when an execution goes to a phase. `target` is packed as schemas/engine/notify.h has
 * it, with templates (enum tr_notify_name of value/template.h).
 */
struct tr_notification {
    uint32_t phases; /* bit n: enum tr_notify_phase n */
    uint8_t kind;    /* enum tr_notify_kind */
    struct tr_bytes target;
    struct tr_text folder; /* of the file that declares it, for `./` in a command */
    uint32_t retries;
    struct tr_backoff backoff;
    int64_t timeout_ns; /* of one attempt */
};

enum tr_failure_policy {
    TR_POLICY_FAIL_IMMEDIATELY,
    TR_POLICY_FINISH_RUNNABLE,
};

/* flyteidl.core.WorkflowTemplate with its connections. */
struct tr_workflow {
    struct tr_text name;
    struct tr_text description;
    struct tr_text folder; /* of the file that declares it */
    struct tr_interface interface;
    struct tr_node *nodes;
    uint32_t node_count;
    uint32_t end; /* the end node's position */

    /* All of the graph's nodes, each behind what it waits for; arms follow their branch. */
    const uint32_t *order;
    uint32_t order_count;

    const uint32_t *upstream;
    uint32_t upstream_count;
    const uint32_t *downstream;
    uint32_t downstream_count;
    struct tr_binding *bindings;
    uint32_t binding_count;
    struct tr_step *steps;
    uint32_t step_count;
    struct tr_arm *arms;
    uint32_t arm_count;
    struct tr_condition *conditions;
    uint32_t condition_count;

    uint32_t on_failure;      /* a node, or TR_GRAPH_NONE */
    uint32_t finally;         /* a node, or TR_GRAPH_NONE */
    uint8_t policy;           /* enum tr_failure_policy */
    uint32_t max_parallelism; /* nodes running at once; 0: no bound */
    int64_t timeout_ns;
    uint32_t nesting;      /* workflows inside it, one in the other; 1: none */
    struct tr_text labels; /* of its executions (actors/graph/document/labels.h) */
    const struct tr_notification *notifications; /* of its executions */
    uint32_t notification_count;
    struct tr_bytes extra; /* as a task's: a flyteidl.core.WorkflowTemplate */
};

/* A value that a launch plan gives for an input of its workflow. */
struct tr_plan_value {
    uint32_t input;
    bool is_fixed;         /* may not be overridden */
    struct tr_bytes value; /* or a slot that says where it lies (slot.h) */
};

enum tr_catch_up { TR_CATCH_UP_LAST, TR_CATCH_UP_ALL, TR_CATCH_UP_NONE };
enum tr_overlap { TR_OVERLAP_SKIP, TR_OVERLAP_ALLOW, TR_OVERLAP_REPLACE };

/* The minutes, hours, ... at which it fires, as bits; bit n stands for n. */
struct tr_cron {
    uint64_t minutes;
    uint32_t hours;
    uint32_t days;       /* of the month, from 1 */
    uint16_t months;     /* from 1 */
    uint8_t weekdays;    /* 0 is Sunday */
    bool is_any_day;     /* `days` began with a star: the weekday has to match, too */
    bool is_any_weekday; /* `weekdays` began with a star: the day has to match, too */
};

/* The longest offset of a schedule: a year. */
#define TR_SCHEDULE_OFFSET_NS_MAX (366LL * 86400 * 1000000000)

struct tr_schedule {
    bool is_set;
    int64_t every_ns;  /* 0: by `cron` */
    int64_t offset_ns; /* it fires so much later than these say */
    struct tr_cron cron;
    struct tr_text cron_text;
    struct tr_text timezone; /* an IANA name */
    uint8_t catch_up;        /* enum tr_catch_up */
    uint8_t overlap;         /* enum tr_overlap */
    uint32_t kickoff_input;  /* gets the scheduled time; TR_GRAPH_NONE */
};

/*
 * What a launch plan says of how its executions run: of all tasks in them variables, which win over
 * their own, where they leave what they make beside their outputs, and whether they may be
 * interrupted; and of the executions themselves.
 */
struct tr_run_settings {
    const struct tr_environment *environment;
    uint32_t environment_count;
    struct tr_text raw_output_prefix; /* empty: each task's own folder */
    uint8_t interruptible;            /* enum tr_choice */
    bool refreshes_cache;             /* as `--cache refresh` does */
    uint32_t max_parallelism;         /* nodes of its workflow at once; 0: as that says */
    uint32_t executions_max;          /* that run at once, others are refused; 0: no bound */
};

struct tr_plan {
    struct tr_text name;
    struct tr_text description;
    uint32_t workflow;
    const struct tr_plan_value *values;
    uint32_t value_count;
    struct tr_schedule schedule;
    /* The workflow's inputs without the fixed ones, with the plan's defaults. */
    struct tr_variables inputs;
    struct tr_text labels; /* of its executions, beside the workflow's, over which they win */
    const struct tr_notification *notifications; /* of its executions, behind the workflow's */
    uint32_t notification_count;
    struct tr_run_settings run;
    struct tr_bytes extra; /* as a task's: a flyteidl.admin.LaunchPlanSpec */
};

/* A bound over all executions of a store. */
struct tr_pool {
    struct tr_text name;
    uint32_t at_once;  /* 0: no bound */
    double per_second; /* 0: no bound */
};

struct tr_graph {
    struct tr_text project;
    struct tr_text domain;
    const struct tr_type **types;
    uint32_t type_count;
    struct tr_task *tasks;
    uint32_t task_count;
    struct tr_workflow *workflows;
    uint32_t workflow_count;
    struct tr_plan *plans;
    uint32_t plan_count;
    struct tr_pool *pools;
    uint32_t pool_count;
    /* What to run where nobody names it: the only workflow, `main`, or the one like the file. */
    uint32_t main_workflow;

    uint8_t hash[TR_GRAPH_HASH_BYTES];

    /* private */
    struct tr_arena arena;
};

/* Gives a graph back; NULL is fine. */
void tr_graph_free(struct tr_graph *graph);

/* The position of a variable, task, workflow or launch plan by its name, or TR_GRAPH_NONE. */
uint32_t tr_variables_find(const struct tr_variables *variables, struct tr_text name);
uint32_t tr_graph_find_task(const struct tr_graph *graph, struct tr_text name);
uint32_t tr_graph_find_workflow(const struct tr_graph *graph, struct tr_text name);
uint32_t tr_graph_find_plan(const struct tr_graph *graph, struct tr_text name);

/* The positions of variables in the order of their names, in the arena. NULL without memory. */
const uint32_t *tri_variables_sort(struct tr_arena *arena, const struct tr_variable *items,
                                   uint32_t count);

/* The name of what a node runs; of a gate the id that it waits for. "" where it has neither. */
struct tr_text tr_node_target_name(const struct tr_graph *graph, const struct tr_node *node);

/*
 * Appends what a place is bound to as the language writes it, on one line; the same of a reference
 * or the workflow's error.
 */
void tr_binding_print(const struct tr_workflow *workflow, const struct tr_binding *binding,
                      struct tr_buffer *buffer);
void tr_reference_print(const struct tr_workflow *workflow, const struct tr_binding *binding,
                        struct tr_buffer *buffer);

/*
 * Evaluates a condition of a branch: `inputs` are the values of the branch's inputs, packed by
 * the `source` types of their bindings, and empty where a field or an element is not there.
 * `and` and `or` stop early. TR_NOT_FOUND when such an input is asked for, TR_INVALID when values
 * that are known at run time only cannot be compared.
 */
TR_MUST_USE int tr_condition_evaluate(const struct tr_workflow *workflow,
                                      const struct tr_node *branch, uint32_t condition,
                                      const struct tr_bytes *inputs, bool *result);

#endif
