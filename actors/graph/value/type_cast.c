/*
 * Which values may go where: the rules of Flyte's compiler (validators/typing.go), and the texts of
 * types. Both walk types, which are no deeper than TR_TYPE_DEPTH_MAX.
 *
 * This is asked when a definition is compiled, so that a mismatch is an error before anything runs.
 * literal_cast.c follows the same rules on values. NULL, a type that is known at run time only,
 * passes here and is decided there.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/value/type.h"

/*
 * The same values in any order. Values within one enum are different, so equal counts and one
 * inclusion are enough.
 */
static bool same_values(const struct tr_type *a, const struct tr_type *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (tr_type_enum_find(b, a->values[i]) < 0) {
            return false;
        }
    }
    return a->count == b->count;
}

static bool same_format(const struct tr_type *a, const struct tr_type *b)
{
    return a->format.size == 0 || b->format.size == 0 || tr_text_equal(a->format, b->format);
}

static enum tr_castable as_castable(bool is_castable)
{
    return is_castable ? TR_CASTABLE_YES : TR_CASTABLE_NO;
}

/*
 * Every variant has to be castable, as any of them may come at run time. The first one that is not
 * decides the answer, NO or AMBIGUOUS.
 */
static enum tr_castable from_union(const struct tr_type *from, const struct tr_type *to)
{
    for (uint32_t i = 0; i < from->count; i++) {
        enum tr_castable castable = tr_type_castable(from->parts[i], to);
        if (castable != TR_CASTABLE_YES) {
            return castable;
        }
    }
    return TR_CASTABLE_YES;
}

/*
 * The type itself, else the only variant that takes it. The same type wins over others that would
 * take it as well: a string goes into `string | enum(a)` as a string. A variant that is ambiguous
 * in itself counts as a match. `variant` is valid only where the answer is YES.
 */
static enum tr_castable into_union(const struct tr_type *from, const struct tr_type *to,
                                   int64_t *variant)
{
    uint32_t matches = 0;
    for (uint32_t i = 0; i < to->count; i++) {
        if (to->parts[i] == from) {
            *variant = i;
            return TR_CASTABLE_YES;
        }
        if (tr_type_castable(from, to->parts[i]) != TR_CASTABLE_NO) {
            *variant = i;
            matches++;
        }
    }
    return matches > 1 ? TR_CASTABLE_AMBIGUOUS : as_castable(matches == 1);
}

/*
 * Neither is a union, and they are not the same type. Text goes into an enum although it may not
 * fit: Flyte allows it, and the value is checked when it is cast.
 */
static enum tr_castable between_kinds(const struct tr_type *from, const struct tr_type *to)
{
    bool is_text = (from->kind == TR_TYPE_ENUM && to->kind == TR_TYPE_STRING) ||
                   (from->kind == TR_TYPE_STRING && to->kind == TR_TYPE_ENUM);
    if (is_text) {
        return TR_CASTABLE_YES;
    }
    if (from->kind != to->kind) {
        return TR_CASTABLE_NO;
    }
    switch ((enum tr_type_kind)from->kind) {
    case TR_TYPE_ENUM:
        return as_castable(same_values(from, to));
    case TR_TYPE_FILE:
    case TR_TYPE_DIRECTORY:
    case TR_TYPE_DATASET:
        return as_castable(same_format(from, to));
    case TR_TYPE_LIST:
        /* An empty list has elements of no type: flytekit types it as a list of none. */
        if (from->parts[0]->kind == TR_TYPE_NONE) {
            return TR_CASTABLE_YES;
        }
        return tr_type_castable(from->parts[0], to->parts[0]);
    case TR_TYPE_MAP:
        return tr_type_castable(from->parts[0], to->parts[0]);
    case TR_TYPE_NONE:
    case TR_TYPE_INT:
    case TR_TYPE_FLOAT:
    case TR_TYPE_STRING:
    case TR_TYPE_BOOL:
    case TR_TYPE_DATETIME:
    case TR_TYPE_DURATION:
    case TR_TYPE_BYTES:
    case TR_TYPE_ERROR:
    case TR_TYPE_STRUCT:
    case TR_TYPE_UNION:
        return TR_CASTABLE_YES;
    }
    return TR_CASTABLE_NO;
}

enum tr_castable tr_type_castable(const struct tr_type *from, const struct tr_type *to)
{
    int64_t variant;
    if (from == to || from == NULL || to == NULL) {
        return TR_CASTABLE_YES;
    }
    if (from->kind == TR_TYPE_UNION) {
        return from_union(from, to);
    }
    if (to->kind == TR_TYPE_UNION) {
        return into_union(from, to, &variant);
    }
    return between_kinds(from, to);
}

int64_t tr_type_variant_for(const struct tr_type *from, const struct tr_type *to)
{
    int64_t variant = -1;
    return into_union(from, to, &variant) == TR_CASTABLE_YES ? variant : -1;
}

static const char *word_of(const struct tr_type *type)
{
    static const char *const words[] = {
#define TRI_TYPE_WORD(name, number, word) [number] = (word),
        TR_TYPE_KINDS(TRI_TYPE_WORD)
#undef TRI_TYPE_WORD
    };
    return words[type->kind];
}

static void print_enum(const struct tr_type *type, struct tr_buffer *buffer)
{
    tr_buffer_add_string(buffer, "enum(");
    for (uint32_t i = 0; i < type->count; i++) {
        tr_buffer_print(buffer, "%s%.*s", i == 0 ? "" : ", ", TRI_TEXT(type->values[i]));
    }
    tr_buffer_add_string(buffer, ")");
}

/*
 * What is printed can be parsed again, except "anything" and formats. A union needs no brackets
 * inside a list or a map, whose own brackets enclose it, and it never stands inside a union.
 */
void tr_type_print(const struct tr_type *type, struct tr_buffer *buffer)
{
    if (type == NULL) {
        tr_buffer_add_string(buffer, "anything");
    } else if (type->kind == TR_TYPE_ENUM) {
        print_enum(type, buffer);
    } else if (type->kind == TR_TYPE_LIST) {
        tr_buffer_add_string(buffer, "[");
        tr_type_print(type->parts[0], buffer);
        tr_buffer_add_string(buffer, "]");
    } else if (type->kind == TR_TYPE_MAP) {
        tr_buffer_add_string(buffer, "{string: ");
        tr_type_print(type->parts[0], buffer);
        tr_buffer_add_string(buffer, "}");
    } else if (type->kind == TR_TYPE_UNION) {
        for (uint32_t i = 0; i < type->count; i++) {
            tr_buffer_add_string(buffer, i == 0 ? "" : " | ");
            tr_type_print(type->parts[i], buffer);
        }
    } else {
        tr_buffer_add_string(buffer, word_of(type));
    }
}

struct tr_text tr_type_text(struct tr_arena *arena, const struct tr_type *type)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_type_print(type, &buffer);
    struct tr_text text = tr_arena_text(arena, tr_buffer_text(&buffer));
    tr_buffer_fini(&buffer);
    return text;
}
