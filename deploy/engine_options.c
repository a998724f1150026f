/*
 * How an engine is to be.
 */
#include "deploy/engine_options.h"

#include <stdlib.h>
#include <string.h>

#define JOBS_MAX 10000

static bool read_jobs(const char *word, uint32_t *jobs)
{
    char *end;
    unsigned long number = strtoul(word, &end, 10);
    if (word[0] < '0' || word[0] > '9' || *end != '\0' || number < 1 || number > JOBS_MAX) {
        return false;
    }
    *jobs = (uint32_t)number;
    return true;
}

enum tr_exit_status tr_engine_options_read(const struct tr_invocation *invocation,
                                           const char *folder, struct tr_live_options *options)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    const char *durability = tr_arguments_value(arguments, "durability");
    const char *jobs = tr_arguments_value(arguments, "jobs");
    *options = (struct tr_live_options){
        .folder = folder, .durability = TR_DURABILITY_FULL, .command = invocation->command->name};
    if (durability != NULL && strcmp(durability, "process") == 0) {
        options->durability = TR_DURABILITY_PROCESS;
    }
    if (jobs != NULL && !read_jobs(jobs, &options->jobs)) {
        return tr_command_mistake(invocation->command,
                                  "--jobs: '%.60s' is no number of processes; write one from 1 "
                                  "to %d",
                                  jobs, JOBS_MAX);
    }
    return TR_EXIT_DONE;
}
