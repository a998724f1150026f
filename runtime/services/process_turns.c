/*
 * The order in which runs are made.
 *
 * Folders and files of an attempt take the disk longer to make than a short process runs, and
 * folders that are made early pile up. So a run waits here, in the order in which it came and with
 * nothing made, until the keeper has few runs left that it has not begun: enough that one is always
 * there when a process ends, and made in batches, so that one sync and one message of the keeper
 * serve several. A run that waits here is gone when the engine dies, and leaves nothing on the
 * disk; its actor asks again.
 */
#include "runtime/services/process_inside.h"

/* Runs that are made before the rest of the service has its turn. */
#define BATCH 16

/* A process that only ends is over in less time than it takes to have another made. */
#define AHEAD_MIN (2 * BATCH)

uint32_t tri_turns_ahead(uint32_t jobs)
{
    uint32_t twice = jobs < UINT32_MAX / 2 ? 2 * jobs : jobs;
    return twice > AHEAD_MIN ? twice : AHEAD_MIN;
}

int tri_turns_wait(struct tri_process_service *service, struct tri_process_key *entry,
                   struct tr_bytes body, uint8_t version)
{
    int error = tri_process_key_hold(entry, body, version);
    if (error == 0) {
        tri_process_line_put(&service->waiting, entry);
        tri_run_set_phase(service, entry, TRI_RUN_WAITING);
    }
    return error;
}

bool tri_turns_are_due(const struct tri_process_service *service)
{
    /* Calls that are still to be taken may stop runs that wait here, so they go first. */
    return service->waiting.first != NULL && !service->has_frame &&
           service->ahead + BATCH <= service->ahead_max &&
           tri_keeper_client_is_up(service->client) && tri_keeper_client_has_room(service->client);
}

void tri_turns_take(struct tri_process_service *service)
{
    if (!tri_turns_are_due(service)) {
        return;
    }
    for (uint32_t i = 0; i < BATCH && service->waiting.first != NULL; i++) {
        struct tri_process_key *entry = service->waiting.first;
        /* A full pipe to the keeper: the run keeps its place, and is made when there is room. */
        if (!tri_keeper_client_has_room(service->client)) {
            return;
        }
        tri_run_begin(service, entry);
        tri_process_keys_tidy(&service->keys, entry);
    }
}

void tri_turns_clear(struct tri_process_service *service)
{
    service->waiting = (struct tri_process_line){0};
    service->ahead = 0;
}
