/*
 * What the files of the refresh actor share: its rows, one handling of one message, and the verbs
 * on them. Outside nobody needs more than tr_refresh_behaviour (engine.h) and the messages of
 * schemas/refresh.h.
 *
 * There is one refresh actor for each plugin of the Web API shape and endpoint. It holds a row for
 * each job, and a job is always in exactly one list:
 *
 *     queue   of a group and a verb: it is to be asked for with others
 *     call    it is being asked for
 *     clock   it waits for a time: of those that wait about as long
 *     none    it has ended, and its task was told
 *
 * tri_job_settle puts a job that is in none where its stage says. From a queue batches become calls
 * (refresh_queue.c, refresh_call.c), as the endpoint's rate and circuit allow (refresh_rate.c); the
 * plugin reads answers and lines of streams into reports (refresh_batch.c), which change rows and
 * become news (refresh_report.c). What may have been made is refresh_doubt.c's.
 *
 * Everything is found in constant time, and one handling does a bounded share of the work: the rest
 * is left to a message to itself.
 */
#ifndef TR_ACTORS_REFRESH_H
#define TR_ACTORS_REFRESH_H

#include "actors/engine.h"
#include "actors/graph/arena.h"
#include "actors/index.h"
#include "actors/task_name.h"
#include "actors/watch.h"
#include "schemas/http.h"
#include "schemas/refresh.h"
#include "schemas/state_refresh.h"

/*
 * Jobs of one endpoint, groups and lists among them: more are refused with words. Of those that
 * wait to be made there are about 32,000 at most, since the body of each takes a page or more.
 */
#define TR_REFRESH_JOBS_MAX 100000

/* Tasks that are watched at once (actors/watch.h): at each commit they cost 20 bytes each. */
#define TR_REFRESH_WATCHES_MAX 1000

/*
 * A partial batch leaves when nothing came for so long, and somewhat more for each job in it up to
 * a bound, which is also the time behind a full batch; at the latest so long after its first, and
 * somewhat more for each job: who comes a hundred a second fills it.
 */
#define TR_REFRESH_QUIET_MS 10
#define TR_REFRESH_QUIET_JOB_MS 2
#define TR_REFRESH_QUIET_WIDE_MS 200
#define TR_REFRESH_QUIET_MS_MAX 500
#define TR_REFRESH_QUIET_JOB_MS_MAX 10

/* While jobs of its group are looked for, one that makes jobs waits so long for those not made. */
#define TR_REFRESH_GATHER_MS 1000

/* What a group's stream has shown so far, asked for once for many jobs in doubt, may take. */
#define TR_REFRESH_SO_FAR_BYTES_MAX (1U << 20)

/* Of a call that left longer ago a stream may show nothing any more. */
#define TR_REFRESH_UNHEARD_MS 86400000

/* Jobs of which one call ends a whole group, or looks for them, and the bodies that one call makes jobs of. */
#define TR_REFRESH_WHOLE_MAX 5000
#define TR_REFRESH_BATCH_BYTES_MAX (384U << 10)

/* How often jobs are asked about whose group has a stream. */
#define TR_REFRESH_SWEEP_MS 60000

/* A job that was to be ended and has not: it is asked for again. */
#define TR_REFRESH_CANCEL_AGAIN_MS 300000

/* An actor that does what was due so much later has not heard all that was said to it. */
#define TR_REFRESH_LATE_MS 100

/* A circuit opens at so many failures in a row, for so long, doubled up to a bound. */
#define TR_REFRESH_FAILURES_MAX 5
#define TR_REFRESH_CIRCUIT_MS 1000
#define TR_REFRESH_CIRCUIT_MS_MAX 60000

/*
 * A back end that wants fewer calls and does not say when is left alone for so long, twice that
 * when it says so again, up to a bound; at the fourth time in a row calls have half their items,
 * twice as many again each second that it is content, and soon all.
 */
#define TR_REFRESH_HOLD_MS 250
#define TR_REFRESH_HOLD_MS_MAX 8000
#define TR_REFRESH_THROTTLES_MAX 4
#define TR_REFRESH_FEWER_MS 5000
#define TR_REFRESH_ITEMS_MIN 10 /* of so few it was not too much */

