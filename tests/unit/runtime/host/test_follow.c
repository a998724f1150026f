/*
 * Hosts that work beside each other on one store in PostgreSQL, each a process, which know of each
 * other by the store's table of hosts alone: they find each other, also when one has begun anew
 * elsewhere, and the one that is left goes on with what a killed one had.
 */
#include "runtime/host/follow.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/host/host_members.h"
#include "runtime/journal/store_folder.h"
#include "runtime/store_care.h"
#include "runtime/store_open.h"
#include "runtime/store_place.h"
#include "tests/support/scripted.h"
#include "tests/unit/runtime/host/talkers.h"
#include "tests/unit/runtime/stand.h"

#define PARTITIONS 4
#define ROUND_MS 50

/* What does not come is missed after so many rounds. */
#define ROUNDS_MAX (TALKERS_WAIT_MS / ROUND_MS)

static struct stand *stand;
static char folders[2][SCRIPTED_PATH_BYTES];
static char addresses[3][64]; /* the last of the first host when it has begun anew */
static pid_t processes[2];    /* that run; 0: none */
static uint32_t lease_ms;     /* of both */

/* Host 1 or 2 is that of its folder, and has half of the partitions. */
static void join(uint32_t index)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    char machine[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    uint8_t place[TRI_STORE_PLACE_BYTES_MAX];
    struct tri_store_member member = {
        .name = index == 0 ? "a" : "b", .blobs = "/blobs", .lease_ms = TRI_MEMBER_LEASE_MS_MAX};
    struct tri_registry *registry = NULL;
    if (tri_store_registry_open(NULL, stand->locator, false, explain, &registry) != 0) {
        fail_msg("%s", explain);
    }
    assert_int_equal(tri_store_describe_member(folders[index], place, machine, &member, NULL), 0);
    assert_int_equal(tri_registry_join(registry, &member), 0);
    assert_int_equal(registry->self, index + 1);
    tri_registry_close(registry);
}

static int begin(void **state)
{
    struct tri_store_options options;
    bool was_made = false;
    int base = 20000 + (int)(getpid() % 3000) * 3; /* below what the system gives away */
    (void)state;
    stand = stand_new(STAND_POSTGRES);
    options = (struct tri_store_options){
        .locator = stand->locator, .partitions = PARTITIONS, .durability = TR_DURABILITY_FULL};
    assert_int_equal(tri_store_init(&options, NULL, &was_made), 0);
    for (uint32_t i = 0; i < TR_COUNT_OF(addresses); i++) {
        snprintf(addresses[i], sizeof addresses[i], "tcp://127.0.0.1:%d", base + (int)i);
    }
    for (uint32_t i = 0; i < 2; i++) {
        scripted_folder(folders[i]);
        assert_int_equal(tri_store_folder_bind(folders[i], stand->locator, NULL), 0);
        join(i);
    }
    stand_spoil(stand, "UPDATE partitions SET host = 1 + number % 2");
    return 0;
}

/* A test that has failed leaves none behind. */
static void end_process(size_t place)
{
    if (processes[place] != 0) {
        (void)kill(processes[place], SIGKILL);
        (void)waitpid(processes[place], NULL, 0);
        processes[place] = 0;
    }
}

static int end(void **state)
{
    (void)state;
    end_process(0);
    end_process(1);
    scripted_folder_remove(folders[0]);
    scripted_folder_remove(folders[1]);
    stand_free(stand);
    return 0;
}

static struct tr_host_options options_of(uint32_t index, const char *address)
{
    return (struct tr_host_options){
        .worker_count = 2,
        .durability = TR_DURABILITY_FULL,
        .folder = folders[index],
        .host_name = index == 0 ? "a" : "b",
        .blobs = "/blobs",
        .lease_ms = lease_ms,
        .behaviours = talkers_behaviours,
        .behaviour_count = talkers_behaviour_count,
        .is_member = true,
        .listen = address,
    };
}

static struct tr_host *start(uint32_t index, const char *address)
{
    const struct tr_host_options options = options_of(index, address);
    char words[TRI_STORE_EXPLAIN_BYTES];
    struct tr_host *host = NULL;
    if (tr_host_new(&options, words, &host) != 0) {
        fail_msg("%s", words);
    }
    assert_int_equal(tr_host_start(host), 0);
    return host;
}

