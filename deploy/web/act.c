/*
 * What acts on one execution and is more than the document of a command.
 */
#include <stdio.h>

#include "actors/graph/value/literal.h"
#include "deploy/common/client.h"
#include "deploy/history/executions.h"
#include "deploy/web/handlers.h"
#include "deploy/web/job.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/request.h"

#define CAUSE_BYTES 512

/* The command has no document: what was meant is named. */
void tr_web_abort(struct tr_web_job *job)
{
    tr_web_job_call_own(job);
    if (job->problem == TR_WEB_FINE) {
        tr_buffer_cut(&job->answer, 0);
        tr_web_job_write_execution(job, tr_web_request_value(&job->request, "name"));
        job->status = 202;
    }
}

/* ----------------------------------------------------------------------- going on */

static int ask(struct tri_client *client, const struct tr_schema *schema, const void *body)
{
    struct tri_request answer;
    struct tr_answered answered = {.error = 0};
    int error = tr_client_call(client, schema, body, &tr_answered_schema, TR_WEB_ENGINE_MS, NULL,
                               NULL, &answer);
    if (error == 0) {
        error = tr_answered_unpack(answer.body, answer.version, &answered);
    }
    return error != 0 ? error : (int)answered.error;
}

/* Its row, as far as what follows needs it. */
static int find(const struct tr_web_job *job, char *words, struct tr_executions_row *copy)
{
    struct tr_reader *reader;
    struct tr_text parts[] = {tr_text_of(tr_web_request_value(&job->request, "project")),
                              tr_text_of(tr_web_request_value(&job->request, "domain")),
                              tr_text_of(tr_web_request_value(&job->request, "name"))};
    int error = tr_history_open(tr_web_options(job->web)->folder, words, &reader);
    if (error == 0) {
        error = tr_executions_named(reader, parts[0], parts[1], parts[2], copy);
        tr_reader_close(reader);
    }
    return error;
}

/* `resume` follows what it lets go on; here it is let go on alone. */
static int go_on(const struct tr_web_job *job, const struct tr_execution *row)
{
    char cause[CAUSE_BYTES];
    struct tri_client *client;
    (void)snprintf(cause, sizeof cause, "resumed by %.200s", job->principal);
    const struct tr_pause_execution pause = {
        .execution = row->execution, .is_paused = false, .cause = tr_text_of(cause)};
    const struct tr_activate_execution activate = {.execution = row->execution};
    int error = tri_client_open(tr_web_options(job->web)->folder, &client);
    if (error != 0) {
        return error;
    }
    error = ask(client, &tr_activate_execution_schema, &activate);
    if (error == 0) {
        error = ask(client, &tr_pause_execution_schema, &pause);
    }
    tri_client_close(client);
    return error;
}

static void write_going_on(struct tr_web_job *job, struct tr_text name)
{
    struct tr_buffer *json = &job->answer;
    tr_buffer_add_string(json, "{\"execution\":");
    tri_text_write(name, json);
    tr_buffer_add_string(json, ",\"is_paused\":false}\n");
}

void tr_web_resume(struct tr_web_job *job)
{
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_executions_row copy;
    int error = find(job, words, &copy);
    if (error != 0) {
        tr_web_job_refuse(job, tr_web_problem_of_exit(TR_EXIT_ENGINE, error), "%s",
                          error == TR_NOT_FOUND ? "there is no such execution"
                          : words[0] != '\0'    ? words
                                                : tr_error_text(error));
        return;
    }
    error =
        tr_phase_is_end(TR_SUBJECT_EXECUTION, copy.row.phase) ? TR_NO_ACTOR : go_on(job, &copy.row);
    if (error == TR_NO_ACTOR) {
        tr_web_job_refuse(job, TR_WEB_CONFLICT, "it has ended already");
    } else if (error != 0) {
        tr_web_job_refuse(job, tr_web_problem_of_exit(TR_EXIT_ENGINE, error), "it cannot go on: %s",
                          tr_error_text(error));
    } else {
        write_going_on(job, copy.row.name);
    }
    tr_executions_row_fini(&copy);
}
