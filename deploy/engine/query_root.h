/*
 * Asking the root of an execution in this engine: it answers, has ended, or stands still.
 */
#ifndef TR_DEPLOY_ENGINE_QUERY_ROOT_H
#define TR_DEPLOY_ENGINE_QUERY_ROOT_H

#include "deploy/engine/assemble.h"

/*
 * As tr_host_ask, within two seconds. TR_QUARANTINED: it stands still, since one message has failed
 * it twice, and hears of this when it is let go on; TR_CLOSED: it is put aside; TR_TIMEOUT: nobody
 * can say why it is silent, and beside other hosts TR_NO_CONNECTION: it may be on its way from one.
 */
TR_MUST_USE int tr_query_root(struct tr_live *live, uint64_t execution,
                              const struct tr_schema *schema, const void *body,
                              void (*take)(void *self, const struct tr_message *answer),
                              void *self);

/* What an error of that says to people, with what to do about it. */
const char *tr_query_root_error_text(int error);

#endif
