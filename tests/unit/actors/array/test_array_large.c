/*
 * Arrays whose lists are too large for messages: read and written in pieces, an element at a time;
 * and what happens when the files service does not do its part.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/actors/array/array_stand.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  same: {inputs: {a: string, b: {type: string, default: x}}, outputs: {c: string}, type: t}\n"
    "  maybe: {inputs: {a: \"string | none\"}, outputs: {c: int}, type: t}\n"
    "  color: {inputs: {a: \"enum(red, green)\"}, outputs: {c: string}, type: t}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {a: [string], b: [string]}\n"
    "    nodes:\n"
    "      all: {map: same, with: {a: $a}}\n"
    "      both: {map: same, with: {a: $a, b: $b}}\n"
    "      some: {map: same, with: {a: $a}, min_successes: 1, errors: errors}\n"
    "      cast: {map: maybe, with: {a: $a}}\n"
    "      enums: {map: color, with: {a: $a}}\n";

/* Gives back its first input. */
static void same(enum array_stand_event event, const struct tr_node_start *start,
                 struct array_stand_act *act)
{
    struct tr_bytes slot;
    if (event == STAND_START) {
        assert_int_equal(tr_slots_get(start->inputs, 0, &slot), 0);
        act->is_over = true;
        tr_buffer_array(&act->outputs, 1);
        tr_buffer_add(&act->outputs, slot.data, slot.size);
    }
}

/* `count` words, each of which begins with its number and is `size` bytes long, as JSON. */
static char *words(uint32_t count, uint32_t size)
{
    size_t room = (size_t)count * (size + 16) + 16;
    char *text = malloc(room);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, room, "[");
    for (uint32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, room - used, "%s\"%0*u\"", i > 0 ? ", " : "",
                                 (int)size, i);
    }
    snprintf(text + used, room - used, "]");
    return text;
}

/* Says whether its input, which may be none, lies elsewhere. */
static void large_or_small(enum array_stand_event event, const struct tr_node_start *start,
                           struct array_stand_act *act)
{
    struct tr_bytes slot;
    struct tr_offloaded where = {.variant = 1};
    if (event == STAND_START) {
        assert_int_equal(tr_slots_get(start->inputs, 0, &slot), 0);
        bool is_large = tr_slot_is_offloaded(slot, &where);
        assert_int_equal(where.variant, 1);
        act->is_over = true;
        tr_buffer_array(&act->outputs, 1);
        tr_buffer_i64(&act->outputs, is_large ? 1 : 0);
    }
}

/* A list slot that lies in a blob. */
static void add_list(struct tr_buffer *slots, const char *type, const char *json)
{
    struct tr_buffer list;
    tr_buffer_init(&list, 0);
    array_stand_pack(type, json, &list);
    struct tr_offloaded where = {.size_bytes = list.size};
    where.uri = array_stand_blob(tr_buffer_bytes(&list));
    tr_slot_write_offloaded(slots, &where);
    tr_buffer_fini(&list);
}

/* Starts a map whose first input lies in a blob and whose second is "x". */
static void start(const char *node, const char *json)
{
    struct tr_buffer slots;
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, 2);
    add_list(&slots, "[string]", json);
    array_stand_pack("string", "\"x\"", &slots);
    array_stand_start_slots(node, tr_buffer_bytes(&slots));
    tr_buffer_fini(&slots);
}

/* Elements that begin and end anywhere in pieces and pages, with sizes around the boundaries. */
static void test_lists_are_read_and_written_in_pieces(void **state)
{
    (void)state;
    static const struct {
        uint32_t count;
        uint32_t size;
    } cases[] = {{1, 10},     {3, 16383},  {40, 16384}, {17, 16379}, {2, 262100},
                 {5, 200000}, {4000, 100}, {3000, 701}, {300, 5000}, {1, 262139}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        char *json = words(cases[i].count, cases[i].size);
        array_stand_open(definition, same, false);
        start("all", json);
        array_stand_run();
        assert_int_equal(array_stand.ends, 1);
        assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
        assert_string_equal(array_stand_output(0), json);
        assert_true(array_stand.read_bytes_max <= TR_ARRAY_PIECE_BYTES);
        for (uint32_t k = 0; k < cases[i].count; k++) {
            assert_true(array_stand.children[k].bytes < cases[i].size + 64);
        }
        size_t bytes = (size_t)cases[i].count * cases[i].size;
        assert_int_equal(array_stand.writes > 0,
                         bytes + 5 * cases[i].count + 1 > TR_INLINE_BYTES_MAX);
        free(json);
        array_stand_close();
    }
}

