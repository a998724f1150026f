/*
 * Three hosts of one store, simulated: they beat, look, commit, stand still, crash, come back and
 * leave; their clocks run at half and at double speed; the database is away from one or from all.
 * What a host makes of what it sees is the real code (runtime/members/member.h), the database is
 * the model. In half of the worlds there is one partition, so one host has the work; in the others
 * there are some, and several hosts work. At every moment: only the host of a partition commits to
 * it, and nobody is fenced who showed a sign of life while others could see it. Who has more
 * partitions than another that listens gives it some. In the end each
 * partition has a host that knows of it and goes on, and those that work know by which key each of
 * them listens in its present life.
 *
 * Each of the mistakes that are planted is found within some seeds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/model_registry.h"
#include "tests/support/draw.h"
#include "tests/support/test.h"

#define HOSTS 3
#define PARTITIONS 7 /* where several work */
#define LEASE_MS 3000
#define LATEST_MS (TRI_MEMBER_BEAT_MS + LEASE_MS / TRI_MEMBER_LATE_PARTS)
#define TICK_MS 50
#define FAULTS_MS 120000
#define CALM_MS 60000
#define SEEDS 1000
#define SEEDS_OF_BUG 5000

enum bug {
    SOUND,
    TAKES_UNSEEN,      /* fences without the numbers before */
    KEEPS_INCARNATION, /* does not raise the incarnation of whom it fences */
    COUNTS_OUTAGE,     /* takes its own late look for another's silence */
    LOOKS_AT_FIRST,    /* takes only the work of the host of the first partition */
    LISTENS_ONCE,      /* goes on with what its first life has said of where it listens */
    GIVES_LOST,        /* gives what it had, though another may have it by now */
};

/* A host: a process that looks once a second, by a clock of its own. */
struct host {
    char name[8];
    struct tri_registry *registry; /* NULL: it does not run */
    struct tri_member_watch watch;
    struct tri_member_view seen; /* its last look */
    const struct tri_member *target;
    bool has[PARTITIONS]; /* the partitions that it knows to be its own */
    bool is_giving;       /* some of them, where it commits no more */
    struct tri_member_shares gifts;
    uint32_t epochs[TR_PARTITIONS_MAX]; /* of the look by which they are given */
    bool is_active;                     /* it has found that it has work, and commits */
    uint64_t incarnation;               /* as which it runs, and its key */
    uint64_t listening;                 /* the incarnation that has said where it listens */
    uint32_t speed;                     /* of its clock, in hundredths */
    uint64_t clock_us;
    uint64_t next_look_ms; /* by its clock */
    uint64_t still_ms;     /* it stands still for so long, by the world's time */
    uint64_t away_ms;      /* it does not reach the database */
};

struct world {
    struct tri_hosts_model model;
    struct host hosts[HOSTS];
    struct draw draw;
    enum bug bug;
    uint64_t away_ms;   /* nobody reaches the database */
    bool stays_without; /* the first host does not come back in the end */
    bool all_come;      /* whoever has no work says where it listens, too, and gets some */
    /* How long each host has shown no sign, not counting the time in which nobody could see one. */
    uint64_t silent_ms[HOSTS];
    uint64_t commits;
    uint64_t takes;
    uint64_t handed_on; /* partitions that went to another one than the taker */
    uint64_t given;     /* partitions that a host gave to another */
    const char *wrong;
};

static uint64_t clock_ms(const struct host *host)
{
    return host->clock_us / 1000;
}

static struct host *host_of(struct world *world, uint64_t number)
{
    for (size_t i = 0; i < HOSTS; i++) {
        if (world->hosts[i].registry != NULL && world->hosts[i].registry->self == number) {
            return &world->hosts[i];
        }
    }
    return NULL;
}

static void sign(struct world *world, const struct host *host)
{
    world->silent_ms[host - world->hosts] = 0;
}

/* ---- What a host does. ----------------------------------------------------------------------- */

static void end(struct host *host)
{
    tri_registry_close(host->registry);
    host->registry = NULL;
    host->is_active = false;
    host->is_giving = false;
    memset(host->has, 0, sizeof host->has);
}

static void begin(struct world *world, struct host *host)
{
    const struct tri_store_member member = {
        .place = {.data = (const uint8_t *)host->name, .size = strlen(host->name)},
        .name = host->name,
        .machine = "",
        .folder = "",
        .blobs = "",
        .lease_ms = LEASE_MS};
    host->registry = tri_model_registry_open(&world->model);
    if (tri_registry_join(host->registry, &member) != 0) {
        end(host);
        return;
    }
    host->watch = (struct tri_member_watch){.self = host->registry->self};
    host->incarnation = host->registry->incarnation;
    host->next_look_ms = clock_ms(host);
    sign(world, host);
}

