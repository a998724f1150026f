/*
 * Two hosts of one store in PostgreSQL, each a process with its own partition: when one is killed,
 * the other, which runs, fences it, brings its log in, takes its partition over and goes on with
 * what it had. What unit/runtime/cluster/take shows of each step is shown here of all together.
 */
#include "runtime/host/take.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/journal/checksum.h"
#include "runtime/journal/store_folder.h"
#include "runtime/members/kept_clock.h"
#include "runtime/store_care.h"
#include "runtime/store_open.h"
#include "runtime/store_place.h"
#include "tests/support/scripted.h"
#include "tests/unit/runtime/host/talkers.h"
#include "tests/unit/runtime/stand.h"

static struct stand *stand;
static char folders[2][SCRIPTED_PATH_BYTES];
static char addresses[2][64];

static struct tri_registry *open_registry(void)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_registry *registry = NULL;
    if (tri_store_registry_open(NULL, stand->locator, false, explain, &registry) != 0) {
        fail_msg("%s", explain);
    }
    return registry;
}

/* Host 1 or 2 is that of its folder. */
static void join(uint32_t index)
{
    char machine[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    uint8_t place[TRI_STORE_PLACE_BYTES_MAX];
    struct tri_store_member member = {.name = index == 0 ? "a" : "b", .blobs = "/blobs"};
    struct tri_registry *registry = open_registry();
    assert_int_equal(tri_store_describe_member(folders[index], place, machine, &member, NULL), 0);
    assert_int_equal(tri_registry_join(registry, &member), 0);
    assert_int_equal(registry->self, index + 1);
    tri_registry_close(registry);
}

static int begin(void **state)
{
    struct tri_store_options options;
    bool was_made = false;
    int base = 31000 + (int)(getpid() % 800) * 2; /* below what the system gives away */
    (void)state;
    stand = stand_new(STAND_POSTGRES);
    options = (struct tri_store_options){
        .locator = stand->locator, .partitions = 2, .durability = TR_DURABILITY_FULL};
    assert_int_equal(tri_store_init(&options, NULL, &was_made), 0);
    for (uint32_t i = 0; i < 2; i++) {
        scripted_folder(folders[i]);
        assert_int_equal(tri_store_folder_bind(folders[i], stand->locator, NULL), 0);
        snprintf(addresses[i], sizeof addresses[i], "tcp://127.0.0.1:%d", base + (int)i);
        join(i);
    }
    stand_spoil(stand, "UPDATE partitions SET host = number + 1");
    return 0;
}

static int end(void **state)
{
    (void)state;
    scripted_folder_remove(folders[0]);
    scripted_folder_remove(folders[1]);
    stand_free(stand);
    return 0;
}

static struct tr_host *start(uint32_t index)
{
    static const uint16_t partitions[] = {1, 2};
    const struct tr_peer peer = {.number = (uint16_t)(2 - index), .address = addresses[1 - index]};
    const struct tr_host_options options = {
        .worker_count = 2,
        .durability = TR_DURABILITY_FULL,
        .folder = folders[index],
        .host_name = index == 0 ? "a" : "b",
        .blobs = "/blobs",
        .lease_ms = TRI_MEMBER_LEASE_MS_MIN,
        .behaviours = talkers_behaviours,
        .behaviour_count = talkers_behaviour_count,
        .number = (uint16_t)(index + 1),
        .slot = (uint8_t)index,
        .partitions = partitions,
        .partition_count = TR_COUNT_OF(partitions),
        .listen = addresses[index],
        .peers = &peer,
        .peer_count = 1,
    };
    char words[TRI_STORE_EXPLAIN_BYTES];
    struct tr_host *host = NULL;
    if (tr_host_new(&options, words, &host) != 0) {
        fail_msg("%s", words);
    }
    assert_int_equal(tr_host_start(host), 0);
    return host;
}

/* Host 1 in a process of its own, until it is killed; the listener that it has. */
static pid_t start_apart(struct tr_ref *listener)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct tr_ref made = talkers_listen(start(0));
        ssize_t written = write(ends[1], &made, sizeof made);
        while (written == (ssize_t)sizeof made) {
            (void)pause();
        }
        _exit(1);
    }
    assert_int_equal(read(ends[0], listener, sizeof *listener), sizeof *listener);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return child;
}

/* Host 2 fences the other one, which is silent; nobody else does. */
static void fence(struct tr_host *host)
{
    struct tri_registry *registry = open_registry();
    struct tri_member_view view = {.count = 0};
    registry->self = 2;
    registry->incarnation = host->store->incarnation;
    assert_int_equal(tri_registry_look(registry, &view), 0);
    const struct tri_member *seen = tri_member_view_find(&view, 1);
    assert_non_null(seen);
    assert_int_equal(seen->owned, 1);
    assert_int_equal(tri_registry_take(registry, seen, NULL, "host a was fenced by host b"), 0);
    tri_registry_close(registry);
}

static void settle(void)
{
    const struct tri_store_options options = {.locator = stand->locator,
                                              .durability = TR_DURABILITY_FULL};
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    if (tri_store_settle(&options, 1, words) != 0) {
        fail_msg("%s", words);
    }
}

static void take(struct tr_host *host)
{
    static const uint16_t partitions[] = {2, 2};
    static const uint32_t epochs[] = {1, 0};
    const struct tr_host_view view = {
        .view = 100, .hosts = partitions, .epochs = epochs, .count = TR_COUNT_OF(partitions)};
    const struct tri_store_options options = {
        .locator = stand->locator, .durability = TR_DURABILITY_FULL, .read_only = true};
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store *store = NULL;
    if (tri_store_open(&options, words, &store) != 0) {
        fail_msg("%s", words);
    }
    assert_int_equal(tr_host_take(host, &view, store), 0);
    tri_store_close(store);
}

/* The clock of the host that is lost was an hour ahead; a store for it alone. */
static void put_clock_ahead(uint64_t cell, uint64_t steady_ms)
{
    const struct tri_kept_clock kept = {.steady_ms = steady_ms};
    const struct tri_op op = {.kind = TRI_OP_PUT_META,
                              .number = cell,
                              .data = {.data = (const uint8_t *)&kept, .size = sizeof kept}};
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "UPDATE meta SET data = decode('%016llx%016llx', 'hex'), checksum = %lld"
                   " WHERE cell = %llu",
                   (unsigned long long)__builtin_bswap64(kept.steady_ms), 0ULL,
                   (long long)tri_checksum(TRI_OP_PUT_META, &op), (unsigned long long)cell);
    stand_spoil(stand, sql);
}

static void goes_on_with_what_a_killed_host_had(void **state)
{
    struct tr_ref listener;
    int reason = 1;
    (void)state;
    pid_t child = start_apart(&listener);
    struct tr_host *host = start(1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    const struct tri_life *life = &host->shared.life;
    uint64_t ahead_ms = tri_life_steady_ms(life, tri_monotonic_ns(host->env)) + 3600000;
    talkers_speak(host, listener); /* it waits here */
    fence(host);
    settle();
    put_clock_ahead(tri_kept_clock_cell(1, 0), ahead_ms);
    take(host);
    assert_true(tri_life_steady_ms(life, tri_monotonic_ns(host->env)) >= ahead_ms);
    assert_int_equal(tr_host_wait(host, listener, TALKERS_WAIT_MS, &reason), 0);
    assert_true(reason == 0 || reason == TR_NO_ACTOR); /* or it had ended before it was asked for */
    tr_host_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(goes_on_with_what_a_killed_host_had, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
