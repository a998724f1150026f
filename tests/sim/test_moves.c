/*
 * Partitions with all that lies there move between two hosts that work, in one thread and from one
 * seed, while actors of all partitions speak to each other: at any step a move begins, goes on, is
 * refused by the database, or a host crashes in the middle of it. Workers, journal, leaving
 * (runtime/move/leave.h) and taking (runtime/host/take.h) are the real ones; the database is what
 * `own` says.
 *
 * Each actor numbers what it says to each other one, and hears each number once and in order. In
 * the end all that was said has arrived, all timers were heard, and nobody waits for an answer.
 * Each of the mistakes that are planted is found within some seeds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cluster/interhost.h"
#include "runtime/host/take.h"
#include "runtime/move/leave.h"
#include "tests/sim/model_store.h"
#include "tests/support/draw.h"
#include "tests/support/stage.h"

#define SEEDS 100
#define SEEDS_OF_BUG 2000
#define HOSTS 2
#define PARTITIONS 6
#define MOVERS 8
#define ACTIONS 120
#define STEPS_MAX 12
#define CALM_MS 40000

/* ---- Those that speak. ----------------------------------------------------------------------- */

#define TR_MOVER_FIELDS(FIELD, ARRAY) \
    FIELD(u64, self, 1, 0)            \
    ARRAY(bytes, sent, 64, 1, 0)      \
    ARRAY(bytes, heard, 64, 1, 0)     \
    FIELD(u64, asked, 1, 0)           \
    FIELD(u64, answered, 1, 0)        \
    FIELD(u64, timers, 1, 0)          \
    FIELD(u64, rung, 1, 0)
#define TR_MOVER_POKE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, kind, 1, 0)                 \
    FIELD(u64, to, 1, 0)
#define TR_MOVER_SAID_FIELDS(FIELD, ARRAY) \
    FIELD(u64, from, 1, 0)                 \
    FIELD(u64, number, 1, 0)
#define TR_MOVER_ASKED_FIELDS(FIELD, ARRAY) FIELD(u64, from, 1, 0)

#define MOVER_SCHEMAS(S)                                                    \
    S(mover_poke, 61100, TR_MESSAGE, 1, TR_DURABLE, TR_MOVER_POKE_FIELDS)   \
    S(mover_said, 61101, TR_MESSAGE, 1, TR_DURABLE, TR_MOVER_SAID_FIELDS)   \
    S(mover_asked, 61102, TR_MESSAGE, 1, TR_DURABLE, TR_MOVER_ASKED_FIELDS) \
    S(mover, 61100, TR_STATE, 1, 0, TR_MOVER_FIELDS)

MOVER_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
MOVER_SCHEMAS(TR_SCHEMA_DEFINE)

static struct tr_ref movers[MOVERS];
static const char *wrong; /* what is wrong in this seed; NULL: nothing */

/* One number for each mover. */
static uint64_t number_of(const char *numbers, uint64_t index)
{
    uint64_t number;
    memcpy(&number, numbers + index * sizeof number, sizeof number);
    return number;
}

static void set_number(char *numbers, uint64_t index, uint64_t number)
{
    memcpy(numbers + index * sizeof number, &number, sizeof number);
}

enum poke { POKE_SAY, POKE_ASK, POKE_TIMER, POKE_COUNT };

static int say(struct tr_context *context, struct tr_mover *mover, uint64_t to)
{
    struct tr_mover_said said = {.from = mover->self,
                                 .number = number_of(mover->sent.data, to) + 1};
    set_number(mover->sent.data, to, said.number);
    return tr_tell(context, movers[to], &tr_mover_said_schema, &said);
}

