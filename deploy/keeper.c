/*
 * `troupe keeper FOLDER`: the second process beside an engine, which owns its processes. Engines
 * start it; a person never needs to.
 */
#include <stdio.h>

#include "deploy/command.h"
#include "runtime/env/keeper.h"
#include "schemas/error.h"

int tr_command_keeper(int argc, char **argv)
{
    struct tri_keeper_options options = {.is_detached = true};
    if (argc != 2) {
        return tr_command_help("keeper", true);
    }
    int error = tri_keeper_main(argv[1], &options);
    return error == 0 || error == TR_EXISTS ? TR_EXIT_DONE : TR_EXIT_ENGINE;
}
