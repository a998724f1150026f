/*
 * Bindings: values as the definition has them, with references in their places. Whether something
 * has a name, and fits its place, is the compiler's matter.
 */
#include <string.h>

#include "actors/graph/import/import_inside.h"

#define VALUE_OUTPUT "value" /* of a signal */

/* ------------------------------------------------------------------ references */

/* Inputs of a workflow are outputs of its start node in Flyte. */
static bool is_start(const char *id)
{
    return id[0] == '\0' || strcmp(id, TRI_FLYTE_START_NODE) == 0;
}

/* An output as ours is called: that of a signal has one name, an alias stands for another. */
static const char *output_name(const struct tri_import *import, const char *id, const char *var)
{
    const flyte_node *node = tri_import_find_node(import, id);
    bool is_signal = node != NULL && node->target_case == FLYTEIDL__CORE__NODE__TARGET_GATE_NODE &&
                     node->gate_node->condition_case == FLYTEIDL__CORE__GATE_NODE__CONDITION_SIGNAL;
    if (is_signal) {
        return VALUE_OUTPUT;
    }
    for (size_t i = 0; node != NULL && i < node->n_output_aliases; i++) {
        if (strcmp(node->output_aliases[i]->alias, var) == 0) {
            return node->output_aliases[i]->var;
        }
    }
    return var;
}

/* A name in brackets, as the language writes names that may hold anything. */
static void put_brackets(struct tr_buffer *buffer, struct tr_text name)
{
    tr_buffer_add_string(buffer, "[\"");
    for (size_t i = 0; i < name.size; i++) {
        bool is_special = name.data[i] == '"' || name.data[i] == '\\';
        tr_buffer_add_string(buffer, is_special ? "\\" : "");
        tr_buffer_add(buffer, &name.data[i], 1);
    }
    tr_buffer_add_string(buffer, "\"]");
}

/*
 * A reference as messages show it: $start-node["input"], $["node"]["output"][0]. Inputs of a branch
 * are called so, too, so that equal references share one.
 */
static struct tr_text text_of(struct tri_import *import, const struct tri_reference *reference)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_buffer_add_string(&buffer,
                         reference->scope == TRI_REFERENCE_INPUT ? "$" TRI_FLYTE_START_NODE : "$");
    put_brackets(&buffer, reference->name);
    for (uint32_t i = 0; i < reference->step_count; i++) {
        if (reference->steps[i].is_index) {
            tr_buffer_print(&buffer, "[%u]", reference->steps[i].index);
        } else {
            put_brackets(&buffer, reference->steps[i].field);
        }
    }
    struct tr_text text = tr_arena_text(import->arena, tr_buffer_text(&buffer));
    import->arena->error = import->arena->error != 0 ? import->arena->error : buffer.error;
    tr_buffer_fini(&buffer);
    return text;
}

static bool take_steps(struct tri_import *import, const Flyteidl__Core__OutputReference *promise,
                       struct tr_step *steps)
{
    for (size_t i = 0; i < promise->n_attr_path; i++) {
        const Flyteidl__Core__PromiseAttribute *step = promise->attr_path[i];
        bool is_field = step->value_case == FLYTEIDL__CORE__PROMISE_ATTRIBUTE__VALUE_STRING_VALUE;
        if (!is_field && step->int_value < 0) {
            return tri_import_tell(import, "InvalidValue",
                                   "a reference names an element before the first one\n"
                                   "count elements from 0");
        }
        steps[i] = (struct tr_step){.is_index = !is_field,
                                    .index = is_field ? 0 : (uint32_t)step->int_value,
                                    .field = tr_text_of(is_field ? step->string_value : "")};
    }
    return true;
}

bool tri_import_reference(struct tri_import *import, const Flyteidl__Core__OutputReference *promise,
                          struct tri_reference *reference)
{
    bool is_input = is_start(promise->node_id);
    size_t count = promise->n_attr_path;
    if (count >= TR_REFERENCE_STEPS_MAX) {
        return tri_import_tell(import, "InvalidValue",
                               "the reference has too many steps\nlet a task take the value apart");
    }
    struct tr_step *steps = tr_arena_array(import->arena, count + 1, sizeof *steps);
    if (steps == NULL || !take_steps(import, promise, is_input ? steps : steps + 1)) {
        return false;
    }
    *reference = (struct tri_reference){.scope = TRI_REFERENCE_INPUT,
                                        .name = tr_text_of(promise->var),
                                        .steps = steps,
                                        .step_count = (uint32_t)count};
    if (!is_input) {
        steps[0] = (struct tr_step){
            .field = tr_text_of(output_name(import, promise->node_id, promise->var))};
        reference->scope = TRI_REFERENCE_NODE;
        reference->name = tr_text_of(promise->node_id);
        reference->step_count++;
    }
    reference->text = text_of(import, reference);
    return import->arena->error == 0;
}

