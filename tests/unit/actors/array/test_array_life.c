/*
 * The life of an array: it goes on after a crash at any point; ends in any order give what a plain
 * model says; what no child may say does no harm; and what people see of it is complete.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/builtin/registry.h"
#include "schemas/engine/history.h"
#include "tests/support/draw.h"
#include "tests/unit/actors/array/array_stand.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  square: {inputs: {a: int}, outputs: {c: int}, type: test}\n"
    "  same: {inputs: {a: string}, outputs: {c: string}, type: test}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {a: [int], b: [string]}\n"
    "    nodes:\n"
    "      all: {map: square, with: {a: $a}}\n"
    "      few: {map: square, with: {a: $a}, parallelism: 5}\n"
    "      some: {map: square, with: {a: $a}, min_success_ratio: 0.7}\n"
    "      texts: {map: same, with: {a: $b}}\n";

static bool is_long(void)
{
    return getenv("TROUPE_TEST_LONG") != NULL;
}

/* Steps from one crash to the next, more of them where a sanitizer makes each slow. */
static uint32_t stride_of(uint32_t steps)
{
    return (is_long() ? 1 : steps) * (TEST_SLOWNESS > 1 ? 11 : 1);
}

static int64_t input_of(const struct tr_node_start *start)
{
    struct tr_bytes slot;
    assert_int_equal(tr_slots_get(start->inputs, 0, &slot), 0);
    struct tr_cursor cursor = tr_cursor_of(slot);
    return tr_read_i64(&cursor);
}

static void give_int(struct array_stand_act *act, int64_t value)
{
    act->is_over = true;
    tr_buffer_array(&act->outputs, 1);
    tr_buffer_i64(&act->outputs, value);
}

/* The numbers from 0 on, once as they are and once doubled, as lists of JSON. */
static const char *list_of(uint32_t count, uint32_t factor, bool is_input)
{
    static char text[2][1 << 17];
    char *out = text[is_input ? 0 : 1];
    size_t room = sizeof text[0];
    size_t used = (size_t)snprintf(out, room, is_input ? "[[" : "[");
    for (uint32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(out + used, room - used, "%s%u", i > 0 ? ", " : "", i * factor);
    }
    snprintf(out + used, room - used, is_input ? "]]" : "]");
    return out;
}

/* ------------------------------------------------------------------------- crashes */

/* A third ends at once, a third runs first, a third is waiting to retry for a while. */
static void mixed(enum array_stand_event event, const struct tr_node_start *start,
                  struct array_stand_act *act)
{
    if (event == STAND_START && start->element % 3 != 0) {
        act->news =
            start->element % 3 == 1 ? TR_NODE_PHASE_RUNNING : TR_NODE_PHASE_RETRYABLE_FAILURE;
        act->pokes_itself = true;
    } else if (event != STAND_ABORT) {
        give_int(act, 2 * input_of(start));
    }
}

/* A clock by which every message takes long: turns are short, and each one is a commit. */
static uint64_t hasty_ns(struct tr_env *env)
{
    struct stage *stage = (struct stage *)env;
    stage->now_ns += TR_RUN_NS_MAX + 1;
    return stage->now_ns;
}

static void steps(uint32_t count)
{
    static struct tr_env_ops hasty;
    hasty = *array_stand.stage.env.ops;
    hasty.monotonic_ns = hasty_ns;
    array_stand.stage.env.ops = &hasty;
    tri_sender_flush(&array_stand.stage.host.sender);
    for (uint32_t i = 0; i < count; i++) {
        (void)stage_step(&array_stand.stage);
        (void)array_stand_serve();
    }
}

/* The entries of all rows of history of elements. */
static uint64_t recorded_entries(void)
{
    uint64_t entries = 0;
    size_t count = tri_model_record_count(array_stand.model, tr_element_block_schema.id);
    for (size_t i = 0; i < count; i++) {
        struct tr_element_block row;
        const struct tri_op *op =
            tri_model_record(array_stand.model, tr_element_block_schema.id, i);
        assert_int_equal(tr_element_block_unpack(op->data, 1, &row), 0);
        assert_true(row.entry_count <= TR_ELEMENT_ENTRIES_MAX);
        entries += row.entry_count;
    }
    return entries;
}

