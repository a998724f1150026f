/*
 * One request on its way: the door's thread reads it, a thread of a queue has a command answer it,
 * the door's thread writes what came of it. One thread has it at a time; the client may leave at
 * any time.
 */
#ifndef TR_DEPLOY_WEB_JOB_H
#define TR_DEPLOY_WEB_JOB_H

#include "deploy/common/work_queue.h"
#include "deploy/console/console.h"
#include "deploy/web/request.h"
#include "deploy/web/web.h"
#include "runtime/env/buffer.h"

#define TR_WEB_TAG_BYTES 40

struct tr_web_feed;
struct tr_web_file;

struct tr_web_job {
    struct tr_work work; /* private */
    struct tr_web *web;
    struct tr_door *door;
    uint64_t exchange;        /* whose answer it is */
    struct tr_web_feed *feed; /* or the stream of events that it is for */
    struct tr_web_file *file; /* that it reads; NULL: it is for something else */
    struct tr_arena arena;
    struct tr_web_request request;
    const char *principal;  /* who calls, for the history */
    const char *known_tag;  /* what the client has already; NULL: it says nothing */
    const char *last_event; /* Last-Event-ID; NULL: none */
    const char *key;        /* Idempotency-Key; NULL: none */
    bool takes_gzip;        /* the answer may be compressed */
    bool may_register;      /* who calls may have programs of his own run there */
    const char *begin_name; /* what that makes of an execution; NULL: nothing */
    const char *begin_label;
    struct tr_buffer body; /* of the request */
    uint64_t worked_us;    /* what it took of a processor */
    uint64_t begun_ms;     /* by the clock on the wall */
    enum tr_exit_status exit_status;
    int error; /* that the command named, an enum tr_error */

    /* What is answered: a document or a text, or words of a problem. */
    enum tr_web_problem problem;
    char words[TR_WEB_WORDS_BYTES];
    int status;       /* of HTTP where nothing is wrong */
    const char *type; /* of the answer */
    struct tr_buffer answer;
    struct tri_buffer packed; /* the same by gzip; empty: it is not worth it */
    bool has_more;            /* of a page */
    uint64_t next;            /* what that begins with, of elements */
    char tag[TR_WEB_TAG_BYTES];
};

/* A job of a web; NULL without memory. */
TR_MUST_USE struct tr_web_job *tr_web_job_new(struct tr_web *web);
void tr_web_job_free(struct tr_web_job *job);

/* Has the route's command, or its function, answer; on a thread that may wait. */
void tr_web_job_do(struct tr_web_job *job);

/*
 * Calls a command with words behind its name (tr_web_request_arguments); what it writes becomes the
 * answer, what it says is wrong a problem.
 */
void tr_web_job_call(struct tr_web_job *job, const struct tr_command *command, int count,
                     char **words);

/* The same with a console, whose `err` is set here. */
void tr_web_job_call_with(struct tr_web_job *job, const struct tr_command *command, int count,
                          char **words, struct tr_console *console);

/* The same with the words of the request itself. */
void tr_web_job_call_own(struct tr_web_job *job);

/* A stream into a buffer; NULL without memory. To be closed by fclose. */
TR_MUST_USE FILE *tr_web_job_stream(struct tr_buffer *buffer);

/* Answers with the name of an execution. */
void tr_web_job_write_execution(struct tr_web_job *job, const char *name);

/* Says what is wrong in place of an answer. */
TR_PRINTF(3, 4)
void tr_web_job_refuse(struct tr_web_job *job, enum tr_web_problem problem, const char *format,
                       ...);

/* Whether it is being stopped. */
const atomic_bool *tr_web_is_stopping(const struct tr_web *web);

/* The folder of the store, and who may call. */
const struct tr_web_options *tr_web_options(const struct tr_web *web);

/* Microseconds that a processor has worked for this thread. */
uint64_t tr_web_worked_us(void);

#endif
