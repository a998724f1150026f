/*
 * The door with a handler of its own, asked by libcurl in both protocols, and by bytes of our own:
 * what goes in comes out, whoever answers and whenever; each exchange has one end.
 */
#include "deploy/door/door.h"

#include <curl/curl.h>
#include <nghttp2/nghttp2.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

#define LINE "0123456789abcdefghijklmnopqrstuvwxyz"

enum {
    LINES = 150000,
    HELD = 4 << 20,
    SMALL_BODY_MAX = 1000,
    EXPIRES_MS = 20,
    REQUESTS = 40,
    LIMIT_S = 60
};

static struct tr_door *door;
static char folder[] = "/tmp/troupe-door-XXXXXX";
static char path[64];
static atomic_int begun;
static atomic_int gone;
static sem_t one_has_gone;
static sem_t is_asked; /* /never was asked */
static pthread_t helper;
static atomic_int held_bytes; /* of /held */
static uint8_t big_body[2 << 20];

static struct tr_bytes bytes_of(const char *text)
{
    return (struct tr_bytes){.data = (const uint8_t *)text, .size = strlen(text)};
}

static bool is_path(const struct tr_door_exchange *exchange, const char *text)
{
    return tr_text_equal(tr_door_exchange_request(exchange)->path, tr_text_of(text));
}

/* ------------------------------------------------------------------ the handler */

static void answer(struct tr_door_exchange *exchange, int status, const char *text)
{
    const struct tr_door_header headers[] = {{tr_text_of("x-kind"), tr_text_of("answer")}};
    tr_door_exchange_answer(exchange, status, headers, TR_COUNT_OF(headers), bytes_of(text));
}

static void answer_late(void *argument)
{
    uint64_t *number = argument;
    struct tr_door_exchange *exchange = tr_door_find(door, *number);
    if (exchange != NULL) {
        answer(exchange, 200, "late");
    }
    free(number);
}

static void *run_helper(void *argument)
{
    assert_int_equal(tr_door_post(door, answer_late, argument), 0);
    return NULL;
}

static void begin(void *self, struct tr_door_exchange *exchange)
{
    assert_ptr_equal(self, &door);
    assert_null(tr_door_exchange_state(exchange));
    atomic_fetch_add(&begun, 1);
    tr_door_exchange_state_set(exchange, &begun);
    if (is_path(exchange, "/echo")) {
        const struct tr_door_header headers[] = {{tr_text_of("x-kind"), tr_text_of("echo")}};
        tr_door_exchange_begin(exchange, 200, headers, TR_COUNT_OF(headers));
    } else if (is_path(exchange, "/small")) {
        tr_door_exchange_body_max_set(exchange, SMALL_BODY_MAX);
    } else if (is_path(exchange, "/early")) {
        answer(exchange, 409, "early");
    }
}

/* Lets a body go on that is held. */
static void let_go_on(void *argument)
{
    uint64_t *number = argument;
    struct tr_door_exchange *exchange = tr_door_find(door, *number);
    assert_non_null(exchange);
    assert_true(atomic_load(&held_bytes) <= HELD / 2);
    tr_door_exchange_hold(exchange, false);
    free(number);
}

static void *run_let_go_on(void *argument)
{
    assert_int_equal(tr_door_post(door, let_go_on, argument), 0);
    return NULL;
}

/* Its first piece is held, until another thread lets it go on. */
static void take_held(struct tr_door_exchange *exchange, size_t size)
{
    if (atomic_fetch_add(&held_bytes, (int)size) == 0) {
        uint64_t *number = malloc(sizeof *number);
        *number = tr_door_exchange_number(exchange);
        tr_door_exchange_hold(exchange, true);
        assert_int_equal(pthread_create(&helper, NULL, run_let_go_on, number), 0);
    }
}

/* What comes is written at once; where the client does not read it, no more is asked for. */
static void body(void *self, struct tr_door_exchange *exchange, struct tr_bytes piece)
{
    (void)self;
    if (is_path(exchange, "/held")) {
        take_held(exchange, piece.size);
    }
    if (!is_path(exchange, "/echo")) {
        return;
    }
    int error = tr_door_exchange_write(exchange, piece);
    if (error == TR_BUSY) {
        /* Held, at most a window more comes, which this test's handler gives up. */
        tr_door_exchange_reset(exchange);
    } else {
        assert_int_equal(error, 0);
    }
}

