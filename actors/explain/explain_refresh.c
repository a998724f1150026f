/*
 * Words for what a job waits for at the refresh actor of its back end: a batch, an answer, a time,
 * or the back end itself.
 *
 * A job is in one list (actors/backend/refresh.h), and the kind of the list is the first part of
 * the answer. What the group and the endpoint add comes behind it: a refusal to end the job, a
 * stream that says nothing, an open circuit. The rows are read as the actor keeps them, through
 * tr_rows_reader.
 */
#include <string.h>

#include "actors/backend/refresh.h"
#include "actors/explain/explain.h"
#include "actors/graph/document/report.h"

/* What each verb does with a job, for queues and for calls. */
static const struct {
    const char *waits;
    const char *is_called;
} verbs[] = {
    [TR_WEBAPI_VERB_CREATE] = {"waits to be submitted with others", "is being submitted"},
    [TR_WEBAPI_VERB_STATUS] = {"is asked about soon", "is being asked about"},
    [TR_WEBAPI_VERB_CANCEL] = {"waits to be ended with others", "is being ended"},
    [TR_WEBAPI_VERB_FIND] = {"may have been submitted, and is looked for soon",
                             "may have been submitted, and is being looked for"},
    [TR_WEBAPI_VERB_FAILURES] = {"has failed, and why is asked for soon",
                                 "has failed, and why is being asked for"},
};

/* What a job in a clock's list waits to do, by its stage and marks. */
static const char *wait_of(const struct tri_job_row *job)
{
    switch (job->stage) {
    case TR_WEBAPI_STAGE_INTENT:
        return "is submitted";
    case TR_WEBAPI_STAGE_UNKNOWN:
        return "may have been submitted, and is looked for";
    case TR_WEBAPI_STAGE_CANCELLING:
        return (job->marks & TRI_JOB_UNENDED) != 0 ? "was not ended, and is asked about"
                                                   : "was told to end, and is asked about";
    default:
        if ((job->marks & TRI_JOB_ENDING) != 0) {
            return "is to be ended, and that is tried again";
        }
        return (job->marks & TRI_JOB_STREAMED) != 0
                   ? "was submitted; news of it come by a stream, and it is asked about"
                   : "was submitted, and is asked about";
    }
}

/*
 * `first_ms` is when the first job came into a queue, or when a call left. A verb beyond the table,
 * of a newer engine, is left out.
 */
static void explain_list(const struct tri_job_row *job, const struct tri_list_row *list,
                         struct tr_explain_now now, struct tr_buffer *text)
{
    bool is_known = list->verb >= TR_WEBAPI_VERB_CREATE && list->verb < TR_COUNT_OF(verbs);
    if (list->kind == TRI_REFRESH_CLOCK) {
        tr_buffer_print(text, "%s at ", wait_of(job));
        tri_explain_time(job->due_ms, now, text);
        if (job->stage == TR_WEBAPI_STAGE_UNKNOWN) {
            tr_buffer_add_string(text, ", its outcome unknown since ");
            tri_explain_time(job->since_ms, now, text);
        }
    } else if (list->kind == TRI_REFRESH_CAPACITY) {
        tr_buffer_print(text, "waits for a slot of the back end (jobs_at_once), one of %u since ",
                        list->count);
        tri_explain_time(list->first_ms, now, text);
    } else if (list->kind == TRI_REFRESH_GATE) {
        tr_buffer_print(text, "waits for room at the back end, one of %u since ", list->count);
        tri_explain_time(list->first_ms, now, text);
    } else if (list->kind == TRI_REFRESH_CALL && is_known) {
        tr_buffer_print(text, "%s since ", verbs[list->verb].is_called);
        tri_explain_time(list->first_ms, now, text);
        tr_buffer_print(text, ", one of %u", list->count);
    } else if (is_known) {
        tr_buffer_print(text, "%s, one of %u since ", verbs[list->verb].waits, list->count);
        tri_explain_time(list->first_ms, now, text);
    }
}

/*
 * What the back end has said to ending it, where it did not, and when it is told again. The words
 * are the group's, so a job may show those that another of its group was refused with.
 */
