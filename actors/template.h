/*
 * Flyte's container templating: `{{.inputs.x}}` and its kin in the words, the environment and the
 * strings of the configuration of a task.
 *
 * A template is {{ .NAME }} or {{ $NAME }}, blanks and case of NAME do not matter (input names are
 * exact). What is none of the names below stays as it stands. Pure.
 */
#ifndef TR_ACTORS_TEMPLATE_H
#define TR_ACTORS_TEMPLATE_H

#include "actors/graph/graph.h"

/* What templates may name. INPUT is the path of inputs.pb. */
#define TR_TEMPLATES(T)                            \
    T(INPUT, "input")                              \
    T(INPUT_PREFIX, "inputPrefix")                 \
    T(OUTPUT_PREFIX, "outputPrefix")               \
    T(RAW_OUTPUT_PREFIX, "rawOutputDataPrefix")    \
    T(UNIQUE_KEY, "perRetryUniqueKey")             \
    T(CHECKPOINT_PREFIX, "checkpointOutputPrefix") \
    T(PREVIOUS_CHECKPOINT, "prevCheckpointPrefix") \
    T(NAMESPACE, "namespace")

enum tr_template_name {
#define TRI_TEMPLATE_ENUM(name, word) TR_TEMPLATE_##name,
    TR_TEMPLATES(TRI_TEMPLATE_ENUM)
#undef TRI_TEMPLATE_ENUM
        TR_TEMPLATE_COUNT
};

/* Of one attempt. */
struct tr_template_values {
    struct tr_text names[TR_TEMPLATE_COUNT];
    const struct tr_variables *inputs;
    struct tr_bytes slots;
};

/* Why a template cannot be filled in. */
#define TR_TEMPLATE_WORDS_BYTES 512
struct tr_template_problem {
    char words[TR_TEMPLATE_WORDS_BYTES];
};

/* Whether there may be a template in a text, or in a packed value. */
bool tr_template_is_in(const void *bytes, size_t size);

/* Which of the names above stand in templates of a text: 1U << TR_TEMPLATE_INPUT and its kin. */
uint32_t tr_template_names_in(struct tr_text text);

/* Whether a template in a text names an input that is none of these; if so, which. */
bool tr_template_has_unknown(const struct tr_variables *inputs, struct tr_text text,
                             struct tr_text *name);

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

/* A number as Go's %v prints it, which is how Flyte does: 3, 0.1, 1e+21, NaN. */
void tri_template_number(double number, struct tr_buffer *buffer);

#endif
