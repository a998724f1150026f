/*
 * From a graph, how its nodes stood and what is to be different, to what runs again: each rule of
 * recovery_plan.h and recovery_same.h in a row.
 */
#include "deploy/recovery/recovery_plan.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "schemas/engine/phase.h"
#include "tests/support/test.h"

#define TASKS                                                                   \
    "troupe: 1\n"                                                               \
    "tasks:\n"                                                                  \
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, " \
    "run: [x, ./y]}\n"                                                          \
    "  many: {inputs: {a: [int]}, outputs: {c: int}, run: [x]}\n"               \
    "workflows:\n"                                                              \
    "  inner:\n"                                                                \
    "    inputs: {x: int, k: int}\n"                                            \
    "    nodes:\n"                                                              \
    "      t: {task: add, with: {a: $x}}\n"                                     \
    "      u: {task: add, with: {a: $t.c, b: $k}}\n"                            \
    "    outputs: {y: $u.c}\n"

#define MAIN                                                  \
    "  main:\n"                                               \
    "    inputs: {x: int, k: int, l: [int]}\n"                \
    "    nodes:\n"                                            \
    "      one: {task: add, with: {a: $x}}\n"                 \
    "      two: {task: add, with: {a: $one.c}}\n"             \
    "      w: {workflow: inner, with: {x: $one.c, k: $k}}\n"  \
    "      sq: {map: add, with: {a: $l}}\n"                   \
    "      mw: {map: inner, with: {x: $l, k: 1}}\n"           \
    "      way: {switch: [{when: \"$two.c > 1\", task: add, " \
    "with: {a: 1}}, {else: skip}]}\n"                         \
    "      sum: {task: many, with: {a: $sq.c}, after: [w]}\n" \
    "      late: {task: add, with: {a: 1}, after: [way]}\n"   \
    "    outputs: {c: $sum.c}\n"

static const char definition[] = TASKS MAIN;

static struct tr_graph *compile(const char *text, const char *folder)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_definition_source request = {
        .path = tr_text_of("plan.yaml"), .folder = tr_text_of(folder), .text = tr_text_of(text)};
    tr_report_init(&report);
    int error = tr_graph_compile(&request, &report, &graph);
    for (uint32_t i = 0; error != 0 && i < report.count; i++) {
        struct tr_buffer words;
        tr_buffer_init(&words, 0);
        tr_problem_print(&report.problems[i], &words);
        print_message("%.*s\n", (int)words.size, (const char *)words.data);
        tr_buffer_fini(&words);
    }
    tr_report_fini(&report);
    assert_int_equal(error, 0);
    return graph;
}

/* How everything stood that has ended well; late and what is in elements are not in here. */
static const char *const begun[] = {"late", "mw",  "one", "sq",  "sum",   "two",
                                    "w",    "w/t", "w/u", "way", "way-n0"};

/* One case: words separated by blanks; `again` and `open` as they come out, and some notes. */
struct row {
    const char *from;    /* paths; with a `!` behind it its failed elements alone */
    const char *set;     /* PATH.INPUT */
    const char *changed; /* inputs of main */
    const char *failed;  /* nodes that did not succeed */
    const char *again;
    const char *open;
    const char *note; /* part of what is noted, PATH=REASON */
};

