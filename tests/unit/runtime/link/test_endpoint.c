/*
 * The door of an engine: requests and answers arrive whole and in order, whatever else is sent is
 * counted and dropped, and each side hears when the other has gone.
 */
#include "runtime/link/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "runtime/memory.h"
#include "tests/support/sample.h"
#include "tests/support/test.h"

#define WAIT_MS 20000

/* A store's folder with a door, and a caller before it. */
struct scene {
    char folder[1024];
    struct tri_endpoint *endpoint;
    struct tri_client *client;
    uint64_t memory_before;
};

static void open_scene(struct scene *scene)
{
    *scene =
        (struct scene){.folder = "/tmp/troupe-endpoint-XXXXXX", .memory_before = tr_memory_used()};
    assert_non_null(mkdtemp(scene->folder));
    assert_int_equal(tri_endpoint_open(scene->folder, &scene->endpoint), 0);
    assert_int_equal(tri_client_open(scene->folder, &scene->client), 0);
}

static void close_scene(struct scene *scene)
{
    tri_client_close(scene->client);
    tri_endpoint_close(scene->endpoint);
    assert_int_equal(rmdir(scene->folder), 0); /* the socket has gone with its door */
    assert_int_equal(tr_memory_used(), scene->memory_before);
}

/* Waits until the engine has a request. */
static void hear(struct scene *scene, struct tri_peer *peer, struct tri_request *request)
{
    for (int i = 0; tri_endpoint_next(scene->endpoint, peer, request) != 0; i++) {
        zmq_pollitem_t item = {.fd = tri_endpoint_descriptor(scene->endpoint),
                               .events = ZMQ_POLLIN};
        assert_true(i < 1000);
        zmq_poll(&item, 1, 20);
    }
}

static uint32_t ask(struct scene *scene, uint64_t count)
{
    struct tr_sample_tick tick = {.count = count};
    uint32_t number;
    assert_int_equal(tri_client_ask(scene->client, &tr_sample_tick_schema, &tick, &number), 0);
    return number;
}

static int answer(struct scene *scene, const struct tri_peer *peer, uint64_t count)
{
    struct tr_sample_tick tick = {.count = count};
    return tri_endpoint_answer(scene->endpoint, peer, &tr_sample_tick_schema, &tick);
}

static uint64_t count_of(const struct tri_request *request)
{
    struct tr_sample_tick tick;
    assert_int_equal(request->type, tr_sample_tick_schema.id);
    assert_int_equal(tr_sample_tick_unpack(request->body, request->version, &tick), 0);
    return tick.count;
}

static void test_answers_carry_the_number_of_their_request(void **state)
{
    (void)state;
    struct scene scene;
    struct tri_peer peers[2];
    struct tri_request request;
    open_scene(&scene);
    uint32_t first = ask(&scene, 1);
    uint32_t second = ask(&scene, 2);
    assert_int_not_equal(first, second);
    for (unsigned i = 0; i < 2; i++) {
        hear(&scene, &peers[i], &request);
        assert_int_equal(count_of(&request), i + 1);
    }
    /* Several answers to one, and not in the order of asking. */
    assert_int_equal(answer(&scene, &peers[1], 20), 0);
    assert_int_equal(answer(&scene, &peers[1], 21), 0);
    assert_int_equal(answer(&scene, &peers[0], 10), 0);
    static const uint64_t counts[] = {20, 21, 10};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(tri_client_next(scene.client, -1, WAIT_MS, &request), 0);
        assert_int_equal(count_of(&request), counts[i]);
        assert_int_equal(request.number, counts[i] < 20 ? first : second);
    }
    assert_int_equal(tri_client_next(scene.client, -1, 1, &request), TR_TIMEOUT);
    assert_int_equal(tri_endpoint_refused(scene.endpoint), 0);
    close_scene(&scene);
}

static void test_only_the_owner_may_knock(void **state)
{
    (void)state;
    struct scene scene;
    struct stat status;
    char path[2048];
    open_scene(&scene);
    snprintf(path, sizeof path, "%s/%s", scene.folder, TR_ENDPOINT_NAME);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0177, 0);
    close_scene(&scene);
}

