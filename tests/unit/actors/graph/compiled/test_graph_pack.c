/*
 * Packed graphs: they come back as they were, under the same name, and bytes that were changed
 * anywhere give an error or another graph, never a fault. The graphs that fuzzing begins from are
 * packed as graphs are now; with TROUPE_WRITE_EXPECTED set they are written anew.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/limits.h"
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

/* Types with tags have a field more, which is kept; one of them without a tag is refused. */
static void test_tags_are_kept(void **state)
{
    (void)state;
    static const char text[] =
        "troupe: 1\ntasks: {t: {type: echo, inputs: {a: 'int(tag: \"first\") "
        "| int(tag: \"other\")'}}}\n";
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_buffer bytes;
    struct tr_definition_source source = {
        .path = tr_text_of("f"), .folder = tr_text_of("/f"), .text = tr_text_of(text)};
    tr_report_init(&report);
    tr_buffer_init(&bytes, 0);
    assert_int_equal(tr_graph_compile(&source, &report, &graph), 0);
    assert_int_equal(tr_graph_pack(graph, &bytes), 0);
    check_round_trip(graph, tr_buffer_bytes(&bytes));
    check_changed_bytes(graph, tr_buffer_bytes(&bytes));
    tr_buffer_fini(&bytes);
    tr_graph_free(graph);
    tr_report_fini(&report);
}

/* What Flyte says of a task is a field more, which is kept; no value at all is refused. */
static void test_what_flyte_says_is_kept(void **state)
{
    (void)state;
    static const char text[] = "troupe: 1\ntasks: {t: {type: echo}}\n";
    static const uint8_t extra[] = {0x81, 0xa1, 'a', 0x01}; /* {"a": 1} */
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_graph *copy = NULL;
    struct tr_buffer bytes;
    struct tr_definition_source source = {
        .path = tr_text_of("f"), .folder = tr_text_of("/f"), .text = tr_text_of(text)};
    tr_report_init(&report);
    tr_buffer_init(&bytes, 0);
    assert_int_equal(tr_graph_compile(&source, &report, &graph), 0);
    graph->tasks[0].extra = (struct tr_bytes){.data = extra, .size = sizeof extra};
    assert_int_equal(tr_graph_name(graph), 0);
    assert_int_equal(tr_graph_pack(graph, &bytes), 0);
    check_round_trip(graph, tr_buffer_bytes(&bytes));
    check_changed_bytes(graph, tr_buffer_bytes(&bytes));
    assert_int_equal(tr_graph_unpack(tr_buffer_bytes(&bytes), &copy), 0);
    assert_true(tr_literal_equal(copy->tasks[0].extra, graph->tasks[0].extra));
    tr_graph_free(copy);
    uint8_t *at = memmem(bytes.data, bytes.size, extra, sizeof extra);
    assert_non_null(at);
    at[0] = 0xc1;
    assert_int_equal(tr_graph_unpack(tr_buffer_bytes(&bytes), &copy), TR_MALFORMED);
    tr_buffer_fini(&bytes);
    tr_graph_free(graph);
    tr_report_fini(&report);
}

#define CORPUS TROUPE_SOURCE_DIR "/tests/fuzz/corpus/"

static size_t read_corpus(const char *folder, const char *name, const char *ending, char *bytes,
                          size_t room)
{
    char path[4096];
    (void)snprintf(path, sizeof path, CORPUS "%s/%s%s", folder, name, ending);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return 0;
    }
    size_t size = fread(bytes, 1, room, file);
    assert_true(size < room);
    (void)fclose(file);
    return size;
}

static void write_corpus(const char *name, struct tr_bytes bytes)
{
    FILE *file;
    char path[4096];
    (void)snprintf(path, sizeof path, CORPUS "graph_unpack/%s", name);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    assert_int_equal(fclose(file), 0);
}

