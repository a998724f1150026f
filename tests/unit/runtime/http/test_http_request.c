/*
 * Requests on their way to the http thread: copied whole, handed over in order from many threads.
 */
#include "runtime/http/http_request.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

static void a_request_is_copied(void **state)
{
    (void)state;
    char url[] = "http://host/path";
    char header[] = "Name: value";
    uint8_t body[] = {1, 0, 2};
    const struct tr_text headers[] = {tr_text_of(header), tr_text_of("Empty:")};
    struct tri_http_request request = {.id = 5,
                                       .method = {.data = "POSTED", .size = 4},
                                       .url = tr_text_of(url),
                                       .headers = headers,
                                       .header_count = 2,
                                       .body = {.data = body, .size = sizeof body},
                                       .timeout_ms = 9};
    struct tri_http_task *task;
    assert_int_equal(tri_http_task_new(&request, &task), 0);
    memset(url, '?', sizeof url - 1);
    memset(header, '?', sizeof header - 1);
    memset(body, 9, sizeof body);
    assert_string_equal(task->request.method.data, "POST");
    assert_string_equal(task->request.url.data, "http://host/path");
    assert_string_equal(task->request.headers[0].data, "Name: value");
    assert_string_equal(task->request.headers[1].data, "Empty:");
    assert_string_equal(task->request.ca_file.data, "");
    assert_int_equal(task->request.body.size, 3);
    assert_memory_equal(task->request.body.data, "\1\0\2", 3);
    assert_int_equal(task->request.timeout_ms, 9);
    tri_http_task_free(task);
    tri_http_task_free(NULL);
    assert_int_equal(tr_memory_used(), 0);
}

/* ---- The inbox. ----------------------------------------------------------------------------- */

enum { THREADS = 4, TASKS = 5000 };

static struct tri_http_inbox inbox;

struct sender {
    pthread_t thread;
    uint64_t number;
    size_t woken;
};

static void *send_tasks(void *self)
{
    struct sender *sender = self;
    for (uint64_t i = 1; i <= TASKS; i++) {
        struct tri_http_task *task = calloc(1, sizeof *task);
        task->request.id = sender->number << 32 | i;
        sender->woken += tri_http_inbox_push(&inbox, task) ? 1 : 0;
    }
    return NULL;
}

static void tasks_arrive_in_their_senders_order(void **state)
{
    (void)state;
    struct sender senders[THREADS] = {0};
    uint64_t last[THREADS] = {0};
    size_t taken = 0;
    size_t lists = 0;
    size_t woken = 0;
    for (size_t i = 0; i < THREADS; i++) {
        senders[i].number = i;
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_tasks, &senders[i]), 0);
    }
    while (taken < (size_t)THREADS * TASKS) {
        struct tri_http_task *task = tri_http_inbox_take(&inbox);
        lists += task != NULL ? 1 : 0;
        while (task != NULL) {
            struct tri_http_task *next = task->next;
            size_t sender = (size_t)(task->request.id >> 32);
            assert_int_equal((uint32_t)task->request.id, ++last[sender]);
            free(task);
            task = next;
            taken++;
        }
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(senders[i].thread, NULL), 0);
        woken += senders[i].woken;
    }
    /* Each list that was taken had one push that found it empty: nobody sleeps on a full one. */
    assert_int_equal(woken, lists);
    assert_null(tri_http_inbox_take(&inbox));
}

/* ---- Headers. ------------------------------------------------------------------------------- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_copied),
        cmocka_unit_test(tasks_arrive_in_their_senders_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
