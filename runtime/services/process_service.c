/*
 * Between actors and the keeper: one thread takes calls from the one side and messages of the
 * other. Most messages are passed on as they are, because both sides use schemas/runtime/process.h;
 * process_run.c handles runs.
 *
 * One round of the thread: messages of the keeper, some calls, some waiting runs, then both sides'
 * pipes are flushed. Calls and runs are taken a few at a time, so that many of them do not delay
 * the keeper's messages. A call that needs the keeper waits in its frame until the keeper is up and
 * has room; later frames wait in the link, in order.
 *
 * When the keeper goes down every open call is answered with the failure, and `failure` refuses the
 * waiting ones. It is reset when the link is empty, so the next call tries to start a keeper again.
 */
#include "runtime/services/process_service.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/keeper_client/keeper_end.h"
#include "runtime/memory.h"
#include "runtime/services/process_internal.h"

#define WAIT_NS 200000000

/* The same while a call waits for the keeper: it is not woken then, for its end in particular. */
#define KEEPER_WAIT_MS 10

/* How long the processes of a host that leaves its work to another may take to end. */
#define END_MS 10000

/* Calls taken before the keeper gets their messages: it should not wait for all. */
#define CALLS_PER_ROUND 16

void tri_process_service_check(struct tri_process_service *service, int error)
{
    if (error == TR_MEMORY) { /* the caller would wait for ever */
        tri_service_fail(&service->base, error);
    }
}

/* ---- Ends that nobody asks for. ------------------------------------------------------------- */

/*
 * An actor that has got an end tells the keeper to forget it, and that message can be lost with an
 * engine. A keeper reports all ends that it has when an engine connects, and an actor that still
 * waits for one asks at once; an end that no actor has asked for within some time is forgotten.
 * This excludes ends reported to an actor in this engine's life: the commit of that may not be on
 * the disk yet, and an actor that asks again without it must not run the process once more.
 */

static void unclaimed_begin(struct tri_process_service *service)
{
    tri_process_keys_clear(&service->unclaimed, NULL, NULL);
    service->claim_end_ns =
        tri_monotonic_ns(service->base.env) + (uint64_t)service->unclaimed_ms * 1000000;
}

/* Removes a key from a table, if it is there. */
static void drop(struct tri_process_keys *keys, struct tr_text key)
{
    struct tri_process_key *entry = tri_process_keys_find(keys, key);
    if (entry != NULL) {
        tri_process_keys_drop_unused(keys, entry);
    }
}

static void unclaimed_note(struct tri_process_service *service, struct tr_text key)
{
    /* Without memory it is reported to the next engine. */
    if (tri_process_keys_find(&service->told, key) == NULL) {
        (void)tri_process_keys_ensure(&service->unclaimed, key);
    }
}

void tri_process_ends_claim(struct tri_process_service *service, struct tr_text key)
{
    drop(&service->unclaimed, key);
}

/* Without memory for the entry the end could be forgotten too early, so the host ends. */
static void unclaimed_told(struct tri_process_service *service, struct tr_text key)
{
    if (tri_process_keys_ensure(&service->told, key) == NULL) {
        tri_process_service_check(service, TR_MEMORY);
    }
}

static void unclaimed_forgotten(struct tri_process_service *service, struct tr_text key)
{
    drop(&service->told, key);
    drop(&service->unclaimed, key);
}

static void forget(void *self, struct tri_process_key *entry)
{
    struct tri_process_service *service = self;
    const struct tr_process_forget forget = {.key = {.data = entry->key, .size = entry->size}};
    /* Unsent ones are reported to the next engine. */
    (void)!tri_keeper_client_send(service->client, &tr_process_forget_schema, &forget);
}

static void unclaimed_forget(struct tri_process_service *service)
{
    if (service->unclaimed.count > 0 && tri_keeper_client_is_up(service->client) &&
        tri_monotonic_ns(service->base.env) >= service->claim_end_ns) {
        tri_process_keys_clear(&service->unclaimed, service, forget);
    }
}

/* ---- Answers. ------------------------------------------------------------------------------- */

/* Answers the oldest open call about a key with the keeper's message. */
static bool answer_open(struct tri_process_service *service, struct tri_process_key *entry,
                        const struct tr_schema *schema, const void *value)
{
    struct tri_caller caller;
    if (!tri_process_key_answer(entry, &caller)) {
        return false;
    }
    tri_process_service_check(service, tri_service_reply(&service->base, &caller, schema, value));
    return true;
}

