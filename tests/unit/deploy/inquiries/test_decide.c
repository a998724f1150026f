/*
 * What the program answers to a dynamic task: the graph is stored before it is in the graph
 * registry, and what is wrong with a document, or with the store, is told as what it is.
 */
#include "deploy/inquiries/decide.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/engine.h"
#include "actors/graph/value/slot.h"
#include "deploy/graphs/graphs.h"
#include "deploy/inquiries/inquiries.h"
#include "plugins/builtin/registry.h"
#include "runtime/memory.h"
#include "runtime/store_open.h"
#include "schemas/runtime/inquiry.h"
#include "tests/support/test.h"
#include "tests/unit/deploy/help.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  plan: {type: echo, inputs: {size: int}, outputs: {sum: int}}\n"
    "  same: {type: echo, inputs: {a: int}, outputs: {b: int}}\n"
    "  text: {type: echo, inputs: {a: string}, outputs: {b: int}}\n"
    "workflows:\n"
    "  main: {nodes: {d: {dynamic: plan, with: {size: 1}}}, outputs: {sum: $d.sum}}\n";

static struct tr_graph *graph;
static struct tr_engine *engine;
static char store[4096];
static char explain[TR_EXCHANGE_EXPLAIN_BYTES];

/* The answer. */
static uint32_t answers;
static uint8_t made_hash[TR_GRAPH_HASH_BYTES];
static bool is_made;
static uint32_t workflow;
static char code[64];
static char message[8192];

static int reply(const struct tr_inquiry *inquiry, const struct tr_schema *schema, const void *body)
{
    const struct tr_graph_made *made = body;
    (void)inquiry;
    assert_ptr_equal(schema, &tr_graph_made_schema);
    answers++;
    is_made = made->graph.size == TR_GRAPH_HASH_BYTES;
    if (is_made) {
        memcpy(made_hash, made->graph.data, sizeof made_hash);
    }
    workflow = made->workflow;
    (void)snprintf(code, sizeof code, "%.*s", TRI_TEXT(made->code));
    (void)snprintf(message, sizeof message, "%.*s", TRI_TEXT(made->message));
    return 0;
}

/* An operation on a graph, in a commit of its own. */
static int commit(enum tri_op_kind kind, struct tr_bytes data, uint64_t now_ms)
{
    struct tri_store *opened;
    const struct tri_store_options options = {.folder = store, .durability = TR_DURABILITY_PROCESS};
    struct tri_op op = {.kind = kind, .number = now_ms, .data = data};
    assert_int_equal(tri_store_open(&options, NULL, &opened), 0);
    const struct tri_commit all = {&op, 1, opened->last_number};
    tri_op_sort_by_hash(&op);
    int error = tri_store_commit(opened, &all);
    tri_store_close(opened);
    return error;
}

static int put_graph(const struct tr_inquiry *inquiry, struct tr_bytes row, uint64_t now_ms)
{
    assert_true(inquiry == NULL || inquiry->program == engine);
    return commit(TRI_OP_PUT_GRAPH, row, now_ms);
}

static void keep(const struct tr_graph *kept)
{
    struct tr_buffer row;
    assert_int_equal(tr_graphs_row(kept, &row), 0);
    assert_int_equal(put_graph(NULL, tr_buffer_bytes(&row), 1), 0);
    tr_buffer_fini(&row);
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(realpath(help_folder_enter(), store));
    graph = help_graph(definition);
    engine = calloc(1, sizeof *engine);
    assert_non_null(engine);
    engine->plugins = tr_plugins;
    engine->plugin_count = tr_plugin_count;
    keep(graph);
    answers = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_graph_registry_fini(&engine->registry);
    free(engine);
    tr_graph_free(graph);
    help_folder_leave();
    return 0;
}

