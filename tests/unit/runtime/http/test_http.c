/*
 * The http thread against a real server: every way in which a request can end, limits, turns, TLS,
 * and stopping with work in hand.
 */
#include "runtime/http/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/helper_process.h"
#include "tests/support/test.h"
#include "tests/unit/runtime/http/http_fixture.h"

#define TLS_FOLDER TROUPE_SOURCE_DIR "/tests/support/tls/"

/* ---- Answers. ------------------------------------------------------------------------------- */

static void statuses_are_told(void **state)
{
    struct http_fixture *fixture = *state;
    static const uint32_t statuses[] = {200, 201, 204, 301, 304, 400, 404, 409, 429, 500, 503};
    for (size_t i = 0; i < TR_COUNT_OF(statuses); i++) {
        char path[32];
        snprintf(path, sizeof path, "/status/%u", statuses[i]);
        struct tri_http_request request = http_get(fixture, path);
        const struct answer *answer = http_run(fixture, &request);
        http_expect_fault(answer, TRI_HTTP_NONE, "");
        assert_int_equal(answer->status, statuses[i]);
        struct tr_text value = http_header(answer, "x-test");
        assert_true(tr_text_equal(value, tr_text_of("yes")));
        bool is_empty = statuses[i] == 204 || statuses[i] == 304;
        assert_int_equal(answer->body_size, is_empty ? 0 : strlen("status 200\n"));
        assert_true(answer->elapsed_us > 0);
    }
}

/* Dates stand in English, whatever the locale. */
static void waits_are_told(void **state)
{
    struct http_fixture *fixture = *state;
    char date[64];
    char later[96];
    time_t in_an_hour = time(NULL) + 3600;
    struct tm parts;
    gmtime_r(&in_an_hour, &parts);
    strftime(date, sizeof date, "%a,%%20%d%%20%b%%20%Y%%20%H:%M:%S%%20GMT", &parts);
    snprintf(later, sizeof later, "/retry/%s", date);
    const struct {
        const char *path;
        uint32_t least;
        uint32_t most;
    } rows[] = {
        {"/retry/5", 5, 5},
        {"/retry/2026", 2026, 2026},
        {"/retry/86401", 86401, 86401},
        {"/retry/99999999999999", UINT32_MAX, UINT32_MAX},
        {"/retry/0", 0, 0},
        {"/retry/-3", 0, 0},
        {"/retry/soon", 0, 0},
        {"/retry/Wed,%2021%20Oct%202015%2007:28:00%20GMT", 0, 0},
        {later, 3500, 3600},
        {"/status/429", 0, 0},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tri_http_request request = http_get(fixture, rows[i].path);
        const struct answer *answer = http_run(fixture, &request);
        assert_int_equal(answer->status, 429);
        assert_in_range(answer->retry_after_s, rows[i].least, rows[i].most);
    }
}

/* What was asked for is what arrives: method, path, headers, body, and nothing of curl's own. */
static void requests_arrive(void **state)
{
    struct http_fixture *fixture = *state;
    static const struct {
        const char *method;
        const char *body;
    } rows[] = {{"GET", ""},    {"POST", "{\"a\":1}"}, {"POST", ""},   {"PUT", "x"},
                {"DELETE", ""}, {"DELETE", "why"},     {"PATCH", "p"}, {"PURGE", ""}};
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        const struct tr_text headers[] = {tr_text_of("X-One: 1"), tr_text_of("x-empty:"),
                                          tr_text_of("Authorization: Bearer t")};
        struct tri_http_request request = http_get(fixture, "/echo");
        char first[32];
        snprintf(first, sizeof first, "%s /echo\n", rows[i].method);
        request.method = tr_text_of(rows[i].method);
        request.headers = headers;
        request.header_count = TR_COUNT_OF(headers);
        request.body =
            (struct tr_bytes){.data = (const uint8_t *)rows[i].body, .size = strlen(rows[i].body)};
        const struct answer *answer = http_run(fixture, &request);
        assert_int_equal(answer->status, 200);
        assert_memory_equal(answer->body, first, strlen(first));
        assert_non_null(strstr(answer->body, "\nX-One: 1\n"));
        assert_non_null(strstr(answer->body, "\nx-empty: \n"));
        assert_non_null(strstr(answer->body, "\nAuthorization: Bearer t\n"));
        assert_non_null(strstr(answer->body, "\nUser-Agent: troupe\n"));
        assert_null(strstr(answer->body, "Content-Type"));
        assert_null(strstr(answer->body, "Expect"));
        assert_string_equal(strstr(answer->body, "\n\n") + 2, rows[i].body);
    }
    struct tri_http_request head = http_get(fixture, "/bytes/1000");
    head.method = tr_text_of("HEAD");
    const struct answer *answer = http_run(fixture, &head);
    assert_int_equal(answer->body_size, 0);
    struct tr_text length = http_header(answer, "Content-Length");
    assert_true(tr_text_equal(length, tr_text_of("1000")));
}