static void test_two_lists_with_pieces_of_their_own(void **state)
{
    (void)state;
    char *first = words(2000, 400);
    char *second = words(2000, 900);
    struct tr_buffer slots;
    array_stand_open(definition, same, false);
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, 2);
    add_list(&slots, "[string]", first);
    add_list(&slots, "[string]", second);
    array_stand_start_slots("both", tr_buffer_bytes(&slots));
    tr_buffer_fini(&slots);
    array_stand_run();
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(array_stand_output(0), first);
    array_stand_close();
    free(first);
    free(second);
}

/* Its input is a union, though the list is one of plain words. */
static void count_letters(enum array_stand_event event, const struct tr_node_start *started,
                          struct array_stand_act *act)
{
    struct tr_bytes slot;
    if (event == STAND_START) {
        assert_int_equal(tr_slots_get(started->inputs, 0, &slot), 0);
        struct tr_cursor cursor = tr_cursor_of(slot);
        assert_int_equal(tr_read_array(&cursor), 2);
        assert_int_equal(tr_read_u64(&cursor), 0);
        act->is_over = true;
        tr_buffer_array(&act->outputs, 1);
        tr_buffer_i64(&act->outputs, (int64_t)tr_read_text(&cursor).size);
        assert_int_equal(cursor.error, 0);
    }
}

static void test_elements_are_cast_one_by_one(void **state)
{
    (void)state;
    struct tr_buffer slots;
    array_stand_open(definition, count_letters, false);
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, 1);
    add_list(&slots, "[string]", "[\"a\", \"\", \"abc\"]");
    array_stand_start_slots("cast", tr_buffer_bytes(&slots));
    tr_buffer_fini(&slots);
    array_stand_run();
    assert_string_equal(array_stand_output(0), "[1, 0, 3]");
    array_stand_close();
}

static void expect_failure(const char *code, const char *message)
{
    char text[2048];
    assert_int_equal(array_stand.ends, 1);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_FAILED);
    snprintf(text, sizeof text, "%.*s: %.*s", (int)array_stand.end.code.size,
             array_stand.end.code.data, (int)array_stand.end.message.size,
             array_stand.end.message.data);
    char wanted[2048];
    snprintf(wanted, sizeof wanted, "%s: %s", code, message);
    assert_string_equal(text, wanted);
}

static void test_lengths_of_blobs_are_compared_too(void **state)
{
    (void)state;
    struct tr_buffer slots;
    array_stand_open(definition, same, false);
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, 2);
    add_list(&slots, "[string]", "[\"a\"]");
    add_list(&slots, "[string]", "[\"a\", \"b\"]");
    array_stand_start_slots("both", tr_buffer_bytes(&slots));
    tr_buffer_fini(&slots);
    array_stand_run();
    expect_failure("InvalidArrayLength", "the lists differ in length: 'a' has 1 elements, 'b' 2");
    array_stand_close();
}

/* They lie elsewhere each for itself, and come back out of it where all are gathered. */
static void test_large_elements_of_one_list_and_of_two(void **state)
{
    (void)state;
    static const struct {
        uint32_t count;
        uint32_t size;
    } cases[] = {{1, 300000}, {3, 262140}, {3, 262139}, {4, 700000}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        char *json = words(cases[i].count, cases[i].size);
        struct tr_buffer slots;
        array_stand_open(definition, same, false);
        array_stand.files_refusals = 1;
        array_stand.files_error = TR_BUSY;
        tr_buffer_init(&slots, 0);
        tr_buffer_array(&slots, 2);
        add_list(&slots, "[string]", json);
        add_list(&slots, "[string]", json);
        array_stand_start_slots("both", tr_buffer_bytes(&slots));
        tr_buffer_fini(&slots);
        array_stand_run();
        array_stand_advance(1000);
        array_stand_run();
        assert_int_equal(array_stand.ends, 1);
        assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
        assert_string_equal(array_stand_output(0), json);
        free(json);
        array_stand_close();
    }
}

