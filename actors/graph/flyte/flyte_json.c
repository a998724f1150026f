/*
 * Messages as the JSON that protobuf says for them, in the form of Flyte's programs: names in camel
 * case, what is a default left out, 64-bit integers as texts, enumerators by their names, times and
 * durations as texts with three digits at a time. Keys of Flyte's cache are made of it
 * (flyte_hash.c), and people are shown what Flyte says of a node. Clients of Flyte's gateway get
 * the names that are declared, and defaults, too (flyte_message.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/flyte/flyte_inside.h"
#include "actors/graph/flyte/flyte_message.h"
#include "actors/graph/value/literal.h"
#include "schemas/codec/error.h"

/* A message on its way. */
struct printing {
    struct tr_arena *arena;
    enum tri_flyte_json_form form;
    uint32_t any_depth; /* how many messages it is in that were in a google.protobuf.Any */
};

static struct tr_tree *tree_of(const struct printing *printing, const ProtobufCMessage *message);

static struct tr_tree *make(const struct printing *printing, enum tr_tree_kind kind)
{
    return tri_tree_new(printing->arena, kind, (struct tri_place){0});
}

static struct tr_tree *printed(const struct printing *printing, struct tr_text text)
{
    return printing->arena->error != 0 ? NULL : tri_flyte_text(printing->arena, text);
}

/* ------------------------------------------------------------------ scalars */

/* Nine digits of a fraction without the groups of three zeros at their end. */
static const char *fraction_of(const struct printing *printing, int32_t nanos)
{
    int digits = nanos == 0 ? 0 : nanos % 1000000 == 0 ? 3 : nanos % 1000 == 0 ? 6 : 9;
    char text[16];
    if (digits == 0) {
        return "";
    }
    (void)snprintf(text, sizeof text, "%09d", nanos);
    const char *kept = tr_arena_print(printing->arena, ".%.*s", digits, text).data;
    return kept == NULL ? "" : kept;
}

static struct tr_tree *of_timestamp(const struct printing *printing,
                                    const Google__Protobuf__Timestamp *value)
{
    struct tr_buffer buffer;
    bool is_one = value->seconds >= TR_MOMENT_SECONDS_MIN &&
                  value->seconds <= TR_MOMENT_SECONDS_MAX && value->nanos >= 0 &&
                  value->nanos < 1000000000;
    tr_buffer_init(&buffer, 0);
    tr_moment_print((struct tr_moment){.seconds = is_one ? value->seconds : 0}, &buffer);
    /* Without the letter at its end, behind the fraction. */
    struct tr_text text =
        tr_arena_print(printing->arena, "%.*s%sZ", (int)(buffer.size > 0 ? buffer.size - 1 : 0),
                       (const char *)buffer.data, fraction_of(printing, is_one ? value->nanos : 0));
    printing->arena->error = printing->arena->error != 0 ? printing->arena->error : buffer.error;
    tr_buffer_fini(&buffer);
    return printed(printing, text);
}

static struct tr_tree *of_duration(const struct printing *printing,
                                   const Google__Protobuf__Duration *value)
{
    bool is_negative = value->seconds < 0 || value->nanos < 0;
    uint64_t seconds = value->seconds < 0 ? 0 - (uint64_t)value->seconds : (uint64_t)value->seconds;
    int32_t nanos = value->nanos < 0 && value->nanos > -1000000000 ? -value->nanos : value->nanos;
    return printed(printing, tr_arena_print(printing->arena, "%s%llu%ss", is_negative ? "-" : "",
                                            (unsigned long long)seconds,
                                            fraction_of(printing, nanos < 0 ? 0 : nanos)));
}

static struct tr_tree *of_double(const struct printing *printing, double number)
{
    if (!isfinite(number)) {
        return printed(printing, tr_text_of(isnan(number) ? "NaN"
                                            : number > 0  ? "Infinity"
                                                          : "-Infinity"));
    }
    struct tr_tree *tree = make(printing, TR_TREE_FLOAT);
    if (tree != NULL) {
        tree->number = number;
    }
    return tree;
}