/* It opens the store: it shuts out whoever it was before. */
static void become_active(struct world *world, struct host *host)
{
    if (host->is_active) {
        return;
    }
    host->is_active = true;
    host->incarnation = tri_hosts_model_claim(&world->model, host->registry->self);
    host->registry->incarnation = host->incarnation;
    sign(world, host);
}

static void take(struct world *world, struct host *host, const struct tri_member *owner)
{
    char why[TRI_MEMBER_WHY_BYTES];
    const struct host *other = host_of(world, owner->number);
    bool was_up = owner->state == TRI_MEMBER_UP;
    uint64_t silent_ms = other != NULL ? world->silent_ms[other - world->hosts] : UINT64_MAX;
    struct tri_member_shares shares;
    tri_member_explain_fence(owner, host->name, why);
    tri_member_divide(&host->seen, owner->number, host->registry->self, &shares);
    if (tri_registry_take(host->registry, owner, &shares, why) != 0) {
        return;
    }
    world->takes++;
    for (size_t i = 0; i < PARTITIONS && i < shares.count; i++) {
        bool is_other = shares.hosts[i] != 0 && shares.hosts[i] != host->registry->self;
        host->has[i] = host->has[i] || shares.hosts[i] == host->registry->self;
        world->handed_on += is_other;
    }
    /*
     * A clock that is twice as fast sees a lease where half of it has passed; and one look of the
     * time may have been as late as it may be, with an outage behind it.
     */
    if (was_up && other != NULL && silent_ms + 2 * TICK_MS < (LEASE_MS - LATEST_MS) / 2) {
        world->wrong = "a host was fenced that lived";
    }
    if (tri_hosts_model_owned(&world->model, host->registry->self) > 0) {
        become_active(world, host);
    }
}

/* One look, and what follows from it. Between the two any time may pass: `is_late`. */
static void look(struct world *world, struct host *host, bool is_late)
{
    const struct tri_member *owner = NULL;
    uint64_t now_ms = clock_ms(host);
    host->next_look_ms = now_ms + TRI_MEMBER_BEAT_MS;
    if (tri_registry_look(host->registry, &host->seen) != 0) {
        return;
    }
    sign(world, host);
    if (world->bug == COUNTS_OUTAGE) {
        host->watch.looked_ms = host->watch.has_looked ? now_ms : host->watch.looked_ms;
    }
    tri_member_watch_hear(&host->watch, &host->seen, now_ms, now_ms);
    enum tri_member_finding finding =
        tri_member_find(&host->watch, &host->seen, host->registry->incarnation, &owner);
    if (finding == TRI_MEMBER_FENCED) {
        end(host);
        return;
    }
    for (size_t i = 0; i < PARTITIONS && i < host->seen.partition_count; i++) {
        bool is_going = host->is_giving && host->gifts.hosts[i] != 0;
        host->has[i] = host->seen.partitions[i] == host->registry->self && !is_going;
    }
    bool is_meant =
        world->bug != LOOKS_AT_FIRST || (owner != NULL && owner->number == host->seen.owner);
    if (finding == TRI_MEMBER_OWN) {
        become_active(world, host);
    } else if (finding == TRI_MEMBER_TAKE && is_meant) {
        host->target = owner;
        if (!is_late) {
            take(world, host, owner);
        }
    }
}

static void make_key(uint64_t incarnation, uint8_t key[TR_WIRE_KEY_BYTES])
{
    memset(key, 0, TR_WIRE_KEY_BYTES);
    memcpy(key, &incarnation, sizeof incarnation);
}

/* As with each beat, until it is said. */
static void listen_once(struct world *world, struct host *host)
{
    uint8_t key[TR_WIRE_KEY_BYTES];
    bool has_listened =
        world->bug == LISTENS_ONCE ? host->listening != 0 : host->listening == host->incarnation;
    make_key(host->incarnation, key);
    if (!has_listened && tri_registry_listen(host->registry, host->name, key) == 0) {
        host->listening = host->incarnation;
    }
}

/* It commits to what it gives no more, and gives it at its next turn, whenever that is. */
static void begin_to_give(struct host *host)
{
    const struct tri_member_view *seen = &host->seen;
    tri_member_spread(seen, host->registry->self, NULL, &host->gifts);
    memcpy(host->epochs, seen->epochs, sizeof host->epochs);
    for (size_t i = 0; i < PARTITIONS && i < host->gifts.count; i++) {
        host->is_giving = host->is_giving || host->gifts.hosts[i] != 0;
        host->has[i] = host->has[i] && host->gifts.hosts[i] == 0;
    }
}

static void give(struct world *world, struct host *host)
{
    uint64_t view = 0;
    size_t before = tri_hosts_model_owned(&world->model, host->registry->self);
    if (tri_registry_give(host->registry, &host->gifts, host->epochs, &view) != TR_BUSY) {
        host->is_giving = false;
    }
    world->given += before - tri_hosts_model_owned(&world->model, host->registry->self);
}

