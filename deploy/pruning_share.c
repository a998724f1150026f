/*
 * Which folders of a history are on a share, and removing them. A folder is SHARE/SET/ATTEMPT: its
 * last part is the name that the attempt has outside, which nobody else has, so that nothing else
 * can be meant; SHARE is what the operator has named, and others write to the rest.
 */
#include "deploy/pruning_share.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plugins/registry.h"
#include "runtime/env/shared.h"

#define CHECKPOINT "checkpoint"

/* Whether the plugin works elsewhere, and shares folders. */
static bool is_shared_by(struct tr_text plugin)
{
    for (size_t i = 0; i < tr_plugin_count; i++) {
        if (tr_text_equal(plugin, tr_text_of(tr_plugins[i]->id))) {
            return tr_plugins[i]->shares_files && !tr_plugins[i]->is_local;
        }
    }
    return false;
}

/* Where the last part of a path begins; 0: there is none. */
static size_t last_part(struct tr_text path)
{
    const char *slash = path.size == 0 ? NULL : memrchr(path.data, '/', path.size);
    return slash == NULL ? 0 : (size_t)(slash - path.data) + 1;
}

/* What to remove of a row; false: it has nothing on a share. */
static bool find(const struct tr_attempt *row, struct tri_shared *shared)
{
    struct tr_text folder = row->folder;
    size_t last = last_part(folder);
    if (last < 2 || row->ended_ms == 0 || !is_shared_by(row->plugin)) {
        return false;
    }
    struct tr_text name = {.data = folder.data + last, .size = folder.size - last};
    struct tr_text set = {.data = folder.data, .size = last - 1};
    size_t before = last_part(set);
    *shared = (struct tri_shared){.path = folder, .trusted_bytes = (uint32_t)before};
    return before > 1 && tr_text_equal(name, row->generated_name);
}

static int fail(char *explain, int error, struct tr_text path)
{
    if (explain[0] == '\0') {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%.*s cannot be removed: %s",
                 (int)(path.size < 300 ? path.size : 300), path.data,
                 error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    return error;
}

static int remove_one(const struct tr_prune_request *request, const struct tri_shared *shared,
                      char *explain, struct tr_pruned_part *part)
{
    uint64_t bytes;
    if (!tri_shared_is_there(shared, &bytes)) {
        return 0;
    }
    errno = 0;
    int error = request->is_dry ? 0 : tri_shared_remove(shared);
    part->count += error == 0 ? 1 : 0;
    part->bytes += error == 0 ? bytes : 0;
    return error == 0 ? 0 : fail(explain, error, shared->path);
}

/* What attempts of one task, or of one element, have kept for the next one: once for all. */
static int remove_checkpoint(const struct tr_prune_request *request, const struct tr_attempt *row,
                             const struct tri_shared *shared, char *explain,
                             struct tr_pruned_part *part)
{
    char path[TRI_STORE_EXPLAIN_BYTES];
    int front = (int)last_part(row->folder);
    int size = row->element == TR_ELEMENT_NONE
                   ? snprintf(path, sizeof path, "%.*s" CHECKPOINT, front, row->folder.data)
                   : snprintf(path, sizeof path, "%.*s" CHECKPOINT "-%llu", front, row->folder.data,
                              (unsigned long long)row->element);
    if (size < 0 || (size_t)size >= sizeof path) {
        return 0;
    }
    const struct tri_shared checkpoint = {.path = tr_text_of(path),
                                          .trusted_bytes = shared->trusted_bytes};
    return remove_one(request, &checkpoint, explain, part);
}

int tr_prune_shared(const struct tr_prune_request *request, const struct tr_attempt *row,
                    bool is_all, char *explain, struct tr_pruned_part *part)
{
    struct tri_shared shared;
    if (!find(row, &shared)) {
        return 0;
    }
    int error = remove_one(request, &shared, explain, part);
    if (error == 0 && is_all && row->attempt == 0) {
        error = remove_checkpoint(request, row, &shared, explain, part);
    }
    if (error == 0 && is_all && !request->is_dry) {
        tri_shared_leave(&shared);
    }
    return error;
}

/* -------------------------------------------------------------------- one execution */

struct pruning {
    const struct tr_prune_request *request;
    char *explain;
    struct tr_pruned_part *part;
};

static int take_attempt(void *self, const void *value)
{
    const struct pruning *pruning = self;
    bool is_stopping =
        pruning->request->is_stopping != NULL && atomic_load(pruning->request->is_stopping);
    return is_stopping
               ? TR_CLOSED
               : tr_prune_shared(pruning->request, value, true, pruning->explain, pruning->part);
}

int tr_prune_execution_shared(const struct tr_prune_request *request, struct tr_reader *reader,
                              const struct tr_execution *row, char *explain,
                              struct tr_pruned_part *part)
{
    struct pruning pruning = {.request = request, .explain = explain, .part = part};
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, row->execution),
        tr_filter_number("ended_ms", TR_FILTER_GREATER, 0)};
    struct tr_reader_query query = {
        .record = &tr_attempt_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return row->phase == TR_EXECUTION_EXPORTED
               ? 0
               : tr_reader_rows(reader, &query, take_attempt, &pruning);
}
