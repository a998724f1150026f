/*
 * Many jobs in doubt, and one call for them: what the stream of their group has shown so far, from
 * where we have heard it to. What is not in it, when the lag is over, was not made.
 *
 * That holds for jobs that were known here before their stream came to where it is, unless it has
 * left something out since, and not so long ago that the back end may have forgotten what came
 * behind that. Others, and those of an answer that is of no use, are looked for one by one.
 */
#include "actors/refresh.h"

int tri_so_far_serves(struct tri_refresh *refresh, const struct tri_list_row *queue, bool *serves)
{
    const void *row;
    bool is_near;
    *serves = false;
    if (queue->verb != TR_WEBAPI_VERB_FIND || refresh->webapi->stream.write_so_far == NULL) {
        return 0;
    }
    int error = tr_rows_get(&refresh->rows, queue->first, &row);
    bool is_asked_alone = error == 0 && ((const struct tri_job_row *)row)->batch_max != 0;
    error = error != 0 ? error : tri_stream_is_near(refresh, queue->group, &is_near);
    error = error != 0 ? error : tr_rows_get(&refresh->rows, queue->group, &row);
    *serves =
        error == 0 && is_near && !is_asked_alone && !((const struct tri_group_row *)row)->is_torn;
    return error;
}

int tri_so_far_write(struct tri_refresh_batch *batch, uint32_t group,
                     struct tr_webapi_request *request)
{
    struct tri_refresh *refresh = batch->refresh;
    struct tr_bytes cursor = {0};
    const void *row;
    int error = tr_rows_get(&refresh->rows, group, &row);
    error = error != 0 ? error
                       : tri_blob_get(refresh, ((const struct tri_group_row *)row)->cursor,
                                      &batch->arena, &cursor);
    if (error != 0) {
        batch->error = error;
        return error;
    }
    struct tr_text from = {.data = (const char *)cursor.data, .size = cursor.size};
    tr_engine_call_begins(refresh->context, refresh->plugin, "stream.write_so_far");
    error = refresh->webapi->stream.write_so_far(&batch->side, from, request);
    tr_engine_call_ends(refresh->context);
    return error;
}

int tri_so_far_read(struct tri_refresh_batch *batch, struct tr_bytes body)
{
    struct tri_refresh *refresh = batch->refresh;
    struct tr_bytes line;
    int error = 0;
    tr_engine_call_begins(refresh->context, refresh->plugin, "stream.line");
    while (error == 0 && batch->error == 0 && tr_http_line_next(&body, &line)) {
        error = line.size == 0 ? 0 : refresh->webapi->stream.line(&batch->side, line);
    }
    tr_engine_call_ends(refresh->context);
    return error;
}
