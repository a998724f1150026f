/*
 * `troupe resume [EXEC...]`: wakes what an engine left unfinished, in the engine there is, or in
 * one that this command becomes.
 */
#include <stdio.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/diagnostics.h"
#include "deploy/cli/engine_options.h"
#include "deploy/cli/store.h"
#include "deploy/commands/pause.h"
#include "deploy/connect/connect.h"
#include "deploy/engine/query_root.h"
#include "deploy/follow/follow_local.h"
#include "deploy/history/executions.h"
#include "deploy/server/serve_gates.h"
#include "runtime/memory.h"
#include "schemas/runtime/request.h"

/* Of a question that takes seconds, how often one's own engine is asked. */
#define LIFT_TRIES 30

/* What is meant: numbers of executions, none for all. */
struct resume {
    const struct tr_invocation *invocation;
    struct tr_store_place store;
    uint64_t *executions;
    size_t count;
    bool is_until_idle;
};

/* ----------------------------------------------------------------------- what is meant */

static enum tr_exit_status find_one(struct resume *resume, struct tr_reader *reader,
                                    const char *word)
{
    const struct tr_command *command = resume->invocation->command;
    char problem[TR_EXECUTIONS_PROBLEM_BYTES] = "";
    struct tr_executions_row copy = {.texts = NULL};
    int error = tr_executions_find(reader, word, problem, &copy);
    if (error == TR_NOT_FOUND || error == TR_INVALID) {
        return tr_command_refused(command, "%s", problem);
    }
    if (error != 0) {
        return tr_command_failed(command, "the history cannot be read: %s", tr_error_text(error));
    }
    resume->executions[resume->count++] = copy.row.execution;
    tr_executions_row_fini(&copy);
    return TR_EXIT_DONE;
}

static enum tr_exit_status find_all(struct resume *resume)
{
    const struct tr_arguments *arguments = &resume->invocation->arguments;
    const struct tr_command *command = resume->invocation->command;
    struct tr_reader *reader;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    if (arguments->word_count == 0) {
        return TR_EXIT_DONE;
    }
    resume->executions = tr_alloc(arguments->word_count * sizeof *resume->executions);
    if (resume->executions == NULL) {
        return tr_command_failed(command, "%s", tr_error_text(TR_MEMORY));
    }
    int error = tr_history_open(resume->store.folder, explain, &reader);
    if (error == TR_NOT_FOUND) {
        return tr_command_refused(command,
                                  "nothing was run in the store %s yet; `troupe run` begins, "
                                  "--store names another one",
                                  resume->store.folder);
    }
    if (error != 0) {
        return tr_command_failed(command, "%s", explain);
    }
    enum tr_exit_status status = TR_EXIT_DONE;
    for (size_t i = 0; status == TR_EXIT_DONE && i < arguments->word_count; i++) {
        status = find_one(resume, reader, arguments->words[i]);
    }
    tr_reader_close(reader);
    return status;
}

/*
 * An execution that is named goes on even if it was paused. One that has ended needs nothing; one
 * that is quarantined goes on when a person lets it, which is said, and hears of this then.
 */
static int lifted(const struct resume *resume, int error)
{
    if (error == TR_QUARANTINED) {
        tr_command_note(resume->invocation, "%s", tr_query_root_error_text(error));
    }
    return error == TR_NO_ACTOR || error == TR_QUARANTINED ? 0 : error;
}

/* ---------------------------------------------------------------- in another's engine */

/* What the engine says of one of them; TR_CLOSED: it has not loaded it, and will not. */
static int ask_to_lift(struct tri_client *client, uint64_t execution)
{
    struct tr_lift_aside lift = {.execution = execution};
    struct tr_answered answered;
    struct tri_request answer;
    int error = tr_client_call(client, &tr_lift_aside_schema, &lift, &tr_answered_schema, 0, NULL,
                               NULL, &answer);
    if (error == 0) {
        error = tr_answered_unpack(answer.body, answer.version, &answered);
    }
    return error != 0 ? error : (int)answered.error;
}

/* Those that the engine has set aside are left to the next one, and leave the list. */
static int lift_aside(struct resume *resume, struct tri_client *client)
{
    size_t kept = 0;
    for (size_t i = 0; i < resume->count; i++) {
        int error = ask_to_lift(client, resume->executions[i]);
        if (error == TR_CLOSED) {
            tr_command_note(resume->invocation,
                            "%s was set aside; the next engine of the store loads it again",
                            resume->invocation->arguments.words[i]);
        } else if (error != 0) {
            return error;
        } else {
            resume->executions[kept++] = resume->executions[i];
        }
    }
    resume->count = kept;
    return 0;
}

static int ask_to_wake(struct tri_client *client, uint64_t execution)
{
    struct tr_activate_execution wake = {.execution = execution};
    struct tr_answered answered;
    struct tri_request answer;
    int error = tr_client_call(client, &tr_activate_execution_schema, &wake, &tr_answered_schema, 0,
                               NULL, NULL, &answer);
    if (error != 0) {
        return error;
    }
    error = tr_answered_unpack(answer.body, answer.version, &answered);
    return error != 0 ? error : (int)answered.error;
}

static int lift_there(const struct resume *resume, struct tri_client *client, uint64_t execution)
{
    return lifted(resume, tr_pause_ask(client, execution, false, NULL));
}

