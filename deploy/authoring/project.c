/*
 * Reading templates and copying one. Names that are taken are looked for before anything is
 * written, and each file is made anew (O_EXCL), so that nothing of a user's is ever overwritten.
 */
#include "deploy/authoring/project.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/document/report.h"
#include "deploy/common/file.h"
#include "deploy/settings/installed.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/codec/spelling.h"

/* ------------------------------------------------------------------- names in a folder */

/* Names, sorted. */
struct names {
    struct tr_text items[TR_PROJECT_FILES_MAX];
    uint32_t count;
};

_Static_assert(TR_PROJECT_TEMPLATES_MAX <= TR_PROJECT_FILES_MAX, "names hold templates, too");

static int add_name(struct tr_arena *arena, const char *name, struct names *names)
{
    if (names->count == TR_PROJECT_FILES_MAX) {
        return TR_LIMIT;
    }
    names->items[names->count++] = tr_arena_text(arena, tr_text_of(name));
    return arena->error;
}

/* Whether an entry of a folder is a folder or a file, as S_IFMT has it. */
static bool is_of_kind(DIR *folder, const char *name, mode_t kind)
{
    struct stat status;
    return fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           (status.st_mode & S_IFMT) == kind;
}

/* All names of a folder that are of a kind, S_IFDIR or S_IFREG, sorted. */
static int read_names(struct tr_arena *arena, const char *folder, mode_t kind, struct names *names)
{
    DIR *opened = opendir(folder);
    int error = 0;
    names->count = 0;
    if (opened == NULL) {
        return TR_SYSTEM;
    }
    for (const struct dirent *entry = readdir(opened); error == 0 && entry != NULL;
         entry = readdir(opened)) {
        if (entry->d_name[0] != '.' && is_of_kind(opened, entry->d_name, kind)) {
            error = add_name(arena, entry->d_name, names);
        }
    }
    closedir(opened);
    if (error == 0 && names->count > 1) {
        qsort(names->items, names->count, sizeof *names->items, tr_text_order_at);
    }
    return error;
}

/* ----------------------------------------------------------------------- the templates */

/* The next line of a comment without its mark and blanks; empty behind the last one. */
static struct tr_text next_line(struct tr_text *rest)
{
    const char *feed = rest->size == 0 ? NULL : memchr(rest->data, '\n', rest->size);
    struct tr_text line = {.data = rest->data,
                           .size = feed == NULL ? rest->size : (size_t)(feed - rest->data)};
    size_t used = line.size + (feed == NULL ? 0 : 1);
    rest->data += used;
    rest->size -= used;
    if (line.size == 0 || line.data[0] != '#') {
        return tr_text_of("");
    }
    while (line.size > 0 && strchr("# ", line.data[0]) != NULL) {
        line.data++;
        line.size--;
    }
    return line;
}

/* The first comment of a definition: a line of what it shows, and the one that runs it. */
static int read_comment(struct tr_arena *arena, struct tr_text text, struct tr_project *project)
{
    static const char run[] = "troupe run ";
    project->summary = tr_arena_text(arena, next_line(&text));
    project->command = tr_text_of("");
    for (struct tr_text line = next_line(&text); line.size > 0; line = next_line(&text)) {
        if (line.size > sizeof run && memcmp(line.data, run, sizeof run - 1) == 0) {
            project->command = tr_arena_text(arena, line);
        }
    }
    if (arena->error != 0) {
        return arena->error;
    }
    return project->summary.size > 0 && project->command.size > 0 ? 0 : TR_MALFORMED;
}

static int read_project(struct tr_arena *arena, const char *folder, struct tr_text name,
                        struct tr_project *project)
{
    char *data = NULL;
    size_t size = 0;
    project->name = name;
    project->folder = tr_arena_print(arena, "%s/%.*s", folder, TRI_TEXT(name));
    struct tr_text path =
        tr_arena_print(arena, "%.*s/" TR_PROJECT_DEFINITION, TRI_TEXT(project->folder));
    if (arena->error != 0) {
        return arena->error;
    }
    int error = tr_file_read(path.data, TR_PROJECT_FILE_BYTES_MAX, &data, &size);
    if (error == 0) {
        error = read_comment(arena, (struct tr_text){data, size}, project);
    }
    tr_free(data);
    return error;
}

