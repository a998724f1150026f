/*
 * The views of the history as people use them: their rows, the examples of schemas/README.md and
 * the columns it names, queries that use keys and indexes, and views whose definition has changed.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

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

static sqlite3 *open_database(const struct stand *stand)
{
    char path[128];
    sqlite3 *database = NULL;
    stand_path(stand, "troupe.db", path, sizeof path);
    assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    return database;
}

/* All rows as lines, columns with a bar between, NULL as `-`. */
static void ask(sqlite3 *database, const char *sql, char *text, size_t size)
{
    sqlite3_stmt *statement = NULL;
    size_t at = 0;
    text[0] = '\0';
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    }
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *column = (const char *)sqlite3_column_text(statement, i);
            int length = snprintf(text + at, size - at, "%s%s", i == 0 ? "" : "|",
                                  column != NULL ? column : "-");
            assert_true(length >= 0 && (size_t)length < size - at);
            at += (size_t)length;
        }
        assert_true(at + 1 < size);
        text[at++] = '\n';
        text[at] = '\0';
    }
    if (code != SQLITE_DONE) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    }
    sqlite3_finalize(statement);
}

static void expect(sqlite3 *database, const char *sql, const char *expected)
{
    char text[4096];
    ask(database, sql, text, sizeof text);
    assert_string_equal(text, expected);
}

static struct stand *begin(sqlite3 **database)
{
    struct stand *stand = stand_new(STAND_FOLDER);
    struct tri_store *store = open_store(stand, &tr_history_views);
    write_history(store);
    tri_store_close(store);
    *database = open_database(stand);
    return stand;
}

static void end(struct stand *stand, sqlite3 *database)
{
    sqlite3_close(database);
    stand_free(stand);
}

static void test_each_view_tells_what_was_recorded(void **state)
{
    (void)state;
    sqlite3 *database = NULL;
    struct stand *stand = begin(&database);
    expect(database,
           "SELECT execution, name, phase, created_at, started_ms, ended_at, failed_element, graph"
           " FROM executions ORDER BY execution",
           "16|first|failed|2025-11-21T08:00:00.016Z|1763712001000|-|-|abcd\n"
           "32|second|running|2025-11-21T08:00:00.032Z|1763712001000|-|-|abcd\n");
    expect(database, "SELECT execution_name, key, value FROM labels ORDER BY key",
           "first|scratch|\nfirst|team|data\n");
    expect(database,
           "SELECT execution_name, path, kind, phase, started_at, attempts, cache, failure, code"
           " FROM nodes ORDER BY path",
           "first|list|task|succeeded|2025-11-21T08:00:00.020Z|1|hit||\n"
           "first|squares|map|failed|2025-11-21T08:00:00.020Z|1|hit|user|OOM\n");
    expect(database,
           "SELECT path, element, attempt, phase, plugin, folder, exit_status, failure"
           " FROM attempts ORDER BY path",
           "list|-|0|succeeded|process|/made/3|137|\n"
           "squares|3|1|failed|process|/made/3|137|user\n");
    expect(database,
           "SELECT execution_name, path, element, attempt, phase, at, code, message FROM elements"
           " ORDER BY element",
           "first|squares|0|0|succeeded|2025-11-21T08:00:00.207Z||\n"
           "first|squares|1|0|succeeded|2025-11-21T08:00:00.209Z||\n"
           "first|squares|3|1|failed|2025-11-21T08:00:00.208Z|OOM|again\n");
    expect(database, "SELECT path, total, succeeded, failed, running FROM arrays",
           "squares|4|2|1|0\n");
    expect(database,
           "SELECT plugin, endpoint, at, jobs, circuit, rate, fault, create_calls, duplicates"
           " FROM backends",
           "armada|west|2025-11-21T08:00:00.000Z|5000|open|2.5|it does not answer|25|1\n");
    end(stand, database);
}

/* Who keeps no such records has no view of them. */
static void test_a_view_of_what_is_not_kept_is_none(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_FOLDER);
    struct tri_store_options options = stand_options(stand);
    struct tri_store *store = NULL;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    options.records = tr_history_schemas;
    options.record_count = tr_history_schema_count;
    options.views = &tr_history_views;
    assert_int_equal(stand_try(stand, &options, explain, &store), 0);
    tri_store_close(store);
    sqlite3 *database = open_database(stand);
    expect(database, "SELECT count(*) FROM sqlite_schema WHERE name = 'backends'", "0\n");
    expect(database, "SELECT count(*) FROM sqlite_schema WHERE name = 'arrays'", "1\n");
    end(stand, database);
}

static void test_events_have_all_changes_of_phase(void **state)
{
    (void)state;
    sqlite3 *database = NULL;
    struct stand *stand = begin(&database);
    expect(database,
           "SELECT at_ms - 1763712000000, subject, path, element, attempt, phase, code, message"
           " FROM events WHERE execution = 16 ORDER BY at_ms, actor, number, element",
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
    expect(database,
           "SELECT at, execution_name, cause, actor, number FROM events WHERE subject = 'node'",
           "2025-11-21T08:00:00.011Z|first|because|32|3\n");
    end(stand, database);
}

/* Every number of every table of words has its word, and no other has one. */
static void test_words_are_those_of_the_tables(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_FOLDER);
    struct tri_store *store = open_store(stand, &tr_history_views);
    op_count = 0;
    for (uint8_t phase = 0; phase <= TR_EXECUTION_PHASE_COUNT; phase++) {
        put_execution(phase, "x", phase);
    }
    assert_int_equal(stand_commit(store, 1, ops, op_count), 0);
    tri_store_close(store);
    sqlite3 *database = open_database(stand);
    for (uint8_t phase = 0; phase <= TR_EXECUTION_PHASE_COUNT; phase++) {
        char sql[128];
        char expected[64];
        (void)snprintf(sql, sizeof sql, "SELECT phase FROM executions WHERE execution = %u", phase);
        (void)snprintf(expected, sizeof expected, "%s\n", tr_execution_phase_word(phase));
        expect(database, sql, expected);
    }
    end(stand, database);
}

