/*
 * Rows of the history from handlers: how things stand and how they got there are written together,
 * only changes that the tables allow are, and elements' changes are JSON that says all of it.
 */
#include "actors/history/history.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/store_open.h"
#include "schemas/engine/history_views.h"
#include "tests/sim/model_store.h"
#include "tests/support/fake_actor.h"
#include "tests/support/folder.h"
#include "tests/support/stage.h"

static struct stage stage;
static struct tri_model *model;
static struct tri_store *store;
static const struct tr_ref nobody;

#define SCRIPT(name)                                                        \
    static int name(struct tr_context *context, struct tr_fake_actor *fake, \
                    const struct tr_act *act, const struct tr_message *message)
#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})
#define TRY(call)           \
    do {                    \
        int error = (call); \
        if (error != 0) {   \
            return error;   \
        }                   \
    } while (false)

#define EXECUTION 4711

static struct tr_ref open_stage(void)
{
    struct tri_store_options options = {.folder = "model",
                                        .durability = TR_DURABILITY_FULL,
                                        .records = tr_history_schemas,
                                        .record_count = tr_history_schema_count};
    model = tri_model_new();
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    fake_actor_forget();
    stage_open(&stage, &(struct stage_options){.worker_count = 1, .store = store});
    return stage_spawn(&stage, &fake_actor_behaviour, NULL);
}

static void close_stage(void)
{
    stage_close(&stage);
    tri_store_close(store);
    tri_model_free(model);
}

static size_t count_rows(const struct tr_schema *schema)
{
    return tri_model_record_count(model, schema->id);
}

