/*
 * A definition as it is written: tasks, workflows, nodes, launch plans and pools with their
 * places, every key known and every scalar read. Names are not yet looked up and values with
 * references not yet read; that is compile.h's part.
 *
 * What a compiled graph keeps (tasks, settings, types) is made in the graph's arena at once, all
 * else in a scratch arena that ends with the compilation.
 */
#ifndef TR_ACTORS_GRAPH_LANGUAGE_DEFINITION_H
#define TR_ACTORS_GRAPH_LANGUAGE_DEFINITION_H

#include "actors/graph/language/definition_source.h"
#include "actors/graph/language/expression.h"

/* Comparisons that suggestions may cost in one compilation. */
#define TRI_NEAREST_COMPARISONS_MAX 200000U

/* A name where it stands. */
struct tri_name {
    struct tr_text text;
    struct tri_place place;
};

/* Which settings a task or a node gives, so that a node overrides only these. */
enum tri_setting {
    TRI_RETRIES = 1 << 0,
    TRI_BACKOFF = 1 << 1,
    TRI_TIMEOUT = 1 << 2,
    TRI_GRACE = 1 << 3,
    TRI_CACHE = 1 << 4,
    TRI_INTERRUPTIBLE = 1 << 5,
    TRI_RESOURCES = 1 << 6,
    TRI_POOL = 1 << 7,
    TRI_ENVIRONMENT = 1 << 8,
    TRI_SECRETS = 1 << 9,
    TRI_CONFIG = 1 << 10,
    TRI_RETRY_ON = 1 << 11,
    TRI_NEVER_RETRY_ON = 1 << 12,
    TRI_SOFTWARE = 1 << 13,
};

struct tri_settings {
    uint32_t given; /* enum tri_setting */
    struct tr_settings settings;
    struct tri_name pool;
    const struct tri_name *ignored; /* inputs that the cache leaves out */
    uint32_t ignored_count;
    const struct tr_tree *config;
    const struct tr_tree
        *tree; /* the task or the node that gives them, for its templates; or NULL */
};

struct tri_task {
    struct tri_name name;
    uint32_t source;
    struct tr_task task; /* all of it but the settings' names */
    struct tri_settings settings;
    bool is_told; /* it could not be read, which was told */
};

/* Variables while they are collected. */
struct tri_variables {
    struct tri_vector items;  /* struct tr_variable */
    struct tri_vector places; /* struct tri_place, the same positions */
};

/* Any of the things that are called by name. */
enum tri_entity_kind {
    TRI_ENTITY_TASK,
    TRI_ENTITY_WORKFLOW,
    TRI_ENTITY_PLAN,
};

struct tri_entity {
    struct tri_name name;
    enum tri_entity_kind kind;
    uint32_t index;
};

struct tri_arm;

/* The kinds of node bodies, as bits, for the keys that go with them. */
enum tri_body {
    TRI_BODY_TASK = 1 << 0,
    TRI_BODY_MAP = 1 << 1,
    TRI_BODY_WORKFLOW = 1 << 2,
    TRI_BODY_LAUNCH = 1 << 3,
    TRI_BODY_DYNAMIC = 1 << 4,
    TRI_BODY_SWITCH = 1 << 5,
    TRI_BODY_APPROVE = 1 << 6,
    TRI_BODY_SIGNAL = 1 << 7,
    TRI_BODY_SLEEP = 1 << 8,
};

struct tri_node {
    struct tri_name id;
    struct tri_place place; /* of its body */
    enum tri_body body;
    struct tri_name target; /* what its first key names */
    struct tr_text name;
    const struct tr_tree *with; /* a mapping, or NULL */
    const struct tri_name *over;
    uint32_t over_count;
    bool has_over;
    uint32_t parallelism;
    bool allows_failures; /* min_successes, or a ratio below 1 */
    uint32_t min_successes;
    double min_success_ratio;
    struct tri_place success_place; /* of the first of the two */
    struct tri_name errors;
    bool runs_all;
    const struct tr_type *signal_type;
    int64_t sleep_ns;
    const struct tri_name *after;
    uint32_t after_count;
    bool is_optional;
    int64_t deadline_ns;
    struct tri_settings settings;
    struct tri_name first_override; /* the first of its keys that belongs to settings */
    const struct tr_tree *extra;    /* what Flyte says beside that, a mapping; NULL: nothing */
    bool is_told;                   /* it could not be read, which was told */
    const struct tri_arm *arms;
    uint32_t arm_count;
};

