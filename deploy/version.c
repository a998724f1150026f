/*
 * `troupe version`.
 */
#include <stdio.h>

#include "deploy/cli/commands.h"

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    switch (invocation->output) {
    case TR_OUTPUT_JSON:
        printf("{\"version\":\"%s\"}\n", TR_PROGRAM_VERSION);
        break;
    case TR_OUTPUT_YAML:
        printf("version: \"%s\"\n", TR_PROGRAM_VERSION);
        break;
    default:
        printf("troupe %s\n", TR_PROGRAM_VERSION);
    }
    return TR_EXIT_DONE;
}

const struct tr_command tr_command_version = {
    .name = "version",
    .summary = "print the version of the program",
    .words = "",
    .outputs = "text|json|yaml",
    .run = run,
};
