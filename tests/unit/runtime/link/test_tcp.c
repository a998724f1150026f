/*
 * Wires over tcp: frames pass between hosts that know each other's keys, and nobody else is let in.
 * Strangers are sockets of ZeroMQ's own, each in a context of its own, as in another process.
 */
#include "runtime/link/tcp.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "runtime/link/zap.h"
#include "runtime/memory.h"
#include "tests/support/test.h"

/* A round waits 10 ms at most, so what does not come is missed after 20 s. */
#define ROUND_MS 10
#define ROUNDS_MAX 2000

#define MONITOR "inproc://monitor"
#define REFUSALS                                                                  \
    (ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | \
     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)

struct host {
    void *context;
    struct tri_directory directory;
    struct tri_wire *wire;
    char address[64];
};

struct scene {
    struct host hosts[2];
    uint64_t memory_before;
};

/* A port that was free a moment ago. */
static void find_address(char address[64])
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof name;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&name, size), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&name, &size), 0);
    snprintf(address, 64, "tcp://127.0.0.1:%u", ntohs(name.sin_port));
    assert_int_equal(close(listening), 0);
}

static struct tr_wire_keys keys_of(uint8_t number)
{
    struct tr_wire_keys keys;
    memset(keys.secret_key, number, sizeof keys.secret_key);
    tr_wire_keys_derive(&keys);
    return keys;
}

/* Two hosts that know each other's address and, if `has_keys`, key; their wires are not open. */
static void begin(struct scene *scene, bool has_keys)
{
    *scene = (struct scene){.memory_before = tr_memory_used()};
    for (uint8_t i = 0; i < 2; i++) {
        struct host *host = &scene->hosts[i];
        find_address(host->address);
        host->context = zmq_ctx_new();
        host->directory.number = i + 1;
        host->directory.has_keys = has_keys;
        host->directory.keys = keys_of(i + 1);
    }
    for (uint8_t i = 0; i < 2; i++) {
        struct tri_directory *directory = &scene->hosts[i].directory;
        const struct host *other = &scene->hosts[1 - i];
        uint16_t number = other->directory.number;
        assert_int_equal(tri_directory_add(directory, number, tr_text_of(other->address)), 0);
        if (has_keys) {
            assert_int_equal(
                tri_directory_set_key(directory, number, other->directory.keys.public_key), 0);
        }
    }
}

static int open_wire(struct host *host)
{
    return tri_tcp_wire_open(host->context, &host->directory, host->address, &host->wire);
}

static void begin_open(struct scene *scene, bool has_keys)
{
    begin(scene, has_keys);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(open_wire(&scene->hosts[i]), 0);
    }
}

static void end(struct scene *scene)
{
    for (int i = 0; i < 2; i++) {
        struct host *host = &scene->hosts[i];
        tri_wire_close(host->wire);
        assert_int_equal(zmq_ctx_term(host->context), 0);
    }
    assert_int_equal(tr_memory_used(), scene->memory_before);
}

/* What a host does in its loop; true if a frame came, whose only byte `byte` gets. */
static bool take(struct host *host, uint8_t *byte)
{
    struct pollfd event = {.fd = tri_wire_descriptor(host->wire), .events = POLLIN};
    struct tri_frame frame;
    (void)poll(&event, 1, ROUND_MS);
    if (tri_wire_receive(host->wire, &frame) != 0) {
        return false;
    }
    assert_int_equal(frame.size, 1);
    *byte = frame.data[0];
    tri_wire_release(host->wire, &frame);
    return true;
}

static int try_send(struct host *host, uint16_t to, uint8_t byte)
{
    uint8_t *data = tr_alloc(1);
    data[0] = byte;
    return tri_wire_send(host->wire, to, data, 1);
}

static void expect_passes(struct host *from, struct host *to, uint8_t byte)
{
    uint8_t got = 0;
    uint8_t unwanted = 0;
    bool is_sent = false;
    bool is_got = false;
    for (int i = 0; !is_got; i++) {
        assert_true(i < ROUNDS_MAX);
        is_sent = is_sent || try_send(from, to->directory.number, byte) == 0;
        is_got = take(to, &got);
        assert_false(take(from, &unwanted));
    }
    assert_int_equal(got, byte);
}

