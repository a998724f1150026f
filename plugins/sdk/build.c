/*
 * Building values whose maps and lists are counted while they grow.
 *
 * A map or list begins with a header of fixed width, into which its count is written when it ends;
 * readers take headers of every width. The scratch memory only grows, so a build that outgrows its
 * bytes is copied into twice as many.
 */
#include "plugins/sdk/json.h"

#define FIRST_BYTES 1024
#define HEADER_BYTES 5
#define MAP_TAG 0xdf
#define LIST_TAG 0xdd

/* No value that a plugin builds is larger: what carries it is not. */
#define BUILD_BYTES_MAX (1U << 20)

static void *room_of_task(void *owner, size_t size)
{
    return tr_task_scratch(owner, size);
}

static void *room_of_batch(void *owner, size_t size)
{
    struct tr_webapi_batch *batch = owner;
    return batch->api->scratch(batch, size);
}

struct tr_build tr_build_of_task(struct tr_task_context *task)
{
    return (struct tr_build){.owner = task, .room = room_of_task};
}

struct tr_build tr_build_of_batch(struct tr_webapi_batch *batch)
{
    return (struct tr_build){.owner = batch, .room = room_of_batch};
}

static void fail(struct tr_build *build, int error)
{
    if (build->error == 0) {
        build->error = error;
    }
}

/* Makes room for so many bytes more; false: the build has failed. */
static bool reserve(struct tr_build *build, size_t size)
{
    if (build->error != 0 || size > BUILD_BYTES_MAX - build->size) {
        fail(build, TR_LIMIT);
        return false;
    }
    if (build->capacity - build->size >= size) {
        return true;
    }
    size_t capacity = build->capacity == 0 ? FIRST_BYTES : build->capacity;
    while (capacity - build->size < size) {
        capacity *= 2;
    }
    uint8_t *bytes = build->room(build->owner, capacity);
    if (bytes == NULL) {
        fail(build, TR_MEMORY);
        return false;
    }
    if (build->size > 0) {
        memcpy(bytes, build->bytes, build->size);
    }
    build->bytes = bytes;
    build->capacity = capacity;
    return true;
}

/* A writer for at most `size` bytes at the end of the build, which `written` adds to it. */
static struct tr_writer writer_of(struct tr_build *build, size_t size)
{
    return reserve(build, size) ? tr_writer_of(build->bytes + build->size, size)
                                : tr_writer_of(NULL, 0);
}

static void written(struct tr_build *build, const struct tr_writer *writer)
{
    if (writer->error != 0) {
        fail(build, writer->error);
    } else if (build->error == 0) {
        build->size += tr_writer_size(writer);
    }
}

/* A value begins; in a map its name counts it, in a list it counts itself. */
static void count_item(struct tr_build *build)
{
    if (build->depth > 0 && !build->open[build->depth - 1].is_map) {
        build->open[build->depth - 1].count++;
    }
}

static void begin(struct tr_build *build, bool is_map)
{
    count_item(build);
    if (build->depth == TR_BUILD_DEPTH_MAX || !reserve(build, HEADER_BYTES)) {
        fail(build, TR_LIMIT);
        return;
    }
    build->open[build->depth].at = build->size;
    build->open[build->depth].count = 0;
    build->open[build->depth].is_map = is_map;
    build->depth++;
    build->size += HEADER_BYTES;
}

void tr_build_map(struct tr_build *build)
{
    begin(build, true);
}

void tr_build_list(struct tr_build *build)
{
    begin(build, false);
}

void tr_build_end(struct tr_build *build)
{
    if (build->error != 0) {
        return;
    }
    TR_ASSERT(build->depth > 0);
    build->depth--;
    uint8_t *header = build->bytes + build->open[build->depth].at;
    uint32_t count = build->open[build->depth].count;
    header[0] = build->open[build->depth].is_map ? MAP_TAG : LIST_TAG;
    for (unsigned i = 0; i < 4; i++) {
        header[1 + i] = (uint8_t)(count >> (24 - 8 * i));
    }
}

static void add_text(struct tr_build *build, struct tr_text text)
{
    struct tr_writer writer = writer_of(build, text.size + TR_BLOB_HEADER_BYTES_MAX);
    tr_write_text(&writer, text);
    written(build, &writer);
}

void tr_build_name(struct tr_build *build, struct tr_text name)
{
    if (build->error == 0) {
        TR_ASSERT(build->depth > 0 && build->open[build->depth - 1].is_map);
        build->open[build->depth - 1].count++;
        add_text(build, name);
    }
}

void tr_build_text(struct tr_build *build, struct tr_text text)
{
    count_item(build);
    add_text(build, text);
}

void tr_build_i64(struct tr_build *build, int64_t number)
{
    count_item(build);
    struct tr_writer writer = writer_of(build, TR_SCALAR_BYTES_MAX);
    tr_write_i64(&writer, number);
    written(build, &writer);
}

void tr_build_bool(struct tr_build *build, bool is_true)
{
    count_item(build);
    struct tr_writer writer = writer_of(build, 1);
    tr_write_bool(&writer, is_true);
    written(build, &writer);
}