static int on_poke(struct tr_context *context, struct tr_mover *mover,
                   const struct tr_message *message)
{
    struct tr_mover_poke poke;
    int error = tr_message_read(message, mover_poke, &poke);
    if (error != 0) {
        return error;
    }
    switch (poke.kind) {
    case POKE_ASK:
        mover->asked++;
        return tr_ask(context, movers[poke.to], &tr_mover_asked_schema,
                      &(struct tr_mover_asked){.from = mover->self}, 0, NULL);
    case POKE_TIMER:
        mover->timers++;
        return tr_timer_start(context, mover->timers, 10 * mover->timers);
    default:
        return say(context, mover, poke.to);
    }
}

/* Every third is passed on, so that one poke is followed by some more. */
static int on_said(struct tr_context *context, struct tr_mover *mover,
                   const struct tr_message *message)
{
    struct tr_mover_said said;
    int error = tr_message_read(message, mover_said, &said);
    if (error != 0) {
        return error;
    }
    uint64_t heard = number_of(mover->heard.data, said.from);
    if (said.number != heard + 1 && wrong == NULL) {
        wrong = said.number <= heard ? "something was heard twice" : "something was overtaken";
    }
    set_number(mover->heard.data, said.from, said.number);
    return said.number % 3 == 0 ? say(context, mover, (mover->self + said.number) % MOVERS) : 0;
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_mover *mover = state;
    if (tr_message_is(message, &tr_mover_poke_schema)) {
        return on_poke(context, mover, message);
    }
    if (tr_message_is(message, &tr_mover_said_schema)) {
        return on_said(context, mover, message);
    }
    if (tr_message_is(message, &tr_timer_schema)) {
        mover->rung++;
        return 0;
    }
    if (message->kind == TR_KIND_ASK) {
        return tr_reply(context, message, &tr_mover_asked_schema,
                        &(struct tr_mover_asked){.from = mover->self});
    }
    mover->answered++; /* or failed */
    return 0;
}

static const struct tr_behaviour behaviour = {
    .name = "mover", .id = 61100, .state = &tr_mover_schema, .handle = handle};
static const struct tr_behaviour *const behaviours[] = {&behaviour};

/* ---- Two hosts, and a database that says who has what. --------------------------------------- */

enum bug {
    SOUND,
    NO_FLUSH,     /* what was said before is not waited for */
    NO_PARTING,   /* others speak to them directly until the owners change */
    NO_COMMIT,    /* they are another host's before all of them is committed */
    NO_NEIGHBOUR, /* what comes back speaks directly at once */
};

struct end {
    struct stage stage;
    struct tri_model *model;
    struct tri_store *store;
    uint16_t known[PARTITIONS]; /* who has what, as its interhost service knows it */
};

static struct world {
    struct end hosts[HOSTS];
    struct draw draw;
    enum bug bug;
    uint32_t workers;
    uint16_t own[PARTITIONS]; /* the numbers of hosts */
    uint32_t epochs[PARTITIONS];
    uint64_t view;
    uint64_t passed_ms;
    bool crashes;
    uint64_t crashed; /* how often any has */
    uint64_t moved;
    uint64_t refused;
} world;

static bool draw_chance(uint64_t one_of)
{
    return draw_below(&world.draw, one_of) == 0;
}

static void tell_workers(uint32_t index, const struct tr_schema *schema, const void *body)
{
    for (uint32_t worker = 0; worker < world.workers; worker++) {
        struct tri_heading heading = {.kind = TR_KIND_CONTROL,
                                      .to = {{0, TR_SERVICE_WORKERS + worker}, 0}};
        stage_send(&world.hosts[index].stage, worker, &heading, schema, body);
    }
}

static void tell_link(uint32_t index, bool is_up)
{
    struct tr_interhost_link link = {.host = (uint16_t)(2 - index), .is_up = is_up};
    tell_workers(index, &tr_interhost_link_schema, &link);
}

static struct tr_interhost_owners owners_of(uint32_t index, const uint16_t *hosts, bool gives)
{
    memcpy(world.hosts[index].known, hosts, sizeof world.own);
    return (struct tr_interhost_owners){
        .view = world.view,
        .hosts = {.data = (const uint8_t *)hosts, .size = PARTITIONS * sizeof hosts[0]},
        .gives = gives};
}

