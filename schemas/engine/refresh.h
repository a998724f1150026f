/*
 * What tasks and the refresh actor of their endpoint say to each other (actors/backend/refresh.h,
 * plugins/sdk/webapi.h).
 *
 *     task                              refresh actor                    the back end
 *     refresh_make                 ->   a row with its identity: the intent
 *                                       create, with others            ->
 *                                  <-   refresh_news: SUBMITTED, handle
 *                                  <-   refresh_news: each change of phase, at once
 *     refresh_cancel               ->   cancel, with others            ->
 *                                  <-   refresh_news: an end
 *     refresh_drop                 ->   the row is gone
 *
 * Where there is no room for one more, the answer to refresh_make is news of the stage WAITING, and
 * later of PREPARING: it asks again then. News of WAITING without a version say that it is not
 * known here, and may ask again after TR_REFRESH_CROWDED_MS.
 *
 * Everything may be said twice. A refresh_make about an identity that is known is answered with
 * what is known, and nothing is made. One with a `handle` is only watched; one that is of unknown
 * outcome is looked for before anything is made, by the idempotency level of its plugin
 * (schemas/engine/webapi.h).
 */
#ifndef TR_SCHEMAS_ENGINE_REFRESH_H
#define TR_SCHEMAS_ENGINE_REFRESH_H

#include "schemas/codec/field.h"

#define TR_REFRESH_CROWDED_MS 30000

/* `job` is what create is to be called with; `policy` is enum tr_webapi_policy. */
#define TR_REFRESH_MAKE_FIELDS(FIELD, ARRAY) \
    FIELD(text, identity, 1, 0)              \
    FIELD(text, job_set, 1, 0)               \
    FIELD(text, handle, 1, 0)                \
    FIELD(any, job, 1, TR_REDACTED)          \
    FIELD(u64, execution, 1, 0)              \
    FIELD(u8, policy, 1, 0)                  \
    FIELD(bool, is_unknown, 1, 0)

/*
 * What has become of a job. `stage` is enum tr_webapi_stage (WAITING, PREPARING, INTENT, UNKNOWN,
 * SUBMITTED, CANCELLING, TERMINAL), `phase` enum tr_task_phase; `version` grows with each news of
 * one job. `is_unknown`: it cannot be found out whether the work was done, or was done once only.
 * The rest is that of a report.
 */
#define TR_REFRESH_NEWS_FIELDS(FIELD, ARRAY) \
    FIELD(text, identity, 1, 0)              \
    FIELD(u8, stage, 1, 0)                   \
    FIELD(u8, phase, 1, 0)                   \
    FIELD(u32, version, 1, 0)                \
    FIELD(text, handle, 1, 0)                \
    FIELD(text, reason, 1, 0)                \
    FIELD(u8, failure, 1, 0)                 \
    FIELD(bool, is_unknown, 1, 0)            \
    FIELD(u8, signal, 1, 0)                  \
    FIELD(u32, exit_status, 1, 0)            \
    FIELD(text, code, 1, 0)                  \
    FIELD(text, message, 1, 0)               \
    FIELD(text, place, 1, 0)                 \
    FIELD(text, log_uri, 1, 0)               \
    FIELD(text, outputs, 1, TR_REDACTED)

/*
 * Ends a job, or makes sure that it never begins: answered by news of an end. Of an identity that
 * is not known the back end is asked first, by `job_set` and `handle`.
 */
#define TR_REFRESH_CANCEL_FIELDS(FIELD, ARRAY) \
    FIELD(text, identity, 1, 0)                \
    FIELD(text, job_set, 1, 0)                 \
    FIELD(text, handle, 1, 0)                  \
    FIELD(text, reason, 1, 0)

/* Its task needs to know nothing more of it. One that has not ended is ended first. */
#define TR_REFRESH_DROP_FIELDS(FIELD, ARRAY) FIELD(text, identity, 1, 0)

/* Its task goes on in another store: its job is not ended, and nothing is heard of it any more. */
#define TR_REFRESH_LEFT_FIELDS(FIELD, ARRAY)

#define TR_REFRESH_SCHEMAS(S)                                                    \
    S(refresh_make, 480, TR_MESSAGE, 1, TR_DURABLE, TR_REFRESH_MAKE_FIELDS)      \
    S(refresh_news, 481, TR_MESSAGE, 1, TR_PRIORITY, TR_REFRESH_NEWS_FIELDS)     \
    S(refresh_cancel, 482, TR_MESSAGE, 1, TR_PRIORITY, TR_REFRESH_CANCEL_FIELDS) \
    S(refresh_drop, 483, TR_MESSAGE, 1, TR_PRIORITY, TR_REFRESH_DROP_FIELDS)     \
    S(refresh_left, 484, TR_MESSAGE, 1, TR_PRIORITY, TR_REFRESH_LEFT_FIELDS)

TR_REFRESH_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
