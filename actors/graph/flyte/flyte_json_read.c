/*
 * Protobuf's JSON as messages, generic over protobuf-c's descriptors: a tree is walked along the
 * descriptor of the message that it is to become. Single values of queries go the same way, as
 * trees of plain text, which every scalar takes.
 *
 * The path to what is in hand is kept on the stack, for what is said when it is no value for its
 * field.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/json.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/flyte/flyte_inside.h"
#include "actors/graph/flyte/flyte_message.h"
#include "actors/graph/value/literal.h"
#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"

#define NUMBER_BYTES_MAX 64
#define NANOS_PER_S 1000000000
#define DURATION_SECONDS_MAX 315576000000LL
#define PATH_SHOWN_MAX 160

/* Where a value stands. */
struct place {
    const struct place *up;
    struct tr_text name;
    uint32_t index; /* of a list; UINT32_MAX: it is a name */
};

struct reading {
    struct tr_arena *arena;
    uint64_t bytes_max;
    char *problem;
    const struct place *place;
    uint32_t depth;
    uint32_t any_depth; /* how many messages it is in that are in a google.protobuf.Any */
    bool is_lenient;    /* a field that is not known is passed over */
};

static bool read_message(struct reading *reading, ProtobufCMessage *message,
                         const struct tr_tree *tree);

/* --------------------------------------------------------------- what is wrong */

static void show_place(const struct place *place, struct tr_buffer *buffer)
{
    const struct place *places[TR_TREE_DEPTH_MAX * 2];
    size_t count = 0;
    for (; place != NULL && count < TR_COUNT_OF(places); place = place->up) {
        places[count++] = place;
    }
    while (count-- > 0) {
        if (places[count]->index != UINT32_MAX) {
            tr_buffer_print(buffer, "[%u]", places[count]->index);
        } else {
            tr_buffer_add_string(buffer, buffer->size == 0 ? "" : ".");
            tr_buffer_add_visible(buffer, places[count]->name);
        }
    }
}

/* Says it once, behind the subject in quotes if there is one; false. */
static bool refuse(struct reading *reading, struct tr_text subject, const char *words)
{
    struct tr_buffer place;
    struct tr_buffer shown;
    tr_buffer_init(&place, 0);
    tr_buffer_init(&shown, 0);
    show_place(reading->place, &place);
    tr_buffer_add_visible(&shown, subject);
    const char *quote = subject.data == NULL ? "" : "'";
    int place_size = place.size < PATH_SHOWN_MAX ? (int)place.size : PATH_SHOWN_MAX;
    size_t size = shown.size < TR_SHOWN_BYTES_MAX ? shown.size : TR_SHOWN_BYTES_MAX;
    if (reading->problem[0] == '\0') {
        (void)snprintf(reading->problem, TR_FLYTE_PROBLEM_BYTES, "%.*s%s%s%.*s%s%s", place_size,
                       place_size == 0 ? "" : (const char *)place.data, place_size == 0 ? "" : ": ",
                       quote, (int)size, size == 0 ? "" : (const char *)shown.data, quote, words);
    }
    tr_buffer_fini(&place);
    tr_buffer_fini(&shown);
    return false;
}

static bool expect(struct reading *reading, const char *expected, const struct tr_tree *tree)
{
    char words[320];
    bool is_text = tr_tree_is_text(tree);
    (void)snprintf(words, sizeof words, "%s is no value here; write %s",
                   is_text ? "" : tr_tree_noun(tree), expected);
    return refuse(reading, is_text ? tree->text : (struct tr_text){.data = NULL}, words);
}

/* Memory of the message; NULL: there is none, or too much is used. */
static void *allocate(struct reading *reading, size_t count, size_t size)
{
    if (reading->arena->used_bytes > reading->bytes_max && reading->arena->error == 0) {
        reading->arena->error = TR_LIMIT;
    }
    return reading->arena->error != 0 ? NULL : tr_arena_array(reading->arena, count, size);
}

static void *new_message(struct reading *reading, const ProtobufCMessageDescriptor *descriptor)
{
    void *message = allocate(reading, 1, descriptor->sizeof_message);
    if (message != NULL) {
        protobuf_c_message_init(descriptor, message);
    }
    return message;
}