/* What a host has heard of the owners, by its service and behind that by its workers. */
static void tell_owners(uint32_t index, const uint16_t *hosts)
{
    struct tr_interhost_owners told = owners_of(index, hosts, false);
    tell_workers(index, &tr_interhost_owners_schema, &told);
}

/* The same to one worker, before all that other workers have sent it: links overtake each other. */
static void tell_first(struct tri_worker *worker, const struct tr_interhost_owners *told)
{
    struct tri_heading heading = {.kind = TR_KIND_CONTROL,
                                  .to = {{0, TR_SERVICE_WORKERS + worker->index}, 0}};
    struct tri_message *message = NULL;
    assert_int_equal(tri_message_make(worker, &heading, &tr_interhost_owners_schema, told,
                                      TR_MESSAGE_BYTES_MAX, &message),
                     0);
    struct tr_message view = tri_message_view(message);
    tri_remote_on_owners(worker, &view);
    tri_message_free(worker, message);
}

static void open_host(uint32_t index)
{
    struct end *host = &world.hosts[index];
    const struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    const struct tr_peer peer = {.number = (uint16_t)(2 - index)};
    assert_int_equal(tri_model_open(host->model, &options, NULL, &host->store), 0);
    memcpy(host->known, world.own, sizeof world.own);
    stage_open(&host->stage, &(struct stage_options){.worker_count = world.workers,
                                                     .store = host->store,
                                                     .behaviours = behaviours,
                                                     .behaviour_count = 1,
                                                     .number = (uint16_t)(index + 1),
                                                     .peers = &peer,
                                                     .peer_count = 1,
                                                     .partitions = world.own,
                                                     .epochs = world.epochs,
                                                     .partition_count = PARTITIONS,
                                                     .view = world.view,
                                                     .passed_ms = world.passed_ms});
    host->stage.is_one_of_several = true;
}

static void close_host(uint32_t index)
{
    stage_close(&world.hosts[index].stage);
    tri_store_close(world.hosts[index].store);
}

static void crash(uint32_t index)
{
    tri_model_kill(world.hosts[index].model, draw_u64(&world.draw));
    close_host(index);
    open_host(index);
    tell_link(1 - index, false);
    tell_link(0, true);
    tell_link(1, true);
    world.crashed++;
}

/* Frames between hosts: only what is from its group's host, for a group that is there. */
static void bring(uint32_t from, struct tr_bytes message)
{
    uint64_t sender = tri_group_partition(tr_envelope_get(message.data, 64, from_group));
    struct tr_key to = {tr_envelope_get(message.data, 64, to_group),
                        tr_envelope_get(message.data, 64, to_serial)};
    uint64_t receiver = tri_group_partition(to.group);
    if (sender >= PARTITIONS || receiver >= PARTITIONS) {
        return;
    }
    uint32_t index = world.hosts[from].known[receiver] - 1U;
    const struct end *host = &world.hosts[index];
    bool is_neighbour = index == from;
    if (!is_neighbour && (host->known[receiver] != index + 1 || host->known[sender] != from + 1)) {
        return;
    }
    struct stage *stage = &world.hosts[index].stage;
    stage_send_bytes(stage, TRI_PLACE_INTERHOST, tri_origin_worker(&stage->host.shared, to),
                     message);
}

static bool carry(uint32_t from)
{
    size_t size;
    uint8_t *data = stage_receive(&world.hosts[from].stage, TRI_PLACE_INTERHOST, &size);
    if (data == NULL) {
        return false;
    }
    struct tri_frame frame = {.data = data, .size = size};
    struct tr_bytes message;
    bool is_stored;
    size_t offset = 0;
    while (tri_frame_next(&frame, &offset, &message, &is_stored)) {
        bring(from, message);
    }
    tr_free(data);
    return true;
}

