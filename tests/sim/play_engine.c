/*
 * The play of the engine: what a world of it is about, how its hosts begin, what its program does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/decisions.h"
#include "tests/sim/documents.h"
#include "tests/sim/engine_check.h"
#include "tests/sim/engine_history.h"
#include "tests/sim/engine_inject.h"
#include "tests/sim/engine_program.h"
#include "tests/sim/engine_turn.h"
#include "tests/sim/recall.h"
#include "tests/sim/repeats.h"
#include "tests/sim/timetable.h"
#include "tests/sim/told.h"
#include "tests/support/flow_random.h"
#include "tests/support/flow_value.h"

#define MS 1000000ULL

/* What the program has spawned in each host, in this order. */
enum member {
    MEMBER_RESOURCES,
    MEMBER_CATALOG,
    MEMBER_LAUNCHER,
    MEMBER_CLIENT,
    MEMBER_SCHEDULES, /* these where there are schedules */
    MEMBER_PLANNER,
    MEMBER_NOTIFIER, /* where there are notifications */
    MEMBER_COUNT
};

static const struct {
    const struct tr_behaviour *behaviour;
    const char *name;
} members[MEMBER_COUNT] = {
    [MEMBER_RESOURCES] = {&tr_resources_behaviour, "resources"},
    [MEMBER_CATALOG] = {&tr_catalog_behaviour, "catalog"},
    [MEMBER_LAUNCHER] = {&tr_launcher_behaviour, "default/development"},
    [MEMBER_CLIENT] = {&sim_client_behaviour, "client"},
    [MEMBER_SCHEDULES] = {&tr_schedules_behaviour, "schedules"},
    [MEMBER_PLANNER] = {&sim_planner_behaviour, "planner"},
    [MEMBER_NOTIFIER] = {&tr_notifier_behaviour, "notifier"},
};

/* What a host of the engine has while it is up. */
struct own {
    struct tr_engine engine; /* stays first: handlers get it */
    struct tr_ref refs[MEMBER_COUNT];
    uint64_t groups[16]; /* that sleep */
    uint32_t group_count;
    uint64_t wake_ns; /* when they go on; 0: nobody sleeps */
    bool is_quota_told;
    bool is_woken; /* schedules know that an engine has begun which fires them */
};

static const struct tr_plugin *const plugins[] = {&sim_remote_plugin};

/* -------------------------------------------------------------------------------- the world */

static void plan_world(struct sim_plan *plan)
{
    struct sim_random random = sim_random_of(plan->seed, 60);
    plan->host_count = sim_below(&random, 8) == 0 ? 2 : 1;
    plan->remote_count = 0; /* its hosts do not know each other */
    plan->cut = 0;
    plan->faults_ns = sim_between(&random, 50, 2500) * MS;
    plan->burst = 0;
    plan->failure *= 3;
    plan->memory *= 4;
    plan->snapshot_every = 16;
    plan->compare_every = 32;
}

/* Most graphs are small, so that seeds are quick; some are not. */
static uint32_t draw_size(struct sim_random *random)
{
    uint64_t most = sim_below(random, 12) == 0 ? 32 : 2 + sim_below(random, 8);
    return (uint32_t)sim_between(random, 1, most);
}

static void make_graph(struct sim_stage *stage, struct sim_random *random)
{
    struct flow_random_options options = {
        .seed = sim_draw(random),
        .size = draw_size(random),
        .task_type = "remote",
        .has_timing = stage->has_timing,
        .has_caches = sim_below(random, 4) == 0,
        .has_gates = stage->has_gates,
        .has_launches = stage->has_launches,
        .launches_all = stage->has_recoveries && sim_below(random, 2) == 0,
        .has_dynamic = stage->has_dynamic,
        .has_texts = sim_below(random, 2) == 0,
        .has_codes = sim_below(random, 2) == 0,
        .has_labels = sim_below(random, 2) == 0,
        .behind_main = stage->has_notifications ? SIM_TOLD_NOTIFY : NULL,
    };
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    flow_random_write(&options, &text);
    sim_stage_add_graph(stage, tr_buffer_text(&text));
    tr_buffer_fini(&text);
}

