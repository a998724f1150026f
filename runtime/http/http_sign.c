/*
 * Signature Version 4: the request in a canonical form, its digest signed with a key derived from
 * the secret, the day, the region and the service. It is AWS's protocol, which other object stores
 * use too.
 *
 *     canonical request = method, path, query, headers, names of the headers, digest of the body
 *     string to sign    = algorithm, moment, scope, digest of the canonical request
 *     signature         = HMAC(key of the day, string to sign)
 *
 * The server builds the same text from what it receives, so it refuses if one byte differs. libcurl
 * has this too, but its common releases sign queries and bodies of object stores wrongly, each in
 * its own way; this implementation is shorter than a list of exceptions.
 *
 * The first error stays in signing.error: a put after it does nothing.
 */
#include "runtime/http/http_sign.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "runtime/secret/secret.h"
#include "schemas/codec/error.h"

#define PARAMETERS_MAX TR_HTTP_SIGNED_PARAMETERS_MAX
#define HASH_BYTES crypto_auth_hmacsha256_BYTES

/* A header, or a parameter of the query. */
struct field {
    struct tr_text name;
    struct tr_text value;
};

/* A request that is being signed. */
struct signing {
    const struct tri_http_request *request;
    const struct tri_http_target *target;
    const char *digest;
    struct tr_text access;
    struct tr_text secret;
    struct tr_text token;
    char day[16];
    char moment[32];
    struct field fields[TR_HTTP_HEADERS_MAX + 4]; /* the signed ones */
    size_t field_count;
    struct tri_buffer names; /* of the signed headers: a;b;c */
    struct tri_buffer canonical;
    int error; /* the first error */
};

/* ---- Texts. --------------------------------------------------------------------------------- */

static void put(struct signing *signing, struct tri_buffer *buffer, const void *data, size_t size)
{
    if (signing->error == 0 && size > 0) {
        signing->error = tri_buffer_append(buffer, data, size);
    }
}

static void put_text(struct signing *signing, struct tri_buffer *buffer, const char *text)
{
    put(signing, buffer, text, strlen(text));
}

static void to_hex(const uint8_t hash[HASH_BYTES], char digest[TRI_HTTP_DIGEST_BYTES])
{
    sodium_bin2hex(digest, TRI_HTTP_DIGEST_BYTES, hash, HASH_BYTES);
}

void tri_http_digest(struct tr_bytes bytes, char digest[TRI_HTTP_DIGEST_BYTES])
{
    static const uint8_t nothing[1];
    uint8_t hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, bytes.size > 0 ? bytes.data : nothing, bytes.size);
    to_hex(hash, digest);
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

static int hex_of(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = c != '\0' ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/*
 * Puts a text in percent encoding with capital digits, as the protocol requires. With `is_decoded`
 * escapes in the text are decoded first, so they are not encoded twice.
 */
static void put_encoded(struct signing *signing, struct tri_buffer *buffer, struct tr_text text,
                        const char *also_plain, bool is_decoded)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (is_decoded && c == '%' && i + 2 < text.size && hex_of(text.data[i + 1]) >= 0 &&
            hex_of(text.data[i + 2]) >= 0) {
            c = (char)(hex_of(text.data[i + 1]) * 16 + hex_of(text.data[i + 2]));
            i += 2;
        }
        char encoded[4];
        bool stays = is_plain(c) || (c != '\0' && strchr(also_plain, c) != NULL);
        int size = snprintf(encoded, sizeof encoded, stays ? "%c" : "%%%02X", (uint8_t)c);
        put(signing, buffer, encoded, (size_t)size);
    }
}

/* ---- The canonical request. ----------------------------------------------------------------- */

static int compare_texts(struct tr_text one, struct tr_text other)
{
    size_t size = one.size < other.size ? one.size : other.size;
    int order = size > 0 ? strncasecmp(one.data, other.data, size) : 0;
    return order != 0 ? order : (one.size > other.size) - (one.size < other.size);
}

static int compare_headers(const void *a, const void *b)
{
    return compare_texts(((const struct field *)a)->name, ((const struct field *)b)->name);
}