static const struct row rows[] = {
    {NULL, NULL, NULL, NULL, "", "", NULL},
    {"sum", NULL, NULL, NULL, "sum", "", "sum=as asked for"},
    {"two", NULL, NULL, NULL, "late two way-n0", "", "late=behind two"},
    {"w", NULL, NULL, NULL, "sum w", "", "sum=behind w"},
    {"w/u", NULL, NULL, NULL, "sum w/u", "w", "w/u=as asked for"},
    {"sq", NULL, NULL, NULL, "sq sum", "", NULL},
    {"sq!", NULL, NULL, NULL, "sum", "sq", "sq=its elements that failed"},
    {"sq! sq[3]", NULL, NULL, NULL, "sq[3] sum", "sq", "sq[3]=as asked for"},
    {"mw!", "mw[3]/t.a", NULL, NULL, "mw[3]/t mw[3]/u", "mw", NULL},
    {"sq[3]", NULL, NULL, NULL, "sq[3] sum", "sq", "sq[3]=as asked for"},
    {"mw[3]/t", NULL, NULL, NULL, "mw[3]/t mw[3]/u", "mw", NULL},
    {"mw[3]/t mw[3]/u mw[5]", NULL, NULL, NULL, "mw[3]/t mw[3]/u mw[5]", "mw", NULL},
    {"way", NULL, NULL, NULL, "late way-n0", "", NULL},
    {NULL, "sum.a", NULL, NULL, "sum", "", "sum=its input a is edited"},
    {NULL, "w/u.b", NULL, NULL, "sum w/u", "w", "w/u=its input b is edited"},
    {NULL, NULL, "k", NULL, "sum w/u", "w", "w/u=uses the input k, which is edited"},
    {NULL, NULL, "x", NULL, "late one sum two w way-n0", "", "w=behind one"},
    {NULL, NULL, "l", NULL, "mw sq sum", "", "sq=uses the input l, which is edited"},
    {NULL, NULL, NULL, "one", "late sum two w way-n0", "one", "two=behind one"},
    {NULL, NULL, NULL, "sq", "sum", "sq", NULL},
    {"sum", NULL, NULL, "two", "late sum way-n0", "two", NULL},
    /* A branch that failed by itself does so again; what its arm did counts. */
    {NULL, NULL, NULL, "way", "", "", NULL},
    {NULL, NULL, NULL, "way-n0", "late", "way-n0", NULL},
};

/* The arm that is edited was not taken. */
static const struct row skipped = {NULL, "way-n0.a", NULL, NULL, "way-n0", "", NULL};

static bool has_word(const char *words, const char *word, size_t size)
{
    for (const char *at = words; at != NULL && *at != '\0';) {
        size_t found = strcspn(at, " ");
        if (found == size && memcmp(at, word, size) == 0) {
            return true;
        }
        at += found + strspn(at + found, " ");
    }
    return false;
}

/* Appends a target for each word. */
static uint32_t add_targets(const char *words, bool is_edit, struct tr_recovery_target *targets,
                            uint32_t count)
{
    static const uint8_t nil[] = {0xc0};
    for (const char *at = words; at != NULL && *at != '\0';) {
        size_t size = strcspn(at, " ");
        bool is_failed_only = at[size - 1] == '!';
        struct tr_recovery_target *target = &targets[count++];
        *target = (struct tr_recovery_target){.path = {at, size - (is_failed_only ? 1 : 0)},
                                              .is_failed_only = is_failed_only};
        if (is_edit) {
            target->path.size = strcspn(at, ".");
            target->input =
                (struct tr_text){at + target->path.size + 1, size - target->path.size - 1};
            target->slot = (struct tr_bytes){nil, 1};
        }
        at += size + strspn(at + size, " ");
    }
    return count;
}

static void print(const struct tr_text *paths, uint32_t count, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", i > 0 ? " " : "",
                                 (int)paths[i].size, paths[i].data);
    }
}

static uint8_t phase_of(const struct row *row, const char *path)
{
    if (has_word(row->failed, path, strlen(path))) {
        return TR_NODE_PHASE_FAILED;
    }
    bool is_skipped = row == &skipped && strcmp(path, "way-n0") == 0;
    return is_skipped ? TR_NODE_PHASE_SKIPPED : TR_NODE_PHASE_SUCCEEDED;
}