/* Reports an end to the run's caller, and to all open calls about its key. */
static void tell_end(struct tri_process_service *service, struct tri_process_key *entry,
                     const struct tr_process_ended *ended)
{
    /*
     * Noted before the caller gets it: an end that was reported here is never forgotten as
     * unclaimed.
     */
    unclaimed_told(service, ended->key);
    tri_process_run_ended(service, entry, ended);
    while (answer_open(service, entry, &tr_process_ended_schema, ended)) {
    }
}

/* Ends a run that was stopped before the keeper got it. */
static void end_unbegun(struct tri_process_service *service, struct tri_process_key *entry)
{
    struct tr_process_ended ended = tri_process_run_skipped(service, entry);
    tell_end(service, entry, &ended);
}

/* ---- From actors. --------------------------------------------------------------------------- */

/* A call, as its handler gets it. */
struct call {
    struct tri_caller caller;
    struct tr_bytes body;
    uint8_t version;
    bool is_answered;
};

/* Why there is no keeper. */
static int failure_of(const struct tri_process_service *service)
{
    return service->failure != 0 ? service->failure : TR_NO_CONNECTION;
}

/*
 * What another host may have begun is not begun here. It is refused as long as that may run, which
 * the actor waits out, and is over then.
 */
static int take_run_of_another(struct tri_process_service *service, const struct call *call,
                               bool *is_anothers)
{
    struct tr_process_run run;
    char words[TR_REASON_BYTES_MAX];
    if (service->hosts == NULL) {
        return 0;
    }
    int error = tr_process_run_unpack(call->body, call->version, &run);
    int lost = error != 0 ? 0
                          : service->hosts->lost(service->hosts->self, call->caller.ref.key.group,
                                                 run.asked_ms, words, sizeof words);
    *is_anothers = lost != 0;
    if (lost == TR_BUSY) {
        const struct tr_process_refused refused = {
            .key = run.key, .error = TR_BUSY, .reason = tr_text_of(words)};
        error =
            tri_service_reply(&service->base, &call->caller, &tr_process_refused_schema, &refused);
    } else if (lost != 0) {
        static const uint8_t none[] = {0x90}; /* an empty array */
        const struct tr_process_over over = {.key = run.key,
                                             .outcome = TR_PROCESS_HOST_LOST,
                                             .reason = tr_text_of(words),
                                             .documents = {.data = none, .size = sizeof none}};
        error = tri_service_reply(&service->base, &call->caller, &tr_process_over_schema, &over);
    }
    return error;
}

static int take_run(struct tri_process_service *service, const struct call *call)
{
    bool is_anothers = false;
    int error = take_run_of_another(service, call, &is_anothers);
    if (error != 0 || is_anothers) {
        return error;
    }
    if (!tri_keeper_client_is_up(service->client)) {
        return failure_of(service);
    }
    tri_process_run_take(service, call->body, call->version, &call->caller);
    return 0;
}

/* Passes a message on, and adds the open call. */
static int hand_on(struct tri_process_service *service, const struct call *call,
                   const struct tr_schema *schema, const void *value, struct tr_text key)
{
    if (!tri_keeper_client_is_up(service->client)) {
        return failure_of(service);
    }
    int error = tri_keeper_client_send(service->client, schema, value);
    if (error == 0 && call->is_answered) {
        tri_process_ends_claim(service, key);
        error = tri_process_keys_open(&service->keys, key, &call->caller);
    }
    return error;
}

/* Queries the state of a key; a waiting run is reported as the keeper reports a waiting one. */
static int ask(struct tri_process_service *service, const struct call *call, struct tr_text key)
{
    struct tr_process_query query = {.key = key};
    const struct tri_process_key *entry = tri_process_keys_find(&service->keys, key);
    if (entry == NULL || entry->phase != TRI_PROCESS_RUN_WAITING) {
        return hand_on(service, call, &tr_process_query_schema, &query, key);
    }
    struct tr_process_state state = {.key = key, .phase = TR_PROCESS_STARTING};
    return call->is_answered
               ? tri_service_reply(&service->base, &call->caller, &tr_process_state_schema, &state)
               : 0;
}

