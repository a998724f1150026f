/*
 * Looking for a store, and making one.
 */
#include "deploy/cli/store.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/cli/diagnostics.h"
#include "deploy/common/file.h"
#include "runtime/journal/store_folder.h"
#include "runtime/link/entry_locator.h"
#include "runtime/store_open.h"
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

enum tr_exit_status tr_store_make(const struct tr_invocation *invocation,
                                  struct tr_store_place *place)
{
    if (!place->is_missing) {
        return TR_EXIT_DONE;
    }
    if (mkdir(place->folder, 0700) != 0) {
        return tr_command_failed(invocation->command, "the store %s cannot be made: %s",
                                 place->folder, strerror(errno));
    }
    place->is_missing = false;
    tr_command_note(invocation, "made a new store: %s", place->folder);
    return TR_EXIT_DONE;
}

/* ------------------------------------------------------------------- stores in a database */

static bool is_locator(const char *name)
{
    return strstr(name, "://") != NULL;
}

/*
 * The folder of this machine for a store in a database, by the locator without its password: where
 * the data of a user's programs are (the XDG Base Directory Specification).
 */
static bool find_database_folder(const char *locator, char folder[PATH_MAX])
{
    char text[TRI_STORE_LOCATOR_BYTES];
    uint8_t digest[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof digest + 1];
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    bool is_data = data != NULL && data[0] == '/';
    if (!is_data && (home == NULL || home[0] != '/')) {
        return false;
    }
    tri_store_locator_print(locator, text);
    crypto_hash_sha256(digest, (const unsigned char *)text, strlen(text));
    (void)sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    int size = snprintf(folder, PATH_MAX, "%s%s/troupe/stores/%.16s", is_data ? data : home,
                        is_data ? "" : "/.local/share", hex);
    return size > 0 && size < PATH_MAX;
}

static enum tr_exit_status take_database(const struct tr_invocation *invocation,
                                         const char *locator, const char *by,
                                         struct tr_store_place *place)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    int error = tri_store_check_locator(locator, explain);
    if (error != 0) {
        return error == TR_INVALID ? tr_command_refused(invocation->command, "%s: %s", by, explain)
                                   : tr_command_failed(invocation->command, "%s: %s", by, explain);
    }
    if (!find_database_folder(locator, place->folder)) {
        return tr_command_failed(invocation->command,
                                 "%s names a database, and there is no place for what belongs to "
                                 "this machine: set HOME, or XDG_DATA_HOME",
                                 by);
    }
    if (tr_file_make_folders(place->folder) != 0) {
        return tr_command_failed(invocation->command,
                                 "the folder %s for what belongs to this machine cannot be made: "
                                 "%s; set XDG_DATA_HOME to one that can",
                                 place->folder, strerror(errno));
    }
    error = tri_store_folder_bind(place->folder, locator, explain);
    return error == 0 ? TR_EXIT_DONE
                      : tr_command_failed(invocation->command, "%s: %s", by, explain);
}

/* ------------------------------------------------------------------------------ finding */

/* The store that somebody named; `by` says where. */
static enum tr_exit_status take_named(const struct tr_invocation *invocation, bool may_be_missing,
                                      const char *path, const char *by,
                                      struct tr_store_place *place)
{
    if (is_locator(path)) {
        return take_database(invocation, path, by, place);
    }
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
    if (errno != ENOENT || !may_be_missing) {
        return tr_command_refused(invocation->command, "%s: there is no store %s: %s", by,
                                  place->folder, strerror(errno));
    }
    place->is_missing = true;
    return TR_EXIT_DONE;
}

void tr_store_look(const struct tr_invocation *invocation, char folder[PATH_MAX])
{
    char here[PATH_MAX];
    const char *named = tr_arguments_value(&invocation->arguments, "store");
    named = named != NULL ? named : getenv("TROUPE_STORE");
    bool is_found = false;
    if (named != NULL && is_locator(named)) {
        is_found = find_database_folder(named, folder) && is_folder(folder);
    } else if (named != NULL && named[0] != '\0') {
        is_found = tr_file_absolute(named, folder) == 0 && is_folder(folder);
    } else {
        is_found = getcwd(here, sizeof here) != NULL && find_upwards(here, folder);
    }
    if (!is_found) {
        folder[0] = '\0';
    }
}

/* The store of the user's settings, if they name one; `*is_named` says whether. */
static enum tr_exit_status take_settings(const struct tr_invocation *invocation,
                                         bool may_be_missing, struct tr_store_place *place,
                                         bool *is_named)
{
    char by[PATH_MAX + 16];
    struct tr_settings_file settings;
    enum tr_exit_status status = tr_diagnostics_load_store(invocation, &settings);
    *is_named = status != TR_EXIT_DONE || settings.store != NULL;
    if (status == TR_EXIT_DONE && settings.store != NULL) {
        (void)snprintf(by, sizeof by, "'store' of %s", settings.path);
        status = take_named(invocation, may_be_missing, settings.store, by, place);
    }
    tr_settings_fini(&settings);
    return status;
}

