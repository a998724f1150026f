/*
 * The program's own place in its host: spawns, messages and questions from outside the actors.
 *
 * The thread that made the host sends frames like every place, and waits for answers that have the
 * number of its request. Nothing is shared with the workers.
 *
 * Four kinds of messages arrive, each with a number that identifies what it answers: replies to
 * control requests, DOWNs of monitors, answers of actors, and copies of workers' data. One call
 * waits for one of them and reads all: ends are kept in a list for later calls, and a late answer
 * is dropped.
 *
 * A failing host and an interrupt send no message. So every wait is divided into slices, and each
 * slice checks for them.
 */
#include "runtime/host/control.h"

#include <poll.h>

#include "runtime/crashes/poison_message.h"
#include "runtime/host/crashes.h"

#define WAIT_SLICE_NS 50000000

/* How long to wait for an answer while the store cannot write; and after an interrupt. */
#define STORE_WAIT_NS 5000000000
#define INTERRUPTED_NS 2000000000

/* A DOWN that arrived during another wait, or one that will certainly arrive. */
struct tri_ended {
    struct tri_ended *next;
    struct tr_key actor;
    uint64_t monitor;
    int reason;
    bool is_open; /* it has not arrived yet */
};

/* A question to an actor that is waited for. */
struct tri_asking {
    uint64_t ask; /* the number of its envelope */
    void (*take)(void *self, const struct tr_message *answer);
    void *self;
    bool is_over;
    int reason; /* of its failure */
};

/* A question that nobody waits for: whoever reads its answer hands it on. */
struct tri_open_question {
    struct tri_open_question *next;
    uint64_t ask;
    void (*take)(void *self, const struct tr_message *answer, int reason);
    void *self;
};

/* The contents of a reply or a DOWN that callers wait for. */
struct answer {
    uint64_t request; /* of a control_reply; 0: none */
    uint64_t monitor; /* of a DOWN; 0: none */
    int reason;
    struct tr_ref actor;
};

/* Awaited control requests, with consecutive numbers, and their replies. */
struct awaited {
    uint64_t first;
    size_t count;
    size_t found;
    struct answer *answers;
};

/* Sends one message at once. */
static int say(struct tr_host *host, uint32_t place, const struct tr_envelope *wanted,
               const struct tr_schema *schema, const void *body)
{
    int error = tri_sender_send(&host->sender, place, wanted, schema, body);
    tri_sender_flush(&host->sender);
    return error;
}

/* Sends a worker a message with the next flush; waiting for an answer flushes. */
static int tell_worker(struct tr_host *host, uint32_t worker, const struct tr_schema *schema,
                       const void *body)
{
    struct tr_envelope envelope = {
        .kind = TR_KIND_CONTROL,
        .flags = TR_FLAG_HINT | TR_FLAG_PRIORITY,
        .to_serial = TR_SERVICE_WORKERS + worker,
    };
    return tri_sender_send(&host->sender, worker, &envelope, schema, body);
}

/* Sends an actor a message, or a control message for it. */
static int tell_actor(struct tr_host *host, struct tr_ref to, uint8_t kind,
                      const struct tr_schema *schema, const void *body)
{
    struct tr_envelope envelope = {
        .kind = kind,
        .flags = (schema->marks & TR_PRIORITY) != 0 ? TR_FLAG_PRIORITY : 0,
        .to_group = to.key.group,
        .to_serial = to.key.serial,
        .to_incarnation = to.incarnation,
    };
    return say(host, tri_origin_worker(&host->shared, to.key), &envelope, schema, body);
}

int tri_control_tell(struct tr_host *host, struct tr_ref to, const struct tr_schema *schema,
                     const void *body)
{
    return tell_actor(host, to, TR_KIND_CONTROL, schema, body);
}

