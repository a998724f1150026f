/*
 * Keys and what they have signed. The keys and the tokens were made by Python's cryptography
 * (tests/doubles/oidc/keys.py); all tokens say the same.
 */
#include "deploy/oidc/key_set.h"

#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

static const char keys[] =
    "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"rsa-1\",\"use\":\"sig\",\"alg\":\"RS256\",\"n\":\""
    "viydtgTanVckvJ8hzKZR79OUM0fyghVrl9XMuS28yqpOhbvG2mgyLy-oFd2NB305JmUrumZ_HKjWHBRFxn-4b6Hq"
    "MMiOLQKTZfSg188IH33HDewhMxRwikxTVg1hlk-SDMc15tD-oBeYSYSWXtPWDbbE31WaQQBPTOR08ARZJDHVzXyF"
    "4PVcPw-srWRQV7rm5QtnzGCfX1qJyu6qaETlZwrgqh4lyd5wGMR7eNvklohL42Va4clF3EDUbjAym5287oCPRtss"
    "o94xsDd0VrLuUAYSoAqCScWihEcaAWP-bs5s73AJDO_waMDohmGKYUv-nbv2aOvqZEzSiUkyKTfGVQ\",\"e\":"
    "\"AQAB\"},{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"ec-1\",\"use\":\"sig\",\"alg\":\"E"
    "S256\",\"x\":\"MQAFbbM75M5KJn-epOAQ2kklvyxTwriz_eEYHZr74fE\",\"y\":\"TBNIGn_TzG-wF_lhRlt"
    "avvaG4wEwoqrsjmgN1jJ9nbQ\"}]}";

static const char rs256[] =
    "eyJhbGciOiAiUlMyNTYiLCAia2lkIjogInJzYS0xIiwgInR5cCI6ICJKV1QifQ.eyJpc3MiOiAiaHR0cHM6Ly9pZ"
    "C5leGFtcGxlLm9yZyIsICJhdWQiOiAiZmx5dGUiLCAic3ViIjogImFkYSIsICJleHAiOiAyMDAwMDAwMDAwfQ.n1"
    "jaRcjoJxytbjQpkUACayRFGURDnlDiHyu0d_zYOXI7FwmDWOAR_oLomgyLCFDNf-DLP5Q4GySi6Iy6YilCQIgHc3"
    "P7NYrj2KcrGClCRxtVVLwMgvTV8c5p5IHuWFgR5Ik6EREA_h0vQ3vNCb5GqXb0YmugXQW3rOwDSsWX8qoPWnxbrh"
    "gEuB7m5g_wESKe2bbTu4JjI1MwLpuRh_gG3wOselvrMEJ6yEaJEBwtM36lYsgO6cC_DGdptDCDAE7IhFc8thXLTH"
    "O4dUJtR_ejjEeFi8Q7XAZdANYuzUcxCd8jxu-tRBXwKRo5nO2huA5IVGTsDTvfZm5K1qEQilyMNQ";

static const char es256[] =
    "eyJhbGciOiAiRVMyNTYiLCAia2lkIjogImVjLTEiLCAidHlwIjogIkpXVCJ9.eyJpc3MiOiAiaHR0cHM6Ly9pZC5"
    "leGFtcGxlLm9yZyIsICJhdWQiOiAiZmx5dGUiLCAic3ViIjogImFkYSIsICJleHAiOiAyMDAwMDAwMDAwfQ.Auq-"
    "OEoYoPtDiOMmHiePfJYkrp_ao4NBaLSkColxGCVsYVqJ1V-gRIjolX2RoPLbYILDxIyAOwEAIxukpbvGlw";

static const char hs256[] =
    "eyJhbGciOiAiSFMyNTYiLCAia2lkIjogInJzYS0xIiwgInR5cCI6ICJKV1QifQ.eyJpc3MiOiAiaHR0cHM6Ly9pZ"
    "C5leGFtcGxlLm9yZyIsICJhdWQiOiAiZmx5dGUiLCAic3ViIjogImFkYSIsICJleHAiOiAyMDAwMDAwMDAwfQ.N-"
    "hyyENRRT1tmNIz3E5LYUAYIz0YuKpcim3UsFKFJUo";