/* --------------------------------------------------------------------- scalars */

/* A text that has no zero byte and is short, as C's functions want it. */
static bool copy_short(struct tr_text text, char copy[NUMBER_BYTES_MAX])
{
    if (text.size == 0 || text.size >= NUMBER_BYTES_MAX ||
        memchr(text.data, '\0', text.size) != NULL) {
        return false;
    }
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return true;
}

/* A whole number in decimal digits, or as a float that is whole. */
static bool read_signed(const struct tr_tree *tree, int64_t min, int64_t max, int64_t *value)
{
    char copy[NUMBER_BYTES_MAX];
    char *end = copy;
    int64_t number = 0;
    if (tree->kind == TR_TREE_INT) {
        number = tree->integer;
    } else if (tree->kind == TR_TREE_FLOAT) {
        if (!(tree->number >= -0x1p63 && tree->number < 0x1p63) ||
            (double)(int64_t)tree->number != tree->number) {
            return false;
        }
        number = (int64_t)tree->number;
    } else if (!tr_tree_is_text(tree) || !copy_short(tree->text, copy)) {
        return false;
    } else {
        errno = 0;
        number = strtoll(copy, &end, 10);
        if (errno != 0 || *end != '\0' || strspn(copy, "-0123456789") != strlen(copy)) {
            return false;
        }
    }
    *value = number;
    return number >= min && number <= max;
}

static bool read_unsigned(const struct tr_tree *tree, uint64_t max, uint64_t *value)
{
    char copy[NUMBER_BYTES_MAX];
    char *end = copy;
    int64_t number;
    bool is_text = tr_tree_is_text(tree) && copy_short(tree->text, copy);
    if (!is_text) {
        bool is_one = read_signed(tree, 0, INT64_MAX, &number);
        *value = is_one ? (uint64_t)number : 0;
        return is_one && *value <= max;
    }
    errno = 0;
    *value = strtoull(copy, &end, 10);
    return errno == 0 && *end == '\0' && strspn(copy, "0123456789") == strlen(copy) &&
           *value <= max;
}

static bool read_double(const struct tr_tree *tree, double *value)
{
    static const struct {
        const char *name;
        double value;
    } names[] = {
        {"NaN", __builtin_nan("")}, {"Infinity", __builtin_inf()}, {"-Infinity", -__builtin_inf()}};
    if (tree->kind == TR_TREE_INT) {
        *value = (double)tree->integer;
        return true;
    }
    if (tree->kind == TR_TREE_FLOAT) {
        *value = tree->number;
        return true;
    }
    for (size_t i = 0; tr_tree_is_text(tree) && i < TR_COUNT_OF(names); i++) {
        if (tr_text_equal(tree->text, tr_text_of(names[i].name))) {
            *value = names[i].value;
            return true;
        }
    }
    return tr_tree_is_text(tree) && tri_text_number(tree->text, value);
}

/* Plain text is of a query, which has no other way to say it. */
static bool read_bool(const struct tr_tree *tree, protobuf_c_boolean *value)
{
    bool is_true = tree->kind == TR_TREE_PLAIN && tr_text_equal(tree->text, tr_text_of("true"));
    bool is_false = tree->kind == TR_TREE_PLAIN && tr_text_equal(tree->text, tr_text_of("false"));
    *value = tree->kind == TR_TREE_BOOL ? tree->boolean : is_true;
    return tree->kind == TR_TREE_BOOL || is_true || is_false;
}

static bool read_enum(struct reading *reading, const ProtobufCEnumDescriptor *descriptor,
                      const struct tr_tree *tree, int *value)
{
    char name[256];
    int64_t number;
    if (tr_tree_is_text(tree) && tree->text.size < sizeof name) {
        memcpy(name, tree->text.data, tree->text.size);
        name[tree->text.size] = '\0';
        const ProtobufCEnumValue *found =
            protobuf_c_enum_descriptor_get_value_by_name(descriptor, name);
        if (found != NULL) {
            *value = found->value;
            return true;
        }
    }
    if (tree->kind != TR_TREE_STRING && read_signed(tree, INT32_MIN, INT32_MAX, &number)) {
        *value = (int)number;
        return true;
    }
    (void)snprintf(name, sizeof name, "one of %.80s", descriptor->short_name);
    return expect(reading, name, tree);
}

