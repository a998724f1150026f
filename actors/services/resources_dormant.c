/*
 * Dormant executions, as the resource manager knows them: a row for each, good for one start of
 * an engine. What they have booked is found by a sweep over all rows, a portion at a time.
 *
 * A start has a number. Rows and requests carry the number of the start that counted them, so a new
 * start makes all of them void in constant time, and the sweep cleans up behind it. Zero is no
 * start.
 *
 * For each dormant execution, `amounts` of its row are the sum over its requests with the present
 * number, and `dormant` of the machine is the sum over all such rows. Waking takes the row's sum
 * off the machine's; a release takes off its own amounts from both.
 */
#include "actors/services/resources.h"

#include <string.h>

/* Rows that one message looks at. */
#define SWEEP_ROWS 256

static struct tr_rows_key dormant_key(uint64_t execution)
{
    return tr_rows_key_numbers(TRI_ROW_DORMANT, execution, 0);
}

/*
 * The row of an execution that is dormant now; TR_NOT_FOUND. A row of an earlier start counts as
 * none.
 */
static int find(struct tri_resources *resources, uint64_t execution, uint32_t *number)
{
    const void *row;
    if (resources->state->dormant_count == 0) {
        return TR_NOT_FOUND;
    }
    struct tr_rows_key key = dormant_key(execution);
    int error = tr_rows_find(&resources->rows, &key, number);
    if (error != 0) {
        return error;
    }
    error = tr_rows_get(&resources->rows, *number, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_dormant_row *dormant = row;
    return dormant->start == resources->state->start ? 0 : TR_NOT_FOUND;
}

static int edit(struct tri_resources *resources, uint64_t execution,
                struct tri_dormant_row **dormant)
{
    uint32_t number;
    void *row = NULL;
    int error = find(resources, execution, &number);
    if (error == 0) {
        error = tr_rows_edit(&resources->rows, number, &row);
    }
    *dormant = row;
    return error;
}

int tri_resources_dormant_has(struct tri_resources *resources, uint64_t execution, bool *has)
{
    uint32_t number;
    int error = find(resources, execution, &number);
    *has = error == 0;
    return error == TR_NOT_FOUND ? 0 : error;
}

/* Multiplying by UINT64_MAX subtracts: unsigned arithmetic wraps as meant. */
static void add_amounts(struct tri_amounts *sum, const struct tri_amounts *more, bool is_less)
{
    uint64_t factor = is_less ? UINT64_MAX : 1;
    sum->cpu_millis += factor * more->cpu_millis;
    sum->memory_bytes += factor * more->memory_bytes;
    sum->gpu_count += factor * more->gpu_count;
}

int tri_resources_dormant_forget(struct tri_resources *resources, struct tri_place_row *machine,
                                 const struct tri_request_row *request)
{
    struct tri_dormant_row *dormant;
    if (request->dormant_start == 0 || request->dormant_start != resources->state->start) {
        return 0;
    }
    int error = edit(resources, request->execution, &dormant);
    if (error == 0) {
        add_amounts(&dormant->amounts, &request->amounts, true);
        add_amounts(&machine->dormant, &request->amounts, true);
    }
    return error == TR_NOT_FOUND ? 0 : error; /* it has woken, and all of it counts */
}

/* --------------------------------------------------------------------- becoming dormant */

static int machine_of(struct tri_resources *resources, struct tri_place_row **machine)
{
    *machine = NULL;
    return resources->state->machine == 0
               ? 0
               : tri_resources_place_edit(resources, resources->state->machine, machine);
}

uint32_t tri_resources_dormant_next_start(const struct tr_resources_state *state)
{
    return state->start == UINT32_MAX ? 1 : state->start + 1;
}

/* What an earlier engine said is good no more; its rows go with the sweep. */
static int forget_all(struct tri_resources *resources)
{
    struct tr_resources_state *state = resources->state;
    struct tri_place_row *machine;
    state->start = tri_resources_dormant_next_start(state);
    state->sweep = 0;
    state->claimant = 0; /* the one it was saved for may be dormant */
    int error = machine_of(resources, &machine);
    if (error == 0 && machine != NULL) {
        machine->dormant = (struct tri_amounts){0};
    }
    return error;
}

static int make_dormant(struct tri_resources *resources, uint64_t execution)
{
    struct tr_rows_key key = dormant_key(execution);
    uint32_t number;
    void *row;
    int error = tr_rows_find(&resources->rows, &key, &number);
    if (error == TR_NOT_FOUND) {
        error = tr_rows_add(&resources->rows, &key, &number, &row);
        resources->state->dormant_count += error == 0 ? 1 : 0;
    } else if (error == 0) {
        error = tr_rows_edit(&resources->rows, number, &row);
    }
    if (error == 0) {
        struct tri_dormant_row *dormant = row;
        dormant->execution = execution;
        dormant->start = resources->state->start;
        dormant->amounts = (struct tri_amounts){0};
    }
    return error;
}

/*
 * The list comes in parts, each a run of 8-byte numbers in this machine's order. The sweep begins
 * with the last part: before that a request of an execution still to come would not be counted.
 */
int tri_resources_dormant_on_list(struct tri_resources *resources, const struct tr_message *message)
{
    struct tr_resource_dormant list;
    uint64_t execution;
    int error = tr_message_read(message, resource_dormant, &list);
    if (error == 0 && list.is_first) {
        error = forget_all(resources);
        resources->state->quotas = list.has_all_quotas ? resources->state->start : 0;
    }
    for (size_t at = 0; error == 0 && at + sizeof execution <= list.executions.size;
         at += sizeof execution) {
        memcpy(&execution, list.executions.data + at, sizeof execution);
        error = make_dormant(resources, execution);
    }
    if (error == 0 && list.is_last && resources->rows.used > 0) {
        resources->state->sweep = 1;
    }
    return error;
}

/* -------------------------------------------------------------------------- the sweep */

/*
 * What a dormant has booked does not count. Its number says that a request was counted already, so
 * a sweep that begins again counts none twice.
 */
static int count_request(struct tri_resources *resources, uint32_t number, uint64_t execution)
{
    struct tri_dormant_row *dormant;
    struct tri_request_row *request;
    struct tri_place_row *machine;
    int error = edit(resources, execution, &dormant);
    if (error == 0) {
        error = tri_resources_request_edit(resources, number, &request);
    }
    if (error == 0) {
        error = machine_of(resources, &machine);
    }
    if (error != 0 || machine == NULL || request->dormant_start == resources->state->start) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    request->dormant_start = resources->state->start;
    add_amounts(&dormant->amounts, &request->amounts, false);
    add_amounts(&machine->dormant, &request->amounts, false);
    return 0;
}

/*
 * A quota that is named no more; the machine's row, which has no name, is no quota. Only where the
 * program has named all of them since this start (`quotas`). The row stays, since requests count in
 * it; slots 0 means no bound.
 */
static int drop_quota(struct tri_resources *resources, uint32_t number,
                      const struct tri_place_row *row)
{
    const struct tr_resources_state *state = resources->state;
    struct tri_place_row *place;
    if (row->slots == 0 || row->name_size == 0 || state->quotas != state->start ||
        row->told == state->start) {
        return 0;
    }
    int error = tri_resources_place_edit(resources, number, &place);
    if (error == 0) {
        place->slots = 0;
    }
    return error;
}

/*
 * Requests that wait have booked nothing and are passed over. Row numbers are visited in order,
 * removed ones too, so that the cursor is one number.
 */
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
    if (head->key.kind == TRI_ROW_DORMANT && any->dormant.start != resources->state->start) {
        resources->state->dormant_count--;
        return tr_rows_remove(&resources->rows, number);
    }
    return 0;
}

int tri_resources_dormant_sweep(struct tri_resources *resources, bool *is_over)
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

/*
 * The requests keep their number of the start, but no row is left to count them in: they count as
 * booked from here on.
 */
int tri_resources_dormant_on_active(struct tri_resources *resources,
                                    const struct tr_message *message)
{
    struct tr_resource_active awake;
    struct tri_place_row *machine;
    struct tri_dormant_row *dormant;
    uint32_t number;
    int error = tr_message_read(message, resource_active, &awake);
    if (error == 0) {
        error = find(resources, awake.execution, &number);
    }
    if (error == 0) {
        error = edit(resources, awake.execution, &dormant);
    }
    if (error == 0) {
        error = machine_of(resources, &machine);
    }
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    if (machine != NULL) {
        add_amounts(&machine->dormant, &dormant->amounts, true);
    }
    resources->state->dormant_count--;
    return tr_rows_remove(&resources->rows, number);
}
