/*
 * The sources of secrets: a row for each kind, asked in order. The first that has the secret
 * counts. A source that does not have it is skipped; any other failure ends the search, so that a
 * later source does not hide it.
 *
 * The output of a command is cached for a short time, also its failure: an engine that starts a
 * thousand processes with the same secret must not run it a thousand times. The cache is a ring, in
 * which a new entry replaces the oldest. Its buffers are reserved at their full size, since a
 * growing one leaves a copy in freed memory, and are overwritten before they are freed. Values
 * never become part of words; references do.
 */
#include "runtime/secret/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/env/clock.h"
#include "runtime/memory.h"
#include "runtime/secret/secret_command.h"
#include "runtime/secret/secret_limits.h"

#define NAME_PREFIX "TROUPE_SECRET"

/* A name that is being built; `size` counts on when the buffer is full. */
struct name {
    size_t size;
    char text[TR_PATH_BYTES_MAX];
};

/*
 * Appends bytes if they fit with a closing zero. Bytes that do not fit are counted too, so a name
 * that is too long is detected once, at the end.
 */
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

/* The bytes of a part to show in words, for "%.*s". */
static int shown(struct tr_text part)
{
    return part.size < 128 ? (int)part.size : 128;
}

/* Appends GROUP/KEY[@VERSION], without missing parts. */
static void put_reference(struct name *name, const struct tr_process_secret *reference)
{
    if (reference->group.size > 0) {
        put(name, reference->group.data, reference->group.size);
        put(name, "/", 1);
    }
    put(name, reference->key.data, reference->key.size);
    if (reference->version.size > 0) {
        put(name, "@", 1);
        put(name, reference->version.data, reference->version.size);
    }
}

/* Sets words that name the reference, and returns the error. */
static int explain(const struct tr_process_secret *reference, int error, const char *words,
                   char *reason)
{
    bool has_version = reference->version.size > 0;
    snprintf(reason, TR_REASON_BYTES_MAX, "secret %.*s%s%.*s%s%.*s: %s", shown(reference->group),
             reference->group.data, reference->group.size > 0 ? "/" : "", shown(reference->key),
             reference->key.data, has_version ? "@" : "", shown(reference->version),
             reference->version.data, words);
    return error;
}

/* ---- Sources. ------------------------------------------------------------------------------- */

/*
 * A command's cached output, or its failure. It was produced at begin_ms and is valid until end_ms,
 * both on the monotonic clock.
 */
struct kept {
    char *word; /* the reference; NULL: unused */
    const struct tr_secret_source *source;
    uint64_t begin_ms;
    uint64_t end_ms;
    int error;
    char words[TRI_SECRET_WORDS_BYTES];
    struct tri_buffer value;
};

struct tri_secrets {
    const struct tr_secret_source *sources;
    size_t count;
    struct kept kept[TR_SECRETS_CACHED_MAX];
    size_t next; /* the oldest entry */
    uint32_t kept_ms;
};

static const struct tr_secret_source default_sources[] = {{.kind = TR_SECRET_ENVIRONMENT},
                                                          {.kind = TR_SECRET_FOLDER}};

/* A search in one source: the reference, and words if the source does not have it. */
struct look {
    struct tri_secrets *secrets;
    const struct tr_secret_source *source;
    const struct tr_process_secret *reference;
    struct tri_buffer *value;
    char words[TR_REASON_BYTES_MAX / 2];
};

static int say(struct look *look, int error, const char *what, const char *words)
{
    snprintf(look->words, sizeof look->words, "%.120s%s%.130s", what, words[0] != '\0' ? ": " : "",
             words);
    return error;
}

/* ---- The environment. ----------------------------------------------------------------------- */

/*
 * Appends _PART in capitals. Different references may become the same variable (a-b and a_b): names
 * of variables allow no more.
 */
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

static bool is_secret(const char *entry)
{
    return strncmp(entry, TR_SECRET_VARIABLE_PREFIX, strlen(TR_SECRET_VARIABLE_PREFIX)) == 0;
}

/*
 * /proc/PID/environ shows the block of memory set up by exec, and processes of the same user may
 * read it. So the entry is copied to the heap, environ points to the copy, and the value in the
 * block is overwritten. The name stays visible.
 */
int tri_secret_hide_environment(void)
{
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        const char *equals = strchr(*entry, '=');
        if (equals == NULL || !is_secret(*entry)) {
            continue;
        }
        char *copy = tr_text_copy(tr_text_of(*entry));
        if (copy == NULL) {
            return TR_MEMORY;
        }
        char *value = *entry + (equals - *entry) + 1;
        explicit_bzero(value, strlen(value));
        *entry = copy;
    }
    return 0;
}