/* While other calls wait, one in so many looks for jobs in doubt. */
#define TR_REFRESH_FIND_SHARE 4

/* Of doubts: how often is asked at most and at least. Of tries that are certain: the first wait. */
#define TR_REFRESH_FIND_MS_MIN 1000
#define TR_REFRESH_FIND_MS_MAX 10000
#define TR_REFRESH_AGAIN_MS 1000
#define TR_REFRESH_AGAIN_MS_MAX 60000

/* Streams are asked for again after so long, doubled up to a bound. */
#define TR_REFRESH_STREAM_MS 1000
#define TR_REFRESH_STREAM_MS_MAX 30000

/*
 * A stream of jobs that says nothing for so long may be dead: it is opened anew, and that after
 * twice the time where it says nothing again. Where the back end did not answer meanwhile it has
 * the shorter time from when that does again.
 */
#define TR_REFRESH_SILENT_MS 20000
#define TR_REFRESH_SILENT_MS_MAX 160000
#define TR_REFRESH_SILENT_MENDED_MS 2000

/* Where all streams are taken, a group gets that of one with far less need of it, if that is old. */
#define TR_REFRESH_STREAM_SHARE 4
#define TR_REFRESH_STREAM_HELD_MS 10000

/* A group without jobs keeps its stream and its place for a while; so many do, the latest ones. */
#define TR_REFRESH_REST_MS 60000
#define TR_REFRESH_RESTING_MAX 256

/* How often the record for people is written at most. */
#define TR_REFRESH_RECORD_MS 1000

/*
 * Where things lie in the pages, which they share (rows.h): of each 16 pages one has buckets of
 * rows, 4 have rows, of which there is room for more than twice as many as are admitted, one the
 * index of handles and owners, and 10 bytes of jobs and groups. So an endpoint with little to do
 * has few pages, and all of them at the beginning.
 */
#define TRI_REFRESH_PERIOD 16U
#define TRI_REFRESH_STRIPE(page, count) \
    ((struct tr_stripe){.first = (page), .width = (count), .period = TRI_REFRESH_PERIOD})
#define TRI_REFRESH_BUCKETS TRI_REFRESH_STRIPE(0, 1)
#define TRI_REFRESH_ROWS TRI_REFRESH_STRIPE(1, 4)
#define TRI_REFRESH_INDEX_PAGE 5U
#define TRI_REFRESH_INDEX_PAGES (TR_PAGES_MAX / TRI_REFRESH_PERIOD)
#define TRI_REFRESH_BLOBS TRI_REFRESH_STRIPE(6, 10)
#define TRI_REFRESH_BLOB_PAGES (TR_PAGES_MAX / TRI_REFRESH_PERIOD * 10)

/* Of the pages for bytes so many are for ends and handles: what is to be made leaves them free. */
#define TRI_REFRESH_BLOB_PAGES_FREE 8192U

/* A row of the table. */
#define TRI_REFRESH_ROW_BYTES 256

enum tri_refresh_row {
    TRI_REFRESH_JOB = 1, /* by its identity */
    TRI_REFRESH_STRAY,   /* a job too many, by its handle: it is ended, and nobody hears of it */
    TRI_REFRESH_GROUP,
    TRI_REFRESH_QUEUE,
    TRI_REFRESH_CALL,
    TRI_REFRESH_CLOCK
};

/* What is so of a job. */
enum tri_job_mark {
    TRI_JOB_ENDING = 1 << 0,   /* it is to be ended */
    TRI_JOB_DOUBTED = 1 << 1,  /* nobody could say once whether it was made */
    TRI_JOB_MADE = 1 << 2,     /* it was certainly made once */
    TRI_JOB_TOMB = 1 << 3,     /* its task is done with it; what turns up late is still ended */
    TRI_JOB_EXPLAINS = 1 << 4, /* it has failed, and why is to be asked for before that is told */
    TRI_JOB_STRAY = 1 << 5,
    TRI_JOB_STREAMED = 1 << 6,   /* it was asked about while its group had a stream */
    TRI_JOB_REPORTED = 1 << 7,   /* the call under way has said something of it */
    TRI_JOB_FOUND_NEWS = 1 << 8, /* and that was something new */
    TRI_JOB_REPEATED = 1 << 9,   /* it is made by the policy, perhaps a second time */
    TRI_JOB_UNSEEN = 1 << 10,    /* the last answer about it did not show it */
    TRI_JOB_UNHEARD = 1 << 11,   /* its group's stream may have shown it before it was known here */
};

