/*
 * The golden files of the project are as they must be; and a test that plants each fault there can
 * be, to see that it is found.
 *
 *     unit_schemas_golden --write     adds the files of new schemas and versions
 */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/folder.h"
#include "tests/support/sample.h"
#include "tests/support/schemas_all.h"
#include "tests/unit/schemas/golden.h"

#define GOLDEN_FOLDER TROUPE_SOURCE_DIR "/tests/golden/schemas"

static char text[1 << 16];

static void golden_files_are_right(void **state)
{
    (void)state;
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    if (golden_check(schemas_all(), GOLDEN_FOLDER, &sink) != 0) {
        fail_msg("%s", text);
    }
}

/* ---- Faults planted in a folder of their own. ----------------------------------------------- */

static char folder[] = "/tmp/troupe-golden-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return folder_remove(folder);
}

/* sample_tick as of its second version, under the name it had then. */
static struct tr_schema second_version(void)
{
    struct tr_schema schema = tr_sample_tick_v2_schema;
    schema.name = "sample_tick";
    return schema;
}

static const struct tr_registry *registry_of(const struct tr_schema *schema)
{
    static struct tr_registry registry;
    static char explain[TR_REGISTRY_EXPLAIN_BYTES];
    struct tr_schema_list list = {&schema, 1};
    assert_int_equal(tr_registry_init(&registry, &list, 1, explain), 0);
    return &registry;
}

static int add_files(const struct tr_schema *schema)
{
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    return golden_write(registry_of(schema), folder, &sink);
}

/* The check must find exactly this. */
static void expect(const struct tr_schema *schema, const char *findings)
{
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    size_t count = golden_check(registry_of(schema), folder, &sink);
    assert_string_equal(text, findings);
    assert_int_equal(count > 0, findings[0] != '\0');
}