char **tri_secret_environment_without(void)
{
    size_t count = 0;
    while (environ != NULL && environ[count] != NULL) {
        count++;
    }
    char **free_of_them = tr_alloc((count + 1) * sizeof *free_of_them);
    char **end = free_of_them;
    for (size_t i = 0; end != NULL && i < count; i++) {
        if (!is_secret(environ[i])) {
            *end++ = environ[i];
        }
    }
    if (end != NULL) {
        *end = NULL;
    }
    return free_of_them;
}

static int find_variable(struct look *look)
{
    const struct tr_process_secret *reference = look->reference;
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
        snprintf(look->words, sizeof look->words, "$%.*s is not set", shown(tr_text_of(name.text)),
                 name.text);
        return TR_NOT_FOUND;
    }
    /*
     * The closing zero is appended and removed again: so even an empty value allocates the buffer,
     * and callers have a valid pointer.
     */
    size_t size = strlen(found);
    int error =
        size > TR_SECRET_BYTES_MAX ? TR_LIMIT : tri_buffer_append(look->value, found, size + 1);
    if (error == 0) {
        look->value->end--;
    }
    return error == 0 ? 0 : say(look, error, "the environment", tr_error_text(error));
}

/* ---- Files. --------------------------------------------------------------------------------- */

/*
 * The folder of a source, with a slash appended; false: there is none. The default is the user's by
 * the XDG rules, in which a relative path does not count.
 */
static bool put_folder(struct name *name, const struct tr_secret_source *source)
{
    const char *configuration = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    if (source->folder != NULL) {
        put(name, source->folder, strlen(source->folder));
        put(name, "/", 1);
        return true;
    }
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

/* Appends a regular file of limited size to the buffer. */
static int read_file(int fd, struct tri_buffer *value)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        errno = EINVAL;
        return TR_SYSTEM;
    }
    /* One byte more than allowed, so that a file that is too large is detected. */
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

/*
 * Reads the file of a name whose part from `below` on is the reference's. That part must be a path
 * below, so that a reference cannot leave the folder by `..`. Links are followed: the folder
 * belongs to the user. O_NONBLOCK: a pipe would block the open.
 */
static int read_named(const struct name *name, size_t below, struct tri_buffer *value)
{
    int error = is_too_long(name) ? TR_LIMIT
                                  : tri_below_check((struct tr_text){.data = name->text + below,
                                                                     .size = name->size - below});
    if (error != 0) {
        return error;
    }
    int fd = open(name->text, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR ? TR_NOT_FOUND : TR_SYSTEM;
    }
    error = read_file(fd, value);
    int number = errno;
    close(fd);
    errno = number;
    return error;
}

