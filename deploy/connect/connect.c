/*
 * A store has one engine: a command that comes second is its client.
 */
#include "deploy/connect/connect.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "deploy/cli/store_modes.h"
#include "deploy/common/clock.h"
#include "deploy/common/show.h"
#include "deploy/connect/active_host.h"
#include "deploy/history/executions.h"
#include "runtime/link/preflight.h"
#include "schemas/runtime/request.h"

/* How long an engine that is about to open its socket, or to leave, is waited for. */
#define REACH_MS 10000
#define RETRY_MS 20

/* How long one that was just started is waited for, and how often it is looked for. */
#define WAIT_MS 1000
#define LOOK_MS 5

/* A clock that was put back by less is not worth a word. */
#define PUT_BACK_TOLD_MS 2000

/* How long an engine may take to answer. */
#define HELLO_MS 5000

/* How long one that closes its socket at once is asked again: it may be about to leave. */
#define FULL_MS 1000
#define FULL                                                                                    \
    "the engine of %s takes no more clients: it has as many as its limit of open files leaves " \
    "(LimitNOFILE= of its unit, or `ulimit -n` where it was started); end some of them"

/* The command that opens it. */
struct engine {
    struct tri_client *client;
    uint64_t pid;
    char command[32];
    uint32_t jobs;
};

static int greet(struct engine *engine, bool asks_more)
{
    struct tri_request answer;
    struct tr_welcome welcome;
    struct tr_hello hello = {.program = tr_text_of(TR_PROGRAM_VERSION), .asks_more = asks_more};
    int error = tr_client_call(engine->client, &tr_hello_schema, &hello, &tr_welcome_schema,
                               HELLO_MS, NULL, NULL, &answer);
    if (error == 0 && answer.type != tr_welcome_schema.id) {
        return TR_VERSION;
    }
    if (error == 0) {
        error = tr_welcome_unpack(answer.body, answer.version, &welcome);
    }
    if (error == 0) {
        engine->pid = welcome.pid;
        engine->jobs = welcome.jobs;
        snprintf(engine->command, sizeof engine->command, "%.*s", (int)welcome.command.size,
                 welcome.command.data);
    }
    return error;
}

/* Whether somebody opens, and stays for what is asked next. */
static int knock(const char *folder, bool asks_more, struct engine *out)
{
    struct engine engine;
    int error = tri_client_open(folder, &engine.client);
    if (error != 0) {
        return error;
    }
    error = greet(&engine, asks_more);
    if (error != 0) {
        tri_client_close(engine.client);
        return error;
    }
    *out = engine;
    return 0;
}

/*
 * The same, and of a store in a database whose work another host has the engine of that one, if its
 * folder is on this machine. `elsewhere` gets where that host is; an empty name: nowhere else.
 */
static int knock_anywhere(const char *folder, bool asks_more, struct engine *engine,
                          struct tr_active_host *elsewhere)
{
    elsewhere->name[0] = '\0';
    int error = knock(folder, asks_more, engine);
    if (error != TR_NO_CONNECTION) {
        return error;
    }
    if (!tr_active_host_find(folder, elsewhere) || elsewhere->is_this) {
        elsewhere->name[0] = '\0';
        return error;
    }
    return elsewhere->is_near ? knock(elsewhere->folder, asks_more, engine) : error;
}

#define ELSEWHERE                                                                              \
    "host %s is active on this store, in the folder %.150s of %s, and this folder is that of " \
    "another host; use that one"

/* Whether no engine could begin there either; `explain` says why. */
static bool is_damaged(const char *folder, char *explain)
{
    struct tr_reader *reader;
    int error = tr_history_open(folder, explain, &reader);
    if (error == 0) {
        tr_reader_close(reader);
    }
    return error == TR_STORE_DAMAGED;
}

