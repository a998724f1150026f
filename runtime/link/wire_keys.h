/*
 * Keys of CURVE (ZeroMQ RFC 26), by which hosts encrypt what they say and know each other.
 */
#ifndef TR_RUNTIME_LINK_WIRE_KEYS_H
#define TR_RUNTIME_LINK_WIRE_KEYS_H

#include <stdint.h>

#define TR_WIRE_KEY_BYTES 32

/* The key pair of a host. */
struct tr_wire_keys {
    uint8_t secret_key[TR_WIRE_KEY_BYTES]; /* any unpredictable bytes */
    uint8_t public_key[TR_WIRE_KEY_BYTES];
};

/* Computes the public key of the secret one. */
void tr_wire_keys_derive(struct tr_wire_keys *keys);

#endif