/* Passes a worker's answer to the gathering; returns whether it was one. */
static bool take_observed(struct tr_host *host, struct tr_bytes bytes)
{
    struct tri_gathering *gathering = host->gathering;
    struct tr_observed observed;
    if (tr_envelope_get(bytes.data, 16, type) != tr_observed_schema.id) {
        return false;
    }
    uint8_t version = tr_envelope_get(bytes.data, 8, version);
    int error = tr_observed_unpack(tr_envelope_body(bytes.data), version, &observed);
    bool is_awaited = error == 0 && gathering != NULL && observed.request == gathering->request;
    if (is_awaited) {
        gathering->answers++;
        if (observed.reason != 0 && gathering->reason == 0) {
            gathering->reason = -(int)observed.reason;
        }
        if (observed.reason == 0 && gathering->visit != NULL) {
            gathering->visit(gathering->self, &observed);
        }
    }
    return true;
}

/*
 * Hands the answer of a question on that nobody waits for; false: it is of none. They are answered
 * about in the order in which they were asked, so that few are passed.
 */
static bool hand_on(struct tr_host *host, uint64_t ask, const struct tr_message *message,
                    int reason)
{
    struct tri_open_question **link = &host->questions;
    while (*link != NULL && (*link)->ask != ask) {
        link = &(*link)->next;
    }
    struct tri_open_question *question = *link;
    if (question == NULL) {
        return false;
    }
    *link = question->next;
    if (host->last_question == &question->next) {
        host->last_question = link;
    }
    question->take(question->self, message, reason);
    tr_free(question);
    return true;
}

/*
 * Takes an actor's answer, or the failure of the question; returns whether it was one of them.
 * Answers to a question whose wait is over are recognized by their number and dropped, or a later
 * question would get them.
 */
static bool take_reply(struct tr_host *host, struct tr_bytes bytes)
{
    struct tr_message message = {
        .envelope = bytes.data,
        .type = tr_envelope_get(bytes.data, 16, type),
        .version = tr_envelope_get(bytes.data, 8, version),
        .kind = tr_envelope_get(bytes.data, 8, kind),
        .body = tr_envelope_body(bytes.data),
    };
    bool is_failure = tr_message_is(&message, &tr_ask_failed_schema);
    if (message.kind != TR_KIND_REPLY && !is_failure) {
        return false;
    }
    struct tri_asking *asking = host->asking;
    struct tr_ask_failed failed = {0};
    bool has_reason = is_failure && tr_message_read(&message, ask_failed, &failed) == 0;
    if (hand_on(host, tr_message_ask(&message), is_failure ? NULL : &message,
                -(int)failed.reason)) {
        return true;
    }
    if (asking == NULL || asking->is_over || asking->ask != tr_message_ask(&message)) {
        return true; /* too late */
    }
    asking->is_over = true;
    if (has_reason) {
        asking->reason = -(int)failed.reason;
    } else if (asking->take != NULL) {
        asking->take(asking->self, &message);
    }
    return true;
}

static void read_answer(struct tr_bytes bytes, struct answer *answer)
{
    uint16_t type = tr_envelope_get(bytes.data, 16, type);
    uint8_t version = tr_envelope_get(bytes.data, 8, version);
    struct tr_bytes body = tr_envelope_body(bytes.data);
    struct tr_control_reply reply;
    struct tr_down down;
    if (type == tr_control_reply_schema.id && tr_control_reply_unpack(body, version, &reply) == 0) {
        answer->request = reply.request;
        answer->reason = -(int)reply.reason;
        answer->actor = reply.actor;
    } else if (type == tr_down_schema.id && tr_down_unpack(body, version, &down) == 0) {
        answer->monitor = down.monitor;
        answer->actor = down.actor;
        answer->reason = -(int)down.reason;
    }
}

/* A monitor's number alone is not unique: a monitor of an earlier start may have the same one. */
static struct tri_ended *find_ended(struct tr_host *host, uint64_t monitor, struct tr_key actor)
{
    struct tri_ended *ended = host->ended;
    while (ended != NULL && (ended->monitor != monitor || !tr_key_equal(ended->actor, actor))) {
        ended = ended->next;
    }
    return ended;
}

