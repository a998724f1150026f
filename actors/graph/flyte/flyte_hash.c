/*
 * What Flyte makes keys of its cache of: a message as the JSON that protobuf says for it, in one of
 * two digests. propeller and datacatalog hash the values of that JSON one by one, so that their
 * order means nothing (objecthash); flytekit takes the SHA-256 of its text, keys in order.
 *
 * The JSON is a tree: names in camel case, what is a default left out, 64-bit integers as texts,
 * enumerators by their names, times and durations as texts with three digits at a time. For
 * propeller a literal that has a hash is that hash alone.
 */
#include <math.h>
#include <sodium.h>
#include <stdlib.h>

#include "actors/graph/flyte/flyte_inside.h"
#include "actors/graph/value/literal.h"
#include "schemas/codec/error.h"

/* A message on its way. */
struct hashing {
    struct tr_arena *arena;
    bool takes_hashes; /* in the place of the literals that have them */
};

static struct tr_tree *tree_of(const struct hashing *hashing, const ProtobufCMessage *message);

static struct tr_tree *make(const struct hashing *hashing, enum tr_tree_kind kind)
{
    return tri_tree_new(hashing->arena, kind, (struct tri_place){0});
}

static struct tr_tree *printed(const struct hashing *hashing, struct tr_text text)
{
    return hashing->arena->error != 0 ? NULL : tri_flyte_text(hashing->arena, text);
}

/* ------------------------------------------------------------------ scalars */

/* Nine digits of a fraction without the groups of three zeros at their end. */
static const char *fraction_of(const struct hashing *hashing, int32_t nanos)
{
    int digits = nanos == 0 ? 0 : nanos % 1000000 == 0 ? 3 : nanos % 1000 == 0 ? 6 : 9;
    char text[16];
    if (digits == 0) {
        return "";
    }
    (void)snprintf(text, sizeof text, "%09d", nanos);
    const char *kept = tr_arena_print(hashing->arena, ".%.*s", digits, text).data;
    return kept == NULL ? "" : kept;
}

static struct tr_tree *of_timestamp(const struct hashing *hashing,
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
        tr_arena_print(hashing->arena, "%.*s%sZ", (int)(buffer.size > 0 ? buffer.size - 1 : 0),
                       (const char *)buffer.data, fraction_of(hashing, is_one ? value->nanos : 0));
    hashing->arena->error = hashing->arena->error != 0 ? hashing->arena->error : buffer.error;
    tr_buffer_fini(&buffer);
    return printed(hashing, text);
}

static struct tr_tree *of_duration(const struct hashing *hashing,
                                   const Google__Protobuf__Duration *value)
{
    bool is_negative = value->seconds < 0 || value->nanos < 0;
    uint64_t seconds = value->seconds < 0 ? 0 - (uint64_t)value->seconds : (uint64_t)value->seconds;
    int32_t nanos = value->nanos < 0 && value->nanos > -1000000000 ? -value->nanos : value->nanos;
    return printed(hashing, tr_arena_print(hashing->arena, "%s%llu%ss", is_negative ? "-" : "",
                                           (unsigned long long)seconds,
                                           fraction_of(hashing, nanos < 0 ? 0 : nanos)));
}

static struct tr_tree *of_double(const struct hashing *hashing, double number)
{
    if (!isfinite(number)) {
        return printed(hashing, tr_text_of(isnan(number) ? "NaN"
                                           : number > 0  ? "Infinity"
                                                         : "-Infinity"));
    }
    struct tr_tree *tree = make(hashing, TR_TREE_FLOAT);
    if (tree != NULL) {
        tree->number = number;
    }
    return tree;
}

/* A float by the fewest digits that are the same float, as it is printed. */
static struct tr_tree *of_float(const struct hashing *hashing, float number)
{
    char text[40];
    int digits = 0;
    do {
        (void)snprintf(text, sizeof text, "%.*e", digits, (double)number);
    } while (digits++ < 9 && (strtof(text, NULL) < number || strtof(text, NULL) > number));
    return of_double(hashing, strtod(text, NULL));
}

static struct tr_tree *of_bytes(const struct hashing *hashing, ProtobufCBinaryData bytes)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tri_base64_write((struct tr_bytes){.data = bytes.data, .size = bytes.len}, &buffer);
    struct tr_text text = tr_arena_text(hashing->arena, tr_buffer_text(&buffer));
    hashing->arena->error = hashing->arena->error != 0 ? hashing->arena->error : buffer.error;
    tr_buffer_fini(&buffer);
    return printed(hashing, text);
}

