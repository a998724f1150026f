/*
 * `troupe actors --state`: what one actor of the live engine is, between two messages. The engine
 * is asked for a recording, which begins with the actor's image; it is left when that is here. What
 * is redacted was blanked by the engine.
 */
#include "deploy/debug/actor_state.h"

#include <inttypes.h>
#include <stdio.h>

#include "deploy/common/document.h"
#include "deploy/console/console.h"
#include "deploy/debug/replay.h"
#include "deploy/engine/assemble.h"
#include "runtime/env/buffer.h"
#include "runtime/journal/image_kinds.h"
#include "runtime/trace/recording.h"
#include "schemas/codec/print.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/recording.h"

#define REF_BYTES 64

/* One look. */
struct looking {
    const struct tr_invocation *invocation;
    struct tri_buffer coming;
    enum tr_exit_status status;
    bool is_shown;
};

/* What has come of the actor. */
struct shown {
    struct tr_recording head;
    struct tr_image image;
    const struct tr_behaviour *behaviour;
};

/* What an actor waits for, in words. */
static const char *const kinds[] = {
    [TRI_EDGE_TIMER] = "timer",        [TRI_EDGE_ASK] = "question",
    [TRI_EDGE_CALL] = "call",          [TRI_EDGE_OWED] = "owes an answer",
    [TRI_EDGE_MONITORING] = "watches", [TRI_EDGE_MONITORED] = "is watched by",
    [TRI_EDGE_MUTING] = "holds back",  [TRI_EDGE_BACKOFF] = "restart",
};

static struct tr_text print_ref(char room[REF_BYTES], struct tr_ref ref)
{
    int size = snprintf(room, REF_BYTES, "%" PRIu64 "/%" PRIu64 "@%" PRIu32,
                        tr_group_shown(ref.key.group), ref.key.serial, ref.incarnation);
    return (struct tr_text){.data = room, .size = (size_t)size};
}

/* -------------------------------------------------------------------------- showing */

/* The text is freed by tr_buffer_fini. */
static struct tr_text print_state(const struct shown *shown, enum tr_print_form form,
                                  struct tr_buffer *text)
{
    char room[1024];
    tr_buffer_init(text, 0);
    struct tr_sink sink = tr_buffer_sink(text, room, sizeof room);
    tr_print_body(&sink, form, shown->behaviour->state, shown->image.state_version,
                  shown->image.state);
    tr_sink_flush(&sink);
    return tr_buffer_text(text);
}

/* The next edge; false: there is none, or it makes no sense. */
static bool next_edge(struct tr_cursor *cursor, uint8_t *kind, struct tr_ref *peer, uint64_t *id,
                      uint64_t *due_ms)
{
    bool is_one = tr_read_array(cursor) == 6;
    *kind = tr_read_u8(cursor);
    peer->key.group = tr_read_u64(cursor);
    peer->key.serial = tr_read_u64(cursor);
    peer->incarnation = tr_read_u32(cursor);
    *id = tr_read_u64(cursor);
    *due_ms = tr_read_u64(cursor);
    return is_one && cursor->error == 0 && *kind < TR_COUNT_OF(kinds);
}

static void write_edge(struct tr_document *document, uint8_t kind, struct tr_ref peer, uint64_t id,
                       uint64_t due_ms)
{
    char room[REF_BYTES];
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "kind", tr_text_of(kinds[kind]));
    if (tr_key_is_none(peer.key)) {
        tr_document_null(document, "peer");
    } else {
        tr_document_text(document, "peer", print_ref(room, peer));
    }
    tr_document_number(document, "id", (int64_t)id);
    if (due_ms == 0) {
        tr_document_null(document, "due_at");
    } else {
        tr_document_time(document, "due_at", due_ms);
    }
    tr_document_end(document);
}

static void write_edges(struct tr_document *document, struct tr_bytes edges)
{
    struct tr_cursor cursor = tr_cursor_of(edges);
    uint32_t count = tr_read_array(&cursor);
    uint8_t kind;
    struct tr_ref peer;
    uint64_t id;
    uint64_t due_ms;
    tr_document_begin_list(document, "edges");
    for (uint32_t i = 0; i < count && next_edge(&cursor, &kind, &peer, &id, &due_ms); i++) {
        write_edge(document, kind, peer, id, due_ms);
    }
    tr_document_end(document);
}

static void write_document(const struct looking *looking, const struct shown *shown)
{
    char room[REF_BYTES];
    struct tr_document document;
    struct tr_buffer state;
    struct tr_text text = print_state(shown, TR_PRINT_JSON, &state);
    tr_document_init(&document, tr_console_out(), looking->invocation->output);
    tr_document_begin_map(&document, NULL);
    tr_document_text(&document, "address", shown->head.address);
    tr_document_text(&document, "actor", print_ref(room, shown->head.actor));
    tr_document_text(&document, "behaviour", tr_text_of(shown->behaviour->name));
    if (tr_key_is_none(shown->image.parent.key)) {
        tr_document_null(&document, "parent");
    } else {
        tr_document_text(&document, "parent", print_ref(room, shown->image.parent));
    }
    tr_document_number(&document, "sent", (int64_t)shown->image.sequence);
    write_edges(&document, shown->image.edges);
    tr_document_json(&document, "state", text);
    tr_document_end(&document);
    tr_document_fini(&document);
    tr_buffer_fini(&state);
}

