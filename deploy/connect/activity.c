/*
 * Asking an engine which executions are dormant.
 */
#include "deploy/connect/activity.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/common/show.h"
#include "deploy/connect/connect.h"
#include "runtime/memory.h"
#include "schemas/runtime/request.h"

/* How long an engine may take to answer. */
#define ANSWER_MS 5000

/* Takes one row, with the numbers of many. */
static int take(void *self, const struct tri_request *request)
{
    struct tr_activity *activity = self;
    struct tr_dormant_row row;
    if (request->type != tr_dormant_row_schema.id) {
        return 0;
    }
    int error = tr_dormant_row_unpack(request->body, request->version, &row);
    size_t more = error == 0 ? row.executions.size / sizeof *activity->executions : 0;
    if (more == 0) {
        return error;
    }
    uint64_t *grown = tr_realloc(activity->executions, (activity->count + more) * sizeof *grown);
    if (grown == NULL) {
        return TR_MEMORY;
    }
    memcpy(grown + activity->count, row.executions.data, more * sizeof *grown);
    activity->executions = grown;
    activity->count += more;
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a;
    uint64_t other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

void tr_activity_read(const char *folder, bool is_live, struct tr_reader *reader,
                      struct tr_activity *activity)
{
    struct tri_client *client;
    struct tri_request answer;
    *activity = (struct tr_activity){.is_live = is_live};
    if (reader != NULL && tr_reader_aside(reader, activity->aside, &activity->aside_count) != 0) {
        activity->aside_count = 0;
    }
    if (!is_live || tri_client_open(folder, &client) != 0) {
        return;
    }
    int error = tr_client_call(client, &tr_list_dormant_schema, &(struct tr_list_dormant){},
                               &tr_answered_schema, ANSWER_MS, take, activity, &answer);
    tri_client_close(client);
    if (error == 0 && activity->count > 0) {
        qsort(activity->executions, activity->count, sizeof *activity->executions, compare);
    } else {
        activity->count = 0;
    }
}

void tr_activity_fini(struct tr_activity *activity)
{
    tr_free(activity->executions);
    *activity = (struct tr_activity){.count = 0};
}

bool tr_activity_is_dormant(const struct tr_activity *activity, const struct tr_execution *row)
{
    if (activity == NULL || tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)) {
        return false;
    }
    return !activity->is_live ||
           (activity->count > 0 && bsearch(&row->execution, activity->executions, activity->count,
                                           sizeof *activity->executions, compare) != NULL);
}

bool tr_activity_is_aside(const struct tr_activity *activity, const struct tr_execution *row)
{
    bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
    for (size_t i = 0; activity != NULL && !has_ended && i < activity->aside_count; i++) {
        if (activity->aside[i] == row->execution) {
            return true;
        }
    }
    return false;
}

const char *tr_activity_word(const struct tr_activity *activity, const struct tr_execution *row)
{
    return tr_activity_is_aside(activity, row)     ? ", set aside"
           : tr_activity_is_dormant(activity, row) ? ", dormant"
                                                   : "";
}

void tr_activity_phase_print(const struct tr_activity *activity, const struct tr_execution *row,
                             struct tr_buffer *buffer)
{
    tr_buffer_print(buffer, "%s%s", tr_phase_shown(row), tr_activity_word(activity, row));
}
