/*
 * Changing paths in packed values: everything is copied as it stands, but for texts that are paths
 * and slots whose literal lies elsewhere.
 */
#include "deploy/inputs/relocate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/value/note.h"
#include "actors/graph/value/slot.h"
#include "deploy/common/file.h"
#include "runtime/memory.h"
#include "runtime/store_blobs.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/blob_uri.h"

#define BLOBS "/blobs/"
#define SCHEME "file://"

static int copy(const struct tr_relocation *paths, struct tr_cursor *cursor, uint32_t notes,
                struct tr_buffer *buffer);

static bool take(struct tr_text *text, struct tr_text prefix)
{
    if (text->size < prefix.size || memcmp(text->data, prefix.data, prefix.size) != 0) {
        return false;
    }
    text->data += prefix.size;
    text->size -= prefix.size;
    return true;
}

/* Cuts a path of another store's blobs down to what lies here, too: "/blobs/DIGEST...". */
static bool take_any(struct tr_text *text, struct tr_text to)
{
    char home[PATH_MAX];
    const char *found = text->size == 0 || text->data[0] != '/'
                            ? NULL
                            : memmem(text->data, text->size, BLOBS, strlen(BLOBS));
    if (found == NULL) {
        return false;
    }
    struct tr_text rest = {found, text->size - (size_t)(found - text->data)};
    int size =
        snprintf(home, sizeof home, "%.*s%.*s", (int)to.size, to.data, (int)rest.size, rest.data);
    bool is_own = text->size > to.size && memcmp(text->data, to.data, to.size) == 0 &&
                  found == text->data + to.size;
    *text = rest;
    return !is_own && size > 0 && (size_t)size < sizeof home && access(home, F_OK) == 0;
}

/*
 * The path in a store of a blob, by its name; `is_here` says whether it is there, or has come.
 * Without words an error means that it is not.
 */
static int find_home(const struct tr_relocation *paths, struct tr_text name, char home[PATH_MAX],
                     bool *is_here)
{
    char folder[PATH_MAX];
    int error = 0;
    int size = name.size == 0 ? -1
                              : snprintf(home, PATH_MAX, "%.*s" BLOBS "%.*s", (int)paths->to.size,
                                         paths->to.data, (int)name.size, name.data);
    bool is_name = size > 0 && size < PATH_MAX;
    if (is_name && access(home, F_OK) != 0) {
        snprintf(folder, sizeof folder, "%.*s", (int)paths->to.size, paths->to.data);
        error = tri_store_blobs_bring(folder, name, paths->turn, paths->words);
    }
    *is_here = is_name && error == 0 && access(home, F_OK) == 0;
    return paths->words == NULL ? 0 : error;
}

/* The path of a blob by its URI, from the "/blobs/" on, if it lies here. */
static int add_home(const struct tr_relocation *paths, struct tr_text uri, struct tr_buffer *buffer,
                    bool *is_added)
{
    char home[PATH_MAX];
    struct tr_text name = tr_blob_uri_name(uri);
    *is_added = false;
    int error = name.size == 0 || paths->from.size > 0 ? 0 : find_home(paths, name, home, is_added);
    if (*is_added) {
        tr_buffer_add_string(buffer, home);
    }
    return error;
}

static bool take_folder(const struct tr_relocation *paths, struct tr_text *text)
{
    return paths->from.size == 0 ? take_any(text, paths->to) : take(text, paths->from);
}

/* The text with its path changed, at the end of `buffer`, if it is one of that store. */
static int change(const struct tr_relocation *paths, struct tr_text text, struct tr_buffer *buffer,
                  bool *is_changed)
{
    int error = add_home(paths, text, buffer, is_changed);
    if (error != 0 || *is_changed) {
        return error;
    }
    bool has_scheme = take(&text, tr_text_of(SCHEME));
    bool is_blob = take_folder(paths, &text) && text.size > strlen(BLOBS) &&
                   memcmp(text.data, BLOBS, strlen(BLOBS)) == 0;
    if (is_blob) {
        tr_buffer_add_string(buffer, has_scheme ? SCHEME : "");
        tr_buffer_add_text(buffer, paths->to);
        tr_buffer_add_text(buffer, text);
    }
    *is_changed = is_blob;
    return 0;
}

static int copy_text(const struct tr_relocation *paths, struct tr_cursor *cursor,
                     struct tr_buffer *buffer)
{
    struct tr_cursor whole = *cursor;
    struct tr_bytes bytes = tr_read_any(&whole);
    struct tr_buffer changed;
    bool is_changed;
    tr_buffer_init(&changed, 0);
    int error = change(paths, tr_read_text_unchecked(cursor), &changed, &is_changed);
    if (is_changed) {
        tr_buffer_text_value(buffer, tr_buffer_text(&changed));
    } else {
        tr_buffer_add(buffer, bytes.data, bytes.size);
    }
    error = error != 0 ? error : changed.error;
    tr_buffer_fini(&changed);
    return error != 0 ? error : cursor->error;
}

/*
 * A value with a note: the note stays, and the value behind it is copied as any other. What lies in
 * an extension was not looked at before, so that it is now, and `notes` bounds how many lie in each
 * other.
 */