static void commit(struct world *world, struct host *host)
{
    if (world->model.is_away) {
        return;
    }
    if (!tri_hosts_model_commit(&world->model, host->registry->self, host->incarnation)) {
        end(host); /* it was fenced */
        return;
    }
    sign(world, host);
    world->commits++;
    for (size_t i = 0; i < PARTITIONS; i++) {
        if (host->has[i] && world->model.view.partitions[i] != host->registry->self) {
            world->wrong = "a host commits whose work another has";
        }
    }
}

/* A host that stood still between its look and its take goes on with what it had seen. */
static void go_on(struct world *world, struct host *host)
{
    if (host->target != NULL) {
        const struct tri_member *owner = host->target;
        host->target = NULL;
        take(world, host, owner);
    }
}

static void turn(struct world *world, struct host *host, bool has_faults)
{
    bool stands_still = host->still_ms > 0;
    host->clock_us += (uint64_t)TICK_MS * 10 * host->speed;
    host->still_ms -= host->still_ms < TICK_MS ? host->still_ms : TICK_MS;
    host->away_ms -= host->away_ms < TICK_MS ? host->away_ms : TICK_MS;
    if (host->registry == NULL || stands_still) {
        return;
    }
    world->model.is_away = world->away_ms > 0 || host->away_ms > 0;
    go_on(world, host);
    if (host->registry != NULL && clock_ms(host) >= host->next_look_ms) {
        bool is_late = has_faults && draw_below(&world->draw, 20) == 0;
        look(world, host, is_late);
        if (host->registry != NULL && (host->is_active || world->all_come)) {
            listen_once(world, host);
        }
        if (host->registry != NULL && host->is_active) {
            begin_to_give(host);
        }
        host->still_ms = is_late ? draw_below(&world->draw, 3 * LEASE_MS) : host->still_ms;
    } else if (host->registry != NULL && host->is_active) {
        commit(world, host);
        if (host->registry != NULL && host->is_giving) {
            give(world, host);
        }
    }
    world->model.is_away = false;
}

/* ---- What happens to hosts. ------------------------------------------------------------------ */

static void spoil(struct world *world, struct host *host)
{
    switch (draw_below(&world->draw, 6)) {
    case 0:
        host->still_ms = draw_below(&world->draw, 3 * LEASE_MS);
        break;
    case 1:
        host->away_ms = draw_below(&world->draw, 3 * LEASE_MS);
        break;
    case 2:
        world->away_ms = draw_below(&world->draw, 3 * LEASE_MS);
        break;
    case 3:
        if (host->registry != NULL) {
            end(host);
        }
        break;
    case 4:
        if (host->registry != NULL) {
            (void)!tri_registry_leave(host->registry);
            end(host);
        }
        break;
    default:
        if (host->registry == NULL) {
            begin(world, host);
        }
        break;
    }
    host->target = host->registry == NULL ? NULL : host->target;
}

static void pass(struct world *world, uint64_t span_ms, bool has_faults)
{
    for (uint64_t at_ms = 0; at_ms < span_ms && world->wrong == NULL; at_ms += TICK_MS) {
        world->model.now_ms += TICK_MS;
        for (size_t i = 0; i < HOSTS; i++) {
            struct host *host = &world->hosts[i];
            bool is_seen = world->away_ms == 0;
            world->silent_ms[i] += is_seen ? TICK_MS : 0;
            turn(world, host, has_faults);
            if (has_faults && draw_below(&world->draw, 100) == 0) {
                spoil(world, host);
            } else if (!has_faults && host->registry == NULL && (i > 0 || !world->stays_without)) {
                begin(world, host);
            }
        }
        world->away_ms -= world->away_ms < TICK_MS ? world->away_ms : TICK_MS;
    }
}

/* Whether a host that works knows how to reach another that does. */
static bool does_know(const struct host *host, const struct host *other)
{
    uint8_t key[TR_WIRE_KEY_BYTES];
    const struct tri_member *member = tri_member_view_find(&host->seen, other->registry->self);
    make_key(other->incarnation, key);
    return member != NULL && member->has_key && strcmp(member->address, other->name) == 0 &&
           memcmp(member->key, key, sizeof key) == 0;
}

static void check_links(struct world *world)
{
    for (size_t i = 0; i < HOSTS * HOSTS && world->wrong == NULL; i++) {
        const struct host *host = &world->hosts[i / HOSTS];
        const struct host *other = &world->hosts[i % HOSTS];
        if (host->is_active && other->is_active && !does_know(host, other)) {
            world->wrong = "a host does not know in the end where another listens";
        }
    }
}

