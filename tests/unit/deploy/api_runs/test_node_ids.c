/*
 * Ids of nodes: each path of an execution has a word, by which it is found again, also where ids
 * hold hyphens and digits; other words are none.
 */
#include "deploy/api_runs/node_ids.h"

#include <string.h>

#include "schemas/codec/error.h"
#include "tests/unit/deploy/help.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  t: {inputs: {a: int}, outputs: {a: int}, run: [x]}\n"
    "workflows:\n"
    "  inner:\n"
    "    inputs: {a: int}\n"
    "    nodes: {one: {task: t, with: {a: $a}}, n-0: {task: t, with: {a: 1}}}\n"
    "    outputs: {a: $one.a}\n"
    "  main:\n"
    "    nodes:\n"
    "      one: {task: t, with: {a: 1}}\n"
    "      w: {workflow: inner, with: {a: 1}}\n"
    "      w-0: {workflow: inner, with: {a: 1}}\n"
    "      w-0-one: {task: t, with: {a: 1}}\n"
    "      sq: {map: inner, with: {a: [1, 2]}}\n";

struct fixture {
    struct tr_graph *graph;
    struct tr_route route;
    struct tr_desk_job job;
};

static struct fixture fixture;

static int set_up(void **state)
{
    (void)state;
    memset(&fixture, 0, sizeof fixture);
    fixture.graph = help_graph(definition);
    tr_arena_init(&fixture.job.arena);
    return tr_route_init(&fixture.route, fixture.graph, tr_text_of("main"));
}

static int tear_down(void **state)
{
    (void)state;
    tr_route_fini(&fixture.route);
    tr_graph_free(fixture.graph);
    tr_arena_fini(&fixture.job.arena);
    return 0;
}

static int find(const char *word, struct tr_text *path)
{
    struct tr_stop stop;
    return tr_node_id_find(&fixture.job.arena, &fixture.route, tr_text_of(word), path, &stop);
}

static void test_there_and_back(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *word;
    } rows[] = {
        {"one", "one"},
        {"w", "w"},
        {"w/one", "w-0-one"}, /* that is a node, too, which comes behind */
        {"w/n-0", "w-0-n-0"},
        {"w-0", "w-0"},
        {"w-0/one", "w-0-0-one"},
        {"w-0/n-0", "w-0-0-n-0"},
        {"sq", "sq"},
        {"sq[0]/one", "sq-0-0-one"},
        {"sq[17]/n-0", "sq-17-0-n-0"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_text path;
        assert_string_equal(tr_node_id_print(&fixture.job, tr_text_of(rows[i].path)), rows[i].word);
        assert_int_equal(find(rows[i].word, &path), 0);
        assert_true(tr_text_equal(path, tr_text_of(rows[i].path)));
    }
}

static void test_other_words_are_none(void **state)
{
    (void)state;
    static const char *const words[] = {
        "",          "on",       "one-",      "one-0-one",     "w-",          "w-1-one",
        "w-0-",      "w-0-two",  "sq-0",      "sq-0-one",      "sq-00-0-one", "sq-x-0-one",
        "sq--0-one", "w-0-one/", "start-nod", "w-0-one-0-one",
    };
    char longest[2 * TR_RUNS_NODE_ID_BYTES];
    struct tr_text path;
    for (size_t i = 0; i < TR_COUNT_OF(words); i++) {
        assert_int_equal(find(words[i], &path), TR_NOT_FOUND);
    }
    memset(longest, 'w', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(find(longest, &path), TR_LIMIT);
}

static void test_addresses(void **state)
{
    (void)state;
    Flyteidl__Core__NodeExecutionIdentifier *id =
        tr_node_id_of_address(&fixture.job, tr_text_of("/p/d/exec/w/one"));
    assert_string_equal(id->node_id, "w-0-one");
    assert_string_equal(id->execution_id->project, "p");
    assert_string_equal(id->execution_id->domain, "d");
    assert_string_equal(id->execution_id->name, "exec");
    assert_null(tr_view_address(&fixture.job, tr_text_of("")));
    assert_null(tr_view_address(&fixture.job, tr_text_of("/p/d")));
    assert_null(tr_view_address(&fixture.job, tr_text_of("p/d/e")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_there_and_back),
        TEST(test_other_words_are_none),
        TEST(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
