/*
 * `troupe plugins`: the plugins that the settings of a store give, where each comes from, what it
 * serves, how its endpoints stand, and whether it is called.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/diagnostics.h"
#include "deploy/cli/store.h"
#include "deploy/common/clock.h"
#include "deploy/common/document.h"
#include "deploy/common/table.h"
#include "deploy/connect/connect.h"
#include "deploy/console/console.h"
#include "deploy/history/executions.h"
#include "deploy/offline/forget_parts.h"
#include "deploy/settings/quarantine.h"
#include "runtime/journal/crashes.h"
#include "schemas/engine/state_refresh.h"
#include "schemas/runtime/request.h"

/* Columns of the table that say how an endpoint stands. */
#define ENDPOINT_COLUMNS 7

struct plugins {
    const struct tr_invocation *invocation;
    struct tr_store_place store;
    struct tr_settings_file settings;
    struct tr_arena arena;
    const struct tr_plugin_standing *standings;
    size_t count;
    bool has_store;             /* something was kept in it */
    struct tri_vector backends; /* struct tr_backend: the newest that was recorded of each */
};

static const char *state_of(const struct tr_plugin_standing *standing)
{
    return standing->known.quarantine == NULL ? "called" : "in quarantine";
}

/* Its endpoints among those of the settings; `from` is where to go on looking. */
static const struct tr_webapi_endpoint *next_endpoint(const struct plugins *plugins,
                                                      const struct tr_plugin *plugin,
                                                      uint32_t *from)
{
    const struct tr_engine_endpoint *endpoints = plugins->settings.endpoints.items;
    while (*from < plugins->settings.endpoints.count) {
        const struct tr_engine_endpoint *found = &endpoints[(*from)++];
        if (found->plugin == plugin) {
            return &found->endpoint;
        }
    }
    return NULL;
}

/* --------------------------------------------------------------------------- backends */

static int take_backend(void *self, const void *value)
{
    struct plugins *plugins = self;
    struct tr_backend *kept = tri_vector_add(&plugins->arena, &plugins->backends, sizeof *kept);
    if (kept == NULL) {
        return TR_MEMORY;
    }
    *kept = *(const struct tr_backend *)value;
    kept->plugin = tr_arena_text(&plugins->arena, kept->plugin);
    kept->endpoint = tr_arena_text(&plugins->arena, kept->endpoint);
    kept->fault = tr_arena_text(&plugins->arena, kept->fault);
    kept->refusal = tr_arena_text(&plugins->arena, kept->refusal);
    kept->version = tr_arena_text(&plugins->arena, kept->version);
    return plugins->arena.error;
}

/* What refresh actors have recorded. */
static int read_backends(struct plugins *plugins, struct tr_reader *reader)
{
    const struct tr_reader_query query = {.record = &tr_backend_schema};
    return plugins->settings.endpoints.count == 0
               ? 0
               : tr_reader_rows(reader, &query, take_backend, plugins);
}

/* How plugins and their back ends stand; in a store without a history nothing has happened. */
static enum tr_exit_status read_standings(struct plugins *plugins)
{
    const struct tr_command *command = plugins->invocation->command;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_quarantine_parts parts = {.count = 0};
    struct tr_reader *reader = NULL;
    int error = tr_history_open(plugins->store.folder, explain, &reader);
    plugins->has_store = error == 0;
    if (error != 0 && error != TR_NOT_FOUND) {
        return tr_command_failed(command, "%s", explain);
    }
    error = plugins->has_store ? tr_reader_crash_parts(reader, parts.items, &parts.count) : 0;
    if (error == 0 && plugins->has_store) {
        error = read_backends(plugins, reader);
    }
    tr_reader_close(reader);
    plugins->standings =
        tr_quarantine_read(&parts, &plugins->settings, &plugins->arena, &plugins->count);
    return error == 0 ? TR_EXIT_DONE : tr_command_failed(command, "%s", tr_error_text(error));
}

/* What is known of an endpoint; zeros before anything was asked of it. */
static struct tr_backend backend_of(const struct plugins *plugins, const struct tr_plugin *plugin,
                                    const struct tr_webapi_endpoint *endpoint)
{
    const struct tr_backend *backends = plugins->backends.items;
    for (uint32_t i = 0; i < plugins->backends.count; i++) {
        if (tr_text_equal(backends[i].plugin, tr_text_of(plugin->id)) &&
            tr_text_equal(backends[i].endpoint, endpoint->name)) {
            return backends[i];
        }
    }
    return (struct tr_backend){.fault = tr_text_of(""), .version = tr_text_of("")};
}