/* JSON is UTF-8 already, and a query may be anything. */
static bool is_text(struct reading *reading, const struct tr_tree *tree)
{
    if (!tr_tree_is_text(tree)) {
        return expect(reading, "text", tree);
    }
    return tr_utf8_valid(tree->text) ||
           refuse(reading, (struct tr_text){.data = NULL}, "this text is no UTF-8");
}

static bool read_string(struct reading *reading, const struct tr_tree *tree, char **value)
{
    if (!is_text(reading, tree)) {
        return false;
    }
    if (tree->text.size > 0 && memchr(tree->text.data, '\0', tree->text.size) != NULL) {
        return refuse(reading, (struct tr_text){.data = NULL},
                      "this text must not hold a zero byte");
    }
    char *copy = allocate(reading, tree->text.size + 1, 1);
    if (copy == NULL) {
        return false;
    }
    if (tree->text.size > 0) {
        memcpy(copy, tree->text.data, tree->text.size);
    }
    *value = copy;
    return true;
}

/* Base64 of either alphabet, padded or not. */
static bool read_base64(struct reading *reading, struct tr_text text, struct tr_bytes *bytes)
{
    char *copy = allocate(reading, text.size + 4, 1);
    size_t size = 0;
    if (copy == NULL) {
        return false;
    }
    for (; size < text.size; size++) {
        copy[size] = text.data[size] == '-' ? '+' : text.data[size] == '_' ? '/' : text.data[size];
    }
    while (size % 4 != 0) {
        copy[size++] = '=';
    }
    return tri_base64_read((struct tr_text){.data = copy, .size = size}, reading->arena, bytes);
}

/* Text is bytes in schemas/flyteidl where it may hold a zero byte. */
static bool read_bytes(struct reading *reading, const ProtobufCFieldDescriptor *field,
                       const struct tr_tree *tree, ProtobufCBinaryData *value)
{
    bool may_be_zero = strcmp(field->name, "string_value") == 0;
    struct tr_bytes bytes;
    if (may_be_zero ? !is_text(reading, tree) : !tr_tree_is_text(tree)) {
        return !may_be_zero && expect(reading, "base64", tree);
    }
    if (may_be_zero) {
        bytes = tr_arena_bytes(
            reading->arena,
            (struct tr_bytes){.data = (const uint8_t *)tree->text.data, .size = tree->text.size});
    } else if (!read_base64(reading, tree->text, &bytes)) {
        return reading->arena->error == 0 && expect(reading, "base64", tree);
    }
    value->data = (uint8_t *)(uintptr_t)bytes.data; /* the library only reads it */
    value->len = bytes.size;
    return reading->arena->error == 0;
}

/* One value of a field into its place. */
static bool read_value(struct reading *reading, const ProtobufCFieldDescriptor *field,
                       const struct tr_tree *tree, void *at)
{
    int64_t number = 0;
    uint64_t natural = 0;
    double real = 0;
    ProtobufCMessage *message;
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        message = new_message(reading, field->descriptor);
        *(ProtobufCMessage **)at = message;
        return message != NULL && read_message(reading, message, tree);
    case PROTOBUF_C_TYPE_STRING:
        return read_string(reading, tree, at);
    case PROTOBUF_C_TYPE_BYTES:
        return read_bytes(reading, field, tree, at);
    case PROTOBUF_C_TYPE_ENUM:
        return read_enum(reading, field->descriptor, tree, at);
    case PROTOBUF_C_TYPE_BOOL:
        return read_bool(tree, at) || expect(reading, "true or false", tree);
    case PROTOBUF_C_TYPE_DOUBLE:
        return read_double(tree, at) || expect(reading, "a number", tree);
    case PROTOBUF_C_TYPE_FLOAT:
        if (!read_double(tree, &real)) {
            return expect(reading, "a number", tree);
        }
        *(float *)at = (float)real;
        return true;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return read_signed(tree, INT64_MIN, INT64_MAX, at) ||
               expect(reading, "a whole number of 64 bits", tree);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return read_unsigned(tree, UINT64_MAX, at) ||
               expect(reading, "a whole number of 64 bits from 0 on", tree);
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        if (!read_unsigned(tree, UINT32_MAX, &natural)) {
            return expect(reading, "a whole number from 0 to 4294967295", tree);
        }
        *(uint32_t *)at = (uint32_t)natural;
        return true;
    default:
        if (!read_signed(tree, INT32_MIN, INT32_MAX, &number)) {
            return expect(reading, "a whole number from -2147483648 to 2147483647", tree);
        }
        *(int32_t *)at = (int32_t)number;
        return true;
    }
}

