/*
 * Definitions and packages, as a command names them.
 */
#include "deploy/cli/definition.h"

#include "actors/graph/compiler/compile.h"
#include "deploy/flyte/package.h"

static void note(void *self, const char *words)
{
    tr_command_note(self, "%s", words);
}

int tr_definition_compile(const struct tr_invocation *invocation, const char *file,
                          const char *store, struct tr_report *report, struct tr_graph **graph)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    if (!tr_package_is(file)) {
        return tr_graph_check_file(file, report, graph);
    }
    const struct tr_package_options options = {
        .project = tr_arguments_value(arguments, "project"),
        .domain = tr_arguments_value(arguments, "domain"),
        .version = tr_arguments_value(arguments, "version"),
        .python = tr_arguments_value(arguments, "python"),
        .code = tr_arguments_value(arguments, "code"),
        .is_cold = tr_arguments_has(arguments, "no-warm"),
        .store = store,
        .note = store == NULL ? NULL : note,
        .self = (void *)(uintptr_t)invocation,
    };
    return tr_package_compile(file, &options, report, graph);
}
