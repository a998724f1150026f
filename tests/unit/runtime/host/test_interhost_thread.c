/*
 * Two real hosts, with threads and stores, over ZeroMQ on this machine: what the sessions and
 * interhost actors promise holds there too, also when one of them ends and starts again.
 */
#include "tests/unit/runtime/host/talkers.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/host/host.h"
#include "runtime/host/interhost_thread.h"
#include "runtime/store_open.h"

static char folders[2][64];
static char addresses[3][64]; /* the last of the host that follows another */
static bool has_keys;
static struct tr_wire_keys keys[2];

static struct tr_host_options options_of(uint32_t index, struct tr_peer *peer)
{
    *peer = (struct tr_peer){.number = (uint16_t)(2 - index),
                             .address = addresses[1 - index],
                             .key = has_keys ? keys[1 - index].public_key : NULL};
    return (struct tr_host_options){
        .worker_count = 2,
        .durability = TR_DURABILITY_PROCESS,
        .folder = folders[index],
        .behaviours = talkers_behaviours,
        .behaviour_count = talkers_behaviour_count,
        .number = (uint16_t)(index + 1),
        .listen = addresses[index],
        .keys = has_keys ? &keys[index] : NULL,
        .peers = peer,
        .peer_count = 1,
    };
}

static struct tr_host *start(uint32_t index)
{
    struct tr_peer peer;
    struct tr_host_options options = options_of(index, &peer);
    char words[TRI_STORE_EXPLAIN_BYTES];
    struct tr_host *host = NULL;
    int error = tr_host_new(&options, words, &host);
    if (error != 0) {
        fail_msg("%s", words);
    }
    assert_int_equal(tr_host_start(host), 0);
    return host;
}

static int make_folders(void **state)
{
    (void)state;
    int base = 10000 + (int)(getpid() % 7000) * 3; /* below what the system gives away */
    snprintf(addresses[2], sizeof addresses[2], "tcp://127.0.0.1:%d", base + 2);
    for (int i = 0; i < 2; i++) {
        snprintf(folders[i], sizeof folders[i], "/tmp/troupe-interhost-XXXXXX");
        assert_non_null(mkdtemp(folders[i]));
        snprintf(addresses[i], sizeof addresses[i], "tcp://127.0.0.1:%d", base + i);
        memset(keys[i].secret_key, i + 1, sizeof keys[i].secret_key);
        tr_wire_keys_derive(&keys[i]);
    }
    return 0;
}

static int remove_folders(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        char command[160];
        snprintf(command, sizeof command, "rm -rf '%s'", folders[i]);
        assert_int_equal(system(command), 0);
    }
    return 0;
}

static void tells_across_tcp(void **state)
{
    (void)state;
    struct tr_host *hosts[2] = {start(0), start(1)};
    struct tr_ref listener = talkers_listen(hosts[1]);
    talkers_speak(hosts[0], listener);
    int reason = 1;
    assert_int_equal(tr_host_wait(hosts[1], listener, TALKERS_WAIT_MS, &reason), 0);
    assert_int_equal(reason, 0);
    tr_host_free(hosts[0]);
    tr_host_free(hosts[1]);
}

static void tells_across_encrypted_tcp(void **state)
{
    has_keys = true;
    tells_across_tcp(state);
    has_keys = false;
}

/* Neither knew of the other when it began. */
static void tells_a_host_that_came_later(void **state)
{
    struct tr_host *hosts[2];
    struct tr_peer peers[2];
    int reason = 1;
    (void)state;
    has_keys = true;
    for (uint32_t i = 0; i < 2; i++) {
        struct tr_host_options options = options_of(i, &peers[i]);
        options.peer_count = 0;
        assert_int_equal(tr_host_new(&options, NULL, &hosts[i]), 0);
        assert_int_equal(tr_host_start(hosts[i]), 0);
    }
    struct tr_ref listener = talkers_listen(hosts[1]);
    const struct tr_peer itself = {.number = 1, .address = addresses[0]};
    assert_int_equal(tri_interhost_thread_tell_peer(hosts[0], &itself), TR_INVALID);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(tri_interhost_thread_tell_peer(hosts[i], &peers[i]), 0);
    }
    talkers_speak(hosts[0], listener);
    assert_int_equal(tr_host_wait(hosts[1], listener, TALKERS_WAIT_MS, &reason), 0);
    assert_int_equal(reason, 0);
    tr_host_free(hosts[0]);
    tr_host_free(hosts[1]);
    has_keys = false;
}

