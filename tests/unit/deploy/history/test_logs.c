/*
 * Logs: which files are printed, under which headlines, from where on, and how they go on.
 */
#include "deploy/history/log_files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/deploy/help.h"
#include "tests/unit/deploy/past.h"

static struct tr_log_files files;
static FILE *stream;

static int set_up(void **state)
{
    (void)state;
    help_folder_enter();
    assert_int_equal(mkdir("one", 0700), 0);
    assert_int_equal(mkdir("two", 0700), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_log_files_fini(&files);
    help_folder_leave();
    return 0;
}

static void begin(uint64_t tail)
{
    stream = past_stream();
    tr_log_files_init(&files, stream, "fan", tail);
}

static void take(const char *path, uint64_t element, uint32_t attempt, uint8_t phase,
                 const char *folder)
{
    struct tr_attempt row = {.path = tr_text_of(path),
                             .element = element,
                             .attempt = attempt,
                             .phase = phase,
                             .folder = tr_text_of(folder)};
    assert_int_equal(tr_log_files_take(&files, &row), 0);
}

static void add(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void test_the_only_file_has_no_headline(void **state)
{
    (void)state;
    add("one/stdout", "a\nb");
    add("one/stderr", "");
    begin(UINT64_MAX);
    take("list", TR_ELEMENT_NONE, 0, TR_TASK_PHASE_SUCCESS, "one");
    take("list", TR_ELEMENT_NONE, 1, TR_TASK_PHASE_SUCCESS, "gone");
    tr_log_files_print(&files);
    assert_string_equal(past_text(), "a\nb");
}

static void test_several_have(void **state)
{
    (void)state;
    add("one/stdout", "a");
    add("one/stderr", "b\n");
    add("two/stdout", "c\n");
    begin(UINT64_MAX);
    take("list", TR_ELEMENT_NONE, 2, TR_TASK_PHASE_SUCCESS, "one");
    take("sq", 7, 0, TR_TASK_PHASE_SUCCESS, "two");
    tr_log_files_print(&files);
    assert_string_equal(past_text(), "==> fan/list@2 stdout <==\na\n\n"
                                     "==> fan/list@2 stderr <==\nb\n\n"
                                     "==> fan/sq[7]@0 stdout <==\nc\n");
}

static void test_files_that_grow(void **state)
{
    (void)state;
    begin(UINT64_MAX);
    take("sq", 3, 0, TR_TASK_PHASE_RUNNING, "two");
    tr_log_files_print(&files);
    add("two/stdout", "a");
    tr_log_files_print(&files);
    add("two/stdout", "b\n");
    tr_log_files_print(&files);
    tr_log_files_again(&files);
    add("one/stdout", "first\n");
    take("list", TR_ELEMENT_NONE, 0, TR_TASK_PHASE_SUCCESS, "one");
    take("sq", 3, 0, TR_TASK_PHASE_RUNNING, "two");
    assert_int_equal(files.count, 2);
    tr_log_files_print(&files);
    assert_true(files.items[0].is_done);
    add("one/stdout", "too late\n");
    add("two/stdout", "c\n");
    tr_log_files_again(&files);
    take("sq", 3, 0, TR_TASK_PHASE_SUCCESS, "two");
    tr_log_files_print(&files);
    tr_log_files_print(&files);
    assert_string_equal(past_text(), "ab\n\n"
                                     "==> fan/list@0 stdout <==\nfirst\n\n"
                                     "==> fan/sq[3]@0 stdout <==\nc\n");
}

static const char *tail_of(const char *text, uint64_t lines)
{
    tr_log_files_fini(&files);
    (void)unlink("one/stdout");
    add("one/stdout", text);
    begin(lines);
    take("list", TR_ELEMENT_NONE, 0, TR_TASK_PHASE_RUNNING, "one");
    tr_log_files_print(&files);
    return past_text();
}

static void test_the_tail(void **state)
{
    (void)state;
    char text[3 * 4096 + 1];
    assert_string_equal(tail_of("a\nb\nc\n", 2), "b\nc\n");
    assert_string_equal(tail_of("a\nb\nc", 2), "b\nc");
    assert_string_equal(tail_of("a\nb\nc", 3), "a\nb\nc");
    assert_string_equal(tail_of("a\nb\nc", 99), "a\nb\nc");
    assert_string_equal(tail_of("a\nb\nc\n", 0), "");
    assert_string_equal(tail_of("a\n\n", 1), "\n");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[4095] = '\n';
    assert_string_equal(tail_of(text, 1), text + 4096);
    assert_string_equal(tail_of(text, 2), text);
}

static void test_what_is_no_file_is_passed_over(void **state)
{
    (void)state;
    help_write("secret", "not for logs\n");
    assert_int_equal(symlink("../secret", "one/stdout"), 0);
    assert_int_equal(mkfifo("one/stderr", 0600), 0);
    begin(UINT64_MAX);
    take("list", TR_ELEMENT_NONE, 0, TR_TASK_PHASE_RUNNING, "one");
    take("none", TR_ELEMENT_NONE, 0, TR_TASK_PHASE_RUNNING, "");
    tr_log_files_print(&files);
    assert_string_equal(past_text(), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_only_file_has_no_headline),
        TEST(test_several_have),
        TEST(test_files_that_grow),
        TEST(test_the_tail),
        TEST(test_what_is_no_file_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
