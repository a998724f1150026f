/*
 * A program that does as its arguments say, for tests that need real processes. The test programs
 * are it themselves: `/proc/self/exe helper WHAT ...`.
 */
#ifndef TR_TESTS_SUPPORT_HELPER_PROCESS_H
#define TR_TESTS_SUPPORT_HELPER_PROCESS_H

#include <stdint.h>

/*
 * Becomes a keeper or an actor when the arguments ask for one, and returns its exit status;
 * returns -1 when they do not.
 *
 *     keeper [idle MS] [forgotten BYTES] [unsynced] FOLDER     a detached keeper
 *     helper WHAT ...                                             see the table in helper_process.c
 */
int helper_main(int count, char **arguments);

/* Waits without a clock of the caller's own. */
void helper_wait_ms(int wait_ms);

#endif
