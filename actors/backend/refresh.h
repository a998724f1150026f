/*
 * What the files of the refresh actor share: the verbs on its rows (refresh_rows.h). Outside nobody
 * needs more than tr_refresh_behaviour (engine.h) and the messages of schemas/engine/refresh.h.
 *
 * There is one refresh actor for each plugin of the Web API shape and endpoint. It holds a row for
 * each job, and a job is always in exactly one list:
 *
 *     queue   of a group and a verb: it is to be asked for with others
 *     call    it is being asked for
 *     clock   it waits for a time: of those that wait about as long
 *     wait    the endpoint has no free capacity for it (refresh_capacity.c)
 *     none    it has ended and its task was told, or it was invited to ask again
 *
 * tri_refresh_job_settle puts a job that is in none where its stage says. From a queue batches
 * become calls (refresh_queue.c, refresh_call.c), as the endpoint's rate and circuit allow
 * (refresh_rate.c); the plugin reads answers and lines of streams into reports (refresh_batch.c),
 * which change rows and become news (refresh_report.c). Unknown outcomes are reconciled by
 * refresh_reconcile.c.
 *
 * Everything is found in constant time, and one handling does a bounded share of the work: the rest
 * is left to a message to itself.
 */
#ifndef TR_ACTORS_BACKEND_REFRESH_H
#define TR_ACTORS_BACKEND_REFRESH_H

#include "actors/backend/refresh_limits.h"
#include "actors/backend/refresh_rows.h"
#include "actors/graph/document/arena.h"
#include "schemas/engine/refresh.h"
#include "schemas/runtime/http.h"

/* ---------------------------------------------------------- refresh_group.c */

/* The group of a name, made where it is missing; and its name, a view as above. */
TR_MUST_USE int tri_refresh_group_named(struct tri_refresh *refresh, struct tr_text name,
                                        uint32_t *number);
TR_MUST_USE int tri_refresh_group_name(struct tri_refresh *refresh, uint32_t group,
                                       struct tr_text *name);

/* A group (0: none) stays until it is let go of, though no job is in it any more. */
TR_MUST_USE int tri_refresh_group_hold(struct tri_refresh *refresh, uint32_t number);
TR_MUST_USE int tri_refresh_group_let_go(struct tri_refresh *refresh, uint32_t number);

/*
 * Takes away what is left of a group without rows of jobs, unless somebody holds it. One that has
 * heard a stream rests before: the next jobs may come in a moment, and go on from its place.
 */
TR_MUST_USE int tri_refresh_group_try_remove(struct tri_refresh *refresh, uint32_t number);

/*
 * Its stream has left something out, or what it said could not be read; and, after the end of a
 * call or an unknown outcome: perhaps no job is left that it concerns.
 */
void tri_refresh_group_tear(struct tri_group_row *group);
void tri_refresh_group_mend(struct tri_group_row *group);

/* Puts a group at the end of a ring that it is not in, or takes it out of one. */
TR_MUST_USE int tri_refresh_group_enter(struct tri_refresh *refresh, uint32_t number, uint8_t ring);
TR_MUST_USE int tri_refresh_group_leave(struct tri_refresh *refresh, uint32_t number, uint8_t ring);

/* Takes away some of those that have rested long enough; `more` as below. */
TR_MUST_USE int tri_refresh_group_on_rested(struct tri_refresh *refresh, bool *more);

/* ----------------------------------------------------------- refresh_blob.c */

/* Keeps bytes in the place of what `*blob` has kept before; none are 0. TR_LIMIT. */
TR_MUST_USE int tri_refresh_blob_set(struct tri_refresh *refresh, uint32_t *blob,
                                     struct tr_bytes bytes);

/* A view of them where they fit into one page, else a copy from `arena`. 0 gives none. */
TR_MUST_USE int tri_refresh_blob_get(struct tri_refresh *refresh, uint32_t blob,
                                     struct tr_arena *arena, struct tr_bytes *bytes);