/* The entry for a monitor's end, created open. */
static struct tri_ended *open_ended(struct tr_host *host, uint64_t monitor, struct tr_key actor)
{
    struct tri_ended *ended = tr_alloc(sizeof *ended);
    TR_ASSERT(ended != NULL); /* otherwise its caller would wait for ever */
    *ended = (struct tri_ended){
        .next = host->ended, .actor = actor, .monitor = monitor, .is_open = true};
    host->ended = ended;
    return ended;
}

/*
 * Keeps the end of an actor until the program asks for it. A DOWN may arrive before the reply with
 * the actor's key, so an end without a waiting call is kept too.
 */
static void keep_ended(struct tr_host *host, const struct answer *answer)
{
    struct tri_ended *ended = find_ended(host, answer->monitor, answer->actor.key);
    if (ended == NULL) {
        ended = open_ended(host, answer->monitor, answer->actor.key);
    }
    ended->reason = answer->reason;
    ended->is_open = false;
}

static bool is_answered(const struct awaited *awaited)
{
    return awaited != NULL && awaited->found == awaited->count;
}

/*
 * Reads received frames; returns the replies to control requests (NULL: none), keeps the ends of
 * actors. It stops after the frame with the last awaited reply; later frames stay in the pipe for
 * the next call.
 */
static bool read_frames(struct tr_host *host, struct awaited *awaited)
{
    struct tri_frame frame;
    while (!is_answered(awaited) && tri_channel_receive(host->sender.link, &frame) == 0) {
        struct tr_bytes bytes;
        bool is_stored;
        size_t offset = 0;
        while (tri_frame_next(&frame, &offset, &bytes, &is_stored)) {
            struct answer answer = {0};
            if (take_observed(host, bytes) || take_reply(host, bytes)) {
                continue;
            }
            read_answer(bytes, &answer);
            if (answer.monitor != 0) {
                keep_ended(host, &answer);
            } else if (answer.request != 0 && answer.request == host->writing) {
                host->writing = 0;
            } else if (awaited != NULL && answer.request - awaited->first < awaited->count) {
                awaited->answers[answer.request - awaited->first] = answer;
                awaited->found++;
            }
        }
        tri_channel_release(host->sender.link, &frame);
    }
    return is_answered(awaited);
}

/* How soon a host that has lost its work hears of it where it waits. */
#define FENCED_MS 1000

/* A wait: its start, and the time of an interrupt. */
struct waiting {
    uint64_t begin_ns;
    uint64_t interrupted_ns;
    bool is_interrupted;
};

static struct waiting waiting_begin(struct tr_host *host)
{
    return (struct waiting){.begin_ns = tri_monotonic_ns(host->env)};
}

/*
 * Why to stop waiting, or 0. The host's error comes first. A store that cannot write is no error at
 * once, since a full disk may get space; and an interrupt leaves a short time, in which the answer
 * may still arrive.
 */
static int why_stop(struct tr_host *host, struct waiting *waiting)
{
    uint64_t now_ns = tri_monotonic_ns(host->env);
    struct pollfd interrupt = {.fd = host->interrupt, .events = POLLIN};
    int error = atomic_load(&host->fatal);
    if (error == 0 && now_ns - waiting->begin_ns >= STORE_WAIT_NS) {
        error = tr_host_waits_for(host);
    }
    if (!waiting->is_interrupted && host->interrupt != 0 && poll(&interrupt, 1, 0) > 0) {
        waiting->is_interrupted = true;
        waiting->interrupted_ns = now_ns;
    }
    bool is_over = waiting->is_interrupted && now_ns - waiting->interrupted_ns >= INTERRUPTED_NS;
    return error == 0 && is_over ? TR_CLOSED : error;
}

/* Waits for the replies to control requests, or for the host's error. */
static int await_requests(struct tr_host *host, struct awaited *awaited)
{
    struct waiting waiting = waiting_begin(host);
    while (!read_frames(host, awaited)) {
        int error = why_stop(host, &waiting);
        if (error != 0) {
            return error;
        }
        tri_sender_flush(&host->sender);
        tri_channel_wait(host->sender.link, WAIT_SLICE_NS);
    }
    return 0;
}