static enum tr_exit_status wake_there(const struct resume *resume, struct tri_client *client)
{
    int error = resume->count == 0 ? ask_to_wake(client, 0) : 0;
    for (size_t i = 0; error == 0 && i < resume->count; i++) {
        error = ask_to_wake(client, resume->executions[i]);
        if (error == 0 && !resume->is_until_idle) {
            error = lift_there(resume, client, resume->executions[i]);
        }
    }
    if (error != 0) {
        return tr_command_failed(resume->invocation->command, "the engine refuses this: %s",
                                 tr_error_text(error));
    }
    tr_command_note(resume->invocation, "an engine runs here already, and goes on with %s",
                    resume->count == 0 ? "all that is unfinished" : "them");
    return TR_EXIT_DONE;
}

/* ------------------------------------------------------------------------------ here */

/*
 * The root of an execution with 100,000 elements does not answer before they are awake, which on a
 * busy machine takes longer than one question may. To be asked twice changes nothing.
 */
static int lift_here(const struct resume *resume, struct tr_live *live, uint64_t execution)
{
    char cause[TR_PAUSE_CAUSE_BYTES];
    tr_pause_cause(false, NULL, cause);
    struct tr_pause_execution pause = {.execution = execution, .cause = tr_text_of(cause)};
    int error = TR_TIMEOUT;
    for (uint32_t tries = 0; error == TR_TIMEOUT && tries < LIFT_TRIES; tries++) {
        error = tr_serve_pause(live, &pause);
    }
    return lifted(resume, error);
}

static enum tr_exit_status wake_here(const struct resume *resume, struct tr_live *live)
{
    uint32_t slept = live->dormant.dormant_count;
    int error = resume->count == 0 ? tr_live_wake(live, 0) : 0;
    for (size_t i = 0; error == 0 && i < resume->count; i++) {
        error = resume->is_until_idle ? tr_live_wake(live, resume->executions[i])
                                      : lift_here(resume, live, resume->executions[i]);
    }
    if (error != 0) {
        return tr_command_failed(resume->invocation->command, "%s", tr_error_text(error));
    }
    uint32_t woken = slept - live->dormant.dormant_count;
    tr_command_note(resume->invocation, "%u unfinished execution%s on", woken,
                    woken == 1 ? " goes" : "s go");
    return tr_follow_local_active(resume->invocation, live);
}

static enum tr_exit_status resume_reached(struct resume *resume, struct tr_connection *connection)
{
    const struct tr_invocation *invocation = resume->invocation;
    bool is_for_all = resume->count == 0;
    int error = connection->client == NULL ? 0 : lift_aside(resume, connection->client);
    bool follows = resume->count == 1 && !resume->is_until_idle;
    if (error == 0 && !is_for_all && resume->count == 0) {
        return TR_EXIT_DONE;
    }
    if (error == 0 && follows) {
        error = connection->live != NULL
                    ? lift_here(resume, connection->live, resume->executions[0])
                    : lift_there(resume, connection->client, resume->executions[0]);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "the engine refuses this: %s",
                                 tr_error_text(error));
    }
    if (connection->live != NULL) {
        return follows ? tr_follow_local(invocation, connection->live, resume->executions[0])
                       : wake_here(resume, connection->live);
    }
    return follows ? tr_follow_live(invocation, connection->client, resume->store.folder,
                                    resume->executions[0])
                   : wake_there(resume, connection->client);
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct resume resume = {
        .invocation = invocation,
        .is_until_idle = tr_arguments_has(&invocation->arguments, "until-idle"),
    };
    struct tr_connection connection = {.live = NULL};
    struct tr_live_options options;
    struct tr_settings_file settings;
    enum tr_exit_status status = tr_store_find(invocation, false, &resume.store);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    status = tr_diagnostics_load_settings(invocation, resume.store.folder, &settings);
    if (status == TR_EXIT_DONE) {
        status = tr_engine_options_read(invocation, resume.store.folder, &settings, &options);
    }
    if (status == TR_EXIT_DONE) {
        status = find_all(&resume);
    }
    if (status == TR_EXIT_DONE) {
        options.lets_sleep = true;
        options.lifted = resume.executions;
        options.lifted_count = resume.count;
        status = tr_connect_or_open(invocation, &options, &connection);
    }
    if (status == TR_EXIT_DONE) {
        status = resume_reached(&resume, &connection);
        tr_connection_close(&connection);
    }
    tr_settings_fini(&settings);
    tr_free(resume.executions);
    return status;
}

static const struct tr_option options_table[] = {
    {0, "until-idle", NULL, "stay until nothing that is awake is unfinished; pauses stay, too",
     NULL, 0, false},
    TR_ENGINE_OPTIONS,
    {0},
};

const struct tr_command tr_command_resume = {
    .name = "resume",
    .summary = "go on with what an engine left unfinished",
    .words = "[EXEC...]",
    .text =
        "Activates EXEC, or all that is unfinished, with what it has launched. Without an engine\n"
        "it becomes one, in the foreground, until that has ended; the others stay dormant.\n"
        "With one EXEC it follows, prints and ends as `run`. What is named is paused no longer.",
    .examples = "  troupe resume\n"
                "  troupe resume @last",
    .options = options_table,
    .outputs = "text|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .kind = TR_EXECUTION_KIND_HELD,
    .words_max = UINT32_MAX,
    .run = run,
};
