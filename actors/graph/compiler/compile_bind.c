/*
 * Bindings: what is written under `with` and `outputs` becomes literals, references, and lists and
 * maps of them, each checked against the type of its place. Recursion follows the document, no
 * deeper than TR_TREE_DEPTH_MAX.
 *
 * Needs the outputs of all nodes that come before in the order, with their types. Leaves bindings
 * in one array of the workflow; a list or map names its parts by where they begin there and how
 * many they are, so parts are reserved together before any of them is bound.
 *
 * What refers to a broken node is bound to a literal without a value and sets touched_broken: one
 * error is told for its cause, and none for what follows from it.
 */
#include "actors/graph/compiler/builder.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/language/keys.h"

bool tri_compile_is_reference(const struct tr_tree *tree)
{
    return tree->kind == TR_TREE_REFERENCE ||
           (tr_tree_is_text(tree) && tree->has_dollar && tree->text.data[0] == '$' &&
            !(tree->text.size > 1 && tree->text.data[1] == '$'));
}

bool tri_compile_read_reference(struct tri_builder *builder, const struct tr_tree *tree,
                                struct tri_reference *reference, struct tr_text *problem)
{
    if (tree->kind == TR_TREE_REFERENCE) {
        *reference = *tree->reference;
        return true;
    }
    return tri_reference_parse(builder->compiler->scratch, tree->text, reference, problem);
}

/* What stands at a scalar's place as messages show it. */
static struct tr_text shown(const struct tr_tree *tree)
{
    return tree->kind == TR_TREE_REFERENCE ? tree->reference->text : tree->text;
}

/*
 * So many bindings next to each other, empty; where they begin, or TR_GRAPH_NONE without memory.
 * Pointers to bindings are void behind it: the array may have moved.
 */
uint32_t tri_compile_reserve_bindings(struct tri_builder *builder, uint32_t count)
{
    uint32_t first = builder->bindings.count;
    for (uint32_t i = 0; i < count; i++) {
        struct tr_binding *binding =
            tri_vector_add(&builder->compiler->graph->arena, &builder->bindings, sizeof *binding);
        if (binding == NULL) {
            return TR_GRAPH_NONE;
        }
    }
    return first;
}

/* Reports a reference that cannot be followed, with the nearest name or what to do; false. */
static bool fail_reference(struct tri_builder *builder, struct tri_place place, const char *code,
                           const struct tri_reference *reference, const char *what,
                           struct tr_text nearest, const char *otherwise)
{
    struct tr_text remedy = tri_keys_did_you_mean(builder->definition, nearest, otherwise);
    tri_report_add(builder->compiler->report, place, code, "'%.*s': %s\n%.*s",
                   TRI_SHOWN(reference->text), what, TRI_TEXT(remedy));
    return false;
}

static struct tr_text variable_name_at(const void *self, uint32_t position)
{
    const struct tr_variables *variables = self;
    return variables->items[position].name;
}

/* `$err`, which only the bodies of on_failure and finally may use. */
static bool resolve_error(struct tri_builder *builder, uint32_t node, struct tri_place place,
                          const struct tri_reference *reference, struct tr_binding *binding)
{
    if (builder->workflow->nodes[node].role == TR_ROLE_GRAPH) {
        return fail_reference(builder, place, "NodeReferenceNotFound", reference,
                              "the error is known only to on_failure and finally", tr_text_of(""),
                              "use it there");
    }
    binding->kind = TR_BINDING_ERROR;
    binding->source = tr_type_simple(builder->definition->types, TR_TYPE_ERROR);
    return true;
}

/*
 * `$node.output`: the first step names the output, the rest is followed by resolve_steps. True with
 * a literal for a node that is broken.
 */
