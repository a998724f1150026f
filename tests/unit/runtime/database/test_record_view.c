/*
 * The views of the history as people use them, in each database: their rows, the examples of
 * schemas/README.md and the columns it names, and views whose definition has changed.
 */
#include "runtime/database/record_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/engine/history_views.h"
#include "schemas/engine/state_refresh.h"
#include "tests/unit/runtime/stand.h"

#define MORNING 1763712000000 /* 2025-11-21T08:00:00Z */

static const struct tr_schema *const records[] = {&tr_backend_schema,
                                                  TR_HISTORY_SCHEMAS(TR_SCHEMA_POINTER_ROW)};

static struct tri_store *open_store(struct stand *stand, const struct tr_views *views)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store *store = NULL;
    struct tri_store_options options = stand_options(stand);
    options.records = records;
    options.record_count = TR_COUNT_OF(records);
    options.views = views;
    int error = stand_try(stand, &options, explain, &store);
    if (error != 0) {
        fail_msg("%s: %s", tr_error_name(error), explain);
    }
    return store;
}

/* ---------------------------------------------------------------- a history */

static uint8_t bytes[64][1024];
static struct tri_op ops[64];
static size_t op_count;

static void put(const struct tr_schema *schema, const void *row)
{
    struct tr_writer writer = tr_writer_of(bytes[op_count], sizeof bytes[0]);
    assert_int_equal(schema->pack(row, &writer), 0);
    struct tri_op *op = &ops[op_count];
    *op = (struct tri_op){.kind = TRI_OP_PUT_RECORD,
                          .type = schema->id,
                          .incarnation = schema->version,
                          .data = {bytes[op_count], tr_writer_size(&writer)}};
    assert_int_equal(tri_op_find_row_key(op, schema), 0);
    op_count++;
}

static void put_execution(uint64_t number, const char *name, uint8_t phase)
{
    static const uint8_t graph[] = {0xab, 0xcd};
    struct tr_execution row = {.execution = number,
                               .project = tr_text_of("demo"),
                               .domain = tr_text_of("development"),
                               .name = tr_text_of(name),
                               .workflow = tr_text_of("fan_out"),
                               .phase = phase,
                               .created_ms = MORNING + number,
                               .started_ms = MORNING + 1000,
                               .graph = {graph, sizeof graph},
                               .failed_element = TR_ELEMENT_NONE};
    put(&tr_execution_schema, &row);
}

static void put_label(const char *key, const char *value)
{
    struct tr_execution_label row = {.execution = 16,
                                     .key = tr_text_of(key),
                                     .value = tr_text_of(value),
                                     .created_ms = MORNING + 16};
    put(&tr_execution_label_schema, &row);
}

static void put_phase(uint64_t number, uint8_t subject, const char *path, uint8_t phase,
                      uint64_t after_ms)
{
    bool is_attempt = subject == TR_SUBJECT_TASK;
    struct tr_phase row = {.execution = 16,
                           .actor = {16, 32},
                           .number = number,
                           .subject = subject,
                           .path = tr_text_of(path),
                           .element = is_attempt ? 3 : TR_ELEMENT_NONE,
                           .attempt = is_attempt ? 1 : 0,
                           .phase = phase,
                           .at_ms = MORNING + after_ms,
                           .cause = tr_text_of("because")};
    put(&tr_phase_schema, &row);
}

static void put_block(uint64_t number, uint64_t after_ms, const char *entries)
{
    struct tr_element_block row = {.execution = 16,
                                   .actor = {16, 48},
                                   .number = number,
                                   .path = tr_text_of("squares"),
                                   .base_ms = MORNING + after_ms,
                                   .entries = tr_text_of(entries)};
    put(&tr_element_block_schema, &row);
}