/* ---------------------------------------------------------- lists, maps, fields */

static void *at_of(ProtobufCMessage *message, unsigned offset)
{
    return (char *)message + offset;
}

static bool read_list(struct reading *reading, ProtobufCMessage *message,
                      const ProtobufCFieldDescriptor *field, const struct tr_tree *tree)
{
    if (tree->kind != TR_TREE_LIST) {
        return expect(reading, "a list", tree);
    }
    char *items = allocate(reading, tree->count, tri_flyte_item_bytes(field));
    struct place place = {.up = reading->place};
    bool is_fine = items != NULL;
    reading->place = &place;
    for (; is_fine && place.index < tree->count; place.index++) {
        const struct tr_tree *item = tree->items[place.index];
        bool is_free = field->type == PROTOBUF_C_TYPE_MESSAGE &&
                       field->descriptor == &google__protobuf__value__descriptor;
        is_fine = item->kind == TR_TREE_NULL && !is_free
                      ? expect(reading, "a value", item)
                      : read_value(reading, field, item,
                                   items + place.index * tri_flyte_item_bytes(field));
    }
    reading->place = place.up;
    *(void **)at_of(message, field->offset) = items;
    *(size_t *)at_of(message, field->quantifier_offset) = is_fine ? tree->count : 0;
    return is_fine;
}

/* An entry is a message of its own, with a key that is text and a value. */
static bool read_entry(struct reading *reading, const ProtobufCMessageDescriptor *descriptor,
                       const struct tr_pair *pair, ProtobufCMessage **made)
{
    ProtobufCMessage *entry = new_message(reading, descriptor);
    struct place place = {.up = reading->place, .name = pair->key->text, .index = UINT32_MAX};
    if (entry == NULL) {
        return false;
    }
    *made = entry;
    reading->place = &place;
    bool is_fine = read_string(reading, pair->key, at_of(entry, descriptor->fields[0].offset)) &&
                   read_value(reading, &descriptor->fields[1], pair->value,
                              at_of(entry, descriptor->fields[1].offset));
    reading->place = place.up;
    return is_fine;
}

static bool read_map(struct reading *reading, ProtobufCMessage *message,
                     const ProtobufCFieldDescriptor *field, const struct tr_tree *tree)
{
    if (tree->kind != TR_TREE_MAP) {
        return expect(reading, "an object", tree);
    }
    ProtobufCMessage **entries = allocate(reading, tree->count, sizeof *entries);
    bool is_fine = entries != NULL;
    for (uint32_t i = 0; is_fine && i < tree->count; i++) {
        is_fine = read_entry(reading, field->descriptor, &tree->pairs[i], &entries[i]);
    }
    *(void **)at_of(message, field->offset) = entries;
    *(size_t *)at_of(message, field->quantifier_offset) = is_fine ? tree->count : 0;
    return is_fine;
}

/* One of several excludes the others. */
static bool choose(struct reading *reading, ProtobufCMessage *message,
                   const ProtobufCFieldDescriptor *field)
{
    uint32_t *chosen = at_of(message, field->quantifier_offset);
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0) {
        return true;
    }
    if (*chosen != 0 && *chosen != field->id) {
        return refuse(reading, tr_text_of(field->name),
                      " excludes another field that is there, too");
    }
    *chosen = field->id;
    return true;
}