static bool resolve_output(struct tri_builder *builder, uint32_t node, struct tri_place place,
                           const struct tri_reference *reference, uint32_t from,
                           struct tr_binding *binding)
{
    const struct tr_node *source = &builder->workflow->nodes[from];
    struct tr_text none = tr_text_of("");
    if (builder->workflow->nodes[node].role != TR_ROLE_GRAPH) {
        return fail_reference(builder, place, "NodeReferenceNotFound", reference,
                              "on_failure and finally know no nodes", none,
                              "use inputs of the workflow and $err");
    }
    if (builder->built[from].is_broken) {
        builder->touched_broken = true;
        binding->kind = TR_BINDING_LITERAL;
        return true;
    }
    if (reference->step_count == 0 || reference->steps[0].is_index) {
        return fail_reference(builder, place, "VariableNameNotFound", reference,
                              "this is a node, and a value is one of its outputs", none,
                              "write $node.output");
    }
    uint32_t output = tr_variables_find(&source->outputs, reference->steps[0].field);
    if (output == TR_GRAPH_NONE) {
        struct tr_text nearest =
            tri_keys_nearest(builder->definition, reference->steps[0].field, variable_name_at,
                             &source->outputs, source->outputs.count);
        return fail_reference(builder, place, "VariableNameNotFound", reference,
                              "the node has no such output", nearest,
                              source->outputs.count == 0 ? "it has none: use after to wait for it"
                                                         : "name one of its outputs");
    }
    binding->kind = TR_BINDING_REFERENCE;
    binding->node = from;
    binding->output = output;
    binding->source = source->outputs.items[output].type;
    builder->touched_broken = builder->touched_broken || binding->source == NULL;
    return true;
}

/*
 * The type of a part; false when such a value has no such part. NULL is a type that is known at run
 * time only: the parts of a struct, and `element` of an error, which is an integer or none. A union
 * has no parts, not even where all its variants do.
 */
static bool step_type(struct tri_builder *builder, const struct tr_type *type,
                      const struct tr_step *step, const struct tr_type **part)
{
    static const char *const error_fields[] = {"node", "code", "message"};
    *part = NULL;
    if (type == NULL) {
        return true;
    }
    if (type->kind == TR_TYPE_LIST || type->kind == TR_TYPE_MAP) {
        *part = type->parts[0];
        return step->is_index == (type->kind == TR_TYPE_LIST);
    }
    if (type->kind == TR_TYPE_ERROR && !step->is_index) {
        for (size_t i = 0; i < TR_COUNT_OF(error_fields); i++) {
            if (tr_text_equal(step->field, tr_text_of(error_fields[i]))) {
                *part = tr_type_simple(builder->definition->types, TR_TYPE_STRING);
                return true;
            }
        }
        return tr_text_equal(step->field, tr_text_of("element"));
    }
    return type->kind == TR_TYPE_STRUCT && !step->is_index;
}

/* What to do about a value that has no such part; "$name.csv" is meant as a text. */
static const char *part_remedy(const struct tr_type *type)
{
    if (tr_type_is_optional(type)) {
        return "it may be none: let a task or a switch look first";
    }
    return type->kind == TR_TYPE_STRING || type->kind == TR_TYPE_ENUM
               ? "for text behind it write \"{$name}.text\""
               : "fields are those of structs, maps and errors, positions those of lists";
}

/*
 * Follows the steps behind a name, and keeps them for run time, next to each other: nothing else
 * adds steps meanwhile. `skipped` steps were used up to name an output. Texts are copied, since
 * those of the reference are views of the document.
 */
