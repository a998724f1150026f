/*
 * Finding a launcher: one that is alone is looked for by its name, and remembered; a shard is where
 * its name says.
 */
#include "deploy/engine/launchers.h"

#include <string.h>

#include "deploy/engine/assemble.h"
#include "runtime/memory.h"

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
