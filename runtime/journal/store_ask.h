/*
 * How readers of a store ask its live engine to write what its log has to the tables now.
 *
 * The engine has a datagram socket in the store's folder; whatever arrives there asks. Nothing is
 * answered: a reader looks at the tables again. Where there is no engine asking has no effect.
 *
 * It is no inotify: the end of one waits for all readers of the kernel's lists, 4 to 40 ms, which
 * is longer than a short execution takes.
 */
#ifndef TR_RUNTIME_JOURNAL_STORE_ASK_H
#define TR_RUNTIME_JOURNAL_STORE_ASK_H

#define TRI_STORE_ASK_NAME "ask.sock"

/* The engine's end, of the thread that waits. Without a socket both are -1. */
struct tri_store_ask {
    int folder;
    int socket; /* readable while somebody asks */
};

/*
 * Makes the socket, which the owner of the engine alone may use, in place of one that a killed
 * engine has left: the caller holds the lock of the folder. Where it cannot be made, or there is no
 * folder (NULL), readers wait for the time at which the tables are written anyway.
 */
void tri_store_ask_open(const char *folder, struct tri_store_ask *ask);

/* Takes all that have asked so far. */
void tri_store_ask_take(const struct tri_store_ask *ask);

/* Removes the socket. */
void tri_store_ask_close(struct tri_store_ask *ask);

/* Asks the engine of a folder; NULL: nobody. Does not wait; any thread. */
void tri_store_ask(const char *folder);

#endif