static bool read_field(struct reading *reading, ProtobufCMessage *message,
                       const ProtobufCFieldDescriptor *field, const struct tr_tree *tree)
{
    bool is_message = field->type == PROTOBUF_C_TYPE_MESSAGE;
    bool is_free = is_message && field->descriptor == &google__protobuf__value__descriptor;
    if (tree->kind == TR_TREE_NULL && !is_free) {
        return true; /* as if it were not there */
    }
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        return is_message && tri_flyte_is_entry(field->descriptor)
                   ? read_map(reading, message, field, tree)
                   : read_list(reading, message, field, tree);
    }
    return choose(reading, message, field) &&
           read_value(reading, field, tree, at_of(message, field->offset));
}

/* Whether a name is snake_case or its camelCase. */
static bool is_name(const char *name, struct tr_text text)
{
    size_t at = 0;
    if (tr_text_equal(tr_text_of(name), text)) {
        return true;
    }
    for (; *name != '\0'; name++) {
        bool is_bar = *name == '_' && name[1] != '\0';
        name += is_bar ? 1 : 0;
        char letter = (char)(is_bar && *name >= 'a' && *name <= 'z' ? *name - 'a' + 'A' : *name);
        if (at == text.size || text.data[at++] != letter) {
            return false;
        }
    }
    return at == text.size;
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *descriptor,
                                                  struct tr_text name)
{
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        if (is_name(descriptor->fields[i].name, name)) {
            return &descriptor->fields[i];
        }
    }
    return NULL;
}

static bool refuse_unknown(struct reading *reading, const ProtobufCMessageDescriptor *descriptor,
                           struct tr_text name)
{
    char words[160];
    (void)snprintf(words, sizeof words, " is no field of %.120s", descriptor->name);
    return refuse(reading, name, words);
}

/* A name in both its forms is a field twice. */
static bool read_fields(struct reading *reading, ProtobufCMessage *message,
                        const struct tr_tree *tree)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    if (tree->kind != TR_TREE_MAP) {
        return expect(reading, "an object", tree);
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        struct tr_text name = tree->pairs[i].key->text;
        const ProtobufCFieldDescriptor *field = find_field(descriptor, name);
        if (field == NULL && reading->is_lenient) {
            continue;
        }
        if (field == NULL) {
            return refuse_unknown(reading, descriptor, name);
        }
        for (uint32_t j = 0; j < i; j++) {
            if (find_field(descriptor, tree->pairs[j].key->text) == field) {
                return refuse(reading, name, " is there twice");
            }
        }
        struct place place = {.up = reading->place, .name = name, .index = UINT32_MAX};
        reading->place = &place;
        bool is_fine = read_field(reading, message, field, tree->pairs[i].value);
        reading->place = place.up;
        if (!is_fine) {
            return false;
        }
    }
    return true;
}

/* ---------------------------------------------------- messages with JSON of their own */

static bool read_timestamp(struct reading *reading, ProtobufCMessage *message,
                           const struct tr_tree *tree)
{
    Google__Protobuf__Timestamp *timestamp = (Google__Protobuf__Timestamp *)message;
    struct tr_moment moment;
    if (!tr_tree_is_text(tree) || !tr_moment_parse(tree->text, &moment)) {
        return expect(reading, "a time such as 2026-08-20T09:30:00Z", tree);
    }
    timestamp->seconds = moment.seconds;
    timestamp->nanos = (int32_t)moment.nanoseconds;
    return true;
}

/* Seconds with at most nine digits behind the point, and the letter s. */
static bool parse_duration(struct tr_text text, int64_t *seconds, int32_t *nanos)
{
    size_t at = text.size > 0 && text.data[0] == '-' ? 1 : 0;
    bool is_negative = at == 1;
    size_t digits = 0;
    int64_t whole = 0;
    int32_t part = 0;
    for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++, digits++) {
        whole = whole * 10 + (text.data[at] - '0');
        if (whole > DURATION_SECONDS_MAX) {
            return false;
        }
    }
    if (digits > 0 && at < text.size && text.data[at] == '.') {
        int32_t unit = NANOS_PER_S / 10;
        for (at++; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++) {
            part += (text.data[at] - '0') * unit;
            if (unit == 0) {
                return false;
            }
            unit /= 10;
        }
    }
    *seconds = is_negative ? -whole : whole;
    *nanos = is_negative ? -part : part;
    return digits > 0 && at + 1 == text.size && text.data[at] == 's';
}

