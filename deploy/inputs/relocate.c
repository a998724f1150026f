/*
 * Changing paths in packed values: everything is copied as it stands, but for texts that are paths
 * and slots whose literal lies elsewhere.
 */
#include "deploy/inputs/relocate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/value/slot.h"
#include "deploy/common/file.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/blob_uri.h"

#define BLOBS "/blobs/"
#define SCHEME "file://"

static int copy(const struct tr_relocation *paths, struct tr_cursor *cursor,
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

/* The path of a blob by its URI, from the "/blobs/" on, if it lies here. */
static bool add_home(const struct tr_relocation *paths, struct tr_text uri,
                     struct tr_buffer *buffer)
{
    char home[PATH_MAX];
    struct tr_text name = tr_blob_uri_name(uri);
    int size = name.size == 0 || paths->from.size > 0
                   ? -1
                   : snprintf(home, sizeof home, "%.*s" BLOBS "%.*s", (int)paths->to.size,
                              paths->to.data, (int)name.size, name.data);
    bool is_here = size > 0 && (size_t)size < sizeof home && access(home, F_OK) == 0;
    if (is_here) {
        tr_buffer_add_string(buffer, home);
    }
    return is_here;
}

static bool take_folder(const struct tr_relocation *paths, struct tr_text *text)
{
    return paths->from.size == 0 ? take_any(text, paths->to) : take(text, paths->from);
}

/* The text with its path changed, at the end of `buffer`; false: it is none of that store. */
static bool change(const struct tr_relocation *paths, struct tr_text text, struct tr_buffer *buffer)
{
    if (add_home(paths, text, buffer)) {
        return true;
    }
    bool has_scheme = take(&text, tr_text_of(SCHEME));
    bool is_blob = take_folder(paths, &text) && text.size > strlen(BLOBS) &&
                   memcmp(text.data, BLOBS, strlen(BLOBS)) == 0;
    if (is_blob) {
        tr_buffer_add_string(buffer, has_scheme ? SCHEME : "");
        tr_buffer_add_text(buffer, paths->to);
        tr_buffer_add_text(buffer, text);
    }
    return is_blob;
}

static int copy_text(const struct tr_relocation *paths, struct tr_cursor *cursor,
                     struct tr_buffer *buffer)
{
    struct tr_cursor whole = *cursor;
    struct tr_bytes bytes = tr_read_any(&whole);
    struct tr_buffer changed;
    tr_buffer_init(&changed, 0);
    if (change(paths, tr_read_text_unchecked(cursor), &changed)) {
        tr_buffer_text_value(buffer, tr_buffer_text(&changed));
    } else {
        tr_buffer_add(buffer, bytes.data, bytes.size);
    }
    int error = changed.error;
    tr_buffer_fini(&changed);
    return error != 0 ? error : cursor->error;
}

static int copy_extension(const struct tr_relocation *paths, struct tr_cursor *cursor,
                          struct tr_buffer *buffer)
{
    struct tr_bytes bytes = tr_read_any(cursor);
    struct tr_offloaded where;
    struct tr_buffer changed;
    tr_buffer_init(&changed, 0);
    if (cursor->error == 0 && tr_slot_is_offloaded(bytes, &where) &&
        change(paths, where.uri, &changed)) {
        where.uri = tr_buffer_text(&changed);
        tr_slot_write_offloaded(buffer, &where);
    } else {
        tr_buffer_add(buffer, bytes.data, bytes.size);
    }
    int error = changed.error;
    tr_buffer_fini(&changed);
    return error != 0 ? error : cursor->error;
}

static int copy_items(const struct tr_relocation *paths, struct tr_cursor *cursor, uint64_t count,
                      struct tr_buffer *buffer)
{
    int error = cursor->error;
    for (uint64_t i = 0; error == 0 && i < count; i++) {
        error = copy(paths, cursor, buffer);
    }
    return error;
}

static int copy(const struct tr_relocation *paths, struct tr_cursor *cursor,
                struct tr_buffer *buffer)
{
    struct tr_bytes bytes;
    uint32_t count;
    switch (tr_peek(cursor)) {
    case TR_CODEC_ARRAY:
        count = tr_read_array(cursor);
        tr_buffer_array(buffer, count);
        return copy_items(paths, cursor, count, buffer);
    case TR_CODEC_MAP:
        count = tr_read_map(cursor);
        tr_buffer_map(buffer, count);
        return copy_items(paths, cursor, 2 * (uint64_t)count, buffer);
    case TR_CODEC_TEXT:
        return copy_text(paths, cursor, buffer);
    case TR_CODEC_EXTENSION:
        return copy_extension(paths, cursor, buffer);
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
                                             : copy(paths, &cursor, buffer);
    return error != 0 ? error : buffer->error;
}

bool tr_relocate_has_any(struct tr_bytes value)
{
    return value.size > 0 &&
           (memmem(value.data, value.size, BLOBS, strlen(BLOBS)) != NULL ||
            memmem(value.data, value.size, TR_BLOB_SCHEME, strlen(TR_BLOB_SCHEME)) != NULL);
}

int tr_relocate_home(const char *folder, struct tr_bytes slots, struct tr_buffer *buffer)
{
    const struct tr_relocation paths = {.to = tr_text_of(folder)};
    if (tr_relocate_has_any(slots)) {
        return tr_relocate_value(&paths, slots, buffer);
    }
    tr_buffer_add(buffer, slots.data, slots.size);
    return buffer->error;
}

/* The path in this store of a blob, by its name there. False: it names none, or it is not here. */
static bool find_home(const char *folder, struct tr_text uri, char home[PATH_MAX])
{
    struct tr_text name = tr_blob_uri_name(uri);
    name = name.size > 0 ? name : tr_blob_path_name(uri);
    int size = name.size == 0
                   ? -1
                   : snprintf(home, PATH_MAX, "%s" BLOBS "%.*s", folder, (int)name.size, name.data);
    return size > 0 && size < PATH_MAX && access(home, F_OK) == 0;
}

int tr_relocate_map(const char *folder, struct tr_text uri, struct tr_bytes *bytes)
{
    char home[PATH_MAX];
    if (find_home(folder, uri, home)) {
        return tr_file_map(home, bytes);
    }
    char *path = tr_text_copy(uri);
    int error = path == NULL ? TR_MEMORY : tr_file_map(path, bytes);
    int number = errno;
    tr_free(path);
    errno = number;
    return error;
}
