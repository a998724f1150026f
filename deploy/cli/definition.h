/*
 * The first word of many commands: a definition in YAML, or a package of Flyte's, with the options
 * that are for packages alone.
 */
#ifndef TR_DEPLOY_CLI_DEFINITION_H
#define TR_DEPLOY_CLI_DEFINITION_H

#include "actors/graph/compiled/graph.h"
#include "actors/graph/document/report.h"
#include "deploy/cli/command.h"

/* What ids of a package leave open, for a command's table. */
#define TR_PACKAGE_OPTIONS                                                                      \
    {0, "project", "NAME", "of a package of Flyte's, where it leaves it open", NULL, 0, false}, \
        {0, "domain", "NAME", "the same (development)", NULL, 0, false},                        \
    {                                                                                           \
        0, "version", "NAME", "the same (the package's SHA-256)", NULL, 0, false                \
    }

/* What its tasks find on this machine. */
#define TR_PACKAGE_RUN_OPTIONS                                                                     \
    {0,      "python",                                                                             \
     "FILE", "the Python that has flytekit (else by image, of $VIRTUAL_ENV)",                      \
     NULL,   TR_COMPLETES_FILES,                                                                   \
     false},                                                                                       \
    {                                                                                              \
        0, "code", "FOLDER", "the modules of a package's tasks", NULL, TR_COMPLETES_FOLDERS, false \
    }

/*
 * Compiles the file that a command names. `store` is where it will run, NULL where it is only
 * looked at. What is wrong is in the report: TR_INVALID. TR_MEMORY, TR_LIMIT, TR_SYSTEM.
 */
TR_MUST_USE int tr_definition_compile(const struct tr_invocation *invocation, const char *file,
                                      const char *store, struct tr_report *report,
                                      struct tr_graph **graph);

/*
 * The same, and appends what a package holds to `entities`, as apply_plans has it
 * (schemas/runtime/request.h); of any other definition nothing. After an error of its own the graph
 * is there all the same, and the caller's.
 */
TR_MUST_USE int tr_definition_apply(const struct tr_invocation *invocation, const char *file,
                                    const char *store, struct tr_report *report,
                                    struct tr_graph **graph, struct tr_buffer *entities);

/*
 * Appends a workflow of a package as Flyte's compiler leaves it, a CompiledWorkflowClosure. As
 * above, and TR_INVALID also for a definition that is no package.
 */
TR_MUST_USE int tr_definition_closure(const struct tr_invocation *invocation, const char *file,
                                      struct tr_text name, struct tr_report *report,
                                      struct tr_buffer *closure);

#endif
