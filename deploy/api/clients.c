/*
 * A token is ID.SECONDS.DIGITS, or of an execution PROJECT/DOMAIN/NAME.DIGITS: the digits are an
 * HMAC-SHA256 (RFC 2104) over what stands before them, with a word in front that nothing else which
 * the key signs begins with.
 */
#include "deploy/api/clients.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#define DIGITS (2 * crypto_auth_hmacsha256_BYTES)

_Static_assert(TR_API_SECRET_HASH_BYTES == crypto_hash_sha256_BYTES, "libsodium's hash");
_Static_assert(TR_API_TOKEN_KEY_BYTES == crypto_auth_hmacsha256_KEYBYTES, "libsodium's key");

/* ------------------------------------------------------------- what is allowed */

static bool covers(const char *granted, const char *wanted)
{
    return granted == NULL || (wanted != NULL && strcmp(granted, wanted) == 0);
}

bool tr_api_client_may(const struct tr_api_client *client, enum tr_api_role role,
                       const struct tr_api_place *place)
{
    for (uint32_t i = 0; i < client->grant_count; i++) {
        const struct tr_api_grant *grant = &client->grants[i];
        bool is_there = place->is_anywhere || (covers(grant->project, place->project) &&
                                               covers(grant->domain, place->domain));
        if (grant->role >= role && is_there) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------- who it is */

static const struct tr_api_client *find(const struct tr_api_clients *clients, struct tr_text id)
{
    for (uint32_t i = 0; i < clients->count; i++) {
        if (tr_text_equal(tr_text_of(clients->items[i].id), id)) {
            return &clients->items[i];
        }
    }
    return NULL;
}

/* The time that it takes tells nothing of the secret. */
static bool has_secret(const struct tr_api_client *client, struct tr_text secret)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    (void)crypto_hash_sha256(hash, (const uint8_t *)secret.data, secret.size);
    return sodium_memcmp(hash, client->secret_sha256, sizeof hash) == 0;
}

const struct tr_api_client *tr_api_client_of_secret(const struct tr_api_clients *clients,
                                                    struct tr_text id, struct tr_text secret)
{
    const struct tr_api_client *client = find(clients, id);
    return client != NULL && has_secret(client, secret) ? client : NULL;
}

static int sign(const struct tr_api_clients *clients, const char *word, struct tr_text said,
                uint8_t signature[crypto_auth_hmacsha256_BYTES])
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_buffer_print(&text, "%s\n", word);
    tr_buffer_add_text(&text, said);
    int error = text.error;
    if (error == 0) {
        (void)crypto_auth_hmacsha256(signature, text.data, text.size, clients->key);
    }
    tr_buffer_fini(&text);
    return error;
}

/* Appends what is said, and the digits that sign it. */
static void print_signed(const struct tr_api_clients *clients, const char *word,
                         const struct tr_buffer *said, struct tr_buffer *token)
{
    uint8_t signature[crypto_auth_hmacsha256_BYTES];
    int error = said->error;
    if (error == 0) {
        error = sign(clients, word, tr_buffer_text(said), signature);
    }
    if (error == 0) {
        tr_buffer_add_text(token, tr_buffer_text(said));
        tr_buffer_add_string(token, ".");
        for (size_t i = 0; i < sizeof signature; i++) {
            tr_buffer_print(token, "%02x", signature[i]);
        }
    }
    token->error = token->error != 0 ? token->error : error;
}

void tr_api_token_print(const struct tr_api_clients *clients, const struct tr_api_client *client,
                        uint64_t expires_s, struct tr_buffer *token)
{
    struct tr_buffer said;
    tr_buffer_init(&said, 0);
    tr_buffer_print(&said, "%s.%llu", client->id, (unsigned long long)expires_s);
    print_signed(clients, "token", &said, token);
    tr_buffer_fini(&said);
}

void tr_api_execution_token_print(const struct tr_api_clients *clients, struct tr_text execution,
                                  struct tr_buffer *token)
{
    struct tr_buffer said;
    tr_buffer_init(&said, 0);
    tr_buffer_add_text(&said, execution);
    print_signed(clients, "execution", &said, token);
    tr_buffer_fini(&said);
}

