/*
 * Keys are read once, into what OpenSSL verifies with.
 */
#include "deploy/oidc/key_set.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/document/json.h"
#include "actors/graph/document/report.h"
#include "deploy/oidc/crypto_library.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* A coordinate of P-256, of which a signature has two as well. */
#define COORDINATE_BYTES 32

/* The longest number of a key. */
#define NUMBER_BYTES_MAX (TR_KEY_RSA_BITS_MAX / 8)

struct key {
    struct tr_text id;     /* empty: it has none */
    const char *algorithm; /* that it is for */
    EVP_PKEY *key;
};

struct tr_key_set {
    const struct tri_crypto *crypto;
    struct tr_arena arena;
    struct key items[TR_KEYS_MAX];
    size_t count;
};

/* A number of a key as bytes, the largest first. */
struct number {
    uint8_t bytes[NUMBER_BYTES_MAX];
    size_t size;
};

/* ------------------------------------------------------------------ reading one key */

static struct tr_text text_of(const struct tr_tree *map, const char *name)
{
    const struct tr_tree *found = tr_tree_find(map, name);
    return found != NULL && found->kind == TR_TREE_STRING ? found->text
                                                          : (struct tr_text){.size = 0};
}

static bool has(const struct tr_tree *map, const char *name, const char *text)
{
    return tr_text_equal(text_of(map, name), tr_text_of(text));
}

/* Whether a member is as said, or not there. */
static bool may_have(const struct tr_tree *map, const char *name, const char *text)
{
    return tr_tree_find(map, name) == NULL || has(map, name, text);
}

static bool read_number(const struct tr_tree *map, const char *name, struct number *number)
{
    struct tr_text text = text_of(map, name);
    const char *end = NULL;
    return text.size > 0 &&
           sodium_base642bin(number->bytes, sizeof number->bytes, text.data, text.size, NULL,
                             &number->size, &end, sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
           end == text.data + text.size && number->size > 0;
}

/* A key of a kind from what was put together; NULL: it is none, such as no point of the curve. */
static EVP_PKEY *make(const struct tri_crypto *crypto, const char *kind, OSSL_PARAM_BLD *parts)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *list = crypto->OSSL_PARAM_BLD_to_param(parts);
    EVP_PKEY_CTX *context = crypto->EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
    bool is_made = list != NULL && context != NULL &&
                   crypto->EVP_PKEY_fromdata_init(context) == 1 &&
                   crypto->EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, list) == 1;
    crypto->EVP_PKEY_CTX_free(context);
    crypto->OSSL_PARAM_free(list);
    return is_made ? key : NULL;
}