static bool resolve_steps(struct tri_builder *builder, struct tri_place place,
                          const struct tri_reference *reference, uint32_t skipped,
                          struct tr_binding *binding)
{
    struct tr_arena *arena = &builder->compiler->graph->arena;
    binding->first = builder->steps.count;
    for (uint32_t i = skipped; i < reference->step_count; i++) {
        const struct tr_type *part;
        if (!step_type(builder, binding->source, &reference->steps[i], &part)) {
            struct tr_text type = tr_type_text(builder->compiler->scratch, binding->source);
            tri_report_add(builder->compiler->report, place, "FieldNotFound",
                           "'%.*s': a value of type %.*s has no such part\n%s",
                           TRI_SHOWN(reference->text), TRI_SHOWN(type),
                           part_remedy(binding->source));
            return false;
        }
        struct tr_step *step = tri_vector_add(arena, &builder->steps, sizeof *step);
        if (step == NULL) {
            return false;
        }
        *step = reference->steps[i];
        step->field = tr_arena_text(arena, reference->steps[i].field);
        binding->source = part;
        binding->count++;
    }
    return true;
}

/* Flyte's inputs are variables of its start node. */
static bool fail_unknown(struct tri_builder *builder, struct tri_place place,
                         const struct tri_reference *reference)
{
    bool is_input = reference->scope == TRI_REFERENCE_INPUT;
    return fail_reference(builder, place,
                          is_input ? "VariableNameNotFound" : "NodeReferenceNotFound", reference,
                          is_input ? "there is no such input" : "there is no such input or node",
                          tri_compile_scope_nearest(builder, reference->name),
                          "name an input of the workflow or one of its nodes");
}

/*
 * What a reference means in a node: an input of the workflow, an output of a node, or the error.
 * The steps behind it are followed by type as far as types are known; what is in a struct is found
 * out when it runs.
 */
bool tri_compile_resolve(struct tri_builder *builder, uint32_t node, struct tri_place place,
                         const struct tri_reference *reference, struct tr_binding *binding)
{
    const struct tri_scope *scope =
        tri_compile_scope_find(builder, reference->scope, reference->name);
    bool is_plain = reference->scope == TRI_REFERENCE_ANY;
    if (is_plain && builder->definition->has_any_names) {
        scope = NULL; /* an input may be called so, and is named in brackets */
    }
    if (scope == NULL && is_plain && tr_text_equal(reference->name, tr_text_of("err"))) {
        return resolve_error(builder, node, place, reference, binding) &&
               resolve_steps(builder, place, reference, 0, binding);
    }
    if (scope == NULL || scope->kind == TRI_SCOPE_ARM) {
        return fail_unknown(builder, place, reference);
    }
    if (scope->kind == TRI_SCOPE_INPUT) {
        binding->kind = TR_BINDING_REFERENCE;
        binding->node = 0;
        binding->output = scope->index;
        binding->source = builder->workflow->interface.inputs.items[scope->index].type;
        builder->touched_broken = builder->touched_broken || binding->source == NULL;
        return resolve_steps(builder, place, reference, 0, binding);
    }
    return resolve_output(builder, node, place, reference, scope->index, binding) &&
           (binding->kind == TR_BINDING_LITERAL ||
            resolve_steps(builder, place, reference, 1, binding));
}

void tri_compile_tell_syntax(struct tri_builder *builder, const struct tr_tree *tree,
                             struct tr_text problem)
{
    if (problem.size > 0) {
        const char *feed = memchr(problem.data, '\n', problem.size);
        int size = feed == NULL ? (int)problem.size : (int)(feed - problem.data);
        tri_report_add(builder->compiler->report, tree->place, "SyntaxError", "'%.*s': %.*s%s",
                       TRI_SHOWN(tree->text), size, problem.data, feed == NULL ? "" : feed);
    }
}

/* Follows a scalar that is a reference as a whole. */
static bool resolve_whole(struct tri_builder *builder, uint32_t node, const struct tr_tree *tree,
                          struct tr_binding *binding)
{
    struct tri_reference reference;
    struct tr_text problem;
    if (!tri_compile_read_reference(builder, tree, &reference, &problem)) {
        tri_compile_tell_syntax(builder, tree, problem);
        return false;
    }
    return tri_compile_resolve(builder, node, tree->place, &reference, binding);
}

