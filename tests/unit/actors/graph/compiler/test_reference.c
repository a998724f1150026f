/*
 * The language reference is true: every block of examples/README.md that stands for what is right
 * compiles, every block with an error gives exactly that error, every example compiles, and every
 * key of the language's schema has a section of its own.
 *
 * A block `yaml CONTEXT` is put where @@ stands in contexts/CONTEXT.yaml; a block `text` behind it
 * holds its errors and warnings without their places.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "tests/unit/actors/graph/help.h"

#define SOURCE(path) TROUPE_SOURCE_DIR "/" path

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("%s cannot be read", path);
        return NULL;
    }
    size_t room = 1 << 20;
    char *text = calloc(1, room);
    assert_non_null(text);
    assert_true(fread(text, 1, room - 1, file) < room - 1);
    (void)fclose(file);
    return text;
}

/* The text between two lines of backticks; `at` is set behind the block. */
static char *take_block(const char **at)
{
    const char *begin = strchr(*at, '\n') + 1;
    const char *end = strstr(begin, "```");
    assert_non_null(end);
    *at = end + 4;
    return strndup(begin, (size_t)(end - begin));
}

/* Puts each line of the fragment, indented, in the place of @@. */
static void put_into_context(const char *context, const char *fragment, struct tr_buffer *whole)
{
    char path[4096];
    (void)snprintf(path, sizeof path, SOURCE("tests/unit/actors/graph/contexts/%s.yaml"), context);
    char *frame = read_all(path);
    char *mark = strstr(frame, "@@");
    assert_non_null(mark);
    size_t indent = 0;
    while (mark - indent > frame && mark[-1 - (long)indent] == ' ') {
        indent++;
    }
    tr_buffer_add(whole, frame, (size_t)(mark - frame) - indent);
    for (const char *line = fragment; *line != '\0';) {
        size_t size = (size_t)(strchr(line, '\n') - line) + 1;
        tr_buffer_print(whole, "%*s%.*s", (int)indent, "", (int)size, line);
        line += size;
    }
    free(frame);
}

static void print_all(struct tr_problem *problems, uint32_t count, struct tr_buffer *buffer)
{
    for (uint32_t i = 0; i < count; i++) {
        problems[i].file = tr_text_of("");
        tr_problem_print(&problems[i], buffer);
        tr_buffer_add_string(buffer, "\n");
    }
}

/* The errors and warnings of a text, one in a line, without their places. */
static void errors_of(struct tr_text text, struct tr_buffer *errors)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_definition_source request = {
        .path = tr_text_of("w.yaml"), .folder = tr_text_of("/f"), .text = text};
    tr_report_init(&report);
    int error = tr_graph_compile(&request, &report, &graph);
    assert_int_equal(error, report.count > 0 ? TR_INVALID : 0);
    print_all(report.problems, report.count, errors);
    print_all(report.warnings, report.warning_count, errors);
    tr_graph_free(graph);
    tr_report_fini(&report);
}

static void check_block(const char *context, const char *fragment, const char *expected)
{
    struct tr_buffer whole;
    struct tr_buffer errors;
    tr_buffer_init(&whole, 0);
    tr_buffer_init(&errors, 0);
    put_into_context(context, fragment, &whole);
    errors_of(tr_buffer_text(&whole), &errors);
    tr_buffer_add(&errors, "", 1);
    if (strcmp((const char *)errors.data, expected) != 0) {
        fail_msg("%s\nexpected: %sgot: %s", fragment, expected, (const char *)errors.data);
    }
    tr_buffer_fini(&errors);
    tr_buffer_fini(&whole);
}

static void test_every_block_is_true(void **state)
{
    (void)state;
    char *text = read_all(SOURCE("examples/README.md"));
    const char *at = text;
    unsigned right = 0;
    unsigned wrong = 0;
    while ((at = strstr(at, "```yaml ")) != NULL) {
        char context[32];
        assert_int_equal(sscanf(at, "```yaml %31s", context), 1);
        char *fragment = take_block(&at);
        bool is_wrong = strncmp(at, "```text", 7) == 0;
        char *expected = is_wrong ? take_block(&at) : strdup("");
        check_block(context, fragment, expected);
        right += is_wrong ? 0 : 1;
        wrong += is_wrong ? 1 : 0;
        free(expected);
        free(fragment);
    }
    assert_true(right > 70);
    assert_true(wrong > 120);
    free(text);
}

static void test_every_example_compiles(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob(SOURCE("examples/workflows/*.yaml"), 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 8);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct tr_report report;
        struct tr_graph *graph = NULL;
        tr_report_init(&report);
        int error = tr_graph_check_file(found.gl_pathv[i], &report, &graph);
        if (error != 0) {
            fail_msg("%s: %.*s", found.gl_pathv[i], TRI_TEXT(report.problems[0].rule));
        }
        assert_int_not_equal(graph->main_workflow, TR_GRAPH_NONE);
        tr_graph_free(graph);
        tr_report_fini(&report);
    }
    globfree(&found);
}

/* Whether a word stands as a key in one of the reference's headings or texts, in backticks. */
static bool is_documented(const char *reference, struct tr_text key)
{
    char code[128];
    (void)snprintf(code, sizeof code, "`%.*s`", TRI_TEXT(key));
    char list[128];
    (void)snprintf(list, sizeof list, "%.*s,", TRI_TEXT(key));
    char field[128];
    (void)snprintf(field, sizeof field, "%.*s:", TRI_TEXT(key));
    return strstr(reference, code) != NULL || strstr(reference, list) != NULL ||
           strstr(reference, field) != NULL;
}

/* Collects the keys below each "properties" of the schema. */
static unsigned check_properties(const char *reference, const struct tr_tree *tree)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        if (tree->kind == TR_TREE_LIST) {
            count += check_properties(reference, tree->items[i]);
            continue;
        }
        if (tree->kind != TR_TREE_MAP) {
            break;
        }
        const struct tr_pair *pair = &tree->pairs[i];
        bool is_properties = tr_text_equal(pair->key->text, tr_text_of("properties"));
        for (uint32_t k = 0; is_properties && k < pair->value->count; k++) {
            struct tr_text key = pair->value->pairs[k].key->text;
            if (!is_documented(reference, key)) {
                fail_msg("'%.*s' is not in examples/README.md", TRI_TEXT(key));
            }
            count++;
        }
        count += check_properties(reference, pair->value);
    }
    return count;
}

static void test_every_key_is_documented(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    char *schema = read_all(SOURCE("schemas/language.schema.json"));
    char *reference = read_all(SOURCE("examples/README.md"));
    const struct tr_tree *tree = help_json(&help, schema);
    assert_non_null(tree);
    assert_true(check_properties(reference, tree) > 100);
    free(reference);
    free(schema);
    help_fini(&help);
}

/* The schema says of every file what the compiler says, as far as a schema can. */
static void test_schema_agrees(void **state)
{
    (void)state;
    int status = system(SOURCE("tests/support/check_language_schema") " " TROUPE_SOURCE_DIR);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message(
            "SKIPPED: the JSON Schema was not tried, python3 has no jsonschema or yaml\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_block_is_true),
        cmocka_unit_test(test_every_example_compiles),
        cmocka_unit_test(test_every_key_is_documented),
        cmocka_unit_test(test_schema_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