/* Handles up to this size are in the row; longer ones are blobs. */
#define TRI_JOB_HANDLE_NEAR 28
#define TRI_JOB_HANDLE_FAR 255

struct tri_job_row {
    struct tr_watched watched; /* its task; serial 0: nobody's */
    uint64_t due_ms;           /* in a clock's list */
    uint64_t order;            /* of the last report that had one */
    uint64_t since_ms;         /* since when it is made, in doubt, to be ended, or unseen */
    uint32_t list;             /* the row of the list it is in; 0: none */
    uint32_t next;
    uint32_t previous;
    uint32_t group;
    uint32_t blob; /* what create is to be called with; once it was made, why it could not be ended
                      (struct tri_refusal); once it has ended, what was told */
    uint32_t version;   /* of its news */
    uint16_t marks;     /* enum tri_job_mark */
    uint16_t told;      /* a hash of the words told last */
    uint16_t batch_max; /* it is asked for with at most so many; 0: as many as fit */
    uint8_t stage;      /* enum tr_webapi_stage */
    uint8_t phase;      /* enum tr_task_phase */
    uint8_t policy;     /* enum tr_webapi_policy */
    uint8_t level;      /* how often its interval was doubled; of tries: how many */
    uint8_t identity_size;
    uint8_t handle_size; /* TRI_JOB_HANDLE_FAR: the text is a blob's number */
    char identity_text[TR_TASK_NAME_BYTES_MAX];
    char handle_text[TRI_JOB_HANDLE_NEAR];
};

/* Rings of groups. */
enum tri_group_ring {
    TRI_GROUPS_WANTING,   /* a stream */
    TRI_GROUPS_STREAMING, /* those that have one */
    TRI_GROUPS_RESTING,   /* without jobs, for a while; the first is the first to go */
    TRI_GROUPS_RINGS
};

struct tri_group_links {
    uint32_t next; /* 0: it is not in this ring */
    uint32_t previous;
};

/* A blob: how often a back end has not ended a job that was to end, and its words the last time. */
struct tri_refusal {
    uint32_t times;
    char words[];
};

struct tri_group_row {
    struct tr_rows_head head;
    uint64_t stream_ms; /* since when its stream is open; or when it is asked for again */
    uint32_t name;      /* a blob; 0: the empty name */
    uint32_t cursor;    /* a blob: where the stream goes on from */
    uint32_t rows;      /* of jobs, all that there are */
    uint32_t jobs;      /* of these, those that have not ended */
    uint32_t strays;    /* of these, those too many */
    uint32_t creates;   /* calls under way that make jobs */
    uint32_t stream;    /* the row of its call; 0: none is under way */
    uint32_t holds;     /* who needs the row although no job may be in it */
    uint32_t wait_ms;   /* before the next try */
    uint32_t gap; /* the sweep that asks about all its jobs: its stream may have left some out */
    struct tri_group_links links[TRI_GROUPS_RINGS];
    uint64_t rest_ms;   /* when it goes, where it rests */
    uint64_t heard_ms;  /* when its stream said something last; 0: it never has */
    uint32_t silent_ms; /* how long the next stream may say nothing; 0: as long as any */
    uint32_t doubts;    /* of its jobs, those in doubt */
    uint64_t made_ms;   /* when it had a job more, of which something is to be heard */
};

enum tri_list_ring { TRI_RING_NONE, TRI_RING_READY, TRI_RING_QUIET, TRI_RING_FIND };

/* A queue, a call under way, or a clock's list. */
struct tri_list_row {
    struct tr_rows_head head;
    uint64_t first_ms;  /* when the first of those that wait came; of a call: when it left */
    uint64_t newest_ms; /* when the last one did */
    uint64_t bytes;     /* of the bodies in it */
    uint64_t ask;       /* of a call */
    uint32_t group;
    uint32_t first;
    uint32_t last;
    uint32_t count;
    uint32_t next; /* in its ring */
    uint32_t previous;
    uint8_t kind;     /* enum tri_refresh_row */
    uint8_t verb;     /* enum tr_webapi_verb_number; of a clock its number */
    uint8_t ring;     /* enum tri_list_ring */
    bool is_whole;    /* a call of cancel for a whole group, or of find by what its stream shows */
    uint64_t full_ms; /* of a queue: when its last full batch left */
};

