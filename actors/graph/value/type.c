/*
 * Types and the table that interns them. A type is looked up by its kind, parts, values and format
 * before it is made, so that within one table equal types are the same pointer, and comparing them
 * is comparing pointers. Parts are interned before what is made of them, so a lookup compares
 * pointers of parts and never goes deeper: it costs time linear in the parts of one level.
 *
 * The table is open addressing with linear probing over numbers of types; nothing is ever removed,
 * so there are no tombstones. Everything lies in the arena, also the arrays that growth leaves
 * behind: they double, so all of them together are less than twice the last one.
 */
#include "actors/graph/value/type.h"

#include "actors/graph/document/limits.h"

#define SLOTS_MIN 64U

void tr_types_init(struct tr_types *types, struct tr_arena *arena)
{
    *types = (struct tr_types){.arena = arena};
}

static uint32_t mix(uint32_t hash, uint32_t value)
{
    return (hash ^ value) * 16777619U;
}

static uint32_t mix_text(uint32_t hash, struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        hash = mix(hash, (uint8_t)text.data[i]);
    }
    return mix(hash, (uint32_t)text.size);
}

static uint32_t part_count(const struct tr_type *type)
{
    return type->parts == NULL ? 0 : type->count;
}

static uint32_t hash_of(const struct tr_type *type)
{
    uint32_t hash = mix(mix(2166136261U, type->kind), type->count);
    for (uint32_t i = 0; i < part_count(type); i++) {
        hash = mix(hash, type->parts[i]->index);
    }
    for (uint32_t i = 0; type->values != NULL && i < type->count; i++) {
        hash = mix_text(hash, type->values[i]);
    }
    hash = mix_text(mix_text(hash, type->format), type->tag);
    return mix_text(mix_text(hash, type->schema), type->extra);
}

/*
 * Depth and total are not compared, as they follow from the parts. The order of variants and of
 * enum values does count: they are positions in packed values.
 */
static bool equal(const struct tr_type *a, const struct tr_type *b)
{
    if (a->kind != b->kind || a->count != b->count || !tr_text_equal(a->format, b->format) ||
        !tr_text_equal(a->tag, b->tag) || !tr_text_equal(a->schema, b->schema) ||
        !tr_text_equal(a->extra, b->extra)) {
        return false;
    }
    for (uint32_t i = 0; i < part_count(a); i++) {
        if (a->parts[i] != b->parts[i]) {
            return false;
        }
    }
    for (uint32_t i = 0; a->values != NULL && i < a->count; i++) {
        if (!tr_text_equal(a->values[i], b->values[i])) {
            return false;
        }
    }
    return true;
}

/*
 * The slot where a type is or would stand. A slot holds the type's number plus one, as 0 means free
 * and fresh memory of an arena is zero. It ends because at most half of the slots are taken.
 */
static uint32_t slot_of(const struct tr_types *types, const struct tr_type *type)
{
    uint32_t slot = hash_of(type) & (types->slot_count - 1);
    while (types->slots[slot] != 0 && !equal(types->items[types->slots[slot] - 1], type)) {
        slot = (slot + 1) & (types->slot_count - 1);
    }
    return slot;
}

/*
 * Keeps the slots at most half full. Called before a lookup, so that a slot found stays valid for
 * the insertion behind it.
 */
