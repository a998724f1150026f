/*
 * The laws about what a file says: whom it includes, which words and headers it uses, and that it
 * does not speak of work left undone.
 *
 * Includes are read from the text, since the name of a header stands between quotes; words are read
 * from the code, where comments and literals are blank. Marks of unfinished work count anywhere.
 */
#include "tests/unit/house/check.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

struct include {
    size_t line;
    bool quoted;
    char name[256];
};

static bool is_c(const struct house_source *source)
{
    return source->kind == HOUSE_C || source->kind == HOUSE_HEADER;
}

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool matches_any(const char *const *patterns, size_t count, const char *text)
{
    for (size_t i = 0; i < count && patterns[i] != NULL; i++) {
        if (fnmatch(patterns[i], text, 0) == 0) {
            return true;
        }
    }
    return false;
}

static bool begins_with_any(const char *const *beginnings, size_t count, const char *text)
{
    for (size_t i = 0; i < count && beginnings[i] != NULL; i++) {
        if (begins_with(text, beginnings[i])) {
            return true;
        }
    }
    return false;
}

/* Whether the line is an include with a name in it; the name goes to `include`. */
static bool read_include(const struct house_source *source, size_t line, struct include *include)
{
    struct house_span code = house_line(source, source->code, line);
    const char *at = code.start;
    const char *end = code.start + code.length;
    while (at < end && isspace((unsigned char)*at)) {
        at++;
    }
    if (at == end || *at++ != '#') {
        return false;
    }
    while (at < end && isspace((unsigned char)*at)) {
        at++;
    }
    if ((size_t)(end - at) < strlen("include") || !begins_with(at, "include")) {
        return false;
    }
    struct house_span text = house_line(source, source->text, line);
    const char *open = text.start + (at - code.start) + strlen("include");
    const char *text_end = text.start + text.length;
    while (open < text_end && *open != '"' && *open != '<') {
        open++;
    }
    const char *start = open < text_end ? open + 1 : text_end;
    const char *close = start;
    while (close < text_end && *close != '"' && *close != '>') {
        close++;
    }
    size_t length = (size_t)(close - start);
    if (close == text_end || length >= sizeof(include->name)) {
        return false;
    }
    include->line = line;
    include->quoted = *open == '"';
    memcpy(include->name, start, length);
    include->name[length] = '\0';
    return true;
}

/* ---- Whom a file includes. ------------------------------------------------------------------ */

/* Whether the path lies below the folder. */
static bool is_below(const char *path, const char *folder)
{
    return begins_with(path, folder) && path[strlen(folder)] == '/';
}

/* The folder of the project that the path begins with, or NULL. */
static const char *folder_of(const char *path)
{
    for (size_t i = 0; house_folders[i] != NULL; i++) {
        if (is_below(path, house_folders[i])) {
            return house_folders[i];
        }
    }
    return NULL;
}

/* The law of the room that the file lies in, or of its floor where that has none. */
static const struct house_include_law *include_law_of(const char *path)
{
    const struct house_include_law *nearest = NULL;
    for (size_t i = 0; i < house_include_law_count; i++) {
        const struct house_include_law *law = &house_include_laws[i];
        if (is_below(path, law->folder) &&
            (nearest == NULL || strlen(law->folder) > strlen(nearest->folder))) {
            nearest = law;
        }
    }
    return nearest;
}

static void check_direction(const struct house_source *source, const struct include *include,
                            struct house_findings *findings)
{
    const struct house_include_law *law = include_law_of(source->path);
    if (law == NULL) {
        return;
    }
    size_t allowed = sizeof(law->allowed) / sizeof(law->allowed[0]);
    if (!begins_with_any(law->allowed, allowed, include->name)) {
        house_find(
            findings, source->path, include->line, HOUSE_LAW_INCLUDE,
            "%s/ may not include \"%s\"; the table in tests/unit/house/laws.c says what it may",
            law->folder, include->name);
    }
}

static void check_include(const struct house_source *source, const struct include *include,
                          struct house_findings *findings)
{
    bool ours = folder_of(include->name) != NULL;
    if (include->quoted && !ours) {
        house_find(findings, source->path, include->line, HOUSE_LAW_INCLUDE,
                   "\"%s\" is not written from the root; write \"FOLDER/…/%s\"", include->name,
                   include->name);
    } else if (!include->quoted && ours) {
        house_find(findings, source->path, include->line, HOUSE_LAW_INCLUDE,
                   "<%s> is ours; write it between quotes", include->name);
    } else if (ours) {
        check_direction(source, include, findings);
    }
}

/* ---- Which headers and words it uses. ------------------------------------------------------- */

