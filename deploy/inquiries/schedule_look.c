/*
 * What takes disks about a schedule: the time zone, as it is now, and whether an execution of a
 * name was ever begun.
 */
#include "deploy/inquiries/schedule_look.h"

#include <stdio.h>

#include "actors/services/schedule.h"
#include "deploy/common/clock.h"
#include "deploy/history/executions.h"

/* Whether the history knows the execution of a time. */
static int look_up(const struct tr_inquiry *inquiry, const struct tr_graph *graph,
                   const struct tr_plan *plan, struct tr_schedule_seen *seen, char *explain)
{
    char name[TR_SCHEDULE_NAME_BYTES];
    struct tr_executions_row copy;
    struct tr_reader *reader;
    int error = tr_history_open(inquiry->store_folder, explain, &reader);
    if (error != 0) {
        return error;
    }
    tr_schedule_name(plan->name, seen->fire, name);
    error = tr_executions_named(reader, graph->project, graph->domain, tr_text_of(name), &copy);
    seen->exists = error == 0;
    if (error == 0) {
        tr_executions_row_fini(&copy);
    } else if (error != TR_NOT_FOUND) {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES, "%s", tr_reader_explain(reader));
    }
    tr_reader_close(reader);
    return error == TR_NOT_FOUND ? 0 : error;
}

static int look(const struct tr_inquiry *inquiry, const struct tr_schedule_look *asked,
                const struct tr_graph *graph, char *explain)
{
    const struct tr_plan *plan = &graph->plans[asked->plan];
    struct tr_schedule_seen seen;
    struct tr_zone *zone;
    int error = tr_zone_open(plan->schedule.timezone, &zone);
    if (error != 0) {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES,
                 "this system has no time zone %.*s; install its package tzdata, or apply the plan "
                 "with another one",
                 (int)plan->schedule.timezone.size, plan->schedule.timezone.data);
        return error;
    }
    tr_schedule_see(&plan->schedule, zone, asked, tr_clock_wall_ms(), &seen);
    tr_zone_close(zone);
    if (seen.fires) {
        error = look_up(inquiry, graph, plan, &seen, explain);
    }
    return error != 0 ? error : tr_inquiry_answer(inquiry, &tr_schedule_seen_schema, &seen);
}

int tr_schedule_look_answer(const struct tr_inquiry *inquiry, char *explain)
{
    struct tr_schedule_look asked;
    struct tr_engine *engine = inquiry->program;
    int error = tr_schedule_look_unpack(inquiry->body, inquiry->version, &asked);
    if (error != 0 || asked.graph.size != TR_GRAPH_HASH_BYTES) {
        return TR_MALFORMED;
    }
    if (!tr_graph_registry_share(&engine->registry, asked.graph.data)) {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES, "its definition is being replaced");
        return TR_NOT_FOUND;
    }
    uint64_t number = tr_graph_number(asked.graph.data);
    const struct tr_graph *graph = tr_graph_registry_find(&engine->registry, number);
    error = asked.plan < graph->plan_count ? look(inquiry, &asked, graph, explain) : TR_MALFORMED;
    tr_graph_registry_drop(&engine->registry, number);
    return error;
}
