/*
 * The common part of two plays' programs, which their own files begin, end and ask.
 */
#include "tests/sim/engine_program.h"

#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/compiled/pack.h"
#include "tests/sim/decisions.h"
#include "tests/sim/edits.h"
#include "tests/sim/engine_history.h"
#include "tests/sim/engine_turn.h"
#include "tests/support/flow_random.h"
#include "tests/support/flow_value.h"

/* -------------------------------------------------------------------------------- the stage */

void sim_stage_add_graph(struct sim_stage *stage, struct tr_text text)
{
    struct sim_graph *made = &stage->graphs[stage->graph_count++];
    sim_say("graph %u:\n%.*s", stage->graph_count - 1, (int)text.size, text.data);
    made->graph = flow_random_compile(text);
    tr_buffer_init(&made->packed, 0);
    int error = tr_graph_pack(made->graph, &made->packed);
    TR_ASSERT(error == 0);
}

void sim_stage_add_execution(struct sim_stage *stage, const struct sim_execution *drawn,
                             struct sim_random *random)
{
    uint32_t index = stage->execution_count++;
    struct sim_execution *execution = &stage->executions[index];
    const struct tr_graph *graph = stage->graphs[drawn->graph].graph;
    *execution = *drawn;
    (void)snprintf(execution->name, sizeof execution->name, "e%u", index);
    tr_buffer_init(&execution->inputs, 0);
    flow_value_inputs(&graph->workflows[graph->main_workflow], sim_draw(random),
                      &execution->inputs);
}

void sim_stage_begin(struct sim_stage *stage, struct sim_world *world)
{
    stage->backend = sim_backend_new(world);
    stage->decisions = sim_decisions_new(stage);
    stage->history = sim_history_new(stage);
    sim_engine_wrap();
}

void sim_stage_end(struct sim_stage *stage)
{
    sim_history_free(stage->history);
    sim_backend_free(stage->backend);
    sim_decisions_free(stage->decisions);
    for (uint32_t i = 0; i < stage->execution_count; i++) {
        tr_buffer_fini(&stage->executions[i].inputs);
        sim_edits_free(stage->executions[i].edits);
        free(stage->executions[i].failed.data);
        free(stage->executions[i].code.data);
    }
    for (uint32_t i = 0; i < stage->graph_count; i++) {
        tr_buffer_fini(&stage->graphs[i].packed);
        tr_graph_free(stage->graphs[i].graph);
    }
}

/* ---------------------------------------------------------------------------------- a host */

void sim_engine_open(const struct sim_host *host, struct tr_engine *engine)
{
    const struct sim_stage *stage = sim_stage_of(host->world);
    engine->system_retries = SIM_SYSTEM_RETRIES;
    engine->store_folder = "/simulated";
    engine->life = host->starts + 1;
    /* As where several hosts work on one store: what a node launches has launchers of its own. */
    engine->launcher_shards = host->world->plan.seed % 4 == 3 ? TR_LAUNCHER_SHARDS : 0;
    for (uint32_t i = 0; i < stage->graph_count; i++) {
        struct tr_graph *graph = NULL;
        uint64_t number;
        int error = tr_graph_unpack(tr_buffer_bytes(&stage->graphs[i].packed), &graph);
        TR_ASSERT(error == 0);
        error = tr_graph_registry_put(&engine->registry, graph, &number);
        TR_ASSERT(error == 0);
    }
}

uint32_t sim_engine_next_member(const struct sim_host *host, const struct tr_ref *refs,
                                uint32_t count,
                                bool (*is_wanted)(const struct sim_host *host, uint32_t member))
{
    uint32_t next = 0;
    while (next < count && (refs[next].key.serial != 0 || !is_wanted(host, next))) {
        next++;
    }
    return next;
}

bool sim_engine_tell_quota(struct sim_host *host, struct tr_ref resources)
{
    const struct tr_resource_quota quota = {
        .name = tr_text_of(SIM_REMOTE_RESOURCE),
        .slots = sim_stage_of(host->world)->quota,
    };
    const struct tri_actor *actor = sim_find_actor(host, resources.key);
    if (actor != NULL) {
        sim_program_say(host, actor, TR_KIND_TELL, &tr_resource_quota_schema, &quota);
    }
    return actor != NULL;
}

bool sim_engine_begin_client(struct sim_host *host, const struct tri_worker *worker,
                             struct tri_actor *actor, struct tr_ref client, struct tr_ref launcher)
{
    const struct tr_sim_client *state = tri_actor_state(actor);
    bool is_new = tri_actor_behaviour(worker, actor)->id == sim_client_behaviour.id &&
                  client.key.serial != 0 &&
                  sim_stage_of(host->world)->is_quota_known[host->index] && state->asked == 0 &&
                  actor->mailbox_count == 0;
    if (is_new && sim_program_may_wish(host, actor->key)) {
        const struct tr_sim_client_go go = {.launcher = launcher};
        sim_program_say(host, actor, TR_KIND_TELL, &tr_sim_client_go_schema, &go);
        return true;
    }
    if (!is_new) {
        sim_program_forget_wish(host, actor->key);
    }
    return false;
}