static const char ps256[] =
    "eyJhbGciOiAiUFMyNTYiLCAia2lkIjogInJzYS0xIiwgInR5cCI6ICJKV1QifQ.eyJpc3MiOiAiaHR0cHM6Ly9pZ"
    "C5leGFtcGxlLm9yZyIsICJhdWQiOiAiZmx5dGUiLCAic3ViIjogImFkYSIsICJleHAiOiAyMDAwMDAwMDAwfQ.Oy"
    "m_DTwTzH_YI7RTSxq7-mTK41LDxwqxPs4-LZG9XvfNb0cLhzC4cdIrH9vEfzlichf3A4kVSuOxKUi1An32HRhVwB"
    "04LFQor3_1oulusJcPbNsMX0aO2jGIyHqDScboZcpVLFojg1i0jzJqpXPh-PzR-HeePWCtA5QeBnuy0mVLv4gCUv"
    "UKCEI51h3HxT8VxOdGLqzaGw2HptqS9JqyJ3e4Y0BvjBqaIoxmpWizPjyKSedWGdm-D6LOU0Cgk6ligll_c4mGZR"
    "4rqrTwZtIwgo3c_UxJtS6nPi0M61KmVJdq1KVMKdb2SkPmdlyyJXFZtYjD_NMrTfhDoi-Gafu52Q";

static const char without_kid[] =
    "eyJhbGciOiAiUlMyNTYiLCAidHlwIjogIkpXVCJ9.eyJpc3MiOiAiaHR0cHM6Ly9pZC5leGFtcGxlLm9yZyIsICJ"
    "hdWQiOiAiZmx5dGUiLCAic3ViIjogImFkYSIsICJleHAiOiAyMDAwMDAwMDAwfQ.NNhY_cQqhNcMbbiSE3wkG60_"
    "6_p8_Ad013PwKmGM__xxUf8KBFQud26V4puS2gwdDBSMCiolZz145kEn2Slq3uVNlcd_FdSz3vLOrnZnf4fAcbkK"
    "leD65hxF_3MR6IltU8oO1QgDZ09YsLCzl10I1UWGw-n1w02BBaS9zq7ZCneuxwjX5dr--gEGR3BKI2pZ4CgaPtrz"
    "Lp7KlRRBldvHVVtQy7rMcnGFEO4oypr1swSArqX7TwaWCrZtDucy7RwhGSoXj2INw-ZUaSoZiXOIYPlpzj8TBXtJ"
    "6-IvIw1jQdxB2YBNKhlRmQiUESP1rLuP5-j7bRm7QmL4MB5BicBX_g";

#define TOKEN_BYTES 4096

static struct tr_arena arena;

static int begin(void **state)
{
    struct tr_key_set *set;
    char words[TR_OIDC_WORDS_BYTES];
    tr_arena_init(&arena);
    assert_int_equal(tr_key_set_read(tr_text_of(keys), words, &set), 0);
    *state = set;
    return 0;
}

static int end(void **state)
{
    tr_key_set_free(*state);
    tr_arena_fini(&arena);
    return 0;
}

static enum tr_key_verdict judge(const struct tr_key_set *set, const char *token)
{
    struct tr_jwt jwt;
    assert_null(tr_jwt_read(tr_text_of(token), &arena, &jwt));
    return tr_key_set_verify(set, &jwt);
}

static void test_right_signatures(void **state)
{
    assert_int_equal(judge(*state, rs256), TR_KEY_SIGNED);
    assert_int_equal(judge(*state, es256), TR_KEY_SIGNED);
    assert_int_equal(judge(*state, without_kid), TR_KEY_SIGNED);
}

/* Each letter of a token counts, but for bits of its last ones that base64 has too many. */
static void test_a_changed_letter_is_a_forgery(void **state)
{
    static const char *const tokens[] = {rs256, es256};
    for (size_t i = 0; i < TR_COUNT_OF(tokens); i++) {
        size_t size = strlen(tokens[i]);
        for (size_t at = (size_t)(strrchr(tokens[i], '.') - tokens[i]) + 1; at + 4 < size;
             at += 7) {
            char token[TOKEN_BYTES];
            (void)snprintf(token, sizeof token, "%s", tokens[i]);
            token[at] = token[at] == 'A' ? 'B' : 'A';
            assert_int_equal(judge(*state, token), TR_KEY_FORGED);
        }
    }
}

