/*
 * SHA-256, from libsodium: the library that ZeroMQ's CURVE needs anyway. No other file uses it.
 */
#include <sodium.h>

#include "actors/graph/compiled/pack.h"

_Static_assert(crypto_hash_sha256_BYTES == TR_GRAPH_HASH_BYTES, "the size of SHA-256");

void tr_digest(struct tr_bytes bytes, uint8_t *hash)
{
    static const uint8_t nothing[1];
    (void)crypto_hash_sha256(hash, bytes.size == 0 ? nothing : bytes.data, bytes.size);
}
