/*
 * Looking up what a name of a workflow stands for, and which node a message is about. The names
 * themselves are collected, sorted, by compile_workflow.c.
 */
#include "actors/graph/compiler/builder.h"
#include "actors/graph/language/keys.h"

struct tr_text tri_compile_begin_subject(struct tri_builder *builder, uint32_t node)
{
    struct tr_text workflow = builder->source->name.text;
    struct tr_text id = builder->workflow->nodes[node].id;
    bool has_id = builder->built[node].source != NULL;
    return tri_report_subject(builder->compiler->report,
                              has_id ? tr_arena_print(builder->compiler->scratch, "%.*s.%.*s",
                                                      TRI_SHOWN(workflow), TRI_SHOWN(id))
                                     : workflow);
}

static bool is_in(const struct tri_scope *found, enum tri_reference_scope scope)
{
    return scope == TRI_REFERENCE_ANY ||
           (found->kind == TRI_SCOPE_INPUT) == (scope == TRI_REFERENCE_INPUT);
}

/*
 * In the language a name stands there once. In a document of Flyte's an input, a node and an arm
 * may share one; they stand next to each other then, in this order.
 */
const struct tri_scope *tri_compile_scope_find(const struct tri_builder *builder,
                                               enum tri_reference_scope scope, struct tr_text name)
{
    const struct tri_scope *end = builder->scope + builder->scope_count;
    const struct tri_scope *found =
        tr_text_search(name, builder->scope, builder->scope_count, sizeof *builder->scope);
    while (found != NULL && found > builder->scope && tr_text_equal(found[-1].name.text, name)) {
        found--;
    }
    while (found != NULL && found < end && tr_text_equal(found->name.text, name)) {
        if (is_in(found, scope)) {
            return found;
        }
        found++;
    }
    return NULL;
}

static struct tr_text scope_name_at(const void *self, uint32_t position)
{
    const struct tri_builder *builder = self;
    return builder->scope[position].name.text;
}

struct tr_text tri_compile_scope_nearest(struct tri_builder *builder, struct tr_text name)
{
    return tri_keys_nearest(builder->definition, name, scope_name_at, builder,
                            builder->scope_count);
}