static void pass(uint64_t milliseconds)
{
    world.passed_ms += milliseconds;
    for (uint32_t i = 0; i < HOSTS; i++) {
        world.hosts[i].stage.now_ns += milliseconds * 1000000;
        world.hosts[i].stage.wall_ms += milliseconds;
    }
}

static void run_all(void)
{
    bool did = true;
    while (did) {
        did = false;
        for (uint32_t i = 0; i < HOSTS; i++) {
            stage_run(&world.hosts[i].stage);
        }
        for (uint32_t i = 0; i < HOSTS; i++) {
            did = carry(i) || did;
        }
    }
}

/* ---- What happens beside a move. ------------------------------------------------------------- */

static void poke(uint64_t from, enum poke kind, uint64_t to)
{
    const struct tr_mover_poke body = {.kind = kind, .to = to};
    uint32_t index = world.hosts[0].known[tri_group_partition(movers[from].key.group)] - 1U;
    stage_tell(&world.hosts[index].stage, movers[from], &tr_mover_poke_schema, &body);
    tri_sender_flush(&world.hosts[index].stage.host.sender);
}

/* One turn of one of those who have one; the others sleep. */
static void turn(void)
{
    struct stage *stage = &world.hosts[draw_below(&world.draw, HOSTS)].stage;
    uint64_t who = draw_below(&world.draw, world.workers + 1);
    for (uint32_t i = 0; i < world.workers; i++) {
        stage->worker_sleeps[i] = i != who;
    }
    stage->journal_sleeps = who < world.workers;
    (void)stage_step(stage);
    for (uint32_t i = 0; i < world.workers; i++) {
        stage->worker_sleeps[i] = false;
    }
    stage->journal_sleeps = false;
}

/* Some of all that may happen; false: the host of this index has crashed. */
static bool happen(uint32_t index)
{
    uint64_t count = draw_below(&world.draw, STEPS_MAX);
    bool is_there = true;
    for (uint64_t i = 0; is_there && i < count; i++) {
        switch (draw_below(&world.draw, 6)) {
        case 0:
            poke(draw_below(&world.draw, MOVERS), (enum poke)draw_below(&world.draw, POKE_COUNT),
                 draw_below(&world.draw, MOVERS));
            break;
        case 1:
            (void)carry((uint32_t)draw_below(&world.draw, HOSTS));
            break;
        case 2:
            pass(draw_below(&world.draw, 20));
            break;
        default:
            turn();
        }
        if (world.crashes && draw_chance(150)) {
            uint32_t lost = (uint32_t)draw_below(&world.draw, HOSTS);
            crash(lost);
            is_there = lost != index;
        }
    }
    return is_there;
}

/* ---- A move. --------------------------------------------------------------------------------- */

/* Rows of a partition. */
struct rows {
    struct tri_op *ops;
    size_t count;
};

static int copy(struct rows *rows, const struct tri_op *op, enum tri_op_kind kind)
{
    rows->ops = realloc(rows->ops, (rows->count + 1) * sizeof *rows->ops);
    assert_non_null(rows->ops);
    struct tri_op *made = &rows->ops[rows->count++];
    uint8_t *data = malloc(op->data.size + 1);
    assert_non_null(data);
    memcpy(data, op->data.size > 0 ? op->data.data : (const uint8_t *)"", op->data.size);
    *made = *op;
    made->kind = kind;
    made->data.data = data;
    return 0;
}

static int copy_counter(void *self, const struct tri_op *op)
{
    return copy(self, op, TRI_OP_PUT_COUNTER);
}

static int copy_actor(void *self, const struct tri_op *op)
{
    return copy(self, op, TRI_OP_PUT_ACTOR);
}

static int copy_page(void *self, const struct tri_op *op)
{
    return copy(self, op, TRI_OP_PUT_PAGE);
}

static int copy_message(void *self, const struct tri_op *op)
{
    return copy(self, op, TRI_OP_PUT_MESSAGE);
}

