/*
 * From Flyte's graphs to the language's: futures.pb becomes the document that a dynamic task may
 * write itself (examples/README.md), and a package a definition, which the compiler then judges.
 * flyte_graph.c has nodes and workflows, flyte_graph_task.c tasks, flyte_graph_bind.c values and
 * conditions, flyte_graph_field.c types of fields, flyte_package.c packages with their launch
 * plans.
 *
 * Everything is built as trees in one arena: NULL where memory ended or the report says why. Only
 * these files include this.
 */
#ifndef TR_ACTORS_GRAPH_FLYTE_FLYTE_GRAPH_H
#define TR_ACTORS_GRAPH_FLYTE_FLYTE_GRAPH_H

#include <flyteidl/admin_launch_plan.pb-c.h>
#include <flyteidl/dynamic_job.pb-c.h>

#include "actors/graph/flyte/flyte_inside.h"

/* Inputs of a workflow are outputs of its start node in Flyte. */
#define TRI_FLYTE_START_NODE "start-node"

struct tri_flyte_entity;

/* A graph of Flyte's while its document is being made. */
struct tri_flyte_graph {
    struct tr_arena *arena;
    struct tr_report *report;
    struct tr_types types;
    /* What it brings along; of a package each by its id once. */
    Flyteidl__Core__TaskTemplate **tasks;
    size_t task_count;
    Flyteidl__Core__WorkflowTemplate **workflows;
    size_t workflow_count;
    Flyteidl__Admin__LaunchPlan **plans;
    size_t plan_count;
    const struct tr_flyte_package *package; /* NULL: it is futures.pb */
    struct tr_flyte_files *files;           /* of literals that lie in some; NULL: refused */
    struct tri_vector signatures;           /* struct tri_flyte_signed, of tasks that are cached */
    const struct tri_flyte_entity *applied; /* those that came with other packages */
    size_t applied_count;
    uint32_t depth; /* distinguishes names in futures.pb from those of graphs around it */
    /* The nodes of the workflow that is being written: references are looked up among them. */
    Flyteidl__Core__Node **nodes;
    size_t node_count;
    const Flyteidl__Core__VariableMap *inputs; /* of that workflow; NULL: not known */
    bool is_interruptible; /* that workflow's nodes are, unless they or their tasks say otherwise */
    bool is_handler;       /* what is written is a failure node */
    struct tri_vector
        maps; /* struct tri_flyte_mapped: map tasks, which were made before all nodes */
};

/* A map task, and the inputs that it hands on whole, names between commas. */
struct tri_flyte_mapped {
    const Flyteidl__Core__TaskTemplate *task;
    const char *whole;
};

/* What stands for a task's interface in keys of the cache, as it came. */
struct tri_flyte_signed {
    const Flyteidl__Core__TaskTemplate *task;
    struct tr_text signature;
};

/* A mapping that is being built. It has failed when a value was NULL: the report says why. */
struct tri_flyte_fields {
    struct tri_vector pairs;
    bool has_failed;
};

/* Adds a value under a key. */
void tri_flyte_put(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields, const char *key,
                   struct tr_tree *value);
void tri_flyte_put_text(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                        const char *key, const char *value);
void tri_flyte_put_count(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                         const char *key, uint64_t value);
void tri_flyte_put_bool(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                        const char *key, bool value);
void tri_flyte_put_duration(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                            const char *key, const Google__Protobuf__Duration *value);

/*
 * Adds something under a name, or null for what could not be made, which was told: all else is
 * judged beside it.
 */
void tri_flyte_put_or_told(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                           const char *key, struct tr_tree *value);

/* The same under the name of an id. */
void tri_flyte_put_named(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                         const Flyteidl__Core__Identifier *id, struct tr_tree *value);

/* The mapping; NULL when a value failed. */
struct tr_tree *tri_flyte_fields_tree(struct tri_flyte_graph *graph,
                                      const struct tri_flyte_fields *fields);

/* A list of trees; NULL when one of them is. */
struct tr_tree *tri_flyte_list(struct tri_flyte_graph *graph, struct tr_tree **items, size_t count);

/* Whether two ids name the same. */
bool tri_flyte_is_same(const Flyteidl__Core__Identifier *a, const Flyteidl__Core__Identifier *b);

/* The name in the document of what an id names. */
struct tr_text tri_flyte_name_of(struct tri_flyte_graph *graph,
                                 const Flyteidl__Core__Identifier *id);

/* A workflow; `defaults` are those of its inputs, or NULL. */
struct tr_tree *tri_flyte_workflow(struct tri_flyte_graph *graph,
                                   const Flyteidl__Core__WorkflowTemplate *workflow,
                                   const Flyteidl__Core__ParameterMap *defaults);

/* Says what is wrong with what is told of now, with Flyte's code for it: NULL. */
struct tr_tree *tri_flyte_missing(struct tri_flyte_graph *graph, const char *code,
                                  const char *words);

/*
 * Begins to tell of a part of what is told of now, "inputs." or "" and its name; gives back what
 * was told of before, for tri_report_subject.
 */
