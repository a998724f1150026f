/*
 * Keeping: rows go to the actor that has all entities, in one message, so that all of them are
 * committed or none.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/api/audit.h"
#include "deploy/entities/registrar_inside.h"
#include "deploy/server/apply_plans.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

void tri_keep_init(struct tri_keep *keep)
{
    *keep = (struct tri_keep){.count = 0};
    tr_buffer_init(&keep->rows, 0);
}

void tri_keep_fini(struct tri_keep *keep)
{
    tr_buffer_fini(&keep->rows);
}

int tri_keep_add(struct tri_keep *keep, const struct tr_schema *record, const void *row)
{
    size_t size_max = record->size_max(row);
    uint8_t *bytes = tr_alloc(size_max);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size_max);
    int error = record->pack(row, &writer);
    if (error == 0) {
        tr_buffer_u64(&keep->rows, record->id);
        tr_buffer_bytes_value(&keep->rows, (struct tr_bytes){bytes, tr_writer_size(&writer)});
        keep->count++;
        error = keep->rows.error;
    }
    tr_free(bytes);
    return error;
}

/* ------------------------------------------------------------------ on the engine's thread */

struct keeping {
    struct tr_bytes rows;
    uint64_t kept; /* the engine's count, of what was looked up */
    int (*before)(struct tr_live *live, void *self, char *explain);
    void *self;
    int error;
    char explain[TR_APPLY_EXPLAIN_BYTES];
};

static void take_kept(void *self, const struct tr_message *message)
{
    struct keeping *keeping = self;
    struct tr_entity_kept answer;
    int error = tr_message_read(message, entity_kept, &answer);
    keeping->error = error != 0 ? error : (int)answer.error;
}

static void keep_there(struct tr_live *live, void *self)
{
    struct keeping *keeping = self;
    struct tr_ref schedules;
    struct tr_entity_keep message = {.rows = keeping->rows};
    int error =
        keeping->before == NULL ? 0 : keeping->before(live, keeping->self, keeping->explain);
    if (error == 0) {
        error = tr_live_schedules(live, &schedules);
    }
    if (error == 0) {
        error = tr_host_ask(live->host, schedules, &tr_entity_keep_schema, &message, 0, take_kept,
                            keeping);
    }
    keeping->error = error != 0 ? error : keeping->error;
}

/* Who has asked for it, committed with it. */
static int add_audit(struct tri_job *job, struct tri_keep *keep)
{
    const struct tr_api_change change = {
        .method = job->method, .request = job->request, .who = job->who, .number = job->call};
    struct tr_audit row;
    tr_api_audit_row(&change, tr_text_of(""), &job->arena, &row);
    return job->arena.error != 0 ? job->arena.error : tri_keep_add(keep, &tr_audit_schema, &row);
}

bool tri_keep_commit(struct tri_job *job, struct tri_keep *keep,
                     int (*before)(struct tr_live *live, void *self, char *explain), void *self)
{
    struct keeping keeping = {.before = before, .self = self, .kept = job->registrar->view.kept};
    struct tr_buffer list;
    tr_buffer_init(&list, 0);
    int error = add_audit(job, keep);
    tr_buffer_array(&list, 2 * keep->count);
    tr_buffer_add(&list, keep->rows.data, keep->rows.size);
    keeping.rows = tr_buffer_bytes(&list);
    error = error != 0 ? error : list.error;
    if (error == 0) {
        error = tr_live_call(job->registrar->live, keep_there, &keeping);
    }
    error = error != 0 ? error : keeping.error;
    tr_buffer_fini(&list);
    const struct tr_entity *entities = keep->entities.items;
    for (uint32_t i = 0; error == 0 && i < keep->entities.count; i++) {
        tri_view_note(job->registrar, &entities[i]);
    }
    if (error != 0) {
        tri_view_rest(job->registrar); /* what was committed all the same is seen */
        tri_job_fail_error(job, error, keeping.explain);
    }
    return error == 0;
}
