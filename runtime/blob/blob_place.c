/*
 * Linking a store's blobs to another folder. A link that leads elsewhere, and a folder that holds
 * anything, are left as they are, since only people know whether something was moved.
 */
#include "runtime/blob/blob_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/blob_inside.h"
#include "schemas/codec/error.h"

/* A store, and the folder that it is to use. */
struct placing {
    int store;
    const char *store_folder;
    const char *folder;
    char *words;
};

static int fail_system(const struct placing *placing)
{
    snprintf(placing->words, TRI_BLOB_PLACE_WORDS_BYTES,
             "%.150s/" TRI_BLOBS_FOLDER " cannot be made a link to %.150s: %s",
             placing->store_folder, placing->folder, strerror(errno));
    return TR_SYSTEM;
}

static int refuse_folder(const struct placing *placing, const char *why)
{
    snprintf(placing->words, TRI_BLOB_PLACE_WORDS_BYTES,
             "the folder %.200s of `blobs` in the settings cannot be used: %s; make it, where all "
             "hosts of the store reach it",
             placing->folder, why);
    return TR_INVALID;
}

static int check_folder(const struct placing *placing)
{
    struct stat status;
    if (stat(placing->folder, &status) != 0) {
        return refuse_folder(placing, strerror(errno));
    }
    return S_ISDIR(status.st_mode) ? 0 : refuse_folder(placing, "it is no folder");
}

/* Removes the folder of a store that has no blobs; false: it has some. */
static bool remove_empty(const struct placing *placing)
{
    static const char *const own[] = {TRI_BLOBS_NEW_FOLDER, TRI_BLOBS_PIECES_FOLDER};
    int folder =
        openat(placing->store, TRI_BLOBS_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) {
        return errno == ENOENT;
    }
    for (size_t i = 0; i < TR_COUNT_OF(own); i++) {
        (void)unlinkat(folder, own[i], AT_REMOVEDIR); /* else the next one fails, too */
    }
    (void)unlinkat(folder, TRI_BLOBS_LOCK, 0);
    (void)unlinkat(folder, TRI_BLOBS_NAMES, 0);
    close(folder);
    return unlinkat(placing->store, TRI_BLOBS_FOLDER, AT_REMOVEDIR) == 0;
}

static int make_link(const struct placing *placing)
{
    if (!remove_empty(placing)) {
        snprintf(placing->words, TRI_BLOB_PLACE_WORDS_BYTES,
                 "%.200s/" TRI_BLOBS_FOLDER " holds blobs, and `blobs` of the settings is %.150s; "
                 "move what begins with a digest there, and remove the first folder",
                 placing->store_folder, placing->folder);
        return TR_EXISTS;
    }
    bool is_made = symlinkat(placing->folder, placing->store, TRI_BLOBS_FOLDER) == 0 &&
                   fsync(placing->store) == 0;
    return is_made ? 0 : fail_system(placing);
}

static int place(struct placing *placing)
{
    char path[PATH_MAX];
    char wanted[PATH_MAX];
    char found[PATH_MAX];
    struct stat status;
    int error = check_folder(placing);
    if (error != 0) {
        return error;
    }
    int size = snprintf(path, sizeof path, "%s/" TRI_BLOBS_FOLDER, placing->store_folder);
    if (size < 0 || (size_t)size >= sizeof path || realpath(placing->folder, wanted) == NULL) {
        return fail_system(placing);
    }
    placing->folder = wanted;
    bool is_found = realpath(path, found) != NULL;
    if (is_found && strcmp(found, wanted) == 0) {
        return 0;
    }
    bool is_link = fstatat(placing->store, TRI_BLOBS_FOLDER, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISLNK(status.st_mode);
    if (!is_link) {
        return make_link(placing);
    }
    snprintf(placing->words, TRI_BLOB_PLACE_WORDS_BYTES,
             "%.120s leads to %.120s, and `blobs` of the settings is %.120s; move the blobs there, "
             "then remove the link",
             path, is_found ? found : "nothing", placing->folder);
    return TR_EXISTS;
}

int tri_blob_place(const char *store_folder, const char *folder,
                   char words[TRI_BLOB_PLACE_WORDS_BYTES])
{
    struct placing placing = {.store_folder = store_folder, .folder = folder, .words = words};
    placing.store = open(store_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (placing.store < 0) {
        return fail_system(&placing);
    }
    int error = place(&placing);
    close(placing.store);
    return error;
}
