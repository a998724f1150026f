/*
 * Writing history without actors.
 */
#include "tests/unit/deploy/past.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/json.h"
#include "actors/graph/document/report.h"
#include "deploy/common/clock.h"
#include "deploy/common/schemas.h"
#include "deploy/graphs/graphs.h"
#include "runtime/actor/actor.h"
#include "runtime/sqlite/sqlite.h"
#include "schemas/engine/history_views.h"
#include "schemas/runtime/control.h"

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
                                        .records = tr_program_records,
                                        .record_count = tr_program_record_count,
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

static void commit(const struct tri_op *op)
{
    struct tri_commit commit = {.ops = op, .count = 1, .last_number = ++number};
    if (tri_store_commit(store, &commit) != 0) {
        fail_msg("%s", tri_store_explain(store));
    }
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
    commit(&op);
}

/* What was written, which goes on behind it. */
static struct tr_bytes taken(struct tr_writer *writer, uint8_t *begin)
{
    assert_int_equal(writer->error, 0);
    return (struct tr_bytes){.data = begin, .size = (size_t)(writer->at - begin)};
}

/* Numbers of an edge in an image. */
#define EDGE_FIELDS 6

static void write_edge(struct tr_writer *writer, const uint64_t edge[EDGE_FIELDS])
{
    tr_write_array(writer, EDGE_FIELDS);
    for (size_t i = 0; i < EDGE_FIELDS; i++) {
        tr_write_u64(writer, edge[i]);
    }
}

void past_actor(const struct past_actor *actor)
{
    uint8_t bytes[16384];
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    struct tr_image image = {.behaviour = actor->behaviour,
                             .state_version = actor->schema->version,
                             .flags = actor->name == NULL ? TRI_ACTOR_ELEMENT : 0,
                             .phase = actor->is_quarantined ? TRI_QUARANTINED : TRI_IDLE,
                             .parent = {actor->parent, 1}};
    uint8_t *begin = writer.at;
    if (actor->name == NULL) {
        tr_write_u64(&writer, actor->element);
    } else {
        tr_write_text(&writer, tr_text_of(actor->name));
    }
    image.name = taken(&writer, begin);
    begin = writer.at;
    const uint64_t timer[EDGE_FIELDS] = {TRI_EDGE_TIMER, 0, 0, 0, 1, actor->timer_ms};
    const uint64_t failure[EDGE_FIELDS] = {TRI_EDGE_BACKOFF, (uint64_t)-actor->failed_with};
    tr_write_array(&writer, (actor->timer_ms != 0 ? 1U : 0U) + (actor->failed_with != 0 ? 1U : 0U));
    if (actor->timer_ms != 0) {
        write_edge(&writer, timer);
    }
    if (actor->failed_with != 0) {
        write_edge(&writer, failure);
    }
    image.edges = taken(&writer, begin);
    begin = writer.at;
    assert_int_equal(actor->schema->pack(actor->state, &writer), 0);
    image.state = taken(&writer, begin);
    begin = writer.at;
    assert_int_equal(tr_image_pack(&image, &writer), 0);
    commit(&(struct tri_op){.kind = TRI_OP_PUT_ACTOR,
                            .key = actor->key,
                            .incarnation = 1,
                            .type = actor->behaviour,
                            .data = taken(&writer, begin)});
}

void past_message(struct tr_key from, struct tr_key to)
{
    uint8_t bytes[TR_ENVELOPE_BYTES];
    static uint64_t sequence;
    const struct tr_envelope envelope = {.envelope_version = TR_ENVELOPE_VERSION,
                                         .kind = TR_KIND_TELL,
                                         .to_group = to.group,
                                         .to_serial = to.serial,
                                         .to_incarnation = 1,
                                         .from_group = from.group,
                                         .from_serial = from.serial,
                                         .from_incarnation = 1,
                                         .sequence = ++sequence};
    tr_envelope_pack(&envelope, bytes);
    commit(&(struct tri_op){.kind = TRI_OP_PUT_MESSAGE,
                            .key = from,
                            .incarnation = 1,
                            .to_group = to.group,
                            .number = sequence,
                            .data = {.data = bytes, .size = sizeof bytes}});
}

void past_page(struct tr_key key, uint64_t page, struct tr_bytes bytes)
{
    commit(&(struct tri_op){.kind = TRI_OP_PUT_PAGE, .key = key, .number = page, .data = bytes});
}

struct tr_bytes past_keep_graph(const struct tr_graph *graph)
{
    struct tr_buffer row;
    assert_int_equal(tr_graphs_row(graph, &row), 0);
    struct tri_op op = {
        .kind = TRI_OP_PUT_GRAPH, .number = tr_clock_wall_ms(), .data = tr_buffer_bytes(&row)};
    tri_op_sort_by_hash(&op);
    commit(&op);
    tr_buffer_fini(&row);
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
