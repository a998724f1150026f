/*
 * Hosts, as the resource manager knows them: each has a machine of its own, and its own list of
 * dormant executions. The engine that is alone is host 0.
 *
 * A host that is gone has a number, that of its loss (`gone`). What waited for its machine is
 * forgotten, and its task told to ask again, by a sweep over all rows; so is each request for it
 * that is yet to come. The task asks with the host that it is on now, and says which number it was
 * told last: numbers only grow, so a request that has heard of this loss comes from a host that has
 * lived since, and whoever said that it is gone was late. So each loss is told to a task once, and
 * no message has to come before another.
 *
 * What was granted at a machine stays booked there, whoever runs it meanwhile.
 */
#include "actors/services/resources.h"

int tri_resources_host_edit(struct tri_resources *resources, uint32_t number,
                            struct tri_host_row **host)
{
    void *row;
    int error = tr_rows_edit(&resources->rows, number, &row);
    *host = error == 0 ? row : NULL;
    return error;
}

int tri_resources_host_get(struct tr_rows *rows, uint32_t host, uint32_t *number,
                           const struct tri_host_row **row)
{
    struct tr_rows_key key = tr_rows_key_numbers(TRI_ROW_HOST, host, 0);
    const void *any;
    int error = tr_rows_find(rows, &key, number);
    if (error == 0) {
        error = tr_rows_get(rows, *number, &any);
    }
    if (error == 0) {
        *row = any;
    }
    return error;
}

/* The machine of the engine that is alone is the namespace of the empty name. */
static int machine_new(struct tri_resources *resources, uint32_t host, uint32_t *number)
{
    void *row;
    if (host != 0) {
        struct tr_rows_key key = tr_rows_key_numbers(TRI_ROW_MACHINE, host, 0);
        return tr_rows_add(&resources->rows, &key, number, &row);
    }
    int error = tri_resources_place_find(resources, TRI_ROW_PLACE, tr_text_of(""), number);
    if (error == 0) {
        resources->state->machine = *number;
    }
    return error;
}

/* Rows of hosts are never removed: they are few. */
static int host_new(struct tri_resources *resources, uint32_t host, uint32_t *number)
{
    struct tr_resources_state *state = resources->state;
    struct tr_rows_key key = tr_rows_key_numbers(TRI_ROW_HOST, host, 0);
    uint32_t machine;
    void *any;
    int error = machine_new(resources, host, &machine);
    if (error == 0) {
        error = tr_rows_add(&resources->rows, &key, number, &any);
    }
    if (error != 0) {
        return error;
    }
    struct tri_host_row *row = any;
    row->host = host;
    row->machine = machine;
    row->start = host == 0 ? state->start : 0; /* as an earlier program has left it */
    row->next = state->hosts;
    state->hosts = *number;
    return 0;
}

int tri_resources_host_find(struct tri_resources *resources, uint32_t host, uint32_t *number)
{
    const struct tri_host_row *row;
    int error = tri_resources_host_get(&resources->rows, host, number, &row);
    return error == TR_NOT_FOUND ? host_new(resources, host, number) : error;
}

int tri_resources_host_claim(struct tri_resources *resources, uint32_t number, uint32_t lane)
{
    struct tri_host_row *row;
    int error = tri_resources_host_edit(resources, number, &row);
    if (error == 0) {
        row->claimant = lane;
    }
    return error;
}

int tri_resources_host_unclaim(struct tri_resources *resources, uint32_t host, uint32_t lane)
{
    const struct tri_host_row *row;
    uint32_t number;
    int error = tri_resources_host_get(&resources->rows, host, &number, &row);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    return row->claimant == lane ? tri_resources_host_claim(resources, number, 0) : 0;
}

/* ------------------------------------------------------------------------------ losses */

/* What it has said is good no more. */
static int lose(struct tri_resources *resources, uint32_t number)
{
    struct tr_resources_state *state = resources->state;
    struct tri_host_row *row;
    struct tri_place_row *machine;
    int error = tri_resources_host_edit(resources, number, &row);
    if (error == 0) {
        error = tri_resources_place_edit(resources, row->machine, &machine);
    }
    if (error == 0) {
        tri_resources_number_next(&state->losses);
        row->gone = state->losses;
        row->start = 0;
        row->claimant = 0;
        machine->dormant = (struct tri_amounts){0};
        state->sweep = 1;
    }
    return error;
}

/*
 * An engine that is alone, and hosts beside each other, take turns: where one of a kind is there,
 * those of the other kind are gone.
 */
static int lose_other_kind(struct tri_resources *resources, uint32_t host)
{
    const struct tr_resources_state *state = resources->state;
    uint32_t number = state->machine;
    int error = 0;
    if (host != 0 && number != 0) { /* an earlier program has made no row for it */
        error = tri_resources_host_find(resources, 0, &number);
    }
    for (number = state->hosts; error == 0 && number != 0;) {
        const void *any;
        error = tr_rows_get(&resources->rows, number, &any);
        if (error != 0) {
            return error;
        }
        const struct tri_host_row *row = any;
        uint32_t next = row->next;
        if ((row->host == 0) != (host == 0) && row->gone == 0) {
            error = lose(resources, number);
        }
        number = next;
    }
    return error;
}

/*
 * One that has never told anything has nothing that could be waited for. Each of the others may say
 * it, and again whenever one more is gone: the first time counts.
 */
