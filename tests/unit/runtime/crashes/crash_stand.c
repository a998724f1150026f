/*
 * A folder that is a store of SQLite's, or is bound to a schema of PostgreSQL's.
 */
#include "tests/unit/runtime/crashes/crash_stand.h"

#include "runtime/journal/store_folder.h"
#include "runtime/store_care.h"
#include "runtime/store_open.h"

static struct tri_store_options options_of(const struct crash_stand *stand)
{
    return (struct tri_store_options){.folder = stand->folder, .durability = TR_DURABILITY_FULL};
}

struct crash_stand *crash_stand_begin(void **state)
{
    static struct crash_stand stand;
    const enum stand_kind *kind = *state;
    char explain[TRI_STORE_EXPLAIN_BYTES];
    bool was_made;
    stand.database = stand_new(*kind);
    stand.store = NULL;
    scripted_folder(stand.folder);
    if (*kind == STAND_POSTGRES) {
        const struct tri_store_options options = options_of(&stand);
        assert_int_equal(tri_store_folder_bind(stand.folder, stand.database->locator, explain), 0);
        assert_int_equal(tri_store_init(&options, explain, &was_made), 0);
    }
    return &stand;
}

void crash_stand_close(struct crash_stand *stand)
{
    tri_store_close(stand->store);
    stand->store = NULL;
}

void crash_stand_end(struct crash_stand *stand)
{
    crash_stand_close(stand);
    scripted_folder_remove(stand->folder);
    stand_free(stand->database);
}

static void open_store(struct crash_stand *stand)
{
    const struct tri_store_options options = options_of(stand);
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    crash_stand_close(stand);
    int error = tri_store_open(&options, explain, &stand->store);
    if (error != 0) {
        fail_msg("%s: %s", tr_error_name(error), explain);
    }
}

struct tri_poison_messages *crash_stand_start(struct crash_stand *stand)
{
    struct tri_poison_messages *poison = NULL;
    open_store(stand);
    assert_int_equal(tri_poison_message_open(stand->folder, stand->store, &poison), 0);
    return poison;
}

const struct tri_crashes *crash_stand_read(struct crash_stand *stand)
{
    if (stand->store == NULL) {
        open_store(stand);
    }
    assert_int_equal(tri_crashes_read(stand->store, &stand->crashes), 0);
    return &stand->crashes;
}

void crash_stand_forget(struct crash_stand *stand,
                        bool (*is_meant)(const void *self, const struct tri_crash_row *row),
                        const void *self)
{
    (void)crash_stand_read(stand);
    (void)tri_crashes_forget(&stand->crashes, is_meant, self);
    assert_int_equal(tri_crashes_commit(&stand->crashes, stand->store), 0);
}