static struct tr_tree *of_enum(const struct hashing *hashing,
                               const ProtobufCEnumDescriptor *descriptor, int number)
{
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(descriptor, number);
    struct tr_tree *tree = value == NULL ? make(hashing, TR_TREE_INT) : NULL;
    if (tree != NULL) {
        tree->integer = number;
    }
    return value == NULL ? tree : tri_flyte_text(hashing->arena, tr_text_of(value->name));
}

static struct tr_tree *of_flag(const struct hashing *hashing, bool flag)
{
    struct tr_tree *tree = make(hashing, TR_TREE_BOOL);
    if (tree != NULL) {
        tree->boolean = flag;
    }
    return tree;
}

/* One value of a field; `at` is where it lies. */
static struct tr_tree *of_value(const struct hashing *hashing,
                                const ProtobufCFieldDescriptor *field, const void *at)
{
    struct tr_tree *tree;
    /* Text is bytes in schemas/flyteidl where it may hold a zero byte. */
    bool is_text = strcmp(field->name, "string_value") == 0;
    ProtobufCBinaryData bytes;
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return tree_of(hashing, *(ProtobufCMessage *const *)at);
    case PROTOBUF_C_TYPE_STRING:
        return tri_flyte_text(hashing->arena, tr_text_of(*(char *const *)at));
    case PROTOBUF_C_TYPE_BYTES:
        bytes = *(const ProtobufCBinaryData *)at;
        return is_text ? tri_flyte_text(
                             hashing->arena,
                             (struct tr_text){.data = (const char *)bytes.data, .size = bytes.len})
                       : of_bytes(hashing, bytes);
    case PROTOBUF_C_TYPE_ENUM:
        return of_enum(hashing, field->descriptor, *(const int *)at);
    case PROTOBUF_C_TYPE_BOOL:
        return of_flag(hashing, *(const protobuf_c_boolean *)at != 0);
    case PROTOBUF_C_TYPE_DOUBLE:
        return of_double(hashing, *(const double *)at);
    case PROTOBUF_C_TYPE_FLOAT:
        return of_float(hashing, *(const float *)at);
    case PROTOBUF_C_TYPE_INT64:
        return printed(hashing,
                       tr_arena_print(hashing->arena, "%lld", (long long)*(const int64_t *)at));
    case PROTOBUF_C_TYPE_UINT64:
        return printed(hashing, tr_arena_print(hashing->arena, "%llu",
                                               (unsigned long long)*(const uint64_t *)at));
    default:
        tree = make(hashing, TR_TREE_INT);
        if (tree != NULL) {
            tree->integer = field->type == PROTOBUF_C_TYPE_UINT32 ? (int64_t) * (const uint32_t *)at
                                                                  : *(const int32_t *)at;
        }
        return tree;
    }
}

/* ------------------------------------------------------------------ messages */

static bool add(const struct hashing *hashing, struct tri_vector *pairs, struct tr_text key,
                struct tr_tree *value)
{
    struct tr_pair *pair = tri_vector_add(hashing->arena, pairs, sizeof *pair);
    struct tr_tree *name = tri_flyte_text(hashing->arena, key);
    if (pair == NULL || name == NULL || value == NULL) {
        return false;
    }
    *pair = (struct tr_pair){.key = name, .value = value};
    return true;
}

static struct tr_tree *close_map(const struct hashing *hashing, const struct tri_vector *pairs)
{
    struct tr_tree *map = make(hashing, TR_TREE_MAP);
    if (map != NULL) {
        map->pairs = pairs->items;
        map->count = pairs->count;
    }
    return map;
}

/* snake_case as camelCase. */
static struct tr_text json_name(const struct hashing *hashing, const char *name)
{
    char *copy = tr_arena_alloc(hashing->arena, strlen(name) + 1);
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
static struct tr_tree *of_map(const struct hashing *hashing, ProtobufCMessage *const *entries,
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
            is_missing ? make(hashing, TR_TREE_MAP) : of_value(hashing, &entry->fields[1], at);
        if (!add(hashing, &pairs, tr_text_of(key), value)) {
            return NULL;
        }
    }
    return close_map(hashing, &pairs);
}

static struct tr_tree *of_list(const struct hashing *hashing, const ProtobufCFieldDescriptor *field,
                               const void *items, size_t count)
{
    size_t size = field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING
                      ? sizeof(void *)
                  : field->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData)
                                                         : sizeof(int32_t);
    struct tr_tree *list = make(hashing, TR_TREE_LIST);
    struct tr_tree **trees = tr_arena_array(hashing->arena, count, sizeof *trees);
    for (size_t i = 0; list != NULL && trees != NULL && i < count; i++) {
        trees[i] = of_value(hashing, field, (const char *)items + i * size);
        if (trees[i] == NULL) {
            return NULL;
        }
    }
    if (list == NULL || trees == NULL) {
        return NULL;
    }
    list->items = trees;
    list->count = (uint32_t)count;
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

