/*
 * Replaying a recording: its entries, one by one, into a sandbox that has what the engine's
 * handlers look at: graphs from the store, plugins, and the services when it was recorded. A
 * recording that the engine is making is replayed as it comes: what was played is forgotten.
 */
#include "deploy/debug/replay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "deploy/cli/diagnostics.h"
#include "deploy/cli/store.h"
#include "deploy/common/file.h"
#include "deploy/common/schemas.h"
#include "deploy/console/console.h"
#include "deploy/debug/replay_show.h"
#include "deploy/engine/assemble.h"
#include "deploy/graphs/graphs.h"
#include "deploy/server/recording_context.h"
#include "deploy/settings/settings.h"
#include "runtime/env/buffer.h"
#include "runtime/memory.h"
#include "runtime/trace/recording.h"

#define SINK_BYTES 65536

/* Messages that are shown of an actor where nobody says how many. */
#define EFFECTS_MAX 1000

/* One replay. */
struct replay {
    const struct tr_invocation *invocation;
    const char *path;
    struct tr_recording_reader reader;
    struct tr_recording head;
    struct tr_engine *engine;
    struct tri_sandbox *sandbox;
    struct tr_sink sink;
    struct tr_replay_show show;
    struct tr_store_place store;
    struct tri_store *graphs; /* the store, while they are read */
    struct tr_settings_file settings;
    char buffer[SINK_BYTES];
    uint64_t others; /* messages that went otherwise than recorded */
    bool is_over;    /* the entry that says why there is no more has come */

    /* Of one that is still being made. */
    struct tri_buffer coming; /* behind what was played */
    bool has_begun;           /* the actor is in its sandbox */
    enum tr_exit_status status;
};

/* ------------------------------------------------------------------------- graphs */

/* A graph that cannot be read is missed by the actor that needs it, and by nobody else. */
static int add_graph(void *self, const struct tr_graphs_entry *entry)
{
    struct replay *replay = self;
    struct tr_graph *graph = NULL;
    char words[TRI_STORE_EXPLAIN_BYTES];
    uint64_t number;
    struct tr_bytes hash = {.data = entry->hash, .size = sizeof entry->hash};
    int error = tr_graphs_load(replay->graphs, replay->store.folder, hash, &graph);
    if (error != 0) {
        tr_graphs_explain(words, replay->store.folder, hash, error);
        tr_command_note(replay->invocation, "%s", words);
        return 0;
    }
    return tr_graph_registry_put(&replay->engine->registry, graph, &number);
}

/* A folder without a store has no graphs. */
static int add_graphs(struct replay *replay)
{
    int error = tr_graphs_open(replay->store.folder, NULL, &replay->graphs);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    error = tr_graphs_each(replay->graphs, replay->store.folder, add_graph, replay);
    tri_store_close(replay->graphs);
    return error;
}

static int make_engine(struct replay *replay)
{
    replay->engine = tr_alloc_zero(1, sizeof *replay->engine);
    if (replay->engine == NULL) {
        return TR_MEMORY;
    }
    tr_settings_tables(&replay->settings, replay->engine);
    replay->engine->store_folder = replay->store.folder;
    replay->engine->system_retries = TR_LIVE_SYSTEM_RETRIES;
    int error = tr_recording_context_unpack(replay->head.context, replay->engine);
    return error != 0 ? error : add_graphs(replay);
}

/* ------------------------------------------------------------------------ entries */

/* What is wrong with the file, and where. */
static enum tr_exit_status refuse(const struct replay *replay, int error)
{
    static const char damaged[] = "it is damaged there";
    const char *words = error == TR_TRUNCATED ? "it is cut off in the middle of an entry"
                        : error == TR_MALFORMED || error == TR_LIMIT ? damaged
                                                                     : tr_error_text(error);
    return tr_command_refused(replay->invocation->command, "%s, byte %zu: %s", replay->path,
                              replay->reader.at, words);
}

