/*
 * What flytekit says of an exception: a traceback that begins in flytekit's own files, and behind
 * it what was raised. People read what was raised first, and of the traceback their own files.
 *
 *     Trace:
 *
 *         Traceback (most recent call last):
 *           File ".../site-packages/flytekit/core/base_task.py", line 767, in dispatch_execute
 *             native_outputs = self.execute(**native_inputs)
 *           File ".../flows.py", line 40, in odd
 *             raise ValueError(f"{a} is even")
 *         ValueError: 0 is even
 *
 *     Message:
 *
 *         ValueError: 0 is even
 */
#include <string.h>

#include "actors/graph/flyte/flyte_inside.h"

#define BEGIN "Trace:\n\n"
#define MIDDLE "\nMessage:\n\n"

/* How far everything is moved in, and where a line of it says a place. */
#define MARGIN 4
#define PLACE "  File \""

/* A part of the path of flytekit's files, wherever they are installed. */
#define FLYTEKIT "-packages/flytekit/"

struct words {
    char *data; /* has room for all that is read */
    size_t size;
};

/* One more line of a text, without its end; false: there is none. */
static bool next_line(const char **at, const char *end, struct tr_text *line)
{
    if (*at >= end) {
        return false;
    }
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    const char *last = newline != NULL ? newline : end;
    *line = (struct tr_text){.data = *at, .size = (size_t)(last - *at)};
    *at = newline != NULL ? newline + 1 : end;
    return true;
}

static struct tr_text without_margin(struct tr_text line)
{
    size_t margin = 0;
    while (margin < MARGIN && margin < line.size && line.data[margin] == ' ') {
        margin++;
    }
    return (struct tr_text){.data = line.data + margin, .size = line.size - margin};
}

static void add_line(struct words *words, struct tr_text line)
{
    memcpy(words->data + words->size, line.data, line.size);
    words->data[words->size + line.size] = '\n';
    words->size += line.size + 1;
}

static bool begins(struct tr_text text, const char *with)
{
    size_t size = strlen(with);
    return text.size >= size && memcmp(text.data, with, size) == 0;
}

static bool is_flytekits(struct tr_text line)
{
    return memmem(line.data, line.size, FLYTEKIT, sizeof FLYTEKIT - 1) != NULL;
}

/* Without what lies in flytekit's files; returns whether anything else says a place. */
static bool add_trace(struct words *words, const char *at, const char *end, bool is_whole)
{
    bool has_place = false;
    bool is_left_out = false;
    struct tr_text line;
    while (next_line(&at, end, &line)) {
        line = without_margin(line);
        if (begins(line, PLACE)) {
            is_left_out = !is_whole && is_flytekits(line);
            has_place = has_place || !is_left_out;
        } else if (line.size > 0 && line.data[0] != ' ') {
            is_left_out = false;
        }
        if (!is_left_out) {
            add_line(words, line);
        }
    }
    return has_place;
}

static void add_raised(struct words *words, const char *at, const char *end)
{
    struct tr_text line;
    while (next_line(&at, end, &line)) {
        add_line(words, without_margin(line));
    }
}

int tri_flyte_trace_order(struct tr_arena *arena, const char *text, struct tr_text *ordered)
{
    /* What stands in either part is moved in, so that this is found once. */
    const char *middle = strncmp(text, BEGIN, sizeof BEGIN - 1) == 0 ? strstr(text, MIDDLE) : NULL;
    if (middle == NULL) {
        *ordered = tr_text_of(text);
        return 0;
    }
    size_t size = strlen(text);
    struct words words = {.data = tr_arena_alloc(arena, size + 2)};
    if (words.data == NULL) {
        return TR_MEMORY;
    }
    add_raised(&words, middle + sizeof MIDDLE - 1, text + size);
    size_t raised = words.size;
    const char *trace = text + sizeof BEGIN - 1;
    if (!add_trace(&words, trace, middle, false)) {
        words.size = raised;
        (void)add_trace(&words, trace, middle, true);
    }
    if (words.size >= 2 * raised &&
        memcmp(words.data + words.size - raised, words.data, raised) == 0) {
        words.size -= raised;
    }
    *ordered = (struct tr_text){.data = words.data, .size = words.size - (words.size > 0 ? 1 : 0)};
    return 0;
}