/* One round of what a program of a member does. */
static void follow(struct tr_host *host)
{
    int error = tr_host_follow(host);
    if (error == 0) {
        error = tr_host_poll(host, -1, ROUND_MS);
    }
    if (error != 0) {
        fail_msg("%s %s", tr_error_text(error), tr_host_explain(host));
    }
}

/* Follows until an actor that is monitored has ended, and returns the reason. */
static int follow_until_ended(struct tr_host *host, struct tr_ref actor, uint64_t monitor)
{
    int reason = 1;
    int error = TR_NOT_FOUND;
    for (int i = 0; error == TR_NOT_FOUND; i++) {
        assert_true(i < ROUNDS_MAX);
        follow(host);
        error = tr_host_ended(host, actor, monitor, &reason);
    }
    assert_int_equal(error, 0);
    return reason;
}

/* ---- Host 1, in a process of its own. -------------------------------------------------------- */

struct apart {
    size_t place;
    int told;   /* what it says */
    int asking; /* by which it is told */
};

static void say(int descriptor, const void *bytes, size_t size)
{
    assert_int_equal(write(descriptor, bytes, size), (ssize_t)size);
}

static void hear(const struct apart *apart, void *bytes, size_t size)
{
    assert_int_equal(read(apart->told, bytes, size), (ssize_t)size);
}

/* A process whose body runs until it is killed. */
static struct apart begin_apart(size_t place, void (*body)(int telling, int waiting))
{
    int tells[2];
    int asks[2];
    assert_int_equal(pipe(tells), 0);
    assert_int_equal(pipe(asks), 0);
    struct apart apart = {.place = place, .told = tells[0], .asking = asks[1]};
    processes[place] = fork();
    assert_true(processes[place] >= 0);
    if (processes[place] == 0) {
        body(tells[1], asks[0]);
        _exit(1);
    }
    (void)close(tells[1]);
    (void)close(asks[0]);
    return apart;
}

static void end_apart(struct apart *apart)
{
    end_process(apart->place);
    (void)close(apart->told);
    (void)close(apart->asking);
}

/* Listens twice, says where, and goes on. */
static void listen_twice(int telling, int waiting)
{
    struct tr_ref listeners[2];
    struct tr_host *host = start(0, addresses[0]);
    (void)waiting;
    for (size_t i = 0; i < 2; i++) {
        listeners[i] = talkers_listen(host);
    }
    say(telling, listeners, sizeof listeners);
    while (true) {
        follow(host);
    }
}

/* Waits until it may begin, listens elsewhere by another key, and says how a listener has ended. */
static void begin_anew(int telling, int waiting)
{
    struct tr_ref listener;
    uint64_t monitor = 0;
    assert_int_equal(read(waiting, &listener, sizeof listener), sizeof listener);
    struct tr_host *host = start(0, addresses[2]);
    assert_int_equal(tr_host_monitor(host, listener, &monitor), 0);
    int reason = follow_until_ended(host, listener, monitor);
    say(telling, &reason, sizeof reason);
    while (true) {
        follow(host);
    }
}

/* Listens, says where, and goes on; what it is told then it speaks to. */
static void speak_when_told(int telling, int waiting)
{
    struct tr_ref listener;
    struct tr_host *host = start(0, addresses[0]);
    struct pollfd event = {.fd = waiting, .events = POLLIN};
    listener = talkers_listen(host);
    say(telling, &listener, sizeof listener);
    while (true) {
        follow(host);
        if (poll(&event, 1, 0) > 0) {
            assert_int_equal(read(waiting, &listener, sizeof listener), sizeof listener);
            talkers_speak(host, listener);
        }
    }
}

/* ---- Host 2. --------------------------------------------------------------------------------- */

