/*
 * Filling in the templates of a task (template.h) with what an attempt has. Pure.
 */
#ifndef TR_ACTORS_VALUES_TEMPLATE_FILL_H
#define TR_ACTORS_VALUES_TEMPLATE_FILL_H

#include "actors/graph/compiled/graph.h"
#include "actors/graph/value/template.h"

/* Of one attempt, or of one notification. */
struct tr_template_values {
    struct tr_text names[TR_TEMPLATE_COUNT];
    const struct tr_variables *inputs;
    struct tr_bytes slots;
    /* What else a template may name, with its mark in front; false: nothing. NULL: nothing. */
    bool (*find)(const void *self, struct tr_text name, struct tr_text *value);
    const void *self;
};

/* Why a template cannot be filled in. */
#define TR_TEMPLATE_WORDS_BYTES 512
struct tr_template_problem {
    char words[TR_TEMPLATE_WORDS_BYTES];
};

/*
 * Appends a text with its templates filled in. TR_INVALID: `problem` says why (an input that is not
 * there, that has no form as a word, or is too large; a document that is not written yet).
 * TR_MALFORMED (slots that are none), TR_LIMIT, TR_MEMORY.
 */
TR_MUST_USE int tr_template_fill(const struct tr_template_values *values, struct tr_text text,
                                 struct tr_buffer *buffer, struct tr_template_problem *problem);

/* The same for all texts in a packed value, but for the keys of maps. */
TR_MUST_USE int tr_template_fill_value(const struct tr_template_values *values,
                                       struct tr_bytes value, struct tr_buffer *buffer,
                                       struct tr_template_problem *problem);

#endif
