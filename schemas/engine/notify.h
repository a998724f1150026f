/*
 * Notifications: what is said of an execution to somebody outside when it goes to a phase.
 *
 *     root workflow        notifier              notification         outside
 *     notify           ->
 *                          notify            ->  (a child of its own)
 *                                                http_request or process_run   ->
 *                                                                              <- its answer
 *
 * The root fills in the templates of what its definition says, so that a notification needs neither
 * the graph nor the execution any more: it goes on when both are gone. It says nothing back: how a
 * notification went is in its row of the history, and changes nothing of the execution. What cannot
 * be filled in has a row, and is told to nobody.
 *
 * `key` is the identity of a notification: the same over all attempts and crashes, and another for
 * each execution, phase, gate and position. Requests carry it as Idempotency-Key.
 *
 * What a notification is sent to is packed, with templates until the root fills them in:
 *
 *     http      {body, headers: [Name: value, ...], secrets: rows of tr_http_secret, url}
 *     command   {run: [word, ...], secrets: rows of tr_process_secret}
 *     mail      {subject, text, to: [address, ...]}
 *
 * Keys are in order, as those of all values; what was not given is not there.
 */
#ifndef TR_SCHEMAS_ENGINE_NOTIFY_H
#define TR_SCHEMAS_ENGINE_NOTIFY_H

#include "schemas/codec/field.h"

/* When one may be told of an execution; the words of `on`. */
#define TR_NOTIFY_PHASES(P)      \
    P(SUCCEEDED, 0, "succeeded") \
    P(FAILED, 1, "failed")       \
    P(ABORTED, 2, "aborted")     \
    P(TIMED_OUT, 3, "timed_out") \
    P(WAITING, 4, "waiting") /* one of its gates waits for people */

enum tr_notify_phase {
#define TRI_NOTIFY_PHASE(name, number, text) TR_NOTIFY_##name = (number),
    TR_NOTIFY_PHASES(TRI_NOTIFY_PHASE)
#undef TRI_NOTIFY_PHASE
        TR_NOTIFY_PHASE_COUNT
};

/* By what a notification is sent; the words of its keys. */
#define TR_NOTIFY_KINDS(K)   \
    K(HTTP, 0, "http")       \
    K(COMMAND, 1, "command") \
    K(MAIL, 2, "mail")

enum tr_notify_kind {
#define TRI_NOTIFY_KIND(name, number, text) TR_NOTIFY_BY_##name = (number),
    TR_NOTIFY_KINDS(TRI_NOTIFY_KIND)
#undef TRI_NOTIFY_KIND
        TR_NOTIFY_KIND_COUNT
};

/* Secrets of one notification. */
#define TR_NOTIFY_SECRETS_MAX 8U

/* How a notification stands. */
#define TR_NOTIFICATION_STATES(S) \
    S(PENDING, 0, "pending")      \
    S(RETRYING, 1, "retrying")    \
    S(DELIVERED, 2, "delivered")  \
    S(GIVEN_UP, 3, "given up")

enum tr_notification_status {
#define TRI_NOTIFICATION_STATUS(name, number, text) TR_NOTIFICATION_##name = (number),
    TR_NOTIFICATION_STATES(TRI_NOTIFICATION_STATUS)
#undef TRI_NOTIFICATION_STATUS
        TR_NOTIFICATION_STATUS_COUNT
};

/* The words; "?" for a number that is none. */
const char *tr_notify_phase_word(uint8_t phase);
const char *tr_notify_kind_word(uint8_t kind);
const char *tr_notification_status_word(uint8_t status);

/*
 * `execution` is the number of the execution, `address` its PROJECT/DOMAIN/NAME; `position` counts
 * the notifications of the workflow from 0, those of the launch plan behind them; `path` is the
 * gate's. `shown` is what people see of where it goes. `document` is what is told, as a value that
 * becomes JSON. `folder` is the definition's. The root has written its row at `created_ms`.
 */
#define TR_NOTIFY_FIELDS(FIELD, ARRAY)   \
    FIELD(u64, execution, 1, 0)          \
    FIELD(text, address, 1, 0)           \
    FIELD(text, key, 1, 0)               \
    FIELD(u8, phase, 1, 0)               \
    FIELD(u32, position, 1, 0)           \
    FIELD(text, path, 1, 0)              \
    FIELD(u8, kind, 1, 0)                \
    FIELD(text, shown, 1, 0)             \
    FIELD(any, target, 1, TR_REDACTED)   \
    FIELD(any, document, 1, TR_REDACTED) \
    FIELD(text, folder, 1, 0)            \
    FIELD(u32, retries, 1, 0)            \
    FIELD(u64, first_ms, 1, 0)           \
    FIELD(u64, wait_ms_max, 1, 0)        \
    FIELD(f64, factor, 1, 0)             \
    FIELD(u64, timeout_ms, 1, 0)         \
    FIELD(u64, created_ms, 1, 0)

/*
 * From an execution's signals to its root: a gate waits that is to be told of. The root asks for
 * that with signal_wait (schemas/engine/flow.h).
 */
#define TR_GATE_WAITS_FIELDS(FIELD, ARRAY) \
    FIELD(text, id, 1, 0)                  \
    FIELD(text, path, 1, 0)

/* Counts those that it was given. */
#define TR_NOTIFIER_STATE_FIELDS(FIELD, ARRAY) FIELD(u64, given, 1, 0)

/*
 * `notify` is the place of the message as it came, in a heap (actors/store/heap.h) that ends at
 * `heap_page` and `heap_used`. `call` is under way; 0: the timer is, until `next_ms`. So many
 * attempts were `failures`; `losses` counts answers that were lost in a row.
 */
#define TR_NOTIFICATION_STATE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, notify, 1, 0)                       \
    FIELD(u8, notify_version, 1, 0)                \
    FIELD(u32, heap_page, 1, 0)                    \
    FIELD(u32, heap_used, 1, 0)                    \
    FIELD(u64, call, 1, 0)                         \
    FIELD(u32, failures, 1, 0)                     \
    FIELD(u32, losses, 1, 0)                       \
    FIELD(u64, next_ms, 1, 0)

#define TR_NOTIFY_SCHEMAS(S)                                            \
    S(notify, 690, TR_MESSAGE, 1, TR_DURABLE, TR_NOTIFY_FIELDS)         \
    S(gate_waits, 691, TR_MESSAGE, 1, TR_DURABLE, TR_GATE_WAITS_FIELDS) \
    S(notifier_state, 115, TR_STATE, 1, 0, TR_NOTIFIER_STATE_FIELDS)    \
    S(notification_state, 116, TR_STATE, 1, 0, TR_NOTIFICATION_STATE_FIELDS)

TR_NOTIFY_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
