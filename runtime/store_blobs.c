/*
 * Where the blobs of a store are. It stands above the rooms of both, since the blob store knows no
 * object stores.
 *
 * The document that names an object store is written when all blobs of the folder are there, so a
 * crash before repeats that.
 */
#include "runtime/store_blobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/blob_place.h"
#include "runtime/env/buffer.h"
#include "runtime/fetch/fetch_location.h"
#include "runtime/memory.h"
#include "runtime/objects/objects.h"
#include "schemas/codec/codec.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/http.h"

/* Sources of the document, and texts of their commands in all. */
#define SOURCES_MAX 16
#define WORDS_MAX 64

/* Bytes of its packed parts. */
#define PACKED_BYTES_MAX 16384

/* ---- Reading the document. ------------------------------------------------------------------ */

/* What the document says, with its bytes. */
struct described {
    struct tr_blobs_remote remote;
    struct tr_object_store store;
    struct tr_secret_source sources[SOURCES_MAX];
    const char *words[WORDS_MAX];
    size_t word_count;
    char digits[TRI_BLOBS_OWN_DIGITS + 1];
    char *free; /* room for zero-terminated texts */
    uint8_t bytes[];
};

/* A zero-terminated copy in the room, which has a byte more than the document for each text. */
static const char *keep_text(struct described *described, struct tr_text text)
{
    char *kept = described->free;
    if (text.size > 0) {
        memcpy(kept, text.data, text.size);
    }
    kept[text.size] = '\0';
    described->free += text.size + 1;
    return kept;
}

static void read_command(struct described *described, struct tr_cursor *cursor,
                         struct tr_secret_source *source)
{
    uint32_t count = tr_read_array(cursor);
    if (count >= WORDS_MAX - described->word_count) {
        tr_cursor_fail(cursor, TR_LIMIT);
        return;
    }
    source->command = count > 0 ? &described->words[described->word_count] : NULL;
    for (uint32_t i = 0; i < count && cursor->error == 0; i++) {
        described->words[described->word_count++] = keep_text(described, tr_read_text(cursor));
    }
    described->words[described->word_count++] = NULL;
}

static int read_sources(struct described *described, struct tri_objects_options *options)
{
    struct tr_cursor cursor = tr_cursor_of(described->remote.sources);
    uint32_t count = tr_read_array(&cursor);
    if (count > SOURCES_MAX) {
        return TR_LIMIT;
    }
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_secret_source *source = &described->sources[i];
        if (tr_read_array(&cursor) != 3) {
            tr_cursor_fail(&cursor, TR_MALFORMED);
        }
        uint8_t kind = tr_read_u8(&cursor);
        struct tr_text folder = tr_read_text(&cursor);
        source->kind = kind <= TR_SECRET_COMMAND ? (enum tr_secret_kind)kind : TR_SECRET_FOLDER;
        source->folder = folder.size > 0 ? keep_text(described, folder) : NULL;
        read_command(described, &cursor, source);
    }
    options->secrets = described->sources;
    options->secret_count = count;
    return cursor.error;
}

static int read_store(struct described *described, struct tri_objects_options *options)
{
    const struct tr_blobs_remote *remote = &described->remote;
    struct tr_cursor cursor;
    uint32_t count = tr_http_secrets_begin(remote->secret, &cursor);
    described->store = (struct tr_object_store){.uri = remote->uri,
                                                .endpoint = remote->endpoint,
                                                .region = remote->region,
                                                .ca_file = remote->ca_file};
    if (count == 1) {
        described->store.secret = tr_http_secret_next(&cursor);
    }
    bool is_known = described->store.secret.kind < TR_HTTP_SECRET_KIND_COUNT;
    options->uri = remote->uri;
    options->store = &described->store;
    return cursor.error == 0 && (count > 1 || !is_known) ? TR_MALFORMED : cursor.error;
}

