/*
 * Any bytes as a recording: read entry by entry, and played to an actor that asks for what the
 * messages say. Nothing of it may fall over, and nothing may be left.
 *
 * Since few inputs guess a checksum, an odd first byte gives the rest as bodies: a byte of type,
 * two of size, and so many bytes, for each entry.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "runtime/memory.h"
#include "runtime/trace/recording.h"
#include "runtime/worker/sandbox.h"
#include "tests/support/sample.h"

static int handle(struct tr_context *context, void *value, const struct tr_message *message);

static const struct tr_behaviour behaviour = {
    .name = "clock", .id = 200, .state = &tr_sample_clock_schema, .handle = handle};
static const struct tr_behaviour *const behaviours[] = {&behaviour};

static int handle(struct tr_context *context, void *value, const struct tr_message *message)
{
    struct tr_sample_clock *clock = value;
    struct tr_sample_tick tick;
    void *page;
    struct tr_ref child;
    clock->ticks++;
    if (tr_message_read(message, sample_tick, &tick) != 0) {
        return tr_unexpected(context, message);
    }
    struct tr_spawn_options options = {.is_group = tick.count % 3 == 0};
    int error = tr_spawn(context, &behaviour, &options, &child);
    error = error != 0 ? error : tr_reply(context, message, &tr_sample_tick_schema, &tick);
    error = error != 0 ? error : tr_timer_start_at(context, tick.count % 4, tick.count);
    error = error != 0 ? error : tr_page_edit(context, (uint32_t)tick.count % 8, 64, &page);
    return error != 0 || tick.count % 7 != 0 ? error : tr_stop(context);
}

static void visit(void *self, const struct tri_sandbox_effect *seen)
{
    size_t *count = self;
    TR_ASSERT(seen->kind <= TRI_SANDBOX_STOP);
    (*count)++;
}

/* What a player makes of an entry. */
static void play(struct tri_sandbox *sandbox, uint16_t type, uint8_t version, struct tr_bytes body)
{
    size_t count = 0;
    struct tri_sandbox_visitor visitor = {.self = &count, .visit = visit};
    struct tr_recorded_image image;
    struct tr_recorded_message message;
    int error = 0;
    if (type == tr_recorded_image_schema.id &&
        tr_recorded_image_unpack(body, version, &image) == 0) {
        error = tri_sandbox_put(sandbox, (struct tr_ref){{16, 16}, 1}, image.snapshot);
    } else if (type == tr_recorded_message_schema.id &&
               tr_recorded_message_unpack(body, version, &message) == 0) {
        error = tri_sandbox_handle(sandbox, &message, &visitor, NULL);
    }
    TR_ASSERT(error <= 0);
}

static void play_file(struct tri_sandbox *sandbox, struct tr_bytes bytes)
{
    struct tr_recording_reader reader;
    struct tr_recording_entry entry;
    if (tr_recording_begin(bytes, &reader) != 0) {
        return;
    }
    while (tr_recording_next(&reader, &entry) == 0) {
        TR_ASSERT(entry.body.data >= bytes.data);
        TR_ASSERT(entry.body.data + entry.body.size <= bytes.data + bytes.size);
        play(sandbox, entry.type, entry.version, entry.body);
    }
}

static void play_bodies(struct tri_sandbox *sandbox, const uint8_t *data, size_t size)
{
    size_t at = 0;
    while (size - at >= 3) {
        uint16_t type = (uint16_t)(tr_recording_schema.id + data[at] % 4);
        size_t wanted = (size_t)(data[at + 1] << 8 | data[at + 2]);
        at += 3;
        size_t body = wanted < size - at ? wanted : size - at;
        play(sandbox, type, 1, (struct tr_bytes){.data = data + at, .size = body});
        at += body;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t before = tr_memory_used();
    struct tri_sandbox *sandbox;
    struct tri_sandbox_options options = {.behaviours = behaviours, .behaviour_count = 1};
    if (size == 0 || tri_sandbox_new(&options, &sandbox) != 0) {
        return 0;
    }
    if (data[0] % 2 == 1 && data[0] != 0x89) {
        play_bodies(sandbox, data + 1, size - 1);
    } else {
        play_file(sandbox, (struct tr_bytes){.data = data, .size = size});
    }
    tri_sandbox_free(sandbox);
    TR_ASSERT(tr_memory_used() == before);
    return 0;
}