static void write_much(struct tr_door_exchange *exchange)
{
    uintptr_t left = (uintptr_t)tr_door_exchange_state(exchange);
    while (left > 0 && tr_door_exchange_write(exchange, bytes_of(LINE)) == 0) {
        left--;
    }
    tr_door_exchange_state_set(exchange, (void *)left); /* the rest when there is room */
    if (left == 0) {
        tr_door_exchange_end(exchange, NULL, 0);
    }
}

static void end(void *self, struct tr_door_exchange *exchange)
{
    (void)self;
    if (is_path(exchange, "/echo")) {
        const struct tr_door_header trailers[] = {{tr_text_of("x-last"), tr_text_of("word")}};
        tr_door_exchange_end(exchange, trailers, TR_COUNT_OF(trailers));
    } else if (is_path(exchange, "/late")) {
        uint64_t *number = malloc(sizeof *number);
        *number = tr_door_exchange_number(exchange);
        assert_int_equal(pthread_create(&helper, NULL, run_helper, number), 0);
    } else if (is_path(exchange, "/expires")) {
        tr_door_exchange_expire(exchange, EXPIRES_MS);
    } else if (is_path(exchange, "/much")) {
        tr_door_exchange_begin(exchange, 200, NULL, 0);
        tr_door_exchange_state_set(exchange, (void *)(uintptr_t)LINES);
        write_much(exchange);
    } else if (is_path(exchange, "/big")) {
        tr_door_exchange_answer(exchange, 200, NULL, 0,
                                (struct tr_bytes){.data = big_body, .size = sizeof big_body});
    } else if (is_path(exchange, "/never")) {
        (void)sem_post(&is_asked);
    } else if (is_path(exchange, "/reset")) {
        tr_door_exchange_begin(exchange, 200, NULL, 0);
        assert_int_equal(tr_door_exchange_write(exchange, bytes_of("half")), 0);
        tr_door_exchange_reset(exchange);
        assert_int_equal(tr_door_exchange_write(exchange, bytes_of("more")), TR_CLOSED);
    } else {
        answer(exchange, 200, "whole");
    }
}

static void room(void *self, struct tr_door_exchange *exchange)
{
    (void)self;
    write_much(exchange);
}

static void expired(void *self, struct tr_door_exchange *exchange)
{
    (void)self;
    answer(exchange, 504, "expired");
}

/* What begins with /part/ has a handler of its own, and so has /one, but nothing below it. */
static void begin_part(void *self, struct tr_door_exchange *exchange)
{
    assert_ptr_equal(self, &path);
    assert_ptr_equal(tr_door_exchange_door(exchange), door);
    atomic_fetch_add(&begun, 1);
    tr_door_exchange_state_set(exchange, &begun);
}

static void end_part(void *self, struct tr_door_exchange *exchange)
{
    assert_ptr_equal(self, &path);
    answer(exchange, 200, "part");
}

static void refuse_part(void *self, struct tr_door_exchange *exchange, int status,
                        const char *words)
{
    assert_ptr_equal(self, &path);
    (void)words;
    atomic_fetch_add(&begun, 1);
    answer(exchange, status, "refused by the part");
}

static void refuse(void *self, struct tr_door_exchange *exchange, int status, const char *words)
{
    (void)self;
    if (tr_door_exchange_state(exchange) == NULL) {
        atomic_fetch_add(&begun, 1); /* in place of `begin` */
    }
    answer(exchange, status, words);
}

static void has_gone(void *self, struct tr_door_exchange *exchange)
{
    (void)self;
    (void)exchange;
    atomic_fetch_add(&gone, 1);
    (void)sem_post(&one_has_gone);
}

static const struct tr_door_handler handler = {.begin = begin,
                                               .body = body,
                                               .end = end,
                                               .room = room,
                                               .expired = expired,
                                               .refuse = refuse,
                                               .gone = has_gone};

static const struct tr_door_handler part_handler = {
    .begin = begin_part, .end = end_part, .refuse = refuse_part, .gone = has_gone};
static const struct tr_door_part parts[] = {
    {.prefix = "/part/", .handler = &part_handler, .self = &path},
    {.prefix = "/one", .is_whole = true, .handler = &part_handler, .self = &path}};

