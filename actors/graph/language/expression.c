/*
 * The conditions of `when`: a lexer and a parser of one function for each level of binding, from
 * `or`, which binds loosest, to values. Only brackets and `not` go deeper, and that is counted
 * (TR_CONDITION_DEPTH_MAX).
 *
 *     or:         and ("or" and)*
 *     and:        not ("and" not)*
 *     not:        "not" not | comparison
 *     comparison: "(" or ")" | value [("==" | "!=" | "<" | "<=" | ">" | ">=") value]
 *     value:      $reference | number | "text" | true | false | none | duration | datetime
 *
 * Each function appends its parts behind those of its operands and gives the position of the last,
 * so the root of the whole is the last part. Types are checked later (compile_branch.c).
 */
#include "actors/graph/language/expression.h"

#include "actors/graph/document/limits.h"

struct token {
    enum tri_token_kind kind;
    struct tr_text text;
};

struct parser {
    struct tr_types *types;
    struct tr_arena *arena;
    const char *begin;
    const char *at;
    const char *end;
    struct token token; /* the next one */
    struct tri_vector parts;
    uint32_t depth;
    const char *problem;
    const char *problem_at;
};

static bool parse_or(struct parser *parser, uint32_t *root);

/* The first problem stays: what follows from it would only confuse. */
static bool fail_at(struct parser *parser, const char *at, const char *problem)
{
    if (parser->problem == NULL) {
        parser->problem = problem;
        parser->problem_at = at;
    }
    return false;
}

/* A problem of the token in hand; false. */
static bool fail(struct parser *parser, const char *problem)
{
    return fail_at(parser, parser->token.text.data, problem);
}

static bool is_word_byte(char byte)
{
    char lower = (char)(byte | 0x20);
    return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') || byte == '_';
}

/*
 * The end of a reference: names, points, and brackets with whatever quotes hold. It is generous:
 * what it takes too much of, tri_reference_parse refuses with a message of its own.
 */
static const char *reference_end(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        if (*at == '[') {
            bool is_quoted = false;
            for (at++; at < end && (is_quoted || *at != ']'); at++) {
                is_quoted = is_quoted != (*at == '"');
                at += *at == '\\' && at + 1 < end ? 1 : 0;
            }
            if (at == end) {
                return end;
            }
        } else if (!is_word_byte(*at) && *at != '.' && *at != '-') {
            return at;
        }
    }
    return end;
}

/* Behind the closing quote; NULL where there is none. */
static const char *string_end(const char *at, const char *end)
{
    char quote = *at;
    for (at++; at < end && *at != quote; at++) {
        at += *at == '\\' && at + 1 < end ? 1 : 0;
    }
    return at < end ? at + 1 : NULL;
}

/*
 * Numbers, datetimes and durations go on while their characters do: 1e-3,
 * 2026-08-20T09:30:00+02:00, 1h30m. There is no arithmetic, so a sign inside can only belong to the
 * literal.
 */
static const char *number_end(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        bool is_part = is_word_byte(*at) || *at == '.' || *at == ':' || *at == '-' || *at == '+';
        if (!is_part) {
            break;
        }
    }
    return at;
}

static const char *word_end(const char *at, const char *end)
{
    while (at < end && is_word_byte(*at)) {
        at++;
    }
    return at;
}

/*
 * Finds the kind of a token by its first character, and its end. Longer operators stand before
 * their beginnings in the table, so that `<=` is not read as `<`. `token_end` is not set for WRONG.
 */
static enum tri_token_kind scan_token(const char *at, const char *end, const char **token_end)
{
    static const char operators[][3] = {"==", "!=", "<=", ">=", "<", ">", "(", ")"};
    if (*at == '$') {
        *token_end = reference_end(at, end);
        return TRI_TOKEN_REFERENCE;
    }
    if (*at == '"' || *at == '\'') {
        *token_end = string_end(at, end);
        return *token_end == NULL ? TRI_TOKEN_WRONG : TRI_TOKEN_STRING;
    }
    if ((*at >= '0' && *at <= '9') || *at == '.' || *at == '-' || *at == '+') {
        *token_end = number_end(at, end);
        return TRI_TOKEN_NUMBER;
    }
    if (is_word_byte(*at)) {
        *token_end = word_end(at, end);
        return TRI_TOKEN_WORD;
    }
    for (size_t i = 0; i < TR_COUNT_OF(operators); i++) {
        size_t size = strlen(operators[i]);
        if ((size_t)(end - at) >= size && memcmp(at, operators[i], size) == 0) {
            *token_end = at + size;
            return TRI_TOKEN_OPERATOR;
        }
    }
    return TRI_TOKEN_WRONG;
}

