/*
 * Any bytes as YAML and as JSON: a tree or errors, and a tree's values survive being written as
 * JSON and read again.
 */
#include <stdlib.h>

#include "actors/graph/document/json.h"
#include "actors/graph/document/yaml.h"
#include "actors/graph/value/literal.h"
#include "tests/fuzz/fuzz.h"

/* Writes the tree as a run-time value and as JSON, which has to be readable. */
static void check_tree(struct tr_arena *arena, struct tr_report *report, const struct tr_tree *tree)
{
    struct tr_literal_reader reader = {.report = report, .arena = arena};
    struct tr_buffer value;
    struct tr_buffer json;
    tr_buffer_init(&value, 0);
    tr_buffer_init(&json, 0);
    if (tr_literal_read(&reader, NULL, tree, &value)) {
        if (tr_literal_json(NULL, tr_buffer_bytes(&value), &json) != 0 ||
            tr_json_read(arena, report, 0, tr_buffer_text(&json)) == NULL) {
            abort();
        }
    }
    tr_buffer_fini(&json);
    tr_buffer_fini(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_arena arena;
    struct tr_report report;
    struct tr_text text = {.data = (const char *)data, .size = size};
    tr_arena_init(&arena);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_yaml_read(&arena, &report, 0, text);
    if (tree != NULL) {
        check_tree(&arena, &report, tree);
    }
    tree = tr_json_read(&arena, &report, 0, text);
    if (tree != NULL) {
        check_tree(&arena, &report, tree);
    }
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    return 0;
}
