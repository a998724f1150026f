/*
 * What executions share, and who has it or waits for it: the rows of the resource manager's
 * committed state, for commands that show all of them. Pure functions, as in `explain.h`.
 */
#ifndef TR_ACTORS_EXPLAIN_SHARED_H
#define TR_ACTORS_EXPLAIN_SHARED_H

#include "actors/explain/explain.h"
#include "actors/services/resources.h"

/* K(NAME, word): a namespace of the settings, the part of it that a project or a domain may have, a
 * pool of a definition, the machine. */
#define TR_SHARED_KINDS(K) \
    K(QUOTA, "quota")      \
    K(PROJECT, "project")  \
    K(DOMAIN, "domain")    \
    K(POOL, "pool")        \
    K(MACHINE, "machine")

enum tr_shared_kind {
#define TRI_SHARED_KIND(name, word) TR_SHARED_##name,
    TR_SHARED_KINDS(TRI_SHARED_KIND)
#undef TRI_SHARED_KIND
};

const char *tr_shared_kind_word(enum tr_shared_kind kind);

/* Something of which there is only so much. Bounds of 0 are none. Texts live during the call. */
struct tr_shared_place {
    uint32_t number; /* by which requests name it */
    enum tr_shared_kind kind;
    struct tr_text name;
    uint32_t slots;
    uint32_t used;
    double per_second;
    uint16_t host;              /* of the machine of one of several; else 0 */
    bool is_gone;               /* that host */
    struct tri_amounts amounts; /* of the machine */
    struct tri_amounts booked;  /* of them, without what dormant executions have */
};

/*
 * The places that one request needs at most: its quota, its domain, its project, its pool, and of
 * several hosts its machine.
 */
#define TR_SHARED_NEEDS_MAX 5

/* An attempt that has something of them, or waits for it. */
struct tr_shared_request {
    struct tr_text attempt; /* its generated name */
    uint64_t execution;
    uint64_t since_ms; /* by the clock of states */
    bool is_waiting;
    bool is_dormant;
    uint32_t places[TR_SHARED_NEEDS_MAX]; /* numbers */
    uint32_t place_count;
    struct tri_amounts amounts;
};

/*
 * Calls `show` for each place, and for each request, in the order in which they came to the table.
 * What `show` returns other than 0 ends it, and is returned. TR_MALFORMED: pages that are none of a
 * resource manager's; TR_MEMORY.
 */
TR_MUST_USE int tr_shared_places(const struct tr_resources_state *state,
                                 const struct tr_explain_pages *pages,
                                 int (*show)(void *self, const struct tr_shared_place *place),
                                 void *self);
TR_MUST_USE int tr_shared_requests(const struct tr_resources_state *state,
                                   const struct tr_explain_pages *pages,
                                   int (*show)(void *self, const struct tr_shared_request *request),
                                   void *self);

#endif