/* Makes the remote that a document describes. */
static int describe(const char *store_folder, struct tr_bytes document,
                    struct tri_blob_remote **remote)
{
    size_t room = 2 * document.size + WORDS_MAX + SOURCES_MAX;
    struct described *described = tr_alloc_zero(1, sizeof *described + room);
    struct tri_objects_options options = {.owned = described};
    if (described == NULL) {
        return TR_MEMORY;
    }
    int error = document.size == 0 ? TR_TRUNCATED : 0;
    if (error == 0) {
        memcpy(described->bytes, document.data, document.size);
        described->free = (char *)described->bytes + document.size;
        error = tr_blobs_remote_unpack((struct tr_bytes){described->bytes + 1, document.size - 1},
                                       described->bytes[0], &described->remote);
    }
    if (error == 0) {
        error = read_store(described, &options);
    }
    if (error == 0) {
        error = read_sources(described, &options);
    }
    if (error == 0) {
        error = tri_blobs_identify(store_folder, described->digits);
    }
    options.digits = described->digits;
    if (error == 0) {
        error = tri_objects_new(&options, remote);
    }
    if (error != 0) {
        tr_free(described);
    }
    return error;
}

/* ---- Opening. ------------------------------------------------------------------------------- */

static int find_remote(const char *store_folder, struct tri_blobs *blobs)
{
    struct tri_buffer bytes = {0};
    struct tri_blob_remote *remote = NULL;
    int error = tri_document_get(blobs, tr_text_of(TR_STORE_BLOBS_REMOTE), &bytes);
    if (error == 0) {
        error =
            describe(store_folder,
                     (struct tr_bytes){tri_buffer_front(&bytes), tri_buffer_size(&bytes)}, &remote);
        tri_blobs_set_remote(blobs, remote);
    }
    tri_buffer_fini(&bytes);
    return error == TR_NOT_FOUND ? 0 : error;
}

/* Closes the blobs after an error, and keeps errno. */
static int finish(const char *store_folder, struct tri_blobs *opened, struct tri_blobs **blobs)
{
    int error = find_remote(store_folder, opened);
    if (error != 0) {
        int number = errno;
        tri_blobs_close(opened);
        errno = number;
        return error;
    }
    *blobs = opened;
    return 0;
}

int tri_store_blobs_open(const char *store_folder, const atomic_bool *is_stopping,
                         struct tri_blobs **blobs)
{
    struct tri_blobs *opened;
    int error = tri_blobs_open(store_folder, is_stopping, &opened);
    return error != 0 ? error : finish(store_folder, opened, blobs);
}

int tri_store_blobs_open_beside(const char *store_folder, struct tri_blobs **blobs)
{
    struct tri_blobs *opened;
    int error = tri_blobs_open_beside(store_folder, &opened);
    return error != 0 ? error : finish(store_folder, opened, blobs);
}

bool tri_store_blobs_are_remote(const char *store_folder)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/" TR_STORE_BLOBS_REMOTE, store_folder);
    return size > 0 && (size_t)size < sizeof path && access(path, F_OK) == 0;
}

int tri_store_blobs_bring(const char *store_folder, struct tr_text name, const struct tr_turn *turn,
                          char *words)
{
    static const char folder[] = "/blobs/";
    char path[TR_PATH_BYTES_MAX];
    char uri[TR_PATH_BYTES_MAX];
    struct tri_blobs *blobs;
    struct tri_blob blob;
    int size =
        snprintf(path, sizeof path, "%s%s%.*s", store_folder, folder, (int)name.size, name.data);
    if (size < 0 || (size_t)size >= sizeof path) {
        return TR_LIMIT;
    }
    if (access(path, F_OK) == 0 || !tri_store_blobs_are_remote(store_folder)) {
        return 0;
    }
    snprintf(uri, sizeof uri, TR_BLOB_SCHEME "%s", path + strlen(store_folder) + strlen(folder));
    int error = tri_store_blobs_open_beside(store_folder, &blobs);
    if (error != 0) {
        return error;
    }
    tri_blobs_set_turn(blobs, turn);
    error = tri_blob_fetch(blobs, tr_text_of(uri), &blob);
    if (error != 0 && words != NULL) {
        snprintf(words, TR_BLOB_WORDS_BYTES_MAX, "%s", tri_blobs_words(blobs));
    }
    int number = errno;
    tri_blobs_close(blobs);
    errno = number;
    return error;
}

