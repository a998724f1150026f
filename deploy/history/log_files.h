/*
 * What attempts of processes wrote: the files stdout and stderr of their folders, printed as far as
 * they go, and from there on when there is more.
 */
#ifndef TR_DEPLOY_HISTORY_LOG_FILES_H
#define TR_DEPLOY_HISTORY_LOG_FILES_H

#include <stdio.h>

#include "actors/graph/document/arena.h"
#include "deploy/history/target.h"
#include "schemas/engine/history.h"

/* The two files of an attempt. */
enum tr_log_stream { TR_LOG_STDOUT, TR_LOG_STDERR, TR_LOG_STREAMS };

/* An attempt whose logs are printed. Texts belong to the table. */
struct tr_log_attempt {
    struct tr_text path;
    uint64_t element;
    uint32_t attempt;
    struct tr_text folder;
    uint32_t trusted_bytes; /* of the folder, where others write to the rest (tr_fence); else 0 */
    bool is_elsewhere;      /* its work is done there, where what it prints may be, too */
    struct tr_text plugin;
    struct tr_text uris; /* of logs that lie elsewhere: a JSON list */
    bool is_put;         /* they were printed: tr_log_files_put */
    bool is_over;
    bool is_done;                     /* over, and printed to the end */
    bool is_begun[TR_LOG_STREAMS];    /* the tail was looked for */
    uint64_t printed[TR_LOG_STREAMS]; /* bytes of each file */
};

struct tr_log_files {
    FILE *stream;
    const char *execution;        /* its name, for headlines */
    uint64_t tail;                /* lines of each file that exists already; UINT64_MAX: all */
    struct tr_log_attempt *items; /* sorted as their rows are */
    uint32_t count;
    uint64_t bytes; /* printed in all */

    /* private */
    uint32_t capacity;
    uint32_t at; /* where the next row is looked for */
    const struct tr_log_attempt *last;
    enum tr_log_stream last_stream;
    char last_name[80]; /* of what was put last, behind its attempt; empty: a file was */
    bool is_in_line;    /* the last byte was no line feed */
    struct tr_arena arena;
};

void tr_log_files_init(struct tr_log_files *files, FILE *stream, const char *execution,
                       uint64_t tail);
void tr_log_files_fini(struct tr_log_files *files);

/*
 * Takes a row of an attempt that is meant, a new one or one that has gone on; rows come in the
 * order of their keys, and tr_log_files_again begins a new round. TR_MEMORY.
 */
TR_MUST_USE int tr_log_files_take(struct tr_log_files *files, const struct tr_attempt *row);
void tr_log_files_again(struct tr_log_files *files);

/* Prints what was not printed yet; each file that is not the last one under a headline. */
void tr_log_files_print(struct tr_log_files *files);

/*
 * Prints what an attempt has printed elsewhere, under a headline with this name, unless the same
 * was put just before; NULL: without one. `attempt` is one that was taken, or a copy.
 */
void tr_log_files_put(struct tr_log_files *files, const struct tr_log_attempt *attempt,
                      const char *name, struct tr_bytes bytes);

/* The path of an attempt's file. False if it has none or it is too long. */
TR_MUST_USE bool tr_log_path(const struct tr_log_attempt *attempt, enum tr_log_stream stream,
                             char *path, size_t size);

#endif
