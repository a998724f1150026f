/*
 * Executions that sleep, as the resource manager knows them: a row for each, good for one start of
 * an engine. What they have booked is found by a sweep over all rows, a portion at a time.
 */
#include "actors/services/resources.h"

#include <string.h>

/* Rows that one message looks at. */
#define SWEEP_ROWS 256

static struct tr_rows_key sleeper_key(uint64_t execution)
{
    return tr_rows_key_numbers(TRI_ROW_SLEEPER, execution, 0);
}

/* The row of an execution that sleeps now; TR_NOT_FOUND. */
static int find(struct tri_resources *resources, uint64_t execution, uint32_t *number)
{
    const void *row;
    if (resources->state->sleepers == 0) {
        return TR_NOT_FOUND;
    }
    struct tr_rows_key key = sleeper_key(execution);
    int error = tr_rows_find(&resources->rows, &key, number);
    error = error != 0 ? error : tr_rows_get(&resources->rows, *number, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_sleeper_row *sleeper = row;
    return sleeper->start == resources->state->start ? 0 : TR_NOT_FOUND;
}

static int edit(struct tri_resources *resources, uint64_t execution,
                struct tri_sleeper_row **sleeper)
{
    uint32_t number;
    void *row = NULL;
    int error = find(resources, execution, &number);
    error = error != 0 ? error : tr_rows_edit(&resources->rows, number, &row);
    *sleeper = row;
    return error;
}

int tri_asleep_has(struct tri_resources *resources, uint64_t execution, bool *has)
{
    uint32_t number;
    int error = find(resources, execution, &number);
    *has = error == 0;
    return error == TR_NOT_FOUND ? 0 : error;
}

static void add_amounts(struct tri_amounts *sum, const struct tri_amounts *more, bool is_less)
{
    uint64_t factor = is_less ? UINT64_MAX : 1;
    sum->cpu_millis += factor * more->cpu_millis;
    sum->memory_bytes += factor * more->memory_bytes;
    sum->gpu_count += factor * more->gpu_count;
}

int tri_asleep_forget(struct tri_resources *resources, struct tri_place_row *machine,
                      const struct tri_request_row *request)
{
    struct tri_sleeper_row *sleeper;
    if (request->asleep_start == 0 || request->asleep_start != resources->state->start) {
        return 0;
    }
    int error = edit(resources, request->execution, &sleeper);
    if (error == 0) {
        add_amounts(&sleeper->amounts, &request->amounts, true);
        add_amounts(&machine->asleep, &request->amounts, true);
    }
    return error == TR_NOT_FOUND ? 0 : error; /* it has woken, and all of it counts */
}

/* --------------------------------------------------------------------- falling asleep */

static int machine_of(struct tri_resources *resources, struct tri_place_row **machine)
{
    *machine = NULL;
    return resources->state->machine == 0
               ? 0
               : tri_place_edit(resources, resources->state->machine, machine);
}

uint32_t tri_asleep_next_start(const struct tr_resources_state *state)
{
    return state->start == UINT32_MAX ? 1 : state->start + 1;
}

/* What an earlier engine said is good no more; its rows go with the sweep. */
static int forget_all(struct tri_resources *resources)
{
    struct tr_resources_state *state = resources->state;
    struct tri_place_row *machine;
    state->start = tri_asleep_next_start(state);
    state->sweep = 0;
    state->claimant = 0; /* whoever it was saved for may sleep */
    int error = machine_of(resources, &machine);
    if (error == 0 && machine != NULL) {
        machine->asleep = (struct tri_amounts){0};
    }
    return error;
}

static int put_to_sleep(struct tri_resources *resources, uint64_t execution)
{
    struct tr_rows_key key = sleeper_key(execution);
    uint32_t number;
    void *row;
    int error = tr_rows_find(&resources->rows, &key, &number);
    if (error == TR_NOT_FOUND) {
        error = tr_rows_add(&resources->rows, &key, &number, &row);
        resources->state->sleepers += error == 0 ? 1 : 0;
    } else if (error == 0) {
        error = tr_rows_edit(&resources->rows, number, &row);
    }
    if (error == 0) {
        struct tri_sleeper_row *sleeper = row;
        sleeper->execution = execution;
        sleeper->start = resources->state->start;
        sleeper->amounts = (struct tri_amounts){0};
    }
    return error;
}

int tri_asleep_on_list(struct tri_resources *resources, const struct tr_message *message)
{
    struct tr_resource_asleep list;
    uint64_t execution;
    int error = tr_message_read(message, resource_asleep, &list);
    if (error == 0 && list.is_first) {
        error = forget_all(resources);
        resources->state->quotas = list.are_quotas_whole ? resources->state->start : 0;
    }
    for (size_t at = 0; error == 0 && at + sizeof execution <= list.executions.size;
         at += sizeof execution) {
        memcpy(&execution, list.executions.data + at, sizeof execution);
        error = put_to_sleep(resources, execution);
    }
    if (error == 0 && list.is_last && resources->rows.used > 0) {
        resources->state->sweep = 1;
    }
    return error;
}

/* -------------------------------------------------------------------------- the sweep */

/* What a sleeper has booked does not count. */
static int count_request(struct tri_resources *resources, uint32_t number, uint64_t execution)
{
    struct tri_sleeper_row *sleeper;
    struct tri_request_row *request;
    struct tri_place_row *machine;
    int error = edit(resources, execution, &sleeper);
    error = error != 0 ? error : tri_request_edit(resources, number, &request);
    error = error != 0 ? error : machine_of(resources, &machine);
    if (error != 0 || machine == NULL || request->asleep_start == resources->state->start) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    request->asleep_start = resources->state->start;
    add_amounts(&sleeper->amounts, &request->amounts, false);
    add_amounts(&machine->asleep, &request->amounts, false);
    return 0;
}

/* A quota that is named no more; the machine's row, which has no name, is no quota. */
static int drop_quota(struct tri_resources *resources, uint32_t number,
                      const struct tri_place_row *row)
{
    const struct tr_resources_state *state = resources->state;
    struct tri_place_row *place;
    if (row->slots == 0 || row->name_size == 0 || state->quotas != state->start ||
        row->told == state->start) {
        return 0;
    }
    int error = tri_place_edit(resources, number, &place);
    if (error == 0) {
        place->slots = 0;
    }
    return error;
}

static int sweep_row(struct tri_resources *resources, uint32_t number)
{
    const void *row;
    int error = tr_rows_get(&resources->rows, number, &row);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    const union tri_resource_any *any = row;
    const struct tr_rows_head *head = row;
    if (head->is_used == 0) {
        return 0;
    }
    if (head->key.kind == TRI_ROW_REQUEST && any->request.queue == 0) {
        return count_request(resources, number, any->request.execution);
    }
    if (head->key.kind == TRI_ROW_PLACE) {
        return drop_quota(resources, number, &any->place);
    }
    if (head->key.kind == TRI_ROW_SLEEPER && any->sleeper.start != resources->state->start) {
        resources->state->sleepers--;
        return tr_rows_remove(&resources->rows, number);
    }
    return 0;
}

int tri_asleep_sweep(struct tri_resources *resources, bool *is_over)
{
    struct tr_resources_state *state = resources->state;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < SWEEP_ROWS && state->sweep != 0; i++) {
        error = sweep_row(resources, state->sweep);
        state->sweep = state->sweep >= resources->rows.used ? 0 : state->sweep + 1;
    }
    *is_over = state->sweep == 0;
    return error;
}

/* ------------------------------------------------------------------------------ waking */

int tri_asleep_on_awake(struct tri_resources *resources, const struct tr_message *message)
{
    struct tr_resource_awake awake;
    struct tri_place_row *machine;
    struct tri_sleeper_row *sleeper;
    uint32_t number;
    int error = tr_message_read(message, resource_awake, &awake);
    error = error != 0 ? error : find(resources, awake.execution, &number);
    error = error != 0 ? error : edit(resources, awake.execution, &sleeper);
    error = error != 0 ? error : machine_of(resources, &machine);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    if (machine != NULL) {
        add_amounts(&machine->asleep, &sleeper->amounts, true);
    }
    resources->state->sleepers--;
    return tr_rows_remove(&resources->rows, number);
}