static void frames_pass(void **state)
{
    (void)state;
    for (int has_keys = 0; has_keys < 2; has_keys++) {
        struct scene scene;
        begin_open(&scene, has_keys != 0);
        expect_passes(&scene.hosts[0], &scene.hosts[1], 7);
        expect_passes(&scene.hosts[1], &scene.hosts[0], 8);
        assert_int_equal(tri_tcp_wire_refused(scene.hosts[0].wire), 0);
        assert_int_equal(try_send(&scene.hosts[0], 3, 9), TR_NOT_FOUND);
        end(&scene);
    }
}

/* ---- Strangers. ------------------------------------------------------------------------------ */

struct stranger {
    void *context;
    void *socket;
    void *monitor;
};

static struct stranger stranger_new(int type)
{
    struct stranger stranger = {.context = zmq_ctx_new()};
    const int no_ms = 0;
    stranger.socket = zmq_socket(stranger.context, type);
    stranger.monitor = zmq_socket(stranger.context, ZMQ_PAIR);
    assert_int_equal(zmq_setsockopt(stranger.socket, ZMQ_LINGER, &no_ms, sizeof no_ms), 0);
    assert_int_equal(zmq_socket_monitor(stranger.socket, MONITOR, ZMQ_EVENT_ALL), 0);
    assert_int_equal(zmq_connect(stranger.monitor, MONITOR), 0);
    return stranger;
}

static void stranger_free(struct stranger *stranger)
{
    zmq_close(stranger->socket);
    zmq_close(stranger->monitor);
    assert_int_equal(zmq_ctx_term(stranger->context), 0);
}

static void set_keys(void *socket, const struct tr_wire_keys *keys, const uint8_t *server_key)
{
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys->secret_key, 32), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, keys->public_key, 32), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_key, 32), 0);
}

/* The next event of a stranger's socket, or 0. */
static int next_event(struct stranger *stranger)
{
    uint8_t event[6] = {0};
    char address[256];
    if (zmq_recv(stranger->monitor, event, sizeof event, ZMQ_DONTWAIT) < 0) {
        return 0;
    }
    assert_true(zmq_recv(stranger->monitor, address, sizeof address, 0) >= 0);
    return event[0] | event[1] << 8;
}

/* Waits for one of these events, while the host takes what comes, which is nothing. */
static void expect_event(struct stranger *stranger, struct host *host, int wanted)
{
    uint8_t byte = 0;
    int event = 0;
    for (int i = 0; (event & wanted) == 0; i++) {
        assert_true(i < ROUNDS_MAX);
        assert_false(host != NULL && take(host, &byte));
        (void)zmq_poll(&(zmq_pollitem_t){.socket = stranger->monitor, .events = ZMQ_POLLIN}, 1,
                       ROUND_MS);
        event = next_event(stranger);
    }
}

static void a_key_of_no_peer_is_refused(void **state)
{
    (void)state;
    struct scene scene;
    begin_open(&scene, true);
    struct host *host = &scene.hosts[0];
    struct stranger stranger = stranger_new(ZMQ_PUSH);
    struct tr_wire_keys keys = keys_of(99);
    set_keys(stranger.socket, &keys, host->directory.keys.public_key);
    assert_int_equal(zmq_connect(stranger.socket, host->address), 0);
    (void)zmq_send(stranger.socket, "x", 1, ZMQ_DONTWAIT);
    expect_event(&stranger, host, REFUSALS | ZMQ_EVENT_DISCONNECTED);
    assert_true(tri_tcp_wire_refused(host->wire) > 0);
    stranger_free(&stranger);
    end(&scene);
}

