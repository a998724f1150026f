/*
 * The rows of the refresh actor, which lie in its pages: jobs, groups of them, lists of jobs; and
 * one handling, through which all of its files reach them (refresh.h).
 */
#ifndef TR_ACTORS_BACKEND_REFRESH_ROWS_H
#define TR_ACTORS_BACKEND_REFRESH_ROWS_H

#include "actors/engine.h"
#include "actors/store/index.h"
#include "actors/store/task_name.h"
#include "actors/store/watch.h"
#include "schemas/engine/state_refresh.h"

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

/* A row of the table; of so many there is room, and a few more. */
#define TRI_REFRESH_ROW_BYTES 256
#define TRI_REFRESH_ROWS_FULL 240000U

enum tri_refresh_row {
    TRI_REFRESH_JOB = 1, /* by its identity */
    TRI_REFRESH_STRAY,   /* a job too many, by its handle: it is ended, and nobody hears of it */
    TRI_REFRESH_GROUP,
    TRI_REFRESH_QUEUE,
    TRI_REFRESH_CALL,
    TRI_REFRESH_CLOCK,
    TRI_REFRESH_CAPACITY,
    TRI_REFRESH_SCOPE, /* a row like a group's (refresh_scope.c) */
    TRI_REFRESH_GATE,  /* of a scope (refresh_gate.c) */
};

/* What is so of a job. */
enum tri_job_mark {
    TRI_JOB_ENDING = 1 << 0,      /* it is to be ended */
    TRI_JOB_WAS_UNKNOWN = 1 << 1, /* nobody could say once whether it was made */
    TRI_JOB_MADE = 1 << 2,        /* it was certainly made once */
    TRI_JOB_TOMBSTONE = 1 << 3,   /* its task is done with it; what turns up late is still ended */
    TRI_JOB_EXPLAINS = 1 << 4, /* it has failed, and why is to be asked for before that is told */
    TRI_JOB_STRAY = 1 << 5,
    TRI_JOB_STREAMED = 1 << 6,   /* it was asked about while its group had a stream */
    TRI_JOB_REPORTED = 1 << 7,   /* the call under way has said something of it */
    TRI_JOB_FOUND_NEWS = 1 << 8, /* and that was something new */
    TRI_JOB_REPEATED = 1 << 9,   /* it is made by the policy, perhaps a second time */
    TRI_JOB_UNSEEN = 1 << 10,    /* the last answer about it did not show it */
    TRI_JOB_UNHEARD = 1 << 11,   /* its group's stream may have shown it before it was known here */
    TRI_JOB_UNENDED = 1 << 12,   /* the last call that was to end it has not */
    TRI_JOB_EARLIER = 1 << 13,   /* it was called for in an earlier life of the engine */
    TRI_JOB_REMOVED = 1 << 14,   /* it has ended, and what was left of it is gone */
    TRI_JOB_THERE = 1 << 15,     /* it has ended, and would stay for ever */
};

/* Handles up to this size are in the row; longer ones are blobs. */
#define TRI_JOB_HANDLE_NEAR 28
#define TRI_JOB_HANDLE_FAR 255

struct tri_job_row {
    struct tr_watched watched; /* its task; serial 0: nobody's */
    uint64_t due_ms;           /* in a clock's list */
    union {
        uint64_t order; /* of the last report that had one */
        struct {        /* in the watched shape, which orders nothing: refresh_grace.c */
            uint32_t grace_since_s; /* since when it has a grace; 0: it has none */
            uint32_t grace_ms;      /* how long that is */
        };
    };
    uint64_t since_ms; /* since when it is made, of unknown outcome, to be ended, or unseen */
    uint32_t list;     /* the row of the list it is in; 0: none */
    uint32_t next;
    uint32_t previous;
    uint32_t group;
    uint32_t blob;      /* what create is to be called with; once it has ended, what was told */
    uint32_t version;   /* of its news */
    uint16_t marks;     /* enum tri_job_mark */
    uint16_t told;      /* a hash of the words told last */
    uint16_t batch_max; /* it is asked for with at most so many; 0: as many as fit */
    uint8_t stage;      /* enum tr_webapi_stage */
    uint8_t phase;      /* enum tr_task_phase */
    uint8_t policy;     /* enum tr_webapi_policy; or TRI_JOB_LEAVING */
    uint8_t level; /* how often its interval was doubled; of tries: how many; TRI_JOB_ELSEWHERE */
    uint8_t identity_size;
    uint8_t handle_size; /* TRI_JOB_HANDLE_FAR: the text is a blob's number */
    char identity_text[TR_TASK_NAME_BYTES_MAX];
    char handle_text[TRI_JOB_HANDLE_NEAR];
    uint8_t listed; /* the number of the last list of its scope that has shown it */
};

/* Of the stage NEW, `level`: its task goes on in another store, which ends it. */
#define TRI_JOB_ELSEWHERE 1

/* Of what has ended, `policy`: it is counted as `leaving`. */
#define TRI_JOB_LEAVING UINT8_MAX

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

