/*
 * The program that started a host, and the people before it: asks for what the play wants spawned,
 * moves actors about, and resumes those that are quarantined.
 *
 * It speaks from the control place with frames, as runtime/host/control.c does, but never waits. To
 * find its actors it simply looks into the workers.
 */
#include "tests/sim/world.h"

#define MS 1000000ULL
#define LOOK_FIRST_NS (20 * MS)
#define LOOK_MOST_NS (2000 * MS)
#define LOOK_AGAIN_NS (2000 * MS) /* a resume that has had no effect is lost */
#define MOVES_MAX 8

static void say(struct sim_host *host, uint32_t place, uint8_t kind, struct tr_ref to,
                const struct tr_schema *schema, const void *body)
{
    struct tri_sender *sender = &host->host->sender;
    struct tr_envelope envelope = {
        .kind = kind,
        .flags = (uint8_t)(((schema->marks & TR_HINT) != 0 ? TR_FLAG_HINT : 0) |
                           ((schema->marks & TR_PRIORITY) != 0 ? TR_FLAG_PRIORITY : 0)),
        .to_group = to.key.group,
        .to_serial = to.key.serial,
        .to_incarnation = to.incarnation,
    };
    int error = tri_sender_send(sender, place, &envelope, schema, body);
    TR_ASSERT(error == 0);
    tri_sender_flush(sender);
}

static void say_to_worker(struct sim_host *host, uint32_t worker, const struct tr_schema *schema,
                          const void *body)
{
    struct tr_ref to = {{0, TR_SERVICE_WORKERS + worker}, 0};
    say(host, worker, TR_KIND_CONTROL, to, schema, body);
}

void sim_program_wake(struct sim_host *host)
{
    struct tr_activate wake = {.group = 0};
    for (uint32_t i = 0; i < host->host->shared.worker_count; i++) {
        say_to_worker(host, i, &tr_activate_schema, &wake);
    }
}

void sim_program_wish(struct sim_host *host, const struct tr_behaviour *behaviour,
                      struct tr_text name, const void *state)
{
    uint8_t packed[4096];
    struct tr_writer writer = tr_writer_of(packed, sizeof packed);
    if (state != NULL) {
        int error = behaviour->state->pack(state, &writer);
        TR_ASSERT(error == 0);
    }
    host->program.request = ++host->host->requests;
    struct tr_spawn_request spawn = {
        .request = host->program.request,
        .behaviour = behaviour->id,
        .name = name,
        .state = {.data = packed, .size = tr_writer_size(&writer)},
    };
    uint32_t worker =
        (uint32_t)sim_below(&host->world->chance.order, host->host->shared.worker_count);
    say_to_worker(host, worker, &tr_spawn_request_schema, &spawn);
}

static void hear_granted(struct sim_host *host, const struct tr_control_reply *granted)
{
    if (granted->request == 0 || granted->request != host->program.request) {
        host->program.moves -= host->program.moves > 0 ? 1 : 0;
        return;
    }
    host->program.request = 0;
    if (granted->reason == 0) { /* else it is asked again */
        host->program.granted++;
        host->world->play->granted(host, granted);
    }
}

/* A message to an actor goes to the worker of origin, which knows where it is. */
void sim_program_say(struct sim_host *host, const struct tri_actor *actor, uint8_t kind,
                     const struct tr_schema *schema, const void *body)
{
    uint32_t worker = tri_origin_worker(&host->host->shared, actor->key);
    say(host, worker, kind, tri_actor_ref(actor), schema, body);
}

static uint32_t count_actors(const struct sim_host *host)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < host->host->shared.worker_count; i++) {
        count += host->host->workers[i].actor_count;
    }
    return count;
}

/* The n-th live actor of a host, over all workers. */
static const struct tri_actor *actor_number(const struct sim_host *host, uint32_t number)
{
    for (uint32_t i = 0; i < host->host->shared.worker_count; i++) {
        const struct tri_worker *worker = &host->host->workers[i];
        uint64_t cursor = 0;
        uint32_t slot;
        while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
            if (number-- == 0) {
                return tri_actor_at(worker, slot);
            }
        }
    }
    return NULL;
}

/* The program asks to hear of the end of an actor at one in so many looks. */
#define WATCH_ONE_IN 8

/* Each start counts its monitors from 1 on. */
static void watch(struct sim_host *host)
{
    struct sim_program *program = &host->program;
    struct sim_random *chance = &host->world->chance.order;
    uint32_t count = count_actors(host);
    if (count == 0 || program->watched_count == SIM_WATCHED_MAX ||
        sim_below(chance, WATCH_ONE_IN) != 0) {
        return;
    }
    const struct tri_actor *actor = actor_number(host, (uint32_t)sim_below(chance, count));
    program->watched[program->watched_count++] = actor->key;
    struct tr_monitor monitor = {.monitor = program->watched_count};
    sim_program_say(host, actor, TR_KIND_CONTROL, &tr_monitor_schema, &monitor);
}

/* An answer that an earlier start of the host has asked for is none of this one. */
static void hear_down(const struct sim_host *host, const struct tr_down *down)
{
    const struct sim_program *program = &host->program;
    bool is_asked = down->monitor >= 1 && down->monitor <= program->watched_count &&
                    tr_key_equal(program->watched[down->monitor - 1], down->actor.key);
    if (!is_asked) {
        sim_fail("program: host %u hears of the end of %llu/%llu, for which it has not asked in "
                 "this start",
                 host->index, (unsigned long long)down->actor.key.group,
                 (unsigned long long)down->actor.key.serial);
    }
}

