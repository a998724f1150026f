/*
 * From the path of a package to a graph: its files, their code, their environment, their compiler.
 */
#include "deploy/flyte/package.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/flyteworkflow/flyteworkflow.h"
#include "actors/graph/import/import.h"
#include "actors/values/path.h"
#include "deploy/common/file.h"
#include "deploy/flyte/archive.h"
#include "deploy/flyte/code.h"
#include "deploy/flyte/python.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* What is known of a package on its way. */
struct loading {
    const char *path;
    const struct tr_package_options *options;
    struct tr_report *report;
    struct tr_arena *arena;
    struct tri_vector files; /* struct tr_flyte_file */
    struct tr_bytes code;    /* the archive with the code of a fast package */
    struct tr_flyte_files literals;
    struct tr_flyte_package package;
};

static int refuse(struct loading *loading, const char *words)
{
    tri_report_add(loading->report, (struct tri_place){0}, NULL, "%s", words);
    return TR_INVALID;
}

/* What the system says about a file. */
static int refuse_file(struct loading *loading, const char *path, int error)
{
    tri_report_add(loading->report, (struct tri_place){0}, NULL,
                   "%s cannot be read: %s\ncheck its name", path,
                   error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    return TR_INVALID;
}

/* ------------------------------------------------------------------ names of files */

static bool ends_with(struct tr_text name, const char *end)
{
    size_t size = strlen(end);
    return name.size >= size && memcmp(name.data + name.size - size, end, size) == 0;
}

/* Two bytes tell an archive that is compressed by gzip, whatever its name. */
static bool is_gzip(const char *path)
{
    unsigned char begin[2] = {0};
    FILE *file = fopen(path, "re");
    size_t count = file == NULL ? 0 : fread(begin, 1, sizeof begin, file);
    if (file != NULL) {
        (void)fclose(file);
    }
    return count == sizeof begin && begin[0] == 0x1f && begin[1] == 0x8b;
}

/* A resource of Kubernetes tells itself. */
static bool is_flyteworkflow(const char *path)
{
    char begin[TR_FLYTEWORKFLOW_BEGIN_BYTES];
    FILE *file = fopen(path, "re");
    size_t size = file == NULL ? 0 : fread(begin, 1, sizeof begin, file);
    if (file != NULL) {
        (void)fclose(file);
    }
    return tr_flyteworkflow_is((struct tr_text){.data = begin, .size = size});
}

bool tr_package_is(const char *path)
{
    struct stat status;
    struct tr_text name = tr_text_of(path);
    if (stat(path, &status) != 0 || (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))) {
        return false;
    }
    return S_ISDIR(status.st_mode) || ends_with(name, ".pb") || ends_with(name, ".tgz") ||
           ends_with(name, ".tar.gz") || is_gzip(path) || is_flyteworkflow(path);
}

static struct tr_text last_part(struct tr_text path)
{
    size_t begin = path.size;
    while (begin > 0 && path.data[begin - 1] != '/') {
        begin--;
    }
    return (struct tr_text){.data = path.data + begin, .size = path.size - begin};
}

/* ------------------------------------------------------------------ files */

/*
 * Of a fast package the code, which is an archive itself; else an entity, or a file that is none.
 */
static int add_file(void *self, struct tr_text name, bool is_program, struct tr_bytes bytes)
{
    struct loading *loading = self;
    bool is_code = ends_with(name, ".tar.gz") || ends_with(name, ".tgz");
    (void)is_program;
    if (!is_code && !ends_with(name, ".pb")) {
        return 0;
    }
    struct tr_bytes copy = tr_arena_bytes(loading->arena, bytes);
    if (is_code) {
        loading->code = copy;
        return loading->arena->error;
    }
    struct tr_flyte_file *file = tri_vector_add(loading->arena, &loading->files, sizeof *file);
    if (file != NULL) {
        *file = (struct tr_flyte_file){.name = tr_arena_text(loading->arena, last_part(name)),
                                       .bytes = copy};
    }
    return loading->arena->error;
}

/* A resource becomes the files of a package. */
static int add_flyteworkflow(struct loading *loading, struct tr_bytes bytes)
{
    struct tr_flyte_file files[TR_FLYTEWORKFLOW_FILES];
    struct tr_text text = {.data = (const char *)bytes.data, .size = bytes.size};
    int error = tr_flyteworkflow_read(loading->arena, loading->report,
                                      tr_arena_text(loading->arena, text), files);
    for (size_t i = 0; error == 0 && i < TR_FLYTEWORKFLOW_FILES; i++) {
        error = add_file(loading, files[i].name, false, files[i].bytes);
    }
    return error;
}

