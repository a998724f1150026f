/*
 * Matching keeps the set of all positions in the pattern at which the text so far may end, and
 * advances all of them with each character. No position is visited twice for one character, so the
 * time is bounded.
 *
 * The cost is the length of the text times that of the pattern, whatever the stars, and the memory
 * is two sets. A backtracking matcher would take exponential time for a pattern with many stars,
 * and a worker runs this for each event of a tap.
 *
 * One star matches any characters but a slash, two or more any characters. A pattern that ends with
 * a slash and two stars also matches the address before them: with two stars behind "/a/" it
 * matches /a itself.
 */
#include "runtime/trace/glob.h"

#include <string.h>

#include "runtime/limits.h"

/* Positions before each byte of the pattern, and one behind its end. */
struct places {
    bool is_on[TR_TAP_GLOB_BYTES_MAX + 1];
};

/* The number of stars here: 0, 1, or 2 for any more. */
static size_t stars_at(struct tr_text pattern, size_t at)
{
    size_t end = at;
    while (end < pattern.size && pattern.data[end] == '*') {
        end++;
    }
    return end - at;
}

/* A star may match nothing, so the position behind it is reached with the one before. */
static void add(struct tr_text pattern, struct places *places, size_t at)
{
    places->is_on[at] = true;
    size_t stars = stars_at(pattern, at);
    if (stars > 0) {
        places->is_on[at + stars] = true;
    }
}

/*
 * Advances every position by one character of the text. The pattern is walked by whole runs of
 * stars: a run is one position, at its first star, which stays as long as the run matches
 * characters.
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

/* Whether the text may end here: behind the pattern, or before its final slash and two stars. */
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