/* -------------------------------------------------------------------- the client */

struct answer {
    long status;
    long version;
    char *text;
    size_t size;
    char kind[16];
    char last[16];
};

static size_t take(char *data, size_t size, size_t count, void *self)
{
    struct answer *taken = self;
    taken->text = realloc(taken->text, taken->size + size * count + 1);
    memcpy(taken->text + taken->size, data, size * count);
    taken->size += size * count;
    taken->text[taken->size] = '\0';
    return size * count;
}

static size_t take_header(char *data, size_t size, size_t count, void *self)
{
    struct answer *taken = self;
    (void)sscanf(data, "x-kind: %15s", taken->kind);
    (void)sscanf(data, "x-last: %15s", taken->last);
    return size * count;
}

static CURLcode ask(CURL *curl, long version, const char *target, const char *data, size_t size,
                    struct answer *taken)
{
    char url[128];
    *taken = (struct answer){.text = calloc(1, 1)};
    (void)snprintf(url, sizeof url, "http://localhost%s", target);
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, path);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, version);
    /* curl 7.88 cannot use a connection of HTTP/2 for a second body. */
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, version != CURL_HTTP_VERSION_1_1 ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, taken);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, taken);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)LIMIT_S);
    if (data != NULL) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, data);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)size);
    }
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &taken->status);
    curl_easy_getinfo(curl, CURLINFO_HTTP_VERSION, &taken->version);
    return code;
}

static void expect(CURL *curl, long version, const char *target, const char *data, long status,
                   const char *text)
{
    struct answer taken;
    assert_int_equal(ask(curl, version, target, data, data == NULL ? 0 : strlen(data), &taken),
                     CURLE_OK);
    assert_int_equal(taken.status, status);
    assert_string_equal(taken.text, text);
    free(taken.text);
}

/* ------------------------------------------------------------------------- tests */

static int open_door(void **state)
{
    char words[TR_DOOR_WORDS_BYTES];
    char address[80];
    const char *const addresses[] = {address};
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/troupe-door-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/it", folder);
    (void)snprintf(address, sizeof address, "unix:%s", path);
    struct tr_door_options options = {.addresses = addresses,
                                      .address_count = 1,
                                      .handler = &handler,
                                      .self = &door,
                                      .parts = parts,
                                      .part_count = TR_COUNT_OF(parts)};
    atomic_store(&begun, 0);
    atomic_store(&gone, 0);
    assert_int_equal(sem_init(&one_has_gone, 0, 0), 0);
    assert_int_equal(sem_init(&is_asked, 0, 0), 0);
    assert_int_equal(tr_door_open(&options, words, &door), 0);
    assert_int_equal(tr_door_address_count(door), 1);
    assert_string_equal(tr_door_address(door, 0), address);
    return 0;
}

