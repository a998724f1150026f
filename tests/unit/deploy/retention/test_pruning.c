/*
 * What a store forgets: what is named stays, wherever the name stands; what has ended goes in
 * shares; and an engine that stays keeps to its retention.
 */
#include "deploy/retention/pruning.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/common/clock.h"
#include "deploy/graphs/graphs.h"
#include "deploy/retention/janitor.h"
#include "deploy/retention/removal_lock.h"
#include "deploy/server/serve.h"
#include "runtime/blob/blob.h"
#include "schemas/engine/entity.h"
#include "schemas/engine/retention.h"
#include "schemas/engine/state_workflow.h"
#include "tests/unit/deploy/help.h"
#include "tests/unit/deploy/past.h"

#define OLD 16    /* ended at PAST_MS + 1000 */
#define YOUNG 32  /* ended an hour later */
#define LIVING 48 /* has not ended */
#define HOUR_MS 3600000ULL

/* More than two shares of rows. */
#define ROWS (2 * TR_FORGET_ROWS_MAX + 7)

static const char *folder;
static struct tr_graph *graph;
static struct tr_bytes hash;
static char explain[TRI_STORE_EXPLAIN_BYTES];

static void write_execution(uint64_t number, const char *name, uint8_t phase, uint64_t ended_ms)
{
    PAST(execution, .execution = number, .project = tr_text_of("default"),
         .domain = tr_text_of("development"), .name = tr_text_of(name),
         .workflow = tr_text_of("main"), .phase = phase, .created_ms = PAST_MS,
         .ended_ms = ended_ms, .graph = hash);
    PAST(phase, .execution = number, .actor = {number, 1}, .number = 1, .at_ms = PAST_MS);
}

static int open_past(void **state)
{
    (void)state;
    folder = help_folder_enter();
    graph = help_graph(
        "troupe: 1\ntasks: {t: {run: [x]}}\nworkflows: {main: {nodes: {t: {task: t}}}}\n");
    past_open(folder);
    hash = past_keep_graph(graph);
    write_execution(OLD, "old", TR_EXECUTION_SUCCEEDED, PAST_MS + 1000);
    write_execution(YOUNG, "young", TR_EXECUTION_FAILED, PAST_MS + HOUR_MS);
    return 0;
}

static int close_past(void **state)
{
    (void)state;
    tr_graph_free(graph);
    help_folder_leave();
    return 0;
}

static uint64_t count_rows(const struct tr_schema *record, uint64_t execution)
{
    struct tr_reader *reader;
    struct tr_reader_filter filter = tr_filter_number("execution", TR_FILTER_EQUAL, execution);
    struct tr_reader_query query = {.record = record, .filters = &filter, .filter_count = 1};
    uint64_t count = 0;
    assert_int_equal(tr_history_open(folder, explain, &reader), 0);
    assert_int_equal(tr_reader_count(reader, &query, &count), 0);
    tr_reader_close(reader);
    return count;
}

/* ---------------------------------------------------------------------- what is named */

/* Whether blobs are named as older stores have it: by their paths. */
static bool names_paths;

/* Stores a value in the blob store. */
static void put(const char *text, char uri[512])
{
    struct tri_blobs *blobs;
    struct tri_blob blob;
    assert_int_equal(tri_blobs_open_beside(folder, &blobs), 0);
    struct tr_bytes bytes = {.data = (const uint8_t *)text, .size = strlen(text)};
    assert_int_equal(tri_blob_write(blobs, tr_text_of("v"), 0, bytes, true, &blob), 0);
    snprintf(uri, 512, "%.511s", names_paths ? blob.path : blob.uri);
    tri_blobs_close(blobs);
}

static void write_value(uint64_t execution, const char *uri)
{
    uint8_t slots[600] = {0x91, 0xd9, (uint8_t)strlen(uri)};
    memcpy(slots + 3, uri, strlen(uri));
    PAST(node_value, .execution = execution, .path = tr_text_of("t"), .side = TR_VALUE_OUTPUTS,
         .slots = {slots, strlen(uri) + 3});
}

