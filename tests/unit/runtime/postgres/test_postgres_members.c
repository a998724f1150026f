/*
 * The contract of the registry of hosts, for the model and for PostgreSQL; and what the database
 * alone shows: the fence that shuts a host's store out, whose log goes on, and whose locks are
 * broken.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/members/registry.h"
#include "runtime/store_open.h"
#include "schemas/codec/error.h"
#include "tests/sim/model_registry.h"
#include "tests/support/scripted.h"
#include "tests/unit/runtime/stand.h"

/* A store whose hosts are written down in one of both. */
struct world {
    bool is_model;
    struct tri_hosts_model *model;
    struct stand *stand;
};

static struct world world_of(void **state)
{
    struct world world = {.is_model = *(const bool *)*state};
    if (world.is_model) {
        world.model = calloc(1, sizeof *world.model);
        assert_non_null(world.model);
    } else {
        world.stand = stand_new(STAND_POSTGRES);
        tri_store_close(stand_open(world.stand));
    }
    return world;
}

static void world_end(struct world *world)
{
    free(world->model);
    if (world->stand != NULL) {
        stand_free(world->stand);
    }
}

static struct tri_registry *open_registry(struct world *world)
{
    struct tri_registry *registry = NULL;
    if (world->is_model) {
        registry = tri_model_registry_open(world->model);
        assert_non_null(registry);
        return registry;
    }
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    int error = tri_store_registry_open(NULL, world->stand->locator, false, explain, &registry);
    if (error != 0) {
        print_error("%s\n", explain);
    }
    assert_int_equal(error, 0);
    return registry;
}

static struct tri_store_member member_of(const char *name)
{
    return (struct tri_store_member){.place = {.data = (const uint8_t *)name, .size = strlen(name)},
                                     .name = name,
                                     .machine = "machine",
                                     .folder = "/folder",
                                     .blobs = "/blobs",
                                     .lease_ms = 3000,
                                     .process_lease_ms = 20000};
}

static struct tri_registry *join(struct world *world, const char *name)
{
    struct tri_registry *registry = open_registry(world);
    const struct tri_store_member member = member_of(name);
    int error = tri_registry_join(registry, &member);
    if (error != 0) {
        print_error("%s\n", tri_registry_explain(registry));
    }
    assert_int_equal(error, 0);
    return registry;
}

/* The host gets the work, as by the opening of the store. */
static void give_work(struct world *world, struct tri_registry *registry)
{
    if (world->is_model) {
        registry->incarnation = tri_hosts_model_claim(world->model, registry->self);
        return;
    }
    char sql[128];
    (void)snprintf(sql, sizeof sql, "UPDATE partitions SET host = %llu",
                   (unsigned long long)registry->self);
    stand_spoil(world->stand, sql);
}

static struct tri_member_view look(struct tri_registry *registry)
{
    struct tri_member_view view = {.count = 0};
    int error = tri_registry_look(registry, &view);
    if (error != 0) {
        print_error("%s\n", tri_registry_explain(registry));
    }
    assert_int_equal(error, 0);
    return view;
}

static struct tri_member see(struct tri_registry *registry, uint64_t number)
{
    struct tri_member_view view = look(registry);
    const struct tri_member *found = tri_member_view_find(&view, number);
    assert_non_null(found);
    return *found;
}

static void close_both(struct tri_registry *one, struct tri_registry *other)
{
    tri_registry_close(one);
    tri_registry_close(other);
}

static void test_hosts_join_and_are_seen(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = join(&world, "b");
    assert_true(first->self != 0 && second->self != 0 && first->self != second->self);
    assert_true(first->incarnation != second->incarnation);
    struct tri_member_view view = look(first);
    assert_int_equal(view.count, 2);
    assert_int_equal(view.owner, 0);
    const struct tri_member *a = tri_member_view_find(&view, first->self);
    assert_string_equal(a->name, "a");
    assert_string_equal(a->blobs, "/blobs");
    assert_int_equal(a->state, TRI_MEMBER_UP);
    assert_int_equal(a->signs.incarnation, first->incarnation);
    assert_int_equal(a->lease_ms, 3000);
    assert_int_equal(a->process_lease_ms, 20000);
    assert_int_equal(a->processes, TRI_MEMBER_PROCESSES_UNBOUND);
    give_work(&world, second);
    view = look(first);
    assert_int_equal(view.owner, second->self);
    assert_int_equal(tri_member_view_find(&view, second->self)->owned, 1);
    assert_int_equal(tri_member_view_find(&view, first->self)->owned, 0);
    close_both(first, second);
    world_end(&world);
}

static void test_a_look_is_a_beat(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *looking = open_registry(&world); /* it speaks for nobody */
    uint64_t before = see(looking, first->self).signs.beat;
    assert_int_equal(see(looking, first->self).signs.beat, before);
    (void)look(first);
    (void)look(first);
    assert_int_equal(see(looking, first->self).signs.beat, before + 2);
    close_both(first, looking);
    world_end(&world);
}