static bool grow_slots(struct tr_types *types)
{
    if (types->count * 2 < types->slot_count) {
        return true;
    }
    uint32_t slot_count = types->slot_count == 0 ? SLOTS_MIN : types->slot_count * 2;
    uint32_t *slots = tr_arena_array(types->arena, slot_count, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    types->slots = slots;
    types->slot_count = slot_count;
    for (uint32_t i = 0; i < types->count; i++) {
        types->slots[slot_of(types, types->items[i])] = i + 1;
    }
    return true;
}

/*
 * The items are those of an unpacked graph: they keep their numbers, because packed values and
 * nodes name types by number, and new types get the numbers behind them. The array is copied since
 * the graph's own must not move or grow.
 */
bool tr_types_resume(struct tr_types *types, struct tr_arena *arena,
                     const struct tr_type *const *items, uint32_t count)
{
    struct tri_vector copy = {0};
    tr_types_init(types, arena);
    for (uint32_t i = 0; i < count; i++) {
        const struct tr_type **item = tri_vector_add(arena, &copy, sizeof *item);
        if (item == NULL) {
            return false;
        }
        *item = items[i];
        types->items = copy.items;
        types->capacity = copy.capacity;
        if (!grow_slots(types)) {
            return false;
        }
        types->slots[slot_of(types, items[i])] = i + 1;
        types->count = i + 1;
    }
    return true;
}

/*
 * Copies a type and what it refers to into the arena: `wanted` lies on the caller's stack, and its
 * texts in a document that is freed earlier. The parts themselves are interned already.
 */
static struct tr_type *copy(struct tr_types *types, const struct tr_type *wanted)
{
    struct tr_type *type = tr_arena_alloc(types->arena, sizeof *type);
    const struct tr_type **parts =
        tr_arena_array(types->arena, part_count(wanted), sizeof(struct tr_type *));
    struct tr_text *values = tr_arena_array(types->arena, wanted->count, sizeof *values);
    if (type == NULL || parts == NULL || values == NULL) {
        return NULL;
    }
    *type = *wanted;
    type->format = tr_arena_text(types->arena, wanted->format);
    type->tag = tr_arena_text(types->arena, wanted->tag);
    type->schema = tr_arena_text(types->arena, wanted->schema);
    type->extra = tr_arena_text(types->arena, wanted->extra);
    for (uint32_t i = 0; i < part_count(wanted); i++) {
        parts[i] = wanted->parts[i];
    }
    for (uint32_t i = 0; wanted->values != NULL && i < wanted->count; i++) {
        values[i] = tr_arena_text(types->arena, wanted->values[i]);
    }
    type->parts = wanted->parts == NULL ? NULL : parts;
    type->values = wanted->values == NULL ? NULL : values;
    return types->arena->error == 0 ? type : NULL;
}

/*
 * Adds up depth and parts; false where a limit is reached. The parts are within the limits, so the
 * sum of up to TR_TYPE_VARIANTS_MAX of them fits into 16 bits before it is compared.
 */
static bool measure(struct tr_type *type)
{
    uint32_t total = 1;
    type->depth = 0;
    for (uint32_t i = 0; i < part_count(type); i++) {
        total += type->parts[i]->part_total;
        if (type->depth <= type->parts[i]->depth) {
            type->depth = (uint8_t)(type->parts[i]->depth + 1);
        }
    }
    type->part_total = (uint16_t)total;
    return total <= TR_TYPE_PARTS_MAX && type->depth <= TR_TYPE_DEPTH_MAX;
}

/*
 * The type in the table that equals `wanted`, added if there is none. NULL at a limit or without
 * memory, and then the table is as it was: its count and its slot are written last.
 */
static const struct tr_type *intern(struct tr_types *types, struct tr_type *wanted)
{
    struct tr_text *const words[] = {&wanted->tag, &wanted->schema, &wanted->extra};
    for (size_t i = 0; i < TR_COUNT_OF(words); i++) {
        *words[i] = words[i]->data == NULL ? tr_text_of("") : *words[i];
    }
    if (!measure(wanted) || !grow_slots(types)) {
        return NULL;
    }
    uint32_t slot = slot_of(types, wanted);
    if (types->slots[slot] != 0) {
        return types->items[types->slots[slot] - 1];
    }
    struct tri_vector items = {
        .items = types->items, .count = types->count, .capacity = types->capacity};
    struct tr_type *type = types->count == TR_TYPES_MAX ? NULL : copy(types, wanted);
    const struct tr_type **item =
        type == NULL ? NULL : tri_vector_add(types->arena, &items, sizeof *item);
    if (item == NULL) {
        return NULL;
    }
    *item = type;
    type->index = types->count;
    types->items = items.items;
    types->count = items.count;
    types->capacity = items.capacity;
    types->slots[slot] = types->count;
    return type;
}

const struct tr_type *tr_type_simple(struct tr_types *types, enum tr_type_kind kind)
{
    TR_ASSERT((unsigned)kind < TR_TYPE_SIMPLE_COUNT);
    struct tr_type wanted = {.kind = (uint8_t)kind, .format = tr_text_of("")};
    return intern(types, &wanted);
}

const struct tr_type *tr_type_format(struct tr_types *types, enum tr_type_kind kind,
                                     struct tr_text format)
{
    TR_ASSERT(kind == TR_TYPE_FILE || kind == TR_TYPE_DIRECTORY || kind == TR_TYPE_DATASET);
    struct tr_type wanted = {.kind = (uint8_t)kind, .format = format};
    return intern(types, &wanted);
}

const struct tr_type *tr_type_described(struct tr_types *types, const struct tr_type *type,
                                        const struct tr_type *words)
{
    if (type == NULL || (words->schema.size > 0 && type->kind != TR_TYPE_STRUCT)) {
        return NULL;
    }
    struct tr_type wanted = *type;
    wanted.tag = words->tag;
    wanted.schema = words->schema;
    wanted.extra = words->extra;
    return intern(types, &wanted);
}

static const struct tr_type *of_element(struct tr_types *types, enum tr_type_kind kind,
                                        const struct tr_type *element)
{
    if (element == NULL) {
        return NULL;
    }
    struct tr_type wanted = {
        .kind = (uint8_t)kind, .count = 1, .parts = &element, .format = tr_text_of("")};
    return intern(types, &wanted);
}

const struct tr_type *tr_type_list(struct tr_types *types, const struct tr_type *element)
{
    return of_element(types, TR_TYPE_LIST, element);
}

const struct tr_type *tr_type_map(struct tr_types *types, const struct tr_type *element)
{
    return of_element(types, TR_TYPE_MAP, element);
}

const struct tr_type *tr_type_enum(struct tr_types *types, const struct tr_text *values,
                                   uint32_t count)
{
    if (count == 0 || count > TR_TYPE_VALUES_MAX) {
        return NULL;
    }
    struct tr_type wanted = {
        .kind = TR_TYPE_ENUM, .count = count, .values = values, .format = tr_text_of("")};
    return intern(types, &wanted);
}

/* Adds a variant unless it is there; false when there are too many. */
static bool add_variant(const struct tr_type **variants, uint32_t *count,
                        const struct tr_type *variant)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (variants[i] == variant) {
            return true;
        }
    }
    if (*count == TR_TYPE_VARIANTS_MAX) {
        return false;
    }
    variants[(*count)++] = variant;
    return true;
}