static void large_bodies_arrive(void **state)
{
    struct http_fixture *fixture = *state;
    static uint8_t body[3 << 20];
    memset(body, 'b', sizeof body);
    struct tri_http_request request = http_get(fixture, "/echo");
    request.method = tr_text_of("POST");
    request.body = (struct tr_bytes){.data = body, .size = sizeof body};
    const struct answer *answer = http_run(fixture, &request);
    http_expect_fault(answer, TRI_HTTP_NONE, "");
    assert_true(answer->body_size > sizeof body);
}

static void redirects_are_followed_when_asked(void **state)
{
    struct http_fixture *fixture = *state;
    struct tri_http_request request = http_get(fixture, "/redirect/3");
    const struct answer *answer = http_run(fixture, &request);
    assert_int_equal(answer->status, 302);
    request = http_get(fixture, "/redirect/3");
    request.redirects_max = 3;
    answer = http_run(fixture, &request);
    assert_int_equal(answer->status, 200);
    assert_null(strstr(answer->headers, "X-Redirect")); /* only the last response's headers */
    request = http_get(fixture, "/redirect/3");
    request.redirects_max = 2;
    answer = http_run(fixture, &request);
    http_expect_fault(answer, TRI_HTTP_PROTOCOL, "redirects");
}

/* ---- Faults. -------------------------------------------------------------------------------- */