/* ------------------------------------------------------------------ over the network */

bool tr_store_key_file(char path[PATH_MAX])
{
    const char *named = getenv(TR_STORE_KEY_VARIABLE);
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    bool is_config = config != NULL && config[0] == '/';
    if (named != NULL && named[0] != '\0') {
        return tr_file_absolute(named, path) == 0;
    }
    if (!is_config && (home == NULL || home[0] != '/')) {
        return false;
    }
    int size = snprintf(path, PATH_MAX, "%s%s/troupe/client.key", is_config ? config : home,
                        is_config ? "" : "/.config");
    return size > 0 && size < PATH_MAX;
}

static enum tr_exit_status take_entry(const struct tr_invocation *invocation, const char *text,
                                      struct tr_store_place *place)
{
    struct tri_entry_locator locator;
    char explain[TRI_ENTRY_EXPLAIN_BYTES];
    char file[PATH_MAX];
    if (!invocation->command->over_network) {
        return tr_command_refused(invocation->command,
                                  "this is not done over the network ($" TR_STORE_HOST_VARIABLE
                                  " or --host names hosts): type it on a host of the store, or "
                                  "give --store");
    }
    if (tri_entry_locator_read(text, &locator, explain) != 0) {
        return tr_command_mistake(invocation->command, "--host: %s", explain);
    }
    if (!tr_store_key_file(file)) {
        return tr_command_failed(
            invocation->command,
            "there is no place for the key of this user: set HOME, or $" TR_STORE_KEY_VARIABLE);
    }
    if (access(file, F_OK) != 0) {
        return tr_command_refused(invocation->command,
                                  "%s: there is no key of this user; `troupe hosts key` makes one, "
                                  "and prints what the settings of the hosts need",
                                  file);
    }
    int size = snprintf(place->folder, sizeof place->folder, "%s?key=%s", text, file);
    return size > 0 && (size_t)size < sizeof place->folder
               ? TR_EXIT_DONE
               : tr_command_mistake(invocation->command, "--host: it names too much");
}

enum tr_exit_status tr_store_choose(const struct tr_invocation *invocation, bool may_be_missing,
                                    struct tr_store_place *place)
{
    bool is_named = false;
    char here[PATH_MAX];
    const char *named = tr_arguments_value(&invocation->arguments, "store");
    const char *standard = getenv("TROUPE_STORE");
    const char *entry = getenv(TR_STORE_HOST_VARIABLE);
    *place = (struct tr_store_place){.is_missing = false};
    if (named != NULL) {
        return take_named(invocation, may_be_missing, named, "--store", place);
    }
    if (entry != NULL && entry[0] != '\0') {
        return take_entry(invocation, entry, place);
    }
    if (standard != NULL && standard[0] != '\0') {
        return take_named(invocation, may_be_missing, standard, "$TROUPE_STORE", place);
    }
    if (getcwd(here, sizeof here) == NULL) {
        return tr_command_failed(invocation->command, "the current folder is not there: %s",
                                 strerror(errno));
    }
    if (find_upwards(here, place->folder)) {
        return TR_EXIT_DONE;
    }
    enum tr_exit_status status = take_settings(invocation, may_be_missing, place, &is_named);
    if (is_named) {
        return status;
    }
    if (!may_be_missing) {
        return tr_command_refused(invocation->command,
                                  "there is no store here or above (%s); `troupe run` makes one, "
                                  "--store names one",
                                  TR_STORE_FOLDER_NAME);
    }
    if (tr_file_absolute(TR_STORE_FOLDER_NAME, place->folder) != 0) {
        return tr_command_failed(invocation->command, "the path of the store is too long");
    }
    place->is_missing = true;
    return TR_EXIT_DONE;
}

enum tr_exit_status tr_store_find(const struct tr_invocation *invocation, bool makes,
                                  struct tr_store_place *place)
{
    enum tr_exit_status status = tr_store_choose(invocation, makes, place);
    return status == TR_EXIT_DONE ? tr_store_make(invocation, place) : status;
}

const char *tr_store_word(const struct tr_invocation *invocation, char word[PATH_MAX])
{
    char text[TRI_STORE_LOCATOR_BYTES];
    const char *named = tr_arguments_value(&invocation->arguments, "store");
    if (named == NULL || !is_locator(named)) {
        return named;
    }
    tri_store_locator_print(named, text);
    if (strcmp(named, text) == 0) {
        return named;
    }
    return find_database_folder(named, word) ? word : NULL;
}
