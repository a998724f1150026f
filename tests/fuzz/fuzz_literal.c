/*
 * A type in the first line, then a value: as a document, which comes back from its JSON as the same
 * bytes; and as packed bytes, which are refused or can be written and cast.
 */
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/json.h"
#include "actors/graph/document/yaml.h"
#include "actors/graph/value/literal.h"
#include "tests/fuzz/fuzz.h"

static void check_packed(const struct tr_type *type, struct tr_bytes value)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    if (tr_literal_check(type, value) == 0) {
        const struct tr_type *none = NULL;
        if (tr_literal_json(type, value, &buffer) != 0 ||
            tr_literal_cast(type, type, value, &buffer) != 0) {
            abort();
        }
        (void)!tr_literal_cast(type, none, value, &buffer);
        (void)!tr_literal_cast(none, type, value, &buffer);
    }
    tr_buffer_fini(&buffer);
}

/* What was read is what its JSON says. */
static void check_document(struct tr_arena *arena, const struct tr_type *type, struct tr_text text)
{
    struct tr_report report;
    struct tr_buffer first;
    struct tr_buffer json;
    struct tr_buffer second;
    tr_report_init(&report);
    tr_buffer_init(&first, 0);
    tr_buffer_init(&json, 0);
    tr_buffer_init(&second, 0);
    struct tr_literal_reader reader = {.report = &report, .arena = arena};
    const struct tr_tree *tree = tr_yaml_read(arena, &report, 0, text);
    if (tree != NULL && tr_literal_read(&reader, type, tree, &first)) {
        check_packed(type, tr_buffer_bytes(&first));
        if (tr_literal_json(type, tr_buffer_bytes(&first), &json) != 0) {
            abort();
        }
        tree = tr_json_read(arena, &report, 0, tr_buffer_text(&json));
        if (tree == NULL || !tr_literal_read(&reader, type, tree, &second) ||
            !tr_literal_equal(tr_buffer_bytes(&first), tr_buffer_bytes(&second))) {
            abort();
        }
    }
    tr_buffer_fini(&second);
    tr_buffer_fini(&json);
    tr_buffer_fini(&first);
    tr_report_fini(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *feed = size == 0 ? NULL : memchr(data, '\n', size);
    struct tr_arena arena;
    struct tr_types types;
    struct tr_text problem;
    if (feed == NULL) {
        return 0;
    }
    size_t head = (size_t)(feed - data);
    tr_arena_init(&arena);
    tr_types_init(&types, &arena);
    struct tr_text name = {.data = (const char *)data, .size = head};
    const struct tr_type *type = tr_type_parse(&types, name, &problem);
    struct tr_text rest = {.data = (const char *)feed + 1, .size = size - head - 1};
    struct tr_bytes bytes = {.data = feed + 1, .size = size - head - 1};
    if (type != NULL) {
        check_document(&arena, type, rest);
    }
    check_packed(type, bytes);
    tr_arena_fini(&arena);
    return 0;
}
