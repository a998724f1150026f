/*
 * The signature is an HMAC-SHA256 (RFC 2104) over the method, the path and what the query says, a
 * line each. A query is read only in the form in which it is printed here, so there is one text for
 * each meaning.
 */
#include "deploy/data_proxy/signed_url.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define QUERY_BYTES 256

_Static_assert(TR_SIGNED_KEY_BYTES == crypto_auth_hmacsha256_KEYBYTES, "libsodium's key");

static void put_hex(struct tr_buffer *buffer, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        tr_buffer_print(buffer, "%02x", bytes[i]);
    }
}

bool tr_hex_read(struct tr_text text, uint8_t *bytes, size_t size)
{
    if (text.size != 2 * size) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        char digit = text.data[i];
        int value = digit >= '0' && digit <= '9'   ? digit - '0'
                    : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                                   : -1;
        if (value < 0) {
            return false;
        }
        bytes[i / 2] = (uint8_t)(i % 2 == 0 ? value << 4 : bytes[i / 2] | value);
    }
    return true;
}

/* The query as it is signed. */
static void print_plain(const struct tr_signed_url *url, struct tr_buffer *query)
{
    tr_buffer_print(query, "?expires=%llu", (unsigned long long)url->expires_s);
    if (url->has_md5) {
        tr_buffer_add_string(query, "&md5=");
        put_hex(query, url->md5, sizeof url->md5);
    }
}

/* What the signature is over: the method, the path and the query. */
static int print_signed(const struct tr_signed_url *url, struct tr_buffer *text)
{
    tr_buffer_init(text, 0);
    tr_buffer_add_string(text, url->method);
    tr_buffer_add_string(text, "\n");
    tr_buffer_add_text(text, url->path);
    tr_buffer_add_string(text, "\n");
    print_plain(url, text);
    return text->error;
}

void tr_signed_url_print(const struct tr_signed_url *url, const uint8_t key[TR_SIGNED_KEY_BYTES],
                         struct tr_buffer *query)
{
    uint8_t signature[crypto_auth_hmacsha256_BYTES];
    struct tr_buffer text;
    int error = print_signed(url, &text);
    if (error == 0) {
        (void)crypto_auth_hmacsha256(signature, text.data, text.size, key);
        print_plain(url, query);
        tr_buffer_add_string(query, "&signature=");
        put_hex(query, signature, sizeof signature);
    }
    query->error = query->error != 0 ? query->error : error;
    tr_buffer_fini(&text);
}

/* Takes NAME=VALUE off the front; false: something else stands there. */
static bool take(struct tr_text *query, const char *name, struct tr_text *value)
{
    size_t size = strlen(name);
    if (query->size < size || memcmp(query->data, name, size) != 0) {
        return false;
    }
    const char *begin = query->data + size;
    const char *end = memchr(begin, '&', query->size - size);
    size_t length = end == NULL ? query->size - size : (size_t)(end - begin);
    *value = (struct tr_text){.data = begin, .size = length};
    size_t passed = size + length + (end == NULL ? 0 : 1);
    *query = (struct tr_text){.data = query->data + passed, .size = query->size - passed};
    return true;
}

static bool read_number(struct tr_text text, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        *number = 10 * *number + (uint64_t)(text.data[i] - '0');
    }
    return text.size > 0 && text.size <= 15 && (text.size == 1 || text.data[0] != '0');
}

/* The time that it takes tells nothing. */
static bool is_signed(const struct tr_signed_url *url, const uint8_t key[TR_SIGNED_KEY_BYTES],
                      const uint8_t signature[crypto_auth_hmacsha256_BYTES])
{
    struct tr_buffer text;
    bool is_right = print_signed(url, &text) == 0 &&
                    crypto_auth_hmacsha256_verify(signature, text.data, text.size, key) == 0;
    tr_buffer_fini(&text);
    return is_right;
}

bool tr_signed_url_read(struct tr_signed_url *url, struct tr_text query,
                        const uint8_t key[TR_SIGNED_KEY_BYTES])
{
    uint8_t signature[crypto_auth_hmacsha256_BYTES];
    struct tr_text value;
    bool is_fine = query.size <= QUERY_BYTES && take(&query, "expires=", &value) &&
                   read_number(value, &url->expires_s);
    url->has_md5 = is_fine && take(&query, "md5=", &value);
    if (url->has_md5) {
        is_fine = tr_hex_read(value, url->md5, sizeof url->md5);
    }
    return is_fine && take(&query, "signature=", &value) && query.size == 0 &&
           tr_hex_read(value, signature, sizeof signature) && is_signed(url, key, signature);
}
