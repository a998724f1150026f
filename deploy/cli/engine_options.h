/*
 * What commands that become an engine have in common: how it is to be, from the command line, else
 * from the settings file, else as is usual.
 */
#ifndef TR_DEPLOY_CLI_ENGINE_OPTIONS_H
#define TR_DEPLOY_CLI_ENGINE_OPTIONS_H

#include "deploy/cli/command.h"
#include "deploy/engine/assemble.h"

/* Their options, for a command's table. */
#define TR_ENGINE_OPTIONS                                                                         \
    {'j', "jobs", "N", "processes at once (else one per core)", NULL, 0, false},                  \
        {0, "durability", "LEVEL", "what survives (else full)", "full|process", 0, false},        \
    {                                                                                             \
        0, "resources", "HOW", "of Flyte's tasks, beyond the machine's (else cut)", "cut|strict", \
            0, false                                                                              \
    }

/* The option of those that begin tasks. */
#define TR_NO_WARM_OPTION                                                                         \
    {                                                                                             \
        0, "no-warm", NULL, "start each of flytekit's tasks with all its imports", NULL, 0, false \
    }

/* Reads them for a store's engine, which the settings outlive; what is wrong is said on stderr. */
enum tr_exit_status tr_engine_options_read(const struct tr_invocation *invocation,
                                           const char *folder,
                                           const struct tr_settings_file *settings,
                                           struct tr_live_options *options);

/*
 * Where the engine is reached by hosts that work beside it: of a service alone, whatever other
 * commands find in the settings.
 */
enum tr_exit_status tr_engine_options_read_address(const struct tr_invocation *invocation,
                                                   const struct tr_settings_file *settings,
                                                   struct tr_live_options *options);

#endif
