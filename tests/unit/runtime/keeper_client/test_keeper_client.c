/*
 * The engine's end: finding, starting and losing keepers, and everything that may answer instead
 * of one.
 */
#include "runtime/keeper_client/keeper_client.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/keeper_client/keeper_folder.h"
#include "runtime/memory.h"
#include "tests/support/helper_process.h"
#include "tests/support/keeper_fixture.h"
#include "tests/support/test.h"

static int set_up(void **state)
{
    *state = fixture_new(NULL);
    return 0;
}

static int take_down(void **state)
{
    fixture_free(*state);
    assert_int_equal(tr_memory_used(), 0);
    return 0;
}

/* Waits for the next event of a client. */
static struct tri_keeper_event await_event(struct tri_keeper_client *client)
{
    struct tri_keeper_event event;
    uint64_t end_ms = tri_monotonic_ms() + WAIT_MS_MAX;
    while (tri_keeper_client_next(client, &event) != 0) {
        struct pollfd polled = {.fd = tri_keeper_client_fd(client), .events = POLLIN};
        assert_true(tri_monotonic_ms() < end_ms);
        poll(&polled, 1, 1000);
    }
    return event;
}

static void a_keeper_is_started_and_found(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    uint32_t pid = fixture->hello.pid;
    assert_true(pid > 0 && pid != (uint32_t)getpid());
    assert_int_equal(fixture->hello.protocol, TR_KEEPER_PROTOCOL);
    assert_true(fixture->hello.start_time > 0);
    fixture_disconnect(fixture);
    fixture_connect(fixture);
    assert_int_equal(fixture->hello.pid, pid);
    /* What it was started by ends about now, and is no zombie of ours for longer. */
    siginfo_t info;
    for (int i = 0; i < 400 && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0; i++) {
        fixture_listen(fixture, 5);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* It is in a session of its own and holds nothing of ours but what it opened. */
static void a_keeper_is_detached(void **state)
{
    struct keeper_fixture *fixture = *state;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0); /* not close-on-exec: a keeper closes what it inherits */
    fixture_connect(fixture);
    assert_int_not_equal(getsid((pid_t)fixture->hello.pid), getsid(0));
    close(pipes[1]);
    char byte;
    assert_int_equal(read(pipes[0], &byte, 1), 0); /* nobody holds the other end */
    close(pipes[0]);
}

static void two_clients_start_one_keeper(void **state)
{
    struct keeper_fixture *fixture = *state;
    struct tri_keeper_client *clients[8];
    uint32_t pid = 0;
    for (size_t i = 0; i < TR_COUNT_OF(clients); i++) {
        clients[i] = fixture_client(fixture, false, NULL);
        tri_keeper_client_connect(clients[i]);
    }
    for (size_t i = 0; i < TR_COUNT_OF(clients); i++) {
        struct tri_keeper_event event = await_event(clients[i]);
        assert_int_equal(event.kind, TRI_KEEPER_UP);
        assert_true(pid == 0 || pid == event.hello.pid);
        pid = event.hello.pid;
        tri_keeper_client_free(clients[i]);
    }
    fixture->hello.pid = pid;
}

static void a_passive_client_is_left_alone(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    struct tri_keeper_client *passive = fixture_client(fixture, true, NULL);
    tri_keeper_client_connect(passive);
    assert_int_equal(await_event(passive).kind, TRI_KEEPER_UP);
    struct job job = {.key = "it", .act = {"exit", "0"}};
    fixture_run(fixture, &job);
    struct tri_keeper_event event;
    assert_int_equal(tri_keeper_client_next(passive, &event), TR_NOT_FOUND);
    struct tr_process_query query = {.key = tr_text_of("it")};
    assert_int_equal(tri_keeper_client_send(passive, &tr_process_query_schema, &query), 0);
    tri_keeper_client_flush(passive);
    event = await_event(passive);
    assert_int_equal(event.packet.type, tr_process_state_schema.id);
    event = await_event(passive);
    assert_int_equal(event.packet.type, tr_process_ended_schema.id);
    tri_keeper_client_free(passive);
}

static void nothing_is_sent_while_down(void **state)
{
    struct keeper_fixture *fixture = *state;
    struct tri_keeper_event event;
    struct tr_process_query query = {.key = tr_text_of("it")};
    fixture->client = fixture_client(fixture, false, NULL);
    assert_false(tri_keeper_client_is_up(fixture->client));
    assert_int_equal(tri_keeper_client_next(fixture->client, &event), TR_NOT_FOUND);
    assert_int_equal(tri_keeper_client_send(fixture->client, &tr_process_query_schema, &query),
                     TR_NO_CONNECTION);
    tri_keeper_client_flush(fixture->client);
    fixture_connect(fixture);
    tri_keeper_client_connect(fixture->client); /* does nothing */
    fixture_kill_keeper(fixture);
    fixture_await_down(fixture);
    assert_int_equal(fixture->down_error, TR_NO_CONNECTION);
    assert_int_equal(tri_keeper_client_send(fixture->client, &tr_process_query_schema, &query),
                     TR_NO_CONNECTION);
    fixture_connect(fixture); /* and a new one is started */
}

/* Each way in which there can be no keeper is an event that says why. */
static void failures_are_told(void **state)
{
    struct keeper_fixture *fixture = *state;
    static const char *const command[] = {"program", "keeper", NULL};
    const struct {
        const char *folder;
        const char *program;
        int error;
        const char *words;
    } rows[] = {
        {"/no/such/folder", NULL, TR_SYSTEM, "No such file"},
        {fixture->folder, "/no/such/program", TR_SYSTEM, "cannot start the keeper"},
        {fixture->folder, "/bin/true", TR_SYSTEM, "ended before"},
        {fixture->folder, "/bin/echo", TR_SYSTEM, "ended before"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tri_keeper_client_options options = {
            .store_folder = rows[i].folder, .program = rows[i].program, .command = command};
        struct tri_keeper_client *client;
        assert_int_equal(tri_keeper_client_new(&options, &client), 0);
        for (int again = 0; again < 2; again++) {
            tri_keeper_client_connect(client);
            struct tri_keeper_event event = await_event(client);
            assert_int_equal(event.kind, TRI_KEEPER_DOWN);
            assert_int_equal(event.error, rows[i].error);
            assert_non_null(strstr(event.words, rows[i].words));
        }
        tri_keeper_client_free(client);
    }
    static const char *const none[] = {NULL};
    struct tri_keeper_client_options options = {.store_folder = "/tmp", .command = none};
    struct tri_keeper_client *client;
    assert_int_equal(tri_keeper_client_new(&options, &client), TR_INVALID);
}

/* ---- Somebody else at the socket. ----------------------------------------------------------- */

/* Listens in place of a keeper. */
static int pretend(struct keeper_fixture *fixture)
{
    int folder;
    int listener;
    assert_int_equal(tri_keeper_folder_open(fixture->folder, &folder), 0);
    assert_int_equal(tri_keeper_folder_listen(folder, &listener), 0);
    close(folder);
    return listener;
}

static void connect_to_pretender(struct keeper_fixture *fixture, int listener,
                                 struct tri_frames *frames)
{
    fixture->client = fixture_client(fixture, false, NULL);
    tri_keeper_client_connect(fixture->client);
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    tri_frames_init(frames, fd, TR_KEEPER_FRAME_BYTES_MAX, TR_KEEPER_OUTPUT_BYTES_MAX);
}

static void another_version_is_told(void **state)
{
    struct keeper_fixture *fixture = *state;
    struct tri_frames frames;
    int listener = pretend(fixture);
    connect_to_pretender(fixture, listener, &frames);
    struct tr_keeper_hello hello = {.protocol = 99, .protocol_oldest = 98};
    assert_int_equal(tri_frames_put(&frames, &tr_keeper_hello_schema, &hello), 0);
    assert_int_equal(tri_frames_flush(&frames), 0);
    struct tri_keeper_event event = await_event(fixture->client);
    assert_int_equal(event.kind, TRI_KEEPER_DOWN);
    assert_int_equal(event.error, TR_VERSION);
    tri_frames_fini(&frames);
    close(listener);
}

static void nonsense_is_told(void **state)
{
    struct keeper_fixture *fixture = *state;
    struct tri_frames frames;
    int listener = pretend(fixture);
    connect_to_pretender(fixture, listener, &frames);
    static const uint8_t giant[8] = {0xff, 0xff, 0xff, 0xff, 1, 44, 1, 0};
    assert_int_equal(send(frames.fd, giant, sizeof giant, 0), sizeof giant);
    assert_int_equal(await_event(fixture->client).error, TR_LIMIT);
    tri_frames_fini(&frames);
    tri_keeper_client_free(fixture->client);
    connect_to_pretender(fixture, listener, &frames);
    struct tr_process_query query = {.key = tr_text_of("who are you?")};
    assert_int_equal(tri_frames_put(&frames, &tr_process_query_schema, &query), 0);
    assert_int_equal(tri_frames_flush(&frames), 0);
    assert_int_equal(await_event(fixture->client).error, TR_UNKNOWN_TYPE);
    tri_frames_fini(&frames);
    close(listener);
}

/* A connection that ends before the hello is one to a keeper that was leaving. */
static void a_leaving_keeper_is_followed(void **state)
{
    struct keeper_fixture *fixture = *state;
    struct tri_frames frames;
    int listener = pretend(fixture);
    connect_to_pretender(fixture, listener, &frames);
    tri_frames_fini(&frames);
    close(listener);
    fixture_connect(fixture);
    assert_true(fixture->hello.pid > 0);
}

/* A frame that is cut off by the keeper's end is dropped with the connection. */
static void half_a_frame_is_none(void **state)
{
    struct keeper_fixture *fixture = *state;
    struct tri_frames frames;
    int listener = pretend(fixture);
    connect_to_pretender(fixture, listener, &frames);
    struct tr_keeper_hello hello = {.protocol = TR_KEEPER_PROTOCOL,
                                    .protocol_oldest = TR_KEEPER_PROTOCOL_OLDEST};
    assert_int_equal(tri_frames_put(&frames, &tr_keeper_hello_schema, &hello), 0);
    struct tr_keeper_session session = {.nonce = 7};
    assert_int_equal(tri_frames_put(&frames, &tr_keeper_session_schema, &session), 0);
    assert_int_equal(tri_frames_flush(&frames), 0);
    assert_int_equal(await_event(fixture->client).kind, TRI_KEEPER_UP);
    assert_int_equal(send(frames.fd, "\0\0\0\5half", 8, 0), 8);
    tri_frames_fini(&frames);
    close(listener);
    struct tri_keeper_event event = await_event(fixture->client);
    assert_int_equal(event.kind, TRI_KEEPER_DOWN);
    assert_int_equal(event.error, TR_NO_CONNECTION);
}

/* ---- Nonsense for the keeper. --------------------------------------------------------------- */

static int connect_raw(struct keeper_fixture *fixture)
{
    int folder;
    int fd;
    assert_int_equal(tri_keeper_folder_open(fixture->folder, &folder), 0);
    assert_int_equal(tri_keeper_folder_connect(folder, &fd), 0);
    close(folder);
    return fd;
}

/* Waits for what a keeper says at first, and gives the nonce in it. */
static uint64_t take_nonce(struct tri_frames *frames)
{
    struct tri_packet packet;
    struct tr_keeper_session session = {.nonce = 0};
    while (session.nonce == 0) {
        struct pollfd ready = {.fd = frames->fd, .events = POLLIN};
        assert_int_equal(poll(&ready, 1, 10000), 1);
        assert_int_equal(tri_frames_fill(frames, TR_KEEPER_INPUT_BYTES_PER_TURN), 0);
        while (session.nonce == 0 && tri_frames_next(frames, &packet) == 0) {
            if (packet.type == tr_keeper_session_schema.id) {
                assert_int_equal(tr_keeper_session_unpack(packet.body, packet.version, &session),
                                 0);
            }
        }
    }
    return session.nonce;
}

/* Says hello, says a nonce, or its own where it is 0, and asks; gives what the nonce should be. */
static uint64_t greet_raw(struct keeper_fixture *fixture, uint64_t nonce, struct tri_frames *frames)
{
    struct tr_keeper_hello hello = {.protocol = TR_KEEPER_PROTOCOL,
                                    .protocol_oldest = TR_KEEPER_PROTOCOL_OLDEST,
                                    .follow = true};
    struct tr_process_forget forget = {.key = tr_text_of("it")};
    tri_frames_init(frames, connect_raw(fixture), TR_KEEPER_FRAME_BYTES_MAX,
                    TR_KEEPER_OUTPUT_BYTES_MAX);
    assert_int_equal(tri_frames_put(frames, &tr_keeper_hello_schema, &hello), 0);
    assert_int_equal(tri_frames_flush(frames), 0);
    uint64_t own = take_nonce(frames);
    struct tr_keeper_session session = {.nonce = nonce != 0 ? nonce : own};
    assert_int_equal(tri_frames_put(frames, &tr_keeper_session_schema, &session), 0);
    assert_int_equal(tri_frames_put(frames, &tr_process_forget_schema, &forget), 0);
    assert_int_equal(tri_frames_flush(frames), 0);
    return own;
}

/* What was said in one connection is worth nothing in another: an end is taken by nobody else. */
static void what_was_said_cannot_be_said_again(void **state)
{
    struct keeper_fixture *fixture = *state;
    struct tri_frames frames;
    uint8_t byte;
    fixture_connect(fixture);
    struct job job = {.key = "it", .act = {"exit", "3"}};
    fixture_start(fixture, &job);
    fixture_await(fixture, &tr_process_ended_schema, "it");
    uint64_t other = greet_raw(fixture, 12345, &frames);
    struct pollfd ready = {.fd = frames.fd, .events = POLLIN};
    do {
        assert_int_equal(poll(&ready, 1, 10000), 1); /* the keeper ends the connection */
    } while (recv(frames.fd, &byte, 1, 0) > 0);
    tri_frames_fini(&frames);
    fixture_start(fixture, &job);
    struct received end = fixture_await(fixture, &tr_process_ended_schema, "it");
    assert_int_equal(end.ended.status, 3); /* it was not forgotten, nor run again */
    assert_int_not_equal(greet_raw(fixture, 0, &frames), other);
    tri_frames_fini(&frames);
}

static void a_keeper_endures_bad_clients(void **state)
{
    struct keeper_fixture *fixture = *state;
    fixture_connect(fixture);
    static const struct {
        const char *bytes;
        size_t size;
    } rows[] = {
        {"\xff\xff\xff\xff\1\54\1\0", 8}, /* too large */
        {"\0\0\0\1\1\55\1\0\x90", 9},     /* a start before the hello */
        {"\0\0\0\1\1\54\1\0\xc1", 9},     /* a hello that is none */
        {"\0\0\0\1\77\77\1\0\x90", 9},    /* an unknown type */
        {"GET / HTTP/1.1\r\n\r\n", 18},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        int fd = connect_raw(fixture);
        assert_int_equal(send(fd, rows[i].bytes, rows[i].size, 0), rows[i].size);
        struct pollfd polled = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&polled, 1, WAIT_MS_MAX), 1);
        char byte;
        assert_true(recv(fd, &byte, 1, 0) <= 0);
        close(fd);
    }
    struct job job = {.key = "it", .act = {"exit", "0"}};
    fixture_run(fixture, &job);
    assert_non_null(strstr(fixture_read(fixture, "../keeper.err"), "sent an invalid message"));
}