union tri_refresh_any {
    struct tri_job_row job;
    struct tri_group_row group;
    struct tri_list_row list;
    uint8_t room[TRI_REFRESH_ROW_BYTES];
};

/* Rows lie on disks. */
_Static_assert(sizeof(union tri_refresh_any) == TRI_REFRESH_ROW_BYTES, "rows keep their size");

/* One handling. */
struct tri_refresh {
    struct tr_context *context;
    struct tr_refresh_state *state;
    struct tr_rows rows;
    struct tr_watch watch;
    struct tr_index index;
    const struct tr_engine_endpoint *place; /* NULL: the settings do not have it any more */
    const struct tr_webapi *webapi;
    const struct tr_plugin *plugin; /* NULL: this engine does not have it */
    bool is_aside;                  /* the plugin is in quarantine: nothing of it is called */
    bool has_recorded;              /* the record for people was written in this handling */
    bool is_late;                   /* what was due is done late: more may wait to be heard */
    uint64_t now_ms;
};

/* ------------------------------------------------------------ refresh_rows.c */

TR_MUST_USE int tri_job_edit(struct tri_refresh *refresh, uint32_t number,
                             struct tri_job_row **job);
TR_MUST_USE int tri_group_edit(struct tri_refresh *refresh, uint32_t number,
                               struct tri_group_row **group);
TR_MUST_USE int tri_list_edit(struct tri_refresh *refresh, uint32_t number,
                              struct tri_list_row **list);

/* The job of an identity; TR_NOT_FOUND. */
TR_MUST_USE int tri_job_find(struct tri_refresh *refresh, struct tr_text identity,
                             uint32_t *number);

/* The job, or stray, that has this handle; the job that a task has. TR_NOT_FOUND. */
TR_MUST_USE int tri_job_by_handle(struct tri_refresh *refresh, struct tr_text handle,
                                  uint32_t *number);
TR_MUST_USE int tri_job_by_owner(struct tri_refresh *refresh, struct tr_key owner,
                                 uint32_t *number);

/* A new job of a group, which is made where it is missing. TR_LIMIT: there is no room for it. */
TR_MUST_USE int tri_job_add(struct tri_refresh *refresh, struct tr_text identity,
                            struct tr_text group, uint32_t *number, struct tri_job_row **job);

/* A job too many, with the identity of another one. */
TR_MUST_USE int tri_stray_add(struct tri_refresh *refresh, const struct tri_job_row *of,
                              struct tr_text handle, uint32_t *number);

/* Takes away a job that is in no list; its group has nobody then, perhaps. */
TR_MUST_USE int tri_job_remove(struct tri_refresh *refresh, uint32_t number,
                               struct tri_job_row *job);

/* Gives a job its handle, by which it is found from then on. */
TR_MUST_USE int tri_job_set_handle(struct tri_refresh *refresh, uint32_t number,
                                   struct tri_job_row *job, struct tr_text handle);

/* Views: of the row, or of a page, which live as long as the handler. */
struct tr_text tri_job_identity(const struct tri_job_row *job);
TR_MUST_USE int tri_job_handle(struct tri_refresh *refresh, const struct tri_job_row *job,
                               struct tr_text *handle);

/* Another owner, who is heard of; serial 0: nobody. */
TR_MUST_USE int tri_job_own(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                            struct tr_ref owner, bool is_down);

/* ---------------------------------------------------------- refresh_group.c */

/* The group of a name, made where it is missing; and its name, a view as above. */
TR_MUST_USE int tri_group_named(struct tri_refresh *refresh, struct tr_text name, uint32_t *number);
TR_MUST_USE int tri_group_name(struct tri_refresh *refresh, uint32_t group, struct tr_text *name);

