/*
 * The table of open calls: found by actor and number, and gone when they were given back, also when
 * another thread gives them back.
 */
#include "runtime/services/http_calls.h"

#include "runtime/memory.h"
#include "tests/support/test.h"

static struct tri_http_calls calls;

static struct tri_caller caller_of(uint64_t serial, uint32_t incarnation, uint64_t ask)
{
    return (struct tri_caller){.ref = {{1, serial}, incarnation}, .ask = ask};
}

static struct tri_http_call *find(struct tri_caller caller)
{
    return tri_http_calls_find(&calls, caller.ref, caller.ask);
}

static void a_call_is_found_by_actor_and_number(void **state)
{
    (void)state;
    struct tri_caller caller = caller_of(16, 1, 7);
    struct tri_http_call *call = tri_http_calls_add(&calls, &caller);
    assert_ptr_equal(find(caller), call);
    assert_null(find(caller_of(16, 1, 8)));
    assert_null(find(caller_of(32, 1, 7)));
    assert_null(find(caller_of(16, 2, 7)));
    tri_http_calls_end(&calls, call);
    assert_ptr_equal(find(caller), call); /* until somebody tidies */
    tri_http_calls_free_ended(&calls);
    assert_null(find(caller));
    assert_int_equal(tr_memory_used(), 0);
}

enum { COUNT = 5000 };

static struct tri_http_call *handed[COUNT];

static void *give_back(void *argument)
{
    (void)argument;
    for (size_t i = 0; i < COUNT; i += 2) {
        tri_http_calls_end(&calls, handed[i]);
    }
    return NULL;
}

static void another_thread_gives_back(void **state)
{
    (void)state;
    pthread_t thread;
    for (size_t i = 0; i < COUNT; i++) {
        struct tri_caller caller = caller_of(i % 10, 1, i);
        handed[i] = tri_http_calls_add(&calls, &caller);
        assert_non_null(handed[i]);
    }
    assert_int_equal(pthread_create(&thread, NULL, give_back, NULL), 0);
    for (size_t i = 0; i < 100; i++) {
        tri_http_calls_free_ended(&calls);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    tri_http_calls_free_ended(&calls);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(find(caller_of(i % 10, 1, i)) != NULL, i % 2 == 1);
    }
    tri_http_calls_fini(&calls);
    assert_int_equal(tr_memory_used(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_found_by_actor_and_number),
        cmocka_unit_test(another_thread_gives_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