int tr_host_write_wait(struct tr_host *host)
{
    struct waiting waiting = waiting_begin(host);
    int error = 0;
    while (error == 0 && host->writing != 0) {
        tri_control_poll(host, WAIT_SLICE_NS);
        error = host->writing == 0 ? 0 : why_stop(host, &waiting);
    }
    return error;
}

/* The same for one request; returns its result. */
static int await_request(struct tr_host *host, uint64_t request, struct answer *answer)
{
    struct awaited awaited = {.first = request, .count = 1, .answers = answer};
    int error = await_requests(host, &awaited);
    return error != 0 ? error : answer->reason;
}

/*
 * Requests a spawn from a worker, with the next flush. The packed form of a state can be larger
 * than its struct, hence the factor of two.
 */
static int request_spawn(struct tr_host *host, uint32_t worker,
                         const struct tr_host_spawn_request *wanted)
{
    const struct tr_behaviour *behaviour = wanted->behaviour;
    uint8_t state[TR_STATE_BYTES_MAX * 2];
    struct tr_writer writer = tr_writer_of(state, sizeof state);
    if (wanted->options.state != NULL) {
        int error = behaviour->state->pack(wanted->options.state, &writer);
        if (error != 0) {
            return error;
        }
    }
    struct tr_spawn_request spawn = {
        .request = ++host->requests,
        .behaviour = behaviour->id,
        .name = wanted->options.name,
        .incarnation = wanted->options.incarnation,
        .is_watched = wanted->options.is_watched,
        .state = {.data = state, .size = tr_writer_size(&writer)},
    };
    return tell_worker(host, worker, &tr_spawn_request_schema, &spawn);
}

/* A watched actor ends with a DOWN that may have arrived already. */
static void watch_end(struct tr_host *host, bool is_watched, uint64_t monitor, struct tr_key actor)
{
    if (is_watched && find_ended(host, monitor, actor) == NULL) {
        (void)open_ended(host, monitor, actor);
    }
}

/*
 * All requests go to one worker in one frame, so their actors are in one cut and one commit. After
 * an error the sent requests are still awaited, so that `actors` has all spawned ones.
 */
int tr_host_spawn_all(struct tr_host *host, const struct tr_host_spawn_request *spawns,
                      size_t count, struct tr_ref *actors)
{
    struct answer answers[TR_HOST_SPAWNS_MAX];
    struct awaited awaited = {.first = host->requests + 1, .answers = answers};
    uint32_t worker = host->next_worker++ % host->shared.worker_count;
    int error = !host->is_started ? TR_CLOSED : count > TR_HOST_SPAWNS_MAX ? TR_LIMIT : 0;
    for (; error == 0 && awaited.count < count; awaited.count += error == 0) {
        error = request_spawn(host, worker, &spawns[awaited.count]);
    }
    int failed = await_requests(host, &awaited);
    for (size_t i = 0; failed == 0 && i < awaited.count; i++) {
        if (error == 0) {
            error = answers[i].reason;
        }
        if (error == 0) {
            actors[i] = answers[i].actor;
            watch_end(host, spawns[i].options.is_watched, awaited.first + i, actors[i].key);
        }
    }
    return failed != 0 ? failed : error;
}

int tr_host_spawn(struct tr_host *host, const struct tr_behaviour *behaviour,
                  const struct tr_spawn_options *options, struct tr_ref *actor)
{
    struct tr_host_spawn_request spawn = {.behaviour = behaviour};
    if (options != NULL) {
        spawn.options = *options;
    }
    return tr_host_spawn_all(host, &spawn, 1, actor);
}

int tr_host_tell(struct tr_host *host, struct tr_ref to, const struct tr_schema *schema,
                 const void *body)
{
    return host->is_started ? tell_actor(host, to, TR_KIND_TELL, schema, body) : TR_CLOSED;
}

/*
 * The known end of an actor. A late monitor is answered that there is no such actor, perhaps by
 * another worker and before the end itself: so an end that will certainly arrive is waited for, and
 * one that has arrived is better than such an answer.
 */
