/*
 * What makes a schema fit for use, as two tables of rules: those of a whole and those of a field.
 *
 * The compiler has checked most of what the macros of field.h make. What is left are promises to
 * bytes written long ago: fields come in the order of the versions that brought them.
 */
#include "schemas/codec/registry.h"
#include "schemas/codec/sink.h"

/* A rule of a schema: whether it is broken, and what to tell its author. */
struct schema_rule {
    bool (*broken)(const struct tr_schema *schema);
    const char *words;
};

/* A rule of one of its fields. */
struct field_rule {
    bool (*broken)(const struct tr_schema *schema, uint16_t number);
    const char *words;
};

/* Names become C names, JSON keys and columns of tables. */
static bool name_is_bad(const char *name)
{
    if (name == NULL || name[0] < 'a' || name[0] > 'z') {
        return true;
    }
    for (const char *at = name; *at != '\0'; at++) {
        bool is_letter = *at >= 'a' && *at <= 'z';
        bool is_digit = *at >= '0' && *at <= '9';
        if (!is_letter && !is_digit && *at != '_') {
            return true;
        }
    }
    return strlen(name) > TR_SCHEMA_NAME_BYTES_MAX;
}

static bool schema_name_bad(const struct tr_schema *schema)
{
    return name_is_bad(schema->name);
}

static bool role_unknown(const struct tr_schema *schema)
{
    return schema->role >= TR_SCHEMA_ROLE_COUNT;
}

static bool id_missing(const struct tr_schema *schema)
{
    return schema->id == 0;
}

static bool version_missing(const struct tr_schema *schema)
{
    return schema->version == 0;
}

static bool functions_missing(const struct tr_schema *schema)
{
    return schema->fields == NULL || schema->size_max == NULL || schema->pack == NULL ||
           schema->unpack == NULL;
}

static bool schema_marks_unknown(const struct tr_schema *schema)
{
    uint16_t known = schema->role == TR_MESSAGE ? TR_HINT | TR_PRIORITY : 0;
    return (schema->marks & ~known) != 0;
}

/* A version that brought no field is most often a new field that claims to be an old one. */
static bool version_brings_nothing(const struct tr_schema *schema)
{
    if (schema->field_count == 0) {
        return schema->version > 1;
    }
    return schema->fields()[schema->field_count - 1].since < schema->version;
}

static const struct schema_rule schema_rules[] = {
    {schema_name_bad, "the name must be lower case letters, digits and `_`, and not too long"},
    {role_unknown, "the role must be a message, a state or a record"},
    {id_missing, "the id must be 1 or more: 0 means none"},
    {version_missing, "the version must be 1 or more"},
    {functions_missing, "a function is missing: make it with TR_SCHEMA_DEFINE"},
    {schema_marks_unknown, "the marks do not fit: TR_HINT and TR_PRIORITY are for messages"},
};

/* Asked after the fields, whose own faults say more. */
static const struct schema_rule closing_rules[] = {
    {version_brings_nothing, "no field is of this version: give the new field its `since`"},
};

static bool field_name_bad(const struct tr_schema *schema, uint16_t number)
{
    return name_is_bad(schema->fields()[number].name);
}

static bool field_name_taken(const struct tr_schema *schema, uint16_t number)
{
    const struct tr_field *fields = schema->fields();
    for (uint16_t i = 0; i < number; i++) {
        if (strcmp(fields[i].name, fields[number].name) == 0) {
            return true;
        }
    }
    return false;
}

static bool since_missing(const struct tr_schema *schema, uint16_t number)
{
    return schema->fields()[number].since == 0;
}

static bool since_falls(const struct tr_schema *schema, uint16_t number)
{
    const struct tr_field *fields = schema->fields();
    return number > 0 && fields[number].since < fields[number - 1].since;
}

static bool since_above_version(const struct tr_schema *schema, uint16_t number)
{
    return schema->fields()[number].since > schema->version;
}

static bool kind_unknown(const struct tr_schema *schema, uint16_t number)
{
    return (unsigned)schema->fields()[number].kind > TR_FIELD_any;
}

static bool field_marks_unknown(const struct tr_schema *schema, uint16_t number)
{
    return (schema->fields()[number].marks & ~(TR_REDACTED | TR_ROW_KEY | TRI_ARRAY_MARK)) != 0;
}

static bool is_key(const struct tr_field *field)
{
    return (field->marks & TR_ROW_KEY) != 0;
}

static bool key_outside_record(const struct tr_schema *schema, uint16_t number)
{
    return schema->role != TR_RECORD && is_key(&schema->fields()[number]);
}

/* A table keeps the key that it was made with. */
static bool key_comes_late(const struct tr_schema *schema, uint16_t number)
{
    const struct tr_field *fields = schema->fields();
    return is_key(&fields[number]) &&
           (fields[number].since > 1 || (number > 0 && !is_key(&fields[number - 1])));
}