/* It has its number again, and what it was before beats no more. */
static void test_a_host_that_comes_back(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *again = join(&world, "a");
    assert_int_equal(again->self, first->self);
    assert_true(again->incarnation > first->incarnation);
    uint64_t beat = see(again, again->self).signs.beat;
    struct tri_member_view view = {.count = 0};
    int error = tri_registry_look(first, &view); /* its session was ended: once more */
    error = error == TR_BUSY ? tri_registry_look(first, &view) : error;
    assert_int_equal(error, 0);
    assert_int_equal(see(again, again->self).signs.beat, beat + 1);
    close_both(first, again);
    world_end(&world);
}

static void test_names_are_unique(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = open_registry(&world);
    struct tri_store_member member = member_of("other");
    member.name = "a";
    assert_int_equal(tri_registry_join(second, &member), TR_EXISTS);
    assert_int_equal(look(first).count, 1);
    member.name = "b";
    assert_int_equal(tri_registry_join(second, &member), 0);
    member.name = "c"; /* the same host may be called otherwise */
    assert_int_equal(tri_registry_join(second, &member), 0);
    assert_int_equal(look(first).count, 2);
    assert_string_equal(see(first, second->self).name, "c");
    close_both(first, second);
    world_end(&world);
}

static void test_taking_the_work(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = join(&world, "b");
    give_work(&world, first);
    const struct tri_member seen = see(second, first->self);
    assert_int_equal(tri_registry_take(second, &seen, NULL, "it was silent"), 0);
    struct tri_member_view view = look(second);
    const struct tri_member *lost = tri_member_view_find(&view, first->self);
    assert_int_equal(view.owner, second->self);
    assert_int_equal(lost->state, TRI_MEMBER_DEAD);
    assert_string_equal(lost->why, "it was silent");
    assert_true(lost->signs.incarnation > first->incarnation);
    /* It takes nothing any more, and beats no more. */
    const struct tri_member other = see(second, second->self);
    assert_int_equal(tri_registry_take(first, &other, NULL, "late"), TR_FENCED);
    uint64_t beat = see(second, first->self).signs.beat;
    (void)look(first);
    assert_int_equal(see(second, first->self).signs.beat, beat);
    assert_int_equal(look(second).owner, second->self);
    close_both(first, second);
    world_end(&world);
}

/* Whatever it did since it was seen keeps the work. */
static void test_who_lives_is_not_fenced(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = join(&world, "b");
    give_work(&world, first);
    struct tri_member seen = see(second, first->self);
    (void)look(first);
    assert_int_equal(tri_registry_take(second, &seen, NULL, "late"), TR_CLOSED);
    seen = see(second, first->self);
    uint64_t *const signs[] = {&seen.signs.incarnation, &seen.signs.commits,
                               &seen.signs.last_number, &seen.signs.last_sequence};
    for (size_t i = 0; i < TR_COUNT_OF(signs); i++) {
        *signs[i] += 1;
        assert_int_equal(tri_registry_take(second, &seen, NULL, "late"), TR_CLOSED);
        *signs[i] -= 1;
    }
    assert_int_equal(look(second).owner, first->self);
    assert_int_equal(see(second, first->self).state, TRI_MEMBER_UP);
    assert_int_equal(tri_registry_take(second, &seen, NULL, "now"), 0);
    close_both(first, second);
    world_end(&world);
}

static void test_one_of_two_takes_it(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = join(&world, "b");
    struct tri_registry *third = join(&world, "c");
    give_work(&world, first);
    const struct tri_member seen = see(second, first->self);
    assert_int_equal(tri_registry_take(third, &seen, NULL, "third"), 0);
    assert_int_equal(tri_registry_take(second, &seen, NULL, "second"), TR_CLOSED);
    assert_int_equal(look(second).owner, third->self);
    assert_string_equal(see(second, first->self).why, "third");
    close_both(first, second);
    tri_registry_close(third);
    world_end(&world);
}

/* The host gets that partition, of a store that has so many at least. */
static void give_partition(struct world *world, uint64_t partition, uint64_t host)
{
    if (world->is_model) {
        tri_hosts_model_give(world->model, partition, host);
        return;
    }
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO partitions VALUES(%llu, %llu, 0, 0, 0) ON CONFLICT(number)"
                   " DO UPDATE SET host = excluded.host",
                   (unsigned long long)partition, (unsigned long long)host);
    stand_spoil(world->stand, sql);
}