static int read_one(struct loading *loading, const char *path)
{
    char *data = NULL;
    size_t size = 0;
    int error = tr_file_read(path, TR_ARCHIVE_BYTES_MAX, &data, &size);
    if (error != 0) {
        return error == TR_MEMORY ? error : refuse_file(loading, path, error);
    }
    struct tr_bytes bytes = {.data = (const uint8_t *)data, .size = size};
    if (ends_with(tr_text_of(path), ".pb")) {
        error = add_file(loading, tr_text_of(path), false, bytes);
    } else if (is_flyteworkflow(path)) {
        error = add_flyteworkflow(loading, bytes);
    } else {
        error = tr_archive_walk(bytes, add_file, loading, loading->report);
    }
    tr_free(data);
    return error;
}

/* What `pyflyte serialize` writes into a folder. */
static int read_folder(struct loading *loading)
{
    DIR *folder = opendir(loading->path);
    int error = folder == NULL ? refuse_file(loading, loading->path, TR_SYSTEM) : 0;
    const struct dirent *entry = folder == NULL ? NULL : readdir(folder);
    for (; error == 0 && entry != NULL; entry = readdir(folder)) {
        struct tr_text path = tr_arena_print(loading->arena, "%s/%s", loading->path, entry->d_name);
        if (path.size > 0 && ends_with(path, ".pb")) {
            error = read_one(loading, path.data);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return error != 0 ? error : loading->arena->error;
}

static int by_name(const void *left, const void *right)
{
    const struct tr_flyte_file *a = left;
    const struct tr_flyte_file *b = right;
    return tr_text_order(a->name, b->name);
}

static int read_files(struct loading *loading)
{
    struct stat status;
    bool is_folder = stat(loading->path, &status) == 0 && S_ISDIR(status.st_mode);
    int error = is_folder ? read_folder(loading) : read_one(loading, loading->path);
    if (loading->files.count > 1) {
        qsort(loading->files.items, loading->files.count, sizeof(struct tr_flyte_file), by_name);
    }
    loading->package.files = loading->files.items;
    loading->package.file_count = loading->files.count;
    loading->package.literals = &loading->literals;
    return error;
}

/* ------------------------------------------------------------------ literals in files */

/* Tells why a literal that lies in a file is not there. */
static int refuse_literal(struct tr_report *report, struct tr_text uri, const char *words)
{
    tri_report_add(report, (struct tri_place){0}, "InvalidValue", "a literal names '%.*s': %s",
                   TRI_TEXT(uri), words);
    return TR_INVALID;
}

/* What bindings and defaults name, as far as it is on this machine. */
static int open_literal(void *self, struct tr_report *report, struct tr_text uri,
                        struct tr_bytes *file)
{
    struct loading *loading = self;
    if (!tri_path_is_local(uri)) {
        return refuse_literal(report, uri, "it lies elsewhere\nkeep it on this machine");
    }
    const char *path = tr_arena_print(loading->arena, "%.*s", TRI_TEXT(tri_path_local(uri))).data;
    int error = loading->arena->error != 0 ? loading->arena->error : tr_file_map(path, file);
    if (error == TR_NOT_FOUND) {
        return refuse_literal(report, uri, "there is no such file\ncheck its name");
    }
    return error == TR_SYSTEM ? refuse_literal(report, uri, strerror(errno)) : error;
}

static void close_literal(void *self, struct tr_bytes file)
{
    (void)self;
    tr_file_unmap(file);
}

/* ------------------------------------------------------------------ what ids leave open */

/* The SHA-256 over the entities, which differ where the package does. */
static struct tr_text digest_of(struct loading *loading)
{
    const struct tr_flyte_file *files = loading->files.items;
    struct tr_buffer digests;
    uint8_t digest[TR_GRAPH_HASH_BYTES];
    char text[2 * TR_GRAPH_HASH_BYTES + 1] = "";
    tr_buffer_init(&digests, 0);
    for (uint32_t i = 0; i < loading->files.count; i++) {
        tr_digest(files[i].bytes, digest);
        tr_buffer_add(&digests, digest, sizeof digest);
    }
    tr_digest(loading->code, digest);
    tr_buffer_add(&digests, digest, sizeof digest);
    tr_digest(tr_buffer_bytes(&digests), digest);
    loading->arena->error = loading->arena->error != 0 ? loading->arena->error : digests.error;
    tr_buffer_fini(&digests);
    for (size_t i = 0; i < sizeof digest; i++) {
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    }
    return tr_arena_text(loading->arena, tr_text_of(text));
}

static struct tr_text given(const char *value, const char *otherwise)
{
    return tr_text_of(value != NULL ? value : otherwise);
}

static void name_package(struct loading *loading)
{
    const struct tr_package_options *options = loading->options;
    loading->package.project = given(options->project, "default");
    loading->package.domain = given(options->domain, "development");
    loading->package.note = options->note;
    loading->package.find = options->find;
    loading->package.keep = options->keep;
    loading->package.self = options->self;
    loading->package.warm = tr_text_of(options->is_cold ? "off" : "");
    loading->package.version =
        options->version != NULL ? tr_text_of(options->version) : digest_of(loading);
}

/* ------------------------------------------------------------------ what tasks find */

/* Two lists of folders as one; either may be empty. */
static struct tr_text join_lists(struct loading *loading, struct tr_text first, const char *second)
{
    bool has_second = second != NULL && second[0] != '\0';
    if (first.size == 0) {
        return tr_text_of("");
    }
    return tr_arena_print(loading->arena, "%.*s%s%s", TRI_TEXT(first), has_second ? ":" : "",
                          has_second ? second : "");
}

/* The variable PATH of tasks that a Python runs: its folder first, which has what flytekit adds. */
static int path_beside(struct loading *loading, const char *python, struct tr_text *path)
{
    char absolute[PATH_MAX];
    const char *slash = strrchr(python, '/');
    const char *folder =
        slash == NULL ? ""
                      : tr_arena_print(loading->arena, "%.*s", (int)(slash - python), python).data;
    if (folder == NULL || tr_file_absolute(slash == python ? "/" : folder, absolute) != 0) {
        return loading->arena->error != 0 ? TR_MEMORY : TR_SYSTEM;
    }
    *path =
        join_lists(loading, tr_arena_text(loading->arena, tr_text_of(absolute)), getenv("PATH"));
    return loading->arena->error;
}

/* By the images that tasks were packaged for, as the settings say. */
static int find_by_image(struct loading *loading)
{
    const struct tr_package_options *options = loading->options;
    struct tr_flyte_path *paths =
        tr_arena_array(loading->arena, options->python_count, sizeof *paths);
    int error = loading->arena->error;
    for (size_t i = 0; error == 0 && i < options->python_count; i++) {
        paths[i].images = options->pythons[i].images;
        error = path_beside(loading, options->pythons[i].python, &paths[i].path);
    }
    loading->package.paths = paths;
    loading->package.path_count = error == 0 ? options->python_count : 0;
    return error;
}

/*
 * The Python that was named is for all tasks; else each task's image chooses, and those that no
 * pattern suits have the environment that is active, or what $PATH finds.
 */
static int find_programs(struct loading *loading)
{
    const struct tr_package_options *options = loading->options;
    const char *environment = getenv("VIRTUAL_ENV");
    if (options->python != NULL && strchr(options->python, '/') == NULL) {
        return refuse(loading, "--python names no path\nwrite it with its folder, as in "
                               "--python venv/bin/python");
    }
    if (options->python != NULL) {
        return options->store != NULL && access(options->python, X_OK) != 0
                   ? refuse(loading,
                            "--python names no program\nname the Python that has flytekit, "
                            "as in --python venv/bin/python")
                   : path_beside(loading, options->python, &loading->package.path);
    }
    int error = find_by_image(loading);
    if (error == 0 && environment != NULL && environment[0] != '\0') {
        struct tr_text python = tr_arena_print(loading->arena, "%s/bin/python", environment);
        error = python.data == NULL ? TR_MEMORY
                                    : path_beside(loading, python.data, &loading->package.path);
    }
    return error;
}

/* flytekit hands on paths to fsspec, which would find nothing behind them. */
static int check_store(struct loading *loading)
{
    const char *store = loading->options->store;
    char folder[PATH_MAX];
    if (store == NULL || tr_file_absolute(store, folder) != 0 || strpbrk(folder, "[]*?") == NULL) {
        return 0;
    }
    return refuse(loading,
                  "the store's path holds one of []*?, which flytekit takes for a pattern\n"
                  "name another store: --store FOLDER");
}

/*
 * Where the modules of the tasks are: in the folder that was named, or unpacked from the package.
 */
static int find_code(struct loading *loading)
{
    const struct tr_package_options *options = loading->options;
    char folder[PATH_MAX] = "";
    int error = 0;
    if (options->code != NULL) {
        struct stat status;
        error = stat(options->code, &status) != 0 || !S_ISDIR(status.st_mode)
                    ? refuse(loading, "--code names no folder\nname the one with the modules")
                    : tr_file_absolute(options->code, folder);
    } else if (options->unpacked != NULL) {
        (void)snprintf(folder, sizeof folder, TR_CODE_PLACE "/%s", options->unpacked);
    } else if (loading->code.size > 0 && options->store != NULL) {
        error = tr_code_unpack(loading->code, options->store, loading->report, folder);
        if (error == TR_SYSTEM || error == TR_LIMIT) {
            error = refuse_file(loading, "the code cannot be unpacked: the store", error);
        }
    }
    if (error != 0) {
        return error;
    }
    if (options->code == NULL) {
        loading->package.code = last_part(tr_arena_text(loading->arena, tr_text_of(folder)));
    }
    loading->package.has_code =
        options->code != NULL || options->unpacked != NULL || loading->code.size > 0;
    loading->package.python_path = join_lists(
        loading, tr_arena_text(loading->arena, tr_text_of(folder)), getenv("PYTHONPATH"));
    return loading->arena->error;
}

/* ------------------------------------------------------------------ what tasks ask for */

/* What people are told of an amount. */
static void note_amount(const struct loading *loading, const struct tr_task *task, const char *noun,
                        uint64_t wanted, uint64_t there)
{
    char words[512];
    if (wanted > there && there > 0) {
        snprintf(words, sizeof words,
                 "%.*s asks for %llu %s, of which this machine has %llu: it begins with all of "
                 "them (--resources)",
                 TRI_TEXT(task->name), (unsigned long long)wanted, noun, (unsigned long long)there);
        loading->options->note(loading->options->self, words);
    }
}

/* A cluster has more than this machine, which is all that a task of it can have here. */
static void note_resources(const struct loading *loading, const struct tr_graph *graph)
{
    uint64_t cores = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t mebibytes =
        ((uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE)) >> 20;
    for (uint32_t i = 0; loading->options->note != NULL && i < graph->task_count; i++) {
        const struct tr_resources *wanted = &graph->tasks[i].settings.resources;
        note_amount(loading, &graph->tasks[i], "CPUs", (wanted->cpu_millis + 999) / 1000, cores);
        note_amount(loading, &graph->tasks[i], "MiB of memory", wanted->memory_bytes >> 20,
                    mebibytes);
    }
}

/* ------------------------------------------------------------------ the whole way */

int tr_package_place(const struct tr_package_options *options, struct tr_bytes code,
                     struct tr_arena *arena, struct tr_report *report,
                     struct tr_flyte_package *package)
{
    struct loading loading = {
        .options = options, .report = report, .arena = arena, .code = code, .package = *package};
    int error = check_store(&loading);
    if (error == 0) {
        error = find_programs(&loading);
    }
    if (error == 0) {
        error = find_code(&loading);
    }
    if (error == 0) {
        *package = loading.package;
    }
    return error;
}

static int compile(struct loading *loading, struct tr_graph **graph)
{
    char folder[PATH_MAX];
    int error = tr_file_absolute(".", folder);
    if (error != 0) {
        return error;
    }
    const struct tr_import_place place = {.path = tr_text_of(loading->path),
                                          .folder = tr_text_of(folder)};
    struct tr_graph *made = NULL;
    error = tr_import_package(&loading->package, &place, loading->report, &made);
    if (error == 0 && loading->options->store != NULL && !loading->options->is_elsewhere) {
        error = tr_python_check(made, loading->options->store, loading->report);
    }
    if (error != 0) {
        tr_graph_free(made);
        return error;
    }
    note_resources(loading, made);
    *graph = made;
    return 0;
}

int tr_package_compile(const char *path, const struct tr_package_options *options,
                       struct tr_report *report, struct tr_graph **graph)
{
    struct tr_arena arena;
    struct loading loading = {.path = path, .options = options, .report = report, .arena = &arena};
    tr_arena_init(&arena);
    (void)tri_report_source(report, tr_text_of(path));
    loading.literals = (struct tr_flyte_files){.open = open_literal,
                                               .close = close_literal,
                                               .self = &loading,
                                               .left_bytes = TR_FILE_BYTES_MAX};
    int error = read_files(&loading);
    if (error == 0) {
        name_package(&loading);
        error = tr_package_place(options, loading.code, &arena, report, &loading.package);
    }
    if (error == 0) {
        error = arena.error != 0 ? arena.error : compile(&loading, graph);
    }
    tr_report_finish(report);
    tr_arena_fini(&arena);
    return error;
}

int tr_package_closure(const char *path, const struct tr_package_options *options,
                       struct tr_text name, struct tr_report *report, struct tr_buffer *closure)
{
    struct tr_arena arena;
    struct loading loading = {.path = path, .options = options, .report = report, .arena = &arena};
    tr_arena_init(&arena);
    (void)tri_report_source(report, tr_text_of(path));
    int error = read_files(&loading);
    if (error == 0) {
        name_package(&loading);
        error = arena.error != 0 ? arena.error
                                 : tr_flyte_closure(&loading.package, name, report, closure);
    }
    tr_report_finish(report);
    tr_arena_fini(&arena);
    return error;
}
