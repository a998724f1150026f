/*
 * The shard of an execution's launcher: the hash of its name, or of its launch plan's name where
 * that bounds how many run at once.
 */
#include "actors/services/launcher_shard.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "actors/store/task_name.h"

static struct tr_bytes bytes_of(struct tr_text text)
{
    return (struct tr_bytes){.data = (const uint8_t *)text.data, .size = text.size};
}

uint64_t tr_launcher_plan(const struct tr_plan *plan)
{
    return plan == NULL || plan->run.executions_max == 0
               ? 0
               : tr_fnv_64(TR_FNV_64_BEGIN, bytes_of(plan->name));
}

/* A digest, since names often differ in their last letters alone. */
uint32_t tr_launcher_shard(const struct tr_engine *engine, const struct tr_plan *plan,
                           struct tr_text name)
{
    uint8_t digest[32];
    uint64_t number;
    if (!tr_launcher_has_shards(engine)) {
        return 0;
    }
    tr_digest(bytes_of(tr_launcher_plan(plan) != 0 ? plan->name : name), digest);
    memcpy(&number, digest, sizeof number);
    return (uint32_t)(number % engine->launcher_shards);
}

void tr_launcher_name(struct tr_text project, struct tr_text domain,
                      char name[TR_LAUNCHER_NAME_BYTES])
{
    snprintf(name, TR_LAUNCHER_NAME_BYTES, "%.*s/%.*s", (int)project.size, project.data,
             (int)domain.size, domain.data);
}

int tr_launcher_choose(struct tr_context *context, const struct tr_graph *graph, uint32_t plan,
                       struct tr_text name, struct tr_ref *launcher)
{
    char launchers[TR_LAUNCHER_NAME_BYTES];
    const struct tr_plan *of = plan == TR_GRAPH_NONE ? NULL : &graph->plans[plan];
    tr_launcher_name(graph->project, graph->domain, launchers);
    return tr_singleton(context, &tr_launcher_behaviour, tr_text_of(launchers),
                        tr_launcher_shard(tr_engine_of(context), of, name), launcher);
}