/* Each partition of the lost host goes where it is meant to, and those of others stay. */
static void test_partitions_are_divided(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *lost = join(&world, "a");
    struct tri_registry *taker = join(&world, "b");
    struct tri_registry *third = join(&world, "c");
    struct tri_registry *left = join(&world, "d");
    const uint64_t before[] = {lost->self, third->self, lost->self, lost->self, lost->self};
    for (size_t i = 0; i < TR_COUNT_OF(before); i++) {
        give_partition(&world, i, before[i]);
    }
    const struct tri_member seen = see(taker, lost->self);
    assert_int_equal(seen.owned, 4);
    assert_int_equal(tri_registry_leave(left), 0);
    uint64_t view = look(taker).view;
    const struct tri_member_shares shares = {
        .count = 4, .hosts = {third->self, taker->self, left->self, taker->self}};
    assert_int_equal(tri_registry_take(taker, &seen, &shares, "silent"), 0);
    const uint64_t after[] = {third->self, third->self, taker->self, taker->self, taker->self};
    struct tri_member_view now = look(third);
    assert_int_equal(now.partition_count, TR_COUNT_OF(after));
    for (size_t i = 0; i < TR_COUNT_OF(after); i++) {
        uint32_t had = world.is_model; /* where it was given to its first host as one */
        assert_int_equal(now.partitions[i], after[i]);
        assert_int_equal(now.epochs[i], had + (before[i] == lost->self));
    }
    assert_true(now.view > view);
    assert_int_equal(now.owner, third->self);
    assert_int_equal(tri_member_view_find(&now, taker->self)->owned, 3);
    assert_int_equal(tri_member_view_find(&now, lost->self)->owned, 0);
    assert_int_equal(tri_member_view_find(&now, lost->self)->state, TRI_MEMBER_DEAD);
    close_both(lost, taker);
    close_both(third, left);
    world_end(&world);
}

/* Where rows of groups are, and what one of them has beside its group. */
static const struct {
    const char *table;
    const char *group;
    const char *rest;
} kinds[] = {
    {"counters", "key_group", "1, 1, 0"},
    {"actors", "key_group", "1, 1, 1, '', 0"},
    {"pages", "key_group", "1, 1, '', 0"},
    {"messages", "to_group", "1, 1, 1, 1, '', 0"},
};
#define MESSAGES 3

/* Something lies in a partition from now on. */
static void occupy(struct world *world, size_t kind, uint64_t partition)
{
    char sql[256];
    if (world->is_model) {
        world->model->occupied[partition] = true;
        return;
    }
    (void)snprintf(sql, sizeof sql, "INSERT INTO %s SELECT (%llu::bigint << 48) + 7, %s",
                   kinds[kind].table, (unsigned long long)partition, kinds[kind].rest);
    stand_spoil(world->stand, sql);
}

static void empty(struct world *world, size_t kind, uint64_t partition)
{
    char sql[256];
    if (world->is_model) {
        world->model->occupied[partition] = false;
        return;
    }
    (void)snprintf(sql, sizeof sql, "DELETE FROM %s WHERE %s >> 48 = %llu", kinds[kind].table,
                   kinds[kind].group, (unsigned long long)partition);
    stand_spoil(world->stand, sql);
}

static void test_empty_partitions_are_found(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = join(&world, "b");
    bool vacant[TR_PARTITIONS_MAX];
    uint64_t view = 0;
    for (uint64_t i = 0; i < 4; i++) {
        give_partition(&world, i, i == 3 ? second->self : first->self);
    }
    for (size_t i = 0; i < TR_COUNT_OF(kinds); i++) {
        uint64_t before = look(first).view;
        occupy(&world, i, 1);
        assert_int_equal(tri_registry_vacant(first, vacant, &view), 0);
        assert_true(view > before);
        assert_int_equal(look(first).view, view);
        assert_true(vacant[0] && !vacant[1] && vacant[2] && !vacant[3] && !vacant[4]);
        empty(&world, i, 1);
    }
    assert_int_equal(tri_registry_vacant(first, vacant, &view), 0);
    assert_true(vacant[1]);
    const struct tri_member seen = see(second, first->self);
    assert_int_equal(tri_registry_take(second, &seen, NULL, "silent"), 0);
    assert_int_equal(tri_registry_vacant(first, vacant, &view), TR_FENCED);
    close_both(first, second);
    world_end(&world);
}

static void test_partitions_are_given(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = join(&world, "b");
    struct tri_registry *left = join(&world, "c");
    uint64_t view = 0;
    for (uint64_t i = 0; i < 4; i++) {
        give_partition(&world, i, first->self);
    }
    assert_int_equal(tri_registry_leave(left), 0);
    struct tri_member_view seen = look(first);
    struct tri_member_shares shares = {.count = 4, .hosts = {0, second->self, left->self, 0}};
    /* All or nothing, and the view tells of it. */
    assert_int_equal(tri_registry_give(first, &shares, seen.epochs, &view), TR_INVALID);
    assert_true(view > seen.view);
    assert_int_equal(look(first).view, view);
    assert_int_equal(see(first, first->self).owned, 4);
    shares.hosts[2] = second->self;
    occupy(&world, MESSAGES, 2);
    assert_int_equal(tri_registry_give(first, &shares, seen.epochs, &view), TR_INVALID);
    assert_int_equal(see(first, first->self).owned, 4);
    empty(&world, MESSAGES, 2);
    occupy(&world, MESSAGES, 3); /* which stays */
    assert_int_equal(tri_registry_give(first, &shares, seen.epochs, &view), 0);
    struct tri_member_view now = look(second);
    const uint64_t after[] = {first->self, second->self, second->self, first->self};
    for (size_t i = 0; i < TR_COUNT_OF(after); i++) {
        assert_int_equal(now.partitions[i], after[i]);
        assert_int_equal(now.epochs[i], seen.epochs[i] + (after[i] == second->self));
    }
    assert_int_equal(now.view, view);
    /* Said again, and when they have come back, nothing is given a second time. */
    assert_int_equal(tri_registry_give(first, &shares, seen.epochs, &view), 0);
    assert_int_equal(see(first, second->self).owned, 2);
    const struct tri_member other = see(first, second->self);
    assert_int_equal(tri_registry_take(first, &other, NULL, "silent"), 0);
    assert_int_equal(tri_registry_give(first, &shares, seen.epochs, &view), 0);
    assert_int_equal(see(first, first->self).owned, 4);
    close_both(first, second);
    tri_registry_close(left);
    world_end(&world);
}