static struct tr_tree *of_field(const struct hashing *hashing, const ProtobufCMessage *message,
                                const ProtobufCFieldDescriptor *field, size_t count)
{
    const void *at = (const char *)message + field->offset;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        return of_value(hashing, field, at);
    }
    const void *items = *(void *const *)at;
    bool is_map = field->type == PROTOBUF_C_TYPE_MESSAGE && tri_flyte_is_entry(field->descriptor);
    return is_map ? of_map(hashing, items, count) : of_list(hashing, field, items, count);
}

static struct tr_tree *of_fields(const struct hashing *hashing, const ProtobufCMessage *message)
{
    struct tri_vector pairs = {0};
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
        const char *base = (const char *)message;
        size_t count = is_list ? *(const size_t *)(const void *)(base + field->quantifier_offset)
                               : (size_t)is_said(message, field);
        if (count > 0 && !add(hashing, &pairs, json_name(hashing, field->name),
                              of_field(hashing, message, field, count))) {
            return NULL;
        }
    }
    return close_map(hashing, &pairs);
}

/* What a free-form value of protobuf's holds stands in its place. */
static struct tr_tree *of_free(const struct hashing *hashing, const Google__Protobuf__Value *value)
{
    switch (value->kind_case) {
    case GOOGLE__PROTOBUF__VALUE__KIND_NUMBER_VALUE:
        return of_double(hashing, value->number_value);
    case GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE:
        return tri_flyte_text(hashing->arena, tr_text_of(value->string_value));
    case GOOGLE__PROTOBUF__VALUE__KIND_BOOL_VALUE:
        return of_flag(hashing, value->bool_value != 0);
    case GOOGLE__PROTOBUF__VALUE__KIND_STRUCT_VALUE:
        return tree_of(hashing, &value->struct_value->base);
    case GOOGLE__PROTOBUF__VALUE__KIND_LIST_VALUE:
        return tree_of(hashing, &value->list_value->base);
    default:
        return make(hashing, TR_TREE_NULL);
    }
}

/* The depth was bounded when the message was unpacked. */
static struct tr_tree *tree_of(const struct hashing *hashing, const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    if (descriptor == &google__protobuf__timestamp__descriptor) {
        return of_timestamp(hashing, (const Google__Protobuf__Timestamp *)message);
    }
    if (descriptor == &google__protobuf__duration__descriptor) {
        return of_duration(hashing, (const Google__Protobuf__Duration *)message);
    }
    if (descriptor == &google__protobuf__value__descriptor) {
        return of_free(hashing, (const Google__Protobuf__Value *)message);
    }
    if (descriptor == &google__protobuf__bool_value__descriptor) {
        return of_flag(hashing, ((const Google__Protobuf__BoolValue *)message)->value != 0);
    }
    if (descriptor == &google__protobuf__struct__descriptor) {
        const Google__Protobuf__Struct *value = (const Google__Protobuf__Struct *)message;
        return of_map(hashing, (ProtobufCMessage *const *)(void *)value->fields, value->n_fields);
    }
    if (descriptor == &google__protobuf__list_value__descriptor) {
        const Google__Protobuf__ListValue *value = (const Google__Protobuf__ListValue *)message;
        return of_list(hashing, &descriptor->fields[0], value->values, value->n_values);
    }
    const Flyteidl__Core__Literal *literal = (const Flyteidl__Core__Literal *)message;
    if (hashing->takes_hashes && descriptor == &flyteidl__core__literal__descriptor &&
        literal->hash[0] != '\0') {
        struct tri_vector pairs = {0};
        struct tr_tree *hash = tri_flyte_text(hashing->arena, tr_text_of(literal->hash));
        return add(hashing, &pairs, tr_text_of("hash"), hash) ? close_map(hashing, &pairs) : NULL;
    }
    return of_fields(hashing, message);
}

/* ------------------------------------------------------------------ objecthash */

static void digest(struct tr_buffer *buffer, uint8_t hash[TR_FLYTE_HASH_BYTES])
{
    crypto_hash_sha256(hash, buffer->data == NULL ? (const uint8_t *)"" : buffer->data,
                       buffer->size);
}

