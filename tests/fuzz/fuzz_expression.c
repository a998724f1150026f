/*
 * Any bytes as a condition and as a reference. Parts of a condition come before those that hold
 * them, each held once.
 */
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/language/expression.h"
#include "tests/fuzz/fuzz.h"

static void check_parts(const struct tri_condition *condition)
{
    static uint8_t held[TR_CONDITION_PARTS_MAX];
    memset(held, 0, sizeof held);
    for (uint32_t i = 0; i < condition->count; i++) {
        const struct tri_part *part = &condition->parts[i];
        bool is_value = part->kind == TR_CONDITION_INPUT || part->kind == TR_CONDITION_LITERAL;
        bool is_single = part->kind == TR_CONDITION_NOT;
        if (is_value) {
            continue;
        }
        if (part->left >= i || held[part->left]++ != 0 ||
            (!is_single && (part->right >= i || held[part->right]++ != 0))) {
            abort();
        }
    }
}

/* Pieces are none of them empty, and two that go out as they are do not stand side by side. */
static void check_pieces(const struct tri_interpolation *interpolation)
{
    for (uint32_t i = 0; i < interpolation->count; i++) {
        const struct tri_piece *piece = &interpolation->pieces[i];
        bool is_empty = !piece->is_reference && piece->text.size == 0;
        bool is_doubled = i > 0 && !piece->is_reference && !piece[-1].is_reference;
        if (is_empty || is_doubled ||
            (piece->is_reference && !tri_is_name(piece->reference.name))) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_arena arena;
    struct tr_types types;
    struct tri_condition condition;
    struct tri_reference reference;
    struct tri_interpolation interpolation;
    struct tr_text problem;
    size_t offset;
    struct tr_text text = {.data = (const char *)data, .size = size};
    tr_arena_init(&arena);
    tr_types_init(&types, &arena);
    if (tri_condition_parse(&types, &arena, text, &condition, &problem, &offset)) {
        check_parts(&condition);
    } else if (offset > size) {
        abort();
    }
    (void)!tri_reference_parse(&arena, text, &reference, &problem);
    if (tri_interpolation_parse(&arena, text, true, &interpolation, &problem)) {
        check_pieces(&interpolation);
    }
    tr_arena_fini(&arena);
    return 0;
}
