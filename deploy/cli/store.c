/*
 * Looking for a store, and making one.
 */
#include "deploy/cli/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/common/file.h"
#include "schemas/codec/error.h"

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The nearest store from a folder upwards; false when there is none. */
static bool find_upwards(const char *from, char *found)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", from);
    while (true) {
        size_t size = strlen(folder);
        const char *between = size > 0 && folder[size - 1] == '/' ? "" : "/";
        int written = snprintf(found, PATH_MAX, "%s%s%s", folder, between, TR_STORE_FOLDER_NAME);
        if (written > 0 && written < PATH_MAX && is_folder(found)) {
            return true;
        }
        char *slash = strrchr(folder, '/');
        if (slash == NULL || folder[1] == '\0') {
            return false;
        }
        slash[slash == folder ? 1 : 0] = '\0';
    }
}

static enum tr_exit_status make(const struct tr_invocation *invocation,
                                struct tr_store_place *place)
{
    if (mkdir(place->folder, 0700) != 0) {
        return tr_command_failed(invocation->command, "the store %s cannot be made: %s",
                                 place->folder, strerror(errno));
    }
    place->is_new = true;
    tr_command_note(invocation, "made a new store: %s", place->folder);
    return TR_EXIT_DONE;
}

/* The store that somebody named; `by` says where. */
static enum tr_exit_status take_named(const struct tr_invocation *invocation, bool makes,
                                      const char *path, const char *by,
                                      struct tr_store_place *place)
{
    if (path[0] == '\0' || tr_file_absolute(path, place->folder) != 0) {
        return tr_command_mistake(invocation->command, "%s names no folder", by);
    }
    struct stat status;
    if (stat(place->folder, &status) == 0) {
        return S_ISDIR(status.st_mode)
                   ? TR_EXIT_DONE
                   : tr_command_refused(invocation->command, "%s: %s is no folder", by,
                                        place->folder);
    }
    if (errno != ENOENT || !makes) {
        return tr_command_refused(invocation->command, "%s: there is no store %s: %s", by,
                                  place->folder, strerror(errno));
    }
    return make(invocation, place);
}

void tr_store_look(const struct tr_invocation *invocation, char folder[PATH_MAX])
{
    char here[PATH_MAX];
    const char *named = tr_arguments_value(&invocation->arguments, "store");
    named = named != NULL ? named : getenv("TROUPE_STORE");
    bool is_found = named != NULL && named[0] != '\0'
                        ? tr_file_absolute(named, folder) == 0 && is_folder(folder)
                        : getcwd(here, sizeof here) != NULL && find_upwards(here, folder);
    if (!is_found) {
        folder[0] = '\0';
    }
}

enum tr_exit_status tr_store_find(const struct tr_invocation *invocation, bool makes,
                                  struct tr_store_place *place)
{
    char here[PATH_MAX];
    const char *named = tr_arguments_value(&invocation->arguments, "store");
    const char *standard = getenv("TROUPE_STORE");
    *place = (struct tr_store_place){.is_new = false};
    if (named != NULL) {
        return take_named(invocation, makes, named, "--store", place);
    }
    if (standard != NULL && standard[0] != '\0') {
        return take_named(invocation, makes, standard, "$TROUPE_STORE", place);
    }
    if (getcwd(here, sizeof here) == NULL) {
        return tr_command_failed(invocation->command, "the current folder is not there: %s",
                                 strerror(errno));
    }
    if (find_upwards(here, place->folder)) {
        return TR_EXIT_DONE;
    }
    if (!makes) {
        return tr_command_refused(invocation->command,
                                  "there is no store here or above (%s); `troupe run` makes one, "
                                  "--store names one",
                                  TR_STORE_FOLDER_NAME);
    }
    if (tr_file_absolute(TR_STORE_FOLDER_NAME, place->folder) != 0) {
        return tr_command_failed(invocation->command, "the path of the store is too long");
    }
    return make(invocation, place);
}
