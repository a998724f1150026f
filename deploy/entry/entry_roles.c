/*
 * A row for each request. What is about one execution is asked for where that is; all else needs
 * its role in all projects and domains.
 *
 * Who asks for a change is written down before it is done, so that none is done unseen; it is
 * written behind what was asked for before, by the actor that has all rows of the audit.
 */
#include "deploy/entry/entry_roles.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/document/buffer.h"
#include "deploy/common/clock.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"
#include "schemas/engine/entity.h"
#include "schemas/engine/retention.h"
#include "schemas/runtime/query.h"
#include "schemas/runtime/request.h"

/* `is_looked`: it changes nothing, so it is not audited. */
static const struct {
    const struct tr_schema *schema;
    enum tr_api_role role;
    bool is_look;
    bool is_anywhere; /* a role in any place will do */
} rows[] = {
    {&tr_hello_schema, TR_API_VIEW, true, true},
    {&tr_ping_engine_schema, TR_API_VIEW, true, true},
    {&tr_list_dormant_schema, TR_API_VIEW, true, true},
    {&tr_read_rows_schema, TR_API_VIEW, true,
     true}, /* each question is looked at (entry_answers.c) */
    {&tr_read_objects_schema, TR_API_VIEW, true, true},
    {&tr_read_cell_schema, TR_API_VIEW, true, true},
    {&tr_read_members_schema, TR_API_VIEW, true, true},
    {&tr_list_metrics_schema, TR_API_VIEW, true, false},
    {&tr_expose_metrics_schema, TR_API_VIEW, true, false},
    {&tr_follow_schema, TR_API_RUN, true, false},
    {&tr_stop_execution_schema, TR_API_RUN, false, false},
    {&tr_pause_execution_schema, TR_API_RUN, false, false},
    {&tr_detach_execution_schema, TR_API_RUN, true, false},
    {&tr_activate_execution_schema, TR_API_RUN, false, false},
    {&tr_send_answer_schema, TR_API_RUN, false, false},
    {&tr_trigger_schedule_schema, TR_API_RUN, false, false},
    {&tr_submit_schema, TR_API_REGISTER, false, false},
    {&tr_apply_plans_schema, TR_API_REGISTER, false, false},
    {&tr_pause_schedule_schema, TR_API_REGISTER, false, false},
    {&tr_list_actors_schema, TR_API_ADMIN, true, false},
    {&tr_resume_actors_schema, TR_API_ADMIN, false, false},
    {&tr_open_tap_schema, TR_API_ADMIN, false, false},
    {&tr_open_recording_schema, TR_API_ADMIN, false, false},
    {&tr_lift_aside_schema, TR_API_ADMIN, false, false},
    {&tr_release_plugin_schema, TR_API_ADMIN, false, false},
};

static const char *const role_words[] = {[TR_API_ANYBODY] = "anybody",
                                         [TR_API_VIEW] = "view",
                                         [TR_API_RUN] = "run",
                                         [TR_API_REGISTER] = "register",
                                         [TR_API_ADMIN] = "admin"};

/* ---- What it is about. ----------------------------------------------------------------------- */

/* The number of the execution that a request names; 0: none. */
static uint64_t execution_of(const struct tr_schema *schema, const struct tri_request *request)
{
    const struct tr_field *fields = schema->fields();
    uint64_t number = 0;
    uint8_t *value = tr_alloc_zero(1, schema->struct_size);
    for (uint16_t i = 0; value != NULL && i < schema->field_count; i++) {
        bool is_it = fields[i].kind == TR_FIELD_u64 && strcmp(fields[i].name, "execution") == 0;
        if (is_it && schema->unpack(request->body, request->version, value) == 0) {
            memcpy(&number, value + fields[i].offset, sizeof number);
        }
    }
    tr_free(value);
    return number;
}

/* Its row; false: it has none, or none is named. */
static bool find_execution(struct tr_live *live, uint64_t number, struct tr_executions_row *copy)
{
    struct tr_reader *reader;
    if (number == 0 || tr_live_read(live, NULL, &reader) != 0) {
        return false;
    }
    int error = tr_executions_get(reader, number, copy);
    tr_live_read_end(live);
    return error == 0;
}