/* Reads the row at a place of the order in which they were written. */
#define ROW(name, index, row)                                                               \
    do {                                                                                    \
        const struct tri_op *op = tri_model_record(model, tr_##name##_schema.id, index);    \
        assert_non_null(op);                                                                \
        assert_int_equal(tr_##name##_unpack(op->data, tr_##name##_schema.version, row), 0); \
    } while (false)

static void expect_text(struct tr_text text, const char *expected)
{
    assert_true(tr_text_equal(text, tr_text_of(expected)));
}

/* ------------------------------------------------------- things with a row */

SCRIPT(run_one_node)
{
    UNUSED(message, act);
    struct tr_text none = {0};
    struct tr_execution execution = {
        .execution = EXECUTION,
        .project = tr_text_of("demo"),
        .name = tr_text_of("first"),
        .phase = TR_EXECUTION_QUEUED,
    };
    TRY(tr_history_execution(context, &execution, TR_EXECUTION_UNDEFINED, tr_text_of("by hand"),
                             &fake->count));
    struct tr_node_status node = {
        .execution = EXECUTION, .path = tr_text_of("list"), .phase = TR_NODE_PHASE_QUEUED};
    TRY(tr_history_node(context, &node, TR_NODE_PHASE_NOT_YET_STARTED, none, &fake->count));
    assert_int_equal(node.created_ms, tr_now_ms(context));
    assert_int_equal(node.started_ms, 0);
    node.phase = TR_NODE_PHASE_RUNNING;
    TRY(tr_history_node(context, &node, TR_NODE_PHASE_QUEUED, none, &fake->count));
    struct tr_attempt attempt = {.execution = EXECUTION,
                                 .path = node.path,
                                 .element = TR_ELEMENT_NONE,
                                 .attempt = 2,
                                 .phase = TR_TASK_PHASE_PERMANENT_FAILURE,
                                 .code = tr_text_of("OOM"),
                                 .message = tr_text_of("too much")};
    TRY(tr_history_attempt(context, &attempt, TR_TASK_PHASE_RUNNING, tr_text_of("exit 137"),
                           &fake->count));
    node.phase = TR_NODE_PHASE_FAILED;
    node.code = attempt.code;
    TRY(tr_history_node(context, &node, TR_NODE_PHASE_RUNNING, none, &fake->count));
    assert_int_equal(node.ended_ms, tr_now_ms(context));
    static const uint8_t slots[] = {0x91, 0x07};
    return tr_history_value(context, EXECUTION, node.path, TR_VALUE_INPUTS,
                            (struct tr_bytes){slots, sizeof slots});
}

static void rows_and_changes_are_written_together(void **state)
{
    (void)state;
    struct tr_ref a = open_stage();
    fake_actor_act(&stage, a, run_one_node, 0, nobody);
    assert_int_equal(fake_actor_state(&stage, a)->count, 5);
    struct tr_execution execution;
    struct tr_node_status node;
    struct tr_attempt attempt;
    struct tr_node_value value;
    assert_int_equal(count_rows(&tr_execution_schema), 1);
    assert_int_equal(count_rows(&tr_node_status_schema), 1);
    ROW(execution, 0, &execution);
    assert_int_equal(execution.phase, TR_EXECUTION_QUEUED);
    assert_true(execution.created_ms > 0);
    ROW(node_status, 0, &node);
    assert_int_equal(node.phase, TR_NODE_PHASE_FAILED);
    assert_int_equal(node.started_ms, node.created_ms);
    assert_int_equal(node.ended_ms, node.created_ms);
    expect_text(node.code, "OOM");
    ROW(attempt, 0, &attempt);
    assert_int_equal(attempt.attempt, 2);
    assert_int_equal(attempt.started_ms, 0);
    assert_true(attempt.ended_ms > 0);
    ROW(node_value, 0, &value);
    assert_int_equal(value.slots.size, 2);
    static const struct {
        uint8_t subject;
        uint8_t phase;
        const char *path;
        const char *cause;
    } changes[] = {
        {TR_SUBJECT_EXECUTION, TR_EXECUTION_QUEUED, "", "by hand"},
        {TR_SUBJECT_NODE, TR_NODE_PHASE_QUEUED, "list", ""},
        {TR_SUBJECT_NODE, TR_NODE_PHASE_RUNNING, "list", ""},
        {TR_SUBJECT_TASK, TR_TASK_PHASE_PERMANENT_FAILURE, "list", "exit 137"},
        {TR_SUBJECT_NODE, TR_NODE_PHASE_FAILED, "list", ""},
    };
    assert_int_equal(count_rows(&tr_phase_schema), TR_COUNT_OF(changes));
    for (size_t i = 0; i < TR_COUNT_OF(changes); i++) {
        struct tr_phase phase;
        ROW(phase, i, &phase);
        assert_int_equal(phase.number, i + 1);
        assert_true(tr_key_equal(phase.actor, a.key));
        assert_int_equal(phase.subject, changes[i].subject);
        assert_int_equal(phase.phase, changes[i].phase);
        assert_int_equal(phase.element, TR_ELEMENT_NONE);
        assert_int_equal(phase.attempt, i == 3 ? 2 : 0);
        expect_text(phase.path, changes[i].path);
        expect_text(phase.cause, changes[i].cause);
    }
    close_stage();
}

SCRIPT(go_a_forbidden_way)
{
    UNUSED(message, act);
    struct tr_node_status node = {
        .execution = EXECUTION, .path = tr_text_of("list"), .phase = TR_NODE_PHASE_QUEUED};
    TRY(tr_history_node(context, &node, TR_NODE_PHASE_NOT_YET_STARTED, (struct tr_text){0},
                        &fake->count));
    uint64_t before = fake->count;
    struct tr_execution execution = {.execution = EXECUTION, .phase = TR_EXECUTION_RUNNING};
    assert_int_equal(tr_history_execution(context, &execution, TR_EXECUTION_SUCCEEDED,
                                          (struct tr_text){0}, &fake->count),
                     TR_INVALID);
    struct tr_attempt attempt = {.phase = TR_TASK_PHASE_RUNNING};
    assert_int_equal(tr_history_attempt(context, &attempt, TR_TASK_PHASE_RUNNING,
                                        (struct tr_text){0}, &fake->count),
                     TR_INVALID);
    assert_int_equal(fake->count, before);
    assert_int_equal(execution.created_ms, 0);
    node.phase = TR_NODE_PHASE_RUNNING;
    return tr_history_node(context, &node, TR_NODE_PHASE_SUCCEEDED, (struct tr_text){0},
                           &fake->count);
}

static void a_forbidden_change_is_no_change(void **state)
{
    (void)state;
    struct tr_ref a = open_stage();
    fake_actor_act(&stage, a, go_a_forbidden_way, 0, nobody);
    assert_int_equal(stage_metric(&stage, handler_failures), 1);
    assert_int_equal(count_rows(&tr_phase_schema), 0);
    assert_int_equal(count_rows(&tr_node_status_schema), 0);
    assert_int_equal(fake_actor_state(&stage, a)->count, 0);
    close_stage();
}

/* ------------------------------------------------------------------ elements */

#define BLOCK_BYTES 4096

/* What the entries say so far, as JSON that is closed; the caller decrefs it. */
static json_t *entries_of(void *memory)
{
    struct tr_element_entries *entries = memory;
    char *text = (char *)(entries + 1);
    text[entries->size] = ']';
    json_error_t problem;
    json_t *list = json_loadb(text, entries->size + 1, 0, &problem);
    if (list == NULL) {
        fail_msg("%s: %.*s", problem.text, (int)entries->size + 1, text);
    }
    return list;
}

static void expect_entry(void *memory, size_t index, const char *expected)
{
    json_t *list = entries_of(memory);
    char *text = json_dumps(json_array_get(list, index), JSON_COMPACT);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
    json_decref(list);
}

#define BIT(name) (1U << TR_NODE_PHASE_##name)

static void phases_are_put_in_order(void **state)
{
    (void)state;
    static uint64_t memory[BLOCK_BYTES / 8];
    struct tr_element_entries *entries = (struct tr_element_entries *)memory;
    memset(memory, 0, sizeof memory);
    uint8_t last = 99;
    struct tr_element_change change = {
        .element = 17,
        .phases = BIT(SUCCEEDED) | BIT(SUCCEEDING) | BIT(QUEUED) | BIT(RUNNING),
        .at_ms = 5000,
    };
    assert_int_equal(tr_history_element(memory, BLOCK_BYTES, &change, &last), 0);
    expect_entry(memory, 0, "[17,0,0,1,2,4,5]");
    assert_int_equal(last, TR_NODE_PHASE_SUCCEEDED);
    change = (struct tr_element_change){.element = 3,
                                        .attempt = 1,
                                        .phases = BIT(QUEUED) | BIT(RUNNING) |
                                                  BIT(RETRYABLE_FAILURE) | BIT(FAILED),
                                        .at_ms = 5250,
                                        .code = tr_text_of("OOM"),
                                        .message = tr_text_of("a \"big\" one\n")};
    assert_int_equal(tr_history_element(memory, BLOCK_BYTES, &change, &last), 0);
    expect_entry(memory, 1, "[3,1,250,1,2,8,6,\"OOM\",\"a \\\"big\\\" one\\n\"]");
    /* Succeeding after a retry: it must have been running once more. */
    change =
        (struct tr_element_change){.element = 900,
                                   .from = TR_NODE_PHASE_QUEUED,
                                   .phases = BIT(RUNNING) | BIT(RETRYABLE_FAILURE) | BIT(SUCCEEDED),
                                   .at_ms = 5251};
    assert_int_equal(tr_history_element(memory, BLOCK_BYTES, &change, NULL), 0);
    expect_entry(memory, 2, "[900,0,251,2,8,2,5]");
    assert_int_equal(entries->count, 3);
    assert_int_equal(entries->element_min, 3);
    assert_int_equal(entries->element_max, 900);
    assert_int_equal(entries->base_ms, 5000);
}

static void elements_keep_the_tables(void **state)
{
    (void)state;
    static uint64_t memory[BLOCK_BYTES / 8];
    struct tr_element_entries *entries = (struct tr_element_entries *)memory;
    memset(memory, 0, sizeof memory);
    static const struct tr_element_change changes[] = {
        {.from = TR_NODE_PHASE_SUCCEEDED, .phases = BIT(RUNNING)},
        {.from = TR_NODE_PHASE_RUNNING, .phases = BIT(QUEUED)},
        {.phases = BIT(SUCCEEDED) | BIT(FAILED)},
        {.phases = 0},
        {.phases = BIT(NOT_YET_STARTED)},
        {.phases = 1U << TR_NODE_PHASE_COUNT},
    };
    for (size_t i = 0; i < TR_COUNT_OF(changes); i++) {
        uint8_t last = 99;
        assert_int_equal(tr_history_element(memory, BLOCK_BYTES, &changes[i], &last), TR_INVALID);
        assert_int_equal(last, 99);
        assert_int_equal(entries->count, 0);
        assert_int_equal(entries->size, 0);
    }
}

/* Whatever a message is, one entry always fits into empty memory, and is JSON. */
static void one_entry_always_fits(void **state)
{
    (void)state;
    static uint64_t memory[1024 / 8];
    static char words[20000];
    for (size_t kind = 0; kind < 3; kind++) {
        static const char *const units[] = {"\x01", "\xe2\x82\xac", "x"};
        size_t size = strlen(units[kind]);
        for (size_t i = 0; i + size <= sizeof words; i += size) {
            memcpy(words + i, units[kind], size);
        }
        memset(memory, 0, sizeof memory);
        struct tr_text text = {words, sizeof words / size * size};
        struct tr_element_change change = {/* JSON's readers end at 2^63 */
                                           .element = INT64_MAX,
                                           .attempt = UINT32_MAX,
                                           .phases = BIT(QUEUED) | BIT(RUNNING) | BIT(FAILED),
                                           .at_ms = INT64_MAX,
                                           .code = text,
                                           .message = text};
        assert_int_equal(tr_history_element(memory, sizeof memory, &change, NULL), 0);
        json_decref(entries_of(memory));
        /* And where there is no room, what is there stays as it is. */
        struct tr_element_entries before = *(struct tr_element_entries *)memory;
        int error = 0;
        while (error == 0) {
            before = *(struct tr_element_entries *)memory;
            error = tr_history_element(memory, sizeof memory, &change, NULL);
        }
        assert_int_equal(error, TR_LIMIT);
        assert_memory_equal(memory, &before, sizeof before);
        json_decref(entries_of(memory));
    }
}

SCRIPT(write_elements)
{
    UNUSED(message);
    static uint64_t memory[16384 / 8];
    struct tr_text path = tr_text_of("squares");
    memset(memory, 0, sizeof memory);
    for (uint64_t i = 0; i < act->number; i++) {
        struct tr_element_change change = {
            .element = i, .phases = BIT(RUNNING) | BIT(SUCCEEDED), .at_ms = 1000 + i % 300};
        int outcome = tr_history_element(memory, sizeof memory, &change, NULL);
        if (outcome == TR_LIMIT) {
            TRY(tr_history_elements(context, EXECUTION, path, memory, &fake->count));
            outcome = tr_history_element(memory, sizeof memory, &change, NULL);
        }
        TRY(outcome);
    }
    TRY(tr_history_elements(context, EXECUTION, path, memory, &fake->count));
    return tr_history_elements(context, EXECUTION, path, memory, &fake->count);
}

static void elements_come_in_blocks(void **state)
{
    (void)state;
    struct tr_ref a = open_stage();
    fake_actor_act(&stage, a, write_elements, 600, nobody);
    /* 256, then up to where time goes back, and the rest. */
    size_t blocks = count_rows(&tr_element_block_schema);
    assert_int_equal(fake_actor_state(&stage, a)->count, blocks);
    uint64_t next = 0;
    for (size_t i = 0; i < blocks; i++) {
        struct tr_element_block block;
        ROW(element_block, i, &block);
        assert_true(block.entry_count <= TR_ELEMENT_ENTRIES_MAX);
        assert_int_equal(block.element_min, next);
        assert_int_equal(block.element_max, next + block.entry_count - 1);
        json_t *list = json_loadb(block.entries.data, block.entries.size, 0, NULL);
        assert_non_null(list);
        assert_int_equal(json_array_size(list), block.entry_count);
        json_t *first = json_array_get(list, 0);
        assert_int_equal(json_integer_value(json_array_get(first, 0)), next);
        assert_int_equal(block.base_ms + (uint64_t)json_integer_value(json_array_get(first, 2)),
                         1000 + next % 300);
        json_decref(list);
        next += block.entry_count;
    }
    assert_int_equal(next, 600);
    close_stage();
}

/* ----------------------------------------------------------------- retention */

SCRIPT(write_other)
{
    UNUSED(message);
    struct tr_progress progress = {.execution = act->number, .path = tr_text_of("squares")};
    TRY(tr_record(context, &tr_progress_schema, &progress));
    static const uint8_t none[] = {0x90};
    struct tr_element_output output = {
        .execution = act->number, .path = tr_text_of("squares"), .outputs = {none, sizeof none}};
    TRY(tr_record(context, &tr_element_output_schema, &output));
    struct tr_cache_miss miss = {
        .execution = act->number, .path = tr_text_of("squares"), .inputs = {none, sizeof none}};
    TRY(tr_record(context, &tr_cache_miss_schema, &miss));
    struct tr_execution_archive archive = {.execution = act->number, .is_archived = true};
    TRY(tr_record(context, &tr_execution_archive_schema, &archive));
    struct tr_notification_row told = {.execution = act->number, .key = tr_text_of("k")};
    TRY(tr_record(context, &tr_notification_row_schema, &told));
    struct tr_node_status node = {
        .execution = act->number, .path = tr_text_of("other"), .phase = TR_NODE_PHASE_QUEUED};
    struct tr_execution execution = {.execution = act->number, .labels = tr_text_of("team=data")};
    TRY(tr_history_labels(context, &execution));
    return tr_history_node(context, &node, TR_NODE_PHASE_NOT_YET_STARTED, (struct tr_text){0},
                           &fake->count);
}

SCRIPT(forget)
{
    UNUSED(fake, message);
    return tr_history_forget(context, act->number);
}

static void forgetting_takes_all_rows_of_one_execution(void **state)
{
    (void)state;
    struct tr_ref a = open_stage();
    fake_actor_act(&stage, a, run_one_node, 0, nobody);
    fake_actor_act(&stage, a, write_elements, 10, nobody);
    fake_actor_act(&stage, a, write_other, EXECUTION, nobody);
    fake_actor_act(&stage, a, write_other, EXECUTION + 1, nobody);
    for (size_t i = 0; i < tr_history_schema_count; i++) {
        assert_true(count_rows(tr_history_schemas[i]) > 0);
    }
    fake_actor_act(&stage, a, forget, EXECUTION, nobody);
    assert_int_equal(stage_metric(&stage, handler_failures), 0);
    for (size_t i = 0; i < tr_history_schema_count; i++) {
        const struct tr_schema *schema = tr_history_schemas[i];
        bool is_left = schema == &tr_phase_schema || schema == &tr_node_status_schema ||
                       schema == &tr_progress_schema || schema == &tr_element_output_schema ||
                       schema == &tr_execution_label_schema || schema == &tr_cache_miss_schema ||
                       schema == &tr_notification_row_schema ||
                       schema == &tr_execution_archive_schema;
        assert_int_equal(count_rows(schema), is_left ? 1 : 0);
    }
    close_stage();
}

/* What plain SQL says to somebody at the store's file. */
static void expect_view(const char *folder, const char *sql, const char *expected)
{
    char path[128];
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    (void)snprintf(path, sizeof path, "%s/troupe.db", folder);
    assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), expected);
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

/* ------------------------------------------------------------ a whole host */

/* Takes a node through a phase with each message, and ends with the last one. */
static int handle_note(struct tr_context *context, void *state, const struct tr_message *message)
{
    static const uint8_t phases[] = {TR_NODE_PHASE_NOT_YET_STARTED, TR_NODE_PHASE_QUEUED,
                                     TR_NODE_PHASE_RUNNING, TR_NODE_PHASE_SUCCEEDED};
    struct tr_fake_actor *fake = state;
    if (!tr_message_is(message, &tr_note_schema)) {
        return tr_unexpected(context, message);
    }
    struct tr_node_status node = {.execution = tr_self(context).key.group,
                                  .path = tr_text_of("list"),
                                  .phase = phases[fake->count + 1]};
    uint64_t changes = fake->count;
    TRY(tr_history_node(context, &node, phases[fake->count], (struct tr_text){0}, &changes));
    fake->count = changes;
    return changes + 1 == TR_COUNT_OF(phases) ? tr_stop(context) : 0;
}

static const struct tr_behaviour noting = {
    .name = "noting", .id = 60999, .state = &tr_fake_actor_schema, .handle = handle_note};

static int count_phases(void *self, const void *row)
{
    const struct tr_phase *phase = row;
    uint64_t *count = self;
    assert_int_equal(phase->number, ++*count);
    assert_int_equal(phase->at_ms == 0, 0);
    return 0;
}

static int see_node(void *self, const void *row)
{
    const struct tr_node_status *node = row;
    *(uint8_t *)self = node->phase;
    return 0;
}

/* The commands' way: the engine lives, and its store is read beside it. */
static void a_reader_sees_what_a_live_host_has_written(void **state)
{
    (void)state;
    char folder[] = "/tmp/troupe_history_XXXXXX";
    assert_non_null(mkdtemp(folder));
    const struct tr_behaviour *behaviours[] = {&noting};
    struct tr_host_options options = {.worker_count = 1,
                                      .durability = TR_DURABILITY_PROCESS,
                                      .folder = folder,
                                      .behaviours = behaviours,
                                      .behaviour_count = 1,
                                      .records = tr_history_schemas,
                                      .record_count = tr_history_schema_count,
                                      .views = &tr_history_views};
    struct tr_host *host = NULL;
    struct tr_ref actor;
    int reason = -1;
    assert_int_equal(tr_host_new(&options, NULL, &host), 0);
    assert_int_equal(tr_host_start(host), 0);
    struct tr_spawn_options watched = {.is_watched = true};
    assert_int_equal(tr_host_spawn(host, &noting, &watched, &actor), 0);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(tr_host_tell(host, actor, &tr_note_schema, &(struct tr_note){i}), 0);
    }
    assert_int_equal(tr_host_wait(host, actor, 20000, &reason), 0);
    assert_int_equal(reason, 0);
    struct tr_reader_options reading = {
        .folder = folder, .records = tr_history_schemas, .record_count = tr_history_schema_count};
    struct tr_reader *reader = NULL;
    assert_int_equal(tr_reader_open(&reading, NULL, &reader), 0);
    uint64_t count = 0;
    uint8_t phase = 0;
    struct tr_reader_filter mine = tr_filter_number("execution", TR_FILTER_EQUAL, actor.key.group);
    struct tr_reader_query query = {
        .record = &tr_phase_schema, .filters = &mine, .filter_count = 1};
    assert_int_equal(tr_reader_rows(reader, &query, count_phases, &count), 0);
    assert_int_equal(count, 3);
    query.record = &tr_node_status_schema;
    assert_int_equal(tr_reader_rows(reader, &query, see_node, &phase), 0);
    assert_int_equal(phase, TR_NODE_PHASE_SUCCEEDED);
    tr_reader_close(reader);
    tr_host_free(host);
    expect_view(folder, "SELECT group_concat(phase) FROM events", "queued,running,succeeded");
    (void)folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_changes_are_written_together),
        cmocka_unit_test(a_forbidden_change_is_no_change),
        cmocka_unit_test(phases_are_put_in_order),
        cmocka_unit_test(elements_keep_the_tables),
        cmocka_unit_test(one_entry_always_fits),
        cmocka_unit_test(elements_come_in_blocks),
        cmocka_unit_test(forgetting_takes_all_rows_of_one_execution),
        cmocka_unit_test(a_reader_sees_what_a_live_host_has_written),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
