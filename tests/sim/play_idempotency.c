/*
 * The play `idempotency`: what a world of it is about, how its hosts begin, what its program does.
 *
 * Its graphs are short and wide: single tasks and maps, whose jobs go to one or two back ends in
 * batches. The rest is the engine's play: its client launches and aborts, its model says what has
 * to come of it all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/engine_check.h"
#include "tests/sim/engine_history.h"
#include "tests/sim/engine_program.h"
#include "tests/sim/engine_turn.h"
#include "tests/sim/idempotency.h"

#define MS 1000000ULL
#define NODES_MAX 4
#define WIDTH_MAX 18

/* Who the program has spawned in a host, in this order; a refresh actor for each back end. */
enum member {
    MEMBER_RESOURCES,
    MEMBER_LAUNCHER,
    MEMBER_REFRESH,
    MEMBER_CLIENT = MEMBER_REFRESH + SIM_BACK_END_COUNT,
    MEMBER_COUNT
};

/* What a host has while it is up. */
struct own {
    struct tr_engine engine; /* stays first: handlers get it */
    struct tr_engine_endpoint endpoints[SIM_BACK_END_COUNT];
    struct tr_ref refs[MEMBER_COUNT];
    bool is_quota_told;
};

/* ------------------------------------------------------------------------------------ the world */

static void plan_world(struct sim_plan *plan)
{
    struct sim_random random = sim_random_of(plan->seed, 70);
    plan->host_count = 1;
    plan->remote_count = 0;
    plan->cut = 0;
    plan->burst = 0;
    plan->faults_ns = sim_between(&random, 500, 8000) * MS;
    plan->crash /= 8; /* there are more steps in which it may happen */
    plan->stop /= 8;
    plan->snapshot_every = 16;
    plan->compare_every = 32;
}

static void draw_setup(struct sim_idempotency *setup, struct sim_random *random)
{
    uint64_t back_ends = sim_between(random, 1, 2);
    for (uint64_t i = 0; i < back_ends; i++) {
        setup->is_used[sim_below(random, SIM_BACK_END_COUNT)] = true;
    }
    setup->policy = sim_below(random, 2) == 0 ? TR_WEBAPI_POLICY_REPEAT : TR_WEBAPI_POLICY_FAIL;
    setup->is_beyond = sim_below(random, 5) == 0;
    setup->is_doubled = sim_below(random, 3) == 0;
    setup->is_wiped = sim_below(random, 5) == 0;
    setup->is_trimmed = sim_below(random, 3) == 0;
    setup->is_torn = sim_below(random, 2) == 0;
    setup->is_forgetful = sim_below(random, 2) == 0;
    setup->endpoint = (struct tr_webapi_endpoint){
        .calls_per_second = (uint32_t)sim_between(random, 4, 60),
        .calls_at_once = (uint32_t)sim_between(random, 1, 4),
        .streams_max = (uint32_t)sim_between(random, 1, 3),
        .interval_ms = (uint32_t)sim_between(random, 50, 600),
        .timeout_ms = (uint32_t)sim_between(random, 200, 900),
    };
    /* In some worlds there is room for few jobs; not drawn, so that seeds go the way they went. */
    uint32_t interval_ms = setup->endpoint.interval_ms;
    setup->endpoint.jobs_at_once = interval_ms % 3 == 0 ? interval_ms % 5 + 1 : 0;
}

static void draw_rates(struct sim_rates *rates, struct sim_random *random)
{
    if (sim_below(random, 3) > 0) {
        rates->user = (uint32_t)sim_below(random, 150);
        rates->system = (uint32_t)sim_below(random, 100);
        rates->for_good = (uint32_t)sim_below(random, 30);
        rates->cancelled = (uint32_t)sim_below(random, 30);
        rates->refused = (uint32_t)sim_below(random, 30);
    }
}

