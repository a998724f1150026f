/*
 * `troupe ping`: whether the engine of a store lives and gets on, for people and for probes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/moment.h"
#include "actors/graph/document/usage.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"
#include "deploy/common/client.h"
#include "deploy/common/document.h"
#include "deploy/connect/active_host.h"
#include "deploy/console/console.h"
#include "runtime/journal/store_folder.h"
#include "schemas/runtime/request.h"

/* How long an engine may take to answer, unless the command says otherwise, and at most. */
#define ANSWER_MS 5000
#define ANSWER_MS_MAX (60 * 60 * 1000)

/* A commit that takes longer stands still; deploy/package/alerts.yaml has the same bound. */
#define COMMIT_MS_MAX 30000

/* What was found, and the words for programs. */
#define STATES(S)         \
    S(HEALTHY, "healthy") \
    S(STUCK, "stuck")     \
    S(SILENT, "silent")   \
    S(NONE, "none")       \
    S(STANDING_BY, "standing by") /* for the host that has the work of the store */

enum state {
#define STATE(name, word) STATE_##name,
    STATES(STATE)
#undef STATE
};

static const char *const state_words[] = {
#define STATE(name, word) [STATE_##name] = word,
    STATES(STATE)
#undef STATE
};

struct pinging {
    const struct tr_invocation *invocation;
    struct tr_store_place store;
    uint32_t timeout_ms;
    enum state state;
    bool has_answer; /* `answer` is one */
    struct tr_engine_pinged answer;
    struct tr_buffer problem; /* why it is not healthy */
};

/* ------------------------------------------------------------------------- judging */

static void find_stuck(struct pinging *pinging)
{
    const struct tr_engine_pinged *answer = &pinging->answer;
    struct tr_buffer *problem = &pinging->problem;
    if (answer->waits_for == TR_STORE_FULL) {
        tr_buffer_add_string(problem, "its disk is full: nothing is written until there is room");
    } else if (answer->waits_for != 0) {
        tr_buffer_print(problem, "nothing can be written: %s",
                        tr_error_text((int)answer->waits_for));
    } else if (answer->current_commit_ms > COMMIT_MS_MAX) {
        tr_buffer_add_string(problem, "its disk hangs: a commit has taken ");
        tr_span_print(answer->current_commit_ms, problem);
        tr_buffer_add_string(problem, " so far");
    } else if (answer->workers != 0) {
        tr_buffer_print(problem, "a worker does not answer: %s",
                        answer->workers == TR_TIMEOUT ? "a handler does not return"
                                                      : tr_error_text((int)answer->workers));
    }
    pinging->state = problem->size > 0 ? STATE_STUCK : STATE_HEALTHY;
}

/* Without an answer, whether there is somebody who could give one. */
static void find_silent(struct pinging *pinging, int error)
{
    bool is_held;
    struct tr_active_host active;
    uint64_t process = tri_store_folder_holder(pinging->store.folder, &is_held);
    if (is_held && error == TR_NO_CONNECTION &&
        tr_active_host_find(pinging->store.folder, &active) && active.stands_by) {
        pinging->state = STATE_STANDING_BY;
        tr_buffer_print(&pinging->problem, "process %llu stands by: host %s is active, in %s of %s",
                        (unsigned long long)process, active.name, active.folder, active.machine);
        return;
    }
    pinging->state = is_held || error == TR_TIMEOUT || error == TR_BUSY || error == TR_VERSION
                         ? STATE_SILENT
                         : STATE_NONE;
    if (pinging->state == STATE_NONE) {
        tr_buffer_add_string(&pinging->problem, "no engine runs on it");
        return;
    }
    tr_buffer_print(&pinging->problem, "its process %llu ", (unsigned long long)process);
    if (error == TR_TIMEOUT) {
        tr_buffer_add_string(&pinging->problem, "does not answer within ");
        tr_span_print(pinging->timeout_ms, &pinging->problem);
        tr_buffer_add_string(&pinging->problem, ": it is stopped, hangs, or has too little of the "
                                                "machine");
    } else if (error == TR_VERSION) {
        tr_buffer_add_string(&pinging->problem, "is an engine of a version that knows no ping");
    } else if (error == TR_BUSY) {
        tr_buffer_add_string(&pinging->problem,
                             "takes no more clients: it has as many as its limit of open files "
                             "leaves");
    } else {
        tr_buffer_add_string(&pinging->problem,
                             "has the store and takes no questions: it begins, ends, or is no "
                             "engine");
    }
}

/* --------------------------------------------------------------------------- asking */

static int read_answer(struct pinging *pinging, const struct tri_request *answer)
{
    if (answer->type != tr_engine_pinged_schema.id) {
        return TR_VERSION;
    }
    return tr_engine_pinged_unpack(answer->body, answer->version, &pinging->answer);
}

/* The client stays open as long as the answer's texts are looked at. */
static int ask(struct pinging *pinging, struct tri_client **client)
{
    struct tri_request answer;
    const struct tr_ping_engine ping = {};
    int error = tri_client_open(pinging->store.folder, client);
    if (error != 0) {
        return error;
    }
    error = tr_client_call(*client, &tr_ping_engine_schema, &ping, &tr_engine_pinged_schema,
                           pinging->timeout_ms, NULL, NULL, &answer);
    return error != 0 ? error : read_answer(pinging, &answer);
}

/* -------------------------------------------------------------------------- telling */

