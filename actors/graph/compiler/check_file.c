/*
 * The only file of this room that reads files: a definition and what it includes. It runs on the
 * thread of a command; the engine gets packed graphs.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/language/definition.h"
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

/*
 * Reads from an open file until it ends, or until `room` bytes are there. A part of a definition
 * may be one, too, so an error must not be taken for the end.
 */
static int read_until(int descriptor, uint8_t *block, size_t room, size_t *filled)
{
    size_t size = 0;
    while (size < room) {
        ssize_t count = read(descriptor, block + size, room - size);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return TR_SYSTEM;
        }
        if (count == 0) {
            break;
        }
        size += (size_t)count;
    }
    *filled = size;
    return 0;
}

/*
 * Reads what is in an open regular file, up to the limit, into memory that becomes the caller's. A
 * pipe or a device is refused (TR_NO_FILE), as it may have no end. The file that is open is asked,
 * and not its path, which may name another file by now. One that has another size when it ends than
 * fstat gave is being written (TR_BUSY): an editor that has cut it off may be about to fill it.
 */
static int read_open(int descriptor, uint8_t **data, size_t *size)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        return TR_SYSTEM;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > (off_t)TR_FILE_BYTES_MAX) {
        return S_ISREG(status.st_mode) ? TR_LIMIT : TR_NO_FILE;
    }
    /* One more, to see whether it has grown; and tr_alloc gives NULL for no bytes. */
    size_t room = (size_t)status.st_size + 1;
    size_t filled = 0;
    uint8_t *block = tr_alloc(room);
    if (block == NULL) {
        return TR_MEMORY;
    }
    int error = read_until(descriptor, block, room, &filled);
    if (error == 0 && filled != (size_t)status.st_size) {
        error = TR_BUSY;
    }
    if (error != 0) {
        tr_free(block);
        return error;
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
    /*
     * O_NONBLOCK: opening a FIFO would else wait for a writer, before read_open can refuse it. It
     * makes no difference to regular files. O_NOCTTY: a path to a terminal must not become that of
     * the process.
     */
    int descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int error = descriptor < 0 ? error_of(errno) : read_open(descriptor, data, size);
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    tr_free(name);
    return error;
}

/*
 * The absolute folder of a file, by joining: links stay as they are, so that paths in messages and
 * in TROUPE_FOLDER are those that people wrote. Empty where the current folder cannot be told;
 * relative paths then stay relative.
 */
static struct tr_text folder_of(struct tr_arena *arena, struct tr_text path)
{
    char current[PATH_MAX];
    struct tr_text folder = tri_definition_path_folder(path);
    if (path.size > 0 && path.data[0] == '/') {
        return folder;
    }
    if (getcwd(current, sizeof current) == NULL) {
        return tr_text_of("");
    }
    return folder.size == 0 ? tr_arena_text(arena, tr_text_of(current))
                            : tri_definition_path_join(arena, tr_text_of(current), folder);
}

/* Says what a program of flytekit's is, which is no definition, and what helps. */
static bool refuse_program(struct tr_text path, struct tr_report *report)
{
    static const char end[] = ".py";
    size_t size = sizeof end - 1;
    if (path.size < size || memcmp(path.data + path.size - size, end, size) != 0) {
        return false;
    }
    struct tri_place place = {.source = tri_report_source(report, path)};
    tri_report_add(
        report, place, NULL, "%s",
        "this is a program in Python, which has to be run to know its workflows\n"
        "package it: pyflyte --pkgs MODULE package --image none:1 -o flows.tgz --fast; or write a "
        "definition in YAML: `troupe init` begins one");
    tr_report_finish(report);
    return true;
}

int tr_graph_check_file(const char *path, struct tr_report *report, struct tr_graph **graph)
{
    struct tr_arena arena;
    uint8_t *data = NULL;
    size_t size = 0;
    int error = read_file(NULL, tr_text_of(path), &data, &size);
    if (error != 0) {
        struct tri_place place = {.source = tri_report_source(report, tr_text_of(path))};
        tri_report_add(report, place, NULL, "the file cannot be read: %s\n%s", tr_error_text(error),
                       error == TR_BUSY ? "it was changed meanwhile" : "check its name");
        tr_report_finish(report);
        return error == TR_MEMORY ? error : TR_INVALID;
    }
    struct tr_text text = {.data = (const char *)data, .size = size};
    if (refuse_program(tr_text_of(path), report)) {
        tr_free(data);
        return TR_INVALID;
    }
    tr_arena_init(&arena);
    struct tr_definition_source request = {
        .path = tr_text_of(path),
        .folder = folder_of(&arena, tr_text_of(path)),
        .text = text,
        .read = read_file,
    };
    error = tr_graph_compile(&request, report, graph);
    tr_arena_fini(&arena);
    tr_free(data);
    return error;
}
