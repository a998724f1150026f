/*
 * Graphs of a store: rows that are read by their hashes, and files of an earlier program.
 */
#include "deploy/graphs/graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/compiled/pack.h"
#include "runtime/memory.h"
#include "runtime/store_open.h"
#include "schemas/codec/error.h"
#include "tests/unit/deploy/help.h"
#include "tests/unit/deploy/past.h"

static char *here; /* the folder without links, which is the store's */
static struct tr_graph *graph;
static struct tr_bytes hash;

static int set_up(void **state)
{
    (void)state;
    help_folder_enter();
    here = realpath(".", NULL);
    assert_non_null(here);
    graph = help_graph("troupe: 1\n"
                       "tasks: {t: {run: [x]}}\n"
                       "workflows: {main: {nodes: {one: {task: t}}}}\n");
    hash = (struct tr_bytes){.data = graph->hash, .size = TR_GRAPH_HASH_BYTES};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_graph_free(graph);
    free(here);
    help_folder_leave();
    return 0;
}

static void expect_read(int error)
{
    struct tr_graph *read = NULL;
    assert_int_equal(tr_graphs_get(here, hash, &read), error);
    if (error == 0) {
        assert_memory_equal(read->hash, graph->hash, TR_GRAPH_HASH_BYTES);
        assert_int_equal(read->workflow_count, 1);
        tr_graph_free(read);
    }
}

/* Plants the graph as an earlier program kept it. */
static void plant(void)
{
    char hex[TR_GRAPH_HEX_BYTES];
    char path[128];
    struct tr_buffer packed;
    tr_buffer_init(&packed, 0);
    assert_int_equal(tr_graph_pack(graph, &packed), 0);
    tr_graph_hex(graph->hash, hex);
    (void)mkdir("graphs", 0700);
    (void)snprintf(path, sizeof path, "graphs/%s", hex);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(packed.data, 1, packed.size, file), packed.size);
    assert_int_equal(fclose(file), 0);
    tr_buffer_fini(&packed);
}

/* Names, how many, and how old the youngest is. */
struct listed {
    char names[4 * TR_GRAPH_HEX_BYTES];
    size_t count;
    uint64_t youngest_ms;
};

static int list(void *self, const struct tr_graphs_entry *entry)
{
    struct listed *listed = self;
    assert_true(listed->count < 4);
    memcpy(listed->names + listed->count * (TR_GRAPH_HEX_BYTES - 1), entry->name,
           TR_GRAPH_HEX_BYTES);
    listed->count++;
    listed->youngest_ms = entry->put_ms > listed->youngest_ms ? entry->put_ms : listed->youngest_ms;
    assert_true(entry->bytes > 0);
    return 0;
}

static struct listed list_all(void)
{
    struct listed listed = {.count = 0};
    struct tri_store *store;
    const struct tri_store_options options = {
        .folder = here, .durability = TR_DURABILITY_PROCESS, .read_only = true};
    assert_int_equal(tri_store_open(&options, NULL, &store), 0);
    assert_int_equal(tr_graphs_each(store, here, list, &listed), 0);
    tri_store_close(store);
    return listed;
}

static void test_graphs_are_kept_under_their_hashes(void **state)
{
    (void)state;
    char hex[TR_GRAPH_HEX_BYTES];
    expect_read(TR_NOT_FOUND);
    past_open(here);
    expect_read(TR_NOT_FOUND);
    (void)past_keep_graph(graph);
    (void)past_keep_graph(graph);
    expect_read(0);
    struct tr_reader *reader = past_read();
    struct tr_graph *read = NULL;
    assert_int_equal(tr_graphs_read(reader, hash, &read), 0);
    tr_graph_free(read);
    tr_reader_close(reader);
    past_close();
    expect_read(0);
    tr_graph_hex(graph->hash, hex);
    assert_string_equal(list_all().names, hex);
    hash.size--;
    expect_read(TR_STORE_DAMAGED);
}

/* A row that is not what its hash says. */
static void test_a_damaged_graph_is_refused(void **state)
{
    (void)state;
    uint8_t row[TR_GRAPH_HASH_BYTES + 7];
    struct tri_store *store;
    const struct tri_store_options options = {.folder = here, .durability = TR_DURABILITY_PROCESS};
    struct tri_op op = {.kind = TRI_OP_PUT_GRAPH, .number = 1, .data = {row, sizeof row}};
    memcpy(row, graph->hash, TR_GRAPH_HASH_BYTES);
    memcpy(row + TR_GRAPH_HASH_BYTES, "damaged", 7);
    assert_int_equal(tri_store_open(&options, NULL, &store), 0);
    tri_op_sort_by_hash(&op);
    assert_int_equal(tri_store_commit(store, &(struct tri_commit){&op, 1, 1}), 0);
    tri_store_close(store);
    expect_read(TR_STORE_DAMAGED);
}

static void test_what_is_wrong_is_said_with_the_hash(void **state)
{
    (void)state;
    static const struct {
        int error;
        const char *words;
    } cases[] = {
        {TR_NOT_FOUND, "is missing in the store; restore the store from a backup that has it"},
        {TR_STORE_DAMAGED, "is damaged in the store; restore the store from a backup that has it"},
        {TR_VERSION, "; use the program that wrote it"},
        {TR_MEMORY, "cannot be read: "},
    };
    char words[TRI_STORE_EXPLAIN_BYTES];
    char hex[TR_GRAPH_HEX_BYTES];
    tr_graph_hex(graph->hash, hex);
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        tr_graphs_explain(words, "it", hash, cases[i].error);
        assert_non_null(strstr(words, "the definition of it, graph "));
        assert_non_null(strstr(words, hex));
        assert_non_null(strstr(words, cases[i].words));
    }
}

static void test_files_of_an_earlier_program_are_found(void **state)
{
    (void)state;
    past_open(here);
    past_close();
    plant();
    help_write("graphs/README", "no graph");
    expect_read(0);
    struct listed listed = list_all();
    assert_int_equal(listed.count, 1);
    assert_true(listed.youngest_ms > 1000000000000);
    struct tr_reader *reader = NULL;
    const struct tr_reader_options options = {.folder = here};
    struct tr_graph *read = NULL;
    assert_int_equal(tr_reader_open(&options, NULL, &reader), 0);
    assert_int_equal(tr_graphs_read(reader, hash, &read), 0);
    tr_graph_free(read);
    tr_reader_close(reader);
    /* One that is a row, too, is one. */
    past_open(here);
    (void)past_keep_graph(graph);
    past_close();
    plant();
    assert_int_equal(list_all().count, 1);
    expect_read(0);
}

static void test_names_are_digits(void **state)
{
    (void)state;
    char hex[TR_GRAPH_HEX_BYTES];
    uint8_t read[TR_GRAPH_HASH_BYTES];
    tr_graph_hex(graph->hash, hex);
    assert_true(tr_graph_of_hex(hex, read));
    assert_memory_equal(read, graph->hash, sizeof read);
    hex[5] = 'G';
    assert_false(tr_graph_of_hex(hex, read));
    hex[5] = '\0';
    assert_false(tr_graph_of_hex(hex, read));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_graphs_are_kept_under_their_hashes),
        CASE(test_a_damaged_graph_is_refused),
        CASE(test_what_is_wrong_is_said_with_the_hash),
        CASE(test_files_of_an_earlier_program_are_found),
        CASE(test_names_are_digits),
    };
    return cmocka_run_group_tests_name("graphs", tests, NULL, NULL);
}
