/*
 * A store with a past: rows of history as the actors of an engine leave them, written straight into
 * a store, at times that a test knows.
 */
#ifndef TR_TESTS_UNIT_DEPLOY_PAST_H
#define TR_TESTS_UNIT_DEPLOY_PAST_H

#include <stdio.h>

#include "actors/graph/compiled/graph.h"
#include "deploy/history/executions.h"
#include "schemas/engine/history.h"
#include "tests/support/test.h"

/* When everything begins: 2026-11-22T00:00:00Z. */
#define PAST_MS 1795305600000ULL

/* Opens a store in a folder for writing; it is an engine's as long as it is open. */
void past_open(const char *folder);
void past_close(void);

/* Writes one row, in a commit of its own. */
void past_write(const struct tr_schema *schema, const void *row);
#define PAST(name, ...) past_write(&tr_##name##_schema, &(struct tr_##name){__VA_ARGS__})

/* An actor that is written as an engine leaves it. */
struct past_actor {
    struct tr_key key;
    struct tr_key parent; /* zeros: none */
    uint16_t behaviour;
    const char *name; /* NULL: it is an element */
    uint64_t element;
    const struct tr_schema *schema; /* of its state */
    const void *state;
    uint64_t timer_ms; /* 0: none */
    bool is_quarantined;
    int failed_with; /* an error; 0: it never has */
};
void past_actor(const struct past_actor *actor);

/* A message that was sent and not handled. */
void past_message(struct tr_key from, struct tr_key to);

/* A page of an actor. */
void past_page(struct tr_key key, uint64_t page, struct tr_bytes bytes);

/* Keeps a graph in the store and gives its hash, which lives as long as the graph. */
struct tr_bytes past_keep_graph(const struct tr_graph *graph);

/* Packs slots that are written as JSON: one list of the values of variables, in their order. */
struct tr_bytes past_slots(const struct tr_variables *variables, const char *json);

/* The history of the store that is open. */
struct tr_reader *past_read(void);

/* What a function has written to a stream: its stream, and then its text, until the next call. */
FILE *past_stream(void);
const char *past_text(void);

#endif