int tri_resources_host_on_gone(struct tri_resources *resources, const struct tr_message *message)
{
    struct tr_resource_machine_gone gone;
    const struct tri_host_row *row;
    struct tri_host_row *lost;
    uint32_t number;
    int error = tr_message_read(message, resource_machine_gone, &gone);
    if (error == 0) {
        error = tri_resources_host_get(&resources->rows, gone.host, &number, &row);
    }
    bool is_known =
        error == 0 && gone.incarnation != 0 && row->gone != 0 && gone.incarnation <= row->lost;
    bool is_late = error == 0 && gone.incarnation != 0 && gone.incarnation < row->told;
    if (error != 0 || is_known || is_late) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    error = lose(resources, number);
    if (error == 0) {
        error = tri_resources_host_edit(resources, number, &lost);
    }
    if (error == 0 && gone.incarnation > lost->lost) {
        lost->lost = gone.incarnation;
    }
    return error;
}

static bool is_among(struct tr_bytes hosts, uint32_t host)
{
    uint64_t number;
    for (size_t at = 0; at + sizeof number <= hosts.size; at += sizeof number) {
        memcpy(&number, hosts.data + at, sizeof number);
        if (number == host) {
            return true;
        }
    }
    return false;
}

/* Incarnations are given once among all hosts, so what a later one has told is known as later. */
static int lose_unseen(struct tri_resources *resources, uint32_t number,
                       const struct tri_host_row *row, uint64_t newest)
{
    struct tri_host_row *lost;
    bool is_gone = row->gone != 0;
    if (row->told > newest || (is_gone && row->lost >= newest)) {
        return 0;
    }
    int error = is_gone ? 0 : lose(resources, number);
    if (error == 0) {
        error = tri_resources_host_edit(resources, number, &lost);
    }
    if (error == 0 && lost->lost < newest) {
        lost->lost = newest;
    }
    return error;
}

int tri_resources_host_on_machines(struct tri_resources *resources,
                                   const struct tr_message *message)
{
    struct tr_resource_machines machines;
    int error = tr_message_read(message, resource_machines, &machines);
    for (uint32_t number = resources->state->hosts; error == 0 && number != 0;) {
        const void *any;
        error = tr_rows_get(&resources->rows, number, &any);
        if (error != 0) {
            return error;
        }
        const struct tri_host_row *row = any;
        uint32_t next = row->next;
        if (row->host != 0 && !is_among(machines.hosts, row->host)) {
            error = lose_unseen(resources, number, row, machines.newest);
        }
        number = next;
    }
    return error;
}

/* -------------------------------------------------------------------------- its machine */

int tri_resources_host_on_machine(struct tri_resources *resources,
                                  const struct tr_resource_quota *quota)
{
    struct tri_host_row *row;
    struct tri_place_row *machine;
    uint32_t number;
    int error = lose_other_kind(resources, quota->host);
    if (error == 0) {
        error = tri_resources_host_find(resources, quota->host, &number);
    }
    if (error == 0) {
        error = tri_resources_host_edit(resources, number, &row);
    }
    if (error == 0) {
        error = tri_resources_place_edit(resources, row->machine, &machine);
    }
    bool is_late = error == 0 && quota->incarnation != 0 && quota->incarnation <= row->lost;
    if (error != 0 || is_late) {
        return error;
    }
    machine->slots = quota->slots;
    machine->amounts =
        (struct tri_amounts){quota->cpu_millis, quota->memory_bytes, quota->gpu_count};
    row->has_told = true;
    row->told = quota->incarnation;
    row->gone = 0;
    row->telling = tri_resources_number_next(&resources->state->start);
    return 0;
}

int tri_resources_host_telling(struct tri_resources *resources, uint32_t host, uint32_t *telling)
{
    struct tri_host_row *row;
    uint32_t number;
    int error = tri_resources_host_find(resources, host, &number);
    if (error == 0) {
        error = tri_resources_host_edit(resources, number, &row);
    }
    if (error == 0) {
        row->telling =
            row->telling != 0 ? row->telling : tri_resources_number_next(&resources->state->start);
        *telling = row->telling;
    }
    return error;
}

/* ---------------------------------------------------------------------------- requests */

static int tell_again(struct tri_resources *resources, struct tr_ref task, struct tr_text identity)
{
    const struct tr_resource_ask_again again = {.identity = identity,
                                                .number = resources->state->losses};
    return tr_tell(resources->context, task, &tr_resource_ask_again_schema, &again);
}

int tri_resources_host_admit(struct tri_resources *resources,
                             const struct tr_resource_request *wish, struct tr_ref task,
                             bool *is_there)
{
    const struct tri_host_row *known;
    struct tri_host_row *row;
    uint32_t number;
    *is_there = true;
    int error = tri_resources_host_find(resources, wish->host, &number);
    if (error == 0) {
        error = tri_resources_host_get(&resources->rows, wish->host, &number, &known);
    }
    if (error != 0 || known->gone == 0) {
        return error;
    }
    *is_there =
        wish->asked_again != 0 && !tri_resources_number_is_before(wish->asked_again, known->gone);
    if (!*is_there) {
        return tell_again(resources, task, wish->identity);
    }
    error = tri_resources_host_edit(resources, number, &row);
    if (error == 0) {
        row->gone = 0;
    }
    return error;
}

int tri_resources_host_sweep(struct tri_resources *resources, uint32_t number)
{
    const void *any;
    const struct tri_host_row *host;
    struct tri_request_row *request;
    uint32_t host_number;
    int error = tr_rows_get(&resources->rows, number, &any);
    if (error != 0 || !tri_resources_request_is_booking(any)) {
        return error;
    }
    error = tri_resources_host_get(&resources->rows, tri_resources_request_host(any), &host_number,
                                   &host);
    if (error != 0 || host->gone == 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    error = tri_resources_request_edit(resources, number, &request);
    if (error == 0) {
        error =
            tell_again(resources, request->watched.actor, tri_resources_request_identity(request));
    }
    if (error == 0) {
        error = tri_resources_lane_remove(resources, request);
    }
    return error != 0 ? error : tr_rows_remove(&resources->rows, number);
}