/* What is in its first page, as a reader of the rows sees it. */
TR_MUST_USE int tri_refresh_blob_peek(const struct tr_rows *rows, uint32_t blob,
                                      struct tr_bytes *part);
TR_MUST_USE int tri_refresh_blob_size(struct tri_refresh *refresh, uint32_t blob, uint32_t *size);

/* ----------------------------------------------------------- refresh_list.c */

/* Puts a job that is in none at the end of a list, or at its front. */
TR_MUST_USE int tri_refresh_list_add(struct tri_refresh *refresh, uint32_t list_number,
                                     struct tri_list_row *list, uint32_t number, bool at_front);

/* Takes a job out of whichever list it is in; none is fine. */
TR_MUST_USE int tri_refresh_list_remove(struct tri_refresh *refresh, struct tri_job_row *job);

/* A job waits for a time: about `delay_ms` from now. */
TR_MUST_USE int tri_refresh_clock_add(struct tri_refresh *refresh, uint32_t number,
                                      uint64_t delay_ms);

/* A job beside a stream waits for the next sweep, which all jobs of the endpoint share. */
TR_MUST_USE int tri_refresh_clock_add_sweep(struct tri_refresh *refresh, uint32_t number);

/* Looks at some of those whose time has come; `more`: there are others. */
TR_MUST_USE int tri_refresh_clock_go(struct tri_refresh *refresh, bool *more);

/* ---------------------------------------------------------- refresh_queue.c */

/* A job is to be asked for with others of its group. */
TR_MUST_USE int tri_refresh_queue_add(struct tri_refresh *refresh, uint32_t number, uint8_t verb,
                                      bool at_front);

/* A queue may have something to say again: a call of its group has ended. */
TR_MUST_USE int tri_refresh_queue_wake(struct tri_refresh *refresh, uint32_t group, uint8_t verb);

/* Looks at those that wait for more to come. */
TR_MUST_USE int tri_refresh_queue_on_quiet(struct tri_refresh *refresh);

/* Whether anything may be called for now, as far as its batch goes. */
bool tri_refresh_queue_is_ready(const struct tri_refresh *refresh);

/* Makes calls of what is ready, as far as rate and circuit let them leave; `more` as above. */
TR_MUST_USE int tri_refresh_queue_go(struct tri_refresh *refresh, bool *more);

/* Takes away an empty one. */
TR_MUST_USE int tri_refresh_queue_forget(struct tri_refresh *refresh, uint32_t number);

/* The list that a queue is, made where it is missing; the same of a call and of a clock. */
TR_MUST_USE int tri_refresh_list_find(struct tri_refresh *refresh, enum tri_refresh_row kind,
                                      uint64_t first, uint64_t second, bool makes, uint32_t *number,
                                      struct tri_list_row **list);

/* ----------------------------------------------------------- refresh_call.c */

/* Calls for the next batch of a queue. */
TR_MUST_USE int tri_refresh_call_make(struct tri_refresh *refresh, struct tri_list_row *queue);

/* A call of ours was answered, or was not. */
TR_MUST_USE int tri_refresh_call_on_response(struct tri_refresh *refresh,
                                             const struct tr_message *message);
TR_MUST_USE int tri_refresh_call_on_failed(struct tri_refresh *refresh,
                                           const struct tr_message *message);

/* The result of a call: its response class, and a message for people where it is not READ. */
struct tri_call_result {
    uint8_t response_class; /* enum tr_webapi_response_class */
    uint32_t status;
    char what[48]; /* in a word or two: "connect", "503" */
    char words[200];
    uint64_t wait_ms;  /* that the back end asks for */
    uint64_t begin_ms; /* when the call left */
    uint32_t count;    /* of the call's items */
    bool is_stream;
    struct tr_webapi_response response;
};

