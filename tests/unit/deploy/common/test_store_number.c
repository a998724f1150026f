/*
 * The number of a store: given once, read from then on, given anew where it cannot be read.
 */
#include "deploy/common/store_number.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

static char folder[] = "/tmp/troupe-number-XXXXXX";
static char path[64];

static int set_up(void **unused)
{
    (void)unused;
    (void)snprintf(folder, sizeof folder, "/tmp/troupe-number-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/" TR_STORE_NUMBER_NAME, folder);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    (void)unlink(path);
    return rmdir(folder);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_it_is_given_once(void **unused)
{
    (void)unused;
    uint64_t number = 0;
    assert_int_equal(tr_store_number(folder, 0x123456789abcdef0, &number), 0);
    assert_true(number == 0x123456789abcdef0);
    assert_int_equal(tr_store_number(folder, 7, &number), 0);
    assert_true(number == 0x123456789abcdef0);
}

static void test_what_is_no_number_is_given_anew(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"",
                                        "x",
                                        "0000000000000000\n",
                                        "123456789abcdefg\n",
                                        "123456789abcdef01\n",
                                        "123456789abcdef0 and more\n"};
    for (size_t i = 0; i < TR_COUNT_OF(texts); i++) {
        uint64_t number = 0;
        write_file(texts[i]);
        assert_int_equal(tr_store_number(folder, 7 + i, &number), 0);
        assert_int_equal(number, 7 + i);
        assert_int_equal(tr_store_number(folder, 99, &number), 0);
        assert_int_equal(number, 7 + i);
    }
}

static void test_no_folder(void **unused)
{
    (void)unused;
    uint64_t number = 5;
    assert_int_equal(tr_store_number("/nowhere/at/all", 1, &number), TR_SYSTEM);
    assert_int_equal(number, 5);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_it_is_given_once),
        CASE(test_what_is_no_number_is_given_anew),
        CASE(test_no_folder),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
