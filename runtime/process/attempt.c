/*
 * Makes an attempt's folder, and copies what is needed after its end.
 *
 * All names of a request are checked before anything is made, so a refused request leaves no trace.
 * Then mkdir decides: a folder that it makes is new, and this key never ran there. An existing one
 * may belong to a running process, since the keeper outlives the engine; it is left alone
 * (TR_EXISTS) until the keeper has been asked. Only if the keeper does not know the key, it is the
 * folder of an engine that died before it told the keeper, and is emptied (`is_emptied`).
 *
 * All paths are resolved below the store's folder name by name without following links
 * (blob/below.h), because a process that ran there may have replaced any of them by a link.
 *
 * Nothing is synced here: after a restart of the machine an unfinished attempt counts as lost. The
 * keeper syncs the files of the process before it logs the end (keeper_sync.c).
 */
#include "runtime/process/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/memory.h"
#include "runtime/process/attempt_inside.h"
#include "runtime/process/environment.h"

#define PARENT_MODE 0700
#define FOLDER_MODE 0700
#define FILE_MODE 0600

/*
 * Writes "WHAT: WORDS" into `reason` and returns the error. errno is 0 where no system call failed.
 */
static int explain(char *reason, int error, struct tr_text what)
{
    bool is_system = error == TR_SYSTEM || error == TR_NOT_FOUND || tr_error_is_shortage(error);
    snprintf(reason, TR_REASON_BYTES_MAX, "%.*s: %s", (int)(what.size < 256 ? what.size : 256),
             what.data, is_system && errno != 0 ? strerror(errno) : tr_error_text(error));
    return error;
}

/*
 * The same for a folder that the engine makes. TR_NOT_FOUND becomes TR_SYSTEM: it would be read as
 * a missing name in the request, such as a secret.
 */
static int explain_place(char *reason, int error, struct tr_text what)
{
    return explain(reason, error == TR_NOT_FOUND ? TR_SYSTEM : error, what);
}

static int refuse(char *reason, int error, const char *words)
{
    snprintf(reason, TR_REASON_BYTES_MAX, "%s", words);
    return error;
}

/* ---- Where attempts live. ------------------------------------------------------------------- */

int tri_attempt_folders_init(struct tri_attempt_folders *folders, const char *store_folder)
{
    *folders = (struct tri_attempt_folders){.parent = -1};
    folders->store = open(store_folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char real[PATH_MAX];
    if (folders->store < 0 || realpath(store_folder, real) == NULL) {
        tri_attempt_folders_fini(folders);
        return TR_SYSTEM;
    }
    /*
     * A request may name the store as the engine was given it or with links resolved; both are
     * accepted. A relative name cannot be compared, so only the resolved one is used then.
     */
    folders->names[0] = tr_text_copy(tr_text_of(store_folder[0] == '/' ? store_folder : real));
    folders->names[1] = tr_text_copy(tr_text_of(real));
    if (folders->names[0] == NULL || folders->names[1] == NULL) {
        tri_attempt_folders_fini(folders);
        return TR_MEMORY;
    }
    return 0;
}

static void forget_parent(struct tri_attempt_folders *folders)
{
    if (folders->parent >= 0) {
        close(folders->parent);
    }
    folders->parent = -1;
}

void tri_attempt_folders_fini(struct tri_attempt_folders *folders)
{
    int number = errno;
    forget_parent(folders);
    if (folders->store >= 0) {
        close(folders->store);
    }
    folders->store = -1;
    tr_free(folders->names[0]);
    tr_free(folders->names[1]);
    folders->names[0] = NULL;
    folders->names[1] = NULL;
    errno = number;
}

/*
 * The part of an absolute path below the store's folder. Slashes at the end of the store's name do
 * not count, and a common prefix is not enough: /store2 is not below /store.
 */
int tri_attempt_below(const struct tri_attempt_folders *folders, struct tr_text path,
                      struct tr_text *below)
{
    for (size_t i = 0; i < TR_COUNT_OF(folders->names); i++) {
        size_t size = strlen(folders->names[i]);
        while (size > 0 && folders->names[i][size - 1] == '/') {
            size--;
        }
        if (path.size > size && memcmp(path.data, folders->names[i], size) == 0 &&
            path.data[size] == '/') {
            *below = (struct tr_text){.data = path.data + size + 1, .size = path.size - size - 1};
            return tri_below_check(*below);
        }
    }
    return TR_INVALID;
}

/* ---- Checking. ------------------------------------------------------------------------------ */

static bool is_absolute(struct tr_text path)
{
    return path.size > 0 && path.data[0] == '/';
}

/* A name below the attempt's folder, or empty. */
static int check_optional(struct tr_text name, const char *what, char *reason)
{
    int error = name.size > 0 ? tri_below_check(name) : 0;
    return error != 0 ? refuse(reason, error, what) : 0;
}

static int check_folders(const struct tri_attempt_folders *folders, struct tr_bytes array,
                         char *reason)
{
    struct tr_cursor cursor;
    struct tr_text below;
    uint32_t count = tr_process_array_begin(array, &cursor);
    int error = count > TR_ATTEMPT_FOLDERS_MAX ? TR_LIMIT : 0;
    for (uint32_t i = 0; i < count && error == 0 && cursor.error == 0; i++) {
        struct tr_text name = tr_read_text(&cursor);
        if (cursor.error == 0) {
            error = is_absolute(name) ? tri_attempt_below(folders, name, &below)
                                      : tri_below_check(name);
        }
    }
    if (error != 0) {
        return error;
    }
    error = cursor.error;
    return error != 0 ? refuse(reason, error, "a folder that is no name below") : 0;
}

static int check_files(struct tr_bytes array, char *reason)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(array, &cursor);
    int error = count > TR_ATTEMPT_FILES_MAX ? TR_LIMIT : 0;
    for (uint32_t i = 0; i < count && error == 0 && cursor.error == 0; i++) {
        struct tr_process_file file = tr_process_file_next(&cursor);
        if (cursor.error == 0) {
            error = tri_below_check(file.name);
        }
    }
    if (error != 0) {
        return error;
    }
    error = cursor.error;
    return error != 0 ? refuse(reason, error, "a file that is no name below") : 0;
}

