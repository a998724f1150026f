/*
 * Three hosts of one store in PostgreSQL, each a process, of which one after the other is killed
 * and begins again, at once or after others have taken its work. All but the first begin with
 * nothing, so partitions are given and taken all the time. Meanwhile rings of actors, with one born
 * on each host, pass numbers round: each actor has to hear all of them in their order, and once.
 * Other groups begin and end on each host all the time.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/host/follow.h"
#include "runtime/journal/store_folder.h"
#include "runtime/store_care.h"
#include "runtime/store_open.h"
#include "runtime/store_place.h"
#include "tests/support/draw.h"
#include "tests/support/fake_actor.h"
#include "tests/support/postgres_server.h"
#include "tests/support/scripted.h"
#include "tests/support/test.h"

#define HOSTS 3
#define RINGS 6
#define NUMBERS 800 /* that each actor of a ring hears, for each kill */
#define PARTITIONS 16
#define ROUND_MS 20
#define LEASE_MS 4000
#define KILLS 3
#define KILLS_LONG 60
#define PAUSE_MS_MAX 3000 /* between two kills */
#define AWAY_MS 6000      /* longer than the lease */
#define PATIENCE_MS 90000 /* without any number that goes on */
#define BEGINS_MAX 600    /* how often a host tries, with a round between */

#define LINK_FIELDS(FIELD, ARRAY) \
    FIELD(ref, next, 1, 0)        \
    FIELD(u64, adds, 1, 0)        \
    FIELD(u64, wanted, 1, 0)
#define RINGED_FIELDS(FIELD, ARRAY) \
    FIELD(ref, next, 1, 0)          \
    FIELD(u64, adds, 1, 0)          \
    FIELD(u64, wanted, 1, 0)        \
    FIELD(u64, heard, 1, 0)
#define PASSING_FIELDS(FIELD, ARRAY) FIELD(u64, none, 1, 0)

#define SCHEMAS(S)                                              \
    S(ring_link, 62300, TR_MESSAGE, 1, TR_DURABLE, LINK_FIELDS) \
    S(ringed, 62300, TR_STATE, 1, 0, RINGED_FIELDS)             \
    S(passing, 62301, TR_STATE, 1, 0, PASSING_FIELDS)

SCHEMAS(TR_SCHEMA_DECLARE_ROW)
SCHEMAS(TR_SCHEMA_DEFINE)

static char schema[64];
static char folders[HOSTS][SCRIPTED_PATH_BYTES];
static char addresses[HOSTS][64];

/* ---- The actors. ----------------------------------------------------------------------------- */

/* Passes each number on, and ends with the last. What is out of order stops it for ever. */
static int ringed_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_ringed *ringed = state;
    struct tr_ring_link link;
    struct tr_note note;
    if (tr_message_read(message, ring_link, &link) == 0) {
        ringed->next = link.next;
        ringed->adds = link.adds;
        ringed->wanted = link.wanted;
        return 0;
    }
    if (tr_message_read(message, note, &note) != 0 || note.number != ringed->heard + 1) {
        return TR_FAILED;
    }
    ringed->heard = note.number;
    bool is_last = note.number == ringed->wanted;
    note.number += ringed->adds;
    int error =
        note.number > ringed->wanted ? 0 : tr_tell(context, ringed->next, &tr_note_schema, &note);
    return error == 0 && is_last ? tr_stop(context) : error;
}

/* Begins and ends. */
static int passing_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    (void)state;
    return tr_message_is(message, &tr_note_schema) ? tr_stop(context)
                                                   : tr_unexpected(context, message);
}

static const struct tr_behaviour ringed_behaviour = {
    .name = "ringed", .id = 62300, .state = &tr_ringed_schema, .handle = ringed_handle};
static const struct tr_behaviour passing_behaviour = {
    .name = "passing", .id = 62301, .state = &tr_passing_schema, .handle = passing_handle};
