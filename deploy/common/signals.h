/*
 * Signals as something to read: a command that waits for much sees them where it waits.
 */
#ifndef TR_DEPLOY_COMMON_SIGNALS_H
#define TR_DEPLOY_COMMON_SIGNALS_H

#include "schemas/codec/base.h"

/*
 * From now on SIGINT, SIGTERM and SIGHUP do not end the process but make `descriptor` readable.
 * Before threads are started. TR_SYSTEM.
 */
TR_MUST_USE int tr_signals_open(int *descriptor);
void tr_signals_close(int descriptor);

/*
 * From now on SIGTERM ends the process at once, with TR_EXIT_ENGINE: for the time in which one that
 * was told to leave leaves, which may be held up by what it waits for.
 */
void tr_signals_end_next(void);

/* The next signal that has come, or 0. */
int tr_signals_next(int descriptor);

#endif
