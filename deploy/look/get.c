/*
 * `troupe get`: finds what a word names, and lets it be written.
 */
#include "deploy/look/get.h"

#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/connect/host_names.h"
#include "deploy/console/console.h"
#include "schemas/codec/error.h"

static enum tr_exit_status get_found(const struct tr_browse *browse, const struct tr_found *found)
{
    char word[PATH_MAX];
    char problem[TR_TARGET_PROBLEM_BYTES] = "";
    const struct tr_invocation *invocation = browse->invocation;
    const struct tr_execution *row = &found->execution.row;
    struct tr_get get = {.reader = browse->reader,
                         .folder = browse->place.folder,
                         .execution = row,
                         .store = tr_store_word(invocation, word),
                         .now_ms = browse->now_ms,
                         .output = invocation->output,
                         .is_verbose = invocation->is_verbose,
                         .stream = tr_console_out()};
    if (invocation->output == TR_OUTPUT_NAME) {
        fprintf(tr_console_out(), "%.*s\n", (int)row->name.size, row->name.data);
        return TR_EXIT_DONE;
    }
    struct tr_activity activity;
    struct tr_host_names names;
    tr_activity_read(get.folder, tr_browse_is_live(browse), browse->reader, &activity);
    get.activity = &activity;
    tr_host_names_init(&names, browse->reader);
    get.host = tr_host_names_of_execution(&names, row);
    int error = found->target.path.size == 0 ? tr_get_execution(&get)
                                             : tr_get_node(&get, &found->target, problem);
    tr_host_names_fini(&names);
    tr_activity_fini(&activity);
    tr_console_note_error(error);
    if (error == TR_NOT_FOUND && problem[0] != '\0') {
        return tr_command_refused(invocation->command, "%s", problem);
    }
    return error == 0 ? TR_EXIT_DONE : tr_browse_failed(browse, error);
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    return tr_browse_first(invocation, get_found);
}

const struct tr_command tr_command_get = {
    .name = "get",
    .summary = "show all of an execution, a node or an element",
    .words = "EXEC[/NODE[[ELEMENT]][@ATTEMPT]]",
    .text =
        "EXEC is the name of an execution, a unique beginning of it, or @last; NODE is a path.\n"
        "Elements and attempts are counted from 0 on. -v leaves nothing out.",
    .examples = "  troupe get @last\n"
                "  troupe get fan-out/squares\n"
                "  troupe get 'fan-out/squares[17]@2' -o json",
    .outputs = "text|json|yaml|name",
    .has_store = true,
    .over_network = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
