/*
 * `troupe actors` and `troupe metrics`: what the live engine is made of, and its figures.
 */
#include <stdio.h>
#include <stdlib.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"
#include "deploy/common/document.h"
#include "deploy/connect/connect.h"
#include "deploy/console/console.h"
#include "deploy/debug/actor_state.h"
#include "schemas/runtime/request.h"

#define ACTORS_SHOWN 1000

/* One list on its way to stdout. */
struct listing {
    const struct tr_invocation *invocation;
    struct tr_document document;
    bool has_document;
    uint64_t shown;
};

static bool has_document(const struct tr_invocation *invocation)
{
    return invocation->output == TR_OUTPUT_JSON || invocation->output == TR_OUTPUT_YAML;
}

/* Asks the live engine for a list, and prints it row by row. */
static enum tr_exit_status list(const struct tr_invocation *invocation,
                                const struct tr_schema *schema, const void *body,
                                int (*row)(void *self, const struct tri_request *row))
{
    struct tr_store_place store;
    struct tri_client *client = NULL;
    struct tri_request answer;
    struct tr_answered answered = {.error = 0};
    struct listing listing = {.invocation = invocation, .has_document = has_document(invocation)};
    enum tr_exit_status status = tr_store_find(invocation, false, &store);
    if (status == TR_EXIT_DONE) {
        status = tr_connect_live(invocation, store.folder, &client);
    }
    if (status != TR_EXIT_DONE) {
        return status;
    }
    if (listing.has_document) {
        tr_document_init(&listing.document, tr_console_out(), invocation->output);
        tr_document_begin_list(&listing.document, NULL);
    }
    int error =
        tr_client_call(client, schema, body, &tr_answered_schema, 0, row, &listing, &answer);
    if (error == 0) {
        error = tr_answered_unpack(answer.body, answer.version, &answered);
    }
    if (listing.has_document) {
        tr_document_end(&listing.document);
        tr_document_fini(&listing.document);
    }
    if (error != 0 || answered.error != 0) {
        status = tr_command_failed(invocation->command, "the engine did not answer: %s",
                                   tr_error_text(error != 0 ? error : (int)answered.error));
    } else if (answered.message.size > 0 && !listing.has_document) {
        tr_command_note(invocation, "%.*s, %llu shown", (int)answered.message.size,
                        answered.message.data, (unsigned long long)listing.shown);
    }
    tri_client_close(client);
    return status;
}

/* -------------------------------------------------------------------------- actors */

static void write_actor(struct tr_document *document, const struct tr_actor_row *row)
{
    char name[64];
    int size = snprintf(name, sizeof name, "%llu/%llu@%u", (unsigned long long)row->actor.key.group,
                        (unsigned long long)row->actor.key.serial, row->actor.incarnation);
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "address", row->address);
    tr_document_text(document, "actor", (struct tr_text){.data = name, .size = (size_t)size});
    tr_document_text(document, "behaviour", row->behaviour);
    tr_document_text(document, "phase", row->phase);
    tr_document_number(document, "worker", row->worker);
    tr_document_number(document, "mailbox", row->mailbox);
    tr_document_number(document, "edges", row->edges);
    tr_document_number(document, "waiting", (int64_t)row->waiting);
    tr_document_number(document, "memory_bytes", (int64_t)row->memory);
    tr_document_end(document);
}

static int take_actor(void *self, const struct tri_request *request)
{
    struct listing *listing = self;
    struct tr_actor_row row;
    int error = tr_actor_row_unpack(request->body, request->version, &row);
    if (error != 0) {
        return error;
    }
    listing->shown++;
    if (listing->has_document) {
        write_actor(&listing->document, &row);
    } else if (listing->invocation->output == TR_OUTPUT_NAME) {
        fprintf(tr_console_out(), "%.*s\n", (int)row.address.size, row.address.data);
    } else {
        if (listing->shown == 1) {
            fprintf(tr_console_out(), "%-10s %-11s %6s %7s %7s %8s  %s\n", "BEHAVIOUR", "PHASE",
                    "WORKER", "MAILBOX", "WAITING", "MEMORY", "ADDRESS");
        }
        fprintf(tr_console_out(), "%-10.*s %-11.*s %6u %7u %7llu %8llu  %.*s\n",
                (int)row.behaviour.size, row.behaviour.data, (int)row.phase.size, row.phase.data,
                row.worker, row.mailbox, (unsigned long long)row.waiting,
                (unsigned long long)row.memory, (int)row.address.size, row.address.data);
    }
    return 0;
}

static enum tr_exit_status run_actors(const struct tr_invocation *invocation)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    struct tr_text pattern = tr_text_of(arguments->word_count > 0 ? arguments->words[0] : "**");
    bool is_drop = tr_arguments_has(arguments, "drop");
    if (tr_arguments_has(arguments, "state")) {
        return tr_arguments_has(arguments, "resume") || is_drop
                   ? tr_command_refused(invocation->command, "--state only looks; --resume acts")
                   : tr_actor_state(invocation);
    }
    if (tr_arguments_has(arguments, "resume")) {
        struct tr_resume_actors wish = {.pattern = pattern, .drop = is_drop};
        return list(invocation, &tr_resume_actors_schema, &wish, take_actor);
    }
    if (is_drop) {
        return tr_command_refused(invocation->command, "--drop goes with --resume");
    }
    struct tr_list_actors list_actors = {.pattern = pattern, .limit = ACTORS_SHOWN};
    return list(invocation, &tr_list_actors_schema, &list_actors, take_actor);
}

