/*
 * Unpacking code. It goes into a new folder beside its place and is renamed when it is whole, so
 * that a folder of that name always has all files; of two who unpack at once, one is first, and the
 * other takes what is there.
 */
#include "deploy/flyte/code.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/compiled/pack.h"
#include "deploy/flyte/archive.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/process.h"

#define FOLDER_MODE 0755
#define FILE_MODE 0444
#define PROGRAM_MODE 0555

/* Descriptors that removing a tree may hold. */
#define REMOVAL_DESCRIPTORS 16

static int join(char path[PATH_MAX], const char *folder, struct tr_text name)
{
    int size = snprintf(path, PATH_MAX, "%s/%.*s", folder, TRI_TEXT(name));
    return size < 0 || size >= PATH_MAX ? TR_LIMIT : 0;
}

static int make_folder(const char *path)
{
    return mkdir(path, FOLDER_MODE) == 0 || errno == EEXIST ? 0 : TR_SYSTEM;
}

/* Makes the folders on the way to a file, which begins with a folder that is there. */
static int make_way(char *path, size_t begin)
{
    for (char *slash = strchr(path + begin, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int error = make_folder(path);
        *slash = '/';
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int write_all(int descriptor, struct tr_bytes bytes)
{
    size_t done = 0;
    while (done < bytes.size) {
        ssize_t count = write(descriptor, bytes.data + done, bytes.size - done);
        if (count < 0 && errno != EINTR) {
            return TR_SYSTEM;
        }
        done += count > 0 ? (size_t)count : 0;
    }
    return 0;
}

/* The folder is new and ours alone, and the names do not lead out of it (archive.c). */
static int write_file(void *self, struct tr_text name, bool is_program, struct tr_bytes bytes)
{
    const char *folder = self;
    char path[PATH_MAX];
    int error = join(path, folder, name);
    if (error == 0) {
        error = make_way(path, strlen(folder) + 1);
    }
    if (error != 0) {
        return error;
    }
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) {
        return TR_SYSTEM;
    }
    error = write_all(descriptor, bytes);
    if (error == 0 && fchmod(descriptor, is_program ? PROGRAM_MODE : FILE_MODE) != 0) {
        error = TR_SYSTEM;
    }
    (void)close(descriptor);
    return error;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_tree(const char *folder)
{
    (void)nftw(folder, remove_one, REMOVAL_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

/* What is in a folder is on the disk: graphs name it, and are kept longer than the machine runs. */
static int sync_folder(const char *folder)
{
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = descriptor < 0 || syncfs(descriptor) != 0 ? TR_SYSTEM : 0;
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    return error;
}

static int unpack_new(struct tr_bytes archive, const char *above, const char *folder,
                      struct tr_report *report)
{
    char fresh[PATH_MAX];
    int error = join(fresh, above, tr_text_of(".new-XXXXXX"));
    if (error != 0 || mkdtemp(fresh) == NULL) {
        return error != 0 ? error : TR_SYSTEM;
    }
    error = tr_archive_walk(archive, write_file, fresh, report);
    if (error == 0 && chmod(fresh, FOLDER_MODE) != 0) {
        error = TR_SYSTEM;
    }
    if (error == 0) {
        error = sync_folder(fresh);
    }
    if (error == 0 && rename(fresh, folder) != 0 && access(folder, F_OK) != 0) {
        error = TR_SYSTEM;
    }
    if (error == 0) {
        error = sync_folder(above);
    }
    int number = errno;
    remove_tree(fresh);
    errno = number;
    return error;
}

int tr_code_unpack(struct tr_bytes archive, const char *store, struct tr_report *report,
                   char place[PATH_MAX])
{
    char above[PATH_MAX];
    char folder[PATH_MAX];
    char name[2 * TR_GRAPH_HASH_BYTES + 1];
    uint8_t digest[TR_GRAPH_HASH_BYTES];
    tr_digest(archive, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        snprintf(name + 2 * i, 3, "%02x", digest[i]);
    }
    int error = join(above, store, tr_text_of(TR_STORE_CODE));
    if (error == 0) {
        error = join(folder, above, tr_text_of(name));
    }
    snprintf(place, PATH_MAX, TR_CODE_PLACE "/%s", name);
    /* What is asked for now is young again to who removes what no graph names. */
    if (error != 0 || utimensat(AT_FDCWD, folder, NULL, 0) == 0) {
        return error;
    }
    error = make_folder(above);
    return error != 0 ? error : unpack_new(archive, above, folder, report);
}
