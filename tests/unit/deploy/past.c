/*
 * Writing history without actors.
 */
#include "tests/unit/deploy/past.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/json.h"
#include "actors/graph/report.h"
#include "deploy/graphs.h"
#include "runtime/journal/store.h"
#include "runtime/memory.h"
#include "schemas/history_views.h"

static struct tri_store *store;
static const char *store_folder;
static uint64_t number;
static uint8_t pool[65536]; /* what past_slots has given */
static size_t pool_used;
static char *text;
static size_t text_size;
static FILE *stream;

void past_open(const char *folder)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store_options options = {.folder = folder,
                                        .durability = TR_DURABILITY_PROCESS,
                                        .records = tr_history_schemas,
                                        .record_count = tr_history_schema_count,
                                        .views = &tr_history_views};
    int error = tri_sqlite_open(&options, explain, &store);
    if (error != 0) {
        fail_msg("%s", explain);
    }
    number = store->last_number;
    store_folder = folder;
    pool_used = 0;
}

void past_close(void)
{
    tri_store_close(store);
    store = NULL;
    free(text);
    text = NULL;
}

void past_write(const struct tr_schema *schema, const void *row)
{
    uint8_t bytes[65536];
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    assert_int_equal(schema->pack(row, &writer), 0);
    size_t size = (size_t)(writer.at - writer.begin);
    struct tri_op op = {.kind = TRI_OP_PUT_RECORD,
                        .type = schema->id,
                        .incarnation = schema->version,
                        .data = {.data = bytes, .size = size}};
    assert_int_equal(tri_op_find_row_key(&op, schema), 0);
    struct tri_commit commit = {.ops = &op, .count = 1, .last_number = ++number};
    int error = tri_store_commit(store, &commit);
    if (error != 0) {
        fail_msg("%s", tri_store_explain(store));
    }
}

struct tr_bytes past_keep_graph(const struct tr_graph *graph)
{
    assert_int_equal(tr_graphs_put(store_folder, graph, false), 0);
    return (struct tr_bytes){.data = graph->hash, .size = TR_GRAPH_HASH_BYTES};
}

struct tr_bytes past_slots(const struct tr_variables *variables, const char *json)
{
    struct tr_arena arena;
    struct tr_report report;
    tr_arena_init(&arena);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(&arena, &report, 0, tr_text_of(json));
    assert_non_null(tree);
    assert_int_equal(tree->count, variables->count);
    struct tr_buffer packed;
    tr_buffer_init(&packed, 0);
    tr_buffer_array(&packed, variables->count);
    for (uint32_t i = 0; i < variables->count; i++) {
        struct tr_literal_reader reader = {.report = &report, .arena = &arena};
        assert_true(tr_literal_read(&reader, variables->items[i].type, tree->items[i], &packed));
    }
    assert_int_equal(packed.error, 0);
    assert_true(packed.size <= sizeof pool - pool_used);
    struct tr_bytes slots = {.data = memcpy(pool + pool_used, packed.data, packed.size),
                             .size = packed.size};
    pool_used += packed.size;
    tr_buffer_fini(&packed);
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    return slots;
}

struct tr_reader *past_read(void)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_reader *reader = NULL;
    if (tr_history_open(store_folder, explain, &reader) != 0) {
        fail_msg("%s", explain);
    }
    return reader;
}

FILE *past_stream(void)
{
    free(text);
    stream = open_memstream(&text, &text_size);
    assert_non_null(stream);
    return stream;
}

const char *past_text(void)
{
    assert_int_equal(fclose(stream), 0);
    return text;
}
