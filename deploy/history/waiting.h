/*
 * The actors of one execution as the store has them, put into the order of their addresses, with
 * what could wake each: what `explain` speaks of.
 */
#ifndef TR_DEPLOY_HISTORY_WAITING_H
#define TR_DEPLOY_HISTORY_WAITING_H

#include "actors/explain/explain.h"
#include "runtime/journal/images.h"

/* Where an actor would stand and there is none. */
#define TR_WAITING_NONE UINT32_MAX

/* The pages of an actor, read when they are asked for, and kept. */
struct tr_waiting_pages {
    struct tr_reader *reader;
    struct tr_key actor;
    struct tr_bytes *pages; /* by their numbers; data NULL: not read yet */
    uint32_t page_count;
    struct tr_arena *arena;
};

/* An actor. Texts and states belong to the table. */
struct tr_waiter {
    struct tr_key key;
    struct tr_key parent_key;
    uint32_t parent; /* its position, or TR_WAITING_NONE */
    uint32_t behaviour;
    struct tr_text name; /* of its own, empty for an element */
    struct tr_text path; /* of its node below the execution; of an element its array's */
    uint64_t element;
    const void *state; /* of its behaviour's schema; NULL: it cannot be read */
    bool is_quarantined;
    bool is_backing_off;
    int failed_with;       /* as in runtime/journal/images.h */
    struct tr_key said_to; /* the last actor outside that has not read what it said; 0: none */
    uint32_t events;       /* open questions and calls, timers, messages on their way, children */
};

/* A service of the engine; state NULL: there is none. */
struct tr_waiting_service {
    struct tr_key key;
    uint32_t behaviour;
    bool is_quarantined;
    bool is_backing_off;
    int failed_with; /* as in runtime/journal/images.h */
    const void *state;
    struct tr_waiting_pages pages;
};

struct tr_waiting {
    struct tr_reader *reader;
    struct tr_waiter *items; /* by path and element, each behind its parent */
    uint32_t count;
    struct tr_waiting_service resources;
    struct tr_waiting_service catalog;
    struct tri_vector refreshes; /* struct tr_waiting_service: of back ends */
    struct tr_arena arena;

    /* private */
    struct tri_vector vector;
    uint64_t group;
};

/*
 * Reads the actors of an execution, of which there are none when it has ended, and those that they
 * wait for. TR_MEMORY, and what the reader says.
 */
TR_MUST_USE int tr_waiting_read(struct tr_reader *reader, uint64_t execution,
                                struct tr_waiting *waiting);
void tr_waiting_fini(struct tr_waiting *waiting);

/* The same of the services alone. */
TR_MUST_USE int tr_waiting_services_read(struct tr_reader *reader, struct tr_waiting *waiting);

/*
 * Says that a service does not go on, with its address, its error and what to do; true: it stands
 * still until somebody does that.
 */
bool tr_waiting_trouble(const struct tr_waiting_service *service, struct tr_buffer *text);

/* The pages of an actor. */
struct tr_waiting_pages tr_waiting_pages(struct tr_waiting *waiting, struct tr_key actor);

/* One of them, for tr_explain_pages, whose `self` they are. */
int tr_waiting_page(void *self, uint32_t page, struct tr_bytes *bytes);

#endif