/* A port where nobody listens. */
static int closed_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void faults_are_told(void **state)
{
    struct http_fixture *fixture = *state;
    char refused[64];
    snprintf(refused, sizeof refused, "http://127.0.0.1:%d/", closed_port());
    const struct {
        const char *url;
        enum tri_http_fault fault;
        const char *words;
    } rows[] = {
        {refused, TRI_HTTP_CONNECT, "onnect"},
        {"http://no-such-host.invalid/", TRI_HTTP_RESOLVE, "resolve host"},
        {"ftp://127.0.0.1/", TRI_HTTP_INVALID, "URL"},
        {"file:///etc/passwd", TRI_HTTP_INVALID, "URL"},
        {"no url at all", TRI_HTTP_INVALID, "URL"},
        {"http://", TRI_HTTP_INVALID, "URL"},
        {http_url(fixture, "/broken"), TRI_HTTP_PROTOCOL, "remaining"},
        {http_url(fixture, "/garbage"), TRI_HTTP_PROTOCOL, "HTTP/0.9"},
        {http_url(fixture, "/headers/400000"), TRI_HTTP_TOO_LARGE, "headers"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tri_http_request request = http_get(fixture, "/");
        request.url = tr_text_of(rows[i].url);
        http_expect_fault(http_run(fixture, &request), rows[i].fault, rows[i].words);
    }
}

/* Curl would send it again by itself, on another connection, when the one it kept has ended. */
static void what_may_have_been_done_is_sent_once(void **state)
{
    struct http_fixture *fixture = *state;
    struct tri_http_request request = http_get(fixture, "/status/200");
    assert_int_equal(http_run(fixture, &request)->status, 200); /* leaves a connection behind */
    request = http_get(fixture, "/lost");
    request.method = tr_text_of("POST");
    request.body = (struct tr_bytes){.data = (const uint8_t *)"{}", .size = 2};
    assert_int_equal(http_run(fixture, &request)->status, 0);
    request = http_get(fixture, "/losses");
    assert_string_equal(http_run(fixture, &request)->body, "1\n");
}

static void timeouts_are_told(void **state)
{
    struct http_fixture *fixture = *state;
    struct tri_http_request slow = http_get(fixture, "/slow/5000");
    struct tri_http_request hang = http_get(fixture, "/hang");
    struct tri_http_request idle = http_get(fixture, "/hang");
    slow.timeout_ms = 100;
    hang.timeout_ms = 150;
    idle.idle_timeout_ms = 200;
    http_submit(fixture, &slow);
    http_submit(fixture, &hang);
    http_submit(fixture, &idle);
    const struct answer *answer = http_await(fixture, slow.id);
    http_expect_fault(answer, TRI_HTTP_TIMEOUT, "timed out");
    assert_int_equal(answer->status, 0);
    assert_in_range(answer->elapsed_us, 90000, 1000000);
    answer = http_await(fixture, hang.id);
    http_expect_fault(answer, TRI_HTTP_TIMEOUT, "timed out");
    assert_int_equal(answer->status, 200);
    http_expect_fault(http_await(fixture, idle.id), TRI_HTTP_TIMEOUT, "no data arrived");
}

static void responses_have_a_limit(void **state)
{
    struct http_fixture *fixture = *state;
    static const struct {
        const char *path;
        size_t max;
        enum tri_http_delivery delivery;
        enum tri_http_fault fault;
    } rows[] = {
        {"/bytes/100000", 100000, TRI_HTTP_WHOLE, TRI_HTTP_NONE},
        {"/bytes/100001", 100000, TRI_HTTP_WHOLE, TRI_HTTP_TOO_LARGE},
        {"/chunks/100000", 100000, TRI_HTTP_WHOLE, TRI_HTTP_NONE},
        {"/chunks/100001", 100000, TRI_HTTP_WHOLE, TRI_HTTP_TOO_LARGE},
        {"/chunks/100001", 100000, TRI_HTTP_CHUNKS, TRI_HTTP_NONE},
        {"/chunks/100001", 100000, TRI_HTTP_LINES, TRI_HTTP_TOO_LARGE},
        {"/chunks/20000000", 0, TRI_HTTP_WHOLE, TRI_HTTP_TOO_LARGE},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tri_http_request request = http_get(fixture, rows[i].path);
        request.response_bytes_max = rows[i].max;
        request.delivery = rows[i].delivery;
        const struct answer *answer = http_run(fixture, &request);
        http_expect_fault(answer, rows[i].fault,
                          rows[i].fault == TRI_HTTP_NONE ? "" : "response_bytes_max");
        if (rows[i].delivery == TRI_HTTP_LINES) {
            assert_int_equal(answer->body_size, 0);
        }
    }
}

static void bad_requests_are_refused(void **state)
{
    struct http_fixture *fixture = *state;
    static const struct tr_text split = {.data = "X: a\r\nY: b", .size = 10};
    static const struct tr_text nameless = {.data = ": b", .size = 3};
    static const struct tr_text no_colon = {.data = "Name", .size = 4};
    static char long_url[TR_HTTP_URL_BYTES_MAX + 2];
    memset(long_url, 'u', sizeof long_url - 1);
    struct tri_http_request good = http_get(fixture, "/echo");
    struct tri_http_request rows[10];
    size_t count = 0;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        rows[i] = good;
    }
    rows[count++].id = 0;
    rows[count++].url = tr_text_of("");
    rows[count++].url = tr_text_of("http://a/\r\nHost: b");
    rows[count++].method = tr_text_of("");
    rows[count++].method = tr_text_of("GET /other");
    const struct tr_text *bad_headers[] = {&split, &nameless, &no_colon};
    for (size_t i = 0; i < TR_COUNT_OF(bad_headers); i++) {
        rows[count].headers = bad_headers[i];
        rows[count++].header_count = 1;
    }
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(tri_http_submit(fixture->http, &rows[i]), TR_INVALID);
    }
    rows[count].url = tr_text_of(long_url);
    assert_int_equal(tri_http_submit(fixture->http, &rows[count++]), TR_LIMIT);
    rows[count].redirects_max = TR_HTTP_REDIRECTS_MAX + 1;
    assert_int_equal(tri_http_submit(fixture->http, &rows[count++]), TR_LIMIT);
    assert_int_equal(http_ended(fixture), 0);
}

/* The proxies of the environment are for those who ask for them. */
static void proxies_are_obeyed_when_asked(void **state)
{
    struct http_fixture *fixture = *state;
    char proxy[64];
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", closed_port());
    setenv("http_proxy", proxy, 1);
    struct tri_http_request request = http_get(fixture, "/status/200");
    assert_int_equal(http_run(fixture, &request)->status, 200);
    request = http_get(fixture, "/status/200");
    request.is_proxied = true;
    http_expect_fault(http_run(fixture, &request), TRI_HTTP_CONNECT, "");
    unsetenv("http_proxy");
}