static uint64_t calls_of(const struct tr_backend *backend)
{
    return backend->create_calls + backend->status_calls + backend->cancel_calls +
           backend->find_calls + backend->failures_calls + backend->stream_calls;
}

/* --------------------------------------------------------------------------- documents */

static void write_endpoint(struct tr_document *document, const struct tr_webapi_endpoint *endpoint,
                           const struct tr_backend *backend)
{
    const struct {
        const char *name;
        uint64_t value;
    } figures[] = {
        {"jobs", backend->jobs},
        {"waiting", backend->waiting},
        {"calls", calls_of(backend)},
        {"streams", backend->streams},
        {"throttled", backend->throttled},
        {"failed", backend->failed},
        {"unknown_outcomes", backend->unknown_outcomes},
        {"duplicates", backend->duplicates},
        {"stream_timeouts", backend->stream_timeouts},
        {"unended", backend->unended},
        {"watches", backend->watches},
        {"lists", backend->lists},
        {"gates", backend->gates},
        {"gated", backend->gated},
    };
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "name", endpoint->name);
    tr_document_text(document, "url", endpoint->url);
    tr_document_time(document, "at", backend->at_ms);
    tr_document_text(document, "circuit", tr_text_of(tr_circuit_word(backend->circuit)));
    tr_document_text(document, "fault", backend->fault);
    for (size_t i = 0; i < TR_COUNT_OF(figures); i++) {
        tr_document_number(document, figures[i].name, (int64_t)figures[i].value);
    }
    tr_document_text(document, "refusal", backend->refusal);
    tr_document_text(document, "watched_from", backend->version);
    tr_document_end(document);
}

static void write_plugin(struct tr_document *document, const struct plugins *plugins,
                         const struct tr_plugin_standing *standing)
{
    const struct tr_plugin *plugin = standing->known.plugin;
    const struct tr_webapi_endpoint *endpoint;
    uint32_t from = 0;
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "plugin", tr_text_of(plugin->id));
    tr_document_text(document, "version", tr_text_of(standing->version));
    tr_document_text(document, "path", tr_text_of(standing->path == NULL ? "" : standing->path));
    tr_document_begin_list(document, "task_types");
    for (const char *const *type = plugin->task_types; *type != NULL; type++) {
        tr_document_text(document, NULL, tr_text_of(*type));
    }
    tr_document_end(document);
    tr_document_begin_list(document, "endpoints");
    while ((endpoint = next_endpoint(plugins, plugin, &from)) != NULL) {
        struct tr_backend backend = backend_of(plugins, plugin, endpoint);
        write_endpoint(document, endpoint, &backend);
    }
    tr_document_end(document);
    tr_document_bool(document, "is_quarantined", standing->known.quarantine != NULL);
    tr_document_number(document, "ends", standing->ends);
    tr_document_text(document, "how", tr_text_of(standing->how));
    tr_document_end(document);
}

static void print_document(const struct plugins *plugins)
{
    struct tr_document document;
    tr_document_init(&document, tr_console_out(), plugins->invocation->output);
    tr_document_begin_list(&document, NULL);
    for (size_t i = 0; i < plugins->count; i++) {
        write_plugin(&document, plugins, &plugins->standings[i]);
    }
    tr_document_end(&document);
    tr_document_fini(&document);
}

/* ------------------------------------------------------------------------------- table */

static void add_types(struct tr_table *table, const struct tr_plugin *plugin)
{
    struct tr_buffer types;
    tr_buffer_init(&types, 0);
    for (const char *const *type = plugin->task_types; *type != NULL; type++) {
        tr_buffer_print(&types, "%s%s", types.size > 0 ? ", " : "", *type);
    }
    tr_table_print(table, "%.*s", (int)types.size, (const char *)types.data);
    tr_buffer_fini(&types);
}

/* Tasks that wait for room: here, and at the back end, where a quota is used up. */
static void add_waiting(struct tr_table *table, const struct tr_backend *backend)
{
    if (backend->gated == 0) {
        tr_table_print(table, "%llu", (unsigned long long)backend->waiting);
        return;
    }
    tr_table_print(table, "%llu, %llu for a quota", (unsigned long long)backend->waiting,
                   (unsigned long long)backend->gated);
}

/* Lists and watches that are open, and where the widest one goes on from. */
static void add_watches(struct tr_table *table, const struct tr_backend *backend)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    if (backend->lists > 0) {
        tr_buffer_print(&words, "%llu listed", (unsigned long long)backend->lists);
    }
    if (backend->watches > 0) {
        tr_buffer_print(&words, "%s%llu watched", words.size > 0 ? ", " : "",
                        (unsigned long long)backend->watches);
    }
    if (words.size > 0 && backend->version.size > 0) {
        tr_buffer_print(&words, " from %.*s", TRI_TEXT(backend->version));
    }
    tr_table_print(table, "%.*s", TRI_SHOWN(tr_buffer_text(&words)));
    tr_buffer_fini(&words);
}