/* ------------------------------------------------------------------ bindings */

static struct tr_tree *reference_tree(struct tri_import *import,
                                      const struct tri_reference *reference)
{
    struct tri_reference *copy = tr_arena_alloc(import->arena, sizeof *copy);
    struct tr_tree *tree = tri_tree_new(import->arena, TR_TREE_REFERENCE, TRI_IMPORT_NOWHERE);
    if (copy == NULL || tree == NULL) {
        return NULL;
    }
    *copy = *reference;
    tree->reference = copy;
    tree->has_dollar = true;
    return tree;
}

static struct tr_tree *bind_promise(struct tri_import *import,
                                    const Flyteidl__Core__OutputReference *promise)
{
    struct tri_reference reference;
    return tri_import_reference(import, promise, &reference) ? reference_tree(import, &reference)
                                                             : NULL;
}

/* The error of the workflow, in whose failure node this is. */
static struct tr_tree *bind_error(struct tri_import *import)
{
    const struct tri_reference reference = {
        .text = tr_text_of("$err"), .name = tr_text_of("err"), .scope = TRI_REFERENCE_ANY};
    return reference_tree(import, &reference);
}

static struct tr_tree *bind_list(struct tri_import *import,
                                 const Flyteidl__Core__BindingDataCollection *list)
{
    struct tr_tree *tree = tri_tree_new(import->arena, TR_TREE_LIST, TRI_IMPORT_NOWHERE);
    struct tr_tree **items =
        tr_arena_array(import->arena, list->n_bindings, sizeof(struct tr_tree *));
    bool is_fine = tree != NULL && items != NULL;
    for (size_t i = 0; items != NULL && i < list->n_bindings; i++) {
        items[i] = tri_import_binding(import, list->bindings[i]);
        is_fine = items[i] != NULL && is_fine;
    }
    if (!is_fine) {
        return NULL;
    }
    struct tri_vector vector = {.items = items, .count = (uint32_t)list->n_bindings};
    tri_tree_close_list(tree, &vector);
    return tree;
}

bool tri_import_add_pair(struct tri_import *import, struct tri_vector *pairs, const char *name,
                         const struct tr_tree *value)
{
    struct tr_tree *key = tri_flyte_text(import->arena, tr_text_of(name));
    struct tr_pair *pair =
        value == NULL || key == NULL ? NULL : tri_vector_add(import->arena, pairs, sizeof *pair);
    if (pair != NULL) {
        *pair = (struct tr_pair){.key = key, .value = value};
    }
    return pair != NULL;
}

const struct tr_tree *tri_import_mapping(struct tri_import *import, const struct tri_vector *pairs)
{
    const struct tr_pair *items = pairs->items;
    struct tr_text *names = tr_arena_array(import->arena, pairs->count, sizeof *names);
    for (uint32_t i = 0; names != NULL && i < pairs->count; i++) {
        names[i] = items[i].key->text;
    }
    bool is_fine = names != NULL && tri_import_check_unique(import, names, pairs->count,
                                                            sizeof *names, "binding of");
    return is_fine ? tri_flyte_map(import->arena, import->report, pairs) : NULL;
}

static struct tr_tree *bind_map(struct tri_import *import,
                                const Flyteidl__Core__BindingDataMap *map)
{
    struct tri_vector pairs = {0};
    bool is_fine = true;
    for (size_t i = 0; i < map->n_bindings; i++) {
        const Flyteidl__Core__BindingDataMap__BindingsEntry *entry = map->bindings[i];
        is_fine = tri_import_add_pair(import, &pairs, entry->key,
                                      tri_import_binding(import, entry->value)) &&
                  is_fine;
    }
    return is_fine ? tri_flyte_map(import->arena, import->report, &pairs) : NULL;
}

/* A value in a file of its own. */
static struct tr_tree *bind_elsewhere(struct tri_import *import,
                                      Flyteidl__Core__LiteralOffloadedMetadata *where)
{
    Flyteidl__Core__Literal literal;
    flyteidl__core__literal__init(&literal);
    literal.value_case = FLYTEIDL__CORE__LITERAL__VALUE_OFFLOADED_METADATA;
    literal.offloaded_metadata = where;
    return tri_import_value(import, NULL, &literal);
}

