/*
 * The only file of this room that reads files: a definition and what it includes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/language/definition.h"
#include "actors/graph/document/limits.h"
#include "runtime/memory.h"

static int error_of(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return TR_NOT_FOUND;
    case EACCES:
        return TR_DENIED;
    default:
        return TR_SYSTEM;
    }
}

/* Reads what is in an open file, up to the limit. */
static int read_open(int descriptor, uint8_t **data, size_t *size)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        return TR_SYSTEM;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > (off_t)TR_FILE_BYTES_MAX) {
        return S_ISREG(status.st_mode) ? TR_LIMIT : TR_NO_FILE;
    }
    size_t room = (size_t)status.st_size;
    uint8_t *block = tr_alloc(room + 1);
    size_t filled = 0;
    while (block != NULL && filled < room) {
        ssize_t count = read(descriptor, block + filled, room - filled);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            break;
        }
        filled += (size_t)count;
    }
    if (block == NULL) {
        return TR_MEMORY;
    }
    *data = block;
    *size = filled;
    return 0;
}

static int read_file(void *self, struct tr_text path, uint8_t **data, size_t *size)
{
    (void)self;
    char *name = tr_text_copy(path);
    if (name == NULL) {
        return TR_MEMORY;
    }
    int descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int error = descriptor < 0 ? error_of(errno) : read_open(descriptor, data, size);
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    tr_free(name);
    return error;
}

/* The absolute folder of a file, by joining: links stay as they are. */
static struct tr_text folder_of(struct tr_arena *arena, struct tr_text path)
{
    char current[PATH_MAX];
    struct tr_text folder = tri_path_folder(path);
    if (path.size > 0 && path.data[0] == '/') {
        return folder;
    }
    if (getcwd(current, sizeof current) == NULL) {
        return tr_text_of("");
    }
    return folder.size == 0 ? tr_arena_text(arena, tr_text_of(current))
                            : tri_path_join(arena, tr_text_of(current), folder);
}

int tr_graph_check_file(const char *path, struct tr_report *report, struct tr_graph **graph)
{
    struct tr_arena arena;
    uint8_t *data = NULL;
    size_t size = 0;
    int error = read_file(NULL, tr_text_of(path), &data, &size);
    if (error != 0) {
        struct tri_place place = {.source = tri_report_source(report, tr_text_of(path))};
        tri_report_add(report, place, NULL, "the file cannot be read: %s\ncheck its name",
                       tr_error_text(error));
        tr_report_finish(report);
        return error == TR_MEMORY ? error : TR_INVALID;
    }
    tr_arena_init(&arena);
    struct tr_compile_request request = {
        .path = tr_text_of(path),
        .folder = folder_of(&arena, tr_text_of(path)),
        .text = {.data = (const char *)data, .size = size},
        .read = read_file,
    };
    error = tr_graph_compile(&request, report, graph);
    tr_arena_fini(&arena);
    tr_free(data);
    return error;
}