static enum tr_exit_status refuse_blanked(const struct replay *replay, const char *what)
{
    return tr_command_refused(replay->invocation->command,
                              "%s was made without --with-secrets: %s is blanked, so it cannot be "
                              "replayed any further",
                              replay->path, what);
}

/* The next entry, which is to be of this schema. */
static int expect(struct replay *replay, const struct tr_schema *schema,
                  struct tr_recording_entry *entry)
{
    int error = tr_recording_next(&replay->reader, entry);
    if (error == TR_NOT_FOUND) {
        return TR_TRUNCATED;
    }
    return error == 0 && entry->type != schema->id ? TR_UNKNOWN_TYPE : error;
}

static enum tr_exit_status read_head(struct replay *replay, const char *address)
{
    struct tr_recording_entry entry;
    int error = expect(replay, &tr_recording_schema, &entry);
    if (error == 0) {
        error = tr_recording_unpack(entry.body, entry.version, &replay->head);
    }
    if (error != 0) {
        return refuse(replay, error);
    }
    if (address != NULL && !tr_text_equal(replay->head.address, tr_text_of(address))) {
        return tr_command_refused(replay->invocation->command, "%s is a recording of %.*s",
                                  replay->path, (int)replay->head.address.size,
                                  replay->head.address.data);
    }
    error = make_engine(replay);
    return error == 0 ? TR_EXIT_DONE : refuse(replay, error);
}

static enum tr_exit_status put_actor(struct replay *replay)
{
    struct tr_recording_entry entry;
    struct tr_recorded_image image;
    int error = expect(replay, &tr_recorded_image_schema, &entry);
    if (error == 0) {
        error = tr_recorded_image_unpack(entry.body, entry.version, &image);
    }
    if (error == 0 && image.is_redacted) {
        return refuse_blanked(replay, "the actor's state");
    }
    struct tri_sandbox_options options = {
        .behaviours = tr_live_behaviours,
        .behaviour_count = TR_LIVE_BEHAVIOURS,
        .program = replay->engine,
        .seed = replay->head.seed,
        .ahead_ms = replay->head.ahead_ms,
        .epoch = replay->head.epoch,
        .host = replay->head.host,
    };
    if (error == 0) {
        error = tri_sandbox_new(&options, &replay->sandbox);
    }
    if (error == 0) {
        error = tri_sandbox_put(replay->sandbox, replay->head.actor, image.snapshot);
    }
    return error == 0 ? TR_EXIT_DONE : refuse(replay, error);
}

static enum tr_exit_status handle(struct replay *replay, const struct tr_recording_entry *entry)
{
    struct tr_recorded_message recorded;
    struct tri_sandbox_handled handled;
    struct tri_sandbox_visitor visitor = {.self = &replay->show, .visit = tr_replay_show_effect};
    int error = tr_recorded_message_unpack(entry->body, entry->version, &recorded);
    size_t size;
    if (error == 0) {
        error = tr_envelope_check(recorded.message, &size);
    }
    if (error != 0) {
        return refuse(replay, error);
    }
    if (recorded.is_redacted) {
        return refuse_blanked(replay, "a message");
    }
    tr_replay_show_message(&replay->show, &recorded);
    error = tri_sandbox_handle(replay->sandbox, &recorded, &visitor, &handled);
    if (error != 0) {
        return refuse(replay, error);
    }
    tr_replay_show_end(&replay->show, &recorded, &handled);
    bool is_other = handled.has_other_history || handled.reason != -(int)recorded.reason;
    replay->others += is_other ? 1 : 0;
    return TR_EXIT_DONE;
}

static enum tr_exit_status end(struct replay *replay, const struct tr_recording_entry *entry)
{
    struct tr_recorded_end last;
    int error = tr_recorded_end_unpack(entry->body, entry->version, &last);
    if (error != 0) {
        return refuse(replay, error);
    }
    tr_command_note(replay->invocation, "the recording ends after %llu messages: %.*s",
                    (unsigned long long)last.count, (int)last.message.size, last.message.data);
    replay->is_over = true;
    return TR_EXIT_DONE;
}

