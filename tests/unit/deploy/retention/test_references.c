/*
 * Names of files found in bytes: whole, among others, cut at the edges of pages, as numbers; and
 * nothing found where there is none.
 */
#include "deploy/retention/references.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/draw.h"
#include "tests/support/test.h"

#define A "0123456789abcdef0123456789abcdef00112233445566778899aabbccddeeff"
#define B "fedcba9876543210fedcba9876543210ffeeddccbbaa99887766554433221100"
#define C "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccdddddddddddddddd"

static struct tr_references *references;

static int open_names(void **state)
{
    (void)state;
    assert_int_equal(tr_references_new(&references), 0);
    assert_int_equal(tr_references_add(references, A "-file.txt", false, false), 0);
    assert_int_equal(tr_references_add(references, A, false, true), 0);
    assert_int_equal(tr_references_add(references, B, false, true), 0);
    assert_int_equal(tr_references_add(references, C, true, true), 0);
    assert_int_equal(tr_references_add(references, "not a name", false, true), 0);
    assert_int_equal(tr_references_sort(references), 0);
    return 0;
}

static int close_names(void **state)
{
    (void)state;
    tr_references_free(references);
    return 0;
}

static void read_text(const char *text, bool is_page)
{
    tr_references_read(references, (struct tr_bytes){(const uint8_t *)text, strlen(text)}, is_page);
}

static void a_name_is_found_wherever_it_stands(void **state)
{
    (void)state;
    read_text("x", false);
    assert_false(tr_references_has(references, A));
    read_text("{\"f\": \"/store/blobs/" A "-other.txt\"}", false);
    assert_true(tr_references_has(references, A));
    assert_true(tr_references_has(references, A "-file.txt"));
    assert_false(tr_references_has(references, B));
    /* What stands before and behind may look like digits. */
    read_text("d9" B "abc", false);
    assert_true(tr_references_has(references, B));
    assert_false(tr_references_has(references, C));
}

static void who_was_not_added_is_not_touched(void **state)
{
    (void)state;
    assert_true(tr_references_has(references, "engine.sock"));
    assert_true(tr_references_has(references, A "-third.txt"));
}

static void a_name_that_is_cut_is_found_by_its_half(void **state)
{
    (void)state;
    char part[128];
    for (size_t cut = 1; cut < TR_REFERENCE_DIGITS; cut++) {
        close_names(NULL);
        open_names(NULL);
        snprintf(part, sizeof part, "/%.*s", (int)cut, B);
        read_text(part, true);
        snprintf(part, sizeof part, "%s~", &B[cut]);
        read_text(part, true);
        assert_true(tr_references_has(references, B));
        assert_false(tr_references_has(references, A));
    }
    /* The end of a name is one only where bytes may begin within it. */
    close_names(NULL);
    open_names(NULL);
    read_text(&B[32], false);
    assert_false(tr_references_has(references, B));
}

static void a_graph_is_found_by_its_number(void **state)
{
    (void)state;
    static const uint8_t forwards[] = {7, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 7};
    static const uint8_t other[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    tr_references_read(references, (struct tr_bytes){other, sizeof other}, false);
    assert_false(tr_references_has(references, A)); /* it is no graph */
    tr_references_read(references, (struct tr_bytes){forwards, sizeof forwards}, false);
    assert_true(tr_references_has(references, C));
}

static void what_is_named_is_read_once(void **state)
{
    (void)state;
    const char *file;
    bool is_graph;
    assert_false(tr_references_next(references, &file, &is_graph));
    read_text(A " " B, false);
    read_text(A " " B, false);
    tr_references_keep(references, B);
    assert_true(tr_references_next(references, &file, &is_graph));
    assert_string_equal(file, B);
    assert_true(tr_references_next(references, &file, &is_graph));
    assert_string_equal(file, A); /* and not the one with a name of its own */
    assert_false(tr_references_next(references, &file, &is_graph));
    tr_references_keep(references, C);
    assert_true(tr_references_next(references, &file, &is_graph));
    assert_true(is_graph);
}

/* Against a look at each place. */
static void any_bytes_are_read_as_a_slow_look_does(void **state)
{
    (void)state;
    struct draw draw = {.state = 1};
    static char text[600];
    for (int round = 0; round < 2000; round++) {
        close_names(NULL);
        open_names(NULL);
        size_t size = draw_below(&draw, sizeof text - TR_REFERENCE_DIGITS - 2) + 1;
        for (size_t i = 0; i < size; i++) {
            text[i] = "0123456789abcdef/-xyz"[draw_below(&draw, 21)];
        }
        bool is_there = draw_below(&draw, 2) == 0;
        if (is_there) {
            size_t at = draw_below(&draw, size);
            text[at] = '/';
            memcpy(text + at + 1, B, TR_REFERENCE_DIGITS);
            size = size < at + 1 + TR_REFERENCE_DIGITS ? at + 1 + TR_REFERENCE_DIGITS : size;
        }
        tr_references_read(references, (struct tr_bytes){(const uint8_t *)text, size}, false);
        assert_true(tr_references_has(references, B) == is_there);
        assert_false(tr_references_has(references, A));
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_names, close_names)
    const struct CMUnitTest tests[] = {
        CASE(a_name_is_found_wherever_it_stands),
        CASE(who_was_not_added_is_not_touched),
        CASE(a_name_that_is_cut_is_found_by_its_half),
        CASE(a_graph_is_found_by_its_number),
        CASE(what_is_named_is_read_once),
        CASE(any_bytes_are_read_as_a_slow_look_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