enum tr_exit_status tr_connect_if_live(const struct tr_invocation *invocation, const char *folder,
                                       struct tri_client **client)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    struct engine engine = {.client = NULL};
    char words[TRI_PREFLIGHT_WORDS_BYTES];
    struct tr_active_host elsewhere;
    int error = knock_anywhere(folder, true, &engine, &elsewhere);
    if (error == TR_NO_CONNECTION && elsewhere.name[0] != '\0') {
        return tr_command_failed(invocation->command, ELSEWHERE, elsewhere.name, elsewhere.folder,
                                 elsewhere.machine);
    }
    if (error == TR_NO_CONNECTION && is_damaged(folder, explain)) {
        return tr_command_failed(invocation->command, "%s", explain);
    }
    if (error == TR_BUSY) {
        return tr_command_failed(invocation->command, FULL, folder);
    }
    if (error == TR_LIMIT && tri_preflight_check(TRI_PREFLIGHT_CLIENT_NEEDS, words) != 0) {
        return tr_command_failed(invocation->command,
                                 "to talk with an engine this command needs %s", words);
    }
    if (error != 0 && error != TR_NO_CONNECTION) {
        return tr_command_failed(invocation->command, "the engine of %s does not answer: %s",
                                 folder, tr_error_text(error));
    }
    *client = engine.client;
    return TR_EXIT_DONE;
}

enum tr_exit_status tr_connect_live(const struct tr_invocation *invocation, const char *folder,
                                    struct tri_client **client)
{
    enum tr_exit_status status = tr_connect_if_live(invocation, folder, client);
    if (status == TR_EXIT_DONE && *client == NULL) {
        return tr_command_failed(invocation->command,
                                 "no engine runs on %s; `troupe serve` starts one that stays, "
                                 "`troupe resume` one that goes on with what is unfinished",
                                 folder);
    }
    return status;
}

void tr_connect_wait(const char *folder)
{
    uint64_t end_ms = tr_clock_ms() + WAIT_MS;
    struct engine engine;
    while (knock(folder, false, &engine) != 0) {
        if (tr_clock_ms() >= end_ms) {
            return;
        }
        (void)poll(NULL, 0, LOOK_MS);
    }
    tri_client_close(engine.client);
}

uint32_t tr_connect_jobs(const char *folder)
{
    struct engine engine;
    if (knock(folder, false, &engine) != 0) {
        return 0;
    }
    tri_client_close(engine.client);
    return engine.jobs;
}

/* One of both, or the store's error, with words. An engine that is found stays if more is asked. */
static int become_or_find(const struct tr_live_options *options, bool asks_more, char *explain,
                          struct tr_live **live, struct engine *engine)
{
    uint64_t end_ms = tr_clock_ms() + REACH_MS;
    struct tr_active_host elsewhere = {.name = ""};
    int error;
    do {
        error = tr_live_open(options, explain, live);
        int knocked = TR_NOT_FOUND;
        if (error == TR_STORE_LOCKED || error == TR_STORE_FOREIGN) {
            knocked = asks_more ? knock_anywhere(options->folder, asks_more, engine, &elsewhere)
                                : knock(options->folder, asks_more, engine);
        }
        if (knocked == 0) {
            return 0;
        }
        if (knocked == TR_BUSY) {
            uint64_t full_ms = tr_clock_ms() + FULL_MS;
            end_ms = full_ms < end_ms ? full_ms : end_ms;
            snprintf(explain, TRI_STORE_EXPLAIN_BYTES, FULL, options->folder);
        }
        if (error == TR_STORE_LOCKED && elsewhere.name[0] != '\0') {
            snprintf(explain, TRI_STORE_EXPLAIN_BYTES, ELSEWHERE, elsewhere.name, elsewhere.folder,
                     elsewhere.machine);
            return error;
        }
        if (error == TR_STORE_LOCKED) {
            (void)poll(NULL, 0, RETRY_MS);
        }
    } while (error == TR_STORE_LOCKED && tr_clock_ms() < end_ms);
    return error;
}

/* With a clock that was ahead, times in the history are ahead, too. */
static void note_clock(const struct tr_invocation *invocation, uint64_t put_back_ms)
{
    struct tr_buffer span;
    if (put_back_ms < PUT_BACK_TOLD_MS) {
        return;
    }
    tr_buffer_init(&span, 0);
    tr_span_print(put_back_ms, &span);
    tr_command_note(invocation,
                    "the clock was put back by %.*s since the engine before; what waits goes on as "
                    "if it had not been, and earlier times in the history are ahead",
                    (int)span.size, (const char *)span.data);
    tr_buffer_fini(&span);
}

/*
 * What is told once, when an engine begins here: that its store is open, that the clock was put
 * back, and which plugins it does not call.
 */