/* Asking for one execution goes down to the keys of the tables; `list` finds its rows by index. */
static void test_queries_do_not_read_everything(void **state)
{
    (void)state;
    sqlite3 *database = NULL;
    struct stand *stand = begin(&database);
    static const struct {
        const char *sql;
        const char *tables[4]; /* each is searched, none of them is scanned */
    } queries[] = {
        {"SELECT * FROM events WHERE execution = 16 ORDER BY at_ms", {"r", "o"}},
        {"SELECT * FROM elements WHERE execution = 16", {"r", "o"}},
        {"SELECT * FROM nodes WHERE execution = 16 AND path = 'list'", {"r", "o"}},
        {"SELECT * FROM attempts WHERE execution = 16", {"r"}},
        {"SELECT * FROM executions WHERE name = 'first'", {"r"}},
        {"SELECT * FROM executions WHERE project = 'a' AND domain = 'b' AND name = 'c'", {"r"}},
        {"SELECT * FROM record_execution WHERE phase = 2 ORDER BY created_ms DESC",
         {"record_execution"}},
        {"SELECT * FROM record_execution WHERE phase = 1", {"record_execution"}},
        {"SELECT * FROM record_execution WHERE created_ms > 5", {"record_execution"}},
        {"SELECT * FROM record_execution WHERE ended_ms > 5", {"record_execution"}},
        {"SELECT * FROM record_execution WHERE parent = '' ORDER BY created_ms",
         {"record_execution"}},
        {"SELECT * FROM labels WHERE execution = 16", {"r", "o"}},
        {"SELECT execution FROM labels WHERE key = 'team' AND value = 'data'", {"r"}},
        {"SELECT e.name FROM executions AS e JOIN labels AS l USING (execution)"
         " WHERE l.key = 'team' AND l.value = 'data'",
         {"r"}},
    };
    for (size_t i = 0; i < TR_COUNT_OF(queries); i++) {
        char sql[256];
        char plan[4096];
        (void)snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", queries[i].sql);
        ask(database, sql, plan, sizeof plan);
        for (size_t k = 0; queries[i].tables[k] != NULL; k++) {
            char search[64];
            char scan[64];
            (void)snprintf(search, sizeof search, "SEARCH %s USING", queries[i].tables[k]);
            (void)snprintf(scan, sizeof scan, "SCAN %s", queries[i].tables[k]);
            const char *scanned = strstr(plan, scan);
            bool is_scan = scanned != NULL && !isalnum((unsigned char)scanned[strlen(scan)]);
            if (strstr(plan, search) == NULL || is_scan) {
                fail_msg("%s:\n%s", queries[i].sql, plan);
            }
        }
    }
    end(stand, database);
}

static void test_a_changed_view_is_made_anew(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_FOLDER);
    struct tr_view changed = tr_history_views.views[0];
    struct tr_views older = tr_history_views;
    changed.column_count = 2;
    older.views = &changed;
    older.view_count = 1;
    struct tri_store *store = open_store(stand, &older);
    tri_store_close(store);
    sqlite3 *database = open_database(stand);
    expect(database, "SELECT group_concat(name) FROM pragma_table_info('executions')",
           "execution,name\n");
    sqlite3_close(database);
    for (int i = 0; i < 2; i++) {
        store = open_store(stand, &tr_history_views);
        tri_store_close(store);
        database = open_database(stand);
        expect(database, "SELECT count(*) FROM pragma_table_info('executions')", "24\n");
        /* The second time nothing is left to change. */
        expect(database, "SELECT count(*) FROM sqlite_schema WHERE type = 'view'", "9\n");
        sqlite3_close(database);
    }
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
    (void)state;
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
static size_t run_examples(sqlite3 *database, char *text)
{
    char sql[2048] = "";
    size_t size = 0;
    size_t count = 0;
    for (char *line = strtok(text, "\n"); line != NULL && line[0] != '#';
         line = strtok(NULL, "\n")) {
        if (strncmp(line, "    ", 4) != 0 || strstr(line, "sqlite3 ") != NULL) {
            continue;
        }
        size += (size_t)snprintf(sql + size, sizeof sql - size, "%s\n", line);
        assert_true(size < sizeof sql);
        if (strchr(line, ';') != NULL) {
            char rows[4096];
            ask(database, sql, rows, sizeof rows);
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
    (void)state;
    sqlite3 *database = NULL;
    struct stand *stand = begin(&database);
    char *readme = read_file(TROUPE_SOURCE_DIR "/schemas/README.md");
    char *begin_at = strstr(readme, "## History with plain SQL");
    assert_non_null(begin_at);
    assert_true(run_examples(database, strchr(begin_at, '\n') + 1) >= 5);
    free(readme);
    end(stand, database);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_view_tells_what_was_recorded),
        cmocka_unit_test(test_a_view_of_what_is_not_kept_is_none),
        cmocka_unit_test(test_events_have_all_changes_of_phase),
        cmocka_unit_test(test_words_are_those_of_the_tables),
        cmocka_unit_test(test_queries_do_not_read_everything),
        cmocka_unit_test(test_a_changed_view_is_made_anew),
        cmocka_unit_test(test_the_readme_names_all_columns),
        cmocka_unit_test(test_the_readme_s_examples_run),
    };
    return cmocka_run_group_tests_name("sqlite_view", tests, NULL, NULL);
}
