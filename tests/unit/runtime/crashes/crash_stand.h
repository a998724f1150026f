/*
 * A store in either database, with a folder, for what is counted of crashes: it is opened for
 * writing at each start, as a host does.
 */
#ifndef TR_TESTS_UNIT_RUNTIME_CRASHES_CRASH_STAND_H
#define TR_TESTS_UNIT_RUNTIME_CRASHES_CRASH_STAND_H

#include "tests/unit/runtime/stand.h"

#include "runtime/crashes/poison_message.h"
#include "tests/support/scripted.h"

struct crash_stand {
    char folder[SCRIPTED_PATH_BYTES]; /* of the store: hosts may be made with it */
    struct stand *database;
    struct tri_store *store; /* of the last start; NULL: closed */
    struct tri_crashes crashes;
};

/* Makes one of the kind that the test's state points to; there is one at a time. */
struct crash_stand *crash_stand_begin(void **state);
void crash_stand_end(struct crash_stand *stand);

/*
 * A start: counts what was in hand. The one before may not be closed yet, as after a crash; its
 * store is.
 */
struct tri_poison_messages *crash_stand_start(struct crash_stand *stand);

/* Closes the store, so that a host may have it. */
void crash_stand_close(struct crash_stand *stand);

/* The rows as the store has them now. */
const struct tri_crashes *crash_stand_read(struct crash_stand *stand);

/* Forgets what is meant, as a command does in place of an engine. */
void crash_stand_forget(struct crash_stand *stand,
                        bool (*is_meant)(const void *self, const struct tri_crash_row *row),
                        const void *self);

#endif