/*
 * The next token into `token`. One that cannot be one takes the rest of the text, and no rule
 * accepts it.
 */
static void next_token(struct parser *parser)
{
    while (parser->at < parser->end && strchr(" \t\r\n", *parser->at) != NULL &&
           *parser->at != '\0') {
        parser->at++;
    }
    const char *begin = parser->at;
    const char *end = begin;
    enum tri_token_kind kind = TRI_TOKEN_END;
    if (begin < parser->end) {
        kind = scan_token(begin, parser->end, &end);
    }
    if (kind == TRI_TOKEN_WRONG) {
        end = parser->end;
    }
    parser->token.kind = kind;
    parser->token.text = (struct tr_text){.data = begin, .size = (size_t)(end - begin)};
    parser->at = end;
}

static bool token_is(const struct parser *parser, enum tri_token_kind kind, const char *text)
{
    return parser->token.kind == kind && tr_text_equal(parser->token.text, tr_text_of(text));
}

/* Goes on if the token in hand is this one. */
static bool accept(struct parser *parser, enum tri_token_kind kind, const char *text)
{
    if (!token_is(parser, kind, text)) {
        return false;
    }
    next_token(parser);
    return true;
}

/* A new part, whose `offset` is where messages about it point; NULL: too many, or no memory. */
static struct tri_part *add_part(struct parser *parser, enum tr_condition_kind kind, const char *at,
                                 uint32_t *position)
{
    if (parser->parts.count == TR_CONDITION_PARTS_MAX) {
        fail_at(parser, at, "the condition has too many parts\nlet a task decide");
        return NULL;
    }
    struct tri_part *part = tri_vector_add(parser->arena, &parser->parts, sizeof *part);
    if (part != NULL) {
        part->kind = (uint8_t)kind;
        part->offset = (size_t)(at - parser->begin);
        *position = parser->parts.count - 1;
    }
    return part;
}

static bool parse_reference(struct parser *parser, uint32_t *root)
{
    struct tr_text problem;
    struct tri_reference reference;
    if (!tri_reference_parse(parser->arena, parser->token.text, &reference, &problem)) {
        return fail(parser, problem.data);
    }
    struct tri_part *part = add_part(parser, TR_CONDITION_INPUT, parser->token.text.data, root);
    if (part == NULL) {
        return false;
    }
    part->reference = reference;
    next_token(parser);
    return true;
}

/*
 * The text of a string without quotes and backslashes. It takes the same pairs as string_end did.
 */
static struct tr_text unquoted(struct parser *parser, struct tr_text text)
{
    char *copy = tr_arena_alloc(parser->arena, text.size);
    size_t size = 0;
    for (size_t i = 1; copy != NULL && i + 1 < text.size; i++) {
        i += text.data[i] == '\\' && i + 2 < text.size ? 1 : 0;
        copy[size++] = text.data[i];
    }
    return (struct tr_text){.data = copy == NULL ? "" : copy, .size = size};
}

/*
 * The type of a literal by its form; false where it is none. TR_TYPE_NONE is the type of `none`.
 * The order decides where forms overlap: what is an integer is no float, and a number is no
 * duration.
 */
static bool literal_kind(const struct token *token, enum tr_type_kind *kind)
{
    int64_t integer;
    double number;
    struct tr_moment moment;
    if (token->kind == TRI_TOKEN_STRING) {
        *kind = TR_TYPE_STRING;
        return true;
    }
    if (token->kind == TRI_TOKEN_WORD) {
        bool is_bool = tr_text_equal(token->text, tr_text_of("true")) ||
                       tr_text_equal(token->text, tr_text_of("false"));
        *kind = is_bool ? TR_TYPE_BOOL : TR_TYPE_NONE;
        return is_bool || tr_text_equal(token->text, tr_text_of("none"));
    }
    if (token->kind != TRI_TOKEN_NUMBER) {
        return false;
    }
    if (tri_text_integer(token->text, &integer)) {
        *kind = TR_TYPE_INT;
    } else if (tri_text_number(token->text, &number)) {
        *kind = TR_TYPE_FLOAT;
    } else if (tr_moment_parse(token->text, &moment)) {
        *kind = TR_TYPE_DATETIME;
    } else if (tr_duration_parse(token->text, &integer)) {
        *kind = TR_TYPE_DURATION;
    } else {
        return false;
    }
    return true;
}

