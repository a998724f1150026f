/*
 * Ages, times and failures in words.
 */
#include "deploy/common/show.h"

#include <string.h>

#include "actors/graph/document/moment.h"
#include "schemas/engine/flow.h"

/* Characters that no shell looks at within a word. */
#define PLAIN                    \
    "abcdefghijklmnopqrstuvwxyz" \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,"

const char *tr_phase_shown(const struct tr_execution *row)
{
    /* A pause is one of the graph, which runs in this phase. */
    bool is_paused = row->is_paused && row->phase == TR_EXECUTION_RUNNING;
    return is_paused ? "running, paused" : tr_execution_phase_word(row->phase);
}

void tr_age_print(uint64_t milliseconds, struct tr_buffer *buffer)
{
    static const struct {
        uint64_t below_s;
        uint64_t unit_s;
        char letter;
    } units[] = {{120, 1, 's'}, {120 * 60, 60, 'm'}, {48 * 3600, 3600, 'h'}, {0, 86400, 'd'}};
    uint64_t seconds = milliseconds / 1000;
    size_t i = 0;
    while (units[i].below_s != 0 && seconds >= units[i].below_s) {
        i++;
    }
    tr_buffer_print(buffer, "%llu%c", (unsigned long long)(seconds / units[i].unit_s),
                    units[i].letter);
}

void tr_time_print(uint64_t time_ms, struct tr_buffer *buffer)
{
    if (time_ms == 0) {
        tr_buffer_add_string(buffer, "-");
    } else {
        tr_moment_print((struct tr_moment){.seconds = (int64_t)(time_ms / 1000)}, buffer);
    }
}

void tr_instant_print(uint64_t time_ms, struct tr_buffer *buffer)
{
    tr_moment_print((struct tr_moment){.seconds = (int64_t)(time_ms / 1000)}, buffer);
    if (buffer->error == 0) {
        tr_buffer_cut(buffer, buffer->size - 1); /* the Z */
        tr_buffer_print(buffer, ".%03uZ", (unsigned)(time_ms % 1000));
    }
}

uint64_t tr_took_ms(uint64_t created_ms, uint64_t started_ms, uint64_t ended_ms, uint64_t now_ms)
{
    uint64_t begin_ms = started_ms != 0 ? started_ms : created_ms;
    uint64_t end_ms = ended_ms != 0 ? ended_ms : now_ms;
    return begin_ms == 0 || end_ms < begin_ms ? 0 : end_ms - begin_ms;
}

void tr_line_print(struct tr_text text, uint32_t width, struct tr_buffer *buffer)
{
    size_t begin = buffer->size;
    uint32_t columns = 0;
    if (width != 0 && text.size > 4 * ((size_t)width + 1)) {
        text.size = 4 * ((size_t)width + 1); /* so many bytes have a character too much */
    }
    tr_buffer_add_visible(buffer, text);
    for (size_t i = begin; width != 0 && i < buffer->size; i++) {
        columns += (buffer->data[i] & 0xc0) != 0x80 ? 1 : 0;
        if (columns > width) {
            tr_buffer_cut(buffer, i);
            tr_buffer_add_string(buffer, "\u2026");
            return;
        }
    }
}

void tr_lines_print(struct tr_text text, uint32_t indent, struct tr_buffer *buffer)
{
    while (true) {
        const char *end = text.size == 0 ? NULL : memchr(text.data, '\n', text.size);
        size_t size = end == NULL ? text.size : (size_t)(end - text.data);
        tr_buffer_add_visible(buffer, (struct tr_text){.data = text.data, .size = size});
        if (end == NULL) {
            return;
        }
        tr_buffer_print(buffer, "\n%*s", (int)indent, "");
        text = (struct tr_text){.data = end + 1, .size = text.size - size - 1};
    }
}

void tr_word_print(struct tr_text word, struct tr_buffer *buffer)
{
    bool is_plain = word.size > 0;
    for (size_t i = 0; i < word.size; i++) {
        is_plain = is_plain && strchr(PLAIN, word.data[i]) != NULL;
    }
    tr_buffer_add_string(buffer, is_plain ? "" : "'");
    for (size_t i = 0; i < word.size; i++) {
        bool is_quote = word.data[i] == '\'';
        tr_buffer_add(buffer, is_quote ? "'\\''" : &word.data[i], is_quote ? 4 : 1);
    }
    tr_buffer_add_string(buffer, is_plain ? "" : "'");
}

bool tr_count_read(const char *word, uint64_t *count)
{
    uint64_t value = 0;
    size_t digits = 0;
    for (; word[digits] >= '0' && word[digits] <= '9' && digits < 18; digits++) {
        value = 10 * value + (uint64_t)(word[digits] - '0');
    }
    if (digits == 0 || word[digits] != '\0') {
        return false;
    }
    *count = value;
    return true;
}

/* ----------------------------------------------------------------------- documents */

void tr_document_element(struct tr_document *document, const char *name, uint64_t element)
{
    if (element == TR_ELEMENT_NONE) {
        tr_document_null(document, name);
    } else {
        tr_document_number(document, name, (int64_t)element);
    }
}