struct tri_arm {
    struct tri_place place;
    enum tr_arm_kind kind;
    bool is_else;
    struct tri_place when_place;
    struct tri_condition condition;
    struct tri_node node;
    const struct tr_tree *message; /* a text, or NULL */
};

struct tri_workflow {
    struct tri_name name;
    bool is_told; /* it could not be read, which was told */
    uint32_t source;
    struct tr_text folder;
    struct tr_text description;
    struct tr_variables inputs;
    const struct tri_place *input_places;
    const struct tri_node *nodes;
    uint32_t node_count;
    const struct tr_tree *outputs;
    const struct tr_type *const *output_types; /* of each, NULL: that of its value; NULL: of none */
    const struct tr_variables *results; /* what it has to give; NULL: what `outputs` comes to */
    const struct tri_node *on_failure;
    const struct tri_node *finally;
    enum tr_failure_policy policy;
    uint32_t max_parallelism;
    int64_t timeout_ns;
    struct tr_text labels;
    const struct tr_notification *notifications;
    uint32_t notification_count;
    struct tr_bytes extra;
    bool is_compiled; /* of a graph that is gone on from: only its name matters */
};

struct tri_plan {
    struct tri_name name;
    uint32_t source;
    struct tr_text description;
    struct tri_name workflow;
    const struct tr_tree *inputs;
    const struct tr_tree *fixed;
    struct tr_schedule schedule;
    struct tri_name kickoff;
    struct tr_text labels;
    const struct tr_notification *notifications;
    uint32_t notification_count;
    struct tr_run_settings run;
    struct tr_bytes extra;
};

struct tri_pool {
    struct tri_name name;
    struct tr_pool pool;
};

/* One file of the definition. */
struct tri_file {
    struct tr_text path;     /* as it is read and shown */
    struct tr_text identity; /* the same without `x/..`, to know it again */
    struct tr_text folder;
};

struct tri_definition {
    /* tools */
    struct tr_arena *arena;   /* of the graph */
    struct tr_arena *scratch; /* until the compilation ends */
    struct tr_types *types;
    struct tr_report *report;
    struct tr_text key;    /* the key whose value is being read, for messages */
    uint32_t nearest_left; /* comparisons that may still be spent on suggestions */

    /* the file that is being read */
    bool is_included;
    bool has_any_names; /* it is filled from Flyte's entities, whose names may hold anything */
    uint32_t source;
    struct tr_text folder;
    struct tr_text path; /* as it is shown, in the arena of the graph */

    /* what was read */
    struct tr_text project;
    struct tr_text domain;
    struct tri_vector tasks;     /* struct tri_task */
    struct tri_vector workflows; /* struct tri_workflow */
    struct tri_vector plans;     /* struct tri_plan */
    struct tri_vector pools;     /* struct tri_pool */
    struct tri_vector files;     /* struct tri_file */
    struct tri_entity *entities; /* sorted by name, each once */
    uint32_t entity_count;
};

/*
 * Begins with a file, or what stands for one: where it lies for messages, and the folder, in the
 * graph's arena, that relative paths in it count from.
 */
void tri_definition_begin(struct tri_definition *definition, struct tr_text path,
                          struct tr_text folder);

/* Reads the file of the request and all it includes. Errors are in the report. */
void tri_definition_read(struct tri_definition *definition,
                         const struct tr_definition_source *source);

/* A place in the file that is being read, as the graph keeps it for later messages. */
static inline struct tr_origin tri_definition_origin(const struct tri_definition *definition,
                                                     struct tri_place place)
{
    return (struct tr_origin){.file = definition->path, .line = place.line, .column = place.column};
}

