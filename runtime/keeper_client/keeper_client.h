/*
 * The engine's side of the keeper's protocol: connects to a store's keeper or starts one, exchanges
 * messages of schemas/runtime/process.h, and reports when the keeper is lost. No call blocks; the
 * caller polls one descriptor. One thread at a time.
 *
 *     tri_keeper_client_new(&options, &client);
 *     tri_keeper_client_connect(client);
 *     loop: poll(tri_keeper_client_fd(client)) for POLLIN;
 *           while (tri_keeper_client_next(client, &event) == 0) { ... }
 *           tri_keeper_client_send(...) as often as needed; tri_keeper_client_flush(client);
 *
 * After DOWN, unanswered messages may or may not have arrived. Connect again and repeat the starts,
 * or query the open keys: a key is started only once. Ends that were not forgotten are reported
 * again.
 */
#ifndef TR_RUNTIME_KEEPER_CLIENT_KEEPER_CLIENT_H
#define TR_RUNTIME_KEEPER_CLIENT_KEEPER_CLIENT_H

#include "runtime/keeper_client/frames.h"
#include "runtime/keeper_client/keeper_limits.h"
#include "schemas/runtime/process.h"

struct tri_keeper_client;

/* How a keeper is reached or started; the client copies it. */
struct tri_keeper_client_options {
    const char *store_folder;
    const char *program;        /* NULL: this program, /proc/self/exe */
    const char *const *command; /* its argv, NULL-terminated; the store's folder is appended */
    uint32_t running_max; /* processes running at once, more wait in the keeper; 0: no limit */
    bool is_passive;      /* no unsolicited ends: for commands that only look */
};

enum tri_keeper_event_kind {
    TRI_KEEPER_UP, /* connected; `hello` is the keeper's; `words`: why it bounds no memory, or "" */
    TRI_KEEPER_DOWN,   /* connecting failed, or the connection was lost: see `error`, `words` */
    TRI_KEEPER_PACKET, /* `packet` was received */
};

/* An event; packet and words are valid until the next call of _next. */
struct tri_keeper_event {
    enum tri_keeper_event_kind kind;
    struct tr_keeper_hello hello;
    int error;
    const char *words;
    bool is_refused; /* DOWN: no keeper can work in this store, so a retry is useless */
    struct tri_packet packet;
};

/* A client that is not connected. TR_INVALID, TR_LIMIT (command), TR_MEMORY, TR_SYSTEM (errno). */
TR_MUST_USE int tri_keeper_client_new(const struct tri_keeper_client_options *options,
                                      struct tri_keeper_client **client);

/*
 * Disconnects and frees; the keeper keeps running. NULL is fine. Waits up to
 * TR_KEEPER_CHILD_END_MS_MAX if a keeper was just started.
 */
void tri_keeper_client_free(struct tri_keeper_client *client);

/* Readable when _next has something to do; the same descriptor for the client's whole life. */
int tri_keeper_client_fd(const struct tri_keeper_client *client);

/*
 * Begins to connect, and starts a keeper if none is running; an UP or DOWN event follows within
 * TR_KEEPER_CONNECT_MS_MAX. Does nothing while connecting or connected.
 */
void tri_keeper_client_connect(struct tri_keeper_client *client);

/* Whether messages can be sent. */
bool tri_keeper_client_is_up(const struct tri_keeper_client *client);

/*
 * Queues a message. TR_NO_CONNECTION: not up. TR_BUSY: the queue is full (wait for events and try
 * again). TR_LIMIT: too large. TR_MEMORY.
 */
TR_MUST_USE int tri_keeper_client_send(struct tri_keeper_client *client,
                                       const struct tr_schema *schema, const void *value);

/* Whether a message of any size can be queued; if not, wait for events and ask again. */
bool tri_keeper_client_has_room(const struct tri_keeper_client *client);

/* Sends what the socket accepts now; the rest is sent by later calls of _next. */
void tri_keeper_client_flush(struct tri_keeper_client *client);

/* The next event. TR_NOT_FOUND: none. */
TR_MUST_USE int tri_keeper_client_next(struct tri_keeper_client *client,
                                       struct tri_keeper_event *event);

#endif
