/*
 * Each thread has the console that it was given, and else the process's own.
 */
#include "deploy/console/console.h"

#include <pthread.h>
#include <string.h>

#include "deploy/common/identity.h"
#include "tests/support/test.h"

static void *look(void *argument)
{
    (void)argument;
    assert_null(tr_console());
    assert_ptr_equal(tr_console_out(), stdout);
    assert_ptr_equal(tr_console_err(), stderr);
    tr_console_note_error(3); /* nobody hears of it */
    tr_console_note_more();
    return NULL;
}

static void a_thread_has_its_own(void **state)
{
    char identity[TR_IDENTITY_BYTES];
    char text[64] = "";
    pthread_t other;
    struct tr_console console = {.identity = "ann", .answer_ms = 5};
    (void)state;
    console.out = fmemopen(text, sizeof text, "w");
    console.err = stderr;
    assert_non_null(console.out);
    tr_console_set(&console);
    assert_ptr_equal(tr_console(), &console);
    fputs("here", tr_console_out());
    tr_console_note_error(7);
    tr_console_note_more();
    tr_identity_read(identity);
    assert_string_equal(identity, "ann");
    assert_int_equal(pthread_create(&other, NULL, look, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    tr_console_set(NULL);
    (void)look(NULL);
    assert_int_equal(console.error, 7);
    assert_true(console.has_more);
    assert_int_equal(fclose(console.out), 0);
    assert_string_equal(text, "here");
    tr_identity_read(identity);
    assert_non_null(strchr(identity, '@'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_thread_has_its_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