static bool key_too_long(const struct tr_schema *schema, uint16_t number)
{
    return is_key(&schema->fields()[number]) && number >= TR_ROW_KEYS_MAX;
}

/* A real may be no number, which equals nothing; what an `any` equals depends on its writer. */
static bool key_of_wrong_kind(const struct tr_schema *schema, uint16_t number)
{
    const struct tr_field *field = &schema->fields()[number];
    return is_key(field) && (field->kind == TR_FIELD_f64 || field->kind == TR_FIELD_any);
}

static bool is_array(const struct tr_field *field)
{
    return (field->marks & TRI_ARRAY_MARK) != 0;
}

static bool array_of_wrong_kind(const struct tr_schema *schema, uint16_t number)
{
    const struct tr_field *field = &schema->fields()[number];
    return is_array(field) && field->kind != TR_FIELD_text && field->kind != TR_FIELD_bytes;
}

static bool capacity_wrong(const struct tr_schema *schema, uint16_t number)
{
    const struct tr_field *field = &schema->fields()[number];
    return is_array(field) && (field->capacity == 0 || field->capacity > UINT16_MAX);
}

static bool capacity_without_array(const struct tr_schema *schema, uint16_t number)
{
    const struct tr_field *field = &schema->fields()[number];
    return !is_array(field) && field->capacity != 0;
}

/* A state is kept as its struct: a view in it would point to a message long gone. */
static bool view_in_state(const struct tr_schema *schema, uint16_t number)
{
    const struct tr_field *field = &schema->fields()[number];
    bool is_view = field->kind == TR_FIELD_text || field->kind == TR_FIELD_bytes ||
                   field->kind == TR_FIELD_any;
    return schema->role == TR_STATE && is_view && !is_array(field);
}

static bool outside_struct(const struct tr_schema *schema, uint16_t number)
{
    const struct tr_field *field = &schema->fields()[number];
    size_t size = is_array(field) ? sizeof(uint16_t) + field->capacity : 1;
    return field->offset > schema->struct_size || schema->struct_size - field->offset < size;
}

static const struct field_rule field_rules[] = {
    {field_name_bad, "the name must be lower case letters, digits and `_`, and not too long"},
    {field_name_taken, "the name is that of an earlier field"},
    {kind_unknown, "the kind is none of TR_FIELD_KINDS"},
    {since_missing, "`since` must be 1 or more"},
    {since_falls, "`since` is lower than that of the field before: new fields go to the end"},
    {since_above_version, "`since` is above the schema's version: raise the version"},
    {field_marks_unknown, "the marks are unknown"},
    {key_outside_record, "only a record has a key (TR_ROW_KEY)"},
    {key_comes_late, "a key is the first fields of version 1"},
    {key_too_long, "a key has too many fields (TR_ROW_KEYS_MAX)"},
    {key_of_wrong_kind, "a key cannot hold f64 or any"},
    {array_of_wrong_kind, "an array must be of text or bytes"},
    {capacity_wrong, "an array's capacity must be from 1 to 65535"},
    {capacity_without_array, "a capacity is only for an ARRAY"},
    {view_in_state, "a state holds no views: make it an ARRAY"},
    {outside_struct, "the field lies outside its struct: make it with TR_SCHEMA_DEFINE"},
};

/* Says what is wrong where, and that it is. */
static int refuse(const struct tr_schema *schema, const char *field, const char *words,
                  char *explain)
{
    struct tr_sink sink = tr_sink_of(explain, TR_REGISTRY_EXPLAIN_BYTES);
    tr_sink_format(&sink, "%s %u %.64s", tr_schema_role_name(schema->role), schema->id,
                   schema->name == NULL ? "without a name" : schema->name);
    if (field != NULL) {
        tr_sink_format(&sink, ", field %.64s", field);
    }
    tr_sink_put_string(&sink, ": ");
    tr_sink_put_string(&sink, words);
    return TR_INVALID;
}

static int check_whole(const struct tr_schema *schema, const struct schema_rule *rules,
                       size_t count, char *explain)
{
    for (size_t i = 0; i < count; i++) {
        if (rules[i].broken(schema)) {
            return refuse(schema, NULL, rules[i].words, explain);
        }
    }
    return 0;
}

static int check_field(const struct tr_schema *schema, uint16_t number, char *explain)
{
    for (size_t i = 0; i < TR_COUNT_OF(field_rules); i++) {
        if (field_rules[i].broken(schema, number)) {
            const char *name = schema->fields()[number].name;
            return refuse(schema, name == NULL ? "without a name" : name, field_rules[i].words,
                          explain);
        }
    }
    return 0;
}

int tr_schema_check(const struct tr_schema *schema, char *explain)
{
    int error = check_whole(schema, schema_rules, TR_COUNT_OF(schema_rules), explain);
    for (uint16_t i = 0; error == 0 && i < schema->field_count; i++) {
        error = check_field(schema, i, explain);
    }
    if (error == 0) {
        error = check_whole(schema, closing_rules, TR_COUNT_OF(closing_rules), explain);
    }
    return error;
}
