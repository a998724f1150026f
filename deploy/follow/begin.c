/*
 * Beginning what was prepared, in the engine of this process or by a request to another's.
 */
#include "deploy/follow/begin.h"
#include "deploy/console/console.h"

#include <stdio.h>

#include "actors/graph/compiled/pack.h"
#include "deploy/follow/result.h"
#include "deploy/inputs/offload.h"
#include "schemas/runtime/request.h"

#define CAUSE_BYTES 1024

/* Whether it began, or is the one that is wanted. */
static enum tr_exit_status judge(const struct tr_beginning *beginning, int error)
{
    bool is_wanted = error == TR_EXISTS &&
                     tr_arguments_has(&beginning->prepared->invocation->arguments, "if-new");
    if (error == 0 || is_wanted) {
        return TR_EXIT_DONE;
    }
    const char *message =
        beginning->outcome.message[0] != '\0' ? beginning->outcome.message : tr_error_text(error);
    tr_console_note_error(error);
    if (error == TR_EXISTS || error == TR_INVALID) {
        return tr_command_refused(beginning->prepared->invocation->command, "%s", message);
    }
    return tr_command_failed(beginning->prepared->invocation->command, "%s", message);
}

/* Large values go to the store's blobs, whichever process its engine is. */
static enum tr_exit_status offload(struct tr_beginning *beginning)
{
    char explain[TR_OFFLOAD_EXPLAIN_BYTES];
    int error = tr_offload(beginning->folder, beginning->prepared->graph,
                           &beginning->prepared->inputs, explain);
    if (error == TR_LIMIT) {
        return tr_command_refused(beginning->prepared->invocation->command, "%s", explain);
    }
    return error == 0 ? TR_EXIT_DONE
                      : tr_command_failed(beginning->prepared->invocation->command, "%s", explain);
}

static enum tr_exit_status launch_here(struct tr_beginning *beginning, struct tr_live *live)
{
    struct tr_order order = {
        .graph = beginning->prepared->graph,
        .workflow = beginning->prepared->workflow,
        .plan = beginning->prepared->plan,
        .name = tr_text_of(tr_arguments_value(&beginning->prepared->invocation->arguments, "name")),
        .inputs = tr_buffer_bytes(&beginning->prepared->inputs),
        .cache_mode = tr_cache_mode_of(beginning->prepared->invocation),
        .cause = tr_text_of(beginning->cause),
        .recovery = beginning->recovery,
        .labels = tr_buffer_text(&beginning->prepared->labels),
    };
    beginning->prepared->graph = NULL;
    return judge(beginning, tr_live_launch(live, &order, &beginning->outcome));
}

static int read_submitted(struct tr_beginning *beginning, const struct tri_request *answer)
{
    struct tr_submitted submitted;
    struct tr_answered answered;
    if (answer->type == tr_answered_schema.id) {
        int error = tr_answered_unpack(answer->body, answer->version, &answered);
        if (error != 0) {
            return error;
        }
        snprintf(beginning->outcome.message, sizeof beginning->outcome.message, "%.*s",
                 (int)answered.message.size, answered.message.data);
        return answered.error == 0 ? TR_MALFORMED : TR_FAILED;
    }
    int error = tr_submitted_unpack(answer->body, answer->version, &submitted);
    if (error != 0) {
        return error;
    }
    snprintf(beginning->outcome.name, sizeof beginning->outcome.name, "%.*s",
             (int)submitted.name.size, submitted.name.data);
    snprintf(beginning->outcome.message, sizeof beginning->outcome.message, "%.*s",
             (int)submitted.message.size, submitted.message.data);
    beginning->outcome.execution = submitted.execution;
    beginning->outcome.is_new = submitted.is_new;
    return (int)submitted.error;
}

/* What is called from elsewhere says by whom. */
static void print_cause(const struct tr_beginning *beginning, char cause[CAUSE_BYTES])
{
    const struct tr_console *console = tr_console();
    snprintf(cause, CAUSE_BYTES, "%s%s%s", beginning->cause, console == NULL ? "" : " by ",
             console == NULL ? "" : console->identity);
}

static enum tr_exit_status launch_there(struct tr_beginning *beginning, struct tri_client *client)
{
    struct tri_request answer;
    struct tr_buffer graph;
    char cause[CAUSE_BYTES];
    tr_buffer_init(&graph, TR_ENDPOINT_BYTES_MAX);
    print_cause(beginning, cause);
    int error = tr_graph_pack(beginning->prepared->graph, &graph);
    struct tr_submit submit = {
        .name = tr_text_of(tr_arguments_value(&beginning->prepared->invocation->arguments, "name")),
        .if_new = tr_arguments_has(&beginning->prepared->invocation->arguments, "if-new"),
        .graph = tr_buffer_bytes(&graph),
        .workflow = beginning->prepared->workflow,
        .plan = beginning->prepared->plan,
        .inputs = tr_buffer_bytes(&beginning->prepared->inputs),
        .cache_mode = tr_cache_mode_of(beginning->prepared->invocation),
        .cause = tr_text_of(cause),
        .is_detached = beginning->is_detached,
        .recovery = beginning->recovery,
        .labels = tr_buffer_text(&beginning->prepared->labels),
    };
    if (error == 0) {
        error = tr_client_call(client, &tr_submit_schema, &submit, &tr_submitted_schema, 0, NULL,
                               NULL, &answer);
    }
    if (error == 0) {
        error = read_submitted(beginning, &answer);
    } else if (error == TR_NO_CONNECTION) {
        snprintf(beginning->outcome.message, sizeof beginning->outcome.message,
                 "the engine ended before it answered; `troupe list` shows whether this has begun");
    }
    tr_buffer_fini(&graph);
    return judge(beginning, error);
}

enum tr_exit_status tr_begin(struct tr_beginning *beginning, struct tr_connection *connection)
{
    enum tr_exit_status status = offload(beginning);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    return connection->live != NULL ? launch_here(beginning, connection->live)
                                    : launch_there(beginning, connection->client);
}

void tr_begin_note(const struct tr_beginning *beginning)
{
    tr_command_note(beginning->prepared->invocation, "%s %s", beginning->outcome.name,
                    beginning->outcome.is_new ? "begins" : "exists; following it");
}

void tr_begin_print_name(const struct tr_beginning *beginning)
{
    tr_result_print_name(beginning->prepared->invocation, tr_text_of(beginning->outcome.name));
}
