/*
 * Conditions on executions: which ones hold, and that those found by an index are found by it.
 */
#include "deploy/selection/execution_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sqlite/sqlite_internal.h"
#include "runtime/store_care.h"
#include "runtime/store_open.h"
#include "schemas/engine/history_views.h"
#include "tests/support/postgres_server.h"
#include "tests/unit/deploy/help.h"
#include "tests/unit/deploy/past.h"

#define TEXT(words) tr_text_of(words)

static struct tr_arena arena;

/* An execution with its labels, of which each is one row. */
static void write_execution(uint64_t number, const char *name, uint8_t phase, const char *labels,
                            const char *parent)
{
    uint64_t created_ms = PAST_MS + 1000 * number;
    bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, phase);
    PAST(execution, .execution = number, .project = TEXT("p"), .domain = TEXT("d"),
         .name = TEXT(name), .workflow = TEXT(number < 3 ? "first" : "second"),
         .plan = TEXT(number == 1 ? "nightly" : ""), .phase = phase, .created_ms = created_ms,
         .ended_ms = has_ended ? created_ms + 500 : 0, .failed_element = TR_ELEMENT_NONE,
         .labels = TEXT(labels), .parent = TEXT(parent));
    char copy[128];
    snprintf(copy, sizeof copy, "%s", labels);
    for (char *label = strtok(copy, ","); label != NULL; label = strtok(NULL, ",")) {
        char *equals = strchr(label, '=');
        *equals = '\0';
        PAST(execution_label, .execution = number, .key = TEXT(label), .value = TEXT(equals + 1),
             .is_launched = parent[0] != '\0', .created_ms = created_ms);
    }
}

static int set_up(void **state)
{
    (void)state;
    tr_arena_init(&arena);
    past_open(help_folder_enter());
    write_execution(1, "a", TR_EXECUTION_SUCCEEDED, "team=data,tier=gold", "");
    write_execution(2, "b", TR_EXECUTION_FAILED, "team=data", "");
    write_execution(3, "c", TR_EXECUTION_RUNNING, "team=web,tier=", "");
    write_execution(4, "d", TR_EXECUTION_QUEUED, "", "");
    write_execution(5, "e", TR_EXECUTION_SUCCEEDED, "team=data,tier=gold", "/p/d/a/n");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    past_close();
    help_folder_leave();
    tr_arena_fini(&arena);
    return 0;
}

struct names {
    char text[128];
    size_t size;
};

static int note(void *self, const void *value)
{
    struct names *names = self;
    const struct tr_execution *row = value;
    names->size += (size_t)snprintf(names->text + names->size, sizeof names->text - names->size,
                                    "%.*s", (int)row->name.size, row->name.data);
    return 0;
}

/* The names of those that are found, and that they are counted alike. */
static const char *find(struct tr_execution_filter filter)
{
    static struct names names;
    struct tr_execution_query made;
    struct tr_reader *reader = past_read();
    uint64_t count = 0;
    names = (struct names){.size = 0};
    tr_execution_query_init(&made, &filter, true);
    if (tr_reader_rows(reader, &made.query, note, &names) != 0 ||
        tr_reader_count(reader, &made.query, &count) != 0) {
        fail_msg("%s", tr_reader_explain(reader));
    }
    tr_reader_close(reader);
    assert_int_equal(count, names.size);
    return names.text;
}

static struct tr_label_selector selector(const char *words)
{
    char problem[TR_LABEL_PROBLEM_BYTES];
    struct tr_label_selector labels = {0};
    assert_int_equal(tr_label_selector_read(&arena, TEXT(words), &labels, problem), 0);
    return labels;
}

#define FIND(...) find((struct tr_execution_filter){__VA_ARGS__})

static void test_each_condition(void **state)
{
    (void)state;
    assert_string_equal(FIND(.project = NULL), "edcba");
    assert_string_equal(FIND(.project = "q"), "");
    assert_string_equal(FIND(.domain = "d"), "edcba");
    assert_string_equal(FIND(.workflow = "first"), "ba");
    assert_string_equal(FIND(.workflow = "*st"), "ba");
    assert_string_equal(FIND(.plan = "nightly"), "a");
    assert_string_equal(FIND(.plan = "n*"), "a");
    assert_string_equal(FIND(.name = "c"), "c");
    assert_string_equal(FIND(.phases = 1U << TR_EXECUTION_SUCCEEDED), "ea");
    assert_string_equal(FIND(.phases = tr_execution_phases_ended()), "eba");
    assert_string_equal(FIND(.phases = tr_execution_phases_unfinished()), "dc");
    assert_string_equal(FIND(.since_ms = PAST_MS + 3000), "edc");
    assert_string_equal(FIND(.until_ms = PAST_MS + 3000), "ba");
    assert_string_equal(
        FIND(.ended_before_ms = PAST_MS + 2500, .phases = tr_execution_phases_ended()), "a");
    assert_string_equal(FIND(.parent = TEXT("/p/d/a/")), "e");
    assert_string_equal(FIND(.parent = TEXT("/p/d/")), "e");
    assert_string_equal(FIND(.is_launched_by_none = true), "dcba");
}