static void add_endpoint(struct tr_table *table, const struct plugins *plugins,
                         const struct tr_plugin *plugin, const struct tr_webapi_endpoint *endpoint)
{
    struct tr_backend backend = backend_of(plugins, plugin, endpoint);
    tr_table_print(table, "%.*s", TRI_TEXT(endpoint->name));
    tr_table_print(table, "%.*s", TRI_TEXT(endpoint->url));
    tr_table_print(table, "%s%s%.*s", tr_circuit_word(backend.circuit),
                   backend.fault.size > 0 ? ": " : "", TRI_TEXT(backend.fault));
    tr_table_print(table, "%llu", (unsigned long long)backend.jobs);
    add_waiting(table, &backend);
    add_watches(table, &backend);
    tr_table_print(table, "%llu", (unsigned long long)calls_of(&backend));
}

/* A row for each of its endpoints, or one. */
static void add_rows(struct tr_table *table, const struct plugins *plugins,
                     const struct tr_plugin_standing *standing)
{
    const struct tr_plugin *plugin = standing->known.plugin;
    uint32_t from = 0;
    const struct tr_webapi_endpoint *endpoint = next_endpoint(plugins, plugin, &from);
    do {
        tr_table_text(table, tr_text_of(plugin->id));
        tr_table_text(table, tr_text_of(standing->version));
        tr_table_text(table, tr_text_of(state_of(standing)));
        add_types(table, plugin);
        if (endpoint != NULL) {
            add_endpoint(table, plugins, plugin, endpoint);
            endpoint = next_endpoint(plugins, plugin, &from);
        } else {
            for (int i = 0; i < ENDPOINT_COLUMNS; i++) {
                tr_table_text(table, tr_text_of(""));
            }
        }
        tr_table_text(table, tr_text_of(standing->path == NULL ? "" : standing->path));
    } while (endpoint != NULL);
}

/* Jobs that a back end keeps although they are to be ended, with its words. */
static void note_unended(const struct plugins *plugins, const struct tr_plugin *plugin)
{
    const struct tr_webapi_endpoint *endpoint;
    uint32_t from = 0;
    while ((endpoint = next_endpoint(plugins, plugin, &from)) != NULL) {
        struct tr_backend backend = backend_of(plugins, plugin, endpoint);
        if (backend.unended > 0) {
            tr_command_note(
                plugins->invocation, "endpoint %.*s of '%s' has not ended %llu job%s: %.*s",
                TRI_TEXT(endpoint->name), plugin->id, (unsigned long long)backend.unended,
                backend.unended == 1 ? "" : "s", TRI_TEXT(backend.refusal));
        }
    }
}

static enum tr_exit_status print_table(const struct plugins *plugins)
{
    static const char *const heads[] = {"PLUGIN",   "VERSION", "STATE",   "TASK TYPES",
                                        "ENDPOINT", "URL",     "CIRCUIT", "JOBS",
                                        "WAITING",  "WATCH",   "CALLS",   "FILE"};
    struct tr_table table;
    tr_table_init(&table, TR_COUNT_OF(heads));
    for (size_t i = 0; i < TR_COUNT_OF(heads); i++) {
        tr_table_text(&table, tr_text_of(heads[i]));
    }
    for (size_t i = 0; i < plugins->count; i++) {
        add_rows(&table, plugins, &plugins->standings[i]);
    }
    int error = tr_table_write(&table, 0, tr_console_out());
    tr_table_fini(&table);
    for (size_t i = 0; i < plugins->count; i++) {
        if (plugins->standings[i].known.quarantine != NULL) {
            tr_command_note(plugins->invocation, "%s", plugins->standings[i].known.quarantine);
        }
        note_unended(plugins, plugins->standings[i].known.plugin);
    }
    return error == 0 ? TR_EXIT_DONE
                      : tr_command_failed(plugins->invocation->command, "%s", tr_error_text(error));
}

static enum tr_exit_status print(const struct plugins *plugins)
{
    enum tr_output output = plugins->invocation->output;
    if (output == TR_OUTPUT_JSON || output == TR_OUTPUT_YAML) {
        print_document(plugins);
        return TR_EXIT_DONE;
    }
    if (output != TR_OUTPUT_NAME) {
        return print_table(plugins);
    }
    for (size_t i = 0; i < plugins->count; i++) {
        fprintf(tr_console_out(), "%s\n", plugins->standings[i].known.plugin->id);
    }
    return TR_EXIT_DONE;
}

