/*
 * Tasks with a pod template. flytekit puts the command of such a task into the primary container of
 * a pod's specification, in Kubernetes' own words. Here that container is all that can run, so it
 * takes the place of the pod in the message, which lives in our arena. What the pod has beside it
 * is told: other containers, volumes, and variables that a cluster would fill in. The pod itself is
 * kept for plugins that make pods (import_extra.c).
 */
#include <stdio.h>
#include <string.h>

#include "actors/graph/import/import_inside.h"

/* The name of the primary container where nobody says another. */
#define PRIMARY "primary"

typedef Google__Protobuf__Struct pod_struct;

/* ------------------------------------------------------------------ free-form values */

static const Google__Protobuf__Value *field_of(const pod_struct *of, const char *name)
{
    for (size_t i = 0; of != NULL && i < of->n_fields; i++) {
        if (strcmp(of->fields[i]->key, name) == 0) {
            return of->fields[i]->value;
        }
    }
    return NULL;
}

static const pod_struct *struct_of(const Google__Protobuf__Value *value)
{
    bool is_struct =
        value != NULL && value->kind_case == GOOGLE__PROTOBUF__VALUE__KIND_STRUCT_VALUE;
    return is_struct ? value->struct_value : NULL;
}

static const Google__Protobuf__ListValue *list_of(const pod_struct *of, const char *name)
{
    const Google__Protobuf__Value *value = field_of(of, name);
    bool is_list = value != NULL && value->kind_case == GOOGLE__PROTOBUF__VALUE__KIND_LIST_VALUE;
    return is_list ? value->list_value : NULL;
}

/* A text, or a number as text, as quantities may be; "" for anything else. */
static char *text_of(struct tri_import *import, const Google__Protobuf__Value *value)
{
    static char nothing[] = "";
    if (value != NULL && value->kind_case == GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE) {
        return value->string_value;
    }
    if (value == NULL || value->kind_case != GOOGLE__PROTOBUF__VALUE__KIND_NUMBER_VALUE) {
        return nothing;
    }
    const char *printed = tr_arena_print(import->arena, "%.10g", value->number_value).data;
    return printed == NULL ? nothing : (char *)(uintptr_t)printed;
}

/* ------------------------------------------------------------------ what is told */

static void note(struct tri_import *import, const flyte_task *task, const char *words,
                 const char *name)
{
    const struct tr_flyte_package *package = import->package;
    char line[512];
    if (package != NULL && package->note != NULL) {
        snprintf(line, sizeof line, "%.150s: %s%.150s", task->id == NULL ? "" : task->id->name,
                 words, name);
        package->note(package->self, line);
    }
}

/* What of the pod does not run or is not there. */
static void note_rest(struct tri_import *import, const flyte_task *task, const pod_struct *spec,
                      const pod_struct *primary)
{
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t i = 0; i < TR_COUNT_OF(lists); i++) {
        const Google__Protobuf__ListValue *list = list_of(spec, lists[i]);
        for (size_t j = 0; list != NULL && j < list->n_values; j++) {
            const pod_struct *container = struct_of(list->values[j]);
            if (container != NULL && container != primary) {
                note(import, task, "without a cluster its pod's primary container runs alone, not ",
                     text_of(import, field_of(container, "name")));
            }
        }
    }
    const Google__Protobuf__ListValue *volumes = list_of(spec, "volumes");
    for (size_t i = 0; volumes != NULL && i < volumes->n_values; i++) {
        note(import, task, "without a cluster there is no volume ",
             text_of(import, field_of(struct_of(volumes->values[i]), "name")));
    }
}

/* ------------------------------------------------------------------ the container */

/* An array of texts, and their number. */
static char **texts_of(struct tri_import *import, const pod_struct *container, const char *name,
                       size_t *count)
{
    const Google__Protobuf__ListValue *list = list_of(container, name);
    size_t size = list == NULL ? 0 : list->n_values;
    char **texts = tr_arena_array(import->arena, size, sizeof(char *));
    for (size_t i = 0; texts != NULL && i < size; i++) {
        texts[i] = text_of(import, list->values[i]);
    }
    *count = texts == NULL ? 0 : size;
    return texts;
}