static void make_execution(struct sim_stage *stage, struct sim_random *random)
{
    const struct sim_execution drawn = {
        .host = (uint32_t)sim_below(random, stage->world->plan.host_count),
        .graph = (uint32_t)sim_below(random, stage->graph_count),
        .cache_mode = (uint8_t)(sim_below(random, 4) == 0 ? sim_below(random, 3) : TR_CACHE_USE),
        .is_aborted = sim_below(random, 6) == 0,
        .is_hard = sim_below(random, 4) == 0,
        .abort_after_ms = sim_below(random, sim_below(random, 2) == 0 ? 50 : 1500),
    };
    sim_stage_add_execution(stage, &drawn, random);
}

/* The inputs of an execution that takes up another one: sometimes others. */
static void copy_inputs(const struct sim_stage *stage, struct sim_random *random,
                        const struct sim_execution *from, struct tr_buffer *inputs)
{
    const struct tr_graph *graph = stage->graphs[from->graph].graph;
    tr_buffer_init(inputs, 0);
    if (sim_below(random, 3) == 0) {
        flow_value_inputs(&graph->workflows[graph->main_workflow], sim_draw(random), inputs);
    } else {
        tr_buffer_add(inputs, from->inputs.data, from->inputs.size);
    }
}

/* Takes up an execution when it has ended: the same once more, but for what can be kept. */
static void make_recovery(struct sim_stage *stage, struct sim_random *random)
{
    const struct sim_execution *from =
        &stage->executions[sim_below(random, stage->execution_count)];
    uint32_t index = stage->execution_count++;
    struct sim_execution *execution = &stage->executions[index];
    *execution = (struct sim_execution){
        .host = from->host,
        .graph = from->graph,
        .cache_mode = from->cache_mode,
        .from = from,
        .is_aborted = sim_below(random, 8) == 0,
        .abort_after_ms = sim_below(random, 500),
    };
    (void)snprintf(execution->name, sizeof execution->name, "e%u", index);
    copy_inputs(stage, random, from, &execution->inputs);
}

static void draw_rates(struct sim_rates *rates, struct sim_random *random)
{
    if (sim_below(random, 3) > 0) {
        rates->user = (uint32_t)sim_below(random, 200);
        rates->system = (uint32_t)sim_below(random, 150);
        rates->for_good = (uint32_t)sim_below(random, 50);
    }
}

static void begin(struct sim_world *world)
{
    struct sim_random random = sim_random_of(world->plan.seed, 61);
    struct sim_stage *stage = sim_must(calloc(1, sizeof *stage));
    world->own = stage;
    stage->world = world;
    stage->has_timing = sim_below(&random, 5) == 0;
    stage->has_gates = sim_below(&random, 3) == 0;
    stage->has_recoveries =
        world->plan.durability != TR_DURABILITY_NONE && sim_below(&random, 3) == 0;
    stage->has_launches = world->plan.durability != TR_DURABILITY_NONE &&
                          sim_below(&random, 3) < (stage->has_recoveries ? 2 : 1);
    stage->has_pauses = sim_below(&random, 4) == 0;
    stage->has_dynamic = world->plan.durability != TR_DURABILITY_NONE && sim_below(&random, 3) == 0;
    stage->quota = (uint32_t)(sim_below(&random, 3) == 0 ? sim_between(&random, 1, 4) : 1000);
    draw_rates(&stage->rates, &random);
    stage->has_schedules =
        world->plan.durability != TR_DURABILITY_NONE && sim_below(&random, 5) == 0;
    struct sim_random told = sim_random_of(world->plan.seed, 62); /* spares what is drawn behind */
    stage->has_notifications =
        world->plan.durability != TR_DURABILITY_NONE && sim_below(&told, 4) == 0;
    uint32_t graphs = (uint32_t)sim_between(&random, 1, 2);
    for (uint32_t i = 0; i < graphs; i++) {
        make_graph(stage, &random);
    }
    uint32_t executions = (uint32_t)sim_between(&random, 1, 4);
    for (uint32_t i = 0; i < executions; i++) {
        make_execution(stage, &random);
    }
    uint32_t recoveries = stage->has_recoveries ? 1 + (uint32_t)sim_below(&random, 3) : 0;
    for (uint32_t i = 0; i < recoveries; i++) {
        make_recovery(stage, &random);
    }
    stage->timetable = stage->has_schedules ? sim_timetable_new(stage, &random) : NULL;
    stage->told = stage->has_notifications ? sim_told_new() : NULL;
    stage->repeats = sim_repeats_new();
    stage->documents = sim_documents_new();
    sim_stage_begin(stage, world);
}