static bool hear(struct sim_host *host)
{
    struct tri_frame frame;
    bool did_read = false;
    while (tri_channel_receive(host->host->sender.link, &frame) == 0) {
        struct tr_bytes bytes;
        bool is_stored;
        size_t offset = 0;
        while (tri_frame_next(&frame, &offset, &bytes, &is_stored)) {
            struct tr_control_reply granted;
            struct tr_down down;
            uint8_t version = tr_envelope_get(bytes.data, 8, version);
            if (tr_envelope_get(bytes.data, 16, type) == tr_control_reply_schema.id &&
                tr_control_reply_unpack(tr_envelope_body(bytes.data), version, &granted) == 0) {
                hear_granted(host, &granted);
            } else if (tr_envelope_get(bytes.data, 16, type) == tr_down_schema.id &&
                       tr_down_unpack(tr_envelope_body(bytes.data), version, &down) == 0) {
                hear_down(host, &down);
            }
        }
        tri_channel_release(host->host->sender.link, &frame);
        did_read = true;
    }
    return did_read;
}

/* What was asked of an actor and has had no effect yet, or NULL. */
static struct sim_wish *find_wish(struct sim_host *host, struct tr_key key)
{
    for (uint32_t i = 0; i < SIM_WISHES_MAX; i++) {
        if (tr_key_equal(host->program.wishes[i].key, key)) {
            return &host->program.wishes[i];
        }
    }
    return NULL;
}

bool sim_program_may_wish(struct sim_host *host, struct tr_key key)
{
    uint64_t now_ns = host->world->now_ns;
    struct sim_wish *wish = find_wish(host, key);
    if (wish != NULL && now_ns - wish->at_ns < LOOK_AGAIN_NS) {
        return false;
    }
    if (wish == NULL) {
        wish = find_wish(host, (struct tr_key){0});
    }
    if (wish == NULL) {
        return false;
    }
    *wish = (struct sim_wish){.key = key, .at_ns = now_ns};
    return true;
}

void sim_program_forget_wish(struct sim_host *host, struct tr_key key)
{
    struct sim_wish *wish = find_wish(host, key);
    if (wish != NULL) {
        *wish = (struct sim_wish){0};
    }
}

/* A message that cannot be handled is dropped; any other was only unlucky twice. */
static void resume(struct sim_host *host, const struct tri_actor *actor)
{
    const struct sim_play *play = host->world->play;
    const struct tri_message *first = actor->mailbox_head;
    struct tr_resume resume = {
        .drop = first != NULL && play->drops != NULL &&
                play->drops(tr_envelope_get(first->bytes, 16, type)),
    };
    host->world->counts.resumes++;
    sim_program_say(host, actor, TR_KIND_CONTROL, &tr_resume_schema, &resume);
}

/* Looks at one actor; whether something was done about it. */
static bool look_at(struct sim_host *host, const struct tri_worker *worker, struct tri_actor *actor)
{
    const struct sim_play *play = host->world->play;
    if (actor->phase != TRI_QUARANTINED) {
        return play->look != NULL && play->look(host, worker, actor);
    }
    if (!sim_program_may_wish(host, actor->key)) {
        return false;
    }
    resume(host, actor);
    return true;
}

static bool look(struct sim_host *host)
{
    struct sim_program *program = &host->program;
    uint64_t now_ns = host->world->now_ns;
    if (now_ns < program->look_ns) {
        return false;
    }
    bool did_find = false;
    for (uint32_t i = 0; i < host->host->shared.worker_count; i++) {
        struct tri_worker *worker = &host->host->workers[i];
        uint64_t cursor = 0;
        uint32_t slot;
        while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
            if (look_at(host, worker, tri_actor_at(worker, slot))) {
                did_find = true;
            }
        }
    }
    uint64_t pause =
        did_find || program->look_pause_ns == 0 ? LOOK_FIRST_NS : program->look_pause_ns * 2;
    program->look_pause_ns = pause < LOOK_MOST_NS ? pause : LOOK_MOST_NS;
    program->look_ns = now_ns + program->look_pause_ns;
    watch(host);
    return did_find;
}

bool sim_program_step(struct sim_host *host)
{
    bool did_hear = hear(host);
    bool did_ask = host->world->play->ask(host);
    bool did_look = look(host);
    tri_sender_flush(&host->host->sender);
    return did_hear || did_ask || did_look;
}

void sim_program_move(struct sim_host *host)
{
    struct sim_random *chance = &host->world->chance.faults;
    uint32_t count = count_actors(host);
    uint32_t workers = host->host->shared.worker_count;
    if (count == 0 || workers < 2 || host->program.moves >= MOVES_MAX) {
        return;
    }
    const struct tri_actor *actor = actor_number(host, (uint32_t)sim_below(chance, count));
    TR_ASSERT(actor != NULL);
    struct tr_move_ask ask = {
        .request = ++host->host->requests,
        .actor = actor->key,
        .to_worker = (uint32_t)sim_below(chance, workers),
    };
    host->program.moves++;
    host->world->counts.moves++;
    say_to_worker(host, 0, &tr_move_ask_schema, &ask);
}

void sim_program_forget(struct sim_host *host)
{
    struct sim_program *program = &host->program;
    *program = (struct sim_program){.granted = program->granted};
}