static const struct tr_option actors_options[] = {
    {0, "state", NULL, "what the actor of this address is, by its schema", NULL, 0, false},
    {0, "resume", NULL, "let those of them go on that are quarantined", NULL, 0, false},
    {0, "drop", NULL, "with --resume: without the message that has failed them", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_actors = {
    .name = "actors",
    .summary = "list the actors of the live engine",
    .words = "[GLOB]",
    .text =
        "GLOB is a pattern for addresses: `*` within a name, `**` anything. --state ADDRESS shows\n"
        "one of them: its state without what is secret, and what it waits for.\n"
        "An actor that one message has failed twice is quarantined: it stands still with all that\n"
        "waits for it, over restarts, too. --resume lets it try again; with --drop it goes on\n"
        "without that message, of which nobody hears any more.",
    .examples = "  troupe actors\n"
                "  troupe actors '/default/development/fan-out-*/squares[*]'\n"
                "  troupe actors --state /default/development/fan-out\n"
                "  troupe actors --resume /sys/refresh/armada/default",
    .options = actors_options,
    .outputs = "table|json|yaml|name",
    .has_store = true,
    .words_max = 1,
    .run = run_actors,
};

/* ------------------------------------------------------------------------- metrics */

static int take_metric(void *self, const struct tri_request *request)
{
    struct listing *listing = self;
    struct tr_metric_row row;
    int error = tr_metric_row_unpack(request->body, request->version, &row);
    if (error != 0) {
        return error;
    }
    listing->shown++;
    if (listing->has_document) {
        tr_document_begin_map(&listing->document, NULL);
        tr_document_text(&listing->document, "name", row.name);
        tr_document_number(&listing->document, "value", (int64_t)row.value);
        tr_document_text(&listing->document, "about", row.about);
        tr_document_end(&listing->document);
    } else {
        fprintf(tr_console_out(), "%-24.*s %16llu  %.*s\n", (int)row.name.size, row.name.data,
                (unsigned long long)row.value, (int)row.about.size, row.about.data);
    }
    return 0;
}

/* Prints the engine's text as it is. */
static enum tr_exit_status print_exposed(const struct tr_invocation *invocation,
                                         const struct tri_request *answer)
{
    struct tr_metrics_exposed exposed;
    struct tr_answered refused;
    if (answer->type == tr_metrics_exposed_schema.id &&
        tr_metrics_exposed_unpack(answer->body, answer->version, &exposed) == 0) {
        (void)fwrite(exposed.text.data, 1, exposed.text.size, tr_console_out());
        return TR_EXIT_DONE;
    }
    bool has_words = answer->type == tr_answered_schema.id &&
                     tr_answered_unpack(answer->body, answer->version, &refused) == 0;
    struct tr_text words = has_words ? refused.message : tr_text_of("it makes no sense");
    return tr_command_failed(invocation->command, "the engine's answer: %.*s", (int)words.size,
                             words.data);
}

static enum tr_exit_status expose(const struct tr_invocation *invocation)
{
    struct tr_store_place store;
    struct tri_client *client;
    struct tri_request answer;
    enum tr_exit_status status = tr_store_find(invocation, false, &store);
    if (status == TR_EXIT_DONE) {
        status = tr_connect_live(invocation, store.folder, &client);
    }
    if (status != TR_EXIT_DONE) {
        return status;
    }
    int error = tr_client_call(client, &tr_expose_metrics_schema, &(struct tr_expose_metrics){},
                               &tr_metrics_exposed_schema, 0, NULL, NULL, &answer);
    status = error == 0 ? print_exposed(invocation, &answer)
                        : tr_command_failed(invocation->command, "the engine did not answer: %s",
                                            tr_error_text(error));
    tri_client_close(client);
    return status;
}

static enum tr_exit_status run_metrics(const struct tr_invocation *invocation)
{
    if (tr_arguments_has(&invocation->arguments, "prometheus")) {
        return tr_arguments_has(&invocation->arguments, "output")
                   ? tr_command_refused(invocation->command,
                                        "--prometheus is a form of its own: leave -o out")
                   : expose(invocation);
    }
    return list(invocation, &tr_list_metrics_schema, &(struct tr_list_metrics){}, take_metric);
}

static const struct tr_option metrics_options[] = {
    {0, "prometheus", NULL, "print all metrics in the text format of Prometheus", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_metrics = {
    .name = "metrics",
    .summary = "print the figures of the live engine",
    .words = "",
    .text = "Without an option, the figures of its actors. --prometheus prints all there are, of\n"
            "executions, attempts, back ends, the journal and memory, too; deploy/METRICS.md has\n"
            "each of them, a dashboard and alerts.",
    .examples = "  troupe metrics\n"
                "  troupe metrics --prometheus",
    .options = metrics_options,
    .outputs = "table|json|yaml",
    .has_store = true,
    .run = run_metrics,
};