/* The public key is known to everybody, and no secret; nor is nothing a signature. */
static void test_other_algorithms_are_none(void **state)
{
    static const char none[] = "eyJhbGciOiJub25lIiwia2lkIjoicnNhLTEifQ.e30.AA";
    struct tr_jwt jwt;
    assert_int_equal(judge(*state, hs256), TR_KEY_ALGORITHM);
    assert_int_equal(judge(*state, ps256), TR_KEY_ALGORITHM);
    assert_int_equal(judge(*state, none), TR_KEY_ALGORITHM);
    assert_null(tr_jwt_read(tr_text_of(rs256), &arena, &jwt));
    jwt.algorithm = tr_text_of("ES256"); /* the other kind's, for a key of RSA */
    assert_int_equal(tr_key_set_verify(*state, &jwt), TR_KEY_ALGORITHM);
    jwt.algorithm = tr_text_of("RS256");
    jwt.key_id = tr_text_of("ec-1");
    assert_int_equal(tr_key_set_verify(*state, &jwt), TR_KEY_ALGORITHM);
    jwt.key_id = tr_text_of("rsa-2");
    assert_int_equal(tr_key_set_verify(*state, &jwt), TR_KEY_UNKNOWN);
}

static void test_signatures_of_any_size_are_forgeries(void **state)
{
    static const uint8_t zeros[1024] = {0};
    static const size_t sizes[] = {1, 32, 63, 64, 65, 128, 255, 256, 257, 1024};
    static const char *const tokens[] = {rs256, es256};
    for (size_t i = 0; i < TR_COUNT_OF(sizes) * TR_COUNT_OF(tokens); i++) {
        struct tr_jwt jwt;
        assert_null(tr_jwt_read(tr_text_of(tokens[i % 2]), &arena, &jwt));
        jwt.signature = (struct tr_bytes){.data = zeros, .size = sizes[i / 2]};
        assert_int_equal(tr_key_set_verify(*state, &jwt), TR_KEY_FORGED);
    }
}

/* What is no set of keys, or has none for us. */
static const struct {
    const char *json;
    const char *words;
} wrong[] = {
    {"", "what came are no keys: JSON with a list 'keys'"},
    {"[]", "what came are no keys: JSON with a list 'keys'"},
    {"{\"keys\": {}}", "what came are no keys: JSON with a list 'keys'"},
    {"{\"keys\": []}", "of the 0 keys none can be used: RSA of 2048 bits at least for RS256, or "
                       "P-256 for ES256"},
    {"{\"keys\": [7, {\"kty\": \"oct\", \"k\": \"AAAA\"}, {\"kty\": \"RSA\"}, {\"kty\": \"RSA\", "
     "\"n\": \"AQ\", \"e\": \"AQAB\"}, {\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"AA\", "
     "\"y\": \"AA\"}]}",
     "of the 5 keys none can be used: RSA of 2048 bits at least for RS256, or P-256 for ES256"},
    /* Sixty-four bytes that are no point of the curve. */
    {"{\"keys\": [{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": "
     "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\", \"y\": "
     "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}]}",
     "of the 1 keys none can be used: RSA of 2048 bits at least for RS256, or P-256 for ES256"},
};

static void test_sets_without_a_key_for_us(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(wrong); i++) {
        struct tr_key_set *set = NULL;
        char words[TR_OIDC_WORDS_BYTES];
        assert_int_equal(tr_key_set_read(tr_text_of(wrong[i].json), words, &set), TR_INVALID);
        assert_string_equal(words, wrong[i].words);
        assert_null(set);
    }
}

/* A key for something else is none of ours, whatever its numbers. */
static void test_keys_for_something_else_are_left_out(void **state)
{
    static const char *const changes[][2] = {{"\"use\":\"sig\"", "\"use\":\"enc\""},
                                             {"\"alg\":\"RS256\"", "\"alg\":\"RS384\""}};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(changes); i++) {
        char json[TOKEN_BYTES];
        char words[TR_OIDC_WORDS_BYTES];
        struct tr_key_set *set;
        const char *at = strstr(keys, changes[i][0]); /* of the first one, of RSA */
        assert_non_null(at);
        (void)snprintf(json, sizeof json, "%.*s%s%s", (int)(at - keys), keys, changes[i][1],
                       at + strlen(changes[i][0]));
        assert_int_equal(tr_key_set_read(tr_text_of(json), words, &set), 0);
        assert_int_equal(judge(set, rs256), TR_KEY_UNKNOWN);
        assert_int_equal(judge(set, es256), TR_KEY_SIGNED);
        tr_key_set_free(set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_right_signatures, begin, end),
        cmocka_unit_test_setup_teardown(test_a_changed_letter_is_a_forgery, begin, end),
        cmocka_unit_test_setup_teardown(test_other_algorithms_are_none, begin, end),
        cmocka_unit_test_setup_teardown(test_signatures_of_any_size_are_forgeries, begin, end),
        cmocka_unit_test_setup_teardown(test_sets_without_a_key_for_us, begin, end),
        cmocka_unit_test_setup_teardown(test_keys_for_something_else_are_left_out, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
