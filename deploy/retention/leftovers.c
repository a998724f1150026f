/*
 * Walking attempts/PROJECT/DOMAIN/EXEC for folders of attempts that still have what they worked in,
 * and asking the history of those executions alone which of them succeeded.
 */
#include "deploy/retention/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/document/arena.h"
#include "deploy/retention/pruning_files.h"
#include "runtime/memory.h"
#include "schemas/engine/phase.h"
#include "schemas/engine/plugin.h"
#include "schemas/runtime/process.h"

/* Folders between the store and an attempt's: attempts, PROJECT, DOMAIN, EXEC. */
#define ATTEMPTS "attempts"
#define DEPTH 4

/* Where an attempt works; the rest of its folder are logs. */
static const char *const work_names[] = {TR_ATTEMPT_WORK, TR_ATTEMPT_TMP};
static const char *const log_names[] = {TR_ATTEMPT_STDOUT, TR_ATTEMPT_STDERR, TR_FLYTE_DECK};

struct leftovers {
    const struct tr_prune_request *request;
    char *explain;
    struct tr_pruned_part *part;
    struct tr_reader *reader; /* from the first folder on that is worth a look */
    struct tr_arena arena;    /* of one execution */
    struct tri_vector names;  /* const char *: its attempts that have a working folder, in order */
    char path[PATH_MAX];      /* of its folder, below the store's */
};

static int fail(struct leftovers *leftovers, int error, const char *what)
{
    if (leftovers->explain[0] == '\0') {
        snprintf(leftovers->explain, TRI_STORE_EXPLAIN_BYTES, "%.300s: %s", what,
                 error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    return error;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ---------------------------------------------------------------------- one attempt */

static int remove_below(struct leftovers *leftovers, const char *name, const char *last,
                        struct tr_pruned_part *part)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s%s%s", leftovers->path, name, last[0] == '\0' ? "" : "/",
             last);
    return tr_prune_folder(leftovers->request, path, leftovers->explain, part);
}

/* Whether it has written something that is still worth reading. */
static bool has_logs(const struct leftovers *leftovers, const char *name)
{
    for (size_t i = 0; i < TR_COUNT_OF(log_names); i++) {
        char path[3 * PATH_MAX];
        struct stat status;
        snprintf(path, sizeof path, "%s/%s/%s/%s", leftovers->request->folder, leftovers->path,
                 name, log_names[i]);
        if (lstat(path, &status) == 0 && status.st_size > 0) {
            return true;
        }
    }
    return false;
}

static int remove_attempt(struct leftovers *leftovers, const char *name)
{
    struct tr_pruned_part removed = {.count = 0};
    int error = 0;
    if (!has_logs(leftovers, name)) {
        error = remove_below(leftovers, name, "", &removed);
    } else {
        for (size_t i = 0; error == 0 && i < TR_COUNT_OF(work_names); i++) {
            error = remove_below(leftovers, name, work_names[i], &removed);
        }
    }
    leftovers->part->count += removed.count > 0 ? 1 : 0;
    leftovers->part->bytes += removed.bytes;
    return error;
}

static int take_attempt(void *self, const void *value)
{
    struct leftovers *leftovers = self;
    const struct tr_attempt *row = value;
    char name[NAME_MAX + 1];
    const char *key = name;
    if (row->generated_name.size >= sizeof name) {
        return 0;
    }
    snprintf(name, sizeof name, "%.*s", (int)row->generated_name.size, row->generated_name.data);
    bool is_there =
        leftovers->names.count > 0 && bsearch(&key, leftovers->names.items, leftovers->names.count,
                                              sizeof key, compare_names) != NULL;
    return is_there ? remove_attempt(leftovers, name) : 0;
}

/* -------------------------------------------------------------------- one execution */

static bool has_work(int folder, const char *name)
{
    for (size_t i = 0; i < TR_COUNT_OF(work_names); i++) {
        char path[PATH_MAX];
        int size = snprintf(path, sizeof path, "%s/%s", name, work_names[i]);
        if (size > 0 && (size_t)size < sizeof path &&
            faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            return true;
        }
    }
    return false;
}

static int note(struct leftovers *leftovers, const char *name)
{
    struct tr_text text = tr_arena_print(&leftovers->arena, "%s", name);
    const char **added =
        text.size == 0 ? NULL : tri_vector_add(&leftovers->arena, &leftovers->names, sizeof *added);
    if (added == NULL) {
        return TR_MEMORY;
    }
    *added = text.data;
    return 0;
}

/* One that has just begun may not be known yet. */
static bool is_old(const struct leftovers *leftovers, int folder)
{
    struct stat status;
    uint64_t changed_ms =
        fstat(folder, &status) != 0 ? UINT64_MAX : (uint64_t)status.st_mtim.tv_sec * 1000;
    return changed_ms < leftovers->request->unnamed_before_ms;
}

/*
 * What is left of an execution that another host has forgotten: this one alone has its folders.
 */
static int remove_forgotten(struct leftovers *leftovers, int folder, struct tr_text names[3])
{
    const struct tr_execution row = {.project = names[0], .domain = names[1], .name = names[2]};
    return leftovers->request->is_one_of_several && is_old(leftovers, folder)
               ? tr_prune_execution_folders(leftovers->request, &row, leftovers->explain,
                                            leftovers->part)
               : 0;
}

/* Which attempts of the execution succeeded; one that the history does not know is left alone. */
static int ask_history(struct leftovers *leftovers, int folder, struct tr_text names[3])
{
    struct tr_executions_row copy;
    int error = leftovers->reader == NULL ? tr_history_open(leftovers->request->folder,
                                                            leftovers->explain, &leftovers->reader)
                                          : tr_reader_refresh(leftovers->reader);
    if (error == 0) {
        error = tr_executions_named(leftovers->reader, names[0], names[1], names[2], &copy);
    }
    if (error != 0) {
        return error == TR_NOT_FOUND ? remove_forgotten(leftovers, folder, names) : error;
    }
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, copy.row.execution),
        tr_filter_number("phase", TR_FILTER_EQUAL, TR_TASK_PHASE_SUCCESS)};
    struct tr_reader_query query = {
        .record = &tr_attempt_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    error = tr_reader_rows(leftovers->reader, &query, take_attempt, leftovers);
    tr_executions_row_fini(&copy);
    return error;
}

