/*
 * SHA-256, from libsodium: the library that ZeroMQ's CURVE needs anyway. The name of a graph has to
 * resist collisions, since graphs of other hosts and of archives are found by it.
 */
#include <sodium.h>

#include "actors/graph/compiled/pack.h"

_Static_assert(crypto_hash_sha256_BYTES == TR_GRAPH_HASH_BYTES, "the size of SHA-256");

void tr_digest(struct tr_bytes bytes, uint8_t *hash)
{
    /* The library wants a pointer even to no bytes at all. */
    static const uint8_t nothing[1];
    (void)crypto_hash_sha256(hash, bytes.size == 0 ? nothing : bytes.data, bytes.size);
}