const struct tr_type *tr_type_union(struct tr_types *types, const struct tr_type *const *variants,
                                    uint32_t count)
{
    /*
     * Unions have no unions inside: one level of flattening is enough, since each variant that is a
     * union was flattened when it was made. So a packed union is one pair, however it was written.
     */
    const struct tr_type *flat[TR_TYPE_VARIANTS_MAX];
    uint32_t flat_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (variants[i] == NULL) {
            return NULL;
        }
        bool is_union = variants[i]->kind == TR_TYPE_UNION;
        for (uint32_t k = 0; k < (is_union ? variants[i]->count : 1); k++) {
            if (!add_variant(flat, &flat_count, is_union ? variants[i]->parts[k] : variants[i])) {
                return NULL;
            }
        }
    }
    if (flat_count <= 1) {
        return flat_count == 0 ? NULL : flat[0];
    }
    struct tr_type wanted = {
        .kind = TR_TYPE_UNION, .count = flat_count, .parts = flat, .format = tr_text_of("")};
    return intern(types, &wanted);
}

const struct tr_type *tr_type_optional(struct tr_types *types, const struct tr_type *type)
{
    if (type == NULL || tr_type_is_optional(type)) {
        return type;
    }
    const struct tr_type *variants[] = {type, tr_type_simple(types, TR_TYPE_NONE)};
    return tr_type_union(types, variants, 2);
}

bool tr_type_is_optional(const struct tr_type *type)
{
    if (type == NULL || type->kind == TR_TYPE_NONE) {
        return type != NULL;
    }
    for (uint32_t i = 0; type->kind == TR_TYPE_UNION && i < type->count; i++) {
        if (type->parts[i]->kind == TR_TYPE_NONE) {
            return true;
        }
    }
    return false;
}

int64_t tr_type_enum_find(const struct tr_type *type, struct tr_text value)
{
    for (uint32_t i = 0; type->kind == TR_TYPE_ENUM && i < type->count; i++) {
        if (tr_text_equal(type->values[i], value)) {
            return i;
        }
    }
    return -1;
}
