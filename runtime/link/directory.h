/*
 * The directory: this host and the others, by number. Which of them has a group is in owners.h.
 *
 * It only grows: by the thread that made the host, at any time. A place, and the number there, stay
 * as they are from then on, so any thread may look for them. Addresses and keys change, and belong
 * to the thread of the wire once the host has started.
 */
#ifndef TR_RUNTIME_LINK_DIRECTORY_H
#define TR_RUNTIME_LINK_DIRECTORY_H

#include <stdatomic.h>

#include "runtime/limits.h"
#include "runtime/link/wire_keys.h"
#include "schemas/codec/base.h"
#include "schemas/codec/error.h"

/* Another host. */
struct tri_neighbour {
    uint16_t number;
    char address[TR_HOST_ADDRESS_BYTES]; /* "": it listens nowhere */
    bool has_key;
    uint8_t key[TR_WIRE_KEY_BYTES]; /* its public one */
};

struct tri_directory {
    uint16_t number; /* of this host; 0: there are no other hosts */
    bool has_keys;   /* what hosts say to each other is encrypted, and each peer has a key */
    struct tr_wire_keys keys; /* of this host */
    atomic_uint peer_count;   /* raised behind the peer that it counts */
    struct tri_neighbour
        peers[TR_HOSTS_MAX]; /* in order of addition; the index is a host's place */
};

/* How many others there are. Any thread. */
static inline uint32_t tri_directory_count(const struct tri_directory *directory)
{
    return atomic_load_explicit(&directory->peer_count, memory_order_acquire);
}

/*
 * Adds a host. TR_EXISTS (the number is in use), TR_INVALID (it is this host's, 0, or above
 * TR_HOST_NUMBER_MAX; or the address is too long), TR_LIMIT (TR_HOSTS_MAX).
 */
TR_MUST_USE int tri_directory_add(struct tri_directory *directory, uint16_t number,
                                  struct tr_text address);

/* Sets the address of a peer, which may be empty. TR_NOT_FOUND; TR_INVALID: it is too long. */
TR_MUST_USE int tri_directory_set_address(struct tri_directory *directory, uint16_t number,
                                          struct tr_text address);

/* Sets the public key of a peer, TR_WIRE_KEY_BYTES; NULL: it has none. TR_NOT_FOUND. */
TR_MUST_USE int tri_directory_set_key(struct tri_directory *directory, uint16_t number,
                                      const uint8_t *key);

/* The index of a host among the peers, or -1. Any thread. */
int tri_directory_place(const struct tri_directory *directory, uint16_t number);

#endif