/* ---- Cancelling. ---------------------------------------------------------------------------- */

/* Waits until a stream has begun, however busy the machine is. */
static void await_line(struct http_fixture *fixture, uint64_t id)
{
    size_t count = 0;
    for (int i = 0; i < HTTP_WAIT_MS_MAX / 10 && count == 0; i++) {
        helper_wait_ms(10);
        pthread_mutex_lock(&fixture->mutex);
        count = http_answer_of(fixture, id)->line_count;
        pthread_mutex_unlock(&fixture->mutex);
    }
    assert_true(count > 0);
}

static void cancelled_requests_end_once(void **state)
{
    struct http_fixture *fixture = *state;
    struct tri_http_request slow = http_get(fixture, "/slow/20000");
    struct tri_http_request stream = http_get(fixture, "/lines/1000/20");
    stream.delivery = TRI_HTTP_LINES;
    http_submit(fixture, &slow);
    http_submit(fixture, &stream);
    await_line(fixture, stream.id);
    assert_int_equal(tri_http_cancel(fixture->http, slow.id), 0);
    assert_int_equal(tri_http_cancel(fixture->http, stream.id), 0);
    assert_int_equal(tri_http_cancel(fixture->http, stream.id), 0);
    assert_int_equal(tri_http_cancel(fixture->http, 123456), 0);
    http_expect_fault(http_await(fixture, slow.id), TRI_HTTP_CANCELLED, "cancelled");
    const struct answer *answer = http_await(fixture, stream.id);
    http_expect_fault(answer, TRI_HTTP_CANCELLED, "cancelled");
    assert_int_equal(answer->status, 200);
    assert_true(answer->line_count > 0);
    struct tri_http_request never = http_get(fixture, "/status/200");
    http_submit(fixture, &never);
    assert_int_equal(tri_http_cancel(fixture->http, never.id), 0);
    http_await(fixture, never.id); /* one or the other */
}

/* From within what is delivered, requests may be made and unmade. */
static void go_on(struct http_fixture *fixture, const struct tri_http_event *event)
{
    if (event->kind == TRI_HTTP_END && event->id == 1000) {
        struct tri_http_request next = http_get(fixture, "/slow/20000");
        next.id = 1001;
        http_submit(fixture, &next);
        assert_int_equal(tri_http_cancel(fixture->http, 1001), 0);
    }
}

static void deliveries_may_ask_for_more(void **state)
{
    struct http_fixture *fixture = *state;
    fixture->on_event = go_on;
    struct tri_http_request request = http_get(fixture, "/status/200");
    request.id = 1000;
    assert_int_equal(http_run(fixture, &request)->status, 200);
    http_expect_fault(http_await(fixture, 1001), TRI_HTTP_CANCELLED, "cancelled");
}

/* ---- Many. ---------------------------------------------------------------------------------- */

static void two_hundred_at_once(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    struct http_fixture *fixture =
        http_fixture_new((struct tri_http_options){.concurrent_per_host_max = COUNT});
    struct tri_http_request last = {0};
    for (int i = 0; i < COUNT; i++) {
        last = http_get(fixture, "/count/500");
        http_submit(fixture, &last);
    }
    int most = 0;
    for (uint64_t id = last.id - COUNT + 1; id <= last.id; id++) {
        const struct answer *answer = http_await(fixture, id);
        assert_int_equal(answer->status, 200);
        most = atoi(answer->body) > most ? atoi(answer->body) : most;
    }
    assert_true(most > COUNT / 2);
    http_fixture_free(fixture);
}

static void hosts_and_lines_have_limits(void **state)
{
    (void)state;
    struct http_server other;
    http_server_start(&other, NULL, NULL);
    struct http_fixture *fixture = http_fixture_new((struct tri_http_options){
        .requests_max = 8, .concurrent_max = 3, .concurrent_per_host_max = 2});
    fixture->server = other;
    struct tri_http_request requests[9];
    for (size_t i = 0; i < 7; i++) {
        requests[i] = http_get(fixture, "/count/100");
        http_submit(fixture, &requests[i]);
    }
    requests[7] = http_get(fixture, "/status/200");
    requests[7].timeout_ms = 50;
    http_submit(fixture, &requests[7]);
    requests[8] = http_get(fixture, "/status/200");
    assert_int_equal(tri_http_submit(fixture->http, &requests[8]), TR_BUSY);
    http_expect_fault(http_await(fixture, requests[7].id), TRI_HTTP_TIMEOUT, "not sent in time");
    http_submit(fixture, &requests[8]); /* there is room again */
    for (size_t i = 0; i < 7; i++) {
        const struct answer *answer = http_await(fixture, requests[i].id);
        assert_int_equal(answer->status, 200);
        assert_true(atoi(answer->body) <= 2);
    }
    assert_int_equal(http_await(fixture, requests[8].id)->status, 200);
    http_fixture_free(fixture);
    http_server_stop(&other);
}