static void prune(const struct tr_prune_request *request, struct tr_pruned *pruned)
{
    struct tr_prune_request whole = *request;
    whole.folder = folder;
    whole.unnamed_before_ms =
        whole.unnamed_before_ms == 0 ? tr_clock_wall_ms() + 1 : whole.unnamed_before_ms;
    if (tr_prune(&whole, NULL, explain, pruned) != 0) {
        fail_msg("%s", explain);
    }
}

/* Where a blob lies, by any of its names; another path is as it is. */
static const char *place_of(const char *name)
{
    static char path[600];
    struct tr_text blob = tr_blob_uri_name(tr_text_of(name));
    if (blob.size == 0) {
        return name;
    }
    snprintf(path, sizeof path, "blobs/%.*s", (int)blob.size, blob.data);
    return path;
}

static bool is_there(const char *name)
{
    return access(place_of(name), F_OK) == 0;
}

static void what_is_named_stays(void **state)
{
    (void)state;
    enum { IN_HISTORY, IN_STATE, IN_PAGES, IN_VALUE, IN_CACHE, IN_INPUTS, NOWHERE, COUNT };
    static const char *const texts[COUNT] = {"history", "state",  "pages",  NULL,
                                             "cache",   "inputs", "nowhere"};
    char uris[COUNT][512];
    char inner[512];
    char large[600];
    struct tr_pruned pruned;
    put("inner", inner);
    snprintf(large, sizeof large, "[\"%s\"]", inner);
    for (size_t i = 0; i < COUNT; i++) {
        put(texts[i] != NULL ? texts[i] : large, uris[i]);
    }
    write_value(OLD, uris[IN_HISTORY]);
    write_value(YOUNG, uris[IN_VALUE]);
    struct tr_key actor = {LIVING, 1};
    past_actor(&(struct past_actor){.key = actor,
                                    .behaviour = 100,
                                    .name = uris[IN_STATE],
                                    .schema = &tr_launcher_state_schema,
                                    .state = &(struct tr_launcher_state){.live = 0}});
    size_t cut = strlen(uris[IN_PAGES]) - 30;
    past_page(actor, 1, (struct tr_bytes){(const uint8_t *)uris[IN_PAGES], cut});
    past_page(actor, 9, (struct tr_bytes){(const uint8_t *)uris[IN_PAGES] + cut, 30});
    past_close();
    assert_int_equal(mkdir("cache", 0700), 0);
    assert_int_equal(mkdir("cache/ab", 0700), 0);
    help_write("cache/ab/abcd", uris[IN_CACHE]);
    char inputs[700];
    snprintf(inputs, sizeof inputs, "%s-inputs.json", place_of(uris[NOWHERE]));
    assert_int_equal(rename(place_of(uris[NOWHERE]), inputs), 0);
    prune(&(struct tr_prune_request){.is_dry = true}, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_BLOBS].count, 2);
    assert_true(is_there(inputs));
    prune(&(struct tr_prune_request){.unnamed_before_ms = tr_clock_wall_ms() - HOUR_MS}, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_BLOBS].count, 0);
    prune(&(struct tr_prune_request){.executions_before_ms = 0}, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_BLOBS].count, 2);
    assert_int_equal(pruned.parts[TR_PRUNED_BLOBS].bytes, strlen("nowhere") + strlen("inputs"));
    assert_int_equal(pruned.parts[TR_PRUNED_GRAPHS].count, 0);
    assert_false(is_there(inputs));
    assert_false(is_there(uris[IN_INPUTS]));
    for (size_t i = 0; i < IN_INPUTS; i++) {
        assert_true(is_there(uris[i]));
    }
    assert_true(is_there(inner));
}

static void what_older_stores_name_stays(void **state)
{
    names_paths = true;
    what_is_named_stays(state);
    names_paths = false;
}

