/*
 * Builds the environment of a process: entries NAME=value as they are, entries NAME with the value
 * of the engine's own variable, the engine's folder appended to a list of folders, and secrets,
 * whose values go into a variable or into a file whose path the variable has.
 *
 * Values of secrets pass through one buffer that is overwritten after each, and end in `packed`,
 * which the caller overwrites after sending it. Variables of the engine that begin with
 * TROUPE_SECRET_ cannot be inherited by name: they are available only as secrets.
 */
#include "runtime/process/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/blob/below.h"
#include "runtime/process/attempt_limits.h"

/* An environment that is being built. */
struct maker {
    const struct tr_process_run *run;
    const struct tri_environment_sources *sources;
    int folder;
    struct tri_buffer *packed;
    struct tr_bytes searched;      /* the request's value of the variable that lists folders */
    struct tri_buffer value;       /* of one secret, or of that variable */
    char given[TR_VARIABLE_BYTES]; /* the value of a variable that was made for it */
    char *reason;
};

static int explain(struct maker *maker, int error, const char *what, const char *words)
{
    snprintf(maker->reason, TR_REASON_BYTES_MAX, "%.256s: %s", what, words);
    return error;
}

/*
 * Packs NAME=value, or the name alone when `value` is NULL. The entry is built behind its packed
 * place first, since a packed string begins with its size.
 */
static int put_word(struct maker *maker, struct tr_bytes name, const char *value, size_t size)
{
    size_t whole = name.size + (value != NULL ? 1 + size : 0);
    int error = tri_buffer_reserve(maker->packed, TR_BLOB_HEADER_BYTES_MAX + 2 * whole);
    if (error != 0) {
        return error;
    }
    /* The entry is built behind the place where it is packed. */
    uint8_t *at = maker->packed->data + maker->packed->end;
    uint8_t *word = at + TR_BLOB_HEADER_BYTES_MAX + whole;
    memcpy(word, name.data, name.size);
    if (value != NULL) {
        word[name.size] = '=';
        memcpy(word + name.size + 1, value, size);
    }
    struct tr_writer writer = tr_writer_of(at, TR_BLOB_HEADER_BYTES_MAX + whole);
    tr_process_string_write(&writer, (struct tr_bytes){.data = word, .size = whole});
    maker->packed->end += tr_writer_size(&writer);
    return writer.error;
}

/*
 * The engine's value of this variable, or one that is made for it; NULL: there is none, the name is
 * too long, or it names a secret.
 */
static const char *inherited(struct maker *maker, struct tr_bytes name)
{
    const struct tr_variable_maker *variables = &maker->sources->variables;
    struct tr_text asked = {.data = (const char *)name.data, .size = name.size};
    char text[TR_PATH_BYTES_MAX];
    size_t prefix = strlen(TR_SECRET_VARIABLE_PREFIX);
    bool is_secret =
        name.size >= prefix && memcmp(name.data, TR_SECRET_VARIABLE_PREFIX, prefix) == 0;
    if (name.size >= sizeof text || is_secret) {
        return NULL;
    }
    memcpy(text, name.data, name.size);
    text[name.size] = '\0';
    const char *value = getenv(text);
    if (value == NULL && variables->find != NULL &&
        variables->find(variables->self, maker->run->folder, asked, maker->given)) {
        value = maker->given;
    }
    return value;
}

/*
 * Whether an entry has a value of its own. An empty one counts as complete, so that the keeper
 * refuses it with its own words.
 */
static bool is_whole(struct tr_bytes word)
{
    return word.size == 0 || memchr(word.data, '=', word.size) != NULL;
}

/* ---- The list of folders. ------------------------------------------------------------------- */

/* Whether an entry is of the variable that lists folders. */
static bool is_searched(const struct maker *maker, struct tr_bytes word)
{
    const char *name = maker->sources->search_variable;
    size_t size = name == NULL ? 0 : strlen(name);
    return size > 0 && word.size >= size && memcmp(word.data, name, size) == 0 &&
           (word.size == size || word.data[size] == '=');
}

