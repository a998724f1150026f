/*
 * Stands between a store and the server, on a socket in a folder of its own, and cuts connections
 * where it is told: after so many bytes in one direction. It runs on a thread.
 */
#ifndef TR_TESTS_UNIT_RUNTIME_POSTGRES_PROXY_H
#define TR_TESTS_UNIT_RUNTIME_POSTGRES_PROXY_H

struct proxy;

struct proxy *proxy_new(const char *server_folder);
void proxy_free(struct proxy *proxy);

/* The folder of its socket: the host of a locator. */
const char *proxy_folder(const struct proxy *proxy);

enum proxy_way { PROXY_TO_SERVER, PROXY_TO_STORE, PROXY_WAYS };

/*
 * All connections are cut when this many more bytes have gone that way, or more were about to. A
 * cut happens once; a negative number takes it back.
 */
void proxy_cut_after(struct proxy *proxy, enum proxy_way way, long bytes);

#endif