static void print_healthy(const struct pinging *pinging)
{
    const struct tr_engine_pinged *answer = &pinging->answer;
    struct tr_buffer line;
    tr_buffer_init(&line, 0);
    tr_buffer_print(&line, "engine %llu of %s lives, %llu execution%s active",
                    (unsigned long long)answer->pid, pinging->store.folder,
                    (unsigned long long)answer->executions, answer->executions == 1 ? "" : "s");
    if (answer->dormant > 0) {
        tr_buffer_print(&line, ", %llu dormant", (unsigned long long)answer->dormant);
    }
    tr_buffer_add_string(&line, ", last commit ");
    tr_span_print(answer->last_commit_ms, &line);
    tr_buffer_add_string(&line, " ago");
    fprintf(tr_console_out(), "%.*s\n", (int)line.size, (const char *)line.data);
    tr_buffer_fini(&line);
}

static void write_figures(const struct pinging *pinging, struct tr_document *document)
{
    const struct tr_engine_pinged *answer = &pinging->answer;
    if (!pinging->has_answer) {
        tr_document_null(document, "engine");
        return;
    }
    tr_document_begin_map(document, "engine");
    tr_document_number(document, "pid", (int64_t)answer->pid);
    tr_document_text(document, "version", answer->program);
    tr_document_text(document, "command", answer->command);
    tr_document_number(document, "executions", (int64_t)answer->executions);
    tr_document_number(document, "dormant", (int64_t)answer->dormant);
    tr_document_number(document, "last_commit_ms", (int64_t)answer->last_commit_ms);
    tr_document_number(document, "current_commit_ms", (int64_t)answer->current_commit_ms);
    tr_document_end(document);
}

static void write_document(const struct pinging *pinging)
{
    struct tr_document document;
    tr_document_init(&document, tr_console_out(), pinging->invocation->output);
    tr_document_begin_map(&document, NULL);
    tr_document_text(&document, "store", tr_text_of(pinging->store.folder));
    tr_document_text(&document, "state", tr_text_of(state_words[pinging->state]));
    if (pinging->problem.size > 0) {
        tr_document_text(&document, "problem", tr_buffer_text(&pinging->problem));
    } else {
        tr_document_null(&document, "problem");
    }
    write_figures(pinging, &document);
    tr_document_end(&document);
    tr_document_fini(&document);
}

static enum tr_exit_status tell(const struct pinging *pinging)
{
    bool is_text = pinging->invocation->output == TR_OUTPUT_TEXT;
    if (!is_text) {
        write_document(pinging);
    }
    if (pinging->state == STATE_HEALTHY) {
        if (is_text) {
            print_healthy(pinging);
        }
        return TR_EXIT_DONE;
    }
    if (pinging->state == STATE_STANDING_BY) {
        if (is_text) {
            fprintf(tr_console_out(), "%s: %.*s\n", pinging->store.folder,
                    (int)pinging->problem.size, (const char *)pinging->problem.data);
        }
        return TR_EXIT_DONE;
    }
    enum tr_exit_status failed =
        tr_command_failed(pinging->invocation->command, "%s: %.*s", pinging->store.folder,
                          (int)pinging->problem.size, (const char *)pinging->problem.data);
    return pinging->state == STATE_NONE ? failed : TR_EXIT_FAILED;
}

/* -------------------------------------------------------------------------- running */

static enum tr_exit_status read_timeout(struct pinging *pinging)
{
    int64_t nanoseconds = 0;
    const char *word = tr_arguments_value(&pinging->invocation->arguments, "timeout");
    pinging->timeout_ms = ANSWER_MS;
    if (word == NULL) {
        return TR_EXIT_DONE;
    }
    bool is_one = tr_duration_parse(tr_text_of(word), &nanoseconds);
    int64_t timeout_ms = nanoseconds / 1000000;
    if (!is_one || timeout_ms < 1 || timeout_ms > ANSWER_MS_MAX) {
        return tr_command_mistake(pinging->invocation->command,
                                  "--timeout: '%.60s' is no time from 1ms to 1h; write 2s", word);
    }
    pinging->timeout_ms = (uint32_t)timeout_ms;
    return TR_EXIT_DONE;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct pinging pinging = {.invocation = invocation};
    struct tri_client *client = NULL;
    enum tr_exit_status status = read_timeout(&pinging);
    if (status == TR_EXIT_DONE) {
        status = tr_store_find(invocation, false, &pinging.store);
    }
    if (status != TR_EXIT_DONE) {
        return status;
    }
    tr_buffer_init(&pinging.problem, 0);
    int error = ask(&pinging, &client);
    pinging.has_answer = error == 0;
    if (error == 0) {
        find_stuck(&pinging);
    } else {
        find_silent(&pinging, error);
    }
    status = tell(&pinging);
    tri_client_close(client);
    tr_buffer_fini(&pinging.problem);
    return status;
}

static const struct tr_option options[] = {
    {0, "timeout", "TIME", "how long the engine may take to answer (5s)", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_ping = {
    .name = "ping",
    .summary = "ask whether the engine lives and gets on",
    .words = "",
    .text =
        "Exits with 0 and one line if the engine of the store is healthy; with 1 if it is stuck:\n"
        "it does not answer, its disk is full or hangs, or a worker does not return; with 4 if\n"
        "there is none. One that stands by for another host is healthy, too. For probes of\n"
        "systemd and Kubernetes, and for scripts.",
    .examples = "  troupe ping --store /var/lib/troupe\n"
                "  troupe ping --timeout 2s -o json",
    .options = options,
    .outputs = "text|json|yaml",
    .has_store = true,
    .run = run,
};