static const struct tri_ended *known_end(const struct tr_host *host, uint64_t monitor,
                                         struct tr_key actor)
{
    const struct tri_ended *known = NULL;
    for (const struct tri_ended *ended = host->ended; ended != NULL; ended = ended->next) {
        if (!tr_key_equal(ended->actor, actor)) {
            continue;
        }
        if (ended->is_open) {
            return NULL;
        }
        bool is_better = known == NULL || known->reason == TR_NO_ACTOR;
        if (is_better && (ended->monitor == monitor || ended->reason != TR_NO_ACTOR)) {
            known = ended;
        }
    }
    return known;
}

/* Removes the end of an actor, and all answers about it. */
static bool take_ended(struct tr_host *host, uint64_t monitor, struct tr_key actor, int *reason)
{
    const struct tri_ended *known = known_end(host, monitor, actor);
    if (known == NULL) {
        return false;
    }
    *reason = known->reason;
    struct tri_ended **link = &host->ended;
    while (*link != NULL) {
        struct tri_ended *ended = *link;
        if (tr_key_equal(ended->actor, actor)) {
            *link = ended->next;
            tr_free(ended);
        } else {
            link = &ended->next;
        }
    }
    return true;
}

/* Waits for the DOWN of a monitor, the host's error, or the timeout. */
static int await_down(struct tr_host *host, uint64_t monitor, struct tr_key actor,
                      uint64_t timeout_ms, int *reason)
{
    uint64_t begin_ns = tri_monotonic_ns(host->env);
    while (true) {
        (void)read_frames(host, NULL); /* no request is open: only ends are read */
        if (take_ended(host, monitor, actor, reason)) {
            return 0;
        }
        uint64_t waited_ms = (tri_monotonic_ns(host->env) - begin_ns) / 1000000;
        int error = atomic_load(&host->fatal);
        if (error == 0 && timeout_ms != 0 && waited_ms >= timeout_ms) {
            error = TR_TIMEOUT;
        }
        if (error != 0) {
            return error;
        }
        tri_control_poll(host, timeout_ms == 0 ? WAIT_SLICE_NS : 1000000);
    }
}

int tr_host_monitor(struct tr_host *host, struct tr_ref actor, uint64_t *monitor)
{
    struct tr_monitor request = {.monitor = ++host->requests};
    if (!host->is_started) {
        return TR_CLOSED;
    }
    *monitor = request.monitor;
    return tell_actor(host, actor, TR_KIND_CONTROL, &tr_monitor_schema, &request);
}

/* Each monitor gets its own end; those of other monitors stay. */
int tr_host_ended(struct tr_host *host, struct tr_ref actor, uint64_t monitor, int *reason)
{
    const struct tri_ended *known = known_end(host, monitor, actor.key);
    struct tri_ended **link = &host->ended;
    while (*link != NULL &&
           ((*link)->monitor != monitor || !tr_key_equal((*link)->actor, actor.key))) {
        link = &(*link)->next;
    }
    struct tri_ended *own = *link;
    if (known == NULL || own == NULL) {
        return TR_NOT_FOUND;
    }
    *reason = known->reason;
    *link = own->next;
    tr_free(own);
    return 0;
}

int tr_host_poll(struct tr_host *host, int descriptor, uint64_t timeout_ms)
{
    if (!host->is_started) {
        return TR_CLOSED;
    }
    tri_sender_flush(&host->sender);
    if (host->membership != NULL && timeout_ms > FENCED_MS) {
        timeout_ms = FENCED_MS; /* the thread that beats sends no message when it is fenced */
    }
    if (descriptor >= 0 && host->sender.link->ops->wait_also != NULL) {
        tri_channel_wait_also(host->sender.link, descriptor, timeout_ms * 1000000);
    } else {
        tri_channel_wait(host->sender.link, timeout_ms * 1000000);
    }
    (void)read_frames(host, NULL);
    return atomic_load(&host->fatal);
}

/*
 * Waits for the answer of an actor. One on a host that is lost answers when this host has taken its
 * partition, which is this thread's work: so it follows meanwhile. That asks no actor, so no answer
 * is awaited twice; and what fails is tried again, unless it ends the host.
 */
