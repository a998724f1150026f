/*
 * How an engine is to be.
 */
#include "deploy/cli/engine_options.h"

#include <stdlib.h>
#include <string.h>

static bool read_jobs(const char *word, uint32_t *jobs)
{
    char *end;
    unsigned long number = strtoul(word, &end, 10);
    if (word[0] < '0' || word[0] > '9' || *end != '\0' || number < 1 ||
        number > TR_SETTINGS_JOBS_MAX) {
        return false;
    }
    *jobs = (uint32_t)number;
    return true;
}

static enum tr_exit_status read_host_name(const struct tr_invocation *invocation,
                                          struct tr_live_options *options)
{
    const char *name = tr_arguments_value(&invocation->arguments, "host-name");
    if (name == NULL) {
        return TR_EXIT_DONE;
    }
    options->host_name = name;
    return tr_settings_is_host_name(tr_text_of(name))
               ? TR_EXIT_DONE
               : tr_command_mistake(invocation->command,
                                    "--host-name: '%.60s' is no name of a host; write up to 64 "
                                    "letters, digits, and . _ - within them",
                                    name);
}

enum tr_exit_status tr_engine_options_read_address(const struct tr_invocation *invocation,
                                                   const struct tr_settings_file *settings,
                                                   struct tr_live_options *options)
{
    const char *address = tr_arguments_value(&invocation->arguments, "host-address");
    options->host_address = settings->host_address;
    if (address == NULL) {
        return TR_EXIT_DONE;
    }
    options->host_address = address;
    return tr_settings_is_host_address(tr_text_of(address))
               ? TR_EXIT_DONE
               : tr_command_mistake(invocation->command,
                                    "--host-address: '%.60s' is no address of a host; write "
                                    "IP:PORT, where the other hosts reach this one, as "
                                    "10.0.0.5:7070",
                                    address);
}

enum tr_exit_status tr_engine_options_read(const struct tr_invocation *invocation,
                                           const char *folder,
                                           const struct tr_settings_file *settings,
                                           struct tr_live_options *options)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    const char *durability = tr_arguments_value(arguments, "durability");
    const char *jobs = tr_arguments_value(arguments, "jobs");
    const char *resources = tr_arguments_value(arguments, "resources");
    bool is_said = settings->durability != TR_DURABILITY_NONE;
    *options = (struct tr_live_options){
        .folder = folder,
        .durability = is_said ? settings->durability : TR_DURABILITY_FULL,
        .jobs = settings->jobs,
        .is_cold = settings->is_cold || tr_arguments_has(arguments, "no-warm"),
        .is_strict = resources == NULL ? settings->is_strict : strcmp(resources, "strict") == 0,
        .command = invocation->command->name,
        .host_name = settings->host_name,
        .lease_ms = settings->lease_ms,
        .process_lease_ms = settings->process_lease_ms,
        .settings = settings,
    };
    if (durability != NULL) {
        bool is_process = strcmp(durability, "process") == 0;
        options->durability = is_process ? TR_DURABILITY_PROCESS : TR_DURABILITY_FULL;
    }
    if (jobs != NULL && !read_jobs(jobs, &options->jobs)) {
        return tr_command_mistake(invocation->command,
                                  "--jobs: '%.60s' is no number of processes; write one from 1 "
                                  "to %d",
                                  jobs, TR_SETTINGS_JOBS_MAX);
    }
    return read_host_name(invocation, options);
}
