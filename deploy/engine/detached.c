/*
 * A list of numbers, and the names of those that have not ended.
 */
#include "deploy/engine/detached.h"

#include "actors/graph/document/report.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

int tr_detached_add(struct tr_detached *detached, uint64_t execution)
{
    if (detached->count == TR_DETACHED_MAX) {
        return TR_LIMIT;
    }
    uint64_t *grown = tr_realloc(detached->executions, (detached->count + 1) * sizeof *grown);
    if (grown == NULL) {
        return TR_MEMORY;
    }
    detached->executions = grown;
    detached->executions[detached->count++] = execution;
    return 0;
}

void tr_detached_fini(struct tr_detached *detached)
{
    tr_free(detached->executions);
    *detached = (struct tr_detached){.executions = NULL};
}

struct tri_vector tr_detached_left(const struct tr_detached *detached, struct tr_reader *reader,
                                   struct tr_arena *arena)
{
    struct tri_vector names = {.count = 0};
    for (size_t i = 0; i < detached->count; i++) {
        struct tr_executions_row copy;
        if (tr_executions_get(reader, detached->executions[i], &copy) != 0) {
            continue;
        }
        const struct tr_execution *row = &copy.row;
        bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
        const char **name =
            has_ended ? NULL : (const char **)tri_vector_add(arena, &names, sizeof *name);
        if (name != NULL) {
            *name = tr_arena_print(arena, "%.*s/%.*s/%.*s", TRI_TEXT(row->project),
                                   TRI_TEXT(row->domain), TRI_TEXT(row->name))
                        .data;
        }
        tr_executions_row_fini(&copy);
    }
    return names;
}
