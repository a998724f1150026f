/*
 * The engine's end of the conversation with the keeper: finds the keeper of a store or starts one,
 * sends and receives messages of schemas/runtime/process.h, and tells when the keeper is gone.
 * Nothing here blocks; there is one descriptor to wait for. One thread at a time.
 *
 *     tri_keeper_client_new(&options, &client);
 *     tri_keeper_client_connect(client);
 *     loop: poll(tri_keeper_client_fd(client)) for POLLIN;
 *           while (tri_keeper_client_next(client, &event) == 0) { ... }
 *           tri_keeper_client_send(...) as often as needed; tri_keeper_client_flush(client);
 *
 * After DOWN, what was sent and not answered may or may not have been heard. Connect again, and
 * start again or query what is open: a key is started once only. Ends not forgotten are told again.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_CLIENT_H
#define TR_RUNTIME_KEEPER_KEEPER_CLIENT_H

#include "runtime/keeper/frames.h"
#include "runtime/keeper/keeper_limits.h"
#include "schemas/runtime/process.h"

struct tri_keeper_client;

/* How a keeper is reached or started; all of it is copied. */
struct tri_keeper_client_options {
    const char *store_folder;
    const char *program;        /* NULL: the one that runs, /proc/self/exe */
    const char *const *command; /* its argv, ended by NULL; the folder is put behind it */
    uint32_t running_max;       /* more wait in the keeper; 0: all run at once */
    bool is_passive;            /* ends are not told by themselves: for commands that only look */
};

enum tri_keeper_event_kind {
    TRI_KEEPER_UP,     /* connected; `hello` is what the keeper says of itself */
    TRI_KEEPER_DOWN,   /* not, or no more, or not to be started: `error` and `words` say why */
    TRI_KEEPER_PACKET, /* `packet` came */
};

/* What happened; packet and words live until the next call of _next. */
struct tri_keeper_event {
    enum tri_keeper_event_kind kind;
    struct tr_keeper_hello hello;
    int error;
    const char *words;
    bool is_refused; /* of DOWN: a keeper was started and cannot work here, whenever it is tried */
    struct tri_packet packet;
};

/* A client that is not connected. TR_INVALID, TR_LIMIT (command), TR_MEMORY, TR_SYSTEM (errno). */
TR_MUST_USE int tri_keeper_client_new(const struct tri_keeper_client_options *options,
                                      struct tri_keeper_client **client);

/* Disconnects; the keeper goes on. NULL is fine. It may wait a moment if one was just started. */
void tri_keeper_client_free(struct tri_keeper_client *client);

/* Readable when _next has something to do; the same for the client's whole life. */
int tri_keeper_client_fd(const struct tri_keeper_client *client);

/*
 * Begins to connect, and starts a keeper if there is none; UP or DOWN comes as an event, within
 * TR_KEEPER_CONNECT_MS_MAX. Does nothing while connecting or connected.
 */
void tri_keeper_client_connect(struct tri_keeper_client *client);

/* Whether messages can be sent. */
bool tri_keeper_client_is_up(const struct tri_keeper_client *client);

/*
 * Puts a message behind those to be sent. TR_NO_CONNECTION: not up. TR_BUSY: too much waits (wait
 * for events and try again). TR_LIMIT: too large. TR_MEMORY.
 */
TR_MUST_USE int tri_keeper_client_send(struct tri_keeper_client *client,
                                       const struct tr_schema *schema, const void *value);

/* Whether a message of any size can be put; if not, wait for events and ask again. */
bool tri_keeper_client_has_room(const struct tri_keeper_client *client);

/* Sends what the keeper takes now; the rest follows when it takes more. */
void tri_keeper_client_flush(struct tri_keeper_client *client);

/* The next event. TR_NOT_FOUND: none now. */
TR_MUST_USE int tri_keeper_client_next(struct tri_keeper_client *client,
                                       struct tri_keeper_event *event);

#endif