/* Whether what a reference gives may go to its place. */
static bool check_castable(struct tri_builder *builder, const struct tr_tree *tree,
                           const struct tr_type *from, const struct tr_type *to)
{
    enum tr_castable castable = tr_type_castable(from, to);
    if (castable == TR_CASTABLE_YES) {
        return true;
    }
    struct tr_arena *scratch = builder->compiler->scratch;
    bool is_muted = builder->compiler->report->muted > 0;
    struct tr_text from_text = is_muted ? tr_text_of("") : tr_type_text(scratch, from);
    struct tr_text to_text = is_muted ? tr_text_of("") : tr_type_text(scratch, to);
    if (castable == TR_CASTABLE_AMBIGUOUS) {
        tri_report_add(builder->compiler->report, tree->place, "AmbiguousBindingUnionValue",
                       "'%.*s' is %.*s, which fits %.*s in several ways\n"
                       "give it one type before",
                       TRI_SHOWN(shown(tree)), TRI_SHOWN(from_text), TRI_SHOWN(to_text));
        return false;
    }
    bool may_be_none = tr_type_is_optional(from) && !tr_type_is_optional(to);
    bool is_into_union = to->kind == TR_TYPE_UNION;
    tri_report_add(builder->compiler->report, tree->place,
                   is_into_union ? "IncompatibleBindingUnionValue" : "MismatchingTypes",
                   "'%.*s' is %.*s, and %.*s is expected here\n%s", TRI_SHOWN(shown(tree)),
                   TRI_SHOWN(from_text), TRI_SHOWN(to_text),
                   may_be_none ? "it may be none: let the input be of type T | none"
                               : "use a value of that type, or a task that makes one");
    return false;
}

/* A reference where a value of `type` belongs. Its own type has to go there without a loss. */
static bool bind_reference(struct tri_builder *builder, uint32_t node, const struct tr_tree *tree,
                           const struct tr_type *type, struct tr_binding *binding)
{
    if (!resolve_whole(builder, node, tree, binding)) {
        return false;
    }
    return check_castable(builder, tree, binding->source, type);
}

/* A value without references: it is read by the type of its place and packed now. */
static bool bind_literal(struct tri_builder *builder, const struct tr_tree *tree,
                         const struct tr_type *type, struct tr_binding *binding)
{
    struct tr_literal_reader reader = {.report = builder->compiler->report,
                                       .arena = builder->compiler->scratch,
                                       .folder = builder->workflow->folder};
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    bool is_fine = tr_literal_read(&reader, type, tree, &buffer);
    if (is_fine) {
        binding->kind = TR_BINDING_LITERAL;
        binding->source = type;
        binding->literal =
            tr_arena_bytes(&builder->compiler->graph->arena, tr_buffer_bytes(&buffer));
    }
    tr_buffer_fini(&buffer);
    return is_fine;
}

/*
 * A text with dollar signs in it that is no reference as a whole: one that holds references, or a
 * literal whose escapes are taken out.
 */
static bool bind_text(struct tri_builder *builder, uint32_t node, const struct tr_tree *tree,
                      const struct tr_type *type, struct tr_binding *binding)
{
    struct tri_interpolation interpolation;
    struct tr_tree plain = *tree;
    if (!tri_compile_read_text(builder, tree, true, &interpolation)) {
        return false;
    }
    if (tri_interpolation_is_literal(&interpolation, &plain.text)) {
        return bind_literal(builder, &plain, type, binding);
    }
    return tri_compile_bind_text(builder, node, tree->place, &interpolation, binding) &&
           check_castable(builder, tree, binding->source, type);
}

