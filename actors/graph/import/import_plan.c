/*
 * Launch plans and their schedules.
 *
 * Tasks, workflows and launch plans of Flyte's have names of their own kind each, and flytekit
 * gives every workflow a launch plan of its name, which holds the defaults of its inputs. Here the
 * workflow takes these defaults, and the plan is gone: whoever launches it launches the workflow.
 */
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/labels.h"
#include "actors/graph/import/import_inside.h"

#define NANOSECONDS 1000000000LL

/* ------------------------------------------------------------------ schedules */

/* Only one of them is there. */
static bool take_rate(struct tri_import *import, const Flyteidl__Admin__FixedRate *rate,
                      struct tr_schedule *schedule)
{
    static const int64_t seconds[] = {[FLYTEIDL__ADMIN__FIXED_RATE_UNIT__MINUTE] = 60,
                                      [FLYTEIDL__ADMIN__FIXED_RATE_UNIT__HOUR] = 3600,
                                      [FLYTEIDL__ADMIN__FIXED_RATE_UNIT__DAY] = 86400};
    size_t unit = (size_t)rate->unit < TR_COUNT_OF(seconds) ? (size_t)rate->unit : 0;
    bool is_one = rate->value > 0 &&
                  !__builtin_mul_overflow((int64_t)rate->value, seconds[unit] * NANOSECONDS,
                                          &schedule->every_ns);
    return is_one || tri_import_tell(import, "InvalidValue",
                                     "the schedule's rate is no time between two executions\n"
                                     "let its value be 1 or more, and less than 292 years");
}

/*
 * An ISO 8601 duration, P1W or P1DT2H30M5S, in seconds; 0: it is none, or has years or months,
 * which have no length of their own.
 */
static uint64_t iso_seconds(const char *text)
{
    static const char letters[] = "WDHMS";
    static const uint64_t seconds[] = {7 * 86400, 86400, 3600, 60, 1};
    uint64_t sum = 0;
    bool is_time = false;
    if (*text++ != 'P') {
        return 0;
    }
    while (*text != '\0') {
        char *end = NULL;
        if (*text == 'T' && !is_time) {
            is_time = true;
            text++;
            continue;
        }
        unsigned long count = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
        const char *letter = end == NULL || *end == '\0' ? NULL : strchr(letters, *end);
        if (letter == NULL || (*letter == 'W' || *letter == 'D') == is_time || count > 1000000000) {
            return 0;
        }
        sum += count * seconds[letter - letters];
        text = end + 1;
    }
    return sum;
}

static bool take_cron(struct tri_import *import, struct tr_text text, struct tr_schedule *schedule)
{
    const char *problem;
    schedule->cron_text = tri_import_keep(import, text);
    if (tri_cron_parse(schedule->cron_text, &schedule->cron, &problem)) {
        return true;
    }
    tri_report_add(import->report, TRI_IMPORT_NOWHERE, "InvalidValue",
                   "'%.*s' is no cron expression: look at its %s\n"
                   "write minute hour day month weekday, as \"0 3 * * *\", or @daily",
                   TRI_SHOWN(text), problem);
    return false;
}

static bool take_offset(struct tri_import *import, const char *offset, struct tr_schedule *schedule)
{
    uint64_t seconds = iso_seconds(offset);
    if (seconds == 0 && offset[0] != '\0') {
        return tri_import_tell(import, "InvalidValue",
                               "the schedule's offset is no duration of weeks, days, hours, "
                               "minutes and seconds\nwrite it as PT1H30M or P2D");
    }
    if (seconds > (uint64_t)(TR_SCHEDULE_OFFSET_NS_MAX / NANOSECONDS)) {
        return tri_import_tell(import, "InvalidValue",
                               "the schedule's offset is more than a year\nwrite it as PT1H30M");
    }
    schedule->offset_ns = (int64_t)seconds * NANOSECONDS;
    return true;
}

/*
 * The older form has six fields, the last one a year, days of the week from 1 for Sunday, and `?`
 * where a day is said by the other field. Years cannot be said in five fields, and are told.
 */
static bool take_old_cron(struct tri_import *import, const char *expression,
                          struct tr_schedule *schedule)
{
    char *copy = tri_flyte_string(import->arena, tr_text_of(expression), &import->arena->error);
    const char *fields[7] = {0};
    size_t count = 0;
    char *rest = NULL;
    char *word = copy == NULL ? NULL : strtok_r(copy, " ", &rest);
    for (; word != NULL && count < TR_COUNT_OF(fields); word = strtok_r(NULL, " ", &rest)) {
        fields[count++] = word;
    }
    if (copy == NULL || count != 6) {
        return copy != NULL && take_cron(import, tr_text_of(expression), schedule);
    }
    if (strcmp(fields[5], "*") != 0 && strcmp(fields[5], "?") != 0) {
        return tri_import_tell(import, "InvalidValue",
                               "the schedule names years\nlet its sixth field be a star");
    }
    char *weekdays = (char *)(uintptr_t)fields[4];
    for (char *at = weekdays; *at != '\0'; at++) {
        *at = (char)(*at >= '1' && *at <= '7' && (at == weekdays || at[-1] != '/') ? *at - 1 : *at);
    }
    for (size_t i = 2; i <= 4; i += 2) {
        fields[i] = strcmp(fields[i], "?") == 0 ? "*" : fields[i];
    }
    return take_cron(import,
                     tr_arena_print(import->arena, "%s %s %s %s %s", fields[0], fields[1],
                                    fields[2], fields[3], fields[4]),
                     schedule);
}

