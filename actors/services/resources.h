/*
 * The resource manager's rows, for its own files and for actors/explain/, which shows what it
 * holds.
 *
 * What is bounded: places (a namespace's slots, and what one project or domain may have of them, a
 * pool's slots and its rate, a machine's amounts). A request needs one place or several at once,
 * and waits in a lane: that of all requests that need the same places. In a lane there is a queue
 * for each execution that waits there, and executions take turns, so that a wide array does not
 * starve a small workflow; lanes take turns, too. The amounts of a machine are saved for the lane
 * that has met a lack of them first, until its first request fits, so that no large request starves
 * beside small ones.
 *
 *     place <- lane <- queue of an execution <- request
 *
 * Each host has a machine; an engine that is alone is host 0. A request books of the machine that
 * its task is on.
 *
 * Executions may be dormant: nothing is given to them, and what they have booked of the machine
 * does not count until they are resumed, since nobody must wait for what nobody goes on with. Slots
 * of namespaces and pools stay theirs: their work outside may go on.
 */
#ifndef TR_ACTORS_SERVICES_RESOURCES_H
#define TR_ACTORS_SERVICES_RESOURCES_H

#include <string.h>

#include "actors/engine.h"
#include "actors/store/watch.h"
#include "schemas/engine/state_service.h"

/* Names of places and identities of requests are kept up to so many bytes. */
#define TR_RESOURCE_NAME_BYTES_MAX 64

/* A row of the table. */
#define TRI_RESOURCE_ROW_BYTES 240

enum tri_resource_row {
    TRI_ROW_PLACE = 1,
    TRI_ROW_POOL,
    TRI_ROW_LANE,
    TRI_ROW_QUEUE,
    TRI_ROW_REQUEST,
    TRI_ROW_DORMANT,
    TRI_ROW_SCOPE,   /* what a project, or a domain of one, has of a namespace: a place, too */
    TRI_ROW_MACHINE, /* of one of several hosts: a place, too */
    TRI_ROW_HOST
};

struct tri_amounts {
    uint64_t cpu_millis;
    uint64_t memory_bytes;
    uint64_t gpu_count;
};

/*
 * A namespace, a pool, or a machine: that of an engine that is alone is the namespace called "".
 * Bounds of 0 are none.
 */
struct tri_place_row {
    struct tr_rows_head head;
    uint32_t slots;
    uint32_t used;
    struct tri_amounts amounts;
    struct tri_amounts booked;
    double per_second;
    uint64_t next_us; /* of a pool with a rate: when the next may begin, by the steady clock */
    uint32_t name_size;
    char name[TR_RESOURCE_NAME_BYTES_MAX];
    struct tri_amounts dormant; /* of what is booked: by dormant executions */
    uint32_t told;              /* the start that has told its quota; 0: none */
    uint32_t project;           /* of a domain's scope: that of its project; 0: it has no bound */
};

/* A host. Numbers of starts and losses are the state's. */
struct tri_host_row {
    struct tr_rows_head head;
    uint32_t host;
    uint32_t machine;  /* its place */
    uint32_t claimant; /* the lane that amounts are saved for; 0: none */
    uint32_t start;    /* its start that has said what is dormant; 0: nothing is */
    uint32_t telling;  /* the start that is telling quotas, up to its list; 0: none */
    uint32_t gone;     /* the number of its loss; 0: it is there */
    uint32_t next;     /* of all hosts; 0: the last one */
    bool has_told;     /* what its machine has */
    uint64_t told;     /* by this incarnation of it; 0: none is known */
    uint64_t lost;     /* the last incarnation that was gone */
};

/* A row's neighbours in a ring: numbers of rows, its own where it is alone there. */
struct tri_ring {
    uint32_t next;
    uint32_t previous;
};

struct tri_lane_row {
    struct tr_rows_head head;
    uint32_t place;
    uint32_t pool; /* 0: none */
    bool is_booking;
    uint16_t host;        /* whose machine, if it is booking */
    struct tri_ring ring; /* of the lanes with requests */
    uint32_t queue;       /* whose turn it is */
    uint32_t queues;
    uint32_t requests;
};