static int check_results(struct tr_bytes array, char *reason)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(array, &cursor);
    int error = count > TR_ATTEMPT_RESULTS_MAX ? TR_LIMIT : 0;
    for (uint32_t i = 0; i < count && error == 0 && cursor.error == 0; i++) {
        struct tr_process_result result = tr_process_result_next(&cursor);
        if (cursor.error == 0) {
            error = tri_below_check(result.name);
        }
    }
    if (error != 0) {
        return error;
    }
    error = cursor.error;
    return error != 0 ? refuse(reason, error, "a result that is no name below") : 0;
}

static int check_secrets(struct tr_bytes array, char *reason)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(array, &cursor);
    int error = count > TR_ATTEMPT_SECRETS_MAX ? TR_LIMIT : cursor.error;
    return error != 0 ? refuse(reason, error, "secrets are no array, or too many") : 0;
}

/* Checks all names before anything is made, so a refused attempt leaves no trace. */
static int check(const struct tri_attempt_folders *folders, const struct tr_process_run *run,
                 char *reason)
{
    const struct tr_text files[] = {run->stdin_path, run->stdout_path, run->stderr_path};
    int error = check_optional(run->work, "the working folder is no name below", reason);
    for (size_t i = 0; i < TR_COUNT_OF(files) && error == 0; i++) {
        struct tr_text name = is_absolute(files[i]) ? (struct tr_text){0} : files[i];
        error = check_optional(name, "a stdin, stdout or stderr that is no name below", reason);
    }
    if (error == 0) {
        error = check_folders(folders, run->folders, reason);
    }
    if (error == 0) {
        error = check_files(run->files, reason);
    }
    if (error == 0) {
        error = check_results(run->results, reason);
    }
    return error != 0 ? error : check_secrets(run->secrets, reason);
}

/* ---- What is kept in mind. ------------------------------------------------------------------ */

static struct tr_text keep(char **at, struct tr_text text)
{
    struct tr_text kept = {.data = *at, .size = text.size};
    if (text.size > 0) {
        memcpy(*at, text.data, text.size);
    }
    *at += text.size;
    return kept;
}

/*
 * One block holds the attempt and its texts. An output with an absolute path lies elsewhere and is
 * not cleaned up, so an empty name is kept for it.
 */