static void test_who_was_fenced_gives_nothing(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = join(&world, "b");
    struct tri_registry *third = join(&world, "c");
    uint64_t view = 0;
    give_partition(&world, 0, first->self);
    struct tri_member_view before = look(first);
    const struct tri_member seen = see(second, first->self);
    assert_int_equal(tri_registry_take(second, &seen, NULL, "silent"), 0);
    const struct tri_member_shares shares = {.count = 1, .hosts = {third->self}};
    assert_int_equal(tri_registry_give(first, &shares, before.epochs, &view), TR_FENCED);
    assert_int_equal(look(second).owner, second->self);
    close_both(first, second);
    tri_registry_close(third);
    world_end(&world);
}

/* Each host has a slot of its own, which is free again when the host is forgotten. */
static void test_slots_are_given(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = join(&world, "b");
    struct tri_registry *third = join(&world, "c");
    assert_int_equal(see(first, first->self).slot, 0);
    assert_int_equal(see(first, second->self).slot, 1);
    assert_int_equal(see(first, third->self).slot, 2);
    assert_int_equal(tri_registry_leave(second), 0);
    assert_int_equal(tri_registry_forget(first, second->self), 0);
    struct tri_registry *fourth = join(&world, "d");
    struct tri_registry *again = join(&world, "c");
    assert_int_equal(see(first, fourth->self).slot, 1);
    assert_int_equal(see(first, again->self).slot, 2);
    close_both(first, second);
    close_both(third, fourth);
    tri_registry_close(again);
    world_end(&world);
}

static void expect_listens(struct tri_registry *looking, uint64_t number, const char *address,
                           const uint8_t *key)
{
    const struct tri_member member = see(looking, number);
    assert_string_equal(member.address, address);
    assert_int_equal(member.has_key, key != NULL);
    if (key != NULL) {
        assert_memory_equal(member.key, key, TR_WIRE_KEY_BYTES);
    }
}

/* Where a host listens is said by its present life alone, and is seen as a change. */
static void test_where_hosts_listen(void **state)
{
    static const uint8_t keys[2][TR_WIRE_KEY_BYTES] = {{0, 1, 255}, {9}};
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = join(&world, "b");
    expect_listens(second, first->self, "", NULL);
    uint64_t view = look(second).view;
    assert_int_equal(tri_registry_listen(first, "tcp://10.0.0.1:7", keys[0]), 0);
    expect_listens(second, first->self, "tcp://10.0.0.1:7", keys[0]);
    assert_true(look(second).view > view);
    expect_listens(second, second->self, "", NULL);
    struct tri_registry *again = join(&world, "a");
    expect_listens(second, first->self, "", NULL);
    assert_int_equal(tri_registry_listen(again, "tcp://10.0.0.1:8", keys[1]), 0);
    int error = tri_registry_listen(first, "tcp://10.0.0.1:7", keys[0]); /* too late */
    error = error == TR_BUSY ? tri_registry_listen(first, "tcp://10.0.0.1:7", keys[0]) : error;
    assert_int_equal(error, 0);
    expect_listens(second, first->self, "tcp://10.0.0.1:8", keys[1]);
    close_both(first, second);
    tri_registry_close(again);
    world_end(&world);
}

static void test_who_leaves_is_taken_at_once(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = join(&world, "b");
    give_work(&world, first);
    assert_int_equal(tri_registry_keep(first, TRI_MEMBER_PROCESSES_NONE), 0);
    assert_int_equal(tri_registry_leave(first), 0);
    const struct tri_member seen = see(second, first->self);
    assert_int_equal(seen.state, TRI_MEMBER_LEFT);
    assert_int_equal(seen.processes, TRI_MEMBER_PROCESSES_NONE);
    assert_int_equal(tri_registry_take(second, &seen, NULL, "it had left"), 0);
    assert_int_equal(see(second, first->self).state, TRI_MEMBER_LEFT);
    assert_int_equal(look(second).owner, second->self);
    close_both(first, second);
    world_end(&world);
}

static void test_forgetting(void **state)
{
    struct world world = world_of(state);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = join(&world, "b");
    uint64_t number = first->self;
    give_work(&world, first);
    assert_int_equal(tri_registry_forget(second, number), TR_INVALID); /* it has the work */
    const struct tri_member seen = see(second, number);
    assert_int_equal(tri_registry_take(second, &seen, NULL, "gone"), 0);
    assert_int_equal(tri_registry_forget(second, second->self), TR_INVALID);
    assert_int_equal(tri_registry_forget(second, number), 0);
    assert_int_equal(look(second).count, 1);
    assert_int_equal(tri_registry_forget(second, number), TR_INVALID); /* there is none */
    struct tri_registry *again = join(&world, "a");
    assert_true(again->self > second->self); /* a number is given once */
    assert_int_equal(tri_registry_forget(second, again->self), TR_INVALID); /* it is up */
    close_both(first, second);
    tri_registry_close(again);
    world_end(&world);
}