/* The time that a blob's age begins with (runtime/blob/blob_sweep.c). */
static uint64_t changed_ms(const struct stat *status)
{
    return (uint64_t)status->st_ctim.tv_sec * 1000 + (uint64_t)status->st_ctim.tv_nsec / 1000000;
}

/* Without an object store the folder has all, and is only read. */
static int each_in_folder(const char *store_folder,
                          int (*each)(void *self, const char *name, uint64_t changed_ms),
                          void *self)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    int size = snprintf(path, sizeof path, "%s/blobs", store_folder);
    DIR *folder = size < 0 || (size_t)size >= sizeof path ? NULL : opendir(path);
    if (folder == NULL) {
        return errno == ENOENT ? 0 : TR_SYSTEM;
    }
    int error = 0;
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        struct stat status;
        bool is_there = entry->d_name[0] != '.' &&
                        fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
        if (is_there) {
            error = each(self, entry->d_name, changed_ms(&status));
        }
    }
    closedir(folder);
    return error;
}

int tri_store_blobs_each(const char *store_folder,
                         int (*each)(void *self, const char *name, uint64_t changed_ms), void *self,
                         char *words)
{
    struct tri_blobs *blobs;
    words[0] = '\0';
    if (!tri_store_blobs_are_remote(store_folder)) {
        return each_in_folder(store_folder, each, self);
    }
    int error = tri_store_blobs_open_beside(store_folder, &blobs);
    if (error == 0) {
        error = tri_blobs_each(blobs, each, self);
        snprintf(words, TR_BLOB_WORDS_BYTES_MAX, "%s", error == 0 ? "" : tri_blobs_words(blobs));
        tri_blobs_close(blobs);
    }
    return error;
}

static int bring_one(void *self, const char *name, uint64_t changed)
{
    char uri[sizeof TR_BLOB_SCHEME + NAME_MAX];
    struct tri_blob blob;
    (void)changed;
    snprintf(uri, sizeof uri, TR_BLOB_SCHEME "%.255s", name);
    int error = tri_blob_fetch(self, tr_text_of(uri), &blob);
    return error == TR_NOT_FOUND ? 0 : error; /* it was removed meanwhile */
}

int tri_store_blobs_bring_all(const char *store_folder, char *words)
{
    struct tri_blobs *blobs;
    words[0] = '\0';
    if (!tri_store_blobs_are_remote(store_folder)) {
        return 0;
    }
    int error = tri_store_blobs_open_beside(store_folder, &blobs);
    if (error == 0) {
        error = tri_blobs_each(blobs, bring_one, blobs);
        snprintf(words, TR_BLOB_WORDS_BYTES_MAX, "%s", error == 0 ? "" : tri_blobs_words(blobs));
        tri_blobs_close(blobs);
    }
    return error;
}

/* The URI of the document's object store. */
static void find_uri(const char *store_folder, char *where)
{
    struct tri_buffer bytes = {0};
    struct tr_blobs_remote remote = {.uri = {.size = 0}};
    struct tri_blobs *blobs;
    if (tri_blobs_open_beside(store_folder, &blobs) != 0) {
        return;
    }
    int error = tri_document_get(blobs, tr_text_of(TR_STORE_BLOBS_REMOTE), &bytes);
    if (error == 0 && tri_buffer_size(&bytes) > 0) {
        const uint8_t *document = tri_buffer_front(&bytes);
        error = tr_blobs_remote_unpack((struct tr_bytes){document + 1, tri_buffer_size(&bytes) - 1},
                                       document[0], &remote);
    }
    if (error == 0) {
        (void)snprintf(where, TRI_STORE_BLOBS_WHERE_BYTES, "%.*s", (int)remote.uri.size,
                       remote.uri.data);
    }
    tri_buffer_fini(&bytes);
    tri_blobs_close(blobs);
}