enum tri_call_kind {
    TRI_CALL_PLAIN,
    TRI_CALL_STREAM,  /* without an end; it is not counted among the calls at once */
    TRI_CALL_PAGE,    /* of a list: a stream with an end */
    TRI_CALL_BACKLOG, /* what a stream has shown so far, as a whole */
};

/* Sends a request of the plugin's. */
TR_MUST_USE int tri_refresh_call_send(struct tri_refresh *refresh,
                                      const struct tr_webapi_request *request,
                                      enum tri_call_kind kind, uint64_t *ask);

/* The functions of a verb; NULL for streams. */
const struct tr_webapi_verb *tri_refresh_verb_of(const struct tr_webapi *webapi, uint8_t verb);

/* ------------------------------------------------------- refresh_classify.c */

void tri_refresh_classify_response(const struct tri_refresh *refresh, uint8_t verb,
                                   const struct tr_http_response *response,
                                   struct tri_call_result *result);
void tri_refresh_classify_failure(int reason, struct tri_call_result *result);

/* What the class means, for people: "the back end refuses this job (400): no such queue". */
struct tr_text tri_refresh_classify_message(const struct tri_call_result *result, const char *begin,
                                            char *room, size_t size);

/* Those that were refused together are tried in halves; so only the bad one fails. */
bool tri_refresh_classify_splits(struct tri_job_row *job, const struct tri_call_result *result);

/* What becomes of a job by the result over the call that it was in. */
TR_MUST_USE int tri_refresh_classify_item(struct tri_refresh *refresh,
                                          const struct tri_list_row *call,
                                          const struct tri_call_result *result, uint32_t number);

/* ----------------------------------------------------------- refresh_rate.c */

/* Whether a call may leave now; else `*when_ms`, 0: when another one has ended. */
bool tri_refresh_rate_allows(const struct tri_refresh *refresh, uint64_t *when_ms);

/* The same for a stream, which no trial is made of. */
bool tri_refresh_rate_allows_stream(struct tri_refresh *refresh, uint64_t *when_ms);

/* Another engine begins: what the last one was refused may be granted to it. */
void tri_refresh_rate_begin(struct tri_refresh *refresh);

/* One leaves; `is_stream`: it is not counted among those at once. */
void tri_refresh_rate_count(struct tri_refresh *refresh, uint64_t ask, bool is_stream);

/* One has ended so. */
void tri_refresh_rate_count_end(struct tri_refresh *refresh, uint64_t ask,
                                const struct tri_call_result *result);

/* Why nothing is called for now, in words; empty: it is. */
struct tr_text tri_refresh_rate_reason(const struct tri_refresh *refresh, char *words, size_t size);

/* How many items a call may have, of those that a verb takes: fewer where that was too much. */
uint32_t tri_refresh_rate_items_max(const struct tri_refresh *refresh, uint32_t items_max);

/* What an endpoint's settings say, or the default. */
uint32_t tri_refresh_rate_jobs_max(const struct tri_refresh *refresh);
uint32_t tri_refresh_rate_interval_ms(const struct tri_refresh *refresh);
uint32_t tri_refresh_rate_timeout_ms(const struct tri_refresh *refresh);
uint32_t tri_refresh_rate_streams_max(const struct tri_refresh *refresh);
uint32_t tri_refresh_rate_lag_ms(const struct tri_refresh *refresh);
uint32_t tri_refresh_rate_lost_ms(const struct tri_refresh *refresh);

/* ---------------------------------------------------------- refresh_batch.c */

/* A batch in the plugin's hands. */
struct tri_refresh_batch {
    struct tr_webapi_batch side; /* what the plugin sees; stays first */
    struct tri_refresh *refresh;
    struct tri_group_row *stream; /* of lines: whose they are */
    uint8_t verb;                 /* enum tr_webapi_verb_number */
    bool is_backlog;  /* its jobs are looked for by what their group's stream has shown so far */
    bool begins_anew; /* the plugin has said so */
    struct tr_arena arena;
    int error; /* of ours, while a plugin's function ran */
};