static void goes_on_when_the_other_host_starts_again(void **state)
{
    (void)state;
    struct tr_host *hosts[2] = {start(0), start(1)};
    struct tr_ref listener = talkers_listen(hosts[1]);
    tr_host_free(hosts[1]);
    talkers_speak(hosts[0], listener);
    tr_host_free(hosts[0]); /* what it has said waits in its store */
    hosts[1] = start(1);
    hosts[0] = start(0);
    int reason = 1;
    int error = tr_host_wait(hosts[1], listener, TALKERS_WAIT_MS, &reason);
    assert_int_equal(error, 0);
    assert_true(reason == 0 || reason == TR_NO_ACTOR); /* or it had ended before it was asked for */
    tr_host_free(hosts[0]);
    tr_host_free(hosts[1]);
}

/* What host 2 has not heard, host 3 does, which has its store and its partition. */
static void goes_on_with_the_host_that_has_the_store_now(void **state)
{
    (void)state;
    static const uint16_t now[] = {0, 1, 3};
    const struct tr_peer others[] = {{.number = 2, .address = addresses[1]},
                                     {.number = 3, .address = addresses[2]}};
    struct tr_peer peer;
    struct tr_host *hosts[2] = {NULL, start(1)};
    struct tr_host_options options = options_of(0, &peer);
    options.peers = others;
    options.peer_count = 2;
    assert_int_equal(tr_host_new(&options, NULL, &hosts[0]), 0);
    assert_int_equal(tr_host_start(hosts[0]), 0);
    struct tr_ref listener = talkers_listen(hosts[1]);
    tr_host_free(hosts[1]);
    talkers_speak(hosts[0], listener);
    options = options_of(1, &peer);
    options.number = 3;
    options.listen = addresses[2];
    options.partitions = now;
    options.partition_count = 3;
    options.view = 1;
    assert_int_equal(tr_host_new(&options, NULL, &hosts[1]), 0);
    assert_int_equal(tr_host_start(hosts[1]), 0);
    assert_int_equal(tri_interhost_thread_tell_owners(hosts[0], 1, now, 3), 0);
    int reason = 1;
    assert_int_equal(tr_host_wait(hosts[1], listener, TALKERS_WAIT_MS, &reason), 0);
    assert_true(reason == 0 || reason == TR_NO_ACTOR);
    tr_host_free(hosts[0]);
    tr_host_free(hosts[1]);
}

/* The store of a host that has ended, to be read. */
static struct tri_store *open_left(uint32_t index)
{
    struct tri_store_options options = {
        .folder = folders[index], .durability = TR_DURABILITY_PROCESS, .read_only = true};
    char words[TRI_STORE_EXPLAIN_BYTES];
    struct tri_store *store = NULL;
    if (tri_store_open(&options, words, &store) != 0) {
        fail_msg("%s", words);
    }
    return store;
}

/*
 * Host 2 is lost, and host 1, which runs, goes on with what it had: the listener hears the rest of
 * what was said to it, in order, without a start.
 */
