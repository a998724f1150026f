/*
 * Finding a launcher: one that is alone is looked for by its name, and remembered; a shard is where
 * its name says.
 */
#include "deploy/engine/launchers.h"

#include <stdio.h>
#include <string.h>

#include "deploy/common/clock.h"
#include "deploy/engine/assemble.h"
#include "deploy/graphs/graphs.h"
#include "runtime/memory.h"
#include "schemas/engine/state_workflow.h"

static int find_or_spawn(struct tr_live *live, const char *name, struct tr_ref *launcher)
{
    int error = tr_host_find(live->host, tr_text_of(name), launcher);
    if (error != TR_NOT_FOUND) {
        return error;
    }
    struct tr_spawn_options options = {.name = tr_text_of(name)};
    return tr_host_spawn(live->host, &tr_launcher_behaviour, &options, launcher);
}

static int find_alone(struct tr_live *live, struct tr_live_launcher *wanted)
{
    for (size_t i = 0; i < live->launcher_count; i++) {
        if (strcmp(live->launchers[i].name, wanted->name) == 0) {
            *wanted = live->launchers[i];
            return 0;
        }
    }
    struct tr_live_launcher *grown =
        tr_realloc(live->launchers, (live->launcher_count + 1) * sizeof *grown);
    if (grown == NULL) {
        return TR_MEMORY;
    }
    live->launchers = grown;
    int error = find_or_spawn(live, wanted->name, &wanted->ref);
    if (error == 0) {
        live->launchers[live->launcher_count++] = *wanted;
    }
    return error;
}

int tr_live_launcher(struct tr_live *live, struct tr_text project, struct tr_text domain,
                     const struct tr_plan *plan, struct tr_text name, struct tr_ref *launcher)
{
    struct tr_live_launcher wanted;
    tr_launcher_name(project, domain, wanted.name);
    if (tr_launcher_has_shards(live->engine)) {
        return tr_host_singleton_begin(live->host, &tr_launcher_behaviour, tr_text_of(wanted.name),
                                       tr_launcher_shard(live->engine, plan, name), launcher);
    }
    int error = find_alone(live, &wanted);
    if (error == 0) {
        *launcher = wanted.ref;
    }
    return error;
}

static struct tr_live_ended *ended_of(const struct tr_live *live, struct tr_ref launcher)
{
    uint64_t place = launcher.key.group ^ launcher.key.group >> 32 ^ launcher.key.serial;
    return (struct tr_live_ended *)(uintptr_t)&live->ended[place % TR_LIVE_ENDED];
}

uint64_t tr_live_ended_count(const struct tr_live *live, struct tr_ref launcher)
{
    const struct tr_live_ended *ended = ended_of(live, launcher);
    if (!tr_launcher_has_shards(live->engine)) {
        return 0;
    }
    return tr_key_equal(ended->launcher, launcher.key) ? ended->count : 1;
}

bool tr_live_is_late(struct tr_live *live, struct tr_ref launcher, uint64_t ended_count,
                     const struct tr_launched *launched)
{
    if (launched->ended_count != 0) {
        *ended_of(live, launcher) =
            (struct tr_live_ended){.launcher = launcher.key, .count = launched->ended_count};
    }
    return launched->error == TR_BUSY && ended_count != 0 &&
           launched->ended_count - ended_count > TR_LAUNCHER_ENDED_MAX;
}

/*
 * It is packed each time: a graph that the store has is only looked up there, and nobody but the
 * store knows what was removed.
 */
int tr_live_keep_graph(struct tr_live *live, const struct tr_graph *graph, char *words)
{
    struct tr_buffer row;
    char hex[TR_GRAPH_HEX_BYTES];
    int error = tr_graphs_row(graph, &row);
    if (error == 0) {
        error = tr_host_put_graph(live->host, tr_buffer_bytes(&row), tr_clock_wall_ms());
    }
    tr_buffer_fini(&row);
    if (error != 0) {
        tr_graph_hex(graph->hash, hex);
        (void)snprintf(words, TRI_STORE_EXPLAIN_BYTES,
                       "the definition, graph %s, cannot be kept in the store %.200s: %s", hex,
                       live->folder,
                       error == TR_LIMIT  ? "it is larger than 512 MiB; part it into several"
                       : error == TR_BUSY ? "too much waits to be written; try again"
                                          : tr_error_text(error));
    }
    return error;
}