/* Whether a token is what would be printed for a client and its time. */
static bool is_token(const struct tr_api_clients *clients, const struct tr_api_client *client,
                     uint64_t expires_s, struct tr_text token)
{
    struct tr_buffer right;
    tr_buffer_init(&right, 0);
    tr_api_token_print(clients, client, expires_s, &right);
    bool is_one = right.error == 0 && right.size == token.size &&
                  sodium_memcmp(right.data, token.data, right.size) == 0;
    tr_buffer_fini(&right);
    return is_one;
}

/* The client of a token; NULL: it is none, or has expired. */
static const struct tr_api_client *of_token(const struct tr_api_clients *clients,
                                            struct tr_text token, uint64_t now_s)
{
    const char *dot = token.size == 0 ? NULL : memchr(token.data, '.', token.size);
    uint64_t expires_s = 0;
    if (dot == NULL) {
        return NULL;
    }
    struct tr_text id = {.data = token.data, .size = (size_t)(dot - token.data)};
    const struct tr_api_client *client = find(clients, id);
    const char *end = token.data + token.size;
    size_t digits = 0;
    for (const char *at = dot + 1; at < end && *at >= '0' && *at <= '9' && digits < 15; at++) {
        expires_s = 10 * expires_s + (uint64_t)(*at - '0');
        digits++;
    }
    return client != NULL && expires_s > now_s && is_token(clients, client, expires_s, token)
               ? client
               : NULL;
}

const struct tr_api_client *tr_api_client_of_bearer(const struct tr_api_clients *clients,
                                                    struct tr_text bearer, uint64_t now_s)
{
    const struct tr_api_client *found = of_token(clients, bearer, now_s);
    for (uint32_t i = 0; found == NULL && bearer.size > 0 && i < clients->count; i++) {
        found = has_secret(&clients->items[i], bearer) ? &clients->items[i] : NULL;
    }
    return found;
}

struct tr_text tr_api_execution_of_bearer(const struct tr_api_clients *clients,
                                          struct tr_text bearer)
{
    struct tr_text execution = {.data = bearer.data,
                                .size = bearer.size > DIGITS + 1 ? bearer.size - DIGITS - 1 : 0};
    bool is_one = execution.size > 0 && memchr(execution.data, '/', execution.size) != NULL;
    struct tr_buffer right;
    tr_buffer_init(&right, 0);
    if (is_one) {
        tr_api_execution_token_print(clients, execution, &right);
        is_one = right.error == 0 && right.size == bearer.size &&
                 sodium_memcmp(right.data, bearer.data, right.size) == 0;
    }
    tr_buffer_fini(&right);
    return is_one ? execution : (struct tr_text){.size = 0};
}

/* Cuts what stands before the next slash off, and the slash. */
static struct tr_text cut(struct tr_text *path)
{
    const char *slash = path->size == 0 ? NULL : memchr(path->data, '/', path->size);
    struct tr_text part = {.data = path->data,
                           .size = slash == NULL ? path->size : (size_t)(slash - path->data)};
    size_t size = part.size + (slash == NULL ? 0 : 1);
    path->data += size;
    path->size -= size;
    return part;
}

bool tr_api_execution_may(struct tr_text execution, enum tr_api_role role,
                          const struct tr_api_place *place)
{
    struct tr_text project = cut(&execution);
    struct tr_text domain = cut(&execution);
    bool is_there = place->is_anywhere || (place->project != NULL && place->domain != NULL &&
                                           tr_text_equal(project, tr_text_of(place->project)) &&
                                           tr_text_equal(domain, tr_text_of(place->domain)));
    return role <= TR_API_REGISTER && is_there;
}

struct tr_text tr_api_credentials(struct tr_text header, const char *scheme)
{
    size_t size = strlen(scheme);
    bool is_one = header.size > size && strncasecmp(header.data, scheme, size) == 0 &&
                  header.data[size] == ' ';
    if (!is_one) {
        return (struct tr_text){.size = 0};
    }
    while (size < header.size && header.data[size] == ' ') {
        size++;
    }
    return (struct tr_text){.data = header.data + size, .size = header.size - size};
}
