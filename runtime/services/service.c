/*
 * Common to all services: the caller, and answers to it.
 *
 * An answer has the incarnation of the caller, so it never reaches a later incarnation of the same
 * actor, and the number of the call as its cause, by which the actor finds the call. Services
 * address actors by key alone and do not know on which worker one is.
 */
#include "runtime/services/service.h"

void tri_service_init(struct tri_service *service, struct tr_env *env, uint32_t worker_count,
                      struct tr_ref host, uint64_t serial)
{
    *service = (struct tri_service){.env = env, .worker_count = worker_count};
    tri_sender_init(&service->sender, serial, host);
}

void tri_service_fail(struct tri_service *service, int error)
{
    /* The first error is kept, since later ones often follow from it. */
    int expected = 0;
    if (service->fatal != NULL) {
        atomic_compare_exchange_strong(service->fatal, &expected, error);
    }
}

void tri_service_fini(struct tri_service *service)
{
    tri_sender_fini(&service->sender);
    /* The service's thread has ended: only then another thread may close its link. */
    tri_channel_close(service->sender.link);
    service->sender.link = NULL;
}

struct tri_caller tri_service_caller(const uint8_t *envelope)
{
    struct tr_envelope whole;
    tr_envelope_unpack(envelope, &whole);
    return (struct tri_caller){
        .ref = tr_envelope_from(&whole), .ask = whole.sequence, .trace = whole.trace};
}

static int say(struct tri_service *service, const struct tri_caller *caller, uint8_t kind,
               const struct tr_schema *schema, const void *body)
{
    struct tr_envelope envelope = {
        .kind = kind,
        .flags = TR_FLAG_PRIORITY,
        .to_group = caller->ref.key.group,
        .to_serial = caller->ref.key.serial,
        .to_incarnation = caller->ref.incarnation,
        .cause_group = caller->ref.key.group,
        .cause_serial = caller->ref.key.serial,
        .cause_incarnation = caller->ref.incarnation,
        .cause_sequence = caller->ask,
        .trace = caller->trace,
    };
    /* The worker of origin knows the actor's worker, and forwards. */
    uint32_t worker =
        (uint32_t)(caller->ref.key.serial & (TR_WORKERS_MAX - 1)) % service->worker_count;
    return tri_sender_send(&service->sender, worker, &envelope, schema, body);
}

int tri_service_reply(struct tri_service *service, const struct tri_caller *caller,
                      const struct tr_schema *schema, const void *body)
{
    return say(service, caller, TR_KIND_REPLY, schema, body);
}

int tri_service_tell(struct tri_service *service, const struct tri_caller *caller,
                     const struct tr_schema *schema, const void *body)
{
    return say(service, caller, TR_KIND_TELL, schema, body);
}

void tri_service_refuse(struct tri_service *service, const struct tri_caller *caller, int reason)
{
    struct tr_ask_failed failed = {.reason = (uint32_t)-reason};
    int error = say(service, caller, TR_KIND_SIGNAL, &tr_ask_failed_schema, &failed);
    /* Without an answer the caller would wait for ever, so the host ends. */
    if (error != 0) {
        tri_service_fail(service, error);
    }
}
