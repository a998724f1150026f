/*
 * Why an execution failed: from the execution down to the attempt, each with what it says itself.
 */
#ifndef TR_DEPLOY_RECOVERY_CAUSES_H
#define TR_DEPLOY_RECOVERY_CAUSES_H

#include "actors/graph/document/arena.h"
#include "deploy/history/target.h"
#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

/* One link of the chain: the execution, a node below it, and so on; at last an attempt. */
struct tr_cause {
    struct tr_text path;  /* empty: the execution */
    uint64_t element;     /* or TR_ELEMENT_NONE */
    struct tr_text phase; /* in words */
    struct tr_text code;
    struct tr_text message;
    bool is_attempt;
    struct tr_attempt attempt;
};

/* Links of a chain: workflows nest no deeper. */
#define TR_CAUSES_MAX 140

struct tr_causes {
    struct tr_cause items[TR_CAUSES_MAX];
    uint32_t count;
    struct tr_arena arena;

    /* private */
    const struct tr_execution *execution;
    struct tr_reader *reader;
    uint64_t ran_in;       /* of a target that was kept the earlier execution */
    struct tr_text failed; /* the deepest node */
    uint64_t failed_element;
};

/*
 * Finds the chain of an execution that has not succeeded; or, where `target` names a node, the part
 * that begins there, whatever became of it. TR_MEMORY, and what the reader says.
 */
TR_MUST_USE int tr_causes_read(struct tr_reader *reader, const struct tr_execution *execution,
                               const struct tr_target *target, struct tr_causes *causes);
void tr_causes_fini(struct tr_causes *causes);

/* The attempt at the end of the chain; NULL: it ends elsewhere. Lives as long as the causes. */
const struct tr_attempt *tr_causes_attempt(const struct tr_causes *causes);

#endif