static void take_environment(struct tri_import *import, const flyte_task *task,
                             const pod_struct *from, Flyteidl__Core__Container *container)
{
    const Google__Protobuf__ListValue *list = list_of(from, "env");
    size_t size = list == NULL ? 0 : list->n_values;
    container->env = tr_arena_array(import->arena, size, sizeof(void *));
    for (size_t i = 0; container->env != NULL && i < size; i++) {
        const pod_struct *variable = struct_of(list->values[i]);
        char *name = text_of(import, field_of(variable, "name"));
        Flyteidl__Core__KeyValuePair *pair = tr_arena_alloc(import->arena, sizeof *pair);
        if (field_of(variable, "valueFrom") != NULL) {
            note(import, task, "without a cluster nobody fills in the variable ", name);
        } else if (pair != NULL && name[0] != '\0') {
            flyteidl__core__key_value_pair__init(pair);
            pair->key = name;
            pair->value = text_of(import, field_of(variable, "value"));
            container->env[container->n_env++] = pair;
        }
    }
}

/* Kubernetes' names of what Flyte has by number. */
static const struct {
    const char *name;
    Flyteidl__Core__Resources__ResourceName number;
} resource_names[] = {
    {"cpu", FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__CPU},
    {"memory", FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__MEMORY},
    {"nvidia.com/gpu", FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__GPU},
    {"ephemeral-storage", FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__EPHEMERAL_STORAGE},
};

static Flyteidl__Core__Resources__ResourceEntry **amounts_of(struct tri_import *import,
                                                             const pod_struct *amounts,
                                                             size_t *count)
{
    size_t size = TR_COUNT_OF(resource_names);
    Flyteidl__Core__Resources__ResourceEntry **entries =
        tr_arena_array(import->arena, size, sizeof(void *));
    for (size_t i = 0; entries != NULL && i < size; i++) {
        const Google__Protobuf__Value *value = field_of(amounts, resource_names[i].name);
        Flyteidl__Core__Resources__ResourceEntry *entry =
            value == NULL ? NULL : tr_arena_alloc(import->arena, sizeof *entry);
        if (entry != NULL) {
            flyteidl__core__resources__resource_entry__init(entry);
            entry->name = resource_names[i].number;
            entry->value = text_of(import, value);
            entries[(*count)++] = entry;
        }
    }
    return entries;
}

static void take_resources(struct tri_import *import, const pod_struct *from,
                           Flyteidl__Core__Container *container)
{
    const pod_struct *resources = struct_of(field_of(from, "resources"));
    Flyteidl__Core__Resources *taken =
        resources == NULL ? NULL : tr_arena_alloc(import->arena, sizeof *taken);
    if (taken == NULL) {
        return;
    }
    flyteidl__core__resources__init(taken);
    taken->requests =
        amounts_of(import, struct_of(field_of(resources, "requests")), &taken->n_requests);
    taken->limits = amounts_of(import, struct_of(field_of(resources, "limits")), &taken->n_limits);
    container->resources = taken;
}

/* Whom the pod's command is in: said by the pod, or by the task's configuration. */
static const char *primary_name(const flyte_task *task)
{
    const char *name = task->k8s_pod->primary_container_name;
    for (size_t i = 0; name[0] == '\0' && i < task->n_config; i++) {
        if (strcmp(task->config[i]->key, "primary_container_name") == 0) {
            name = task->config[i]->value;
        }
    }
    return name[0] == '\0' ? PRIMARY : name;
}

static const pod_struct *find_primary(struct tri_import *import, const flyte_task *task)
{
    const Google__Protobuf__ListValue *list = list_of(task->k8s_pod->pod_spec, "containers");
    for (size_t i = 0; list != NULL && i < list->n_values; i++) {
        const pod_struct *container = struct_of(list->values[i]);
        if (strcmp(text_of(import, field_of(container, "name")), primary_name(task)) == 0) {
            return container;
        }
    }
    return NULL;
}

bool tri_import_unfold_pod(struct tri_import *import, flyte_task *task)
{
    if (task->target_case != FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_K8S_POD) {
        return true;
    }
    const pod_struct *primary = task->k8s_pod == NULL ? NULL : find_primary(import, task);
    Flyteidl__Core__Container *container = tr_arena_alloc(import->arena, sizeof *container);
    if (primary == NULL || container == NULL) {
        return false;
    }
    note_rest(import, task, task->k8s_pod->pod_spec, primary);
    import->pod = task->k8s_pod;
    flyteidl__core__container__init(container);
    container->image = text_of(import, field_of(primary, "image"));
    container->command = texts_of(import, primary, "command", &container->n_command);
    container->args = texts_of(import, primary, "args", &container->n_args);
    take_environment(import, task, primary, container);
    take_resources(import, primary, container);
    container->data_config = task->k8s_pod->data_config;
    task->container = container;
    task->target_case = FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER;
    return true;
}