static void test_fuzzing_begins_from_graphs(void **state)
{
    (void)state;
    static const char *const names[] = {"all", "branch", "failure", "texts"};
    static char text[1 << 16];
    static char packed[1 << 16];
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        struct tr_report report;
        struct tr_graph *graph = NULL;
        struct tr_buffer bytes;
        struct tr_definition_source source = {
            .path = tr_text_of("f"),
            .folder = tr_text_of("/f"),
            .text = {.data = text,
                     .size = read_corpus("definition", names[i], ".yaml", text, sizeof text)}};
        tr_report_init(&report);
        tr_buffer_init(&bytes, 0);
        assert_int_equal(tr_graph_compile(&source, &report, &graph), 0);
        assert_int_equal(tr_graph_pack(graph, &bytes), 0);
        if (getenv("TROUPE_WRITE_EXPECTED") != NULL) {
            write_corpus(names[i], tr_buffer_bytes(&bytes));
        }
        assert_int_equal(read_corpus("graph_unpack", names[i], "", packed, sizeof packed),
                         bytes.size);
        assert_memory_equal(packed, bytes.data, bytes.size);
        tr_buffer_fini(&bytes);
        tr_graph_free(graph);
        tr_report_fini(&report);
    }
}

static void test_versions(void **state)
{
    (void)state;
    struct tr_graph *graph = NULL;
    const uint8_t newer[16] = {0x99, TR_GRAPH_VERSION + 1};
    struct tr_bytes bytes = {.data = newer, .size = sizeof newer};
    assert_int_equal(tr_graph_unpack(bytes, &graph), TR_VERSION);
}

static struct tr_graph *scheduled_graph(void)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_definition_source source = {
        .path = tr_text_of("f"),
        .folder = tr_text_of("/f"),
        .text = tr_text_of("troupe: 1\n"
                           "workflows:\n"
                           "  w: {inputs: {at: datetime, n: {type: int, default: 1}},\n"
                           "      nodes: {s: {sleep: 1s}}}\n"
                           "launch_plans:\n"
                           "  p: {workflow: w, schedule: {cron: \"0 3 31 12 0\", "
                           "kickoff_input: at}, notify: [{on: failed, command: [x]},\n"
                           "    {on: aborted, http: {url: \"http://h\", headers: {X: y}, body: 1,\n"
                           "      authorization: {bearer: a/b}}},\n"
                           "    {on: waiting, mail: {to: a@b.c}}]}\n")};
    tr_report_init(&report);
    assert_int_equal(tr_graph_compile(&source, &report, &graph), 0);
    tr_report_fini(&report);
    return graph;
}

/* Whether a graph is taken whose only plan is this one. */
static int unpack_with(struct tr_graph *graph, struct tr_plan plan)
{
    struct tr_graph *copy = NULL;
    struct tr_buffer buffer;
    struct tr_plan before = graph->plans[0];
    tr_buffer_init(&buffer, 0);
    graph->plans[0] = plan;
    assert_int_equal(tr_graph_pack(graph, &buffer), 0);
    graph->plans[0] = before;
    int error = tr_graph_unpack(tr_buffer_bytes(&buffer), &copy);
    if (error == 0) {
        tr_graph_free(copy);
    }
    tr_buffer_fini(&buffer);
    return error;
}

/*
 * A plan that was changed: `error` is what unpacking gives. `change` is a statement about `plan`.
 */
#define EXPECT_PLAN(graph, error, change)                      \
    do {                                                       \
        struct tr_plan plan = (graph)->plans[0];               \
        struct tr_schedule *schedule = &plan.schedule;         \
        struct tr_cron *cron = &schedule->cron;                \
        (void)cron;                                            \
        change;                                                \
        assert_int_equal(unpack_with((graph), plan), (error)); \
    } while (false)