/* Small and large ones in turn, for a place that may be none. */
static void test_large_elements_among_small_ones(void **state)
{
    (void)state;
    enum { COUNT = 9, LARGE_SIZE = 300000 };
    char *json = malloc(COUNT * (LARGE_SIZE + 16));
    assert_non_null(json);
    size_t used = (size_t)snprintf(json, 2, "[");
    for (int i = 0; i < COUNT; i++) {
        used += (size_t)snprintf(json + used, LARGE_SIZE + 16, "%s\"%0*d\"", i > 0 ? ", " : "",
                                 i % 2 == 1 ? LARGE_SIZE : 5, i);
    }
    snprintf(json + used, 2, "]");
    array_stand_open(definition, large_or_small, false);
    struct tr_buffer slots;
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, 1);
    add_list(&slots, "[string]", json);
    array_stand_start_slots("cast", tr_buffer_bytes(&slots));
    tr_buffer_fini(&slots);
    array_stand_run();
    assert_int_equal(array_stand.ends, 1);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(array_stand_output(0), "[0, 1, 0, 1, 0, 1, 0, 1, 0]");
    array_stand_close();
    free(json);
}

static void test_a_blob_that_is_no_list_or_ends_too_soon(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[8];
        size_t size;
        const char *code;
        const char *message;
    } cases[] = {
        {{0xc3},
         1,
         "BindingResolutionError",
         "the input 'a', from $a, holds true, which does not fit the declared type [string]"},
        {{0xdd, 0xff, 0xff, 0xff, 0xff, 1},
         6,
         "BindingResolutionError",
         "the input 'a', from $a, is damaged: 4294967295 elements cannot be in 6 bytes"},
        {{0x92, 0xa1, 'x', 0xa4, 'y'}, 5, "StorageError", "the list of input 'a' ends within [1]"},
        {{0x91, 0xc1},
         2,
         "BindingResolutionError",
         "[0] of input 'a', from $a, is damaged: its bytes are no value"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_buffer slots;
        array_stand_open(definition, same, false);
        tr_buffer_init(&slots, 0);
        tr_buffer_array(&slots, 2);
        struct tr_offloaded where = {.size_bytes = cases[i].size};
        where.uri = array_stand_blob((struct tr_bytes){cases[i].bytes, cases[i].size});
        tr_slot_write_offloaded(&slots, &where);
        array_stand_pack("string", "\"x\"", &slots);
        array_stand_start_slots("all", tr_buffer_bytes(&slots));
        tr_buffer_fini(&slots);
        array_stand_run();
        expect_failure(cases[i].code, cases[i].message);
        array_stand_close();
    }
}

/* Elements of a list that lies elsewhere are looked at one by one, and each may be wrong. */
static void test_an_element_that_does_not_fit_is_shown(void **state)
{
    (void)state;
    struct tr_buffer slots;
    array_stand_open(definition, same, false);
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, 1);
    add_list(&slots, "[string]", "[\"red\", \"blue\"]");
    array_stand_start_slots("enums", tr_buffer_bytes(&slots));
    tr_buffer_fini(&slots);
    array_stand_run();
    expect_failure("BindingResolutionError", "[1] of input 'a', from $a, holds 'blue', which does "
                                             "not fit the declared type enum(red, green)");
    array_stand_close();
}