static bool is_excepted(const struct house_ban *ban, const char *path)
{
    return matches_any(ban->except, sizeof(ban->except) / sizeof(ban->except[0]), path);
}

static bool is_banned(const struct house_ban *ban, const char *word)
{
    return matches_any(ban->words, sizeof(ban->words) / sizeof(ban->words[0]), word);
}

static void check_header_bans(const struct house_source *source, const struct include *include,
                              struct house_findings *findings)
{
    for (size_t i = 0; i < house_ban_count; i++) {
        const struct house_ban *ban = &house_bans[i];
        if (ban->form == HOUSE_BAN_HEADER && is_banned(ban, include->name) &&
            !is_excepted(ban, source->path)) {
            house_find(findings, source->path, include->line, HOUSE_LAW_BAN, "<%s>: %s",
                       include->name, ban->remedy);
        }
    }
}

/* A member (`actor->free`) is named by whoever made the struct, not by us. */
static bool is_member(const struct house_source *source, size_t start)
{
    const char *code = source->code;
    return start > 0 && (code[start - 1] == '.' ||
                         (start > 1 && code[start - 1] == '>' && code[start - 2] == '-'));
}

static void check_word_bans(const struct house_source *source, struct house_span span, size_t end,
                            struct house_findings *findings)
{
    char word[64];
    size_t start = end - span.length;
    if (span.length >= sizeof(word) || is_member(source, start)) {
        return;
    }
    memcpy(word, span.start, span.length);
    word[span.length] = '\0';
    bool called = source->code[house_skip_blanks(source, end)] == '(';
    for (size_t i = 0; i < house_ban_count; i++) {
        const struct house_ban *ban = &house_bans[i];
        bool applies = ban->form == HOUSE_BAN_WORD || (ban->form == HOUSE_BAN_CALL && called);
        if (applies && is_banned(ban, word) && !is_excepted(ban, source->path)) {
            house_find(findings, source->path, house_line_number(source, start), HOUSE_LAW_BAN,
                       "%s: %s", word, ban->remedy);
        }
    }
}

void house_check_readers(const struct house_source *source, struct house_readers_seen *seen,
                         struct house_findings *findings)
{
    struct include include;
    for (size_t line = 1; is_c(source) && line <= source->line_count; line++) {
        if (!read_include(source, line, &include)) {
            continue;
        }
        for (size_t i = 0; i < house_reader_count; i++) {
            if (strcmp(include.name, house_readers[i].header) != 0 ||
                fnmatch(house_readers[i].except, source->path, 0) == 0) {
                continue;
            }
            if (source->kind == HOUSE_HEADER) {
                house_find(findings, source->path, line, HOUSE_LAW_READER,
                           "<%s> in a header reaches everybody; include it in the reader's .c file",
                           include.name);
            } else if (seen->paths[i] == NULL) {
                seen->paths[i] = strdup(source->path);
            } else {
                house_find(findings, source->path, line, HOUSE_LAW_READER,
                           "<%s> has one reader already, %s; use that", include.name,
                           seen->paths[i]);
            }
        }
    }
}

/* ---- What it says is left to do. ------------------------------------------------------------ */

static const char *find_any_case(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (; *text != '\0'; text++) {
        if (strncasecmp(text, word, length) == 0) {
            return text;
        }
    }
    return NULL;
}

static void check_unfinished(const struct house_source *source, struct house_findings *findings)
{
    for (size_t i = 0; i < house_unfinished_count; i++) {
        const struct house_unfinished *mark = &house_unfinished_words[i];
        size_t length = strlen(mark->word);
        const char *at = source->text;
        while ((at = mark->any_case ? find_any_case(at, mark->word) : strstr(at, mark->word)) !=
               NULL) {
            size_t offset = (size_t)(at - source->text);
            bool whole = (offset == 0 || !house_is_word(at[-1])) && !house_is_word(at[length]);
            if (whole) {
                house_find(findings, source->path, house_line_number(source, offset),
                           HOUSE_LAW_UNFINISHED, "`%s`: finish it, or leave it out", mark->word);
            }
            at += length;
        }
    }
}

void house_check_words(const struct house_source *source, struct house_findings *findings)
{
    if (source->kind == HOUSE_OTHER) {
        return;
    }
    check_unfinished(source, findings);
    if (!is_c(source)) {
        return;
    }
    struct include include;
    for (size_t line = 1; line <= source->line_count; line++) {
        if (read_include(source, line, &include)) {
            check_include(source, &include, findings);
            check_header_bans(source, &include, findings);
        }
    }
    size_t offset = 0;
    for (;;) {
        struct house_span word = house_next_word(source, &offset);
        if (word.length == 0) {
            break;
        }
        check_word_bans(source, word, offset, findings);
    }
}