/* What the query finds is what holds for the text of the labels. */
static void test_labels(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        const char *names;
        const char *roots;
    } cases[] = {
        {"team=data", "eba", "ba"},
        {"team==data,tier", "ea", "a"},
        {"tier=", "c", "c"},
        {"tier", "eca", "ca"},
        {"!tier", "db", "db"},
        {"team!=data", "dc", "dc"},
        {"team in (web, data)", "ecba", "cba"},
        {"team in (web, ops)", "c", "c"},
        {"team notin (web, ops)", "edba", "dba"},
        {"team=data,!tier", "b", "b"},
        {"!nothing,team=data,tier!=gold", "b", "b"},
        {"team=none", "", ""},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_label_selector labels = selector(cases[i].words);
        assert_string_equal(FIND(.labels = labels), cases[i].names);
        assert_string_equal(FIND(.labels = labels, .is_launched_by_none = true), cases[i].roots);
    }
}

static void test_all_have_to_hold(void **state)
{
    (void)state;
    struct tr_label_selector labels = selector("team=data");
    assert_string_equal(FIND(.labels = labels, .workflow = "first",
                             .phases = 1U << TR_EXECUTION_FAILED, .since_ms = PAST_MS + 2000),
                        "b");
    assert_string_equal(FIND(.labels = labels, .workflow = "second"), "e");
    assert_string_equal(FIND(.labels = labels, .parent = TEXT("/p/d/a/")), "e");
    assert_string_equal(FIND(.labels = labels, .phases = tr_execution_phases_unfinished()), "");
}

struct plan {
    char text[1024];
    size_t size;
};

static int note_step(void *self, int count, char **values, char **names)
{
    struct plan *plan = self;
    (void)count;
    (void)names;
    plan->size += (size_t)snprintf(plan->text + plan->size, sizeof plan->text - plan->size, "%s; ",
                                   values[3]);
    return 0;
}

/* How SQLite walks through a query. */
static const char *plan_of(struct tr_execution_filter filter)
{
    static struct plan plan;
    struct tr_execution_query made;
    struct tr_reader *reader = past_read();
    struct tri_sqlite *sqlite = tri_reader_sqlite(reader);
    sqlite3_stmt *statement = NULL;
    char sql[4096];
    plan = (struct plan){.size = 0};
    tr_execution_query_init(&made, &filter, true);
    assert_int_equal(tri_sqlite_query_begin(sqlite, &made.query, false, &statement), 0);
    snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", sqlite3_sql(statement));
    tri_sqlite_query_end(sqlite, statement);
    assert_int_equal(sqlite3_exec(sqlite->database, sql, note_step, &plan, NULL), SQLITE_OK);
    tr_reader_close(reader);
    return plan.text;
}