/* A number as its sign, its exponent and its binary digits: +0: is zero, +1:1 is 2. */
static void put_number(double number, struct tr_buffer *buffer)
{
    int exponent = 0;
    if (number == 0) {
        tr_buffer_add_string(buffer, "+0:");
        return;
    }
    tr_buffer_add_string(buffer, number < 0 ? "-" : "+");
    number = fabs(number);
    for (; number > 1; number /= 2) {
        exponent++;
    }
    for (; number <= 0.5; number *= 2) {
        exponent--;
    }
    tr_buffer_print(buffer, "%d:", exponent);
    while (number > 0) {
        bool is_one = number >= 1;
        tr_buffer_add_string(buffer, is_one ? "1" : "0");
        number = (is_one ? number - 1 : number) * 2;
    }
}

static int by_digest(const void *left, const void *right)
{
    return memcmp(left, right, 2 * (size_t)TR_FLYTE_HASH_BYTES);
}

static void hash_tree(const struct tr_tree *tree, uint8_t hash[TR_FLYTE_HASH_BYTES],
                      struct tr_arena *arena);

static void put_list(const struct tr_tree *tree, struct tr_arena *arena, struct tr_buffer *buffer)
{
    tr_buffer_add_string(buffer, "l");
    for (uint32_t i = 0; i < tree->count; i++) {
        uint8_t one[TR_FLYTE_HASH_BYTES];
        hash_tree(tree->items[i], one, arena);
        tr_buffer_add(buffer, one, sizeof one);
    }
}

/* Keys and values by their digests, in the order of these. */
static void put_map(const struct tr_tree *tree, struct tr_arena *arena, struct tr_buffer *buffer)
{
    uint8_t *pairs = tr_arena_array(arena, tree->count, 2 * (size_t)TR_FLYTE_HASH_BYTES);
    for (uint32_t i = 0; pairs != NULL && i < tree->count; i++) {
        uint8_t *at = pairs + i * 2 * (size_t)TR_FLYTE_HASH_BYTES;
        hash_tree(tree->pairs[i].key, at, arena);
        hash_tree(tree->pairs[i].value, at + TR_FLYTE_HASH_BYTES, arena);
    }
    tr_buffer_add_string(buffer, "d");
    if (pairs != NULL && tree->count > 0) {
        qsort(pairs, tree->count, 2 * (size_t)TR_FLYTE_HASH_BYTES, by_digest);
        tr_buffer_add(buffer, pairs, tree->count * 2 * (size_t)TR_FLYTE_HASH_BYTES);
    }
}

static void hash_tree(const struct tr_tree *tree, uint8_t hash[TR_FLYTE_HASH_BYTES],
                      struct tr_arena *arena)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    switch ((enum tr_tree_kind)tree->kind) {
    case TR_TREE_PLAIN:
    case TR_TREE_STRING:
        tr_buffer_add_string(&buffer, "u");
        tr_buffer_add_text(&buffer, tree->text);
        break;
    case TR_TREE_INT:
        tr_buffer_add_string(&buffer, "f");
        put_number((double)tree->integer, &buffer);
        break;
    case TR_TREE_FLOAT:
        tr_buffer_add_string(&buffer, "f");
        put_number(tree->number, &buffer);
        break;
    case TR_TREE_BOOL:
        tr_buffer_add_string(&buffer, tree->boolean ? "b1" : "b0");
        break;
    case TR_TREE_NULL:
        tr_buffer_add_string(&buffer, "n");
        break;
    case TR_TREE_LIST:
        put_list(tree, arena, &buffer);
        break;
    case TR_TREE_MAP:
        put_map(tree, arena, &buffer);
        break;
    }
    digest(&buffer, hash);
    arena->error = arena->error != 0 ? arena->error : buffer.error;
    tr_buffer_fini(&buffer);
}

/* ------------------------------------------------------------------ flytekit's text */

/* A number as Python prints it: the fewest digits that are the same, a point or an exponent. */
static void write_number(double number, struct tr_buffer *buffer)
{
    char text[40];
    int digits = 0;
    do {
        (void)snprintf(text, sizeof text, "%.*e", digits, number);
    } while (digits++ < 16 && (strtod(text, NULL) < number || strtod(text, NULL) > number));
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent >= -4 && exponent < 16) {
        int decimals = digits - 1 - exponent;
        (void)snprintf(text, sizeof text, "%.*f", decimals > 1 ? decimals : 1, number);
    }
    tr_buffer_add_string(buffer, text);
}

/* The character at the beginning of UTF-8 that is right; how many bytes it has. */
static size_t decode(struct tr_text text, uint32_t *character)
{
    const uint8_t *at = (const uint8_t *)text.data;
    size_t size = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    *character = size == 1 ? at[0] : at[0] & (0xffU >> (size + 1));
    for (size_t i = 1; i < size && i < text.size; i++) {
        *character = *character << 6 | (at[i] & 0x3fU);
    }
    return size < text.size ? size : text.size;
}

