/*
 * Errors: each has a number, a name and a text of its own, and none changes its meaning.
 */
#include "tests/support/test.h"

#include <string.h>

#include "schemas/codec/base.h"
#include "schemas/codec/error.h"

struct known {
    int number;
    const char *name;
};

static const struct known table[] = {
#define ROW(name, number, text) {-(number), #name},
    TR_ERRORS(ROW)
#undef ROW
};

static void each_has_its_own_number_name_and_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(table); i++) {
        assert_true(table[i].number < 0);
        assert_string_equal(tr_error_name(table[i].number), table[i].name);
        assert_true(strlen(tr_error_text(table[i].number)) > 0);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(table[i].number, table[j].number);
            assert_string_not_equal(tr_error_text(table[i].number), tr_error_text(table[j].number));
        }
    }
}

static void success_and_unknown(void **state)
{
    (void)state;
    assert_string_equal(tr_error_name(0), "ok");
    assert_string_equal(tr_error_text(0), "success");
    const int after_last = table[TR_COUNT_OF(table) - 1].number - 1;
    const int unknown[] = {1, INT32_MAX, INT32_MIN, after_last, -32, -1000000};
    for (size_t i = 0; i < TR_COUNT_OF(unknown); i++) {
        assert_string_equal(tr_error_name(unknown[i]), "UNKNOWN");
        assert_string_equal(tr_error_text(unknown[i]), "an error without a name");
    }
}

/* Numbers that are on disks and wires already: a row may be added here, never changed. */
static void numbers_never_change(void **state)
{
    (void)state;
    static const struct known released[] = {
        {-1, "MEMORY"},         {-2, "INVALID"},
        {-3, "LIMIT"},          {-4, "BUSY"},
        {-5, "TRUNCATED"},      {-6, "MALFORMED"},
        {-7, "VERSION"},        {-8, "UNKNOWN_TYPE"},
        {-9, "NO_ACTOR"},       {-10, "STALE_INCARNATION"},
        {-11, "STALE_EPOCH"},   {-12, "TIMEOUT"},
        {-13, "LATE_REPLY"},    {-14, "OVERFLOW"},
        {-15, "POISON"},        {-16, "QUARANTINED"},
        {-17, "FAILED"},        {-18, "KILLED"},
        {-19, "NO_CONNECTION"}, {-20, "EXISTS"},
        {-21, "NOT_FOUND"},     {-22, "STORE_FULL"},
        {-23, "STORE_FAILED"},  {-24, "STORE_DAMAGED"},
        {-25, "STORE_FOREIGN"}, {-26, "STORE_NEWER"},
        {-27, "STORE_LOCKED"},  {-28, "FENCED"},
        {-29, "CLOSED"},        {-30, "HOPS"},
        {-31, "SYSTEM"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(released); i++) {
        assert_string_equal(tr_error_name(released[i].number), released[i].name);
    }
}

static void shortages_are_those_that_may_pass(void **state)
{
    (void)state;
    static const int shortages[] = {TR_MEMORY, TR_BUSY, TR_STORE_FULL};
    unsigned count = 0;
    for (int error = 0; error > -100; error--) {
        count += tr_error_is_shortage(error) ? 1 : 0;
    }
    assert_int_equal(count, TR_COUNT_OF(shortages));
    for (size_t i = 0; i < TR_COUNT_OF(shortages); i++) {
        assert_true(tr_error_is_shortage(shortages[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_own_number_name_and_text),
        cmocka_unit_test(success_and_unknown),
        cmocka_unit_test(numbers_never_change),
        cmocka_unit_test(shortages_are_those_that_may_pass),
    };
    return cmocka_run_group_tests_name("schemas/codec/error", tests, NULL, NULL);
}