/* The value of an entry, its own or the engine's; empty: none. */
static struct tr_bytes value_of(struct tr_bytes word, const char *inherited_value)
{
    const uint8_t *equals = word.size == 0 ? NULL : memchr(word.data, '=', word.size);
    if (equals != NULL) {
        size_t before = (size_t)(equals - word.data) + 1;
        return (struct tr_bytes){.data = word.data + before, .size = word.size - before};
    }
    return (struct tr_bytes){.data = (const uint8_t *)inherited_value,
                             .size = inherited_value == NULL ? 0 : strlen(inherited_value)};
}

/* Packs the request's folders followed by the engine's. */
static int put_searched(struct maker *maker)
{
    const char *name = maker->sources->search_variable;
    const char *folder = maker->sources->search_folder;
    struct tr_bytes own = maker->searched;
    int error = 0;
    if (own.size > 0) {
        error = tri_buffer_append(&maker->value, own.data, own.size);
    }
    if (error == 0 && own.size > 0) {
        error = tri_buffer_append(&maker->value, ":", 1);
    }
    if (error == 0) {
        error = tri_buffer_append(&maker->value, folder, strlen(folder));
    }
    if (error == 0) {
        struct tr_bytes variable = {(const uint8_t *)name, strlen(name)};
        error = put_word(maker, variable, (const char *)tri_buffer_front(&maker->value),
                         tri_buffer_size(&maker->value));
    }
    tri_buffer_clear(&maker->value);
    return error;
}

/* ---- All entries. --------------------------------------------------------------------------- */

/*
 * Handles one entry; without `is_put` it is only counted. Variables that the engine does not have
 * are left out.
 */
static int take_entry(struct maker *maker, struct tr_bytes word, bool is_put, uint32_t *count)
{
    const char *value = is_whole(word) ? NULL : inherited(maker, word);
    if (is_searched(maker, word)) {
        maker->searched = value_of(word, value);
        return 0;
    }
    if (value == NULL && !is_whole(word)) {
        return 0;
    }
    (*count)++;
    return is_put ? put_word(maker, word, value, value != NULL ? strlen(value) : 0) : 0;
}

/* Goes through the entries; the list of folders comes last. */
static int go_through(struct maker *maker, bool is_put, uint32_t *count)
{
    struct tr_cursor cursor;
    uint32_t left = tr_process_array_begin(maker->run->environment, &cursor);
    int error = 0;
    *count = 0;
    maker->searched = (struct tr_bytes){.size = 0};
    while (left-- > 0 && error == 0 && cursor.error == 0) {
        struct tr_bytes word = tr_process_string_next(&cursor);
        if (cursor.error == 0) {
            error = take_entry(maker, word, is_put, count);
        }
    }
    if (error == 0 && maker->sources->search_variable != NULL) {
        (*count)++;
        error = is_put ? put_searched(maker) : 0;
    }
    return error != 0 ? error : cursor.error;
}

/* ---- Secrets. ------------------------------------------------------------------------------- */

/*
 * Editors and `echo` end a file with a newline, which is no part of a password. One line end is
 * cut, with a carriage return before it; further ones belong to the value. Files of secrets keep
 * it.
 */
static size_t without_end_of_line(const uint8_t *data, size_t size)
{
    size -= size > 0 && data[size - 1] == '\n' ? 1 : 0;
    size -= size > 0 && data[size - 1] == '\r' ? 1 : 0;
    return size;
}

/* Packs a secret as a variable: its value must hold no zero. */
static int put_variable(struct maker *maker, const struct tr_process_secret *secret)
{
    const uint8_t *data = tri_buffer_front(&maker->value);
    size_t size = without_end_of_line(data, tri_buffer_size(&maker->value));
    struct tr_bytes name = {(const uint8_t *)secret->name.data, secret->name.size};
    if (memchr(data, 0, size) != NULL) {
        return explain(maker, TR_INVALID, "a secret with a zero byte", "a variable cannot hold it");
    }
    return put_word(maker, name, (const char *)data, size);
}