void tri_store_blobs_where(const char *store_folder, const char *wanted, char *where)
{
    char path[PATH_MAX];
    where[0] = '\0';
    int size = snprintf(path, sizeof path, "%s/blobs", store_folder);
    if (wanted != NULL) {
        (void)snprintf(where, TRI_STORE_BLOBS_WHERE_BYTES, "%s", wanted);
    } else if (tri_store_blobs_are_remote(store_folder)) {
        find_uri(store_folder, where);
    } else if (size > 0 && (size_t)size < sizeof path) {
        ssize_t count = readlink(path, where, TRI_STORE_BLOBS_WHERE_BYTES - 1);
        where[count > 0 ? count : 0] = '\0';
    }
}

/* ---- Writing the document. ------------------------------------------------------------------ */

static void write_sources(struct tr_writer *writer, const struct tri_store_blobs_place *place)
{
    tr_write_array(writer, (uint32_t)place->secret_count);
    for (size_t i = 0; i < place->secret_count; i++) {
        const struct tr_secret_source *source = &place->secrets[i];
        uint32_t count = 0;
        while (source->command != NULL && source->command[count] != NULL) {
            count++;
        }
        tr_write_array(writer, 3);
        tr_write_u8(writer, (uint8_t)source->kind);
        tr_write_text(writer, tr_text_of(source->folder != NULL ? source->folder : ""));
        tr_write_array(writer, count);
        for (uint32_t k = 0; k < count; k++) {
            tr_write_text(writer, tr_text_of(source->command[k]));
        }
    }
}

/* The document for the settings, with its version first. */
static int pack(const struct tri_store_blobs_place *place, struct tri_buffer *document)
{
    uint8_t secret[PACKED_BYTES_MAX];
    uint8_t sources[PACKED_BYTES_MAX];
    struct tri_fetch_location location;
    struct tr_writer secret_writer = tr_writer_of(secret, sizeof secret);
    struct tr_writer source_writer = tr_writer_of(sources, sizeof sources);
    int error = tri_fetch_location_find(place->object_stores, place->object_store_count,
                                        tr_text_of(place->where), &location);
    if (error != 0) {
        return error;
    }
    bool has_secret = tri_fetch_location_has_secret(&location);
    error = tr_http_secrets_pack(has_secret ? &location.store->secret : NULL, has_secret ? 1 : 0,
                                 &secret_writer);
    write_sources(&source_writer, place);
    const struct tr_blobs_remote remote = {
        .uri = tr_text_of(place->where),
        .endpoint = location.endpoint,
        .region = location.region,
        .ca_file = location.store != NULL ? location.store->ca_file : tr_text_of(""),
        .secret = {secret, tr_writer_size(&secret_writer)},
        .sources = {sources, tr_writer_size(&source_writer)}};
    size_t size = tr_blobs_remote_schema.size_max(&remote);
    error = error != 0 ? error : source_writer.error;
    if (error == 0) {
        error = tri_buffer_reserve(document, size + 1);
    }
    if (error == 0) {
        struct tr_writer writer = tr_writer_of(document->data + 1, size);
        document->data[0] = tr_blobs_remote_schema.version;
        error = tr_blobs_remote_pack(&remote, &writer);
        document->end = 1 + tr_writer_size(&writer);
    }
    return error;
}

/* ---- Placing. ------------------------------------------------------------------------------- */

/* A store, and the object store that it is to use. */
struct placing {
    const char *store_folder;
    const struct tri_store_blobs_place *place;
    struct tri_blobs *blobs;
    struct tri_buffer document;
    char *words;
};

static int fail(const struct placing *placing, int error, const char *why)
{
    snprintf(placing->words, TRI_STORE_BLOBS_WORDS_BYTES,
             "%.90s of `blobs` in the settings cannot be used: %.370s", placing->place->where, why);
    return error;
}