static bool take_schedule(struct tri_import *import, const Flyteidl__Admin__Schedule *message,
                          struct tri_plan *plan)
{
    struct tr_schedule *schedule = &plan->schedule;
    schedule->is_set = true;
    if (message->kickoff_time_input_arg[0] != '\0') {
        plan->kickoff = (struct tri_name){.text = tr_text_of(message->kickoff_time_input_arg)};
    }
    switch (message->schedule_expression_case) {
    case FLYTEIDL__ADMIN__SCHEDULE__SCHEDULE_EXPRESSION_CRON_EXPRESSION:
        return take_old_cron(import, message->cron_expression, schedule);
    case FLYTEIDL__ADMIN__SCHEDULE__SCHEDULE_EXPRESSION_RATE:
        return take_rate(import, message->rate, schedule);
    case FLYTEIDL__ADMIN__SCHEDULE__SCHEDULE_EXPRESSION_CRON_SCHEDULE: {
        const Flyteidl__Admin__CronSchedule *cron = message->cron_schedule;
        bool is_fine = take_cron(import, tr_text_of(cron->schedule), schedule);
        return take_offset(import, cron->offset, schedule) && is_fine;
    }
    default:
        return true;
    }
}

static const Flyteidl__Admin__Schedule *schedule_in(const flyte_plan *plan)
{
    const Flyteidl__Admin__LaunchPlanMetadata *metadata =
        plan->spec == NULL ? NULL : plan->spec->entity_metadata;
    const Flyteidl__Admin__Schedule *schedule = metadata == NULL ? NULL : metadata->schedule;
    bool is_set = schedule != NULL && schedule->schedule_expression_case !=
                                          FLYTEIDL__ADMIN__SCHEDULE__SCHEDULE_EXPRESSION__NOT_SET;
    return is_set ? schedule : NULL;
}

/* ------------------------------------------------------------------ inputs */

static size_t fixed_count(const flyte_plan *plan)
{
    return plan->spec->fixed_inputs == NULL ? 0 : plan->spec->fixed_inputs->n_literals;
}

/* A value for an input, by the type that Flyte says of it: the compiler knows its own. */
static bool add_value(struct tri_import *import, const char *name, const flyte_type *type,
                      const Flyteidl__Core__Literal *value, struct tri_vector *pairs)
{
    const struct tr_type *read = type == NULL ? NULL : tri_flyte_type_read(&import->types, type);
    struct tr_text before = tri_import_begin(import, "inputs.", name);
    bool is_fine = tri_import_add_pair(import, pairs, name, tri_import_value(import, read, value));
    (void)tri_report_subject(import->report, before);
    return is_fine;
}

static bool take_defaults(struct tri_import *import, const Flyteidl__Core__ParameterMap *defaults,
                          struct tri_plan *plan)
{
    struct tri_vector pairs = {0};
    bool is_fine = true;
    for (size_t i = 0; defaults != NULL && i < defaults->n_parameters; i++) {
        const Flyteidl__Core__Parameter *parameter = defaults->parameters[i]->value;
        bool has_default = parameter != NULL &&
                           parameter->behavior_case == FLYTEIDL__CORE__PARAMETER__BEHAVIOR_DEFAULT;
        if (has_default) {
            is_fine = add_value(import, defaults->parameters[i]->key,
                                parameter->var == NULL ? NULL : parameter->var->type,
                                parameter->default_, &pairs) &&
                      is_fine;
        }
    }
    plan->inputs = tri_import_mapping(import, &pairs);
    return plan->inputs != NULL && is_fine;
}

static bool take_fixed(struct tri_import *import, const flyte_plan *message, struct tri_plan *plan)
{
    const flyte_workflow *workflow = tri_import_find_workflow(import, message->spec->workflow_id);
    const Flyteidl__Core__TypedInterface *interface = workflow == NULL ? NULL : workflow->interface;
    const Flyteidl__Core__LiteralMap *fixed = message->spec->fixed_inputs;
    struct tri_vector pairs = {0};
    bool is_fine = true;
    for (size_t i = 0; i < fixed_count(message); i++) {
        const char *name = fixed->literals[i]->key;
        const flyte_type *type =
            interface == NULL ? NULL : tri_import_find_variable(interface->inputs, name);
        is_fine = add_value(import, name, type, fixed->literals[i]->value, &pairs) && is_fine;
    }
    plan->fixed = tri_import_mapping(import, &pairs);
    return plan->fixed != NULL && is_fine;
}

