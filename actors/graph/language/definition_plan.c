/*
 * Launch plans and their schedules.
 *
 * A schedule is checked in full here, as far as it needs no names: the cron expression is parsed
 * into bits, the time zone is opened once. An error in a schedule would otherwise show at three in
 * the morning in the log of a server. Values for inputs stay trees, since their types are those of
 * a workflow that may come later; the compiler reads them.
 */
#include <strings.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/document/zone.h"
#include "actors/graph/language/keys.h"

#define NS_PER_SECOND 1000000000LL

static void read_cron(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_plan *plan = target;
    const char *problem;
    if (!tri_keys_read_text(definition, value, &plan->schedule.cron_text)) {
        return;
    }
    if (!tri_cron_parse(plan->schedule.cron_text, &plan->schedule.cron, &problem)) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.*s' is no cron expression: look at its %s\n"
                       "write minute hour day month weekday, as \"0 3 * * *\", or @daily",
                       TRI_SHOWN(plan->schedule.cron_text), problem);
    }
}

/*
 * Schedules count in whole seconds (schedule_time.h), so a fraction would be lost without a word.
 */
static void read_every(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_plan *plan = target;
    if (!tri_keys_read_duration(definition, value, &plan->schedule.every_ns)) {
        return;
    }
    if (plan->schedule.every_ns < NS_PER_SECOND) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "a schedule fires once a second at most\nwrite every: 1s or more");
    } else if (plan->schedule.every_ns % NS_PER_SECOND != 0) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "a schedule counts whole seconds\nwrite every: 2s or 1m30s");
    }
}

static void read_offset(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tri_plan *plan = target;
    int64_t offset;
    if (!tri_keys_read_duration(definition, value, &offset)) {
        return;
    }
    if (offset % NS_PER_SECOND != 0 || offset > TR_SCHEDULE_OFFSET_NS_MAX) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "an offset is whole seconds, and a year at most\nwrite offset: 90s or 2h");
        return;
    }
    plan->schedule.offset_ns = offset;
}

/* The names of all zones, while the nearest one is looked for. */
struct zone_names {
    struct tri_definition *definition;
    struct tri_vector names; /* struct tr_text */
    struct tr_text wanted;
    struct tr_text city; /* the zone of which `wanted` is the last part */
};

/*
 * Copies each name, which lives for this call only. A last part that is what was asked for, in any
 * case of letters, is better than the nearest spelling: `new_york` is far from America/New_York.
 */
static int add_zone_name(void *self, struct tr_text name)
{
    struct zone_names *zones = self;
    struct tr_arena *scratch = zones->definition->scratch;
    struct tr_text wanted = zones->wanted;
    struct tr_text *added = tri_vector_add(scratch, &zones->names, sizeof *added);
    if (added == NULL) {
        return TR_MEMORY;
    }
    *added = tr_arena_text(scratch, name);
    bool is_city = name.size > wanted.size && name.data[name.size - wanted.size - 1] == '/' &&
                   strncasecmp(name.data + name.size - wanted.size, wanted.data, wanted.size) == 0;
    zones->city = is_city ? *added : zones->city;
    return 0;
}

static struct tr_text zone_name_at(const void *self, uint32_t position)
{
    const struct tr_text *names = self;
    return names[position];
}

/*
 * The names of zones are listed only for a message. An empty list means that the system has no
 * database, and then another spelling does not help.
 */
static void report_timezone(struct tri_definition *definition, struct tri_place place,
                            struct tr_text wanted)
{
    struct zone_names zones = {.definition = definition, .wanted = wanted, .city = tr_text_of("")};
    if (tr_zone_visit_names(add_zone_name, &zones) != 0) {
        return; /* without memory, which the arena tells */
    }
    const char *otherwise = zones.names.count == 0
                                ? "install the time zone database (package tzdata)"
                                : "write UTC or a name such as Europe/Berlin";
    struct tr_text nearest = zones.city.size > 0
                                 ? zones.city
                                 : tri_keys_nearest(definition, wanted, zone_name_at,
                                                    zones.names.items, zones.names.count);
    tri_report_add(definition->report, place, "InvalidValue", "'%.*s' is no timezone\n%.*s",
                   TRI_SHOWN(wanted),
                   TRI_SHOWN(tri_keys_did_you_mean(definition, nearest, otherwise)));
}

/*
 * The zone is opened to see that it exists, and closed: the definition keeps its name alone. It is
 * opened anew when it is used, so that updates of the database count.
 */