/* Two types that differ: what is large would have to be changed. */
static void test_a_large_element_of_another_type(void **state)
{
    (void)state;
    char *json = words(1, 300000);
    struct tr_buffer slots;
    array_stand_open(definition, same, false);
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, 1);
    add_list(&slots, "[string]", json);
    array_stand_start_slots("enums", tr_buffer_bytes(&slots));
    tr_buffer_fini(&slots);
    array_stand_run();
    expect_failure("InputSizeExceeded",
                   "[0] of input 'a', from $a, is larger than 262144 bytes (TR_INLINE_BYTES_MAX) "
                   "and of type string, while the input is enum(red, green); declare the same type "
                   "for both");
    array_stand_close();
    free(json);
}

/* Gives a number where a text is declared. */
static void give_number(enum array_stand_event event, const struct tr_node_start *started,
                        struct array_stand_act *act)
{
    (void)started;
    if (event == STAND_START) {
        act->is_over = true;
        tr_buffer_array(&act->outputs, 1);
        tr_buffer_i64(&act->outputs, 7);
    }
}

static void test_an_output_that_does_not_fit_is_shown(void **state)
{
    (void)state;
    array_stand_open(definition, give_number, false);
    start("some", "[\"a\", \"b\"]");
    array_stand_run();
    expect_failure("MismatchingTypes", "[0] of output 'c' of 'same' holds 7, which does not fit "
                                       "the declared type string | none");
    array_stand_close();
}

static void test_a_service_that_is_busy_is_asked_again(void **state)
{
    (void)state;
    char *json = words(1000, 700);
    array_stand_open(definition, same, false);
    array_stand.files_error = TR_NO_CONNECTION;
    array_stand.files_refusals = TR_ARRAY_CALL_TRIES - 1;
    start("all", json);
    array_stand_advance(5000);
    assert_string_equal(array_stand_output(0), json);
    array_stand_close();
    free(json);
}

static void test_a_service_that_is_not_there_fails_the_node(void **state)
{
    (void)state;
    array_stand_open(definition, same, false);
    array_stand.files_error = TR_NO_CONNECTION;
    array_stand.files_refusals = UINT32_MAX;
    start("all", "[\"a\"]");
    array_stand_advance(5000);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_FAILED);
    assert_true(tr_text_equal(array_stand.end.code, tr_text_of("StorageError")));
    array_stand_close();
    array_stand_open(definition, same, false);
    array_stand.files_error = TR_NOT_FOUND;
    array_stand.files_refusals = 1;
    start("all", "[\"a\"]");
    array_stand_run();
    assert_true(tr_text_equal(array_stand.end.code, tr_text_of("StorageError")));
    array_stand_close();
}

static void stay(enum array_stand_event event, const struct tr_node_start *started,
                 struct array_stand_act *act)
{
    (void)event;
    (void)started;
    (void)act;
}

static void test_children_with_large_inputs_narrow_the_window(void **state)
{
    (void)state;
    char *json = words(1000, 200000);
    array_stand_open(definition, stay, false);
    start("all", json);
    array_stand_run();
    assert_true(array_stand.live * 200000ULL <= TR_ARRAY_WINDOW_BYTES + 200000);
    assert_true(array_stand.live > 300);
    array_stand_abort(TR_NODE_PHASE_ABORTED, false);
    array_stand_run();
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_ABORTED);
    array_stand_close();
    free(json);
}

static void test_an_abort_while_a_piece_is_on_its_way(void **state)
{
    (void)state;
    array_stand_open(definition, same, false);
    start("all", "[\"a\"]");
    stage_run(&array_stand.stage); /* the call has left and is not answered */
    array_stand_abort(TR_NODE_PHASE_ABORTED, false);
    stage_run(&array_stand.stage);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_ABORTED);
    array_stand_run();
    assert_int_equal(array_stand.ends, 1);
    array_stand_close();
}

/* ------------------------------------------------- what elements give lies elsewhere */

static struct tr_text large_uri;
static uint64_t large_size;

