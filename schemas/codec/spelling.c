/*
 * Words of a list, and how far one is from another: the number of single changes between them.
 */
#include "schemas/codec/spelling.h"

#include <string.h>

int tr_spelling_find(const char *words, const char *word)
{
    size_t size = strlen(word);
    for (int place = 0;; place++) {
        size_t length = strcspn(words, "|");
        if (length == size && memcmp(words, word, size) == 0) {
            return place;
        }
        if (words[length] == '\0') {
            return -1;
        }
        words += length + 1;
    }
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/*
 * Optimal string alignment: a swap of neighbours costs one, and no byte is edited twice. Row i
 * needs the two before it, so three are kept.
 */
unsigned tr_spelling_distance(struct tr_text a, struct tr_text b)
{
    if (a.size > TR_WORD_BYTES_MAX || b.size > TR_WORD_BYTES_MAX) {
        return UINT32_MAX;
    }
    unsigned rows[3][TR_WORD_BYTES_MAX + 1];
    for (size_t i = 0; i <= a.size; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3];
        const unsigned *two_above = rows[(i + 1) % 3];
        for (size_t k = 0; k <= b.size; k++) {
            if (i == 0 || k == 0) {
                row[k] = (unsigned)(i + k);
                continue;
            }
            unsigned change = above[k - 1] + (a.data[i - 1] != b.data[k - 1] ? 1 : 0);
            row[k] = least(change, least(above[k], row[k - 1]) + 1);
            if (i > 1 && k > 1 && a.data[i - 1] == b.data[k - 2] &&
                a.data[i - 2] == b.data[k - 1]) {
                row[k] = least(row[k], two_above[k - 2] + 1);
            }
        }
    }
    return rows[a.size % 3][b.size];
}

/* A quarter and one of the letters may differ, and never all of them. */
bool tr_spelling_is_near(struct tr_text typed, unsigned distance)
{
    return distance <= 1 + typed.size / 4 && distance < typed.size;
}

struct tr_text tr_spelling_nearest(struct tr_text typed,
                                   struct tr_text (*word_at)(const void *self, uint32_t position),
                                   const void *self, uint32_t count)
{
    struct tr_text nearest = tr_text_of("");
    unsigned nearest_distance = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        struct tr_text word = word_at(self, i);
        unsigned distance = tr_spelling_distance(typed, word);
        if (tr_spelling_is_near(typed, distance) && distance < nearest_distance) {
            nearest = word;
            nearest_distance = distance;
        }
    }
    return nearest;
}