/* One of the back ends of a world. */
static uint32_t draw_back_end(const struct sim_idempotency *setup, struct sim_random *random)
{
    uint32_t back_end;
    do {
        back_end = (uint32_t)sim_below(random, SIM_BACK_END_COUNT);
    } while (!setup->is_used[back_end]);
    return back_end;
}

static void write_task(const struct sim_idempotency *setup, struct sim_random *random,
                       uint64_t number, struct tr_buffer *text)
{
    tr_buffer_print(text,
                    "  t%u: {type: %s, inputs: {x: int}, outputs: {y: int, s: string}, "
                    "retries: %u, config: {in_doubt: %s}}\n",
                    (unsigned)number, sim_back_ends[draw_back_end(setup, random)].name,
                    (unsigned)sim_below(random, 4),
                    setup->policy == TR_WEBAPI_POLICY_REPEAT ? "repeat" : "fail");
}

static void write_list(struct sim_random *random, struct tr_buffer *text)
{
    uint64_t width = sim_below(random, WIDTH_MAX);
    for (uint64_t i = 0; i < width; i++) {
        tr_buffer_print(text, "%s%u", i == 0 ? "" : ", ", (unsigned)sim_below(random, 100));
    }
}

/* A single task, or a map, which may use what the node before has given. */
static void write_node(struct sim_random *random, uint64_t node, bool *was_map,
                       struct tr_buffer *text)
{
    bool is_map = sim_below(random, 3) > 0;
    bool is_next = node > 0 && is_map == *was_map && sim_below(random, 2) == 0;
    tr_buffer_print(text, "      n%u: {%s: t%u, ", (unsigned)node, is_map ? "map" : "task",
                    (unsigned)sim_below(random, 2));
    tr_buffer_add_string(text, is_map ? "over: [x], with: {x: " : "with: {x: ");
    if (is_next) {
        tr_buffer_print(text, "$n%u.y", (unsigned)node - 1);
    } else if (is_map) {
        tr_buffer_add_string(text, "[");
        write_list(random, text);
        tr_buffer_add_string(text, "]");
    } else {
        tr_buffer_print(text, "%u", (unsigned)sim_below(random, 100));
    }
    tr_buffer_add_string(text, "}");
    if (is_map && sim_below(random, 4) == 0) {
        tr_buffer_print(text, ", parallelism: %u", (unsigned)sim_between(random, 1, 6));
    }
    tr_buffer_add_string(text, "}\n");
    *was_map = is_map;
}

static void write_graph(const struct sim_idempotency *setup, struct sim_random *random,
                        struct tr_buffer *text)
{
    uint64_t nodes = sim_between(random, 1, NODES_MAX);
    bool was_map = false;
    tr_buffer_add_string(text, "troupe: 1\ntasks:\n");
    write_task(setup, random, 0, text);
    write_task(setup, random, 1, text);
    tr_buffer_add_string(text, "workflows:\n  main:\n    inputs: {}\n    nodes:\n");
    for (uint64_t i = 0; i < nodes; i++) {
        write_node(random, i, &was_map, text);
    }
    tr_buffer_print(text, "    outputs: {last: $n%u.y}\n", (unsigned)nodes - 1);
    if (sim_below(random, 2) == 0) {
        tr_buffer_add_string(text, "    policy: finish_runnable\n");
    }
}

static void make_graph(struct sim_stage *stage, const struct sim_idempotency *setup,
                       struct sim_random *random)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    write_graph(setup, random, &text);
    sim_stage_add_graph(stage, tr_buffer_text(&text));
    tr_buffer_fini(&text);
}

static void make_execution(struct sim_stage *stage, struct sim_random *random)
{
    const struct sim_execution drawn = {
        .graph = (uint32_t)sim_below(random, stage->graph_count),
        .cache_mode = TR_CACHE_USE,
        .is_aborted = sim_below(random, 4) == 0,
        .is_hard = sim_below(random, 4) == 0,
        .abort_after_ms = sim_below(random, sim_below(random, 2) == 0 ? 300 : 4000),
    };
    sim_stage_add_execution(stage, &drawn, random);
}