/* All messages that there are, up to the end or to what is wrong. */
static enum tr_exit_status play(struct replay *replay, int *error)
{
    struct tr_recording_entry entry;
    enum tr_exit_status status = TR_EXIT_DONE;
    *error = 0;
    while (status == TR_EXIT_DONE && !replay->is_over &&
           (*error = tr_recording_next(&replay->reader, &entry)) == 0) {
        if (entry.type == tr_recorded_message_schema.id) {
            status = handle(replay, &entry);
        } else if (entry.type == tr_recorded_end_schema.id) {
            status = end(replay, &entry);
        } else {
            status = refuse(replay, TR_UNKNOWN_TYPE);
        }
    }
    return status;
}

static enum tr_exit_status play_all(struct replay *replay)
{
    int error = 0;
    enum tr_exit_status status = play(replay, &error);
    if (status == TR_EXIT_DONE && error == TR_NOT_FOUND) {
        tr_command_note(replay->invocation, "the recording was cut off after %llu messages",
                        (unsigned long long)replay->show.number);
        return status;
    }
    return status == TR_EXIT_DONE && error != 0 ? refuse(replay, error) : status;
}

/* ---------------------------------------------------------------------- the command */

static int write_out(void *self, struct tr_text text)
{
    return fwrite(text.data, 1, text.size, self) == text.size ? 0 : TR_CLOSED;
}

/* The actor, as it was when the recording began. */
static enum tr_exit_status begin(struct replay *replay, const char *address)
{
    bool is_json = replay->invocation->output == TR_OUTPUT_JSON;
    replay->sink =
        tr_sink_flushing(replay->buffer, sizeof replay->buffer, write_out, tr_console_out());
    replay->show = (struct tr_replay_show){
        .sink = &replay->sink,
        .form = is_json ? TR_PRINT_JSON : TR_PRINT_LINE,
        .registry = tr_program_schemas(),
    };
    enum tr_exit_status status = read_head(replay, address);
    if (status == TR_EXIT_DONE) {
        status = put_actor(replay);
    }
    struct tr_bytes state;
    int error = status == TR_EXIT_DONE ? tri_sandbox_state(replay->sandbox, &state) : 0;
    if (status == TR_EXIT_DONE && error == 0) {
        tr_replay_show_head(&replay->show, &replay->head, tri_sandbox_behaviour(replay->sandbox),
                            state);
    }
    return error == 0 ? status : refuse(replay, error);
}

static void note_others(const struct replay *replay)
{
    if (replay->others > 0) {
        tr_command_note(replay->invocation, "%llu messages went otherwise than recorded",
                        (unsigned long long)replay->others);
    }
}

static enum tr_exit_status run(struct replay *replay, const char *address)
{
    enum tr_exit_status status = begin(replay, address);
    if (status == TR_EXIT_DONE) {
        status = play_all(replay);
    }
    tr_sink_flush(&replay->sink);
    note_others(replay);
    return status;
}

static void free_replay(struct replay *replay)
{
    if (replay == NULL) {
        return;
    }
    tri_buffer_fini(&replay->coming);
    tri_sandbox_free(replay->sandbox);
    if (replay->engine != NULL) {
        tr_graph_registry_fini(&replay->engine->registry);
        tr_free(replay->engine);
    }
    tr_settings_fini(&replay->settings);
    tr_free(replay);
}

/* A replay with the settings of its store. */
static enum tr_exit_status replay_new(const struct tr_invocation *invocation, const char *path,
                                      struct replay **made)
{
    struct replay *replay = tr_alloc_zero(1, sizeof *replay);
    if (replay == NULL) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(TR_MEMORY));
    }
    replay->invocation = invocation;
    replay->path = path;
    enum tr_exit_status status = tr_store_find(invocation, false, &replay->store);
    if (status == TR_EXIT_DONE) {
        status = tr_diagnostics_load_settings(invocation, replay->store.folder, &replay->settings);
    }
    *made = replay;
    return status;
}

