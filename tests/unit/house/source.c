/*
 * Reading a file and telling its code from its comments and literals.
 *
 * The second view is made by a small state machine over the bytes: what it sees as comment or as
 * the inside of a literal becomes blanks, newlines stay, so that an offset and a line number mean
 * the same in both views.
 */
#include "tests/unit/house/source.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum place { IN_CODE, IN_LINE_COMMENT, IN_BLOCK_COMMENT, IN_STRING, IN_CHARACTER };

static void *must_allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static char *read_whole(const char *root, const char *path, size_t *size)
{
    char full[4096];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    FILE *file = fopen(full, "rb");
    if (file == NULL) {
        return NULL;
    }
    size_t capacity = 1 << 16;
    size_t length = 0;
    char *text = must_allocate(capacity);
    for (;;) {
        length += fread(text + length, 1, capacity - 1 - length, file);
        if (length < capacity - 1) {
            break;
        }
        capacity *= 2;
        text = realloc(text, capacity);
        if (text == NULL) {
            abort();
        }
    }
    fclose(file);
    text[length] = '\0';
    *size = length;
    return text;
}

static enum place leave_code(const char *at)
{
    if (at[0] == '/' && at[1] == '/') {
        return IN_LINE_COMMENT;
    }
    if (at[0] == '/' && at[1] == '*') {
        return IN_BLOCK_COMMENT;
    }
    if (at[0] == '"') {
        return IN_STRING;
    }
    if (at[0] == '\'') {
        return IN_CHARACTER;
    }
    return IN_CODE;
}

/* How many bytes at `at` end the place, 0 when it goes on. */
static size_t end_of_place(enum place place, const char *at)
{
    switch (place) {
    case IN_LINE_COMMENT:
        return at[0] == '\n';
    case IN_BLOCK_COMMENT:
        return at[0] == '*' && at[1] == '/' ? 2 : 0;
    case IN_STRING:
        return at[0] == '"' || at[0] == '\n';
    case IN_CHARACTER:
        return at[0] == '\'' || at[0] == '\n';
    case IN_CODE:
        break;
    }
    return 0;
}

static void blank(char *code, size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++) {
        if (code[i] != '\n' && code[i] != '\0') {
            code[i] = ' ';
        }
    }
}

static void blank_all_but_code(const char *text, char *code)
{
    enum place place = IN_CODE;
    for (size_t i = 0; text[i] != '\0';) {
        if (place == IN_CODE) {
            place = leave_code(&text[i]);
            bool comment = place == IN_LINE_COMMENT || place == IN_BLOCK_COMMENT;
            blank(code, i, comment ? 2 : 0);
            i += comment ? 2 : 1;
            continue;
        }
        size_t end = end_of_place(place, &text[i]);
        bool literal = place == IN_STRING || place == IN_CHARACTER;
        size_t step = end > 0 ? end : (literal && text[i] == '\\' && text[i + 1] != '\0') ? 2 : 1;
        if (end == 0 || !literal) {
            blank(code, i, step);
        }
        place = end > 0 ? IN_CODE : place;
        i += step;
    }
}

static void find_lines(struct house_source *source)
{
    size_t count = 0;
    for (size_t i = 0; i < source->size; i++) {
        count += source->text[i] == '\n';
    }
    source->line_starts = must_allocate((count + 2) * sizeof(source->line_starts[0]));
    source->line_count = 0;
    size_t start = 0;
    while (start < source->size) {
        source->line_starts[source->line_count++] = start;
        const char *end = memchr(source->text + start, '\n', source->size - start);
        start = end == NULL ? source->size + 1 : (size_t)(end - source->text) + 1;
    }
    source->line_starts[source->line_count] = start;
}

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path);
    size_t ending_length = strlen(ending);
    return length >= ending_length && strcmp(path + length - ending_length, ending) == 0;
}

static enum house_kind kind_of(const char *path, const char *text)
{
    static const struct {
        const char *ending;
        enum house_kind kind;
    } endings[] = {
        {".c", HOUSE_C},
        {".h", HOUSE_HEADER},
        {".sh", HOUSE_SCRIPT},
        {".cmake", HOUSE_SCRIPT},
        {"CMakeLists.txt", HOUSE_SCRIPT},
        {".md", HOUSE_PROSE},
    };
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (ends_with(path, endings[i].ending)) {
            return endings[i].kind;
        }
    }
    return strncmp(text, "#!", 2) == 0 ? HOUSE_SCRIPT : HOUSE_OTHER;
}

bool house_source_init(struct house_source *source, const char *root, const char *path)
{
    size_t size = 0;
    char *text = read_whole(root, path, &size);
    if (text == NULL) {
        return false;
    }
    *source = (struct house_source){.path = strdup(path), .text = text, .size = size};
    source->kind = kind_of(path, text);
    source->code = must_allocate(size + 1);
    memcpy(source->code, text, size);
    if (source->kind == HOUSE_C || source->kind == HOUSE_HEADER) {
        blank_all_but_code(source->text, source->code);
    }
    find_lines(source);
    return true;
}

void house_source_fini(struct house_source *source)
{
    free(source->path);
    free(source->text);
    free(source->code);
    free(source->line_starts);
    *source = (struct house_source){0};
}

struct house_span house_line(const struct house_source *source, const char *view, size_t number)
{
    size_t start = source->line_starts[number - 1];
    size_t end = source->line_starts[number] - 1;
    return (struct house_span){view + start, end - start};
}

size_t house_line_number(const struct house_source *source, size_t offset)
{
    size_t low = 0;
    size_t high = source->line_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (source->line_starts[middle] <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low + 1;
}

bool house_is_word(char character)
{
    return isalnum((unsigned char)character) || character == '_';
}

size_t house_skip_blanks(const struct house_source *source, size_t start)
{
    while (start < source->size &&
           (isspace((unsigned char)source->code[start]) || source->code[start] == '\\')) {
        start++;
    }
    return start;
}

struct house_span house_next_word(const struct house_source *source, size_t *offset)
{
    size_t start = *offset;
    while (start < source->size && !house_is_word(source->code[start])) {
        start++;
    }
    size_t end = start;
    while (end < source->size && house_is_word(source->code[end])) {
        end++;
    }
    *offset = end;
    return (struct house_span){source->code + start, end - start};
}

bool house_span_is(struct house_span span, const char *word)
{
    return strlen(word) == span.length && memcmp(span.start, word, span.length) == 0;
}
