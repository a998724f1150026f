/*
 * A check of a store: of what a store has written itself nothing is wrong, in any database.
 */
#include "runtime/journal/findings.h"

#include <stdio.h>
#include <string.h>

#include "runtime/store_care.h"
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

static int go_on(void *self, const char *table, uint64_t rows)
{
    (void)self;
    (void)rows;
    return strcmp(table, "nobody's") == 0;
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

static void test_what_a_store_wrote_is_well(void **state)
{
    static const enum stand_kind kinds[] = {STAND_FOLDER, STAND_POSTGRES};
    uint8_t buffer[128];
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(kinds); i++) {
        struct stand *stand = stand_new(kinds[i]);
        struct tri_store *store = stand_open(stand);
        struct tri_op message = op_message(1, 1, 2, UINT64_MAX, "envelope");
        message.to_group = 3;
        assert_int_equal(COMMIT(store, 1, op_counter(1, 0, 5), op_actor(1, 1, 1, "image"),
                                op_page(1, 1, 0, "page"), message, op_meta(TRI_META_USER, "cell"),
                                op_door(1, 1, "front", "Ann"),
                                op_grown(2, 7, "what", buffer, sizeof buffer)),
                         0);
        struct heard heard = {.findings = 0};
        struct tri_store_checking checking = {.options = stand_options(stand),
                                              .self = &heard,
                                              .found = found,
                                              .progress = go_on,
                                              .finished = finished};
        assert_int_equal(tri_store_check(&checking, NULL), 0);
        assert_string_equal(heard.last, "");
        assert_int_equal(heard.findings, 0);
        assert_int_equal(heard.rows, 7);
        tri_store_close(store);
        stand_free(stand);
    }
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
        tri_findings_tell_row(&findings, &page);
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
        cmocka_unit_test(test_what_a_store_wrote_is_well),
        cmocka_unit_test(test_findings_of_a_table_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