/* Runs a map with a crash after so many steps; whether it was over before that. */
static bool crash_after(uint32_t width, const char *node, uint32_t after)
{
    array_stand_open(definition, mixed, true);
    array_stand_start(node, list_of(width, 1, true));
    steps(after);
    bool is_over = array_stand.ends > 0 && array_stand_state() == NULL;
    array_stand_crash();
    array_stand_run();
    if (array_stand.ends == 0) {
        /* Not even the start was committed. */
        assert_null(array_stand_state());
        array_stand_close();
        return false;
    }
    assert_int_equal(array_stand.ends, 1);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(array_stand_output(0), list_of(width, 2, false));
    assert_int_equal(stage_actor_count(&array_stand.stage), 1);
    uint64_t waited = width - (width + 2) / 3;
    assert_int_equal(recorded_entries(), width + waited);
    array_stand_close();
    return is_over;
}

static void test_a_crash_at_any_point_changes_nothing(void **state)
{
    (void)state;
    static const uint32_t widths[] = {1, 2, 255, 256, 257, 1000};
    static const char *const nodes[] = {"all", "few"};
    for (size_t i = 0; i < TR_COUNT_OF(widths); i++) {
        for (size_t k = 0; k < TR_COUNT_OF(nodes); k++) {
            uint32_t stride = widths[i] < 100 ? 1 : stride_of(13);
            uint32_t after = 0;
            while (!crash_after(widths[i], nodes[k], after)) {
                after += stride;
                assert_true(after < 100000);
            }
            assert_true(after >= 2 * widths[i]); /* there was a crash within the life of each */
        }
    }
}

/* Runs until it is told to end. */
static void run_on(enum array_stand_event event, const struct tr_node_start *start,
                   struct array_stand_act *act)
{
    (void)start;
    act->news = event == STAND_START ? TR_NODE_PHASE_RUNNING : 0;
}

static void test_a_crash_while_aborting_leaves_nobody(void **state)
{
    (void)state;
    bool is_over = false;
    for (uint32_t after = 0; !is_over; after += stride_of(3)) {
        array_stand_open(definition, run_on, true);
        array_stand_start("all", list_of(300, 1, true));
        array_stand_run();
        array_stand_abort(TR_NODE_PHASE_ABORTED, false);
        steps(after);
        is_over = array_stand.ends > 0;
        array_stand_crash();
        array_stand_run();
        if (array_stand.ends == 0) {
            assert_int_equal(after, 0); /* the wish itself was not committed */
            array_stand_close();
            continue;
        }
        assert_int_equal(array_stand.ends, 1);
        assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_ABORTED);
        assert_int_equal(stage_actor_count(&array_stand.stage), 1);
        array_stand_close();
    }
}

static void same(enum array_stand_event event, const struct tr_node_start *start,
                 struct array_stand_act *act)
{
    if (event == STAND_START) {
        act->is_over = true;
        tr_buffer_add(&act->outputs, start->inputs.data, start->inputs.size);
    }
}

/* A list of words in a blob, and the same as JSON. */
static char *start_texts(uint32_t count)
{
    size_t room = (size_t)count * 720;
    char *json = malloc(room);
    assert_non_null(json);
    size_t used = (size_t)snprintf(json, room, "[");
    for (uint32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(json + used, room - used, "%s\"%0700u\"", i > 0 ? ", " : "", i);
    }
    snprintf(json + used, room - used, "]");
    struct tr_buffer list;
    struct tr_buffer slots;
    tr_buffer_init(&list, 0);
    tr_buffer_init(&slots, 0);
    array_stand_pack("[string]", json, &list);
    struct tr_offloaded where = {.size_bytes = list.size};
    where.uri = array_stand_blob(tr_buffer_bytes(&list));
    tr_buffer_array(&slots, 1);
    tr_slot_write_offloaded(&slots, &where);
    array_stand_start_slots("texts", tr_buffer_bytes(&slots));
    tr_buffer_fini(&slots);
    tr_buffer_fini(&list);
    return json;
}

static void test_a_crash_while_pieces_are_read_and_written(void **state)
{
    (void)state;
    bool is_over = false;
    for (uint32_t after = 2; !is_over; after += stride_of(9)) {
        array_stand_open(definition, same, true);
        char *json = start_texts(800);
        steps(after);
        is_over = array_stand.ends > 0;
        array_stand_crash();
        array_stand_advance(200);
        if (array_stand.ends > 0) {
            assert_int_equal(array_stand.ends, 1);
            assert_string_equal(array_stand_output(0), json);
            assert_int_equal(recorded_entries(), 800);
        } else {
            assert_null(array_stand_state()); /* not even the start was committed */
        }
        array_stand_close();
        free(json);
    }
}

