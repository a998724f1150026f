/*
 * What launch plans say of how their executions run.
 */
#include <string.h>

#include "actors/graph/import/import_inside.h"
#include "schemas/engine/flow.h"

/* Values are taken as they are: Flyte fills in templates of tasks, not of executions. */
static bool take_environment(struct tri_import *import, const Flyteidl__Admin__Envs *envs,
                             struct tr_run_settings *run)
{
    struct tr_environment *items =
        tr_arena_array(import->definition->arena, envs->n_values, sizeof *items);
    bool is_fine = items != NULL;
    size_t size = 0;
    for (size_t i = 0; items != NULL && i < envs->n_values; i++) {
        is_fine = tri_import_check_variable_name(import, envs->values[i]->key) && is_fine;
        items[i].name = tri_import_keep(import, tr_text_of(envs->values[i]->key));
        items[i].value = tri_import_keep(import, tr_text_of(envs->values[i]->value));
        size += items[i].name.size + items[i].value.size;
    }
    if (size > TR_RUN_ENVIRONMENT_BYTES_MAX) {
        return tri_import_tell(import, "InvalidValue",
                               "the variables have more than 8 KiB together\n"
                               "put what is large into an input");
    }
    run->environment = items;
    run->environment_count = items == NULL ? 0 : (uint32_t)envs->n_values;
    return is_fine && tri_import_check_unique(import, items, run->environment_count, sizeof *items,
                                              "variable");
}

/* Where the prefix is a path it counts from no folder: executions have none in common. */
static bool take_prefix(struct tri_import *import, const char *prefix, struct tr_run_settings *run)
{
    if (prefix[0] != '\0' && prefix[0] != '/' && strstr(prefix, "://") == NULL) {
        return tri_import_tell(import, "InvalidValue",
                               "the raw output prefix is no absolute path and no URI\n"
                               "write it as /data/raw or s3://bucket/raw");
    }
    if (strlen(prefix) > TR_RAW_OUTPUT_PREFIX_BYTES_MAX) {
        return tri_import_tell(import, "InvalidValue",
                               "the raw output prefix has more than 1024 bytes\n"
                               "choose a shorter one");
    }
    run->raw_output_prefix = tri_import_keep(import, tr_text_of(prefix));
    return true;
}

static bool take_count(struct tri_import *import, int32_t value, const char *problem,
                       uint32_t *count)
{
    if (value < 0) {
        return tri_import_tell(import, "InvalidValue", problem);
    }
    *count = (uint32_t)value;
    return true;
}

void tri_import_note_run(struct tri_import *import, const flyte_plan *plan)
{
    const Flyteidl__Admin__LaunchPlanSpec *spec = plan->spec;
    const Flyteidl__Admin__RawOutputDataConfig *raw = spec->raw_output_data_config;
    bool says_something = (spec->envs != NULL && spec->envs->n_values > 0) ||
                          (raw != NULL && raw->output_location_prefix[0] != '\0') ||
                          spec->interruptible != NULL || spec->overwrite_cache ||
                          spec->max_parallelism != 0 ||
                          (spec->concurrency_policy != NULL && spec->concurrency_policy->max != 0);
    if (says_something) {
        struct tr_text before = tri_report_subject(import->report, tr_text_of(plan->id->name));
        tri_report_warn(import->report, TRI_IMPORT_NOWHERE,
                        "how its executions run is kept and not acted on here, since the launch "
                        "plan has its workflow's name\ngive it another name");
        (void)tri_report_subject(import->report, before);
    }
}

bool tri_import_run(struct tri_import *import, const flyte_plan *plan, struct tr_run_settings *run)
{
    const Flyteidl__Admin__LaunchPlanSpec *spec = plan->spec;
    bool is_fine = spec->envs == NULL || take_environment(import, spec->envs, run);
    if (spec->raw_output_data_config != NULL) {
        is_fine = take_prefix(import, spec->raw_output_data_config->output_location_prefix, run) &&
                  is_fine;
    }
    if (spec->interruptible != NULL) {
        run->interruptible = spec->interruptible->value ? TR_CHOICE_YES : TR_CHOICE_NO;
    }
    run->refreshes_cache = spec->overwrite_cache;
    is_fine = take_count(import, spec->max_parallelism,
                         "max_parallelism is less than 0\ngive 0 for no bound, or more",
                         &run->max_parallelism) &&
              is_fine;
    if (spec->concurrency_policy != NULL) {
        is_fine = take_count(import, spec->concurrency_policy->max,
                             "the concurrency policy's max is less than 0\n"
                             "give 0 for no bound, or more",
                             &run->executions_max) &&
                  is_fine;
    }
    return is_fine;
}
