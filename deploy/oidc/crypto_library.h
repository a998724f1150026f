/*
 * OpenSSL's libcrypto, loaded when a provider is opened: nobody else here checks signatures. Each
 * function that is used is a row of the list.
 */
#ifndef TR_DEPLOY_OIDC_CRYPTO_LIBRARY_H
#define TR_DEPLOY_OIDC_CRYPTO_LIBRARY_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "schemas/codec/base.h"

#define TRI_CRYPTO_FUNCTIONS(F)         \
    F(BN_bin2bn)                        \
    F(BN_free)                          \
    F(CRYPTO_free)                      \
    F(ECDSA_SIG_free)                   \
    F(ECDSA_SIG_new)                    \
    F(ECDSA_SIG_set0)                   \
    F(ERR_clear_error)                  \
    F(EVP_DigestVerify)                 \
    F(EVP_DigestVerifyInit_ex)          \
    F(EVP_MD_CTX_free)                  \
    F(EVP_MD_CTX_new)                   \
    F(EVP_PKEY_CTX_free)                \
    F(EVP_PKEY_CTX_new_from_name)       \
    F(EVP_PKEY_free)                    \
    F(EVP_PKEY_fromdata)                \
    F(EVP_PKEY_fromdata_init)           \
    F(EVP_PKEY_get_bits)                \
    F(OSSL_PARAM_BLD_free)              \
    F(OSSL_PARAM_BLD_new)               \
    F(OSSL_PARAM_BLD_push_BN)           \
    F(OSSL_PARAM_BLD_push_octet_string) \
    F(OSSL_PARAM_BLD_push_utf8_string)  \
    F(OSSL_PARAM_BLD_to_param)          \
    F(OSSL_PARAM_free)                  \
    F(i2d_ECDSA_SIG)

struct tri_crypto {
#define TRI_CRYPTO_MEMBER(name) __typeof__ (&name)(name);
    TRI_CRYPTO_FUNCTIONS(TRI_CRYPTO_MEMBER)
#undef TRI_CRYPTO_MEMBER
};

/*
 * Loaded at the first call and kept until the process ends. Any thread. NULL: not installed, or too
 * old.
 */
const struct tri_crypto *tri_crypto_load(void);

#endif
