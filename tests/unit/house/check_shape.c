/*
 * The laws about what a file looks like: sizes, the opening comment, the include guard, braces and
 * blanks. clang-format sees to all other looks.
 *
 * A function is found by its shape: clang-format puts the brace that opens its body, and the one
 * that closes it, alone into the first column.
 */
#include "tests/unit/house/check.h"

#include <ctype.h>
#include <string.h>

struct shape_law {
    unsigned kinds;
    void (*check)(const struct house_source *source, struct house_findings *findings);
};

/* ---- Sizes. --------------------------------------------------------------------------------- */

static void check_file_size(const struct house_source *source, struct house_findings *findings)
{
    if (source->line_count > HOUSE_FILE_LINES_MAX) {
        house_find(findings, source->path, source->line_count, HOUSE_LAW_FILE_SIZE,
                   "%zu lines, at most %d; split it by topic", source->line_count,
                   HOUSE_FILE_LINES_MAX);
    }
}

/* The brace of a body: alone in the first column, or, not formatted yet, behind a signature. */
static bool opens_function(struct house_span line)
{
    if (line.length == 0) {
        return false;
    }
    if (line.start[0] == '{') {
        return true;
    }
    return !isspace((unsigned char)line.start[0]) && line.start[line.length - 1] == '{' &&
           memchr(line.start, '(', line.length) != NULL &&
           memchr(line.start, '=', line.length) == NULL;
}

static void check_function_sizes(const struct house_source *source, struct house_findings *findings)
{
    size_t opened = 0;
    for (size_t number = 1; number <= source->line_count; number++) {
        struct house_span line = house_line(source, source->code, number);
        if (opened == 0 && opens_function(line)) {
            opened = number;
        } else if (opened > 0 && line.length > 0 && line.start[0] == '}') {
            size_t length = number - opened - 1;
            if (length > HOUSE_FUNCTION_LINES_MAX) {
                house_find(findings, source->path, opened, HOUSE_LAW_FUNCTION,
                           "%zu lines in this function, at most %d; give its steps names", length,
                           HOUSE_FUNCTION_LINES_MAX);
            }
            opened = 0;
        }
    }
}

/* Columns are characters: the bytes of UTF-8 that do not continue one. */
static size_t columns_of(struct house_span line)
{
    size_t columns = 0;
    for (size_t i = 0; i < line.length; i++) {
        columns += ((unsigned char)line.start[i] & 0xc0u) != 0x80u;
    }
    return columns;
}

static void check_widths(const struct house_source *source, struct house_findings *findings)
{
    for (size_t number = 1; number <= source->line_count; number++) {
        size_t columns = columns_of(house_line(source, source->text, number));
        if (columns > HOUSE_LINE_COLUMNS_MAX) {
            house_find(findings, source->path, number, HOUSE_LAW_WIDTH,
                       "%zu columns, at most %d; break the line", columns, HOUSE_LINE_COLUMNS_MAX);
        }
    }
}

/* ---- The first lines. ----------------------------------------------------------------------- */

/* How many lines from the top are comment: not blank as text, blank as code. */
static size_t opening_lines(const struct house_source *source)
{
    size_t lines = 0;
    for (size_t number = 1; number <= source->line_count; number++) {
        struct house_span text = house_line(source, source->text, number);
        struct house_span code = house_line(source, source->code, number);
        bool comment = text.length > 0;
        for (size_t i = 0; comment && i < code.length; i++) {
            comment = isspace((unsigned char)code.start[i]);
        }
        if (!comment) {
            break;
        }
        lines++;
    }
    return lines;
}

static void check_opening(const struct house_source *source, struct house_findings *findings)
{
    if (opening_lines(source) < HOUSE_OPENING_LINES_MIN) {
        house_find(
            findings, source->path, 1, HOUSE_LAW_OPENING,
            "opens without an explanation; begin with a few lines a newcomer can read alone");
    }
}

static void guard_of(const char *path, char *guard, size_t size)
{
    size_t length = (size_t)snprintf(guard, size, "TR_%s", path);
    for (size_t i = 0; i < length && i < size; i++) {
        char character = guard[i];
        guard[i] = house_is_word(character) ? (char)toupper((unsigned char)character) : '_';
    }
}

static void check_guard(const struct house_source *source, struct house_findings *findings)
{
    char guard[256];
    guard_of(source->path, guard, sizeof(guard));
    const char *const wanted[] = {"ifndef", guard, "define", guard};
    size_t offset = 0;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        struct house_span word = house_next_word(source, &offset);
        if (!house_span_is(word, wanted[i])) {
            size_t line = word.length > 0 ? house_line_number(source, offset - word.length) : 1;
            house_find(findings, source->path, line, HOUSE_LAW_GUARD,
                       "no include guard; begin the code with #ifndef %s and #define %s", guard,
                       guard);
            return;
        }
    }
}