static void goes_on_with_what_a_killed_host_had(void **state)
{
    struct tr_ref listeners[2];
    uint64_t monitor = 0;
    int reason = 1;
    (void)state;
    lease_ms = TRI_MEMBER_LEASE_MS_MIN;
    struct apart first = begin_apart(0, listen_twice);
    hear(&first, listeners, sizeof listeners);
    struct tr_host *host = start(1, addresses[1]);
    assert_int_equal(tr_host_monitor(host, listeners[0], &monitor), 0);
    talkers_speak(host, listeners[0]);
    assert_int_equal(follow_until_ended(host, listeners[0], monitor), 0);
    end_apart(&first);
    talkers_speak(host, listeners[1]); /* it waits here */
    for (int i = 0; tri_owners_count(&host->shared.owners, 2) < PARTITIONS; i++) {
        assert_true(i < ROUNDS_MAX);
        follow(host);
    }
    assert_int_equal(tr_host_wait(host, listeners[1], TALKERS_WAIT_MS, &reason), 0);
    assert_true(reason == 0 || reason == TR_NO_ACTOR); /* or it had ended before it was asked for */
    struct tr_ref again = talkers_listen(host);
    talkers_speak(host, again);
    assert_int_equal(tr_host_wait(host, again, TALKERS_WAIT_MS, &reason), 0);
    assert_int_equal(reason, 0);
    tr_host_free(host);
}

/* Host 2 as one that comes: it has joined, and says where it will listen. */
static struct tri_registry *come(void)
{
    static const uint8_t key[TR_WIRE_KEY_BYTES] = {1};
    struct tri_member_view view = {.count = 0};
    struct tri_registry *registry = NULL;
    assert_int_equal(tri_store_registry_open(folders[1], NULL, false, NULL, &registry), 0);
    assert_int_equal(tri_registry_look(registry, &view), 0);
    const struct tri_member *own = tri_member_view_find(&view, 2);
    assert_non_null(own);
    registry->self = own->number;
    registry->incarnation = own->signs.incarnation;
    assert_int_equal(tri_registry_listen(registry, addresses[1], key), 0);
    return registry;
}

/* Whether it has some of the work, as its look shows, by which it lives. */
static bool has_some(struct tri_registry *registry)
{
    struct tri_member_view view = {.count = 0};
    assert_int_equal(tri_registry_look(registry, &view), 0);
    return tri_member_view_find(&view, registry->self)->owned > 0;
}

/*
 * A host that comes gets partitions in which nothing lies, and its groups are born there; those of
 * the first host stay where they are, and both speak to each other.
 */
static void gets_partitions_when_it_comes(void **state)
{
    struct tr_ref theirs;
    uint64_t monitor = 0;
    int reason = 1;
    (void)state;
    lease_ms = TRI_MEMBER_LEASE_MS_MAX;
    stand_spoil(stand, "UPDATE partitions SET host = 1");
    struct apart first = begin_apart(0, speak_when_told);
    hear(&first, &theirs, sizeof theirs);
    struct tri_registry *registry = come();
    for (int i = 0; !has_some(registry); i++) {
        assert_true(i < ROUNDS_MAX);
        (void)poll(NULL, 0, ROUND_MS);
    }
    tri_registry_close(registry);
    struct tr_host *host = start(1, addresses[1]);
    uint64_t owned = tri_owners_count(&host->shared.owners, 2);
    assert_true(owned >= 1 && owned <= PARTITIONS / 2);
    assert_false(tri_owners_is_here(&host->shared.owners, theirs.key.group));
    assert_int_equal(tr_host_monitor(host, theirs, &monitor), 0);
    talkers_speak(host, theirs);
    assert_int_equal(follow_until_ended(host, theirs, monitor), 0);
    struct tr_ref own = talkers_listen(host);
    assert_true(tri_owners_is_here(&host->shared.owners, own.key.group));
    assert_int_equal(tr_host_monitor(host, own, &monitor), 0);
    say(first.asking, &own, sizeof own);
    reason = follow_until_ended(host, own, monitor);
    assert_true(reason == 0 || reason == TR_NO_ACTOR);
    end_apart(&first);
    tr_host_free(host);
}

