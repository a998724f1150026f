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
#include "actors/graph/value/type_schema.h"

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

/* The same text but for what a tag adds. */
static bool is_same_text(const struct tr_text *a, const struct tr_text *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!tr_text_equal(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

/* Whether two types are the same but for their own tags; they may come from two tables. */
static bool is_same(const struct tr_type *a, const struct tr_type *b)
{
    bool is_one = a->kind == b->kind && a->count == b->count &&
                  (a->parts == NULL) == (b->parts == NULL) && tr_text_equal(a->format, b->format) &&
                  (a->values == NULL || is_same_text(a->values, b->values, a->count));
    for (uint32_t i = 0; is_one && a->parts != NULL && i < a->count; i++) {
        is_one =
            is_same(a->parts[i], b->parts[i]) && tr_text_equal(a->parts[i]->tag, b->parts[i]->tag);
    }
    return is_one;
}

/* Two tags that both say something name one variant where they are equal. */
static bool may_be_tagged(struct tr_text a, struct tr_text b)
{
    return a.size == 0 || b.size == 0 || tr_text_equal(a, b);
}

/* The same of two schemas, one of which may have a title only. */
static bool may_have_schema(struct tr_text schema, struct tr_text named)
{
    static const char begin[] = "{\"title\": ";
    struct tr_arena arena;
    if (may_be_tagged(schema, named)) {
        return true;
    }
    if (named.size < sizeof begin || memcmp(named.data, begin, sizeof begin - 1) != 0) {
        return false;
    }
    tr_arena_init(&arena);
    bool is_one = tr_text_equal(tr_schema_title(&arena, schema), tr_schema_title(&arena, named));
    tr_arena_fini(&arena);
    return is_one;
}

int64_t tr_type_variant_named(const struct tr_type *type, const struct tr_type *named)
{
    int64_t variant = -1;
    uint32_t matches = 0;
    for (uint32_t i = 0; i < type->count; i++) {
        bool is_match = is_same(type->parts[i], named);
        if (is_match && tr_text_equal(type->parts[i]->tag, named->tag) &&
            tr_text_equal(type->parts[i]->schema, named->schema)) {
            return i;
        }
        if (is_match && may_be_tagged(type->parts[i]->tag, named->tag) &&
            may_have_schema(type->parts[i]->schema, named->schema)) {
            variant = i;
            matches++;
        }
    }
    return matches == 1 ? variant : -1;
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
    struct tr_text tag = from == NULL ? tr_text_of("") : from->tag;
    int64_t named = from == NULL ? -1 : tr_type_variant_named(to, from);
    if (named >= 0) {
        *variant = named;
        return TR_CASTABLE_YES;
    }
    for (uint32_t i = 0; i < to->count; i++) {
        if (may_be_tagged(tag, to->parts[i]->tag) &&
            tr_type_castable(from, to->parts[i]) != TR_CASTABLE_NO) {
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
    case TR_TYPE_STRUCT:
        return as_castable(tr_schema_castable(from->schema, to->schema));
    case TR_TYPE_NONE:
    case TR_TYPE_INT:
    case TR_TYPE_FLOAT:
    case TR_TYPE_STRING:
    case TR_TYPE_BOOL:
    case TR_TYPE_DATETIME:
    case TR_TYPE_DURATION:
    case TR_TYPE_BYTES:
    case TR_TYPE_ERROR:
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

/* How much of a type is printed. */
enum printing {
    FOR_PEOPLE, /* what it is */
    TAGGED,     /* with its tag, of which there are several */
    NAMED,      /* with its tag and the title of its schema */
    WHOLE,      /* all of it */
};

static void print(const struct tr_type *type, enum printing printing, struct tr_buffer *buffer);

static bool has_title(const struct tr_type *type)
{
    struct tr_arena arena;
    tr_arena_init(&arena);
    bool has_one = tr_schema_title(&arena, type->schema).size > 0;
    tr_arena_fini(&arena);
    return has_one;
}

/* How much of a variant has to be said so that no other of its union is meant. */
static enum printing to_name(const struct tr_type *type, uint32_t variant)
{
    const struct tr_type *one = type->parts[variant];
    enum printing needed = FOR_PEOPLE;
    for (uint32_t i = 0; i < type->count; i++) {
        const struct tr_type *other = type->parts[i];
        if (i == variant || !is_same(one, other)) {
            continue;
        }
        enum printing than_other = !tr_text_equal(one->tag, other->tag) ? TAGGED
                                   : has_title(one)                     ? NAMED
                                                                        : WHOLE;
        needed = than_other > needed ? than_other : needed;
    }
    return needed;
}

static void print_one_variant(const struct tr_type *type, uint32_t variant, enum printing printing,
                              struct tr_buffer *buffer)
{
    print(type->parts[variant], printing == FOR_PEOPLE ? to_name(type, variant) : printing, buffer);
}

/* `NAME: "text"` with backslashes before quotes and themselves. */
static void print_attribute(const char *name, struct tr_text text, struct tr_buffer *buffer)
{
    tr_buffer_print(buffer, "%s: \"", name);
    for (size_t i = 0; i < text.size; i++) {
        bool is_special = text.data[i] == '"' || text.data[i] == '\\';
        tr_buffer_add_string(buffer, is_special ? "\\" : "");
        tr_buffer_add(buffer, &text.data[i], 1);
    }
    tr_buffer_add_string(buffer, "\"");
}

static void print_attributes(const struct tr_type *type, enum printing printing,
                             struct tr_buffer *buffer)
{
    struct tr_arena arena;
    tr_arena_init(&arena);
    struct tr_text title =
        printing == NAMED ? tr_schema_title(&arena, type->schema) : (struct tr_text){.size = 0};
    const struct {
        const char *name;
        bool is_wanted;
        struct tr_text text;
    } rows[] = {{"format", printing == WHOLE, type->format},
                {"tag", printing != FOR_PEOPLE, type->tag},
                {"title", printing == NAMED, title},
                {"schema", printing == WHOLE, type->schema},
                {"extra", printing == WHOLE, type->extra}};
    const char *before = "(";
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        if (rows[i].is_wanted && rows[i].text.size > 0) {
            tr_buffer_add_string(buffer, before);
            print_attribute(rows[i].name, rows[i].text, buffer);
            before = ", ";
        }
    }
    tr_buffer_add_string(buffer, before[0] == '(' ? "" : ")");
    tr_arena_fini(&arena);
}

static void print_element(const struct tr_type *type, enum printing printing, const char *before,
                          const char *after, struct tr_buffer *buffer)
{
    tr_buffer_add_string(buffer, before);
    print(type->parts[0], printing == WHOLE ? WHOLE : FOR_PEOPLE, buffer);
    tr_buffer_add_string(buffer, after);
}

/*
 * A union needs no brackets inside a list or a map, whose own brackets enclose it, and it never
 * stands inside a union.
 */
static void print(const struct tr_type *type, enum printing printing, struct tr_buffer *buffer)
{
    if (type == NULL) {
        tr_buffer_add_string(buffer, "anything");
        return;
    }
    if (type->kind == TR_TYPE_UNION) {
        for (uint32_t i = 0; i < type->count; i++) {
            tr_buffer_add_string(buffer, i == 0 ? "" : " | ");
            print_one_variant(type, i, printing, buffer);
        }
        return;
    }
    if (type->kind == TR_TYPE_ENUM) {
        print_enum(type, buffer);
    } else if (type->kind == TR_TYPE_LIST) {
        print_element(type, printing, "[", "]", buffer);
    } else if (type->kind == TR_TYPE_MAP) {
        print_element(type, printing, "{string: ", "}", buffer);
    } else {
        tr_buffer_add_string(buffer, word_of(type));
    }
    print_attributes(type, printing, buffer);
}

void tr_type_print(const struct tr_type *type, struct tr_buffer *buffer)
{
    print(type, FOR_PEOPLE, buffer);
}

void tr_type_write(const struct tr_type *type, struct tr_buffer *buffer)
{
    print(type, WHOLE, buffer);
}

void tr_type_print_variant(const struct tr_type *type, uint32_t variant, struct tr_buffer *buffer)
{
    print_one_variant(type, variant, FOR_PEOPLE, buffer);
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
