/*
 * What Flyte makes keys of its cache of: the JSON of a message (flyte_json.c) in one of two
 * digests. propeller and datacatalog hash the values of that JSON one by one, so that their order
 * means nothing (objecthash); flytekit takes the SHA-256 of its text, keys in order. For propeller
 * a literal that has a hash is that hash alone.
 */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/flyte/flyte_inside.h"
#include "actors/graph/value/literal.h"
#include "schemas/codec/error.h"

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
    case TR_TREE_REFERENCE:
        break; /* none is in a literal */
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
    case TR_TREE_REFERENCE:
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

/* ------------------------------------------------------------------ interfaces */

/* So many letters of a hash stand in a signature. */
#define SIGNATURE_LETTERS 8

static void write_beginning(struct tr_arena *arena, const Flyteidl__Core__VariableMap *variables,
                            char letters[SIGNATURE_LETTERS + 1])
{
    static const Flyteidl__Core__VariableMap none = FLYTEIDL__CORE__VARIABLE_MAP__INIT;
    uint8_t hash[TR_FLYTE_HASH_BYTES] = {0};
    char text[sodium_base64_ENCODED_LEN(TR_FLYTE_HASH_BYTES,
                                        sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    const struct tr_tree *tree = tri_flyte_json(
        arena, variables == NULL ? &none.base : &variables->base, TRI_FLYTE_JSON_BARE_TYPES);
    if (tree != NULL) {
        hash_tree(tree, hash, arena);
    }
    (void)sodium_bin2base64(text, sizeof text, hash, sizeof hash,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    memcpy(letters, text, SIGNATURE_LETTERS);
    letters[SIGNATURE_LETTERS] = '\0';
}

struct tr_text tri_flyte_signature(struct tr_arena *arena,
                                   const Flyteidl__Core__TypedInterface *interface)
{
    char inputs[SIGNATURE_LETTERS + 1];
    char outputs[SIGNATURE_LETTERS + 1];
    write_beginning(arena, interface == NULL ? NULL : interface->inputs, inputs);
    write_beginning(arena, interface == NULL ? NULL : interface->outputs, outputs);
    return arena->error != 0 ? tr_text_of("") : tr_arena_print(arena, "%s-%s", inputs, outputs);
}

/* ------------------------------------------------------------------ documents */

int tr_flyte_hash(struct tr_bytes document, enum tr_flyte_hash_form form,
                  uint8_t hash[TR_FLYTE_HASH_BYTES])
{
    struct tr_arena arena;
    struct tr_buffer text;
    tr_arena_init(&arena);
    tr_buffer_init(&text, 0);
    const Flyteidl__Core__LiteralMap *map =
        tri_wire_unpack(&arena, &flyteidl__core__literal_map__descriptor, document);
    const struct tr_tree *whole =
        map == NULL ? NULL
                    : tri_flyte_json(&arena, &map->base,
                                     form == TR_FLYTE_HASH_OF_PROPELLER ? TRI_FLYTE_JSON_HASHED
                                                                        : TRI_FLYTE_JSON_WHOLE);
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
