/*
 * The vectors of RFC 1321, whole and in pieces of any size.
 */
#include "deploy/data_proxy/md5.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

static const struct {
    const char *text;
    const char *digest;
} vectors[] = {
    {"", "d41d8cd98f00b204e9800998ecf8427e"},
    {"a", "0cc175b9c0f1b6a831c399e269772661"},
    {"abc", "900150983cd24fb0d6963f7d28e17f72"},
    {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
    {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
     "d174ab98d277d9f5a5611c2c9f419d9f"},
    {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
     "57edf4a22be3c955ac49da2e2107b67a"},
};

static void check(const char *text, size_t piece, const char *expected)
{
    struct tr_md5 md5;
    uint8_t digest[TR_MD5_BYTES];
    char hex[2 * TR_MD5_BYTES + 1];
    size_t size = strlen(text);
    tr_md5_init(&md5);
    for (size_t at = 0; at < size; at += piece) {
        size_t left = size - at < piece ? size - at : piece;
        tr_md5_add(&md5, (struct tr_bytes){.data = (const uint8_t *)text + at, .size = left});
    }
    tr_md5_end(&md5, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
    assert_string_equal(hex, expected);
}

static void the_vectors_of_the_standard(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(vectors); i++) {
        for (size_t piece = 1; piece < 90; piece++) {
            check(vectors[i].text, piece, vectors[i].digest);
        }
    }
}

/* Paddings of all lengths, against each other: whole, and byte by byte. */
static void each_length_is_padded(void **state)
{
    uint8_t bytes[200];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7);
    }
    for (size_t size = 0; size <= sizeof bytes; size++) {
        struct tr_md5 whole;
        struct tr_md5 parts;
        uint8_t a[TR_MD5_BYTES];
        uint8_t b[TR_MD5_BYTES];
        tr_md5_init(&whole);
        tr_md5_init(&parts);
        tr_md5_add(&whole, (struct tr_bytes){.data = bytes, .size = size});
        for (size_t i = 0; i < size; i++) {
            tr_md5_add(&parts, (struct tr_bytes){.data = bytes + i, .size = 1});
        }
        tr_md5_end(&whole, a);
        tr_md5_end(&parts, b);
        assert_memory_equal(a, b, sizeof a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_standard),
        cmocka_unit_test(each_length_is_padded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
