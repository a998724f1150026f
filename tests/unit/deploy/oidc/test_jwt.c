/*
 * Tokens taken apart, and what they say: right ones, and whatever else comes.
 */
#include "deploy/oidc/jwt.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

#define TOKEN_BYTES 4096
#define NOW_S 1000000

static struct tr_arena arena;

static int begin(void **state)
{
    (void)state;
    tr_arena_init(&arena);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tr_arena_fini(&arena);
    return 0;
}

/* A token of two texts, with some bytes as its signature. */
static struct tr_text make(const char *header, const char *claims, char token[TOKEN_BYTES])
{
    char parts[2][TOKEN_BYTES / 4];
    const char *const texts[] = {header, claims};
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(sodium_bin2base64(parts[i], sizeof parts[i], (const uint8_t *)texts[i],
                                          strlen(texts[i]),
                                          sodium_base64_VARIANT_URLSAFE_NO_PADDING));
    }
    (void)snprintf(token, TOKEN_BYTES, "%s.%s.c2lnbmVk", parts[0], parts[1]);
    return tr_text_of(token);
}

static void test_parts_are_what_they_are(void **state)
{
    char token[TOKEN_BYTES];
    struct tr_jwt jwt;
    (void)state;
    struct tr_text text = make("{\"alg\":\"RS256\",\"kid\":\"k\"}", "{\"sub\":\"ada\"}", token);
    assert_true(tr_jwt_is_one(text));
    assert_null(tr_jwt_read(text, &arena, &jwt));
    assert_true(tr_text_equal(jwt.algorithm, tr_text_of("RS256")));
    assert_true(tr_text_equal(jwt.key_id, tr_text_of("k")));
    assert_int_equal(jwt.said.size, strlen(token) - strlen(".c2lnbmVk"));
    assert_int_equal(jwt.signature.size, 6);
    assert_memory_equal(jwt.signature.data, "signed", 6);
    assert_true(tr_text_equal(tr_jwt_claim(&jwt, "sub")->text, tr_text_of("ada")));
    assert_null(tr_jwt_claim(&jwt, "none"));
}

static void test_what_is_no_token(void **state)
{
    static const char *const tokens[] = {
        "",
        ".",
        "..",
        "a.b",
        "a.b.c",
        "e30.e30.",
        "e30.e30.!!",
        "e30=.e30.AA",
        "e30.W10.AA",
        "W10.e30.AA",
        "e30.e30.AA.AA",
        "eyJhIjoxLCJhIjoyfQ.e30.AA", /* a key twice */
    };
    char long_one[TR_JWT_BYTES_MAX + 2];
    struct tr_jwt jwt;
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(tokens); i++) {
        assert_non_null(tr_jwt_read(tr_text_of(tokens[i]), &arena, &jwt));
    }
    memset(long_one, 'a', sizeof long_one);
    memcpy(long_one, "e30.e30.", 8);
    struct tr_text text = {.data = long_one, .size = sizeof long_one};
    assert_string_equal(tr_jwt_read(text, &arena, &jwt), "it has not three parts, or is too long");
}

static void test_what_has_to_be_understood_is_refused(void **state)
{
    char token[TOKEN_BYTES];
    struct tr_jwt jwt;
    (void)state;
    struct tr_text text = make("{\"alg\":\"RS256\",\"crit\":[\"b64\"],\"b64\":false}", "{}", token);
    assert_string_equal(tr_jwt_read(text, &arena, &jwt),
                        "its header has extensions that nobody here understands");
}

/* What a token says, and NULL or the words. */
static const struct {
    const char *claims;
    const char *words;
} said[] = {
    {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":1000001}", NULL},
    {"{\"iss\":\"i\",\"aud\":[\"x\",\"a\"],\"exp\":1000000.5}", NULL},
    {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":999941}", NULL}, /* as far as clocks may be apart */
    {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":999940}", "it has expired"},
    {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":-1}", "it has expired"},
    {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":2000000,\"nbf\":1000060,\"iat\":1000060}", NULL},
    {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":2000000,\"nbf\":1000061}", "it is good later only"},
    {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":2000000,\"iat\":1000061}", "it is good later only"},
    {"{\"iss\":\"i\",\"aud\":\"a\"}", "it does not say until when it is good"},
    {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":\"2000000\"}", "it does not say until when it is good"},
    {"{\"iss\":\"i\",\"aud\":\"a\",\"exp\":2000000,\"nbf\":null}",
     "it does not say until when it is good"},
    {"{\"iss\":\"I\",\"aud\":\"a\",\"exp\":2000000}", "it is of another issuer"},
    {"{\"iss\":[\"i\"],\"aud\":\"a\",\"exp\":2000000}", "it is of another issuer"},
    {"{\"aud\":\"a\",\"exp\":2000000}", "it is of another issuer"},
    {"{\"iss\":\"i\",\"aud\":\"b\",\"exp\":2000000}", "it is for another audience"},
    {"{\"iss\":\"i\",\"aud\":[],\"exp\":2000000}", "it is for another audience"},
    {"{\"iss\":\"i\",\"exp\":2000000}", "it is for another audience"},
};

static void test_for_whom_and_until_when(void **state)
{
    static const struct tr_jwt_wanted wanted = {.issuer = "i", .audience = "a", .now_s = NOW_S};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(said); i++) {
        char token[TOKEN_BYTES];
        struct tr_jwt jwt;
        assert_null(tr_jwt_read(make("{}", said[i].claims, token), &arena, &jwt));
        const char *words = tr_jwt_check(&jwt, &wanted);
        if (said[i].words == NULL) {
            assert_null(words);
        } else {
            assert_string_equal(words, said[i].words);
        }
    }
}

static void test_claims_have_names_and_ways(void **state)
{
    char token[TOKEN_BYTES];
    struct tr_jwt jwt;
    (void)state;
    struct tr_text text = make("{}",
                               "{\"a\":{\"b\":{\"c\":[\"x\",\"y\"]}},\"a.b\":\"own\",\"n\":7,"
                               "\"https://e.org/roles\":[\"z\"]}",
                               token);
    assert_null(tr_jwt_read(text, &arena, &jwt));
    assert_true(tr_jwt_claim_has(tr_jwt_claim(&jwt, "a.b.c"), "y"));
    assert_true(tr_jwt_claim_has(tr_jwt_claim(&jwt, "a.b"), "own"));
    assert_true(tr_jwt_claim_has(tr_jwt_claim(&jwt, "https://e.org/roles"), "z"));
    assert_false(tr_jwt_claim_has(tr_jwt_claim(&jwt, "a"), "b"));
    assert_false(tr_jwt_claim_has(tr_jwt_claim(&jwt, "n"), "7"));
    assert_null(tr_jwt_claim(&jwt, "a.x"));
    assert_null(tr_jwt_claim(&jwt, "a.b.c.d"));
    assert_null(tr_jwt_claim(&jwt, "n.x"));
    assert_false(tr_jwt_claim_has(NULL, "x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parts_are_what_they_are, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_no_token, begin, end),
        cmocka_unit_test_setup_teardown(test_what_has_to_be_understood_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_for_whom_and_until_when, begin, end),
        cmocka_unit_test_setup_teardown(test_claims_have_names_and_ways, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