static void takes_what_a_lost_host_had(void **state)
{
    (void)state;
    static const uint16_t now[] = {0, 1, 1};
    static const uint32_t epochs[] = {0, 1, 1};
    const struct tr_host_view view = {.view = 1, .hosts = now, .epochs = epochs, .count = 3};
    const struct tr_host_view early = {.view = 0, .hosts = now, .count = 3};
    struct tr_host *hosts[2] = {start(0), start(1)};
    struct tr_ref listener = talkers_listen(hosts[1]);
    tr_host_free(hosts[1]);
    talkers_speak(hosts[0], listener);
    struct tri_store *left = open_left(1);
    assert_int_equal(tr_host_take(hosts[0], &early, left), TR_EXISTS);
    assert_int_equal(tr_host_take(hosts[0], &view, left), 0);
    assert_int_equal(tr_host_take(hosts[0], &view, left), TR_EXISTS);
    tri_store_close(left);
    int reason = 1;
    assert_int_equal(tr_host_wait(hosts[0], listener, TALKERS_WAIT_MS, &reason), 0);
    assert_true(reason == 0 || reason == TR_NO_ACTOR); /* or it had ended before it was asked for */
    struct tr_ref again = talkers_listen(hosts[0]);
    talkers_speak(hosts[0], again); /* whichever partition it is in */
    assert_int_equal(tr_host_wait(hosts[0], again, TALKERS_WAIT_MS, &reason), 0);
    assert_int_equal(reason, 0);
    tr_host_free(hosts[0]);
}

static void refuses_owners_that_cannot_be(void **state)
{
    (void)state;
    static const uint16_t loses[] = {0, 2, 2};
    static const uint16_t unknown[] = {0, 1, 9};
    static const uint16_t many[TR_PARTITIONS_MAX + 1];
    struct tr_host *host = start(0);
    assert_int_equal(tri_interhost_thread_tell_owners(host, 1, loses, 3), TR_INVALID);
    assert_int_equal(tri_interhost_thread_tell_owners(host, 1, unknown, 3), TR_NOT_FOUND);
    assert_int_equal(tri_interhost_thread_tell_owners(host, 1, many, TR_PARTITIONS_MAX + 1),
                     TR_INVALID);
    tr_host_free(host);
}

static void refuses_what_cannot_be(void **state)
{
    (void)state;
    struct tr_peer peer;
    struct tr_host_options options = options_of(0, &peer);
    struct tr_host *host = NULL;
    char words[TRI_STORE_EXPLAIN_BYTES];
    options.durability = TR_DURABILITY_NONE;
    assert_int_equal(tr_host_new(&options, words, &host), TR_INVALID);
    assert_non_null(strstr(words, "needs a store"));
    options = options_of(0, &peer);
    options.listen = "tcp://0.0.0.0:7070";
    assert_int_equal(tr_host_new(&options, NULL, &host), 0);
    assert_int_equal(tr_host_start(host), TR_INVALID);
    tr_host_free(host);
    options = options_of(0, &peer);
    peer.number = 1;
    assert_int_equal(tr_host_new(&options, words, &host), TR_INVALID);
}

static void refuses_the_store_of_another_number(void **state)
{
    (void)state;
    struct tr_host *host = start(1);
    (void)talkers_listen(host);
    tr_host_free(host);
    struct tr_peer peer;
    struct tr_host_options options = options_of(1, &peer);
    options.number = 7;
    char words[TRI_STORE_EXPLAIN_BYTES];
    assert_int_equal(tr_host_new(&options, words, &host), TR_INVALID);
    assert_non_null(strstr(words, "host 7"));
    options.number = 0;
    options.peer_count = 0;
    assert_int_equal(tr_host_new(&options, words, &host), TR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tells_across_tcp, make_folders, remove_folders),
        cmocka_unit_test_setup_teardown(tells_across_encrypted_tcp, make_folders, remove_folders),
        cmocka_unit_test_setup_teardown(tells_a_host_that_came_later, make_folders, remove_folders),
        cmocka_unit_test_setup_teardown(goes_on_when_the_other_host_starts_again, make_folders,
                                        remove_folders),
        cmocka_unit_test_setup_teardown(goes_on_with_the_host_that_has_the_store_now, make_folders,
                                        remove_folders),
        cmocka_unit_test_setup_teardown(takes_what_a_lost_host_had, make_folders, remove_folders),
        cmocka_unit_test_setup_teardown(refuses_owners_that_cannot_be, make_folders,
                                        remove_folders),
        cmocka_unit_test_setup_teardown(refuses_what_cannot_be, make_folders, remove_folders),
        cmocka_unit_test_setup_teardown(refuses_the_store_of_another_number, make_folders,
                                        remove_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
