/*
 * Values for the verbs of a Web API plugin: reading what api->read_json gives, building what
 * api->write_json takes, so that requests and responses read as sentences.
 *
 *     struct tr_bytes job = tr_json_get(response, "job");
 *     report.handle = tr_json_text(tr_json_get(job, "id"));
 *
 *     struct tr_build build = tr_build_of_batch(batch);
 *     tr_build_map(&build);
 *     tr_build_member_text(&build, "id", item->handle);
 *     tr_build_end(&build);
 *     return tr_build_json(&build, batch, &request->body);
 *
 * Readers take any bytes: what is missing, or is another thing than was asked for, reads as empty
 * or as what was given for it. Back ends write numbers as texts, enums as either, and leave zeros
 * out; a reader that is strict about that finds nothing else.
 */
#ifndef TR_PLUGINS_SDK_JSON_H
#define TR_PLUGINS_SDK_JSON_H

#include "plugins/sdk/plugin.h"

/* ---------------------------------------------------------------------------------- reading */

/* A member of a map; empty bytes where it is none, or has none of that name. */
struct tr_bytes tr_json_get(struct tr_bytes value, const char *name);

/* The text of a value; empty where it is none. A view into it. */
struct tr_text tr_json_text(struct tr_bytes value);

/* A whole number, or the text of one; `otherwise` for anything else. */
int64_t tr_json_i64(struct tr_bytes value, int64_t otherwise);

/* True and "true" are; nothing else is. */
bool tr_json_bool(struct tr_bytes value);

/* What `value` is; TR_CODEC_NONE where there is nothing. */
enum tr_codec_type tr_json_type(struct tr_bytes value);

/* The number of a text in a table, or of a number that is one of the table's; else `otherwise`. */
struct tr_json_word {
    const char *text;
    int64_t number;
};
int64_t tr_json_word(struct tr_bytes value, const struct tr_json_word *words, size_t count,
                     int64_t otherwise);

/*
 * Walks over a list or a map; anything else has nothing in it.
 *
 *     struct tr_json_walk walk = tr_json_walk(value);
 *     while (tr_json_next(&walk)) { ... walk.name, walk.value ... }
 */
struct tr_json_walk {
    struct tr_text name; /* in a map */
    struct tr_bytes value;

    /* private */
    struct tr_cursor cursor;
    uint32_t left;
    bool is_map;
};
struct tr_json_walk tr_json_walk(struct tr_bytes value);
bool tr_json_next(struct tr_json_walk *walk);

/* --------------------------------------------------------------------------------- building */

/*
 * A value that grows in scratch memory: maps and lists are opened and ended, and the caller need
 * not count their members. The first fault sticks (TR_MEMORY, TR_LIMIT, TR_INVALID: no UTF-8),
 * after which nothing more is built, so that one asks once, at the end.
 */
#define TR_BUILD_DEPTH_MAX 32
struct tr_build {
    int error;

    /* private */
    void *owner;
    void *(*room)(void *owner, size_t size);
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    uint32_t depth;
    struct {
        size_t at;
        uint32_t count;
        bool is_map;
    } open[TR_BUILD_DEPTH_MAX];
};

/* A build in a task's scratch memory, or in a batch's. */
struct tr_build tr_build_of_task(struct tr_task_context *task);
struct tr_build tr_build_of_batch(struct tr_webapi_batch *batch);

/* Opens and ends a map or a list. */
void tr_build_map(struct tr_build *build);
void tr_build_list(struct tr_build *build);
void tr_build_end(struct tr_build *build);

/* The name of the next member of a map; its value follows. */
void tr_build_name(struct tr_build *build, struct tr_text name);

void tr_build_text(struct tr_build *build, struct tr_text text);
void tr_build_i64(struct tr_build *build, int64_t number);
void tr_build_bool(struct tr_build *build, bool is_true);

/* Copies a value as it is; empty bytes are null. */
void tr_build_value(struct tr_build *build, struct tr_bytes value);

/*
 * `base` with `over` laid upon it: maps by their members; lists of maps one behind the other, but
 * those below one of the names in `paired` (ended by NULL) by their places; else `over` counts.
 */
void tr_build_laid_over(struct tr_build *build, struct tr_bytes base, struct tr_bytes over,
                        const char *const *paired);

/* Name and value at once. An empty text is left out, as an empty value is. */
void tr_build_member_text(struct tr_build *build, const char *name, struct tr_text text);
void tr_build_member_i64(struct tr_build *build, const char *name, int64_t number);
void tr_build_member_bool(struct tr_build *build, const char *name, bool is_true);
void tr_build_member_value(struct tr_build *build, const char *name, struct tr_bytes value);
void tr_build_member_map(struct tr_build *build, const char *name);
void tr_build_member_list(struct tr_build *build, const char *name);

/* What was built, once all is ended; it lives as long as the scratch memory. Errors: its first. */
TR_MUST_USE int tr_build_take(struct tr_build *build, struct tr_bytes *value);

/* The same as JSON, for the body of a request. */
TR_MUST_USE int tr_build_json(struct tr_build *build, struct tr_webapi_batch *batch,
                              struct tr_bytes *json);

#endif
