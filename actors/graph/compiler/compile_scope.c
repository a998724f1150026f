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

const struct tri_scope *tri_compile_scope_find(const struct tri_builder *builder,
                                               struct tr_text name)
{
    return tr_text_search(name, builder->scope, builder->scope_count, sizeof *builder->scope);
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
