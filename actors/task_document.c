/*
 * The error document that a task writes: {"code", "message", "recoverable"} (language.md).
 */
#include "actors/graph/json.h"
#include "actors/task.h"

/* A text of the document, or what stands for it. */
static struct tr_text text_of_key(struct tri_task *task, const struct tr_tree *document,
                                  const char *key, struct tr_text standard)
{
    const struct tr_tree *value = tr_tree_find(document, key);
    bool is_text = value != NULL && tr_tree_is_text(value) && value->text.size > 0;
    return is_text ? tr_arena_text(&task->arena, value->text) : standard;
}

/* Recoverable unless it says no: a task that fails may be tried again. */
static bool is_recoverable(const struct tr_tree *document)
{
    const struct tr_tree *value = tr_tree_find(document, "recoverable");
    return value == NULL || value->kind != TR_TREE_BOOL || value->boolean;
}

int tri_failure_from_json(struct tri_task *task, struct tr_text json,
                          struct tr_transition *transition)
{
    struct tr_report report;
    tr_report_init(&report);
    uint32_t source = tri_report_source(&report, TRI_LITERAL_TEXT("error"));
    const struct tr_tree *document = tr_json_read(&task->arena, &report, source, json);
    int error = document == NULL ? task->arena.error : 0;
    *transition = (struct tr_transition){
        .phase = TR_TASK_PHASE_RETRYABLE_FAILURE,
        .failure = TR_FAILURE_USER,
        .code = TRI_LITERAL_TEXT("ErrorDocumentMalformed"),
        .message = TRI_LITERAL_TEXT("the task has failed; its error document is no JSON object"),
    };
    if (document != NULL && document->kind == TR_TREE_MAP) {
        transition->code = text_of_key(task, document, "code", TRI_LITERAL_TEXT("TaskFailed"));
        transition->message =
            text_of_key(task, document, "message", TRI_LITERAL_TEXT("the task says no more"));
        transition->phase = is_recoverable(document) ? TR_TASK_PHASE_RETRYABLE_FAILURE
                                                     : TR_TASK_PHASE_PERMANENT_FAILURE;
    }
    tr_report_fini(&report);
    return error != 0 ? error : task->arena.error;
}