static int await_reply(struct tr_host *host, const struct tri_asking *asking, uint64_t timeout_ms)
{
    struct waiting waiting = waiting_begin(host);
    while (!asking->is_over) {
        uint64_t waited_ms = (tri_monotonic_ns(host->env) - waiting.begin_ns) / 1000000;
        int error = why_stop(host, &waiting);
        if (error == 0 && timeout_ms != 0 && waited_ms >= timeout_ms) {
            error = TR_TIMEOUT;
        }
        if (error != 0) {
            return error;
        }
        uint64_t left_ns = timeout_ms == 0 ? WAIT_SLICE_NS : (timeout_ms - waited_ms) * 1000000;
        tri_control_poll(host, left_ns < WAIT_SLICE_NS ? left_ns : WAIT_SLICE_NS);
        if (!asking->is_over) {
            (void)!tr_host_follow(host);
        }
    }
    return asking->reason;
}

/*
 * The number is known only after the question was sent, and is set before anything is read, so no
 * answer is missed.
 */
static int ask(struct tr_host *host, struct tr_ref to, uint8_t kind, const struct tr_schema *schema,
               const void *body, uint64_t timeout_ms, struct tri_asking *asking)
{
    if (!host->is_started) {
        return TR_CLOSED;
    }
    int error = tell_actor(host, to, kind, schema, body);
    if (error != 0) {
        return error;
    }
    asking->ask = host->sender.said;
    host->asking = asking;
    error = await_reply(host, asking, timeout_ms);
    host->asking = NULL;
    return error;
}

int tr_host_ask(struct tr_host *host, struct tr_ref to, const struct tr_schema *schema,
                const void *body, uint64_t timeout_ms,
                void (*take)(void *self, const struct tr_message *answer), void *self)
{
    struct tri_asking asking = {.take = take, .self = self};
    return ask(host, to, TR_KIND_ASK, schema, body, timeout_ms, &asking);
}

/* What is said of a singleton. */
static void take_singleton(void *self, const struct tr_message *message)
{
    struct answer *answer = self;
    struct tr_control_reply reply;
    if (tr_message_read(message, control_reply, &reply) == 0) {
        answer->reason = -(int)reply.reason;
        answer->actor = reply.actor;
    }
}

int tr_host_singleton_ref(const struct tr_host *host, struct tr_text name, uint32_t shard,
                          struct tr_ref *singleton)
{
    return tri_singleton_ref(&host->shared, name, shard, singleton);
}

int tr_host_singleton(struct tr_host *host, const struct tr_behaviour *behaviour,
                      struct tr_text name, uint32_t shard, struct tr_ref *singleton)
{
    struct answer answer = {.reason = TR_MALFORMED}; /* until one is read */
    struct tri_asking asking = {.take = take_singleton, .self = &answer};
    const struct tr_begin_singleton begin = {.behaviour = behaviour->id, .name = name};
    struct tr_ref to;
    int error = tri_singleton_ref(&host->shared, name, shard, &to);
    if (error == 0) {
        error = ask(host, to, TR_KIND_CONTROL, &tr_begin_singleton_schema, &begin, 0, &asking);
    }
    error = error != 0 ? error : answer.reason;
    if (error == 0) {
        *singleton = answer.actor;
    }
    return error;
}

int tr_host_singleton_begin(struct tr_host *host, const struct tr_behaviour *behaviour,
                            struct tr_text name, uint32_t shard, struct tr_ref *singleton)
{
    const struct tr_begin_singleton begin = {
        .behaviour = behaviour->id, .name = name, .is_told = true};
    struct tr_ref to;
    int error = host->is_started ? tri_singleton_ref(&host->shared, name, shard, &to) : TR_CLOSED;
    if (error == 0) {
        error = tell_actor(host, to, TR_KIND_CONTROL, &tr_begin_singleton_schema, &begin);
    }
    if (error == 0) {
        *singleton = to;
    }
    return error;
}