static int look_at(struct leftovers *leftovers, DIR *folder, struct tr_text names[3])
{
    const struct dirent *entry;
    int error = 0;
    tr_arena_fini(&leftovers->arena);
    tr_arena_init(&leftovers->arena);
    leftovers->names = (struct tri_vector){.count = 0};
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.' && has_work(dirfd(folder), entry->d_name)) {
            error = note(leftovers, entry->d_name);
        }
    }
    bool is_worth_it = leftovers->names.count > 0 || leftovers->request->is_one_of_several;
    if (error == 0 && is_worth_it) {
        if (leftovers->names.count > 1) {
            qsort(leftovers->names.items, leftovers->names.count, sizeof(char *), compare_names);
        }
        error = ask_history(leftovers, dirfd(folder), names);
    }
    return error == 0 ? 0 : fail(leftovers, error, leftovers->path);
}

/* ---------------------------------------------------------------------- the folders */

/* The folders on the way down, each with its name. */
static int walk(struct leftovers *leftovers, int parent, const char *name, unsigned depth,
                struct tr_text names[DEPTH])
{
    const struct tr_prune_request *request = leftovers->request;
    size_t size = strlen(leftovers->path);
    int error = 0;
    if (request->is_stopping != NULL && atomic_load(request->is_stopping)) {
        return TR_CLOSED;
    }
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        return errno == ENOENT || errno == ENOTDIR ? 0 : fail(leftovers, TR_SYSTEM, name);
    }
    snprintf(leftovers->path + size, sizeof leftovers->path - size, "%s%s", size > 0 ? "/" : "",
             name);
    names[depth] = tr_text_of(name);
    if (depth + 1 == DEPTH) {
        error = look_at(leftovers, folder, names + 1);
    } else {
        const struct dirent *entry;
        while (error == 0 && (entry = readdir(folder)) != NULL) {
            error =
                entry->d_name[0] == '.' ? 0 : walk(leftovers, fd, entry->d_name, depth + 1, names);
        }
    }
    closedir(folder);
    leftovers->path[size] = '\0';
    return error;
}

int tr_leftovers_remove(const struct tr_prune_request *request, char *explain,
                        struct tr_pruned_part *part)
{
    struct leftovers leftovers = {.request = request, .explain = explain, .part = part};
    struct tr_text names[DEPTH];
    int store = open(request->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store < 0) {
        return fail(&leftovers, TR_SYSTEM, request->folder);
    }
    tr_arena_init(&leftovers.arena);
    int error = walk(&leftovers, store, ATTEMPTS, 0, names);
    tr_reader_close(leftovers.reader);
    tr_arena_fini(&leftovers.arena);
    close(store);
    return error;
}

/* ------------------------------------------------------------------- the thread */

struct tr_sweeper {
    struct tr_prune_request request;
    pthread_t thread;
    atomic_bool is_stopping;
};

static void *sweep(void *argument)
{
    struct tr_sweeper *sweeper = argument;
    struct tr_pruned_part part = {.count = 0};
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    (void)!tr_leftovers_remove(&sweeper->request, explain, &part);
    return NULL;
}

int tr_sweeper_start(const char *folder, struct tr_sweeper **out)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" ATTEMPTS, folder);
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        *out = NULL; /* nothing to sweep */
        return 0;
    }
    struct tr_sweeper *sweeper = tr_alloc_zero(1, sizeof *sweeper);
    if (sweeper == NULL) {
        return TR_MEMORY;
    }
    sweeper->request.folder = folder;
    sweeper->request.is_stopping = &sweeper->is_stopping;
    if (pthread_create(&sweeper->thread, NULL, sweep, sweeper) != 0) {
        tr_free(sweeper);
        return TR_SYSTEM;
    }
    *out = sweeper;
    return 0;
}

void tr_sweeper_end(struct tr_sweeper *sweeper)
{
    if (sweeper != NULL) {
        atomic_store(&sweeper->is_stopping, true);
        pthread_join(sweeper->thread, NULL);
        tr_free(sweeper);
    }
}
