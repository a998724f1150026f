/*
 * Taps that a live engine keeps open for other commands, printed where the schemas are.
 */
#ifndef TR_DEPLOY_SERVER_SERVE_TAP_H
#define TR_DEPLOY_SERVER_SERVE_TAP_H

#include "deploy/server/serve.h"
#include "deploy/server/tap_merge.h"
#include "schemas/runtime/request.h"

struct tr_serve_taps {
    struct {
        struct tri_peer peer;
        struct tr_tap *tap;         /* NULL: it has ended, and others have not */
        struct tr_tap_merge *merge; /* with those of other hosts; NULL: of this one alone */
        bool is_json;
        bool is_plain;
        uint64_t said_ms;
    } items[TR_SERVE_TAPS_MAX];
    size_t count;
};

/*
 * Opens a tap for a client. TR_INVALID and TR_NOT_FOUND with words in `explain`
 * (TR_TAP_EXPLAIN_BYTES), TR_LIMIT, and what tr_tap_open says.
 */
TR_MUST_USE int tr_serve_tap_open(struct tr_serve_taps *taps, struct tr_live *live,
                                  const struct tri_peer *peer, const struct tr_open_tap *open,
                                  char *explain);

/* Sends what has been seen; ends taps that are over and those nobody reads any more. */
void tr_serve_taps_step(struct tr_serve_taps *taps, struct tr_live *live);

void tr_serve_taps_fini(struct tr_serve_taps *taps);

#endif
