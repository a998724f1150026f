/*
 * Graphs in a list, packed: there are few.
 */
#include "tests/sim/decisions.h"

#include <stdlib.h>
#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/compile.h"
#include "schemas/runtime/inquiry.h"
#include "tests/sim/recall.h"
#include "tests/sim/repeats.h"
#include "tests/support/flow_random.h"
#include "tests/support/flow_value.h"

#define MS 1000000ULL
#define ANSWER_NS_MOST (60 * MS)

struct decided {
    struct decided *next;
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    struct sim_bytes packed;
};

struct sim_decisions {
    struct sim_stage *stage;
    struct decided *first;
};

struct sim_decisions *sim_decisions_new(struct sim_stage *stage)
{
    struct sim_decisions *decisions = sim_must(calloc(1, sizeof *decisions));
    decisions->stage = stage;
    return decisions;
}

void sim_decisions_free(struct sim_decisions *decisions)
{
    while (decisions->first != NULL) {
        struct decided *decided = decisions->first;
        decisions->first = decided->next;
        free(decided->packed.data);
        free(decided);
    }
    free(decisions);
}

/* ------------------------------------------------------------------------------------ the list */

static struct tr_graph *unpack(struct tr_bytes packed)
{
    struct tr_graph *graph = NULL;
    int error = tr_graph_unpack(packed, &graph);
    TR_ASSERT(error == 0);
    return graph;
}

struct tr_graph *sim_decisions_graph(const struct sim_decisions *decisions, const uint8_t *hash)
{
    const struct sim_stage *stage = decisions->stage;
    for (uint32_t i = 0; i < stage->graph_count; i++) {
        if (memcmp(stage->graphs[i].graph->hash, hash, TR_GRAPH_HASH_BYTES) == 0) {
            return unpack(tr_buffer_bytes(&stage->graphs[i].packed));
        }
    }
    for (const struct decided *decided = decisions->first; decided != NULL;
         decided = decided->next) {
        if (memcmp(decided->hash, hash, TR_GRAPH_HASH_BYTES) == 0) {
            return unpack(sim_bytes_of(&decided->packed));
        }
    }
    return NULL;
}

struct tr_graph *sim_decisions_with_task(const struct sim_decisions *decisions, struct tr_text task)
{
    for (const struct decided *decided = decisions->first; decided != NULL;
         decided = decided->next) {
        struct tr_graph *graph = unpack(sim_bytes_of(&decided->packed));
        if (tr_graph_find_task(graph, task) != TR_GRAPH_NONE) {
            return graph;
        }
        tr_graph_free(graph);
    }
    return NULL;
}

static void keep(struct sim_decisions *decisions, const struct tr_graph *graph)
{
    for (const struct decided *decided = decisions->first; decided != NULL;
         decided = decided->next) {
        if (memcmp(decided->hash, graph->hash, TR_GRAPH_HASH_BYTES) == 0) {
            return;
        }
    }
    struct decided *decided = sim_must(calloc(1, sizeof *decided));
    struct tr_buffer packed;
    tr_buffer_init(&packed, 0);
    int error = tr_graph_pack(graph, &packed);
    TR_ASSERT(error == 0);
    memcpy(decided->hash, graph->hash, TR_GRAPH_HASH_BYTES);
    sim_bytes_set(&decided->packed, packed.data, packed.size);
    tr_buffer_fini(&packed);
    decided->next = decisions->first;
    decisions->first = decided;
    sim_engine_seen.graphs_decided++;
}

/* ----------------------------------------------------------------------------------- documents */

bool sim_decides(const struct sim_stage *stage, const struct sim_execution *execution,
                 struct tr_text task, struct tr_bytes inputs, struct tr_buffer *json)
{
    const struct tr_graph *graph = stage->graphs[execution->graph].graph;
    const struct tr_task *decider = &graph->tasks[tr_graph_find_task(graph, task)];
    uint64_t number = sim_mix(stage->world->plan.seed ^ 81);
    for (size_t i = 0; i < task.size; i++) {
        number = sim_mix(number ^ (uint8_t)task.data[i]);
    }
    number ^= flow_value_digest_slots(&decider->interface.inputs, inputs);
    return flow_random_decide(graph, decider, number, json);
}

/* ----------------------------------------------------------------------------------- questions */

static void hold(struct tr_graph_registry *registry, struct tr_graph *graph)
{
    uint64_t number;
    int error = tr_graph_registry_put(registry, graph, &number);
    TR_ASSERT(error == 0);
}