static void read_timezone(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    struct tri_plan *plan = target;
    struct tr_zone *zone = NULL;
    struct tr_text text;
    if (!tri_keys_read_text(definition, value, &text)) {
        return;
    }
    if (tr_zone_open(text, &zone) != 0) {
        report_timezone(definition, value->place, text);
        return;
    }
    tr_zone_close(zone);
    plan->schedule.timezone = text;
}

static void read_catch_up(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    static const char *const words[] = {
        [TR_CATCH_UP_LAST] = "last", [TR_CATCH_UP_ALL] = "all", [TR_CATCH_UP_NONE] = "none"};
    struct tri_plan *plan = target;
    uint32_t position;
    if (tri_keys_read_word(definition, value, words, TR_COUNT_OF(words), &position)) {
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
    if (tri_keys_read_word(definition, value, words, TR_COUNT_OF(words), &position)) {
        plan->schedule.overlap = (uint8_t)position;
    }
}

static void read_kickoff(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_plan *plan = target;
    (void)tri_keys_read_name(definition, value, &plan->kickoff);
}

static void read_schedule(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    static const struct tri_key keys[] = {
        {"cron", read_cron, 0},         {"every", read_every, 0},
        {"timezone", read_timezone, 0}, {"catch_up", read_catch_up, 0},
        {"overlap", read_overlap, 0},   {"kickoff_input", read_kickoff, 0},
        {"offset", read_offset, 0},
    };
    struct tri_plan *plan = target;
    plan->schedule.is_set = true;
    if (tr_tree_is_text(value)) {
        read_cron(definition, value, plan);
        return;
    }
    tri_keys_read_keys(definition, value, "a schedule", keys, TR_COUNT_OF(keys), plan);
    /* Equal answers are wrong both ways: neither is given, or both are. */
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
    (void)tri_keys_read_name(definition, value, &plan->workflow);
}

static void read_inputs(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tri_plan *plan = target;
    plan->inputs = tri_keys_expect_map(definition, value, "inputs") ? value : NULL;
}

static void read_fixed(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_plan *plan = target;
    plan->fixed = tri_keys_expect_map(definition, value, "fixed") ? value : NULL;
}

static void read_labels(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tri_plan *plan = target;
    (void)tri_keys_read_labels(definition, value, &plan->labels);
}

static void read_notify(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tri_plan *plan = target;
    tri_keys_read_notify(definition, value, &plan->notifications, &plan->notification_count);
}

static void read_description(struct tri_definition *definition, const struct tr_tree *value,
                             void *target)
{
    struct tri_plan *plan = target;
    (void)tri_keys_read_text(definition, value, &plan->description);
}

void tri_definition_begin_plan(const struct tri_definition *definition, struct tri_plan *plan)
{
    plan->source = definition->source;
    plan->description = plan->labels = plan->schedule.cron_text = tr_text_of("");
    plan->schedule.timezone = tr_text_of("UTC");
    plan->schedule.kickoff_input = TR_GRAPH_NONE;
}

void tri_definition_check_plan(struct tri_definition *definition, const struct tri_plan *plan)
{
    if (plan->schedule.is_set && plan->name.text.size > TR_GRAPH_NAME_BYTES_MAX) {
        tri_report_add(definition->report, plan->name.place, "InvalidValue",
                       "the name of a launch plan with a schedule has more than %u bytes\n"
                       "choose a shorter one",
                       TR_GRAPH_NAME_BYTES_MAX);
    }
}

static void read_plan(struct tri_definition *definition, const struct tr_tree *tree, void *target)
{
    static const struct tri_key keys[] = {
        {"workflow", read_workflow, 0},
        {"inputs", read_inputs, 0},
        {"fixed", read_fixed, 0},
        {"schedule", read_schedule, 0},
        {"description", read_description, 0},
        {"labels", read_labels, 0},
        {"notify", read_notify, 0},
    };
    struct tri_plan *plan = target;
    tri_definition_begin_plan(definition, plan);
    tri_keys_read_keys(definition, tree, "a launch plan", keys, TR_COUNT_OF(keys), plan);
    tri_definition_check_plan(definition, plan);
    if (tree->kind == TR_TREE_MAP && tr_tree_find(tree, "workflow") == NULL) {
        tri_report_add(definition->report, plan->name.place, "ValueRequired",
                       "the launch plan does not say what it starts\nadd workflow: NAME");
    }
}

void tri_definition_read_plans(struct tri_definition *definition, const struct tr_tree *tree)
{
    tri_keys_read_named(definition, tree, "launch_plans", &definition->plans,
                        sizeof(struct tri_plan), read_plan);
}