/* Whatever happened, each exchange that had a begin has had an end, and nothing is left of it. */
static int close_door(void **state)
{
    (void)state;
    tr_door_close(door);
    assert_int_equal(atomic_load(&gone), atomic_load(&begun));
    assert_true(atomic_load(&gone) > 0);
    assert_int_equal(tr_memory_used(), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(folder_remove(folder), 0);
    return 0;
}

static void ask_all(long version)
{
    char words[TR_DOOR_WORDS_BYTES];
    char big[SMALL_BODY_MAX + 2];
    struct answer taken;
    CURL *curl = curl_easy_init();
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = '\0';
    for (int i = 0; i < REQUESTS; i++) {
        expect(curl, version, "/whole?a=b", NULL, 200, "whole");
        expect(curl, version, "/whole", "body", 200, "whole");
    }
    expect(curl, version, "/part/x", NULL, 200, "part");
    expect(curl, version, "/part/x?y", "body", 200, "part");
    expect(curl, version, "/part/%zz", NULL, 400, "refused by the part");
    expect(curl, version, "/part", NULL, 200, "whole");
    expect(curl, version, "/one?y", NULL, 200, "part");
    expect(curl, version, "/one/x", NULL, 200, "whole");
    expect(curl, version, "/echo", "what goes in comes out", 200, "what goes in comes out");
    expect(curl, version, "/echo", "", 200, "");
    expect(curl, version, "/late", "x", 200, "late");
    assert_int_equal(pthread_join(helper, NULL), 0);
    expect(curl, version, "/expires", NULL, 504, "expired");
    expect(curl, version, "/early", "a body that nobody wants", 409, "early");
    expect(curl, version, "/early", NULL, 409, "early");
    (void)snprintf(words, sizeof words,
                   "the body of the request is larger than %d bytes; the setting "
                   "http.request_bytes allows more",
                   SMALL_BODY_MAX);
    expect(curl, version, "/small", big, 413, words);
    expect(curl, version, "/small", "small", 200, "whole");
    assert_int_equal(ask(curl, version, "/reset", NULL, 0, &taken) == CURLE_OK, false);
    free(taken.text);
    assert_int_equal(ask(curl, version, "/whole", NULL, 0, &taken), CURLE_OK);
    assert_string_equal(taken.kind, "answer");
    free(taken.text);
    char *held = calloc(1, HELD);
    assert_non_null(held);
    atomic_store(&held_bytes, 0);
    assert_int_equal(ask(curl, version, "/held", held, HELD, &taken), CURLE_OK);
    assert_int_equal(atomic_load(&held_bytes), HELD);
    assert_int_equal(pthread_join(helper, NULL), 0);
    free(taken.text);
    free(held);
    curl_easy_cleanup(curl);
}

static void http1_is_answered(void **state)
{
    struct answer taken;
    CURL *curl = curl_easy_init();
    (void)state;
    ask_all(CURL_HTTP_VERSION_1_1);
    assert_int_equal(ask(curl, CURL_HTTP_VERSION_1_1, "/much", NULL, 0, &taken), CURLE_OK);
    assert_int_equal(taken.size, LINES * strlen(LINE));
    assert_memory_equal(taken.text + taken.size - strlen(LINE), LINE, strlen(LINE));
    free(taken.text);
    curl_easy_cleanup(curl);
}

static void http2_is_answered(void **state)
{
    struct answer taken;
    CURL *curl = curl_easy_init();
    (void)state;
    ask_all(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
    assert_int_equal(
        ask(curl, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE, "/echo", "with trailers", 13, &taken),
        CURLE_OK);
    assert_int_equal(taken.version, CURL_HTTP_VERSION_2_0);
    assert_string_equal(taken.kind, "echo");
    assert_string_equal(taken.last, "word");
    free(taken.text);
    curl_easy_cleanup(curl);
}

/* A socket of our own, and what is asked by it. */
static int connect_with(const char *text)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
    assert_int_equal(connect(client, (const struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(send(client, text, strlen(text), 0), (ssize_t)strlen(text));
    return client;
}

/* ------------------------------------------------- a client of HTTP/2 with small windows */

static size_t much_size;
static bool much_is_over;
static size_t answered; /* how many have a status, and which of them 429 */
static size_t busy;

static int take_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
                     size_t size, void *self)
{
    (void)session;
    (void)flags;
    (void)stream;
    (void)self;
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(data[i], LINE[(much_size + i) % strlen(LINE)]);
    }
    much_size += size;
    return 0;
}

static int take_close(nghttp2_session *session, int32_t stream, uint32_t code, void *self)
{
    (void)session;
    (void)stream;
    (void)self;
    assert_int_equal(code, NGHTTP2_NO_ERROR);
    much_is_over = true;
    return 0;
}

static nghttp2_nv pair_of(char *name, char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)name,
                        .value = (uint8_t *)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

static void send_all(int client, nghttp2_session *session)
{
    const uint8_t *data;
    ssize_t size;
    while ((size = nghttp2_session_mem_send(session, &data)) > 0) {
        assert_int_equal(send(client, data, (size_t)size, 0), size);
    }
    assert_int_equal(size, 0);
}

static int take_status(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                       size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                       void *self)
{
    (void)session;
    (void)frame;
    (void)flags;
    (void)self;
    if (name_size == 7 && memcmp(name, ":status", 7) == 0 && value_size == 3) {
        answered++;
        busy += memcmp(value, "429", 3) == 0;
    }
    return 0;
}

/* Asks so many times for a path; the session of a client with windows of that size. */
static nghttp2_session *ask_often(const char *target, size_t count, uint32_t window)
{
    char words[][16] = {":method", "GET",  ":path",      "",
                        ":scheme", "http", ":authority", "localhost"};
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}};
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    nghttp2_nv pairs[4];
    (void)snprintf(words[3], sizeof words[3], "%s", target);
    for (size_t i = 0; i < TR_COUNT_OF(pairs); i++) {
        pairs[i] = pair_of(words[2 * i], words[2 * i + 1]);
    }
    much_size = answered = busy = 0;
    much_is_over = false;
    assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, take_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, take_close);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, take_status);
    assert_int_equal(nghttp2_session_client_new(&session, callbacks, NULL), 0);
    nghttp2_session_callbacks_del(callbacks);
    assert_int_equal(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 1), 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(nghttp2_submit_request(session, NULL, pairs, TR_COUNT_OF(pairs), NULL, NULL) >
                    0);
    }
    return session;
}