/* ---- What only the database shows. ----------------------------------------------------------- */

static struct world world_with_store(enum stand_kind kind, char folder[SCRIPTED_PATH_BYTES])
{
    const struct world world = {.stand = stand_new(kind)};
    tri_store_close(stand_open(world.stand));
    scripted_folder(folder);
    return world;
}

/* As a host that works beside others. */
static int try_open_in(struct stand *stand, const char *folder, char *explain,
                       struct tri_store **store)
{
    const struct tri_store_member member = {.blobs = "", .is_beside = true};
    struct tri_store_options options = stand_options(stand);
    options.member = &member;
    options.folder = folder;
    options.locator = stand->locator;
    return tri_store_open(&options, explain, store);
}

static struct tri_store *open_in(struct stand *stand, const char *folder)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store *store = NULL;
    if (try_open_in(stand, folder, explain, &store) != 0) {
        fail_msg("%s", explain);
    }
    return store;
}

/* Takes the work of whoever has it, as one that stood by. */
static struct tri_registry *take_work(struct world *world)
{
    struct tri_registry *registry = join(world, "b");
    struct tri_member_view view = look(registry);
    const struct tri_member *owner = tri_member_view_find(&view, view.owner);
    assert_non_null(owner);
    assert_int_equal(tri_registry_take(registry, owner, NULL, "host a was fenced by host b"), 0);
    return registry;
}

#define TO_FORMAT_5                                                                     \
    "ALTER TABLE hosts DROP COLUMN drained; ALTER TABLE partitions DROP COLUMN wanted," \
    " DROP COLUMN wanted_by, DROP COLUMN waits, DROP COLUMN frozen_us, DROP COLUMN moved_us;"
#define TO_FORMAT_4                                                                     \
    TO_FORMAT_5                                                                         \
    "ALTER TABLE hosts DROP COLUMN slot, DROP COLUMN address, DROP COLUMN key; UPDATE " \
    "troupe SET format = 4"

/* Beside an engine of the program before hosts may join; the next one gives all of them slots. */
static void test_an_earlier_format_gets_links(void **state)
{
    static const uint8_t key[TR_WIRE_KEY_BYTES] = {7};
    char folder[SCRIPTED_PATH_BYTES];
    (void)state;
    struct world world = world_with_store(STAND_POSTGRES, folder);
    struct tri_registry *gone = join(&world, "gone");
    stand_spoil(world.stand, TO_FORMAT_4);
    struct tri_registry *first = join(&world, "a");
    struct tri_registry *second = join(&world, "b");
    assert_int_equal(tri_registry_listen(first, "tcp://10.0.0.1:7", key), 0);
    expect_listens(second, first->self, "", NULL);
    assert_int_equal(see(second, second->self).slot, 0);
    tri_store_close(open_in(world.stand, folder));
    struct tri_registry *looking = open_registry(&world);
    assert_int_equal(see(looking, gone->self).slot, 0);
    assert_int_equal(see(looking, first->self).slot, 1);
    assert_int_equal(see(looking, second->self).slot, 2);
    struct tri_registry *again = join(&world, "a");
    assert_int_equal(tri_registry_listen(again, "tcp://10.0.0.1:7", key), 0);
    expect_listens(looking, again->self, "tcp://10.0.0.1:7", key);
    struct tri_registry *const all[] = {gone, first, second, looking, again};
    for (size_t i = 0; i < TR_COUNT_OF(all); i++) {
        tri_registry_close(all[i]);
    }
    scripted_folder_remove(folder);
    stand_free(world.stand);
}

/* What it would write, and say to the others, they could not read. */
static void test_no_host_of_a_later_version_works_beside_earlier_ones(void **state)
{
    static const uint8_t key[TR_WIRE_KEY_BYTES] = {7};
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    char folder[SCRIPTED_PATH_BYTES];
    (void)state;
    struct world world = world_with_store(STAND_POSTGRES, folder);
    struct tri_store_options options = stand_options(world.stand);
    struct tri_store *store = NULL;
    tri_store_close(open_in(world.stand, folder)); /* it has left, with all partitions */
    struct tri_registry *earlier = join(&world, "earlier");
    assert_int_equal(tri_registry_listen(earlier, "tcp://10.0.0.1:7", key), 0);
    stand_spoil(world.stand, TO_FORMAT_5 " UPDATE troupe SET format = 5");
    assert_int_equal(try_open_in(world.stand, folder, explain, &store), TR_STORE_LOCKED);
    assert_non_null(strstr(explain, "host earlier works on the schema"));
    options.locator = world.stand->locator;
    assert_int_equal(tri_store_settle(&options, 1, explain), TR_STORE_LOCKED);
    assert_non_null(strstr(explain, "end all hosts, and then start them with this version"));
    assert_int_equal(tri_registry_leave(earlier), 0);
    tri_store_close(open_in(world.stand, folder));
    tri_registry_close(earlier);
    scripted_folder_remove(folder);
    stand_free(world.stand);
}