static void put_nodes(void)
{
    struct tr_node_status node = {.execution = 16,
                                  .path = tr_text_of("list"),
                                  .kind = tr_text_of("task"),
                                  .target = tr_text_of("to_list"),
                                  .phase = TR_NODE_PHASE_SUCCEEDED,
                                  .created_ms = MORNING + 1,
                                  .started_ms = MORNING + 20,
                                  .ended_ms = MORNING + 520,
                                  .attempts = 1,
                                  .cache_status = TR_CACHE_STATUS_HIT};
    put(&tr_node_status_schema, &node);
    node.path = tr_text_of("squares");
    node.kind = tr_text_of("map");
    node.phase = TR_NODE_PHASE_FAILED;
    node.failure = TR_FAILURE_USER;
    node.code = tr_text_of("OOM");
    put(&tr_node_status_schema, &node);
    struct tr_attempt attempt = {.execution = 16,
                                 .path = tr_text_of("squares"),
                                 .element = 3,
                                 .attempt = 1,
                                 .phase = TR_TASK_PHASE_PERMANENT_FAILURE,
                                 .plugin = tr_text_of("process"),
                                 .folder = tr_text_of("/made/3"),
                                 .exit_status = 137,
                                 .failure = TR_FAILURE_USER,
                                 .code = tr_text_of("OOM"),
                                 .message = tr_text_of("out of memory")};
    put(&tr_attempt_schema, &attempt);
    attempt.path = tr_text_of("list");
    attempt.element = TR_ELEMENT_NONE;
    attempt.attempt = 0;
    attempt.failure = 0;
    attempt.phase = TR_TASK_PHASE_SUCCESS;
    put(&tr_attempt_schema, &attempt);
    struct tr_progress progress = {
        .execution = 16, .path = tr_text_of("squares"), .total = 4, .succeeded = 2, .failed = 1};
    put(&tr_progress_schema, &progress);
    struct tr_backend backend = {.plugin = tr_text_of("armada"),
                                 .endpoint = tr_text_of("west"),
                                 .at_ms = MORNING,
                                 .jobs = 5000,
                                 .circuit = TR_CIRCUIT_OPEN,
                                 .rate = 2.5,
                                 .fault = tr_text_of("it does not answer"),
                                 .create_calls = 25,
                                 .duplicates = 1};
    put(&tr_backend_schema, &backend);
}

/* Two executions, of which the first has two nodes and an array of four elements. */
static void write_history(struct tri_store *store)
{
    op_count = 0;
    put_execution(16, "first", TR_EXECUTION_FAILED);
    put_execution(32, "second", TR_EXECUTION_RUNNING);
    put_label("team", "data");
    put_label("scratch", "");
    put_nodes();
    put_phase(1, TR_SUBJECT_EXECUTION, "", TR_EXECUTION_QUEUED, 0);
    put_phase(2, TR_SUBJECT_EXECUTION, "", TR_EXECUTION_RUNNING, 10);
    put_phase(3, TR_SUBJECT_NODE, "list", TR_NODE_PHASE_QUEUED, 11);
    put_phase(4, TR_SUBJECT_TASK, "squares", TR_TASK_PHASE_WAITING_FOR_RESOURCES, 300);
    put_block(1, 100, "[[0,0,0,1,2],[1,0,0,1,2],[3,0,5,1,2,8,\"OOM\",\"it's out\"]]");
    put_block(2, 200, "[[0,0,7,4,5],[3,1,8,2,6,\"OOM\",\"again\"],[1,0,9,5]]");
    assert_int_equal(stand_commit(store, store->last_number + 1, ops, op_count), 0);
}

/* ------------------------------------------------------------------- asking */

static void expect(const struct stand *stand, const char *sql, const char *expected)
{
    char text[4096];
    stand_ask(stand, sql, text, sizeof text);
    assert_string_equal(text, expected);
}

static struct stand *begin(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = open_store(stand, &tr_history_views);
    write_history(store);
    tri_store_close(store);
    return stand;
}

/* How many columns a view has; 0: there is none. */
static void expect_columns(const struct stand *stand, const char *view, size_t count)
{
    char sql[256];
    char expected[32];
    if (stand->kind == STAND_POSTGRES) {
        (void)snprintf(sql, sizeof sql,
                       "SELECT count(*) FROM information_schema.columns"
                       " WHERE table_schema = current_schema() AND table_name = '%s'",
                       view);
    } else {
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s')", view);
    }
    (void)snprintf(expected, sizeof expected, "%zu\n", count);
    expect(stand, sql, expected);
}

