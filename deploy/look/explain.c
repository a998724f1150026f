/*
 * `troupe explain`: finds what is meant, and lets it be explained.
 */
#include "deploy/look/explain.h"

#include "deploy/asleep.h"
#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/look/explain_schedule.h"
#include "deploy/look/get_report.h"
#include "deploy/reach.h"
#include "schemas/codec/error.h"

static enum tr_exit_status explain_found(const struct tr_browse *browse,
                                         const struct tr_found *found,
                                         const struct tr_asleep *asleep)
{
    const struct tr_invocation *invocation = browse->invocation;
    const char *folder = browse->place.folder;
    const struct tr_execution *row = &found->execution.row;
    struct tr_explain_request request = {.reader = browse->reader,
                                         .folder = folder,
                                         .execution = row,
                                         .target = &found->target,
                                         .is_live = asleep->is_live,
                                         .is_asleep = tr_asleep_has(asleep, row),
                                         .jobs = asleep->is_live ? tr_reach_jobs(folder) : 0,
                                         .is_aside = tr_asleep_is_aside(asleep, row),
                                         .now_ms = browse->now_ms,
                                         .output = invocation->output,
                                         .is_verbose = invocation->is_verbose,
                                         .stream = stdout};
    char problem[TR_TARGET_PROBLEM_BYTES] = "";
    struct tr_get get = {.reader = browse->reader, .folder = folder, .execution = row};
    int error =
        found->target.path.size == 0 ? 0 : tr_get_target_check(&get, &found->target, problem);
    if (error == TR_NOT_FOUND && problem[0] != '\0') {
        return tr_command_refused(invocation->command, "%s", problem);
    }
    error = error != 0
                ? error
                : tr_reader_steady_ms(browse->reader, browse->now_ms, &request.now.steady_ms);
    request.now.ahead_ms = request.now.steady_ms - browse->now_ms;
    error = error != 0 ? error : tr_explain_write(&request);
    return error == 0 ? TR_EXIT_DONE : tr_browse_failed(browse, error);
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_browse browse;
    struct tr_found found;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    /* Asked before anything is read: an engine may leave when it has nothing more to do. */
    struct tr_asleep asleep;
    tr_asleep_read(browse.place.folder, tr_browse_is_live(&browse), &asleep);
    int error = tr_reader_refresh(browse.reader);
    bool is_schedule = false;
    status = error == 0 ? tr_explain_schedule(&browse, invocation->arguments.words[0], &is_schedule)
                        : tr_browse_failed(&browse, error);
    if (status == TR_EXIT_DONE && !is_schedule) {
        status = tr_browse_find(&browse, invocation->arguments.words[0], &found);
    }
    if (status == TR_EXIT_DONE && !is_schedule) {
        status = explain_found(&browse, &found, &asleep);
        tr_found_fini(&found);
    }
    tr_asleep_fini(&asleep);
    tr_browse_close(&browse);
    return status;
}

const struct tr_command tr_command_explain = {
    .name = "explain",
    .summary = "say what anything waits for, or why it failed",
    .words = "EXEC[/NODE[[ELEMENT]]]|PLAN",
    .text = "Of what has not ended: what each node and element waits for. Of what has failed: the\n"
            "causes, down to the attempt. Of elements that wait for the same a few stand for all.\n"
            "Of a schedule, by the name of its launch plan: what its next time waits for, what\n"
            "became of the last one, and which times were not started, and why.",
    .examples = "  troupe explain @last\n"
                "  troupe explain 'fan-out/squares[17]'\n"
                "  troupe explain nightly",
    .outputs = "text|json|yaml",
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
