/*
 * The tree as it is keeps the laws of the house.
 *
 * When this fails, each line it prints names a file, a line, the law and what to do. The laws are
 * the tables of laws.c; test_laws.c shows that each of them can fail.
 */
#include "tests/support/test.h"
#include "tests/unit/house/check.h"

static void test_this_tree_keeps_the_laws(void **state)
{
    (void)state;
    struct house_findings findings = {0};
    size_t files = house_check_tree(TROUPE_SOURCE_DIR, &findings);
    size_t count = findings.count;
    house_findings_print(&findings, stderr);
    house_findings_fini(&findings);
    assert_true(files > 10);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_this_tree_keeps_the_laws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
