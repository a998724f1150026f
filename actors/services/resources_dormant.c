/*
 * Dormant executions, as the resource manager knows them: a row for each, good for one start of
 * the host that said so. What they have booked of its machine is found by a sweep over all rows, a
 * portion at a time.
 *
 * A start has a number, which no other start of any host has. Rows and requests carry the number of
 * the start that counted them, so a new start makes all of its host void in constant time, and the
 * sweep cleans up behind it. Zero is no start.
 *
 * For each dormant execution, `amounts` of its row are the sum over its requests with that number,
 * and `dormant` of the machine is the sum over all such rows of its host. Waking takes the row's
 * sum off the machine's; a release takes off its own amounts from both. What an execution has of
 * another machine than that of the host that has it now stays booked.
 */
#include "actors/services/resources.h"

#include <string.h>

/* Rows that one message looks at. */
#define SWEEP_ROWS 256

static struct tr_rows_key dormant_key(uint64_t execution)
{
    return tr_rows_key_numbers(TRI_ROW_DORMANT, execution, 0);
}

/* The start of a host whose list is good; 0: none. An earlier program has made no row for it. */
static int start_of(struct tr_rows *rows, const struct tr_resources_state *state, uint32_t host,
                    uint32_t *start)
{
    const struct tri_host_row *row;
    uint32_t number;
    int error = tri_resources_host_get(rows, host, &number, &row);
    *start = error == 0 ? row->start : host == 0 ? state->start : 0;
    return error == TR_NOT_FOUND ? 0 : error;
}

/* Whether a row is none of an earlier start. */
static int is_good(struct tr_rows *rows, const struct tr_resources_state *state,
                   const struct tri_dormant_row *dormant, bool *is)
{
    uint32_t said = dormant->start;
    uint32_t start;
    int error = start_of(rows, state, dormant->host, &start);
    *is = error == 0 && said != 0 && said == start;
    return error;
}

/*
 * The row of an execution that is dormant now; TR_NOT_FOUND. A row of an earlier start counts as
 * none.
 */
static int find(struct tr_rows *rows, const struct tr_resources_state *state, uint64_t execution,
                uint32_t *number)
{
    const void *row;
    bool is = false;
    if (state->dormant_count == 0) {
        return TR_NOT_FOUND;
    }
    struct tr_rows_key key = dormant_key(execution);
    int error = tr_rows_find(rows, &key, number);
    if (error == 0) {
        error = tr_rows_get(rows, *number, &row);
    }
    if (error == 0) {
        error = is_good(rows, state, row, &is);
    }
    return error != 0 ? error : is ? 0 : TR_NOT_FOUND;
}

static int edit(struct tri_resources *resources, uint64_t execution,
                struct tri_dormant_row **dormant)
{
    uint32_t number;
    void *row = NULL;
    int error = find(&resources->rows, resources->state, execution, &number);
    if (error == 0) {
        error = tr_rows_edit(&resources->rows, number, &row);
    }
    *dormant = row;
    return error;
}

int tri_resources_dormant_has(struct tr_rows *rows, const struct tr_resources_state *state,
                              uint64_t execution, bool *has)
{
    uint32_t number;
    int error = find(rows, state, execution, &number);
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
    if (request->dormant_start == 0 || machine == NULL) {
        return 0;
    }
    int error = edit(resources, request->execution, &dormant);
    if (error == 0 && request->dormant_start == dormant->start) {
        add_amounts(&dormant->amounts, &request->amounts, true);
        add_amounts(&machine->dormant, &request->amounts, true);
    }
    return error == TR_NOT_FOUND ? 0 : error; /* it has woken, and all of it counts */
}

/* --------------------------------------------------------------------- becoming dormant */

static int machine_of(struct tri_resources *resources, uint32_t host,
                      struct tri_place_row **machine)
{
    const struct tri_host_row *row;
    uint32_t number;
    int error = tri_resources_host_find(resources, host, &number);
    if (error == 0) {
        error = tri_resources_host_get(&resources->rows, host, &number, &row);
    }
    return error != 0 ? error : tri_resources_place_edit(resources, row->machine, machine);
}

/*
 * What an earlier start of the host said is good no more; its rows go with the sweep. Nothing is
 * saved for a lane any more: those that wait there may be dormant.
 */