static void make(const struct tr_graph *graph, const struct tr_graph *before, const struct row *row,
                 struct tr_arena *arena, struct tr_recovery_made *made)
{
    struct tr_text paths[TR_COUNT_OF(begun)];
    uint8_t phases[TR_COUNT_OF(begun)];
    struct tr_recovery_target targets[8];
    bool changed[3] = {false};
    for (size_t i = 0; i < TR_COUNT_OF(begun); i++) {
        paths[i] = tr_text_of(begun[i]);
        phases[i] = phase_of(row, begun[i]);
    }
    const struct tr_recovery_past past = {
        .paths = paths, .phases = phases, .count = TR_COUNT_OF(begun)};
    uint32_t workflow = tr_graph_find_workflow(graph, tr_text_of("main"));
    const struct tr_variables *inputs = &graph->workflows[workflow].interface.inputs;
    for (uint32_t i = 0; i < inputs->count; i++) {
        changed[i] = has_word(row->changed, inputs->items[i].name.data, inputs->items[i].name.size);
    }
    uint32_t count = add_targets(row->from, false, targets, 0);
    count = add_targets(row->set, true, targets, count);
    struct tr_recovery_request request = {
        .graph = graph,
        .workflow = workflow,
        .before = before,
        .workflow_before = tr_graph_find_workflow(before, tr_text_of("main")),
        .past = &past,
        .targets = targets,
        .target_count = count,
        .changed = changed,
    };
    assert_int_equal(tr_recovery_make(&request, arena, made), 0);
}

static void check(const struct row *row, const struct tr_recovery_made *made)
{
    char again[512];
    char open[512];
    bool is_noted = row->note == NULL;
    print(made->recovery.again, made->recovery.again_count, again, sizeof again);
    print(made->recovery.open, made->recovery.open_count, open, sizeof open);
    for (uint32_t i = 0; i < made->note_count && !is_noted; i++) {
        char note[256];
        snprintf(note, sizeof note, "%.*s=%.*s", (int)made->notes[i].path.size,
                 made->notes[i].path.data, (int)made->notes[i].reason.size,
                 made->notes[i].reason.data);
        is_noted = strcmp(note, row->note) == 0;
    }
    if (strcmp(again, row->again) != 0 || strcmp(open, row->open) != 0 || !is_noted) {
        fail_msg("from %s, set %s, changed %s, failed %s: again '%s', open '%s', %s",
                 row->from != NULL ? row->from : "-", row->set != NULL ? row->set : "-",
                 row->changed != NULL ? row->changed : "-", row->failed != NULL ? row->failed : "-",
                 again, open, is_noted ? "noted" : "not noted");
    }
}

static void test_what_runs_again(void **state)
{
    (void)state;
    struct tr_graph *graph = compile(definition, "/flow");
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_arena arena;
        struct tr_recovery_made made;
        tr_arena_init(&arena);
        make(graph, graph, &rows[i], &arena, &made);
        check(&rows[i], &made);
        tr_arena_fini(&arena);
    }
    tr_graph_free(graph);
}

static void test_an_arm_that_was_skipped_changes_nothing(void **state)
{
    (void)state;
    struct tr_graph *graph = compile(definition, "/flow");
    struct tr_arena arena;
    struct tr_recovery_made made;
    tr_arena_init(&arena);
    make(graph, graph, &skipped, &arena, &made);
    check(&skipped, &made);
    tr_arena_fini(&arena);
    tr_graph_free(graph);
}

static void test_an_edit_holds_until_it_is_edited_anew(void **state)
{
    (void)state;
    static const uint8_t seven[] = {7};
    const struct tr_recovery_edit earlier[] = {
        {.path = tr_text_of("w/u"), .input = tr_text_of("b"), .slot = {seven, 1}},
        {.path = tr_text_of("sum"), .input = tr_text_of("a"), .slot = {seven, 1}},
    };
    const struct tr_recovery_target targets[] = {
        {.path = tr_text_of("sum"), .input = tr_text_of("a"), .slot = {seven, 0}},
        {.path = tr_text_of("sum"), .input = tr_text_of("a"), .slot = {seven, 1}},
        {.path = tr_text_of("sum"), .input = tr_text_of("z"), .slot = {seven, 0}},
    };
    struct tr_graph *graph = compile(definition, "/flow");
    struct tr_arena arena;
    struct tr_recovery_made made;
    uint32_t workflow = tr_graph_find_workflow(graph, tr_text_of("main"));
    const struct tr_recovery_past past = {.count = 0};
    struct tr_recovery_request request = {.graph = graph,
                                          .workflow = workflow,
                                          .before = graph,
                                          .workflow_before = workflow,
                                          .past = &past,
                                          .targets = targets,
                                          .target_count = TR_COUNT_OF(targets),
                                          .earlier = earlier,
                                          .earlier_count = TR_COUNT_OF(earlier)};
    tr_arena_init(&arena);
    assert_int_equal(tr_recovery_make(&request, &arena, &made), 0);
    assert_int_equal(made.recovery.edit_count, 3);
    assert_true(tr_text_equal(made.recovery.edits[2].path, tr_text_of("w/u")));
    for (uint32_t i = 0; i < 2; i++) {
        bool is_a = tr_text_equal(made.recovery.edits[i].input, tr_text_of("a"));
        assert_int_equal(made.recovery.edits[i].slot.size, is_a ? 1 : 0);
    }
    tr_arena_fini(&arena);
    tr_graph_free(graph);
}

