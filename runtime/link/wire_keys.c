/*
 * A public key of CURVE is its secret one times the base point of Curve25519; every secret has one.
 */
#include "runtime/link/wire_keys.h"

#include <sodium.h>

#include "schemas/codec/base.h"

void tr_wire_keys_derive(struct tr_wire_keys *keys)
{
    int failed = crypto_scalarmult_base(keys->public_key, keys->secret_key);
    TR_ASSERT(failed == 0);
}