static void what_would_be_forgotten_names_nothing(void **state)
{
    (void)state;
    char uri[512];
    struct tr_pruned pruned;
    put("x", uri);
    write_value(OLD, uri);
    past_close();
    prune(&(struct tr_prune_request){.is_dry = true, .executions_before_ms = PAST_MS + 2000},
          &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_EXECUTIONS].count, 1);
    assert_int_equal(pruned.parts[TR_PRUNED_BLOBS].count, 1);
    assert_true(is_there(uri));
    prune(&(struct tr_prune_request){.is_dry = true,
                                     .executions_before_ms = PAST_MS + 2 * HOUR_MS,
                                     .filter.phases = 1U << TR_EXECUTION_FAILED},
          &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_EXECUTIONS].count, 1);
    assert_int_equal(pruned.parts[TR_PRUNED_BLOBS].count, 0);
    assert_int_equal(count_rows(&tr_execution_schema, OLD), 1);
}

/* What still writes rows of an execution would leave one behind. */
static void who_is_still_to_be_told_is_not_forgotten(void **state)
{
    (void)state;
    static const uint64_t number = OLD;
    struct tr_pruned pruned;
    PAST(notification_row, .execution = OLD, .key = tr_text_of("a"),
         .status = TR_NOTIFICATION_RETRYING);
    PAST(notification_row, .execution = YOUNG, .key = tr_text_of("b"),
         .status = TR_NOTIFICATION_GIVEN_UP);
    past_close();
    prune(&(struct tr_prune_request){.is_dry = true, .executions_before_ms = PAST_MS + 2 * HOUR_MS},
          &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_EXECUTIONS].count, 1);
    struct tr_prune_request named = {
        .folder = folder, .is_dry = true, .executions = &number, .execution_count = 1};
    explain[0] = '\0';
    assert_int_equal(tr_prune(&named, NULL, explain, &pruned), TR_BUSY);
    assert_string_equal(explain, "notifications of old are still to be delivered; `troupe explain "
                                 "old` says how they stand");
}

static struct tr_label_selector selector(struct tr_arena *arena, const char *words)
{
    char problem[TR_LABEL_PROBLEM_BYTES];
    struct tr_label_selector labels = {0};
    assert_int_equal(tr_label_selector_read(arena, tr_text_of(words), &labels, problem), 0);
    return labels;
}

/* The first rule that holds decides, also against what holds for all others. */
static void labels_decide_how_long(void **state)
{
    (void)state;
    struct tr_arena arena;
    struct tr_pruned pruned;
    static const char *const labels[] = {"keep=,team=data", "team=data", "team=web", ""};
    for (uint64_t i = 0; i < TR_COUNT_OF(labels); i++) {
        PAST(execution, .execution = 64 + 16 * i, .name = tr_text_of("x"),
             .phase = TR_EXECUTION_SUCCEEDED, .created_ms = PAST_MS, .ended_ms = PAST_MS + 1000,
             .graph = hash, .labels = tr_text_of(labels[i]));
    }
    past_close();
    tr_arena_init(&arena);
    struct tr_retention_rule rules[] = {{selector(&arena, "keep"), 0},
                                        {selector(&arena, "team=data"), HOUR_MS},
                                        {selector(&arena, "team"), 4 * HOUR_MS}};
    struct tr_prune_request request = {.is_dry = true,
                                       .rules = rules,
                                       .rule_count = TR_COUNT_OF(rules),
                                       .now_ms = PAST_MS + 2 * HOUR_MS};
    prune(&request, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_EXECUTIONS].count, 1);
    request.now_ms = PAST_MS + 5 * HOUR_MS;
    prune(&request, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_EXECUTIONS].count, 2);
    request.executions_before_ms = PAST_MS + 2000; /* of those without a rule: OLD, and one more */
    prune(&request, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_EXECUTIONS].count, 4);
    tr_arena_fini(&arena);
}

/* What an unfinished execution may have begun to write is not touched. */
static void what_is_unfinished_keeps_its_pieces(void **state)
{
    (void)state;
    struct tr_pruned pruned;
    struct tri_blobs *blobs;
    struct tri_blob blob;
    uint64_t living = LIVING;
    write_execution(LIVING, "living", TR_EXECUTION_RUNNING, 0);
    past_close();
    assert_int_equal(tri_blobs_open_beside(folder, &blobs), 0);
    struct tr_bytes piece = {.data = (const uint8_t *)"piece", .size = 5};
    assert_int_equal(tri_blob_write(blobs, tr_text_of("v"), 0, piece, false, &blob), 0);
    tri_blobs_close(blobs);
    prune(&(struct tr_prune_request){.executions_before_ms = 0}, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_BLOBS].count, 0);
    assert_true(is_there("blobs/.pieces/v"));
    struct tr_prune_request request = {
        .folder = folder, .executions = &living, .execution_count = 1};
    assert_int_equal(tr_prune(&request, NULL, explain, &pruned), TR_BUSY);
    assert_non_null(strstr(explain, "living has not ended (running)"));
}

