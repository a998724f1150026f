/*
 * The schedules' actor is asked plan by plan. Which plans there were the store's rows say.
 */
#include "deploy/server/apply_plans.h"

#include <stdio.h>
#include <string.h>

#include "deploy/common/clock.h"
#include "deploy/engine/launchers.h"
#include "deploy/server/apply_entities.h"
#include "schemas/codec/error.h"
#include "schemas/engine/entity.h"
#include "schemas/engine/schedule.h"

struct apply {
    struct tr_live *live;
    const struct tr_graph *graph; /* in the graph registry */
    bool deletes;
    tr_plan_applied *applied;
    void *self;
    char *explain;
    struct tr_ref schedules;
    struct tr_ref launcher;
    struct tr_arena arena;
    struct tri_vector registered; /* struct tr_text: plans of this project and domain */
};

/* What the schedules say. */
struct kept {
    struct apply *apply;
    int error;
    uint8_t change;
};

static void take_kept(void *self, const struct tr_message *message)
{
    struct kept *kept = self;
    struct tr_schedule_kept answer;
    kept->error = tr_message_read(message, schedule_kept, &answer);
    if (kept->error == 0) {
        kept->error = (int)answer.error;
        kept->change = answer.change;
        snprintf(kept->apply->explain, TR_APPLY_EXPLAIN_BYTES, "%.*s", (int)answer.message.size,
                 answer.message.data);
    }
}

static int ask(struct apply *apply, const struct tr_schema *schema, const void *body,
               struct tr_text plan)
{
    struct kept kept = {.apply = apply};
    int error = tr_host_ask(apply->live->host, apply->schedules, schema, body, 0, take_kept, &kept);
    if (error == 0) {
        error = kept.error;
    }
    if (error == 0) {
        apply->applied(apply->self, plan, kept.change, TR_ENTITY_NONE);
    }
    return error;
}

static void print_address(struct tr_text project, struct tr_text domain, struct tr_text plan,
                          char address[TR_SCHEDULE_ADDRESS_BYTES + 1])
{
    snprintf(address, TR_SCHEDULE_ADDRESS_BYTES + 1, "%.*s/%.*s/%.*s", TRI_TEXT(project),
             TRI_TEXT(domain), TRI_TEXT(plan));
}

static int set_plan(struct apply *apply, uint32_t position)
{
    char address[TR_SCHEDULE_ADDRESS_BYTES + 1];
    struct tr_text plan = apply->graph->plans[position].name;
    print_address(apply->graph->project, apply->graph->domain, plan, address);
    struct tr_schedule_set set = {
        .address = tr_text_of(address),
        .graph = {.data = apply->graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .plan = position,
        .launcher = apply->launcher,
        .at_ms = tr_clock_wall_ms(),
    };
    return ask(apply, &tr_schedule_set_schema, &set, plan);
}

static int drop_plan(struct apply *apply, struct tr_text project, struct tr_text domain,
                     struct tr_text plan)
{
    char address[TR_SCHEDULE_ADDRESS_BYTES + 1];
    print_address(project, domain, plan, address);
    struct tr_schedule_drop drop = {.address = tr_text_of(address)};
    int error = ask(apply, &tr_schedule_drop_schema, &drop, plan);
    return error == TR_NOT_FOUND ? 0 : error; /* somebody else was quicker */
}

/* ----------------------------------------------------------------- what was registered */

static int take_row(void *self, const void *value)
{
    struct apply *apply = self;
    const struct tr_schedule_row *row = value;
    struct tr_text *plan = tri_vector_add(&apply->arena, &apply->registered, sizeof *plan);
    if (plan != NULL) {
        *plan = tr_arena_text(&apply->arena, row->plan);
    }
    return apply->arena.error;
}

static int read_registered(struct apply *apply)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_reader *reader;
    struct tr_reader_filter filters[] = {
        tr_filter_text("project", TR_FILTER_EQUAL, apply->graph->project),
        tr_filter_text("domain", TR_FILTER_EQUAL, apply->graph->domain),
    };
    struct tr_reader_query query = {.record = &tr_schedule_row_schema,
                                    .filters = filters,
                                    .filter_count = TR_COUNT_OF(filters)};
    int error = tr_live_read(apply->live, explain, &reader);
    if (error != 0) {
        snprintf(apply->explain, TR_APPLY_EXPLAIN_BYTES, "%.*s", TR_APPLY_EXPLAIN_BYTES - 1,
                 explain);
        return error;
    }
    error = tr_reader_rows(reader, &query, take_row, apply);
    if (error != 0) {
        snprintf(apply->explain, TR_APPLY_EXPLAIN_BYTES, "%s", tr_reader_explain(reader));
    }
    tr_live_read_end(apply->live);
    return error;
}

