/*
 * Executions as commands name them: EXEC is a name, a unique beginning of one, PROJECT/DOMAIN/NAME,
 * or @last. Read from the history, with or without a live engine.
 */
#ifndef TR_DEPLOY_HISTORY_EXECUTIONS_H
#define TR_DEPLOY_HISTORY_EXECUTIONS_H

#include "runtime/store_open.h"
#include "schemas/engine/history.h"

/* A buffer that is enough for what is wrong with a name. */
#define TR_EXECUTIONS_PROBLEM_BYTES 1024

/* A row that outlives its reader. */
struct tr_executions_row {
    struct tr_execution row;
    char *texts;
};

void tr_executions_row_fini(struct tr_executions_row *copy);

/*
 * Copies the rows of executions by their numbers; one that is missing has no `texts`. Those that
 * lie near each other are one question, which a database server answers as soon as one of a single
 * execution. Errors of reading, and TR_MEMORY: then there are no copies.
 */
TR_MUST_USE int tr_executions_get_all(struct tr_reader *reader, const uint64_t *numbers,
                                      size_t count, struct tr_executions_row *copies);

/* Opens the history of a store; `explain` (TRI_STORE_EXPLAIN_BYTES) as for tr_reader_open. */
TR_MUST_USE int tr_history_open(const char *folder, char *explain, struct tr_reader **reader);

/* Copies the row of a number. TR_NOT_FOUND, TR_MEMORY, and what the reader says. */
TR_MUST_USE int tr_executions_get(struct tr_reader *reader, uint64_t number,
                                  struct tr_executions_row *copy);

/* Copies the newest row of exactly this name in a project and a domain. Errors as above. */
TR_MUST_USE int tr_executions_named(struct tr_reader *reader, struct tr_text project,
                                    struct tr_text domain, struct tr_text name,
                                    struct tr_executions_row *copy);

/*
 * Copies the row of the one that is meant. TR_NOT_FOUND or TR_INVALID (several are meant), with
 * words in `problem` that say what there is; TR_MEMORY, and what the reader says.
 */
TR_MUST_USE int tr_executions_find(struct tr_reader *reader, const char *word, char *problem,
                                   struct tr_executions_row *copy);

#endif