static void test_a_fenced_store_writes_nothing(void **state)
{
    static const bool logged[] = {false, true};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(logged); i++) {
        char folder[SCRIPTED_PATH_BYTES];
        struct world world =
            world_with_store(logged[i] ? STAND_POSTGRES_LOG : STAND_POSTGRES, folder);
        struct tri_store *store = open_in(world.stand, folder);
        assert_int_equal(store->host, 1);
        assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
        struct tri_registry *registry = take_work(&world);
        assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "b")), TR_FENCED);
        assert_string_equal(tri_store_explain(store), "host a was fenced by host b");
        assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "b")), TR_FENCED);
        tri_store_close(store);
        assert_int_equal(see(registry, 1).state, TRI_MEMBER_DEAD); /* it has not left */
        tri_registry_close(registry);
        scripted_folder_remove(folder);
        stand_free(world.stand);
    }
}

/* What it had acknowledged, and was in its log alone, is there for the next one. */
static void test_the_log_of_a_lost_host_is_brought_in(void **state)
{
    (void)state;
    char first[SCRIPTED_PATH_BYTES];
    char second[SCRIPTED_PATH_BYTES];
    char explain[TRI_STORE_EXPLAIN_BYTES];
    struct world world = world_with_store(STAND_POSTGRES_LOG, first);
    scripted_folder(second);
    struct tri_store *store = open_in(world.stand, first);
    assert_int_equal(COMMIT(store, 7, op_actor(1, 1, 1, "a")), 0);
    /* Another folder is refused as long as it is not told to take over. */
    struct tri_store_options options = stand_options(world.stand);
    struct tri_store *taken = NULL;
    options.folder = second;
    options.locator = world.stand->locator;
    assert_int_equal(tri_store_open(&options, explain, &taken), TR_STORE_FOREIGN);
    assert_non_null(strstr(explain, "type troupe store take-over --store /"));
    options.takes_over = true;
    assert_int_equal(tri_store_open(&options, explain, &taken), 0);
    assert_int_equal(taken->host, 2);
    assert_int_equal(taken->last_number, 7);
    assert_true(taken->incarnation > store->incarnation);
    stand_expect(taken, "actor 1/1 1 0 77 a\n");
    assert_int_equal(COMMIT(store, 8, op_actor(1, 2, 1, "b")), TR_FENCED);
    assert_int_equal(COMMIT(taken, 8, op_actor(1, 3, 1, "c")), 0);
    tri_store_close(store);
    tri_store_close(taken);
    options.takes_over = false;
    options.folder = first; /* the first one is refused now */
    assert_int_equal(tri_store_open(&options, explain, &taken), TR_STORE_FOREIGN);
    scripted_folder_remove(first);
    scripted_folder_remove(second);
    stand_free(world.stand);
}

static void divide(struct world *world, const char *hosts)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "DELETE FROM partitions; INSERT INTO partitions SELECT n - 1, h::bigint, 0, 0, 0"
                   " FROM unnest(string_to_array('%s', ' ')) WITH ORDINALITY AS s(h, n);"
                   " UPDATE cluster SET partitions = (SELECT count(*) FROM partitions)",
                   hosts);
    stand_spoil(world->stand, sql);
}

/*
 * Two hosts have the store open at once, each with a partition. When one is lost, the other goes on
 * writing, and finds all that the lost one had acknowledged.
 */
static void test_a_host_that_works_inherits_from_another(void **state)
{
    (void)state;
    char first[SCRIPTED_PATH_BYTES];
    char second[SCRIPTED_PATH_BYTES];
    char explain[TRI_STORE_EXPLAIN_BYTES];
    struct world world = world_with_store(STAND_POSTGRES_LOG, first);
    struct tri_store_options options = stand_options(world.stand);
    options.partitions = 0;
    scripted_folder(second);
    struct tri_store *lost = open_in(world.stand, first);
    options.folder = second;
    options.takes_over = true;
    struct tri_store *store = NULL;
    assert_int_equal(tri_store_open(&options, explain, &store), 0);
    tri_store_close(store);
    tri_store_close(lost);
    divide(&world, "1 2");
    lost = open_in(world.stand, first);
    store = open_in(world.stand, second);
    assert_int_equal(lost->host, 1);
    assert_int_equal(store->host, 2);
    assert_int_equal(COMMIT(lost, 7, op_actor(1, 1, 1, "a")), 0);
    assert_int_equal(COMMIT(store, 3, op_actor(1, 2, 1, "b")), 0);
    assert_int_equal(COMMIT(lost, 8, op_actor(1, 3, 1, "c")), 0);
    assert_int_equal(tri_store_settle(&options, 1, explain), TR_INVALID);
    assert_non_null(strstr(explain, "host 1 has some of the work"));
    struct tri_registry *registry = open_registry(&world);
    registry->self = 2;
    registry->incarnation = store->incarnation;
    int error = TR_CLOSED; /* its tables may just have been written, which is a sign of life */
    while (error == TR_CLOSED) {
        const struct tri_member seen = see(registry, 1);
        error = tri_registry_take(registry, &seen, NULL, "host a was fenced");
    }
    assert_int_equal(error, 0);
    assert_int_equal(COMMIT(lost, 9, op_actor(1, 4, 1, "d")), TR_FENCED);
    assert_int_equal(tri_store_settle(&options, 1, explain), 0);
    assert_int_equal(COMMIT(store, 4, op_actor(1, 1, 1, "e")), 0);
    assert_int_equal(tri_store_settle(&options, 1, explain), 0); /* nothing is written again */
    assert_int_equal(look(registry).owner, 2);
    tri_store_close(lost);
    tri_store_close(store);
    store = open_in(world.stand, second); /* which shuts the lost one out by its own incarnation */
    assert_int_equal(tri_store_settle(&options, 1, explain), 0);
    stand_expect(store, "actor 1/1 1 0 77 e\nactor 1/2 1 0 77 b\nactor 1/3 1 0 77 c\n");
    tri_store_close(store);
    tri_registry_close(registry);
    scripted_folder_remove(first);
    scripted_folder_remove(second);
    stand_free(world.stand);
}