/* Begins one; a call's items are added with tri_refresh_batch_fill. */
TR_MUST_USE int tri_refresh_batch_init(struct tri_refresh_batch *batch, struct tri_refresh *refresh,
                                       uint8_t verb, uint32_t group);
void tri_refresh_batch_fini(struct tri_refresh_batch *batch);

/* The first `count` jobs of a list are its items; `with_jobs`: their bodies, too. */
TR_MUST_USE int tri_refresh_batch_fill(struct tri_refresh_batch *batch,
                                       const struct tri_list_row *list, uint32_t count,
                                       bool with_jobs);

/* --------------------------------------------------------- refresh_report.c */

/* Takes what a verb's answer says of a job. */
TR_MUST_USE int tri_refresh_report_take(struct tri_refresh *refresh, uint8_t verb,
                                        const struct tr_webapi_report *report);

/* Another stage, which its task hears of with the reason. */
TR_MUST_USE int tri_refresh_job_go(struct tri_refresh *refresh, struct tri_job_row *job,
                                   uint8_t stage, struct tr_text reason);

/* It has ended: told, and kept until its task is done with it. */
TR_MUST_USE int tri_refresh_job_end(struct tri_refresh *refresh, uint32_t number,
                                    struct tri_job_row *job, const struct tr_refresh_news *end);

/* One that has failed ended as it was kept; what `failures` has said is among it. */
TR_MUST_USE int tri_refresh_job_end_explained(struct tri_refresh *refresh, uint32_t number,
                                              struct tri_job_row *job);

/* It was made, whether its handle is known or not; `verb`: how that was heard. */
TR_MUST_USE int tri_refresh_job_made(struct tri_refresh *refresh, uint8_t verb, uint32_t number,
                                     struct tri_job_row *job);

/* Tells its task why it waits, unless that was told last. */
TR_MUST_USE int tri_refresh_job_waits(struct tri_refresh *refresh, struct tri_job_row *job,
                                      struct tr_text why, struct tr_text reason);

/* Tells its task all that is known, once more. */
TR_MUST_USE int tri_refresh_job_tell(struct tri_refresh *refresh, struct tri_job_row *job);

/* Keeps an end, to be told, or to be told again. TR_LIMIT: there is no room for more of them. */
TR_MUST_USE int tri_refresh_job_keep_end(struct tri_refresh *refresh, struct tri_job_row *job,
                                         const struct tr_refresh_news *end);

/* A failure as an end. */
struct tr_refresh_news tri_refresh_job_failure(uint8_t phase, const char *code,
                                               struct tr_text message);

/* ---------------------------------------------------------- refresh_grace.c */

/* Takes the grace that a report gives a job, or takes it away. */
TR_MUST_USE int tri_refresh_grace_take(struct tri_refresh *refresh, struct tri_job_row *job,
                                       const struct tr_webapi_report *report);

/* The same of a part of a job, which has a name (report->place). */
TR_MUST_USE int tri_refresh_grace_take_part(struct tri_refresh *refresh, struct tri_job_row *job,
                                            const struct tr_webapi_report *report);

/* Of a job that cannot be made for now: whether its grace is over, which begins if it has not. */
bool tri_refresh_grace_is_over(const struct tri_refresh *refresh, struct tri_job_row *job,
                               const struct tr_webapi_report *report);

/* How much is left of a job's grace; false: it has none. And it is over. */
bool tri_refresh_grace_left(const struct tri_refresh *refresh, const struct tri_job_row *job,
                            uint64_t *left_ms);
TR_MUST_USE int tri_refresh_grace_on_over(struct tri_refresh *refresh, uint32_t number,
                                          struct tri_job_row *job);

/* ----------------------------------------------------------- refresh_gate.c */

