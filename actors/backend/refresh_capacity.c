/*
 * The capacity of an endpoint: `jobs_at_once` of its settings jobs live at once, and the bodies of
 * jobs that wait to be made take no more pages than there are. A task that asks for one more waits.
 *
 * Waiting jobs are rows without a body, in the order in which they came (first in, first out). When
 * capacity is free the first of them are invited to ask again, with their bodies; `invited` counts
 * as used, so no later request is served before them. At most TR_REFRESH_WAITING_MAX rows
 * wait; any further task is refused, and asks again after TR_REFRESH_CROWDED_MS.
 *
 * A row's share of the capacity follows its stage, so that the sums cannot drift:
 *
 *     NEW, WAITING          none
 *     PREPARING             one of `notified`
 *     INTENT to CANCELLING  one of `live`; jobs too many (strays) have none
 */
#include <stdio.h>

#include "actors/backend/refresh.h"

/*
 * The list of waiting jobs: one for the endpoint, made when the first job waits. TR_NOT_FOUND: none
 * has.
 */
static int list_of(struct tri_refresh *refresh, bool makes, uint32_t *number,
                   struct tri_list_row **list)
{
    return tri_refresh_list_find(refresh, TRI_REFRESH_CAPACITY, 0, 0, makes, number, list);
}

/* To be called before the stage changes, since the stage says what the job has. */
void tri_refresh_capacity_release(struct tri_refresh *refresh, const struct tri_job_row *job)
{
    struct tr_refresh_state *state = refresh->state;
    bool is_new = job->stage == TR_WEBAPI_STAGE_NEW || job->stage == TR_WEBAPI_STAGE_WAITING;
    if (job->stage == TR_WEBAPI_STAGE_PREPARING) {
        state->notified--;
    } else if (!is_new && (job->marks & TRI_JOB_STRAY) == 0) {
        state->live--;
    }
}

int tri_refresh_capacity_waiting(struct tri_refresh *refresh, uint32_t *count)
{
    struct tri_list_row *list;
    uint32_t number;
    int error = list_of(refresh, false, &number, &list);
    if (error == TR_NOT_FOUND) {
        *count = 0;
        return 0;
    }
    if (error == 0) {
        *count = list->count;
    }
    return error;
}

/*
 * What there is no room for while so many wait; NULL: there is. Waiting rows have no body and do
 * not count as rows that are admitted. Invited ones count as living: else a free place would be
 * given away once to the one invited and once to the next that asks.
 */
static const char *lack_of(const struct tri_refresh *refresh, uint32_t waiting)
{
    const struct tr_refresh_state *state = refresh->state;
    if (state->live + state->notified >= tri_refresh_rate_jobs_max(refresh)) {
        return "and takes no more at once (jobs_at_once)";
    }
    bool has_room = state->blobs_kept < TRI_REFRESH_BLOB_PAGES - TRI_REFRESH_BLOB_PAGES_FREE &&
                    refresh->rows.count - waiting < TR_REFRESH_ROWS_MAX;
    return has_room ? NULL : "and no room for what more of them are made of";
}

int tri_refresh_capacity_is_free(struct tri_refresh *refresh, bool *has)
{
    uint32_t waiting;
    int error = tri_refresh_capacity_waiting(refresh, &waiting);
    if (error == 0) {
        /*
         * While any job waits, a new one queues behind it even if there is a free place: else a
         * task that asks at the right moment would overtake those that were here before.
         */
        *has = waiting == 0 && lack_of(refresh, waiting) == NULL;
    }
    return error;
}

/* For people; a view of `room`. */
static struct tr_text words_of(const struct tri_refresh *refresh, uint32_t waiting, char *room,
                               size_t size)
{
    const struct tr_refresh_state *state = refresh->state;
    const char *lack = lack_of(refresh, waiting);
    (void)snprintf(room, size, "endpoint %.*s of '%.*s' has %u jobs%s%s: it waits for room",
                   (int)state->endpoint.size, state->endpoint.data, (int)state->plugin.size,
                   state->plugin.data, state->live, lack == NULL ? "" : ", ",
                   lack == NULL ? "" : lack);
    return tr_text_of(room);
}

int tri_refresh_capacity_wait(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    char room[400];
    uint32_t waiting;
    struct tri_list_row *list;
    uint32_t list_number;
    int error = tri_refresh_capacity_waiting(refresh, &waiting);
    if (error != 0) {
        return error;
    }
    error = list_of(refresh, true, &list_number, &list);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_job_go(refresh, job, TR_WEBAPI_STAGE_WAITING,
                               words_of(refresh, waiting + 1, room, sizeof room));
    if (error != 0) {
        return error;
    }
    list->first_ms = list->count == 0 ? refresh->now_ms : list->first_ms;
    return tri_refresh_list_add(refresh, list_number, list, number, false);
}

int tri_refresh_capacity_refuse(struct tri_refresh *refresh, struct tr_ref asker,
                                struct tr_text identity)
{
    char room[400];
    uint32_t waiting;
    int error = tri_refresh_capacity_waiting(refresh, &waiting);
    if (error != 0) {
        return error;
    }
    const struct tr_refresh_news news = {
        .identity = identity,
        .stage = TR_WEBAPI_STAGE_WAITING,
        .reason = words_of(refresh, waiting, room, sizeof room),
    };
    return tr_tell(refresh->context, asker, &tr_refresh_news_schema, &news);
}

/* Without the mark nothing is to be done: the job stays where it is until it is invited or asks. */
int tri_refresh_capacity_settle(struct tri_refresh *refresh, uint32_t number,
                                struct tri_job_row *job)
{
    const struct tr_refresh_news end = {.phase = TR_TASK_PHASE_ABORTED};
    if ((job->marks & TRI_JOB_ENDING) == 0) {
        return 0;
    }
    int error = tri_refresh_job_end(refresh, number, job, &end);
    return error != 0 ? error : tri_refresh_job_settle(refresh, number, job);
}

/*
 * The first of those that wait is told to ask again. The job leaves the list for none: from here on
 * its task has to act. If that task is gone, its DOWN ends the row and gives the place back.
 */
static int invite(struct tri_refresh *refresh, uint32_t number)
{
    struct tri_job_row *job;
    int error = tri_refresh_job_edit(refresh, number, &job);
    if (error == 0) {
        error = tri_refresh_list_remove(refresh, job);
    }
    refresh->state->notified++;
    return error != 0 ? error
                      : tri_refresh_job_go(refresh, job, TR_WEBAPI_STAGE_PREPARING,
                                           tr_text_of("there is room"));
}

int tri_refresh_capacity_invite(struct tri_refresh *refresh)
{
    struct tri_list_row *list;
    uint32_t number;
    int error = list_of(refresh, false, &number, &list);
    /*
     * The bound on invitations keeps a thousand free places from drawing a thousand bodies at once;
     * each that comes back makes room for the next invitation.
     */
    while (error == 0 && list->first != 0 && refresh->state->notified < TR_REFRESH_INVITED_MAX &&
           lack_of(refresh, list->count) == NULL) {
        error = invite(refresh, list->first);
    }
    return error == TR_NOT_FOUND ? 0 : error;
}
