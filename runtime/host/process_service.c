/*
 * Between actors and the keeper: calls go to the keeper as they are, because both speak
 * schemas/process.h; what the keeper says of a key goes to who asked about it.
 */
#include "runtime/host/process_service.h"

#include "runtime/env/keeper_client.h"
#include "runtime/host/process_keys.h"
#include "runtime/memory.h"

#define WAIT_NS 200000000

struct tri_process_service {
    struct tri_service base;
    struct tri_keeper_client *client;
    struct tri_process_keys keys;
    struct tri_frame frame; /* of calls that wait for the keeper */
    bool has_frame;
    bool has_failed; /* no keeper can be had: what waits is refused, once */
};

/* The messages of a call, and how to find the key in each. */
union process_call {
    struct tr_process_start start;
    struct tr_process_query query;
    struct tr_process_stop stop;
    struct tr_process_forget forget;
};

static const struct {
    const struct tr_schema *schema;
    size_t key_offset;
    bool is_answered;
} calls[] = {
    {&tr_process_start_schema, offsetof(struct tr_process_start, key), true},
    {&tr_process_query_schema, offsetof(struct tr_process_query, key), true},
    {&tr_process_stop_schema, offsetof(struct tr_process_stop, key), true},
    {&tr_process_forget_schema, offsetof(struct tr_process_forget, key), false},
};

/* What the keeper says of a key. */
union process_news {
    struct tr_process_started started;
    struct tr_process_refused refused;
    struct tr_process_ended ended;
    struct tr_process_state state;
};

static const struct {
    const struct tr_schema *schema;
    size_t key_offset;
} news[] = {
    {&tr_process_started_schema, offsetof(struct tr_process_started, key)},
    {&tr_process_refused_schema, offsetof(struct tr_process_refused, key)},
    {&tr_process_ended_schema, offsetof(struct tr_process_ended, key)},
    {&tr_process_state_schema, offsetof(struct tr_process_state, key)},
};

static struct tr_text key_at(const void *value, size_t offset)
{
    struct tr_text key;
    memcpy(&key, (const char *)value + offset, sizeof key);
    return key;
}

/* ------------------------------------------------------------------------ from actors */

/* Hands a call on; the keeper answers it, or its end does. */
static int hand_on(struct tri_process_service *service, size_t row, const void *call,
                   const struct tri_caller *caller)
{
    struct tr_text key = key_at(call, calls[row].key_offset);
    if (!tri_keeper_client_is_up(service->client)) {
        return TR_NO_CONNECTION;
    }
    int error = calls[row].is_answered ? tri_process_keys_open(&service->keys, key, caller) : 0;
    if (error == 0) {
        error = tri_keeper_client_send(service->client, calls[row].schema, call);
    }
    if (!calls[row].is_answered) {
        tri_process_keys_remove(&service->keys, key);
    }
    return error;
}

static void take_call(struct tri_process_service *service, const uint8_t *envelope)
{
    struct tri_caller caller = tri_caller_of(envelope);
    union process_call call;
    int error = TR_UNKNOWN_TYPE;
    for (size_t row = 0; row < TR_COUNT_OF(calls); row++) {
        if (tr_envelope_get(envelope, 16, type) == calls[row].schema->id) {
            error = calls[row].schema->unpack(tr_envelope_body(envelope),
                                              tr_envelope_get(envelope, 8, version), &call);
            error = error != 0 ? error : hand_on(service, row, &call, &caller);
        }
    }
    if (error != 0 && tr_envelope_get(envelope, 8, kind) == TR_KIND_CALL) {
        tri_service_refuse(&service->base, &caller, error);
    }
}

static void take_frame(struct tri_process_service *service, const struct tri_frame *frame)
{
    struct tr_bytes bytes;
    bool is_stored;
    size_t size;
    size_t offset = 0;
    while (tri_frame_next(frame, &offset, &bytes, &is_stored)) {
        if (tr_envelope_check(bytes, &size) == 0) {
            take_call(service, bytes.data);
        }
    }
}

/* ------------------------------------------------------------------------ from the keeper */

static void tell(struct tri_process_service *service, size_t row, const void *value)
{
    struct tri_service *base = &service->base;
    struct tr_text key = key_at(value, news[row].key_offset);
    struct tri_process_key *entry = tri_process_keys_find(&service->keys, key);
    struct tri_caller caller;
    int error = 0;
    if (entry == NULL) {
        return; /* of an earlier engine; its actors ask about their keys when they recover */
    }
    bool is_end = news[row].schema == &tr_process_ended_schema;
    bool is_answer = tri_process_key_answer(entry, &caller);
    if (is_answer) {
        error = tri_service_reply(base, &caller, news[row].schema, value);
    }
    bool owner_heard = is_answer && tr_key_equal(caller.ref.key, entry->owner.ref.key);
    if (error == 0 && is_end && !owner_heard) {
        error = tri_service_tell(base, &entry->owner, news[row].schema, value);
    }
    if (error != 0) {
        atomic_store(&base->fatal, error);
    }
}

