/*
 * Checking a task's `config` against the keys that its plugin knows.
 */
#include <stdarg.h>
#include <stdio.h>

#include "plugins/sdk/plugin.h"
#include "schemas/codec/spelling.h"

int tr_config_refuse(char *problem, size_t problem_size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(problem, problem_size, format, arguments);
    va_end(arguments);
    return TR_INVALID;
}

/* What the config language calls a type of the codec's. */
static const char *noun(enum tr_codec_type type)
{
    static const char *const nouns[] = {
        [TR_CODEC_NONE] = "nothing",
        [TR_CODEC_NIL] = "null",
        [TR_CODEC_BOOL] = "true or false",
        [TR_CODEC_UNSIGNED] = "a whole number, 0 or more",
        [TR_CODEC_SIGNED] = "a whole number",
        [TR_CODEC_F64] = "a number",
        [TR_CODEC_TEXT] = "text",
        [TR_CODEC_BYTES] = "bytes",
        [TR_CODEC_ARRAY] = "a list",
        [TR_CODEC_MAP] = "a mapping",
    };
    return type < TR_COUNT_OF(nouns) ? nouns[type] : "something else";
}

static struct tr_text key_at(const void *self, uint32_t position)
{
    return tr_text_of(((const struct tr_config_key *)self)[position].name);
}

/* Says that there is no such key, and names the nearest one, or all if none is near. */
static int refuse_key(const char *place, struct tr_text name, const struct tr_config_key *keys,
                      size_t key_count, char *problem, size_t problem_size)
{
    int shown = (int)(name.size < 60 ? name.size : 60);
    struct tr_text nearest = tr_spelling_nearest(name, key_at, keys, (uint32_t)key_count);
    if (nearest.size > 0) {
        return tr_config_refuse(problem, problem_size, "%s has no key '%.*s'\ndid you mean '%.*s'?",
                                place, shown, name.data, (int)nearest.size, nearest.data);
    }
    char list[512] = "";
    size_t size = 0;
    for (size_t i = 0; i < key_count && size < sizeof list; i++) {
        int added = snprintf(list + size, sizeof list - size, "%s%s",
                             i == 0 ? "\nits keys are " : ", ", keys[i].name);
        size += added > 0 ? (size_t)added : 0;
    }
    return tr_config_refuse(problem, problem_size, "%s has no key '%.*s'%s", place, shown,
                            name.data, list);
}

static int check_key(const char *place, struct tr_text name, enum tr_codec_type type,
                     const struct tr_config_key *keys, size_t key_count, char *problem,
                     size_t problem_size)
{
    for (size_t i = 0; i < key_count; i++) {
        if (!tr_text_equal(name, tr_text_of(keys[i].name))) {
            continue;
        }
        return keys[i].type == type || keys[i].type == TR_CODEC_NONE
                   ? 0
                   : tr_config_refuse(problem, problem_size, "%s.%s has to be %s, not %s", place,
                                      keys[i].name, noun(keys[i].type), noun(type));
    }
    return refuse_key(place, name, keys, key_count, problem, problem_size);
}

int tr_config_check_as(const char *place, struct tr_bytes config, const struct tr_config_key *keys,
                       size_t key_count, char *problem, size_t problem_size)
{
    struct tr_cursor cursor = tr_cursor_of(config);
    uint32_t count = config.size == 0 ? 0 : tr_read_map(&cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_text name = tr_read_text(&cursor);
        enum tr_codec_type type = tr_peek(&cursor);
        (void)tr_read_any(&cursor);
        if (cursor.error != 0) {
            break;
        }
        int error = check_key(place, name, type, keys, key_count, problem, problem_size);
        if (error != 0) {
            return error;
        }
    }
    if (cursor.error != 0) {
        return tr_config_refuse(problem, problem_size, "%s has to be a mapping", place);
    }
    return 0;
}

int tr_config_check(struct tr_bytes config, const struct tr_config_key *keys, size_t key_count,
                    char *problem, size_t problem_size)
{
    return tr_config_check_as("config", config, keys, key_count, problem, problem_size);
}
