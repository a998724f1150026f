/*
 * Hashes of maps of literals, as Flyte's programs make them: published vectors, and a golden file
 * that was made of protobuf's own JSON (support/flyte_hashes.py).
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/flyte/flyte.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

#define GOLDEN TROUPE_SOURCE_DIR "/tests/golden/flyte/hashes.txt"

static size_t read_digits(const char *digits, uint8_t *bytes, size_t room)
{
    size_t size = 0;
    for (; digits[0] != '\0' && digits[0] != '-' && digits[0] != '\n'; digits += 2) {
        char pair[3] = {digits[0], digits[1], '\0'};
        assert_true(size < room);
        bytes[size++] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return size;
}

static void expect_hash(const char *name, struct tr_bytes document, enum tr_flyte_hash_form form,
                        const char *digits)
{
    uint8_t expected[TR_FLYTE_HASH_BYTES];
    uint8_t hash[TR_FLYTE_HASH_BYTES];
    assert_int_equal(read_digits(digits, expected, sizeof expected), sizeof expected);
    assert_int_equal(tr_flyte_hash(document, form, hash), 0);
    if (memcmp(hash, expected, sizeof hash) != 0) {
        fail_msg("%s has another hash", name);
    }
}

static void test_hashes_are_those_of_flytes_programs(void **state)
{
    (void)state;
    char line[8192];
    size_t count = 0;
    FILE *file = fopen(GOLDEN, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        uint8_t bytes[2048];
        char *rest = line;
        const char *name = strsep(&rest, "\t");
        struct tr_bytes document = {.data = bytes};
        document.size = read_digits(strsep(&rest, "\t"), bytes, sizeof bytes);
        expect_hash(name, document, TR_FLYTE_HASH_OF_PROPELLER, strsep(&rest, "\t"));
        expect_hash(name, document, TR_FLYTE_HASH_OF_FLYTEKIT, strsep(&rest, "\t"));
        count++;
    }
    fclose(file);
    assert_true(count > 60);
}

static void expect_text(struct tr_bytes document, const char *expected)
{
    uint8_t hash[TR_FLYTE_HASH_BYTES];
    char text[64];
    assert_int_equal(tr_flyte_hash(document, TR_FLYTE_HASH_OF_PROPELLER, hash), 0);
    assert_non_null(sodium_bin2base64(text, sizeof text, hash, sizeof hash,
                                      sodium_base64_VARIANT_URLSAFE_NO_PADDING));
    assert_string_equal(text, expected);
}

/* The words behind flyte_cached- of datacatalog's tags. */
static void test_published_vectors(void **state)
{
    (void)state;
    static const uint8_t two[] = "\x0a\x0b\x0a\x01\x31\x12\x06\x0a\x04\x0a\x02\x08\x01"
                                 "\x0a\x0b\x0a\x01\x32\x12\x06\x0a\x04\x0a\x02\x08\x02";
    expect_text((struct tr_bytes){.size = 0}, "GKw-c0PwFokMUQ6T-TUmEWnZ4_VlQ2Qpgw-vCTT0-OQ");
    expect_text((struct tr_bytes){.data = two, .size = sizeof two - 1},
                "GQid5LjHbakcW68DS3P2jp80QLbiF0olFHF2hTh5bg8");
}

static void test_what_is_no_map_of_literals(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x0a, 0x7f};
    struct tr_bytes document = {.data = bytes, .size = sizeof bytes};
    uint8_t hash[TR_FLYTE_HASH_BYTES];
    assert_int_equal(tr_flyte_hash(document, TR_FLYTE_HASH_OF_PROPELLER, hash), TR_MALFORMED);
    assert_int_equal(tr_flyte_hash(document, TR_FLYTE_HASH_OF_FLYTEKIT, hash), TR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hashes_are_those_of_flytes_programs),
        cmocka_unit_test(test_published_vectors),
        cmocka_unit_test(test_what_is_no_map_of_literals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