static int take_query(struct tri_process_service *service, const struct call *call)
{
    struct tr_process_query query;
    int error = tr_process_query_unpack(call->body, call->version, &query);
    return error != 0 ? error : ask(service, call, query.key);
}

/* Stops a run that waits here. */
static int stop_waiting(struct tri_process_service *service, const struct call *call,
                        struct tri_process_key *entry)
{
    struct tr_text key = {.data = entry->key, .size = entry->size};
    int error = call->is_answered ? tri_process_keys_open(&service->keys, key, &call->caller) : 0;
    if (error == 0) {
        end_unbegun(service, entry);
        tri_process_keys_drop_unused(&service->keys, entry);
    }
    return error;
}

static int take_stop(struct tri_process_service *service, const struct call *call)
{
    struct tr_process_stop stop;
    int error = tr_process_stop_unpack(call->body, call->version, &stop);
    if (error != 0) {
        return error;
    }
    struct tri_process_key *entry = tri_process_keys_find(&service->keys, stop.key);
    if (entry != NULL && entry->phase == TRI_PROCESS_RUN_WAITING) {
        return stop_waiting(service, call, entry);
    }
    if (entry != NULL && entry->phase == TRI_PROCESS_RUN_HELD) {
        entry->is_stopped = true; /* if the keeper does not know it, it is not begun */
    }
    return hand_on(service, call, &tr_process_stop_schema, &stop, stop.key);
}

/* The keeper does not confirm a forget, so for a call its state is queried afterwards. */
static int take_forget(struct tri_process_service *service, const struct call *call)
{
    struct tr_process_forget forget;
    struct call told = {.is_answered = false};
    int error = tr_process_forget_unpack(call->body, call->version, &forget);
    if (error == 0) {
        error = hand_on(service, &told, &tr_process_forget_schema, &forget, forget.key);
        unclaimed_forgotten(service, forget.key);
    }
    return error == 0 && call->is_answered ? ask(service, call, forget.key) : error;
}

/* Whether the sweep thread runs; starts it if needed. */
static bool has_sweep(struct tri_process_service *service)
{
    return service->sweep != NULL ||
           tri_sweep_start(service->folders.names[0], &service->sweep) == 0;
}

/* Queues a folder for the sweep thread; false: it must be removed here. */
static bool sweep(struct tri_process_service *service, struct tr_text path)
{
    return has_sweep(service) && tri_sweep_take(service->sweep, path);
}

/* Never removed here: a share may hang, and must not delay processes. */
static int take_clean(struct tri_process_service *service, const struct call *call)
{
    struct tr_shared_clean clean;
    int error = tr_shared_clean_unpack(call->body, call->version, &clean);
    if (error != 0) {
        return error;
    }
    const struct tri_shared folders[] = {
        {.path = clean.folder, .trusted_bytes = clean.trusted_bytes, .keeps_logs = true},
        {.path = clean.checkpoint, .trusted_bytes = clean.trusted_bytes}};
    for (size_t i = 0; i < TR_COUNT_OF(folders) && has_sweep(service); i++) {
        (void)!tri_sweep_take_shared(service->sweep, &folders[i]); /* otherwise the folder stays */
    }
    return 0;
}

/*
 * A call is done here, at once; a told removal by the sweep thread, so that a large folder delays
 * no process.
 */
static int take_remove(struct tri_process_service *service, const struct call *call)
{
    char reason[TR_REASON_BYTES_MAX];
    struct tr_folder_remove wanted;
    int error = tr_folder_remove_unpack(call->body, call->version, &wanted);
    if (error != 0) {
        return error;
    }
    if (!call->is_answered && sweep(service, wanted.path)) {
        return 0;
    }
    struct tr_folder_removed removed = {.path = wanted.path};
    removed.error = tri_attempt_folder_remove(&service->folders, wanted.path, reason);
    removed.reason = tr_text_of(reason);
    return call->is_answered ? tri_service_reply(&service->base, &call->caller,
                                                 &tr_folder_removed_schema, &removed)
                             : 0;
}

static const struct call_kind {
    const struct tr_schema *schema;
    int (*take)(struct tri_process_service *service, const struct call *call);
    bool needs_keeper;
} call_kinds[] = {
    {&tr_process_run_schema, take_run, true},       {&tr_process_query_schema, take_query, true},
    {&tr_process_stop_schema, take_stop, true},     {&tr_process_forget_schema, take_forget, true},
    {&tr_folder_remove_schema, take_remove, false}, {&tr_shared_clean_schema, take_clean, false},
};

