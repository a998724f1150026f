/*
 * The host's side of a reader over the network: answers one request from a reader, as it is at that
 * moment. Any thread, that of the reader.
 */
#ifndef TR_RUNTIME_REMOTE_REMOTE_ANSWER_H
#define TR_RUNTIME_REMOTE_REMOTE_ANSWER_H

#include "runtime/link/endpoint.h"
#include "runtime/remote/remote_query.h"

/* Takes the parts of an answer, and its end; an error ends it. */
struct tri_remote_sender {
    int (*send)(void *self, const struct tr_schema *schema, const void *body);
    void *self;
};

/* A question as it came. */
struct tri_remote_question {
    struct tri_request request;
    const struct tr_schema *const *records;
    size_t record_count;
};

/* Whether a request is one of these. */
bool tri_remote_is_question(const struct tri_request *request);

/*
 * The execution that is asked about, where it is one: whoever may read of some alone is asked for
 * it. 0: more than one is, or none. `*project` and `*domain` are those that executions are asked
 * for by; NULL: by neither. Views are of `room`. Errors of unpacking.
 */
struct tri_remote_scope {
    uint64_t execution;
    struct tr_text project;
    struct tr_text domain;
    bool is_of_all; /* such as hosts, the store's clock, and graphs, whose hashes nobody guesses */
};
TR_MUST_USE int tri_remote_scope(const struct tri_remote_question *question,
                                 struct tri_remote_query *room, struct tri_remote_scope *scope);

/* Answers it; what cannot be read is its answer. What the sender says. */
TR_MUST_USE int tri_remote_answer(struct tr_reader *reader,
                                  const struct tri_remote_question *question,
                                  const struct tri_remote_sender *sender);

#endif