static EVP_PKEY *read_rsa(const struct tri_crypto *crypto, const struct tr_tree *map)
{
    struct number modulus;
    struct number exponent;
    EVP_PKEY *key = NULL;
    if (!read_number(map, "n", &modulus) || !read_number(map, "e", &exponent)) {
        return NULL;
    }
    OSSL_PARAM_BLD *parts = crypto->OSSL_PARAM_BLD_new();
    BIGNUM *n = crypto->BN_bin2bn(modulus.bytes, (int)modulus.size, NULL);
    BIGNUM *e = crypto->BN_bin2bn(exponent.bytes, (int)exponent.size, NULL);
    bool is_set = parts != NULL && n != NULL && e != NULL &&
                  crypto->OSSL_PARAM_BLD_push_BN(parts, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
                  crypto->OSSL_PARAM_BLD_push_BN(parts, OSSL_PKEY_PARAM_RSA_E, e) == 1;
    key = is_set ? make(crypto, "RSA", parts) : NULL;
    if (key != NULL && crypto->EVP_PKEY_get_bits(key) < TR_KEY_RSA_BITS_MIN) {
        crypto->EVP_PKEY_free(key);
        key = NULL;
    }
    crypto->BN_free(n);
    crypto->BN_free(e);
    crypto->OSSL_PARAM_BLD_free(parts);
    return key;
}

static EVP_PKEY *read_p256(const struct tri_crypto *crypto, const struct tr_tree *map)
{
    static char group[] = "P-256";
    uint8_t point[1 + 2 * COORDINATE_BYTES] = {4}; /* not compressed */
    struct number x;
    struct number y;
    if (!read_number(map, "x", &x) || !read_number(map, "y", &y) || x.size != COORDINATE_BYTES ||
        y.size != COORDINATE_BYTES) {
        return NULL;
    }
    memcpy(point + 1, x.bytes, COORDINATE_BYTES);
    memcpy(point + 1 + COORDINATE_BYTES, y.bytes, COORDINATE_BYTES);
    OSSL_PARAM_BLD *parts = crypto->OSSL_PARAM_BLD_new();
    bool is_set =
        parts != NULL &&
        crypto->OSSL_PARAM_BLD_push_utf8_string(parts, OSSL_PKEY_PARAM_GROUP_NAME, group, 0) == 1 &&
        crypto->OSSL_PARAM_BLD_push_octet_string(parts, OSSL_PKEY_PARAM_PUB_KEY, point,
                                                 sizeof point) == 1;
    EVP_PKEY *key = is_set ? make(crypto, "EC", parts) : NULL;
    crypto->OSSL_PARAM_BLD_free(parts);
    return key;
}

/* Adds a key; one for something else is left out. */
static void add(struct tr_key_set *set, const struct tr_tree *map)
{
    struct key key = {.key = NULL};
    if (map->kind != TR_TREE_MAP || !may_have(map, "use", "sig")) {
        return;
    }
    if (has(map, "kty", "RSA") && may_have(map, "alg", "RS256")) {
        key.algorithm = "RS256";
        key.key = read_rsa(set->crypto, map);
    } else if (has(map, "kty", "EC") && has(map, "crv", "P-256") && may_have(map, "alg", "ES256")) {
        key.algorithm = "ES256";
        key.key = read_p256(set->crypto, map);
    }
    set->crypto->ERR_clear_error();
    if (key.key != NULL) {
        key.id = tr_arena_text(&set->arena, text_of(map, "kid"));
        set->items[set->count++] = key;
    }
}

/* ------------------------------------------------------------------ a set */

static int fill(struct tr_key_set *set, struct tr_text json, char *words)
{
    struct tr_report report;
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(&set->arena, &report, 0, json);
    const struct tr_tree *keys =
        tree != NULL && tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "keys") : NULL;
    tr_report_fini(&report);
    if (keys == NULL || keys->kind != TR_TREE_LIST) {
        (void)snprintf(words, TR_OIDC_WORDS_BYTES,
                       "what came are no keys: JSON with a list 'keys'");
        return set->arena.error != 0 ? set->arena.error : TR_INVALID;
    }
    for (uint32_t i = 0; i < keys->count && set->count < TR_KEYS_MAX; i++) {
        add(set, keys->items[i]);
    }
    if (set->count == 0) {
        (void)snprintf(words, TR_OIDC_WORDS_BYTES,
                       "of the %u keys none can be used: RSA of %d bits at least for RS256, or "
                       "P-256 for ES256",
                       keys->count, TR_KEY_RSA_BITS_MIN);
        return TR_INVALID;
    }
    return set->arena.error;
}

int tr_key_set_read(struct tr_text json, char *words, struct tr_key_set **out)
{
    struct tr_key_set *set = tr_alloc_zero(1, sizeof *set);
    words[0] = '\0';
    if (set == NULL) {
        return TR_MEMORY;
    }
    tr_arena_init(&set->arena);
    set->crypto = tri_crypto_load();
    int error = 0;
    if (set->crypto == NULL) {
        (void)snprintf(words, TR_OIDC_WORDS_BYTES,
                       "libcrypto.so.3 is not there, or too old; install the package libssl3");
        error = TR_SYSTEM;
    } else {
        error = fill(set, json, words);
    }
    if (error != 0) {
        tr_key_set_free(set);
        return error;
    }
    *out = set;
    return 0;
}