struct tr_tree *tri_import_binding(struct tri_import *import,
                                   const Flyteidl__Core__BindingData *binding)
{
    if (binding == NULL) {
        (void)tri_import_tell(import, "ValueRequired",
                              "a binding is empty\nbind a value, or leave the input out");
        return NULL;
    }
    switch (binding->value_case) {
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_SCALAR:
        return tri_flyte_scalar(import->arena, import->report, NULL, binding->scalar,
                                import->files);
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_COLLECTION:
        return bind_list(import, binding->collection);
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_MAP:
        return bind_map(import, binding->map);
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE:
        return bind_promise(import, binding->promise);
    case FLYTEIDL__CORE__BINDING_DATA__VALUE_OFFLOADED_METADATA:
        return bind_elsewhere(import, binding->offloaded_metadata);
    default:
        (void)tri_import_tell(import, "MismatchingBindings",
                              "a binding is no value, list, map or reference\n"
                              "bind a value, or leave the input out");
        return NULL;
    }
}

/*
 * In the template the error of a failure node is bound to none, in whose place the engine has it.
 */
static bool is_error(const struct tri_import *import, const Flyteidl__Core__Binding *binding)
{
    const Flyteidl__Core__BindingData *data = binding->binding;
    const Flyteidl__Core__Scalar *scalar =
        data != NULL && data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_SCALAR
            ? data->scalar
            : NULL;
    if (scalar != NULL && scalar->value_case == FLYTEIDL__CORE__SCALAR__VALUE_UNION &&
        scalar->union_->value != NULL &&
        scalar->union_->value->value_case == FLYTEIDL__CORE__LITERAL__VALUE_SCALAR) {
        scalar = scalar->union_->value->scalar;
    }
    return import->is_handler && strcmp(binding->var, "err") == 0 && scalar != NULL &&
           scalar->value_case == FLYTEIDL__CORE__SCALAR__VALUE_NONE_TYPE;
}

/* Whether a list or a map may be given where a type is expected. */
static bool is_place_for(const flyte_type *expected, const Flyteidl__Core__BindingData *data)
{
    bool is_list = data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_COLLECTION;
    if (expected == NULL ||
        (!is_list && data->value_case != FLYTEIDL__CORE__BINDING_DATA__VALUE_MAP)) {
        return true;
    }
    switch (expected->type_case) {
    case FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SIMPLE:
        return expected->simple == FLYTEIDL__CORE__SIMPLE_TYPE__STRUCT;
    case FLYTEIDL__CORE__LITERAL_TYPE__TYPE_COLLECTION_TYPE:
        return is_list;
    case FLYTEIDL__CORE__LITERAL_TYPE__TYPE_MAP_VALUE_TYPE:
        return !is_list;
    default:
        return expected->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_UNION_TYPE;
    }
}

/* A reference is judged here as far as the compiler cannot: by fields and columns. */
static void check_field(struct tri_import *import, const flyte_node *node,
                        const Flyteidl__Core__Binding *binding)
{
    const Flyteidl__Core__BindingData *data = binding->binding;
    bool is_map = node->target_case == FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE;
    if (data != NULL && data->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE) {
        tri_import_check_field(import, data->promise, binding->var,
                               is_map ? NULL : tri_import_input_type(import, node, binding->var));
    }
}

static bool check_kind(struct tri_import *import, const flyte_node *node,
                       const Flyteidl__Core__Binding *binding)
{
    const Flyteidl__Core__BindingData *data = binding->binding;
    bool is_map = node->target_case == FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE;
    return data == NULL || is_map ||
           is_place_for(tri_import_input_type(import, node, binding->var), data) ||
           tri_import_tell(import, "MismatchingBindings",
                           "a list or a map is bound where the input takes none\n"
                           "bind a value of the input's type");
}

bool tri_import_bindings(struct tri_import *import, const flyte_node *message,
                         const struct tr_tree **with)
{
    struct tri_vector pairs = {0};
    bool is_fine = true;
    for (size_t i = 0; i < message->n_inputs; i++) {
        const Flyteidl__Core__Binding *binding = message->inputs[i];
        struct tr_text before = tri_import_begin(import, "inputs.", binding->var);
        is_fine = check_kind(import, message, binding) && is_fine;
        check_field(import, message, binding);
        is_fine = tri_import_add_pair(import, &pairs, binding->var,
                                      is_error(import, binding)
                                          ? bind_error(import)
                                          : tri_import_binding(import, binding->binding)) &&
                  is_fine;
        (void)tri_report_subject(import->report, before);
    }
    *with = is_fine ? tri_import_mapping(import, &pairs) : NULL;
    return *with != NULL;
}