/*
 * A text in quotes: a literal or, with references in braces, an input like a reference. `text` is
 * what it comes to if it is a literal.
 */
static bool parse_string(struct parser *parser, struct tr_text *text,
                         const struct tri_interpolation **interpolation)
{
    struct tr_text problem;
    *text = unquoted(parser, parser->token.text);
    *interpolation = NULL;
    if (!tri_text_has_dollar(*text)) {
        return true;
    }
    struct tri_interpolation *parsed = tr_arena_alloc(parser->arena, sizeof *parsed);
    if (parsed == NULL) {
        return false;
    }
    if (!tri_interpolation_parse(parser->arena, *text, false, parsed, &problem)) {
        return fail(parser, problem.data);
    }
    *interpolation = tri_interpolation_is_literal(parsed, text) ? NULL : parsed;
    return true;
}

/*
 * The literal is kept as a tree beside its type, because the compiler reads it again by the type of
 * the other side: "red" may be a value of an enum, 3 a float.
 */
static bool parse_literal(struct parser *parser, uint32_t *root)
{
    const struct tri_interpolation *interpolation = NULL;
    struct tr_text text = parser->token.text;
    enum tr_type_kind kind;
    if (!literal_kind(&parser->token, &kind)) {
        return fail(parser, "here a value is expected\nwrite $name.field, a number, \"text\", "
                            "true, false, none, 1h30m or 2026-08-20");
    }
    bool is_string = kind == TR_TYPE_STRING;
    if (is_string && !parse_string(parser, &text, &interpolation)) {
        return false;
    }
    struct tri_part *part =
        add_part(parser, interpolation == NULL ? TR_CONDITION_LITERAL : TR_CONDITION_INPUT,
                 parser->token.text.data, root);
    if (part == NULL) {
        return false;
    }
    part->interpolation = interpolation;
    part->type = tr_type_simple(parser->types, kind);
    part->tree = (struct tr_tree){.kind = is_string ? TR_TREE_STRING : TR_TREE_PLAIN,
                                  .weight = 1,
                                  .text = kind == TR_TYPE_NONE ? tr_text_of("null") : text};
    part->text = part->tree.text;
    next_token(parser);
    return part->type != NULL;
}

/* Brackets leave no part behind; they show in the shape of the tree alone. */
static bool parse_brackets(struct parser *parser, uint32_t *root)
{
    if (parser->depth == TR_CONDITION_DEPTH_MAX) {
        return fail(parser, "the condition's brackets nest too deeply\nlet a task decide");
    }
    parser->depth++;
    next_token(parser);
    bool is_fine = parse_or(parser, root);
    parser->depth--;
    if (is_fine && !accept(parser, TRI_TOKEN_OPERATOR, ")")) {
        return fail(parser, "a bracket is not closed\nwrite )");
    }
    return is_fine;
}

static bool parse_value(struct parser *parser, uint32_t *root)
{
    return parser->token.kind == TRI_TOKEN_REFERENCE ? parse_reference(parser, root)
                                                     : parse_literal(parser, root);
}

/* The operator in hand, if it compares. */
static bool comparison_kind(const struct parser *parser, enum tr_condition_kind *kind)
{
    static const struct {
        const char *text;
        enum tr_condition_kind kind;
    } operators[] = {
        {"==", TR_CONDITION_EQUAL},  {"!=", TR_CONDITION_NOT_EQUAL},
        {"<", TR_CONDITION_LESS},    {"<=", TR_CONDITION_LESS_EQUAL},
        {">", TR_CONDITION_GREATER}, {">=", TR_CONDITION_GREATER_EQUAL},
    };
    for (size_t i = 0; i < TR_COUNT_OF(operators); i++) {
        if (token_is(parser, TRI_TOKEN_OPERATOR, operators[i].text)) {
            *kind = operators[i].kind;
            return true;
        }
    }
    return false;
}

