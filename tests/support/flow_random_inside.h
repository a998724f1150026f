/*
 * The inside of flow_random: a definition on its way, and what writes values into it.
 *
 * Types are kept as the language writes them, so that "equal text" is "equal type". A place is
 * something that may be referred to; a value of a type is bound by choosing a place that fits it, a
 * part of one, or a literal.
 */
#ifndef TR_TESTS_SUPPORT_FLOW_RANDOM_INSIDE_H
#define TR_TESTS_SUPPORT_FLOW_RANDOM_INSIDE_H

#include "tests/support/draw.h"
#include "tests/support/flow_random.h"

#define TYPE_BYTES 48
#define NAME_BYTES 16
#define PLACE_BYTES 40
#define VARIABLES_MOST 4
#define CALLEES_MOST 16
#define PLACES_MOST 200

/* How the names of tasks begin that decide graphs. */
#define FLOW_RANDOM_DYNAMIC "d"

struct variable {
    char name[NAME_BYTES];
    char type[TYPE_BYTES];
};

struct interface {
    struct variable items[VARIABLES_MOST];
    uint32_t count;
};

/* What a node may call. */
struct callee {
    char name[NAME_BYTES];
    bool is_workflow;
    bool is_dynamic;  /* a task that decides a graph */
    bool has_gates;   /* in it, however deep */
    bool is_launched; /* somebody launches its plan */
    uint32_t fixed;   /* bits: inputs that its plan gives for good, and those it has defaults for */
    uint32_t defaults;
    uint32_t weight; /* tasks in it, about */
    struct interface inputs;
    struct interface outputs;
};

/* What a reference may name. */
struct place {
    char text[PLACE_BYTES];
    char type[TYPE_BYTES];
};

struct generator {
    struct draw draw;
    const struct flow_random_options *options;
    struct tr_buffer *text;
    struct callee callees[CALLEES_MOST];
    uint32_t callee_count;
    struct place places[PLACES_MOST];
    uint32_t place_count;
    uint32_t input_count; /* of the workflow: its first places */
    uint32_t weight;      /* of the workflow, so far */
    bool has_gates;       /* the same */
};

/* A number from 0 to `limit` - 1. */
static inline uint32_t below(struct generator *g, uint32_t limit)
{
    return (uint32_t)draw_below(&g->draw, limit);
}

/* True once in so many times. */
static inline bool once_in(struct generator *g, uint32_t times)
{
    return below(g, times) == 0;
}

/* A type of a variable, drawn. */
const char *flow_type_drawn(struct generator *g);

/* Makes a type a list, or beside none; one that is so already stays. */
void flow_type_list(char *type);
void flow_type_optional(char *type);

/* Writes a literal of a type; a literal or something that is referred to; a condition. */
void flow_write_literal(struct generator *g, const char *type);
void flow_write_value(struct generator *g, const char *type);
void flow_write_condition(struct generator *g);

/* The body of a node that waits for people or for time. */
void flow_write_gate(struct generator *g, struct interface *outputs);

/* Labels behind a head, ": {team: v1}", if any are drawn. */
void flow_write_labels(struct generator *g, const char *head);

/* Which inputs the plan of a workflow gives; and the plans of all that are launched. */
void flow_plan_draw(struct generator *g, struct callee *callee);
void flow_write_plans(struct generator *g);

/* Something that may be referred to from now on. */
void flow_place_add(struct generator *g, const char *owner, const char *name, const char *type);

#endif
