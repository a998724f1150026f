/*
 * Recording one actor of a running host: what it is now, and then each message that its handler
 * sees, as the entries of a file (recording.h) that a sandbox can replay (host/sandbox.h).
 *
 * It is a tap: it never holds the worker back. Where something was lost, or the actor has ended,
 * the recording ends and says why; what it has until then is complete and in order.
 *
 * For the thread that made the host.
 */
#ifndef TR_RUNTIME_TAP_RECORD_H
#define TR_RUNTIME_TAP_RECORD_H

#include "runtime/tap/tap.h"

struct tr_tap_record_options {
    struct tr_text address; /* of the actor */
    const char *program;    /* its version, for the first entry */
    /* Else redacted fields are blanked and pages left out: good to look at, not to replay. */
    bool has_secrets;
    uint64_t limit;                     /* messages; 0: TR_RECORDING_MESSAGES_MAX */
    uint32_t seconds;                   /* 0: no such limit */
    struct tr_bytes context;            /* one msgpack value for the replay, or none */
    const struct tr_registry *registry; /* of the messages: what is redacted in them */
};

struct tr_tap_record;

/*
 * Begins: what the actor handles after this call is recorded. Errors: TR_NOT_FOUND (nobody has this
 * address, or it is just moving), and those of tr_tap_open.
 */
TR_MUST_USE int tr_tap_record_open(struct tr_host *host,
                                   const struct tr_tap_record_options *options,
                                   struct tr_tap_record **record);

/*
 * The next bytes of the file, which live until the next call: the beginning of it, or one entry.
 * TR_TIMEOUT: nothing came; TR_CLOSED: that was the end; TR_MEMORY, and why the host cannot go on.
 */
TR_MUST_USE int tr_tap_record_next(struct tr_tap_record *record, uint64_t timeout_ms,
                                   struct tr_bytes *bytes);

/* Lets it end, when what has been seen is given out: `words` (a constant) say why. */
void tr_tap_record_end(struct tr_tap_record *record, const char *words);

/* How many messages were recorded, and why there are no more: empty while there may be. */
uint64_t tr_tap_record_count(const struct tr_tap_record *record);
const char *tr_tap_record_words(const struct tr_tap_record *record);

/* Ends it; NULL is fine. */
void tr_tap_record_close(struct tr_tap_record *record);

#endif
