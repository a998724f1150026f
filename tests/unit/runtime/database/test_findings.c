/*
 * What a check tells: a bounded number of findings for each table, and where each of them is.
 */
#include "runtime/database/findings.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/runtime/stand.h"

struct heard {
    size_t findings;
    uint64_t rows;
    char last[256];
};

static void found(void *self, const struct tri_finding *finding)
{
    struct heard *heard = self;
    heard->findings++;
    (void)snprintf(heard->last, sizeof heard->last, "%s: %s", finding->place, finding->what);
}

static int stop(void *self, const char *table, uint64_t rows)
{
    (void)self;
    (void)table;
    (void)rows;
    return TR_CLOSED;
}

static void finished(void *self, const char *table, uint64_t rows)
{
    struct heard *heard = self;
    (void)table;
    heard->rows += rows;
}

static void test_findings_of_a_table_are_bounded(void **state)
{
    struct heard heard = {.findings = 0};
    struct tri_store_checking checking = {
        .self = &heard, .found = found, .progress = stop, .finished = finished};
    struct tri_findings findings = {.checking = &checking};
    (void)state;
    tri_findings_begin(&findings, "pages");
    for (uint64_t i = 0; i < TRI_FINDINGS_EACH_MAX + 3; i++) {
        struct tri_op page = op_page(1, 2, i, "");
        tri_findings_check_row(&findings, &page, false);
    }
    assert_int_equal(heard.findings, TRI_FINDINGS_EACH_MAX);
    assert_string_equal(heard.last,
                        "pages (group 1, serial 2, page 9): the row fails its checksum");
    tri_findings_end(&findings, true);
    assert_int_equal(heard.findings, TRI_FINDINGS_EACH_MAX + 1);
    assert_string_equal(heard.last, "pages: 3 more findings in this table are not shown");
    assert_int_equal(tri_findings_go_on(&findings), TR_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_findings_of_a_table_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