/* A plan that is in the definition without a schedule is turned off; one that is not, if asked. */
static bool is_to_go(const struct apply *apply, struct tr_text name)
{
    uint32_t plan = tr_graph_find_plan(apply->graph, name);
    return plan == TR_GRAPH_NONE ? apply->deletes : !apply->graph->plans[plan].schedule.is_set;
}

static int apply_all(struct apply *apply)
{
    const struct tr_graph *graph = apply->graph;
    int error = tr_live_schedules(apply->live, &apply->schedules);
    /* Of shards each schedule chooses the one for an execution itself. */
    if (error == 0 && !tr_launcher_has_shards(apply->live->engine)) {
        error = tr_live_launcher(apply->live, graph->project, graph->domain, NULL, tr_text_of(""),
                                 &apply->launcher);
    }
    if (error == 0) {
        error = read_registered(apply);
    }
    for (uint32_t i = 0; error == 0 && i < graph->plan_count; i++) {
        error = graph->plans[i].schedule.is_set ? set_plan(apply, i) : 0;
    }
    const struct tr_text *registered = apply->registered.items;
    for (uint32_t i = 0; error == 0 && i < apply->registered.count; i++) {
        error = is_to_go(apply, registered[i])
                    ? drop_plan(apply, graph->project, graph->domain, registered[i])
                    : 0;
    }
    return error;
}

/* What nothing of Flyte's is in comes without a list. */
static int keep_entities(struct apply *apply, struct tr_bytes entities,
                         const struct tr_graph *graph)
{
    return entities.size == 0
               ? 0
               : tr_live_keep_entities(apply->live, entities, graph->project, graph->domain,
                                       apply->deletes, apply->applied, apply->self, apply->explain);
}

int tr_live_apply(struct tr_live *live, struct tr_graph *graph, struct tr_bytes entities,
                  bool deletes, tr_plan_applied *applied, void *self, char *explain)
{
    struct apply apply = {
        .live = live, .deletes = deletes, .applied = applied, .self = self, .explain = explain};
    uint64_t number;
    explain[0] = '\0';
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    int error = keep_entities(&apply, entities, graph);
    if (error == 0) {
        error = tr_live_keep_graph(live, graph, words);
    }
    if (error != 0) {
        if (explain[0] == '\0') {
            snprintf(explain, TR_APPLY_EXPLAIN_BYTES, "%.*s", TR_APPLY_EXPLAIN_BYTES - 1,
                     words[0] != '\0' ? words : tr_error_text(error));
        }
        tr_graph_free(graph);
        return error;
    }
    error = tr_graph_registry_put(&live->engine->registry, graph, &number);
    if (error == 0) {
        tr_arena_init(&apply.arena);
        apply.graph = tr_graph_registry_find(&live->engine->registry, number);
        error = apply_all(&apply);
        tr_arena_fini(&apply.arena);
        tr_graph_registry_drop(&live->engine->registry, number);
    }
    if (error != 0 && explain[0] == '\0') {
        snprintf(explain, TR_APPLY_EXPLAIN_BYTES, "%s", tr_error_text(error));
    }
    return error;
}

static void hear_nothing(void *self, struct tr_text plan, uint8_t change, uint8_t kind)
{
    (void)self;
    (void)plan;
    (void)change;
    (void)kind;
}

int tr_live_drop_plan(struct tr_live *live, struct tr_text project, struct tr_text domain,
                      struct tr_text plan, char *explain)
{
    struct apply apply = {.live = live, .applied = hear_nothing, .explain = explain};
    explain[0] = '\0';
    int error = tr_live_schedules(live, &apply.schedules);
    if (error == 0) {
        error = drop_plan(&apply, project, domain, plan);
    }
    if (error != 0 && explain[0] == '\0') {
        snprintf(explain, TR_APPLY_EXPLAIN_BYTES, "%s", tr_error_text(error));
    }
    return error;
}