static int copy_noted(const struct tr_relocation *paths, struct tr_cursor *cursor, uint32_t notes,
                      struct tr_buffer *buffer)
{
    struct tr_note note;
    size_t begin = buffer->size;
    if (!tr_read_note(cursor, &note)) {
        return TR_MALFORMED;
    }
    struct tr_cursor check = *cursor;
    (void)tr_read_any(&check);
    int error = check.error != 0               ? TR_MALFORMED
                : notes > TR_LITERAL_DEPTH_MAX ? TR_LIMIT
                                               : copy(paths, cursor, notes + 1, buffer);
    if (error == 0) {
        tr_write_note(buffer, begin, &note);
    }
    return error;
}

static bool is_noted(struct tr_cursor cursor)
{
    int8_t type = 0;
    (void)tr_read_extension(&cursor, &type);
    return cursor.error == 0 && type == TR_NOTED_EXTENSION;
}

static int copy_extension(const struct tr_relocation *paths, struct tr_cursor *cursor,
                          uint32_t notes, struct tr_buffer *buffer)
{
    if (is_noted(*cursor)) {
        return copy_noted(paths, cursor, notes, buffer);
    }
    struct tr_bytes bytes = tr_read_any(cursor);
    struct tr_offloaded where;
    struct tr_buffer changed;
    tr_buffer_init(&changed, 0);
    bool is_changed = false;
    int error = cursor->error == 0 && tr_slot_is_offloaded(bytes, &where)
                    ? change(paths, where.uri, &changed, &is_changed)
                    : 0;
    if (is_changed) {
        where.uri = tr_buffer_text(&changed);
        tr_slot_write_offloaded(buffer, &where);
    } else {
        tr_buffer_add(buffer, bytes.data, bytes.size);
    }
    error = error != 0 ? error : changed.error;
    tr_buffer_fini(&changed);
    return error != 0 ? error : cursor->error;
}

static int copy_items(const struct tr_relocation *paths, struct tr_cursor *cursor, uint64_t count,
                      uint32_t notes, struct tr_buffer *buffer)
{
    int error = cursor->error;
    for (uint64_t i = 0; error == 0 && i < count; i++) {
        error = copy(paths, cursor, notes, buffer);
    }
    return error;
}

static int copy(const struct tr_relocation *paths, struct tr_cursor *cursor, uint32_t notes,
                struct tr_buffer *buffer)
{
    struct tr_bytes bytes;
    uint32_t count;
    switch (tr_peek(cursor)) {
    case TR_CODEC_ARRAY:
        count = tr_read_array(cursor);
        tr_buffer_array(buffer, count);
        return copy_items(paths, cursor, count, notes, buffer);
    case TR_CODEC_MAP:
        count = tr_read_map(cursor);
        tr_buffer_map(buffer, count);
        return copy_items(paths, cursor, 2 * (uint64_t)count, notes, buffer);
    case TR_CODEC_TEXT:
        return copy_text(paths, cursor, buffer);
    case TR_CODEC_EXTENSION:
        return copy_extension(paths, cursor, notes, buffer);
    default:
        bytes = tr_read_any(cursor);
        tr_buffer_add(buffer, bytes.data, bytes.size);
        return cursor->error;
    }
}

int tr_relocate_value(const struct tr_relocation *paths, struct tr_bytes value,
                      struct tr_buffer *buffer)
{
    struct tr_cursor check = tr_cursor_of(value);
    struct tr_cursor cursor = check;
    (void)tr_read_any(&check); /* no deeper than TR_NESTING_MAX */
    int error = check.error != 0             ? check.error
                : tr_cursor_left(&check) > 0 ? TR_MALFORMED
                                             : copy(paths, &cursor, 0, buffer);
    return error != 0 ? error : buffer->error;
}

bool tr_relocate_has_any(struct tr_bytes value)
{
    return value.size > 0 &&
           (memmem(value.data, value.size, BLOBS, strlen(BLOBS)) != NULL ||
            memmem(value.data, value.size, TR_BLOB_SCHEME, strlen(TR_BLOB_SCHEME)) != NULL);
}

int tr_relocate_slots(const struct tr_relocation *paths, struct tr_bytes slots,
                      struct tr_buffer *buffer)
{
    if (tr_relocate_has_any(slots)) {
        return tr_relocate_value(paths, slots, buffer);
    }
    tr_buffer_add(buffer, slots.data, slots.size);
    return buffer->error;
}

int tr_relocate_home(const char *folder, struct tr_bytes slots, struct tr_buffer *buffer)
{
    const struct tr_relocation paths = {.to = tr_text_of(folder)};
    return tr_relocate_slots(&paths, slots, buffer);
}

int tr_relocate_map(const char *folder, struct tr_text uri, const struct tr_turn *turn, char *words,
                    struct tr_bytes *bytes)
{
    char home[PATH_MAX];
    char unused[TR_BLOB_WORDS_BYTES_MAX];
    const struct tr_relocation paths = {
        .to = tr_text_of(folder), .turn = turn, .words = words != NULL ? words : unused};
    struct tr_text name = tr_blob_uri_name(uri);
    bool is_here;
    paths.words[0] = '\0';
    int error = find_home(&paths, name.size > 0 ? name : tr_blob_path_name(uri), home, &is_here);
    if (error != 0 || is_here) {
        return error != 0 ? error : tr_file_map(home, bytes);
    }
    char *path = tr_text_copy(uri);
    error = path == NULL ? TR_MEMORY : tr_file_map(path, bytes);
    int number = errno;
    tr_free(path);
    errno = number;
    return error;
}
