/*
 * The types of what references lead to inside of values, as Flyte's compiler has them: elements of
 * lists and maps, and fields of dataclasses, whose types an interface names. The language knows
 * fields at run time only and nothing of columns, so that these are judged here, before anything
 * runs.
 */
#include <strings.h>

#include "actors/graph/import/import_inside.h"

/* The workflow that a plan starts; a plan that is not there may stand for the one of its name. */
static const flyte_identifier *started_by(const struct tri_import *import,
                                          const flyte_identifier *id)
{
    const struct tri_flyte_entity *entity = tri_import_find(import, TR_ENTITY_PLAN, id);
    const flyte_plan *plan = entity == NULL ? NULL : (const flyte_plan *)entity->message;
    return plan == NULL || plan->spec == NULL ? id : plan->spec->workflow_id;
}

/* The interface of what a node runs, for each element where it is a map; NULL: not known. */
static const Flyteidl__Core__TypedInterface *interface_of(const struct tri_import *import,
                                                          const flyte_node *node)
{
    const flyte_task *task = NULL;
    const flyte_workflow *workflow = NULL;
    if (node->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE) {
        task = tri_import_find_task(import, node->task_node->reference_id);
    } else if (node->target_case == FLYTEIDL__CORE__NODE__TARGET_WORKFLOW_NODE) {
        const Flyteidl__Core__WorkflowNode *target = node->workflow_node;
        bool is_plan =
            target->reference_case == FLYTEIDL__CORE__WORKFLOW_NODE__REFERENCE_LAUNCHPLAN_REF;
        workflow =
            tri_import_find_workflow(import, is_plan ? started_by(import, target->launchplan_ref)
                                                     : target->sub_workflow_ref);
    }
    return task != NULL ? task->interface : workflow != NULL ? workflow->interface : NULL;
}

const flyte_type *tri_import_input_type(const struct tri_import *import, const flyte_node *node,
                                        const char *name)
{
    const Flyteidl__Core__TypedInterface *interface = interface_of(import, node);
    return interface == NULL ? NULL : tri_import_find_variable(interface->inputs, name);
}

/* The type of an output of a node that runs something once; all others are left to the compiler. */
static const flyte_type *output_type(const struct tri_import *import, const char *id,
                                     const char *name)
{
    if (id[0] == '\0' || strcmp(id, TRI_FLYTE_START_NODE) == 0) {
        return tri_import_find_variable(import->inputs, name);
    }
    const flyte_node *node = tri_import_find_node(import, id);
    const Flyteidl__Core__TypedInterface *interface =
        node == NULL ? NULL : interface_of(import, node);
    return interface == NULL ? NULL : tri_import_find_variable(interface->outputs, name);
}

static const flyte_type *find_field(const Flyteidl__Core__TypeStructure *structure,
                                    const char *name)
{
    for (size_t i = 0; i < structure->n_dataclass_type; i++) {
        if (strcmp(structure->dataclass_type[i]->key, name) == 0) {
            return structure->dataclass_type[i]->value;
        }
    }
    return NULL;
}

/* In Flyte's words, and which fields there are. */
static void refuse_field(struct tri_import *import, const char *var, const flyte_type *type,
                         const char *field)
{
    struct tr_buffer names;
    const struct tr_type *read = tri_flyte_type_read(&import->types, type);
    struct tr_text text = read == NULL ? tr_text_of("") : tr_type_text(import->arena, read);
    tr_buffer_init(&names, 0);
    for (size_t i = 0; i < type->structure->n_dataclass_type; i++) {
        tr_buffer_add_string(&names, i == 0 ? "" : ", ");
        tr_buffer_add_string(&names, type->structure->dataclass_type[i]->key);
    }
    tri_report_add(import->report, (struct tri_place){0}, "FieldNotFound",
                   "Variable [%s] (type [%.*s]) doesn't have field [%s].\nit has %.*s", var,
                   TRI_SHOWN(text), field, TRI_SHOWN(tr_buffer_text(&names)));
    tr_buffer_fini(&names);
}

const flyte_type *tri_import_field_type(struct tri_import *import,
                                        const Flyteidl__Core__OutputReference *promise)
{
    const flyte_type *type = output_type(import, promise->node_id, promise->var);
    for (size_t i = 0; type != NULL && i < promise->n_attr_path; i++) {
        const Flyteidl__Core__PromiseAttribute *step = promise->attr_path[i];
        bool is_text = step->value_case == FLYTEIDL__CORE__PROMISE_ATTRIBUTE__VALUE_STRING_VALUE;
        const Flyteidl__Core__TypeStructure *structure = type->structure;
        if (type->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_COLLECTION_TYPE) {
            type = type->collection_type;
        } else if (type->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_MAP_VALUE_TYPE) {
            type = type->map_value_type;
        } else if (structure == NULL || structure->n_dataclass_type == 0 || !is_text) {
            return NULL;
        } else {
            const flyte_type *field = find_field(structure, step->string_value);
            if (field == NULL) {
                refuse_field(import, promise->var, type, step->string_value);
            }
            type = field;
        }
    }
    return type;
}