static bool take_some(int client, nghttp2_session *session)
{
    uint8_t bytes[1000];
    ssize_t size = recv(client, bytes, sizeof bytes, 0);
    if (size > 0) {
        assert_int_equal(nghttp2_session_mem_recv(session, bytes, (size_t)size), size);
        send_all(client, session);
    }
    return size > 0;
}

/* The windows are those of the protocol's default, far below what is asked for. */
static void much_goes_through_small_windows(void **state)
{
    int client = connect_with("");
    nghttp2_session *session = ask_often("/much", 1, 65535);
    (void)state;
    send_all(client, session);
    while (!much_is_over && take_some(client, session)) {
    }
    assert_true(much_is_over);
    assert_int_equal(much_size, LINES * strlen(LINE));
    nghttp2_session_del(session);
    (void)close(client);
}

/* What a client does not take is bounded: once it is too much it is told so. */
static void answers_that_nobody_takes_are_bounded(void **state)
{
    const size_t kept = TR_DOOR_CONNECTION_UNSENT_BYTES / sizeof big_body + 1;
    int client = connect_with("");
    nghttp2_session *session = ask_often("/big", kept + 3, 0);
    (void)state;
    send_all(client, session);
    while (answered < kept + 3 && take_some(client, session)) {
    }
    assert_int_equal(answered, kept + 3);
    assert_int_equal(busy, 3);
    assert_true(tr_memory_used() < 3 * (size_t)TR_DOOR_CONNECTION_UNSENT_BYTES);
    nghttp2_session_del(session);
    (void)close(client);
}

static void a_door_that_closes_ends_all(void **state)
{
    (void)state;
    int client = connect_with("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n");
    int other =
        connect_with("POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1");
    int third = connect_with("GET /");
    (void)sem_wait(&is_asked);
    assert_int_equal(atomic_load(&gone), 0);
    tr_door_close(door);
    assert_int_equal(atomic_load(&gone), atomic_load(&begun));
    assert_true(atomic_load(&gone) > 0);
    assert_int_equal(tr_memory_used(), 0);
    (void)close(client);
    (void)close(other);
    (void)close(third);
    assert_int_equal(folder_remove(folder), 0);
}

static void what_cannot_be_opened_is_told(void **state)
{
    char words[TR_DOOR_WORDS_BYTES];
    struct tr_door *other;
    const char *addresses[] = {"unix:/nowhere/at/all"};
    struct tr_door_options options = {
        .addresses = addresses, .address_count = 1, .handler = &handler};
    (void)state;
    assert_int_equal(tr_door_open(&options, words, &other), TR_SYSTEM);
    assert_string_equal(words, "nobody can listen at unix:/nowhere/at/all: No such file or "
                               "directory");
    addresses[0] = "0.0.0.0:0";
    assert_int_equal(tr_door_open(&options, words, &other), TR_INVALID);
    options.certificate = "/nowhere";
    options.key = "/nowhere";
    assert_int_equal(tr_door_open(&options, words, &other), TR_INVALID);
    assert_non_null(strstr(words, "/nowhere cannot be used for TLS: "));
    assert_int_equal(tr_memory_used(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(http1_is_answered, open_door, close_door),
        cmocka_unit_test_setup_teardown(http2_is_answered, open_door, close_door),
        cmocka_unit_test_setup_teardown(much_goes_through_small_windows, open_door, close_door),
        cmocka_unit_test_setup_teardown(answers_that_nobody_takes_are_bounded, open_door,
                                        close_door),
        cmocka_unit_test_setup(a_door_that_closes_ends_all, open_door),
        cmocka_unit_test(what_cannot_be_opened_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
