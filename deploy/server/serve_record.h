/*
 * Recordings that a live engine makes for other commands, sent as the bytes of their files.
 */
#ifndef TR_DEPLOY_SERVER_SERVE_RECORD_H
#define TR_DEPLOY_SERVER_SERVE_RECORD_H

#include "deploy/server/serve.h"
#include "runtime/tap/record.h"
#include "schemas/runtime/request.h"

/* Recordings at once. */
#define TR_SERVE_RECORDS_MAX 8

struct tr_serve_records {
    struct {
        struct tri_peer peer;
        struct tr_tap_record *record;
        uint64_t said_ms;
    } items[TR_SERVE_RECORDS_MAX];
    size_t count;
};

/* Begins to record for a client. TR_LIMIT, and what tr_tap_record_open says. */
TR_MUST_USE int tr_serve_record_open(struct tr_serve_records *records, struct tr_live *live,
                                     const struct tri_peer *peer,
                                     const struct tr_open_recording *open);

/* Sends what was recorded; ends what is over and what nobody reads any more. */
void tr_serve_records_step(struct tr_serve_records *records, struct tr_live *live);

/* The engine leaves: what was seen is still sent, as far as that goes at once. */
void tr_serve_records_fini(struct tr_serve_records *records, struct tr_live *live);

#endif
