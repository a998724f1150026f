/*
 * Folders: the objects whose keys begin with a prefix and a slash.
 *
 * The list is read first, page by page, and limits are checked before any object is requested. An
 * object becomes a part whose file is named by its key, tag and size, so that an existing part is
 * recognized by its name. When all parts are complete they are linked into a tree, which becomes
 * the blob.
 *
 * The digest of the list is the folder's tag: equal lists are equal folders.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/fetch/fetch_inside.h"
#include "runtime/fetch/fetch_list.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* Links between two yields. */
#define LINKS_AT_ONCE 64

struct tri_fetch_object {
    size_t key; /* offset in `names` */
    size_t tag;
    uint64_t size;
};

void tri_fetch_objects_fini(struct tri_fetch_objects *objects)
{
    tri_buffer_fini(&objects->prefix);
    tri_buffer_fini(&objects->names);
    tri_buffer_fini(&objects->rows);
}

static size_t count_of(const struct tri_fetch_objects *objects)
{
    return tri_buffer_size(&objects->rows) / sizeof(struct tri_fetch_object);
}

static struct tri_fetch_object object_at(const struct tri_fetch_objects *objects, size_t index)
{
    struct tri_fetch_object object;
    memcpy(&object, tri_buffer_front(&objects->rows) + index * sizeof object, sizeof object);
    return object;
}

static const char *text_at(const struct tri_fetch_objects *objects, size_t offset)
{
    return (const char *)tri_buffer_front(&objects->names) + offset;
}

static int fail_memory(struct tri_fetch *fetch, int error)
{
    return tri_fetch_fail(fetch, error, "%s", tr_error_text(error));
}

/* ---- The list. ------------------------------------------------------------------------------ */

static int ask_page(struct tri_fetch *fetch, struct tr_text next)
{
    struct tri_fetch_request *request = tri_fetch_free_request(fetch);
    const struct tri_buffer *prefix = &fetch->objects.prefix;
    struct tr_text text = {(const char *)tri_buffer_front(prefix), tri_buffer_size(prefix)};
    int error = tri_fetch_location_list(&fetch->location, text, next, &request->url);
    if (error == 0) {
        error = tri_buffer_append(&request->url, "", 1);
    }
    request->is_page = true;
    return error != 0 ? fail_memory(fetch, error) : tri_fetch_submit(request, NULL, 0);
}

int tri_fetch_ask_folder(struct tri_fetch *fetch)
{
    struct tr_text key = fetch->location.key;
    struct tri_buffer *prefix = &fetch->objects.prefix;
    if (fetch->location.bucket.size == 0) {
        return tri_fetch_fail(fetch, TR_MISMATCH,
                              "its type is directory, and web servers have no folders; "
                              "declare it as file, or put it into an object store");
    }
    int error = tri_buffer_append(prefix, key.data, key.size);
    if (error == 0 && key.size > 0 && key.data[key.size - 1] != '/') {
        error = tri_buffer_append(prefix, "/", 1);
    }
    return error != 0 ? fail_memory(fetch, error) : ask_page(fetch, (struct tr_text){0});
}

/* Whether a key is a valid path below a folder. */
static bool is_name(const char *key, size_t prefix)
{
    return strlen(key) > prefix && tri_below_check(tr_text_of(key + prefix)) == 0;
}

static int check_object(struct tri_fetch *fetch, const struct tri_fetch_listed *listed)
{
    struct tri_fetch_objects *objects = &fetch->objects;
    size_t bytes = tri_buffer_size(&objects->names) + listed->key.size + listed->tag.size;
    if (count_of(objects) >= TR_FETCH_OBJECTS_MAX || bytes > TR_FETCH_NAMES_BYTES_MAX) {
        return tri_fetch_fail(fetch, TR_LIMIT,
                              "there are more objects below it than TR_FETCH_OBJECTS_MAX (%u)",
                              TR_FETCH_OBJECTS_MAX);
    }
    if (objects->bytes + listed->size > TR_BLOB_FETCH_BYTES_MAX ||
        listed->size > TR_BLOB_FETCH_BYTES_MAX) {
        return tri_fetch_fail(fetch, TR_LIMIT,
                              "the objects below it have more bytes than "
                              "TR_BLOB_FETCH_BYTES_MAX (%llu)",
                              (unsigned long long)TR_BLOB_FETCH_BYTES_MAX);
    }
    return 0;
}

