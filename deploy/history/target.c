/*
 * Taking the name of an execution, a node, an element or an attempt apart.
 */
#include "deploy/history/target.h"

#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"

/* The most digits of a number; more would not fit into one. */
#define DIGITS_MAX 18

static int refuse(char *problem, const char *word, const char *words)
{
    snprintf(problem, TR_TARGET_PROBLEM_BYTES, "'%.200s' %s", word, words);
    return TR_INVALID;
}

/*
 * Takes `open` DIGITS off the end of a text, and with `close` that character behind them. False if
 * it does not end so.
 */
static bool take_number(struct tr_text *text, char open, char close, uint64_t *number)
{
    size_t end = text->size;
    if (close != '\0') {
        if (end == 0 || text->data[end - 1] != close) {
            return false;
        }
        end--;
    }
    size_t begin = end;
    while (begin > 0 && text->data[begin - 1] >= '0' && text->data[begin - 1] <= '9') {
        begin--;
    }
    if (begin == end || end - begin > DIGITS_MAX || begin == 0 || text->data[begin - 1] != open) {
        return false;
    }
    *number = 0;
    for (size_t i = begin; i < end; i++) {
        *number = 10 * *number + (uint64_t)(text->data[i] - '0');
    }
    text->size = begin - 1;
    return true;
}

/* The node's path with its element and attempt. */
static int read_path(const char *word, struct tr_text path, char *problem, struct tr_target *target)
{
    uint64_t attempt = 0;
    target->has_attempt = take_number(&path, '@', '\0', &attempt);
    if (attempt > UINT32_MAX) {
        return refuse(problem, word, "names an attempt that cannot be");
    }
    target->attempt = (uint32_t)attempt;
    if (!take_number(&path, '[', ']', &target->element)) {
        target->element = TR_ELEMENT_NONE;
    }
    target->path = path;
    bool is_bad = path.size == 0 || path.data[path.size - 1] == '/' || path.data[0] == '/' ||
                  path.data[path.size - 1] == ']' || memchr(path.data, '@', path.size) != NULL;
    return is_bad ? refuse(problem, word,
                           "names no node; write EXEC/NODE, EXEC/NODE[17] or "
                           "EXEC/NODE[17]@2")
                  : 0;
}

int tr_target_read(const char *word, bool has_place, char *problem, struct tr_target *out)
{
    struct tr_target target = {.element = TR_ELEMENT_NONE, .path = tr_text_of("")};
    const char *begin = word[0] == '/' ? word + 1 : word;
    const char *end = begin;
    size_t parts = word[0] == '/' || has_place ? 3 : 1;
    for (size_t i = 0; i < parts; i++) {
        size_t size = strcspn(end, "/");
        if (size == 0) {
            return refuse(problem, word,
                          parts == 3 ? "names no execution; write /PROJECT/DOMAIN/NAME"
                                     : "names no execution");
        }
        end += size;
        if (i + 1 < parts && *end != '/') {
            return refuse(problem, word, "names no execution; write /PROJECT/DOMAIN/NAME");
        }
        end += i + 1 < parts ? 1 : 0;
    }
    size_t size = (size_t)(end - begin);
    if (size >= sizeof target.execution) {
        return refuse(problem, word, "is too long for the name of an execution");
    }
    memcpy(target.execution, begin, size);
    int error = *end == '/' ? read_path(word, tr_text_of(end + 1), problem, &target) : 0;
    if (error == 0) {
        *out = target;
    }
    return error;
}