/* A float by the fewest digits that are the same float, as it is printed. */
static struct tr_tree *of_float(const struct printing *printing, float number)
{
    char text[40];
    int digits = 0;
    do {
        (void)snprintf(text, sizeof text, "%.*e", digits, (double)number);
    } while (digits++ < 9 && (strtof(text, NULL) < number || strtof(text, NULL) > number));
    return of_double(printing, strtod(text, NULL));
}

static struct tr_tree *of_bytes(const struct printing *printing, ProtobufCBinaryData bytes)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tri_base64_write((struct tr_bytes){.data = bytes.data, .size = bytes.len}, &buffer);
    struct tr_text text = tr_arena_text(printing->arena, tr_buffer_text(&buffer));
    printing->arena->error = printing->arena->error != 0 ? printing->arena->error : buffer.error;
    tr_buffer_fini(&buffer);
    return printed(printing, text);
}

static struct tr_tree *of_enum(const struct printing *printing,
                               const ProtobufCEnumDescriptor *descriptor, int number)
{
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(descriptor, number);
    struct tr_tree *tree = value == NULL ? make(printing, TR_TREE_INT) : NULL;
    if (tree != NULL) {
        tree->integer = number;
    }
    return value == NULL ? tree : tri_flyte_text(printing->arena, tr_text_of(value->name));
}

static struct tr_tree *of_flag(const struct printing *printing, bool flag)
{
    struct tr_tree *tree = make(printing, TR_TREE_BOOL);
    if (tree != NULL) {
        tree->boolean = flag;
    }
    return tree;
}

/* One value of a field; `at` is where it lies. */
static struct tr_tree *of_value(const struct printing *printing,
                                const ProtobufCFieldDescriptor *field, const void *at)
{
    struct tr_tree *tree;
    /* Text is bytes in schemas/flyteidl where it may hold a zero byte. */
    bool is_text = strcmp(field->name, "string_value") == 0;
    ProtobufCBinaryData bytes;
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return tree_of(printing, *(ProtobufCMessage *const *)at);
    case PROTOBUF_C_TYPE_STRING:
        return tri_flyte_text(printing->arena, tr_text_of(*(char *const *)at));
    case PROTOBUF_C_TYPE_BYTES:
        bytes = *(const ProtobufCBinaryData *)at;
        return is_text ? tri_flyte_text(
                             printing->arena,
                             (struct tr_text){.data = (const char *)bytes.data, .size = bytes.len})
                       : of_bytes(printing, bytes);
    case PROTOBUF_C_TYPE_ENUM:
        return of_enum(printing, field->descriptor, *(const int *)at);
    case PROTOBUF_C_TYPE_BOOL:
        return of_flag(printing, *(const protobuf_c_boolean *)at != 0);
    case PROTOBUF_C_TYPE_DOUBLE:
        return of_double(printing, *(const double *)at);
    case PROTOBUF_C_TYPE_FLOAT:
        return of_float(printing, *(const float *)at);
    case PROTOBUF_C_TYPE_INT64:
        return printed(printing,
                       tr_arena_print(printing->arena, "%lld", (long long)*(const int64_t *)at));
    case PROTOBUF_C_TYPE_UINT64:
        return printed(printing, tr_arena_print(printing->arena, "%llu",
                                                (unsigned long long)*(const uint64_t *)at));
    default:
        tree = make(printing, TR_TREE_INT);
        if (tree != NULL) {
            tree->integer = field->type == PROTOBUF_C_TYPE_UINT32 ? (int64_t) * (const uint32_t *)at
                                                                  : *(const int32_t *)at;
        }
        return tree;
    }
}

/* ------------------------------------------------------------------ messages */

static bool add(const struct printing *printing, struct tri_vector *pairs, struct tr_text key,
                struct tr_tree *value)
{
    struct tr_pair *pair = tri_vector_add(printing->arena, pairs, sizeof *pair);
    struct tr_tree *name = tri_flyte_text(printing->arena, key);
    if (pair == NULL || name == NULL || value == NULL) {
        return false;
    }
    *pair = (struct tr_pair){.key = name, .value = value};
    return true;
}