/* Puts all names into one set, once all is there; clashes are told. */
void tri_definition_collect(struct tri_definition *definition);

/* The entity of a name, or NULL. */
const struct tri_entity *tri_definition_find(const struct tri_definition *definition,
                                             struct tr_text name);

/*
 * What has a name already becomes one of the file in hand, with all that holds where nothing else
 * is said.
 */
void tri_definition_begin_task(const struct tri_definition *definition, struct tri_task *task);
void tri_definition_begin_workflow(const struct tri_definition *definition,
                                   struct tri_workflow *workflow);
void tri_definition_begin_plan(const struct tri_definition *definition, struct tri_plan *plan);
void tri_definition_begin_node(struct tri_node *node, struct tri_name id, struct tri_place place);
void tri_definition_begin_settings(struct tri_settings *settings);

/* What of a task and of a plan is made and judged once all of it is known. */
void tri_definition_pack_config(struct tri_definition *definition, struct tri_settings *settings);
void tri_definition_check_plan(struct tri_definition *definition, const struct tri_plan *plan);

/* The parts of a file; each reports what is wrong and leaves it out. */
void tri_definition_read_tasks(struct tri_definition *definition, const struct tr_tree *tree);
void tri_definition_read_workflows(struct tri_definition *definition, const struct tr_tree *tree);
void tri_definition_read_plans(struct tri_definition *definition, const struct tr_tree *tree);
void tri_definition_read_pools(struct tri_definition *definition, const struct tr_tree *tree);

/*
 * The document of a dynamic task: a workflow's keys but its inputs, which are known, and tasks and
 * workflows of its own. `workflow` has its name and its interface already.
 */
void tri_definition_read_decision(struct tri_definition *definition, const struct tr_tree *tree,
                                  struct tri_workflow *workflow);

/*
 * Adds a variable; an input gets its default: the value, or none where its type allows it. A type
 * of NULL is wrong, which was told. Takes the places of what it adds to.
 */
void tri_definition_add_variable(struct tri_definition *definition, struct tri_name name,
                                 const struct tr_variable *variable, bool is_input,
                                 const struct tr_tree *value, struct tri_variables *variables);

/* Those that were added, as a graph has them. */
void tri_definition_close_variables(struct tri_definition *definition,
                                    const struct tri_variables *added,
                                    struct tr_variables *variables);

/* Declared variables: a mapping of names to types or {type:, default:, description:}. */
void tri_definition_read_variables(struct tri_definition *definition, const struct tr_tree *tree,
                                   bool is_input, struct tr_variables *variables,
                                   const struct tri_place **places);

/* Whether each template of a text that is filled in names what there is; told if not. */
void tri_definition_check_template(struct tri_definition *definition, struct tr_text text,
                                   const struct tr_variables *inputs);

/*
 * Checks the templates of a task, or of what a node overrides of it: each has to name what there
 * is, and to stand where it is filled in.
 */
void tri_definition_check_templates(struct tri_definition *definition, const struct tr_tree *tree,
                                    const struct tr_variables *inputs);

/* Reads one body of a node; false when its kind cannot be told. */
bool tri_definition_read_node(struct tri_definition *definition, const struct tr_tree *tree,
                              struct tri_name id, uint32_t depth, struct tri_node *node);

/* The arms of a switch. */
void tri_definition_read_arms(struct tri_definition *definition, const struct tr_tree *tree,
                              uint32_t depth, struct tri_node *node);

/* A five-field cron expression or @daily and its like; false with what is wrong in `problem`. */
bool tri_cron_parse(struct tr_text text, struct tr_cron *cron, const char **problem);

/* A path relative to a folder, or to the folder of a file. */
struct tr_text tri_definition_path_join(struct tr_arena *arena, struct tr_text folder,
                                        struct tr_text path);
struct tr_text tri_definition_path_folder(struct tr_text path);

#endif
