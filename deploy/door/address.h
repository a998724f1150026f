/*
 * Addresses that a door listens at: read from words, opened as sockets. One thread.
 */
#ifndef TR_DEPLOY_DOOR_ADDRESS_H
#define TR_DEPLOY_DOOR_ADDRESS_H

#include <sys/socket.h>
#include <sys/un.h>

#include "deploy/door/door.h"

/* An address as it was read. */
struct tri_door_address {
    struct sockaddr_storage socket;
    socklen_t size;
    bool is_unix;
    bool is_loopback; /* no other machine reaches it */
};

/* As tr_door_address_check says, which is this for those who need the result. */
TR_MUST_USE int tri_door_address_read(const char *text, bool has_tls,
                                      struct tri_door_address *address, char *words);

/*
 * Opens a socket that listens there, without waiting. A socket file that nobody listens at any more
 * is replaced, and only its owner may use the new one. TR_SYSTEM with the reason in `words`.
 */
TR_MUST_USE int tri_door_address_listen(const struct tri_door_address *address, int *listener,
                                        char *words);

/* Writes where a listener is, as words that tri_door_address_read takes. */
void tri_door_address_print(int listener, char text[TR_DOOR_ADDRESS_BYTES_MAX]);

#endif