/* ---- Braces. -------------------------------------------------------------------------------- */

/* The byte behind the parenthesis that closes the one at `open`. */
static size_t behind_parenthesis(const struct house_source *source, size_t open)
{
    size_t depth = 0;
    for (size_t i = open; i < source->size; i++) {
        if (source->code[i] == '(') {
            depth++;
        } else if (source->code[i] == ')' && --depth == 0) {
            return i + 1;
        }
    }
    return source->size;
}

/* Whether the word at `start` follows a closing brace, as the `while` of a do loop does. */
static bool follows_brace(const struct house_source *source, size_t start)
{
    while (start > 0 &&
           (isspace((unsigned char)source->code[start - 1]) || source->code[start - 1] == '\\')) {
        start--;
    }
    return start > 0 && source->code[start - 1] == '}';
}

static bool is_on_directive(const struct house_source *source, size_t offset)
{
    struct house_span line = house_line(source, source->code, house_line_number(source, offset));
    size_t i = 0;
    while (i < line.length && isspace((unsigned char)line.start[i])) {
        i++;
    }
    return i < line.length && line.start[i] == '#';
}

/* Where the body of the statement begun by `word` begins; 0 when `word` begins none. */
static size_t body_of(const struct house_source *source, struct house_span word, size_t behind)
{
    size_t next = house_skip_blanks(source, behind);
    if (house_span_is(word, "else")) {
        size_t offset = next;
        bool chained =
            source->code[next] != '{' && house_span_is(house_next_word(source, &offset), "if");
        return chained ? 0 : next;
    }
    if (house_span_is(word, "do")) {
        return next;
    }
    bool loop = house_span_is(word, "while");
    if ((house_span_is(word, "if") || house_span_is(word, "for") || house_span_is(word, "switch") ||
         loop) &&
        source->code[next] == '(' && !(loop && follows_brace(source, behind - word.length))) {
        return house_skip_blanks(source, behind_parenthesis(source, next));
    }
    return 0;
}

static void check_braces(const struct house_source *source, struct house_findings *findings)
{
    size_t offset = 0;
    for (;;) {
        struct house_span word = house_next_word(source, &offset);
        if (word.length == 0) {
            break;
        }
        size_t body = body_of(source, word, offset);
        if (body > 0 && source->code[body] != '{' && !is_on_directive(source, offset - 1)) {
            house_find(findings, source->path, house_line_number(source, offset - 1),
                       HOUSE_LAW_BRACES, "`%.*s` without braces; a body always has them",
                       (int)word.length, word.start);
        }
    }
}

/* ---- Blanks. -------------------------------------------------------------------------------- */

static void check_blanks(const struct house_source *source, struct house_findings *findings)
{
    for (size_t number = 1; number <= source->line_count; number++) {
        struct house_span line = house_line(source, source->text, number);
        if (memchr(line.start, '\t', line.length) != NULL) {
            house_find(findings, source->path, number, HOUSE_LAW_BLANKS,
                       "a tab; indent with four spaces");
        } else if (line.length > 0 && isspace((unsigned char)line.start[line.length - 1])) {
            house_find(findings, source->path, number, HOUSE_LAW_BLANKS,
                       "blanks at the end of the line; remove them");
        }
    }
    if (source->size > 0 && source->text[source->size - 1] != '\n') {
        house_find(findings, source->path, source->line_count, HOUSE_LAW_BLANKS,
                   "no newline at the end of the file; add one");
    }
}

#define KIND(kind) (1u << (kind))
#define ANY_C (KIND(HOUSE_C) | KIND(HOUSE_HEADER))

static const struct shape_law shape_laws[] = {
    {ANY_C, check_file_size},
    {ANY_C, check_function_sizes},
    {ANY_C | KIND(HOUSE_SCRIPT), check_widths},
    {KIND(HOUSE_C), check_opening},
    {KIND(HOUSE_HEADER), check_guard},
    {ANY_C, check_braces},
    {ANY_C | KIND(HOUSE_SCRIPT) | KIND(HOUSE_PROSE), check_blanks},
};

void house_check_shape(const struct house_source *source, struct house_findings *findings)
{
    for (size_t i = 0; i < sizeof(shape_laws) / sizeof(shape_laws[0]); i++) {
        if (shape_laws[i].kinds & KIND(source->kind)) {
            shape_laws[i].check(source, findings);
        }
    }
}
