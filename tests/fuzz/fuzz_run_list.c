/*
 * Any text as the conditions of a list, as its token and as the field that it is sorted by: either
 * the client is told what is wrong, or there is a query within the limits of one.
 */
#include <flyteidl/execution.pb-c.h>
#include <string.h>

#include "deploy/api_runs/run_list.h"
#include "runtime/memory.h"
#include "schemas/engine/phase.h"
#include "tests/fuzz/fuzz.h"

static const struct tr_run_field fields[] = {
    {"created_at", "created_ms", TR_RUN_FIELD_TIME, true, NULL},
    {"name", "name", TR_RUN_FIELD_TEXT, true, NULL},
    {"phase", "phase", TR_RUN_FIELD_PHASE, false, NULL},
    {"attempts", "attempts", TR_RUN_FIELD_NUMBER, false, NULL},
    {"state", NULL, TR_RUN_FIELD_STATE, false, NULL},
};

static int flyte_phase(uint8_t phase)
{
    return phase;
}

static const struct tr_run_phases phases = {
    .names = &flyteidl__core__workflow_execution__phase__descriptor,
    .flyte_phase = flyte_phase,
    .count = TR_EXECUTION_PHASE_COUNT,
};

static void read(bool is_key_text, const char *filters, const char *token, char *key)
{
    const struct tr_run_list_table table = {.fields = fields,
                                            .field_count = TR_COUNT_OF(fields),
                                            .prefix = "execution.",
                                            .phases = &phases,
                                            .columns_key = "execution",
                                            .is_key_text = is_key_text};
    struct tr_desk_job job;
    struct tr_run_list list;
    Flyteidl__Admin__Sort sort;
    flyteidl__admin__sort__init(&sort);
    sort.key = key;
    const struct tr_run_list_request request = {.filters = filters, .token = token, .sort = &sort};
    memset(&job, 0, sizeof job);
    tr_arena_init(&job.arena);
    if (tr_run_list_read(&job, &table, &request, &list)) {
        struct tr_run_place place = {.text = tr_text_of("x"), .key_text = tr_text_of("y")};
        TR_ASSERT(list.filter_count + 3 <= TR_COUNT_OF(list.filters) && list.limit > 0);
        (void)tr_run_list_is_before(&list, &place);
        TR_ASSERT(tr_run_list_token(&job, &list, &place)[0] != '\0');
    } else {
        TR_ASSERT(job.code == TR_API_INVALID_ARGUMENT && job.words != NULL);
    }
    tr_arena_fini(&job.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char none[] = "";
    char *text = tr_text_copy((struct tr_text){.data = (const char *)data, .size = size});
    if (text == NULL) {
        return 0;
    }
    read(false, text, none, none);
    read(false, none, text, none);
    read(true, none, text, none);
    read(true, none, none, text);
    tr_free(text);
    return 0;
}
