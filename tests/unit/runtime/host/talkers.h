/*
 * A speaker that tells a listener numbered notes, and a listener that ends in order when it has
 * heard all of them in theirs: for tests with real hosts.
 */
#ifndef TR_TESTS_UNIT_RUNTIME_HOST_TALKERS_H
#define TR_TESTS_UNIT_RUNTIME_HOST_TALKERS_H

#include "runtime/troupe.h"
#include "tests/support/test.h"

#define TALKERS_NOTES 200 /* fewer than the window holds, so that all can be said at once */
#define TALKERS_WAIT_MS 20000

extern const struct tr_behaviour *const talkers_behaviours[];
extern const size_t talkers_behaviour_count;

struct tr_ref talkers_listen(struct tr_host *host);

/* Lets somebody say all notes, and returns when that is done. */
void talkers_speak(struct tr_host *host, struct tr_ref listener);

#endif