static int add_text(struct tri_buffer *names, struct tr_text text, size_t *offset)
{
    *offset = tri_buffer_size(names);
    int error = tri_buffer_append(names, text.data, text.size);
    return error != 0 ? error : tri_buffer_append(names, "", 1);
}

/* Keys that end with a slash are markers of folders without content. */
static int add_object(struct tri_fetch *fetch, const struct tri_fetch_listed *listed)
{
    struct tri_fetch_objects *objects = &fetch->objects;
    struct tri_fetch_object object = {.size = listed->size};
    bool is_mark = listed->key.size > 0 && listed->key.data[listed->key.size - 1] == '/';
    int error = is_mark ? 0 : check_object(fetch, listed);
    if (error != 0 || is_mark) {
        return error;
    }
    bool fits = listed->tag.size <= TR_FETCH_TAG_BYTES_MAX;
    error = add_text(&objects->names, listed->key, &object.key);
    if (error == 0) {
        error = add_text(&objects->names, fits ? listed->tag : (struct tr_text){0}, &object.tag);
    }
    if (error == 0) {
        error = tri_buffer_append(&objects->rows, &object, sizeof object);
    }
    if (error != 0) {
        return fail_memory(fetch, error);
    }
    objects->bytes += listed->size;
    objects->lacks_tags = objects->lacks_tags || listed->tag.size == 0 || !fits;
    const char *key = text_at(objects, object.key);
    return is_name(key, tri_buffer_size(&objects->prefix))
               ? 0
               : tri_fetch_fail(fetch, TR_INVALID,
                                "the object '%.200s' has a name that no file below a folder may "
                                "have",
                                key);
}

static void name_object(const struct tri_fetch_objects *objects, size_t index,
                        char name[TRI_FETCH_NAME_BYTES])
{
    struct tri_fetch_object object = object_at(objects, index);
    const char *key = text_at(objects, object.key);
    const char *tag = text_at(objects, object.tag);
    uint8_t digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const uint8_t *)key, strlen(key) + 1);
    crypto_hash_sha256_update(&state, (const uint8_t *)tag, strlen(tag) + 1);
    crypto_hash_sha256_update(&state, (const uint8_t *)&object.size, sizeof object.size);
    crypto_hash_sha256_final(&state, digest);
    sodium_bin2hex(name, TRI_FETCH_NAME_BYTES, digest, sizeof digest);
}

/* The digest of all keys, in the order of the list. */
static void tag_list(struct tri_fetch *fetch)
{
    char name[TRI_FETCH_NAME_BYTES];
    uint8_t digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    for (size_t i = 0; i < count_of(&fetch->objects); i++) {
        name_object(&fetch->objects, i, name);
        crypto_hash_sha256_update(&state, (const uint8_t *)name, sizeof name);
    }
    crypto_hash_sha256_final(&state, digest);
    sodium_bin2hex(fetch->found.tag, sizeof fetch->found.tag, digest, sizeof digest);
}

/* Handles the end of the list. */
static int end_list(struct tri_fetch *fetch)
{
    struct tri_fetch_objects *objects = &fetch->objects;
    objects->is_listed = true;
    if (count_of(objects) == 0) {
        return tri_fetch_fail(fetch, TR_NOT_FOUND,
                              "no object's name begins with '%.*s'; name a folder of objects that "
                              "are there",
                              (int)tri_buffer_size(&objects->prefix),
                              (const char *)tri_buffer_front(&objects->prefix));
    }
    if (!objects->lacks_tags) {
        tag_list(fetch);
        fetch->is_unchanged =
            fetch->cached.blob.uri[0] != '\0' && strcmp(fetch->cached.tag, fetch->found.tag) == 0;
    }
    return 0;
}

int tri_fetch_take_page(struct tri_fetch *fetch, struct tr_bytes xml)
{
    struct tri_fetch_page page;
    struct tri_fetch_listed listed;
    int error = tri_fetch_page_init(&page, xml);
    while (error == 0 && fetch->error == 0) {
        error = tri_fetch_page_next(&page, &listed);
        if (error == 0) {
            error = add_object(fetch, &listed);
        }
    }
    if (error == TR_NOT_FOUND && fetch->error == 0) {
        error = page.next.size > 0 ? ask_page(fetch, page.next) : end_list(fetch);
    } else if (fetch->error == 0) {
        error = tri_fetch_fail(fetch, error, "the list of its bucket cannot be read: %s",
                               tr_error_text(error));
    }
    tri_fetch_page_fini(&page);
    return error;
}

