/*
 * What the files of this room share: entities of Flyte's on their way into a definition.
 *
 * Messages live in the definition's scratch arena, and some are changed on the way. What goes into
 * the definition for good is copied into its own arena. Functions that may tell of an error return
 * false where they did, or memory ended; all else is looked at all the same, so that all errors are
 * told at once, each with the entity, the node and the field that it is about (tri_import_begin).
 */
#ifndef TR_ACTORS_GRAPH_IMPORT_IMPORT_INSIDE_H
#define TR_ACTORS_GRAPH_IMPORT_IMPORT_INSIDE_H

#include "actors/graph/document/limits.h"
#include "actors/graph/flyte/flyte_entity.h"
#include "actors/graph/language/keys.h"

typedef Flyteidl__Core__Identifier flyte_identifier;
typedef Flyteidl__Core__LiteralType flyte_type;
typedef Flyteidl__Core__Node flyte_node;
typedef Flyteidl__Core__TaskTemplate flyte_task;
typedef Flyteidl__Core__WorkflowTemplate flyte_workflow;
typedef Flyteidl__Core__VariableMap flyte_variables;
typedef Flyteidl__Admin__LaunchPlan flyte_plan;

struct tri_import {
    struct tri_definition *definition; /* that is filled in */
    struct tr_arena *arena;            /* its scratch */
    struct tr_report *report;
    struct tr_types types;                  /* of what is judged or told of, and not kept */
    const struct tr_flyte_package *package; /* NULL: it is futures.pb */
    struct tr_flyte_files *files;           /* of literals that lie in some; NULL: refused */
    uint32_t depth; /* distinguishes names in futures.pb from those of graphs around it */

    /* The package of which the definition is, of whose entities names are enough; or nothing. */
    struct tr_text project;
    struct tr_text domain;
    struct tr_text version;
    const struct tr_text *known; /* of futures.pb: names in the graph around it, sorted */
    uint32_t known_count;

    /* What it brings along, in its order; and pointers to that by kind and id. */
    const struct tri_flyte_entity *entities;
    uint32_t entity_count;
    const struct tri_flyte_entity **sorted;

    struct tri_vector signatures; /* struct tri_import_signed, of tasks that are cached */
    struct tri_vector maps;       /* struct tri_import_mapped, made before all nodes */

    const Flyteidl__Core__K8sPod *pod; /* of the task in hand, if it has one */

    /* The workflow in hand. */
    const flyte_node **nodes; /* by their ids, each once; references are looked up among them */
    size_t node_count;
    const flyte_variables *inputs; /* NULL: not known */
    bool is_interruptible;         /* its nodes are, unless they or their tasks say otherwise */
    bool is_handler;               /* its failure node is in hand */
};

/* A map task, and the inputs that it hands on whole, names between commas. */
struct tri_import_mapped {
    const flyte_task *task;
    const char *whole;
};

/* What stands for a task's interface in keys of the cache, as it came. */
struct tri_import_signed {
    const flyte_task *task;
    struct tr_text signature;
};

/* Where something stands: Flyte's documents have no lines. */
#define TRI_IMPORT_NOWHERE ((struct tri_place){0})

/* ------------------------------------------------------------------ import.c, import_package.c */

/* Begins to fill in a definition. */
void tri_import_open(struct tri_import *import, struct tri_definition *definition);

/* Fills in all entities. */
void tri_import_entities(struct tri_import *import);

/* Puts entities in order for tri_import_find. False without memory. */
TR_MUST_USE bool tri_import_sort(struct tri_import *import);

/* The entity of an id; NULL: it is not among them. */
const struct tri_flyte_entity *tri_import_find(const struct tri_import *import,
                                               enum tr_entity_kind kind,
                                               const flyte_identifier *id);

/* Its message of that kind, or NULL. */
const flyte_task *tri_import_find_task(const struct tri_import *import, const flyte_identifier *id);
const flyte_workflow *tri_import_find_workflow(const struct tri_import *import,
                                               const flyte_identifier *id);

/* The name in the definition of what an id names. */
struct tr_text tri_import_name_of(const struct tri_import *import, enum tr_entity_kind kind,
                                  const flyte_identifier *id);

/* Whether an id is one of the package's, or leaves open whose it is. */
bool tri_import_is_own(const struct tri_import *import, const flyte_identifier *id);

/* The name in the definition of what was applied, by the four texts of its id. */
struct tr_text tri_import_applied_name(const struct tri_import *import, const char *project,
                                       const char *domain, const char *name, const char *version);

/* Whether the graph around futures.pb has a name. */
bool tri_import_is_known(const struct tri_import *import, struct tr_text name);

/*
 * Tells of a reference that leads out of the package to what is nowhere: false. References to what
 * the package itself would have the compiler judges.
 */
