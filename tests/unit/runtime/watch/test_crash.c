/*
 * The last words of a process: for each way in which a handler can end it, over a real process, the
 * recorder lies in a file beside the store, and says what was in hand.
 */
#include "tests/support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/watch/crash.h"
#include "tests/support/child.h"
#include "tests/support/scripted.h"

#define DUMP_BYTES (1U << 20)

/* ------------------------------------------------------------------ the child */

/* How a child may end, by role. */
static const struct {
    const char *role;
    enum scripted_verb verb;
} ends[] = {
    {"crash", SCRIPTED_CRASH},
    {"absurd", SCRIPTED_ABSURD},
    {"overrun", SCRIPTED_OVERRUN},
};

/* A busy host until the end comes. `folder` "none": without a store. */
static int play(const char *role, const char *folder)
{
    struct tr_host *host = scripted_open(2, strcmp(folder, "none") == 0 ? NULL : folder, 0);
    struct tr_ref ann = scripted_spawn(host, "ann");
    struct tr_ref bob = scripted_spawn(host, "bob");
    scripted_do(host, ann,
                (struct tr_scripted_do){.verb = SCRIPTED_TELL, .count = 20, .peer = bob});
    scripted_await(host, "messages_handled", 21);
    if (strcmp(role, "signal") == 0) {
        raise(SIGBUS);
    }
    for (size_t i = 0; i < TR_COUNT_OF(ends); i++) {
        if (strcmp(role, ends[i].role) == 0) {
            scripted_do(host, bob, (struct tr_scripted_do){.verb = (uint8_t)ends[i].verb});
        }
    }
    int reason;
    return tr_host_wait(host, bob, 0, &reason);
}

/* ----------------------------------------------------------------- the parent */

static struct child child;
static char dump[DUMP_BYTES];

/* Reads the dump of the child; "" when there is none. */
static void read_dump(const char *folder)
{
    char path[SCRIPTED_PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/crash-%d.txt", folder, (int)child.pid);
    int file = open(path, O_RDONLY);
    ssize_t size = file < 0 ? 0 : read(file, dump, sizeof dump - 1);
    assert_true(size >= 0);
    dump[size] = '\0';
    if (file >= 0) {
        close(file);
    }
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    while ((text = strstr(text, part)) != NULL) {
        text += strlen(part);
        count++;
    }
    return count;
}

static void check_dump(const char *role, const char *why)
{
    char folder[SCRIPTED_PATH_BYTES];
    scripted_folder(folder);
    child_run(role, folder, &child);
    read_dump(folder);
    assert_false(child_is_well(&child));
    if (strstr(dump, why) != dump) {
        fail_msg("%s: the dump begins with `%.40s`; stderr: %s", role, dump, child.text);
    }
    assert_int_equal(count_of(dump, "pid="), 1);
    assert_int_equal(count_of(dump, " point=handled type=64002 "), 20);
    assert_int_equal(count_of(dump, " point=spawn "), 2);
    assert_non_null(strstr(child.text, "troupe: the process ends: "));
    assert_non_null(strstr(child.text, "; its last events are in "));
    scripted_folder_remove(folder);
}

static void test_fault_in_a_handler_is_dumped(void **state)
{
    (void)state;
    check_dump("crash", "SIGSEGV pid=");
    assert_int_equal(count_of(dump, " is handling: actor="), 1);
    assert_int_equal(count_of(dump, " type=64001 from=0/1@"), 1);
}

static void test_failed_assertion_is_dumped_once(void **state)
{
    (void)state;
    check_dump("absurd", "an assertion has failed pid=");
    assert_int_equal(count_of(dump, " is handling: actor="), 1);
    assert_int_equal(count_of(child.text, "troupe: the process ends"), 1);
}

static void test_stack_that_overflows_is_dumped(void **state)
{
    (void)state;
    check_dump("overrun", "SIGSEGV pid=");
    assert_int_equal(count_of(dump, " is handling: actor="), 1);
}

static void test_signal_from_outside_still_ends_the_process(void **state)
{
    (void)state;
    check_dump("signal", "SIGBUS pid=");
    assert_int_equal(count_of(dump, " is handling: actor="), 0);
}

static void test_host_without_a_store_dumps_to_stderr(void **state)
{
    (void)state;
    child_run("crash", "none", &child);
    assert_false(child_is_well(&child));
    assert_non_null(strstr(child.text, "troupe: the process ends: SIGSEGV\n"));
    assert_int_equal(count_of(child.text, " is handling: actor="), 1);
    assert_int_equal(count_of(child.text, " point=handled type=64002 "), 20);
}

static uint32_t count_dumps(const char *folder)
{
    uint32_t count = 0;
    DIR *all = opendir(folder);
    assert_non_null(all);
    const struct dirent *entry;
    while ((entry = readdir(all)) != NULL) {
        count += fnmatch("crash-*.txt", entry->d_name, 0) == 0;
    }
    closedir(all);
    return count;
}

static void test_start_keeps_only_the_newest_dumps(void **state)
{
    (void)state;
    char folder[SCRIPTED_PATH_BYTES];
    char path[SCRIPTED_PATH_BYTES + 64];
    scripted_folder(folder);
    for (int i = 0; i < TR_CRASH_FILES_KEPT + 5; i++) {
        snprintf(path, sizeof path, "%s/crash-%d.txt", folder, 100 + i);
        int file = open(path, O_WRONLY | O_CREAT, 0600);
        struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        assert_true(file >= 0);
        assert_int_equal(futimens(file, times), 0);
        close(file);
    }
    struct tr_host *host = scripted_open(1, folder, 0);
    assert_int_equal(count_dumps(folder), TR_CRASH_FILES_KEPT);
    assert_int_equal(access(path, F_OK), 0); /* the newest */
    snprintf(path, sizeof path, "%s/crash-104.txt", folder);
    assert_int_not_equal(access(path, F_OK), 0);
    tr_host_free(host);
    scripted_folder_remove(folder);
}

static void test_watching_has_a_limit(void **state)
{
    (void)state;
    static struct tri_worker workers[TR_CRASH_HOSTS_MAX + 1];
    for (uint32_t i = 0; i < TR_CRASH_HOSTS_MAX; i++) {
        assert_int_equal(tri_crash_watch(&workers[i], 1, NULL), 0);
    }
    assert_int_equal(tri_crash_watch(&workers[TR_CRASH_HOSTS_MAX], 1, NULL), TR_LIMIT);
    tri_crash_forget(&workers[TR_CRASH_HOSTS_MAX]);
    tri_crash_forget(&workers[3]);
    assert_int_equal(tri_crash_watch(&workers[TR_CRASH_HOSTS_MAX], 1, NULL), 0);
    for (uint32_t i = 0; i <= TR_CRASH_HOSTS_MAX; i++) {
        tri_crash_forget(&workers[i]);
    }
}

int main(int argc, char **argv)
{
    if (child_is_wanted(argc, argv)) {
        return play(argv[2], argv[3]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault_in_a_handler_is_dumped),
        cmocka_unit_test(test_failed_assertion_is_dumped_once),
        cmocka_unit_test(test_stack_that_overflows_is_dumped),
        cmocka_unit_test(test_signal_from_outside_still_ends_the_process),
        cmocka_unit_test(test_host_without_a_store_dumps_to_stderr),
        cmocka_unit_test(test_start_keeps_only_the_newest_dumps),
        cmocka_unit_test(test_watching_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
