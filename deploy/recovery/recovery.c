/*
 * Plans of recoveries: packed as messages are, [version, [number, ...], [path again, ...],
 * [path open, ...], [[path, input, slot], ...]].
 */
#include "deploy/recovery/recovery.h"

#include <stdio.h>
#include <string.h>

#include "deploy/common/file.h"
#include "deploy/inputs/relocate.h"
#include "runtime/store_blobs.h"
#include "schemas/codec/error.h"

#define PLAN_VERSION 1

/* -------------------------------------------------------------------------- paths */

int tr_recovery_compare(struct tr_text a, struct tr_text b)
{
    return tr_text_order(a, b);
}

/* The first path that is not before `path` with `letter` behind it (0: none). */
static uint32_t lower_bound(const struct tr_text *paths, uint32_t count, struct tr_text path,
                            char letter)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct tr_text found = paths[middle];
        struct tr_text front = {.data = found.data,
                                .size = found.size < path.size ? found.size : path.size};
        int order = tr_recovery_compare(front, path);
        if (order == 0 && letter != 0) {
            /* By the byte, as paths are sorted: a char may be signed. */
            bool is_before = found.size == path.size || (uint8_t)found.data[path.size] < letter;
            order = is_before ? -1 : 1;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return low;
}

static bool has_path(const struct tr_text *paths, uint32_t count, struct tr_text path)
{
    uint32_t at = lower_bound(paths, count, path, 0);
    return at < count && tr_text_equal(paths[at], path);
}

/* Whether a path, or one that it lies in, is among them. */
static bool has_around(const struct tr_text *paths, uint32_t count, struct tr_text path)
{
    for (size_t size = 1; size <= path.size; size++) {
        bool is_end = size == path.size || path.data[size] == '/' || path.data[size] == '[';
        struct tr_text front = {.data = path.data, .size = size};
        if (is_end && has_path(paths, count, front)) {
            return true;
        }
    }
    return false;
}

/* Whether something inside a path is among them. */
static bool has_inside(const struct tr_text *paths, uint32_t count, struct tr_text path)
{
    static const char letters[] = {'/', '['};
    for (size_t i = 0; i < sizeof letters; i++) {
        uint32_t at = lower_bound(paths, count, path, letters[i]);
        if (at < count && paths[at].size > path.size &&
            memcmp(paths[at].data, path.data, path.size) == 0 &&
            paths[at].data[path.size] == letters[i]) {
            return true;
        }
    }
    return false;
}

/* Whether an input of a node inside a path is edited, so that what runs anew has to ask. */
static bool has_edits_inside(const struct tr_recovery *recovery, struct tr_text path)
{
    bool has = false;
    for (uint32_t i = 0; i < recovery->edit_count; i++) {
        struct tr_text edited = recovery->edits[i].path;
        has = has || (edited.size > path.size && memcmp(edited.data, path.data, path.size) == 0 &&
                      (edited.data[path.size] == '/' || edited.data[path.size] == '['));
    }
    return has;
}

enum tr_recovery_way tr_recovery_way(const struct tr_recovery *recovery, struct tr_text path)
{
    if (has_around(recovery->again, recovery->again_count, path)) {
        return has_edits_inside(recovery, path) ? TR_RECOVERY_OPEN : TR_RECOVERY_ANEW;
    }
    bool is_open = has_path(recovery->open, recovery->open_count, path) ||
                   has_inside(recovery->again, recovery->again_count, path) ||
                   has_inside(recovery->open, recovery->open_count, path);
    return is_open ? TR_RECOVERY_OPEN : TR_RECOVERY_KEPT;
}

