/*
 * The conditions of `when`: a lexer and a parser of one function for each level of binding, from
 * `or`, which binds loosest, to values. Only brackets and `not` go deeper, and that is counted
 * (TR_CONDITION_DEPTH_MAX).
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

static bool fail_at(struct parser *parser, const char *at, const char *problem)
{
    if (parser->problem == NULL) {
        parser->problem = problem;
        parser->problem_at = at;
    }
    return false;
}

static bool fail(struct parser *parser, const char *problem)
{
    return fail_at(parser, parser->token.text.data, problem);
}

static bool is_word_byte(char byte)
{
    char lower = (char)(byte | 0x20);
    return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') || byte == '_';
}

/* The end of a reference: names, points, and brackets with whatever quotes hold. */
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

static const char *string_end(const char *at, const char *end)
{
    char quote = *at;
    for (at++; at < end && *at != quote; at++) {
        at += *at == '\\' && at + 1 < end ? 1 : 0;
    }
    return at < end ? at + 1 : NULL;
}

/* Numbers, datetimes and durations go on while their characters do. */
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

/* Finds the kind of a token by its first character, and its end. */
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

static bool accept(struct parser *parser, enum tri_token_kind kind, const char *text)
{
    if (!token_is(parser, kind, text)) {
        return false;
    }
    next_token(parser);
    return true;
}

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

/* The text of a string without quotes and backslashes. */
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

/* The type of a literal by its form; TYPE_NONE's number where it has none. */
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

static bool parse_literal(struct parser *parser, uint32_t *root)
{
    enum tr_type_kind kind;
    if (!literal_kind(&parser->token, &kind)) {
        return fail(parser, "here a value is expected\nwrite $name.field, a number, \"text\", "
                            "true, false, none, 1h30m or 2026-08-20");
    }
    struct tri_part *part = add_part(parser, TR_CONDITION_LITERAL, parser->token.text.data, root);
    if (part == NULL) {
        return false;
    }
    bool is_string = kind == TR_TYPE_STRING;
    struct tr_text text = is_string ? unquoted(parser, parser->token.text) : parser->token.text;
    part->type = tr_type_simple(parser->types, kind);
    part->tree = (struct tr_tree){.kind = is_string ? TR_TREE_STRING : TR_TREE_PLAIN,
                                  .weight = 1,
                                  .text = kind == TR_TYPE_NONE ? tr_text_of("null") : text};
    next_token(parser);
    return part->type != NULL;
}

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

/* A chain of one operator, grouped from the left. */
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
        *problem = tr_text_of(parser.problem);
        *offset = parser.problem_at == NULL ? 0 : (size_t)(parser.problem_at - text.data);
        return false;
    }
    *condition = (struct tri_condition){.parts = parser.parts.items, .count = parser.parts.count};
    return true;
}