/* The place where the blobs are by the document of the store, into `where`; "": there is none. */
static int read_where(const struct placing *placing, char where[TR_PATH_BYTES_MAX])
{
    struct tri_buffer bytes = {0};
    struct tr_blobs_remote remote = {.uri = {.size = 0}};
    int error = tri_document_get(placing->blobs, tr_text_of(TR_STORE_BLOBS_REMOTE), &bytes);
    if (error == 0) {
        const uint8_t *document = tri_buffer_front(&bytes);
        size_t size = tri_buffer_size(&bytes);
        error = size == 0 ? TR_TRUNCATED
                          : tr_blobs_remote_unpack((struct tr_bytes){document + 1, size - 1},
                                                   document[0], &remote);
    }
    if (error == 0 || error == TR_NOT_FOUND) {
        snprintf(where, TR_PATH_BYTES_MAX, "%.*s", (int)remote.uri.size,
                 error == 0 ? remote.uri.data : "");
        error = 0;
    }
    tri_buffer_fini(&bytes);
    return error;
}

static int refuse_moved(const struct placing *placing, const char *where)
{
    snprintf(placing->words, TRI_STORE_BLOBS_WORDS_BYTES,
             "the blobs of %.90s are in %.90s, and `blobs` of the settings is %.90s; copy the "
             "objects there, and then remove %.90s/" TR_STORE_BLOBS_REMOTE,
             placing->store_folder, where, placing->place->where, placing->store_folder);
    return TR_EXISTS;
}

/* Asks the object store, which gets what the folder has the first time. */
static int try_remote(const struct placing *placing, bool is_first)
{
    static const atomic_bool never = false;
    struct tri_blob_call call = {.is_stopping = &never};
    struct tri_blob_remote *remote = NULL;
    int error = describe(placing->store_folder,
                         (struct tr_bytes){tri_buffer_front(&placing->document),
                                           tri_buffer_size(&placing->document)},
                         &remote);
    if (error != 0) {
        return fail(placing, error, tr_error_text(error));
    }
    tri_blobs_set_remote(placing->blobs, remote);
    error = tri_objects_mark(remote, &call, tr_text_of(placing->store_folder));
    if (error != 0) {
        return fail(placing, error, call.words);
    }
    error = is_first ? tri_blobs_send_all(placing->blobs) : 0;
    return error != 0 ? fail(placing, error, tri_blobs_words(placing->blobs)) : 0;
}

static int place_remote(struct placing *placing)
{
    char where[TR_PATH_BYTES_MAX];
    int error = read_where(placing, where);
    if (error != 0) {
        return fail(placing, error, tr_error_text(error));
    }
    if (where[0] != '\0' && strcmp(where, placing->place->where) != 0) {
        return refuse_moved(placing, where);
    }
    error = pack(placing->place, &placing->document);
    if (error != 0) {
        return fail(placing, error, tr_error_text(error));
    }
    error = try_remote(placing, where[0] == '\0');
    if (error != 0) {
        return error;
    }
    error = tri_document_put(placing->blobs, tr_text_of(TR_STORE_BLOBS_REMOTE),
                             (struct tr_bytes){tri_buffer_front(&placing->document),
                                               tri_buffer_size(&placing->document)});
    return error != 0 ? fail(placing, error, tri_blobs_words(placing->blobs)) : 0;
}

bool tri_store_blobs_is_uri(struct tr_text where)
{
    return tri_objects_is_uri(where);
}

/* A folder is not used by a store whose blobs are in an object store. */
static int refuse_folder(const struct placing *placing)
{
    char where[TR_PATH_BYTES_MAX];
    int error = read_where(placing, where);
    return error != 0 ? fail(placing, error, tr_error_text(error)) : refuse_moved(placing, where);
}

int tri_store_blobs_place(const char *store_folder, const struct tri_store_blobs_place *place,
                          char *words)
{
    struct placing placing = {.store_folder = store_folder, .place = place, .words = words};
    if (place->where == NULL) {
        return 0;
    }
    bool is_remote = tri_objects_is_uri(tr_text_of(place->where));
    if (!is_remote && !tri_store_blobs_are_remote(store_folder)) {
        return tri_blob_place(store_folder, place->where, words);
    }
    int error = tri_blobs_open_beside(store_folder, &placing.blobs);
    if (error != 0) {
        return fail(&placing, error, tr_error_text(error));
    }
    error = is_remote ? place_remote(&placing) : refuse_folder(&placing);
    tri_buffer_fini(&placing.document);
    tri_blobs_close(placing.blobs);
    return error;
}
