/*
 * What a keeper has in its store's folder beside the log: a lock, which only one keeper holds, and
 * a socket, by which it is reached.
 *
 * A socket's name must fit in a hundred bytes or so, a store's folder need not. So both sides open
 * the folder and name the socket through /proc/self/fd.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_FOLDER_H
#define TR_RUNTIME_KEEPER_KEEPER_FOLDER_H

#include "schemas/codec/base.h"

#define TRI_KEEPER_SOCKET_NAME "keeper.sock"
#define TRI_KEEPER_LOCK_NAME "keeper.lock"

/* Opens the folder. TR_SYSTEM, with errno. */
TR_MUST_USE int tri_keeper_folder_open(const char *path, int *folder);

/* Takes the lock until `lock` is closed. TR_EXISTS: a keeper lives there. TR_SYSTEM, with errno. */
TR_MUST_USE int tri_keeper_folder_lock(int folder, int *lock);

/*
 * Listens with a new socket, mode 0600, in place of what a dead keeper left there. Only who holds
 * the lock may call it. TR_SYSTEM, with errno.
 */
TR_MUST_USE int tri_keeper_folder_listen(int folder, int *socket);

/* Takes the socket's name away. */
void tri_keeper_folder_unlink(int folder);

/*
 * Connects to the keeper; the descriptor does not block. TR_NO_CONNECTION: nobody listens there
 * (now, or not yet). TR_SYSTEM, with errno.
 */
TR_MUST_USE int tri_keeper_folder_connect(int folder, int *socket);

/* Whether the folder has been removed; its descriptor outlives it. */
bool tri_keeper_folder_is_gone(int folder);

/*
 * The name of this boot, process namespace and folder: equal names mean that a pid written there
 * is a pid here. `buffer` has TR_KEEPER_PLACE_BYTES_MAX. TR_SYSTEM, with errno.
 */
TR_MUST_USE int tri_keeper_folder_place(int folder, char *buffer);

/* Whether two places are of one boot, so that what was written in one is there in the other. */
bool tri_keeper_folder_same_boot(struct tr_text one, struct tr_text other);

#endif