static void print_text(const struct shown *shown)
{
    char room[REF_BYTES];
    struct tr_buffer state;
    struct tr_cursor cursor = tr_cursor_of(shown->image.edges);
    uint32_t count = tr_read_array(&cursor);
    uint8_t kind;
    struct tr_ref peer;
    uint64_t id;
    uint64_t due_ms;
    struct tr_text text = print_state(shown, TR_PRINT_LINE, &state);
    struct tr_text actor = print_ref(room, shown->head.actor);
    fprintf(tr_console_out(), "%.*s  %.*s\n%.*s\n", (int)shown->head.address.size,
            shown->head.address.data, (int)actor.size, actor.data, (int)text.size, text.data);
    for (uint32_t i = 0; i < count && next_edge(&cursor, &kind, &peer, &id, &due_ms); i++) {
        struct tr_text other = print_ref(room, peer);
        fprintf(tr_console_out(), "  %s %.*s\n", kinds[kind],
                tr_key_is_none(peer.key) ? 0 : (int)other.size, other.data);
    }
    tr_buffer_fini(&state);
}

/* -------------------------------------------------------------------------- reading */

static const struct tr_behaviour *find_behaviour(uint16_t id)
{
    for (size_t i = 0; i < TR_LIVE_BEHAVIOURS; i++) {
        if (tr_live_behaviours[i]->id == id) {
            return tr_live_behaviours[i];
        }
    }
    return NULL;
}

static int read_image(const struct tr_recording_entry *entry, struct shown *shown)
{
    struct tr_recorded_image recorded;
    struct tr_actor_snapshot snapshot;
    int error = entry->type == tr_recorded_image_schema.id
                    ? tr_recorded_image_unpack(entry->body, entry->version, &recorded)
                    : TR_UNKNOWN_TYPE;
    if (error == 0) {
        error = tr_actor_snapshot_unpack(recorded.snapshot, tr_actor_snapshot_schema.version,
                                         &snapshot);
    }
    if (error == 0) {
        error = tr_image_unpack(snapshot.image, tr_image_schema.version, &shown->image);
    }
    if (error == 0) {
        shown->behaviour = find_behaviour(shown->image.behaviour);
        error = shown->behaviour == NULL ? TR_UNKNOWN_TYPE : 0;
    }
    return error;
}

/* TR_NOT_FOUND, TR_TRUNCATED: not all has come. */
static int read_actor(struct tr_bytes bytes, struct shown *shown)
{
    struct tr_recording_reader reader;
    struct tr_recording_entry entry;
    if (bytes.size < TR_RECORDING_MAGIC_BYTES) {
        return TR_TRUNCATED;
    }
    int error = tr_recording_begin(bytes, &reader);
    if (error == 0) {
        error = tr_recording_next(&reader, &entry);
    }
    if (error == 0) {
        error = tr_recording_unpack(entry.body, entry.version, &shown->head);
    }
    if (error == 0) {
        error = tr_recording_next(&reader, &entry);
    }
    return error == 0 ? read_image(&entry, shown) : error;
}

static int take_bytes(void *self, struct tr_bytes bytes)
{
    struct looking *looking = self;
    struct shown shown;
    int error = tri_buffer_append(&looking->coming, bytes.data, bytes.size);
    if (error == 0) {
        error = read_actor((struct tr_bytes){.data = tri_buffer_front(&looking->coming),
                                             .size = tri_buffer_size(&looking->coming)},
                           &shown);
    }
    if (error == TR_NOT_FOUND || error == TR_TRUNCATED) {
        return tr_console_is_gone() ? TR_CLOSED : 0;
    }
    if (error != 0) {
        looking->status = tr_command_failed(looking->invocation->command,
                                            "the actor cannot be read: %s", tr_error_text(error));
    } else if (looking->invocation->output == TR_OUTPUT_JSON ||
               looking->invocation->output == TR_OUTPUT_YAML) {
        write_document(looking, &shown);
    } else {
        print_text(&shown);
    }
    looking->is_shown = error == 0;
    return TR_CLOSED;
}

enum tr_exit_status tr_actor_state(const struct tr_invocation *invocation)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    struct looking looking = {.invocation = invocation};
    if (arguments->word_count == 0) {
        return tr_command_mistake(invocation->command, "--state takes the address of an actor");
    }
    struct tr_open_recording open = {.address = tr_text_of(arguments->words[0]), .limit = 1};
    enum tr_exit_status status = tr_record_ask(invocation, &open, take_bytes, &looking);
    tri_buffer_fini(&looking.coming);
    if (status == TR_EXIT_DONE && looking.status == TR_EXIT_DONE && !looking.is_shown) {
        return tr_command_failed(invocation->command, "the engine has left");
    }
    return looking.status != TR_EXIT_DONE ? looking.status : status;
}