static void begin(struct sim_world *world)
{
    struct sim_random random = sim_random_of(world->plan.seed, 72);
    struct sim_idempotency_stage *both = sim_must(calloc(1, sizeof *both));
    struct sim_stage *stage = &both->engine;
    world->own = both;
    stage->world = world;
    stage->quota = (uint32_t)(sim_below(&random, 3) == 0 ? sim_between(&random, 1, 6) : 1000);
    draw_setup(&both->setup, &random);
    draw_rates(&stage->rates, &random);
    uint64_t graphs = sim_between(&random, 1, 2);
    for (uint64_t i = 0; i < graphs; i++) {
        make_graph(stage, &both->setup, &random);
    }
    uint64_t executions = sim_between(&random, 1, 3);
    for (uint64_t i = 0; i < executions; i++) {
        make_execution(stage, &random);
    }
    sim_stage_begin(stage, world);
    both->setup.jobs = sim_jobs_new(world);
    sim_say("%s%s%s%s%s%s", both->setup.is_beyond ? "beyond the lag " : "",
            both->setup.is_doubled ? "with a proxy " : "", both->setup.is_wiped ? "wiped " : "",
            both->setup.is_trimmed ? "trimmed " : "", both->setup.is_torn ? "torn " : "",
            both->setup.is_forgetful ? "forgetful" : "");
}

static void end(struct sim_world *world)
{
    struct sim_stage *stage = sim_stage_of(world);
    sim_jobs_free(sim_idempotency_of(world)->jobs);
    sim_stage_end(stage);
    free(stage);
    world->own = NULL;
}

/* --------------------------------------------------------------------------------------- a host */

static void set_endpoints(const struct sim_world *world, struct own *own)
{
    static char urls[SIM_BACK_END_COUNT][32];
    for (uint32_t i = 0; i < SIM_BACK_END_COUNT; i++) {
        (void)snprintf(urls[i], sizeof urls[i], "http://%s", sim_back_ends[i].name);
        own->endpoints[i].plugin = sim_back_end_plugins[i];
        own->endpoints[i].endpoint = sim_idempotency_of(world)->endpoint;
        own->endpoints[i].endpoint.name = tr_text_of("default");
        own->endpoints[i].endpoint.url = tr_text_of(urls[i]);
    }
    if (sim_idempotency_strikes("rate-ignored", 1)) {
        for (uint32_t i = 0; i < SIM_BACK_END_COUNT; i++) {
            own->endpoints[i].endpoint.calls_at_once = 1000;
        }
    }
}

static void open_host(struct sim_host *host)
{
    struct own *own = sim_must(calloc(1, sizeof *own));
    set_endpoints(host->world, own);
    own->engine.plugins = sim_back_end_plugins;
    own->engine.plugin_count = SIM_BACK_END_COUNT;
    own->engine.endpoints = own->endpoints;
    own->engine.endpoint_count = SIM_BACK_END_COUNT;
    own->engine.store = 1;
    sim_engine_open(host, &own->engine);
    host->own = own;
}

static void close_host(struct sim_host *host)
{
    struct own *own = host->own;
    sim_stage_of(host->world)->is_quota_known[host->index] = false;
    sim_jobs_forget(sim_idempotency_of(host->world)->jobs, host);
    tr_graph_registry_fini(&own->engine.registry);
    free(own);
}

static void set_member(struct sim_host *host, uint32_t member, struct tr_ref actor)
{
    struct own *own = host->own;
    own->refs[member] = actor;
    own->engine.resources = own->refs[MEMBER_RESOURCES];
    if (member == MEMBER_CLIENT) {
        sim_stage_of(host->world)->has_client[host->index] = true;
    } else if (member >= MEMBER_REFRESH) {
        own->endpoints[member - MEMBER_REFRESH].refresh = actor;
    }
}

