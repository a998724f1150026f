/*
 * The golden table of the project is as it must be; and a test that plants each fault there can
 * be, to see that it is found.
 *
 *     unit_schemas_golden --write     adds the entries of new schemas and versions
 */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/sample.h"
#include "tests/support/schemas_all.h"
#include "tests/unit/schemas/golden.h"

#define GOLDEN_TABLE TROUPE_SOURCE_DIR "/tests/golden/schemas.txt"

static char text[1 << 16];

static void golden_table_is_right(void **state)
{
    (void)state;
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    if (golden_check(schemas_all(), GOLDEN_TABLE, &sink) != 0) {
        fail_msg("%s", text);
    }
}

/* ---- Faults planted in a table of their own. ------------------------------------------------ */

static char path[] = "/tmp/troupe-golden-XXXXXX";

static int make_table(void **state)
{
    (void)state;
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    int descriptor = mkstemp(path);
    return descriptor < 0 || close(descriptor) != 0;
}

static int remove_table(void **state)
{
    (void)state;
    return unlink(path);
}

/* sample_tick as of its first and its second version, under the name it had then. */
static struct tr_schema first_version(void)
{
    struct tr_schema schema = tr_sample_tick_v1_schema;
    schema.name = "sample_tick";
    return schema;
}

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

static int add_entries(const struct tr_schema *schema)
{
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    return golden_write(registry_of(schema), path, &sink);
}

/* The check must find exactly this. */
static void expect(const struct tr_schema *schema, const char *findings)
{
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    size_t count = golden_check(registry_of(schema), path, &sink);
    assert_string_equal(text, findings);
    assert_int_equal(count > 0, findings[0] != '\0');
}

static size_t read_table(char *content, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(content, 1, capacity - 1, file);
    content[size] = '\0';
    fclose(file);
    return size;
}

