/*
 * Where the values of secrets come from: the environment, then the user's configuration folder.
 */
#include "runtime/env/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/env/attempt_limits.h"
#include "runtime/env/below.h"

#define NAME_PREFIX "TROUPE_SECRET"

/* A name that is put together; `size` goes on counting where there is no room. */
struct name {
    size_t size;
    char text[TR_KEEPER_PATH_BYTES_MAX];
};

static void put(struct name *name, const char *data, size_t size)
{
    if (name->size + size < sizeof name->text) {
        memcpy(name->text + name->size, data, size);
        name->text[name->size + size] = '\0';
    }
    name->size += size;
}

static bool is_too_long(const struct name *name)
{
    return name->size >= sizeof name->text;
}

/* As much of a part as a line of words can bear, for "%.*s". */
static int shown(struct tr_text part)
{
    return part.size < 128 ? (int)part.size : 128;
}

/* Says of which reference something is true, and gives the error. */
static int explain(const struct tr_process_secret *reference, int error, const char *words,
                   char *reason)
{
    bool has_version = reference->version.size > 0;
    snprintf(reason, TR_KEEPER_REASON_BYTES_MAX, "secret %.*s%s%.*s%s%.*s: %s",
             shown(reference->group), reference->group.data, reference->group.size > 0 ? "/" : "",
             shown(reference->key), reference->key.data, has_version ? "@" : "",
             shown(reference->version), reference->version.data, words);
    return error;
}

/* ---- The environment. ----------------------------------------------------------------------- */

/* Adds _PART in capitals. */
static void put_capitals(struct name *name, struct tr_text part)
{
    put(name, "_", 1);
    for (size_t i = 0; i < part.size; i++) {
        char c = part.data[i];
        bool is_small = c >= 'a' && c <= 'z';
        bool is_kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        char letter = (char)(is_small ? c - 'a' + 'A' : is_kept ? c : '_');
        put(name, &letter, 1);
    }
}

static int find_variable(const struct tr_process_secret *reference, struct tri_buffer *value)
{
    struct name name = {.size = 0};
    put(&name, NAME_PREFIX, strlen(NAME_PREFIX));
    if (reference->group.size > 0) {
        put_capitals(&name, reference->group);
    }
    put_capitals(&name, reference->key);
    if (reference->version.size > 0) {
        put_capitals(&name, reference->version);
    }
    const char *found = is_too_long(&name) ? NULL : getenv(name.text);
    if (found == NULL) {
        return TR_NOT_FOUND;
    }
    /* With its closing zero there is always something to look at, also in an empty value. */
    size_t size = strlen(found);
    int error = size > TR_SECRET_BYTES_MAX ? TR_LIMIT : tri_buffer_append(value, found, size + 1);
    value->end -= error == 0 ? 1 : 0;
    return error;
}

/* ---- Files. --------------------------------------------------------------------------------- */

static bool put_secrets_folder(struct name *name)
{
    const char *configuration = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    if (configuration != NULL && configuration[0] == '/') {
        put(name, configuration, strlen(configuration));
    } else if (home != NULL && home[0] == '/') {
        put(name, home, strlen(home));
        put(name, "/.config", 8);
    } else {
        return false;
    }
    put(name, "/troupe/secrets/", 16);
    return true;
}

/* Reads a regular file of a bearable size behind what is in the buffer. */
static int read_file(int fd, struct tri_buffer *value)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        errno = EINVAL;
        return TR_SYSTEM;
    }
    /* One byte more than allowed, so that a file that is too large is seen. */
    int error = tri_buffer_reserve(value, TR_SECRET_BYTES_MAX + 1);
    size_t size = 0;
    while (error == 0 && size <= TR_SECRET_BYTES_MAX) {
        ssize_t found = read(fd, value->data + value->end, TR_SECRET_BYTES_MAX + 1 - size);
        if (found < 0 && errno == EINTR) {
            continue;
        }
        if (found <= 0) {
            return found == 0 ? 0 : TR_SYSTEM;
        }
        value->end += (size_t)found;
        size += (size_t)found;
    }
    return error != 0 ? error : TR_LIMIT;
}

static int find_file(const struct tr_process_secret *reference, struct tri_buffer *value)
{
    struct name name = {.size = 0};
    if (!put_secrets_folder(&name)) {
        return TR_NOT_FOUND;
    }
    size_t folder_size = name.size;
    if (reference->group.size > 0) {
        put(&name, reference->group.data, reference->group.size);
        put(&name, "/", 1);
    }
    put(&name, reference->key.data, reference->key.size);
    if (reference->version.size > 0) {
        put(&name, "@", 1);
        put(&name, reference->version.data, reference->version.size);
    }
    if (is_too_long(&name)) {
        return TR_LIMIT;
    }
    int error = tri_below_check(
        (struct tr_text){.data = name.text + folder_size, .size = name.size - folder_size});
    if (error != 0) {
        return error;
    }
    int fd = open(name.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR ? TR_NOT_FOUND : TR_SYSTEM;
    }
    error = read_file(fd, value);
    int number = errno;
    close(fd);
    errno = number;
    return error;
}

/* ---- The whole. ----------------------------------------------------------------------------- */

int tri_secret_find(const struct tr_process_secret *reference, struct tri_buffer *value,
                    char *reason)
{
    if (reference->key.size == 0) {
        return explain(reference, TR_INVALID, "it has no key", reason);
    }
    int error = find_variable(reference, value);
    if (error == TR_NOT_FOUND) {
        error = find_file(reference, value);
    }
    switch (error) {
    case 0:
        return 0;
    case TR_NOT_FOUND:
        return explain(reference, error, "neither the environment nor a file has it", reason);
    case TR_SYSTEM:
        return explain(reference, error, strerror(errno), reason);
    default:
        return explain(reference, error, tr_error_text(error), reason);
    }
}

void tri_secret_wipe(struct tri_buffer *value)
{
    if (value->data != NULL) {
        explicit_bzero(value->data, value->capacity);
    }
    tri_buffer_clear(value);
}
