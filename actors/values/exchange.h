/*
 * Documents that are too large for messages: a task's inputs as a file, and its outputs from one,
 * in JSON or in Flyte's protobuf, made and read by a thread that may wait for the disk (the files
 * service).
 *
 * The actor makes a plan, which says everything in itself: names, types in words, slots. The
 * service that carries it out needs no graph. Both are pure but for the functions they are given.
 */
#ifndef TR_ACTORS_VALUES_EXCHANGE_H
#define TR_ACTORS_VALUES_EXCHANGE_H

#include "actors/graph/compiled/graph.h"
#include "actors/graph/value/literal_stream.h"
#include "actors/graph/value/slot.h"
#include "schemas/engine/plugin.h"

/* Appends the plan of a document with these values. TR_MALFORMED: slots that are none. */
TR_MUST_USE int tr_exchange_plan_inputs(const struct tr_variables *inputs,
                                        enum tr_document_form form, struct tr_bytes slots,
                                        struct tr_buffer *plan);

/* Outputs that are to be read. */
struct tr_exchange_outputs {
    const struct tr_variables *variables;
    enum tr_document_form form;
    struct tr_text folder; /* relative paths in them count from here */
    uint32_t depth; /* the document may decide a graph, in so many workflows; 0: it may not */
};

/* Appends the plan of reading them. */
TR_MUST_USE int tr_exchange_plan_outputs(const struct tr_exchange_outputs *outputs,
                                         struct tr_buffer *plan);

/*
 * Whether a key of a dynamic task's document, which is none of its outputs, says that the document
 * decides a graph.
 */
bool tr_exchange_is_decision(struct tr_text key);

/* How a document is written. */
struct tr_exchange_writer {
    /* The bytes of a literal that lies elsewhere, until they are closed. */
    int (*open)(void *self, const struct tr_offloaded *where, struct tr_bytes *literal);
    void (*close)(void *self, struct tr_bytes literal);
    tr_literal_put *put;
    void *self;
};

/* Writes the document of a plan. TR_MALFORMED, TR_MEMORY, and what the functions say. */
TR_MUST_USE int tr_exchange_write(struct tr_bytes plan, const struct tr_exchange_writer *writer);

/* Why a document is no outputs, as the task's failure. */
#define TR_EXCHANGE_WORDS_BYTES 1024
struct tr_exchange_problem {
    const char *code; /* constant */
    char words[TR_EXCHANGE_WORDS_BYTES];
};

/*
 * Above this the paths of an output are kept while the document is read, and `keep` gives what
 * stands in the place of each: such a value may be put elsewhere as it is. Those of smaller ones
 * are the task's own matter, which knows its inputs.
 */
#define TR_EXCHANGE_PATHS_BYTES 4096U
struct tr_exchange_keeper {
    /* TR_INVALID: it has said why in the problem, behind "the output 'NAME' ". */
    tr_path_map *keep;
    /* Appends the slot of a value, which it may put elsewhere: then it is not copied. */
    int (*put)(void *self, struct tr_bytes value, struct tr_buffer *slots);
    /*
     * The bytes of a literal that the document keeps in a file of its own, until they are closed.
     * Errors as those of `keep`.
     */
    int (*open)(void *self, struct tr_text uri, struct tr_bytes *literal);
    void (*close)(void *self, struct tr_bytes literal);
    int (*turn)(void *self); /* between values: others may go first; an error ends the reading */
    void *self;
};

/*
 * Reads a document into slots, as the keeper puts them: of a list one element is taken apart at a
 * time. With `is_decision` it decides a graph, and `slots` are nothing, or, of futures, what is
 * kept of them (tr_flyte_futures_keep). TR_INVALID: `problem` says why; TR_MALFORMED (no plan),
 * TR_LIMIT, TR_MEMORY, and what the keeper says.
 */
TR_MUST_USE int tr_exchange_read(struct tr_bytes plan, struct tr_bytes document,
                                 const struct tr_exchange_keeper *keeper, struct tr_buffer *slots,
                                 bool *is_decision, struct tr_exchange_problem *problem);

#endif
