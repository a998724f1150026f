/*
 * The inputs of an execution, as people give them: `-i NAME=VALUE`, an inputs file, and what the
 * workflow or its launch plan has by itself.
 *
 * A VALUE is read by the input's type: of text, files and times it is what stands there, of
 * everything else YAML, so that lists are [1, 2]. `@FILE` reads a file: for a string its text, for
 * bytes its bytes, for everything else JSON or YAML in it; `@@` begins a value with one `@`. An
 * inputs file is JSON or Flyte's inputs.pb where its name ends so, else YAML; relative paths in it
 * count from its folder, those in a VALUE from the current one. Where both name an input, `-i`
 * wins.
 */
#ifndef TR_DEPLOY_INPUTS_INPUTS_H
#define TR_DEPLOY_INPUTS_INPUTS_H

#include "actors/graph/compiled/graph.h"
#include "actors/graph/document/report.h"

struct tr_inputs_request {
    const struct tr_graph *graph;
    uint32_t workflow;
    uint32_t plan;            /* or TR_GRAPH_NONE */
    const char *const *pairs; /* NAME=VALUE */
    size_t pair_count;
    const char *file; /* NULL: none; "-" is stdin */
    /* For each input of the workflow the slot that it has unless it is given, or none; or NULL. */
    const struct tr_bytes *earlier;
};

/*
 * Reads them into the slots of a launch: one for each input of the workflow, in its order, large
 * ones as they are (deploy/inputs/offload.h takes them to where they belong). What is
 * wrong is in the report, all of it: TR_INVALID. TR_MEMORY, TR_LIMIT.
 */
TR_MUST_USE int tr_inputs_read(const struct tr_inputs_request *request, struct tr_report *report,
                               struct tr_buffer *slots);

/*
 * Reads one VALUE by the variable's type (NULL: by the core schema) and appends it, packed;
 * problems name the variable. Errors as above.
 */
TR_MUST_USE int tr_input_read_word(const struct tr_variable *variable, const char *word,
                                   struct tr_report *report, struct tr_buffer *value);

#endif