enum tr_exit_status tr_replay(const struct tr_invocation *invocation, const char *path,
                              const char *address)
{
    struct replay *replay = NULL;
    char *data = NULL;
    size_t size = 0;
    int error = 0;
    enum tr_exit_status status = replay_new(invocation, path, &replay);
    if (status == TR_EXIT_DONE) {
        error =
            tr_file_read(path, TR_RECORDING_BYTES_MAX + TR_RECORDING_BODY_BYTES_MAX, &data, &size);
    }
    if (error != 0) {
        status = tr_command_refused(invocation->command, "%s cannot be read: %s", path,
                                    error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    struct tr_bytes bytes = {.data = (const uint8_t *)data, .size = size};
    if (status == TR_EXIT_DONE && tr_recording_begin(bytes, &replay->reader) != 0) {
        status = tr_command_refused(invocation->command, "%s is no recording", path);
    }
    if (status == TR_EXIT_DONE) {
        status = run(replay, address);
    }
    free_replay(replay);
    tr_free(data);
    return status;
}

/* ------------------------------------------------------------------ while it is recorded */

static struct tr_bytes what_came(const struct replay *replay)
{
    return (struct tr_bytes){.data = tri_buffer_front(&replay->coming),
                             .size = tri_buffer_size(&replay->coming)};
}

/* Whether what the recording says of the actor has come as a whole. */
static bool has_actor(const struct replay *replay)
{
    struct tr_recording_reader reader;
    struct tr_recording_entry entry;
    return tr_recording_begin(what_came(replay), &reader) == 0 &&
           tr_recording_next(&reader, &entry) == 0 && tr_recording_next(&reader, &entry) == 0;
}

/*
 * Plays what is whole, and forgets it. Views of the head end with that: nothing looks at them once
 * the actor is in its sandbox.
 */
static void play_what_came(struct replay *replay)
{
    int error = 0;
    if (!replay->has_begun && has_actor(replay)) {
        (void)!tr_recording_begin(what_came(replay), &replay->reader);
        replay->status = begin(replay, NULL);
        replay->has_begun = true;
    } else if (replay->has_begun) {
        replay->reader = (struct tr_recording_reader){.bytes = what_came(replay)};
    }
    if (!replay->has_begun || replay->status != TR_EXIT_DONE) {
        return;
    }
    replay->status = play(replay, &error);
    if (replay->status == TR_EXIT_DONE && error != 0 && error != TR_NOT_FOUND &&
        error != TR_TRUNCATED) {
        replay->status = refuse(replay, error);
    }
    tri_buffer_consume(&replay->coming, replay->reader.at);
}

static int take_bytes(void *self, struct tr_bytes bytes)
{
    struct replay *replay = self;
    int error = tri_buffer_append(&replay->coming, bytes.data, bytes.size);
    if (error != 0) {
        return error;
    }
    play_what_came(replay);
    bool is_written =
        !replay->has_begun || (tr_sink_flush(&replay->sink), fflush(tr_console_out()) == 0);
    bool is_wanted = is_written && !tr_console_is_gone();
    return is_wanted && replay->status == TR_EXIT_DONE ? 0 : TR_CLOSED;
}

enum tr_exit_status tr_replay_live(const struct tr_invocation *invocation)
{
    struct tr_open_recording open = {.limit = EFFECTS_MAX};
    struct replay *replay = NULL;
    enum tr_exit_status status = tr_record_words(invocation, &open);
    if (status == TR_EXIT_DONE) {
        status = replay_new(invocation, invocation->arguments.words[0], &replay);
    }
    open.has_secrets = true; /* the handler needs them; they are not shown */
    if (status == TR_EXIT_DONE) {
        status = tr_record_ask(invocation, &open, take_bytes, replay);
    }
    if (replay != NULL) {
        note_others(replay);
        status = replay->status != TR_EXIT_DONE ? replay->status : status;
        free_replay(replay);
    }
    return status;
}