/* Replaces a part of the definition, which has to be there. */
static const char *with(const char *part, const char *other)
{
    static char text[8192];
    const char *at = strstr(definition, part);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - definition), definition, other,
             at + strlen(part));
    return text;
}

static void test_definitions_are_compared(void **state)
{
    (void)state;
    static const struct {
        const char *part;
        const char *other;
        const char *folder;
        struct row row;
    } cases[] = {
        /* How often, how long, with what: that does not count. */
        {"run: [x]}",
         "run: [x], retries: 3, timeout: 1h, resources: {cpu: 2}}",
         "/flow",
         {.again = "", .open = ""}},
        {"with: {a: $sq.c}, after: [w]}",
         "with: {a: $sq.c}, after: [w], retries: 2}",
         "/flow",
         {.again = "", .open = ""}},
        /* Words, environment, the version of a cache do. */
        {"run: [x]}",
         "run: [z]}",
         "/flow",
         {.again = "sum", .open = "", .note = "sum=its definition has changed"}},
        {"run: [x]}", "run: [x], env: {A: b}}", "/flow", {.again = "sum", .open = ""}},
        {"run: [x]}", "run: [x], cache: v2}", "/flow", {.again = "sum", .open = ""}},
        /* So does what is bound, and one more node before. */
        {"with: {a: $one.c}}",
         "with: {a: 4}}",
         "/flow",
         {.again = "late two way-n0", .open = "", .note = "two=its definition has changed"}},
        {"{task: add, with: {a: 1}, after: [way]}",
         "{task: add, with: {a: 2}, after: [way]}",
         "/flow",
         {.again = "late", .open = ""}},
        /* Inside a workflow only what differs; a map of it runs as a whole. */
        {"with: {a: $t.c, b: $k}}",
         "with: {a: $t.c, b: 3}}",
         "/flow",
         {.again = "mw sum w/u", .open = "w", .note = "w/u=its definition has changed"}},
        {"outputs: {y: $u.c}",
         "outputs: {y: $t.c}",
         "/flow",
         {.again = "mw sum", .open = "w", .note = "sum=behind w"}},
        /* What a switch asks for decides what is behind it. */
        {"$two.c > 1", "$two.c > 2", "/flow", {.again = "late way-n0", .open = ""}},
        /* `./y` is another program elsewhere. */
        {"run: [x]}",
         "run: [x]}",
         "/else",
         {.again = "late mw one sq sum two w way-n0", .open = ""}},
    };
    struct tr_graph *before = compile(definition, "/flow");
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_arena arena;
        struct tr_recovery_made made;
        struct tr_graph *graph = compile(with(cases[i].part, cases[i].other), cases[i].folder);
        tr_arena_init(&arena);
        make(graph, before, &cases[i].row, &arena, &made);
        check(&cases[i].row, &made);
        tr_arena_fini(&arena);
        tr_graph_free(graph);
    }
    tr_graph_free(before);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_runs_again),
        cmocka_unit_test(test_an_arm_that_was_skipped_changes_nothing),
        cmocka_unit_test(test_an_edit_holds_until_it_is_edited_anew),
        cmocka_unit_test(test_definitions_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