int tri_attempt_new(const struct tri_attempt_folders *folders, const struct tr_process_run *run,
                    char *reason, struct tri_attempt **out)
{
    struct tr_text below;
    struct tr_cursor cursor;
    if (tri_attempt_below(folders, run->folder, &below) != 0) {
        return refuse(reason, TR_INVALID, "the attempt's folder does not lie below the store's");
    }
    int error = check(folders, run, reason);
    if (error != 0) {
        return error;
    }
    size_t size = below.size + run->stdout_path.size + run->stderr_path.size + run->results.size;
    struct tri_attempt *attempt = tr_alloc(sizeof *attempt + size);
    if (attempt == NULL) {
        return refuse(reason, TR_MEMORY, tr_error_text(TR_MEMORY));
    }
    char *at = (char *)(attempt + 1);
    struct tr_text none = {.data = "", .size = 0};
    *attempt = (struct tri_attempt){
        .folder = keep(&at, below),
        .outputs = {is_absolute(run->stdout_path) ? none : keep(&at, run->stdout_path),
                    is_absolute(run->stderr_path) ? none : keep(&at, run->stderr_path)},
        .has_secrets = tr_process_array_begin(run->secrets, &cursor) > 0,
    };
    struct tr_text results = {(const char *)run->results.data, run->results.size};
    results = keep(&at, results);
    attempt->results = (struct tr_bytes){(const uint8_t *)results.data, results.size};
    *out = attempt;
    return 0;
}

void tri_attempt_free(struct tri_attempt *attempt)
{
    tr_free(attempt);
}

/* ---- Making. -------------------------------------------------------------------------------- */

/* Splits the attempt's folder into its parent, which may be the store, and its own name. */
static void split(const struct tri_attempt *attempt, struct tr_text *parent, struct tr_text *last)
{
    const char *slash = memrchr(attempt->folder.data, '/', attempt->folder.size);
    size_t size = slash == NULL ? 0 : (size_t)(slash - attempt->folder.data);
    size_t skipped = slash == NULL ? 0 : size + 1;
    *parent = (struct tr_text){.data = attempt->folder.data, .size = size};
    *last = (struct tr_text){.data = attempt->folder.data + skipped,
                             .size = attempt->folder.size - skipped};
}

/*
 * Opens the parent, and keeps it open for the next attempt. The descriptor is O_RDONLY and not a
 * path, so it leads to the same folder when a name on the way is replaced; if the folder itself was
 * removed, making something in it fails with ENOENT (see tri_attempt_make). With mode 0 nothing is
 * made.
 */
static int open_parent(struct tri_attempt_folders *folders, struct tr_text parent, mode_t mode,
                       int *fd)
{
    bool is_known = folders->parent >= 0 && tr_text_equal(parent, tr_text_of(folders->parent_name));
    if (!is_known && parent.size > 0) {
        int opened;
        int error = tri_below_folder(folders->store, parent, mode, &opened);
        if (error != 0) {
            return error;
        }
        forget_parent(folders);
        folders->parent = opened;
        memcpy(folders->parent_name, parent.data, parent.size);
        folders->parent_name[parent.size] = '\0';
    }
    *fd = parent.size > 0 ? folders->parent : folders->store;
    return 0;
}

int tri_attempt_open(struct tri_attempt_folders *folders, const struct tri_attempt *attempt,
                     int *fd)
{
    struct tr_text parent;
    struct tr_text last;
    int folder;
    split(attempt, &parent, &last);
    int error = open_parent(folders, parent, 0, &folder);
    return error != 0 ? error : tri_below_folder(folder, last, 0, fd);
}

