/*
 * What `run` and `submit` have in common before anything begins: FILE [NAME] and the options that
 * say what is to be run, checked as a whole.
 */
#ifndef TR_DEPLOY_FOLLOW_PREPARE_H
#define TR_DEPLOY_FOLLOW_PREPARE_H

#include "actors/graph/compiled/graph.h"
#include "actors/graph/document/buffer.h"
#include "deploy/cli/definition.h"
#include "deploy/cli/engine_options.h"
#include "deploy/settings/settings.h"

/* What is to be run. */
struct tr_prepared {
    const struct tr_invocation *invocation;
    struct tr_graph *graph; /* until it is handed over */
    bool makes_store;       /* where there is none, for the code of a package */
    uint32_t workflow;
    uint32_t plan; /* or TR_GRAPH_NONE */
    struct tr_buffer inputs;
    struct tr_buffer labels;          /* that were asked for (actors/graph/document/labels.h) */
    struct tr_settings_file settings; /* of the store, or of the user where there is none yet */
};

/* The label of an execution that begins. */
#define TR_PREPARE_LABEL_OPTION                                                           \
    {                                                                                     \
        0, "label", "KEY=VALUE", "a label, before those of the definition", NULL, 0, true \
    }

/* The options that say what is to be run, for a command's table. */
#define TR_PREPARE_OPTIONS                                                                         \
    {'i', "input", "NAME=VALUE", "an input; @FILE reads a file", NULL, TR_COMPLETES_FILES, true},  \
        {0,    "inputs",           "FILE", "inputs as YAML, JSON or .pb; - is stdin",              \
         NULL, TR_COMPLETES_FILES, false},                                                         \
        {0,    "name", "NAME", "calls the execution so (else WORKFLOW-xxxxx); it is no input",     \
         NULL, 0,      false},                                                                     \
        TR_PREPARE_LABEL_OPTION, TR_PACKAGE_OPTIONS, TR_PACKAGE_RUN_OPTIONS, TR_NO_WARM_OPTION,    \
        {0, "if-new", NULL, "follow the execution of that name, if there is one", NULL, 0, false}, \
    {                                                                                              \
        0, "cache", "HOW", "what becomes of results", "use|refresh|off", 0, false                  \
    }

void tr_prepared_init(struct tr_prepared *prepared, const struct tr_invocation *invocation);
void tr_prepared_fini(struct tr_prepared *prepared);

/* Everything that can be wrong before anything has begun; it is said on stderr. */
enum tr_exit_status tr_prepare(struct tr_prepared *prepared);

/*
 * Its parts, for commands that take them from elsewhere: the name that was given is good; the
 * settings of the store; the definition of a file; what is chosen of it (called `name` in messages)
 * can run; the inputs, of which `earlier` (or NULL) has a slot for each, or none, where nobody
 * gives another.
 */
enum tr_exit_status tr_prepare_name(const struct tr_prepared *prepared);
enum tr_exit_status tr_prepare_settings(struct tr_prepared *prepared);
enum tr_exit_status tr_prepare_file(struct tr_prepared *prepared, const char *file);
enum tr_exit_status tr_prepare_runnable(const struct tr_prepared *prepared, const char *name);
enum tr_exit_status tr_prepare_inputs(struct tr_prepared *prepared, const struct tr_bytes *earlier);

/* Whether a name of a package, of modules and functions, ends with what was typed. */
bool tr_prepare_is_short_for(struct tr_text typed, struct tr_text name);

/*
 * Takes the workflow of a name, or the task, which becomes a workflow of its own. Nothing is said.
 * TR_NOT_FOUND, TR_MEMORY, TR_LIMIT.
 */
TR_MUST_USE int tr_prepare_workflow(struct tr_prepared *prepared, struct tr_text name);

/*
 * Appends the labels that --label gives, over `earlier` ones. What is wrong is said on stderr.
 */
enum tr_exit_status tr_prepare_labels(const struct tr_invocation *invocation,
                                      struct tr_text earlier, struct tr_buffer *labels);

/* What --cache says: enum tr_cache_mode. */
uint8_t tr_cache_mode_of(const struct tr_invocation *invocation);

#endif