/* -------------------------------------------------------------- beside a live engine */

static struct tr_live *live;
static struct tr_serve *serve;

static void open_engine(void)
{
    struct tr_live_options options = {
        .folder = folder, .durability = TR_DURABILITY_PROCESS, .jobs = 1, .command = "test"};
    if (tr_live_open(&options, explain, &live) != 0) {
        fail_msg("%s", explain);
    }
    assert_int_equal(tr_serve_new(live, &serve), 0);
}

static void close_engine(void)
{
    tr_serve_free(serve);
    tr_live_close(live);
}

/* Lets the engine go on until a retention has been kept once; false: it does nothing. */
static bool keep(struct tr_retaining *retaining, struct tr_pruned *pruned)
{
    do {
        assert_int_equal(tr_live_rest(live, 1), 0);
        tr_serve_step(serve);
        if (tr_retaining_step(retaining, pruned, explain)) {
            return true;
        }
    } while (retaining->janitor != NULL);
    return false;
}

static void a_retention_is_kept(void **state)
{
    (void)state;
    struct tr_pruned pruned;
    struct tr_retaining retaining = {.folder = folder};
    for (uint64_t i = 0; i < ROWS; i++) {
        PAST(attempt, .execution = OLD, .path = tr_text_of("t"), .element = i,
             .folder = tr_text_of("/x"), .plugin = tr_text_of("process"));
    }
    PAST(progress, .execution = YOUNG, .path = tr_text_of("t"));
    past_close();
    open_engine();
    assert_false(keep(&retaining, &pruned));
    assert_int_equal(count_rows(&tr_attempt_schema, OLD), ROWS);
    retaining.retention.executions_ms = tr_clock_wall_ms() - (PAST_MS + 2000);
    assert_true(keep(&retaining, &pruned));
    assert_string_equal(explain, "");
    assert_int_equal(pruned.parts[TR_PRUNED_EXECUTIONS].count, 1);
    for (size_t i = 0; i < tr_history_schema_count; i++) {
        assert_int_equal(count_rows(tr_history_schemas[i], OLD), 0);
    }
    assert_int_equal(count_rows(&tr_execution_schema, YOUNG), 1);
    assert_int_equal(count_rows(&tr_progress_schema, YOUNG), 1);
    /* Once an hour, and not before. */
    assert_false(keep(&retaining, &pruned));
    retaining.next_ms = 0;
    assert_true(keep(&retaining, &pruned));
    assert_int_equal(pruned.parts[TR_PRUNED_EXECUTIONS].count, 0);
    tr_retaining_fini(&retaining);
    close_engine();
}

static uint64_t count_audit(void)
{
    struct tr_reader *reader;
    const struct tr_reader_query query = {.record = &tr_audit_schema};
    uint64_t count = 0;
    assert_int_equal(tr_history_open(folder, explain, &reader), 0);
    assert_int_equal(tr_reader_count(reader, &query, &count), 0);
    tr_reader_close(reader);
    return count;
}