/* In whichever partition a group begins, it is heard there. */
static void speak_everywhere(struct tr_host *host)
{
    int reason = 1;
    for (int i = 0; i < 2 * PARTITIONS; i++) {
        struct tr_ref listener = talkers_listen(host);
        talkers_speak(host, listener);
        assert_int_equal(tr_host_wait(host, listener, TALKERS_WAIT_MS, &reason), 0);
        assert_int_equal(reason, 0);
    }
}

/* Host 1, which has all and knows where it listens. */
static struct tr_host *start_with_all(void)
{
    stand_spoil(stand, "UPDATE partitions SET host = 1");
    struct tr_host *host = start(0, addresses[0]);
    for (int i = 0; i < 2 * TRI_MEMBER_BEAT_MS / ROUND_MS; i++) {
        follow(host);
    }
    return host;
}

/* Whoever has left when partitions are given to it gets none, and the first host goes on there. */
static void takes_back_what_nobody_has_got(void **state)
{
    (void)state;
    lease_ms = TRI_MEMBER_LEASE_MS_MAX;
    struct tr_host *host = start_with_all();
    struct tri_registry *registry = come();
    stand_spoil(stand, "CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                       " UPDATE hosts SET state = 2 WHERE number = 2; RETURN NEW; END $$;"
                       "CREATE TRIGGER leaves AFTER UPDATE ON cluster FOR EACH ROW"
                       " EXECUTE FUNCTION leave()");
    const struct tri_owners *owners = &host->shared.owners;
    for (int i = 0; tri_owners_count(owners, 1) == PARTITIONS; i++) {
        assert_true(i < ROUNDS_MAX);
        follow(host);
    }
    for (int i = 0; tri_owners_count(owners, 1) < PARTITIONS; i++) {
        assert_true(i < ROUNDS_MAX);
        speak_everywhere(host);
        follow(host);
    }
    assert_false(has_some(registry));
    speak_everywhere(host);
    tri_registry_close(registry);
    tr_host_free(host);
}

/* It is lost before it begins: what it got comes back, and nothing was there. */
static void takes_over_from_a_host_that_never_began(void **state)
{
    (void)state;
    lease_ms = TRI_MEMBER_LEASE_MS_MIN;
    struct tr_host *host = start_with_all();
    stand_spoil(stand, "UPDATE hosts SET lease_ms = 3000");
    struct tri_registry *registry = come();
    for (int i = 0; !has_some(registry); i++) {
        assert_true(i < ROUNDS_MAX);
        follow(host);
    }
    tri_registry_close(registry);
    const struct tri_owners *owners = &host->shared.owners;
    assert_true(tri_owners_count(owners, 1) < PARTITIONS);
    speak_everywhere(host);
    for (int i = 0; tri_owners_count(owners, 1) < PARTITIONS; i++) {
        assert_true(i < ROUNDS_MAX);
        follow(host);
    }
    speak_everywhere(host);
    tr_host_free(host);
}

/* Some in partitions of either host. */
#define SINGLETONS 8

static void get_singletons(struct tr_host *host, struct tr_ref *singletons)
{
    for (uint32_t shard = 0; shard < SINGLETONS; shard++) {
        assert_int_equal(tr_host_singleton(host, talkers_behaviours[0], tr_text_of("listener"),
                                           shard, &singletons[shard]),
                         0);
    }
}

static void ask_for_all(int telling, int waiting)
{
    struct tr_ref singletons[SINGLETONS];
    struct tr_host *host = start(0, addresses[0]);
    (void)waiting;
    get_singletons(host, singletons);
    say(telling, singletons, sizeof singletons);
    while (true) {
        follow(host);
    }
}

static size_t count_here(const struct tr_host *host, const struct tr_ref *singletons)
{
    size_t count = 0;
    for (size_t i = 0; i < SINGLETONS; i++) {
        count += tri_owners_is_here(&host->shared.owners, singletons[i].key.group);
    }
    return count;
}

/*
 * Each is there once, whoever asks for it; whoever asks while its host is lost gets it when it has
 * gone on elsewhere.
 */