static void note_beginning(const struct tr_invocation *invocation, const struct tr_live *live)
{
    if (live != NULL) {
        tr_store_modes_check(invocation, live->folder);
        note_clock(invocation, tr_host_put_back_ms(live->host));
    }
    for (size_t i = 0; live != NULL && i < live->engine->known_count; i++) {
        if (live->engine->known[i].quarantine != NULL) {
            tr_command_note(invocation, "%s", live->engine->known[i].quarantine);
        }
    }
}

/* So are executions that it has not loaded. */
static void note_aside(const struct tr_invocation *invocation, const struct tr_live *live)
{
    for (uint32_t i = 0; live != NULL && i < live->dormant.count; i++) {
        struct tr_text address = live->dormant.items[i].address;
        if (live->dormant.items[i].is_aside) {
            tr_command_note(invocation,
                            "%.*s is set aside, since loading it has ended %d starts in a row; "
                            "`troupe explain %.*s` says more",
                            (int)address.size, address.data, TR_ASIDE_ENDS, (int)address.size,
                            address.data);
        }
    }
}

/* How an engine is to be is said to the one that begins: another command cannot change it. */
static const char *engine_option(const struct tr_invocation *invocation)
{
    static const char *const options[] = {"jobs", "durability", "resources"};
    for (size_t i = 0; i < TR_COUNT_OF(options); i++) {
        if (tr_arguments_has(&invocation->arguments, options[i])) {
            return options[i];
        }
    }
    return NULL;
}

enum tr_exit_status tr_connect_or_open(const struct tr_invocation *invocation,
                                       const struct tr_live_options *options,
                                       struct tr_connection *connection)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    struct engine engine = {.client = NULL};
    *connection = (struct tr_connection){.live = NULL};
    int error = become_or_find(options, true, explain, &connection->live, &engine);
    const char *option = engine.client == NULL ? NULL : engine_option(invocation);
    if (option != NULL) {
        tri_client_close(engine.client);
        return tr_command_refused(invocation->command,
                                  "--%s configures an engine that starts, and %s has one: `troupe "
                                  "%s`, process %llu; leave it out, or stop that one",
                                  option, options->folder, engine.command,
                                  (unsigned long long)engine.pid);
    }
    connection->client = engine.client;
    connection->jobs = connection->live != NULL ? tr_live_jobs(connection->live) : engine.jobs;
    note_beginning(invocation, connection->live);
    note_aside(invocation, connection->live);
    return error == 0 ? TR_EXIT_DONE : tr_command_failed(invocation->command, "%s", explain);
}

enum tr_exit_status tr_connect_as_engine(const struct tr_invocation *invocation,
                                         const struct tr_live_options *options,
                                         struct tr_live **live)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    struct engine engine = {.client = NULL};
    int error = become_or_find(options, false, explain, live, &engine);
    /*
     * The others have all of the work meanwhile, and give some of it; or the database was too busy,
     * as when many hosts begin at once.
     */
    bool passes = error == TR_STORE_FOREIGN || error == TR_FENCED || error == TR_BUSY;
    if (passes && options->host_address != NULL) {
        tr_command_note(invocation, "joining anew: %s", explain);
        return TR_EXIT_DONE;
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s", explain);
    }
    if (engine.client == NULL) {
        note_beginning(invocation, *live);
        note_aside(invocation, *live);
        return TR_EXIT_DONE;
    }
    tri_client_close(engine.client);
    bool is_service = strcmp(engine.command, "serve") == 0;
    return tr_command_failed(invocation->command,
                             "%s has an engine already: `troupe %s`, process %llu%s; stop that "
                             "one, or name another store with --store",
                             options->folder, engine.command, (unsigned long long)engine.pid,
                             is_service ? "" : ", which leaves when its work has ended");
}

void tr_connection_close(struct tr_connection *connection)
{
    char folder[PATH_MAX] = "";
    if (connection->live != NULL && connection->live->is_detaching) {
        snprintf(folder, sizeof folder, "%s", connection->live->folder);
    }
    tr_live_close(connection->live);
    tri_client_close(connection->client);
    if (folder[0] != '\0') {
        tr_connect_wait(folder);
    }
    *connection = (struct tr_connection){.live = NULL};
}
