/*
 * Any bytes as a type: what is read prints as a text that reads as the same type. Halves of the
 * bytes are two types, and a value that may be cast from one into the other is one.
 */
#include <stdlib.h>

#include "actors/graph/value/literal.h"
#include "tests/fuzz/fuzz.h"

static const struct tr_type *parse(struct tr_types *types, struct tr_text text)
{
    struct tr_text problem;
    const struct tr_type *type = tr_type_parse(types, text, &problem);
    if (type != NULL) {
        struct tr_buffer written;
        tr_buffer_init(&written, 0);
        tr_type_write(type, &written);
        if (tr_type_parse(types, tr_buffer_text(&written), &problem) != type) {
            abort();
        }
        tr_buffer_fini(&written);
    }
    return type;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_arena arena;
    struct tr_types types;
    tr_arena_init(&arena);
    tr_types_init(&types, &arena);
    struct tr_text left = {.data = (const char *)data, .size = size / 2};
    struct tr_text right = {.data = (const char *)data + size / 2, .size = size - size / 2};
    const struct tr_type *from = parse(&types, left);
    const struct tr_type *to = parse(&types, right);
    (void)parse(&types, (struct tr_text){.data = (const char *)data, .size = size});
    if (from != NULL && to != NULL) {
        (void)tr_type_castable(from, to);
    }
    tr_arena_fini(&arena);
    return 0;
}