static void a_singleton_is_there_once(void **state)
{
    struct tr_ref theirs[SINGLETONS];
    struct tr_ref ours[SINGLETONS];
    (void)state;
    lease_ms = TRI_MEMBER_LEASE_MS_MIN;
    struct apart first = begin_apart(0, ask_for_all);
    struct tr_host *host = start(1, addresses[1]);
    get_singletons(host, ours);
    hear(&first, theirs, sizeof theirs);
    assert_memory_equal(ours, theirs, sizeof ours);
    size_t here = count_here(host, ours);
    assert_true(here > 0 && here < SINGLETONS);
    end_apart(&first);
    get_singletons(host, theirs);
    assert_memory_equal(ours, theirs, sizeof ours);
    assert_int_equal(count_here(host, ours), SINGLETONS);
    assert_int_equal(tri_owners_count(&host->shared.owners, 2), PARTITIONS);
    tr_host_free(host);
}

#define WORDS_BYTES 400

/* What a program is asked before groups come. */
struct preparing {
    int refusals; /* how often it is not ready */
    int count;
    bool partitions[PARTITIONS];
};

static int prepare(void *program, const bool *partitions, size_t count)
{
    struct preparing *preparing = program;
    assert_int_equal(count, PARTITIONS);
    memcpy(preparing->partitions, partitions, sizeof preparing->partitions);
    return preparing->count++ < preparing->refusals ? TR_BUSY : 0;
}

/* Groups come when the program is ready for them, and not before. */
static void lets_the_program_prepare_what_comes(void **state)
{
    struct tr_ref listeners[2];
    struct preparing preparing = {.refusals = 2};
    char words[TRI_STORE_EXPLAIN_BYTES];
    struct tr_host *host = NULL;
    (void)state;
    lease_ms = TRI_MEMBER_LEASE_MS_MIN;
    struct apart first = begin_apart(0, listen_twice);
    hear(&first, listeners, sizeof listeners);
    struct tr_host_options options = options_of(1, addresses[1]);
    options.program = &preparing;
    options.before_taking = prepare;
    assert_int_equal(tr_host_new(&options, words, &host), 0);
    assert_int_equal(tr_host_start(host), 0);
    talkers_speak(host, listeners[0]);
    follow(host);
    assert_int_equal(preparing.count, 0);
    end_apart(&first);
    for (int i = 0; preparing.count <= preparing.refusals; i++) {
        assert_true(i < ROUNDS_MAX);
        assert_int_equal(tri_owners_count(&host->shared.owners, 2), PARTITIONS / 2);
        (void)!tr_host_follow(host);
        assert_int_equal(tr_host_poll(host, -1, ROUND_MS), 0);
    }
    assert_int_equal(tri_owners_count(&host->shared.owners, 2), PARTITIONS);
    assert_int_equal(preparing.count, preparing.refusals + 1);
    for (size_t i = 0; i < PARTITIONS; i++) {
        assert_int_equal(preparing.partitions[i], i % 2 == 0); /* those of the first host */
    }
    tr_host_free(host);
}

static uint64_t now_ms(const struct tr_host *host)
{
    return tri_life_steady_ms(&host->shared.life, tri_monotonic_ns(host->env));
}

/* What the process service is told of an attempt. */
static int ask_lost(struct tr_host *host, uint64_t group, uint64_t asked_ms, char *words)
{
    const struct tri_process_hosts *hosts = tri_host_members_processes(host);
    words[0] = '\0';
    return hosts->lost(hosts->self, group, asked_ms, words, WORDS_BYTES);
}

static void expect_lost(struct tr_host *host, uint64_t group, uint64_t asked_ms, int error,
                        const char *what)
{
    char words[WORDS_BYTES];
    for (int i = 0; ask_lost(host, group, asked_ms, words) != error; i++) {
        if (i >= ROUNDS_MAX) {
            fail_msg("%s", words);
        }
        follow(host);
    }
    if (strstr(words, what) == NULL) {
        fail_msg("%s", words);
    }
}

/*
 * What a lost host may still run is not begun anew before that has ended; what is asked for later,
 * or elsewhere, begins at once. A start knows it, too.
 */