/* What it commits is acknowledged, and in its log alone when it ends, unless it ends late. */
static void commit_and_be_killed(struct world *world, const char *folder, uint64_t number)
{
    pid_t process = fork();
    int status = 0;
    if (process == 0) {
        struct tri_store *store = open_in(world->stand, folder);
        _exit(COMMIT(store, number, op_actor(1, 1, 1, "a")) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_int_equal(status, 0);
}

/* A host begins behind the numbers of all, so what its log has left may have earlier ones. */
/* It would take what is the other's for its own. */
static void test_who_works_alone_gets_no_share(void **state)
{
    (void)state;
    char first[SCRIPTED_PATH_BYTES];
    char second[SCRIPTED_PATH_BYTES];
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct world world = world_with_store(STAND_POSTGRES_LOG, first);
    struct tri_store_options options = stand_options(world.stand);
    struct tri_store *store = NULL;
    scripted_folder(second);
    tri_store_close(open_in(world.stand, first));
    options.folder = second;
    options.takes_over = true;
    assert_int_equal(tri_store_open(&options, NULL, &store), 0);
    tri_store_close(store);
    divide(&world, "1 2");
    options.takes_over = false;
    assert_int_equal(tri_store_open(&options, explain, &store), TR_STORE_FOREIGN);
    assert_non_null(strstr(explain, "`troupe serve` with `host_address` is one more of them"));
    options.takes_over = true;
    assert_int_equal(tri_store_open(&options, explain, &store), TR_STORE_FOREIGN);
    tri_store_close(open_in(world.stand, second));
    scripted_folder_remove(first);
    scripted_folder_remove(second);
    stand_free(world.stand);
}

static void test_a_log_is_brought_in_behind_later_numbers_of_others(void **state)
{
    (void)state;
    char first[SCRIPTED_PATH_BYTES];
    char second[SCRIPTED_PATH_BYTES];
    struct world world = world_with_store(STAND_POSTGRES_LOG, first);
    struct tri_store_options options = stand_options(world.stand);
    struct tri_store *other = NULL;
    scripted_folder(second);
    tri_store_close(open_in(world.stand, first));
    options.folder = second;
    options.takes_over = true;
    assert_int_equal(tri_store_open(&options, NULL, &other), 0);
    tri_store_close(other);
    divide(&world, "1 2");
    commit_and_be_killed(&world, first, 7);
    other = open_in(world.stand, second);
    assert_int_equal(COMMIT(other, 30, op_actor(1, 2, 1, "b")), 0);
    tri_store_close(other); /* its tables have it */
    struct tri_store *again = open_in(world.stand, first);
    assert_int_equal(again->last_number, 30);
    stand_expect(again, "actor 1/1 1 0 77 a\nactor 1/2 1 0 77 b\n");
    assert_int_equal(COMMIT(again, 31, op_actor(1, 1, 1, "c")), 0);
    tri_store_close(again);
    scripted_folder_remove(first);
    scripted_folder_remove(second);
    stand_free(world.stand);
}

/* Else others would load its former partitions without what is in its log alone. */
static void test_a_host_listens_when_its_log_is_brought_in(void **state)
{
    (void)state;
    char folder[SCRIPTED_PATH_BYTES];
    struct world world = world_with_store(STAND_POSTGRES_LOG, folder);
    struct tri_store_options options = stand_options(world.stand);
    const uint8_t key[TR_WIRE_KEY_BYTES] = {1};
    options.locator = world.stand->locator;
    tri_store_close(open_in(world.stand, folder));
    struct tri_registry *registry = open_registry(&world);
    int error = 0;
    for (uint64_t number = 1; error == 0; number++) {
        divide(&world, "1");
        commit_and_be_killed(&world, folder, number);
        registry->self = 1;
        registry->incarnation = see(registry, 1).signs.incarnation;
        error = tri_registry_listen(registry, "tcp://10.0.0.1:7", key);
        assert_int_equal(error, 0); /* it has work */
        divide(&world, "2");
        error = tri_registry_listen(registry, "tcp://10.0.0.1:7", key);
    }
    assert_int_equal(error, TR_INVALID);
    assert_string_equal(tri_registry_explain(registry),
                        "host 1 was lost with 1 commits in its log alone, which are to be brought "
                        "in first");
    assert_int_equal(tri_store_settle(&options, 1, NULL), 0);
    assert_int_equal(tri_registry_listen(registry, "tcp://10.0.0.1:7", key), 0);
    tri_registry_close(registry);
    scripted_folder_remove(folder);
    stand_free(world.stand);
}

/* A host that stands still in the middle of a commit holds its row; its session is ended. */
static void test_a_host_that_holds_its_row_is_fenced(void **state)
{
    (void)state;
    char folder[SCRIPTED_PATH_BYTES];
    char sql[256];
    struct world world = world_with_store(STAND_POSTGRES, folder);
    struct tri_store *store = open_in(world.stand, folder);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    (void)snprintf(sql, sizeof sql,
                   "BEGIN; UPDATE %s.fences SET commits = commits WHERE number = 1",
                   world.stand->folder);
    postgres_server_run_as(store, sql);
    struct tri_registry *registry = take_work(&world);
    assert_int_equal(look(registry).owner, registry->self);
    assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "b")), TR_BUSY); /* its session ended */
    assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "b")), TR_FENCED);
    tri_store_close(store);
    tri_registry_close(registry);
    scripted_folder_remove(folder);
    stand_free(world.stand);
}