/* The newest ones come first by an index, and nothing is sorted. */
static void test_indexes_are_used(void **state)
{
    (void)state;
    struct tr_label_selector labels = selector("team=data,!tier");
    struct {
        struct tr_execution_filter filter;
        const char *index;
    } cases[] = {
        {{.project = "p"}, "index_execution_created_ms"},
        {{.is_launched_by_none = true}, "index_execution_parent_created_ms (parent=?)"},
        {{.is_launched_by_none = true, .workflow = "first"},
         "index_execution_workflow_created_ms (workflow=?)"},
        {{.is_launched_by_none = true, .phases = 1U << TR_EXECUTION_FAILED},
         "index_execution_phase_created_ms (phase=?)"},
        {{.is_launched_by_none = true, .labels = labels, .workflow = "first"},
         "index_execution_label_key_value_is_launched_created_ms (key=? AND value=? AND "
         "is_launched=?)"},
        {{.labels = labels}, "index_execution_label_key_value_created_ms (key=? AND value=?)"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        const char *plan = plan_of(cases[i].filter);
        if (strstr(plan, cases[i].index) == NULL || strstr(plan, "TEMP B-TREE") != NULL) {
            fail_msg("%zu: %s", i, plan);
        }
    }
    assert_non_null(
        strstr(plan_of((struct tr_execution_filter){.phases = tr_execution_phases_unfinished()}),
               "index_execution_ended_ms (ended_ms=?)"));
    assert_non_null(strstr(plan_of((struct tr_execution_filter){.parent = TEXT("/p/d/a/")}),
                           "index_execution_parent_created_ms (parent>? AND parent<?)"));
}

/* --- The same in PostgreSQL, whose plans depend on how many rows have a value. --- */

#define ROWS "60000"

/* One of ten was launched by nobody, one of twenty has failed, and two thousand run. */
static const char fill[] =
    "SET search_path TO plans;"
    "INSERT INTO record_execution(execution, project, domain, name, workflow, plan, phase,"
    " created_ms, started_ms, ended_ms, parent)"
    " SELECT i, 'p', 'd', 'e' || i, 'w' || i % 40, CASE WHEN i % 7 = 0 THEN 'nightly' ELSE '' END,"
    " CASE WHEN i > " ROWS " - 2000 THEN 3 WHEN i % 20 = 0 THEN 6 ELSE 4 END,"
    " 1700000000000 + i * 1000, 1700000000000 + i * 1000 + 20,"
    " CASE WHEN i > " ROWS " - 2000 THEN 0 ELSE 1700000000000 + i * 1000 + 900 END,"
    " CASE WHEN i % 10 = 0 THEN '' ELSE '/p/d/e' || i / 100 * 100 || '/n' END"
    " FROM generate_series(1, " ROWS ") AS i;"
    "INSERT INTO record_execution_label(execution, key, value, is_launched, created_ms)"
    " SELECT i, 'team', CASE WHEN i % 3 = 0 THEN 'data' ELSE 'web' END, (i % 10 <> 0)::int,"
    " 1700000000000 + i * 1000 FROM generate_series(1, " ROWS ") AS i;"
    "INSERT INTO record_execution_label(execution, key, value, is_launched, created_ms)"
    " SELECT i, 'tier', 'gold', (i % 10 <> 0)::int, 1700000000000 + i * 1000"
    " FROM generate_series(1, " ROWS ", 5) AS i";

static struct tr_reader *open_plans(void)
{
    char locator[POSTGRES_LOCATOR_BYTES];
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    bool was_made = false;
    struct tr_reader *reader = NULL;
    postgres_server_locator("postgres", "plans", locator);
    const struct tri_store_options options = {.locator = locator,
                                              .durability = TR_DURABILITY_PROCESS,
                                              .records = tr_history_schemas,
                                              .record_count = tr_history_schema_count,
                                              .views = &tr_history_views};
    const struct tr_reader_options reading = {
        .locator = locator, .records = tr_history_schemas, .record_count = tr_history_schema_count};
    if (tri_store_init(&options, explain, &was_made) != 0) {
        fail_msg("%s", explain);
    }
    postgres_server_run(fill, NULL, 0);
    postgres_server_run("ANALYZE", NULL, 0);
    assert_int_equal(tr_reader_open(&reading, explain, &reader), 0);
    return reader;
}

/* How PostgreSQL walks through a page of a query, or counts up to some. */
static const char *explain(struct tr_reader *reader, struct tr_execution_filter filter, bool counts,
                           uint64_t skip)
{
    static char text[8192];
    struct tr_execution_query made;
    tr_execution_query_init(&made, &filter, true);
    made.query.limit = counts ? 10000 : 50;
    made.query.skip = skip;
    postgres_server_explain(reader, &made.query, counts, text, sizeof text);
    return text;
}

static void test_indexes_are_used_in_postgres(void **state)
{
    (void)state;
    struct tr_label_selector labels = selector("team=data,!tier");
    struct {
        struct tr_execution_filter filter;
        const char *index;
    } cases[] = {
        {{.project = NULL}, "index_execution_created_ms"},
        {{.project = "p"}, "index_execution_created_ms"},
        {{.is_launched_by_none = true}, "index_execution_"},
        {{.is_launched_by_none = true, .workflow = "w3"}, "index_execution_workflow_created_ms"},
        {{.workflow = "w3"}, "index_execution_workflow_created_ms"},
        {{.workflow = "w3*"}, "index_execution_"},
        {{.is_launched_by_none = true, .phases = 1U << TR_EXECUTION_FAILED}, "index_execution_"},
        {{.phases = 1U << TR_EXECUTION_FAILED}, "index_execution_phase_created_ms"},
        {{.phases = tr_execution_phases_unfinished()}, "index_execution_"},
        {{.phases = tr_execution_phases_ended()}, "index_execution_created_ms"},
        {{.is_launched_by_none = true, .labels = labels, .workflow = "w3"}, "index_execution_"},
        {{.is_launched_by_none = true, .labels = labels}, "index_execution_label_key_value_"},
        {{.labels = labels}, "index_execution_label_key_value_created_ms"},
        {{.parent = TEXT("/p/d/e500/")}, "index_execution_parent_created_ms"},
        {{.name = "e77"}, "index_execution_"},
        {{.project = "p", .domain = "d", .name = "e77"}, "index_execution_"},
        {{.since_ms = 1700000000000 + 50000000}, "index_execution_created_ms"},
        {{.until_ms = 1700000000000 + 1000000}, "index_execution_created_ms"},
    };
    struct tr_reader *reader = open_plans();
    bool is_wrong = false;
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        for (int way = 0; way < 3; way++) {
            const char *plan = explain(reader, cases[i].filter, way == 2, way == 1 ? 5000 : 0);
            const char *index = way == 2 ? "Index" : cases[i].index;
            bool is_fine = strstr(plan, index) != NULL && strstr(plan, "Seq Scan") == NULL;
            if (!is_fine || getenv("PLANS") != NULL) {
                print_message("%zu, way %d:\n%s", i, way, plan);
            }
            is_wrong = is_wrong || !is_fine;
        }
    }
    assert_false(is_wrong);
    tr_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_condition, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_labels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all_have_to_hold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_indexes_are_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_indexes_are_used_in_postgres, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