/* Compares by name, then by value, which are adjacent in struct field. */
static int compare_parameters(const void *a, const void *b)
{
    const struct tr_text *one = &((const struct field *)a)->name;
    const struct tr_text *other = &((const struct field *)b)->name;
    for (size_t part = 0; part < 2; part++) {
        int order = tr_text_order(one[part], other[part]);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

/* Splits a text at the first such character; without one the second part is empty. */
static struct field part_at(struct tr_text text, char at)
{
    const char *found = text.size > 0 ? memchr(text.data, at, text.size) : NULL;
    size_t size = found != NULL ? (size_t)(found - text.data) : text.size;
    size_t taken = found != NULL ? size + 1 : size;
    return (struct field){.name = {.data = text.data, .size = size},
                          .value = {.data = text.data + taken, .size = text.size - taken}};
}

/* Puts name=value&name=value, encoded and sorted; a name without a value gets an empty one. */
static void put_query(struct signing *signing)
{
    struct field parameters[PARAMETERS_MAX];
    struct tr_text rest = signing->target->query;
    struct tri_buffer *all = &signing->canonical;
    size_t count = 0;
    while (rest.size > 0 && count < PARAMETERS_MAX) {
        struct field parts = part_at(rest, '&');
        parameters[count++] = part_at(parts.name, '=');
        rest = parts.value;
    }
    if (rest.size > 0) {
        signing->error = TR_LIMIT;
    }
    qsort(parameters, count, sizeof parameters[0], compare_parameters);
    for (size_t i = 0; i < count; i++) {
        put_text(signing, all, i > 0 ? "&" : "");
        put_encoded(signing, all, parameters[i].name, "", true);
        put_text(signing, all, "=");
        put_encoded(signing, all, parameters[i].value, "", true);
    }
}

static struct tr_text trim(struct tr_text text)
{
    while (text.size > 0 && (*text.data == ' ' || *text.data == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && strchr(" \t", text.data[text.size - 1]) != NULL) {
        text.size--;
    }
    return text;
}

static void add_field(struct signing *signing, const char *name, struct tr_text value)
{
    signing->fields[signing->field_count++] =
        (struct field){.name = tr_text_of(name), .value = value};
}

/* The signed headers, sorted by name. A proxy may change others. */
static void list_fields(struct signing *signing)
{
    const struct tri_http_request *request = signing->request;
    add_field(signing, "host", signing->target->host);
    add_field(signing, "x-amz-content-sha256", tr_text_of(signing->digest));
    add_field(signing, "x-amz-date", tr_text_of(signing->moment));
    if (signing->token.size > 0) {
        add_field(signing, "x-amz-security-token", signing->token);
    }
    for (size_t i = 0; i < request->header_count; i++) {
        struct field field = part_at(request->headers[i], ':');
        field.value = trim(field.value);
        bool is_type = compare_texts(field.name, tr_text_of("content-type")) == 0;
        bool is_own = field.name.size > 6 && strncasecmp(field.name.data, "x-amz-", 6) == 0;
        if (is_type || is_own) {
            signing->fields[signing->field_count++] = field;
        }
    }
    qsort(signing->fields, signing->field_count, sizeof signing->fields[0], compare_headers);
}

static void put_lower(struct signing *signing, struct tri_buffer *buffer, struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        c = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        put(signing, buffer, &c, 1);
    }
}

static void put_canonical(struct signing *signing)
{
    struct tri_buffer *all = &signing->canonical;
    const struct tri_http_request *request = signing->request;
    bool is_store = tr_text_equal(request->aws_service, tr_text_of("s3"));
    put(signing, all, request->method.data, request->method.size);
    put_text(signing, all, "\n");
    /* An object's name is encoded once, any other path twice. */
    put_encoded(signing, all, signing->target->path, "/", is_store);
    put_text(signing, all, "\n");
    put_query(signing);
    put_text(signing, all, "\n");
    for (size_t i = 0; i < signing->field_count; i++) {
        put_lower(signing, all, signing->fields[i].name);
        put_text(signing, all, ":");
        put(signing, all, signing->fields[i].value.data, signing->fields[i].value.size);
        put_text(signing, all, "\n");
        put_text(signing, &signing->names, i > 0 ? ";" : "");
        put_lower(signing, &signing->names, signing->fields[i].name);
    }
    put_text(signing, all, "\n");
    put(signing, all, tri_buffer_front(&signing->names), tri_buffer_size(&signing->names));
    put_text(signing, all, "\n");
    put_text(signing, all, signing->digest);
}

/* ---- The signature. ------------------------------------------------------------------------- */

static void sign(const uint8_t *key, size_t key_size, const void *data, size_t size,
                 uint8_t hash[HASH_BYTES])
{
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key, key_size);
    crypto_auth_hmacsha256_update(&state, data, size);
    crypto_auth_hmacsha256_final(&state, hash);
    sodium_memzero(&state, sizeof state);
}

/*
 * The key of this day, region and service: a chain of HMACs that begins with "AWS4" and the secret.
 * A leaked key is valid for one day and one service only. The buffer is reserved at its full size,
 * so that it does not grow with the secret in it.
 */
static int derive_key(const struct signing *signing, uint8_t key[HASH_BYTES])
{
    struct tri_buffer first = {0};
    const struct tr_text steps[] = {tr_text_of(signing->day), signing->request->aws_region,
                                    signing->request->aws_service, tr_text_of("aws4_request")};
    int error = tri_buffer_reserve(&first, signing->secret.size + 4);
    if (error == 0) {
        error = tri_buffer_append(&first, "AWS4", 4);
    }
    if (error == 0) {
        error = tri_buffer_append(&first, signing->secret.data, signing->secret.size);
    }
    for (size_t i = 0; i < TR_COUNT_OF(steps) && error == 0; i++) {
        sign(i == 0 ? tri_buffer_front(&first) : key,
             i == 0 ? tri_buffer_size(&first) : (size_t)HASH_BYTES, steps[i].data, steps[i].size,
             key);
    }
    tri_secret_wipe(&first);
    tri_buffer_fini(&first);
    return error;
}

/* DAY/REGION/SERVICE/aws4_request */
static void put_scope(struct signing *signing, struct tri_buffer *buffer)
{
    const struct tri_http_request *request = signing->request;
    put_text(signing, buffer, signing->day);
    put_text(signing, buffer, "/");
    put(signing, buffer, request->aws_region.data, request->aws_region.size);
    put_text(signing, buffer, "/");
    put(signing, buffer, request->aws_service.data, request->aws_service.size);
    put_text(signing, buffer, "/aws4_request");
}

static void make_signature(struct signing *signing, char signature[TRI_HTTP_DIGEST_BYTES])
{
    struct tri_buffer words = {0};
    uint8_t key[HASH_BYTES];
    uint8_t hash[HASH_BYTES];
    char digest[TRI_HTTP_DIGEST_BYTES];
    tri_http_digest((struct tr_bytes){tri_buffer_front(&signing->canonical),
                                      tri_buffer_size(&signing->canonical)},
                    digest);
    put_text(signing, &words, "AWS4-HMAC-SHA256\n");
    put_text(signing, &words, signing->moment);
    put_text(signing, &words, "\n");
    put_scope(signing, &words);
    put_text(signing, &words, "\n");
    put_text(signing, &words, digest);
    if (signing->error == 0) {
        signing->error = derive_key(signing, key);
    }
    if (signing->error == 0) {
        sign(key, sizeof key, tri_buffer_front(&words), tri_buffer_size(&words), hash);
        to_hex(hash, signature);
    }
    sodium_memzero(key, sizeof key);
    tri_buffer_fini(&words);
}

static void put_lines(struct signing *signing, struct tri_buffer *lines)
{
    char signature[TRI_HTTP_DIGEST_BYTES] = "";
    make_signature(signing, signature);
    put_text(signing, lines, "x-amz-content-sha256: ");
    put(signing, lines, signing->digest, strlen(signing->digest) + 1);
    put_text(signing, lines, "x-amz-date: ");
    put(signing, lines, signing->moment, strlen(signing->moment) + 1);
    if (signing->token.size > 0) {
        put_text(signing, lines, "x-amz-security-token: ");
        put(signing, lines, signing->token.data, signing->token.size);
        put(signing, lines, "", 1);
    }
    put_text(signing, lines, "Authorization: AWS4-HMAC-SHA256 Credential=");
    put(signing, lines, signing->access.data, signing->access.size);
    put_text(signing, lines, "/");
    put_scope(signing, lines);
    put_text(signing, lines, ", SignedHeaders=");
    put(signing, lines, tri_buffer_front(&signing->names), tri_buffer_size(&signing->names));
    put_text(signing, lines, ", Signature=");
    put(signing, lines, signature, strlen(signature) + 1);
}

/* The lines may hold a token; the caller overwrites them, also after an error. */
int tri_http_sign(const struct tri_http_request *request, const struct tri_http_target *target,
                  const char *digest, struct tr_text key, uint64_t now_ms, struct tri_buffer *lines)
{
    struct signing signing = {.request = request, .target = target, .digest = digest};
    struct field access = part_at(key, ':');
    struct field secret = part_at(access.value, ':');
    time_t now = (time_t)(now_ms / 1000);
    struct tm parts;
    if (access.name.size == 0 || secret.name.size == 0) {
        return TR_INVALID;
    }
    gmtime_r(&now, &parts);
    strftime(signing.day, sizeof signing.day, "%Y%m%d", &parts);
    strftime(signing.moment, sizeof signing.moment, "%Y%m%dT%H%M%SZ", &parts);
    signing.access = access.name;
    signing.secret = secret.name;
    signing.token = secret.value;
    list_fields(&signing);
    put_canonical(&signing);
    put_lines(&signing, lines);
    tri_buffer_fini(&signing.names);
    tri_buffer_fini(&signing.canonical);
    return signing.error;
}