static void test_each_view_tells_what_was_recorded(void **state)
{
    struct stand *stand = begin(state);
    expect(stand,
           "SELECT execution, name, phase, created_at, started_ms, ended_at, failed_element, graph"
           " FROM executions ORDER BY execution",
           "16|first|failed|2025-11-21T08:00:00.016Z|1763712001000|-|-|abcd\n"
           "32|second|running|2025-11-21T08:00:00.032Z|1763712001000|-|-|abcd\n");
    expect(stand, "SELECT execution_name, key, value FROM labels ORDER BY key",
           "first|scratch|\nfirst|team|data\n");
    expect(stand,
           "SELECT execution_name, path, kind, phase, started_at, attempts, cache, failure, code"
           " FROM nodes ORDER BY path",
           "first|list|task|succeeded|2025-11-21T08:00:00.020Z|1|hit||\n"
           "first|squares|map|failed|2025-11-21T08:00:00.020Z|1|hit|user|OOM\n");
    expect(stand,
           "SELECT path, element, attempt, phase, plugin, folder, exit_status, failure"
           " FROM attempts ORDER BY path",
           "list|-|0|succeeded|process|/made/3|137|\n"
           "squares|3|1|failed|process|/made/3|137|user\n");
    expect(stand,
           "SELECT execution_name, path, element, attempt, phase, at, code, message FROM elements"
           " ORDER BY element",
           "first|squares|0|0|succeeded|2025-11-21T08:00:00.207Z||\n"
           "first|squares|1|0|succeeded|2025-11-21T08:00:00.209Z||\n"
           "first|squares|3|1|failed|2025-11-21T08:00:00.208Z|OOM|again\n");
    expect(stand, "SELECT path, total, succeeded, failed, running FROM arrays",
           "squares|4|2|1|0\n");
    expect(stand,
           "SELECT plugin, endpoint, at, jobs, circuit, rate, fault, create_calls, duplicates"
           " FROM backends",
           "armada|west|2025-11-21T08:00:00.000Z|5000|open|2.5|it does not answer|25|1\n");
    stand_free(stand);
}

/* Who keeps no such records has no view of them. */
static void test_a_view_of_what_is_not_kept_is_none(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store_options options = stand_options(stand);
    struct tri_store *store = NULL;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    options.records = tr_history_schemas;
    options.record_count = tr_history_schema_count;
    options.views = &tr_history_views;
    assert_int_equal(stand_try(stand, &options, explain, &store), 0);
    tri_store_close(store);
    expect_columns(stand, "backends", 0);
    expect_columns(stand, "arrays", 11);
    stand_free(stand);
}

static void test_events_have_all_changes_of_phase(void **state)
{
    struct stand *stand = begin(state);
    expect(stand,
           "SELECT at_ms - 1763712000000, subject, path, element, attempt, phase, code, message"
           " FROM events WHERE execution = 16 ORDER BY at_ms, actor, number, place",
           "0|execution||-|-|queued||\n"
           "10|execution||-|-|running||\n"
           "11|node|list|-|-|queued||\n"
           "100|element|squares|0|0|queued||\n"
           "100|element|squares|0|0|running||\n"
           "100|element|squares|1|0|queued||\n"
           "100|element|squares|1|0|running||\n"
           "105|element|squares|3|0|queued||\n"
           "105|element|squares|3|0|running||\n"
           "105|element|squares|3|0|waiting to retry|OOM|it's out\n"
           "207|element|squares|0|0|succeeding||\n"
           "207|element|squares|0|0|succeeded||\n"
           "208|element|squares|3|1|running||\n"
           "208|element|squares|3|1|failed|OOM|again\n"
           "209|element|squares|1|0|succeeded||\n"
           "300|attempt|squares|3|1|waiting for resources||\n");
    expect(stand,
           "SELECT at, execution_name, cause, actor, number FROM events WHERE subject = 'node'",
           "2025-11-21T08:00:00.011Z|first|because|32|3\n");
    stand_free(stand);
}

/* Every number of every table of words has its word, and no other has one. */
static void test_words_are_those_of_the_tables(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = open_store(stand, &tr_history_views);
    op_count = 0;
    for (uint8_t phase = 0; phase <= TR_EXECUTION_PHASE_COUNT; phase++) {
        put_execution(phase, "x", phase);
    }
    assert_int_equal(stand_commit(store, 1, ops, op_count), 0);
    tri_store_close(store);
    for (uint8_t phase = 0; phase <= TR_EXECUTION_PHASE_COUNT; phase++) {
        char sql[128];
        char expected[64];
        (void)snprintf(sql, sizeof sql, "SELECT phase FROM executions WHERE execution = %u", phase);
        (void)snprintf(expected, sizeof expected, "%s\n", tr_execution_phase_word(phase));
        expect(stand, sql, expected);
    }
    stand_free(stand);
}

