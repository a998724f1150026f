/*
 * The error document that a task writes: {"code", "message", "recoverable"} (language.md), or
 * Flyte's error.pb, which says besides whether it was the user's fault.
 */
#include "actors/graph/flyte/flyte.h"
#include "actors/graph/document/json.h"
#include "actors/task/task.h"
#include "schemas/runtime/files.h"

/* A failure whose document cannot be read is one that may be tried again. */
static void malformed(struct tr_transition *transition, struct tr_text words)
{
    *transition = (struct tr_transition){
        .phase = TR_TASK_PHASE_RETRYABLE_FAILURE,
        .failure = TR_FAILURE_USER,
        .code = TRI_LITERAL_TEXT(TR_CODE_ERROR_DOCUMENT_MALFORMED),
        .message = words,
    };
}

static uint8_t phase_of(bool is_recoverable)
{
    return is_recoverable ? TR_TASK_PHASE_RETRYABLE_FAILURE : TR_TASK_PHASE_PERMANENT_FAILURE;
}

/* ------------------------------------------------------------------- JSON */

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

static int from_json(struct tri_task *task, struct tr_text json, struct tr_transition *transition)
{
    struct tr_report report;
    tr_report_init(&report);
    uint32_t source = tri_report_source(&report, TRI_LITERAL_TEXT("error"));
    const struct tr_tree *document = tr_json_read(&task->arena, &report, source, json);
    int error = document == NULL ? task->arena.error : 0;
    malformed(transition,
              TRI_LITERAL_TEXT("the task has failed; its error document is no JSON object"));
    if (document != NULL && document->kind == TR_TREE_MAP) {
        transition->code = text_of_key(task, document, "code", TRI_LITERAL_TEXT("TaskFailed"));
        transition->message =
            text_of_key(task, document, "message", TRI_LITERAL_TEXT("the task says no more"));
        transition->phase = phase_of(is_recoverable(document));
    }
    tr_report_fini(&report);
    return error != 0 ? error : task->arena.error;
}

/* ------------------------------------------------------------------ Flyte's */

static int from_flyte(struct tri_task *task, struct tr_bytes document,
                      struct tr_transition *transition)
{
    struct tr_flyte_error said;
    int error = tr_flyte_error_read(&task->arena, document, &said);
    if (error != 0) {
        malformed(transition,
                  TRI_LITERAL_TEXT("the task has failed; its error.pb is no ErrorDocument"));
        return error == TR_MALFORMED ? 0 : error;
    }
    *transition = (struct tr_transition){
        .phase = phase_of(said.is_recoverable),
        .failure = said.is_systems ? TR_FAILURE_SYSTEM : TR_FAILURE_USER,
        .code = said.code,
        .message = said.message,
    };
    return 0;
}

int tri_failure_from_document(struct tri_task *task, enum tr_document_form form,
                              struct tr_bytes document, struct tr_transition *transition)
{
    return form == TR_DOCUMENT_JSON ? from_json(task, tri_text_of_bytes(document), transition)
                                    : from_flyte(task, document, transition);
}
