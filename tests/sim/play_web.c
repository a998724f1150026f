/*
 * The play of the web: some readers on each host, and a server that counts.
 *
 * The server takes each number of a reader once, however often it is told, and remembers it for
 * good: at the end it must have every number that a reader was to add, and no other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "tests/sim/inject.h"
#include "tests/sim/web.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

#define READERS_PER_HOST 3
#define COUNTERS_MAX (SIM_HOSTS_MAX * READERS_PER_HOST * 2)

static const struct tr_behaviour *const behaviours[] = {&sim_reader_behaviour};
static const size_t behaviour_count = TR_COUNT_OF(behaviours);
static const size_t no_records = 0;

/* What the server has of one reader: the bits of its numbers. */
struct counter {
    char name[24];
    uint64_t numbers;
};

struct stage {
    struct sim_web *web;
    uint32_t count;
    struct counter counters[COUNTERS_MAX];
};

static struct stage *stage_of(const struct sim_host *host)
{
    return host->world->own;
}

/* ---------------------------------------------------------------------------------- the server */

static struct counter *counter_of(struct stage *stage, const char *name)
{
    for (uint32_t i = 0; i < stage->count; i++) {
        if (strcmp(stage->counters[i].name, name) == 0) {
            return &stage->counters[i];
        }
    }
    TR_ASSERT(stage->count < COUNTERS_MAX);
    struct counter *counter = &stage->counters[stage->count++];
    snprintf(counter->name, sizeof counter->name, "%s", name);
    return counter;
}

static void send_lines(struct sim_web *web, uint64_t number, uint64_t numbers, unsigned long first)
{
    for (unsigned long i = first; i < 64 && (numbers >> i & 1) != 0; i++) {
        char line[16];
        snprintf(line, sizeof line, "%lu", i);
        sim_web_line(web, number, tr_text_of(line));
    }
}

/* POST http://server/READER/add/NUMBER, GET .../seen/NUMBER, GET .../lines/FIRST. */
static void serve(void *self, struct sim_web *web, uint64_t number,
                  const struct tr_http_request *request)
{
    char name[24];
    char what[8];
    char url[128];
    unsigned long argument;
    snprintf(url, sizeof url, "%.*s", (int)request->url.size, request->url.data);
    int count = sscanf(url, "http://server/%23[0-9]/%7[a-z]/%lu", name, what, &argument);
    if (count != 3 || argument >= 64) {
        sim_fail("server: what is %s?", url);
        return;
    }
    struct counter *counter = counter_of(self, name);
    bool is_seen = (counter->numbers >> argument & 1) != 0;
    struct tr_bytes body = {(const uint8_t *)(is_seen ? "1" : "0"), 1};
    if (strcmp(what, "add") == 0) {
        counter->numbers |= 1ULL << argument;
    } else if (strcmp(what, "lines") == 0) {
        send_lines(web, number, counter->numbers, argument);
        body.size = 0;
    }
    sim_web_answer(web, number, 200, body);
}

/* ------------------------------------------------------------------------------------ the play */

static void begin(struct sim_world *world)
{
    struct stage *stage = sim_must(calloc(1, sizeof *stage));
    struct sim_web_server server = {.self = stage, .serve = serve};
    stage->web = sim_web_new(world, &server);
    world->own = stage;
}

static void end(struct sim_world *world)
{
    struct stage *stage = world->own;
    sim_web_free(stage->web);
    free(stage);
    world->own = NULL;
}

static void plan(struct sim_plan *plan)
{
    plan->remote_count = 0;
    plan->burst = 0;
}

static bool has_asked_for_all(const struct sim_host *host)
{
    return host->program.granted >= READERS_PER_HOST;
}

static bool is_over(const struct sim_host *host)
{
    return has_asked_for_all(host) && !sim_web_is_busy(stage_of(host)->web, host);
}

static bool ask(struct sim_host *host)
{
    if (host->program.request != 0 || has_asked_for_all(host)) {
        return false;
    }
    const struct sim_plan *plan = &host->world->plan;
    struct tr_sim_actor first = {
        .seed = sim_mix(plan->seed * 64 + host->index * 8 + host->program.granted),
        .size = plan->size,
    };
    sim_program_wish(host, &sim_reader_behaviour, tr_text_of("reader"), &first);
    return true;
}

static void granted(struct sim_host *host, const struct tr_control_reply *granted)
{
    (void)host;
    (void)granted;
}

/* A reader that is new is told to begin. */
static bool look(struct sim_host *host, const struct tri_worker *worker, struct tri_actor *actor)
{
    const struct tr_sim_actor *state = tri_actor_state(actor);
    bool is_new = tri_actor_behaviour(worker, actor) == &sim_reader_behaviour &&
                  state->table.size == 0 && actor->mailbox_count == 0;
    if (is_new && sim_program_may_wish(host, actor->key)) {
        sim_program_say(host, actor, TR_KIND_TELL, &tr_sim_go_schema, &(struct tr_sim_go){0});
        return true;
    }
    if (!is_new) {
        sim_program_forget_wish(host, actor->key);
    }
    return false;
}

static void hear(struct sim_host *host, const struct tr_envelope *envelope, struct tr_bytes body)
{
    sim_web_hear(stage_of(host)->web, host, envelope, body);
}

static bool elapse(struct sim_host *host)
{
    return sim_web_elapse(stage_of(host)->web, host);
}

static uint64_t due_ns(const struct sim_host *host)
{
    return sim_web_due_ns(stage_of(host)->web, host);
}

static void open_host(struct sim_host *host)
{
    host->own = stage_of(host); /* it is up: close_host is called */
}

static void close_host(struct sim_host *host)
{
    sim_web_forget(stage_of(host)->web, host);
}

/* Readers end when they have read all they were to add, from the first number on. */
static void check_end(struct sim_host *host)
{
    const struct stage *stage = stage_of(host);
    for (uint32_t i = 0; i < stage->count; i++) {
        uint64_t numbers = stage->counters[i].numbers;
        if ((numbers & (numbers + 1)) != 0) {
            sim_fail("server: %s has numbers %llx", stage->counters[i].name,
                     (unsigned long long)numbers);
        }
    }
}

/* A batch of calls leaves the host twice. */
static void double_calls(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                         size_t size)
{
    if (to == TRI_PLACE_HTTP && sim_inject_strikes(host, 16)) {
        uint8_t *copy = tr_alloc(size);
        TR_ASSERT(copy != NULL);
        memcpy(copy, data, size);
        sim_net_push(&host->net, from, to, copy, size);
    }
    sim_net_push(&host->net, from, to, data, size);
}

/* web.c knows the names of those that strike there. */
static const struct sim_bug bugs[] = {
    {.name = "call-doubled",
     .text = "a batch of calls leaves the host twice",
     .found_by = "the web: a call is heard twice",
     .first_seed = 2,
     .send = double_calls},
    {.name = "served-twice",
     .text = "the server gets a request twice",
     .found_by = "the web: an exchange is served twice",
     .first_seed = 1},
    {.name = "end-lost",
     .text = "the end of a request does not come",
     .found_by = "liveness: a reader waits for ever",
     .first_seed = 2},
};
static const size_t bug_count = TR_COUNT_OF(bugs);

const struct sim_play sim_web_play = {
    .name = "web",
    .behaviours = behaviours,
    .behaviour_count = &behaviour_count,
    .record_count = &no_records,
    .bugs = bugs,
    .bug_count = &bug_count,
    .plan = plan,
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
    .is_over = is_over,
    .check_end = check_end,
};
