/*
 * Holes of files: data is found where it is; where a file system has no holes all of it is data.
 */
#include "runtime/blob/holes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

#define HOLE_BYTES (1U << 20)

static int new_file(void)
{
    char path[] = "/tmp/troupe-holes-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    return fd;
}

/* Ranges come in order up to the end of the file, and each byte that was written lies in one. */
static void test_data_between_holes_is_found(void **state)
{
    (void)state;
    int fd = new_file();
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(pwrite(fd, "x", 1, (off_t)(i * HOLE_BYTES)), 1);
    }
    uint64_t size = 3 * (uint64_t)HOLE_BYTES + 1;
    uint32_t found = 0;
    struct tri_range data = {0};
    while (data.end < size) {
        uint64_t from = data.end;
        assert_int_equal(tri_holes_next_data(fd, from, &data), 0);
        assert_true(data.begin >= from && data.end > data.begin && data.end <= size);
        for (uint64_t i = 1; i <= 3; i++) {
            found += data.begin <= i * HOLE_BYTES && i * HOLE_BYTES < data.end ? 1 : 0;
        }
    }
    assert_int_equal(found, 3);
    assert_int_equal(tri_holes_next_data(fd, size, &data), 0);
    assert_true(data.begin == size && data.end == size);
    close(fd);
}

static void test_an_empty_file_and_a_hole_alone(void **state)
{
    (void)state;
    struct tri_range data;
    int fd = new_file();
    assert_int_equal(tri_holes_next_data(fd, 0, &data), 0);
    assert_true(data.begin == 0 && data.end == 0);
    assert_int_equal(ftruncate(fd, HOLE_BYTES), 0);
    assert_int_equal(tri_holes_next_data(fd, 0, &data), 0);
    assert_int_equal(data.end, HOLE_BYTES); /* from 0 on where the file system knows no holes */
    close(fd);
    assert_int_equal(tri_holes_next_data(fd, 0, &data), TR_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_between_holes_is_found),
        cmocka_unit_test(test_an_empty_file_and_a_hole_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