/* Which back end a refresh actor is for. */
static uint32_t back_end_of(const struct tr_refresh_state *state)
{
    uint32_t back_end = 0;
    while (!tr_text_equal(tr_array_get(&state->plugin), tr_text_of(sim_back_ends[back_end].name))) {
        back_end++;
        TR_ASSERT(back_end < SIM_BACK_END_COUNT);
    }
    return back_end;
}

static const struct tr_behaviour *behaviour_of(uint32_t member)
{
    return member == MEMBER_RESOURCES  ? &tr_resources_behaviour
           : member == MEMBER_LAUNCHER ? &tr_launcher_behaviour
           : member == MEMBER_CLIENT   ? &sim_client_behaviour
                                       : &tr_refresh_behaviour;
}

static void note_member(struct sim_host *host, struct tri_worker *worker, struct tri_actor *actor)
{
    uint16_t id = tri_actor_behaviour(worker, actor)->id;
    for (uint32_t i = 0; i < MEMBER_COUNT; i++) {
        bool is_back_end = i >= MEMBER_REFRESH && i < MEMBER_CLIENT;
        if (id == behaviour_of(i)->id &&
            (!is_back_end || back_end_of(tri_actor_state(actor)) == i - MEMBER_REFRESH)) {
            set_member(host, i, tri_actor_ref(actor));
        }
    }
}

/* After a start: who was spawned before is there, and is not asked for again. */
static void check_loaded(struct sim_host *host)
{
    sim_each_actor(host, note_member);
}

/* Whether somebody has to be there. A client that has ended stays away. */
static bool is_wanted(const struct sim_host *host, uint32_t member)
{
    if (member == MEMBER_CLIENT) {
        return !sim_stage_of(host->world)->has_client[host->index];
    }
    return member < MEMBER_REFRESH ||
           sim_idempotency_of(host->world)->is_used[member - MEMBER_REFRESH];
}

static uint32_t next_member(const struct sim_host *host)
{
    const struct own *own = host->own;
    return sim_engine_next_member(host, own->refs, MEMBER_COUNT, is_wanted);
}

static void wish(struct sim_host *host, uint32_t member)
{
    struct tr_refresh_state first = {0};
    bool is_back_end = member >= MEMBER_REFRESH && member < MEMBER_CLIENT;
    const char *name = member == MEMBER_LAUNCHER ? "default/development"
                       : is_back_end             ? sim_back_ends[member - MEMBER_REFRESH].name
                                                 : behaviour_of(member)->name;
    int error = tr_array_set(&first.plugin, tr_text_of(name));
    error = error != 0 ? error : tr_array_set(&first.endpoint, tr_text_of("default"));
    TR_ASSERT(error == 0);
    sim_program_wish(host, behaviour_of(member), tr_text_of(name), is_back_end ? &first : NULL);
}

static bool ask(struct sim_host *host)
{
    struct own *own = host->own;
    uint32_t next = next_member(host);
    if (host->program.request != 0) {
        return false;
    }
    if (!own->is_quota_told && next > MEMBER_RESOURCES) {
        own->is_quota_told = sim_engine_tell_quota(host, own->refs[MEMBER_RESOURCES]);
    }
    if (next == MEMBER_COUNT) {
        return false;
    }
    wish(host, next);
    return true;
}

static void granted(struct sim_host *host, const struct tr_control_reply *granted)
{
    set_member(host, next_member(host), granted->actor);
}

/* A client that is new is told to begin. */
static bool look(struct sim_host *host, const struct tri_worker *worker, struct tri_actor *actor)
{
    const struct own *own = host->own;
    return sim_engine_begin_client(host, worker, actor, own->refs[MEMBER_CLIENT],
                                   own->refs[MEMBER_LAUNCHER]);
}

/* ------------------------------------------------------------------------------ the environment */

static void hear(struct sim_host *host, const struct tr_envelope *envelope, struct tr_bytes body)
{
    sim_jobs_hear(sim_idempotency_of(host->world)->jobs, host, envelope, body);
}