void tr_build_value(struct tr_build *build, struct tr_bytes value)
{
    count_item(build);
    struct tr_writer writer = writer_of(build, value.size + 1);
    tr_write_any(&writer, value);
    written(build, &writer);
}

/* ------------------------------------------------------------------------------ laid over */

static bool is_named(const char *const *names, struct tr_text name)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (tr_text_equal(name, tr_text_of(names[i]))) {
            return true;
        }
    }
    return false;
}

static bool is_list_of_maps(struct tr_bytes value)
{
    struct tr_json_walk walk = tr_json_walk(value);
    bool is_list = tr_json_type(value) == TR_CODEC_ARRAY;
    while (is_list && tr_json_next(&walk)) {
        is_list = tr_json_type(walk.value) == TR_CODEC_MAP;
    }
    return is_list;
}

static void lay_maps(struct tr_build *build, struct tr_bytes base, struct tr_bytes over,
                     const char *const *paired);

/* Items one behind the other, or laid upon each other by their places. */
static void lay_lists(struct tr_build *build, struct tr_bytes base, struct tr_bytes over,
                      bool is_paired, const char *const *paired)
{
    struct tr_json_walk below = tr_json_walk(base);
    struct tr_json_walk above = tr_json_walk(over);
    tr_build_list(build);
    while (tr_json_next(&below)) {
        if (is_paired && tr_json_next(&above)) {
            lay_maps(build, below.value, above.value, paired);
        } else {
            tr_build_value(build, below.value);
        }
    }
    while (tr_json_next(&above)) {
        tr_build_value(build, above.value);
    }
    tr_build_end(build);
}

static void lay_member(struct tr_build *build, struct tr_text name, struct tr_bytes base,
                       struct tr_bytes over, const char *const *paired)
{
    tr_build_name(build, name);
    if (tr_json_type(base) == TR_CODEC_MAP && tr_json_type(over) == TR_CODEC_MAP) {
        lay_maps(build, base, over, paired);
    } else if (is_list_of_maps(base) && is_list_of_maps(over)) {
        lay_lists(build, base, over, is_named(paired, name), paired);
    } else {
        tr_build_value(build, over.size > 0 ? over : base);
    }
}

/* The member of a name that need not end with a zero. */
static struct tr_bytes member(struct tr_bytes map, struct tr_text name)
{
    struct tr_json_walk walk = tr_json_walk(map);
    while (tr_json_next(&walk)) {
        if (tr_text_equal(walk.name, name)) {
            return walk.value;
        }
    }
    return (struct tr_bytes){0};
}

static void lay_maps(struct tr_build *build, struct tr_bytes base, struct tr_bytes over,
                     const char *const *paired)
{
    struct tr_json_walk below = tr_json_walk(base);
    struct tr_json_walk above = tr_json_walk(over);
    tr_build_map(build);
    while (build->error == 0 && tr_json_next(&below)) {
        lay_member(build, below.name, below.value, member(over, below.name), paired);
    }
    while (build->error == 0 && tr_json_next(&above)) {
        if (member(base, above.name).size == 0) {
            lay_member(build, above.name, (struct tr_bytes){0}, above.value, paired);
        }
    }
    tr_build_end(build);
}

void tr_build_laid_over(struct tr_build *build, struct tr_bytes base, struct tr_bytes over,
                        const char *const *paired)
{
    if (tr_json_type(over) == TR_CODEC_MAP) {
        lay_maps(build, base, over, paired);
    } else {
        tr_build_value(build, base);
    }
}

/* -------------------------------------------------------------------------------- members */

void tr_build_member_text(struct tr_build *build, const char *name, struct tr_text text)
{
    if (text.size > 0) {
        tr_build_name(build, tr_text_of(name));
        tr_build_text(build, text);
    }
}

void tr_build_member_i64(struct tr_build *build, const char *name, int64_t number)
{
    tr_build_name(build, tr_text_of(name));
    tr_build_i64(build, number);
}

void tr_build_member_bool(struct tr_build *build, const char *name, bool is_true)
{
    tr_build_name(build, tr_text_of(name));
    tr_build_bool(build, is_true);
}

void tr_build_member_value(struct tr_build *build, const char *name, struct tr_bytes value)
{
    if (value.size > 0) {
        tr_build_name(build, tr_text_of(name));
        tr_build_value(build, value);
    }
}

void tr_build_member_map(struct tr_build *build, const char *name)
{
    tr_build_name(build, tr_text_of(name));
    tr_build_map(build);
}

void tr_build_member_list(struct tr_build *build, const char *name)
{
    tr_build_name(build, tr_text_of(name));
    tr_build_list(build);
}

/* ------------------------------------------------------------------------------ the result */

int tr_build_take(struct tr_build *build, struct tr_bytes *value)
{
    if (build->error == 0) {
        TR_ASSERT(build->depth == 0);
        *value = (struct tr_bytes){.data = build->bytes, .size = build->size};
    }
    return build->error;
}

int tr_build_json(struct tr_build *build, struct tr_webapi_batch *batch, struct tr_bytes *json)
{
    struct tr_bytes value;
    int error = tr_build_take(build, &value);
    return error != 0 ? error : batch->api->write_json(batch, value, json);
}