static struct rows rows_of(struct tri_store *store, uint64_t partition)
{
    struct rows rows = {.ops = NULL};
    const struct tri_store_visitor visitor = {.self = &rows,
                                              .counter = copy_counter,
                                              .actor = copy_actor,
                                              .page = copy_page,
                                              .message = copy_message};
    const struct tri_group_range range = {tri_partition_origin(partition),
                                          tri_partition_origin(partition + 1) - 1};
    assert_int_equal(tri_store_load_groups(store, range, &visitor), 0);
    return rows;
}

static int compare_ops(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

static void commit(struct tri_store *store, struct rows *rows)
{
    if (rows->count > 0) {
        qsort(rows->ops, rows->count, sizeof *rows->ops, compare_ops);
    }
    const struct tri_commit made = {
        .ops = rows->ops, .count = rows->count, .last_number = store->last_number};
    assert_int_equal(tri_store_commit(store, &made), 0);
}

static void free_rows(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free((void *)(uintptr_t)rows->ops[i].data.data);
    }
    free(rows->ops);
}

/* Pages go with their actors. */
static void delete_rows(struct tri_store *store, uint64_t partition)
{
    struct rows rows = rows_of(store, partition);
    size_t count = 0;
    for (size_t i = 0; i < rows.count; i++) {
        struct tri_op op = rows.ops[i];
        op.kind = op.kind == TRI_OP_PUT_COUNTER ? TRI_OP_DELETE_COUNTER
                  : op.kind == TRI_OP_PUT_ACTOR ? TRI_OP_DELETE_ACTOR
                                                : TRI_OP_DELETE_MESSAGE;
        bool is_page = rows.ops[i].kind == TRI_OP_PUT_PAGE;
        if (is_page) {
            free((void *)(uintptr_t)op.data.data);
        } else {
            rows.ops[count++] = op;
        }
    }
    rows.count = count;
    commit(store, &rows);
    free_rows(&rows);
}

/* The one store of both, as it would be: what lay there lies with the other host. */
static void hand_over(uint32_t from, uint64_t partition)
{
    struct rows rows = rows_of(world.hosts[from].store, partition);
    delete_rows(world.hosts[from].store, partition);
    commit(world.hosts[1 - from].store, &rows);
    free_rows(&rows);
    world.own[partition] = (uint16_t)(2 - from);
    world.epochs[partition]++;
    world.view++;
    world.moved++;
}

/* A host loads what the database says is its own, and it does not have. */
static void take(uint32_t index)
{
    struct end *host = &world.hosts[index];
    struct tri_take *taken = NULL;
    const struct tr_host_view view = {
        .view = world.view, .hosts = world.own, .epochs = world.epochs, .count = PARTITIONS};
    int error = tri_take_prepare(&host->stage.host, &view, host->store, &taken);
    assert_int_equal(error, 0);
    tell_owners(index, world.own);
    if (taken != NULL) {
        assert_int_equal(tri_take_open(taken), 0);
    }
    tri_take_free(taken);
    assert_int_equal(
        tri_owners_change(&host->stage.host.shared.owners, view.view, view.hosts, view.count), 0);
}

static bool flush(uint32_t from)
{
    struct stage *stage = &world.hosts[from].stage;
    for (uint32_t round = 1; world.bug != NO_FLUSH && round <= 2; round++) {
        for (uint32_t i = 0; i < world.workers; i++) {
            tri_leave_flush(stage_worker(stage, i));
        }
        for (uint32_t i = 0; i < world.workers; i++) {
            while (!tri_leave_is_flushed(stage_worker(stage, i), round)) {
                if (!happen(from)) {
                    return false;
                }
                stage_run(stage);
            }
        }
    }
    return true;
}

/* Each worker by itself, with anything in between; false: the host has crashed. */
static bool freeze(uint32_t from, const bool *frozen)
{
    for (uint32_t i = 0; i < world.workers; i++) {
        tri_leave_freeze(stage_worker(&world.hosts[from].stage, i), frozen);
        if (!happen(from)) {
            return false;
        }
    }
    return true;
}

