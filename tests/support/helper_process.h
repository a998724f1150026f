/*
 * A program that does as its arguments say, for tests that need real processes. The test programs
 * are it themselves: `/proc/self/exe act WHAT ...`.
 */
#ifndef TR_TESTS_SUPPORT_ACT_H
#define TR_TESTS_SUPPORT_ACT_H

#include <stdint.h>

/*
 * Becomes a keeper or an actor when the arguments ask for one, and returns its exit status;
 * returns -1 when they do not.
 *
 *     keeper [idle MS] [forgotten BYTES] [unsynced] FOLDER     a detached keeper
 *     act WHAT ...                                             see the table in act.c
 */
int act_main(int count, char **arguments);

/* Waits without a clock of the caller's own. */
void act_wait_ms(int wait_ms);

#endif