const struct tr_recovery_edit *tr_recovery_edits(const struct tr_recovery *recovery,
                                                 struct tr_text path)
{
    for (uint32_t i = 0; i < recovery->edit_count; i++) {
        if (tr_text_equal(recovery->edits[i].path, path)) {
            return &recovery->edits[i];
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------------ writing */

static void pack_paths(const struct tr_text *paths, uint32_t count, struct tr_buffer *buffer)
{
    tr_buffer_array(buffer, count);
    for (uint32_t i = 0; i < count; i++) {
        tr_buffer_text_value(buffer, paths[i]);
    }
}

static void pack(const struct tr_recovery *recovery, struct tr_buffer *buffer)
{
    tr_buffer_array(buffer, 5);
    tr_buffer_u64(buffer, PLAN_VERSION);
    tr_buffer_array(buffer, recovery->from_count);
    for (uint32_t i = 0; i < recovery->from_count; i++) {
        tr_buffer_u64(buffer, recovery->from[i]);
    }
    pack_paths(recovery->again, recovery->again_count, buffer);
    pack_paths(recovery->open, recovery->open_count, buffer);
    tr_buffer_array(buffer, recovery->edit_count);
    for (uint32_t i = 0; i < recovery->edit_count; i++) {
        const struct tr_recovery_edit *edit = &recovery->edits[i];
        tr_buffer_array(buffer, 3);
        tr_buffer_text_value(buffer, edit->path);
        tr_buffer_text_value(buffer, edit->input);
        tr_buffer_add(buffer, edit->slot.data, edit->slot.size);
    }
}

int tr_recovery_write(const struct tr_recovery *recovery, const char *store_folder,
                      struct tr_arena *arena, struct tr_text *uri, char *explain)
{
    struct tri_blobs *blobs = NULL;
    struct tri_blob blob;
    struct tr_buffer bytes;
    tr_buffer_init(&bytes, 0);
    pack(recovery, &bytes);
    int error = bytes.error;
    if (error == 0) {
        error = tri_store_blobs_open_beside(store_folder, &blobs);
    }
    const char *words = tr_error_text(error);
    if (error == 0) {
        error =
            tri_blob_write(blobs, tr_text_of("recovery"), 0, tr_buffer_bytes(&bytes), true, &blob);
        words = tri_blobs_words(blobs);
    }
    if (error == 0) {
        *uri = tr_arena_text(arena, tr_text_of(blob.uri));
        error = arena->error;
    } else {
        snprintf(explain, TR_RECOVERY_EXPLAIN_BYTES,
                 "the plan of the recovery cannot be written to %.200s/blobs: %.200s", store_folder,
                 words);
    }
    tri_blobs_close(blobs);
    tr_buffer_fini(&bytes);
    return error;
}

/* ------------------------------------------------------------------------ reading */

/* The count of a list that holds so many values at least, or a failure of the cursor. */
static uint32_t read_count(struct tr_cursor *cursor)
{
    uint32_t count = tr_read_array(cursor);
    if (count > tr_cursor_left(cursor)) {
        tr_cursor_fail(cursor, TR_MALFORMED);
    }
    return cursor->error == 0 ? count : 0;
}

static void read_paths(struct tr_cursor *cursor, struct tr_arena *arena, const struct tr_text **out,
                       uint32_t *count)
{
    *count = read_count(cursor);
    struct tr_text *paths = tr_arena_array(arena, *count, sizeof *paths);
    for (uint32_t i = 0; paths != NULL && i < *count; i++) {
        paths[i] = tr_read_text(cursor);
    }
    *out = paths;
}

static void read_edits(struct tr_cursor *cursor, struct tr_arena *arena,
                       struct tr_recovery *recovery)
{
    recovery->edit_count = read_count(cursor);
    struct tr_recovery_edit *edits = tr_arena_array(arena, recovery->edit_count, sizeof *edits);
    for (uint32_t i = 0; edits != NULL && i < recovery->edit_count; i++) {
        if (tr_read_array(cursor) != 3) {
            tr_cursor_fail(cursor, TR_MALFORMED);
        }
        edits[i].path = tr_read_text(cursor);
        edits[i].input = tr_read_text(cursor);
        edits[i].slot = tr_read_any(cursor);
    }
    recovery->edits = edits;
}

static bool are_sorted(const struct tr_text *paths, uint32_t count)
{
    uint32_t i = 1;
    while (i < count && tr_recovery_compare(paths[i - 1], paths[i]) <= 0) {
        i++;
    }
    return i >= count && (count == 0 || paths[0].size > 0);
}

/* What is looked up by halves must be in order: else a plan would say KEPT of what it names. */
static bool is_in_order(const struct tr_recovery *recovery)
{
    const struct tr_recovery_edit *edits = recovery->edits;
    uint32_t i = 1;
    while (i < recovery->edit_count && tr_recovery_compare(edits[i - 1].path, edits[i].path) <= 0) {
        i++;
    }
    return i >= recovery->edit_count && are_sorted(recovery->again, recovery->again_count) &&
           are_sorted(recovery->open, recovery->open_count);
}

int tr_recovery_unpack(struct tr_bytes bytes, struct tr_arena *arena, struct tr_recovery *out)
{
    struct tr_recovery plan = {.from_count = 0};
    struct tr_cursor cursor = tr_cursor_of(bytes);
    uint32_t parts = tr_read_array(&cursor);
    uint64_t version = tr_read_u64(&cursor);
    if (cursor.error == 0 && version > PLAN_VERSION) {
        return TR_VERSION;
    }
    plan.from_count = read_count(&cursor);
    if (parts != 5 || plan.from_count > TR_RECOVERY_DEPTH_MAX) {
        return TR_MALFORMED;
    }
    for (uint32_t i = 0; i < plan.from_count; i++) {
        plan.from[i] = tr_read_u64(&cursor);
    }
    read_paths(&cursor, arena, &plan.again, &plan.again_count);
    read_paths(&cursor, arena, &plan.open, &plan.open_count);
    read_edits(&cursor, arena, &plan);
    if (arena->error != 0) {
        return arena->error;
    }
    if (cursor.error != 0 || tr_cursor_left(&cursor) != 0 || !is_in_order(&plan)) {
        return TR_MALFORMED;
    }
    *out = plan;
    return 0;
}

int tr_recovery_read(const char *store_folder, struct tr_text uri, struct tr_arena *arena,
                     struct tr_recovery *out, char *explain)
{
    struct tr_recovery recovery = {.from_count = 0};
    struct tr_bytes mapped = {.size = 0};
    char words[TR_BLOB_WORDS_BYTES_MAX];
    int error = tr_relocate_map(store_folder, uri, NULL, words, &mapped);
    if (error == 0) {
        struct tr_bytes bytes = tr_arena_bytes(arena, mapped);
        error = arena->error;
        if (error == 0) {
            error = tr_recovery_unpack(bytes, arena, &recovery);
        }
        tr_file_unmap(mapped);
    }
    if (error == 0) {
        *out = recovery;
    } else {
        snprintf(explain, TR_RECOVERY_EXPLAIN_BYTES,
                 "the plan of the recovery at %.*s cannot be read: %.300s",
                 (int)(uri.size < 150 ? uri.size : 150), uri.data,
                 words[0] != '\0' ? words : tr_error_text(error));
    }
    return error;
}
