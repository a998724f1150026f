/*
 * What the tests of the refresh actor stand on: a stage with one of them, holders that ask it for
 * jobs as tasks do, and a back end in this process that counts what was made under each identity
 * and fails as a test says.
 *
 * Time passes in refresh_stand_pass, which serves the back end each millisecond. A call's work is
 * done when it arrives; its answer comes `latency_ms` later.
 */
#ifndef TR_TESTS_UNIT_ACTORS_REFRESH_STAND_H
#define TR_TESTS_UNIT_ACTORS_REFRESH_STAND_H

#include "actors/backend/refresh.h"
#include "tests/sim/model_store.h"
#include "tests/support/stage.h"

/* What a holder does, and what it has heard. */
enum holder_act { HOLDER_MAKE, HOLDER_CANCEL, HOLDER_DROP, HOLDER_LEAVE, HOLDER_STOP };

#define TR_HOLDER_DO_FIELDS(FIELD, ARRAY) \
    FIELD(u8, act, 1, 0)                  \
    FIELD(text, group, 1, 0)              \
    FIELD(text, handle, 1, 0)             \
    FIELD(u32, bytes, 1, 0)               \
    FIELD(u8, policy, 1, 0)               \
    FIELD(bool, is_doubtful, 1, 0)
#define TR_HOLDER_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)           \
    FIELD(u8, stage, 1, 0)             \
    FIELD(u8, phase, 1, 0)             \
    FIELD(u32, version, 1, 0)          \
    FIELD(u32, news, 1, 0)             \
    FIELD(u32, repeats, 1, 0)          \
    FIELD(u32, ends, 1, 0)             \
    FIELD(u32, unknown_outcomes, 1, 0) \
    FIELD(bool, is_unknown, 1, 0)      \
    FIELD(u32, bytes, 1, 0)            \
    FIELD(u32, asked, 1, 0)            \
    ARRAY(text, group, 63, 1, 0)       \
    ARRAY(text, handle, 255, 1, 0)     \
    ARRAY(text, code, 64, 1, 0)        \
    ARRAY(text, message, 400, 1, 0)    \
    ARRAY(text, reason, 400, 1, 0)
#define REFRESH_STAND_SCHEMAS(S)                                        \
    S(holder_do, 61500, TR_MESSAGE, 1, TR_DURABLE, TR_HOLDER_DO_FIELDS) \
    S(holder, 61500, TR_STATE, 1, 0, TR_HOLDER_FIELDS)
REFRESH_STAND_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/* What becomes of a call. */
enum back_fault {
    BACK_FINE,
    BACK_CONNECT,    /* nobody is there */
    BACK_LOST,       /* a timeout before anything was done */
    BACK_LOST_AFTER, /* a timeout when all was done */
    BACK_BUSY,       /* 503 before anything was done */
    BACK_BUSY_AFTER, /* 503 when all was done */
    BACK_NONSENSE,   /* done, and an answer that nobody can read */
    BACK_THROTTLE,   /* 429 */
    BACK_DENY,       /* 401 */
    BACK_CONFLICT,   /* 409, and nothing is done */
    BACK_SILENT,     /* done, and no answer: the service ends the call, unless it is a stream */
};

struct back_job {
    char identity[64];
    char handle[64];
    char group[64];
    uint8_t phase;
    uint64_t made_ms;
    bool was_cancelled;
    bool is_removed; /* lists do not show it any more */
};

struct back_event {
    uint32_t job;
    uint8_t phase;
};

struct back_answer {
    struct tr_ref to;
    uint64_t ask;
    uint64_t due_ms;
    uint32_t status; /* 0: `fault` */
    const char *fault;
    char *body;
    char *items; /* of a list: a part before the answer */
};

struct back_stream {
    struct tr_ref to;
    uint64_t ask;
    char group[64];
    uint32_t position;
    bool has_left; /* its owner was told so */
    bool is_begin; /* it shows all that there is first */
    bool is_open;
    bool is_dead;
};

#define BACK_JOBS 60000
#define BACK_EVENTS 200000
#define BACK_ANSWERS 4096
#define BACK_STREAMS 4096
#define HOLDERS 60000
#define BACK_VERBS 7

struct refresh_stand {
    struct stage stage;
    struct tri_model *model;
    struct tri_store *store;
    struct tr_engine *engine;
    struct tr_plugin plugin;
    struct tr_webapi webapi;
    struct tr_webapi_stream standard_stream; /* which the webapi has when a test wants it */
    struct tr_engine_endpoint place;
    struct tr_ref refresh;
    struct tr_ref *holders;
    uint32_t holder_count;