/* More than two shares, of which some are of one moment; what is younger stays. */
static void the_audit_goes_by_age(void **state)
{
    (void)state;
    struct tr_pruned pruned;
    struct tr_retaining retaining = {.folder = folder};
    for (uint64_t i = 0; i < ROWS + 3; i++) {
        PAST(audit, .at_ms = PAST_MS + (i < ROWS ? i / 10 : HOUR_MS), .number = i,
             .call = tr_text_of("CreateExecution"));
    }
    past_close();
    const struct tr_prune_request dry = {.is_dry = true, .audit_before_ms = PAST_MS + 2000};
    prune(&dry, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_AUDIT].count, ROWS);
    bool needs_engine = false;
    struct tr_prune_request request = {.folder = folder, .audit_before_ms = PAST_MS + 2000};
    assert_int_equal(tr_prune_needs_engine(&request, explain, &needs_engine), 0);
    assert_true(needs_engine);
    assert_int_equal(count_audit(), ROWS + 3);
    open_engine();
    retaining.retention.audit_ms = tr_clock_wall_ms() - (PAST_MS + 2000);
    assert_true(keep(&retaining, &pruned));
    assert_string_equal(explain, "");
    assert_int_equal(pruned.parts[TR_PRUNED_AUDIT].count, ROWS);
    assert_int_equal(pruned.parts[TR_PRUNED_EXECUTIONS].count, 0);
    assert_int_equal(count_audit(), 3);
    assert_int_equal(count_rows(&tr_execution_schema, OLD), 1);
    tr_retaining_fini(&retaining);
    close_engine();
}

/* Nothing goes, nothing is told, and it is tried again soon. */
static void a_store_that_is_copied_is_left_alone(void **state)
{
    (void)state;
    struct tr_pruned pruned;
    struct tr_retaining retaining = {
        .folder = folder,
        .retention.executions_ms = tr_clock_wall_ms() - (PAST_MS + 2000),
    };
    int lock = -1;
    past_close();
    open_engine();
    assert_int_equal(tr_removal_lock_take(folder, TR_REMOVAL_BARRED, explain, &lock), 0);
    assert_false(keep(&retaining, &pruned));
    assert_string_equal(explain, "");
    assert_int_equal(count_rows(&tr_execution_schema, OLD), 1);
    uint64_t wait_ms = retaining.next_ms - tr_clock_ms();
    assert_true(wait_ms > 0 && wait_ms <= 60000);
    close(lock);
    retaining.next_ms = 0;
    assert_true(keep(&retaining, &pruned));
    assert_int_equal(pruned.parts[TR_PRUNED_EXECUTIONS].count, 1);
    tr_retaining_fini(&retaining);
    close_engine();
}

static void who_is_unknown_is_forgotten(void **state)
{
    (void)state;
    struct tr_forgotten forgotten;
    past_close();
    open_engine();
    struct tri_client *client;
    struct tri_request answer;
    uint32_t number;
    uint64_t living = LIVING;
    struct tr_forget forget = {
        .executions = {.data = (const uint8_t *)&living, .size = sizeof living}};
    assert_int_equal(tri_client_open(folder, &client), 0);
    assert_int_equal(tri_client_ask(client, &tr_forget_schema, &forget, &number), 0);
    while (tri_client_next(client, -1, 1, &answer) != 0) {
        assert_int_equal(tr_live_rest(live, 1), 0);
        tr_serve_step(serve);
    }
    assert_int_equal(tr_forgotten_unpack(answer.body, answer.version, &forgotten), 0);
    assert_int_equal(forgotten.error, 0);
    assert_int_equal(forgotten.done, 1);
    tri_client_close(client);
    close_engine();
}

/* ------------------------------------------------------------------- folders and cache */

static void folders_and_results_go_by_age(void **state)
{
    (void)state;
    static const char *const folders[] = {"attempts",
                                          "attempts/default",
                                          "attempts/default/development",
                                          "attempts/default/development/old",
                                          "attempts/default/development/young",
                                          "attempts/default/development/living",
                                          "attempts/default/development/living/ended",
                                          "attempts/default/development/living/running"};
    char path[600];
    struct tr_pruned pruned;
    write_execution(LIVING, "living", TR_EXECUTION_RUNNING, 0);
    for (size_t i = 0; i < TR_COUNT_OF(folders); i++) {
        assert_int_equal(mkdir(folders[i], 0700), 0);
        snprintf(path, sizeof path, "%s/file", folders[i]);
        help_write(path, "12345");
    }
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, folders[6 + i]);
        PAST(attempt, .execution = LIVING, .path = tr_text_of("t"), .attempt = i,
             .folder = tr_text_of(path), .ended_ms = i == 0 ? PAST_MS + 500 : 0);
    }
    past_close();
    assert_int_equal(mkdir("cache", 0700), 0);
    assert_int_equal(mkdir("cache/ab", 0700), 0);
    help_write("cache/ab/abcd", "x");
    struct tr_prune_request request = {.attempts_before_ms = PAST_MS + 2000,
                                       .cache_before_ms = tr_clock_wall_ms() - HOUR_MS};
    request.is_dry = true;
    prune(&request, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_ATTEMPTS].count, 2);
    assert_int_equal(pruned.parts[TR_PRUNED_ATTEMPTS].bytes, 10);
    request.is_dry = false;
    prune(&request, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_ATTEMPTS].count, 2);
    assert_false(is_there(folders[3]));
    assert_true(is_there(folders[4]));
    assert_false(is_there(folders[6]));
    assert_true(is_there(folders[7]));
    assert_int_equal(pruned.parts[TR_PRUNED_CACHE].count, 0);
    request.cache_before_ms = tr_clock_wall_ms() + HOUR_MS;
    prune(&request, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_CACHE].count, 1);
    assert_false(is_there("cache/ab/abcd"));
}

