/*
 * The public keys of a provider (RFC 7517), and whether one of them has signed a token. The kind of
 * a key says which algorithm it is for: RSA of 2048 bits at least is for RS256, and P-256 for
 * ES256. What a token itself says counts only if it is the same, so that nobody chooses another
 * algorithm for a key, such as a secret's that is the public key.
 */
#ifndef TR_DEPLOY_OIDC_KEY_SET_H
#define TR_DEPLOY_OIDC_KEY_SET_H

#include "deploy/oidc/jwt.h"

/* Keys of one provider; bits of an RSA key. */
#define TR_KEYS_MAX 64
#define TR_KEY_RSA_BITS_MIN 2048
#define TR_KEY_RSA_BITS_MAX 8192

struct tr_key_set;

/*
 * Reads them; those that are for something else are left out. TR_INVALID: it is no set of keys, or
 * has none that can be used; TR_SYSTEM: OpenSSL is not there; `words` (TR_OIDC_WORDS_BYTES) say so.
 * TR_MEMORY.
 */
#define TR_OIDC_WORDS_BYTES 512
TR_MUST_USE int tr_key_set_read(struct tr_text json, char *words, struct tr_key_set **set);
void tr_key_set_free(struct tr_key_set *set);

/* How a token stands to them. */
enum tr_key_verdict {
    TR_KEY_SIGNED,    /* one of them has signed it */
    TR_KEY_UNKNOWN,   /* it names a key that is not among them */
    TR_KEY_FORGED,    /* the key that it names has not signed it */
    TR_KEY_ALGORITHM, /* it is signed in another way than RS256 and ES256, or than its key is for */
};

enum tr_key_verdict tr_key_set_verify(const struct tr_key_set *set, const struct tr_jwt *jwt);

#endif