static void take_news(struct tri_process_service *service, const struct tri_packet *packet)
{
    union process_news value;
    for (size_t row = 0; row < TR_COUNT_OF(news); row++) {
        if (packet->type == news[row].schema->id &&
            news[row].schema->unpack(packet->body, packet->version, &value) == 0) {
            tell(service, row, &value);
        }
    }
}

/* The keeper is gone: nobody knows what it heard. */
static void refuse_open(void *self, struct tri_process_key *entry)
{
    struct tri_process_service *service = self;
    struct tri_caller caller;
    while (tri_process_key_answer(entry, &caller)) {
        tri_service_refuse(&service->base, &caller, TR_NO_CONNECTION);
    }
}

static void take_event(struct tri_process_service *service, const struct tri_keeper_event *event)
{
    switch (event->kind) {
    case TRI_KEEPER_UP:
        return;
    case TRI_KEEPER_DOWN:
        tri_process_keys_each(&service->keys, service, refuse_open);
        service->has_failed = true;
        return;
    case TRI_KEEPER_PACKET:
        take_news(service, &event->packet);
        return;
    }
}

/* ------------------------------------------------------------------------ the thread */

static void take_events(struct tri_process_service *service)
{
    struct tri_keeper_event event;
    while (tri_keeper_client_next(service->client, &event) == 0) {
        take_event(service, &event);
    }
}

/* The first call starts the keeper. Calls wait until it is up, or can't be had. */
static bool is_ready(struct tri_process_service *service)
{
    if (service->has_failed || tri_keeper_client_is_up(service->client)) {
        return true;
    }
    tri_keeper_client_connect(service->client);
    return false;
}

static void take_calls(struct tri_process_service *service)
{
    struct tri_link *link = service->base.voice.link;
    while (service->has_frame || tri_link_receive(link, &service->frame) == 0) {
        service->has_frame = true;
        if (!is_ready(service)) {
            return;
        }
        take_frame(service, &service->frame);
        tri_link_release(link, &service->frame);
        service->has_frame = false;
    }
    service->has_failed = false;
}

static void *service_main(void *argument)
{
    struct tri_process_service *service = argument;
    struct tri_service *base = &service->base;
    int error = base->env->ops->link_open(base->env, TRI_PLACE_PROCESSES, &base->voice.link);
    if (error != 0) {
        atomic_store(&base->fatal, error);
        return NULL;
    }
    while (!atomic_load(&base->is_stopping)) {
        take_events(service);
        take_calls(service);
        tri_keeper_client_flush(service->client);
        tri_voice_flush(&base->voice);
        tri_link_wait_also(base->voice.link, tri_keeper_client_fd(service->client), WAIT_NS);
    }
    return NULL;
}

static int start(struct tri_process_service *service,
                 const struct tri_process_service_options *options)
{
    struct tri_keeper_client_options client = {.store_folder = options->folder,
                                               .command = options->keeper_command};
    int error = tri_process_keys_init(&service->keys);
    if (error == 0) {
        error = tri_keeper_client_new(&client, &service->client);
    }
    if (error == 0 && pthread_create(&service->base.thread, NULL, service_main, service) != 0) {
        error = TR_SYSTEM;
    }
    return error;
}

static void process_service_free(struct tri_process_service *service)
{
    if (service->has_frame) {
        tri_link_release(service->base.voice.link, &service->frame);
    }
    tri_keeper_client_free(service->client);
    tri_process_keys_fini(&service->keys);
    tri_service_fini(&service->base);
    tr_free(service);
}

int tri_process_service_start(const struct tri_process_service_options *options,
                              struct tri_process_service **out)
{
    struct tri_process_service *service = tr_alloc_zero(1, sizeof *service);
    if (service == NULL) {
        return TR_MEMORY;
    }
    tri_service_init(&service->base, options->env, options->worker_count, options->host_epoch,
                     TR_SERVICE_PROCESSES);
    int error = start(service, options);
    if (error != 0) {
        process_service_free(service);
        return error;
    }
    *out = service;
    return 0;
}

void tri_process_service_stop(struct tri_process_service *service)
{
    if (service != NULL) {
        atomic_store(&service->base.is_stopping, true);
        pthread_join(service->base.thread, NULL);
        process_service_free(service);
    }
}