int tr_projects_read(struct tr_arena *arena, struct tr_projects *projects)
{
    char folder[PATH_MAX];
    struct names names;
    projects->count = 0;
    if (!tr_installed_find("templates", folder)) {
        return TR_NOT_FOUND;
    }
    int error = read_names(arena, folder, S_IFDIR, &names);
    for (uint32_t i = 0; error == 0 && i < names.count; i++) {
        error = read_project(arena, folder, names.items[i], &projects->items[projects->count++]);
    }
    return error;
}

static struct tr_text name_at(const void *self, uint32_t position)
{
    const struct tr_projects *projects = self;
    return projects->items[position].name;
}

const struct tr_project *tr_project_find(const struct tr_projects *projects, struct tr_text name)
{
    for (uint32_t i = 0; i < projects->count; i++) {
        if (tr_text_equal(projects->items[i].name, name)) {
            return &projects->items[i];
        }
    }
    return NULL;
}

struct tr_text tr_project_nearest(const struct tr_projects *projects, struct tr_text name)
{
    return tr_spelling_nearest(name, name_at, projects, projects->count);
}

/* -------------------------------------------------------------------------- one project */

/* Appends a name to a list for people. */
static void list(struct tr_arena *arena, struct tr_text name, struct tr_text *names)
{
    *names = tr_arena_print(arena, "%.*s%s%.*s", TRI_TEXT(*names), names->size > 0 ? ", " : "",
                            TRI_TEXT(name));
}

/* Those of the names that the current folder has already. */
static struct tr_text taken(struct tr_arena *arena, const struct names *names)
{
    struct tr_text found = tr_text_of("");
    for (uint32_t i = 0; i < names->count; i++) {
        if (faccessat(AT_FDCWD, names->items[i].data, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            list(arena, names->items[i], &found);
        }
    }
    return found;
}

static int write_all(int file, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t count = write(file, data, size);
        if (count < 0 && errno != EINTR) {
            return errno == ENOSPC || errno == EDQUOT ? TR_STORE_FULL : TR_SYSTEM;
        }
        data += count < 0 ? 0 : count;
        size -= count < 0 ? 0 : (size_t)count;
    }
    return 0;
}

/* Removes files, and leaves errno as it is: the error before is told. */
static void remove_files(const struct tr_text *names, uint32_t count)
{
    int number = errno;
    for (uint32_t i = 0; i < count; i++) {
        (void)unlink(names[i].data);
    }
    errno = number;
}

/* Makes a file with all of these bytes, or none. */
static int make_file(struct tr_text name, const char *data, size_t size)
{
    int file = open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) {
        return TR_SYSTEM;
    }
    int error = write_all(file, data, size);
    if (close(file) != 0 && error == 0) {
        error = TR_SYSTEM;
    }
    if (error != 0) {
        remove_files(&name, 1);
    }
    return error;
}

static int copy_file(struct tr_arena *arena, const struct tr_project *project, struct tr_text name)
{
    char *data = NULL;
    size_t size = 0;
    struct tr_text from =
        tr_arena_print(arena, "%.*s/%.*s", TRI_TEXT(project->folder), TRI_TEXT(name));
    if (arena->error != 0) {
        return arena->error;
    }
    int error = tr_file_read(from.data, TR_PROJECT_FILE_BYTES_MAX, &data, &size);
    if (error == 0) {
        error = make_file(name, data, size);
    }
    tr_free(data);
    return error;
}

int tr_project_write(const struct tr_project *project, struct tr_arena *arena,
                     struct tr_text *names)
{
    struct names files;
    int error = read_names(arena, project->folder.data, S_IFREG, &files);
    if (error != 0) {
        return error;
    }
    struct tr_text found = taken(arena, &files);
    if (found.size > 0) {
        *names = found;
        return TR_EXISTS;
    }
    for (uint32_t i = 0; i < files.count; i++) {
        error = copy_file(arena, project, files.items[i]);
        if (error != 0) {
            remove_files(files.items, i);
            return error;
        }
        list(arena, files.items[i], &found);
    }
    *names = found;
    return arena->error;
}