/* Whether a job that is to be made has to wait at the gate of its scope; and has it wait there. */
TR_MUST_USE int tri_refresh_gate_holds(struct tri_refresh *refresh, const struct tri_job_row *job,
                                       bool *holds);
TR_MUST_USE int tri_refresh_gate_enter(struct tri_refresh *refresh, uint32_t number,
                                       struct tri_job_row *job, bool at_front);

/* A job was refused for want of room; one was made; one has ended, and still has its stage. */
TR_MUST_USE int tri_refresh_gate_close(struct tri_refresh *refresh, uint32_t number,
                                       struct tri_job_row *job);
TR_MUST_USE int tri_refresh_gate_on_made(struct tri_refresh *refresh, uint32_t number,
                                         const struct tri_job_row *job);
TR_MUST_USE int tri_refresh_gate_on_end(struct tri_refresh *refresh, uint32_t number,
                                        const struct tri_job_row *job);

/* ------------------------------------------------------- refresh_capacity.c */

/* Gives back the capacity of a job: it was invited and asks again, or it has ended. */
void tri_refresh_capacity_release(struct tri_refresh *refresh, const struct tri_job_row *job);

/* How many jobs wait; and whether one more would be taken at once. */
TR_MUST_USE int tri_refresh_capacity_waiting(struct tri_refresh *refresh, uint32_t *count);
TR_MUST_USE int tri_refresh_capacity_is_free(struct tri_refresh *refresh, bool *has);

/* Queues a job that is in no list; or refuses a task, which has to ask again later. */
TR_MUST_USE int tri_refresh_capacity_wait(struct tri_refresh *refresh, uint32_t number,
                                          struct tri_job_row *job);
TR_MUST_USE int tri_refresh_capacity_refuse(struct tri_refresh *refresh, struct tr_ref asker,
                                            struct tr_text identity);

/* Ends a job that waits or was invited, if it is to be ended: it was never made. */
TR_MUST_USE int tri_refresh_capacity_settle(struct tri_refresh *refresh, uint32_t number,
                                            struct tri_job_row *job);

/* Invites the first jobs that wait, as far as capacity is free. */
TR_MUST_USE int tri_refresh_capacity_invite(struct tri_refresh *refresh);

/* ------------------------------------------------------------ refresh_job.c */

/*
 * Whether a time was in this life of the engine. Clocks may be set between two lives, so what was
 * before this one is compared with nothing; and a job's `since_ms`, as far as it lasts.
 */
bool tri_refresh_is_of_this_life(const struct tri_refresh *refresh, uint64_t at_ms);
uint64_t tri_refresh_job_since_ms(const struct tri_refresh *refresh, const struct tri_job_row *job);

/* Puts a job that is in no list where its stage says. */
TR_MUST_USE int tri_refresh_job_settle(struct tri_refresh *refresh, uint32_t number,
                                       struct tri_job_row *job);

/* Whether it is in a call; and takes it out of its list where it is not. */
TR_MUST_USE int tri_refresh_job_is_called(struct tri_refresh *refresh,
                                          const struct tri_job_row *job, bool *is_called);
TR_MUST_USE int tri_refresh_job_free(struct tri_refresh *refresh, struct tri_job_row *job);

/* It was asked about, and answered or not; and the back end says that there is no such job. */
TR_MUST_USE int tri_refresh_job_asked(struct tri_refresh *refresh, uint32_t number,
                                      struct tri_job_row *job, bool was_answered);
TR_MUST_USE int tri_refresh_job_absent(struct tri_refresh *refresh, uint8_t verb,
                                       struct tri_job_row *job, uint32_t number);

/* Its time has come. */
TR_MUST_USE int tri_refresh_job_on_time(struct tri_refresh *refresh, uint32_t number,
                                        struct tri_job_row *job);

