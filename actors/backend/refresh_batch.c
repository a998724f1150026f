/*
 * A batch in the hands of a plugin: its items, and what the framework does for its functions.
 */
#include <string.h>

#include "actors/graph/document/json.h"
#include "actors/refresh.h"

/* What one batch may take of memory, its answer as a value among it. */
#define SCRATCH_BYTES_MAX (64U << 20)

static struct tri_refresh_batch *batch_of(struct tr_webapi_batch *side)
{
    return (struct tri_refresh_batch *)side;
}

static void *api_scratch(struct tr_webapi_batch *side, size_t size)
{
    return size > SCRATCH_BYTES_MAX ? NULL : tr_arena_alloc(&batch_of(side)->arena, size);
}

static int api_read_json(struct tr_webapi_batch *side, struct tr_bytes json, struct tr_bytes *value)
{
    return tr_json_pack(&batch_of(side)->arena, json, value);
}

static int api_write_json(struct tr_webapi_batch *side, struct tr_bytes value,
                          struct tr_bytes *json)
{
    return tri_json_of_value(&batch_of(side)->arena, value, json);
}

/* Our own errors end the handling, whatever the plugin makes of them. */
static int api_report(struct tr_webapi_batch *side, const struct tr_webapi_report *report)
{
    struct tri_refresh_batch *batch = batch_of(side);
    if (report->handle.size > TR_WEBAPI_HANDLE_BYTES_MAX ||
        report->outputs.size > TR_WEBAPI_OUTPUTS_BYTES_MAX || report->phase > TR_TASK_PHASE_MAX) {
        return TR_LIMIT;
    }
    int error = tri_report_take(batch->refresh, batch->verb, report);
    batch->error = batch->error != 0 ? batch->error : error;
    return error;
}

static int api_resume(struct tr_webapi_batch *side, struct tr_text cursor)
{
    struct tri_refresh_batch *batch = batch_of(side);
    if (batch->is_so_far) {
        return 0; /* the stream itself goes on from where it is */
    }
    if (batch->stream == NULL || cursor.size > TR_WEBAPI_CURSOR_BYTES_MAX) {
        return batch->stream == NULL ? TR_INVALID : TR_LIMIT;
    }
    int error =
        tri_blob_set(batch->refresh, &batch->stream->cursor,
                     (struct tr_bytes){.data = (const uint8_t *)cursor.data, .size = cursor.size});
    batch->error = batch->error != 0 ? batch->error : error;
    return error;
}

static const struct tr_webapi_api api = {
    .abi = TR_PLUGIN_ABI,
    .scratch = api_scratch,
    .read_json = api_read_json,
    .write_json = api_write_json,
    .report = api_report,
    .resume = api_resume,
};

int tri_refresh_batch_init(struct tri_refresh_batch *batch, struct tri_refresh *refresh,
                           uint8_t verb, uint32_t group)
{
    *batch = (struct tri_refresh_batch){
        .side = {.api = &api, .endpoint = &refresh->place->endpoint},
        .refresh = refresh,
        .verb = verb,
    };
    tr_arena_init(&batch->arena);
    return group == 0 ? 0 : tri_group_name(refresh, group, &batch->side.group);
}

void tri_refresh_batch_fini(struct tri_refresh_batch *batch)
{
    tr_arena_fini(&batch->arena);
}

static int fill_item(struct tri_refresh_batch *batch, const struct tri_job_row *job, bool with_job,
                     struct tr_webapi_item *item)
{
    struct tri_refresh *refresh = batch->refresh;
    item->identity = tri_job_identity(job);
    item->phase = job->phase;
    int error = tri_job_handle(refresh, job, &item->handle);
    error = error != 0 ? error : tri_group_name(refresh, job->group, &item->group);
    return error != 0 || !with_job ? error
                                   : tri_blob_get(refresh, job->blob, &batch->arena, &item->job);
}

int tri_refresh_batch_fill(struct tri_refresh_batch *batch, const struct tri_list_row *list,
                           uint32_t count, bool with_jobs)
{
    struct tr_webapi_item *items = tr_arena_array(&batch->arena, count, sizeof *items);
    uint32_t number = list->first;
    int error = items == NULL ? batch->arena.error : 0;
    for (uint32_t i = 0; i < count && error == 0; i++) {
        const void *row;
        error = tr_rows_get(&batch->refresh->rows, number, &row);
        error = error != 0 ? error : fill_item(batch, row, with_jobs, &items[i]);
        number = error == 0 ? ((const struct tri_job_row *)row)->next : 0;
    }
    batch->side.items = items;
    batch->side.count = count;
    return error;
}