static void knows_which_attempts_a_lost_host_had(void **state)
{
    struct tr_ref listeners[2];
    (void)state;
    lease_ms = TRI_MEMBER_LEASE_MS_MIN;
    struct apart first = begin_apart(0, listen_twice);
    hear(&first, listeners, sizeof listeners);
    struct tr_host *host = start(1, addresses[1]);
    const uint64_t theirs = listeners[1].key.group;
    const uint64_t ours = talkers_listen(host).key.group;
    const uint64_t asked_ms = tri_life_steady_ms(&host->shared.life, host->shared.life.start_ns);
    talkers_speak(host, listeners[0]);
    end_apart(&first);
    stand_spoil(stand, "UPDATE hosts SET processes = 1 WHERE number = 1");
    for (int i = 0; tri_owners_count(&host->shared.owners, 2) < PARTITIONS; i++) {
        assert_true(i < ROUNDS_MAX);
        follow(host);
    }
    expect_lost(host, theirs, asked_ms, TR_BUSY, "it began on host a, dead since");
    expect_lost(host, theirs, now_ms(host), 0, "");
    expect_lost(host, ours, asked_ms, 0, "");
    stand_spoil(stand, "UPDATE hosts SET processes = 0 WHERE number = 1");
    expect_lost(host, theirs, asked_ms, TR_CLOSED, "it ran on host a");
    tr_host_free(host);
    host = start(1, addresses[1]);
    expect_lost(host, theirs, asked_ms, TR_CLOSED, "it ran on host a");
    expect_lost(host, theirs, now_ms(host), 0, "");
    expect_lost(host, ours, asked_ms, 0, "");
    tr_host_free(host);
}

static void finds_a_host_that_has_begun_anew_elsewhere(void **state)
{
    struct tr_ref listeners[2];
    int reason = 1;
    (void)state;
    lease_ms = TRI_MEMBER_LEASE_MS_MAX;
    struct apart later = begin_apart(1, begin_anew);
    struct apart first = begin_apart(0, listen_twice);
    hear(&first, listeners, sizeof listeners);
    struct tr_host *host = start(1, addresses[1]);
    end_apart(&first);
    talkers_speak(host, listeners[1]); /* it waits here */
    say(later.asking, &listeners[1], sizeof listeners[1]);
    struct pollfd event = {.fd = later.told, .events = POLLIN};
    for (int i = 0; poll(&event, 1, 0) == 0; i++) {
        assert_true(i < ROUNDS_MAX);
        follow(host);
    }
    hear(&later, &reason, sizeof reason);
    assert_true(reason == 0 || reason == TR_NO_ACTOR); /* or it had ended before it was asked for */
    assert_int_equal(tri_owners_count(&host->shared.owners, 2), PARTITIONS / 2);
    end_apart(&later);
    tr_host_free(host);
}

static void expect_refused(const struct tr_host_options *options, const char *what)
{
    char words[TRI_STORE_EXPLAIN_BYTES];
    struct tr_host *host = NULL;
    assert_int_equal(tr_host_new(options, words, &host), TR_INVALID);
    if (strstr(words, what) == NULL) {
        fail_msg("%s", words);
    }
}

static void refuses_what_members_cannot_do(void **state)
{
    char folder[SCRIPTED_PATH_BYTES];
    (void)state;
    struct tr_host_options options = options_of(0, NULL);
    expect_refused(&options, "has to listen");
    scripted_folder(folder);
    options = options_of(0, addresses[0]);
    options.folder = folder;
    expect_refused(&options, "needs a store in a database");
    scripted_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(goes_on_with_what_a_killed_host_had, begin, end),
        cmocka_unit_test_setup_teardown(gets_partitions_when_it_comes, begin, end),
        cmocka_unit_test_setup_teardown(takes_back_what_nobody_has_got, begin, end),
        cmocka_unit_test_setup_teardown(takes_over_from_a_host_that_never_began, begin, end),
        cmocka_unit_test_setup_teardown(finds_a_host_that_has_begun_anew_elsewhere, begin, end),
        cmocka_unit_test_setup_teardown(a_singleton_is_there_once, begin, end),
        cmocka_unit_test_setup_teardown(knows_which_attempts_a_lost_host_had, begin, end),
        cmocka_unit_test_setup_teardown(lets_the_program_prepare_what_comes, begin, end),
        cmocka_unit_test_setup_teardown(refuses_what_members_cannot_do, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