/* That the refusal is the directory's: a server of CURVE by itself lets anybody in. */
static void without_a_directory_any_key_is_let_in(void **state)
{
    (void)state;
    char address[64];
    const int is_server = 1;
    struct tr_wire_keys keys = keys_of(1);
    struct tr_wire_keys others = keys_of(99);
    struct stranger server = stranger_new(ZMQ_PULL);
    struct stranger client = stranger_new(ZMQ_PUSH);
    find_address(address);
    assert_int_equal(zmq_setsockopt(server.socket, ZMQ_CURVE_SERVER, &is_server, sizeof is_server),
                     0);
    assert_int_equal(zmq_setsockopt(server.socket, ZMQ_CURVE_SECRETKEY, keys.secret_key, 32), 0);
    assert_int_equal(zmq_bind(server.socket, address), 0);
    set_keys(client.socket, &others, keys.public_key);
    assert_int_equal(zmq_connect(client.socket, address), 0);
    expect_event(&client, NULL, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    stranger_free(&client);
    stranger_free(&server);
}

static void who_does_not_encrypt_is_refused(void **state)
{
    (void)state;
    struct scene scene;
    begin_open(&scene, true);
    struct stranger stranger = stranger_new(ZMQ_PUSH);
    assert_int_equal(zmq_connect(stranger.socket, scene.hosts[0].address), 0);
    (void)zmq_send(stranger.socket, "x", 1, ZMQ_DONTWAIT);
    expect_event(&stranger, &scene.hosts[0], REFUSALS | ZMQ_EVENT_DISCONNECTED);
    stranger_free(&stranger);
    end(&scene);
}

/* Who listens at a peer's address without its key gets nothing. */
static void an_impostor_gets_nothing(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, true);
    const int is_server = 1;
    struct tr_wire_keys keys = keys_of(99);
    struct stranger impostor = stranger_new(ZMQ_PULL);
    uint8_t byte;
    assert_int_equal(
        zmq_setsockopt(impostor.socket, ZMQ_CURVE_SERVER, &is_server, sizeof is_server), 0);
    assert_int_equal(zmq_setsockopt(impostor.socket, ZMQ_CURVE_SECRETKEY, keys.secret_key, 32), 0);
    assert_int_equal(zmq_bind(impostor.socket, scene.hosts[1].address), 0);
    assert_int_equal(open_wire(&scene.hosts[0]), 0);
    expect_event(&impostor, &scene.hosts[0], REFUSALS);
    assert_int_equal(try_send(&scene.hosts[0], 2, 7), TR_BUSY);
    assert_true(zmq_recv(impostor.socket, &byte, 1, ZMQ_DONTWAIT) < 0);
    stranger_free(&impostor);
    end(&scene);
}

/* A host that joins later, as its peers hear of it. */
static void a_peer_is_let_in_once_its_key_is_known(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, true);
    struct host *joined = &scene.hosts[1];
    struct host *host = &scene.hosts[0];
    struct tr_wire_keys earlier = keys_of(50);
    assert_int_equal(tri_directory_set_key(&host->directory, 2, earlier.public_key), 0);
    assert_int_equal(open_wire(host), 0);
    assert_int_equal(open_wire(joined), 0);
    uint8_t byte;
    for (int i = 0; tri_tcp_wire_refused(host->wire) == 0; i++) {
        assert_true(i < ROUNDS_MAX);
        assert_false(take(host, &byte));
    }
    assert_int_equal(tri_directory_set_key(&host->directory, 2, joined->directory.keys.public_key),
                     0);
    expect_passes(joined, host, 7);
    end(&scene);
}

/* A host that comes while the other runs, goes elsewhere with another key, and is gone. */
static void a_peer_is_connected_where_it_is_now(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, true);
    struct host *moved = &scene.hosts[1];
    struct host *host = &scene.hosts[0];
    assert_int_equal(tri_directory_set_address(&host->directory, 2, (struct tr_text){0}), 0);
    assert_int_equal(open_wire(host), 0);
    assert_int_equal(open_wire(moved), 0);
    assert_int_equal(try_send(host, 2, 1), TR_BUSY);
    for (uint8_t life = 1; life <= 2; life++) {
        assert_int_equal(
            tri_directory_set_key(&host->directory, 2, moved->directory.keys.public_key), 0);
        assert_int_equal(tri_directory_set_address(&host->directory, 2, tr_text_of(moved->address)),
                         0);
        assert_int_equal(tri_wire_connect(host->wire, 2), 0);
        expect_passes(host, moved, life);
        expect_passes(moved, host, life);
        tri_wire_close(moved->wire);
        assert_int_equal(zmq_ctx_term(moved->context), 0);
        moved->context = zmq_ctx_new();
        moved->directory.keys = keys_of((uint8_t)(10 + life));
        find_address(moved->address);
        assert_int_equal(open_wire(moved), 0);
    }
    assert_int_equal(tri_directory_set_address(&host->directory, 2, (struct tr_text){0}), 0);
    assert_int_equal(tri_wire_connect(host->wire, 2), 0);
    assert_int_equal(try_send(host, 2, 1), TR_BUSY);
    assert_int_equal(tri_wire_connect(host->wire, 7), TR_NOT_FOUND);
    end(&scene);
}