static struct tr_tree *close_map(const struct printing *printing, const struct tri_vector *pairs)
{
    struct tr_tree *map = make(printing, TR_TREE_MAP);
    if (map == NULL) {
        return NULL;
    }
    map->pairs = pairs->items;
    map->count = pairs->count;
    for (uint32_t i = 0; i < map->count; i++) {
        map->weight += map->pairs[i].value->weight;
    }
    return map;
}

/* snake_case as camelCase. */
static struct tr_text json_name(const struct printing *printing, const char *name)
{
    if (printing->form == TRI_FLYTE_JSON_FIELDS) {
        return tr_text_of(name);
    }
    char *copy = tr_arena_alloc(printing->arena, strlen(name) + 1);
    size_t size = 0;
    for (; copy != NULL && *name != '\0'; name++) {
        bool is_bar = *name == '_';
        name += is_bar && name[1] != '\0' ? 1 : 0;
        bool is_raised = is_bar && *name >= 'a' && *name <= 'z';
        copy[size++] = (char)(is_raised ? *name - 'a' + 'A' : *name);
    }
    return (struct tr_text){.data = copy == NULL ? "" : copy, .size = size};
}

/* The entries of a map: each a key that is text, and a value. */
static struct tr_tree *of_map(const struct printing *printing, ProtobufCMessage *const *entries,
                              size_t count)
{
    struct tri_vector pairs = {0};
    for (size_t i = 0; i < count; i++) {
        const ProtobufCMessageDescriptor *entry = entries[i]->descriptor;
        const char *base = (const char *)entries[i];
        const char *key = *(char *const *)(const void *)(base + entry->fields[0].offset);
        const void *at = base + entry->fields[1].offset;
        bool is_missing = entry->fields[1].type == PROTOBUF_C_TYPE_MESSAGE &&
                          *(ProtobufCMessage *const *)at == NULL;
        struct tr_tree *value =
            is_missing ? make(printing, TR_TREE_MAP) : of_value(printing, &entry->fields[1], at);
        if (!add(printing, &pairs, tr_text_of(key), value)) {
            return NULL;
        }
    }
    return close_map(printing, &pairs);
}

size_t tri_flyte_item_bytes(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
    case PROTOBUF_C_TYPE_STRING:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return sizeof(uint64_t);
    default:
        return sizeof(uint32_t); /* enumerators and booleans, too */
    }
}

static struct tr_tree *of_list(const struct printing *printing,
                               const ProtobufCFieldDescriptor *field, const void *items,
                               size_t count)
{
    size_t size = tri_flyte_item_bytes(field);
    struct tr_tree *list = make(printing, TR_TREE_LIST);
    struct tr_tree **trees = tr_arena_array(printing->arena, count, sizeof *trees);
    for (size_t i = 0; list != NULL && trees != NULL && i < count; i++) {
        trees[i] = of_value(printing, field, (const char *)items + i * size);
        if (trees[i] == NULL) {
            return NULL;
        }
    }
    if (list == NULL || trees == NULL) {
        return NULL;
    }
    const struct tri_vector vector = {.items = trees, .count = (uint32_t)count};
    tri_tree_close_list(list, &vector);
    return list;
}

/* Whether a field that is no list says anything. */
static bool is_said(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    const char *base = (const char *)message;
    const void *at = base + field->offset;
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        return *(const uint32_t *)(const void *)(base + field->quantifier_offset) == field->id;
    }
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return *(ProtobufCMessage *const *)at != NULL;
    case PROTOBUF_C_TYPE_STRING:
        return (*(char *const *)at)[0] != '\0';
    case PROTOBUF_C_TYPE_BYTES:
        return ((const ProtobufCBinaryData *)at)->len > 0;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return *(const uint64_t *)at != 0;
    default:
        return *(const uint32_t *)at != 0;
    }
}

