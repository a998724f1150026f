/*
 * `troupe explain`: finds what is meant, and lets it be explained.
 */
#include "deploy/look/explain.h"

#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/next.h"
#include "deploy/connect/activity.h"
#include "deploy/connect/connect.h"
#include "deploy/connect/host_names.h"
#include "deploy/console/console.h"
#include "deploy/look/explain_schedule.h"
#include "deploy/look/get_report.h"
#include "deploy/recovery/causes.h"
#include "schemas/codec/error.h"

/* How one goes on: with what the attempt that failed wrote, and with running it again. */
static int print_next(const struct tr_browse *browse, const struct tr_explain_request *request)
{
    const struct tr_execution *row = request->execution;
    struct tr_causes causes;
    struct tr_next next;
    bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
    int error = tr_causes_read(browse->reader, row, request->target, &causes);
    if (error != 0) {
        return error;
    }
    const struct tr_attempt *attempt = tr_causes_attempt(&causes);
    tr_next_init(&next, browse->invocation, request->stream);
    if (attempt != NULL) {
        tr_next_print(&next, "logs", row->name, attempt->path, attempt->element);
    }
    if (has_ended && row->phase != TR_EXECUTION_SUCCEEDED) {
        tr_next_print(&next, "recover", row->name, (struct tr_text){0}, TR_ELEMENT_NONE);
    } else if (!has_ended) {
        tr_next_print(&next, request->is_live ? "watch" : "resume", row->name, (struct tr_text){0},
                      TR_ELEMENT_NONE);
    }
    tr_causes_fini(&causes);
    return 0;
}

static enum tr_exit_status explain_found(const struct tr_browse *browse,
                                         const struct tr_found *found,
                                         const struct tr_activity *activity)
{
    const struct tr_invocation *invocation = browse->invocation;
    const char *folder = browse->place.folder;
    const struct tr_execution *row = &found->execution.row;
    bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
    struct tr_host_names names;
    tr_host_names_init(&names, browse->reader);
    const struct tr_explain_hosts hosts = tr_host_names_explain(&names);
    struct tr_explain_request request = {
        .reader = browse->reader,
        .folder = folder,
        .execution = row,
        .target = &found->target,
        .is_live = activity->is_live,
        .is_dormant = tr_activity_is_dormant(activity, row),
        .jobs = activity->is_live ? tr_connect_jobs(folder) : 0,
        .is_aside = tr_activity_is_aside(activity, row),
        .now_ms = browse->now_ms,
        .output = invocation->output,
        .is_verbose = invocation->is_verbose,
        .hosts = &hosts,
        .host = tr_host_names_of_execution(&names, row),
        .goes_to = has_ended ? NULL : tr_host_names_wanted(&names, row->execution),
        .stream = tr_console_out()};
    char problem[TR_TARGET_PROBLEM_BYTES] = "";
    struct tr_get get = {.reader = browse->reader, .folder = folder, .execution = row};
    int error =
        found->target.path.size == 0 ? 0 : tr_get_target_check(&get, &found->target, problem);
    tr_console_note_error(error);
    if (error == TR_NOT_FOUND && problem[0] != '\0') {
        return tr_command_refused(invocation->command, "%s", problem);
    }
    if (error == 0) {
        error = tr_reader_steady_ms(browse->reader, browse->now_ms, &request.now.steady_ms);
    }
    request.now.ahead_ms = request.now.steady_ms - browse->now_ms;
    if (error == 0) {
        error = tr_explain_write(&request);
    }
    tr_host_names_fini(&names);
    if (error == 0 && invocation->output == TR_OUTPUT_TEXT) {
        error = print_next(browse, &request);
    }
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
    struct tr_activity activity;
    tr_activity_read(browse.place.folder, tr_browse_is_live(&browse), browse.reader, &activity);
    int error = tr_reader_refresh(browse.reader);
    bool is_schedule = false;
    status = error == 0 ? tr_explain_schedule(&browse, invocation->arguments.words[0], &is_schedule)
                        : tr_browse_failed(&browse, error);
    if (status == TR_EXIT_DONE && !is_schedule) {
        status = tr_browse_find(&browse, invocation->arguments.words[0], &found);
    }
    if (status == TR_EXIT_DONE && !is_schedule) {
        status = explain_found(&browse, &found, &activity);
        tr_found_fini(&found);
    }
    tr_activity_fini(&activity);
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
    .over_network = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