/* Its number is known when it was sent, and nothing is read before. */
int tr_host_ask_on(struct tr_host *host, struct tr_ref to, const struct tr_schema *schema,
                   const void *body,
                   void (*take)(void *self, const struct tr_message *answer, int reason),
                   void *self)
{
    struct tri_open_question *question = tr_alloc(sizeof *question);
    int error = question == NULL ? TR_MEMORY : !host->is_started ? TR_CLOSED : 0;
    if (error == 0) {
        error = tell_actor(host, to, TR_KIND_ASK, schema, body);
    }
    if (error != 0) {
        tr_free(question);
        return error;
    }
    *question = (struct tri_open_question){.ask = host->sender.said, .take = take, .self = self};
    if (host->questions == NULL) {
        host->last_question = &host->questions;
    }
    *host->last_question = question;
    host->last_question = &question->next;
    return 0;
}

/*
 * An end that has arrived is enough. Otherwise a monitor is set, and removed when the time is over,
 * so that repeated waits leave no monitors behind.
 */
int tr_host_wait(struct tr_host *host, struct tr_ref actor, uint64_t timeout_ms, int *reason)
{
    struct tr_monitor monitor = {.monitor = ++host->requests};
    if (!host->is_started) {
        return TR_CLOSED;
    }
    if (take_ended(host, 0, actor.key, reason)) {
        return 0;
    }
    int error = tell_actor(host, actor, TR_KIND_CONTROL, &tr_monitor_schema, &monitor);
    if (error == 0) {
        error = await_down(host, monitor.monitor, actor.key, timeout_ms, reason);
    }
    if (error == TR_TIMEOUT) {
        struct tr_demonitor demonitor = {.monitor = monitor.monitor};
        int told = tell_actor(host, actor, TR_KIND_CONTROL, &tr_demonitor_schema, &demonitor);
        error = told != 0 ? told : error;
    }
    return error;
}

/* Before the threads run, this thread owns the workers. */
static int find_loaded(struct tr_host *host, struct tr_text address, struct tr_ref *actor)
{
    int error = TR_NOT_FOUND;
    for (uint32_t i = 0; i < host->shared.worker_count && error == TR_NOT_FOUND; i++) {
        error = tri_actor_named(&host->workers[i], address, actor);
    }
    return error;
}

/* Asks one worker after the other. */
static int find_running(struct tr_host *host, struct tr_text address, struct tr_ref *actor)
{
    int error = TR_NOT_FOUND;
    for (uint32_t i = 0; i < host->shared.worker_count && error == TR_NOT_FOUND; i++) {
        struct tr_find find = {.request = ++host->requests, .address = address};
        struct answer answer;
        error = tell_worker(host, i, &tr_find_schema, &find);
        if (error == 0) {
            error = await_request(host, find.request, &answer);
        }
        if (error == 0) {
            *actor = answer.actor;
        }
    }
    return error;
}

/*
 * An actor that moves meanwhile from a worker that is asked later to one that was asked before, or
 * is between two, is missed. Moves are made one at a time, and counted when the actor leaves and
 * when it has arrived: an even number that stays the same says that none was under way.
 */
int tr_host_find(struct tr_host *host, struct tr_text address, struct tr_ref *actor)
{
    const atomic_uint_fast64_t *moves = &host->shared.moves;
    if (!host->is_started) {
        return host->thread_count == 0 ? find_loaded(host, address, actor) : TR_CLOSED;
    }
    uint64_t before;
    int error;
    do {
        before = atomic_load(moves);
        error = find_running(host, address, actor);
    } while (error == TR_NOT_FOUND && (before % 2 != 0 || atomic_load(moves) != before));
    return error;
}

int tr_host_move(struct tr_host *host, struct tr_ref actor, uint32_t worker)
{
    if (!host->is_started) {
        return TR_CLOSED;
    }
    struct tr_move_ask ask = {.request = ++host->requests, .actor = actor.key, .to_worker = worker};
    int error = tell_worker(host, 0, &tr_move_ask_schema, &ask);
    struct answer answer;
    return error != 0 ? error : await_request(host, ask.request, &answer);
}