/* A session that is lost is made again. */
static void test_a_lost_session_is_made_again(void **state)
{
    (void)state;
    struct world world = {.stand = stand_new(STAND_POSTGRES)};
    struct tri_member_view view;
    tri_store_close(stand_open(world.stand));
    struct tri_registry *registry = join(&world, "a");
    stand_spoil(world.stand, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                             " WHERE application_name LIKE 'troupe/%/hosts'");
    assert_int_equal(tri_registry_look(registry, &view), TR_BUSY);
    assert_non_null(strstr(tri_registry_explain(registry), "the connection to"));
    assert_int_equal(look(registry).count, 1);
    tri_registry_close(registry);
    stand_free(world.stand);
}

/* Whether it hears of a change within a while. */
static bool hears(struct tri_registry *registry, int wait_ms)
{
    struct pollfd item = {.fd = tri_registry_descriptor(registry), .events = POLLIN};
    return tri_registry_has_news(registry) ||
           (poll(&item, 1, wait_ms) > 0 && tri_registry_has_news(registry));
}

static void test_who_looks_hears_of_changes(void **state)
{
    (void)state;
    struct world world = {.stand = stand_new(STAND_POSTGRES)};
    tri_store_close(stand_open(world.stand));
    struct tri_registry *first = join(&world, "a");
    assert_int_equal(tri_registry_descriptor(first), -1);
    (void)look(first);
    assert_true(tri_registry_descriptor(first) >= 0);
    struct tri_registry *second = join(&world, "b");
    assert_true(hears(first, 10000));
    (void)look(first);
    while (hears(first, 100)) {
    }
    (void)look(second); /* a beat changes nothing */
    assert_false(hears(first, 200));
    assert_int_equal(tri_registry_listen(second, "tcp://127.0.0.1:1", NULL), 0);
    assert_true(hears(first, 10000));
    assert_int_equal(tri_registry_leave(second), 0);
    assert_true(hears(first, 10000));
    close_both(second, first);
    stand_free(world.stand);
}

int main(void)
{
    static bool model = true;
    static bool database = false;
#define BOTH(test) \
    cmocka_unit_test_prestate(test, &model), cmocka_unit_test_prestate(test, &database)
    const struct CMUnitTest tests[] = {
        BOTH(test_hosts_join_and_are_seen),
        BOTH(test_a_look_is_a_beat),
        BOTH(test_a_host_that_comes_back),
        BOTH(test_names_are_unique),
        BOTH(test_taking_the_work),
        BOTH(test_who_lives_is_not_fenced),
        BOTH(test_one_of_two_takes_it),
        BOTH(test_partitions_are_divided),
        BOTH(test_empty_partitions_are_found),
        BOTH(test_partitions_are_given),
        BOTH(test_who_was_fenced_gives_nothing),
        BOTH(test_slots_are_given),
        BOTH(test_where_hosts_listen),
        BOTH(test_who_leaves_is_taken_at_once),
        BOTH(test_forgetting),
        cmocka_unit_test(test_an_earlier_format_gets_links),
        cmocka_unit_test(test_no_host_of_a_later_version_works_beside_earlier_ones),
        cmocka_unit_test(test_a_fenced_store_writes_nothing),
        cmocka_unit_test(test_the_log_of_a_lost_host_is_brought_in),
        cmocka_unit_test(test_a_host_that_works_inherits_from_another),
        cmocka_unit_test(test_who_works_alone_gets_no_share),
        cmocka_unit_test(test_a_log_is_brought_in_behind_later_numbers_of_others),
        cmocka_unit_test(test_a_host_listens_when_its_log_is_brought_in),
        cmocka_unit_test(test_a_host_that_holds_its_row_is_fenced),
        cmocka_unit_test(test_a_lost_session_is_made_again),
        cmocka_unit_test(test_who_looks_hears_of_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
