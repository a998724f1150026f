/*
 * Asking an engine who sleeps.
 */
#include "deploy/asleep.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/reach.h"
#include "deploy/common/show.h"
#include "runtime/memory.h"
#include "schemas/runtime/request.h"

/* How long an engine may take to answer. */
#define ANSWER_MS 5000

/* Takes one row, with the numbers of many. */
static int take(void *self, const struct tri_request *request)
{
    struct tr_asleep *asleep = self;
    struct tr_asleep_row row;
    if (request->type != tr_asleep_row_schema.id) {
        return 0;
    }
    int error = tr_asleep_row_unpack(request->body, request->version, &row);
    size_t more = error == 0 ? row.executions.size / sizeof *asleep->executions : 0;
    if (more == 0) {
        return error;
    }
    uint64_t *grown = tr_realloc(asleep->executions, (asleep->count + more) * sizeof *grown);
    if (grown == NULL) {
        return TR_MEMORY;
    }
    memcpy(grown + asleep->count, row.executions.data, more * sizeof *grown);
    asleep->executions = grown;
    asleep->count += more;
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a;
    uint64_t other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

void tr_asleep_read(const char *folder, bool is_live, struct tr_asleep *asleep)
{
    struct tri_client *client;
    struct tri_request answer;
    *asleep = (struct tr_asleep){.is_live = is_live};
    asleep->aside_count = tr_aside_read(folder, asleep->aside);
    if (!is_live || tri_client_open(folder, &client) != 0) {
        return;
    }
    int error = tr_client_call(client, &tr_list_asleep_schema, &(struct tr_list_asleep){},
                               &tr_answered_schema, ANSWER_MS, take, asleep, &answer);
    tri_client_close(client);
    if (error == 0 && asleep->count > 0) {
        qsort(asleep->executions, asleep->count, sizeof *asleep->executions, compare);
    } else {
        asleep->count = 0;
    }
}

void tr_asleep_fini(struct tr_asleep *asleep)
{
    tr_free(asleep->executions);
    *asleep = (struct tr_asleep){.count = 0};
}

bool tr_asleep_has(const struct tr_asleep *asleep, const struct tr_execution *row)
{
    if (asleep == NULL || tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)) {
        return false;
    }
    return !asleep->is_live ||
           (asleep->count > 0 && bsearch(&row->execution, asleep->executions, asleep->count,
                                         sizeof *asleep->executions, compare) != NULL);
}

bool tr_asleep_is_aside(const struct tr_asleep *asleep, const struct tr_execution *row)
{
    bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
    for (size_t i = 0; asleep != NULL && !has_ended && i < asleep->aside_count; i++) {
        if (asleep->aside[i] == row->execution) {
            return true;
        }
    }
    return false;
}

const char *tr_asleep_word(const struct tr_asleep *asleep, const struct tr_execution *row)
{
    return tr_asleep_is_aside(asleep, row) ? ", put aside"
           : tr_asleep_has(asleep, row)    ? ", asleep"
                                           : "";
}

void tr_asleep_phase_print(const struct tr_asleep *asleep, const struct tr_execution *row,
                           struct tr_buffer *buffer)
{
    tr_buffer_print(buffer, "%s%s", tr_phase_shown(row), tr_asleep_word(asleep, row));
}
