/*
 * The code of fast registration. A task says pyflyte-fast-execute --additional-distribution URI:
 * what lies there was uploaded before, and is unpacked below the store as the code of a fast
 * package is, once for all tasks of it (deploy/flyte/code.h).
 */
#include <string.h>

#include "actors/graph/flyte/flyte.h"
#include "deploy/common/clock.h"
#include "deploy/common/file.h"
#include "deploy/entities/register.h"
#include "deploy/flyte/package.h"
#include "schemas/codec/error.h"

#define DISTRIBUTION "--additional-distribution"

/* ------------------------------------------------------------------ where it lies */

static const char *find_in_struct(const Google__Protobuf__Struct *fields);

static bool is_text(const Google__Protobuf__Value *value)
{
    return value->kind_case == GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE;
}

/* The recursion goes as deep as the message does, which was bounded when it was unpacked. */
static const char *find_in_value(const Google__Protobuf__Value *value)
{
    const char *found = NULL;
    if (value == NULL) {
        return NULL;
    }
    if (value->kind_case == GOOGLE__PROTOBUF__VALUE__KIND_STRUCT_VALUE) {
        return find_in_struct(value->struct_value);
    }
    bool is_list = value->kind_case == GOOGLE__PROTOBUF__VALUE__KIND_LIST_VALUE;
    const Google__Protobuf__ListValue *list = is_list ? value->list_value : NULL;
    for (size_t i = 0; found == NULL && list != NULL && i < list->n_values; i++) {
        bool is_named = i > 0 && is_text(list->values[i]) && is_text(list->values[i - 1]) &&
                        strcmp(list->values[i - 1]->string_value, DISTRIBUTION) == 0;
        found = is_named ? list->values[i]->string_value : find_in_value(list->values[i]);
    }
    return found;
}

static const char *find_in_struct(const Google__Protobuf__Struct *fields)
{
    const char *found = NULL;
    for (size_t i = 0; found == NULL && fields != NULL && i < fields->n_fields; i++) {
        found = find_in_value(fields->fields[i]->value);
    }
    return found;
}

/* The URI of a task's code; NULL: it has none of its own. */
static const char *find_uri(const Flyteidl__Core__TaskTemplate *task)
{
    if (task->target_case == FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_K8S_POD) {
        return find_in_struct(task->k8s_pod->pod_spec);
    }
    if (task->target_case != FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER) {
        return NULL;
    }
    for (size_t i = 0; i + 1 < task->container->n_args; i++) {
        if (strcmp(task->container->args[i], DISTRIBUTION) == 0) {
            return task->container->args[i + 1];
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ placing */

static int refuse(struct tr_report *report, const char *uri, const char *words)
{
    tri_report_add(report, (struct tri_place){0}, NULL, "its code '%.200s' %s", uri, words);
    return TR_INVALID;
}

/* Files of the uploads alone: a task may name any file of this machine. */
static int open_code(struct tri_job *job, struct tr_report *report, const char *uri,
                     struct tr_bytes *archive)
{
    if (!tri_upload_store_has(&job->registrar->uploads, uri)) {
        return refuse(report, uri,
                      "is no upload of this store\nregister it with a client that uploads the code "
                      "here, such as pyflyte register");
    }
    int error = tr_file_map(uri, archive);
    return error == TR_NOT_FOUND || error == TR_SYSTEM
               ? refuse(report, uri, "is not there\nupload it first")
               : error;
}

static bool is_known(const struct tri_known_code *code, const char *uri)
{
    return code->name[0] != '\0' && strcmp(code->uri, uri) == 0 &&
           tr_clock_ms() - code->at_ms < TR_CODE_KNOWN_MS;
}

static void know(struct tri_known_code *code, const char *uri, struct tr_text name)
{
    if (strlen(uri) < sizeof code->uri && name.size < sizeof code->name) {
        memcpy(code->uri, uri, strlen(uri) + 1);
        memcpy(code->name, name.data, name.size);
        code->name[name.size] = '\0';
        code->at_ms = tr_clock_ms();
    }
}

static const struct tr_package_python *pythons_of(struct tri_job *job, size_t *count)
{
    const struct tr_settings_file *settings = job->registrar->live->settings;
    *count = settings == NULL ? 0 : settings->pythons.count;
    const struct tr_settings_python *rows = *count == 0 ? NULL : settings->pythons.items;
    struct tr_package_python *pythons = tr_arena_array(&job->arena, *count, sizeof *pythons);
    for (size_t i = 0; pythons != NULL && i < *count; i++) {
        pythons[i] = (struct tr_package_python){.images = rows[i].images, .python = rows[i].python};
    }
    return pythons;
}

int tri_place_task(struct tri_job *job, const Flyteidl__Core__TaskTemplate *task,
                   struct tr_report *report, struct tr_flyte_package *package)
{
    struct tri_known_code *known = &job->registrar->code;
    const char *uri = find_uri(task);
    struct tr_bytes archive = {.size = 0};
    struct tr_package_options options = {.store = job->registrar->live->folder};
    options.pythons = pythons_of(job, &options.python_count);
    bool is_fresh = uri != NULL && !is_known(known, uri);
    int error = job->arena.error;
    if (error == 0 && is_fresh) {
        error = open_code(job, report, uri, &archive);
    } else if (error == 0 && uri != NULL) {
        options.unpacked = known->name;
    }
    if (error == 0) {
        error = tr_package_place(&options, archive, &job->arena, report, package);
    }
    if (error == 0 && is_fresh) {
        know(known, uri, package->code);
    }
    if (archive.size > 0) {
        tr_file_unmap(archive);
    }
    return error;
}
