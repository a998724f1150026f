/*
 * The digest is that of OpenSSL, which takes a tenth less of the processor than GLib's: most of the
 * work on an upload. GLib's is for where OpenSSL is not installed.
 *
 * Of OpenSSL these are its older functions. Those of EVP would look for them in its providers, and
 * take 2 MB for that.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "deploy/data_proxy/md5.h"

#include <glib.h>
#include <openssl/md5.h>

#include "runtime/env/library.h"

#define CRYPTO_FUNCTIONS(F) \
    F(MD5_Final)            \
    F(MD5_Init)             \
    F(MD5_Update)

struct crypto {
#define CRYPTO_MEMBER(name) __typeof__ (&name)(name);
    CRYPTO_FUNCTIONS(CRYPTO_MEMBER)
#undef CRYPTO_MEMBER
};

_Static_assert(sizeof(MD5_CTX) <= sizeof(((struct tr_md5 *)NULL)->state), "there is no room");

/* NULL: it is not there. */
static const struct crypto *load(void)
{
#define CRYPTO_NAME(name) #name,
    static struct crypto functions;
    static const char *const names[] = {CRYPTO_FUNCTIONS(CRYPTO_NAME)};
#undef CRYPTO_NAME
    static struct tri_library library = {.name = "libcrypto.so.3",
                                         .names = names,
                                         .count = TR_COUNT_OF(names),
                                         .functions = &functions};
    return tri_library_open(&library);
}

static MD5_CTX *state_of(struct tr_md5 *md5)
{
    return (MD5_CTX *)(void *)md5->state;
}

void tr_md5_init(struct tr_md5 *md5)
{
    const struct crypto *crypto = load();
    *md5 = (struct tr_md5){.sum = NULL};
    if (crypto != NULL) {
        (void)crypto->MD5_Init(state_of(md5));
    } else {
        md5->sum = g_checksum_new(G_CHECKSUM_MD5);
    }
}

void tr_md5_add(struct tr_md5 *md5, struct tr_bytes bytes)
{
    if (md5->sum == NULL) {
        (void)load()->MD5_Update(state_of(md5), bytes.data, bytes.size);
    } else {
        g_checksum_update(md5->sum, bytes.data, (gssize)bytes.size);
    }
}

void tr_md5_end(struct tr_md5 *md5, uint8_t digest[TR_MD5_BYTES])
{
    gsize size = TR_MD5_BYTES;
    if (md5->sum == NULL) {
        (void)load()->MD5_Final(digest, state_of(md5));
    } else {
        g_checksum_get_digest(md5->sum, digest, &size);
    }
    tr_md5_fini(md5);
}

void tr_md5_fini(struct tr_md5 *md5)
{
    g_clear_pointer((GChecksum **)&md5->sum, g_checksum_free);
}
