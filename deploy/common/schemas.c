/*
 * The list of the program's schemas.
 */
#include "deploy/common/schemas.h"

#include "schemas/engine/entity.h"
#include "schemas/engine/flow.h"
#include "schemas/engine/history.h"
#include "schemas/engine/notify.h"
#include "schemas/engine/recovery.h"
#include "schemas/engine/refresh.h"
#include "schemas/engine/schedule.h"
#include "schemas/engine/state_refresh.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/http.h"
#include "schemas/runtime/inquiry.h"
#include "schemas/runtime/process.h"
#include "schemas/runtime/recording.h"
#include "schemas/runtime/request.h"
#include "schemas/runtime/tap.h"

static const struct tr_schema *const control[] = {TR_CONTROL_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const entity[] = {TR_ENTITY_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const flow[] = {TR_FLOW_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const history[] = {TR_HISTORY_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const http[] = {TR_HTTP_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const inquiry[] = {TR_INQUIRY_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const notify[] = {TR_NOTIFY_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const process[] = {TR_PROCESS_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const recording[] = {TR_RECORDING_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const recovery[] = {TR_RECOVERY_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const refresh[] = {TR_REFRESH_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const request[] = {TR_REQUEST_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const schedule[] = {TR_SCHEDULE_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const tap[] = {TR_TAP_SCHEMAS(TR_SCHEMA_POINTER_ROW)};

static const struct tr_schema_list lists[] = {
    {control, TR_COUNT_OF(control)},   {flow, TR_COUNT_OF(flow)},
    {history, TR_COUNT_OF(history)},   {http, TR_COUNT_OF(http)},
    {process, TR_COUNT_OF(process)},   {request, TR_COUNT_OF(request)},
    {tap, TR_COUNT_OF(tap)},           {recording, TR_COUNT_OF(recording)},
    {recovery, TR_COUNT_OF(recovery)}, {inquiry, TR_COUNT_OF(inquiry)},
    {schedule, TR_COUNT_OF(schedule)}, {refresh, TR_COUNT_OF(refresh)},
    {notify, TR_COUNT_OF(notify)},     {entity, TR_COUNT_OF(entity)},
};

const struct tr_schema *const tr_program_records[] = {
    &tr_schedule_row_schema,      &tr_entity_schema,
    &tr_entity_name_schema,       &tr_entity_project_schema,
    &tr_entity_attributes_schema, &tr_audit_schema,
    &tr_backend_schema,           TR_HISTORY_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
const size_t tr_program_record_count = TR_COUNT_OF(tr_program_records);

const struct tr_registry *tr_program_schemas(void)
{
    static struct tr_registry registry;
    if (registry.count == 0) {
        char explain[TR_REGISTRY_EXPLAIN_BYTES];
        int error = tr_registry_init(&registry, lists, TR_COUNT_OF(lists), explain);
        TR_ASSERT(error == 0);
    }
    return &registry;
}

int tr_schemas_row_keep(struct tr_arena *arena, const struct tr_schema *schema, void *row)
{
    const struct tr_field *fields = schema->fields();
    for (uint16_t i = 0; i < schema->field_count; i++) {
        void *place = (uint8_t *)row + fields[i].offset;
        if (fields[i].kind == TR_FIELD_text) {
            struct tr_text *text = place;
            *text = tr_arena_text(arena, *text);
        } else if (fields[i].kind == TR_FIELD_bytes || fields[i].kind == TR_FIELD_any) {
            struct tr_bytes *bytes = place;
            struct tr_text kept = tr_arena_text(
                arena, (struct tr_text){.data = (const char *)bytes->data, .size = bytes->size});
            *bytes = (struct tr_bytes){.data = (const uint8_t *)kept.data, .size = kept.size};
        }
    }
    return arena->error;
}