/* -------------------------------------------------------------- against a plain model */

/* Which elements fail, drawn beforehand. */
static struct {
    bool fails[2000];
} plan;

static void by_plan(enum array_stand_event event, const struct tr_node_start *start,
                    struct array_stand_act *act)
{
    uint32_t element = (uint32_t)start->element;
    if (event == STAND_START && element % 4 != 3) {
        act->news = element % 4 == 1 ? TR_NODE_PHASE_RUNNING : 0;
    } else if (event == STAND_POKE || event == STAND_START) {
        if (plan.fails[element]) {
            act->is_over = true;
            act->ended.phase = TR_NODE_PHASE_FAILED;
            act->ended.code = tr_text_of(element % 2 == 0 ? "Even" : "Odd");
        } else {
            give_int(act, input_of(start) * 3);
        }
    }
}

/* Pokes living children in any order until there are none. */
static void poke_all(struct draw *draw, uint32_t width)
{
    while (array_stand.ends == 0) {
        uint32_t pokes = 1 + (uint32_t)draw_below(draw, 50);
        uint32_t first = (uint32_t)draw_below(draw, width);
        for (uint32_t i = 0; i < width && pokes > 0; i++) {
            uint32_t element = (first + i * 7919U) % width;
            if (array_stand.children[element].is_live) {
                array_stand_poke(element);
                pokes--;
            }
        }
        array_stand_run();
    }
}

static void check_against_model(uint32_t width, uint32_t failures, const char *node)
{
    bool needs_all = strcmp(node, "some") != 0;
    uint32_t needed = needs_all ? width : (7 * width + 9) / 10;
    assert_int_equal(array_stand.ends, 1);
    assert_int_equal(stage_actor_count(&array_stand.stage), 1);
    if (width - failures < needed) {
        assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_FAILED);
        return;
    }
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
    char *wanted = malloc((size_t)width * 12 + 16);
    assert_non_null(wanted);
    size_t room = (size_t)width * 12 + 16;
    size_t used = (size_t)snprintf(wanted, room, "[");
    for (uint32_t i = 0; i < width; i++) {
        used +=
            plan.fails[i]
                ? (size_t)snprintf(wanted + used, room - used, "%snull", i > 0 ? ", " : "")
                : (size_t)snprintf(wanted + used, room - used, "%s%u", i > 0 ? ", " : "", 3 * i);
    }
    snprintf(wanted + used, room - used, "]");
    assert_string_equal(array_stand_output(0), wanted);
    free(wanted);
}

static void test_ends_in_any_order_give_what_the_model_says(void **state)
{
    (void)state;
    static const char *const nodes[] = {"all", "few", "some"};
    uint32_t rounds = is_long() ? 600 : 60;
    for (uint32_t round = 0; round < rounds; round++) {
        struct draw draw = {.state = round + 1};
        uint32_t width = 1 + (uint32_t)draw_below(&draw, round % 10 == 0 ? 1500 : 300);
        const char *node = nodes[draw_below(&draw, TR_COUNT_OF(nodes))];
        uint32_t share = (uint32_t)draw_below(&draw, 4) == 0 ? 50 : 10;
        bool is_failing = draw_below(&draw, 2) == 0;
        uint32_t failures = 0;
        for (uint32_t i = 0; i < width; i++) {
            plan.fails[i] = is_failing && draw_below(&draw, 100) < share;
            failures += plan.fails[i] ? 1 : 0;
        }
        array_stand_open(definition, by_plan, false);
        array_stand_start(node, list_of(width, 1, true));
        array_stand_run();
        poke_all(&draw, width);
        check_against_model(width, failures, node);
        assert_true(strcmp(node, "few") != 0 || array_stand.live_max <= 5);
        array_stand_close();
    }
}

/* ----------------------------------------------------------------- what no child may say */

