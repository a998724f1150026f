/*
 * Gathering what the http thread delivers, behind a lock: the test's thread waits for it.
 */
#include "tests/unit/runtime/http/http_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "schemas/runtime/http.h"
#include "tests/support/test.h"

#define SUPPORT TROUPE_SOURCE_DIR "/tests/support/"

/* ---- Gathering. ----------------------------------------------------------------------------- */

struct answer *http_answer_of(struct http_fixture *fixture, uint64_t id)
{
    for (size_t i = 0; i < fixture->answer_count; i++) {
        if (fixture->answers[i].id == id) {
            return &fixture->answers[i];
        }
    }
    if (fixture->answer_count == ANSWERS_MAX) {
        abort();
    }
    struct answer *answer = &fixture->answers[fixture->answer_count++];
    answer->id = id;
    return answer;
}

static void add_body(struct answer *answer, struct tr_bytes body)
{
    size_t room = sizeof answer->body - 1;
    size_t at = answer->body_size < room ? answer->body_size : room;
    size_t taken = body.size < room - at ? body.size : room - at;
    if (taken > 0) {
        memcpy(answer->body + at, body.data, taken);
    }
    answer->body_size += body.size;
}

static void add_lines(struct answer *answer, struct tr_bytes part)
{
    struct tr_bytes line;
    while (tr_http_line_next(&part, &line)) {
        add_body(answer, line);
        add_body(answer, (struct tr_bytes){.data = (const uint8_t *)"|", .size = 1});
        answer->line_count++;
    }
}

static void gather(struct answer *answer, const struct tri_http_event *event)
{
    if (answer->has_ended) {
        abort(); /* an END is the last */
    }
    if (answer->part_count == 0) {
        answer->first_us = event->elapsed_us;
    }
    if (event->kind == TRI_HTTP_PART && answer->delivery == TRI_HTTP_LINES) {
        add_lines(answer, event->body);
    } else {
        add_body(answer, event->body);
    }
    answer->part_count += event->kind == TRI_HTTP_PART ? 1 : 0;
    answer->has_ended = event->kind == TRI_HTTP_END;
    answer->status = event->status;
    answer->fault = event->fault;
    answer->elapsed_us = event->elapsed_us;
    answer->retry_after_s = event->retry_after_s;
    snprintf(answer->words, sizeof answer->words, "%s", event->words);
    snprintf(answer->headers, sizeof answer->headers, "%.*s", (int)event->headers.size,
             event->headers.size > 0 ? event->headers.data : "");
}

static void take(void *self, const struct tri_http_event *event)
{
    struct http_fixture *fixture = self;
    pthread_mutex_lock(&fixture->mutex);
    gather(http_answer_of(fixture, event->id), event);
    void (*on_event)(struct http_fixture *, const struct tri_http_event *) = fixture->on_event;
    pthread_cond_broadcast(&fixture->changed);
    bool gives_room = event->kind == TRI_HTTP_PART && !fixture->is_slow;
    pthread_mutex_unlock(&fixture->mutex);
    if (gives_room && tri_http_give_room(fixture->http, event->id, event->body.size) != 0) {
        abort();
    }
    if (on_event != NULL) {
        on_event(fixture, event);
    }
}

static struct http_server group_server;

int http_group_set_up(void **state)
{
    (void)state;
    http_server_start(&group_server, NULL, NULL);
    return 0;
}

int http_group_take_down(void **state)
{
    (void)state;
    http_server_stop(&group_server);
    return 0;
}

struct http_fixture *http_fixture_new(struct tri_http_options options)
{
    struct http_fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture->server = group_server;
    pthread_mutex_init(&fixture->mutex, NULL);
    pthread_cond_init(&fixture->changed, NULL);
    if (options.deliver == NULL) {
        options.deliver = take;
        options.self = fixture;
    }
    assert_int_equal(tri_http_start(&options, &fixture->http), 0);
    return fixture;
}

void http_fixture_free(struct http_fixture *fixture)
{
    tri_http_stop(fixture->http);
    pthread_mutex_destroy(&fixture->mutex);
    pthread_cond_destroy(&fixture->changed);
    free(fixture);
}

int http_fixture_set_up(void **state)
{
    *state = http_fixture_new((struct tri_http_options){0});
    return 0;
}

int http_fixture_take_down(void **state)
{
    http_fixture_free(*state);
    assert_int_equal(tr_memory_used(), 0);
    return 0;
}

/* ---- Asking. -------------------------------------------------------------------------------- */

const char *http_url(const struct http_fixture *fixture, const char *path)
{
    static char urls[16][512];
    static size_t next;
    char *url = urls[next++ % 16];
    snprintf(url, sizeof urls[0], "http://127.0.0.1:%d%s", fixture->server.port, path);
    return url;
}

struct tri_http_request http_get(const struct http_fixture *fixture, const char *path)
{
    static uint64_t id;
    return (struct tri_http_request){
        .id = ++id, .method = tr_text_of("GET"), .url = tr_text_of(http_url(fixture, path))};
}

void http_submit(struct http_fixture *fixture, const struct tri_http_request *request)
{
    pthread_mutex_lock(&fixture->mutex);
    http_answer_of(fixture, request->id)->delivery = request->delivery;
    pthread_mutex_unlock(&fixture->mutex);
    assert_int_equal(tri_http_submit(fixture->http, request), 0);
}

const struct answer *http_await(struct http_fixture *fixture, uint64_t id)
{
    struct timespec end;
    int error = 0;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += HTTP_WAIT_MS_MAX / 1000;
    pthread_mutex_lock(&fixture->mutex);
    const struct answer *answer = http_answer_of(fixture, id);
    while (!answer->has_ended && error == 0) {
        error = pthread_cond_timedwait(&fixture->changed, &fixture->mutex, &end);
    }
    bool has_ended = answer->has_ended;
    pthread_mutex_unlock(&fixture->mutex);
    assert_true(has_ended);
    return answer;
}

const struct answer *http_run(struct http_fixture *fixture, const struct tri_http_request *request)
{
    http_submit(fixture, request);
    return http_await(fixture, request->id);
}

size_t http_ended(struct http_fixture *fixture)
{
    size_t count = 0;
    pthread_mutex_lock(&fixture->mutex);
    for (size_t i = 0; i < fixture->answer_count; i++) {
        count += fixture->answers[i].has_ended ? 1 : 0;
    }
    pthread_mutex_unlock(&fixture->mutex);
    return count;
}

void http_expect_fault(const struct answer *answer, enum tri_http_fault fault, const char *words)
{
    if (answer->fault != fault || strstr(answer->words, words) == NULL) {
        print_error("%s: %s\n", tri_http_fault_name(answer->fault), answer->words);
    }
    assert_int_equal(answer->fault, fault);
    assert_non_null(strstr(answer->words, words));
}

struct tr_text http_header(const struct answer *answer, const char *name)
{
    return tri_http_header(tr_text_of(answer->headers), name);
}