static void write_table(const char *mode, const char *content)
{
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Puts `with` in the place of the first `what` behind `after`, which the table has to hold. */
static void change_table(const char *after, const char *what, const char *with)
{
    static char old[1 << 16];
    static char new[1 << 17];
    (void)read_table(old, sizeof old);
    char *at = strstr(old, after);
    assert_non_null(at);
    at = strstr(at, what);
    assert_non_null(at);
    snprintf(new, sizeof new, "%.*s%s%s", (int)(at - old), old, with, at + strlen(what));
    write_table("wb", new);
}

static void fresh_entries_have_no_faults(void **state)
{
    (void)state;
    struct tr_schema schema = second_version();
    assert_int_equal(add_entries(&schema), 2);
    expect(&schema, "");
    assert_int_equal(add_entries(&schema), 0);
}

static void new_version_needs_an_entry_and_leaves_the_old_alone(void **state)
{
    (void)state;
    struct tr_schema schema = second_version();
    assert_int_equal(add_entries(&schema), 2);
    static char before[1 << 16];
    static char after[1 << 16];
    size_t size = read_table(before, sizeof before);
    expect(&tr_sample_tick_schema, "message 65001 sample_tick version 3: it has no golden entry: "
                                   "see schemas/README.md\n");
    assert_int_equal(add_entries(&tr_sample_tick_schema), 1);
    expect(&tr_sample_tick_schema, "");
    assert_true(read_table(after, sizeof after) > size);
    assert_memory_equal(before, after, size);
}

static void missing_lines_are_found(void **state)
{
    (void)state;
    struct tr_schema schema = second_version();
    assert_int_equal(add_entries(&schema), 2);
    change_table("sample_tick 1\n", "\n  {", "\n{");
    expect(&schema, "message 65001 sample_tick version 1: a line of it is missing: restore it\n"
                    "this is no `role id name version`: {\"count\":81985529216486895,\"token\":"
                    "{\"redacted\":28}}\n");
    /* Writing does not bring back what was there once. */
    assert_int_equal(add_entries(&schema), 0);
}

static void changed_entries_are_found(void **state)
{
    (void)state;
    struct tr_schema schema = second_version();
    assert_int_equal(add_entries(&schema), 2);
    change_table("sample_tick 1\n", "  92", "  91");
    change_table("sample_tick 2\n", "sample_tick{", "sample_tock{");
    expect(&schema,
           "message 65001 sample_tick version 1: its bytes no longer unpack (MALFORMED): a "
           "released version is read for ever\n"
           "message 65001 sample_tick version 1: it prints differently now: keep names and marks "
           "of old fields\n"
           "message 65001 sample_tick version 2: it prints differently now: keep names and marks "
           "of old fields\n");
    change_table("sample_tick 2\n", "  94", "  9g");
    change_table("sample_tick 1\n", "  91", "  9");
    expect(&schema, "message 65001 sample_tick version 1: its bytes are no hexadecimal digits: "
                    "restore them\n"
                    "message 65001 sample_tick version 2: its bytes are no hexadecimal digits: "
                    "restore them\n");
}

/* A field added without a new version: the entry is still of the old shape. */
static void change_without_a_version_is_found(void **state)
{
    (void)state;
    struct tr_schema schema = first_version();
    assert_int_equal(add_entries(&schema), 1);
    struct tr_schema changed = tr_sample_clock_schema;
    changed.name = "sample_tick";
    changed.role = TR_MESSAGE;
    expect(&changed,
           "message 65001 sample_tick version 1: its bytes no longer unpack (MALFORMED): a "
           "released version is read for ever\n"
           "message 65001 sample_tick version 1: it prints differently now: keep names and marks "
           "of old fields\n");
}

/* Other bytes that unpack well: the sample is no longer what it was. */
static void other_sample_is_found(void **state)
{
    (void)state;
    struct tr_schema schema = first_version();
    write_table("wb", "message 65001 sample_tick 1\n"
                      "  9207a178\n"
                      "  sample_tick{count=7 token=<1 bytes redacted>}\n"
                      "  {\"count\":7,\"token\":{\"redacted\":1}}\n");
    expect(&schema, "message 65001 sample_tick version 1: its sample has other bytes now: a change "
                    "of fields needs a new version\n");
}

static void reused_and_lost_ids_are_found(void **state)
{
    (void)state;
    struct tr_schema schema = tr_sample_tick_v1_schema;
    assert_int_equal(add_entries(&schema), 1);
    schema.name = "other";
    expect(&schema, "message 65001 sample_tick_v1 version 1: the id belongs to other now: ids are "
                    "never used again\n"
                    "message 65001 other version 1: it has no golden entry: see "
                    "schemas/README.md\n");
    schema.name = "sample_tick_v1";
    schema.id = 65005;
    expect(&schema, "message 65001 sample_tick_v1 version 1: no schema has this id any more: what "
                    "was released stays readable\n"
                    "message 65005 sample_tick_v1 version 1: it has no golden entry: see "
                    "schemas/README.md\n");
}

static void version_that_falls_is_found(void **state)
{
    (void)state;
    struct tr_schema schema = second_version();
    assert_int_equal(add_entries(&schema), 2);
    struct tr_schema first = first_version();
    expect(&first, "message 65001 sample_tick version 2: the schema's version is lower now: "
                   "versions only rise\n");
}

static void damaged_table_is_found(void **state)
{
    (void)state;
    struct tr_schema schema = tr_sample_tick_v1_schema;
    assert_int_equal(add_entries(&schema), 1);
    write_table("ab", "message 65001 sample_tick_v1 1\n  00\n  a\n  {}\n"
                      "letter 1 x 1\nmessage 1 x\nmessage 1 x 1 y\n  stray\n");
    expect(&schema, "message 65001 sample_tick_v1 version 1: the table has it twice\n"
                    "this is no `role id name version`: letter 1 x 1\n"
                    "this is no `role id name version`: message 1 x\n"
                    "this is no `role id name version`: message 1 x 1 y\n"
                    "this is no `role id name version`:   stray\n");
}

static void lost_entries_are_found(void **state)
{
    (void)state;
    struct tr_schema schema = tr_sample_tick_v1_schema;
    write_table("wb", "# nothing\n\n");
    expect(&schema, "message 65001 sample_tick_v1 version 1: it has no golden entry: see "
                    "schemas/README.md\n");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(add_entries(&schema), -1);
    assert_non_null(strstr(text, "cannot add message 65001 sample_tick_v1 version 1"));
    assert_int_equal(rmdir(path), 0);
    write_table("wb", "");
}

static int write_golden_entries(void)
{
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    int count = golden_write(schemas_all(), GOLDEN_TABLE, &sink);
    printf("%s%d versions added to %s\n", text, count > 0 ? count : 0, GOLDEN_TABLE);
    return count < 0 ? 1 : 0;
}

int main(int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], "--write") == 0) {
        return write_golden_entries();
    }
#define PLANTED(name) cmocka_unit_test_setup_teardown(name, make_table, remove_table)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_table_is_right),
        PLANTED(fresh_entries_have_no_faults),
        PLANTED(new_version_needs_an_entry_and_leaves_the_old_alone),
        PLANTED(missing_lines_are_found),
        PLANTED(changed_entries_are_found),
        PLANTED(change_without_a_version_is_found),
        PLANTED(other_sample_is_found),
        PLANTED(reused_and_lost_ids_are_found),
        PLANTED(version_that_falls_is_found),
        PLANTED(damaged_table_is_found),
        PLANTED(lost_entries_are_found),
    };
    return cmocka_run_group_tests_name("schemas/golden", tests, NULL, NULL);
}