/* What fires is computed from these numbers without asking again. */
static void test_schedules(void **state)
{
    (void)state;
    static char long_name[TR_GRAPH_NAME_BYTES_MAX + 1];
    struct tr_graph *graph = scheduled_graph();
    memset(long_name, 'p', sizeof long_name);
    EXPECT_PLAN(graph, 0, schedule->is_set = true);
    EXPECT_PLAN(graph, 0, schedule->every_ns = 1000000000);
    EXPECT_PLAN(graph, 0, schedule->every_ns = INT64_MAX / 1000000000 * 1000000000);
    EXPECT_PLAN(graph, TR_MALFORMED, schedule->every_ns = 1);
    EXPECT_PLAN(graph, TR_MALFORMED, schedule->every_ns = 1000);
    EXPECT_PLAN(graph, TR_MALFORMED, schedule->every_ns = 999999999);
    EXPECT_PLAN(graph, TR_MALFORMED, schedule->every_ns = 1000000001);
    EXPECT_PLAN(graph, TR_MALFORMED, schedule->every_ns = -1000000000);
    EXPECT_PLAN(graph, 0, schedule->offset_ns = TR_SCHEDULE_OFFSET_NS_MAX);
    EXPECT_PLAN(graph, TR_MALFORMED, schedule->offset_ns = TR_SCHEDULE_OFFSET_NS_MAX + 1000000000);
    EXPECT_PLAN(graph, TR_MALFORMED, schedule->offset_ns = 1000);
    EXPECT_PLAN(graph, TR_MALFORMED, schedule->offset_ns = -1000000000);
    EXPECT_PLAN(graph, TR_MALFORMED, cron->minutes = 0);
    EXPECT_PLAN(graph, TR_MALFORMED, cron->minutes = 1ULL << 60);
    EXPECT_PLAN(graph, TR_MALFORMED, cron->hours = 0);
    EXPECT_PLAN(graph, TR_MALFORMED, cron->hours = 1U << 24);
    EXPECT_PLAN(graph, TR_MALFORMED, cron->days = 0);
    EXPECT_PLAN(graph, TR_MALFORMED, cron->days = 3);
    EXPECT_PLAN(graph, TR_MALFORMED, cron->months = 1);
    EXPECT_PLAN(graph, TR_MALFORMED, cron->months = 1U << 13);
    EXPECT_PLAN(graph, TR_MALFORMED, cron->weekdays = 0);
    EXPECT_PLAN(graph, TR_MALFORMED, schedule->kickoff_input = 1);
    EXPECT_PLAN(graph, TR_MALFORMED, schedule->kickoff_input = 2);
    EXPECT_PLAN(graph, 0, schedule->kickoff_input = TR_GRAPH_NONE);
    EXPECT_PLAN(graph, 0, plan.name = ((struct tr_text){long_name, sizeof long_name - 1}));
    EXPECT_PLAN(graph, TR_MALFORMED, plan.name = ((struct tr_text){long_name, sizeof long_name}));
    tr_graph_free(graph);
}

/* What is sent when something ends was checked when it was compiled, and has to be a value. */
static void test_notifications(void **state)
{
    (void)state;
    struct tr_graph *graph = scheduled_graph();
    struct tr_notification notification = graph->plans[0].notifications[0];
    struct tr_notification many[TR_NOTIFICATIONS_MAX + 1];
    for (size_t i = 0; i < TR_COUNT_OF(many); i++) {
        many[i] = notification;
    }
    assert_int_equal(graph->plans[0].notification_count, 3);
    EXPECT_PLAN(graph, 0, plan.notification_count = 3);
    EXPECT_PLAN(graph, 0, plan.notification_count = 0);
    EXPECT_PLAN(graph, 0,
                (plan.notifications = many, plan.notification_count = TR_NOTIFICATIONS_MAX));
    EXPECT_PLAN(graph, TR_MALFORMED,
                (plan.notifications = many, plan.notification_count = TR_NOTIFICATIONS_MAX + 1));
    notification.phases = 0;
    EXPECT_PLAN(graph, TR_MALFORMED,
                (plan.notifications = &notification, plan.notification_count = 1));
    notification.phases = 1U << TR_NOTIFY_PHASE_COUNT;
    EXPECT_PLAN(graph, TR_MALFORMED,
                (plan.notifications = &notification, plan.notification_count = 1));
    notification = many[0];
    notification.kind = TR_NOTIFY_KIND_COUNT;
    EXPECT_PLAN(graph, TR_MALFORMED,
                (plan.notifications = &notification, plan.notification_count = 1));
    notification = many[0];
    notification.target.size--;
    EXPECT_PLAN(graph, TR_MALFORMED,
                (plan.notifications = &notification, plan.notification_count = 1));
    tr_graph_free(graph);
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
        cmocka_unit_test(test_tags_are_kept),
        cmocka_unit_test(test_what_flyte_says_is_kept),
        cmocka_unit_test(test_fuzzing_begins_from_graphs),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_notifications),
        cmocka_unit_test(test_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