void tr_key_set_free(struct tr_key_set *set)
{
    for (size_t i = 0; set != NULL && i < set->count; i++) {
        set->crypto->EVP_PKEY_free(set->items[i].key);
    }
    if (set != NULL) {
        tr_arena_fini(&set->arena);
        tr_free(set);
    }
}

/* ------------------------------------------------------------------ verifying */

static bool verify(const struct tri_crypto *crypto, const struct key *key, struct tr_text said,
                   struct tr_bytes signature)
{
    EVP_MD_CTX *context = crypto->EVP_MD_CTX_new();
    bool is_signed =
        context != NULL &&
        crypto->EVP_DigestVerifyInit_ex(context, NULL, "SHA256", NULL, NULL, key->key, NULL) == 1 &&
        crypto->EVP_DigestVerify(context, signature.data, signature.size,
                                 (const unsigned char *)said.data, said.size) == 1;
    crypto->EVP_MD_CTX_free(context);
    crypto->ERR_clear_error();
    return is_signed;
}

/* Two numbers behind each other (RFC 7518, 3.4), which OpenSSL takes in ASN.1 alone. */
static bool verify_p256(const struct tri_crypto *crypto, const struct key *key,
                        const struct tr_jwt *jwt)
{
    unsigned char *der = NULL;
    if (jwt->signature.size != 2 * (size_t)COORDINATE_BYTES) {
        return false;
    }
    ECDSA_SIG *pair = crypto->ECDSA_SIG_new();
    BIGNUM *r = crypto->BN_bin2bn(jwt->signature.data, COORDINATE_BYTES, NULL);
    BIGNUM *s = crypto->BN_bin2bn(jwt->signature.data + COORDINATE_BYTES, COORDINATE_BYTES, NULL);
    bool is_set = pair != NULL && r != NULL && s != NULL &&
                  crypto->ECDSA_SIG_set0(pair, r, s) == 1; /* which has both now */
    if (!is_set) {
        crypto->BN_free(r);
        crypto->BN_free(s);
    }
    int size = is_set ? crypto->i2d_ECDSA_SIG(pair, &der) : -1;
    bool is_signed = size > 0 && verify(crypto, key, jwt->said,
                                        (struct tr_bytes){.data = der, .size = (size_t)size});
    crypto->CRYPTO_free(der, __FILE__, __LINE__);
    crypto->ECDSA_SIG_free(pair);
    return is_signed;
}

static bool is_rsa(const struct key *key)
{
    return strcmp(key->algorithm, "RS256") == 0;
}

/* One without an id may be any of those for its algorithm. */
static bool is_meant(const struct key *key, const struct tr_jwt *jwt)
{
    return jwt->key_id.size == 0 ? tr_text_equal(jwt->algorithm, tr_text_of(key->algorithm))
                                 : tr_text_equal(jwt->key_id, key->id);
}

enum tr_key_verdict tr_key_set_verify(const struct tr_key_set *set, const struct tr_jwt *jwt)
{
    enum tr_key_verdict verdict = TR_KEY_UNKNOWN;
    bool is_known = tr_text_equal(jwt->algorithm, tr_text_of("RS256")) ||
                    tr_text_equal(jwt->algorithm, tr_text_of("ES256"));
    for (size_t i = 0; is_known && verdict != TR_KEY_SIGNED && i < set->count; i++) {
        const struct key *key = &set->items[i];
        if (!is_meant(key, jwt)) {
            continue;
        }
        if (!tr_text_equal(jwt->algorithm, tr_text_of(key->algorithm))) {
            verdict = TR_KEY_ALGORITHM;
        } else {
            bool is_signed = is_rsa(key) ? verify(set->crypto, key, jwt->said, jwt->signature)
                                         : verify_p256(set->crypto, key, jwt);
            verdict = is_signed ? TR_KEY_SIGNED : TR_KEY_FORGED;
        }
    }
    return is_known ? verdict : TR_KEY_ALGORITHM;
}
