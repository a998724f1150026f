/*
 * The http thread beside tests/support/http_server.py, for tests: requests in one line, and what
 * was delivered, gathered by request.
 */
#ifndef TR_TESTS_UNIT_RUNTIME_HTTP_HTTP_FIXTURE_H
#define TR_TESTS_UNIT_RUNTIME_HTTP_HTTP_FIXTURE_H

#include <pthread.h>

#include "runtime/http/http.h"
#include "tests/support/http_server.h"

enum { ANSWERS_MAX = 512, HTTP_WAIT_MS_MAX = 20000 };

/* What was delivered for one request. */
struct answer {
    uint64_t id;
    bool has_ended;
    uint32_t status;
    enum tri_http_fault fault;
    char words[512];
    char headers[4096];
    char body[65536]; /* its beginning; chunks one behind the other, lines with "|" behind each */
    size_t body_size;
    enum tri_http_delivery delivery;
    size_t part_count;
    size_t line_count; /* in these parts */
    uint64_t first_us; /* when the first piece came, since the request */
    uint64_t elapsed_us;
    uint32_t retry_after_s;
};

struct http_fixture {
    struct http_server server;
    struct tri_http *http;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t answer_count;
    struct answer answers[ANSWERS_MAX];
    bool is_slow; /* gives no room back for what was delivered */
    void (*on_event)(struct http_fixture *fixture, const struct tri_http_event *event);
};

/* A server for all tests of a group: its set-up and its take-down. */
int http_group_set_up(void **state);
int http_group_take_down(void **state);

/* With the group's server. Options without a function to deliver to get the fixture's. */
struct http_fixture *http_fixture_new(struct tri_http_options options);
void http_fixture_free(struct http_fixture *fixture);

/* A fixture without options for each test, of which nothing is left behind it. */
int http_fixture_set_up(void **state);
int http_fixture_take_down(void **state);

/* The URL of a path of the server; a few at once. */
const char *http_url(const struct http_fixture *fixture, const char *path);

/* A request with an id that was not used before. */
struct tri_http_request http_get(const struct http_fixture *fixture, const char *path);

void http_submit(struct http_fixture *fixture, const struct tri_http_request *request);

/* Waits for the END; fails the test when none comes. The answer stays where it is. */
const struct answer *http_await(struct http_fixture *fixture, uint64_t id);

/* Submits and waits. */
const struct answer *http_run(struct http_fixture *fixture, const struct tri_http_request *request);

/* How it has ended: with this fault, and these words among its words. */
void http_expect_fault(const struct answer *answer, enum tri_http_fault fault, const char *words);

/* What was delivered so far; only with the mutex held. */
struct answer *http_answer_of(struct http_fixture *fixture, uint64_t id);

/* The value of the last header of this name, in any case; empty without one. */
struct tr_text http_header(const struct answer *answer, const char *name);

/* How many requests have ended. */
size_t http_ended(struct http_fixture *fixture);

#endif