/*
 * Writes a secret to a file that only the owner may read, below the attempt's folder; the variable
 * has its path.
 */
static int put_file(struct maker *maker, const struct tr_process_secret *secret)
{
    char path[TR_PATH_BYTES_MAX];
    struct tr_bytes name = {(const uint8_t *)secret->name.data, secret->name.size};
    struct tr_text folder = maker->run->folder;
    int size = snprintf(path, sizeof path, "%.*s/%s/%.*s", (int)folder.size, folder.data,
                        TRI_SECRETS_FOLDER, (int)name.size, (const char *)name.data);
    if (size < 0 || (size_t)size >= sizeof path) {
        return explain(maker, TR_LIMIT, "the file of a secret", "its name is too long");
    }
    struct tr_text below = {path + folder.size + 1, (size_t)size - folder.size - 1};
    struct tr_bytes value = {tri_buffer_front(&maker->value), tri_buffer_size(&maker->value)};
    int error = tri_below_write(maker->folder, below, value, 0600);
    if (error != 0) {
        return explain(maker, error, path,
                       error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    return put_word(maker, name, path, (size_t)size);
}

/*
 * Finds one secret and puts it in its place. The name becomes a part of a path, so a slash is
 * refused here; `..` is refused by tri_below_write.
 */
static int put_secret(struct maker *maker, const struct tr_process_secret *secret)
{
    bool is_name = secret->name.size > 0 && secret->name.size <= NAME_MAX &&
                   memchr(secret->name.data, '=', secret->name.size) == NULL &&
                   memchr(secret->name.data, '/', secret->name.size) == NULL &&
                   memchr(secret->name.data, 0, secret->name.size) == NULL;
    if (!is_name) {
        return explain(maker, TR_INVALID, "a secret's variable", "its name is invalid");
    }
    int error = tri_secret_find(maker->sources->secrets, secret, &maker->value, maker->reason);
    if (error == 0) {
        error = secret->is_file ? put_file(maker, secret) : put_variable(maker, secret);
    }
    tri_secret_wipe(&maker->value);
    return error;
}

static int put_secrets(struct maker *maker)
{
    struct tr_cursor cursor;
    uint32_t left = tr_process_array_begin(maker->run->secrets, &cursor);
    int error = 0;
    while (left-- > 0 && error == 0 && cursor.error == 0) {
        struct tr_process_secret secret = tr_process_secret_next(&cursor);
        if (cursor.error == 0) {
            error = put_secret(maker, &secret);
        }
    }
    return error != 0 ? error : cursor.error;
}

/* ---- The whole. ----------------------------------------------------------------------------- */

static int put_head(struct maker *maker, uint32_t count)
{
    int error = tri_buffer_reserve(maker->packed, TR_BLOB_HEADER_BYTES_MAX);
    if (error != 0) {
        return error;
    }
    struct tr_writer writer =
        tr_writer_of(maker->packed->data + maker->packed->end, TR_BLOB_HEADER_BYTES_MAX);
    tr_write_array(&writer, count);
    maker->packed->end += tr_writer_size(&writer);
    return writer.error;
}

/* Two passes, since an array begins with its count: one counts, one writes. */
int tri_environment_pack(const struct tr_process_run *run,
                         const struct tri_environment_sources *sources, int folder,
                         struct tri_buffer *packed, char *reason)
{
    struct maker maker = {
        .run = run, .sources = sources, .folder = folder, .packed = packed, .reason = reason};
    struct tr_cursor cursor;
    uint32_t count;
    reason[0] = '\0';
    uint32_t secret_count = tr_process_array_begin(run->secrets, &cursor);
    int error = go_through(&maker, false, &count);
    if (error == 0) {
        error = put_head(&maker, count + secret_count);
    }
    if (error == 0) {
        error = go_through(&maker, true, &count);
    }
    if (error == 0) {
        error = put_secrets(&maker);
    }
    tri_buffer_fini(&maker.value);
    if (error != 0 && reason[0] == '\0') {
        return explain(&maker, error, "the environment", tr_error_text(error));
    }
    return error;
}
