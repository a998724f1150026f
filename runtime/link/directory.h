/*
 * The directory: this host and the others, by number. Which of them has a group is in owners.h.
 *
 * It is filled before the host starts and does not change afterwards, so all threads may read it.
 */
#ifndef TR_RUNTIME_LINK_DIRECTORY_H
#define TR_RUNTIME_LINK_DIRECTORY_H

#include "runtime/limits.h"
#include "runtime/link/wire_keys.h"
#include "schemas/codec/base.h"
#include "schemas/codec/error.h"

/* Another host. */
struct tri_neighbour {
    uint16_t number;
    char address[TR_ADDRESS_BYTES_MAX];
    bool has_key;
    uint8_t key[TR_WIRE_KEY_BYTES]; /* its public one */
};

struct tri_directory {
    uint16_t number; /* of this host; 0: there are no other hosts */
    bool has_keys;   /* what hosts say to each other is encrypted, and each peer has a key */
    struct tr_wire_keys keys; /* of this host */
    uint32_t peer_count;
    struct tri_neighbour *peers; /* in order of addition; the index is a host's place */
};

void tri_directory_fini(struct tri_directory *directory);

/*
 * Adds a host. TR_EXISTS (the number is in use), TR_INVALID (it is this host's, 0, or above
 * TR_HOST_NUMBER_MAX; or the address is too long), TR_LIMIT (TR_HOSTS_MAX), TR_MEMORY.
 */
TR_MUST_USE int tri_directory_add(struct tri_directory *directory, uint16_t number,
                                  struct tr_text address);

/* Sets the public key of a peer, TR_WIRE_KEY_BYTES. TR_NOT_FOUND. */
TR_MUST_USE int tri_directory_set_key(struct tri_directory *directory, uint16_t number,
                                      const uint8_t *key);

/* The index of a host among the peers, or -1. */
int tri_directory_place(const struct tri_directory *directory, uint16_t number);

#endif