static const struct call_kind *kind_of(const uint8_t *envelope)
{
    for (size_t i = 0; i < TR_COUNT_OF(call_kinds); i++) {
        if (tr_envelope_get(envelope, 16, type) == call_kinds[i].schema->id) {
            return &call_kinds[i];
        }
    }
    return NULL;
}

/* Handles one call; an error is its answer. */
static void take_call(struct tri_process_service *service, const uint8_t *envelope,
                      const struct call_kind *kind)
{
    struct call call = {
        .caller = tri_service_caller(envelope),
        .body = tr_envelope_body(envelope),
        .version = tr_envelope_get(envelope, 8, version),
        .is_answered = tr_envelope_get(envelope, 8, kind) == TR_KIND_CALL,
    };
    int error = kind != NULL ? kind->take(service, &call) : TR_UNKNOWN_TYPE;
    if (error != 0 && call.is_answered) {
        tri_service_refuse(&service->base, &call.caller, error);
    }
}

/* Whether the host may ask for anything outside now. */
static bool may_begin(const struct tri_process_service *service)
{
    return service->hosts == NULL || service->hosts->may_begin(service->hosts->self);
}

/*
 * The first call starts the keeper, if none was expected. Calls wait until it is up and has room,
 * or has failed.
 */
static bool is_ready(struct tri_process_service *service)
{
    if (service->failure != 0) {
        return true;
    }
    if (!may_begin(service)) {
        return false;
    }
    if (tri_keeper_client_is_up(service->client)) {
        return tri_keeper_client_has_room(service->client);
    }
    tri_keeper_client_connect(service->client);
    return false;
}

/* Handles some calls of a frame; the others stay in it. */
static void take_frame(struct tri_process_service *service, uint32_t *calls_left)
{
    struct tr_bytes bytes;
    bool is_stored;
    size_t size;
    while (*calls_left > 0) {
        size_t offset = service->offset;
        if (!tri_frame_next(&service->frame, &offset, &bytes, &is_stored)) {
            tri_channel_release(service->base.sender.link, &service->frame);
            service->has_frame = false;
            return;
        }
        if (tr_envelope_check(bytes, &size) == 0) {
            const struct call_kind *kind = kind_of(bytes.data);
            /* `offset` still points to this call, so a later round reads it again. */
            if (kind != NULL && kind->needs_keeper && !is_ready(service)) {
                *calls_left = 0;
                return;
            }
            take_call(service, bytes.data, kind);
            service->taken++;
            (*calls_left)--;
        }
        service->offset = offset;
    }
}

/* Handles some calls, as many as are available and possible now. */
static void take_calls(struct tri_process_service *service)
{
    uint32_t calls_left = CALLS_PER_ROUND;
    while (calls_left > 0) {
        if (!service->has_frame) {
            if (tri_channel_receive(service->base.sender.link, &service->frame) != 0) {
                /*
                 * The link is empty: all calls that waited for the failed keeper have been refused.
                 */
                service->failure = 0;
                return;
            }
            service->has_frame = true;
            service->offset = 0;
        }
        take_frame(service, &calls_left);
    }
}

/* Whether there are calls that need not wait for the keeper. */
static bool can_go_on(const struct tri_process_service *service)
{
    bool has_room = tri_keeper_client_is_up(service->client) &&
                    tri_keeper_client_has_room(service->client) && may_begin(service);
    return service->has_frame && (service->failure != 0 || has_room);
}

/* ---- From the keeper. ----------------------------------------------------------------------- */

static void hear_started(struct tri_process_service *service, struct tri_process_key *entry,
                         const void *value)
{
    tri_process_run_started(service, entry, value);
}

static void hear_refused(struct tri_process_service *service, struct tri_process_key *entry,
                         const void *value)
{
    tri_process_run_refused(service, entry, value);
}

static void hear_ended(struct tri_process_service *service, struct tri_process_key *entry,
                       const void *value)
{
    tell_end(service, entry, value);
}

