/*
 * `troupe keeper FOLDER`: the second process beside an engine, which owns its processes. Engines
 * start it; a person never needs to.
 */
#include "runtime/keeper/keeper.h"

#include "deploy/cli/commands.h"
#include "deploy/common/show.h"
#include "runtime/env/child_limit.h"
#include "schemas/codec/error.h"

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    const char *open_files = tr_arguments_value(arguments, "open-files");
    struct tri_keeper_options keeper = {.is_detached = true,
                                        .is_unsynced = tr_arguments_has(arguments, "unsynced")};
    uint64_t limit = 0;
    if (open_files != NULL && !tr_count_read(open_files, &limit)) {
        return tr_command_mistake(invocation->command, "--open-files: '%.60s' is no number",
                                  open_files);
    }
    if (open_files != NULL) {
        tri_child_open_files_set(limit);
    }
    int error = tri_keeper_main(invocation->arguments.words[0], &keeper);
    return error == 0 || error == TR_EXISTS ? TR_EXIT_DONE : TR_EXIT_ENGINE;
}

static const struct tr_option options[] = {
    {0, "open-files", "N", "the soft limit of open files of its processes", NULL, 0, false},
    {0, "unsynced", NULL, "survive the end of processes, not the loss of power", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_keeper = {
    .name = "keeper",
    .words = "FOLDER",
    .text = "The keeper of a store's processes; engines start it.",
    .options = options,
    .completes = TR_COMPLETES_FOLDERS,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
