/*
 * Changes of executions in the audit. An execution and the rows of the audit are different actors',
 * so there is no commit of both. Both are asked at once, and who has asked is answered when both
 * have been committed: no change that was acknowledged lacks its row, and no time is lost. A row
 * whose change was refused is written again, with the reason; one whose engine was killed in
 * between says what was asked for.
 */
#include "deploy/api_runs/desk.h"
#include "deploy/common/clock.h"
#include "runtime/host/host.h"
#include "schemas/codec/error.h"

static void take_kept(void *self, const struct tr_message *message, int reason)
{
    struct tr_desk_job *job = self;
    struct tr_entity_kept kept = {.error = 0};
    int error = message == NULL ? reason : tr_message_read(message, entity_kept, &kept);
    job->audits--;
    job->audit_error = error != 0 ? error : (int)kept.error;
    if (job->is_finished) {
        tr_desk_finish(job);
    }
}

/* A list of one row, as the actor that has all of them takes it. */
static int pack(const struct tr_audit *row, struct tr_arena *arena, struct tr_buffer *rows)
{
    size_t size_max = tr_audit_schema.size_max(row);
    uint8_t *bytes = tr_arena_alloc(arena, size_max);
    if (bytes == NULL) {
        return arena->error;
    }
    struct tr_writer writer = tr_writer_of(bytes, size_max);
    int error = tr_audit_schema.pack(row, &writer);
    tr_buffer_array(rows, 2);
    tr_buffer_u64(rows, tr_audit_schema.id);
    tr_buffer_bytes_value(rows, (struct tr_bytes){bytes, tr_writer_size(&writer)});
    return error != 0 ? error : rows->error;
}

static int keep(struct tr_desk_job *job)
{
    struct tr_live *live = tr_desk_live(job->desk);
    struct tr_ref schedules;
    struct tr_buffer rows;
    tr_buffer_init(&rows, 0);
    int error = pack(&job->audit, &job->arena, &rows);
    if (error == 0) {
        error = tr_live_schedules(live, &schedules);
    }
    if (error == 0) {
        const struct tr_entity_keep message = {.rows = tr_buffer_bytes(&rows)};
        error =
            tr_host_ask_on(live->host, schedules, &tr_entity_keep_schema, &message, take_kept, job);
    }
    tr_buffer_fini(&rows);
    job->audits += error == 0 ? 1 : 0;
    return error;
}

int tr_desk_audit(struct tr_desk_job *job, struct tr_text subject)
{
    uint64_t at_ms = job->audit.at_ms;
    const struct tr_api_change change = {
        .method = job->method, .request = job->request, .who = job->principal, .number = job->call};
    tr_api_audit_row(&change, subject, &job->arena, &job->audit);
    job->audit.at_ms = at_ms != 0 ? at_ms : job->audit.at_ms;
    return job->arena.error != 0 ? job->arena.error : keep(job);
}

void tri_desk_audit_refusal(struct tr_desk_job *job)
{
    if (job->audit.at_ms != 0 && job->response == NULL) {
        job->audit.outcome = tr_text_of(job->words == NULL ? "refused" : job->words);
        job->audit_error = keep(job);
    }
}