static void test_strangers_are_not_heard(void **state)
{
    (void)state;
    array_stand_open(definition, run_on, false);
    array_stand_start("all", list_of(3, 1, true));
    array_stand_run();
    struct tr_node_ended ended = {.node = array_stand_state()->node,
                                  .element = 1,
                                  .phase = TR_NODE_PHASE_FAILED,
                                  .code = tr_text_of("Forged")};
    stage_tell(&array_stand.stage, array_stand.array, &tr_node_ended_schema, &ended);
    struct tr_node_news news = {
        .node = ended.node, .element = 2, .phase = TR_NODE_PHASE_RETRYABLE_FAILURE};
    stage_tell(&array_stand.stage, array_stand.array, &tr_node_news_schema, &news);
    ended.element = 7;
    stage_tell(&array_stand.stage, array_stand.array, &tr_node_ended_schema, &ended);
    struct tr_array_next next = {0};
    stage_tell(&array_stand.stage, array_stand.array, &tr_array_next_schema, &next);
    array_stand_run();
    assert_int_equal(array_stand_state()->ignored, 3);
    assert_int_equal(array_stand_state()->live, 3);
    assert_int_equal(stage_dead_letters(&array_stand.stage, TR_UNKNOWN_TYPE), 3);
    array_stand_abort(TR_NODE_PHASE_ABORTED, false);
    array_stand_run();
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_ABORTED);
    array_stand_close();
}

/* 0 ends twice; 1 speaks for 2 first; 3 ends in a phase that is no end; all are poked again. */
static void unruly(enum array_stand_event event, const struct tr_node_start *start,
                   struct array_stand_act *act)
{
    if (event == STAND_ABORT) {
        return;
    }
    give_int(act, input_of(start));
    act->is_twice = start->element == 0;
    if (event == STAND_START && start->element == 1) {
        act->ended.element = 2;
    }
    if (start->element == 3) {
        act->ended.phase = TR_NODE_PHASE_RUNNING;
    }
}

static void test_what_a_child_may_not_say_costs_no_sibling(void **state)
{
    (void)state;
    array_stand_open(definition, unruly, false);
    array_stand_start("all", list_of(6, 1, true));
    array_stand_run();
    /* Two have ended without a word of their own; the others are all there. */
    assert_int_equal(array_stand.ends, 0);
    assert_int_equal(array_stand_state()->ignored, 3);
    assert_int_equal(array_stand_state()->succeeded, 4);
    assert_int_equal(array_stand_state()->live, 2);
    array_stand_close();
}

static void short_of_outputs(enum array_stand_event event, const struct tr_node_start *start,
                             struct array_stand_act *act)
{
    (void)start;
    act->is_over = true;
    if (event == STAND_START && start->element == 1) {
        tr_buffer_array(&act->outputs, 0);
    } else if (event == STAND_START) {
        give_int(act, 1);
    }
}

static void test_a_success_without_outputs_is_a_failure(void **state)
{
    (void)state;
    array_stand_open(definition, short_of_outputs, false);
    array_stand_start("all", list_of(3, 1, true));
    array_stand_run();
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_FAILED);
    assert_true(tr_text_equal(array_stand.end.code, tr_text_of("OutputsNotFoundError")));
    assert_int_equal(array_stand.end.failed_element, 1);
    array_stand_close();
}

/* ------------------------------------------------------------------- what people see */

static void test_history_is_written_within_a_second(void **state)
{
    (void)state;
    array_stand_open(definition, run_on, true);
    array_stand_start("all", list_of(300, 1, true));
    array_stand_run();
    assert_int_equal(recorded_entries(), 256);
    array_stand_advance(1001);
    assert_int_equal(recorded_entries(), 300);
    size_t count = tri_model_record_count(array_stand.model, tr_progress_schema.id);
    struct tr_progress row;
    const struct tri_op *op = tri_model_record(array_stand.model, tr_progress_schema.id, count - 1);
    assert_int_equal(tr_progress_unpack(op->data, 1, &row), 0);
    assert_int_equal(row.total, 300);
    assert_int_equal(row.running, 300);
    assert_int_equal(row.queued, 0);
    array_stand_advance(5000);
    assert_int_equal(tri_model_record_count(array_stand.model, tr_progress_schema.id), count);
    array_stand_close();
}

/* The last row that says how many elements are where. */
static struct tr_progress last_progress(void)
{
    struct tr_progress row;
    size_t count = tri_model_record_count(array_stand.model, tr_progress_schema.id);
    const struct tri_op *op = tri_model_record(array_stand.model, tr_progress_schema.id, count - 1);
    assert_int_equal(tr_progress_unpack(op->data, 1, &row), 0);
    return row;
}