static struct tr_tree *of_field(const struct printing *printing, const ProtobufCMessage *message,
                                const ProtobufCFieldDescriptor *field, size_t count)
{
    const void *at = (const char *)message + field->offset;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        bool is_missing =
            field->type == PROTOBUF_C_TYPE_MESSAGE && *(ProtobufCMessage *const *)at == NULL;
        return is_missing ? make(printing, TR_TREE_NULL) : of_value(printing, field, at);
    }
    const void *items = *(void *const *)at;
    bool is_map = field->type == PROTOBUF_C_TYPE_MESSAGE && tri_flyte_is_entry(field->descriptor);
    return is_map ? of_map(printing, items, count) : of_list(printing, field, items, count);
}

/* An annotation with this key is for the cache's keys. */
static bool is_for_keys(const Flyteidl__Core__LiteralType *type)
{
    const Google__Protobuf__Struct *said =
        type->annotation == NULL ? NULL : type->annotation->annotations;
    for (size_t i = 0; said != NULL && i < said->n_fields; i++) {
        if (strcmp(said->fields[i]->key, "cache-key-metadata") == 0) {
            return true;
        }
    }
    return false;
}

/* What SDKs say about a type, and people about a variable. */
static bool is_beside_type(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    if (message->descriptor == &flyteidl__core__variable__descriptor) {
        return strcmp(field->name, "description") == 0;
    }
    if (message->descriptor != &flyteidl__core__literal_type__descriptor) {
        return false;
    }
    return strcmp(field->name, "metadata") == 0 ||
           (strcmp(field->name, "annotation") == 0 &&
            !is_for_keys((const Flyteidl__Core__LiteralType *)message));
}

/* Adds the fields of a message; false: memory ended. */
static bool add_fields(const struct printing *printing, const ProtobufCMessage *message,
                       struct tri_vector *pairs)
{
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
        const char *base = (const char *)message;
        size_t count = is_list ? *(const size_t *)(const void *)(base + field->quantifier_offset)
                               : (size_t)is_said(message, field);
        if (printing->form == TRI_FLYTE_JSON_BARE_TYPES && is_beside_type(message, field)) {
            continue;
        }
        /* One of several that is not the one says nothing, not even that. */
        bool is_shown = count > 0 || (printing->form == TRI_FLYTE_JSON_FIELDS &&
                                      (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0);
        if (is_shown && !add(printing, pairs, json_name(printing, field->name),
                             of_field(printing, message, field, count))) {
            return false;
        }
    }
    return true;
}

static struct tr_tree *of_fields(const struct printing *printing, const ProtobufCMessage *message)
{
    struct tri_vector pairs = {0};
    return add_fields(printing, message, &pairs) ? close_map(printing, &pairs) : NULL;
}

/*
 * The message in it beside the name of its type. Where nobody here knows the type, its bytes stand
 * for it.
 */
static struct tr_tree *of_any(const struct printing *printing, const Google__Protobuf__Any *any)
{
    struct printing inner = *printing;
    struct tri_vector pairs = {0};
    struct tr_text type_url = tr_text_of(any->type_url);
    const ProtobufCMessageDescriptor *descriptor =
        inner.any_depth++ == TR_FLYTE_ANY_NESTING_MAX ? NULL : tri_flyte_find_message(type_url);
    const struct tr_bytes bytes = {.data = any->value.data, .size = any->value.len};
    const ProtobufCMessage *message =
        descriptor == NULL
            ? NULL
            : tr_flyte_message_unpack(printing->arena, descriptor, bytes, TR_FLYTE_BYTES_MAX);
    if (printing->arena->error != 0) {
        return NULL;
    }
    if (type_url.size == 0 && bytes.size == 0) {
        return close_map(printing, &pairs);
    }
    bool is_fine =
        add(printing, &pairs, tr_text_of("@type"), tri_flyte_text(printing->arena, type_url));
    if (message != NULL && !tri_flyte_has_own_json(descriptor)) {
        is_fine = is_fine && add_fields(&inner, message, &pairs);
    } else {
        is_fine = is_fine &&
                  add(printing, &pairs, tr_text_of("value"),
                      message != NULL ? tree_of(&inner, message) : of_bytes(printing, any->value));
    }
    return is_fine ? close_map(printing, &pairs) : NULL;
}

