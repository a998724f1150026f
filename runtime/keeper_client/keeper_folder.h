/*
 * The keeper's lock and socket in the store's folder. One keeper holds the lock; clients connect to
 * the socket.
 *
 * A socket's path is limited to about a hundred bytes, a store's path is not. So both sides open
 * the folder and name the socket through /proc/self/fd.
 */
#ifndef TR_RUNTIME_KEEPER_CLIENT_KEEPER_FOLDER_H
#define TR_RUNTIME_KEEPER_CLIENT_KEEPER_FOLDER_H

#include "schemas/codec/base.h"

#define TRI_KEEPER_SOCKET_NAME "keeper.sock"
#define TRI_KEEPER_LOCK_NAME "keeper.lock"

/* Opens the folder. TR_SYSTEM, with errno. */
TR_MUST_USE int tri_keeper_folder_open(const char *path, int *folder);

/*
 * Takes the lock; closing `lock` releases it. TR_EXISTS: a keeper holds it. TR_SYSTEM, with errno.
 */
TR_MUST_USE int tri_keeper_folder_lock(int folder, int *lock);

/*
 * Listens on a new socket, mode 0600, and replaces the one of a dead keeper. The caller must hold
 * the lock. TR_SYSTEM, with errno.
 */
TR_MUST_USE int tri_keeper_folder_listen(int folder, int *socket);

/* Removes the socket's name. */
void tri_keeper_folder_unlink(int folder);

/*
 * Connects to the keeper with a non-blocking descriptor. TR_NO_CONNECTION: nothing listens there
 * (yet). TR_SYSTEM, with errno.
 */
TR_MUST_USE int tri_keeper_folder_connect(int folder, int *socket);

/* Whether the folder has been removed; its descriptor outlives it. */
bool tri_keeper_folder_is_gone(int folder);

/*
 * Identifies this boot, process namespace and folder: if a log was written in an equal place, its
 * pids are valid here. `buffer` has TR_KEEPER_PLACE_BYTES_MAX. TR_SYSTEM, with errno.
 */
TR_MUST_USE int tri_keeper_folder_place(int folder, char *buffer);

/*
 * Whether two places are of one boot, so that unsynced writes made in one are visible in the other.
 */
bool tri_keeper_folder_same_boot(struct tr_text one, struct tr_text other);

#endif