/* ---- The audit. ------------------------------------------------------------------------------ */

static void take_kept(void *self, const struct tr_message *message, int reason)
{
    (void)self; /* what could not be written the engine's own log says: it cannot commit */
    (void)message;
    (void)reason;
}

static int keep(struct tr_live *live, const struct tr_audit *row)
{
    struct tr_ref schedules;
    struct tr_buffer rows_kept;
    uint8_t *bytes = tr_alloc(tr_audit_schema.size_max(row));
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, tr_audit_schema.size_max(row));
    tr_buffer_init(&rows_kept, 0);
    int error = tr_audit_schema.pack(row, &writer);
    tr_buffer_array(&rows_kept, 2);
    tr_buffer_u64(&rows_kept, tr_audit_schema.id);
    tr_buffer_bytes_value(&rows_kept,
                          (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)});
    error = error != 0 ? error : rows_kept.error;
    if (error == 0) {
        error = tr_live_schedules(live, &schedules);
    }
    if (error == 0) {
        const struct tr_entity_keep message = {.rows = tr_buffer_bytes(&rows_kept)};
        error = tr_host_ask_on(live->host, schedules, &tr_entity_keep_schema, &message, take_kept,
                               NULL);
    }
    tr_buffer_fini(&rows_kept);
    tr_free(bytes);
    return error;
}

/* ---- Admitting. ------------------------------------------------------------------------------ */

static const char *text_or_null(struct tr_text text, char *room, size_t size)
{
    (void)snprintf(room, size, "%.*s", (int)text.size, text.data);
    return text.size > 0 ? room : NULL;
}

static bool may(struct tr_live *live, const char *who, size_t row,
                const struct tr_executions_row *found, char *words)
{
    char project[256];
    char domain[256];
    const struct tr_api_client *client = tri_entry_client(live, who);
    const struct tr_api_place place = {
        .project = text_or_null(found->row.project, project, sizeof project),
        .domain = text_or_null(found->row.domain, domain, sizeof domain),
        .is_anywhere = rows[row].is_anywhere};
    if (client != NULL && tr_api_client_may(client, rows[row].role, &place)) {
        return true;
    }
    (void)snprintf(words, TR_ENTRY_WORDS_BYTES, "%s needs the role %s %s%s%s%s for this", who,
                   role_words[rows[row].role],
                   place.project != NULL ? "in " : "in all projects and domains",
                   place.project != NULL ? place.project : "", place.project != NULL ? "/" : "",
                   place.project != NULL ? place.domain : "");
    return false;
}

bool tri_entry_roles_admit(struct tr_live *live, const char *who, const struct tri_request *request,
                           uint64_t *audited, char *words)
{
    struct tr_executions_row found = {.texts = NULL};
    size_t row = 0;
    while (row < TR_COUNT_OF(rows) && rows[row].schema->id != request->type) {
        row++;
    }
    if (row == TR_COUNT_OF(rows)) {
        (void)snprintf(words, TR_ENTRY_WORDS_BYTES,
                       "this is not done over the network; type it on a host of the store");
        return false;
    }
    bool has_row = find_execution(live, execution_of(rows[row].schema, request), &found);
    bool is_admitted = may(live, who, row, &found, words);
    if (!rows[row].is_look) {
        const struct tr_audit audit = {.at_ms = tr_clock_wall_ms(),
                                       .number = ++*audited,
                                       .who = tr_text_of(who),
                                       .call = tr_text_of(rows[row].schema->name),
                                       .project = has_row ? found.row.project : tr_text_of(""),
                                       .domain = has_row ? found.row.domain : tr_text_of(""),
                                       .subject = has_row ? found.row.name : tr_text_of(""),
                                       .outcome = tr_text_of(is_admitted ? "" : words)};
        int error = keep(live, &audit);
        if (error != 0 && is_admitted) {
            (void)snprintf(words, TR_ENTRY_WORDS_BYTES, "it cannot be written into the audit: %s",
                           tr_error_text(error));
            is_admitted = false;
        }
    }
    tr_executions_row_fini(&found);
    return is_admitted;
}