static bool read_duration(struct reading *reading, ProtobufCMessage *message,
                          const struct tr_tree *tree)
{
    Google__Protobuf__Duration *duration = (Google__Protobuf__Duration *)message;
    return (tr_tree_is_text(tree) &&
            parse_duration(tree->text, &duration->seconds, &duration->nanos)) ||
           expect(reading, "a duration in seconds such as 1.5s", tree);
}

static bool read_wrapped(struct reading *reading, ProtobufCMessage *message,
                         const struct tr_tree *tree)
{
    Google__Protobuf__BoolValue *wrapped = (Google__Protobuf__BoolValue *)message;
    return read_bool(tree, &wrapped->value) || expect(reading, "true or false", tree);
}

static bool read_struct(struct reading *reading, ProtobufCMessage *message,
                        const struct tr_tree *tree)
{
    return read_map(reading, message, &message->descriptor->fields[0], tree);
}

static bool read_free_list(struct reading *reading, ProtobufCMessage *message,
                           const struct tr_tree *tree)
{
    return read_list(reading, message, &message->descriptor->fields[0], tree);
}

/* Anything that is JSON. */
static bool read_free(struct reading *reading, ProtobufCMessage *message,
                      const struct tr_tree *tree)
{
    static const char *const fields[] = {
        [TR_TREE_PLAIN] = "string_value", [TR_TREE_STRING] = "string_value",
        [TR_TREE_INT] = "number_value",   [TR_TREE_FLOAT] = "number_value",
        [TR_TREE_BOOL] = "bool_value",    [TR_TREE_NULL] = "null_value",
        [TR_TREE_LIST] = "list_value",    [TR_TREE_MAP] = "struct_value",
    };
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, fields[tree->kind]);
    (void)choose(reading, message, field);
    return tree->kind == TR_TREE_NULL ||
           read_value(reading, field, tree, at_of(message, field->offset));
}

/* The value of a key in an object, and the object without it in `rest`; NULL: it has none. */
static const struct tr_tree *take_key(struct reading *reading, const struct tr_tree *tree,
                                      const char *key, struct tr_tree *rest)
{
    const struct tr_tree *found = NULL;
    struct tr_pair *pairs = allocate(reading, tree->count, sizeof *pairs);
    *rest = *tree;
    rest->pairs = pairs;
    rest->count = 0;
    for (uint32_t i = 0; pairs != NULL && i < tree->count; i++) {
        if (tr_text_equal(tree->pairs[i].key->text, tr_text_of(key))) {
            found = tree->pairs[i].value;
        } else {
            pairs[rest->count++] = tree->pairs[i];
        }
    }
    return found;
}

/* Packs the message that is in one of any type. */
static bool pack_any(struct reading *reading, const ProtobufCMessage *message,
                     ProtobufCBinaryData *value)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    value->data = allocate(reading, size + 1, 1);
    value->len = value->data == NULL ? 0 : protobuf_c_message_pack(message, value->data);
    return value->data != NULL;
}

/* The value that stands beside the type of what is no object of its fields, and nothing else. */
static bool read_beside(struct reading *reading, ProtobufCMessage *message,
                        const struct tr_tree *value, const struct tr_tree *rest)
{
    if (value == NULL || rest->count > 0) {
        return refuse(reading, tr_text_of("value"),
                      " is all that stands beside '@type' for a message of this type");
    }
    return read_message(reading, message, value);
}

/* The bytes of a message whose type is not known here. */
static bool read_unknown(struct reading *reading, Google__Protobuf__Any *any,
                         const struct tr_tree *value, const struct tr_tree *rest)
{
    struct tr_bytes bytes;
    if (value == NULL || rest->count > 0 || !tr_tree_is_text(value)) {
        return refuse(reading, tr_text_of(any->type_url),
                      " is no type that is known here; write its bytes in base64 as 'value'");
    }
    if (!read_base64(reading, value->text, &bytes)) {
        return reading->arena->error == 0 && expect(reading, "base64", value);
    }
    any->value.data = (uint8_t *)(uintptr_t)bytes.data; /* the library only reads it */
    any->value.len = bytes.size;
    return true;
}