/* It waits for the next time that it is asked about, or tried again. */
TR_MUST_USE int tri_refresh_job_wait_poll(struct tri_refresh *refresh, uint32_t number,
                                          struct tri_job_row *job);
TR_MUST_USE int tri_refresh_job_wait_again(struct tri_refresh *refresh, uint32_t number,
                                           struct tri_job_row *job);

/* ------------------------------------------------------------ refresh_end.c */

/* From now on a job is to be ended; and whether that is so of one that is there. */
TR_MUST_USE int tri_refresh_end_want(struct tri_refresh *refresh, struct tri_job_row *job);
bool tri_refresh_end_is_wanted(const struct tri_job_row *job);

/* It is to be ended, or needs nobody any more. */
TR_MUST_USE int tri_refresh_job_cancel(struct tri_refresh *refresh, uint32_t number,
                                       struct tri_job_row *job);
TR_MUST_USE int tri_refresh_job_leave(struct tri_refresh *refresh, uint32_t number,
                                      struct tri_job_row *job, bool is_down);

/* It goes on without this actor: it is neither ended nor looked for. */
TR_MUST_USE int tri_refresh_job_forget(struct tri_refresh *refresh, uint32_t number,
                                       struct tri_job_row *job);

/* It was to be ended, and was not: kept for people to see, until it is heard, or has ended. */
TR_MUST_USE int tri_refresh_end_refused(struct tri_refresh *refresh, struct tri_job_row *job,
                                        struct tr_text words);
void tri_refresh_end_heard(struct tri_refresh *refresh, struct tri_job_row *job);

/* One call leaves that tells all jobs of a group to end. */
TR_MUST_USE int tri_refresh_end_told(struct tri_refresh *refresh, uint32_t group);

/* Whether it is time to tell one again that was told; and when that is, of one told `since_ms`. */
TR_MUST_USE int tri_refresh_end_is_due(struct tri_refresh *refresh, const struct tri_job_row *job,
                                       bool *is_due);
uint64_t tri_refresh_end_again_ms(const struct tri_group_row *group, uint64_t since_ms);

/* What becomes of one by the result over the call that was to end it. */
TR_MUST_USE int tri_refresh_end_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                                     const struct tri_call_result *result, uint32_t number,
                                     struct tri_job_row *job);

/* ------------------------------------------------------ refresh_reconcile.c */

/* A job gets an unknown outcome: from now on it is reconciled. `why` is for people. */
TR_MUST_USE int tri_refresh_reconcile_begin(struct tri_refresh *refresh, uint32_t number,
                                            struct tri_job_row *job, struct tr_text why);

/* How many jobs one call may look for together with this one; 0: as many as fit. */
uint16_t tri_refresh_reconcile_batch_max(const struct tri_refresh *refresh,
                                         const struct tri_job_row *job);

/* Before a job goes to `stage`: its group counts those of unknown outcome. */
TR_MUST_USE int tri_refresh_reconcile_count(struct tri_refresh *refresh,
                                            const struct tri_job_row *job, uint8_t stage);

/* Puts a job of unknown outcome where it waits; and goes on with it when its time has come. */
TR_MUST_USE int tri_refresh_reconcile_settle(struct tri_refresh *refresh, uint32_t number,
                                             struct tri_job_row *job);
TR_MUST_USE int tri_refresh_reconcile_on_time(struct tri_refresh *refresh, uint32_t number,
                                              struct tri_job_row *job);

/* When the back end has shown all there is of a job, the lag after `since_ms`. */
uint64_t tri_refresh_job_lag_over_ms(const struct tri_refresh *refresh,
                                     const struct tri_job_row *job);

/* A look that was asked for at `asked_ms` has not shown the job. 0: nobody has answered. */
TR_MUST_USE int tri_refresh_reconcile_unfound(struct tri_refresh *refresh, uint32_t number,
                                              struct tri_job_row *job, uint64_t asked_ms);