/*
 * Brackets, a comparison of two values, or a value that has to be a bool. `1 < $a < 3` would
 * compare a bool with a number, so a second operator is told here and not as a mismatch of types
 * later.
 */
static bool parse_comparison(struct parser *parser, uint32_t *root)
{
    enum tr_condition_kind kind;
    uint32_t left;
    uint32_t right;
    if (token_is(parser, TRI_TOKEN_OPERATOR, "(")) {
        return parse_brackets(parser, root);
    }
    if (!parse_value(parser, &left)) {
        return false;
    }
    if (!comparison_kind(parser, &kind)) {
        *root = left;
        return true;
    }
    const char *at = parser->token.text.data;
    next_token(parser);
    if (!parse_value(parser, &right)) {
        return false;
    }
    if (comparison_kind(parser, &kind)) {
        return fail(parser, "comparisons do not follow each other\njoin them with `and`");
    }
    struct tri_part *part = add_part(parser, kind, at, root);
    if (part != NULL) {
        part->left = left;
        part->right = right;
    }
    return part != NULL;
}

/* `not` binds tighter than `and` and looser than a comparison: `not $a == 1` is `not ($a == 1)`. */
static bool parse_not(struct parser *parser, uint32_t *root)
{
    const char *at = parser->token.text.data;
    if (!accept(parser, TRI_TOKEN_WORD, "not")) {
        return parse_comparison(parser, root);
    }
    if (parser->depth == TR_CONDITION_DEPTH_MAX) {
        return fail(parser, "the condition nests too deeply\nlet a task decide");
    }
    uint32_t left;
    parser->depth++;
    bool is_fine = parse_not(parser, &left);
    parser->depth--;
    struct tri_part *part = is_fine ? add_part(parser, TR_CONDITION_NOT, at, root) : NULL;
    if (part != NULL) {
        part->left = left;
    }
    return part != NULL;
}

/*
 * A chain of one operator, grouped from the left. It is a loop, so that a long chain costs no depth
 * here; TR_CONDITION_PARTS_MAX bounds the depth of the tree that it makes.
 */
static bool parse_chain(struct parser *parser, const char *word, enum tr_condition_kind kind,
                        bool (*parse)(struct parser *, uint32_t *), uint32_t *root)
{
    uint32_t left;
    if (!parse(parser, &left)) {
        return false;
    }
    const char *at = parser->token.text.data;
    while (accept(parser, TRI_TOKEN_WORD, word)) {
        uint32_t right;
        uint32_t joined;
        if (!parse(parser, &right)) {
            return false;
        }
        struct tri_part *part = add_part(parser, kind, at, &joined);
        if (part == NULL) {
            return false;
        }
        part->left = left;
        part->right = right;
        left = joined;
        at = parser->token.text.data;
    }
    *root = left;
    return true;
}

static bool parse_and(struct parser *parser, uint32_t *root)
{
    return parse_chain(parser, "and", TR_CONDITION_AND, parse_not, root);
}

static bool parse_or(struct parser *parser, uint32_t *root)
{
    return parse_chain(parser, "or", TR_CONDITION_OR, parse_and, root);
}

bool tri_condition_parse(struct tr_types *types, struct tr_arena *arena, struct tr_text text,
                         struct tri_condition *condition, struct tr_text *problem, size_t *offset)
{
    struct parser parser = {.types = types,
                            .arena = arena,
                            .begin = text.data,
                            .at = text.data,
                            .end = text.data + text.size};
    uint32_t root;
    if (text.size > TR_CONDITION_BYTES_MAX) {
        *problem = tr_text_of("the condition is too long\nlet a task decide");
        *offset = 0;
        return false;
    }
    next_token(&parser);
    bool is_fine = parse_or(&parser, &root);
    if (is_fine && parser.token.kind != TRI_TOKEN_END) {
        is_fine = fail(&parser, "here `and`, `or` or a comparison is expected\n"
                                "operators are == != < <= > >= and or not ( )");
    }
    if (!is_fine) {
        /* Without a problem memory has ended: NULL becomes the empty text. */
        *problem = tr_text_of(parser.problem);
        *offset = parser.problem_at == NULL ? 0 : (size_t)(parser.problem_at - text.data);
        return false;
    }
    *condition = (struct tri_condition){.parts = parser.parts.items, .count = parser.parts.count};
    return true;
}