/* Where all want work, no two that run have numbers that are more than one apart. */
static void check_shares(struct world *world)
{
    size_t most = 0;
    size_t fewest = SIZE_MAX;
    for (size_t i = 0; i < HOSTS; i++) {
        const struct host *host = &world->hosts[i];
        if (host->registry != NULL) {
            size_t owned = tri_hosts_model_owned(&world->model, host->registry->self);
            most = owned > most ? owned : most;
            fewest = owned < fewest ? owned : fewest;
        }
    }
    if (world->wrong == NULL && world->all_come && most > fewest + 1) {
        world->wrong = "a host has too few partitions in the end";
    }
}

static void check_end(struct world *world)
{
    size_t active = 0;
    uint64_t before = world->commits;
    const struct tri_member_view *view = &world->model.view;
    if (world->stays_without && world->hosts[0].registry != NULL) {
        end(&world->hosts[0]);
    }
    pass(world, CALM_MS, false);
    for (size_t i = 0; i < HOSTS; i++) {
        active += world->hosts[i].is_active;
    }
    bool is_right = world->commits > before && active >= 1 && active <= view->partition_count;
    for (size_t i = 0; is_right && i < view->partition_count; i++) {
        const struct host *host = host_of(world, view->partitions[i]);
        is_right = host != NULL && host->is_active && host->has[i];
    }
    if (world->wrong == NULL && !is_right) {
        world->wrong = "a partition has no host in the end that goes on with it";
    }
    check_links(world);
    check_shares(world);
}

/* Partitions for all hosts, which have begun. */
static void let_several_work(struct world *world)
{
    for (uint64_t i = 0; i < PARTITIONS; i++) {
        const struct host *host = &world->hosts[draw_below(&world->draw, HOSTS)];
        tri_hosts_model_give(&world->model, i, host->registry->self);
    }
}

/* What has happened in all seeds. */
struct counts {
    uint64_t takes;
    uint64_t handed_on;
    uint64_t given;
};

/* What is wrong in a seed; NULL: nothing. */
static const char *play(uint64_t seed, enum bug bug, struct counts *counts)
{
    static const uint32_t speeds[] = {50, 100, 100, 200};
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->draw.state = seed;
    world->bug = bug;
    world->stays_without = seed % 4 < 2;
    world->all_come = seed % 3 == 0;
    world->model.takes_whatever_was_seen = bug == TAKES_UNSEEN;
    world->model.keeps_incarnation = bug == KEEPS_INCARNATION;
    world->model.gives_whatever_it_has = bug == GIVES_LOST;
    for (size_t i = 0; i < HOSTS; i++) {
        struct host *host = &world->hosts[i];
        (void)snprintf(host->name, sizeof host->name, "h%zu", i);
        host->speed = speeds[draw_below(&world->draw, TR_COUNT_OF(speeds))];
        host->clock_us = draw_below(&world->draw, 1000000000);
        begin(world, host);
    }
    if (seed % 2 == 0) {
        let_several_work(world);
    }
    pass(world, FAULTS_MS, true);
    for (size_t i = 0; i < HOSTS; i++) {
        world->hosts[i].still_ms = 0;
        world->hosts[i].away_ms = 0;
        /* One of half speed would be lost for one of double speed again and again. */
        world->hosts[i].speed = world->all_come ? 100 : world->hosts[i].speed;
    }
    check_end(world);
    const char *wrong = world->wrong;
    counts->takes += world->takes;
    counts->handed_on += world->handed_on;
    counts->given += world->given;
    for (size_t i = 0; i < HOSTS; i++) {
        end(&world->hosts[i]);
    }
    free(world);
    return wrong;
}

static void test_work_has_one_host(void **state)
{
    struct counts counts = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const char *wrong = play(seed, SOUND, &counts);
        if (wrong != NULL) {
            print_error("seed %llu: %s\n", (unsigned long long)seed, wrong);
        }
        assert_null(wrong);
    }
    assert_true(counts.takes > SEEDS); /* it happens all the time */
    assert_true(counts.handed_on > SEEDS / 10);
    assert_true(counts.given > SEEDS);
}

static void test_planted_mistakes_are_found(void **state)
{
    static const enum bug bugs[] = {TAKES_UNSEEN,   KEEPS_INCARNATION, COUNTS_OUTAGE,
                                    LOOKS_AT_FIRST, LISTENS_ONCE,      GIVES_LOST};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(bugs); i++) {
        struct counts counts = {0};
        uint64_t seed = 1;
        while (seed <= SEEDS_OF_BUG && play(seed, bugs[i], &counts) == NULL) {
            seed++;
        }
        print_message("mistake %d: found by seed %llu\n", (int)bugs[i], (unsigned long long)seed);
        assert_true(seed <= SEEDS_OF_BUG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_has_one_host),
        cmocka_unit_test(test_planted_mistakes_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
