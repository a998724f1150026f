/*
 * Type expressions, as text and as YAML writes them: [int] in a definition is a list already, and
 * {string: int} a mapping. Recursion follows brackets, no deeper than TR_TYPE_DEPTH_MAX.
 *
 *     union  one ( "|" one )*
 *     one    ( "[" union "]" | "{" "string" ":" union "}" | word | "enum" "(" values ")" )
 *            [ "(" attribute ( "," attribute )* ")" ]
 *     attribute  ( "format" | "tag" ) ":" text in double quotes
 *
 * The first problem wins and ends the parse: a type is short, and what follows an error is a guess.
 * Blanks are blanks and tabs. Texts of problems hold the rule and, behind a line feed, the remedy,
 * as tri_report_add takes them.
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/value/literal.h"

/* A place in the text of an expression, and the first thing that is wrong with it. */
struct parser {
    struct tr_types *types;
    const char *at;
    const char *end;
    struct tr_text *problem;
    uint32_t depth;
};

static const struct tr_type *parse_union(struct parser *parser);

static const struct tr_type *fail(struct parser *parser, const char *text)
{
    if (parser->problem->size == 0) {
        *parser->problem = tr_text_of(text);
    }
    return NULL;
}

/*
 * A constructor of a type gave NULL: a limit, or no memory. Without memory nothing is said here, as
 * the arena's error ends the compilation and says it once.
 */
static const struct tr_type *fail_limit(struct parser *parser)
{
    if (parser->types->arena->error != 0) {
        return NULL;
    }
    return fail(parser, "the type is too large or nests too deeply\nuse a struct instead");
}

static void skip_blanks(struct parser *parser)
{
    while (parser->at < parser->end && (*parser->at == ' ' || *parser->at == '\t')) {
        parser->at++;
    }
}

/* Passes over one character if it comes next. */
static bool accept(struct parser *parser, char character)
{
    skip_blanks(parser);
    if (parser->at == parser->end || *parser->at != character) {
        return false;
    }
    parser->at++;
    return true;
}

static bool is_word_byte(char byte)
{
    char lower = (char)(byte | 0x20);
    return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') || byte == '_';
}

static struct tr_text take_word(struct parser *parser)
{
    skip_blanks(parser);
    const char *begin = parser->at;
    while (parser->at < parser->end && is_word_byte(*parser->at)) {
        parser->at++;
    }
    return (struct tr_text){.data = begin, .size = (size_t)(parser->at - begin)};
}

/*
 * One value of an enum: up to a comma or the closing bracket, blanks around it dropped. There is no
 * way to quote, so values hold neither commas nor closing brackets.
 */