/* A group (0: none) stays until it is let go of, though no job is in it any more. */
TR_MUST_USE int tri_group_hold(struct tri_refresh *refresh, uint32_t number);
TR_MUST_USE int tri_group_let_go(struct tri_refresh *refresh, uint32_t number);

/*
 * Takes away what is left of a group without rows of jobs, unless somebody holds it. One that has
 * heard a stream rests before: the next jobs may come in a moment, and go on from its place.
 */
TR_MUST_USE int tri_group_try_remove(struct tri_refresh *refresh, uint32_t number);

/* Puts a group at the end of a ring that it is not in, or takes it out of one. */
TR_MUST_USE int tri_group_enter(struct tri_refresh *refresh, uint32_t number, uint8_t ring);
TR_MUST_USE int tri_group_leave(struct tri_refresh *refresh, uint32_t number, uint8_t ring);

/* Takes away some of those that have rested long enough; `more` as below. */
TR_MUST_USE int tri_group_on_rested(struct tri_refresh *refresh, bool *more);

/* ----------------------------------------------------------- refresh_blob.c */

/* Keeps bytes in the place of what `*blob` has kept before; none are 0. TR_LIMIT. */
TR_MUST_USE int tri_blob_set(struct tri_refresh *refresh, uint32_t *blob, struct tr_bytes bytes);

/* A view of them where they fit into one page, else a copy from `arena`. 0 gives none. */
TR_MUST_USE int tri_blob_get(struct tri_refresh *refresh, uint32_t blob, struct tr_arena *arena,
                             struct tr_bytes *bytes);
/* What is in its first page, as a reader of the rows sees it. */
TR_MUST_USE int tri_blob_peek(const struct tr_rows *rows, uint32_t blob, struct tr_bytes *part);
TR_MUST_USE int tri_blob_size(struct tri_refresh *refresh, uint32_t blob, uint32_t *size);

/* ----------------------------------------------------------- refresh_list.c */

/* Puts a job that is in none at the end of a list, or at its front. */
TR_MUST_USE int tri_list_add(struct tri_refresh *refresh, uint32_t list_number,
                             struct tri_list_row *list, uint32_t number, bool at_front);

/* Takes a job out of whichever list it is in; none is fine. */
TR_MUST_USE int tri_list_remove(struct tri_refresh *refresh, struct tri_job_row *job);

/* A job waits for a time: about `delay_ms` from now. */
TR_MUST_USE int tri_clock_add(struct tri_refresh *refresh, uint32_t number, uint64_t delay_ms);

/* Looks at some of those whose time has come; `more`: there are others. */
TR_MUST_USE int tri_clock_go(struct tri_refresh *refresh, bool *more);

/* ---------------------------------------------------------- refresh_queue.c */

/* A job is to be asked for with others of its group. */
TR_MUST_USE int tri_queue_add(struct tri_refresh *refresh, uint32_t number, uint8_t verb,
                              bool at_front);

/* A queue may have something to say again: a call of its group has ended. */
TR_MUST_USE int tri_queue_wake(struct tri_refresh *refresh, uint32_t group, uint8_t verb);

/* Looks at those that wait for more to come. */
TR_MUST_USE int tri_queue_on_quiet(struct tri_refresh *refresh);

/* Whether anything may be called for now, as far as its batch goes. */
bool tri_queue_is_ready(const struct tri_refresh *refresh);

/* Makes calls of what is ready, as far as rate and circuit let them leave; `more` as above. */
TR_MUST_USE int tri_queue_go(struct tri_refresh *refresh, bool *more);

/* Takes away an empty one. */
TR_MUST_USE int tri_queue_forget(struct tri_refresh *refresh, uint32_t number);

/* The list that a queue is, made where it is missing; the same of a call and of a clock. */
TR_MUST_USE int tri_list_find(struct tri_refresh *refresh, enum tri_refresh_row kind,
                              uint64_t first, uint64_t second, bool makes, uint32_t *number,
                              struct tri_list_row **list);

/* ----------------------------------------------------------- refresh_call.c */

/* Calls for the next batch of a queue. */
TR_MUST_USE int tri_call_make(struct tri_refresh *refresh, struct tri_list_row *queue);

