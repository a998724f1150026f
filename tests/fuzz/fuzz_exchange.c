/*
 * A type in the first line, then any text as the document of a task's outputs, read as large ones
 * are, an element at a time: it is refused with words, or gives what the reader of small documents
 * makes of the same text, also where it may decide a graph. And any bytes as a plan of such a
 * reading.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "actors/graph/value/literal.h"
#include "actors/task/task.h"
#include "actors/values/exchange.h"

/* What the reader of small documents says. */
static bool read_small(const struct tr_variables *outputs, bool is_dynamic, struct tr_text json,
                       struct tr_buffer *slots)
{
    const struct tr_node node = {.kind = is_dynamic ? TR_NODE_DYNAMIC : TR_NODE_TASK};
    struct tr_task declared = {.name = tr_text_of("task"), .interface.outputs = *outputs};
    struct tri_task task = {.node = &node, .task = &declared};
    struct tr_bytes found;
    struct tr_text problem = {0};
    tr_arena_init(&task.arena);
    int error =
        tri_task_outputs_from_document(&task, TR_DOCUMENT_JSON, tri_task_bytes_of_text(json),
                                       tr_text_of("/folder"), &found, &problem);
    if (error == 0) {
        tr_buffer_add(slots, found.data, found.size);
    }
    tr_arena_fini(&task.arena);
    return error == 0;
}

static int keep_path(void *self, const struct tr_type *type, struct tr_blob blob,
                     struct tr_buffer *buffer)
{
    (void)self;
    (void)type;
    tr_write_blob(buffer, blob);
    return buffer->error;
}

static int put_value(void *self, struct tr_bytes value, struct tr_buffer *buffer)
{
    (void)self;
    tr_buffer_add(buffer, value.data, value.size);
    return buffer->error;
}

static int take_turn(void *self)
{
    (void)self;
    return 0;
}

static void read_plan(struct tr_bytes plan, struct tr_text json, struct tr_buffer *slots,
                      int *error)
{
    const struct tr_exchange_keeper keeper = {
        .keep = keep_path, .put = put_value, .turn = take_turn};
    struct tr_exchange_problem problem = {.code = NULL};
    bool is_decision = false;
    *error = tr_exchange_read(plan, tri_task_bytes_of_text(json), &keeper, slots, &is_decision,
                              &problem);
    TR_ASSERT(!is_decision || slots->size == 0);
    TR_ASSERT(*error != TR_INVALID || (problem.code != NULL && problem.words[0] != '\0'));
    TR_ASSERT(memchr(problem.words, '\0', sizeof problem.words) != NULL);
    TR_ASSERT(*error == 0 || *error == TR_INVALID || *error == TR_MALFORMED || *error == TR_LIMIT);
}

static void compare(const struct tr_variables *outputs, bool is_dynamic, struct tr_text json)
{
    struct tr_buffer plan;
    struct tr_buffer large;
    struct tr_buffer small;
    int error;
    tr_buffer_init(&plan, 0);
    tr_buffer_init(&large, 0);
    tr_buffer_init(&small, 0);
    const struct tr_exchange_outputs asked = {
        .variables = outputs, .folder = tr_text_of("/folder"), .depth = is_dynamic ? 1 : 0};
    TR_ASSERT(tr_exchange_plan_outputs(&asked, &plan) == 0);
    read_plan(tr_buffer_bytes(&plan), json, &large, &error);
    if (read_small(outputs, is_dynamic, json, &small) && error == 0) {
        TR_ASSERT(tri_task_decision_is(tr_buffer_bytes(&small)) ||
                  tr_literal_equal(tr_buffer_bytes(&large), tr_buffer_bytes(&small)));
    }
    tr_buffer_fini(&small);
    tr_buffer_fini(&large);
    tr_buffer_fini(&plan);
}

static void read_any_plan(struct tr_text bytes)
{
    struct tr_buffer slots;
    int error;
    tr_buffer_init(&slots, 0);
    struct tr_bytes plan = {.data = (const uint8_t *)bytes.data, .size = bytes.size};
    read_plan(plan, tr_text_of("{\"x\": [1]}"), &slots, &error);
    tr_buffer_fini(&slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *feed = size == 0 ? NULL : memchr(data, '\n', size);
    struct tr_arena arena;
    struct tr_types types;
    struct tr_text problem;
    if (feed == NULL) {
        return 0;
    }
    size_t head = (size_t)(feed - data);
    struct tr_text text = {.data = (const char *)feed + 1, .size = size - head - 1};
    tr_arena_init(&arena);
    tr_types_init(&types, &arena);
    struct tr_text name = {.data = (const char *)data, .size = head};
    const struct tr_type *type = tr_type_parse(&types, name, &problem);
    const struct tr_type *number = tr_type_parse(&types, tr_text_of("int"), &problem);
    TR_ASSERT(number != NULL);
    if (type != NULL) {
        struct tr_variable items[] = {
            {.name = tr_text_of("x"), .type = type},
            {.name = tr_text_of("y"), .type = tr_type_optional(&types, number)}};
        const struct tr_variables variables = {.items = items, .count = TR_COUNT_OF(items)};
        compare(&variables, false, text);
        compare(&variables, true, text);
    }
    read_any_plan(text);
    tr_arena_fini(&arena);
    return 0;
}