/* Sends bytes of any kind, in one part or in two. */
static void send_raw(void *dealer, const void *bytes, size_t size, bool is_more)
{
    assert_int_equal(zmq_send(dealer, bytes, size, is_more ? ZMQ_SNDMORE : 0), (int)size);
}

static void test_garbage_is_counted_and_dropped(void **state)
{
    (void)state;
    struct scene scene;
    struct tri_peer peer;
    struct tri_request request;
    char address[2048];
    uint8_t *frame;
    size_t size;
    open_scene(&scene);
    struct tr_sample_tick tick = {.count = 5};
    assert_int_equal(tri_request_make(7, &tr_sample_tick_schema, &tick, &frame, &size), 0);
    void *context = zmq_ctx_new();
    void *dealer = zmq_socket(context, ZMQ_DEALER);
    snprintf(address, sizeof address, "ipc://%s/%s", scene.folder, TR_ENDPOINT_NAME);
    assert_int_equal(zmq_connect(dealer, address), 0);
    send_raw(dealer, "", 0, false);
    send_raw(dealer, "hello, is anybody there?", 24, false);
    send_raw(dealer, frame, TRI_REQUEST_HEADER_BYTES - 1, false);
    send_raw(dealer, frame, size, true); /* a request with something behind it is none */
    send_raw(dealer, "x", 1, true);
    send_raw(dealer, "y", 1, false);
    frame[2] = TR_ENDPOINT_PROTOCOL + 1;
    send_raw(dealer, frame, size, false);
    frame[2] = TR_ENDPOINT_PROTOCOL;
    send_raw(dealer, frame, size, false);
    hear(&scene, &peer, &request);
    assert_int_equal(count_of(&request), 5);
    assert_int_equal(request.number, 7);
    assert_int_equal(tri_endpoint_refused(scene.endpoint), 5);
    tr_free(frame);
    zmq_setsockopt(dealer, ZMQ_LINGER, &(int){0}, sizeof(int));
    zmq_close(dealer);
    zmq_ctx_term(context);
    close_scene(&scene);
}

static void test_what_is_too_large_is_refused(void **state)
{
    (void)state;
    struct scene scene;
    uint32_t number;
    open_scene(&scene);
    struct tr_sample_tick tick = {.token = {.data = "", .size = TR_ENDPOINT_BYTES_MAX}};
    assert_int_equal(tri_client_ask(scene.client, &tr_sample_tick_schema, &tick, &number),
                     TR_LIMIT);
    close_scene(&scene);
}

static void test_whoever_asked_and_went_is_told_of(void **state)
{
    (void)state;
    struct scene scene;
    struct tri_peer peer;
    struct tri_request request;
    open_scene(&scene);
    ask(&scene, 1);
    hear(&scene, &peer, &request);
    assert_int_equal(answer(&scene, &peer, 1), 0);
    tri_client_close(scene.client);
    scene.client = NULL;
    int error = 0;
    for (int i = 0; error == 0 && i < 1000; i++) {
        zmq_pollitem_t item = {.fd = tri_endpoint_descriptor(scene.endpoint), .events = ZMQ_POLLIN};
        struct tri_peer other;
        assert_int_equal(tri_endpoint_next(scene.endpoint, &other, &request), TR_NOT_FOUND);
        zmq_poll(&item, 1, 20);
        error = answer(&scene, &peer, 2);
    }
    assert_int_equal(error, TR_NO_CONNECTION);
    close_scene(&scene);
}

static void test_an_engine_that_went_is_told_of(void **state)
{
    (void)state;
    struct scene scene;
    struct tri_peer peer;
    struct tri_request request;
    uint32_t number;
    open_scene(&scene);
    ask(&scene, 1);
    hear(&scene, &peer, &request);
    assert_int_equal(answer(&scene, &peer, 2), 0);
    tri_endpoint_close(scene.endpoint);
    scene.endpoint = NULL;
    /* What it said before it went still comes. */
    assert_int_equal(tri_client_next(scene.client, -1, WAIT_MS, &request), 0);
    assert_int_equal(tri_client_next(scene.client, -1, WAIT_MS, &request), TR_NO_CONNECTION);
    int error =
        tri_client_ask(scene.client, &tr_sample_tick_schema, &(struct tr_sample_tick){0}, &number);
    assert_true(error == 0 || error == TR_NO_CONNECTION);
    assert_int_equal(tri_client_next(scene.client, -1, WAIT_MS, &request), TR_NO_CONNECTION);
    close_scene(&scene);
}