static void end(struct sim_world *world)
{
    struct sim_stage *stage = sim_stage_of(world);
    sim_documents_free(stage->documents);
    sim_repeats_free(stage->repeats);
    sim_timetable_free(stage->timetable);
    sim_told_free(stage->told);
    sim_stage_end(stage);
    free(stage);
    world->own = NULL;
}

void sim_bytes_set(struct sim_bytes *bytes, const void *data, size_t size)
{
    free(bytes->data);
    bytes->data = sim_must(malloc(size + 1));
    bytes->size = size;
    if (size > 0) {
        memcpy(bytes->data, data, size);
    }
}

/* ---------------------------------------------------------------------------------- outcomes */

static uint64_t digest_text(uint64_t digest, struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        digest = sim_mix(digest ^ (uint8_t)text.data[i]);
    }
    return digest;
}

uint8_t sim_outcome(const struct sim_stage *stage, const struct sim_execution *execution,
                    const struct tr_task *task, struct tr_bytes inputs, struct tr_text path,
                    uint64_t element, uint32_t attempt)
{
    uint64_t digest = sim_mix(stage->world->plan.seed ^ attempt);
    if (task->settings.cache.version.size > 0) {
        /* Whoever makes what may be shared, it comes out the same. */
        digest = digest_text(digest, task->name);
        digest ^= flow_value_digest_slots(&task->interface.inputs, inputs);
    } else {
        digest = digest_text(sim_mix(digest ^ element), path);
        digest = digest_text(digest, tr_text_of(execution->name));
    }
    const struct sim_rates *rates = &stage->rates;
    const struct {
        uint32_t rate;
        uint8_t outcome;
    } fates[] = {
        {rates->user, SIM_JOB_FAILED},
        {rates->system, SIM_JOB_BROKEN},
        {rates->for_good, SIM_JOB_FAILED_FOR_GOOD},
        {rates->cancelled, SIM_JOB_CANCELLED},
        {rates->refused, SIM_JOB_REFUSED},
    };
    uint64_t place = sim_mix(digest) % 1000;
    for (size_t i = 0; i < TR_COUNT_OF(fates); i++) {
        if (place < fates[i].rate) {
            return fates[i].outcome;
        }
        place -= fates[i].rate;
    }
    return SIM_JOB_DONE;
}

/* ------------------------------------------------------------------------------------- people */

static uint64_t answer_of(const struct sim_stage *stage, const struct sim_execution *execution,
                          struct tr_text id)
{
    return digest_text(digest_text(sim_mix(stage->world->plan.seed ^ 71), id),
                       tr_text_of(execution->name));
}

bool sim_approves(const struct sim_stage *stage, const struct sim_execution *execution,
                  struct tr_text id)
{
    return answer_of(stage, execution, id) % 6 != 0;
}

void sim_signal_value(const struct sim_stage *stage, const struct sim_execution *execution,
                      struct tr_text id, const struct tr_type *type, struct tr_buffer *value)
{
    flow_value_write(type, answer_of(stage, execution, id), value);
}

/* ---------------------------------------------------------------------------------- a host */

/* As a program does at its start: graphs from the store's folder are put in the graph registry. */
static void open_host(struct sim_host *host)
{
    const struct sim_stage *stage = sim_stage_of(host->world);
    struct own *own = sim_must(calloc(1, sizeof *own));
    own->engine.plugins = plugins;
    own->engine.plugin_count = TR_COUNT_OF(plugins);
    own->engine.fires_schedules = true;
    sim_engine_open(host, &own->engine);
    sim_decisions_load(stage->decisions, host, &own->engine.registry);
    host->own = own;
}