/* Every third element gives a value that lies in a blob, and the sixth one fails. */
static void give_elsewhere(enum array_stand_event event, const struct tr_node_start *started,
                           struct array_stand_act *act)
{
    if (event != STAND_START || started->element % 3 != 0) {
        same(event, started, act);
        return;
    }
    act->is_over = true;
    if (started->element == 6) {
        act->ended.phase = TR_NODE_PHASE_FAILED;
        act->ended.code = tr_text_of("KeyError");
        return;
    }
    tr_buffer_array(&act->outputs, 1);
    tr_slot_write_offloaded(&act->outputs, &(struct tr_offloaded){large_uri, large_size, 0});
}

static void gather_elsewhere(const char *node, bool may_fail)
{
    char *large = words(1, 700000);
    struct tr_buffer value;
    array_stand_open(definition, give_elsewhere, false);
    tr_buffer_init(&value, 0);
    large[strlen(large) - 1] = 0; /* without the brackets */
    array_stand_pack("string", large + 1, &value);
    large_uri = array_stand_blob(tr_buffer_bytes(&value));
    large_size = value.size;
    tr_buffer_fini(&value);
    start(node, may_fail ? "[\"0\", \"1\", \"2\", \"3\", \"4\", \"5\", \"6\"]"
                         : "[\"0\", \"1\", \"2\", \"3\"]");
    array_stand_run();
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
    size_t room = 2000000;
    char *wanted = malloc(room);
    snprintf(wanted, room, "[%s, \"1\", \"2\", %s%s", large + 1, large + 1,
             may_fail ? ", \"4\", \"5\", null]" : "]");
    assert_string_equal(array_stand_output(0), wanted);
    free(wanted);
    array_stand_close();
    free(large);
}

static void test_values_that_lie_elsewhere_are_copied_into_the_list(void **state)
{
    (void)state;
    gather_elsewhere("all", false);
    gather_elsewhere("some", true);
}

/* As much as a task may give inline. */
static void give_much(enum array_stand_event event, const struct tr_node_start *started,
                      struct array_stand_act *act)
{
    static char letters[250000];
    (void)started;
    if (event == STAND_START) {
        memset(letters, 'x', sizeof letters);
        act->is_over = true;
        tr_buffer_array(&act->outputs, 1);
        tr_buffer_text_value(&act->outputs, (struct tr_text){letters, sizeof letters});
    }
}

static void test_outputs_that_memory_would_not_hold_fail_the_node(void **state)
{
    (void)state;
    if (getenv("TROUPE_TEST_LONG") == NULL) {
        skip(); /* it takes the memory that the limit names */
    }
    char *json = words(2200, 10);
    array_stand_open(definition, give_much, false);
    start("all", json);
    array_stand_run();
    assert_int_equal(array_stand.ends, 1);
    assert_true(tr_text_equal(array_stand.end.code, tr_text_of("OutputSizeExceeded")));
    assert_int_equal(stage_actor_count(&array_stand.stage), 1);
    array_stand_close();
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_are_read_and_written_in_pieces),
        cmocka_unit_test(test_two_lists_with_pieces_of_their_own),
        cmocka_unit_test(test_elements_are_cast_one_by_one),
        cmocka_unit_test(test_lengths_of_blobs_are_compared_too),
        cmocka_unit_test(test_large_elements_of_one_list_and_of_two),
        cmocka_unit_test(test_large_elements_among_small_ones),
        cmocka_unit_test(test_a_blob_that_is_no_list_or_ends_too_soon),
        cmocka_unit_test(test_an_element_that_does_not_fit_is_shown),
        cmocka_unit_test(test_a_large_element_of_another_type),
        cmocka_unit_test(test_an_output_that_does_not_fit_is_shown),
        cmocka_unit_test(test_a_service_that_is_busy_is_asked_again),
        cmocka_unit_test(test_a_service_that_is_not_there_fails_the_node),
        cmocka_unit_test(test_children_with_large_inputs_narrow_the_window),
        cmocka_unit_test(test_an_abort_while_a_piece_is_on_its_way),
        cmocka_unit_test(test_outputs_that_memory_would_not_hold_fail_the_node),
        cmocka_unit_test(test_values_that_lie_elsewhere_are_copied_into_the_list),
    };
    return cmocka_run_group_tests_name("array_large", tests, NULL, NULL);
}
