/*
 * Paths of another store's blobs in packed values become those of this one, and nothing else does.
 */
#include "deploy/inputs/relocate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/value/slot.h"
#include "deploy/common/file.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct tr_relocation paths = {.from = {"/old", 4}, .to = {"/new/store", 10}};

static void expect(struct tr_buffer *value, struct tr_buffer *wanted)
{
    struct tr_buffer changed;
    tr_buffer_init(&changed, 0);
    assert_int_equal(tr_relocate_value(&paths, tr_buffer_bytes(value), &changed), 0);
    assert_int_equal(changed.size, wanted->size);
    assert_memory_equal(changed.data, wanted->data, wanted->size);
    tr_buffer_fini(&changed);
    tr_buffer_fini(value);
    tr_buffer_fini(wanted);
}

/* A value with a text in a list in a map, and other things. */
static void write_value(struct tr_buffer *buffer, const char *text, const char *uri)
{
    struct tr_offloaded where = {.uri = tr_text_of(uri), .size_bytes = 300000};
    tr_buffer_init(buffer, 0);
    tr_buffer_array(buffer, 4);
    tr_buffer_map(buffer, 1);
    tr_buffer_text_value(buffer, tr_text_of("f"));
    tr_buffer_array(buffer, 2);
    tr_buffer_text_value(buffer, tr_text_of(text));
    tr_buffer_i64(buffer, -5);
    tr_slot_write_offloaded(buffer, &where);
    tr_buffer_f64(buffer, 1.5);
    tr_buffer_nil(buffer);
}

static void paths_of_blobs_change(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"/old/blobs/ab-x.txt", "/new/store/blobs/ab-x.txt"},
        {"file:///old/blobs/ab", "file:///new/store/blobs/ab"},
        {"/old/attempts/x", "/old/attempts/x"},
        {"/older/blobs/x", "/older/blobs/x"},
        {"see /old/blobs/x", "see /old/blobs/x"},
        {"/old/blobs/", "/old/blobs/"},
        {"blob:" DIGEST "-x", "blob:" DIGEST "-x"},
        {"", ""},
    };
    for (size_t i = 0; i < TR_COUNT_OF(pairs); i++) {
        struct tr_buffer value;
        struct tr_buffer wanted;
        write_value(&value, pairs[i][0], pairs[i][0]);
        write_value(&wanted, pairs[i][1], pairs[i][1]);
        expect(&value, &wanted);
    }
}

/* Of whichever store, if its blob lies here. */
static void what_came_from_elsewhere_is_at_home(void **state)
{
    (void)state;
    char folder[] = "/tmp/troupe-relocate-XXXXXX";
    char blobs[64];
    char blob[64];
    char other[64];
    char named[128];
    char inside[160];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(blobs, sizeof blobs, "%s/blobs", folder);
    (void)snprintf(named, sizeof named, "%s/blobs/" DIGEST "-x", folder);
    (void)snprintf(inside, sizeof inside, "%s/in", named);
    (void)snprintf(blob, sizeof blob, "%s/blobs/ab-x", folder);
    (void)snprintf(other, sizeof other, "%s/blobs/cd", folder);
    assert_int_equal(mkdir(blobs, 0700), 0);
    assert_int_equal(mkdir(blob, 0700), 0);
    assert_int_equal(mkdir(named, 0700), 0);
    assert_int_equal(mkdir(inside, 0700), 0);
    const char *const pairs[][2] = {
        {"/old/blobs/ab-x", blob},
        {"/far/away/blobs/ab-x", blob},
        {blob, blob},
        {other, other},
        {"/old/blobs/cd", "/old/blobs/cd"},
        {"no blobs", "no blobs"},
        {"blob:" DIGEST "-x", named},
        {"blob:" DIGEST "-x/in", inside},
        {"blob:" DIGEST "-y", "blob:" DIGEST "-y"},
        {"blob:" DIGEST, "blob:" DIGEST},
        {"blob:ab-x", "blob:ab-x"},
        {"see blob:" DIGEST "-x", "see blob:" DIGEST "-x"},
        {"see /old/blobs/ab-x", "see /old/blobs/ab-x"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(pairs); i++) {
        struct tr_buffer value;
        struct tr_buffer wanted;
        struct tr_buffer changed;
        write_value(&value, pairs[i][0], pairs[i][0]);
        write_value(&wanted, pairs[i][1], pairs[i][1]);
        tr_buffer_init(&changed, 0);
        assert_int_equal(tr_relocate_home(folder, tr_buffer_bytes(&value), &changed), 0);
        assert_int_equal(changed.size, wanted.size);
        assert_memory_equal(changed.data, wanted.data, wanted.size);
        tr_buffer_fini(&changed);
        tr_buffer_fini(&value);
        tr_buffer_fini(&wanted);
    }
    assert_int_equal(rmdir(inside), 0);
    assert_int_equal(rmdir(named), 0);
    assert_int_equal(rmdir(blob), 0);
    assert_int_equal(rmdir(blobs), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* A blob is mapped by its URI, by its path in any store, or by that of a file. */
static void a_blob_is_mapped_by_all_its_names(void **state)
{
    (void)state;
    char folder[] = "/tmp/troupe-relocate-XXXXXX";
    char path[160];
    struct tr_bytes bytes;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/blobs", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/blobs/" DIGEST, folder);
    struct tr_bytes text = {(const uint8_t *)"text", 4};
    assert_int_equal(tr_file_write(path, text, false), 0);
    const char *const names[] = {"blob:" DIGEST, path, "/gone/blobs/" DIGEST};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        assert_int_equal(tr_relocate_map(folder, tr_text_of(names[i]), NULL, NULL, &bytes), 0);
        assert_int_equal(bytes.size, 4);
        tr_file_unmap(bytes);
    }
    assert_int_equal(tr_relocate_map(folder, tr_text_of("blob:" DIGEST "-x"), NULL, NULL, &bytes),
                     TR_NOT_FOUND);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(tr_relocate_map(folder, tr_text_of(path), NULL, NULL, &bytes), TR_NOT_FOUND);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void what_is_no_value_is_refused(void **state)
{
    (void)state;
    static const uint8_t cut[] = {0x92, 0x01};
    static const uint8_t two[] = {0x01, 0x02};
    static uint8_t deep[200];
    memset(deep, 0x91, sizeof deep);
    struct tr_buffer changed;
    tr_buffer_init(&changed, 0);
    assert_true(tr_relocate_value(&paths, (struct tr_bytes){cut, sizeof cut}, &changed) != 0);
    assert_int_equal(tr_relocate_value(&paths, (struct tr_bytes){two, sizeof two}, &changed),
                     TR_MALFORMED);
    assert_true(tr_relocate_value(&paths, (struct tr_bytes){deep, sizeof deep}, &changed) != 0);
    tr_buffer_fini(&changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_of_blobs_change),
        cmocka_unit_test(what_came_from_elsewhere_is_at_home),
        cmocka_unit_test(a_blob_is_mapped_by_all_its_names),
        cmocka_unit_test(what_is_no_value_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
