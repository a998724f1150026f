/*
 * Signals as something to read: a command that waits for much sees them where it waits.
 */
#ifndef TR_DEPLOY_SIGNALS_H
#define TR_DEPLOY_SIGNALS_H

#include "schemas/base.h"

/*
 * From now on SIGINT, SIGTERM and SIGHUP do not end the process but make `descriptor` readable.
 * Before threads are started. TR_SYSTEM.
 */
TR_MUST_USE int tr_signals_open(int *descriptor);
void tr_signals_close(int descriptor);

/* The next signal that has come, or 0. */
int tr_signals_next(int descriptor);

#endif