bool tri_import_check_reference(struct tri_import *import, enum tr_entity_kind kind,
                                const flyte_identifier *id);

/* Says what is wrong with what is told of now, with Flyte's code for it: false. */
bool tri_import_tell(struct tri_import *import, const char *code, const char *words);

/* Whether something could not be read. Nothing of it is used, so there has to be an error. */
bool tri_import_is_told(struct tri_import *import, bool is_fine);

/*
 * Begins to tell of a part of what is told of now, "inputs." or "" and its name; gives back what
 * was told of before, for tri_report_subject.
 */
struct tr_text tri_import_begin(struct tri_import *import, const char *part, const char *name);

/* A text in the definition's arena. */
struct tr_text tri_import_keep(struct tri_import *import, struct tr_text text);

/* Whether a variable of a process may be called so. */
bool tri_import_check_variable_name(struct tri_import *import, const char *name);

/* A name that is there already is told: things begin with their names, as text. */
bool tri_import_check_unique(struct tri_import *import, const void *items, uint32_t count,
                             size_t size, const char *noun);

/* ------------------------------------------------------------------ import_variables.c */

/* A type, in the definition's table. NULL: told. */
const struct tr_type *tri_import_type(struct tri_import *import, const flyte_type *type);

/* A value for a place of a type, as the tree that the definition has of values. NULL: told. */
struct tr_tree *tri_import_value(struct tri_import *import, const struct tr_type *type,
                                 const Flyteidl__Core__Literal *value);

/*
 * Variables in the order of their names, since a map of protobuf's has none; inputs with their
 * defaults, or NULL. What is wrong is told of the part "inputs." or "outputs.".
 */
bool tri_import_inputs(struct tri_import *import, const flyte_variables *variables,
                       const Flyteidl__Core__ParameterMap *defaults, struct tr_variables *inputs,
                       const struct tri_place **places);
bool tri_import_outputs(struct tri_import *import, const flyte_variables *variables,
                        struct tr_variables *outputs);

/* The type of a variable; NULL: there is none. */
const flyte_type *tri_import_find_variable(const flyte_variables *variables, const char *name);

/* ------------------------------------------------------------------ import_settings.c */

/*
 * Settings of a task, or of a node that overrides them: `first`, of a node, becomes the first field
 * that it gives.
 */
struct tri_import_settings {
    struct tri_settings *settings;
    struct tri_name *first; /* NULL: of a task */
};

bool tri_import_retries(struct tri_import *import, const Flyteidl__Core__RetryStrategy *strategy,
                        const struct tri_import_settings *given);
bool tri_import_timeout(struct tri_import *import, const Google__Protobuf__Duration *timeout,
                        const struct tri_import_settings *given);
void tri_import_interruptible(bool is_interruptible, const struct tri_import_settings *given);
bool tri_import_resources(struct tri_import *import, const Flyteidl__Core__Resources *resources,
                          const struct tri_import_settings *given);
/* Another image than the task's, and where its program is found; empty: as the task's. */
bool tri_import_image(struct tri_import *import, const char *image, struct tr_text path,
                      const struct tri_import_settings *given);

/* A cache of a task (NULL: it is not known); without a version there is none. */
bool tri_import_cache(struct tri_import *import, const flyte_task *task, const char *version,
                      bool is_serialized, const struct tri_import_settings *given);

/* A node switches the cache of its task off: true. */
bool tri_import_no_cache(const struct tri_import_settings *given);

/* What stands for a task's interface, made before the task is changed into what runs here. */
struct tr_text tri_import_signature(struct tri_import *import, const flyte_task *task);

/* A duration: 0 for none and for one of zero, which both mean no bound in Flyte. */
bool tri_import_duration(struct tri_import *import, const char *field,
                         const Google__Protobuf__Duration *value, int64_t *nanoseconds);

/* ------------------------------------------------------------------ import_task.c */

void tri_import_task(struct tri_import *import, const struct tri_flyte_entity *entity);

/* The variable PATH of a task of the package; empty: the engine's. */
struct tr_text tri_import_image_path(const struct tr_flyte_package *package, const char *image);
struct tr_text tri_import_path(const struct tr_flyte_package *package, const flyte_task *task);

/* Whether a task has flytekit's settings for serializing a graph. */
bool tri_import_serializes(const flyte_task *task);

/*
 * Whether a map task hands an input on whole. SDKs before flytekit 1.14 say so in its arguments
 * alone, and not at the node.
 */
bool tri_import_is_whole(const struct tri_import *import, const flyte_task *task,
                         const char *input);

/* ------------------------------------------------------------------ import_pod.c */

/*
 * Puts the primary container of a task's pod, if it has one, in the pod's place. False: the pod has
 * no such container, or memory ended.
 */
bool tri_import_unfold_pod(struct tri_import *import, flyte_task *task);

