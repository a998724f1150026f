/*
 * `troupe version`.
 */
#include <getopt.h>
#include <stdio.h>

#include "deploy/command.h"

int tr_command_version(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    enum tr_output output = TR_OUTPUT_TEXT;
    int option;
    while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
        if (option != 'o') {
            return tr_command_help("version", option != 'h');
        }
        if (!tr_output_read("version", optarg, &output)) {
            return TR_EXIT_USAGE;
        }
    }
    if (output == TR_OUTPUT_JSON) {
        printf("{\"version\":\"%s\"}\n", TR_PROGRAM_VERSION);
    } else {
        printf("troupe %s\n", TR_PROGRAM_VERSION);
    }
    return TR_EXIT_DONE;
}
