/*
 * Ends that nobody asks for any more.
 *
 * An actor that has heard an end tells the keeper to forget it, and what is told can be lost with
 * an engine. A keeper tells all ends that it has when an engine comes to it, and an actor that
 * still waits for one asks right then; what nobody has asked for a while after that is forgotten.
 * An end that an actor has heard in this engine's life is not among those: the commit of that may
 * not be on the disk yet, and an actor that asks again without it must not have the process run
 * once more.
 */
#include "runtime/services/process_inside.h"

void tri_unclaimed_begin(struct tri_process_service *service)
{
    tri_process_keys_clear(&service->unclaimed, NULL, NULL);
    service->claim_end_ns =
        tri_monotonic_ns(service->base.env) + (uint64_t)service->unclaimed_ms * 1000000;
}

/* Takes a key out of a table, if it is there. */
static void drop(struct tri_process_keys *keys, struct tr_text key)
{
    struct tri_process_key *entry = tri_process_keys_find(keys, key);
    if (entry != NULL) {
        tri_process_keys_tidy(keys, entry);
    }
}

void tri_unclaimed_note(struct tri_process_service *service, struct tr_text key)
{
    /* Without memory it is told again to the next engine. */
    if (tri_process_keys_find(&service->told, key) == NULL) {
        (void)tri_process_keys_have(&service->unclaimed, key);
    }
}

void tri_unclaimed_claim(struct tri_process_service *service, struct tr_text key)
{
    drop(&service->unclaimed, key);
}

/* Without memory for the note the end could be forgotten too early, so the host ends. */
void tri_unclaimed_told(struct tri_process_service *service, struct tr_text key)
{
    if (tri_process_keys_have(&service->told, key) == NULL) {
        tri_process_service_check(service, TR_MEMORY);
    }
}

void tri_unclaimed_forgotten(struct tri_process_service *service, struct tr_text key)
{
    drop(&service->told, key);
    drop(&service->unclaimed, key);
}

static void forget(void *self, struct tri_process_key *entry)
{
    struct tri_process_service *service = self;
    const struct tr_process_forget forget = {.key = {.data = entry->key, .size = entry->size}};
    /* What is not sent for want of room is told to the next engine. */
    (void)!tri_keeper_client_send(service->client, &tr_process_forget_schema, &forget);
}

void tri_unclaimed_forget(struct tri_process_service *service)
{
    if (service->unclaimed.count > 0 && tri_keeper_client_is_up(service->client) &&
        tri_monotonic_ns(service->base.env) >= service->claim_end_ns) {
        tri_process_keys_clear(&service->unclaimed, service, forget);
    }
}
