/*
 * The small things that all views are made of.
 */
#include "deploy/api_runs/view.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/graphs/graphs.h"
#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"
#include "schemas/engine/flow.h"

/* So many digits of a graph's hash stand for the version of what has none. */
#define VERSION_DIGITS 16

#define VERSION_VARIABLE "FLYTE_INTERNAL_TASK_VERSION"

char *tr_view_text(struct tr_desk_job *job, struct tr_text text)
{
    static char none[] = "";
    if (text.size == 0) {
        return none;
    }
    char *copy = (char *)(uintptr_t)tr_arena_text(&job->arena, text).data;
    if (copy == NULL) {
        return none;
    }
    for (size_t i = 0; !tr_utf8_valid(text) && i < text.size; i++) {
        copy[i] = (char)((unsigned char)copy[i] < 0x80 ? copy[i] : '?');
    }
    return copy;
}

Google__Protobuf__Timestamp *tr_view_time(struct tr_desk_job *job, uint64_t ms)
{
    Google__Protobuf__Timestamp *time =
        ms == 0 ? NULL
                : tr_flyte_message_new(&job->arena, &google__protobuf__timestamp__descriptor);
    if (time != NULL) {
        time->seconds = (int64_t)(ms / 1000);
        time->nanos = (int32_t)(ms % 1000) * 1000000;
    }
    return time;
}

Google__Protobuf__Duration *tr_view_duration(struct tr_desk_job *job, uint64_t from_ms,
                                             uint64_t to_ms)
{
    uint64_t ms = from_ms == 0 || to_ms < from_ms ? 0 : to_ms - from_ms;
    Google__Protobuf__Duration *duration =
        tr_flyte_message_new(&job->arena, &google__protobuf__duration__descriptor);
    if (duration != NULL) {
        duration->seconds = (int64_t)(ms / 1000);
        duration->nanos = (int32_t)(ms % 1000) * 1000000;
    }
    return duration;
}

Flyteidl__Core__ExecutionError *tr_view_error(struct tr_desk_job *job, struct tr_text code,
                                              struct tr_text message, uint8_t kind)
{
    Flyteidl__Core__ExecutionError *error =
        tr_flyte_message_new(&job->arena, &flyteidl__core__execution_error__descriptor);
    if (error != NULL) {
        error->code = tr_view_text(job, code);
        error->message = tr_view_text(job, message);
        error->kind =
            kind == TR_FAILURE_SYSTEM ? FLYTEIDL__CORE__EXECUTION_ERROR__ERROR_KIND__SYSTEM
            : kind == TR_FAILURE_USER ? FLYTEIDL__CORE__EXECUTION_ERROR__ERROR_KIND__USER
                                      : FLYTEIDL__CORE__EXECUTION_ERROR__ERROR_KIND__UNKNOWN;
    }
    return error;
}

/* ------------------------------------------------------------- entities */

/* The version that a graph's own tasks are told. */
static struct tr_text version_of(struct tr_desk_job *job, const struct tr_graph *graph)
{
    char hex[TR_GRAPH_HEX_BYTES];
    for (uint32_t i = 0; i < graph->task_count; i++) {
        const struct tr_task *task = &graph->tasks[i];
        bool is_own = memchr(task->name.data, ':', task->name.size) == NULL;
        for (uint32_t k = 0; is_own && k < task->settings.environment_count; k++) {
            const struct tr_environment *variable = &task->settings.environment[k];
            if (tr_text_equal(variable->name, tr_text_of(VERSION_VARIABLE))) {
                return variable->value;
            }
        }
    }
    tr_graph_hex(graph->hash, hex);
    return tr_arena_text(&job->arena, (struct tr_text){.data = hex, .size = VERSION_DIGITS});
}

/* Cuts a name at its colons; how many parts there are, 5 for more than 4. */
static size_t cut(struct tr_text name, struct tr_text parts[4])
{
    size_t count = 0;
    while (count < 4) {
        const char *colon = name.size == 0 ? NULL : memchr(name.data, ':', name.size);
        size_t size = colon == NULL ? name.size : (size_t)(colon - name.data);
        parts[count++] = (struct tr_text){.data = name.data, .size = size};
        if (colon == NULL) {
            return count;
        }
        name.data += size + 1;
        name.size -= size + 1;
    }
    return count + 1;
}

Flyteidl__Core__Identifier *tr_view_entity(struct tr_desk_job *job, const struct tr_graph *graph,
                                           Flyteidl__Core__ResourceType type, struct tr_text name)
{
    struct tr_text parts[4];
    size_t count = cut(name, parts);
    bool is_far = count == 4;
    bool is_named = count == 2;
    Flyteidl__Core__Identifier *id =
        tr_flyte_message_new(&job->arena, &flyteidl__core__identifier__descriptor);
    if (id != NULL) {
        id->resource_type = type;
        id->project = tr_view_text(job, is_far ? parts[0] : graph->project);
        id->domain = tr_view_text(job, is_far ? parts[1] : graph->domain);
        id->name = tr_view_text(job, is_far ? parts[2] : is_named ? parts[0] : name);
        id->version = tr_view_text(job, is_far     ? parts[3]
                                        : is_named ? parts[1]
                                                   : version_of(job, graph));
    }
    return id;
}

tr_execution_id *tr_view_address(struct tr_desk_job *job, struct tr_text address)
{
    struct tr_text parts[3];
    struct tr_text rest = address;
    for (size_t i = 0; i < 3; i++) {
        if (rest.size == 0 || rest.data[0] != '/') {
            return NULL;
        }
        const char *slash = memchr(rest.data + 1, '/', rest.size - 1);
        size_t size = slash == NULL ? rest.size - 1 : (size_t)(slash - rest.data) - 1;
        parts[i] = (struct tr_text){.data = rest.data + 1, .size = size};
        rest.data += size + 1;
        rest.size -= size + 1;
    }
    tr_execution_id *id = tr_flyte_message_new(
        &job->arena, &flyteidl__core__workflow_execution_identifier__descriptor);
    if (id != NULL) {
        id->project = tr_view_text(job, parts[0]);
        id->domain = tr_view_text(job, parts[1]);
        id->name = tr_view_text(job, parts[2]);
    }
    return id;
}
