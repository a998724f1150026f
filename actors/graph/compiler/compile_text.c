/*
 * Texts with references in braces, "{$name}.csv": a binding whose parts are put together as one
 * string when the node begins.
 *
 * Each part is what stands between two references, packed as a string, or a reference, whose value
 * has to have a form as text (tr_type_has_text). What follows from a broken node is told as little
 * here as elsewhere (compile_bind.c).
 */
#include "actors/graph/compiler/builder.h"

/* What stands between two references. */
static bool bind_literal(struct tri_builder *builder, struct tr_text text,
                         struct tr_binding *binding)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_buffer_text_value(&buffer, text);
    binding->kind = TR_BINDING_LITERAL;
    binding->source = tr_type_simple(builder->definition->types, TR_TYPE_STRING);
    binding->literal = tr_arena_bytes(&builder->compiler->graph->arena, tr_buffer_bytes(&buffer));
    tr_buffer_fini(&buffer);
    return binding->source != NULL;
}

static bool bind_reference(struct tri_builder *builder, uint32_t node, struct tri_place place,
                           const struct tri_reference *reference, struct tr_binding *binding)
{
    if (!tri_compile_resolve(builder, node, place, reference, binding)) {
        return false;
    }
    if (tr_type_has_text(binding->source)) {
        return true;
    }
    struct tr_text type = tr_type_text(builder->compiler->scratch, binding->source);
    tri_report_add(builder->compiler->report, place, "MismatchingTypes",
                   "'%.*s' is %.*s, which has no form as text\n%s", TRI_SHOWN(reference->text),
                   TRI_SHOWN(type),
                   tr_type_is_optional(binding->source)
                       ? "it may be none: let a task or a switch look first"
                       : "int, float, bool, string, enum, datetime and duration have one");
    return false;
}

bool tri_compile_bind_text(struct tri_builder *builder, uint32_t node, struct tri_place place,
                           const struct tri_interpolation *interpolation,
                           struct tr_binding *binding)
{
    uint32_t first = tri_compile_reserve_bindings(builder, interpolation->count);
    bool is_fine = first != TR_GRAPH_NONE;
    for (uint32_t i = 0; first != TR_GRAPH_NONE && i < interpolation->count; i++) {
        const struct tri_piece *piece = &interpolation->pieces[i];
        struct tr_binding part = {.key = binding->key};
        is_fine =
            (piece->is_reference ? bind_reference(builder, node, place, &piece->reference, &part)
                                 : bind_literal(builder, piece->text, &part)) &&
            is_fine;
        part.type = part.source;
        *tri_compile_binding_at(builder, first + i) = part;
    }
    binding->kind = TR_BINDING_TEXT;
    binding->source = tr_type_simple(builder->definition->types, TR_TYPE_STRING);
    binding->first = first;
    binding->count = interpolation->count;
    return is_fine;
}

bool tri_compile_read_text(struct tri_builder *builder, const struct tr_tree *tree, bool has_lead,
                           struct tri_interpolation *interpolation)
{
    struct tr_text problem;
    if (tri_interpolation_parse(builder->compiler->scratch, tree->text, has_lead, interpolation,
                                &problem)) {
        return true;
    }
    tri_compile_tell_syntax(builder, tree, problem);
    return false;
}

/* One that cannot be read counts as well: binding it tells what is wrong. */
bool tri_compile_holds_reference(struct tri_builder *builder, const struct tr_tree *tree)
{
    struct tri_interpolation interpolation;
    struct tr_text text;
    if (!tr_tree_is_text(tree) || !tree->has_dollar || tri_compile_is_reference(tree)) {
        return false;
    }
    return !tri_interpolation_parse(builder->compiler->scratch, tree->text, true, &interpolation,
                                    &text) ||
           !tri_interpolation_is_literal(&interpolation, &text);
}
