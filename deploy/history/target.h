/*
 * What people name to look at: EXEC, EXEC/NODE, EXEC/NODE[17], EXEC/NODE[17]@2, and the same behind
 * /PROJECT/DOMAIN. NODE is a path: "squares", "w/inner", "sq[3]/inner".
 */
#ifndef TR_DEPLOY_HISTORY_TARGET_H
#define TR_DEPLOY_HISTORY_TARGET_H

#include "schemas/engine/flow.h"

/* Bytes of an execution's name with project and domain, and a closing zero. */
#define TR_TARGET_EXECUTION_BYTES 256

/* Bytes that are enough for what is wrong with one. */
#define TR_TARGET_PROBLEM_BYTES 512

struct tr_target {
    char execution[TR_TARGET_EXECUTION_BYTES]; /* as tr_executions_find takes it */
    struct tr_text path;                       /* empty: the execution itself; views the word */
    uint64_t element;                          /* or TR_ELEMENT_NONE */
    uint32_t attempt;
    bool has_attempt;
};

/*
 * Takes a word apart. With `has_place` its first two parts are a project and a domain, which a word
 * that begins with a slash always has. TR_INVALID, with words in `problem`
 * (TR_TARGET_PROBLEM_BYTES).
 */
TR_MUST_USE int tr_target_read(const char *word, bool has_place, char *problem,
                               struct tr_target *target);

#endif