/* Of hosts beside each other each has folders of its own, and one of them forgets. */
static void what_another_host_has_forgotten_goes(void **state)
{
    (void)state;
    static const char *const folders[] = {
        "attempts", "attempts/default", "attempts/default/development",
        "attempts/default/development/old", "attempts/default/development/gone"};
    struct tr_pruned pruned;
    struct tr_graph *other = help_graph(
        "troupe: 1\ntasks: {u: {run: [x]}}\nworkflows: {main: {nodes: {u: {task: u}}}}\n");
    (void)past_keep_graph(other);
    tr_graph_free(other);
    past_close();
    for (size_t i = 0; i < TR_COUNT_OF(folders); i++) {
        assert_int_equal(mkdir(folders[i], 0700), 0);
    }
    struct tr_prune_request request = {.is_one_of_several = true,
                                       .is_only_own = true,
                                       .unnamed_before_ms = tr_clock_wall_ms() - HOUR_MS};
    prune(&request, &pruned);
    assert_true(is_there(folders[4])); /* it may have begun just now */
    request.unnamed_before_ms = tr_clock_wall_ms() + HOUR_MS;
    prune(&request, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_ATTEMPTS].count, 1);
    assert_int_equal(pruned.parts[TR_PRUNED_GRAPHS].count, 0);
    assert_true(is_there(folders[3]));
    assert_false(is_there(folders[4]));
}

static void a_graph_that_nobody_names_goes(void **state)
{
    (void)state;
    struct tr_pruned pruned;
    struct tr_graph *read = NULL;
    struct tr_graph *other = help_graph(
        "troupe: 1\ntasks: {u: {run: [x]}}\nworkflows: {main: {nodes: {u: {task: u}}}}\n");
    struct tr_bytes kept = past_keep_graph(other);
    past_close();
    prune(&(struct tr_prune_request){.unnamed_before_ms = tr_clock_wall_ms() - HOUR_MS}, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_GRAPHS].count, 0);
    prune(&(struct tr_prune_request){.executions_before_ms = 0}, &pruned);
    assert_int_equal(pruned.parts[TR_PRUNED_GRAPHS].count, 1);
    assert_int_equal(tr_graphs_get(folder, kept, &read), TR_NOT_FOUND);
    kept.data = graph->hash;
    assert_int_equal(tr_graphs_get(folder, kept, &read), 0);
    tr_graph_free(read);
    tr_graph_free(other);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_past, close_past)
    const struct CMUnitTest tests[] = {
        CASE(what_is_named_stays),
        CASE(what_older_stores_name_stays),
        CASE(what_would_be_forgotten_names_nothing),
        CASE(who_is_still_to_be_told_is_not_forgotten),
        CASE(labels_decide_how_long),
        CASE(what_is_unfinished_keeps_its_pieces),
        CASE(a_retention_is_kept),
        CASE(the_audit_goes_by_age),
        CASE(a_store_that_is_copied_is_left_alone),
        CASE(who_is_unknown_is_forgotten),
        CASE(folders_and_results_go_by_age),
        CASE(what_another_host_has_forgotten_goes),
        CASE(a_graph_that_nobody_names_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
