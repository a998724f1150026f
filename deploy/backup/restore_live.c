/*
 * Reading the restored database at one moment, and writing to it in commits of bounded size.
 */
#include "deploy/backup/restore_live.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/engine.h"
#include "deploy/common/schemas.h"
#include "deploy/history/executions.h"
#include "deploy/inputs/relocate.h"
#include "deploy/offline/end_aside.h"
#include "deploy/offline/send.h"
#include "runtime/journal/images.h"
#include "runtime/sqlite/sqlite.h"
#include "schemas/codec/error.h"
#include "schemas/engine/history_views.h"
#include "schemas/engine/state_task.h"
#include "schemas/runtime/archive.h"

/* Operations of one commit. */
#define COMMIT_OPS 1000

/* Before all that has a clock of its own. */
#define FIRST_CLOCK 1

struct changing {
    struct tr_restore *restore;
    struct tr_relocation paths;
    struct tri_store *store;
    struct tr_reader *reader;
    struct tr_arena arena; /* of the commit in hand */
    struct tri_vector ops;
    uint64_t said;
};

TR_MUST_USE static int fail(const struct changing *changing, int error, const char *words)
{
    if (changing->restore->explain[0] == '\0') {
        (void)snprintf(changing->restore->explain, TRI_STORE_EXPLAIN_BYTES, "%s",
                       words[0] != '\0' ? words : tr_error_text(error));
    }
    return error;
}

/* ---- Commits. ------------------------------------------------------------------------------- */

static int compare_ops(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

static int commit(struct changing *changing)
{
    int error = 0;
    if (changing->ops.count > 0) {
        qsort(changing->ops.items, changing->ops.count, sizeof(struct tri_op), compare_ops);
        const struct tri_commit commit = {.ops = changing->ops.items,
                                          .count = changing->ops.count,
                                          .last_number = changing->store->last_number + 1};
        error = tri_store_commit(changing->store, &commit);
    }
    tr_arena_fini(&changing->arena);
    tr_arena_init(&changing->arena);
    changing->ops = (struct tri_vector){.count = 0};
    return error == 0 ? 0 : fail(changing, error, tri_store_explain(changing->store));
}

static int commit_if_full(struct changing *changing)
{
    return changing->ops.count < COMMIT_OPS ? 0 : commit(changing);
}

/* ---- Tasks. --------------------------------------------------------------------------------- */

/* Which of them counts on this machine it knows itself (actors/task/task.c). */
static int tell_task(void *self, const struct tr_actor_image *image)
{
    struct changing *changing = self;
    struct tr_task_state state;
    const struct tr_store_restored restored = {};
    int error = tr_task_state_unpack(image->state, image->state_version, &state);
    if (error != 0 || (state.step != TR_STEP_RUN && state.step != TR_STEP_KEEP)) {
        return error;
    }
    struct tri_op *op = tri_vector_add(&changing->arena, &changing->ops, sizeof *op);
    if (op == NULL) {
        return changing->arena.error;
    }
    const struct tr_offline_message sending = {
        .to = image->actor, .number = ++changing->said, .clock = FIRST_CLOCK};
    error = tr_send_offline(&changing->arena, tr_offline_host(changing->store), &sending,
                            &tr_store_restored_schema, &restored, op);
    return error != 0 ? error : commit_if_full(changing);
}

static int tell_tasks(struct changing *changing)
{
    return tr_images_of_behaviour(changing->reader, tr_task_behaviour.id, tell_task, changing);
}

/* ---- The history. --------------------------------------------------------------------------- */

static int count_execution(void *self, const void *value)
{
    struct tr_restored *restored = self;
    const struct tr_execution *row = value;
    restored->executions++;
    restored->unfinished += tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase) ? 0 : 1;
    return 0;
}

static int count_executions(const struct changing *changing)
{
    const struct tr_reader_query query = {.record = &tr_execution_schema};
    return tr_reader_rows(changing->reader, &query, count_execution, &changing->restore->restored);
}

static int write_row(struct changing *changing, const struct tr_schema *record, const void *row)
{
    int error = tr_row_add(&changing->arena, &changing->ops, record, row);
    return error != 0 ? error : commit_if_full(changing);
}

/* The folder of an attempt whose files lay in the store. */
static int move_attempt(void *self, const void *value)
{
    struct changing *changing = self;
    struct tr_text from = changing->paths.from;
    struct tr_attempt row = *(const struct tr_attempt *)value;
    bool is_ours = row.folder.size > from.size &&
                   memcmp(row.folder.data, from.data, from.size) == 0 &&
                   row.folder.data[from.size] == '/';
    if (!is_ours) {
        return 0;
    }
    row.folder = tr_arena_print(&changing->arena, "%s%.*s", changing->restore->folder,
                                (int)(row.folder.size - from.size), row.folder.data + from.size);
    return changing->arena.error != 0 ? changing->arena.error
                                      : write_row(changing, &tr_attempt_schema, &row);
}

/* Values that name blobs. */
static int move_value(void *self, const void *value)
{
    struct changing *changing = self;
    struct tr_node_value row = *(const struct tr_node_value *)value;
    struct tr_bytes before = row.slots;
    struct tr_buffer slots;
    int error = 0;
    tr_buffer_init(&slots, 0);
    if (before.size > 0) {
        error = tr_relocate_value(&changing->paths, before, &slots);
        row.slots = tr_buffer_bytes(&slots);
    }
    bool is_same = error == 0 && row.slots.size == before.size &&
                   (before.size == 0 || memcmp(row.slots.data, before.data, before.size) == 0);
    if (error == 0 && !is_same) {
        error = write_row(changing, &tr_node_value_schema, &row);
    }
    tr_buffer_fini(&slots);
    return error;
}

static int move_history(struct changing *changing)
{
    const struct tr_reader_query attempts = {.record = &tr_attempt_schema};
    const struct tr_reader_query values = {.record = &tr_node_value_schema};
    if (tr_text_equal(changing->paths.from, changing->paths.to)) {
        return 0;
    }
    int error = tr_reader_rows(changing->reader, &attempts, move_attempt, changing);
    return error != 0 ? error : tr_reader_rows(changing->reader, &values, move_value, changing);
}

/* ---- All of it. ----------------------------------------------------------------------------- */

static int change(struct changing *changing)
{
    int error = count_executions(changing);
    if (error == 0) {
        error = tell_tasks(changing);
    }
    if (error == 0) {
        error = move_history(changing);
    }
    if (error != 0) {
        return fail(changing, error, tr_reader_explain(changing->reader));
    }
    return commit(changing);
}

int tr_restore_live(struct tr_restore *restore)
{
    char folder[PATH_MAX];
    struct changing changing = {
        .restore = restore,
        .paths = {.from = restore->restored.store, .to = tr_text_of(restore->folder)}};
    (void)snprintf(folder, sizeof folder, "%.4000s/" TR_RESTORE_PART, restore->folder);
    struct tri_store_options options = {.folder = folder,
                                        .durability = TR_DURABILITY_FULL,
                                        .records = tr_program_records,
                                        .record_count = tr_program_record_count,
                                        .views = &tr_history_views};
    int error = tri_sqlite_open(&options, restore->explain, &changing.store);
    if (error != 0) {
        return error;
    }
    tr_arena_init(&changing.arena);
    error = tr_history_open(folder, restore->explain, &changing.reader);
    if (error == 0) {
        error = change(&changing);
        tr_reader_close(changing.reader);
    }
    tr_arena_fini(&changing.arena);
    tri_store_close(changing.store);
    return error;
}