static void hear_state(struct tri_process_service *service, struct tri_process_key *entry,
                       const void *value)
{
    const struct tr_process_state *state = value;
    bool is_known = state->phase != TR_PROCESS_NEW && state->phase != TR_PROCESS_FORGOTTEN;
    if (entry->phase == TRI_PROCESS_RUN_HELD && entry->is_stopped && !is_known) {
        end_unbegun(service, entry);
    } else if (entry->phase == TRI_PROCESS_RUN_HELD) {
        tri_process_run_known(service, entry, state);
    } else if (state->phase != TR_PROCESS_ENDED) {
        (void)answer_open(service, entry, &tr_process_state_schema, state);
    } /* otherwise the end follows */
}

/* The keeper's messages about a key. */
union news {
    struct tr_process_started started;
    struct tr_process_refused refused;
    struct tr_process_ended ended;
    struct tr_process_state state;
};

static const struct {
    const struct tr_schema *schema;
    size_t key_offset;
    void (*hear)(struct tri_process_service *service, struct tri_process_key *entry,
                 const void *value);
} news_kinds[] = {
    {&tr_process_started_schema, offsetof(struct tr_process_started, key), hear_started},
    {&tr_process_refused_schema, offsetof(struct tr_process_refused, key), hear_refused},
    {&tr_process_ended_schema, offsetof(struct tr_process_ended, key), hear_ended},
    {&tr_process_state_schema, offsetof(struct tr_process_state, key), hear_state},
};

/*
 * Handles a message about a key. One without a caller was started by an earlier engine, and its
 * actor asks when it recovers. An end is noted, so that it can be forgotten if no actor ever asks.
 */
static void take_news(struct tri_process_service *service, const struct tri_packet *packet)
{
    union news value;
    struct tr_text key;
    for (size_t i = 0; i < TR_COUNT_OF(news_kinds); i++) {
        if (packet->type != news_kinds[i].schema->id ||
            news_kinds[i].schema->unpack(packet->body, packet->version, &value) != 0) {
            continue;
        }
        /* The key's offset differs between the messages. */
        memcpy(&key, (const char *)&value + news_kinds[i].key_offset, sizeof key);
        struct tri_process_key *entry = tri_process_keys_find(&service->keys, key);
        if (entry != NULL) {
            news_kinds[i].hear(service, entry, &value);
            tri_process_keys_drop_unused(&service->keys, entry);
        } else if (packet->type == tr_process_ended_schema.id) {
            unclaimed_note(service, key);
        }
    }
}

/* The keeper is lost: which messages it received is unknown. */
static void refuse_open(void *self, struct tri_process_key *entry)
{
    struct tri_process_service *service = self;
    struct tri_caller caller;
    if (entry->phase != TRI_PROCESS_RUN_NONE) {
        tri_service_refuse(&service->base, &entry->run, failure_of(service));
    }
    while (tri_process_key_answer(entry, &caller)) {
        tri_service_refuse(&service->base, &caller, failure_of(service));
    }
}

/*
 * Wakes the program's thread with an empty frame, so that it checks at once why the host cannot
 * continue.
 */
static void wake_program(struct tri_process_service *service)
{
    struct tri_frame_builder frame = {0};
    struct tri_sender *sender = &service->base.sender;
    size_t size;
    if (tri_frame_add(&frame, (struct tr_bytes){0}, false) == 0) {
        uint8_t *data = tri_frame_take(&frame, TRI_PLACE_PROCESSES, &size);
        tri_outbox_send(&sender->outbox, sender->link, TRI_PLACE_CONTROL, data, size);
    }
}

/*
 * A keeper that cannot read its files will fail again: the state of earlier processes stays
 * unknown, and new ones would wait for ever.
 */
static void tell_refused(struct tri_process_service *service, const struct tri_keeper_event *event)
{
    char words[2 * TR_REASON_BYTES_MAX];
    bool is_damaged = event->error == TR_STORE_DAMAGED || event->error == TR_STORE_FOREIGN;
    snprintf(words, sizeof words, "the keeper of processes cannot start: %s%s", event->words,
             is_damaged
                 ? "; make sure that none of its processes runs, move keeper.log away and start "
                   "again: their outcomes are unknown then"
                 : "");
    service->fail(service->self, event->error, words);
    wake_program(service);
}

void tri_process_service_note_unbounded(struct tri_process_service *service)
{
    char words[2 * TR_REASON_BYTES_MAX];
    if (service->note != NULL) {
        (void)snprintf(words, sizeof words, "memory bounds of tasks are not enforced here: %s",
                       service->unbounded);
        service->note(service->self, words);
        service->note = NULL;
        wake_program(service);
    }
}

