/*
 * What happens in an execution, as it happens: changes of phase of the execution, its nodes, the
 * elements of its arrays and their attempts, each told once.
 */
#ifndef TR_DEPLOY_HISTORY_EVENTS_H
#define TR_DEPLOY_HISTORY_EVENTS_H

#include "actors/graph/document/arena.h"
#include "deploy/common/document.h"
#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

/* A change of phase. Texts live until the next reading. */
struct tr_event {
    struct tr_phase row; /* of an element: subject NODE, and its element */
    bool is_of_element;
};

/* How far each actor's rows were told. */
struct tri_event_actor {
    struct tr_key actor;
    uint64_t told; /* rows with smaller numbers were told before */
    uint64_t next; /* the same after this reading */
};

struct tr_events {
    uint64_t execution;
    struct tr_event *items; /* of the last reading, in the order of time */
    uint32_t count;

    /* private */
    struct tri_vector vector;
    struct tri_event_actor *actors; /* a table of 2^n places */
    uint64_t actor_places;
    uint64_t actor_count;
    struct tr_arena arena;
};

void tr_events_init(struct tr_events *events, uint64_t execution);
void tr_events_fini(struct tr_events *events);

/* Reads what is new. TR_MEMORY, TR_MALFORMED, and what the reader says. */
TR_MUST_USE int tr_events_read(struct tr_events *events, struct tr_reader *reader);

/* The word for what an event is of: "execution", "node", "element", "attempt". */
const char *tr_event_subject(const struct tr_event *event);

/* Writes an event as one map. */
void tr_event_write(const struct tr_event *event, struct tr_document *document);

#endif
