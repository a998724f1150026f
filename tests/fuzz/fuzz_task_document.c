/*
 * What a task's process may leave behind. A type in the first line, then any text as the document
 * of its outputs, as its error document, and as packed outputs: refused with words, or values that
 * the interface allows.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "actors/task/task.h"

static void check_outputs(struct tri_task *task, struct tr_text json)
{
    struct tr_bytes slots;
    struct tr_text problem = {0};
    int error = tri_task_outputs_from_document(task, TR_DOCUMENT_JSON, tri_task_bytes_of_text(json),
                                               tr_text_of("/folder"), &slots, &problem);
    TR_ASSERT(error == 0 || error == TR_INVALID || error == TR_LIMIT);
    TR_ASSERT(error != TR_INVALID || (problem.size > 0 && task->refusal.code.size > 0));
    if (error == 0) {
        TR_ASSERT(tri_task_outputs_check(task, slots, &problem) == 0);
    }
}

static void check_failure(struct tri_task *task, struct tr_text json)
{
    struct tr_transition transition;
    TR_ASSERT(tri_task_failure_from_document(task, TR_DOCUMENT_JSON, tri_task_bytes_of_text(json),
                                             &transition) == 0);
    TR_ASSERT(transition.phase == TR_TASK_PHASE_RETRYABLE_FAILURE ||
              transition.phase == TR_TASK_PHASE_PERMANENT_FAILURE);
    TR_ASSERT(transition.code.size > 0 && transition.message.size > 0);
    TR_ASSERT(tr_utf8_valid(transition.code) && tr_utf8_valid(transition.message));
}

static void check_packed(struct tri_task *task, struct tr_bytes slots)
{
    struct tr_text problem = {0};
    int error = tri_task_outputs_check(task, slots, &problem);
    TR_ASSERT(error == 0 || error == TR_INVALID);
    TR_ASSERT(error == 0 || problem.size > 0);
}

/* A task with an output of this type, which it has to give, and one which it may give. */
static void check(const struct tr_type *type, const struct tr_type *optional, struct tr_text text)
{
    struct tr_variable outputs[] = {{.name = tr_text_of("x"), .type = type},
                                    {.name = tr_text_of("y"), .type = optional}};
    struct tr_task declared = {
        .name = tr_text_of("task"),
        .interface.outputs = {.items = outputs, .count = TR_COUNT_OF(outputs)}};
    const struct tr_node node = {.kind = TR_NODE_TASK};
    struct tri_task task = {.node = &node, .task = &declared};
    tr_arena_init(&task.arena);
    check_outputs(&task, text);
    check_failure(&task, text);
    check_packed(&task, (struct tr_bytes){.data = (const uint8_t *)text.data, .size = text.size});
    tr_arena_fini(&task.arena);
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
    struct tr_text name = {.data = (const char *)data, .size = head};
    tr_arena_init(&arena);
    tr_types_init(&types, &arena);
    const struct tr_type *type = tr_type_parse(&types, name, &problem);
    const struct tr_type *number = tr_type_parse(&types, tr_text_of("int"), &problem);
    TR_ASSERT(number != NULL);
    const struct tr_type *optional = tr_type_optional(&types, number);
    if (type != NULL) {
        struct tr_text text = {.data = (const char *)feed + 1, .size = size - head - 1};
        check(type, optional, text);
    }
    tr_arena_fini(&arena);
    return 0;
}