/* What stands at a scalar's place. */
static bool bind_scalar(struct tri_builder *builder, uint32_t node, const struct tr_tree *tree,
                        const struct tr_type *type, struct tr_binding *binding)
{
    if (tri_compile_is_reference(tree)) {
        return bind_reference(builder, node, tree, type, binding);
    }
    bool is_fine = tr_tree_is_text(tree) && tree->has_dollar
                       ? bind_text(builder, node, tree, type, binding)
                       : bind_literal(builder, tree, type, binding);
    if (is_fine && !builder->definition->has_any_names) {
        tri_compile_warn_plain(builder, node,
                               tree); /* no text of Flyte's is meant as a reference */
    }
    return is_fine;
}

/* Whether a list or a mapping can be put together as this type. */
static bool can_hold(const struct tr_type *type, bool is_list)
{
    if (is_list) {
        return type->kind == TR_TYPE_LIST;
    }
    return type->kind == TR_TYPE_MAP || type->kind == TR_TYPE_STRUCT;
}

/*
 * The type that a list or a mapping with references is put together as: that of the place or, of a
 * union, the only variant that can hold it. Variants cannot be told apart by their elements here,
 * whose values are not known yet, so two that fit are ambiguous.
 */
static bool assembled_type(struct tri_builder *builder, const struct tr_tree *tree,
                           const struct tr_type *type, const struct tr_type **assembled)
{
    bool is_list = tree->kind == TR_TREE_LIST;
    uint32_t matches = 0;
    *assembled = type;
    if (type == NULL || can_hold(type, is_list)) {
        return true;
    }
    for (uint32_t i = 0; type->kind == TR_TYPE_UNION && i < type->count; i++) {
        if (can_hold(type->parts[i], is_list)) {
            *assembled = type->parts[i];
            matches++;
        }
    }
    if (matches == 1) {
        return true;
    }
    struct tr_text text = tr_type_text(builder->compiler->scratch, type);
    tri_report_add(builder->compiler->report, tree->place,
                   matches > 1 ? "AmbiguousBindingUnionValue" : "MismatchingBindings",
                   "%s with references stands where %.*s is expected\n%s", tr_tree_noun(tree),
                   TRI_SHOWN(text),
                   matches > 1 ? "let a task make the value" : "write one reference or a value");
    return false;
}

/*
 * A list or mapping that holds references: each part is bound by itself, and they are put together
 * when the node begins. All parts are reserved before the first is bound, because binding one may
 * append parts of its own, and a list names its parts by where the first stands. So parts lie
 * behind what holds them, which graph_unpack.c checks. The fields of a struct have no type.
 */
static bool bind_parts(struct tri_builder *builder, uint32_t node, const struct tr_tree *tree,
                       const struct tr_type *type, uint32_t slot)
{
    const struct tr_type *assembled;
    bool is_list = tree->kind == TR_TREE_LIST;
    if (!assembled_type(builder, tree, type, &assembled)) {
        return false;
    }
    bool has_element =
        assembled != NULL && (assembled->kind == TR_TYPE_LIST || assembled->kind == TR_TYPE_MAP);
    const struct tr_type *element = has_element ? assembled->parts[0] : NULL;
    uint32_t first = tri_compile_reserve_bindings(builder, tree->count);
    bool is_fine = first != TR_GRAPH_NONE;
    for (uint32_t i = 0; first != TR_GRAPH_NONE && i < tree->count; i++) {
        struct tr_text key = is_list ? tr_text_of("") : tree->pairs[i].key->text;
        is_fine = tri_compile_bind(builder, node, is_list ? tree->items[i] : tree->pairs[i].value,
                                   element, key, first + i) &&
                  is_fine;
    }
    /* Only now: the array may have moved while the parts were bound. */
    struct tr_binding *binding = tri_compile_binding_at(builder, slot);
    binding->kind = is_list ? TR_BINDING_LIST : TR_BINDING_MAP;
    binding->source = assembled;
    binding->first = first;
    binding->count = tree->count;
    return is_fine;
}

/*
 * Binds what is written to a place of a known type. False: it was reported. Where a list or mapping
 * holds no dollar sign at any depth, it is one literal, packed now; most are.
 */