struct tri_queue_row {
    struct tr_rows_head head;
    uint64_t execution;
    uint32_t lane;
    struct tri_ring ring; /* of the lane's queues */
    uint32_t first;
    uint32_t last;
};

struct tri_request_row {
    struct tr_watched watched;
    uint64_t execution;
    uint64_t since_ms; /* asked, or granted */
    struct tri_amounts amounts;
    uint32_t slots;
    uint32_t place;
    uint32_t pool;
    uint32_t queue; /* 0: it is granted */
    uint32_t next;
    uint32_t previous;
    uint32_t identity_size;
    char identity[TR_RESOURCE_NAME_BYTES_MAX];
    uint32_t dormant_start; /* the start for which its amounts were counted as dormant; 0: none */
};

/* What a request's domain may have, or its project: their place; 0: they have no bound. */
static inline uint32_t tri_resources_request_scope(const struct tri_request_row *request)
{
    return request->watched.own;
}

/* Whether it needs anything of a machine; else it has no host. */
static inline bool tri_resources_request_is_booking(const struct tri_request_row *request)
{
    return (request->amounts.cpu_millis | request->amounts.memory_bytes |
            request->amounts.gpu_count) != 0;
}

static inline uint16_t tri_resources_request_host(const struct tri_request_row *request)
{
    return request->watched.own_small;
}

/* It wants all there is, where the machine has less: a bit of its row. */
#define TRI_REQUEST_IS_CUT 1U

static inline struct tr_text tri_resources_request_identity(const struct tri_request_row *request)
{
    uint32_t most = sizeof request->identity; /* rows that are only read may say anything */
    uint32_t size = request->identity_size;
    return (struct tr_text){.data = request->identity, .size = size < most ? size : most};
}

/* The host of a machine's place. */
static inline uint64_t tri_resources_machine_host(const struct tri_place_row *machine)
{
    uint64_t host = 0;
    if (machine->head.key.kind == TRI_ROW_MACHINE) {
        memcpy(&host, machine->head.key.bytes, sizeof host);
    }
    return host;
}

/* A dormant execution, as long as `start` is that of the host that said so. */
struct tri_dormant_row {
    struct tr_rows_head head;
    uint64_t execution;
    uint32_t start;
    uint32_t host;
    struct tri_amounts amounts; /* that it has booked of that machine, as far as counted */
};

union tri_resource_any {
    struct tri_place_row place;
    struct tri_host_row host;
    struct tri_lane_row lane;
    struct tri_queue_row queue;
    struct tri_request_row request;
    struct tri_dormant_row dormant;
};

/* Rows lie on disks: they may grow into what is free, and the table's rows may not. */
_Static_assert(sizeof(union tri_resource_any) == TRI_RESOURCE_ROW_BYTES, "rows keep their size");

/* One handling. */
struct tri_resources {
    struct tr_context *context;
    struct tr_resources_state *state;
    struct tr_rows rows;
    struct tr_watch watch;
    uint64_t retry_us; /* when a pool's rate lets the next one begin; 0: no lane waits for that */
};

/*
 * The next number of a counter, which is never 0; and whether one came before another. They go
 * round.
 */
static inline uint32_t tri_resources_number_next(uint32_t *counter)
{
    *counter = *counter == UINT32_MAX ? 1 : *counter + 1;
    return *counter;
}

static inline bool tri_resources_number_is_before(uint32_t number, uint32_t other)
{
    return (int32_t)(number - other) < 0;
}

/*
 * resources.c: the place of a name, which has no bounds when it is new. Place rows are never
 * removed: they are few, and keep what is used of them.
 */
TR_MUST_USE int tri_resources_place_find(struct tri_resources *resources,
                                         enum tri_resource_row kind, struct tr_text name,
                                         uint32_t *number);

/* A row to change, by its kind. */
TR_MUST_USE int tri_resources_place_edit(struct tri_resources *resources, uint32_t number,
                                         struct tri_place_row **place);
TR_MUST_USE int tri_resources_lane_edit(struct tri_resources *resources, uint32_t number,
                                        struct tri_lane_row **lane);
