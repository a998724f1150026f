/*
 * Any bytes as a token of a provider, and as its keys: a token that nobody has signed is none, and
 * what is read does not lead out of it.
 */
#include "deploy/oidc/key_set.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tr_jwt_wanted wanted = {.issuer = "i", .audience = "a", .now_s = 5};
    struct tr_text text = {.data = (const char *)data, .size = size};
    struct tr_key_set *set = NULL;
    struct tr_arena arena;
    struct tr_jwt jwt;
    char words[TR_OIDC_WORDS_BYTES];
    tr_arena_init(&arena);
    int error = tr_key_set_read(text, words, &set);
    bool is_one = tr_jwt_read(text, &arena, &jwt) == NULL;
    TR_ASSERT(error == 0 || words[0] != '\0');
    if (is_one) {
        const char *wrong = tr_jwt_check(&jwt, &wanted);
        TR_ASSERT(wrong == NULL || wrong[0] != '\0');
        (void)tr_jwt_claim_has(tr_jwt_claim(&jwt, "a.b"), "c");
        TR_ASSERT(jwt.signature.size > 0 && jwt.said.size < size);
    }
    if (is_one && set != NULL) {
        (void)tr_key_set_verify(set, &jwt);
    }
    tr_key_set_free(set);
    tr_arena_fini(&arena);
    return 0;
}