static int explain_refusal(struct tr_rows *rows, const struct tri_job_row *job,
                           struct tr_explain_now now, struct tr_buffer *text)
{
    struct tr_bytes kept = {0};
    const void *row;
    uint32_t times = 0;
    if ((job->marks & TRI_JOB_UNENDED) == 0) {
        return 0;
    }
    int error = tr_rows_get(rows, job->group, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_group_row *group = row;
    if (tri_refresh_blob_peek(rows, group->refusal, &kept) == 0 && kept.size >= sizeof times) {
        memcpy(&times, kept.data, sizeof times);
        struct tr_text words = {.data = (const char *)kept.data + sizeof times,
                                .size = kept.size - sizeof times};
        tr_buffer_print(text, "; %.*s, %u time%s so far", TRI_TEXT(words), times,
                        times == 1 ? "" : "s");
    }
    if (job->stage == TR_WEBAPI_STAGE_CANCELLING) {
        tr_buffer_add_string(text, "; it is told again after ");
        tri_explain_time(tri_refresh_end_again_ms(group, job->since_ms), now, text);
    }
    return 0;
}

/* Where that is, and why nothing is called for at the moment, if that is so. */
static void explain_back_end(const struct tr_refresh_state *state, struct tr_explain_now now,
                             struct tr_buffer *text)
{
    struct tr_text fault = tr_array_get(&state->fault);
    if (state->circuit != TR_CIRCUIT_CLOSED && fault.size > 0) {
        tr_buffer_print(text, "; %.*s: tried again at ", TRI_TEXT(fault));
        tri_explain_time(state->circuit_ms, now, text);
    } else if (state->retry_after_ms > now.steady_ms) {
        tr_buffer_print(text, "; endpoint %.*s of '%.*s' wants fewer calls (429): the next one at ",
                        TRI_TEXT(tr_array_get(&state->endpoint)),
                        TRI_TEXT(tr_array_get(&state->plugin)));
        tri_explain_time(state->retry_after_ms, now, text);
    } else {
        tr_buffer_print(text, "; at endpoint %.*s of '%.*s'",
                        TRI_TEXT(tr_array_get(&state->endpoint)),
                        TRI_TEXT(tr_array_get(&state->plugin)));
    }
    if (state->circuit == TR_CIRCUIT_CLOSED && state->failures > 0) {
        tr_buffer_print(text, ", whose last call%s failed", state->failures == 1 ? "" : "s");
    }
}

/* What a server calls its job, which may be anything: shown on a terminal, it stays one word. */
static void explain_handle(struct tr_text handle, struct tr_buffer *text)
{
    for (size_t i = 0; i < handle.size; i++) {
        bool is_plain = handle.data[i] > ' ' && handle.data[i] <= '~';
        tr_buffer_print(text, "%c", is_plain ? handle.data[i] : '?');
    }
}

/* Where the list or the watch is that shows the job, of the watched shape; the row is its scope. */
static void explain_watch(struct tr_rows *rows, const struct tri_group_row *scope,
                          struct tr_explain_now now, struct tr_buffer *text)
{
    struct tr_bytes version = {0};
    if (scope->is_listing) {
        tr_buffer_add_string(text, "; all that there is is listed since ");
        tri_explain_time(scope->list_ms, now, text);
    } else if (scope->stream != 0) {
        tr_buffer_add_string(text, "; watched since ");
        tri_explain_time(scope->stream_ms, now, text);
    } else {
        tr_buffer_add_string(text, "; its watch is opened at ");
        tri_explain_time(scope->stream_ms, now, text);
    }
    if (tri_refresh_blob_peek(rows, scope->cursor, &version) == 0 && version.size > 0) {
        struct tr_text words = {.data = (const char *)version.data, .size = version.size};
        tr_buffer_add_string(text, ", by now from version ");
        explain_handle(words, text);
    }
}

/* Who is let through first where there is no room for more. */
static void explain_gate(struct tr_rows *rows, const struct tri_job_row *job,
                         const struct tri_group_row *scope, struct tr_explain_now now,
                         struct tr_buffer *text)
{
    const void *row;
    const void *list;
    bool is_held = tr_rows_get(rows, job->list, &list) == 0 &&
                   ((const struct tri_list_row *)list)->kind == TRI_REFRESH_GATE;
    if (is_held && scope->gate_probe != 0 && tr_rows_get(rows, scope->gate_probe, &row) == 0) {
        tr_buffer_add_string(text, "; another one is tried at ");
        tri_explain_time(((const struct tri_job_row *)row)->due_ms, now, text);
    }
}

static int explain_scope(struct tr_rows *rows, const struct tri_job_row *job,
                         struct tr_explain_now now, struct tr_buffer *text)
{
    const void *row;
    int error = tr_rows_get(rows, job->group, &row);
    uint32_t scope = error == 0 ? ((const struct tri_group_row *)row)->scope : 0;
    if (error == 0 && scope != 0) {
        error = tr_rows_get(rows, scope, &row);
    }
    if (error == 0 && scope != 0) {
        struct tri_group_row copy = *(const struct tri_group_row *)row;
        explain_gate(rows, job, &copy, now, text);
        explain_watch(rows, &copy, now, text);
    }
    return error;
}

/*
 * A stream may be idle because nothing happens, or because its connection is dead. Said from
 * TR_REFRESH_IDLE_MS on, the time after which the actor itself opens it anew. `made_ms` counts as
 * well: before a job was made there was nothing to hear.
 */
static int explain_stream(struct tr_rows *rows, const struct tri_job_row *job,
                          struct tr_explain_now now, struct tr_buffer *text)
{
    const void *row;
    int error = tr_rows_get(rows, job->group, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_group_row *group = row;
    uint64_t since_ms = group->heard_ms > group->made_ms ? group->heard_ms : group->made_ms;
    if (job->stage != TR_WEBAPI_STAGE_SUBMITTED || group->stream == 0 ||
        now.steady_ms < since_ms + TR_REFRESH_IDLE_MS) {
        return 0;
    }
    tr_buffer_add_string(text, "; its stream has said nothing since ");
    tri_explain_time(since_ms, now, text);
    if (group->stream_ms > since_ms) {
        tr_buffer_add_string(text, ", though opened anew at ");
        tri_explain_time(group->stream_ms, now, text);
    }
    return 0;
}

/*
 * A job in no list was told to its task, or was invited to ask again (refresh_capacity.c): either
 * way it is the task that acts next.
 */
int tr_explain_job(const struct tr_refresh_state *state, const struct tr_explain_pages *pages,
                   struct tr_text identity, struct tr_explain_now now, struct tr_buffer *text)
{
    struct tr_rows rows =
        tr_rows_reader(pages->page, pages->self, state, sizeof(union tri_refresh_any));
    tr_rows_share(&rows, TRI_REFRESH_BUCKETS, TRI_REFRESH_ROWS);
    struct tr_rows_key key =
        tr_rows_key_bytes(TRI_REFRESH_JOB, (struct tr_bytes){.data = (const uint8_t *)identity.data,
                                                             .size = identity.size});
    uint32_t number;
    const void *row;
    int error = tr_rows_find(&rows, &key, &number);
    if (error != 0) {
        return error;
    }
    error = tr_rows_get(&rows, number, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_job_row *job = row;
    struct tr_text handle = {0};
    error = tri_refresh_job_peek_handle(&rows, job, &handle);
    if (error != 0) {
        return error;
    }
    tr_buffer_add_string(text, "its job ");
    explain_handle(handle, text);
    tr_buffer_add_string(text, handle.size > 0 ? " " : "");
    if (job->list == 0) {
        bool is_invited = job->stage == TR_WEBAPI_STAGE_PREPARING;
        tr_buffer_add_string(text, is_invited ? "has a slot, and is submitted now" : "has ended");
        return text->error;
    }
    error = tr_rows_get(&rows, job->list, &row);
    if (error == 0) {
        explain_list(job, row, now, text);
        error = explain_refusal(&rows, job, now, text);
        if (error == 0) {
            error = explain_stream(&rows, job, now, text);
        }
        if (error == 0) {
            error = explain_scope(&rows, job, now, text);
        }
        explain_back_end(state, now, text);
    }
    return error != 0 ? error : text->error;
}