/* ------------------------------------------------------------------ labels */

static bool has_labels(const flyte_plan *plan)
{
    return plan->spec->labels != NULL && plan->spec->labels->n_values > 0;
}

static bool check_label(struct tri_import *import, const struct tr_label *label)
{
    if (!tr_label_key_is_good(label->key)) {
        tri_report_add(import->report, TRI_IMPORT_NOWHERE, "InvalidValue",
                       "'%.*s' is no key of a label\n" TR_LABEL_KEY_REMEDY, TRI_SHOWN(label->key));
        return false;
    }
    if (!tr_label_value_is_good(label->value)) {
        tri_report_add(import->report, TRI_IMPORT_NOWHERE, "InvalidValue",
                       "'%.*s' is no value of the label '%.*s'\n" TR_LABEL_VALUE_REMEDY,
                       TRI_SHOWN(label->value), TRI_SHOWN(label->key));
        return false;
    }
    return true;
}

static bool take_labels(struct tri_import *import, const Flyteidl__Admin__Labels *labels,
                        struct tri_plan *plan)
{
    struct tr_label *items = tr_arena_array(import->arena, labels->n_values, sizeof *items);
    struct tr_buffer text;
    bool is_fine = items != NULL;
    for (size_t i = 0; items != NULL && i < labels->n_values; i++) {
        items[i] = (struct tr_label){.key = tr_text_of(labels->values[i]->key),
                                     .value = tr_text_of(labels->values[i]->value)};
        is_fine = check_label(import, &items[i]) && is_fine;
    }
    if (!is_fine) {
        return false;
    }
    tr_buffer_init(&text, 0);
    int error = tr_labels_print(items, labels->n_values, &text);
    if (error != 0) {
        tri_report_add(import->report, TRI_IMPORT_NOWHERE, "InvalidValue",
                       "there are too many labels\nwrite at most %u, of %u bytes in all",
                       TR_LABELS_MAX, TR_LABELS_BYTES_MAX);
    }
    plan->labels = tri_import_keep(import, tr_buffer_text(&text));
    tr_buffer_fini(&text);
    return error == 0;
}

/* ------------------------------------------------------------------ plans */

bool tri_import_is_default(const flyte_plan *plan)
{
    return plan->spec != NULL && plan->spec->workflow_id != NULL &&
           tri_flyte_is_same(plan->id, plan->spec->workflow_id) && fixed_count(plan) == 0 &&
           schedule_in(plan) == NULL && !has_labels(plan);
}

/* One that was applied with another package starts by itself as that one says. */
static void fill_plan(struct tri_import *import, const struct tri_flyte_entity *entity,
                      struct tri_plan *plan)
{
    const flyte_plan *message = (const flyte_plan *)entity->message;
    bool has_target = message->spec != NULL && message->spec->workflow_id != NULL &&
                      message->spec->workflow_id->name[0] != '\0';
    if (!has_target) {
        (void)tri_import_tell(import, "ValueRequired",
                              "the launch plan does not say which workflow it starts");
        return;
    }
    const flyte_identifier *id = message->spec->workflow_id;
    if (!tri_import_check_reference(import, TR_ENTITY_WORKFLOW, id)) {
        return;
    }
    bool is_fine = take_defaults(import, message->spec->default_inputs, plan);
    is_fine = take_fixed(import, message, plan) && is_fine;
    is_fine = tri_import_run(import, message, &plan->run) && is_fine;
    plan->extra = tri_import_plan_extra(import, message);
    if (has_labels(message)) {
        is_fine = take_labels(import, message->spec->labels, plan) && is_fine;
    }
    if (schedule_in(message) != NULL && entity->applied == NULL) {
        is_fine = take_schedule(import, schedule_in(message), plan) && is_fine;
        tri_definition_check_plan(import->definition, plan);
    }
    /* Without a workflow its name alone is known. */
    if (!tri_import_is_told(import, is_fine)) {
        plan->workflow.text = tri_import_name_of(import, TR_ENTITY_WORKFLOW, id);
    }
}

void tri_import_plan(struct tri_import *import, const struct tri_flyte_entity *entity)
{
    struct tri_definition *definition = import->definition;
    struct tr_text name = tri_import_name_of(import, TR_ENTITY_PLAN, entity->id);
    struct tr_text before = tri_report_subject(import->report, tr_text_of(entity->id->name));
    struct tri_plan *plan = tri_keys_check_any_name(definition, name)
                                ? tri_vector_add(import->arena, &definition->plans, sizeof *plan)
                                : NULL;
    if (plan != NULL) {
        plan->name = (struct tri_name){.text = name};
        tri_definition_begin_plan(definition, plan);
        fill_plan(import, entity, plan);
    }
    (void)tri_report_subject(import->report, before);
}