/* Does not follow a link at the folder's path. */
bool tri_attempt_exists(struct tri_attempt_folders *folders, const struct tri_attempt *attempt)
{
    struct tr_text parent;
    struct tr_text last;
    struct tri_below_place place;
    struct stat status;
    int folder;
    split(attempt, &parent, &last);
    return open_parent(folders, parent, 0, &folder) == 0 &&
           tri_below_find(folder, last, 0, &place) == 0 &&
           fstatat(folder, place.last, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * mkdir itself decides whether the folder is new, so there is no race between a check and the
 * making.
 */
static int make_folder(struct tri_attempt_folders *folders, const struct tri_attempt *attempt,
                       bool is_emptied)
{
    struct tr_text parent;
    struct tr_text last;
    struct tri_below_place place;
    int folder;
    split(attempt, &parent, &last);
    int error = open_parent(folders, parent, PARENT_MODE, &folder);
    if (error == 0) {
        error = tri_below_find(folder, last, 0, &place);
    }
    if (error == 0 && is_emptied) {
        error = tri_below_remove(folder, last);
        error = error == TR_NOT_FOUND ? 0 : error;
    }
    if (error == 0 && mkdirat(folder, place.last, FOLDER_MODE) != 0) {
        error = tri_below_error();
    }
    return error;
}

static int make_below(int folder, struct tr_text name, mode_t mode)
{
    struct tri_below_place place;
    int error = tri_below_find(folder, name, mode, &place);
    if (error != 0) {
        return error;
    }
    if (mkdirat(place.folder, place.last, mode) != 0 && errno != EEXIST) {
        error = tri_below_error();
    }
    tri_below_place_close(&place);
    return error;
}

static int make_folders(const struct tri_attempt_folders *folders, int folder,
                        const struct tr_process_run *run, char *reason)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(run->folders, &cursor);
    int error = run->work.size > 0 ? make_below(folder, run->work, PARENT_MODE) : 0;
    struct tr_text name = run->work;
    for (uint32_t i = 0; i < count && error == 0; i++) {
        struct tr_text below;
        name = tr_read_text(&cursor);
        if (!is_absolute(name)) {
            error = make_below(folder, name, PARENT_MODE);
        } else if ((error = tri_attempt_below(folders, name, &below)) == 0) {
            error = make_below(folders->store, below, PARENT_MODE);
        }
    }
    return error != 0 ? explain_place(reason, error, name) : 0;
}

/*
 * Makes a link to a file elsewhere. The plugin chose its target, and the engine itself never
 * follows it.
 */
static int make_link(int folder, const struct tr_process_file *file)
{
    char target[TR_PATH_BYTES_MAX];
    struct tri_below_place place;
    if (file->bytes.size >= sizeof target) {
        return TR_LIMIT;
    }
    snprintf(target, sizeof target, "%.*s", (int)file->bytes.size, (const char *)file->bytes.data);
    int error = tri_below_find(folder, file->name, 0, &place);
    if (error != 0) {
        return error;
    }
    if (symlinkat(target, place.folder, place.last) != 0) {
        error = tri_below_error();
    }
    tri_below_place_close(&place);
    return error;
}

/* Mode 0 means FILE_MODE. A name that occurs twice in a request is an error (O_EXCL). */
static int make_file(int folder, const struct tr_process_file *file)
{
    mode_t mode = file->mode != 0 ? file->mode & 0777 : FILE_MODE;
    return S_ISLNK(file->mode) ? make_link(folder, file)
                               : tri_below_write(folder, file->name, file->bytes, mode);
}

static int make_files(int folder, const struct tr_process_run *run, char *reason)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(run->files, &cursor);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_process_file file = tr_process_file_next(&cursor);
        int error = make_file(folder, &file);
        if (error != 0) {
            return explain(reason, error, file.name);
        }
    }
    return 0;
}

/*
 * Makes folders, files and secrets in the new folder, in this order: files may lie in listed
 * folders, and files of secrets come last, so that little can fail after they are written.
 */
static int fill(struct tri_attempt_folders *folders, const struct tri_attempt *attempt,
                const struct tr_process_run *run, struct tri_buffer *environment, char *reason)
{
    int folder;
    int error = tri_attempt_open(folders, attempt, &folder);
    if (error != 0) {
        return explain_place(reason, error, run->folder);
    }
    error = make_folders(folders, folder, run, reason);
    if (error == 0) {
        error = make_files(folder, run, reason);
    }
    if (error == 0) {
        error = tri_environment_pack(run, &folders->sources, folder, environment, reason);
    }
    close(folder);
    /* A name occurs twice in the request: the folder itself was new. */
    return error == TR_EXISTS ? TR_INVALID : error;
}

/* Makes the folder and fills it. After an error it is removed, so the next try finds none. */
int tri_attempt_make(struct tri_attempt_folders *folders, struct tri_attempt *attempt,
                     const struct tr_process_run *run, bool is_emptied,
                     struct tri_buffer *environment, char *reason)
{
    errno = 0;
    int error = make_folder(folders, attempt, is_emptied);
    if (error == TR_NOT_FOUND) {
        /* The parent that was kept open has been removed. */
        forget_parent(folders);
        error = make_folder(folders, attempt, is_emptied);
    }
    if (error != 0) {
        return error == TR_EXISTS ? error : explain_place(reason, error, run->folder);
    }
    error = fill(folders, attempt, run, environment, reason);
    if (error != 0) {
        tri_attempt_discard(folders, attempt);
    }
    return error;
}

int tri_attempt_path(struct tr_text folder, struct tr_text name, char path[TR_PATH_BYTES_MAX],
                     struct tr_text *joined)
{
    if (name.size == 0 || is_absolute(name)) {
        *joined = name;
        return 0;
    }
    if (folder.size + 1 + name.size >= TR_PATH_BYTES_MAX) {
        return TR_LIMIT;
    }
    memcpy(path, folder.data, folder.size);
    path[folder.size] = '/';
    memcpy(path + folder.size + 1, name.data, name.size);
    *joined = (struct tr_text){.data = path, .size = folder.size + 1 + name.size};
    return 0;
}
