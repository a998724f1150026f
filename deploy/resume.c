/*
 * `troupe resume [EXEC]`: becomes the engine of a store and goes on with what is unfinished there.
 */
#include <stdio.h>

#include "deploy/attend.h"
#include "deploy/background.h"
#include "deploy/commands.h"
#include "deploy/executions.h"
#include "deploy/reach.h"
#include "deploy/store.h"

/* The number of the execution that is meant; 0 when none is named. */
static enum tr_exit_status find(const struct tr_invocation *invocation, const char *folder,
                                uint64_t *execution)
{
    struct tr_reader *reader;
    struct tr_execution_copy copy = {.texts = NULL};
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    char problem[TR_EXECUTIONS_PROBLEM_BYTES] = "";
    *execution = 0;
    if (invocation->arguments.word_count == 0) {
        return TR_EXIT_DONE;
    }
    int error = tr_history_open(folder, explain, &reader);
    if (error == TR_NOT_FOUND) {
        return tr_command_mistake(invocation->command,
                                  "nothing was run in the store %s yet; `troupe run` begins, "
                                  "--store names another one",
                                  folder);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s", explain);
    }
    error = tr_execution_find(reader, invocation->arguments.words[0], problem, &copy);
    tr_reader_close(reader);
    if (error == TR_NOT_FOUND || error == TR_INVALID) {
        return tr_command_mistake(invocation->command, "%s", problem);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "the history cannot be read: %s",
                                 tr_error_text(error));
    }
    *execution = copy.row.execution;
    tr_execution_copy_fini(&copy);
    return TR_EXIT_DONE;
}

static enum tr_exit_status attend(const struct tr_invocation *invocation,
                                  struct tr_reached *reached, const char *folder,
                                  uint64_t execution)
{
    if (reached->live == NULL) {
        if (execution == 0) {
            tr_command_note(invocation, "an engine runs here already, with all that is unfinished");
            return TR_EXIT_DONE;
        }
        return tr_visit(invocation, reached->client, folder, execution);
    }
    if (execution != 0) {
        return tr_attend(invocation, reached->live, execution);
    }
    tr_command_note(invocation, "%llu unfinished executions go on",
                    (unsigned long long)reached->live->unfinished);
    return tr_attend_all(invocation, reached->live);
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_store_place store;
    struct tr_reached reached = {.live = NULL};
    uint64_t execution;
    const char *jobs = tr_arguments_value(&invocation->arguments, "jobs");
    enum tr_exit_status status = tr_store_find(invocation, false, &store);
    struct tr_live_options options = {
        .folder = store.folder, .durability = TR_DURABILITY_FULL, .command = "resume"};
    if (status == TR_EXIT_DONE && jobs != NULL && !tr_jobs_read(jobs, &options.jobs)) {
        status = tr_command_mistake(invocation->command,
                                    "--jobs: '%.60s' is no number of processes", jobs);
    }
    if (status == TR_EXIT_DONE) {
        status = find(invocation, store.folder, &execution);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_reach(invocation, &options, &reached);
    }
    if (status == TR_EXIT_DONE) {
        status = attend(invocation, &reached, store.folder, execution);
        tr_reached_close(&reached);
    }
    return status;
}

static const struct tr_option options_table[] = {
    {'j', "jobs", "N", "processes at once (else one per core)", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_resume = {
    .name = "resume",
    .summary = "go on with what an engine left unfinished",
    .words = "[EXEC]",
    .text = "Becomes the engine of the store, in the foreground, and goes on with everything that\n"
            "is unfinished: until EXEC has ended, or all of it. With EXEC it prints and ends as "
            "`run`.",
    .examples = "  troupe resume\n"
                "  troupe resume @last",
    .options = options_table,
    .outputs = "text|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_max = 1,
    .run = run,
};
