/*
 * Launch plans and their schedules.
 */
#include "actors/graph/keys.h"
#include "actors/graph/limits.h"

/* Schedules shorter than this would start executions faster than anybody means. */
#define EVERY_NS_MIN 1000000000LL

static void read_cron(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_plan *plan = target;
    const char *problem;
    if (!tri_read_text(definition, value, &plan->schedule.cron_text)) {
        return;
    }
    if (!tri_cron_parse(plan->schedule.cron_text, &plan->schedule.cron, &problem)) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.*s' is no cron expression: look at its %s\n"
                       "write minute hour day month weekday, as \"0 3 * * *\", or @daily",
                       TRI_SHOWN(plan->schedule.cron_text), problem);
    }
}

static void read_every(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_plan *plan = target;
    if (tri_read_duration(definition, value, &plan->schedule.every_ns) &&
        plan->schedule.every_ns < EVERY_NS_MIN) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "a schedule fires once a second at most\nwrite every: 1s or more");
    }
}

/* The names of the IANA database: Area/City, UTC; whether they exist is seen when they are used. */
static void read_timezone(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    struct tri_plan *plan = target;
    struct tr_text text;
    if (!tri_read_text(definition, value, &text)) {
        return;
    }
    for (size_t i = 0; i < text.size; i++) {
        char lower = (char)(text.data[i] | 0x20);
        bool is_letter = lower >= 'a' && lower <= 'z';
        bool is_part = strchr("0123456789_-+/", text.data[i]) != NULL;
        if (!is_letter && (!is_part || i == 0)) {
            tri_report_add(definition->report, value->place, "InvalidValue",
                           "'%.*s' is no timezone\nwrite UTC or a name such as Europe/Berlin",
                           TRI_SHOWN(text));
            return;
        }
    }
    plan->schedule.timezone = text;
}

static void read_catch_up(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    static const char *const words[] = {
        [TR_CATCH_UP_LAST] = "last", [TR_CATCH_UP_ALL] = "all", [TR_CATCH_UP_NONE] = "none"};
    struct tri_plan *plan = target;
    uint32_t position;
    if (tri_read_word(definition, value, words, TR_COUNT_OF(words), &position)) {
        plan->schedule.catch_up = (uint8_t)position;
    }
}

static void read_overlap(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    static const char *const words[] = {
        [TR_OVERLAP_SKIP] = "skip", [TR_OVERLAP_ALLOW] = "allow", [TR_OVERLAP_REPLACE] = "replace"};
    struct tri_plan *plan = target;
    uint32_t position;
    if (tri_read_word(definition, value, words, TR_COUNT_OF(words), &position)) {
        plan->schedule.overlap = (uint8_t)position;
    }
}

static void read_kickoff(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_plan *plan = target;
    (void)tri_read_name(definition, value, &plan->kickoff);
}

static void read_schedule(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    static const struct tri_key keys[] = {
        {"cron", read_cron, 0},         {"every", read_every, 0},
        {"timezone", read_timezone, 0}, {"catch_up", read_catch_up, 0},
        {"overlap", read_overlap, 0},   {"kickoff_input", read_kickoff, 0},
    };
    struct tri_plan *plan = target;
    plan->schedule.is_set = true;
    if (tr_tree_is_text(value)) {
        read_cron(definition, value, plan);
        return;
    }
    tri_read_keys(definition, value, "a schedule", keys, TR_COUNT_OF(keys), plan);
    bool has_cron = tr_tree_find(value, "cron") != NULL;
    bool has_every = tr_tree_find(value, "every") != NULL;
    if (value->kind == TR_TREE_MAP && has_cron == has_every) {
        tri_report_add(definition->report, value->place,
                       has_cron ? "InvalidValue" : "ValueRequired",
                       "a schedule is either by cron or by every\n%s",
                       has_cron ? "keep one of them" : "add cron: \"0 3 * * *\" or every: 10m");
    }
}

static void read_workflow(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    struct tri_plan *plan = target;
    (void)tri_read_name(definition, value, &plan->workflow);
}

static void read_inputs(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tri_plan *plan = target;
    plan->inputs = tri_expect_map(definition, value, "inputs") ? value : NULL;
}

static void read_fixed(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_plan *plan = target;
    plan->fixed = tri_expect_map(definition, value, "fixed") ? value : NULL;
}

static void read_description(struct tri_definition *definition, const struct tr_tree *value,
                             void *target)
{
    struct tri_plan *plan = target;
    (void)tri_read_text(definition, value, &plan->description);
}

static void read_plan(struct tri_definition *definition, const struct tr_tree *tree,
                      struct tri_plan *plan)
{
    static const struct tri_key keys[] = {
        {"workflow", read_workflow, 0},
        {"inputs", read_inputs, 0},
        {"fixed", read_fixed, 0},
        {"schedule", read_schedule, 0},
        {"description", read_description, 0},
    };
    plan->description = plan->schedule.cron_text = tr_text_of("");
    plan->schedule.timezone = tr_text_of("UTC");
    plan->schedule.kickoff_input = TR_GRAPH_NONE;
    tri_read_keys(definition, tree, "a launch plan", keys, TR_COUNT_OF(keys), plan);
    if (tree->kind == TR_TREE_MAP && tr_tree_find(tree, "workflow") == NULL) {
        tri_report_add(definition->report, plan->name.place, "ValueRequired",
                       "the launch plan does not say what it starts\nadd workflow: NAME");
    }
}

void tri_read_plans(struct tri_definition *definition, const struct tr_tree *tree)
{
    if (!tri_expect_map(definition, tree, "launch_plans")) {
        return;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        struct tri_name name;
        struct tr_text before = tri_report_subject(definition->report, tree->pairs[i].key->text);
        definition->key = tr_text_of("");
        if (tri_read_name(definition, tree->pairs[i].key, &name)) {
            struct tri_plan *plan =
                tri_vector_add(definition->scratch, &definition->plans, sizeof *plan);
            if (plan != NULL) {
                plan->name = name;
                plan->source = definition->source;
                read_plan(definition, tree->pairs[i].value, plan);
            }
        }
        (void)tri_report_subject(definition->report, before);
    }
}