/* ----------------------------------------------------------------------------- release */

/* How long an engine that comes or goes meanwhile is waited for. */
#define REACH_MS 10000
#define RETRY_MS 20

static int ask_to_release(struct tri_client *client, const char *id)
{
    struct tr_release_plugin release = {.plugin = tr_text_of(id)};
    struct tr_answered answered;
    struct tri_request answer;
    int error = tr_client_call(client, &tr_release_plugin_schema, &release, &tr_answered_schema, 0,
                               NULL, NULL, &answer);
    if (error == 0) {
        error = tr_answered_unpack(answer.body, answer.version, &answered);
    }
    return error != 0 ? error : (int)answered.error;
}

/* By the engine of the store, or in its place. */
static enum tr_exit_status release_once(const struct plugins *plugins, const char *id,
                                        bool *is_locked)
{
    const struct tr_invocation *invocation = plugins->invocation;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_client *client = NULL;
    int error;
    enum tr_exit_status status = tr_connect_if_live(invocation, plugins->store.folder, &client);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    if (client != NULL) {
        error = ask_to_release(client, id);
        tri_client_close(client);
        snprintf(explain, sizeof explain, "the engine refuses this: %s", tr_error_text(error));
    } else {
        error = tr_forget_parts(plugins->store.folder, tr_quarantine_is_of, id, explain);
        *is_locked = error == TR_STORE_LOCKED;
    }
    return error == 0 || *is_locked ? TR_EXIT_DONE
                                    : tr_command_failed(invocation->command, "%s", explain);
}

static enum tr_exit_status release_somewhere(const struct plugins *plugins, const char *id)
{
    uint64_t end_ms = tr_clock_ms() + REACH_MS;
    bool is_locked = false;
    enum tr_exit_status status = release_once(plugins, id, &is_locked);
    while (is_locked && tr_clock_ms() < end_ms) {
        (void)poll(NULL, 0, RETRY_MS);
        is_locked = false;
        status = release_once(plugins, id, &is_locked);
    }
    return is_locked ? tr_command_failed(plugins->invocation->command,
                                         "another command has the store %s", plugins->store.folder)
                     : status;
}

static enum tr_exit_status release(const struct plugins *plugins, const char *id)
{
    const struct tr_plugin_standing *standing = NULL;
    for (size_t i = 0; i < plugins->count; i++) {
        if (strcmp(plugins->standings[i].known.plugin->id, id) == 0) {
            standing = &plugins->standings[i];
        }
    }
    if (standing == NULL) {
        return tr_command_refused(plugins->invocation->command,
                                  "there is no plugin '%.60s'; `troupe plugins` lists them", id);
    }
    if (plugins->has_store) {
        enum tr_exit_status status = release_somewhere(plugins, id);
        if (status != TR_EXIT_DONE) {
            return status;
        }
    }
    tr_command_note(plugins->invocation,
                    standing->ends == 0
                        ? "the plugin '%s' has not ended the engine"
                        : "the plugin '%s' is called again by engines that start from now on",
                    id);
    return TR_EXIT_DONE;
}

/* ------------------------------------------------------------------------- the command */

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct plugins plugins = {.invocation = invocation};
    const char *released = tr_arguments_value(&invocation->arguments, "release");
    enum tr_exit_status status = tr_store_find(invocation, released == NULL, &plugins.store);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    tr_arena_init(&plugins.arena);
    status = tr_diagnostics_load_settings(invocation, plugins.store.folder, &plugins.settings);
    if (status == TR_EXIT_DONE) {
        status = read_standings(&plugins);
    }
    if (status == TR_EXIT_DONE) {
        status = released != NULL ? release(&plugins, released) : print(&plugins);
    }
    tr_settings_fini(&plugins.settings);
    tr_arena_fini(&plugins.arena);
    return status;
}

static const struct tr_option options[] = {
    {0, "release", "PLUGIN", "take it out of quarantine: forget that it ended the engine", NULL, 0,
     false},
    {0},
};

const struct tr_command tr_command_plugins = {
    .name = "plugins",
    .summary = "list the plugins, where they come from and whether they are called",
    .words = "",
    .text =
        "A plugin that has ended the engine twice, by a crash or since it did not return, is in\n"
        "quarantine: its tasks fail as PluginQuarantined, and all else goes on. A changed file\n"
        "lifts that, and so does --release, from the next start of the engine on.",
    .examples = "  troupe plugins\n"
                "  troupe plugins -o json\n"
                "  troupe plugins --release mine",
    .options = options,
    .outputs = "table|json|yaml|name",
    .has_store = true,
    .run = run,
};