int tr_host_wake(struct tr_host *host, uint64_t group)
{
    struct tr_activate wake = {.group = group};
    int error = host->is_started ? 0 : TR_CLOSED;
    for (uint32_t i = 0; error == 0 && i < host->shared.worker_count; i++) {
        error = tell_worker(host, i, &tr_activate_schema, &wake);
    }
    tri_sender_flush(&host->sender);
    return error;
}

static bool is_of_actor(const void *self, const struct tri_crash_row *row)
{
    const struct tr_key *actor = self;
    return row->kind == TRI_CRASH_MESSAGE && tr_key_equal(row->key, *actor);
}

/*
 * The counts of all its messages are forgotten before the actor is told. In the other order a crash
 * in between would quarantine the actor again.
 */
int tr_host_resume(struct tr_host *host, struct tr_ref actor, bool drop)
{
    if (!host->is_started) {
        return TR_CLOSED;
    }
    struct tri_message_name name = tri_poison_message_name(host->poison, actor.key);
    int error = tri_host_forget_crashes(host, is_of_actor, &actor.key);
    struct tr_resume resume = {
        .drop = drop,
        .from = name.from,
        .sequence = name.sequence,
        .type = name.type,
        .digest = name.digest,
    };
    if (error == 0) {
        error = tell_actor(host, actor, TR_KIND_CONTROL, &tr_resume_schema, &resume);
    }
    return error;
}

const char *tr_host_explain(struct tr_host *host)
{
    int fatal = atomic_load(&host->fatal);
    if (host->fatal_words[0] != '\0') {
        return host->fatal_words;
    }
    if (fatal == 0) {
        return "";
    }
    /* The journal's thread wrote its words before it reported its end. */
    bool is_journal = host->store != NULL && fatal == host->journal.error;
    return is_journal ? host->journal.words : tr_error_text(fatal);
}

uint64_t tr_host_put_back_ms(const struct tr_host *host)
{
    return host->shared.life.put_back_ms;
}

const char *tr_host_note(const struct tr_host *host)
{
    return atomic_load(&host->has_note) ? host->note_words : NULL;
}

int tr_host_waits_for(const struct tr_host *host)
{
    return atomic_load_explicit(&host->journal.waits_for, memory_order_relaxed);
}

void tri_control_poll(struct tr_host *host, uint64_t timeout_ns)
{
    tri_sender_flush(&host->sender);
    tri_channel_wait(host->sender.link, timeout_ns);
    (void)read_frames(host, NULL); /* no request is open: ends and answers are kept */
}

/*
 * An answer after the timeout has an old number and is ignored. The pointer in the host is reset on
 * every path, since the gathering is on the caller's stack.
 */
int tri_control_gather(struct tr_host *host, struct tri_gathering *gathering,
                       const struct tr_schema *schema, const void *body)
{
    if (!host->is_started) {
        return TR_CLOSED;
    }
    int error = 0;
    for (uint32_t i = 0; i < host->shared.worker_count && error == 0; i++) {
        error = tell_worker(host, i, schema, body);
    }
    host->gathering = gathering;
    uint64_t begin_ns = tri_monotonic_ns(host->env);
    while (error == 0 && gathering->answers < host->shared.worker_count) {
        tri_control_poll(host, 1000000);
        error = atomic_load(&host->fatal);
        bool is_late = !gathering->is_patient &&
                       tri_monotonic_ns(host->env) - begin_ns > TR_OBSERVE_MS * 1000000ULL;
        if (error == 0 && is_late && gathering->answers < host->shared.worker_count) {
            error = TR_TIMEOUT;
        }
    }
    host->gathering = NULL;
    return error != 0 ? error : gathering->reason;
}

void tri_control_fini(struct tr_host *host)
{
    while (host->questions != NULL) {
        struct tri_open_question *question = host->questions;
        host->questions = question->next;
        tr_free(question);
    }
    while (host->ended != NULL) {
        struct tri_ended *ended = host->ended;
        host->ended = ended->next;
        tr_free(ended);
    }
}