static const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *mode, const char *content)
{
    FILE *file = fopen(in_folder(name), mode);
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static size_t read_file(const char *name, char *content, size_t capacity)
{
    FILE *file = fopen(in_folder(name), "rb");
    assert_non_null(file);
    size_t size = fread(content, 1, capacity, file);
    fclose(file);
    return size;
}

static void fresh_files_have_no_faults(void **state)
{
    (void)state;
    struct tr_schema schema = second_version();
    assert_int_equal(add_files(&schema), 2);
    expect(&schema, "");
    assert_int_equal(add_files(&schema), 0);
}

static void new_version_needs_files_and_leaves_the_old_alone(void **state)
{
    (void)state;
    struct tr_schema schema = second_version();
    assert_int_equal(add_files(&schema), 2);
    char before[4096];
    char after[4096];
    size_t size = read_file("message_sample_tick_v2.bin", before, sizeof before);
    expect(&tr_sample_tick_schema, "message 65001 sample_tick version 3: it has no golden file: "
                                   "see schemas/README.md\n");
    assert_int_equal(add_files(&tr_sample_tick_schema), 1);
    expect(&tr_sample_tick_schema, "");
    assert_int_equal(read_file("message_sample_tick_v2.bin", after, sizeof after), size);
    assert_memory_equal(before, after, size);
}

static void missing_files_are_found(void **state)
{
    (void)state;
    struct tr_schema schema = second_version();
    assert_int_equal(add_files(&schema), 2);
    assert_int_equal(unlink(in_folder("message_sample_tick_v1.bin")), 0);
    assert_int_equal(unlink(in_folder("message_sample_tick_v2.txt")), 0);
    expect(&schema, "message 65001 sample_tick version 1: its .bin file is missing: restore it\n"
                    "message 65001 sample_tick version 2: its .txt file is missing: restore it\n");
    /* Writing does not bring back what was there once. */
    assert_int_equal(add_files(&schema), 0);
}

static void changed_files_are_found(void **state)
{
    (void)state;
    struct tr_schema schema = second_version();
    assert_int_equal(add_files(&schema), 2);
    write_file("message_sample_tick_v1.bin", "wb", "\x91\x07");
    write_file("message_sample_tick_v2.txt", "ab", "x");
    expect(&schema,
           "message 65001 sample_tick version 1: its file no longer unpacks (MALFORMED): a "
           "released version is read for ever\n"
           "message 65001 sample_tick version 1: it prints differently now: keep names and marks "
           "of old fields\n"
           "message 65001 sample_tick version 2: it prints differently now: keep names and marks "
           "of old fields\n");
}

/* A field added without a new version: the file is still of the old shape. */
static void change_without_a_version_is_found(void **state)
{
    (void)state;
    struct tr_schema schema = tr_sample_tick_v1_schema;
    schema.name = "sample_tick";
    assert_int_equal(add_files(&schema), 1);
    struct tr_schema changed = tr_sample_clock_schema;
    changed.name = "sample_tick";
    changed.role = TR_MESSAGE;
    expect(&changed,
           "message 65001 sample_tick version 1: its file no longer unpacks (MALFORMED): a "
           "released version is read for ever\n"
           "message 65001 sample_tick version 1: it prints differently now: keep names and marks "
           "of old fields\n");
}

/* Other bytes that unpack well: the sample is no longer what it was. */
static void other_sample_is_found(void **state)
{
    (void)state;
    struct tr_schema schema = tr_sample_tick_v1_schema;
    schema.name = "sample_tick";
    assert_int_equal(add_files(&schema), 1);
    write_file("message_sample_tick_v1.bin", "wb", "\x92\x07\xa1x");
    write_file("message_sample_tick_v1.txt", "wb",
               "sample_tick{count=7 token=<1 bytes redacted>}\n"
               "{\"count\":7,\"token\":{\"redacted\":1}}\n");
    expect(&schema, "message 65001 sample_tick version 1: its sample has other bytes now: a change "
                    "of fields needs a new version\n");
}

static void reused_and_lost_ids_are_found(void **state)
{
    (void)state;
    struct tr_schema schema = tr_sample_tick_v1_schema;
    assert_int_equal(add_files(&schema), 1);
    schema.name = "other";
    expect(&schema, "message 65001 sample_tick_v1 version 1: the id belongs to other now: ids are "
                    "never used again\n"
                    "message 65001 other version 1: it has no golden file: see "
                    "schemas/README.md\n");
    schema.name = "sample_tick_v1";
    schema.id = 65005;
    expect(&schema, "message 65001 sample_tick_v1 version 1: no schema has this id any more: what "
                    "was released stays readable\n"
                    "message 65005 sample_tick_v1 version 1: it has no golden file: see "
                    "schemas/README.md\n");
}

static void version_that_falls_is_found(void **state)
{
    (void)state;
    struct tr_schema schema = second_version();
    assert_int_equal(add_files(&schema), 2);
    struct tr_schema first = tr_sample_tick_v1_schema;
    first.name = "sample_tick";
    expect(&first, "message 65001 sample_tick version 2: the schema's version is lower now: "
                   "versions only rise\n");
}

static void damaged_list_is_found(void **state)
{
    (void)state;
    struct tr_schema schema = tr_sample_tick_v1_schema;
    assert_int_equal(add_files(&schema), 1);
    write_file("ids.txt", "ab",
               "message 65001 sample_tick_v1 1\nletter 1 x 1\nmessage 1 x\nmessage 1 x 1 y\n");
    expect(&schema, "message 65001 sample_tick_v1 version 1: ids.txt names it twice\n"
                    "ids.txt: this is no `role id name version`: letter 1 x 1\n"
                    "ids.txt: this is no `role id name version`: message 1 x\n"
                    "ids.txt: this is no `role id name version`: message 1 x 1 y\n");
}

static void lost_lines_are_found(void **state)
{
    (void)state;
    struct tr_schema schema = tr_sample_tick_v1_schema;
    assert_int_equal(add_files(&schema), 1);
    assert_int_equal(unlink(in_folder("message_sample_tick_v1_v1.txt")), 0);
    write_file("ids.txt", "wb", "# nothing\n\n");
    expect(&schema, "message 65001 sample_tick_v1 version 1: it has no golden file: see "
                    "schemas/README.md\n"
                    "message_sample_tick_v1_v1.bin: ids.txt does not name it\n");
    /* Nor can it be written over. */
    assert_int_equal(add_files(&schema), -1);
    assert_non_null(strstr(text, "cannot add message 65001 sample_tick_v1 version 1"));
}

static int write_golden_files(void)
{
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    int count = golden_write(schemas_all(), GOLDEN_FOLDER, &sink);
    printf("%s%d versions added in %s\n", text, count > 0 ? count : 0, GOLDEN_FOLDER);
    return count < 0 ? 1 : 0;
}

int main(int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], "--write") == 0) {
        return write_golden_files();
    }
#define PLANTED(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_are_right),
        PLANTED(fresh_files_have_no_faults),
        PLANTED(new_version_needs_files_and_leaves_the_old_alone),
        PLANTED(missing_files_are_found),
        PLANTED(changed_files_are_found),
        PLANTED(change_without_a_version_is_found),
        PLANTED(other_sample_is_found),
        PLANTED(reused_and_lost_ids_are_found),
        PLANTED(version_that_falls_is_found),
        PLANTED(damaged_list_is_found),
        PLANTED(lost_lines_are_found),
    };
    return cmocka_run_group_tests_name("schemas/golden", tests, NULL, NULL);
}
