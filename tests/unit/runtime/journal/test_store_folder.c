/*
 * The folder of a store: its lock, and the locator of its database, which may be anything.
 */
#include "runtime/journal/store_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/test.h"

static char folder[64];
static char explain[TRI_STORE_EXPLAIN_BYTES];
static char locator[TRI_STORE_LOCATOR_BYTES];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/store_folder.XXXXXX");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"commits", "database", "lock", "troupe.db", ""};
    char path[128];
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)remove(path);
    }
    return 0;
}

static void write_file(const char *name, const char *text, size_t size)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, size), (ssize_t)size);
    (void)close(file);
}

static void test_a_folder_is_bound_to_a_database(void **state)
{
    (void)state;
    struct stat status;
    char path[128];
    assert_int_equal(tri_store_folder_locator(folder, explain, locator), 0);
    assert_string_equal(locator, "");
    assert_int_equal(tri_store_folder_bind(folder, "postgresql://a:secret@h/d", explain), 0);
    assert_int_equal(tri_store_folder_locator(folder, explain, locator), 0);
    assert_string_equal(locator, "postgresql://a:secret@h/d");
    (void)snprintf(path, sizeof path, "%s/database", folder);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(tri_store_folder_bind(folder, "postgresql://a:new@h/d", explain), 0);
    assert_int_equal(tri_store_folder_locator(folder, explain, locator), 0);
    assert_string_equal(locator, "postgresql://a:new@h/d");
}

static void test_a_folder_with_a_database_of_its_own_is_not_bound(void **state)
{
    (void)state;
    write_file("troupe.db", "", 0);
    assert_int_equal(tri_store_folder_bind(folder, "postgresql://h/d", explain), TR_INVALID);
    assert_non_null(strstr(explain, "has a database of its own, troupe.db; name another folder"));
}

static void test_what_is_no_locator_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
    } wrong[] = {{"", 0}, {"\n", 1}, {"a://b\nc", 7}, {"a://b\0c\n", 8}, {"a://b\n\n", 7}};
    static char long_text[TRI_STORE_LOCATOR_BYTES + 1];
    for (size_t i = 0; i < TR_COUNT_OF(wrong); i++) {
        write_file("database", wrong[i].text, wrong[i].size);
        assert_int_equal(tri_store_folder_locator(folder, explain, locator), TR_STORE_DAMAGED);
        assert_non_null(strstr(explain, "/database: is not one line with the locator"));
    }
    memset(long_text, 'a', sizeof long_text - 1);
    write_file("database", long_text, sizeof long_text - 1);
    assert_int_equal(tri_store_folder_locator(folder, explain, locator), TR_STORE_DAMAGED);
    (void)tear_down(state);
    (void)mkdir(folder, 0700);
    assert_int_equal(tri_store_folder_bind(folder, long_text, explain), TR_INVALID);
    assert_int_equal(tri_store_folder_bind(folder, "postgresql://h/d\n", explain), TR_INVALID);
}

static void test_a_file_of_another_user_is_not_followed(void **state)
{
    (void)state;
    char path[128];
    if (geteuid() != 0) {
        skip(); /* only root can give a file away, and then be somebody else */
    }
    write_file("database", "postgresql://h/d\n", 17);
    (void)snprintf(path, sizeof path, "%s/database", folder);
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_int_equal(tri_store_folder_locator(folder, explain, locator), TR_STORE_DAMAGED);
    assert_non_null(strstr(explain, "belongs to another user, who chose that database"));
}

static void test_the_lock_is_one_engines(void **state)
{
    (void)state;
    int first = -1;
    int second = -1;
    bool is_held = true;
    assert_int_equal(tri_store_folder_holder(folder, &is_held), 0);
    assert_false(is_held);
    assert_int_equal(tri_store_folder_lock(folder, explain, &first), 0);
    assert_int_equal(tri_store_folder_lock(folder, explain, &second), TR_STORE_LOCKED);
    assert_non_null(strstr(explain, "is used by process"));
    assert_int_equal(second, -1);
    assert_int_equal(tri_store_folder_holder(folder, &is_held), (uint64_t)getpid());
    assert_true(is_held);
    (void)close(first);
    assert_int_equal(tri_store_folder_holder(folder, &is_held), (uint64_t)getpid());
    assert_false(is_held);
}

static void test_who_watches_the_folder_is_told_of_commits(void **state)
{
    (void)state;
    int commits = -1;
    int watched = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    _Alignas(struct inotify_event) char events[1024];
    assert_int_equal(tri_store_folder_open_commits(folder, explain, &commits), 0);
    assert_true(inotify_add_watch(watched, folder, IN_MODIFY) >= 0);
    assert_int_equal(read(watched, events, sizeof events), -1);
    tri_store_folder_tell(commits);
    assert_true(read(watched, events, sizeof events) > 0);
    (void)close(commits);
    (void)close(watched);
    assert_int_equal(tri_store_folder_open_commits("/proc/none", explain, &commits),
                     TR_STORE_FAILED);
    assert_non_null(strstr(explain, "/commits: cannot be opened"));
}

static void test_a_locator_is_printed_without_its_password(void **state)
{
    (void)state;
    static const struct {
        const char *locator;
        const char *text;
    } cases[] = {
        {"postgresql://h/d", "postgresql://h/d"},
        {"postgresql://u@h:5432,i/d?a=b", "postgresql://u@h:5432,i/d?a=b"},
        {"postgresql://u:p@h/d", "postgresql://u@h/d"},
        {"postgresql://u:p:q@h/d?sslmode=require", "postgresql://u@h/d?sslmode=require"},
        {"postgresql:///d?password=p", "postgresql:///d"},
        {"postgresql:///d?password=p&user=u", "postgresql:///d?user=u"},
        {"postgresql:///d?user=u&password=p&host=/x@y", "postgresql:///d?user=u&host=/x@y"},
        {"postgresql://:p@/d", "postgresql://@/d"},
        {"postgresql://h:5432/d?application_name=a@b",
         "postgresql://h:5432/d?application_name=a@b"},
        /* What is not written as a URI asks for takes more with it, but nothing of it is left. */
        {"postgresql://u:p@q@h/d", "postgresql://u@h/d"},
        {"postgresql://u:p/q@h/d", "postgresql://u@h/d"},
        {"postgresql://u:5/q@h/d", "postgresql://u@h/d"},
        {"postgresql://u:p?q@h/d?a=b", "postgresql://u@h/d?a=b"},
        {"postgresql://h/d?password=p&q", "postgresql://h/d"},
        {"postgresql://h/d?p%61ssword=p&sslpassword=q&a=b", "postgresql://h/d?a=b"},
        {"", ""},
        {"no locator", "no locator"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        tri_store_locator_print(cases[i].locator, locator);
        assert_string_equal(locator, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_folder_is_bound_to_a_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_with_a_database_of_its_own_is_not_bound,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_locator_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_of_another_user_is_not_followed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_lock_is_one_engines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_watches_the_folder_is_told_of_commits, set_up,
                                        tear_down),
        cmocka_unit_test(test_a_locator_is_printed_without_its_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