/* What a free-form value of protobuf's holds stands in its place. */
static struct tr_tree *of_free(const struct printing *printing,
                               const Google__Protobuf__Value *value)
{
    switch (value->kind_case) {
    case GOOGLE__PROTOBUF__VALUE__KIND_NUMBER_VALUE:
        return of_double(printing, value->number_value);
    case GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE:
        return tri_flyte_text(printing->arena, tr_text_of(value->string_value));
    case GOOGLE__PROTOBUF__VALUE__KIND_BOOL_VALUE:
        return of_flag(printing, value->bool_value != 0);
    case GOOGLE__PROTOBUF__VALUE__KIND_STRUCT_VALUE:
        return tree_of(printing, &value->struct_value->base);
    case GOOGLE__PROTOBUF__VALUE__KIND_LIST_VALUE:
        return tree_of(printing, &value->list_value->base);
    default:
        return make(printing, TR_TREE_NULL);
    }
}

/*
 * A hash stands for its literal. Lists and maps are taken apart, without what is said about them;
 * what is in a scalar is as it is.
 */
static struct tr_tree *of_hashed(const struct printing *printing,
                                 const Flyteidl__Core__Literal *literal)
{
    const struct printing whole = {
        .arena = printing->arena, .form = TRI_FLYTE_JSON_WHOLE, .any_depth = printing->any_depth};
    Flyteidl__Core__Literal bare;
    flyteidl__core__literal__init(&bare);
    if (literal->hash[0] != '\0') {
        bare.hash = literal->hash;
        return of_fields(printing, &bare.base);
    }
    bare.value_case = literal->value_case;
    if (literal->value_case == FLYTEIDL__CORE__LITERAL__VALUE_COLLECTION) {
        bare.collection = literal->collection;
        return of_fields(printing, &bare.base);
    }
    if (literal->value_case == FLYTEIDL__CORE__LITERAL__VALUE_MAP) {
        bare.map = literal->map;
        return of_fields(printing, &bare.base);
    }
    return of_fields(&whole, &literal->base);
}

/* The depth was bounded when the message was unpacked. */
static struct tr_tree *tree_of(const struct printing *printing, const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    if (descriptor == &google__protobuf__timestamp__descriptor) {
        return of_timestamp(printing, (const Google__Protobuf__Timestamp *)message);
    }
    if (descriptor == &google__protobuf__duration__descriptor) {
        return of_duration(printing, (const Google__Protobuf__Duration *)message);
    }
    if (descriptor == &google__protobuf__value__descriptor) {
        return of_free(printing, (const Google__Protobuf__Value *)message);
    }
    if (descriptor == &google__protobuf__any__descriptor) {
        return of_any(printing, (const Google__Protobuf__Any *)message);
    }
    if (descriptor == &google__protobuf__bool_value__descriptor) {
        return of_flag(printing, ((const Google__Protobuf__BoolValue *)message)->value != 0);
    }
    if (descriptor == &google__protobuf__struct__descriptor) {
        const Google__Protobuf__Struct *value = (const Google__Protobuf__Struct *)message;
        return of_map(printing, (ProtobufCMessage *const *)(void *)value->fields, value->n_fields);
    }
    if (descriptor == &google__protobuf__list_value__descriptor) {
        const Google__Protobuf__ListValue *value = (const Google__Protobuf__ListValue *)message;
        return of_list(printing, &descriptor->fields[0], value->values, value->n_values);
    }
    if (printing->form == TRI_FLYTE_JSON_HASHED &&
        descriptor == &flyteidl__core__literal__descriptor) {
        return of_hashed(printing, (const Flyteidl__Core__Literal *)message);
    }
    return of_fields(printing, message);
}

struct tr_tree *tri_flyte_json(struct tr_arena *arena, const ProtobufCMessage *message,
                               enum tri_flyte_json_form form)
{
    const struct printing printing = {.arena = arena, .form = form};
    return tree_of(&printing, message);
}
