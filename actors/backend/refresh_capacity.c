/*
 * Room for jobs: of an endpoint so many live at once (`jobs_at_once` of its settings), and the
 * bodies of those that wait to be made take no more pages than there are. Who asks for one more
 * waits.
 *
 * Those that wait are rows without a body, in the order in which they came. Where there is room
 * again the first of them are told to ask once more, which gives their bodies; nobody who comes
 * later is taken before them. Beyond so many they are not kept, and ask again after a while.
 */
#include <stdio.h>

#include "actors/refresh.h"

static int list_of(struct tri_refresh *refresh, bool makes, uint32_t *number,
                   struct tri_list_row **list)
{
    return tri_list_find(refresh, TRI_REFRESH_ROOM, 0, 0, makes, number, list);
}

void tri_room_leave(struct tri_refresh *refresh, const struct tri_job_row *job)
{
    struct tr_refresh_state *state = refresh->state;
    bool is_new = job->stage == TR_WEBAPI_STAGE_NEW || job->stage == TR_WEBAPI_STAGE_WAITING;
    if (job->stage == TR_WEBAPI_STAGE_PREPARING) {
        state->invited--;
    } else if (!is_new && (job->marks & TRI_JOB_STRAY) == 0 && state->live > 0) {
        state->live--; /* those of older programs were not counted */
    }
}

int tri_room_waiting(struct tri_refresh *refresh, uint32_t *count)
{
    struct tri_list_row *list;
    uint32_t number;
    int error = list_of(refresh, false, &number, &list);
    if (error == 0 || error == TR_NOT_FOUND) {
        *count = error == 0 ? list->count : 0;
        error = 0;
    }
    return error;
}

/* What there is no room for while so many wait; NULL: there is. */
static const char *lack_of(const struct tri_refresh *refresh, uint32_t waiting)
{
    const struct tr_refresh_state *state = refresh->state;
    if (state->live + state->invited >= tri_rate_jobs_max(refresh)) {
        return "and takes no more at once (jobs_at_once)";
    }
    bool has_room = state->blobs_kept < TRI_REFRESH_BLOB_PAGES - TRI_REFRESH_BLOB_PAGES_FREE &&
                    refresh->rows.count - waiting < TR_REFRESH_ROWS_MAX;
    return has_room ? NULL : "and no room for what more of them are made of";
}

int tri_room_has(struct tri_refresh *refresh, bool *has)
{
    uint32_t waiting;
    int error = tri_room_waiting(refresh, &waiting);
    if (error == 0) {
        *has = waiting == 0 && lack_of(refresh, waiting) == NULL;
    }
    return error;
}

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

int tri_room_wait(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    char room[400];
    uint32_t waiting;
    struct tri_list_row *list;
    uint32_t list_number;
    int error = tri_room_waiting(refresh, &waiting);
    error = error != 0 ? error : list_of(refresh, true, &list_number, &list);
    error = error != 0 ? error
                       : tri_job_go(refresh, job, TR_WEBAPI_STAGE_WAITING,
                                    words_of(refresh, waiting + 1, room, sizeof room));
    if (error != 0) {
        return error;
    }
    list->first_ms = list->count == 0 ? refresh->now_ms : list->first_ms;
    return tri_list_add(refresh, list_number, list, number, false);
}

int tri_room_turn_away(struct tri_refresh *refresh, struct tr_ref asker, struct tr_text identity)
{
    char room[400];
    uint32_t waiting;
    int error = tri_room_waiting(refresh, &waiting);
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

int tri_room_settle(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    const struct tr_refresh_news end = {.phase = TR_TASK_PHASE_ABORTED};
    if ((job->marks & TRI_JOB_ENDING) == 0) {
        return 0;
    }
    int error = tri_job_end(refresh, number, job, &end);
    return error != 0 ? error : tri_job_settle(refresh, number, job);
}

/* The first of those that wait is told to ask again. */
static int invite(struct tri_refresh *refresh, uint32_t number)
{
    struct tri_job_row *job;
    int error = tri_job_edit(refresh, number, &job);
    error = error != 0 ? error : tri_list_remove(refresh, job);
    refresh->state->invited++;
    return error != 0
               ? error
               : tri_job_go(refresh, job, TR_WEBAPI_STAGE_PREPARING, tr_text_of("there is room"));
}

int tri_room_go(struct tri_refresh *refresh)
{
    struct tri_list_row *list;
    uint32_t number;
    int error = list_of(refresh, false, &number, &list);
    while (error == 0 && list->first != 0 && refresh->state->invited < TR_REFRESH_INVITED_MAX &&
           lack_of(refresh, list->count) == NULL) {
        error = invite(refresh, list->first);
    }
    return error == TR_NOT_FOUND ? 0 : error;
}
