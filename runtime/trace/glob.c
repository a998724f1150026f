/*
 * Matching keeps the set of all places of the pattern at which the text read so far may stand, and
 * moves them all on with each character. No place is ever visited twice for one character, so there
 * is nothing to run away.
 *
 * The cost is the length of the text times that of the pattern, whatever the stars, and the memory
 * is two sets. A matcher that goes back after a wrong guess would take exponential time for a
 * pattern with many stars, and a worker runs this for each event of a tap.
 *
 * One star stands for any characters but a slash, two or more for any at all. A pattern that ends
 * with a slash and two stars also matches what stands before them: with two stars behind "/a/" it
 * shows /a itself.
 */
#include "runtime/trace/glob.h"

#include <string.h>

#include "runtime/limits.h"

/* Places before each byte of the pattern, and one behind its end. */
struct places {
    bool is_on[TR_TAP_GLOB_BYTES_MAX + 1];
};

/* How many stars stand here: 0, 1, or 2 for any more. */
static size_t stars_at(struct tr_text pattern, size_t at)
{
    size_t end = at;
    while (end < pattern.size && pattern.data[end] == '*') {
        end++;
    }
    return end - at;
}

/* A star may stand for nothing at all, so the place behind it is reached with the one before. */
static void add(struct tr_text pattern, struct places *places, size_t at)
{
    places->is_on[at] = true;
    size_t stars = stars_at(pattern, at);
    if (stars > 0) {
        places->is_on[at + stars] = true;
    }
}

/*
 * Moves every place over one character of the text. The pattern is walked by whole runs of stars: a
 * run is one place, at its first star. At a run the place stays on while the run takes characters.
 */
static void step(struct tr_text pattern, const struct places *before, struct places *after,
                 char character)
{
    memset(after->is_on, 0, pattern.size + 1);
    size_t at = 0;
    while (at < pattern.size) {
        size_t stars = stars_at(pattern, at);
        if (before->is_on[at] && stars == 0 && pattern.data[at] == character) {
            add(pattern, after, at + 1);
        }
        if (before->is_on[at] && (stars > 1 || (stars == 1 && character != '/'))) {
            add(pattern, after, at);
        }
        at += stars > 0 ? stars : 1;
    }
}

/* Where the text may end: behind the pattern, or before its closing slash and two stars. */
static bool may_end(struct tr_text pattern, const struct places *places)
{
    static const char deep[] = "/**";
    size_t size = sizeof deep - 1;
    bool is_deep =
        pattern.size > size && memcmp(pattern.data + pattern.size - size, deep, size) == 0;
    return places->is_on[pattern.size] || (is_deep && places->is_on[pattern.size - size]);
}

bool tri_glob_match(struct tr_text pattern, struct tr_text text)
{
    struct places places[2] = {0};
    if (pattern.size > TR_TAP_GLOB_BYTES_MAX) {
        return false;
    }
    add(pattern, &places[0], 0);
    for (size_t i = 0; i < text.size; i++) {
        step(pattern, &places[i & 1], &places[(i + 1) & 1], text.data[i]);
    }
    return may_end(pattern, &places[text.size & 1]);
}

bool tri_glob_match_any(struct tr_text patterns, struct tr_text text)
{
    bool is_match = false;
    size_t begin = 0;
    for (size_t i = 0; !is_match && i <= patterns.size; i++) {
        if (i == patterns.size || patterns.data[i] == ',') {
            struct tr_text pattern = {.data = patterns.data + begin, .size = i - begin};
            is_match = tri_glob_match(pattern, text);
            begin = i + 1;
        }
    }
    return is_match;
}
