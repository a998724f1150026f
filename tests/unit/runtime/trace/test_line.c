/*
 * Lines by hand: what they say, and that nothing is lost when there is much of it.
 */
#include "tests/support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/trace/line.h"

/* A file for lines, gone when it is closed. */
static int open_file(void)
{
    char path[] = "/tmp/troupe-line-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    unlink(path);
    return file;
}

static size_t read_back(int file, char *text, size_t bytes)
{
    ssize_t size = pread(file, text, bytes - 1, 0);
    assert_true(size >= 0);
    text[size] = '\0';
    return (size_t)size;
}

static void test_what_a_line_says(void **state)
{
    (void)state;
    int file = open_file();
    struct tri_line line;
    char text[256];
    tri_line_init(&line, file);
    tri_line_string(&line, "a");
    tri_line_number(&line, " zero=", 0);
    tri_line_number(&line, " most=", UINT64_MAX);
    tri_line_key(&line, " key=", (struct tr_key){7, 12});
    tri_line_key(&line, " host=", (struct tr_key){TR_GROUP_HOST_BIT | 5, 66});
    tri_line_text(&line, (struct tr_text){" text and more", 5});
    assert_int_equal(read_back(file, text, sizeof text), 0); /* nothing is written before */
    tri_line_flush(&line);
    read_back(file, text, sizeof text);
    assert_string_equal(text, "a zero=0 most=18446744073709551615 key=7/12 host=0/66 text");
    close(file);
}

static void test_much_of_it_is_written_in_pieces(void **state)
{
    (void)state;
    static char text[4 * TRI_LINE_BYTES];
    static char expected[4 * TRI_LINE_BYTES];
    int file = open_file();
    struct tri_line line;
    size_t size = 0;
    tri_line_init(&line, file);
    for (uint64_t i = 0; i < 1500; i++) {
        tri_line_number(&line, " n=", i);
        size += (size_t)snprintf(expected + size, sizeof expected - size, " n=%d", (int)i);
    }
    tri_line_flush(&line);
    assert_int_equal(read_back(file, text, sizeof text), size);
    assert_string_equal(text, expected);
    close(file);
}

static void test_text_larger_than_the_line_passes(void **state)
{
    (void)state;
    static char large[2 * TRI_LINE_BYTES + 7];
    static char text[4 * TRI_LINE_BYTES];
    int file = open_file();
    struct tri_line line;
    memset(large, 'x', sizeof large);
    tri_line_init(&line, file);
    tri_line_text(&line, (struct tr_text){large, sizeof large});
    tri_line_flush(&line);
    assert_int_equal(read_back(file, text, sizeof text), sizeof large);
    assert_memory_equal(text, large, sizeof large);
    close(file);
}

static void test_what_cannot_be_written_is_given_up(void **state)
{
    (void)state;
    struct tri_line line;
    tri_line_init(&line, -1);
    tri_line_string(&line, "nobody hears");
    tri_line_flush(&line);
    assert_int_equal(line.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_line_says),
        cmocka_unit_test(test_much_of_it_is_written_in_pieces),
        cmocka_unit_test(test_text_larger_than_the_line_passes),
        cmocka_unit_test(test_what_cannot_be_written_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
