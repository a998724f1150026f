/*
 * Definitions and packages, as a command names them.
 */
#include "deploy/cli/definition.h"

#include "actors/graph/compiler/compile.h"
#include "deploy/flyte/package.h"
#include "schemas/codec/error.h"

static void note(void *self, const char *words)
{
    tr_command_note(self, "%s", words);
}

static struct tr_package_options options_of(const struct tr_invocation *invocation,
                                            const char *store)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    return (struct tr_package_options){
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
}

int tr_definition_compile(const struct tr_invocation *invocation, const char *file,
                          const char *store, struct tr_report *report, struct tr_graph **graph)
{
    if (!tr_package_is(file)) {
        return tr_graph_check_file(file, report, graph);
    }
    const struct tr_package_options options = options_of(invocation, store);
    return tr_package_compile(file, &options, report, graph);
}

int tr_definition_closure(const struct tr_invocation *invocation, const char *file,
                          struct tr_text name, struct tr_report *report, struct tr_buffer *closure)
{
    const struct tr_package_options options = options_of(invocation, NULL);
    if (!tr_package_is(file)) {
        tri_report_add(report, (struct tri_place){0}, NULL,
                       "only what a package of Flyte's holds is written so\n"
                       "write it as json or yaml");
        tr_report_finish(report);
        return TR_INVALID;
    }
    return tr_package_closure(file, &options, name, report, closure);
}
