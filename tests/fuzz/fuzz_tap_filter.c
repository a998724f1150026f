/*
 * Any bytes as the words of a tap's filter, one on each line. What is refused has an explanation
 * and changes nothing; what is accepted makes sense, crosses to a worker as it is, and matches
 * without harm any address at all.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "runtime/trace/filter.h"
#include "runtime/trace/glob.h"
#include "tests/support/schemas_all.h"

#define WORDS_MAX 32

static size_t split(struct tr_text input, struct tr_text words[WORDS_MAX])
{
    size_t count = 0;
    while (input.size > 0 && count < WORDS_MAX) {
        const char *end = memchr(input.data, '\n', input.size);
        size_t size = end == NULL ? input.size : (size_t)(end - input.data);
        words[count++] = (struct tr_text){.data = input.data, .size = size};
        size_t used = end == NULL ? size : size + 1;
        input = (struct tr_text){.data = input.data + used, .size = input.size - used};
    }
    return count;
}

static void check_accepted(const struct tr_tap_filter *filter, struct tr_text input)
{
    char explain[TR_TAP_EXPLAIN_BYTES];
    TR_ASSERT(tr_tap_filter_check(filter, explain) == 0);
    TR_ASSERT(filter->limit > 0 && filter->limit <= TR_TAP_EVENTS_MAX);
    uint8_t types[TRI_TAP_TYPES_BYTES];
    struct tr_tap_open open = tri_tap_filter_pack(filter, types);
    struct tr_tap_filter again = {0};
    TR_ASSERT(tri_tap_filter_unpack(&open, &again) == 0);
    TR_ASSERT(memcmp(&again, filter, sizeof again) == 0);
    struct tr_text pattern = tr_text_of(filter->address);
    bool is_plain = memchr(pattern.data, '*', pattern.size) == NULL;
    bool is_match = tri_glob_match(pattern, input);
    TR_ASSERT(!is_plain || is_match == tr_text_equal(pattern, input));
    TR_ASSERT(!is_plain || tri_glob_match(pattern, pattern));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_text input = {.data = (const char *)data, .size = size};
    struct tr_text words[WORDS_MAX];
    char explain[TR_TAP_EXPLAIN_BYTES] = "";
    struct tr_tap_filter filter = {0};
    size_t count = split(input, words);
    if (tr_tap_filter_parse(words, count, schemas_all(), explain, &filter) == 0) {
        check_accepted(&filter, input);
    } else {
        static const struct tr_tap_filter untouched;
        TR_ASSERT(explain[0] != '\0' && memchr(explain, '\0', sizeof explain) != NULL);
        TR_ASSERT(memcmp(&filter, &untouched, sizeof filter) == 0);
    }
    return 0;
}
