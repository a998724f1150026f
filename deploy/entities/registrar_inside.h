/*
 * What the files of this room share. Nobody else includes this.
 */
#ifndef TR_DEPLOY_ENTITIES_REGISTRAR_INSIDE_H
#define TR_DEPLOY_ENTITIES_REGISTRAR_INSIDE_H

#include "deploy/api/call.h"
#include "deploy/api_wire/api_limits.h"
#include "deploy/common/work_queue.h"
#include "deploy/data_proxy/download_store.h"
#include "deploy/data_proxy/upload_store.h"
#include "deploy/entities/entity_limits.h"
#include "deploy/entities/registrar.h"
#include "deploy/history/entities.h"

/* ------------------------------------------------------------------ jobs: registrar.c */

struct tri_job;

/* Does what a call asks for, on the registrar's thread, and answers or fails the job. */
typedef void tri_work(struct tri_job *job, const void *request);

/* A call on its way through the registrar. */
struct tri_job {
    struct tr_work in_queue;
    struct tr_registrar *registrar;
    struct tr_api *api;
    uint64_t call; /* its number */
    tri_work *work;
    struct tr_arena arena; /* for everything; it goes with the job */
    const ProtobufCMessage *request;
    const struct tr_api_method *method;
    const char *who;          /* asks for it; "": nobody in particular */
    struct tr_text authority; /* by which the client came */
    bool is_secure;
    enum tr_api_code code;
    char words[TR_API_WORDS_BYTES];
    const ProtobufCMessage *response;
    const ProtobufCMessage *detail; /* of a failure, or NULL */
};

/* A message in the job's arena; NULL: it has failed. */
TR_MUST_USE void *tri_job_new(struct tri_job *job, const ProtobufCMessageDescriptor *descriptor);

/* Unpacks one there; NULL: it has failed, as what is kept is damaged. */
TR_MUST_USE void *tri_job_unpack(struct tri_job *job, const ProtobufCMessageDescriptor *descriptor,
                                 struct tr_bytes bytes);

/* A text there as C's string; it holds no zero byte. NULL: it has failed. */
TR_MUST_USE char *tri_job_string(struct tri_job *job, struct tr_text text);

/* What is answered; the last one counts. It has to be in the job's arena. */
void tri_job_answer(struct tri_job *job, const ProtobufCMessage *response);
TR_PRINTF(3, 4)
void tri_job_fail(struct tri_job *job, enum tr_api_code code, const char *format, ...);

/* Fails it by an error of the store, the engine or memory. */
void tri_job_fail_error(struct tri_job *job, int error, const char *words);

/* ------------------------------------------------------------------ the store: view.c */

/* What the store has, as of a moment, and what was kept since. */
struct tri_view {
    struct tr_reader *reader; /* NULL: not opened yet */
    bool is_held;             /* a snapshot */
    uint64_t begin_ms;        /* of it */
    uint64_t kept;            /* of the engine's then */
    struct tr_arena arena;    /* of the shelf */
    struct tri_vector shelf;  /* struct tr_entity */
    char words[TRI_STORE_EXPLAIN_BYTES];
};

void tri_view_fini(struct tri_view *view);

/* Lets go of the snapshot: nothing is asked at the moment. */
void tri_view_rest(struct tr_registrar *registrar);

/*
 * Finds an entity by the five fields of its id, as it is now (tr_entities_find). The words of an
 * error are the view's.
 */
TR_MUST_USE int tri_view_find(struct tr_registrar *registrar, struct tr_arena *arena,
                              struct tr_entity *entity);

/* The store as it is now, for other questions. Errors as above. */
TR_MUST_USE int tri_view_reader(struct tr_registrar *registrar, struct tr_reader **reader);

/* Notes that an entity was kept. */
void tri_view_note(struct tr_registrar *registrar, const struct tr_entity *entity);

/* ------------------------------------------------------------------ keeping: keep.c */

/* Rows that are kept together. All zero is none. */
struct tri_keep {
    struct tr_buffer rows; /* pairs of a record's number and a row */
    uint32_t count;
    struct tri_vector entities; /* struct tr_entity, those among them */
};

void tri_keep_init(struct tri_keep *keep);
void tri_keep_fini(struct tri_keep *keep);
TR_MUST_USE int tri_keep_add(struct tri_keep *keep, const struct tr_schema *record,
                             const void *row);

/*
 * Has the engine keep them, all or none, with a row of the audit that says so, and returns when
 * that is committed; false: the job has failed. `before` (or NULL) runs before on the engine's
 * thread: what it returns as an error, with words in `explain` (TR_APPLY_EXPLAIN_BYTES), ends it.
 */
TR_MUST_USE bool tri_keep_commit(struct tri_job *job, struct tri_keep *keep,
                                 int (*before)(struct tr_live *live, void *self, char *explain),
                                 void *self);

/* ------------------------------------------------------------------ entities: register.c */

/* Code that was unpacked a moment ago, and where. */
struct tri_known_code {
    char uri[PATH_MAX];
    char name[128];
    uint64_t at_ms;
};

/* ------------------------------------------------------------------ all of it */

struct tr_registrar {
    struct tr_live *live;
    struct tri_view view;
    struct tri_known_code code;
    struct tri_upload_store uploads;
    struct tri_download_store downloads;
    struct tr_work_queue queue; /* of jobs */
};

#endif