static void take_events(struct tri_process_service *service)
{
    struct tri_keeper_event event;
    while (tri_keeper_client_next(service->client, &event) == 0) {
        switch (event.kind) {
        case TRI_KEEPER_UP:
            (void)snprintf(service->unbounded, sizeof service->unbounded, "%s", event.words);
            unclaimed_begin(service);
            service->is_lease_told = false;
            service->knows_leases = event.hello.protocol >= TR_KEEPER_PROTOCOL_LEASE;
            break;
        case TRI_KEEPER_DOWN:
            service->failure = tr_error_is_shortage(event.error) ? event.error : TR_NO_CONNECTION;
            tri_process_keys_clear(&service->keys, service, refuse_open);
            tri_process_runs_clear(service);
            if (event.is_refused && service->fail != NULL) {
                tell_refused(service, &event);
            }
            break;
        case TRI_KEEPER_PACKET:
            take_news(service, &event.packet);
            break;
        }
    }
}

/* ---- Other hosts. --------------------------------------------------------------------------- */

/*
 * Where another host may take the work, the keeper hears of each beat: one that hears nothing ends
 * its processes. A keeper is started for that, since an earlier one may have left some. Without
 * another host a keeper that has heard of a lease hears that it is over.
 */
static void renew_lease(struct tri_process_service *service)
{
    const struct tri_process_hosts *hosts = service->hosts;
    uint64_t renewals = 0;
    uint32_t lease_ms = hosts == NULL ? 0 : hosts->lease_ms(hosts->self, &renewals);
    bool is_new = !service->is_lease_told; /* before anything that this keeper is asked to run */
    bool is_wanted = lease_ms > 0 ? is_new || renewals != service->renewals
                                  : hosts != NULL && is_new && may_begin(service);
    if (service->is_lease_sent) { /* and it has left since */
        service->is_lease_sent = false;
        hosts->keep(hosts->self, TRI_PROCESSES_BOUND);
    }
    if (is_wanted && lease_ms > 0) {
        tri_keeper_client_connect(service->client);
    }
    if (!is_wanted || !tri_keeper_client_is_up(service->client)) {
        return;
    }
    if (!service->knows_leases) {
        if (lease_ms > 0 && !service->is_lease_told) {
            hosts->keep(hosts->self, TRI_PROCESSES_UNBOUND);
        }
        service->is_lease_told = true;
        service->renewals = renewals;
        return;
    }
    const struct tr_keeper_lease lease = {.lease_ms = lease_ms};
    if (tri_keeper_client_send(service->client, &tr_keeper_lease_schema, &lease) == 0) {
        service->is_lease_told = true;
        service->is_lease_sent = lease_ms > 0;
        service->renewals = lease_ms > 0 ? renewals : 0;
    }
}

/*
 * At the end of an engine whose work another host takes at once its processes end, since that one
 * begins them anew. Without another host they go on, as ever.
 */
static void leave_others(struct tri_process_service *service)
{
    uint32_t running = 1;
    if (service->hosts == NULL) {
        return;
    }
    int error =
        tri_keeper_end_all(service->folders.names[0], service->keeper_command,
                           service->hosts->has_others(service->hosts->self), END_MS, &running);
    if (error == 0 && running == 0) {
        service->hosts->keep(service->hosts->self, TRI_PROCESSES_NONE);
    }
}

/* ---- The thread. ---------------------------------------------------------------------------- */

/*
 * Handles calls sent before the host stopped, so that folders and ends are not left behind. Ends
 * when a round takes no call: the rest needs a keeper that is not available.
 */
static void take_last(struct tri_process_service *service)
{
    uint64_t before;
    do {
        before = service->taken;
        take_calls(service);
        tri_keeper_client_flush(service->client);
    } while (service->taken != before);
}

/*
 * Until something happens. While a call waits for the keeper no other is taken, and the link, in
 * which more of them lie, would end each wait at once.
 */
static void rest(struct tri_process_service *service)
{
    int keeper = tri_keeper_client_fd(service->client);
    if (service->has_frame) {
        struct pollfd news = {.fd = keeper, .events = POLLIN};
        (void)poll(&news, 1, KEEPER_WAIT_MS);
    } else {
        tri_channel_wait_also(service->base.sender.link, keeper, WAIT_NS);
    }
}

