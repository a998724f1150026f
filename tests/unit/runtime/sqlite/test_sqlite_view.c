/*
 * How SQLite walks through the views: queries use keys and indexes.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "schemas/engine/history_views.h"
#include "tests/unit/runtime/stand.h"

/* Asking for one execution goes down to the keys of the tables; `list` finds its rows by index. */
static void test_queries_do_not_read_everything(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_FOLDER);
    struct tri_store_options options = stand_options(stand);
    struct tri_store *store = NULL;
    options.records = tr_history_schemas;
    options.record_count = tr_history_schema_count;
    options.views = &tr_history_views;
    assert_int_equal(stand_try(stand, &options, NULL, &store), 0);
    tri_store_close(store);
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
        stand_ask(stand, sql, plan, sizeof plan);
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
    stand_free(stand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries_do_not_read_everything),
    };
    return cmocka_run_group_tests_name("sqlite_view", tests, NULL, NULL);
}