static bool elapse(struct sim_host *host)
{
    return sim_jobs_elapse(sim_idempotency_of(host->world)->jobs, host);
}

static uint64_t due_ns(const struct sim_host *host)
{
    return sim_jobs_due_ns(sim_idempotency_of(host->world)->jobs, host);
}

/* --------------------------------------------------------------------------------------- checks */

static void record(struct sim_host *host, const struct tri_op *op)
{
    struct sim_jobs *jobs = sim_idempotency_of(host->world)->jobs;
    struct tr_execution execution;
    struct tr_attempt attempt;
    struct tr_backend backend;
    uint8_t version = (uint8_t)op->incarnation;
    if (op->type == tr_execution_schema.id &&
        tr_execution_unpack(op->data, version, &execution) == 0 &&
        tr_phase_is_end(TR_SUBJECT_EXECUTION, execution.phase)) {
        sim_jobs_check_ended(jobs, execution.execution);
    } else if (op->type == tr_attempt_schema.id &&
               tr_attempt_unpack(op->data, version, &attempt) == 0) {
        sim_jobs_check_unknown(jobs, &attempt);
    } else if (op->type == tr_backend_schema.id &&
               tr_backend_unpack(op->data, version, &backend) == 0) {
        sim_jobs_check_duplicates(jobs, backend.plugin, backend.duplicates);
    }
    sim_history_record(host, op);
}

/* Whether a refresh actor still has something to do. */
static bool has_rows(struct sim_host *host, uint32_t back_end)
{
    const struct own *own = host->own;
    struct tr_ref ref = own->refs[MEMBER_REFRESH + back_end];
    struct tri_actor *actor = ref.key.serial == 0 ? NULL : sim_find_actor(host, ref.key);
    const struct tr_refresh_state *state = actor == NULL ? NULL : tri_actor_state(actor);
    return ref.key.serial != 0 && (state == NULL || state->jobs > 0 || state->calls > 0 ||
                                   state->streams > 0 || state->is_recording);
}

static bool is_over(const struct sim_host *host)
{
    struct sim_host *mine = (struct sim_host *)(uintptr_t)host;
    bool is_over = next_member(host) == MEMBER_COUNT &&
                   !sim_jobs_is_busy(sim_idempotency_of(host->world)->jobs, host);
    for (uint32_t i = 0; i < SIM_BACK_END_COUNT && is_over; i++) {
        is_over = !has_rows(mine, i);
    }
    return is_over;
}

static void check_staying(struct sim_host *host, const struct tri_worker *worker,
                          struct tri_actor *actor)
{
    const struct tr_refresh_state *state = tri_actor_state(actor);
    sim_engine_check_staying(host, worker, actor);
    if (tri_actor_behaviour(worker, actor)->id == tr_refresh_behaviour.id) {
        sim_idempotency_seen.unknown_outcomes += state->unknown_outcomes;
        sim_idempotency_seen.duplicates += state->duplicates;
    }
}

static void check_end(struct sim_host *host)
{
    sim_engine_check_end(host);
    sim_jobs_check_end(sim_idempotency_of(host->world)->jobs);
}

const struct sim_play sim_idempotency_play = {
    .name = "idempotency",
    .behaviours = sim_engine_behaviours,
    .behaviour_count = &sim_engine_behaviour_count,
    .records = sim_engine_records,
    .record_count = &sim_engine_record_count,
    .bugs = sim_idempotency_bugs,
    .bug_count = &sim_idempotency_bug_count,
    .plan = plan_world,
    .begin = begin,
    .end = end,
    .open = open_host,
    .close = close_host,
    .ask = ask,
    .granted = granted,
    .look = look,
    .hear = hear,
    .elapse = elapse,
    .due_ns = due_ns,
    .record = record,
    .stays = sim_engine_stays,
    .is_over = is_over,
    .check_loaded = check_loaded,
    .check_staying = check_staying,
    .check_end = check_end,
};
