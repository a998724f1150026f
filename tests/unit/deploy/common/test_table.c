/*
 * Tables: widths in characters, nothing that breaks out of a line, no blanks at its end.
 */
#include "deploy/common/table.h"

#include "tests/unit/deploy/past.h"

static void add(struct tr_table *table, const char *const *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tr_table_text(table, tr_text_of(cells[i]));
    }
}

static void test_columns_are_as_wide_as_their_cells(void **state)
{
    (void)state;
    static const char *const cells[] = {"NAME", "N",        "NOTE", "w\xc3\xb6rter", "10",
                                        "",     "a\x1b[2J", "",     "two\nlines"};
    struct tr_table table;
    tr_table_init(&table, 3);
    add(&table, cells, TR_COUNT_OF(cells));
    tr_table_text(&table, tr_text_of("a row that is not whole"));
    assert_int_equal(tr_table_write(&table, 2, past_stream()), 0);
    assert_string_equal(past_text(), "  NAME                     N   NOTE\n"
                                     "  w\xc3\xb6rter                   10\n"
                                     "  a\\x1b[2J                     two lines\n");
    tr_table_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_are_as_wide_as_their_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