TR_MUST_USE int tri_resources_queue_edit(struct tri_resources *resources, uint32_t number,
                                         struct tri_queue_row **queue);
TR_MUST_USE int tri_resources_request_edit(struct tri_resources *resources, uint32_t number,
                                           struct tri_request_row **request);

/* resources_lane.c: requests that wait. */

/* Puts a request at the end of its execution's queue; whether nobody else is in its lane. */
TR_MUST_USE int tri_resources_lane_add(struct tri_resources *resources, uint32_t number,
                                       struct tri_request_row *request, bool *is_first);

/* Takes one out that waits, from wherever it stands. */
TR_MUST_USE int tri_resources_lane_remove(struct tri_resources *resources,
                                          struct tri_request_row *request);

/* The request whose turn it is in a lane; TR_NOT_FOUND: all that wait there are dormant. */
TR_MUST_USE int tri_resources_lane_first(struct tri_resources *resources, struct tri_lane_row *lane,
                                         uint32_t *number);

/* The lane's next execution has its turn. */
TR_MUST_USE int tri_resources_lane_turn(struct tri_resources *resources, struct tri_lane_row *lane);

/* resources_host.c: hosts and their machines. */

TR_MUST_USE int tri_resources_host_edit(struct tri_resources *resources, uint32_t number,
                                        struct tri_host_row **host);

/* The row of a host, also of committed images; TR_NOT_FOUND. */
TR_MUST_USE int tri_resources_host_get(struct tr_rows *rows, uint32_t host, uint32_t *number,
                                       const struct tri_host_row **row);

/* The number of that row, which is made if there is none. */
TR_MUST_USE int tri_resources_host_find(struct tri_resources *resources, uint32_t host,
                                        uint32_t *number);

/* Saves a machine for a lane; and for no lane any more, if it was for this one. */
TR_MUST_USE int tri_resources_host_claim(struct tri_resources *resources, uint32_t number,
                                         uint32_t lane);
TR_MUST_USE int tri_resources_host_unclaim(struct tri_resources *resources, uint32_t host,
                                           uint32_t lane);

TR_MUST_USE int tri_resources_host_on_gone(struct tri_resources *resources,
                                           const struct tr_message *message);
TR_MUST_USE int tri_resources_host_on_machines(struct tri_resources *resources,
                                               const struct tr_message *message);

/* A host tells what its machine has, and is there. */
TR_MUST_USE int tri_resources_host_on_machine(struct tri_resources *resources,
                                              const struct tr_resource_quota *quota);

/* The number of the start that a host tells quotas for. */
TR_MUST_USE int tri_resources_host_telling(struct tri_resources *resources, uint32_t host,
                                           uint32_t *telling);

/* Whether the machine that a new request books of is there; else its task was told to ask again. */
TR_MUST_USE int tri_resources_host_admit(struct tri_resources *resources,
                                         const struct tr_resource_request *wish, struct tr_ref task,
                                         bool *is_there);

/* Forgets a request that waits if its machine is gone, and tells its task. */
TR_MUST_USE int tri_resources_host_sweep(struct tri_resources *resources, uint32_t number);

/* resources_dormant.c: dormant executions. */

/* Whether an execution is dormant, also by committed images. */
TR_MUST_USE int tri_resources_dormant_has(struct tr_rows *rows,
                                          const struct tr_resources_state *state,
                                          uint64_t execution, bool *has);

/* A granted request is forgotten, and with it what was counted as dormant. */
TR_MUST_USE int tri_resources_dormant_forget(struct tri_resources *resources,
                                             struct tri_place_row *machine,
                                             const struct tri_request_row *request);

TR_MUST_USE int tri_resources_dormant_on_list(struct tri_resources *resources,
                                              const struct tr_message *message);
TR_MUST_USE int tri_resources_dormant_on_active(struct tri_resources *resources,
                                                const struct tr_message *message);

/* Looks at some more rows; `is_over`: at all of them. */
TR_MUST_USE int tri_resources_dormant_sweep(struct tri_resources *resources, bool *is_over);

#endif