/* The name of a type, and beside it what a message of that type says. */
static bool read_any(struct reading *reading, ProtobufCMessage *message, const struct tr_tree *tree)
{
    Google__Protobuf__Any *any = (Google__Protobuf__Any *)message;
    struct tr_tree fields;
    struct tr_tree rest;
    if (tree->kind != TR_TREE_MAP) {
        return expect(reading, "an object", tree);
    }
    if (tree->count == 0) {
        return true;
    }
    const struct tr_tree *type = take_key(reading, tree, "@type", &fields);
    if (type == NULL) {
        return reading->arena->error == 0 &&
               refuse(reading, tr_text_of("@type"), " is missing, the name of the message's type");
    }
    if (!read_string(reading, type, &any->type_url)) {
        return false;
    }
    const ProtobufCMessageDescriptor *descriptor =
        tri_flyte_find_message(tr_text_of(any->type_url));
    const struct tr_tree *value = take_key(reading, &fields, "value", &rest);
    if (descriptor == NULL) {
        return reading->arena->error == 0 && read_unknown(reading, any, value, &rest);
    }
    if (reading->any_depth == TR_FLYTE_ANY_NESTING_MAX) {
        return refuse(reading, (struct tr_text){.data = NULL}, "this nests too deeply");
    }
    ProtobufCMessage *inner = new_message(reading, descriptor);
    if (inner == NULL) {
        return false;
    }
    reading->any_depth++;
    bool is_fine = tri_flyte_has_own_json(descriptor) ? read_beside(reading, inner, value, &rest)
                                                      : read_message(reading, inner, &fields);
    reading->any_depth--;
    return is_fine && pack_any(reading, inner, &any->value);
}

static bool read_message(struct reading *reading, ProtobufCMessage *message,
                         const struct tr_tree *tree)
{
    static const struct {
        const ProtobufCMessageDescriptor *descriptor;
        bool (*read)(struct reading *reading, ProtobufCMessage *message,
                     const struct tr_tree *tree);
    } others[] = {
        {&google__protobuf__any__descriptor, read_any},
        {&google__protobuf__timestamp__descriptor, read_timestamp},
        {&google__protobuf__duration__descriptor, read_duration},
        {&google__protobuf__bool_value__descriptor, read_wrapped},
        {&google__protobuf__struct__descriptor, read_struct},
        {&google__protobuf__list_value__descriptor, read_free_list},
        {&google__protobuf__value__descriptor, read_free},
    };
    if (reading->depth == TR_FLYTE_NESTING_MAX) {
        return refuse(reading, (struct tr_text){.data = NULL}, "this nests too deeply");
    }
    reading->depth++;
    bool is_other = false;
    bool is_fine = true;
    for (size_t i = 0; i < TR_COUNT_OF(others) && !is_other; i++) {
        is_other = message->descriptor == others[i].descriptor;
        is_fine = !is_other || others[i].read(reading, message, tree);
    }
    is_fine = is_other ? is_fine : read_fields(reading, message, tree);
    reading->depth--;
    return is_fine;
}

/* -------------------------------------------------------------------- what is asked */

static int outcome_of(const struct reading *reading, bool is_fine)
{
    if (reading->arena->error != 0) {
        return reading->arena->error;
    }
    return is_fine ? 0 : TR_INVALID;
}

/* The first thing that the parser says. */
static void take_problem(struct tr_report *report, char *problem)
{
    tr_report_finish(report);
    struct tr_text rule =
        report->count > 0 ? report->problems[0].rule : tr_text_of("this is no JSON");
    int size = rule.size < TR_FLYTE_PROBLEM_BYTES - 1 ? (int)rule.size : TR_FLYTE_PROBLEM_BYTES - 1;
    (void)snprintf(problem, TR_FLYTE_PROBLEM_BYTES, "%.*s", size, rule.data);
}