/* A blob: how often a back end has not ended jobs that were to end, and its words the last time. */
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
    uint32_t holds;     /* reasons to keep the row although no job may be in it */
    uint32_t wait_ms;   /* before the next try */
    uint32_t gap; /* the sweep that asks about all its jobs: its stream may have left some out */
    struct tri_group_links links[TRI_GROUPS_RINGS];
    uint64_t rest_ms;  /* when it goes, where it rests */
    uint64_t heard_ms; /* when its stream said something last; 0: it never has */
    uint32_t idle_ms;  /* how long the next stream may say nothing; 0: as long as any */
    uint32_t unknown;  /* of its jobs, those of unknown outcome */
    uint64_t made_ms;  /* when it had a job more, of which something is to be heard */
    bool
        /* its stream may have left out jobs that are being made, or are of unknown outcome */
        is_torn;
    bool has_left;         /* the request of its stream: stream_ms is since when */
    uint32_t endings;      /* of its jobs, those to be ended */
    uint32_t refusal;      /* a blob: why the last of them was not */
    uint64_t told_ms;      /* when one call told all of it to end */
    uint32_t scope;        /* in the watched shape: the row of its scope; 0: none */
    uint32_t page;         /* of a scope, a blob: where its list goes on from */
    uint64_t list_ms;      /* of a scope: when its last list began */
    uint8_t lists;         /* of a scope: the number of that list */
    bool is_listing;       /* of a scope: that list goes on */
    bool is_begun;         /* of a scope: as the begin of a watch */
    bool is_paged;         /* of a scope: its back end begins no watches so */
    uint32_t gate_wait_ms; /* of a scope: how long its probe waits; 0: its gate is open */
    uint32_t gate_probe;   /* of a scope: the job that tries whether there is room; 0: none */
    uint32_t beside;       /* the row of the scope that shows parts of its jobs; 0: none does */
};

enum tri_list_ring { TRI_RING_NONE, TRI_RING_READY, TRI_RING_QUIET, TRI_RING_FIND };

/* A queue, a call under way, a clock's list, or those that wait for room. */
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
    const struct tr_webapi_watch *watched; /* NULL: it is not of the watched shape */
    const struct tr_plugin *plugin;        /* NULL: this engine does not have it */
    bool is_aside;     /* the plugin is in quarantine: nothing of it is called */
    bool has_news;     /* the first of those that are leaving came, or the last one went */
    bool has_recorded; /* the record for people was written in this handling */
    bool is_late;      /* what was due is done late: more may wait to be heard */
    uint8_t list;      /* the number of the list whose items are read; 0: none */
    uint32_t scope;    /* the scope whose list or watch is read; 0: none */
    uint32_t unended;  /* the group whose refusal was counted in this handling */
    uint64_t now_ms;
};

TR_MUST_USE int tri_refresh_job_edit(struct tri_refresh *refresh, uint32_t number,
                                     struct tri_job_row **job);
TR_MUST_USE int tri_refresh_group_edit(struct tri_refresh *refresh, uint32_t number,
                                       struct tri_group_row **group);
TR_MUST_USE int tri_refresh_list_edit(struct tri_refresh *refresh, uint32_t number,
                                      struct tri_list_row **list);

/* The job of an identity; TR_NOT_FOUND. */
TR_MUST_USE int tri_refresh_job_find(struct tri_refresh *refresh, struct tr_text identity,
                                     uint32_t *number);

/* The job, or stray, that has this handle; the job that a task has. TR_NOT_FOUND. */
TR_MUST_USE int tri_refresh_job_by_handle(struct tri_refresh *refresh, struct tr_text handle,
                                          uint32_t *number);
TR_MUST_USE int tri_refresh_job_by_owner(struct tri_refresh *refresh, struct tr_key owner,
                                         uint32_t *number);

/* A new job of a group, which is made where it is missing. TR_LIMIT: there is no room for it. */
TR_MUST_USE int tri_refresh_job_add(struct tri_refresh *refresh, struct tr_text identity,
                                    struct tr_text group, uint32_t *number,
                                    struct tri_job_row **job);

/* A job too many, with the identity of another one. */
TR_MUST_USE int tri_refresh_stray_add(struct tri_refresh *refresh, const struct tri_job_row *of,
                                      struct tr_text handle, uint32_t *number);

/* One that has lived lives no more: its group and its endpoint count those that do. */
void tri_refresh_job_count_end(struct tri_refresh *refresh, struct tri_job_row *job,
                               struct tri_group_row *group);

/* Takes away a job that is in no list; its group has nobody then, perhaps. */
TR_MUST_USE int tri_refresh_job_remove(struct tri_refresh *refresh, uint32_t number,
                                       struct tri_job_row *job);

/* Gives a job its handle, by which it is found from then on. */
TR_MUST_USE int tri_refresh_job_set_handle(struct tri_refresh *refresh, uint32_t number,
                                           struct tri_job_row *job, struct tr_text handle);

/* Views: of the row, or of a page, which live as long as the handler. */
struct tr_text tri_refresh_job_identity(const struct tri_job_row *job);
TR_MUST_USE int tri_refresh_job_handle(struct tri_refresh *refresh, const struct tri_job_row *job,
                                       struct tr_text *handle);

/* The same from outside, where a long one may be seen in part only. */
TR_MUST_USE int tri_refresh_job_peek_handle(const struct tr_rows *rows,
                                            const struct tri_job_row *job, struct tr_text *handle);

/* Another owner, which is monitored; serial 0: none. */
TR_MUST_USE int tri_refresh_job_own(struct tri_refresh *refresh, uint32_t number,
                                    struct tri_job_row *job, struct tr_ref owner, bool is_down);

#endif
