/*
 * Any bytes as two entities, the one behind the other: what differs between them is told in UTF-8,
 * between one and itself is nothing, and a task is a workflow and a plan of its own, which can be
 * read again.
 */
#include <flyteidl/admin_launch_plan.pb-c.h>
#include <flyteidl/workflow.pb-c.h>
#include <string.h>

#include "actors/graph/flyte/flyte_difference.h"
#include "actors/graph/flyte/flyte_message.h"
#include "actors/graph/flyte/flyte_single.h"
#include "schemas/codec/utf8.h"
#include "tests/fuzz/fuzz.h"

#define MEMORY_MAX (16U << 20)

static void compare(const ProtobufCMessageDescriptor *descriptor, struct tr_bytes first,
                    struct tr_bytes second)
{
    struct tr_arena arena;
    struct tr_buffer lines;
    tr_arena_init(&arena);
    tr_buffer_init(&lines, 0);
    const ProtobufCMessage *a = tr_flyte_message_unpack(&arena, descriptor, first, MEMORY_MAX);
    const ProtobufCMessage *b = tr_flyte_message_unpack(&arena, descriptor, second, MEMORY_MAX);
    if (a != NULL && b != NULL) {
        TR_ASSERT(tr_flyte_difference(a, a, &lines) == 0 && lines.size == 0);
        TR_ASSERT((tr_flyte_difference(a, b, &lines) == 0) == (lines.size == 0));
        TR_ASSERT(lines.error == 0 && tr_utf8_valid(tr_buffer_text(&lines)));
    }
    tr_buffer_fini(&lines);
    tr_arena_fini(&arena);
}

static void make_single(struct tr_bytes bytes, enum tr_entity_kind kind,
                        const ProtobufCMessageDescriptor *descriptor)
{
    struct tr_arena arena;
    struct tr_entity task;
    struct tr_entity made = {.project = tr_text_of("p"),
                             .domain = tr_text_of("d"),
                             .kind = (uint8_t)kind,
                             .name = tr_text_of(TR_FLYTE_SINGLE_PREFIX "a.b"),
                             .version = tr_text_of("v")};
    tr_arena_init(&arena);
    TR_ASSERT(tr_flyte_single_of(&made, &task) && tr_text_equal(task.name, tr_text_of("a.b")));
    task.message = bytes;
    if (tr_flyte_single_make(&arena, &task, &made) == 0) {
        TR_ASSERT(tr_flyte_message_unpack(&arena, descriptor, made.message, MEMORY_MAX) != NULL ||
                  arena.error != 0);
    }
    tr_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ProtobufCMessageDescriptor *const descriptors[] = {
        &flyteidl__core__task_template__descriptor,
        &flyteidl__core__workflow_template__descriptor,
        &flyteidl__admin__launch_plan__descriptor,
    };
    size_t half = size / 2;
    for (size_t i = 0; i < TR_COUNT_OF(descriptors); i++) {
        compare(descriptors[i], (struct tr_bytes){.data = data, .size = half},
                (struct tr_bytes){.data = data + half, .size = size - half});
    }
    make_single((struct tr_bytes){.data = data, .size = size}, TR_ENTITY_WORKFLOW, descriptors[1]);
    make_single((struct tr_bytes){.data = data, .size = size}, TR_ENTITY_PLAN, descriptors[2]);
    return 0;
}