int tr_flyte_message_read_json(struct tr_arena *arena, ProtobufCMessage *message,
                               struct tr_text json, uint64_t bytes_max, char *problem)
{
    struct reading reading = {
        .arena = arena, .bytes_max = arena->used_bytes + bytes_max, .problem = problem};
    struct tr_arena scratch;
    struct tr_report report;
    problem[0] = '\0';
    tr_arena_init(&scratch);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(&scratch, &report, 0, json);
    bool is_fine = tree != NULL && read_message(&reading, message, tree);
    if (tree == NULL && scratch.error == 0) {
        take_problem(&report, problem);
    }
    int error = scratch.error != 0 ? scratch.error : outcome_of(&reading, is_fine);
    tr_report_fini(&report);
    tr_arena_fini(&scratch);
    return error;
}

int tri_flyte_read_tree(struct tr_arena *arena, ProtobufCMessage *message,
                        const struct tr_tree *tree, char *problem)
{
    struct reading reading = {.arena = arena,
                              .bytes_max = arena->used_bytes + TR_FLYTE_BYTES_MAX,
                              .problem = problem,
                              .is_lenient = true};
    problem[0] = '\0';
    return outcome_of(&reading, read_message(&reading, message, tree));
}

/* A message in another one, made if it is not there. */
static ProtobufCMessage *enter(struct reading *reading, ProtobufCMessage *message,
                               const ProtobufCFieldDescriptor *field)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE || field->label == PROTOBUF_C_LABEL_REPEATED) {
        (void)refuse(reading, tr_text_of(field->name), " has no fields of its own");
        return NULL;
    }
    ProtobufCMessage **at = at_of(message, field->offset);
    uint32_t *chosen = at_of(message, field->quantifier_offset);
    bool is_one = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
    if (!choose(reading, message, field)) {
        return NULL;
    }
    if (*at == NULL || (is_one && *chosen != field->id)) {
        *at = new_message(reading, field->descriptor);
    }
    return *at;
}

/* One more in a list, which moves. */
static bool add_one(struct reading *reading, ProtobufCMessage *message,
                    const ProtobufCFieldDescriptor *field, const struct tr_tree *tree)
{
    size_t *count = at_of(message, field->quantifier_offset);
    void **items = at_of(message, field->offset);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        return refuse(reading, tr_text_of(field->name), " is no field that a text can be");
    }
    char *more = allocate(reading, *count + 1, tri_flyte_item_bytes(field));
    if (more == NULL) {
        return false;
    }
    if (*count > 0) {
        memcpy(more, *items, *count * tri_flyte_item_bytes(field));
    }
    *items = more;
    if (!read_value(reading, field, tree, more + *count * tri_flyte_item_bytes(field))) {
        return false;
    }
    (*count)++;
    return true;
}

static bool set(struct reading *reading, ProtobufCMessage *message, struct tr_text path,
                const struct tr_tree *tree)
{
    while (true) {
        const char *dot = memchr(path.data, '.', path.size);
        struct tr_text name = {.data = path.data,
                               .size = dot == NULL ? path.size : (size_t)(dot - path.data)};
        const ProtobufCFieldDescriptor *field = find_field(message->descriptor, name);
        if (field == NULL) {
            return refuse_unknown(reading, message->descriptor, name);
        }
        if (dot == NULL) {
            return field->label == PROTOBUF_C_LABEL_REPEATED
                       ? add_one(reading, message, field, tree)
                       : read_field(reading, message, field, tree);
        }
        message = enter(reading, message, field);
        if (message == NULL) {
            return false;
        }
        path = (struct tr_text){.data = dot + 1, .size = path.size - name.size - 1};
    }
}

int tr_flyte_message_set(struct tr_arena *arena, ProtobufCMessage *message, struct tr_text path,
                         struct tr_text text, char *problem)
{
    struct place place = {.name = path, .index = UINT32_MAX};
    struct reading reading = {
        .arena = arena, .bytes_max = UINT64_MAX, .problem = problem, .place = &place};
    struct tr_tree tree = {.kind = TR_TREE_PLAIN, .text = text};
    problem[0] = '\0';
    return outcome_of(&reading, set(&reading, message, path, &tree));
}