static const struct tr_behaviour *const behaviours[] = {&ringed_behaviour, &passing_behaviour};

/* ---- A host. --------------------------------------------------------------------------------- */

static void rest(void)
{
    (void)poll(NULL, 0, ROUND_MS);
}

static struct tri_registry *join(uint32_t index)
{
    char machine[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    uint8_t place[TRI_STORE_PLACE_BYTES_MAX];
    static const char *const names[HOSTS] = {"a", "b", "c"};
    struct tri_store_member member = {
        .name = names[index], .blobs = "/blobs", .lease_ms = LEASE_MS};
    struct tri_registry *registry = NULL;
    assert_int_equal(tri_store_describe_member(folders[index], place, machine, &member, NULL), 0);
    assert_int_equal(tri_store_registry_open(folders[index], NULL, false, NULL, &registry), 0);
    assert_int_equal(tri_registry_join(registry, &member), 0);
    assert_int_equal(registry->self, index + 1);
    return registry;
}

static bool has_some(struct tri_registry *registry, uint64_t host)
{
    struct tri_member_view *view = calloc(1, sizeof *view);
    assert_non_null(view);
    bool has = tri_registry_look(registry, view) == 0 && tri_member_view_find(view, host) != NULL &&
               tri_member_view_find(view, host)->owned > 0;
    free(view);
    return has;
}

/* What its earlier life has left in its log, unless another has done so. */
static void bring_in(uint32_t index)
{
    const struct tri_store_options options = {.folder = folders[index],
                                              .durability = TR_DURABILITY_FULL};
    int error = tri_store_settle(&options, index + 1, NULL);
    while (error == TR_BUSY) {
        rest();
        error = tri_store_settle(&options, index + 1, NULL);
    }
    assert_int_equal(error, 0);
}

/* Waits until this host has some of the work; what it has lost it gets from the others again. */
static void come(uint32_t index)
{
    static const uint8_t key[TR_WIRE_KEY_BYTES] = {1};
    struct tri_registry *registry = NULL;
    assert_int_equal(tri_store_registry_open(folders[index], NULL, false, NULL, &registry), 0);
    bool has = has_some(registry, index + 1);
    tri_registry_close(registry);
    if (has) {
        return;
    }
    registry = join(index);
    bring_in(index);
    assert_int_equal(tri_registry_listen(registry, addresses[index], key), 0);
    while (!has_some(registry, index + 1)) {
        rest();
    }
    tri_registry_close(registry);
}

static struct tr_host *start(uint32_t index)
{
    static const char *const names[HOSTS] = {"a", "b", "c"};
    const struct tr_host_options options = {.worker_count = 2,
                                            .durability = TR_DURABILITY_FULL,
                                            .folder = folders[index],
                                            .host_name = names[index],
                                            .blobs = "/blobs",
                                            .lease_ms = LEASE_MS,
                                            .behaviours = behaviours,
                                            .behaviour_count = TR_COUNT_OF(behaviours),
                                            .is_member = true,
                                            .listen = addresses[index]};
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_host *host = NULL;
    for (int i = 0; host == NULL && i < BEGINS_MAX; i++) {
        come(index);
        if (tr_host_new(&options, words, &host) != 0) {
            rest(); /* its work was taken meanwhile, or its earlier session is ending */
        }
    }
    if (host == NULL || tr_host_start(host) != 0) {
        print_error("host %u does not begin: %s\n", index + 1, words);
        _exit(1);
    }
    return host;
}

/* What a host is told before any of them is killed. */
struct order {
    struct tr_ref actor;
    struct tr_ring_link link; /* without a next one: the first number */
};

static void tell(struct tr_host *host, const struct order *order)
{
    const struct tr_note note = {.number = 1};
    int error = order->link.next.key.group != 0
                    ? tr_host_tell(host, order->actor, &tr_ring_link_schema, &order->link)
                    : tr_host_tell(host, order->actor, &tr_note_schema, &note);
    assert_int_equal(error, 0);
}

static void begin_one_that_ends(struct tr_host *host)
{
    const struct tr_passing first = {0};
    const struct tr_spawn_options options = {.state = &first};
    struct tr_ref actor;
    if (tr_host_spawn(host, &passing_behaviour, &options, &actor) == 0) {
        (void)!tr_host_tell(host, actor, &tr_note_schema, &(struct tr_note){0});
    }
}

static void bear(struct tr_host *host, int telling)
{
    for (int i = 0; i < RINGS; i++) {
        const struct tr_ringed first = {0};
        const struct tr_spawn_options options = {.state = &first};
        struct tr_ref actor;
        assert_int_equal(tr_host_spawn(host, &ringed_behaviour, &options, &actor), 0);
        assert_int_equal(write(telling, &actor, sizeof actor), sizeof actor);
    }
}

/* Until it is killed, or fenced. */
static void serve(uint32_t index, bool bears, int telling, int hearing)
{
    struct tr_host *host = start(index);
    struct pollfd event = {.fd = hearing, .events = POLLIN};
    struct order order;
    int error = 0;
    if (bears) {
        bear(host, telling);
    }
    while (error == 0) {
        (void)!tr_host_follow(host); /* what ends the host the poll says */
        begin_one_that_ends(host);
        while (poll(&event, 1, 0) > 0 && read(hearing, &order, sizeof order) == sizeof order) {
            tell(host, &order);
        }
        error = tr_host_poll(host, -1, ROUND_MS);
    }
    if (error != TR_FENCED) {
        print_error("host %u has ended: %s %s\n", index + 1, tr_error_text(error),
                    tr_host_explain(host));
    }
    _exit(error == TR_FENCED ? 4 : 1);
}

/* ---- All of them. ---------------------------------------------------------------------------- */

static pid_t processes[HOSTS]; /* 0: it does not run */
static int telling[HOSTS];
static int hearing[HOSTS];
static struct draw draws;

static void begin_host(uint32_t index, bool bears)
{
    int up[2];
    int down[2];
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    processes[index] = fork();
    assert_true(processes[index] >= 0);
    if (processes[index] == 0) {
        (void)close(up[0]);
        (void)close(down[1]);
        serve(index, bears, up[1], down[0]);
    }
    (void)close(up[1]);
    (void)close(down[0]);
    hearing[index] = up[0];
    telling[index] = down[1];
}

static void end_host(uint32_t index)
{
    if (processes[index] != 0) {
        (void)kill(processes[index], SIGKILL);
        (void)waitpid(processes[index], NULL, 0);
        (void)close(telling[index]);
        (void)close(hearing[index]);
        processes[index] = 0;
    }
}

/* One that was fenced begins again, as a service manager has it; any other end is a mistake. */
static void look_after(void)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        int status = 0;
        if (processes[i] != 0 && waitpid(processes[i], &status, WNOHANG) == processes[i]) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 4);
            (void)close(telling[i]);
            (void)close(hearing[i]);
            begin_host(i, false);
        }
    }
}

