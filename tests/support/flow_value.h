/*
 * Values made of numbers and numbers made of values: what a task's work is where nothing is done.
 * Equal inputs give equal outputs, and other inputs very likely other ones, so that a value that
 * went astray on its way through a workflow is seen at its end.
 */
#ifndef TR_TESTS_SUPPORT_FLOW_VALUE_H
#define TR_TESTS_SUPPORT_FLOW_VALUE_H

#include "actors/graph/compiled/graph.h"

/*
 * Appends a value of a type, made of a number. Integers are small and lists short, so that
 * conditions go both ways and maps stay narrow.
 */
void flow_value_write(const struct tr_type *type, uint64_t number, struct tr_buffer *buffer);

/*
 * A number that follows from a value; 0 of a type that may hold an error: what an error says may
 * depend on the order in which things happened.
 */
uint64_t flow_value_digest(const struct tr_type *type, struct tr_bytes value);

/*
 * Appends a value as it stands inside of a text, "{$name}", by the rules and not by the engine's
 * code: whole numbers, numbers with one digit behind the point, bools and texts. False: it has no
 * form there.
 */
bool flow_value_text(struct tr_bytes value, struct tr_buffer *text);

/* The digest of a list of slots, one for each variable. */
uint64_t flow_value_digest_slots(const struct tr_variables *variables, struct tr_bytes slots);

/* What a task that gets `inputs` gives: a list of slots. */
void flow_value_outputs(const struct tr_task *task, struct tr_bytes inputs,
                        struct tr_buffer *slots);

/* Inputs of a workflow, a list of slots: defaults, and for some plain integers other ones. */
void flow_value_inputs(const struct tr_workflow *workflow, uint64_t seed, struct tr_buffer *slots);

#endif
