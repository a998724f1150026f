/*
 * Parts are base64 of the URL's alphabet without padding, which libsodium reads strictly.
 */
#include "deploy/oidc/jwt.h"

#include <math.h>
#include <sodium.h>
#include <string.h>

#include "actors/graph/document/json.h"
#include "actors/graph/document/report.h"

bool tr_jwt_is_one(struct tr_text token)
{
    size_t points = 0;
    for (size_t i = 0; i < token.size; i++) {
        points += token.data[i] == '.' ? 1 : 0;
    }
    return points == 2;
}

/* ------------------------------------------------------------------ taking apart */

/* Cuts what stands before the next point off, and the point. */
static struct tr_text cut(struct tr_text *rest)
{
    const char *point = rest->size == 0 ? NULL : memchr(rest->data, '.', rest->size);
    struct tr_text part = {.data = rest->data,
                           .size = point == NULL ? rest->size : (size_t)(point - rest->data)};
    size_t size = part.size + (point == NULL ? 0 : 1);
    rest->data += size;
    rest->size -= size;
    return part;
}

static bool decode(struct tr_text part, struct tr_arena *arena, struct tr_bytes *bytes)
{
    uint8_t *made = tr_arena_alloc(arena, part.size + 1);
    size_t size = 0;
    const char *end = NULL;
    if (made == NULL || part.size == 0 ||
        sodium_base642bin(made, part.size, part.data, part.size, NULL, &size, &end,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        end != part.data + part.size) {
        return false;
    }
    *bytes = (struct tr_bytes){.data = made, .size = size};
    return true;
}

/* A mapping, or NULL. */
static const struct tr_tree *read_map(struct tr_text part, struct tr_arena *arena)
{
    struct tr_bytes bytes;
    struct tr_report report;
    if (!decode(part, arena, &bytes)) {
        return NULL;
    }
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(
        arena, &report, 0, (struct tr_text){.data = (const char *)bytes.data, .size = bytes.size});
    tr_report_fini(&report);
    return tree != NULL && tree->kind == TR_TREE_MAP ? tree : NULL;
}

/* A text of a mapping; empty: there is none. */
static struct tr_text text_of(const struct tr_tree *map, const char *key)
{
    const struct tr_tree *found = tr_tree_find(map, key);
    return found != NULL && found->kind == TR_TREE_STRING ? found->text
                                                          : (struct tr_text){.size = 0};
}

const char *tr_jwt_read(struct tr_text token, struct tr_arena *arena, struct tr_jwt *jwt)
{
    struct tr_text rest = token;
    if (token.size > TR_JWT_BYTES_MAX || !tr_jwt_is_one(token)) {
        return "it has not three parts, or is too long";
    }
    struct tr_text head = cut(&rest);
    struct tr_text claims = cut(&rest);
    const struct tr_tree *header = read_map(head, arena);
    *jwt = (struct tr_jwt){.said = {.data = token.data, .size = head.size + 1 + claims.size},
                           .claims = header == NULL ? NULL : read_map(claims, arena)};
    if (jwt->claims == NULL) {
        return "its parts are no JSON";
    }
    if (tr_tree_find(header, "crit") != NULL) {
        return "its header has extensions that nobody here understands";
    }
    jwt->algorithm = text_of(header, "alg");
    jwt->key_id = text_of(header, "kid");
    return decode(rest, arena, &jwt->signature) ? NULL : "it has no signature";
}

/* ------------------------------------------------------------------ claims */

const struct tr_tree *tr_jwt_claim(const struct tr_jwt *jwt, const char *name)
{
    const struct tr_tree *found = tr_tree_find(jwt->claims, name);
    const struct tr_tree *at = jwt->claims;
    while (found == NULL && at != NULL && at->kind == TR_TREE_MAP) {
        char key[256];
        size_t size = strcspn(name, ".");
        if (size >= sizeof key) {
            return NULL;
        }
        memcpy(key, name, size);
        key[size] = '\0';
        at = tr_tree_find(at, key);
        if (name[size] == '\0') {
            return at;
        }
        name += size + 1;
    }
    return found;
}

static bool is_text(const struct tr_tree *tree, const char *text)
{
    return tree->kind == TR_TREE_STRING && tr_text_equal(tree->text, tr_text_of(text));
}

bool tr_jwt_claim_has(const struct tr_tree *claim, const char *text)
{
    bool has = claim != NULL && is_text(claim, text);
    for (uint32_t i = 0; claim != NULL && claim->kind == TR_TREE_LIST && i < claim->count; i++) {
        has = has || is_text(claim->items[i], text);
    }
    return has;
}

/* Seconds since 1970, whole or not; false: there is no such claim. */
static bool read_time(const struct tr_jwt *jwt, const char *name, double *time_s, bool *is_wrong)
{
    const struct tr_tree *found = tr_tree_find(jwt->claims, name);
    if (found == NULL) {
        return false;
    }
    struct tr_tree value = tr_tree_resolve(found);
    *time_s = value.kind == TR_TREE_INT ? (double)value.integer : value.number;
    bool is_number = value.kind == TR_TREE_INT || value.kind == TR_TREE_FLOAT;
    *is_wrong = *is_wrong || !is_number || !isfinite(*time_s);
    return is_number;
}

const char *tr_jwt_check(const struct tr_jwt *jwt, const struct tr_jwt_wanted *wanted)
{
    double expires_s = 0;
    double begins_s = 0;
    double made_s = 0;
    bool is_wrong = false;
    double now_s = (double)wanted->now_s;
    const struct tr_tree *issuer = tr_tree_find(jwt->claims, "iss");
    if (issuer == NULL || !is_text(issuer, wanted->issuer)) {
        return "it is of another issuer";
    }
    if (!tr_jwt_claim_has(tr_tree_find(jwt->claims, "aud"), wanted->audience)) {
        return "it is for another audience";
    }
    bool has_end = read_time(jwt, "exp", &expires_s, &is_wrong);
    bool has_begin = read_time(jwt, "nbf", &begins_s, &is_wrong);
    bool has_made = read_time(jwt, "iat", &made_s, &is_wrong);
    if (is_wrong || !has_end) {
        return "it does not say until when it is good";
    }
    if (now_s >= expires_s + TR_JWT_LEEWAY_S) {
        return "it has expired";
    }
    if ((has_begin && now_s + TR_JWT_LEEWAY_S < begins_s) ||
        (has_made && now_s + TR_JWT_LEEWAY_S < made_s)) {
        return "it is good later only";
    }
    return NULL;
}
