/*
 * The registry: what is in it is found, and every list that breaks a rule is refused by name.
 */
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#include "schemas/codec/registry.h"
#include "tests/support/sample.h"

static const struct tr_schema *const sample[] = {TR_SAMPLE_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema_list sample_list = {sample, TR_COUNT_OF(sample)};

static struct tr_registry registry;
static char explain[TR_REGISTRY_EXPLAIN_BYTES];

static int build(const struct tr_schema_list *lists, size_t count)
{
    memset(&registry, 0xff, sizeof registry);
    snprintf(explain, sizeof explain, "untouched");
    return tr_registry_init(&registry, lists, count, explain);
}

static void all_are_found(void **state)
{
    (void)state;
    assert_int_equal(build(&sample_list, 1), 0);
    assert_string_equal(explain, "untouched");
    assert_int_equal(registry.count, TR_COUNT_OF(sample));
    for (size_t i = 0; i < TR_COUNT_OF(sample); i++) {
        const struct tr_schema *schema = sample[i];
        assert_ptr_equal(tr_registry_find(&registry, schema->role, schema->id), schema);
        assert_ptr_equal(tr_registry_find_name(&registry, tr_text_of(schema->name)), schema);
    }
}

static void others_are_not(void **state)
{
    (void)state;
    assert_int_equal(build(&sample_list, 1), 0);
    assert_null(tr_registry_find(&registry, TR_MESSAGE, 65000));
    assert_null(tr_registry_find(&registry, TR_MESSAGE, 0));
    assert_null(tr_registry_find(&registry, TR_MESSAGE, UINT16_MAX));
    assert_null(tr_registry_find(&registry, TR_STATE, 65002));
    assert_null(tr_registry_find(&registry, 99, 65001));
    assert_null(tr_registry_find_name(&registry, tr_text_of("sample_tic")));
    assert_null(tr_registry_find_name(&registry, tr_text_of("sample_ticks")));
    assert_null(tr_registry_find_name(&registry, tr_text_of("")));
    assert_null(tr_registry_find_name(&registry, (struct tr_text){NULL, 0}));
}

static void empty_registry_finds_nothing(void **state)
{
    (void)state;
    assert_int_equal(build(NULL, 0), 0);
    assert_null(tr_registry_find(&registry, TR_MESSAGE, 65001));
    assert_null(tr_registry_find_name(&registry, tr_text_of("sample_tick")));
}

/* Two lists of one schema each must be refused with these words. */
static void refuse_pair(const struct tr_schema *first, const struct tr_schema *second, int error,
                        const char *words)
{
    const struct tr_schema_list lists[] = {{&first, 1}, {&second, 1}};
    assert_int_equal(build(lists, 2), error);
    assert_string_equal(explain, words);
    assert_int_equal(registry.count, 0);
}

static void ids_and_names_are_given_once(void **state)
{
    (void)state;
    struct tr_schema other = tr_sample_stop_schema;
    other.id = 65001;
    refuse_pair(&tr_sample_tick_schema, &other, TR_EXISTS,
                "message 65001 sample_stop: the id is taken by message 65001 sample_tick");
    other.role = TR_RECORD;
    other.marks = 0;
    other.name = "sample_tick";
    refuse_pair(&tr_sample_tick_schema, &other, TR_EXISTS,
                "record 65001 sample_tick: the name is taken by message 65001 sample_tick");
    refuse_pair(&tr_sample_tick_schema, &tr_sample_tick_schema, TR_EXISTS,
                "message 65001 sample_tick: the id is taken by message 65001 sample_tick");
}

static void too_many_are_refused(void **state)
{
    (void)state;
    static struct tr_schema many[TR_SCHEMAS_MAX + 1];
    static char names[TR_SCHEMAS_MAX + 1][16];
    static const struct tr_schema *pointers[TR_SCHEMAS_MAX + 1];
    for (size_t i = 0; i < TR_COUNT_OF(many); i++) {
        /* Neither ids nor names come in order. */
        size_t number = i * 389 % 65521;
        many[i] = tr_sample_stop_schema;
        many[i].id = (uint16_t)(number + 1);
        snprintf(names[i], sizeof names[i], "s%zu", number);
        many[i].name = names[i];
        pointers[i] = &many[i];
    }
    struct tr_schema_list list = {pointers, TR_SCHEMAS_MAX};
    assert_int_equal(build(&list, 1), 0);
    for (size_t i = 0; i < TR_SCHEMAS_MAX; i++) {
        assert_ptr_equal(tr_registry_find(&registry, TR_MESSAGE, many[i].id), &many[i]);
        assert_ptr_equal(tr_registry_find_name(&registry, tr_text_of(names[i])), &many[i]);
    }
    list.count++;
    assert_int_equal(build(&list, 1), TR_LIMIT);
    assert_non_null(strstr(explain, "there are more than 512 schemas: raise TR_SCHEMAS_MAX"));
}

/* A schema of two fields that a test may spoil. */
static struct tr_field fields[2];

static const struct tr_field *spoiled_fields(void)
{
    return fields;
}

static struct tr_schema fresh_schema(void)
{
    struct tr_schema schema = tr_sample_tick_schema;
    schema.name = "spoiled";
    schema.version = 2;
    schema.field_count = 2;
    schema.fields = spoiled_fields;
    fields[0] = (struct tr_field){"first", TR_FIELD_u64, 1, 0, 0, 0};
    fields[1] = (struct tr_field){"second", TR_FIELD_text, 2, TRI_ARRAY_MARK, 8, 16};
    return schema;
}

static void refuse(const struct tr_schema *schema, const char *words)
{
    snprintf(explain, sizeof explain, "untouched");
    assert_int_equal(tr_schema_check(schema, explain), TR_INVALID);
    if (strstr(explain, words) == NULL) {
        fail_msg("said `%s` instead of `%s`", explain, words);
    }
    struct tr_schema_list list = {&schema, 1};
    assert_int_equal(build(&list, 1), TR_INVALID);
}

static void schemas_that_make_no_sense(void **state)
{
    (void)state;
    struct tr_schema schema = fresh_schema();
    assert_int_equal(tr_schema_check(&schema, explain), 0);
#define SPOIL(change, words) \
    schema = fresh_schema(); \
    change;                  \
    refuse(&schema, words)
    SPOIL(schema.name = NULL, "message 65001 without a name: the name must be");
    SPOIL(schema.name = "", "the name must be");
    SPOIL(schema.name = "Big", "message 65001 Big: the name must be");
    SPOIL(schema.name = "9lives", "the name must be");
    SPOIL(schema.name = "semi;colon", "the name must be");
    SPOIL(schema.name = "a2345678901234567890123456789012345678901234567890123456789012345",
          "the name must be");
    SPOIL(schema.role = 3, "unknown 65001 spoiled: the role must be");
    SPOIL(schema.id = 0, "message 0 spoiled: the id must be 1 or more");
    SPOIL(schema.version = 0, "the version must be 1 or more");
    SPOIL(schema.pack = NULL, "a function is missing");
    SPOIL(schema.fields = NULL, "a function is missing");
    SPOIL(schema.marks = 1 << 7, "the marks do not fit");
    SPOIL((schema.role = TR_STATE, schema.marks = TR_HINT), "the marks do not fit");
    SPOIL(schema.version = 3, "no field is of this version");
    SPOIL(schema.field_count = 0, "no field is of this version");
}

static void fields_that_make_no_sense(void **state)
{
    (void)state;
    struct tr_schema schema;
    SPOIL(fields[1].name = NULL, "message 65001 spoiled, field without a name: the name must be");
    SPOIL(fields[1].name = "with blank", "field with blank: the name must be");
    SPOIL(fields[1].name = "first", "field first: the name is that of an earlier field");
    SPOIL(fields[1].kind = (enum tr_field_kind)50, "field second: the kind is none");
    SPOIL(fields[0].since = 0, "field first: `since` must be 1 or more");
    SPOIL((fields[0].since = 2, fields[1].since = 1), "field second: `since` is lower");
    SPOIL(fields[1].since = 3, "field second: `since` is above the schema's version");
    SPOIL(fields[0].marks = 1 << 5, "field first: the marks are unknown");
    SPOIL(fields[0].marks = TR_ROW_KEY, "field first: only a record has a key");
    SPOIL((schema.role = TR_RECORD, fields[1].marks |= TR_ROW_KEY),
          "field second: a key is the first fields of version 1");
    SPOIL((schema.role = TR_RECORD, fields[0].marks = TR_ROW_KEY, fields[1].marks |= TR_ROW_KEY),
          "field second: a key is the first fields of version 1");
    SPOIL((schema.role = TR_RECORD, fields[0].marks = TR_ROW_KEY, fields[0].kind = TR_FIELD_f64),
          "field first: a key cannot hold f64 or any");
    SPOIL((fields[0].marks = TRI_ARRAY_MARK, fields[0].capacity = 8),
          "field first: an array must be of text or bytes");
    SPOIL(fields[1].capacity = 0, "field second: an array's capacity must be");
    SPOIL(fields[1].capacity = 65536, "field second: an array's capacity must be");
    SPOIL(fields[0].capacity = 1, "field first: a capacity is only for an ARRAY");
    SPOIL(fields[0].offset = 4096, "field first: the field lies outside its struct");
    SPOIL(fields[1].capacity = 4096, "field second: the field lies outside its struct");
    SPOIL((schema.role = TR_STATE, fields[1].marks = 0, fields[1].capacity = 0),
          "field second: a state holds no views");
#undef SPOIL
}

static void explanations_fit(void **state)
{
    (void)state;
    struct tr_schema schema = fresh_schema();
    char long_name[1000];
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    fields[1].name = long_name;
    schema.name = "a23456789012345678901234567890123456789012345678901234567890123";
    refuse(&schema, "lower case letters, digits and `_`, and not too long");
    assert_true(strlen(explain) < TR_REGISTRY_EXPLAIN_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_found),
        cmocka_unit_test(others_are_not),
        cmocka_unit_test(empty_registry_finds_nothing),
        cmocka_unit_test(ids_and_names_are_given_once),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(schemas_that_make_no_sense),
        cmocka_unit_test(fields_that_make_no_sense),
        cmocka_unit_test(explanations_fit),
    };
    return cmocka_run_group_tests_name("schemas/codec/registry", tests, NULL, NULL);
}