/* ---- The objects. --------------------------------------------------------------------------- */

/* Whether an object's part is complete; one without a tag is not trusted. */
static bool is_there(const struct tri_fetch *fetch, size_t index, const char *name)
{
    struct tri_fetch_object object = object_at(&fetch->objects, index);
    struct stat status;
    return text_at(&fetch->objects, object.tag)[0] != '\0' &&
           fstatat(fetch->parts, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && (uint64_t)status.st_size == object.size;
}

static int ask_object(struct tri_fetch *fetch, size_t index, const char *name)
{
    struct tri_fetch_object object = object_at(&fetch->objects, index);
    const char *tag = text_at(&fetch->objects, object.tag);
    struct tri_fetch_request *request = tri_fetch_free_request(fetch);
    char line[TR_FETCH_TAG_BYTES_MAX + 16];
    struct tr_text header;
    int error = tri_fetch_location_url(
        &fetch->location, tr_text_of(text_at(&fetch->objects, object.key)), &request->url);
    if (error == 0) {
        error = tri_buffer_append(&request->url, "", 1);
    }
    if (error != 0) {
        return fail_memory(fetch, error);
    }
    snprintf(request->entry, sizeof request->entry, "%s", name);
    snprintf(line, sizeof line, "If-Match: %s", tag);
    header = tr_text_of(line);
    request->wanted = object.size;
    return tri_fetch_submit(request, &header, tag[0] != '\0' ? 1 : 0);
}

int tri_fetch_ask_objects(struct tri_fetch *fetch)
{
    struct tri_fetch_objects *objects = &fetch->objects;
    int error = 0;
    while (error == 0 && objects->next < count_of(objects) &&
           fetch->under_way < TR_FETCH_OBJECTS_AT_ONCE) {
        char name[TRI_FETCH_NAME_BYTES];
        size_t index = objects->next++;
        name_object(objects, index, name);
        error = is_there(fetch, index, name) ? 0 : ask_object(fetch, index, name);
    }
    return error;
}

/* ---- The tree. ------------------------------------------------------------------------------ */

static int link_object(struct tri_fetch *fetch, int tree, size_t index)
{
    const struct tri_fetch_objects *objects = &fetch->objects;
    const char *key = text_at(objects, object_at(objects, index).key);
    const char *below = key + tri_buffer_size(&objects->prefix);
    char name[TRI_FETCH_NAME_BYTES];
    struct tri_below_place place;
    name_object(objects, index, name);
    errno = 0;
    int error = tri_below_find(tree, tr_text_of(below), 0755, &place);
    if (error == 0) {
        error =
            linkat(fetch->parts, name, place.folder, place.last, 0) == 0 ? 0 : tri_below_error();
        tri_below_place_close(&place);
    }
    bool is_in_the_way = error == TR_EXISTS || error == TR_NOT_FOUND;
    return is_in_the_way
               ? tri_fetch_fail(fetch, TR_INVALID,
                                "the object '%.200s' and one below it cannot both be files of a "
                                "folder",
                                key)
           : error != 0 ? tri_fetch_fail(fetch, error, "the object '%.200s': %s", key,
                                         errno != 0 ? strerror(errno) : tr_error_text(error))
                        : 0;
}

int tri_fetch_build(struct tri_fetch *fetch, const struct tr_turn *turn)
{
    int tree = -1;
    (void)!tri_below_remove(fetch->parts,
                            tr_text_of(TRI_FETCH_TREE)); /* left by an earlier engine */
    int error = tri_below_folder(fetch->parts, tr_text_of(TRI_FETCH_TREE), 0755, &tree);
    if (error != 0) {
        return tri_fetch_fail(fetch, error, "its folder cannot be made: %s", strerror(errno));
    }
    for (size_t i = 0; i < count_of(&fetch->objects) && error == 0; i++) {
        error = link_object(fetch, tree, i);
        if (error == 0 && i % LINKS_AT_ONCE == LINKS_AT_ONCE - 1) {
            error = tr_turn_take(turn);
        }
    }
    close(tree);
    return error != 0 ? tri_fetch_fail(fetch, error, "%s", tr_error_text(error)) : 0;
}