static void answer(struct sim_host *host, const struct tr_envelope *envelope, struct tr_bytes body,
                   const struct tr_graph_made *made)
{
    struct sim_random *chance = &host->world->chance.environment;
    uint64_t delay_ns = sim_repeats_delay_ns(host, envelope, body, ANSWER_NS_MOST);
    sim_environment_reply(host, envelope, &tr_graph_made_schema, made, delay_ns);
    if (sim_below(chance, 8) == 0) {
        sim_environment_reply(host, envelope, &tr_graph_made_schema, made,
                              delay_ns + sim_below(chance, ANSWER_NS_MOST));
    }
}

static void make(struct sim_decisions *decisions, struct sim_host *host,
                 const struct tr_envelope *envelope, struct tr_bytes body,
                 const struct tr_graph_make *asked)
{
    struct tr_engine *engine = host->own;
    struct tr_graph *parent = sim_decisions_graph(decisions, asked->graph.data);
    struct tr_report report;
    struct tr_graph *graph;
    struct tr_graph_made made = {.engine_start = engine->life};
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    if (parent == NULL) {
        sim_fail("environment: a graph is to be made from one that nobody has");
        return;
    }
    const struct tr_decision decision = {.parent = parent,
                                         .task = asked->task,
                                         .depth = asked->depth,
                                         .path = tr_text_of("outputs"),
                                         .text = asked->text};
    tr_report_init(&report);
    int error = tr_graph_decide(&decision, &report, &graph);
    TR_ASSERT(error == 0 || error == TR_INVALID);
    tr_report_fini(&report);
    if (error == 0) {
        keep(decisions, graph);
        memcpy(hash, graph->hash, sizeof hash);
        made.graph = (struct tr_bytes){.data = hash, .size = sizeof hash};
        made.workflow = graph->main_workflow;
        made.is_same =
            asked->recovery.size > 0 &&
            sim_recall_is_same_by_name(decisions->stage, asked->recovery, asked->path, graph->hash);
        hold(&engine->registry, graph);
    } else {
        made.code = tr_text_of("DynamicWorkflowBuildFailed");
        made.message = tr_text_of("it is wrong");
    }
    answer(host, envelope, body, &made);
}

static void drop(struct sim_host *host, uint64_t number)
{
    struct tr_engine *engine = host->own;
    if (tr_graph_registry_find(&engine->registry, number) == NULL) {
        sim_fail("environment: host %u lets go of a graph that it does not hold", host->index);
        return;
    }
    tr_graph_registry_drop(&engine->registry, number);
}

bool sim_decisions_hear(struct sim_decisions *decisions, struct sim_host *host,
                        const struct tr_envelope *envelope, struct tr_bytes body)
{
    struct tr_graph_make asked;
    struct tr_graph_drop dropped;
    if (envelope->type == tr_graph_make_schema.id &&
        tr_graph_make_unpack(body, envelope->version, &asked) == 0) {
        make(decisions, host, envelope, body, &asked);
        return true;
    }
    if (envelope->type == tr_graph_drop_schema.id &&
        tr_graph_drop_unpack(body, envelope->version, &dropped) == 0) {
        drop(host, dropped.graph);
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------- a start */

/* Whether what history has of a node or of a launched execution needs a graph. */
static bool needs_graph(const struct sim_observation_of *entry, const struct sim_host *host)
{
    return entry->host == host->index && entry->has_graph &&
           !tr_phase_is_end(TR_SUBJECT_NODE, entry->phase);
}

void sim_decisions_load(const struct sim_decisions *decisions, const struct sim_host *host,
                        struct tr_graph_registry *registry)
{
    uint32_t cursor = 0;
    const struct sim_observation_of *entry;
    while ((entry = sim_history_next(decisions->stage->history, &cursor)) != NULL) {
        if (needs_graph(entry, host)) {
            struct tr_graph *graph = sim_decisions_graph(decisions, entry->graph);
            TR_ASSERT(graph != NULL);
            hold(registry, graph);
        }
    }
}

/* Whether something was launched from inside a graph: a start holds that for the launcher. */
static bool has_launched(const struct sim_decisions *decisions, const struct decided *decided)
{
    uint32_t cursor = 0;
    const struct sim_observation_of *entry;
    while ((entry = sim_history_next(decisions->stage->history, &cursor)) != NULL) {
        size_t size = strlen(entry->path);
        bool is_launched = size > 0 && entry->path[size - 1] == '!' && entry->has_graph;
        if (is_launched && memcmp(entry->graph, decided->hash, TR_GRAPH_HASH_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

void sim_decisions_check_released(const struct sim_decisions *decisions,
                                  const struct sim_host *host, struct tr_graph_registry *registry)
{
    for (const struct decided *decided = decisions->first; decided != NULL;
         decided = decided->next) {
        uint64_t number = tr_graph_number(decided->hash);
        if (tr_graph_registry_find(registry, number) != NULL && !has_launched(decisions, decided)) {
            sim_fail("host %u: everybody has ended, and a graph that was decided is still held",
                     host->index);
        }
    }
}