static int begin_list(struct tri_resources *resources, const struct tr_resource_dormant *list,
                      uint32_t *start)
{
    struct tr_resources_state *state = resources->state;
    struct tri_place_row *machine;
    struct tri_host_row *host;
    uint32_t number;
    int error = tri_resources_host_telling(resources, list->host, start);
    if (error == 0) {
        error = machine_of(resources, list->host, &machine);
    }
    if (error == 0) {
        error = tri_resources_host_find(resources, list->host, &number);
    }
    if (error == 0) {
        error = tri_resources_host_edit(resources, number, &host);
    }
    if (error != 0) {
        return error;
    }
    host->start = *start;
    host->telling = 0;
    host->claimant = 0;
    machine->dormant = (struct tri_amounts){0};
    if (list->has_all_quotas && tri_resources_number_is_before(state->quotas, *start)) {
        state->quotas = *start;
    }
    return 0;
}

/* It was dormant on another host: what was counted there counts as booked again. */
static int leave_other(struct tri_resources *resources, const struct tri_dormant_row *dormant)
{
    struct tri_place_row *machine;
    bool is;
    int error = is_good(&resources->rows, resources->state, dormant, &is);
    if (error == 0 && is) {
        error = machine_of(resources, dormant->host, &machine);
    }
    if (error == 0 && is) {
        add_amounts(&machine->dormant, &dormant->amounts, true);
    }
    return error;
}

static int make_dormant(struct tri_resources *resources, uint64_t execution, uint32_t host,
                        uint32_t start)
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
        error = error != 0 ? error : leave_other(resources, row);
    }
    if (error == 0) {
        struct tri_dormant_row *dormant = row;
        dormant->execution = execution;
        dormant->host = host;
        dormant->start = start;
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
    uint32_t start;
    int error = tr_message_read(message, resource_dormant, &list);
    if (error == 0) {
        error = list.is_first ? begin_list(resources, &list, &start)
                              : start_of(&resources->rows, resources->state, list.host, &start);
    }
    for (size_t at = 0; error == 0 && at + sizeof execution <= list.executions.size;
         at += sizeof execution) {
        memcpy(&execution, list.executions.data + at, sizeof execution);
        error = make_dormant(resources, execution, list.host, start);
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
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    bool is_of_host = tri_resources_request_is_booking(request) &&
                      tri_resources_request_host(request) == dormant->host;
    if (!is_of_host || request->dormant_start == dormant->start) {
        return 0;
    }
    error = machine_of(resources, dormant->host, &machine);
    if (error == 0) {
        request->dormant_start = dormant->start;
        add_amounts(&dormant->amounts, &request->amounts, false);
        add_amounts(&machine->dormant, &request->amounts, false);
    }
    return error;
}

/*
 * A quota that is named no more; the machine's row, which has no name, is no quota. Only where a
 * start has named all of them (`quotas`): others that began later may have told more. The row
 * stays, since requests count in it; slots 0 means no bound.
 */
static int drop_quota(struct tri_resources *resources, uint32_t number,
                      const struct tri_place_row *row)
{
    uint32_t quotas = resources->state->quotas;
    struct tri_place_row *place;
    if (row->slots == 0 || row->name_size == 0 || quotas == 0 ||
        !tri_resources_number_is_before(row->told, quotas)) {
        return 0;
    }
    int error = tri_resources_place_edit(resources, number, &place);
    if (error == 0) {
        place->slots = 0;
    }
    return error;
}

static int sweep_dormant(struct tri_resources *resources, uint32_t number,
                         const struct tri_dormant_row *dormant)
{
    bool is;
    int error = is_good(&resources->rows, resources->state, dormant, &is);
    if (error != 0 || is) {
        return error;
    }
    resources->state->dormant_count--;
    return tr_rows_remove(&resources->rows, number);
}

/*
 * Requests that wait have booked nothing, and are looked at for machines that are gone. Row numbers
 * are visited in order, removed ones too, so that the cursor is one number.
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
    switch (head->is_used == 0 ? 0 : head->key.kind) {
    case TRI_ROW_REQUEST:
        return any->request.queue == 0 ? count_request(resources, number, any->request.execution)
                                       : tri_resources_host_sweep(resources, number);
    case TRI_ROW_PLACE:
        return drop_quota(resources, number, &any->place);
    case TRI_ROW_DORMANT:
        return sweep_dormant(resources, number, &any->dormant);
    default:
        return 0;
    }
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
        error = find(&resources->rows, resources->state, awake.execution, &number);
    }
    if (error == 0) {
        error = edit(resources, awake.execution, &dormant);
    }
    if (error == 0) {
        error = machine_of(resources, dormant->host, &machine);
    }
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    add_amounts(&machine->dormant, &dormant->amounts, true);
    resources->state->dormant_count--;
    return tr_rows_remove(&resources->rows, number);
}