/* ------------------------------------------------------------------ tables */

static bool is_schema(const flyte_type *type)
{
    return type->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SCHEMA;
}

static bool is_table(const flyte_type *type)
{
    return is_schema(type) ||
           type->type_case == FLYTEIDL__CORE__LITERAL_TYPE__TYPE_STRUCTURED_DATASET_TYPE;
}

static size_t column_count(const flyte_type *type)
{
    return is_schema(type) ? type->schema->n_columns : type->structured_dataset_type->n_columns;
}

static const char *column_name(const flyte_type *type, size_t index)
{
    return is_schema(type) ? type->schema->columns[index]->name
                           : type->structured_dataset_type->columns[index]->name;
}

/* The type of a column of either kind of table, made in `simple` for a Schema; NULL: not said. */
static const flyte_type *column_type(const flyte_type *type, size_t index, flyte_type *simple)
{
    /* In the order of flyteidl's SchemaColumnType. */
    static const Flyteidl__Core__SimpleType types[] = {
        FLYTEIDL__CORE__SIMPLE_TYPE__INTEGER,  FLYTEIDL__CORE__SIMPLE_TYPE__FLOAT,
        FLYTEIDL__CORE__SIMPLE_TYPE__STRING,   FLYTEIDL__CORE__SIMPLE_TYPE__BOOLEAN,
        FLYTEIDL__CORE__SIMPLE_TYPE__DATETIME, FLYTEIDL__CORE__SIMPLE_TYPE__DURATION};
    if (!is_schema(type)) {
        return type->structured_dataset_type->columns[index]->literal_type;
    }
    size_t kind = (size_t)type->schema->columns[index]->type;
    flyteidl__core__literal_type__init(simple);
    simple->type_case = FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SIMPLE;
    simple->simple = kind < TR_COUNT_OF(types) ? types[kind] : FLYTEIDL__CORE__SIMPLE_TYPE__NONE;
    return simple;
}

static bool is_castable(struct tri_import *import, const flyte_type *from, const flyte_type *to)
{
    const struct tr_type *one = from == NULL ? NULL : tri_flyte_type_read(&import->types, from);
    const struct tr_type *other = to == NULL ? NULL : tri_flyte_type_read(&import->types, to);
    return one == NULL || other == NULL || tr_type_castable(one, other) != TR_CASTABLE_NO;
}

/* Whether a table has a column of this name and type. */
static bool has_column(struct tri_import *import, const flyte_type *from, const flyte_type *to,
                       size_t index)
{
    flyte_type given;
    flyte_type wanted;
    for (size_t i = 0; i < column_count(from); i++) {
        if (strcmp(column_name(from, i), column_name(to, index)) == 0) {
            return is_castable(import, column_type(from, i, &given),
                               column_type(to, index, &wanted));
        }
    }
    return false;
}

/*
 * Flyte's rule for tables of both kinds: each column that is asked for is there, unless one of the
 * two names none; and a Schema is written as parquet only.
 */
static bool may_be_table(struct tri_import *import, const flyte_type *from, const flyte_type *to)
{
    const flyte_type *dataset = is_schema(from) ? to : from;
    bool are_mixed = is_schema(from) != is_schema(to);
    const char *format = are_mixed ? dataset->structured_dataset_type->format : "";
    if (format[0] != '\0' && strcasecmp(format, "parquet") != 0) {
        return false;
    }
    for (size_t i = 0; column_count(from) > 0 && i < column_count(to); i++) {
        if (!has_column(import, from, to, i)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ what is assigned */

/*
 * Flyte's rule for what is assigned. A struct, whose form is not known here, may be anything that
 * its fields are; all but tables and fields is left to the compiler.
 */
static bool may_be_assigned(struct tri_import *import, const flyte_type *from, const flyte_type *to,
                            bool is_field)
{
    return is_table(from) && is_table(to) ? may_be_table(import, from, to)
                                          : !is_field || is_castable(import, from, to);
}

void tri_import_check_field(struct tri_import *import,
                            const Flyteidl__Core__OutputReference *promise, const char *input,
                            const flyte_type *expected)
{
    const flyte_type *found = tri_import_field_type(import, promise);
    if (found == NULL || expected == NULL ||
        may_be_assigned(import, found, expected, promise->n_attr_path > 0)) {
        return;
    }
    const struct tr_type *from = tri_flyte_type_read(&import->types, found);
    const struct tr_type *to = tri_flyte_type_read(&import->types, expected);
    struct tr_text from_text = from == NULL ? tr_text_of("") : tr_type_text(import->arena, from);
    struct tr_text to_text = to == NULL ? tr_text_of("") : tr_type_text(import->arena, to);
    tri_report_add(import->report, (struct tri_place){0}, "MismatchingTypes",
                   "The output variable '%s' has type [%.*s], but it's assigned to the input "
                   "variable '%s' which has type [%.*s].%s",
                   promise->var, TRI_SHOWN(from_text), input, TRI_SHOWN(to_text),
                   is_table(found) ? "\nlet it have the columns and the format that are asked for"
                                   : "");
}
