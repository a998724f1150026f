/*
 * Gates, of the watched shape. Where the back end has no room for more jobs of a scope (a quota is
 * used up), each of them would be refused by itself, again and again. So all but one wait:
 *
 *     one is refused for want of room   the gate of its scope closes, and it waits in a list
 *     others are to be made             they wait behind it
 *     the first of the list             is the probe: it is made after 2 s, and after twice that
 *                                       each time it is refused, up to 20 s
 *     the probe is made                 there is room: the next one is the probe, at once
 *     one that was made has ended       the next one is let through at once
 *     nobody waits                      the gate opens
 *
 * Invariant: while jobs wait in a list its scope has a probe, which is in a clock, a queue or a
 * call. Whatever takes the probe away (it was made, is refused, has ended, or has come back) calls
 * `appoint`, which finds another or opens the gate. One that was let through has a `batch_max` of
 * 1, since it is tried alone; that of all others is 0.
 */
#include "actors/backend/refresh.h"

static int scope_of(struct tri_refresh *refresh, const struct tri_job_row *job, uint32_t *number,
                    struct tri_group_row **scope)
{
    struct tri_group_row *group;
    *number = 0;
    int error = refresh->watched == NULL ? 0 : tri_refresh_group_edit(refresh, job->group, &group);
    if (error != 0 || refresh->watched == NULL || group->scope == 0) {
        return error;
    }
    *number = group->scope;
    return tri_refresh_group_edit(refresh, group->scope, scope);
}

/* The first that waits, taken out of the list and let through; 0: nobody does. */
static int take_first(struct tri_refresh *refresh, uint32_t scope_number, uint32_t *number)
{
    struct tri_list_row *list;
    struct tri_job_row *job;
    uint32_t list_number;
    *number = 0;
    int error = tri_refresh_list_find(refresh, TRI_REFRESH_GATE, scope_number, 0, false,
                                      &list_number, &list);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    if (list->first == 0) {
        return tr_rows_remove(&refresh->rows, list_number);
    }
    *number = list->first;
    error = tri_refresh_job_edit(refresh, list->first, &job);
    if (error == 0) {
        job->batch_max = 1;
        error = tri_refresh_list_remove(refresh, job);
    }
    return error;
}

/* The next probe is tried in a while, or now; without anybody who waits the gate opens. */
static int appoint(struct tri_refresh *refresh, uint32_t scope_number, struct tri_group_row *scope,
                   bool is_now)
{
    uint32_t number;
    if (scope->gate_probe != 0) {
        return 0;
    }
    int error = take_first(refresh, scope_number, &number);
    if (error != 0) {
        return error;
    }
    scope->gate_probe = number;
    if (number == 0) {
        scope->gate_wait_ms = 0;
        return 0;
    }
    return is_now ? tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_CREATE, true)
                  : tri_refresh_clock_add(refresh, number, scope->gate_wait_ms);
}

int tri_refresh_gate_holds(struct tri_refresh *refresh, const struct tri_job_row *job, bool *holds)
{
    struct tri_group_row *scope;
    uint32_t number;
    *holds = false;
    int error = scope_of(refresh, job, &number, &scope);
    if (error == 0 && number != 0) {
        *holds = scope->gate_wait_ms != 0 && job->batch_max != 1;
    }
    return error;
}

int tri_refresh_gate_enter(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                           bool at_front)
{
    struct tri_group_row *scope;
    struct tri_list_row *list;
    uint32_t scope_number;
    uint32_t list_number;
    int error = scope_of(refresh, job, &scope_number, &scope);
    if (error != 0) {
        return error;
    }
    TR_ASSERT(scope_number != 0);
    error = tri_refresh_list_find(refresh, TRI_REFRESH_GATE, scope_number, 0, true, &list_number,
                                  &list);
    if (error != 0) {
        return error;
    }
    job->batch_max = 0;
    list->first_ms = list->count == 0 ? refresh->now_ms : list->first_ms;
    scope->gate_probe = scope->gate_probe == number ? 0 : scope->gate_probe;
    error = tri_refresh_list_add(refresh, list_number, list, number, at_front);
    return error != 0 ? error : appoint(refresh, scope_number, scope, false);
}

/* The time doubles by the refusals of probes alone: many others are refused at once. */
int tri_refresh_gate_close(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    struct tri_group_row *scope;
    uint32_t scope_number;
    int error = scope_of(refresh, job, &scope_number, &scope);
    if (error != 0 || scope_number == 0) {
        return error;
    }
    uint32_t wait_ms = scope->gate_wait_ms == 0      ? TR_REFRESH_GATE_MS
                       : scope->gate_probe == number ? 2 * scope->gate_wait_ms
                                                     : scope->gate_wait_ms;
    scope->gate_wait_ms = wait_ms > TR_REFRESH_GATE_MS_MAX ? TR_REFRESH_GATE_MS_MAX : wait_ms;
    job->batch_max = 0;
    return 0;
}

int tri_refresh_gate_on_made(struct tri_refresh *refresh, uint32_t number,
                             const struct tri_job_row *job)
{
    struct tri_group_row *scope;
    uint32_t scope_number;
    int error = scope_of(refresh, job, &scope_number, &scope);
    if (error != 0 || scope_number == 0 || scope->gate_probe != number) {
        return error;
    }
    scope->gate_probe = 0;
    scope->gate_wait_ms = TR_REFRESH_GATE_MS;
    return appoint(refresh, scope_number, scope, true);
}

int tri_refresh_gate_on_end(struct tri_refresh *refresh, uint32_t number,
                            const struct tri_job_row *job)
{
    struct tri_group_row *scope;
    uint32_t scope_number;
    uint32_t next = 0;
    int error = scope_of(refresh, job, &scope_number, &scope);
    if (error != 0 || scope_number == 0 || scope->gate_wait_ms == 0) {
        return error;
    }
    if (scope->gate_probe == number) {
        scope->gate_probe = 0;
        return appoint(refresh, scope_number, scope, false);
    }
    if ((job->marks & TRI_JOB_MADE) != 0) {
        error = take_first(refresh, scope_number, &next);
    }
    return error != 0 || next == 0
               ? error
               : tri_refresh_queue_add(refresh, next, TR_WEBAPI_VERB_CREATE, true);
}
