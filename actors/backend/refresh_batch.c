/*
 * A batch in the hands of a plugin: its items, and what the framework does for its functions.
 *
 * A batch lives within one handling. All that its functions return lies in its arena or in views of
 * rows and pages, which last as long; the plugin frees nothing. Only reports leave a trace: they
 * change rows while the plugin still reads (refresh_report.c).
 */
#include <string.h>

#include "actors/backend/refresh.h"
#include "actors/graph/document/buffer.h"
#include "actors/graph/document/json.h"
#include "schemas/codec/print.h"

/* What one batch may take of memory, its answer as a value among it. */
#define SCRATCH_BYTES_MAX (64U << 20)

static struct tri_refresh_batch *batch_of(struct tr_webapi_batch *side)
{
    /* `side` is the first member, so the plugin's view and the batch have one address. */
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

/* -------------------------------------------------------------------- JSON */

/*
 * A packed value as JSON, for the requests of plugins.
 */

/*
 * What a buffer holds as bytes of the arena; the buffer is freed. The buffer is freed in any case;
 * `*bytes` is set only where there was no error.
 */
static int keep(struct tr_arena *arena, struct tr_buffer *buffer, struct tr_bytes *bytes)
{
    int error = buffer->error;
    struct tr_bytes copy = {0};
    if (error == 0) {
        copy = tr_arena_bytes(arena, tr_buffer_bytes(buffer));
        error = arena->error;
    }
    tr_buffer_fini(buffer);
    if (error == 0) {
        *bytes = copy;
    }
    return error;
}

/*
 * A packed value as JSON, in an arena. TR_INVALID, TR_LIMIT, TR_MEMORY. The value is walked once
 * before it is printed: it comes from a plugin, and the printer expects one whole value with
 * nothing behind it.
 */
static int json_of_value(struct tr_arena *arena, struct tr_bytes value, struct tr_bytes *json)
{
    char room[1024];
    struct tr_buffer buffer;
    struct tr_cursor cursor = tr_cursor_of(value);
    (void)tr_read_any(&cursor);
    if (cursor.error != 0 || tr_cursor_left(&cursor) != 0) {
        return TR_INVALID;
    }
    tr_buffer_init(&buffer, TR_MESSAGE_BYTES_MAX);
    struct tr_sink sink = tr_buffer_sink(&buffer, room, sizeof room);
    tr_print_any(&sink, TR_PRINT_JSON, value);
    tr_sink_flush(&sink);
    return keep(arena, &buffer, json);
}

static int api_write_json(struct tr_webapi_batch *side, struct tr_bytes value,
                          struct tr_bytes *json)
{
    return json_of_value(&batch_of(side)->arena, value, json);
}

/* What an older plugin does not know of a report is nothing. */
static struct tr_webapi_report known_of(const struct tri_refresh *refresh,
                                        const struct tr_webapi_report *report)
{
    struct tr_webapi_report known = {0};
    uint32_t abi = refresh->plugin != NULL ? refresh->plugin->abi : 0;
    memcpy(&known, report,
           abi >= 5   ? sizeof known
           : abi == 4 ? offsetof(struct tr_webapi_report, is_part)
           : abi == 3 ? offsetof(struct tr_webapi_report, is_own)
                      : offsetof(struct tr_webapi_report, grace_ms));
    return known;
}

/*
 * Our own errors end the handling, whatever the plugin makes of them. So a plugin that ignores the
 * result of a report cannot turn a failure of the engine into a batch that seems to have been read.
 * A report beyond its limits is the plugin's own error.
 */
static int api_report(struct tr_webapi_batch *side, const struct tr_webapi_report *report)
{
    struct tri_refresh_batch *batch = batch_of(side);
    if (report->handle.size > TR_WEBAPI_HANDLE_BYTES_MAX ||
        report->outputs.size > TR_WEBAPI_OUTPUTS_BYTES_MAX || report->phase > TR_TASK_PHASE_MAX) {
        return TR_LIMIT;
    }
    const struct tr_webapi_report known = known_of(batch->refresh, report);
    int error = tri_refresh_report_take(batch->refresh, batch->verb, &known);
    if (batch->error == 0) {
        batch->error = error;
    }
    return error;
}

/*
 * Keeps the place of a stream. It is in the same commit as what its lines changed, so after a crash
 * the stream goes on behind the last line whose changes are durable, neither earlier nor later.
 */
static int api_resume(struct tr_webapi_batch *side, struct tr_text cursor)
{
    struct tri_refresh_batch *batch = batch_of(side);
    if (batch->is_backlog) {
        return 0; /* the stream itself goes on from where it is */
    }
    if (batch->stream == NULL || cursor.size > TR_WEBAPI_CURSOR_BYTES_MAX) {
        return batch->stream == NULL ? TR_INVALID : TR_LIMIT;
    }
    if (batch->stream->is_begun) {
        return 0; /* what there is comes in any order */
    }
    int error = tri_refresh_blob_set(
        batch->refresh, &batch->stream->cursor,
        (struct tr_bytes){.data = (const uint8_t *)cursor.data, .size = cursor.size});
    if (batch->error == 0) {
        batch->error = error;
    }
    return error;
}

static int api_next_page(struct tr_webapi_batch *side, struct tr_text page)
{
    struct tri_refresh_batch *batch = batch_of(side);
    if (batch->stream == NULL || !batch->stream->is_listing ||
        page.size > TR_WEBAPI_CURSOR_BYTES_MAX) {
        return page.size > TR_WEBAPI_CURSOR_BYTES_MAX ? TR_LIMIT : TR_INVALID;
    }
    int error = tri_refresh_blob_set(
        batch->refresh, &batch->stream->page,
        (struct tr_bytes){.data = (const uint8_t *)page.data, .size = page.size});
    if (batch->error == 0) {
        batch->error = error;
    }
    return error;
}

static int api_begin_anew(struct tr_webapi_batch *side)
{
    batch_of(side)->begins_anew = true;
    return 0;
}

static int api_caught_up(struct tr_webapi_batch *side)
{
    struct tri_refresh_batch *batch = batch_of(side);
    if (batch->stream == NULL || batch->is_backlog) {
        return TR_INVALID;
    }
    tri_refresh_scope_caught_up(batch->refresh, batch->stream);
    return 0;
}

static const struct tr_webapi_api api = {
    .abi = TR_PLUGIN_ABI,
    .scratch = api_scratch,
    .read_json = api_read_json,
    .write_json = api_write_json,
    .report = api_report,
    .resume = api_resume,
    .next_page = api_next_page,
    .begin_anew = api_begin_anew,
    .caught_up = api_caught_up,
};

int tri_refresh_batch_init(struct tri_refresh_batch *batch, struct tri_refresh *refresh,
                           uint8_t verb, uint32_t group)
{
    *batch = (struct tri_refresh_batch){
        .side = {.api = &api,
                 .endpoint = &refresh->place->endpoint,
                 .store = tr_engine_of(refresh->context)->store},
        .refresh = refresh,
        .verb = verb,
    };
    tr_arena_init(&batch->arena);
    return group == 0 ? 0 : tri_refresh_group_name(refresh, group, &batch->side.job_set);
}

void tri_refresh_batch_fini(struct tri_refresh_batch *batch)
{
    tr_arena_fini(&batch->arena);
}

/*
 * `with_job` is for calls that make jobs; no other verb reads a body, which may take several pages.
 */
static int fill_item(struct tri_refresh_batch *batch, const struct tri_job_row *job, bool with_job,
                     struct tr_webapi_item *item)
{
    struct tri_refresh *refresh = batch->refresh;
    item->identity = tri_refresh_job_identity(job);
    item->phase = job->phase;
    int error = tri_refresh_job_handle(refresh, job, &item->handle);
    if (error == 0) {
        error = tri_refresh_group_name(refresh, job->group, &item->job_set);
    }
    return error != 0 || !with_job
               ? error
               : tri_refresh_blob_get(refresh, job->blob, &batch->arena, &item->job);
}

/*
 * Walks the list and leaves it as it is: for a request the list is the queue, for an answer the
 * call, whose order is that of the request's items.
 */
int tri_refresh_batch_fill(struct tri_refresh_batch *batch, const struct tri_list_row *list,
                           uint32_t count, bool with_jobs)
{
    struct tr_webapi_item *items = tr_arena_array(&batch->arena, count, sizeof *items);
    uint32_t number = list->first;
    int error = items == NULL ? batch->arena.error : 0;
    for (uint32_t i = 0; i < count && error == 0; i++) {
        const void *row;
        error = tr_rows_get(&batch->refresh->rows, number, &row);
        if (error == 0) {
            number = ((const struct tri_job_row *)row)->next;
            error = fill_item(batch, row, with_jobs, &items[i]);
        }
    }
    batch->side.items = items;
    batch->side.count = count;
    return error;
}