/* However soon after a count the last change comes: it is counted when the next count is due. */
static void test_the_last_change_is_counted_soon(void **state)
{
    (void)state;
    array_stand_open(definition, run_on, true);
    array_stand_start("all", list_of(3, 1, true));
    array_stand_run();
    array_stand_advance(TR_ARRAY_PROGRESS_MS);
    assert_int_equal(last_progress().running, 3);
    assert_int_equal(last_progress().at_ms, array_stand_state()->progress_ms);
    array_stand_close();
}

static void test_a_failure_is_seen_with_code_and_message(void **state)
{
    (void)state;
    memset(&plan, 0, sizeof plan);
    plan.fails[3] = true;
    array_stand_open(definition, by_plan, true);
    array_stand_start("all", list_of(4, 1, true));
    array_stand_run();
    struct tr_element_block row;
    const struct tri_op *op = tri_model_record(array_stand.model, tr_element_block_schema.id, 0);
    assert_int_equal(tr_element_block_unpack(op->data, 1, &row), 0);
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)row.entries.size, row.entries.data);
    assert_non_null(strstr(text, "[3,0,"));
    assert_non_null(strstr(text, "\"Odd\""));
    array_stand_close();
}

static void test_the_cause_of_an_abort_is_seen(void **state)
{
    (void)state;
    array_stand_open(definition, run_on, true);
    array_stand_start("all", list_of(2, 1, true));
    array_stand_run();
    array_stand_abort(TR_NODE_PHASE_ABORTED, false);
    array_stand_run();
    static const struct {
        uint8_t phase;
        const char *cause;
    } wanted[] = {{TR_NODE_PHASE_QUEUED, ""},
                  {TR_NODE_PHASE_RUNNING, ""},
                  {TR_NODE_PHASE_ABORTING, "a test"},
                  {TR_NODE_PHASE_ABORTED, ""}};
    assert_int_equal(tri_model_record_count(array_stand.model, tr_phase_schema.id),
                     TR_COUNT_OF(wanted));
    for (size_t i = 0; i < TR_COUNT_OF(wanted); i++) {
        struct tr_phase row;
        const struct tri_op *op = tri_model_record(array_stand.model, tr_phase_schema.id, i);
        assert_int_equal(tr_phase_unpack(op->data, 1, &row), 0);
        assert_int_equal(row.phase, wanted[i].phase);
        assert_true(tr_text_equal(row.cause, tr_text_of(wanted[i].cause)));
        assert_true(tr_text_equal(row.path, tr_text_of("all")));
    }
    array_stand_close();
}

/* Words that stand for kinds of work, beside the names of the plugins that are linked in. */
static const char *const kinds[] = {"plugin", "webapi", "refresh",   "kubernetes",
                                    "pod",    "flyte",  "container", "idempot"};

static void assert_names_none(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    assert_true(size > 0 && size < sizeof text - 1);
    text[size] = 0;
    fclose(file);
    for (size_t i = 0; i < TR_COUNT_OF(kinds); i++) {
        if (strcasestr(text, kinds[i]) != NULL) {
            fail_msg("%s says '%s'", path, kinds[i]);
        }
    }
    for (size_t i = 0; i < tr_plugin_count; i++) {
        if (strcasestr(text, tr_plugins[i]->id) != NULL) {
            fail_msg("%s names the plugin '%s'", path, tr_plugins[i]->id);
        }
    }
}

/* No file of the array names a plugin or what one does. */
static void test_the_array_knows_no_plugin(void **state)
{
    glob_t found;
    (void)state;
    assert_int_equal(glob(TROUPE_SOURCE_DIR "/actors/array/*.[ch]", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 11);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        assert_names_none(found.gl_pathv[i]);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crash_at_any_point_changes_nothing),
        cmocka_unit_test(test_a_crash_while_aborting_leaves_nobody),
        cmocka_unit_test(test_a_crash_while_pieces_are_read_and_written),
        cmocka_unit_test(test_ends_in_any_order_give_what_the_model_says),
        cmocka_unit_test(test_strangers_are_not_heard),
        cmocka_unit_test(test_what_a_child_may_not_say_costs_no_sibling),
        cmocka_unit_test(test_a_success_without_outputs_is_a_failure),
        cmocka_unit_test(test_history_is_written_within_a_second),
        cmocka_unit_test(test_the_last_change_is_counted_soon),
        cmocka_unit_test(test_a_failure_is_seen_with_code_and_message),
        cmocka_unit_test(test_the_cause_of_an_abort_is_seen),
        cmocka_unit_test(test_the_array_knows_no_plugin),
    };
    return cmocka_run_group_tests_name("array_life", tests, NULL, NULL);
}
