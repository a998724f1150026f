/*
 * Packed graphs: they come back as they were, under the same name, and bytes that were changed
 * anywhere give an error or another graph, never a fault.
 */
#include <glob.h>
#include <stdlib.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/compiled/pack.h"
#include "tests/unit/actors/graph/help.h"

/* Each of the examples, packed. */
static void with_examples(void (*check)(const struct tr_graph *graph, struct tr_bytes bytes))
{
    glob_t found;
    assert_int_equal(glob(TROUPE_SOURCE_DIR "/examples/workflows/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct tr_report report;
        struct tr_graph *graph = NULL;
        struct tr_buffer buffer;
        tr_report_init(&report);
        tr_buffer_init(&buffer, 0);
        assert_int_equal(tr_graph_check_file(found.gl_pathv[i], &report, &graph), 0);
        assert_int_equal(tr_graph_pack(graph, &buffer), 0);
        check(graph, tr_buffer_bytes(&buffer));
        tr_buffer_fini(&buffer);
        tr_graph_free(graph);
        tr_report_fini(&report);
    }
    globfree(&found);
}

static void check_round_trip(const struct tr_graph *graph, struct tr_bytes bytes)
{
    struct tr_graph *copy = NULL;
    struct tr_buffer again;
    tr_buffer_init(&again, 0);
    assert_int_equal(tr_graph_unpack(bytes, &copy), 0);
    assert_memory_equal(copy->hash, graph->hash, TR_GRAPH_HASH_BYTES);
    assert_int_equal(copy->workflow_count, graph->workflow_count);
    assert_int_equal(tr_graph_pack(copy, &again), 0);
    assert_true(tr_literal_equal(tr_buffer_bytes(&again), bytes));
    tr_buffer_fini(&again);
    tr_graph_free(copy);
}

static void test_round_trip(void **state)
{
    (void)state;
    with_examples(check_round_trip);
}

/* Changes each byte in a few ways, and cuts the bytes at each place. */
static void check_changed_bytes(const struct tr_graph *graph, struct tr_bytes bytes)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    (void)graph;
    uint8_t *copy = malloc(bytes.size);
    assert_non_null(copy);
    memcpy(copy, bytes.data, bytes.size);
    for (size_t i = 0; i < bytes.size; i++) {
        struct tr_graph *changed = NULL;
        struct tr_bytes cut = {.data = copy, .size = i};
        assert_int_not_equal(tr_graph_unpack(cut, &changed), 0);
        for (size_t k = 0; k < TR_COUNT_OF(changes); k++) {
            struct tr_bytes whole = {.data = copy, .size = bytes.size};
            copy[i] = bytes.data[i] ^ changes[k];
            if (tr_graph_unpack(whole, &changed) == 0) {
                tr_graph_free(changed);
            }
        }
        copy[i] = bytes.data[i];
    }
    free(copy);
}

static void test_changed_bytes(void **state)
{
    (void)state;
    with_examples(check_changed_bytes);
}

static void test_versions(void **state)
{
    (void)state;
    struct tr_graph *graph = NULL;
    const uint8_t newer[16] = {0x99, TR_GRAPH_VERSION + 1};
    struct tr_bytes bytes = {.data = newer, .size = sizeof newer};
    assert_int_equal(tr_graph_unpack(bytes, &graph), TR_VERSION);
}

/* The first vector of FIPS 180-2, so that names of graphs are what they say. */
static void test_digest(void **state)
{
    (void)state;
    static const uint8_t expected[] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
                                       0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
                                       0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
                                       0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    struct tr_bytes bytes = {.data = (const uint8_t *)"abc", .size = 3};
    tr_digest(bytes, hash);
    assert_memory_equal(hash, expected, sizeof expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_changed_bytes),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
