/*
 * `troupe keeper FOLDER`: the second process beside an engine, which owns its processes. Engines
 * start it; a person never needs to.
 */
#include "runtime/env/keeper.h"

#include "deploy/commands.h"
#include "schemas/error.h"

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tri_keeper_options options = {.is_detached = true};
    int error = tri_keeper_main(invocation->arguments.words[0], &options);
    return error == 0 || error == TR_EXISTS ? TR_EXIT_DONE : TR_EXIT_ENGINE;
}

const struct tr_command tr_command_keeper = {
    .name = "keeper",
    .words = "FOLDER",
    .text = "The keeper of a store's processes; engines start it.",
    .completes = TR_COMPLETES_FOLDERS,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
