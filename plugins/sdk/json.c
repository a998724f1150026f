/*
 * Reading values of unknown shape, forgivingly. Every function asks what is there before it reads.
 */
#include "plugins/sdk/json.h"

#include <stdlib.h>

#define DIGITS_MAX 20

enum tr_codec_type tr_json_type(struct tr_bytes value)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    return value.size == 0 ? TR_CODEC_NONE : tr_peek(&cursor);
}

struct tr_text tr_json_text(struct tr_bytes value)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    if (tr_json_type(value) != TR_CODEC_TEXT) {
        return (struct tr_text){0};
    }
    struct tr_text text = tr_read_text(&cursor);
    return cursor.error == 0 ? text : (struct tr_text){0};
}

static int64_t number_of(struct tr_text text, int64_t otherwise)
{
    char digits[DIGITS_MAX + 1];
    char *end;
    if (text.size == 0 || text.size > DIGITS_MAX) {
        return otherwise;
    }
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    bool is_number = digits[0] == '-' || (digits[0] >= '0' && digits[0] <= '9');
    int64_t number = strtoll(digits, &end, 10);
    return is_number && end == digits + text.size ? number : otherwise;
}

int64_t tr_json_i64(struct tr_bytes value, int64_t otherwise)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    enum tr_codec_type type = tr_json_type(value);
    if (type == TR_CODEC_TEXT) {
        return number_of(tr_json_text(value), otherwise);
    }
    if (type != TR_CODEC_UNSIGNED && type != TR_CODEC_SIGNED) {
        return otherwise;
    }
    int64_t number = tr_read_i64(&cursor);
    return cursor.error == 0 ? number : otherwise;
}

bool tr_json_bool(struct tr_bytes value)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    return tr_json_type(value) == TR_CODEC_BOOL
               ? tr_read_bool(&cursor)
               : tr_text_equal(tr_json_text(value), tr_text_of("true"));
}

int64_t tr_json_word(struct tr_bytes value, const struct tr_json_word *words, size_t count,
                     int64_t otherwise)
{
    struct tr_text text = tr_json_text(value);
    int64_t number = tr_json_i64(value, INT64_MIN);
    for (size_t i = 0; i < count; i++) {
        if (number == words[i].number || tr_text_equal(text, tr_text_of(words[i].text))) {
            return words[i].number;
        }
    }
    return otherwise;
}

struct tr_json_walk tr_json_walk(struct tr_bytes value)
{
    struct tr_json_walk walk = {.cursor = tr_cursor_of(value)};
    enum tr_codec_type type = tr_json_type(value);
    walk.is_map = type == TR_CODEC_MAP;
    if (walk.is_map) {
        walk.left = tr_read_map(&walk.cursor);
    } else if (type == TR_CODEC_ARRAY) {
        walk.left = tr_read_array(&walk.cursor);
    }
    return walk;
}

bool tr_json_next(struct tr_json_walk *walk)
{
    if (walk->left == 0 || walk->cursor.error != 0) {
        return false;
    }
    walk->left--;
    walk->name = walk->is_map ? tr_read_text(&walk->cursor) : (struct tr_text){0};
    walk->value = tr_read_any(&walk->cursor);
    return walk->cursor.error == 0;
}

struct tr_bytes tr_json_get(struct tr_bytes value, const char *name)
{
    struct tr_json_walk walk = tr_json_walk(value);
    struct tr_text wanted = tr_text_of(name);
    while (walk.is_map && tr_json_next(&walk)) {
        if (tr_text_equal(walk.name, wanted)) {
            return walk.value;
        }
    }
    return (struct tr_bytes){0};
}