static void close_host(struct sim_host *host)
{
    struct own *own = host->own;
    sim_stage_of(host->world)->is_quota_known[host->index] = false;
    tr_graph_registry_fini(&own->engine.registry);
    free(own);
}

static void set_member(struct sim_host *host, uint32_t member, struct tr_ref actor)
{
    struct own *own = host->own;
    own->refs[member] = actor;
    own->engine.resources = own->refs[MEMBER_RESOURCES];
    own->engine.catalog = own->refs[MEMBER_CATALOG];
    own->engine.notifier = own->refs[MEMBER_NOTIFIER];
    if (member == MEMBER_CLIENT) {
        sim_stage_of(host->world)->has_client[host->index] = true;
    } else if (member == MEMBER_PLANNER) {
        sim_stage_of(host->world)->has_planner = true;
    }
}

static void note_member(struct sim_host *host, struct tri_worker *worker, struct tri_actor *actor)
{
    for (uint32_t i = 0; i < MEMBER_COUNT; i++) {
        if (tri_actor_behaviour(worker, actor)->id == members[i].behaviour->id) {
            set_member(host, i, tri_actor_ref(actor));
        }
    }
}

/* The group of an execution, by its root. */
static void note_group(struct sim_host *host, struct tri_worker *worker, struct tri_actor *actor)
{
    struct own *own = host->own;
    bool is_root = tri_actor_behaviour(worker, actor)->id == tr_workflow_behaviour.id &&
                   actor->parent.group != actor->key.group;
    bool may_sleep = is_root && own->group_count < TR_COUNT_OF(own->groups);
    if (may_sleep && sim_below(&host->world->chance.environment, 2) == 0) {
        own->groups[own->group_count++] = actor->key.group;
    }
}

/* Some executions sleep for a while after a start. */
static void set_dormant(struct sim_host *host)
{
    struct own *own = host->own;
    struct sim_random *chance = &host->world->chance.environment;
    if (host->world->is_calm || sim_below(chance, 4) > 0) {
        return;
    }
    sim_each_actor(host, note_group);
    if (tr_host_set_dormant(host->host, own->groups, own->group_count) == 0 &&
        own->group_count > 0) {
        own->wake_ns = host->world->now_ns + 1 + sim_below(chance, 400 * MS);
        sim_engine_seen.dormant += own->group_count;
        sim_say("host %u: %u executions sleep", host->index, own->group_count);
    }
}

/* After a start: who was spawned before is there, and is not asked for again. */
static void check_loaded(struct sim_host *host)
{
    sim_each_actor(host, note_member);
    set_dormant(host);
}

/* Whether somebody has to be there. A client or a planner that has ended stays away. */
static bool is_wanted(const struct sim_host *host, uint32_t member)
{
    const struct sim_stage *stage = sim_stage_of(host->world);
    bool has_schedules = stage->has_schedules && host->index == 0;
    switch ((enum member)member) {
    case MEMBER_CLIENT:
        return !stage->has_client[host->index];
    case MEMBER_SCHEDULES:
        return has_schedules;
    case MEMBER_PLANNER:
        return has_schedules && !stage->has_planner;
    case MEMBER_NOTIFIER:
        return stage->has_notifications;
    default:
        return true;
    }
}

/* The next one that is to be spawned, or MEMBER_COUNT. */
static uint32_t next_member(const struct sim_host *host)
{
    const struct own *own = host->own;
    return sim_engine_next_member(host, own->refs, MEMBER_COUNT, is_wanted);
}

/* Once after each start: times went by, and the clock may have been set. */
static void wake_schedules(struct sim_host *host)
{
    struct own *own = host->own;
    struct tr_schedule_wake wake = {.from = 0};
    const struct tri_actor *actor = sim_find_actor(host, own->refs[MEMBER_SCHEDULES].key);
    if (actor != NULL) {
        sim_program_say(host, actor, TR_KIND_TELL, &tr_schedule_wake_schema, &wake);
        own->is_woken = true;
    }
}

void sim_engine_note_quota(struct sim_host *host)
{
    sim_stage_of(host->world)->is_quota_known[host->index] = true;
}

