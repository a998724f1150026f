/*
 * Fields one by one, and the check that makes unpacking safe: nesting is bounded, and text is what
 * it has to be, as C's strings would end at a zero byte without a word. Maps have each key once.
 *
 * protobuf-c recurses as deep as a message nests and takes strings as they come, so a hostile
 * document could exhaust the stack, or show a name that is a part of the one that was written.
 * check() walks the whole message by its descriptor first, linear in its bytes for each level, and
 * what passes is handed to the library.
 */
#include "actors/graph/flyte/flyte_wire.h"

#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/flyte/flyte_inside.h"
#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"

#define NUMBER_BYTES_MAX 10U
#define FIELD_NUMBER_MAX ((1U << 29) - 1)

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* ------------------------------------------------------------------ reading */

struct tri_wire tri_wire_of(struct tr_bytes message)
{
    return (struct tri_wire){.at = message.data, .end = message.data + message.size};
}

/* Notes the fault and moves to the end, so that a walk that goes on finds nothing more; false. */
static bool malformed(struct tri_wire *wire)
{
    wire->is_malformed = true;
    wire->at = wire->end;
    return false;
}

/*
 * A varint: seven bits a byte, the lowest first, the top bit set on all but the last. 64 bits take
 * at most ten bytes; a longer one is malformed.
 */
static bool read_number(struct tri_wire *wire, uint64_t *number)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < NUMBER_BYTES_MAX && wire->at < wire->end; i++) {
        uint8_t byte = *wire->at++;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            *number = value;
            return true;
        }
    }
    return malformed(wire);
}

/* Passes over so many bytes. */
static bool take(struct tri_wire *wire, uint64_t size, struct tr_bytes *bytes)
{
    if (size > (uint64_t)(wire->end - wire->at)) {
        return malformed(wire);
    }
    *bytes = (struct tr_bytes){.data = wire->at, .size = (size_t)size};
    wire->at += size;
    return true;
}

bool tri_wire_next(struct tri_wire *wire, struct tri_wire_field *field)
{
    uint64_t tag;
    uint64_t number;
    if (wire->at == wire->end || !read_number(wire, &tag)) {
        return false;
    }
    if (tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX) {
        return malformed(wire);
    }
    *field = (struct tri_wire_field){.number = (uint32_t)(tag >> 3)};
    switch ((enum wire_type)(tag & 7)) {
    case WIRE_VARINT:
        return read_number(wire, &number);
    case WIRE_64:
        return take(wire, 8, &field->bytes);
    case WIRE_32:
        return take(wire, 4, &field->bytes);
    case WIRE_BYTES:
        field->has_bytes = true;
        return read_number(wire, &number) && take(wire, number, &field->bytes);
    /* Groups (3 and 4) are of proto2, and the others do not exist. */
    default:
        return malformed(wire);
    }
}

/* ------------------------------------------------------------------ writing */

static size_t number_bytes(uint64_t number)
{
    size_t size = 1;
    while (number >= 0x80) {
        number >>= 7;
        size++;
    }
    return size;
}

uint64_t tri_wire_field_bytes(uint64_t content_bytes)
{
    return 1 + number_bytes(content_bytes) + content_bytes;
}

/* The tag is one byte, which holds for fields up to 15; all that are written here are. */
void tri_wire_header(struct tr_buffer *buffer, uint32_t number, uint64_t content_bytes)
{
    uint8_t bytes[1 + NUMBER_BYTES_MAX] = {TRI_WIRE_TAG(number)};
    size_t size = 1;
    while (content_bytes >= 0x80) {
        bytes[size++] = (uint8_t)(content_bytes | 0x80);
        content_bytes >>= 7;
    }
    bytes[size++] = (uint8_t)content_bytes;
    tr_buffer_add(buffer, bytes, size);
}

/* ---------------------------------------------------------------- unpacking */

/*
 * Whether a message can be handed to the library. Fields that it does not know are not looked into,
 * as it keeps their bytes as they are. A field with bytes whose declared type is a number is left
 * to the library. The depth is checked before a level is walked, which bounds this recursion, too.
 */
static bool check(const ProtobufCMessageDescriptor *descriptor, struct tr_bytes message,
                  uint32_t depth)
{
    struct tri_wire wire = tri_wire_of(message);
    struct tri_wire_field field;
    bool is_fine = depth <= TR_FLYTE_NESTING_MAX;
    while (is_fine && tri_wire_next(&wire, &field)) {
        const ProtobufCFieldDescriptor *known =
            protobuf_c_message_descriptor_get_field(descriptor, field.number);
        if (known == NULL || !field.has_bytes) {
            continue;
        }
        if (known->type == PROTOBUF_C_TYPE_MESSAGE) {
            is_fine = check(known->descriptor, field.bytes, depth + 1);
        } else if (known->type == PROTOBUF_C_TYPE_STRING) {
            struct tr_text text = {.data = (const char *)field.bytes.data,
                                   .size = field.bytes.size};
            is_fine = tr_utf8_valid(text) &&
                      (text.size == 0 || memchr(text.data, '\0', text.size) == NULL);
        }
    }
    return is_fine && !wire.is_malformed;
}