    /* The back end. */
    struct back_job *jobs;
    uint32_t job_count;
    struct back_event *events;
    uint32_t event_count;
    struct back_answer answers[BACK_ANSWERS];
    uint32_t answer_count;
    struct back_stream streams[BACK_STREAMS];
    uint32_t stream_count;
    uint32_t latency_ms;
    char handles_begin;      /* with this letter; 0: h */
    uint64_t clock_jump_ms;  /* people set the clock forward at each crash */
    uint32_t visible_ms;     /* a job is shown by status and find so long after it was made */
    uint32_t event_ms;       /* and by streams */
    bool dedups;             /* one identity is one job */
    uint32_t refuses_places; /* streams go on from no cursor: this status says so; 0: they do */
    bool holds_streams;      /* their requests do not leave: a store cannot commit */
    bool hangs;              /* streams that are opened never say anything, then or later */
    const char *bad;         /* a create with this identity in it is refused as a whole */
    uint32_t takes_max;      /* a request with more items is too much; 0: none is */
    bool explains;           /* `failures` says why */
    bool keeps;              /* whom it is told to end it keeps, and says so of each */
    enum back_fault (*fault)(uint8_t verb, uint32_t nth);
    enum back_fault first_create; /* of the first call that makes jobs: back_fault_of_first */
    bool is_away;                 /* nobody answers who looks for jobs: back_fault_while_away */
    uint32_t calls[BACK_VERBS];
    uint32_t items[BACK_VERBS];
    uint32_t most[BACK_VERBS]; /* items of one call */
    uint32_t whole_cancels;
    uint32_t backlogs;       /* calls for what a stream has shown so far, counted as finds, too */
    bool is_backlog_useless; /* they are answered by nonsense */
    uint32_t mumbles;        /* so many of the next lines of streams cannot be read */
    char authorization[128]; /* of the last call: what its secret is to be */
    uint32_t empty_calls;
    uint32_t page_items; /* of a list */
    uint32_t lists;
    uint32_t forgotten; /* places before this one are not known any more */
    bool doubles_events;
    bool frees_names;        /* of what was removed: it is made again under the same */
    uint32_t begins;         /* watches that were asked to begin with what there is */
    uint32_t refuses_begins; /* by this status */
    bool fails_begins;       /* by a line */
    uint32_t cuts_begins;    /* so many break off before all was shown */
    uint32_t pages;
    uint32_t forgets_pages; /* so many of the next pages that go on are not known any more */
    uint32_t graces_ms;     /* a job that is being initialized, or asked for later, has so much */
    const char *part;       /* reports speak of a part of this name; NULL: of the job */
    bool has_beside;        /* parts are shown in a scope of their own */
    bool are_own;           /* what is shown was made by the store of this stage */
    uint32_t room;          /* so many jobs may live; 0: any. More are to be made later */
    bool says_anew;         /* the next line of a stream says that its cursor is not known */
    uint32_t told;          /* events, by all streams */
    uint32_t repeated;      /* identities twice in one request */
    uint64_t said;          /* messages: what is by chance is another thing for each */
};

extern struct refresh_stand back;

/* The behaviour under test; a test may put another around it. */
extern const struct tr_behaviour *refresh_stand_behaviour;

/* Opens a stage; the webapi may be changed before by `idempotency` and what the test sets later. */
void refresh_stand_begin(uint8_t idempotency, bool is_durable);
/* The same, durable, where the first call that makes jobs has this fault. */
void refresh_stand_begin_with(uint8_t idempotency, enum back_fault fault);

/* Streams that tell as things happen, and cannot be read up to now. */
void refresh_stand_give_stream(void);

/* One watch for all groups of a scope (refresh_watched.c). */
void refresh_stand_give_watch(void);

/* The same, which may begin with what there is. */
void refresh_stand_give_begin(void);

void refresh_stand_end(void);
void refresh_stand_crash(void);

/* For `back.fault`: what becomes of the nth call of a verb. */
enum back_fault back_fault_of_first(uint8_t verb, uint32_t nth);
enum back_fault back_fault_while_away(uint8_t verb, uint32_t nth);

/* A holder that asks for job NUMBER of a group ("job-NUMBER"), and what else it may do. */
uint32_t refresh_stand_make(const char *group);
uint32_t refresh_stand_make_as(const struct tr_holder_do *act);
void refresh_stand_tell(uint32_t holder, const struct tr_holder_do *act);
void refresh_stand_cancel(uint32_t holder, const char *group);
void refresh_stand_drop(uint32_t holder);
void refresh_stand_leave(uint32_t holder);
void refresh_stand_stop(uint32_t holder);
const struct tr_holder *refresh_stand_holder(uint32_t holder);

/* Everything that can happen without time; and so many milliseconds. */
void refresh_stand_run(void);
void refresh_stand_pass(uint64_t milliseconds);

/* The plugin's shape before a test changes it. */
extern const struct tr_webapi refresh_back_webapi;

/* "IDENTITY HANDLE PHASE ORDER" as the plugin reads it. */
int refresh_back_read_line(struct tr_webapi_batch *batch, struct tr_bytes line);

/* Whether a job is of a group, or of a scope; and the page of a list: its status. */
bool back_is_of(const struct back_job *job, const char *scope);
uint32_t back_list(const char *scope, struct tr_bytes page, char **items, char **rest);

/* The back end takes what has come. */
bool refresh_back_take(void);

/* The back end takes what has come and gives what is due; whether there was anything. */
bool refresh_stand_serve(void);

/* A job at the back end gets another phase, or all that live do. */
void back_phase(uint32_t job, uint8_t phase);
void back_phase_all(uint8_t phase);
/* No stream shows it, from whatever cursor: only lists do. */
void back_phase_in_a_gap(uint32_t job, uint8_t phase);
/* All open streams end: in order, or cut. */
void back_end_streams(bool is_cut);
uint32_t back_live(void);
uint32_t back_made(const char *identity);
const struct tr_refresh_state *refresh_stand_state(void);

/* How many holders are in a stage, how many are there in all are HOLDERS. */
uint32_t refresh_stand_count(uint8_t stage);
uint64_t refresh_stand_now_ms(void);

#endif