/* Text as Python's json writes it: all but ASCII that can be printed is escaped. */
static void write_text(struct tr_text text, struct tr_buffer *buffer)
{
    static const char short_ones[] = "\"\"\\\\b\bf\fn\nr\rt\t";
    tr_buffer_add_string(buffer, "\"");
    while (text.size > 0) {
        uint32_t character;
        size_t size = decode(text, &character);
        size_t i = 0;
        while (i + 1 < sizeof short_ones - 1 && (uint8_t)short_ones[i + 1] != character) {
            i += 2;
        }
        if (i + 1 < sizeof short_ones - 1) {
            tr_buffer_print(buffer, "\\%c", short_ones[i]);
        } else if (character >= 0x20 && character < 0x7f) {
            tr_buffer_add(buffer, text.data, 1);
        } else if (character < 0x10000) {
            tr_buffer_print(buffer, "\\u%04x", character);
        } else {
            character -= 0x10000;
            tr_buffer_print(buffer, "\\u%04x\\u%04x", 0xd800 + (character >> 10),
                            0xdc00 + (character & 0x3ff));
        }
        text.data += size;
        text.size -= size;
    }
    tr_buffer_add_string(buffer, "\"");
}

static int by_key(const void *left, const void *right)
{
    const struct tr_pair *a = left;
    const struct tr_pair *b = right;
    return tr_text_order(a->key->text, b->key->text);
}

static void write_tree(const struct tr_tree *tree, struct tr_buffer *buffer)
{
    bool is_map = tree->kind == TR_TREE_MAP;
    switch ((enum tr_tree_kind)tree->kind) {
    case TR_TREE_PLAIN:
    case TR_TREE_STRING:
        write_text(tree->text, buffer);
        return;
    case TR_TREE_INT:
        tr_buffer_print(buffer, "%lld", (long long)tree->integer);
        return;
    case TR_TREE_FLOAT:
        write_number(tree->number, buffer);
        return;
    case TR_TREE_BOOL:
        tr_buffer_add_string(buffer, tree->boolean ? "true" : "false");
        return;
    case TR_TREE_NULL:
        tr_buffer_add_string(buffer, "null");
        return;
    case TR_TREE_LIST:
    case TR_TREE_MAP:
        break;
    }
    if (is_map && tree->count > 1) {
        /* The tree was made here. */
        qsort((struct tr_pair *)(uintptr_t)tree->pairs, tree->count, sizeof(struct tr_pair),
              by_key);
    }
    tr_buffer_add_string(buffer, is_map ? "{" : "[");
    for (uint32_t i = 0; i < tree->count; i++) {
        tr_buffer_add_string(buffer, i == 0 ? "" : ",");
        if (is_map) {
            write_text(tree->pairs[i].key->text, buffer);
            tr_buffer_add_string(buffer, ":");
        }
        write_tree(is_map ? tree->pairs[i].value : tree->items[i], buffer);
    }
    tr_buffer_add_string(buffer, is_map ? "}" : "]");
}

/* ------------------------------------------------------------------ documents */

int tr_flyte_hash(struct tr_bytes document, enum tr_flyte_hash_form form,
                  uint8_t hash[TR_FLYTE_HASH_BYTES])
{
    struct tr_arena arena;
    struct tr_buffer text;
    tr_arena_init(&arena);
    tr_buffer_init(&text, 0);
    const struct hashing hashing = {.arena = &arena,
                                    .takes_hashes = form == TR_FLYTE_HASH_OF_PROPELLER};
    const Flyteidl__Core__LiteralMap *map =
        tri_wire_unpack(&arena, &flyteidl__core__literal_map__descriptor, document);
    const struct tr_tree *whole = map == NULL ? NULL : tree_of(&hashing, &map->base);
    uint8_t found[TR_FLYTE_HASH_BYTES] = {0};
    if (whole != NULL && form == TR_FLYTE_HASH_OF_PROPELLER) {
        hash_tree(whole, found, &arena);
    } else if (whole != NULL) {
        write_tree(whole, &text);
        digest(&text, found);
    }
    int error = arena.error != 0 ? arena.error : text.error != 0 ? text.error : 0;
    error = error == 0 && map == NULL ? TR_MALFORMED : error;
    if (error == 0) {
        memcpy(hash, found, sizeof found);
    }
    tr_buffer_fini(&text);
    tr_arena_fini(&arena);
    return error;
}
