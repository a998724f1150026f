/*
 * Each character of a pattern stands for itself, behind a backslash where it means something in a
 * regular expression; one star is any characters but a slash, two or more are any. A slash and two
 * stars at the end may be missing as a whole.
 */
#include "runtime/postgres/postgres_glob.h"

#include <ctype.h>
#include <string.h>

#include "runtime/limits.h"
#include "runtime/memory.h"

/* No text matches it: its beginning is not behind its first character. */
static const char nothing[] = "x^";

static const char any[] = ".*";
static const char any_but_slash[] = "[^/]*";
static const char deep[] = "/**";
static const char deep_end[] = "(/.*)?";

/* The most bytes that one byte of a pattern becomes, and those of what stands around all. */
#define FACTOR (sizeof any_but_slash - 1)
#define AROUND (sizeof deep_end + 2)

static size_t put(char *at, const char *words)
{
    size_t size = strlen(words);
    memcpy(at, words, size);
    return size;
}

static bool is_special(char character)
{
    return (unsigned char)character < 0x80 && !isalnum((unsigned char)character) &&
           character != '/' && character != '_' && (unsigned char)character > ' ';
}

/* Writes what the pattern's bytes stand for, and returns how much that is. */
static size_t translate(struct tr_text pattern, char *to)
{
    size_t size = 0;
    for (size_t i = 0; i < pattern.size; i++) {
        size_t begin = i;
        while (i + 1 < pattern.size && pattern.data[begin] == '*' && pattern.data[i + 1] == '*') {
            i++;
        }
        if (pattern.data[begin] == '*') {
            size += put(to + size, i > begin ? any : any_but_slash);
            continue;
        }
        if (is_special(pattern.data[i])) {
            to[size++] = '\\';
        }
        to[size++] = pattern.data[i];
    }
    return size;
}

char *tri_postgres_glob(struct tr_text pattern)
{
    size_t deep_size = sizeof deep - 1;
    bool is_deep = pattern.size > deep_size &&
                   memcmp(pattern.data + pattern.size - deep_size, deep, deep_size) == 0;
    if (pattern.size > TR_TAP_GLOB_BYTES_MAX) {
        return tr_text_copy(tr_text_of(nothing));
    }
    char *made = tr_alloc(pattern.size * FACTOR + AROUND);
    if (made == NULL) {
        return NULL;
    }
    pattern.size -= is_deep ? deep_size : 0;
    size_t size = put(made, "^");
    size += translate(pattern, made + size);
    size += put(made + size, is_deep ? deep_end : "");
    size += put(made + size, "$");
    made[size] = '\0';
    return made;
}