/* ---- What cannot be opened. ------------------------------------------------------------------ */

static void expect_refused(struct scene *scene, int error)
{
    assert_int_equal(open_wire(&scene->hosts[0]), error);
    end(scene);
}

static void addresses_elsewhere_need_keys(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, false);
    snprintf(scene.hosts[0].address, sizeof scene.hosts[0].address, "tcp://0.0.0.0:*");
    expect_refused(&scene, TR_INVALID);
    begin(&scene, false);
    snprintf(scene.hosts[0].directory.peers[0].address, TR_HOST_ADDRESS_BYTES, "tcp://192.0.2.1:1");
    expect_refused(&scene, TR_INVALID);
    begin(&scene, true);
    snprintf(scene.hosts[0].address, sizeof scene.hosts[0].address, "tcp://0.0.0.0:*");
    snprintf(scene.hosts[0].directory.peers[0].address, TR_HOST_ADDRESS_BYTES, "tcp://192.0.2.1:1");
    expect_refused(&scene, 0);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, true);
    scene.hosts[0].directory.peers[0].has_key = false;
    expect_refused(&scene, TR_INVALID);
    begin(&scene, true);
    snprintf(scene.hosts[0].address, sizeof scene.hosts[0].address, "ipc:///tmp/x");
    expect_refused(&scene, TR_INVALID);
    begin(&scene, true);
    struct tri_zap *zap = NULL;
    assert_int_equal(tri_zap_open(scene.hosts[0].context, &scene.hosts[0].directory, &zap), 0);
    assert_int_equal(open_wire(&scene.hosts[0]), TR_EXISTS);
    tri_zap_close(zap);
    end(&scene);
    begin(&scene, true);
    assert_int_equal(open_wire(&scene.hosts[1]), 0);
    memcpy(scene.hosts[0].address, scene.hosts[1].address, sizeof scene.hosts[0].address);
    expect_refused(&scene, TR_SYSTEM);
}

/* RFC 7748, section 6.1: Alice's key pair. */
static void keys_are_those_of_curve25519(void **state)
{
    (void)state;
    struct tr_wire_keys keys = {.secret_key = {0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d,
                                               0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2, 0x66, 0x45,
                                               0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a,
                                               0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a}};
    static const uint8_t public_key[TR_WIRE_KEY_BYTES] = {
        0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54, 0x74, 0x8b, 0x7d,
        0xdc, 0xb4, 0x3e, 0xf7, 0x5a, 0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38,
        0x1a, 0xf4, 0xeb, 0xa4, 0xa9, 0x8e, 0xaa, 0x9b, 0x4e, 0x6a};
    tr_wire_keys_derive(&keys);
    assert_memory_equal(keys.public_key, public_key, sizeof public_key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_pass),
        cmocka_unit_test(a_key_of_no_peer_is_refused),
        cmocka_unit_test(without_a_directory_any_key_is_let_in),
        cmocka_unit_test(who_does_not_encrypt_is_refused),
        cmocka_unit_test(an_impostor_gets_nothing),
        cmocka_unit_test(a_peer_is_let_in_once_its_key_is_known),
        cmocka_unit_test(a_peer_is_connected_where_it_is_now),
        cmocka_unit_test(addresses_elsewhere_need_keys),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(keys_are_those_of_curve25519),
    };
    return cmocka_run_group_tests_name("tcp", tests, NULL, NULL);
}