static struct tr_text take_value(struct parser *parser)
{
    skip_blanks(parser);
    const char *begin = parser->at;
    while (parser->at < parser->end && *parser->at != ',' && *parser->at != ')') {
        parser->at++;
    }
    const char *end = parser->at;
    while (end > begin && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    return (struct tr_text){.data = begin, .size = (size_t)(end - begin)};
}

static bool has_control_bytes(struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        if ((uint8_t)text.data[i] < 0x20 || text.data[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

static bool is_among(const struct tri_vector *values, struct tr_text value)
{
    const struct tr_text *items = values->items;
    for (uint32_t i = 0; i < values->count; i++) {
        if (tr_text_equal(items[i], value)) {
            return true;
        }
    }
    return false;
}

static const struct tr_type *parse_enum(struct parser *parser)
{
    if (!accept(parser, '(')) {
        return fail(parser, "an enum lists its values\nwrite enum(a, b)");
    }
    struct tri_vector values = {0};
    do {
        struct tr_text value = take_value(parser);
        if (value.size == 0) {
            return fail(parser, "a value of the enum is empty\nwrite enum(a, b)");
        }
        if (has_control_bytes(value)) {
            return fail(parser, "a value of the enum holds control characters\n"
                                "use printable text");
        }
        if (values.count >= TR_TYPE_VALUES_MAX) {
            return fail_limit(parser);
        }
        if (is_among(&values, value)) {
            return fail(parser, "the enum names a value twice\nname each once");
        }
        struct tr_text *slot = tri_vector_add(parser->types->arena, &values, sizeof *slot);
        if (slot == NULL) {
            return NULL;
        }
        *slot = value;
    } while (accept(parser, ','));
    if (!accept(parser, ')')) {
        return fail(parser, "the enum has no closing bracket\n"
                            "in flow style quote it: \"enum(a, b)\"");
    }
    const struct tr_type *type = tr_type_enum(parser->types, values.items, values.count);
    return type == NULL ? fail_limit(parser) : type;
}

static const struct tr_type *parse_list(struct parser *parser)
{
    const struct tr_type *element = parse_union(parser);
    if (element == NULL) {
        return NULL;
    }
    if (!accept(parser, ']')) {
        return fail(parser, "the list's type has no closing bracket\nwrite [T]");
    }
    const struct tr_type *type = tr_type_list(parser->types, element);
    return type == NULL ? fail_limit(parser) : type;
}

static const struct tr_type *parse_map(struct parser *parser)
{
    struct tr_text key = take_word(parser);
    if (!tr_text_equal(key, tr_text_of("string")) || !accept(parser, ':')) {
        return fail(parser, "the keys of a map are strings\nwrite {string: T}");
    }
    const struct tr_type *element = parse_union(parser);
    if (element == NULL) {
        return NULL;
    }
    if (!accept(parser, '}')) {
        return fail(parser, "the map's type has no closing bracket\nwrite {string: T}");
    }
    const struct tr_type *type = tr_type_map(parser->types, element);
    return type == NULL ? fail_limit(parser) : type;
}

static const struct tr_type *parse_word(struct parser *parser)
{
    static const char *const words[] = {
#define TRI_TYPE_WORD(name, number, word) [number] = (word),
        TR_TYPE_KINDS(TRI_TYPE_WORD)
#undef TRI_TYPE_WORD
    };
    struct tr_text word = take_word(parser);
    if (tr_text_equal(word, tr_text_of("enum"))) {
        return parse_enum(parser);
    }
    /*
     * The kinds below TR_TYPE_SIMPLE_COUNT are one word each. `list`, `map` and `union` have words
     * in the table for other uses, and are no types when written.
     */
    for (int i = 0; i < TR_TYPE_SIMPLE_COUNT; i++) {
        if (tr_text_equal(word, tr_text_of(words[i]))) {
            const struct tr_type *type = tr_type_simple(parser->types, (enum tr_type_kind)i);
            return type == NULL ? fail_limit(parser) : type;
        }
    }
    *parser->problem = tr_arena_print(
        parser->types->arena,
        "'%.*s' is no type\nuse int, float, string, bool, datetime, duration, bytes, none, "
        "struct, error, file, directory, dataset, [T], {string: T}, A | B or enum(a, b)",
        TRI_SHOWN(word));
    return NULL;
}

/* A text in double quotes; a backslash takes the next character as it stands. */
static bool parse_quoted(struct parser *parser, struct tr_text *text)
{
    char *copy = tr_arena_alloc(parser->types->arena, (size_t)(parser->end - parser->at) + 1);
    size_t size = 0;
    if (!accept(parser, '"')) {
        return false;
    }
    for (; parser->at < parser->end && *parser->at != '"'; parser->at++) {
        parser->at += *parser->at == '\\' && parser->at + 1 < parser->end ? 1 : 0;
        if (copy != NULL) {
            copy[size++] = *parser->at;
        }
    }
    *text = (struct tr_text){.data = copy, .size = size};
    return copy != NULL && accept(parser, '"') && !has_control_bytes(*text);
}

/* A schema that has a title and nothing else, which names one that has more. */
static bool make_title(struct parser *parser, struct tr_text title, struct tr_text *schema)
{
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    tr_buffer_add_string(&json, "{\"title\": ");
    tri_text_write(title, &json);
    tr_buffer_add_string(&json, "}");
    *schema = tr_arena_text(parser->types->arena, tr_buffer_text(&json));
    bool is_fine = json.error == 0 && parser->types->arena->error == 0;
    tr_buffer_fini(&json);
    return is_fine;
}

/* One of the attributes behind a type, whose text becomes that of the type. */
static bool parse_attribute(struct parser *parser, struct tr_type *attributes)
{
    struct tr_text word = take_word(parser);
    struct tr_text title = {.size = 0};
    const struct {
        const char *word;
        struct tr_text *text;
    } rows[] = {{"format", &attributes->format},
                {"tag", &attributes->tag},
                {"title", &title},
                {"schema", &attributes->schema},
                {"extra", &attributes->extra}};
    size_t i = 0;
    while (i < TR_COUNT_OF(rows) && !tr_text_equal(word, tr_text_of(rows[i].word))) {
        i++;
    }
    if (i == TR_COUNT_OF(rows) || !accept(parser, ':') || !parse_quoted(parser, rows[i].text)) {
        return false;
    }
    return title.size == 0 || make_title(parser, title, &attributes->schema);
}

/* What may stand behind a type: (format: "csv", tag: "str"), and what else Flyte says. */
static const struct tr_type *parse_attributes(struct parser *parser, const struct tr_type *type)
{
    static const char problem[] = "the brackets behind the type hold neither a format nor a tag\n"
                                  "write file(format: \"csv\") or int(tag: \"int\")";
    struct tr_type attributes = {.format = tr_text_of("")};
    if (type == NULL || !accept(parser, '(')) {
        return type;
    }
    do {
        if (!parse_attribute(parser, &attributes)) {
            return fail(parser, problem);
        }
    } while (accept(parser, ','));
    bool has_format = type->kind == TR_TYPE_FILE || type->kind == TR_TYPE_DIRECTORY ||
                      type->kind == TR_TYPE_DATASET;
    bool has_schema = type->kind == TR_TYPE_STRUCT;
    if (!accept(parser, ')') || (attributes.format.size > 0 && !has_format) ||
        (attributes.schema.size > 0 && !has_schema)) {
        return fail(parser, problem);
    }
    if (attributes.format.size > 0) {
        type = tr_type_format(parser->types, (enum tr_type_kind)type->kind, attributes.format);
    }
    if (attributes.tag.size + attributes.schema.size + attributes.extra.size > 0) {
        type = tr_type_described(parser->types, type, &attributes);
    }
    return type == NULL ? fail_limit(parser) : type;
}

static const struct tr_type *parse_one(struct parser *parser)
{
    if (parser->depth == TR_TYPE_DEPTH_MAX) {
        return fail_limit(parser);
    }
    parser->depth++;
    const struct tr_type *type = NULL;
    if (accept(parser, '[')) {
        type = parse_list(parser);
    } else if (accept(parser, '{')) {
        type = parse_map(parser);
    } else {
        type = parse_word(parser);
    }
    type = parse_attributes(parser, type);
    parser->depth--;
    return type;
}

static const struct tr_type *parse_union(struct parser *parser)
{
    /*
     * A type that is named twice is an error here, while tr_type_union drops repeated variants: a
     * person who writes `int | int` means something else, but types that a program puts together
     * may overlap.
     */
    const struct tr_type *variants[TR_TYPE_VARIANTS_MAX];
    uint32_t count = 0;
    do {
        const struct tr_type *variant = parse_one(parser);
        if (variant == NULL) {
            return NULL;
        }
        for (uint32_t i = 0; i < count; i++) {
            if (variants[i] == variant) {
                return fail(parser, "the union names a type twice\nname each once");
            }
        }
        if (count == TR_TYPE_VARIANTS_MAX) {
            return fail_limit(parser);
        }
        variants[count++] = variant;
    } while (accept(parser, '|'));
    const struct tr_type *type = tr_type_union(parser->types, variants, count);
    return type == NULL ? fail_limit(parser) : type;
}

const struct tr_type *tr_type_parse(struct tr_types *types, struct tr_text text,
                                    struct tr_text *problem)
{
    *problem = tr_text_of("");
    struct parser parser = {
        .types = types, .at = text.data, .end = text.data + text.size, .problem = problem};
    const struct tr_type *type = parse_union(&parser);
    if (type == NULL) {
        return NULL;
    }
    skip_blanks(&parser);
    if (parser.at != parser.end) {
        struct tr_text rest = {.data = parser.at, .size = (size_t)(parser.end - parser.at)};
        *problem = tr_arena_print(types->arena, "'%.*s' stands behind the type\nremove it",
                                  TRI_SHOWN(rest));
        return NULL;
    }
    return type;
}

static const struct tr_type *read_deep(struct tr_types *types, struct tr_report *report,
                                       const struct tr_tree *tree, uint32_t depth);

static const struct tr_type *refuse(struct tr_types *types, struct tr_report *report,
                                    const struct tr_tree *tree, const char *text)
{
    if (types->arena->error == 0) {
        tri_report_add(report, tree->place, "InvalidValue", "%s", text);
    }
    return NULL;
}

static const struct tr_type *read_text(struct tr_types *types, struct tr_report *report,
                                       const struct tr_tree *tree)
{
    struct tr_text problem;
    const struct tr_type *type = tr_type_parse(types, tree->text, &problem);
    if (type == NULL && problem.size > 0) {
        tri_report_add(report, tree->place, "InvalidValue", "%.*s", TRI_TEXT(problem));
    }
    return type;
}

static const struct tr_type *read_element(struct tr_types *types, struct tr_report *report,
                                          const struct tr_tree *tree, uint32_t depth)
{
    bool is_list = tree->kind == TR_TREE_LIST;
    const struct tr_tree *part = is_list ? tree->items[0] : tree->pairs[0].value;
    const struct tr_type *element = read_deep(types, report, part, depth + 1);
    if (element == NULL) {
        return NULL;
    }
    const struct tr_type *type =
        is_list ? tr_type_list(types, element) : tr_type_map(types, element);
    return type != NULL ? type
                        : refuse(types, report, tree,
                                 "the type is too large or nests too deeply\n"
                                 "use a struct instead");
}

static const struct tr_type *read_deep(struct tr_types *types, struct tr_report *report,
                                       const struct tr_tree *tree, uint32_t depth)
{
    if (depth > TR_TYPE_DEPTH_MAX) {
        return refuse(types, report, tree, "the type nests too deeply\nuse a struct instead");
    }
    if (tr_tree_is_text(tree)) {
        return read_text(types, report, tree);
    }
    if (tree->kind == TR_TREE_LIST) {
        return tree->count == 1 ? read_element(types, report, tree, depth)
                                : refuse(types, report, tree,
                                         "a list's type names one type\nwrite [T]; "
                                         "several are a union: [A | B]");
    }
    bool is_map = tree->kind == TR_TREE_MAP && tree->count == 1 &&
                  tr_text_equal(tree->pairs[0].key->text, tr_text_of("string"));
    if (!is_map) {
        return refuse(types, report, tree,
                      "this is no type\nwrite a type's name, [T], {string: T}, A | B or "
                      "enum(a, b)");
    }
    return read_element(types, report, tree, depth);
}

const struct tr_type *tr_type_read(struct tr_types *types, struct tr_report *report,
                                   const struct tr_tree *tree)
{
    return read_deep(types, report, tree, 0);
}