static void *service_main(void *argument)
{
    struct tri_process_service *service = argument;
    struct tri_service *base = &service->base;
    int error = base->env->ops->link_open(base->env, TRI_PLACE_PROCESSES, &base->sender.link);
    if (error != 0) {
        tri_service_fail(base, error);
        return NULL;
    }
    if (service->is_expected && may_begin(service)) {
        tri_keeper_client_connect(service->client);
    }
    while (!atomic_load(&base->is_stopping)) {
        take_events(service);
        renew_lease(service);
        take_calls(service);
        tri_process_runs_begin(service);
        unclaimed_forget(service);
        tri_sweep_go_on(service->sweep);
        tri_keeper_client_flush(service->client);
        tri_sender_flush(&base->sender);
        if (!can_go_on(service) && !tri_process_runs_are_due(service)) {
            rest(service);
        }
    }
    take_last(service);
    return NULL;
}

uint32_t tri_process_jobs(uint32_t jobs)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return jobs != 0 ? jobs : cores < 1 ? 1 : (uint32_t)cores;
}

static int start(struct tri_process_service *service,
                 const struct tri_process_service_options *options)
{
    struct tri_keeper_client_options client = {.store_folder = options->folder,
                                               .command = options->keeper_command,
                                               .running_max = tri_process_jobs(options->jobs)};
    int error = tri_process_keys_init(&service->keys);
    service->ahead_max = tri_process_runs_ahead(client.running_max);
    service->fail = options->fail;
    service->note = options->note;
    service->hosts = options->hosts;
    service->keeper_command = options->keeper_command;
    service->self = options->self;
    service->is_cold = options->is_cold;
    service->is_expected = options->is_expected;
    service->unclaimed_ms =
        options->unclaimed_ms != 0 ? options->unclaimed_ms : TR_PROCESS_UNCLAIMED_MS;
    if (error == 0) {
        error = tri_process_keys_init(&service->unclaimed);
    }
    if (error == 0) {
        error = tri_process_keys_init(&service->told);
    }
    if (error == 0) {
        error = tri_attempt_folders_init(&service->folders, options->folder);
    }
    if (error == 0) {
        error = tri_secrets_new(options->secrets, options->secret_count, &service->secrets);
        service->folders.sources = (struct tri_environment_sources){
            .secrets = service->secrets,
            .search_variable = options->search_variable,
            .search_folder = options->search_folder,
            .variables = options->variables,
        };
    }
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
        tri_channel_release(service->base.sender.link, &service->frame);
    }
    tri_sweep_stop(service->sweep);
    tri_keeper_client_free(service->client);
    tri_process_keys_fini(&service->keys);
    tri_process_keys_fini(&service->unclaimed);
    tri_process_keys_fini(&service->told);
    tri_attempt_folders_fini(&service->folders);
    tri_secrets_free(service->secrets);
    tri_buffer_fini(&service->environment);
    tri_buffer_fini(&service->documents);
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
    tri_service_init(&service->base, options->env, options->worker_count, options->host_ref,
                     TR_SERVICE_PROCESSES);
    service->base.fatal = options->fatal;
    service->folders.store = -1;
    service->folders.parent = -1;
    int error = start(service, options);
    if (error != 0) {
        process_service_free(service);
        return error;
    }
    *out = service;
    return 0;
}

static uint64_t runs_of(const struct tri_process_service *service, enum tri_process_run_phase phase)
{
    return atomic_load_explicit(&service->runs[phase], memory_order_relaxed);
}

void tri_process_service_figures(const struct tri_process_service *service,
                                 struct tr_service_figures *figures)
{
    figures->processes_running = runs_of(service, TRI_PROCESS_RUN_STARTED);
    figures->processes_waiting = runs_of(service, TRI_PROCESS_RUN_WAITING) +
                                 runs_of(service, TRI_PROCESS_RUN_HELD) +
                                 runs_of(service, TRI_PROCESS_RUN_ASKED);
}

void tri_process_service_request_stop(struct tri_process_service *service)
{
    atomic_store(&service->base.is_stopping, true);
}

void tri_process_service_stop(struct tri_process_service *service)
{
    if (service != NULL) {
        tri_process_service_request_stop(service);
        pthread_join(service->base.thread, NULL);
        leave_others(service);
        process_service_free(service);
    }
}