static int ask(const struct tr_graph_make *make)
{
    size_t size = tr_graph_make_schema.size_max(make);
    void *packed = malloc(size);
    assert_non_null(packed);
    struct tr_writer writer = tr_writer_of(packed, size);
    assert_int_equal(tr_graph_make_pack(make, &writer), 0);
    const struct tr_inquiry inquiry = {
        .program = engine,
        .store_folder = store,
        .type = tr_graph_make_schema.id,
        .version = tr_graph_make_schema.version,
        .body = {.data = packed, .size = tr_writer_size(&writer)},
        .reply = reply,
        .put_graph = put_graph,
    };
    explain[0] = '\0';
    int error = tr_inquiry_take(&inquiry, explain);
    free(packed);
    return error;
}

static struct tr_graph_make make_of(const char *text)
{
    return (struct tr_graph_make){.graph = {.data = graph->hash, .size = TR_GRAPH_HASH_BYTES},
                                  .task = tr_graph_find_task(graph, tr_text_of("plan")),
                                  .depth = 1,
                                  .text = tr_text_of(text)};
}

static int decide(const char *text)
{
    struct tr_graph_make make = make_of(text);
    return ask(&make);
}

static int drop(void)
{
    const struct tr_graph_drop told = {.graph = tr_graph_number(made_hash)};
    uint8_t packed[64];
    struct tr_writer writer = tr_writer_of(packed, sizeof packed);
    assert_int_equal(tr_graph_drop_pack(&told, &writer), 0);
    const struct tr_inquiry inquiry = {
        .program = engine,
        .type = tr_graph_drop_schema.id,
        .version = tr_graph_drop_schema.version,
        .body = {.data = packed, .size = tr_writer_size(&writer)},
        .reply = reply,
    };
    return tr_inquiry_take(&inquiry, explain);
}

static const char fine[] =
    "{\"nodes\": {\"a\": {\"task\": \"same\", \"with\": {\"a\": \"$size\"}}},"
    " \"outputs\": {\"sum\": \"$a.b\"}}";

static void test_the_graph_is_stored_and_held(void **state)
{
    (void)state;
    struct tr_graph *stored = NULL;
    assert_int_equal(decide(fine), 0);
    assert_int_equal(answers, 1);
    assert_true(is_made);
    assert_string_equal(code, "");
    uint64_t number = tr_graph_number(made_hash);
    const struct tr_graph *held = tr_graph_registry_find(&engine->registry, number);
    assert_non_null(held);
    assert_int_equal(workflow, held->main_workflow);
    struct tr_bytes hash = {.data = made_hash, .size = sizeof made_hash};
    assert_int_equal(tr_graphs_get(store, hash, &stored), 0);
    tr_graph_free(stored);
    assert_int_equal(decide(fine), 0); /* another task, or the same one after a crash */
    assert_int_equal(drop(), 0);
    assert_ptr_equal(tr_graph_registry_find(&engine->registry, number), held);
    assert_int_equal(drop(), 0);
    assert_null(tr_graph_registry_find(&engine->registry, number));
    assert_int_equal(drop(), 0); /* nothing is there to let go of */
}

static void test_a_document_that_lies_in_a_file(void **state)
{
    (void)state;
    char path[5000];
    (void)snprintf(path, sizeof path, "%s/document", store);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(fine, file);
    (void)fclose(file);
    struct tr_graph_make make = make_of("");
    make.uri = tr_text_of(path);
    assert_int_equal(ask(&make), 0);
    assert_true(is_made);
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    memcpy(hash, made_hash, sizeof hash);
    assert_int_equal(decide(fine), 0);
    assert_memory_equal(hash, made_hash, sizeof hash);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ask(&make), TR_NOT_FOUND);
    assert_non_null(strstr(explain, "the document cannot be read"));
    assert_int_equal(answers, 2);
}