static void pass(uint64_t span_ms)
{
    for (uint64_t at_ms = 0; at_ms < span_ms; at_ms += ROUND_MS) {
        look_after();
        rest();
    }
}

static uint64_t ask(const char *sql)
{
    char whole[512];
    char text[64] = "";
    (void)snprintf(whole, sizeof whole, "SET search_path TO %s; %s", schema, sql);
    postgres_server_run(whole, text, sizeof text);
    return strtoull(text, NULL, 10);
}

static uint64_t count_ringed(void)
{
    return ask("SELECT count(*) FROM actors WHERE behaviour = 62300");
}

/* Another number whenever one of them has heard one. */
static uint64_t digest_ringed(void)
{
    return ask("SELECT abs(hashtext(string_agg(encode(image, 'hex'), ' ' ORDER BY key_group)))"
               " FROM actors WHERE behaviour = 62300");
}

static void make_store(void)
{
    char locator[POSTGRES_LOCATOR_BYTES];
    bool was_made = false;
    int base = 20000 + (int)(getpid() % 3000) * HOSTS;
    postgres_server_schema(schema, sizeof schema);
    postgres_server_locator("postgres", schema, locator);
    const struct tri_store_options options = {
        .locator = locator, .partitions = PARTITIONS, .durability = TR_DURABILITY_FULL};
    assert_int_equal(tri_store_init(&options, NULL, &was_made), 0);
    for (uint32_t i = 0; i < HOSTS; i++) {
        (void)snprintf(addresses[i], sizeof addresses[i], "tcp://127.0.0.1:%d", base + (int)i);
        scripted_folder(folders[i]);
        assert_int_equal(tri_store_folder_bind(folders[i], locator, NULL), 0);
        tri_registry_close(join(i));
    }
    (void)ask("UPDATE partitions SET host = 1");
}