/* A thread that submits, with ids of its own: a later thread may get the stack of an earlier one,
 * so addresses there are none. */
struct submitter {
    pthread_t thread;
    struct http_fixture *fixture;
    uint64_t first_id;
};

enum { SUBMITTERS = 4, SUBMITTED_BY_EACH = 50 };

static void *submit_many(void *self)
{
    const struct submitter *submitter = self;
    struct http_fixture *fixture = submitter->fixture;
    for (uint64_t i = 0; i < SUBMITTED_BY_EACH; i++) {
        struct tri_http_request request = {
            .id = submitter->first_id + i,
            .method = tr_text_of("GET"),
            .url = tr_text_of("http://127.0.0.1:1/"),
        };
        while (tri_http_submit(fixture->http, &request) == TR_BUSY) {
            helper_wait_ms(1);
        }
        assert_int_equal(tri_http_cancel(fixture->http, request.id), 0);
    }
    return NULL;
}

static void any_thread_may_submit(void **state)
{
    (void)state;
    struct submitter submitters[SUBMITTERS];
    struct http_fixture *fixture = http_fixture_new((struct tri_http_options){.requests_max = 20});
    for (size_t i = 0; i < SUBMITTERS; i++) {
        submitters[i].fixture = fixture;
        submitters[i].first_id = 1 + i * SUBMITTED_BY_EACH;
        assert_int_equal(pthread_create(&submitters[i].thread, NULL, submit_many, &submitters[i]),
                         0);
    }
    for (size_t i = 0; i < SUBMITTERS; i++) {
        assert_int_equal(pthread_join(submitters[i].thread, NULL), 0);
    }
    size_t all = (size_t)SUBMITTERS * SUBMITTED_BY_EACH;
    for (int i = 0; i < 2000 && http_ended(fixture) < all; i++) {
        helper_wait_ms(5);
    }
    assert_int_equal(http_ended(fixture), all);
    http_fixture_free(fixture);
}

/* ---- TLS. ----------------------------------------------------------------------------------- */

static struct tri_http_request get_by_tls(const struct http_server *tls,
                                          struct http_fixture *fixture)
{
    static char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%d/status/200", tls->port);
    struct tri_http_request request = http_get(fixture, "/");
    request.url = tr_text_of(url);
    return request;
}

static void tls_is_checked(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_server tls;
    http_server_start(&tls, "server.pem", NULL);
    struct tri_http_request request = get_by_tls(&tls, fixture);
    http_expect_fault(http_run(fixture, &request), TRI_HTTP_TLS, "certificate");
    request = get_by_tls(&tls, fixture);
    request.ca_file = tr_text_of(TLS_FOLDER "ca.pem");
    const struct answer *answer = http_run(fixture, &request);
    http_expect_fault(answer, TRI_HTTP_NONE, "");
    assert_int_equal(answer->status, 200);
    request = get_by_tls(&tls, fixture);
    request.ca_file = tr_text_of("/no/such/file");
    http_expect_fault(http_run(fixture, &request), TRI_HTTP_TLS, "/no/such/file");
    request = get_by_tls(&tls, fixture);
    request.is_insecure = true;
    assert_int_equal(http_run(fixture, &request)->status, 200);
    /* Trust given to one request is not the next one's. */
    request = get_by_tls(&tls, fixture);
    http_expect_fault(http_run(fixture, &request), TRI_HTTP_TLS, "certificate");
    /* TLS where there is none. */
    request = get_by_tls(&fixture->server, fixture);
    http_expect_fault(http_run(fixture, &request), TRI_HTTP_TLS, "");
    http_server_stop(&tls);
}

