/*
 * Where calls are worked at whose answer is in the store or the engine's: threads that read the
 * store, and the engine's own thread.
 *
 *     door                  a reader               the engine
 *     tr_desk_take     ->   work(job)
 *                           tr_desk_order     ->   carry_out(job)
 *     the answer       <-   or                <-   tr_desk_finish(job)
 *
 * A job has all that its call needs, since the client may leave at any time: the request, memory,
 * and what is answered. One thread has it at a time. What a reader sees is not older than the call,
 * so that whoever was answered finds what he did.
 */
#ifndef TR_DEPLOY_API_RUNS_DESK_H
#define TR_DEPLOY_API_RUNS_DESK_H

#include "deploy/api/audit.h"
#include "deploy/api_runs/runs_limits.h"
#include "deploy/common/work_queue.h"
#include "deploy/engine/assemble.h"

struct tr_graphs_kept;
struct tr_startables;

struct tr_desk_job {
    struct tr_work in_list; /* private, as those below */
    struct tr_arena arena;
    const void *request;
    struct tr_desk *desk;
    const struct tr_api_method *method;
    char *principal;          /* who calls; "": nobody in particular */
    struct tr_text authority; /* by which the client came, and whether by TLS */
    bool is_secure;
    const struct tr_api_downloads *downloads; /* or NULL */
    const char *logs;                         /* as struct tr_api_services has it; or NULL */

    /* While a reader has it. */
    struct tr_reader *reader;
    struct tr_graphs_kept *graphs;
    struct tr_startables *startables;

    /* What is answered: a response, or an error. */
    const ProtobufCMessage *response;
    enum tr_api_code code;
    char *words;                    /* of the arena */
    const ProtobufCMessage *detail; /* beside the words, which clients may read; or NULL */

    void *order; /* of whoever carries it out */

    /* Of a change: its row in the audit. Private, but for tr_desk_audit. */
    struct tr_audit audit;
    uint32_t audits;  /* that are being kept */
    int audit_error;  /* of the last one that was not */
    bool is_finished; /* and is handed on when they are */

    /* private */
    struct tr_desk_job *before; /* among those that the engine has */
    uint64_t call;
    bool is_question; /* whether the execution that calls runs: what is answered is `runs` */
    bool runs;
    uint64_t begun_ms;
    bool is_late; /* its client was told so */
    const ProtobufCMessageDescriptor *descriptor;
    void (*work)(struct tr_desk_job *job, const void *request);
    void (*carry_out)(struct tr_desk_job *job, struct tr_live *live);
    size_t request_bytes;
    uint8_t packed[];
};

/* Makes a desk for an engine; the readers begin with the first call. TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tr_desk_new(struct tr_live *live, struct tr_desk **desk);

/*
 * Lets the readers end, after which nothing is answered; and frees it all, when the engine answers
 * nobody any more. NULL is fine.
 */
void tr_desk_stop(struct tr_desk *desk);
void tr_desk_free(struct tr_desk *desk);

/* The engine's thread: does what was ordered, and how long it may rest before it does so again. */
void tr_desk_step(struct tr_desk *desk);
uint32_t tr_desk_timeout_ms(const struct tr_desk *desk);

/* The engine, for what never changes in it; and its store's folder. From any thread. */
const struct tr_engine *tr_desk_engine(const struct tr_desk *desk);
const char *tr_desk_folder(const struct tr_desk *desk);

/*
 * The door's thread: has a reader work at a call. Where there is no desk, or too much to do, the
 * call fails.
 */
void tr_desk_take(struct tr_api_call *call, const void *request,
                  void (*work)(struct tr_desk_job *job, const void *request));

/* Answers; the response lies in the job's arena. Whoever works at it does no more with it. */
void tr_desk_answer(struct tr_desk_job *job, const ProtobufCMessage *response);
TR_PRINTF(3, 4)
void tr_desk_fail(struct tr_desk_job *job, enum tr_api_code code, const char *format, ...);

/* The same for an error of reading, or of the arena; 0: false, and nothing is said. */
bool tr_desk_failed(struct tr_desk_job *job, int error);

/* Has the engine's thread carry it out. */
void tr_desk_order(struct tr_desk_job *job,
                   void (*carry_out)(struct tr_desk_job *job, struct tr_live *live));

/* The engine's thread: the engine, and the jobs that it has (next is `before`). */
struct tr_live *tr_desk_live(struct tr_desk *desk);
struct tr_desk_job *tr_desk_at_engine(const struct tr_desk *desk);

/* The engine's thread: hands the answer on; the job is gone. */
void tr_desk_finish(struct tr_desk_job *job);

/*
 * The engine's thread, before a change is ordered: has it written into the audit, beside the change
 * itself. What is answered waits for both, and a refusal is written there, too. `subject` as for
 * tr_api_audit_row. Called again it changes the row. Errors of asking the engine: then the change
 * is not to be made.
 */
TR_MUST_USE int tr_desk_audit(struct tr_desk_job *job, struct tr_text subject);

/* Private: writes why it was refused, if it was in the audit. */
void tri_desk_audit_refusal(struct tr_desk_job *job);

#endif