static void too_many_clients_are_turned_away(void **state)
{
    struct keeper_fixture *fixture = *state;
    int fds[TR_KEEPER_CLIENTS_MAX];
    fixture_connect(fixture);
    for (size_t i = 0; i < TR_COUNT_OF(fds); i++) {
        fds[i] = connect_raw(fixture);
    }
    struct pollfd polled = {.fd = fds[TR_COUNT_OF(fds) - 1], .events = POLLIN};
    assert_int_equal(poll(&polled, 1, WAIT_MS_MAX), 1);
    for (size_t i = 0; i < TR_COUNT_OF(fds); i++) {
        close(fds[i]);
    }
    struct job job = {.key = "it", .act = {"exit", "0"}};
    fixture_run(fixture, &job);
}

/* One who asks a lot and reads late gets every answer, and holds nobody up. */
static void a_slow_client_gets_all(void **state)
{
    struct keeper_fixture *fixture = *state;
    enum { COUNT = 60000 };
    fixture_connect(fixture);
    struct tri_keeper_client *slow = fixture_client(fixture, true, NULL);
    tri_keeper_client_connect(slow);
    assert_int_equal(await_event(slow).kind, TRI_KEEPER_UP);
    int sent = 0;
    int error = 0;
    while (sent < COUNT && error == 0) {
        char key[64];
        snprintf(key, sizeof key, "a key that is not known %d", sent);
        struct tr_process_query query = {.key = tr_text_of(key)};
        error = tri_keeper_client_send(slow, &tr_process_query_schema, &query);
        sent += error == 0 ? 1 : 0;
        tri_keeper_client_flush(slow);
    }
    assert_int_equal(error, 0);
    struct job job = {.key = "it", .act = {"exit", "0"}};
    fixture_run(fixture, &job);
    for (int i = 0; i < sent; i++) {
        char key[64];
        struct tr_process_state answer;
        struct tri_keeper_event event = await_event(slow);
        assert_int_equal(event.kind, TRI_KEEPER_PACKET);
        assert_int_equal(tr_process_state_unpack(event.packet.body, event.packet.version, &answer),
                         0);
        snprintf(key, sizeof key, "a key that is not known %d", i);
        assert_true(tr_text_equal(answer.key, tr_text_of(key)));
    }
    tri_keeper_client_free(slow);
}

int main(int count, char **arguments)
{
    int status = helper_main(count, arguments);
    if (status >= 0) {
        return status;
    }
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, take_down)
    const struct CMUnitTest tests[] = {
        TEST(a_keeper_is_started_and_found), TEST(a_keeper_is_detached),
        TEST(two_clients_start_one_keeper),  TEST(a_passive_client_is_left_alone),
        TEST(nothing_is_sent_while_down),    TEST(failures_are_told),
        TEST(another_version_is_told),       TEST(nonsense_is_told),
        TEST(a_leaving_keeper_is_followed),  TEST(half_a_frame_is_none),
        TEST(a_keeper_endures_bad_clients),  TEST(too_many_clients_are_turned_away),
        TEST(a_slow_client_gets_all),        TEST(what_was_said_cannot_be_said_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