/* However late they are read: the end of a connection takes nothing away that has come. */
static void test_no_answer_is_lost_at_the_end(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        struct scene scene;
        struct tri_peer peer;
        struct tri_request request;
        open_scene(&scene);
        ask(&scene, 1);
        hear(&scene, &peer, &request);
        for (uint64_t i = 0; i < 100; i++) {
            assert_int_equal(answer(&scene, &peer, i), 0);
        }
        tri_endpoint_close(scene.endpoint);
        scene.endpoint = NULL;
        for (uint64_t i = 0; i < 100; i++) {
            assert_int_equal(tri_client_next(scene.client, -1, WAIT_MS, &request), 0);
            assert_int_equal(count_of(&request), i);
        }
        assert_int_equal(tri_client_next(scene.client, -1, WAIT_MS, &request), TR_NO_CONNECTION);
        close_scene(&scene);
    }
}

/* A killed engine leaves its socket: nobody opens. */
static void test_a_door_without_an_engine(void **state)
{
    (void)state;
    struct scene scene;
    struct tri_request request;
    char path[2048];
    char kept[2048];
    open_scene(&scene);
    tri_client_close(scene.client);
    snprintf(path, sizeof path, "%s/%s", scene.folder, TR_ENDPOINT_NAME);
    snprintf(kept, sizeof kept, "%s/kept", scene.folder);
    assert_int_equal(link(path, kept), 0);
    tri_endpoint_close(scene.endpoint);
    assert_int_equal(tri_client_open(scene.folder, &scene.client), TR_NO_CONNECTION);
    assert_int_equal(rename(kept, path), 0);
    assert_int_equal(tri_client_open(scene.folder, &scene.client), 0);
    assert_int_equal(tri_client_next(scene.client, -1, WAIT_MS, &request), TR_NO_CONNECTION);
    tri_client_close(scene.client);
    scene.client = NULL;
    /* The next engine takes the name over. */
    assert_int_equal(tri_endpoint_open(scene.folder, &scene.endpoint), 0);
    close_scene(&scene);
    assert_int_equal(tri_client_open("/nonexistent", &scene.client), TR_NO_CONNECTION);
}

static void test_the_folder_may_be_far_away(void **state)
{
    (void)state;
    struct scene scene;
    struct tri_peer peer;
    struct tri_request request;
    char far[1024];
    open_scene(&scene);
    char near[64];
    snprintf(near, sizeof near, "%.60s", scene.folder);
    tri_client_close(scene.client);
    tri_endpoint_close(scene.endpoint);
    size_t size = (size_t)snprintf(far, sizeof far, "%s/", near);
    memset(far + size, 'x', 200);
    far[size + 200] = '\0';
    assert_int_equal(mkdir(far, 0700), 0);
    memcpy(scene.folder, far, sizeof far);
    assert_int_equal(tri_endpoint_open(scene.folder, &scene.endpoint), 0);
    assert_int_equal(tri_client_open(scene.folder, &scene.client), 0);
    ask(&scene, 3);
    hear(&scene, &peer, &request);
    assert_int_equal(count_of(&request), 3);
    close_scene(&scene);
    assert_int_equal(rmdir(near), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_carry_the_number_of_their_request),
        cmocka_unit_test(test_only_the_owner_may_knock),
        cmocka_unit_test(test_garbage_is_counted_and_dropped),
        cmocka_unit_test(test_what_is_too_large_is_refused),
        cmocka_unit_test(test_whoever_asked_and_went_is_told_of),
        cmocka_unit_test(test_an_engine_that_went_is_told_of),
        cmocka_unit_test(test_no_answer_is_lost_at_the_end),
        cmocka_unit_test(test_a_door_without_an_engine),
        cmocka_unit_test(test_the_folder_may_be_far_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