/*
 * Where one message goes: an arena, and how far it may grow for this message. A small document can
 * unpack to much more than its bytes, as each empty element of a list becomes a struct.
 */
struct room {
    struct tr_arena *arena;
    uint64_t bytes_max; /* of the arena */
};

static void *allocate(void *self, size_t size)
{
    struct room *room = self;
    if (room->arena->used_bytes > room->bytes_max || size > TR_FLYTE_BYTES_MAX) {
        room->arena->error = room->arena->error != 0 ? room->arena->error : TR_LIMIT;
        return NULL;
    }
    return tr_arena_alloc(room->arena, size);
}

/* The arena gives everything back at once, also what the library made before it failed. */
static void give_back(void *self, void *block)
{
    (void)self;
    (void)block;
}

/* ---------------------------------------------------------------- maps */

/* Where an entry of a map stands. */
struct place {
    const char *key;
    size_t index;
};

static int by_key_and_index(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    int order = strcmp(a->key, b->key);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/*
 * Of a key that is there twice the last entry counts, where the library keeps them all. In the
 * order of keys and then of places, an entry is the last of its key unless one of the same key
 * follows. What is left keeps its order.
 */
static bool keep_last(struct room *room, ProtobufCMessage **entries, size_t *count)
{
    struct place *places = allocate(room, *count * sizeof *places);
    size_t kept = 0;
    if (places == NULL) {
        return false;
    }
    for (size_t i = 0; i < *count; i++) {
        const char *base = (const char *)entries[i];
        size_t offset = entries[i]->descriptor->fields[0].offset;
        places[i] = (struct place){*(char *const *)(const void *)(base + offset), i};
    }
    qsort(places, *count, sizeof *places, by_key_and_index);
    for (size_t i = 0; i + 1 < *count; i++) {
        if (strcmp(places[i].key, places[i + 1].key) == 0) {
            entries[places[i].index] = NULL;
        }
    }
    for (size_t i = 0; i < *count; i++) {
        if (entries[i] != NULL) {
            entries[kept++] = entries[i];
        }
    }
    *count = kept;
    return true;
}

static bool settle_maps(struct room *room, ProtobufCMessage *message);

static bool settle_field(struct room *room, ProtobufCMessage *message,
                         const ProtobufCFieldDescriptor *field)
{
    char *base = (char *)message;
    void *member = base + field->offset;
    void *quantifier = base + field->quantifier_offset;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        bool is_set = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0 ||
                      *(const uint32_t *)quantifier == field->id;
        ProtobufCMessage *inside = is_set ? *(ProtobufCMessage **)member : NULL;
        return inside == NULL || settle_maps(room, inside);
    }
    size_t *count = quantifier;
    ProtobufCMessage **items = *(ProtobufCMessage ***)member;
    bool is_fine =
        *count < 2 || !tri_flyte_is_entry(field->descriptor) || keep_last(room, items, count);
    for (size_t i = 0; is_fine && i < *count; i++) {
        is_fine = settle_maps(room, items[i]);
    }
    return is_fine;
}

/* False: memory ended. check() has bounded the depth. */
static bool settle_maps(struct room *room, ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    bool is_fine = true;
    for (unsigned i = 0; is_fine && i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
        is_fine = field->type != PROTOBUF_C_TYPE_MESSAGE || settle_field(room, message, field);
    }
    return is_fine;
}

void *tri_wire_unpack_within(struct tr_arena *arena, const ProtobufCMessageDescriptor *descriptor,
                             struct tr_bytes bytes, uint64_t bytes_max)
{
    struct room room = {.arena = arena, .bytes_max = arena->used_bytes + bytes_max};
    ProtobufCAllocator allocator = {.alloc = allocate, .free = give_back, .allocator_data = &room};
    if (!check(descriptor, bytes, 0)) {
        return NULL;
    }
    ProtobufCMessage *message =
        protobuf_c_message_unpack(descriptor, &allocator, bytes.size, bytes.data);
    return message != NULL && settle_maps(&room, message) ? message : NULL;
}

void *tri_wire_unpack(struct tr_arena *arena, const ProtobufCMessageDescriptor *descriptor,
                      struct tr_bytes bytes)
{
    return tri_wire_unpack_within(arena, descriptor, bytes, TR_FLYTE_BYTES_MAX);
}