static void test_a_changed_view_is_made_anew(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tr_view changed = tr_history_views.views[0];
    struct tr_views older = tr_history_views;
    changed.column_count = 2;
    older.views = &changed;
    older.view_count = 1;
    struct tri_store *store = open_store(stand, &older);
    tri_store_close(store);
    expect_columns(stand, "executions", 2);
    for (int i = 0; i < 2; i++) {
        /* The second time nothing is left to change. */
        store = open_store(stand, &tr_history_views);
        tri_store_close(store);
        expect_columns(stand, "executions", 24);
    }
    /* And back: a view may lose columns, and others stay. */
    store = open_store(stand, &older);
    tri_store_close(store);
    expect_columns(stand, "executions", 2);
    expect_columns(stand, "nodes", 18);
    stand_free(stand);
}

/* What JSON may hold and a database's text may not is no reason to fail. */
static void test_a_zero_in_a_message_is_read(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = open_store(stand, &tr_history_views);
    op_count = 0;
    put_block(1, 100, "[[3,0,5,1,2,8,\"OOM\",\"a\\u0000b\"]]");
    assert_int_equal(stand_commit(store, 1, ops, op_count), 0);
    tri_store_close(store);
    expect(stand, "SELECT element, code FROM elements WHERE message LIKE 'a%'", "3|OOM\n");
    expect(stand, "SELECT count(*) FROM events WHERE message LIKE 'a%'", "1\n");
    stand_free(stand);
}

/* ------------------------------------------------------------------- README */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    (void)fclose(file);
    return text;
}

/* The text without line breaks and repeated blanks. */
static void flatten(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        bool is_blank = *from == ' ' || *from == '\n';
        if (!is_blank || (to > text && to[-1] != ' ')) {
            *to++ = is_blank ? ' ' : *from;
        }
    }
    *to = '\0';
}

static void test_the_readme_names_all_columns(void **state)
{
    (void)state; /* the same for each */
    char *readme = read_file(TROUPE_SOURCE_DIR "/schemas/README.md");
    flatten(readme);
    for (size_t i = 0; i < tr_history_views.view_count; i++) {
        const struct tr_view *view = &tr_history_views.views[i];
        char expected[4096];
        size_t at =
            (size_t)snprintf(expected, sizeof expected, "**`%s`**: %s. ", view->name, view->text);
        for (size_t k = 0; k < view->column_count; k++) {
            at += (size_t)snprintf(expected + at, sizeof expected - at, "`%s` %s%s",
                                   view->columns[k].name, view->columns[k].text,
                                   k + 1 < view->column_count ? "; " : ".");
        }
        assert_true(at < sizeof expected);
        if (strstr(readme, expected) == NULL) {
            fail_msg("schemas/README.md does not say:\n%s", expected);
        }
    }
    free(readme);
}

/* Runs each statement between the headline and the next one: indented lines up to a semicolon. */
static size_t run_examples(const struct stand *stand, char *text)
{
    char sql[2048] = "";
    size_t size = 0;
    size_t count = 0;
    for (char *line = strtok(text, "\n"); line != NULL && line[0] != '#';
         line = strtok(NULL, "\n")) {
        if (strncmp(line, "    ", 4) != 0 || strstr(line, "sqlite3 ") != NULL ||
            strstr(line, "psql ") != NULL) {
            continue;
        }
        size += (size_t)snprintf(sql + size, sizeof sql - size, "%s\n", line);
        assert_true(size < sizeof sql);
        if (strchr(line, ';') != NULL) {
            char rows[4096];
            stand_ask(stand, sql, rows, sizeof rows);
            if (rows[0] == '\0') {
                fail_msg("no rows: %s", sql);
            }
            size = 0;
            count++;
        }
    }
    assert_int_equal(size, 0);
    return count;
}

static void test_the_readme_s_examples_run(void **state)
{
    struct stand *stand = begin(state);
    char *readme = read_file(TROUPE_SOURCE_DIR "/schemas/README.md");
    char *begin_at = strstr(readme, "## History with plain SQL");
    assert_non_null(begin_at);
    assert_true(run_examples(stand, strchr(begin_at, '\n') + 1) >= 5);
    free(readme);
    stand_free(stand);
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND_TEST(test_each_view_tells_what_was_recorded),
        STAND_TEST(test_a_view_of_what_is_not_kept_is_none),
        STAND_TEST(test_events_have_all_changes_of_phase),
        STAND_TEST(test_words_are_those_of_the_tables),
        STAND_TEST(test_a_changed_view_is_made_anew),
        STAND_TEST(test_a_zero_in_a_message_is_read),
        STAND_TEST(test_the_readme_names_all_columns),
        STAND_TEST(test_the_readme_s_examples_run),
    };
    return stand_run_databases("record_view", tests, TR_COUNT_OF(tests));
}
