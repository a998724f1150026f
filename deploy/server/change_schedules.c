/*
 * A pause is the schedules' actor's, which is asked. An execution that is started by hand is one
 * like any other: it is launched here, from the row that the schedule has in the store.
 */
#include "deploy/server/change_schedules.h"

#include <stdio.h>

#include "actors/services/schedule.h"
#include "deploy/common/clock.h"
#include "deploy/graphs/graphs.h"
#include "schemas/codec/error.h"

#define MS_PER_SECOND 1000

/* ------------------------------------------------------------------------- pausing */

/* What the schedules say. */
struct kept {
    int error;
    char *words;
};

static void take_kept(void *self, const struct tr_message *message)
{
    struct kept *kept = self;
    struct tr_schedule_kept answer;
    kept->error = tr_message_read(message, schedule_kept, &answer);
    if (kept->error == 0) {
        kept->error = (int)answer.error;
        snprintf(kept->words, TR_APPLY_EXPLAIN_BYTES, "%.*s", TRI_SHOWN(answer.message));
    }
}

int tr_live_pause_schedule(struct tr_live *live, const struct tr_pause_schedule *pause, char *words)
{
    struct tr_ref schedules;
    struct kept kept = {.words = words};
    struct tr_schedule_pause asked = {.address = pause->address,
                                      .is_paused = pause->is_paused,
                                      .by = pause->by,
                                      .message = pause->message,
                                      .at_ms = tr_clock_wall_ms()};
    words[0] = '\0';
    int error = tr_live_schedules(live, &schedules);
    if (error == 0) {
        error = tr_host_ask(live->host, schedules, &tr_schedule_pause_schema, &asked, 0, take_kept,
                            &kept);
    }
    error = error != 0 ? error : kept.error;
    if (error != 0 && words[0] == '\0') {
        snprintf(words, TR_APPLY_EXPLAIN_BYTES, "%s", tr_error_text(error));
    }
    return error;
}

/* ------------------------------------------------------------------------ starting */

/* The definition of a schedule, from its row. */
struct search {
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    bool is_found;
};

static int take_row(void *self, const void *value)
{
    struct search *search = self;
    const struct tr_schedule_row *row = value;
    if (row->graph.size != sizeof search->hash) {
        return TR_STORE_DAMAGED;
    }
    memcpy(search->hash, row->graph.data, sizeof search->hash);
    search->is_found = true;
    return 0;
}

/* The next part of "PROJECT/DOMAIN/PLAN". */
static struct tr_text take_part(struct tr_text *rest)
{
    size_t size = 0;
    while (size < rest->size && rest->data[size] != '/') {
        size++;
    }
    struct tr_text part = {.data = rest->data, .size = size};
    size_t passed = size < rest->size ? size + 1 : size;
    *rest = (struct tr_text){.data = rest->data + passed, .size = rest->size - passed};
    return part;
}

/* Looks a schedule up; `graph` has its plan, and becomes the caller's. */
static int find_plan(struct tr_live *live, struct tr_text address, struct search *search,
                     struct tr_text *plan, struct tr_graph **graph, char *explain)
{
    struct tr_reader *reader;
    struct tr_text rest = address;
    struct tr_text project = take_part(&rest);
    struct tr_text domain = take_part(&rest);
    struct tr_reader_filter filters[] = {
        tr_filter_text("project", TR_FILTER_EQUAL, project),
        tr_filter_text("domain", TR_FILTER_EQUAL, domain),
        tr_filter_text("plan", TR_FILTER_EQUAL, rest),
    };
    struct tr_reader_query query = {.record = &tr_schedule_row_schema,
                                    .filters = filters,
                                    .filter_count = TR_COUNT_OF(filters)};
    *plan = rest;
    int error = tr_live_read(live, explain, &reader);
    if (error == 0) {
        error = tr_reader_rows(reader, &query, take_row, search);
        if (error == 0) {
            struct tr_bytes hash = {.data = search->hash, .size = sizeof search->hash};
            error = search->is_found ? tr_graphs_read(reader, hash, graph) : TR_NOT_FOUND;
        }
        tr_live_read_end(live);
    }
    return error;
}

/* The inputs that were asked for, or the plan's own. */
static int write_inputs(const struct tr_trigger_schedule *trigger, const struct tr_graph *graph,
                        const struct tr_plan *plan, struct tr_buffer *inputs)
{
    if (trigger->inputs.size == 0) {
        return tr_schedule_inputs(graph, plan, (int64_t)(tr_clock_wall_ms() / MS_PER_SECOND),
                                  inputs);
    }
    tr_buffer_add(inputs, trigger->inputs.data, trigger->inputs.size);
    return inputs->error;
}

/* The graph is taken over. */
static int launch(struct tr_live *live, struct tr_graph *graph, struct tr_text name,
                  const struct tr_trigger_schedule *trigger, struct tr_launch_outcome *outcome)
{
    uint32_t position = tr_graph_find_plan(graph, name);
    struct tr_buffer inputs;
    if (position == TR_GRAPH_NONE) {
        tr_graph_free(graph);
        return TR_STORE_DAMAGED;
    }
    const struct tr_plan *plan = &graph->plans[position];
    tr_buffer_init(&inputs, 0);
    struct tr_order order = {
        .graph = graph, .workflow = plan->workflow, .plan = position, .cause = trigger->cause};
    int error = write_inputs(trigger, graph, plan, &inputs);
    order.inputs = tr_buffer_bytes(&inputs);
    if (error == 0 && trigger->inputs.size > 0) {
        error = tr_order_check(&order); /* the plan may have changed since they were made */
    }
    if (error == 0) {
        error = tr_live_launch(live, &order, outcome);
    } else {
        tr_graph_free(graph);
    }
    tr_buffer_fini(&inputs);
    return error;
}

int tr_live_trigger_schedule(struct tr_live *live, const struct tr_trigger_schedule *trigger,
                             struct tr_launch_outcome *outcome)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct search search = {.is_found = false};
    struct tr_graph *graph = NULL;
    struct tr_text plan;
    *outcome = (struct tr_launch_outcome){.is_new = false};
    int error = find_plan(live, trigger->address, &search, &plan, &graph, explain);
    if (error == 0) {
        error = launch(live, graph, plan, trigger, outcome);
    }
    if (error != 0 && outcome->message[0] == '\0') {
        snprintf(outcome->message, sizeof outcome->message, "%.500s",
                 error == TR_NOT_FOUND && !search.is_found ? "there is no such schedule"
                 : explain[0] != '\0'                      ? explain
                                                           : tr_error_text(error));
    }
    return error;
}