/* A call of ours was answered, or was not. */
TR_MUST_USE int tri_call_on_response(struct tri_refresh *refresh, const struct tr_message *message);
TR_MUST_USE int tri_call_on_failed(struct tri_refresh *refresh, const struct tr_message *message);

/* What came of a call: a judgement, and words where it is none to be happy with. */
struct tri_verdict {
    uint8_t judgement; /* enum tr_webapi_judgement */
    uint32_t status;
    char what[48]; /* in a word or two: "connect", "503" */
    char words[200];
    uint64_t wait_ms;  /* that the back end asks for */
    uint64_t begin_ms; /* when the call left */
    uint32_t count;    /* of the call's items */
    struct tr_webapi_response response;
};

enum tri_call_kind {
    TRI_CALL_PLAIN,
    TRI_CALL_STREAM, /* without an end; it is not counted among the calls at once */
    TRI_CALL_SO_FAR, /* what a stream has shown so far, as a whole */
};

/* Sends a request of the plugin's. */
TR_MUST_USE int tri_call_send(struct tri_refresh *refresh, const struct tr_webapi_request *request,
                              enum tri_call_kind kind, uint64_t *ask);

/* The functions of a verb; NULL for streams. */
const struct tr_webapi_verb *tri_verb_of(const struct tr_webapi *webapi, uint8_t verb);

/* ---------------------------------------------------------- refresh_judge.c */

void tri_judge_response(const struct tri_refresh *refresh, uint8_t verb,
                        const struct tr_http_response *response, struct tri_verdict *verdict);
void tri_judge_failure(int reason, struct tri_verdict *verdict);

/* What becomes of a job by the verdict over the call that it was in. */
TR_MUST_USE int tri_judge_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                               const struct tri_verdict *verdict, uint32_t number);

/* ----------------------------------------------------------- refresh_rate.c */

/* Whether a call may leave now; else `*when_ms`, 0: when another one has ended. */
bool tri_rate_allows(const struct tri_refresh *refresh, uint64_t *when_ms);

/* The same for a stream, which no trial is made of. */
bool tri_rate_allows_stream(struct tri_refresh *refresh, uint64_t *when_ms);

/* Another engine begins: what the last one was refused may be granted to it. */
void tri_rate_begin(struct tri_refresh *refresh);

/* One leaves; `is_stream`: it is not counted among those at once. */
void tri_rate_count(struct tri_refresh *refresh, uint64_t ask, bool is_stream);

/* One has ended so. */
void tri_rate_judge(struct tri_refresh *refresh, uint64_t ask, const struct tri_verdict *verdict);

/* Why nothing is called for now, in words; empty: it is. */
struct tr_text tri_rate_words(const struct tri_refresh *refresh, char *words, size_t size);

/* How many items a call may have, of those that a verb takes: fewer where that was too much. */
uint32_t tri_rate_items_max(const struct tri_refresh *refresh, uint32_t items_max);

/* What an endpoint's settings say, or the default. */
uint32_t tri_rate_interval_ms(const struct tri_refresh *refresh);
uint32_t tri_rate_streams_max(const struct tri_refresh *refresh);
uint32_t tri_rate_lag_ms(const struct tri_refresh *refresh);
uint32_t tri_rate_lost_ms(const struct tri_refresh *refresh);

/* ---------------------------------------------------------- refresh_batch.c */