/* ------------------------------------------------------------------ import_copilot.c */

/* The most words that a raw container with folders of data has before its own. */
#define TRI_IMPORT_COPILOT_WORDS 16

/*
 * Writes the words that lay out the folders of a raw container's data and run what follows them;
 * returns how many.
 */
uint32_t tri_import_copilot(struct tri_import *import, const flyte_task *task,
                            struct tr_text *words);

/* ------------------------------------------------------------------ import_workflow.c */

/* A workflow; `defaults` are those of its inputs, or NULL. */
void tri_import_workflow(struct tri_import *import, const struct tri_flyte_entity *entity,
                         const Flyteidl__Core__ParameterMap *defaults);

/* The nodes and the outputs of a workflow whose name and inputs are known. */
bool tri_import_nodes(struct tri_import *import, flyte_node **nodes, size_t count,
                      struct tri_workflow *workflow);
bool tri_import_bound_outputs(struct tri_import *import, const flyte_variables *types,
                              Flyteidl__Core__Binding *const *outputs, size_t count,
                              struct tri_workflow *workflow);

/* The node of an id in the workflow in hand, or NULL. */
const flyte_node *tri_import_find_node(const struct tri_import *import, const char *id);

/* ------------------------------------------------------------------ import_node.c */

/*
 * A node, or with a depth above 0, how many branches it lies in, that of an arm. False: it is told,
 * and nothing of it counts.
 */
bool tri_import_node(struct tri_import *import, const flyte_node *message, struct tri_name id,
                     uint32_t depth, struct tri_node *node);

/* ------------------------------------------------------------------ import_extra.c */

/* What a node says that nobody acts on; NULL: nothing, or memory ended. */
const struct tr_tree *tri_import_extra(struct tri_import *import, const flyte_node *message);

/* The same of entities, packed; empty: nothing. Of a plugin's task it is more. */
struct tr_bytes tri_import_task_extra(struct tri_import *import, const flyte_task *message,
                                      bool is_plugins);
struct tr_bytes tri_import_workflow_extra(struct tri_import *import, const flyte_workflow *message);
struct tr_bytes tri_import_plan_extra(struct tri_import *import, const flyte_plan *message);

/* What is said of an entity for people. */
struct tr_text tri_import_description(struct tri_import *import,
                                      const struct tri_flyte_entity *entity);

/* ------------------------------------------------------------------ import_bind.c */

/* What a node's inputs are bound to, by name; those of a branch are its conditions' matter. */
bool tri_import_bindings(struct tri_import *import, const flyte_node *message,
                         const struct tr_tree **with);
struct tr_tree *tri_import_binding(struct tri_import *import,
                                   const Flyteidl__Core__BindingData *binding);

/* A mapping of what was bound; told when a name is there twice. */
const struct tr_tree *tri_import_mapping(struct tri_import *import, const struct tri_vector *pairs);
bool tri_import_add_pair(struct tri_import *import, struct tri_vector *pairs, const char *name,
                         const struct tr_tree *value);

/* What an output reference of Flyte's means. */
bool tri_import_reference(struct tri_import *import, const Flyteidl__Core__OutputReference *promise,
                          struct tri_reference *reference);

/* ------------------------------------------------------------------ import_condition.c */

/* A condition; `branch` is the node whose inputs its variables are. */
bool tri_import_condition(struct tri_import *import, const flyte_node *branch,
                          const Flyteidl__Core__BooleanExpression *expression,
                          struct tri_condition *condition);

/* ------------------------------------------------------------------ import_field.c */

/* The type of an input of what a node runs, of each element where it is a map; NULL: not known. */
const flyte_type *tri_import_input_type(const struct tri_import *import, const flyte_node *node,
                                        const char *name);

/* The type of what a reference leads to; NULL: not known, or no such field, which is told. */
const flyte_type *tri_import_field_type(struct tri_import *import,
                                        const Flyteidl__Core__OutputReference *promise);

/*
 * Tells it when a reference into a value does not fit the input that it is bound to, or a table has
 * other columns.
 */
void tri_import_check_field(struct tri_import *import,
                            const Flyteidl__Core__OutputReference *promise, const char *input,
                            const flyte_type *expected);

/* ------------------------------------------------------------------ import_run.c */

/* How the executions of a launch plan run. */
bool tri_import_run(struct tri_import *import, const flyte_plan *plan, struct tr_run_settings *run);

/* Warns where a plan that is gone, as it is its workflow's default, says something of it. */
void tri_import_note_run(struct tri_import *import, const flyte_plan *plan);

/* ------------------------------------------------------------------ import_plan.c */

/* Whether it is what flytekit gives each workflow: its defaults, under its name. */
bool tri_import_is_default(const flyte_plan *plan);

void tri_import_plan(struct tri_import *import, const struct tri_flyte_entity *entity);

#endif