static void test_errors_are_one_message(void **state)
{
    (void)state;
    struct tr_buffer text;
    assert_int_equal(decide("{\"nodes\": 1, \"outputs\": {\"sum\": 1}}"), 0);
    assert_false(is_made);
    assert_string_equal(code, "DynamicWorkflowBuildFailed");
    assert_string_equal(message, "outputs:1:11: plan: nodes is a mapping, and this is an integer; "
                                 "write {key: value} [InvalidValue]");
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, "{\"outputs\": {\"sum\": 1}, \"nodes\": {");
    for (int i = 0; i < 100; i++) {
        tr_buffer_print(&text, "%s\"n%d\": {\"task\": \"none\"}", i == 0 ? "" : ", ", i);
    }
    tr_buffer_add(&text, "}}", 3);
    assert_int_equal(decide((const char *)text.data), 0);
    tr_buffer_fini(&text);
    assert_true(strlen(message) < 4000);
    assert_non_null(strstr(message, "plan.n0: there is no task 'none'"));
    const char *more = strstr(message, "\n(and ");
    assert_non_null(more);
    assert_int_equal(strtol(more + 6, NULL, 10) > 50, 1);
}

static void test_what_this_program_cannot_run(void **state)
{
    (void)state;
    assert_int_equal(decide("{\"tasks\": {\"odd\": {\"type\": \"nobody\"}},"
                            " \"nodes\": {\"o\": {\"task\": \"odd\"}}, \"outputs\": {\"sum\": 1}}"),
                     0);
    assert_false(is_made);
    assert_non_null(strstr(message, "no plugin here runs tasks of type 'nobody'"));
}

/* A literal that no message carries lies in the store's blobs, as those of definitions do. */
static void test_large_literals_lie_elsewhere(void **state)
{
    (void)state;
    struct tr_buffer text;
    struct tr_offloaded where;
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, "{\"nodes\": {\"t\": {\"task\": \"text\", \"with\": {\"a\": \"");
    for (uint32_t i = 0; i <= TR_INLINE_BYTES_MAX; i++) {
        tr_buffer_add(&text, "x", 1);
    }
    tr_buffer_add_string(&text, "\"}}}, \"outputs\": {\"sum\": \"$t.b\"}}");
    struct tr_graph_make make = make_of("");
    make.text = tr_buffer_text(&text);
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    assert_int_equal(ask(&make), 0);
    memcpy(hash, made_hash, sizeof hash);
    assert_int_equal(ask(&make), 0); /* the same document gives the same graph */
    assert_memory_equal(hash, made_hash, sizeof hash);
    tr_buffer_fini(&text);
    assert_true(is_made);
    const struct tr_graph *held =
        tr_graph_registry_find(&engine->registry, tr_graph_number(made_hash));
    const struct tr_workflow *own = &held->workflows[workflow];
    assert_true(tr_slot_is_offloaded(own->bindings[own->nodes[1].input_first].literal, &where));
}

static void test_a_store_that_is_not_as_it_was(void **state)
{
    (void)state;
    uint8_t row[TR_GRAPH_HASH_BYTES + 4] = {0};
    struct tr_bytes hash = {.data = row, .size = TR_GRAPH_HASH_BYTES};
    struct tr_graph_make make = make_of(fine);
    memcpy(row, graph->hash, TR_GRAPH_HASH_BYTES);
    make.task = 99;
    assert_int_equal(ask(&make), TR_MALFORMED);
    make.graph.size = 3;
    assert_int_equal(ask(&make), TR_MALFORMED);
    assert_int_equal(commit(TRI_OP_DELETE_GRAPH, hash, 2), 0);
    assert_int_equal(decide(fine), TR_NOT_FOUND);
    assert_int_equal(commit(TRI_OP_PUT_GRAPH, (struct tr_bytes){row, sizeof row}, 3), 0);
    assert_int_equal(decide(fine), TR_STORE_DAMAGED);
    assert_non_null(strstr(explain, "the definition cannot be read"));
    assert_int_equal(answers, 0);
}

static void test_a_question_that_nobody_knows(void **state)
{
    (void)state;
    const struct tr_inquiry inquiry = {.program = engine, .type = 65535, .reply = reply};
    assert_int_equal(tr_inquiry_take(&inquiry, explain), TR_UNKNOWN_TYPE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_the_graph_is_stored_and_held), TEST(test_a_document_that_lies_in_a_file),
        TEST(test_errors_are_one_message),       TEST(test_what_this_program_cannot_run),
        TEST(test_large_literals_lie_elsewhere), TEST(test_a_store_that_is_not_as_it_was),
        TEST(test_a_question_that_nobody_knows),
    };
    return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