static bool part(uint32_t from)
{
    for (uint32_t i = 0; world.bug != NO_PARTING && i < world.workers; i++) {
        tri_leave_part(stage_worker(&world.hosts[from].stage, i));
        if (!happen(from)) {
            return false;
        }
    }
    return flush(from);
}

/* The host tells itself, worker by worker. */
static bool tell(uint32_t from, uint64_t partition)
{
    uint16_t hosts[PARTITIONS];
    struct stage *stage = &world.hosts[from].stage;
    uint64_t view = ++world.view;
    memcpy(hosts, world.own, sizeof hosts);
    hosts[partition] = (uint16_t)(2 - from);
    struct tr_interhost_owners told = owners_of(from, hosts, true);
    for (uint32_t i = 0; i < world.workers; i++) {
        tell_first(stage_worker(stage, i), &told);
        if (!happen(from)) {
            return false;
        }
    }
    assert_int_equal(tri_owners_give(&stage->host.shared.owners, view, hosts, PARTITIONS), 0);
    return true;
}

static bool unload(uint32_t from, const bool *leaving)
{
    struct stage *stage = &world.hosts[from].stage;
    for (uint32_t i = 0; i < world.workers; i++) {
        assert_int_equal(tri_leave_unload(stage_worker(stage, i), leaving), 0);
        if (!happen(from)) {
            return false;
        }
    }
    if (world.bug != NO_COMMIT) {
        stage_run(stage);
    }
    return true;
}

static void forget_neighbours(uint32_t index)
{
    for (uint32_t i = 0; i < world.workers; i++) {
        stage_worker(&world.hosts[index].stage, i)->has_neighbours = false;
    }
}

/* Who has not heard of the last change yet loads what is its own; one that began anew has. */
static void take_all(void)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        if (world.hosts[i].stage.host.shared.owners.view < world.view) {
            take(i);
        }
    }
}

/* The last step: the database changes the owner, or says no. */
static void end_move(uint32_t from, uint64_t partition)
{
    if (draw_chance(5)) {
        world.view++;
        world.refused++;
    } else {
        hand_over(from, partition);
    }
    (void)happen(from);
    take_all();
    if (world.bug == NO_NEIGHBOUR) {
        forget_neighbours(0);
        forget_neighbours(1);
    }
}

/* A partition that no host speaks in goes to the other host. */
static void move(void)
{
    uint64_t partition = draw_below(&world.draw, PARTITIONS);
    uint32_t from = world.own[partition] - 1U;
    bool leaving[TR_PARTITIONS_MAX] = {false};
    if (partition == tri_group_partition(world.hosts[from].stage.host.shared.voice)) {
        return;
    }
    leaving[partition] = true;
    if (freeze(from, leaving) && draw_chance(6)) {
        (void)freeze(from, (const bool[TR_PARTITIONS_MAX]){false}); /* it had to wait for a call */
        return;
    }
    if (world.hosts[from].stage.host.workers[0].owners.frozen[partition] && part(from) &&
        tell(from, partition) && unload(from, leaving)) {
        end_move(from, partition);
    } else {
        take_all();
    }
}

/* ---- A seed. --------------------------------------------------------------------------------- */

static void begin(void)
{
    world.workers = 1 + (uint32_t)draw_below(&world.draw, 3);
    for (size_t i = 0; i < PARTITIONS; i++) {
        world.own[i] = (uint16_t)(1 + i % HOSTS);
    }
    for (uint32_t i = 0; i < HOSTS; i++) {
        world.hosts[i].model = tri_model_new();
        open_host(i);
    }
    tell_link(0, true);
    tell_link(1, true);
    for (uint64_t i = 0; i < MOVERS; i++) {
        struct tr_mover state = {.self = i};
        state.sent.size = MOVERS * sizeof(uint64_t);
        state.heard.size = MOVERS * sizeof(uint64_t);
        const struct tr_spawn_options options = {.state = &state};
        movers[i] = stage_spawn(&world.hosts[i % HOSTS].stage, &behaviour, &options);
    }
    run_all();
}