bool tri_compile_bind(struct tri_builder *builder, uint32_t node, const struct tr_tree *tree,
                      const struct tr_type *type, struct tr_text key, uint32_t slot)
{
    struct tr_binding binding = {.type = type};
    bool is_scalar = tree->kind != TR_TREE_LIST && tree->kind != TR_TREE_MAP;
    binding.key = tr_arena_text(&builder->compiler->graph->arena, key);
    if (!is_scalar && tree->has_dollar) {
        *tri_compile_binding_at(builder, slot) = binding;
        return bind_parts(builder, node, tree, type, slot);
    }
    bool is_fine = bind_scalar(builder, node, tree, type, &binding);
    *tri_compile_binding_at(builder, slot) = binding;
    return is_fine;
}

/* Whether it is {value: ..., type: ...}. */
static bool is_typed(const struct tr_tree *tree)
{
    return tree->kind == TR_TREE_MAP && tree->count == 2 && tr_tree_find(tree, "value") != NULL &&
           tr_tree_find(tree, "type") != NULL;
}

/* The type that a scalar has by its form; NULL for anything that has none. */
static const struct tr_type *infer(struct tri_builder *builder, const struct tr_tree *tree)
{
    static const enum tr_type_kind kinds[] = {
        [TR_TREE_PLAIN] = TR_TYPE_STRING, [TR_TREE_STRING] = TR_TYPE_STRING,
        [TR_TREE_INT] = TR_TYPE_INT,      [TR_TREE_FLOAT] = TR_TYPE_FLOAT,
        [TR_TREE_BOOL] = TR_TYPE_BOOL,    [TR_TREE_NULL] = TR_TYPE_NONE,
    };
    struct tr_tree resolved = tr_tree_resolve(tree);
    bool is_scalar = resolved.kind < TR_COUNT_OF(kinds);
    return is_scalar ? tr_type_simple(builder->definition->types, kinds[resolved.kind]) : NULL;
}

/*
 * The same for a place that has no type of its own: an output of the workflow, a gate's `with`. The
 * type comes from the reference, from {value, type}, or from a scalar where that may be.
 */
bool tri_compile_bind_free(struct tri_builder *builder, uint32_t node, const struct tr_tree *tree,
                           bool may_infer, struct tr_text key, uint32_t slot,
                           const struct tr_type **type)
{
    if (!builder->definition->has_any_names && is_typed(tree)) {
        *type = tr_type_read(builder->definition->types, builder->compiler->report,
                             tr_tree_find(tree, "type"));
        return *type != NULL &&
               tri_compile_bind(builder, node, tr_tree_find(tree, "value"), *type, key, slot);
    }
    if (tri_compile_is_reference(tree)) {
        struct tr_binding binding = {0};
        binding.key = tr_arena_text(&builder->compiler->graph->arena, key);
        builder->touched_broken = false; /* whatever others referred to */
        bool is_fine = resolve_whole(builder, node, tree, &binding);
        if (is_fine && binding.source == NULL && !builder->touched_broken) {
            tri_report_add(builder->compiler->report, tree->place, "MismatchingTypes",
                           "'%.*s' is a field of a struct, whose type is not known here\n"
                           "write {value: %.*s, type: T}",
                           TRI_SHOWN(shown(tree)), TRI_SHOWN(shown(tree)));
            is_fine = false;
        }
        binding.type = *type = binding.source;
        *tri_compile_binding_at(builder, slot) = binding;
        return is_fine && *type != NULL;
    }
    *type = may_infer || tri_compile_holds_reference(builder, tree) ? infer(builder, tree) : NULL;
    if (*type == NULL) {
        tri_report_add(builder->compiler->report, tree->place, "ValueRequired",
                       "%s stands here without a type\nwrite a reference, or {value: ..., type: T}",
                       tr_tree_noun(tree));
        return false;
    }
    return tri_compile_bind(builder, node, tree, *type, key, slot);
}