/* Removes a job whose task is done with it, or keeps it as a tombstone for a while. */
TR_MUST_USE int tri_refresh_tombstone_settle(struct tri_refresh *refresh, uint32_t number,
                                             struct tri_job_row *job);

/* Nobody answered the look for a tombstone: it is looked for once more. */
TR_MUST_USE int tri_refresh_tombstone_look_again(struct tri_refresh *refresh, uint32_t number);

/* Whether many jobs of a queue are looked for by one call, and not each with its own. */
TR_MUST_USE int tri_refresh_backlog_serves(struct tri_refresh *refresh,
                                           const struct tri_list_row *queue, bool *serves);

/* The plugin's request for it, and what it reads from the answer. Errors are the plugin's. */
int tri_refresh_backlog_write(struct tri_refresh_batch *batch, uint32_t group,
                              struct tr_webapi_request *request);
int tri_refresh_backlog_read(struct tri_refresh_batch *batch, struct tr_bytes body);

/* --------------------------------------------------------- refresh_stream.c */

/* A group would like a stream, as soon as there is room for one. */
TR_MUST_USE int tri_refresh_stream_want(struct tri_refresh *refresh, uint32_t group);

/* Opens some of those that are wanted; `more` as above. */
TR_MUST_USE int tri_refresh_stream_go(struct tri_refresh *refresh, bool *more);

/* A part of one; and it has ended. */
TR_MUST_USE int tri_refresh_stream_on_part(struct tri_refresh *refresh,
                                           const struct tr_message *message);
TR_MUST_USE int tri_refresh_stream_on_end(struct tri_refresh *refresh, uint32_t number,
                                          struct tri_list_row *call,
                                          const struct tri_call_result *result);

/* Nobody needs a group's stream any more. */
TR_MUST_USE int tri_refresh_stream_close(struct tri_refresh *refresh, uint32_t number);

/* The same, and asks for it again from where it was. */
TR_MUST_USE int tri_refresh_stream_open_anew(struct tri_refresh *refresh, uint32_t group);

/* Looks at the next rows of a sweep, which asks about jobs whose news may have been missed. */
TR_MUST_USE int tri_refresh_stream_sweep(struct tri_refresh *refresh, bool *more);

/* Whether a group's jobs are heard of by a stream. */
TR_MUST_USE int tri_refresh_stream_serves(struct tri_refresh *refresh, uint32_t group,
                                          bool *serves);

/* The same, or it is about to have one. */
TR_MUST_USE int tri_refresh_stream_is_near(struct tri_refresh *refresh, uint32_t group,
                                           bool *is_near);

/* ---------------------------------------------------------- refresh_scope.c */

/*
 * The row whose stream shows the jobs of a group: its own, or in the watched shape that of its
 * scope, which it enters by that. 0: no stream does.
 */
TR_MUST_USE int tri_refresh_scope_of(struct tri_refresh *refresh, uint32_t group, uint32_t *number);

/* A group goes, and leaves its scope. */
TR_MUST_USE int tri_refresh_scope_leave(struct tri_refresh *refresh, struct tri_group_row *group);

/*
 * Whether what a stream is asked for next is a list, which begins by that: a page of it, or, where
 * scope->is_begun says so, a watch that begins with it.
 */
bool tri_refresh_scope_begins(const struct tri_refresh *refresh, struct tri_group_row *scope);

/* The watch of a scope has shown all there is, and goes on. */
void tri_refresh_scope_caught_up(struct tri_refresh *refresh, struct tri_group_row *scope);

/* Its cursor is not known any more: the next thing is a list. */
TR_MUST_USE int tri_refresh_scope_begin_anew(struct tri_refresh *refresh,
                                             struct tri_group_row *scope);

/* A page or a watch has ended; `is_prompt`: what comes next need not wait. */
TR_MUST_USE int tri_refresh_scope_on_end(struct tri_refresh *refresh, uint32_t number,
                                         struct tri_group_row *scope,
                                         const struct tri_call_result *result, bool is_refused,
                                         bool *is_prompt);

