/*
 * Which store a command means: --store, else $TROUPE_STORE, which are a folder or the locator of a
 * database (postgresql://…), else the nearest .troupe in this folder or above it, as git does, else
 * `store` of the user's settings, else a new one here. A store in a database has a folder, too
 * (runtime/journal/store_folder.h): a locator is given one by its name, the same each time.
 *
 * With $TROUPE_HOST, and no --store, it is that of hosts over the network: the folder is a locator
 * of them then (runtime/link/entry_locator.h), for commands that take it (`over_network`).
 */
#ifndef TR_DEPLOY_CLI_STORE_H
#define TR_DEPLOY_CLI_STORE_H

#include <limits.h>

#include "deploy/cli/command.h"

/* The hosts of a store over the network, as `troupe --host` names them. */
#define TR_STORE_HOST_VARIABLE "TROUPE_HOST"

/* The file with the key of this user, for these; else client.key beside the user's settings. */
#define TR_STORE_KEY_VARIABLE "TROUPE_CLIENT_KEY"

/* The path of that file. False: there is no place for it, or it is too long. */
bool tr_store_key_file(char path[PATH_MAX]);

/* The name of a store's folder where nobody names one. */
#define TR_STORE_FOLDER_NAME ".troupe"

struct tr_store_place {
    char folder[PATH_MAX]; /* absolute */
    bool is_missing;       /* to be made; a database is made by `troupe store init` */
};

/*
 * Finds the store of a command. With `makes` a folder that is missing is made, mode 0700, and that
 * is said on stderr. What is wrong is said on stderr; then the exit status is not TR_EXIT_DONE:
 * TR_EXIT_USAGE where there is none, TR_EXIT_ENGINE where it cannot be made or used.
 */
enum tr_exit_status tr_store_find(const struct tr_invocation *invocation, bool makes,
                                  struct tr_store_place *place);

/*
 * The two halves of it, for a command that has more to check before it makes a store:
 * `may_be_missing` is `makes`, and what is there already is made by doing nothing.
 */
enum tr_exit_status tr_store_choose(const struct tr_invocation *invocation, bool may_be_missing,
                                    struct tr_store_place *place);
enum tr_exit_status tr_store_make(const struct tr_invocation *invocation,
                                  struct tr_store_place *place);

/*
 * The folder that tr_store_find would find, "" where there is none yet; nothing is said and nothing
 * made.
 */
void tr_store_look(const struct tr_invocation *invocation, char folder[PATH_MAX]);

/*
 * The value of --store as a person may type it again, in `word`; NULL where it was not given. A
 * locator with a password is replaced by the folder that it has.
 */
const char *tr_store_word(const struct tr_invocation *invocation, char word[PATH_MAX]);

#endif
