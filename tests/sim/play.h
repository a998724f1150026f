/*
 * What a world plays: which actors live in its hosts, what its program asks for, what its
 * environment answers, and what must be true of it all. The world itself (its loop, faults, stores
 * and links) knows nothing of it but this table.
 *
 * There are four: `workload`, actors made to watch the runtime (workload.h), `web`, actors who
 * speak http with a server (web.h), `engine`, the actors of workflows against a model of them
 * (engine.h), and `idempotency`, the same with their jobs at back ends of the Web API shape
 * (idempotency.h).
 */
#ifndef TR_TESTS_SIM_PLAY_H
#define TR_TESTS_SIM_PLAY_H

#include "runtime/actor/worker.h"
#include "tests/sim/plan.h"

struct sim_host;
struct sim_bug;
struct sim_world;

/* Functions that are NULL are not needed. */
struct sim_play {
    const char *name;
    const struct tr_behaviour *const *behaviours;
    const size_t *behaviour_count;
    const struct tr_schema *const *records;
    const size_t *record_count;
    const struct sim_bug *bugs; /* faults that can be injected in it */
    const size_t *bug_count;
    bool has_files; /* calls of TR_SERVICE_FILES reach the environment, too */

    /* Changes what was drawn for a world. */
    void (*plan)(struct sim_plan *plan);

    /* A world begins and ends: its `own`. Memory of these is not a host's, and the system's. */
    void (*begin)(struct sim_world *world);
    void (*end)(struct sim_world *world);

    /* A host starts and goes down: its `own`, which handlers get by tr_program. */
    void (*open)(struct sim_host *host);
    void (*close)(struct sim_host *host);

    /* The program takes a turn: whether it asked for something. What it is told of spawns. */
    bool (*ask)(struct sim_host *host);
    void (*granted)(struct sim_host *host, const struct tr_control_reply *granted);
    /* The program looks at an actor: whether it said something to it. */
    bool (*look)(struct sim_host *host, const struct tri_worker *worker, struct tri_actor *actor);
    /* Whether a message that fails again and again is to be dropped when its actor resumes. */
    bool (*drops)(uint16_t type);

    /* The environment is called: it answers by sim_environment_reply, or not. */
    void (*hear)(struct sim_host *host, const struct tr_envelope *envelope, struct tr_bytes body);
    /* Its time goes on: whether it did something; and when it will next, UINT64_MAX for never. */
    bool (*elapse)(struct sim_host *host);
    uint64_t (*due_ns)(const struct sim_host *host);

    /* A row of records is committed, or rows are deleted. */
    void (*record)(struct sim_host *host, const struct tri_op *op);

    /* Whether an actor is to be there at the end, too. */
    bool (*stays)(const struct tr_behaviour *behaviour);

    /* Whether everything was begun: the world is over when nobody else lives. */
    bool (*is_over)(const struct sim_host *host);

    /*
     * A host has started from a store that has lost commits: who remembers them is told, and from
     * then on only what is left is demanded. NULL: no world of the play loses any.
     */
    void (*lose)(struct sim_host *host);

    /* Checks: what was loaded by a start; who stays at the end; what is left after it. */
    void (*check_loaded)(struct sim_host *host);
    void (*check_staying)(struct sim_host *host, const struct tri_worker *worker,
                          struct tri_actor *actor);
    void (*check_end)(struct sim_host *host);
};

extern const struct sim_play sim_workload;
extern const struct sim_play sim_web_play;
extern const struct sim_play sim_engine;
extern const struct sim_play sim_idempotency_play;

/* All there are, and one by its name, or NULL. */
extern const struct sim_play *const sim_plays[];
extern const size_t sim_play_count;
const struct sim_play *sim_play_find(const char *name);

#endif