static void wake(struct sim_host *host)
{
    struct own *own = host->own;
    sim_program_wake(host);
    own->wake_ns = 0;
}

static bool ask(struct sim_host *host)
{
    struct own *own = host->own;
    uint32_t next = next_member(host);
    if (own->wake_ns != 0 && own->wake_ns <= host->world->now_ns) {
        wake(host);
    }
    if (host->program.request != 0) {
        return false;
    }
    if (!own->is_quota_told && next > MEMBER_RESOURCES) {
        own->is_quota_told = sim_engine_tell_quota(host, own->refs[MEMBER_RESOURCES]);
    }
    if (!own->is_woken && own->refs[MEMBER_SCHEDULES].key.serial != 0) {
        wake_schedules(host);
    }
    if (next == MEMBER_COUNT) {
        return false;
    }
    sim_program_wish(host, members[next].behaviour, tr_text_of(members[next].name), NULL);
    return true;
}

static void granted(struct sim_host *host, const struct tr_control_reply *granted)
{
    set_member(host, next_member(host), granted->actor);
}

/* A planner that is new is told to begin. */
static bool look_at_planner(struct sim_host *host, struct tri_actor *actor)
{
    const struct own *own = host->own;
    const struct tr_sim_planner *state = tri_actor_state(actor);
    bool is_new =
        own->refs[MEMBER_PLANNER].key.serial != 0 && !state->has_begun && actor->mailbox_count == 0;
    if (is_new && sim_program_may_wish(host, actor->key)) {
        struct tr_sim_planner_go go = {.schedules = own->refs[MEMBER_SCHEDULES],
                                       .launcher = own->refs[MEMBER_LAUNCHER]};
        sim_program_say(host, actor, TR_KIND_TELL, &tr_sim_planner_go_schema, &go);
        return true;
    }
    return false;
}

/* A client that is new is told to begin. */
static bool look(struct sim_host *host, const struct tri_worker *worker, struct tri_actor *actor)
{
    const struct own *own = host->own;
    if (tri_actor_behaviour(worker, actor)->id == sim_planner_behaviour.id) {
        return look_at_planner(host, actor);
    }
    sim_engine_check_pause(host, worker, actor);
    if (sim_stage_of(host->world)->has_notifications &&
        own->refs[MEMBER_NOTIFIER].key.serial == 0) {
        return false; /* nobody would be told of what begins now */
    }
    return sim_engine_begin_client(host, worker, actor, own->refs[MEMBER_CLIENT],
                                   own->refs[MEMBER_LAUNCHER]);
}

static void hear(struct sim_host *host, const struct tr_envelope *envelope, struct tr_bytes body)
{
    struct sim_stage *stage = sim_stage_of(host->world);
    if (stage->timetable != NULL && sim_timetable_hear(stage->timetable, host, envelope, body)) {
        return;
    }
    if (stage->told != NULL && sim_told_hear(stage->told, host, envelope, body)) {
        return;
    }
    if (!sim_documents_hear(stage->documents, host, envelope, body) &&
        !sim_decisions_hear(stage->decisions, host, envelope, body) &&
        !sim_recall_hear(stage, host, envelope, body)) {
        sim_backend_hear(stage->backend, host, envelope, body);
    }
}

static bool is_over(const struct sim_host *host)
{
    return next_member(host) == MEMBER_COUNT;
}

const struct sim_play sim_engine = {
    .name = "engine",
    .behaviours = sim_engine_behaviours,
    .behaviour_count = &sim_engine_behaviour_count,
    .records = sim_engine_records,
    .record_count = &sim_engine_record_count,
    .bugs = sim_engine_bugs,
    .bug_count = &sim_engine_bug_count,
    .has_files = true,
    .plan = plan_world,
    .begin = begin,
    .end = end,
    .open = open_host,
    .close = close_host,
    .ask = ask,
    .granted = granted,
    .look = look,
    .hear = hear,
    .record = sim_history_record,
    .stays = sim_engine_stays,
    .is_over = is_over,
    .check_loaded = check_loaded,
    .check_staying = sim_engine_check_staying,
    .check_end = sim_engine_check_end,
};