static int find_file(struct look *look)
{
    struct name name = {.size = 0};
    if (!put_folder(&name, look->source)) {
        return say(look, TR_NOT_FOUND, "the user has no folder", "");
    }
    size_t folder_size = name.size;
    put_reference(&name, look->reference);
    int error = read_named(&name, folder_size, look->value);
    if (error == 0) {
        return 0;
    }
    struct tr_text path = tr_text_of(name.text);
    if (error == TR_NOT_FOUND) {
        snprintf(look->words, sizeof look->words, "there is no file %.*s",
                 path.size < 230 ? (int)path.size : 230, path.data);
        return error;
    }
    snprintf(look->words, sizeof look->words, "the file %.*s: %s",
             path.size < 160 ? (int)path.size : 160, path.data,
             error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    return error;
}

/* ---- Commands. ------------------------------------------------------------------------------ */

static void forget(struct kept *kept)
{
    tri_secret_wipe(&kept->value);
    tri_buffer_fini(&kept->value);
    tr_free(kept->word);
    *kept = (struct kept){.word = NULL};
}

/* The cached entry of this source for this word, or NULL; expired ones are overwritten. */
static struct kept *find_kept(struct look *look, const char *word)
{
    uint64_t now_ms = tri_monotonic_ms();
    struct kept *found = NULL;
    for (size_t i = 0; i < TR_SECRETS_CACHED_MAX; i++) {
        struct kept *kept = &look->secrets->kept[i];
        if (kept->word != NULL && kept->end_ms <= now_ms) {
            forget(kept);
        } else if (kept->word != NULL && kept->source == look->source &&
                   strcmp(kept->word, word) == 0) {
            found = kept;
        }
    }
    return found;
}

/*
 * Runs the command and caches the result. NULL: no memory. A failure is cached for
 * TR_SECRET_CACHED_MS, whatever the caller has set, since the secret may be created meanwhile.
 */
static struct kept *ask(struct look *look, const char *word)
{
    struct tri_secrets *secrets = look->secrets;
    struct kept *kept = &secrets->kept[secrets->next];
    secrets->next = (secrets->next + 1) % TR_SECRETS_CACHED_MAX;
    forget(kept);
    kept->word = tr_text_copy(tr_text_of(word));
    /* At full size from the beginning, since growing would leave a copy in freed memory. */
    if (kept->word == NULL || tri_buffer_reserve(&kept->value, 2 * TR_SECRET_BYTES_MAX) != 0) {
        forget(kept);
        return NULL;
    }
    kept->source = look->source;
    kept->error = tri_secret_command(look->source->command, word, &kept->value, kept->words);
    kept->begin_ms = tri_monotonic_ms();
    kept->end_ms = kept->begin_ms + (kept->error == 0 ? secrets->kept_ms : TR_SECRET_CACHED_MS);
    if (kept->error != 0) {
        tri_secret_wipe(&kept->value);
    }
    return kept;
}

static int find_printed(struct look *look)
{
    struct name name = {.size = 0};
    char what[TRI_SECRET_WORDS_BYTES];
    put_reference(&name, look->reference);
    snprintf(what, sizeof what, "the command %.100s", look->source->command[0]);
    /* A word that begins with a dash would be an option. */
    if (is_too_long(&name) || name.text[0] == '-') {
        return say(look, TR_INVALID, what, "it cannot be asked for such a name");
    }
    struct kept *kept = find_kept(look, name.text);
    kept = kept != NULL ? kept : ask(look, name.text);
    if (kept == NULL) {
        return say(look, TR_MEMORY, what, tr_error_text(TR_MEMORY));
    }
    if (kept->error != 0) {
        return say(look, kept->error, what, kept->words);
    }
    size_t size = tri_buffer_size(&kept->value);
    int error = tri_buffer_reserve(look->value, size + 1);
    return error != 0 ? say(look, error, what, tr_error_text(error))
                      : tri_buffer_append(look->value, tri_buffer_front(&kept->value), size);
}

/* ---- The whole. ----------------------------------------------------------------------------- */

int tri_secrets_new(const struct tr_secret_source *sources, size_t count, struct tri_secrets **out)
{
    struct tri_secrets *secrets = tr_alloc_zero(1, sizeof *secrets);
    if (secrets == NULL) {
        return TR_MEMORY;
    }
    secrets->sources = count > 0 ? sources : default_sources;
    secrets->count = count > 0 ? count : TR_COUNT_OF(default_sources);
    secrets->kept_ms = TR_SECRET_CACHED_MS;
    *out = secrets;
    return 0;
}

void tri_secrets_set_cache_ms(struct tri_secrets *secrets, uint32_t kept_ms)
{
    secrets->kept_ms = kept_ms;
}

void tri_secrets_forget(struct tri_secrets *secrets, uint64_t before_ms)
{
    for (size_t i = 0; i < TR_SECRETS_CACHED_MAX; i++) {
        if (secrets->kept[i].begin_ms < before_ms) {
            forget(&secrets->kept[i]);
        }
    }
}

void tri_secrets_free(struct tri_secrets *secrets)
{
    for (size_t i = 0; secrets != NULL && i < TR_SECRETS_CACHED_MAX; i++) {
        forget(&secrets->kept[i]);
    }
    tr_free(secrets);
}

/* Appends the words of one source to those of the others. */
static void gather(char *all, size_t size, const char *words)
{
    size_t used = strlen(all);
    snprintf(all + used, size - used, "%s%s", used > 0 ? "; " : "", words);
}

int tri_secret_find(struct tri_secrets *secrets, const struct tr_process_secret *reference,
                    struct tri_buffer *value, char *reason)
{
    static int (*const finders[])(struct look * look) = {
        [TR_SECRET_ENVIRONMENT] = find_variable,
        [TR_SECRET_FOLDER] = find_file,
        [TR_SECRET_COMMAND] = find_printed,
    };
    char all[TR_REASON_BYTES_MAX] = "";
    struct look look = {.secrets = secrets, .reference = reference, .value = value};
    if (reference->key.size == 0) {
        return explain(reference, TR_INVALID, "it has no key", reason);
    }
    for (size_t i = 0; i < secrets->count; i++) {
        look.source = &secrets->sources[i];
        int error = finders[look.source->kind](&look);
        if (error == 0) {
            return 0;
        }
        if (error != TR_NOT_FOUND) {
            /* A command that hangs counts as not having it: the attempt fails with its name. */
            return explain(reference, error == TR_TIMEOUT ? TR_NOT_FOUND : error, look.words,
                           reason);
        }
        gather(all, sizeof all, look.words);
    }
    return explain(reference, TR_NOT_FOUND, all, reason);
}

/*
 * Overwrites the whole capacity, since consumed bytes are still there. The compiler may not remove
 * explicit_bzero.
 */
void tri_secret_wipe(struct tri_buffer *value)
{
    if (value->data != NULL) {
        explicit_bzero(value->data, value->capacity);
    }
    tri_buffer_clear(value);
}
