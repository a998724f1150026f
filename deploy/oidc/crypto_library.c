/*
 * The names of the functions of OpenSSL 3.
 */
#include "deploy/oidc/crypto_library.h"

#include "runtime/env/library.h"

#define CRYPTO_NAME(name) #name,

const struct tri_crypto *tri_crypto_load(void)
{
    static struct tri_crypto functions;
    static const char *const names[] = {TRI_CRYPTO_FUNCTIONS(CRYPTO_NAME)};
    static struct tri_library library = {.name = "libcrypto.so.3",
                                         .names = names,
                                         .count = TR_COUNT_OF(names),
                                         .functions = &functions};
    return tri_library_open(&library);
}
