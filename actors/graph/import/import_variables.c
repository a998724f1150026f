/*
 * Types, values and interfaces: types go into the definition's table as they come, and so do
 * defaults, by their types.
 */
#include <stdlib.h>
#include <string.h>

#include "actors/graph/import/import_inside.h"

const struct tr_type *tri_import_type(struct tri_import *import, const flyte_type *type)
{
    const struct tr_type *found =
        type == NULL ? NULL : tri_flyte_type_read(import->definition->types, type);
    if (found == NULL && import->definition->arena->error == 0) {
        (void)tri_flyte_refuse(import->report, "a type is none of the language's");
    }
    return found;
}

struct tr_tree *tri_import_value(struct tri_import *import, const struct tr_type *type,
                                 const Flyteidl__Core__Literal *value)
{
    return tri_flyte_literal(import->arena, import->report, type, value, import->files);
}

/* ------------------------------------------------------------------ variables */

typedef Flyteidl__Core__VariableMap__VariablesEntry variable_entry;

const flyte_type *tri_import_find_variable(const flyte_variables *variables, const char *name)
{
    for (size_t i = 0; variables != NULL && i < variables->n_variables; i++) {
        const variable_entry *entry = variables->variables[i];
        if (strcmp(entry->key, name) == 0 && entry->value != NULL) {
            return entry->value->type;
        }
    }
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    const variable_entry *const *one = a;
    const variable_entry *const *other = b;
    return strcmp((*one)->key, (*other)->key);
}

/* The default of a name; NULL: there is none. */
static const Flyteidl__Core__Literal *default_of(const Flyteidl__Core__ParameterMap *defaults,
                                                 const char *name)
{
    for (size_t i = 0; defaults != NULL && i < defaults->n_parameters; i++) {
        const Flyteidl__Core__Parameter *parameter = defaults->parameters[i]->value;
        if (parameter != NULL && strcmp(defaults->parameters[i]->key, name) == 0) {
            return parameter->behavior_case == FLYTEIDL__CORE__PARAMETER__BEHAVIOR_DEFAULT
                       ? parameter->default_
                       : NULL;
        }
    }
    return NULL;
}

static bool add_variable(struct tri_import *import, const variable_entry *entry, bool is_input,
                         const Flyteidl__Core__ParameterMap *defaults,
                         struct tri_variables *variables)
{
    const struct tr_variable variable = {
        .type = tri_import_type(import, entry->value == NULL ? NULL : entry->value->type),
        .description = tri_import_keep(
            import, tr_text_of(entry->value == NULL ? "" : entry->value->description))};
    const struct tri_name name = {.text = tr_text_of(entry->key)};
    const Flyteidl__Core__Literal *given = default_of(defaults, entry->key);
    const struct tr_tree *value = given == NULL || variable.type == NULL
                                      ? NULL
                                      : tri_import_value(import, variable.type, given);
    /* One whose type is wrong is there without a type, so that nothing is told of who names it. */
    if (!tri_keys_check_any_name(import->definition, name.text)) {
        return false;
    }
    tri_definition_add_variable(import->definition, name, &variable, is_input, value, variables);
    return variable.type != NULL && (given == NULL || value != NULL);
}

/* Entries are sorted in place, as the message is used for nothing else. */
static bool add_variables(struct tri_import *import, const char *part,
                          const flyte_variables *variables, bool is_input,
                          const Flyteidl__Core__ParameterMap *defaults, struct tri_variables *added)
{
    size_t count = variables == NULL ? 0 : variables->n_variables;
    bool is_fine = true;
    if (count > TR_VARIABLES_MAX) {
        tri_report_add(import->report, TRI_IMPORT_NOWHERE, "InvalidValue",
                       "these are more than %u variables\nput some into a struct or a list",
                       TR_VARIABLES_MAX);
        return false;
    }
    if (count > 1) {
        qsort((void *)variables->variables, count, sizeof(void *), by_name);
    }
    for (size_t i = 0; i < count; i++) {
        const variable_entry *entry = variables->variables[i];
        struct tr_text before = tri_import_begin(import, part, entry->key);
        bool is_new =
            i == 0 || by_name(&variables->variables[i - 1], &variables->variables[i]) != 0;
        if (!is_new) {
            (void)tri_import_tell(import, "DuplicateId", "it is there twice\nkeep one of them");
        }
        is_fine = is_new && add_variable(import, entry, is_input, defaults, added) && is_fine;
        (void)tri_report_subject(import->report, before);
    }
    return is_fine;
}

bool tri_import_inputs(struct tri_import *import, const flyte_variables *variables,
                       const Flyteidl__Core__ParameterMap *defaults, struct tr_variables *inputs,
                       const struct tri_place **places)
{
    struct tri_variables added = {0};
    bool is_fine = add_variables(import, "inputs.", variables, true, defaults, &added);
    tri_definition_close_variables(import->definition, &added, inputs);
    if (places != NULL) {
        *places = added.places.items;
    }
    return is_fine;
}

bool tri_import_outputs(struct tri_import *import, const flyte_variables *variables,
                        struct tr_variables *outputs)
{
    struct tri_variables added = {0};
    bool is_fine = add_variables(import, "outputs.", variables, false, NULL, &added);
    tri_definition_close_variables(import->definition, &added, outputs);
    return is_fine;
}