static const struct tr_mover *mover_of(uint64_t index)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct tri_actor *actor = stage_actor(&world.hosts[i].stage, movers[index]);
        if (actor != NULL) {
            return tri_actor_state(actor);
        }
    }
    return NULL;
}

static void check_mover(uint64_t index)
{
    const struct tr_mover *mover = mover_of(index);
    if (mover == NULL) {
        wrong = "an actor is nowhere";
        return;
    }
    for (uint64_t to = 0; to < MOVERS; to++) {
        const struct tr_mover *other = mover_of(to);
        if (other != NULL &&
            number_of(other->heard.data, index) != number_of(mover->sent.data, to)) {
            wrong = "what was said has not arrived";
        }
    }
    if (mover->answered != mover->asked) {
        wrong = "a question has no answer, or two";
    }
    if (mover->rung != mover->timers) {
        wrong = "a timer was not heard, or twice";
    }
}

static void end_all(void)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        close_host(i);
        tri_model_free(world.hosts[i].model);
    }
}

/* What has happened in all seeds. */
struct counts {
    uint64_t moved;
    uint64_t refused;
    uint64_t crashed;
};

static const char *play(uint64_t seed, enum bug bug, struct counts *counts)
{
    uint64_t memory_before = tr_memory_used();
    world = (struct world){.draw = {.state = seed}, .bug = bug, .crashes = seed % 2 == 0};
    wrong = NULL;
    begin();
    for (int i = 0; wrong == NULL && i < ACTIONS; i++) {
        (void)happen(0);
        if (draw_chance(4)) {
            move();
        }
    }
    for (uint64_t passed = 0; wrong == NULL && passed < CALM_MS; passed += 100) {
        pass(100);
        run_all();
    }
    for (uint64_t i = 0; wrong == NULL && i < MOVERS; i++) {
        check_mover(i);
    }
    counts->moved += world.moved;
    counts->refused += world.refused;
    counts->crashed += world.crashed;
    end_all();
    if (wrong == NULL && tr_memory_used() != memory_before) {
        wrong = "memory is left";
    }
    return wrong;
}

/* More by the environment: TROUPE_MOVES_SEEDS. */
static uint64_t count_seeds(void)
{
    const char *wanted = getenv("TROUPE_MOVES_SEEDS");
    return wanted != NULL ? strtoull(wanted, NULL, 10) : SEEDS;
}

static void everything_is_heard_once_and_in_order(void **state)
{
    struct counts counts = {0};
    uint64_t seeds = count_seeds();
    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        const char *found = play(seed, SOUND, &counts);
        if (found != NULL) {
            print_error("seed %llu: %s\n", (unsigned long long)seed, found);
        }
        assert_null(found);
    }
    print_message("%llu moves, %llu refused, %llu crashes\n", (unsigned long long)counts.moved,
                  (unsigned long long)counts.refused, (unsigned long long)counts.crashed);
    assert_true(counts.moved > seeds); /* it happens all the time */
    assert_true(counts.refused > 0 && counts.crashed > 0);
}

/* In a process of its own, since a mistake may also end it. */
static bool is_found(uint64_t seed, enum bug bug)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct counts counts = {0};
        (void)freopen("/dev/null", "w", stderr);
        _exit(play(seed, bug, &counts) != NULL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status != 0;
}

static void planted_mistakes_are_found(void **state)
{
    static const enum bug bugs[] = {NO_FLUSH, NO_PARTING, NO_COMMIT, NO_NEIGHBOUR};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(bugs); i++) {
        uint64_t seed = 1;
        while (seed <= SEEDS_OF_BUG && !is_found(seed, bugs[i])) {
            seed++;
        }
        print_message("mistake %d: found by seed %llu\n", (int)bugs[i], (unsigned long long)seed);
        assert_true(seed <= SEEDS_OF_BUG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_heard_once_and_in_order),
        cmocka_unit_test(planted_mistakes_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
