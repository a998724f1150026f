/*
 * Records one actor of a running host: its snapshot, and then each message that its handler gets,
 * as the entries of a file (recording.h) that a sandbox can replay (worker/sandbox.h).
 *
 * It is a tap: it never delays the worker. If an event was lost, or the actor has ended, the
 * recording ends and says why; until then it is complete and in order.
 *
 * For the thread that made the host.
 */
#ifndef TR_RUNTIME_TAP_RECORD_H
#define TR_RUNTIME_TAP_RECORD_H

#include "runtime/tap/tap.h"

struct tr_tap_record_options {
    struct tr_text address; /* of the actor */
    const char *program;    /* its version, for the first entry */
    /* Otherwise redacted fields are blanked and pages left out: for reading, not for replaying. */
    bool has_secrets;
    uint64_t limit;                     /* messages; 0: TR_RECORDING_MESSAGES_MAX */
    uint32_t seconds;                   /* 0: no limit */
    struct tr_bytes context;            /* one msgpack value for the replay, or none */
    const struct tr_registry *registry; /* of the messages, for their redacted fields */
};

struct tr_tap_record;

/*
 * Begins: messages that the actor handles after this call are recorded. Errors: TR_NOT_FOUND (no
 * actor has this address, or it is moving), and those of tr_tap_open.
 */
TR_MUST_USE int tr_tap_record_open(struct tr_host *host,
                                   const struct tr_tap_record_options *options,
                                   struct tr_tap_record **record);

/*
 * The next bytes of the file, which are valid until the next call: the header, or one entry.
 * TR_TIMEOUT: no event; TR_CLOSED: the recording has ended; TR_MEMORY, and the host's fatal error.
 */
TR_MUST_USE int tr_tap_record_next(struct tr_tap_record *record, uint64_t timeout_ms,
                                   struct tr_bytes *bytes);

/* Ends it after the events seen so far: `words` (a constant) say why. */
void tr_tap_record_end(struct tr_tap_record *record, const char *words);

/* The number of recorded messages, and why it has ended: empty before. */
uint64_t tr_tap_record_count(const struct tr_tap_record *record);
const char *tr_tap_record_words(const struct tr_tap_record *record);

/* Ends and frees it; NULL is fine. */
void tr_tap_record_close(struct tr_tap_record *record);

#endif