/* A batch in the plugin's hands. */
struct tri_refresh_batch {
    struct tr_webapi_batch side; /* what the plugin sees; stays first */
    struct tri_refresh *refresh;
    struct tri_group_row *stream; /* of lines: whose they are */
    uint8_t verb;                 /* enum tr_webapi_verb_number */
    bool is_so_far; /* its jobs are looked for by what their group's stream has shown so far */
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

/* ----------------------------------------------------------- refresh_json.c */

/* JSON to a packed value and back, from an arena. TR_INVALID, TR_LIMIT, TR_MEMORY. */
TR_MUST_USE int tri_json_to_value(struct tr_arena *arena, struct tr_bytes json,
                                  struct tr_bytes *value);
TR_MUST_USE int tri_json_of_value(struct tr_arena *arena, struct tr_bytes value,
                                  struct tr_bytes *json);

/* --------------------------------------------------------- refresh_report.c */

/* Takes what a verb's answer says of a job. */
TR_MUST_USE int tri_report_take(struct tri_refresh *refresh, uint8_t verb,
                                const struct tr_webapi_report *report);

/* Another stage, which its task hears of with the reason. */
TR_MUST_USE int tri_job_go(struct tri_refresh *refresh, struct tri_job_row *job, uint8_t stage,
                           struct tr_text reason);

/* It has ended: told, and kept until its task is done with it. */
TR_MUST_USE int tri_job_end(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                            const struct tr_refresh_news *end);

/* One that has failed ended as it was kept; what `failures` has said is among it. */
TR_MUST_USE int tri_job_end_explained(struct tri_refresh *refresh, uint32_t number,
                                      struct tri_job_row *job);

/* It was made, whether its handle is known or not. */
TR_MUST_USE int tri_job_made(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job);

/* Tells its task why it waits, unless that was told last. */
TR_MUST_USE int tri_job_waits(struct tri_refresh *refresh, struct tri_job_row *job,
                              struct tr_text why, struct tr_text reason);

/* Tells its task all that is known, once more. */
TR_MUST_USE int tri_job_tell(struct tri_refresh *refresh, struct tri_job_row *job);

/* A failure as an end. */
struct tr_refresh_news tri_job_failure(uint8_t phase, const char *code, struct tr_text message);

/* ------------------------------------------------------------ refresh_job.c */

/*
 * Its `since_ms`, as far as it lasts. Clocks may be set between two lives of the engine, so what
 * passed before this one counts for nothing.
 */
uint64_t tri_job_since_ms(const struct tri_refresh *refresh, const struct tri_job_row *job);

/* Puts a job that is in no list where its stage says. */
TR_MUST_USE int tri_job_settle(struct tri_refresh *refresh, uint32_t number,
                               struct tri_job_row *job);

/* Whether it is in a call; and takes it out of its list where it is not. */
TR_MUST_USE int tri_job_is_called(struct tri_refresh *refresh, const struct tri_job_row *job,
                                  bool *is_called);
TR_MUST_USE int tri_job_free(struct tri_refresh *refresh, struct tri_job_row *job);

/* It was asked about, and answered or not; and the back end says that there is no such job. */
TR_MUST_USE int tri_job_asked(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                              bool was_answered);
TR_MUST_USE int tri_job_absent(struct tri_refresh *refresh, uint8_t verb, struct tri_job_row *job,
                               uint32_t number);

/* Its time has come. */
TR_MUST_USE int tri_job_on_time(struct tri_refresh *refresh, uint32_t number,
                                struct tri_job_row *job);

/* It waits for the next time that it is asked about, or tried again. */
TR_MUST_USE int tri_job_wait_poll(struct tri_refresh *refresh, uint32_t number,
                                  struct tri_job_row *job);
TR_MUST_USE int tri_job_wait_again(struct tri_refresh *refresh, uint32_t number,
                                   struct tri_job_row *job);

/* It is to be ended, or needs nobody any more. */
TR_MUST_USE int tri_job_cancel(struct tri_refresh *refresh, uint32_t number,
                               struct tri_job_row *job);
TR_MUST_USE int tri_job_leave(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                              bool is_down);

/* It goes on without this actor: it is neither ended nor looked for. */
TR_MUST_USE int tri_job_forget(struct tri_refresh *refresh, uint32_t number,
                               struct tri_job_row *job);

/* It was to be ended, and was not: kept for people to see. */
TR_MUST_USE int tri_job_note_refusal(struct tri_refresh *refresh, struct tri_job_row *job,
                                     struct tr_text words);

/* --------------------------------------------------------- refresh_doubt.c */

/* Whether it was made is not known any more, or is not known yet. */
TR_MUST_USE int tri_doubt_begin(struct tri_refresh *refresh, uint32_t number,
                                struct tri_job_row *job, struct tr_text why);

/* With how many others it is looked for; 0: as many as fit. */
uint16_t tri_doubt_batch_max(const struct tri_refresh *refresh, const struct tri_job_row *job);

/* It goes to another stage: its group counts those in doubt. */
TR_MUST_USE int tri_doubt_count(struct tri_refresh *refresh, const struct tri_job_row *job,
                                uint8_t stage);

/* Where one in doubt waits; and its time has come. */
TR_MUST_USE int tri_doubt_settle(struct tri_refresh *refresh, uint32_t number,
                                 struct tri_job_row *job);
TR_MUST_USE int tri_doubt_on_time(struct tri_refresh *refresh, uint32_t number,
                                  struct tri_job_row *job);

/* When the back end has shown all there is of a job, the lag after `since_ms`. */
uint64_t tri_job_lag_over_ms(const struct tri_refresh *refresh, const struct tri_job_row *job);

/* It was asked for at `asked_ms`, and is not there. */
TR_MUST_USE int tri_doubt_unfound(struct tri_refresh *refresh, uint32_t number,
                                  struct tri_job_row *job, uint64_t asked_ms);

/* One whose task is done with it stays for a while, or goes. */
TR_MUST_USE int tri_tomb_settle(struct tri_refresh *refresh, uint32_t number,
                                struct tri_job_row *job);

/* Such a one was looked for in vain, since nobody answered: a look that it still has. */
TR_MUST_USE int tri_tomb_look_again(struct tri_refresh *refresh, uint32_t number);

/* -------------------------------------------------------- refresh_stream.c */

/* A group would like a stream, as soon as there is room for one. */
TR_MUST_USE int tri_stream_want(struct tri_refresh *refresh, uint32_t group);

/* Opens some of those that are wanted; `more` as above. */
TR_MUST_USE int tri_stream_go(struct tri_refresh *refresh, bool *more);

/* A part of one; and it has ended. */
TR_MUST_USE int tri_stream_on_part(struct tri_refresh *refresh, const struct tr_message *message);
TR_MUST_USE int tri_stream_on_end(struct tri_refresh *refresh, uint32_t number,
                                  struct tri_list_row *call, const struct tri_verdict *verdict);

/* Nobody needs a group's stream any more. */
TR_MUST_USE int tri_stream_close(struct tri_refresh *refresh, uint32_t number);

/* The same, and asks for it again from where it was. */
TR_MUST_USE int tri_stream_open_anew(struct tri_refresh *refresh, uint32_t group);

/* Looks at the next rows of a sweep, which asks about jobs whose news may have been missed. */
TR_MUST_USE int tri_stream_sweep(struct tri_refresh *refresh, bool *more);

/* Whether a group's jobs are heard of by a stream. */
TR_MUST_USE int tri_stream_serves(struct tri_refresh *refresh, uint32_t group, bool *serves);

/* The same, or it is about to have one. */
TR_MUST_USE int tri_stream_is_near(struct tri_refresh *refresh, uint32_t group, bool *is_near);

/* -------------------------------------------------------- refresh_so_far.c */

/* Whether many jobs of a queue are looked for by one call, and not each with its own. */
TR_MUST_USE int tri_so_far_serves(struct tri_refresh *refresh, const struct tri_list_row *queue,
                                  bool *serves);

/* The plugin's request for it, and what it reads from the answer. Errors are the plugin's. */
int tri_so_far_write(struct tri_refresh_batch *batch, uint32_t group,
                     struct tr_webapi_request *request);
int tri_so_far_read(struct tri_refresh_batch *batch, struct tr_bytes body);

/* ------------------------------------------------------- refresh_silence.c */

/* A group's stream has begun, or has a job more: from now on it is listened for. */
TR_MUST_USE int tri_silence_begin(struct tri_refresh *refresh, const struct tri_group_row *group);

/* After a call: where the back end answers again, streams that were silent are looked at soon. */
TR_MUST_USE int tri_silence_mended(struct tri_refresh *refresh);

/* Opens those anew that have been silent for too long. */
TR_MUST_USE int tri_silence_on_time(struct tri_refresh *refresh);

/* The actor's timers. */
enum tri_refresh_timer {
    TRI_REFRESH_CLOCK_TIMER = 1,
    TRI_REFRESH_READY_TIMER,
    TRI_REFRESH_QUIET_TIMER,
    TRI_REFRESH_WANTING_TIMER,
    TRI_REFRESH_RECORD_TIMER,
    TRI_REFRESH_RESTING_TIMER,
    TRI_REFRESH_SILENT_TIMER
};

#endif