struct tr_text tri_flyte_begin(struct tri_flyte_graph *graph, const char *part, const char *name);

/* Says what is wrong about something by its name: NULL. */
struct tr_tree *tri_flyte_wrong(struct tri_flyte_graph *graph, const char *name, const char *words);

/* ------------------------------------------------------------------ flyte_graph_bind.c */

/* What a node's inputs are bound to, by name; those of a branch are its conditions' matter. */
struct tr_tree *tri_flyte_bindings(struct tri_flyte_graph *graph, const Flyteidl__Core__Node *node);
struct tr_tree *tri_flyte_binding(struct tri_flyte_graph *graph,
                                  const Flyteidl__Core__BindingData *binding);

/*
 * A string as the language writes it where references may stand: `{$` is escaped and, with
 * `has_lead`, a dollar sign at the beginning.
 */
struct tr_text tri_flyte_escape(struct tr_arena *arena, struct tr_text text, bool has_lead);

/* A condition as text; `node` is the branch, whose inputs its variables are. */
struct tr_tree *tri_flyte_condition(struct tri_flyte_graph *graph, const Flyteidl__Core__Node *node,
                                    const Flyteidl__Core__BooleanExpression *condition);

/* ------------------------------------------------------------------ flyte_pod.c */

/*
 * Puts the primary container of a task's pod, if it has one, in the pod's place. False: the pod has
 * no such container, or memory ended.
 */
bool tri_flyte_unfold_pod(struct tri_flyte_graph *graph, Flyteidl__Core__TaskTemplate *task);

/* ------------------------------------------------------------------ flyte_copilot.c */

/* The most words that a raw container with folders of data has before its own. */
#define TRI_FLYTE_COPILOT_WORDS 16

/*
 * Writes the words that lay out the folders of a raw container's data and run what follows them;
 * returns how many.
 */
size_t tri_flyte_copilot(struct tri_flyte_graph *graph, const Flyteidl__Core__TaskTemplate *task,
                         struct tr_tree **words);

/* ------------------------------------------------------------------ flyte_graph_field.c */

/* The task of an id among what the graph brings along, or NULL. */
const Flyteidl__Core__TaskTemplate *tri_flyte_find_task(const struct tri_flyte_graph *graph,
                                                        const Flyteidl__Core__Identifier *id);

/* The type of an input of what a node runs, of each element where it is a map; NULL: not known. */
const Flyteidl__Core__LiteralType *tri_flyte_input_type(const struct tri_flyte_graph *graph,
                                                        const Flyteidl__Core__Node *node,
                                                        const char *name);

/* The type of what a reference leads to; NULL: not known, or no such field, which is told. */
const Flyteidl__Core__LiteralType *tri_flyte_field_type(
    struct tri_flyte_graph *graph, const Flyteidl__Core__OutputReference *promise);

/*
 * Tells it when a reference into a value does not fit the input that it is bound to, or a table has
 * other columns.
 */
void tri_flyte_check_field(struct tri_flyte_graph *graph,
                           const Flyteidl__Core__OutputReference *promise, const char *input,
                           const Flyteidl__Core__LiteralType *expected);

/* ------------------------------------------------------------------ flyte_graph_task.c */

/* A type as the language writes it. */
struct tr_tree *tri_flyte_type(struct tri_flyte_graph *graph,
                               const Flyteidl__Core__LiteralType *type);

/* A value as the tree of its JSON. */
struct tr_tree *tri_flyte_value(struct tri_flyte_graph *graph,
                                const Flyteidl__Core__LiteralType *type,
                                const Flyteidl__Core__Literal *value);

/* The variable PATH of a task of the package; empty: the engine's. */
struct tr_text tri_flyte_path(const struct tr_flyte_package *package,
                              const Flyteidl__Core__TaskTemplate *task);

/* Whether a task has flytekit's settings for serializing a graph. */
bool tri_flyte_serializes(const Flyteidl__Core__TaskTemplate *task);

/*
 * Whether a map task hands an input on whole. SDKs before flytekit 1.14 say so in its arguments
 * alone, and not at the node.
 */
bool tri_flyte_is_whole(const struct tri_flyte_graph *graph, const Flyteidl__Core__Identifier *task,
                        const char *input);

/* A cache of a task, whose inputs that are to be ignored `metadata` names. */
struct tr_tree *tri_flyte_cache(struct tri_flyte_graph *graph,
                                const Flyteidl__Core__TaskTemplate *task, const char *version,
                                bool is_serialized);

/* A task; and its settings that nodes have, too. */
struct tr_tree *tri_flyte_task(struct tri_flyte_graph *graph,
                               const Flyteidl__Core__TaskTemplate *task);
void tri_flyte_put_resources(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                             const Flyteidl__Core__Resources *resources);

/*
 * Variables by their names, with their types and, but for NULL, their defaults. What is wrong is
 * told of the part "inputs." or "outputs.".
 */
struct tr_tree *tri_flyte_variables(struct tri_flyte_graph *graph, const char *part,
                                    const Flyteidl__Core__VariableMap *variables,
                                    const Flyteidl__Core__ParameterMap *defaults);

#endif