/* Each ring has one actor of each host; the last one of it raises the number. */
static void make_rings(uint64_t numbers)
{
    struct tr_ref actors[HOSTS][RINGS];
    for (uint32_t i = 0; i < HOSTS; i++) {
        for (uint32_t j = 0; j < RINGS; j++) {
            assert_int_equal(read(hearing[i], &actors[i][j], sizeof actors[i][j]),
                             sizeof actors[i][j]);
        }
    }
    for (uint32_t i = 0; i < HOSTS; i++) {
        for (uint32_t j = 0; j < RINGS; j++) {
            const struct order order = {.actor = actors[i][j],
                                        .link = {.next = actors[(i + 1) % HOSTS][j],
                                                 .adds = i == HOSTS - 1,
                                                 .wanted = numbers}};
            assert_int_equal(write(telling[i], &order, sizeof order), sizeof order);
        }
    }
    pass(1000); /* all have heard of it */
    for (uint32_t j = 0; j < RINGS; j++) {
        const struct order order = {.actor = actors[0][j]};
        assert_int_equal(write(telling[0], &order, sizeof order), sizeof order);
    }
    pass(1000);
}

static void kill_one(void)
{
    uint32_t victim = (uint32_t)draw_below(&draws, HOSTS);
    end_host(victim);
    pass(draw_below(&draws, 2) == 0 ? 0 : AWAY_MS);
    begin_host(victim, false);
}

static int clean(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < HOSTS; i++) {
        end_host(i);
        scripted_folder_remove(folders[i]);
    }
    return 0;
}

static void numbers_go_round_whoever_is_killed(void **state)
{
    const char *seed = getenv("TROUPE_TEST_SEED");
    uint32_t kills = getenv("TROUPE_TEST_LONG") != NULL ? KILLS_LONG : KILLS;
    (void)state;
    draws.state = seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    print_message("TROUPE_TEST_SEED=%llu\n", (unsigned long long)draws.state);
    make_store();
    for (uint32_t i = 0; i < HOSTS; i++) {
        begin_host(i, true);
    }
    make_rings((uint64_t)NUMBERS * kills);
    for (uint32_t i = 0; i < kills; i++) {
        pass(draw_below(&draws, PAUSE_MS_MAX));
        kill_one();
    }
    print_message("%llu actors are left behind the last kill\n",
                  (unsigned long long)count_ringed());
    uint64_t digest = 0;
    for (uint64_t waited_ms = 0; count_ringed() > 0; waited_ms += 500) {
        uint64_t now = digest_ringed();
        waited_ms = now == digest ? waited_ms : 0;
        digest = now;
        assert_true(waited_ms < PATIENCE_MS);
        pass(500);
    }
    uint64_t changes = ask("SELECT sum(epoch) FROM partitions");
    print_message("partitions had %llu more hosts\n", (unsigned long long)changes);
    assert_true(changes > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(numbers_go_round_whoever_is_killed, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