/*
 * How the scopes stand that have a stream or want one, for people: `watches` and `lists` are open,
 * `cursor` (a blob; 0: none) is where that with the most jobs goes on from, and `gates` have no
 * room for the `gated` jobs that wait at them.
 */
struct tri_scope_summary {
    uint32_t watches;
    uint32_t lists;
    uint32_t jobs; /* of the scope of that cursor */
    uint32_t cursor;
    uint32_t gates;
    uint32_t gated;
};
TR_MUST_USE int tri_refresh_scope_summary(struct tri_refresh *refresh,
                                          struct tri_scope_summary *summary);

/* Of a walk over all rows: ends a job that is missing in the last list of its scope. */
TR_MUST_USE int tri_refresh_scope_check(struct tri_refresh *refresh, uint32_t number,
                                        struct tri_job_row *job);

/* Whether the watch of its scope has been open for so long that it has shown a job, if ever. */
TR_MUST_USE int tri_refresh_scope_has_shown(struct tri_refresh *refresh,
                                            const struct tri_job_row *job, bool *has_shown);

/* Until when its watch would have shown a job of unknown outcome; 0: it may still show it. */
TR_MUST_USE int tri_refresh_scope_seen(struct tri_refresh *refresh, const struct tri_job_row *job,
                                       uint64_t *asked_ms);

/* --------------------------------------------------------- refresh_orphan.c */

/* A job is shown that no row here claims: from now on one does, for a while. */
TR_MUST_USE int tri_refresh_orphan_add(struct tri_refresh *refresh,
                                       const struct tr_webapi_report *report);

/* Somebody asks for an identity: it is that of no orphan any more. */
TR_MUST_USE int tri_refresh_orphan_claim(struct tri_refresh *refresh, struct tr_text identity);

/* The task of a job goes on in another store. */
TR_MUST_USE int tri_refresh_orphan_leave(struct tri_refresh *refresh, uint32_t number,
                                         struct tri_job_row *job);

/* Of a job of the stage NEW: puts it where it waits; its time has come; something is heard of it;
 * a list does not have it. */
TR_MUST_USE int tri_refresh_orphan_settle(struct tri_refresh *refresh, uint32_t number,
                                          struct tri_job_row *job);
TR_MUST_USE int tri_refresh_orphan_on_time(struct tri_refresh *refresh, uint32_t number,
                                           struct tri_job_row *job);
TR_MUST_USE int tri_refresh_orphan_heard(struct tri_refresh *refresh, uint32_t number,
                                         struct tri_job_row *job,
                                         const struct tr_webapi_report *report);
TR_MUST_USE int tri_refresh_orphan_missing(struct tri_refresh *refresh, uint32_t number,
                                           struct tri_job_row *job);

/* ----------------------------------------------------------- refresh_idle.c */

/* A group's stream has begun, or has a job more: from now on it is listened for. */
TR_MUST_USE int tri_refresh_idle_begin(struct tri_refresh *refresh,
                                       const struct tri_group_row *group);

/* After a call: where the back end answers again, idle streams are looked at soon. */
TR_MUST_USE int tri_refresh_idle_recovered(struct tri_refresh *refresh);

/* Opens those anew that have been idle for too long. */
TR_MUST_USE int tri_refresh_idle_on_time(struct tri_refresh *refresh);

/* The actor's timers. */
enum tri_refresh_timer {
    TRI_REFRESH_CLOCK_TIMER = 1,
    TRI_REFRESH_READY_TIMER,
    TRI_REFRESH_QUIET_TIMER,
    TRI_REFRESH_WANTING_TIMER,
    TRI_REFRESH_RECORD_TIMER,
    TRI_REFRESH_RESTING_TIMER,
    TRI_REFRESH_IDLE_TIMER
};

#endif
