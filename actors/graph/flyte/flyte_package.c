/*
 * A package as a definition: the tree that a file in YAML with the same tasks, workflows and launch
 * plans would give.
 *
 * Tasks, workflows and launch plans of Flyte's have names of their own kind each, and flytekit
 * gives every workflow a launch plan of its name, which holds the defaults of its inputs. Here the
 * workflow takes these defaults, and the plan is gone: whoever launches it launches the workflow.
 */
#include <stdlib.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/flyte/flyte_applied.h"
#include "schemas/codec/error.h"

typedef Flyteidl__Admin__LaunchPlan launch_plan;

/* ------------------------------------------------------------------ schedules */

/* Only one of them is there. */
static void put_rate(struct tri_flyte_graph *graph, const Flyteidl__Admin__FixedRate *rate,
                     struct tri_flyte_fields *fields)
{
    static const char units[] = {[FLYTEIDL__ADMIN__FIXED_RATE_UNIT__MINUTE] = 'm',
                                 [FLYTEIDL__ADMIN__FIXED_RATE_UNIT__HOUR] = 'h',
                                 [FLYTEIDL__ADMIN__FIXED_RATE_UNIT__DAY] = 'd'};
    size_t unit = (size_t)rate->unit < TR_COUNT_OF(units) ? (size_t)rate->unit : 0;
    tri_flyte_put(graph, fields, "every",
                  tri_flyte_text(graph->arena,
                                 tr_arena_print(graph->arena, "%u%c", rate->value, units[unit])));
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

static void put_cron(struct tri_flyte_graph *graph, const Flyteidl__Admin__CronSchedule *cron,
                     struct tri_flyte_fields *fields)
{
    uint64_t offset = iso_seconds(cron->offset);
    tri_flyte_put_text(graph, fields, "cron", cron->schedule);
    if (offset != 0) {
        tri_flyte_put(graph, fields, "offset",
                      tri_flyte_text(graph->arena, tr_arena_print(graph->arena, "%llus",
                                                                  (unsigned long long)offset)));
    } else if (cron->offset[0] != '\0') {
        (void)tri_flyte_missing(graph, "InvalidValue",
                                "the schedule's offset is no duration of weeks, days, hours, "
                                "minutes and seconds\nwrite it as PT1H30M or P2D");
        fields->has_failed = true;
    }
}

/*
 * The older form has six fields, the last one a year, days of the week from 1 for Sunday, and `?`
 * where a day is said by the other field. NULL: told, as it cannot be said in five fields.
 */
static struct tr_tree *old_cron(struct tri_flyte_graph *graph, const char *expression)
{
    char *copy = tri_flyte_string(graph->arena, tr_text_of(expression), &graph->arena->error);
    const char *fields[7] = {0};
    size_t count = 0;
    char *rest = NULL;
    char *word = copy == NULL ? NULL : strtok_r(copy, " ", &rest);
    for (; word != NULL && count < TR_COUNT_OF(fields); word = strtok_r(NULL, " ", &rest)) {
        fields[count++] = word;
    }
    if (copy == NULL || count != 6) {
        return copy == NULL ? NULL : tri_flyte_text(graph->arena, tr_text_of(expression));
    }
    if (strcmp(fields[5], "*") != 0 && strcmp(fields[5], "?") != 0) {
        return tri_flyte_missing(graph, "InvalidValue",
                                 "the schedule names years\nlet its sixth field be a star");
    }
    char *weekdays = (char *)(uintptr_t)fields[4];
    for (char *at = weekdays; *at != '\0'; at++) {
        *at = (char)(*at >= '1' && *at <= '7' && (at == weekdays || at[-1] != '/') ? *at - 1 : *at);
    }
    for (size_t i = 2; i <= 4; i += 2) {
        fields[i] = strcmp(fields[i], "?") == 0 ? "*" : fields[i];
    }
    return tri_flyte_text(graph->arena, tr_arena_print(graph->arena, "%s %s %s %s %s", fields[0],
                                                       fields[1], fields[2], fields[3], fields[4]));
}

static struct tr_tree *schedule_of(struct tri_flyte_graph *graph,
                                   const Flyteidl__Admin__Schedule *schedule)
{
    struct tri_flyte_fields fields = {0};
    switch (schedule->schedule_expression_case) {
    case FLYTEIDL__ADMIN__SCHEDULE__SCHEDULE_EXPRESSION_CRON_EXPRESSION:
        tri_flyte_put(graph, &fields, "cron", old_cron(graph, schedule->cron_expression));
        break;
    case FLYTEIDL__ADMIN__SCHEDULE__SCHEDULE_EXPRESSION_RATE:
        put_rate(graph, schedule->rate, &fields);
        break;
    case FLYTEIDL__ADMIN__SCHEDULE__SCHEDULE_EXPRESSION_CRON_SCHEDULE:
        put_cron(graph, schedule->cron_schedule, &fields);
        break;
    default:
        break;
    }
    if (schedule->kickoff_time_input_arg[0] != '\0') {
        tri_flyte_put_text(graph, &fields, "kickoff_input", schedule->kickoff_time_input_arg);
    }
    return tri_flyte_fields_tree(graph, &fields);
}

static const Flyteidl__Admin__Schedule *schedule_in(const launch_plan *plan)
{
    const Flyteidl__Admin__LaunchPlanMetadata *metadata =
        plan->spec == NULL ? NULL : plan->spec->entity_metadata;
    const Flyteidl__Admin__Schedule *schedule = metadata == NULL ? NULL : metadata->schedule;
    bool is_set = schedule != NULL && schedule->schedule_expression_case !=
                                          FLYTEIDL__ADMIN__SCHEDULE__SCHEDULE_EXPRESSION__NOT_SET;
    return is_set ? schedule : NULL;
}

/* ------------------------------------------------------------------ launch plans */

static const Flyteidl__Core__WorkflowTemplate *find_workflow(const struct tri_flyte_graph *graph,
                                                             const Flyteidl__Core__Identifier *id)
{
    for (size_t i = 0; i < graph->workflow_count; i++) {
        if (tri_flyte_is_same(graph->workflows[i]->id, id)) {
            return graph->workflows[i];
        }
    }
    return NULL;
}

static size_t fixed_count(const launch_plan *plan)
{
    return plan->spec->fixed_inputs == NULL ? 0 : plan->spec->fixed_inputs->n_literals;
}

static bool has_labels(const launch_plan *plan)
{
    return plan->spec->labels != NULL && plan->spec->labels->n_values > 0;
}

/* Whether it is what flytekit gives each workflow: its defaults, under its name. */
static bool is_default(const launch_plan *plan)
{
    return plan->spec != NULL && plan->spec->workflow_id != NULL &&
           tri_flyte_is_same(plan->id, plan->spec->workflow_id) && fixed_count(plan) == 0 &&
           schedule_in(plan) == NULL && !has_labels(plan);
}

static void put_value(struct tri_flyte_graph *graph, struct tri_flyte_fields *fields,
                      const char *name, const Flyteidl__Core__LiteralType *type,
                      const Flyteidl__Core__Literal *value)
{
    struct tr_text before = tri_flyte_begin(graph, "inputs.", name);
    tri_flyte_put(graph, fields, name, tri_flyte_value(graph, type, value));
    (void)tri_report_subject(graph->report, before);
}

static struct tr_tree *defaults_of(struct tri_flyte_graph *graph,
                                   const Flyteidl__Core__ParameterMap *defaults)
{
    struct tri_flyte_fields fields = {0};
    for (size_t i = 0; defaults != NULL && i < defaults->n_parameters; i++) {
        const Flyteidl__Core__Parameter *parameter = defaults->parameters[i]->value;
        bool has_default = parameter != NULL &&
                           parameter->behavior_case == FLYTEIDL__CORE__PARAMETER__BEHAVIOR_DEFAULT;
        if (has_default) {
            const Flyteidl__Core__LiteralType *type =
                parameter->var == NULL ? NULL : parameter->var->type;
            put_value(graph, &fields, defaults->parameters[i]->key, type, parameter->default_);
        }
    }
    return tri_flyte_fields_tree(graph, &fields);
}

/* The type of an input of a workflow; NULL: there is no such input. */
static const Flyteidl__Core__LiteralType *input_type(
    const Flyteidl__Core__WorkflowTemplate *workflow, const char *name)
{
    const Flyteidl__Core__VariableMap *inputs =
        workflow == NULL || workflow->interface == NULL ? NULL : workflow->interface->inputs;
    for (size_t i = 0; inputs != NULL && i < inputs->n_variables; i++) {
        if (strcmp(inputs->variables[i]->key, name) == 0) {
            return inputs->variables[i]->value == NULL ? NULL : inputs->variables[i]->value->type;
        }
    }
    return NULL;
}

static struct tr_tree *fixed_of(struct tri_flyte_graph *graph, const launch_plan *plan)
{
    const Flyteidl__Core__WorkflowTemplate *workflow =
        find_workflow(graph, plan->spec->workflow_id);
    const Flyteidl__Core__LiteralMap *fixed = plan->spec->fixed_inputs;
    struct tri_flyte_fields fields = {0};
    for (size_t i = 0; i < fixed_count(plan); i++) {
        const char *name = fixed->literals[i]->key;
        put_value(graph, &fields, name, input_type(workflow, name), fixed->literals[i]->value);
    }
    return tri_flyte_fields_tree(graph, &fields);
}

static struct tr_tree *labels_of(struct tri_flyte_graph *graph,
                                 const Flyteidl__Admin__Labels *labels)
{
    struct tri_flyte_fields fields = {0};
    for (size_t i = 0; i < labels->n_values; i++) {
        tri_flyte_put_text(graph, &fields, labels->values[i]->key, labels->values[i]->value);
    }
    return tri_flyte_fields_tree(graph, &fields);
}

static struct tr_tree *plan_of(struct tri_flyte_graph *graph, const launch_plan *plan)
{
    struct tri_flyte_fields fields = {0};
    if (plan->spec == NULL || plan->spec->workflow_id == NULL) {
        return tri_flyte_missing(graph, "ValueRequired",
                                 "the launch plan does not say which workflow it starts");
    }
    struct tr_text outside = tri_report_subject(graph->report, tr_text_of(plan->id->name));
    bool is_there = tri_flyte_check_reference(graph, TR_ENTITY_WORKFLOW, plan->spec->workflow_id);
    (void)tri_report_subject(graph->report, outside);
    if (!is_there) {
        return NULL;
    }
    tri_flyte_put(graph, &fields, "workflow",
                  tri_flyte_text(graph->arena, tri_flyte_name_of(graph, plan->spec->workflow_id)));
    tri_flyte_put(graph, &fields, "inputs", defaults_of(graph, plan->spec->default_inputs));
    if (fixed_count(plan) > 0) {
        tri_flyte_put(graph, &fields, "fixed", fixed_of(graph, plan));
    }
    if (has_labels(plan)) {
        tri_flyte_put(graph, &fields, "labels", labels_of(graph, plan->spec->labels));
    }
    /* One that was applied with another package starts by itself as that one says. */
    if (schedule_in(plan) != NULL && tri_flyte_applied(graph, plan->id) == NULL) {
        tri_flyte_put(graph, &fields, "schedule", schedule_of(graph, schedule_in(plan)));
    }
    return tri_flyte_fields_tree(graph, &fields);
}

/* ------------------------------------------------------------------ the definition */

/* The defaults of a workflow's inputs stand in the launch plan of its name. */
static const Flyteidl__Core__ParameterMap *defaults_for(
    const struct tri_flyte_graph *graph, const Flyteidl__Core__WorkflowTemplate *workflow)
{
    for (size_t i = 0; i < graph->plan_count; i++) {
        if (is_default(graph->plans[i]) && tri_flyte_is_same(graph->plans[i]->id, workflow->id)) {
            return graph->plans[i]->spec->default_inputs;
        }
    }
    return NULL;
}

static struct tr_tree *tasks_of(struct tri_flyte_graph *graph)
{
    struct tri_flyte_fields tasks = {0};
    for (size_t i = 0; i < graph->task_count; i++) {
        const Flyteidl__Core__TaskTemplate *task = graph->tasks[i];
        struct tr_text before = tri_report_subject(graph->report, tr_text_of(task->id->name));
        struct tr_tree *made = tri_flyte_task(graph, task);
        (void)tri_report_subject(graph->report, before);
        tri_flyte_put_named(graph, &tasks, task->id, made);
    }
    return tri_flyte_fields_tree(graph, &tasks);
}

static struct tr_tree *workflows_of(struct tri_flyte_graph *graph)
{
    struct tri_flyte_fields workflows = {0};
    for (size_t i = 0; i < graph->workflow_count; i++) {
        const Flyteidl__Core__WorkflowTemplate *workflow = graph->workflows[i];
        struct tr_text before = tri_report_subject(graph->report, tr_text_of(workflow->id->name));
        struct tr_tree *made = tri_flyte_workflow(graph, workflow, defaults_for(graph, workflow));
        (void)tri_report_subject(graph->report, before);
        tri_flyte_put_named(graph, &workflows, workflow->id, made);
    }
    return tri_flyte_fields_tree(graph, &workflows);
}

/* A default plan without its workflow is a plan, which then says what is missing. */
static struct tr_tree *plans_of(struct tri_flyte_graph *graph)
{
    struct tri_flyte_fields plans = {0};
    for (size_t i = 0; i < graph->plan_count; i++) {
        const launch_plan *plan = graph->plans[i];
        if (!is_default(plan) || find_workflow(graph, plan->id) == NULL) {
            struct tr_text before = tri_report_subject(graph->report, tr_text_of(plan->id->name));
            tri_flyte_put_named(graph, &plans, plan->id, plan_of(graph, plan));
            (void)tri_report_subject(graph->report, before);
        }
    }
    return tri_flyte_fields_tree(graph, &plans);
}

static const struct tr_tree *definition_of(struct tri_flyte_graph *graph)
{
    struct tri_flyte_fields fields = {0};
    tri_flyte_put_count(graph, &fields, "troupe", 1);
    tri_flyte_put(graph, &fields, "project", tri_flyte_text(graph->arena, graph->package->project));
    tri_flyte_put(graph, &fields, "domain", tri_flyte_text(graph->arena, graph->package->domain));
    tri_flyte_put(graph, &fields, "tasks", tasks_of(graph));
    tri_flyte_put(graph, &fields, "workflows", workflows_of(graph));
    tri_flyte_put(graph, &fields, "launch_plans", plans_of(graph));
    return tri_flyte_fields_tree(graph, &fields);
}

static bool sort_out(struct tri_flyte_graph *graph, const struct tri_vector *entities)
{
    const struct tri_flyte_entity *items = entities->items;
    size_t room = entities->count;
    graph->tasks = tr_arena_array(graph->arena, room, sizeof(void *));
    graph->workflows = tr_arena_array(graph->arena, room, sizeof(void *));
    graph->plans = tr_arena_array(graph->arena, room, sizeof(void *));
    if (graph->arena->error != 0) {
        return false;
    }
    for (size_t i = 0; i < room; i++) {
        void *message = items[i].message;
        if (items[i].applied != NULL && graph->applied_count++ == 0) {
            graph->applied = &items[i]; /* they stand at the end */
        }
        if (items[i].kind == TR_ENTITY_TASK) {
            graph->tasks[graph->task_count++] = message;
        } else if (items[i].kind == TR_ENTITY_WORKFLOW) {
            graph->workflows[graph->workflow_count++] = message;
        } else {
            graph->plans[graph->plan_count++] = message;
        }
    }
    return true;
}

/* Shows each entity of the package itself, for keeping it. */
static int keep(const struct tr_flyte_package *package, const struct tri_vector *entities)
{
    const struct tri_flyte_entity *items = entities->items;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < entities->count; i++) {
        const struct tr_entity entity = {
            .project = tr_text_of(items[i].id->project),
            .domain = tr_text_of(items[i].id->domain),
            .kind = (uint8_t)items[i].kind,
            .name = tr_text_of(items[i].id->name),
            .version = tr_text_of(items[i].id->version),
            .message = items[i].packed,
            .code = package->code,
            .path = items[i].kind == TR_ENTITY_TASK
                        ? tri_flyte_path(package, (const void *)items[i].message)
                        : tr_text_of(""),
            .python_path = package->python_path,
            .warm = package->warm,
        };
        error = items[i].applied != NULL ? 0 : package->keep(package->self, &entity);
    }
    return error;
}

int tr_flyte_package_read(const struct tr_flyte_package *package, struct tr_arena *arena,
                          struct tr_report *report, const struct tr_tree **definition)
{
    struct tri_flyte_graph graph = {
        .arena = arena, .report = report, .package = package, .files = package->literals};
    struct tri_vector entities = {0};
    const struct tr_tree *tree = NULL;
    tr_types_init(&graph.types, arena);
    report->is_flytes = true;
    if (tri_flyte_entities(package, arena, report, &entities) && sort_out(&graph, &entities)) {
        tri_flyte_note_unused(&entities, report);
        tree = definition_of(&graph);
    }
    if (tree != NULL && arena->error == 0 && package->keep != NULL) {
        arena->error = keep(package, &entities);
    }
    if (arena->error != 0) {
        return arena->error;
    }
    /* What was told of a definition that is whole is told with what the compiler finds. */
    if (tree == NULL) {
        return TR_INVALID;
    }
    *definition = tree;
    return 0;
}
