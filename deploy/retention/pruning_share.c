/*
 * Removing folders on shares, one after the other as the history names them.
 */
#include "deploy/retention/pruning_share.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "deploy/history/shared_folder.h"
#include "runtime/env/env_limits.h"

#define CHECKPOINT "checkpoint"

static void note_stayed(struct tr_pruned *pruned, int error, struct tr_text path)
{
    const char *why = error == TR_SYSTEM ? strerror(errno) : tr_error_text(error);
    if (pruned->stayed++ == 0) {
        snprintf(pruned->why, sizeof pruned->why, "%.*s: %s",
                 (int)(path.size < 300 ? path.size : 300), path.data, why);
    }
}

static void remove_one(const struct tr_prune_request *request, const struct tri_shared *shared,
                       struct tr_pruned *pruned)
{
    struct tr_pruned_part *part = &pruned->parts[TR_PRUNED_ATTEMPTS];
    uint64_t bytes;
    if (!tri_shared_is_there(shared, &bytes)) {
        return;
    }
    errno = 0;
    int error = request->is_dry ? 0 : tri_shared_remove(shared);
    if (error != 0) {
        note_stayed(pruned, error, shared->path);
        return;
    }
    part->count++;
    part->bytes += bytes;
}

/* What attempts of one task, or of one element, have kept for the next one: once for all. */
static void remove_checkpoint(const struct tr_prune_request *request, const struct tr_attempt *row,
                              const struct tri_shared *shared, struct tr_pruned *pruned)
{
    char path[TR_PATH_BYTES_MAX];
    int front = (int)(row->folder.size - row->generated_name.size); /* its last part */
    int size = row->element == TR_ELEMENT_NONE
                   ? snprintf(path, sizeof path, "%.*s" CHECKPOINT, front, row->folder.data)
                   : snprintf(path, sizeof path, "%.*s" CHECKPOINT "-%llu", front, row->folder.data,
                              (unsigned long long)row->element);
    if (size > 0 && (size_t)size < sizeof path) {
        const struct tri_shared checkpoint = {.path = tr_text_of(path),
                                              .trusted_bytes = shared->trusted_bytes};
        remove_one(request, &checkpoint, pruned);
    }
}

void tr_prune_shared(const struct tr_prune_request *request, const struct tr_attempt *row,
                     bool is_all, struct tr_pruned *pruned)
{
    struct tri_shared shared;
    if (row->ended_ms == 0 || !tr_shared_folder_of(row, &shared)) {
        return;
    }
    remove_one(request, &shared, pruned);
    if (is_all && row->attempt == 0) {
        remove_checkpoint(request, row, &shared, pruned);
    }
    if (is_all && !request->is_dry) {
        tri_shared_leave(&shared);
    }
}

/* -------------------------------------------------------------------- one execution */

struct pruning {
    const struct tr_prune_request *request;
    struct tr_pruned *pruned;
};

static int take_attempt(void *self, const void *value)
{
    const struct pruning *pruning = self;
    const struct tr_prune_request *request = pruning->request;
    if (request->is_stopping != NULL && atomic_load(request->is_stopping)) {
        return TR_CLOSED;
    }
    tr_prune_shared(request, value, true, pruning->pruned);
    return 0;
}

int tr_prune_execution_shared(const struct tr_prune_request *request, struct tr_reader *reader,
                              const struct tr_execution *row, struct tr_pruned *pruned)
{
    struct pruning pruning = {.request = request, .pruned = pruned};
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, row->execution),
        tr_filter_number("ended_ms", TR_FILTER_GREATER, 0)};
    struct tr_reader_query query = {
        .record = &tr_attempt_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return row->phase == TR_EXECUTION_EXPORTED
               ? 0
               : tr_reader_rows(reader, &query, take_attempt, &pruning);
}