static void clients_are_checked(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_server tls;
    http_server_start(&tls, "server.pem", "ca.pem");
    struct tri_http_request request = get_by_tls(&tls, fixture);
    request.ca_file = tr_text_of(TLS_FOLDER "ca.pem");
    const struct answer *answer = http_run(fixture, &request);
    assert_true(answer->fault == TRI_HTTP_TLS || answer->fault == TRI_HTTP_PROTOCOL);
    request = get_by_tls(&tls, fixture);
    request.ca_file = tr_text_of(TLS_FOLDER "ca.pem");
    request.client_certificate = tr_text_of(TLS_FOLDER "client.pem");
    request.client_key = tr_text_of(TLS_FOLDER "client.pem");
    answer = http_run(fixture, &request);
    http_expect_fault(answer, TRI_HTTP_NONE, "");
    assert_int_equal(answer->status, 200);
    http_server_stop(&tls);
}

/* ---- The end. ------------------------------------------------------------------------------- */

static void stopping_ends_everything(void **state)
{
    (void)state;
    struct http_fixture *fixture = http_fixture_new(
        (struct tri_http_options){.concurrent_max = 2, .concurrent_per_host_max = 2});
    struct tri_http_request requests[5];
    for (size_t i = 0; i < TR_COUNT_OF(requests); i++) {
        requests[i] = http_get(fixture, "/slow/20000");
        http_submit(fixture, &requests[i]);
    }
    helper_wait_ms(50);
    tri_http_stop(fixture->http);
    for (size_t i = 0; i < TR_COUNT_OF(requests); i++) {
        const struct answer *answer = http_await(fixture, requests[i].id);
        http_expect_fault(answer, TRI_HTTP_CLOSED, "stopped");
        assert_true(answer->elapsed_us < 5000000);
    }
    fixture->http = NULL;
    http_fixture_free(fixture);
    assert_int_equal(tr_memory_used(), 0);
}

static void faults_have_names(void **state)
{
    (void)state;
    assert_string_equal(tri_http_fault_name(TRI_HTTP_TOO_LARGE), "too large");
    assert_string_equal(tri_http_fault_name((enum tri_http_fault)99), "?");
}

static atomic_bool is_open;
static atomic_uint asked;

static bool may_begin(void *gate)
{
    assert_ptr_equal(gate, &is_open);
    atomic_fetch_add(&asked, 1);
    return atomic_load(&is_open);
}

/* Where nothing may leave now, requests wait, and go when it may; their timeouts run. */
static void requests_wait_at_a_shut_gate(void **state)
{
    (void)state;
    struct http_fixture *fixture =
        http_fixture_new((struct tri_http_options){.may_begin = may_begin, .gate = &is_open});
    atomic_store(&is_open, false);
    struct tri_http_request late = http_get(fixture, "/status/200");
    late.timeout_ms = 50;
    const struct answer *answer = http_run(fixture, &late);
    assert_int_equal(answer->fault, TRI_HTTP_TIMEOUT);
    assert_true(atomic_load(&asked) > 0);
    struct tri_http_request request = http_get(fixture, "/status/200");
    http_submit(fixture, &request);
    unsigned before = atomic_load(&asked);
    while (atomic_load(&asked) < before + 3) { /* it looks again by itself */
        (void)poll(NULL, 0, 1);
    }
    atomic_store(&is_open, true);
    assert_int_equal(http_await(fixture, request.id)->status, 200);
    http_fixture_free(fixture);
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, http_fixture_set_up, http_fixture_take_down)
    const struct CMUnitTest tests[] = {
        TEST(statuses_are_told),
        cmocka_unit_test(requests_wait_at_a_shut_gate),
        TEST(waits_are_told),
        TEST(requests_arrive),
        TEST(large_bodies_arrive),
        TEST(redirects_are_followed_when_asked),
        TEST(faults_are_told),
        TEST(what_may_have_been_done_is_sent_once),
        TEST(timeouts_are_told),
        TEST(responses_have_a_limit),
        TEST(bad_requests_are_refused),
        TEST(proxies_are_obeyed_when_asked),
        TEST(cancelled_requests_end_once),
        TEST(deliveries_may_ask_for_more),
        cmocka_unit_test(two_hundred_at_once),
        cmocka_unit_test(hosts_and_lines_have_limits),
        cmocka_unit_test(any_thread_may_submit),
        TEST(tls_is_checked),
        TEST(clients_are_checked),
        cmocka_unit_test(stopping_ends_everything),
        cmocka_unit_test(faults_have_names),
    };
    return cmocka_run_group_tests(tests, http_group_set_up, http_group_take_down);
}
