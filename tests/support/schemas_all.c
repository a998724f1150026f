/*
 * The one list of all definition lists: a new list of schemas/ adds two lines here.
 */
#include "tests/support/schemas_all.h"

#include <stdio.h>
#include <stdlib.h>

#include "schemas/engine/entity.h"
#include "schemas/engine/flow.h"
#include "schemas/engine/history.h"
#include "schemas/engine/notify.h"
#include "schemas/engine/recovery.h"
#include "schemas/engine/refresh.h"
#include "schemas/engine/retention.h"
#include "schemas/engine/schedule.h"
#include "schemas/engine/state_array.h"
#include "schemas/engine/state_launch.h"
#include "schemas/engine/state_plugin.h"
#include "schemas/engine/state_refresh.h"
#include "schemas/engine/state_service.h"
#include "schemas/engine/state_signals.h"
#include "schemas/engine/state_task.h"
#include "schemas/engine/state_workflow.h"
#include "schemas/runtime/archive.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/crash.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/http.h"
#include "schemas/runtime/inquiry.h"
#include "schemas/runtime/interhost.h"
#include "schemas/runtime/place.h"
#include "schemas/runtime/process.h"
#include "schemas/runtime/query.h"
#include "schemas/runtime/recording.h"
#include "schemas/runtime/request.h"
#include "schemas/runtime/tap.h"
#include "tests/support/sample.h"

#define LISTS(L)                                 \
    L(interhost, TR_INTERHOST_SCHEMAS)           \
    L(control, TR_CONTROL_SCHEMAS)               \
    L(crash, TR_CRASH_SCHEMAS)                   \
    L(place, TR_PLACE_SCHEMAS)                   \
    L(query, TR_QUERY_SCHEMAS)                   \
    L(process, TR_PROCESS_SCHEMAS)               \
    L(http, TR_HTTP_SCHEMAS)                     \
    L(files, TR_FILES_SCHEMAS)                   \
    L(inquiry, TR_INQUIRY_SCHEMAS)               \
    L(tap, TR_TAP_SCHEMAS)                       \
    L(recording, TR_RECORDING_SCHEMAS)           \
    L(flow, TR_FLOW_SCHEMAS)                     \
    L(recovery, TR_RECOVERY_SCHEMAS)             \
    L(history, TR_HISTORY_SCHEMAS)               \
    L(request, TR_REQUEST_SCHEMAS)               \
    L(refresh, TR_REFRESH_SCHEMAS)               \
    L(archive, TR_ARCHIVE_SCHEMAS)               \
    L(retention, TR_RETENTION_SCHEMAS)           \
    L(notify, TR_NOTIFY_SCHEMAS)                 \
    L(schedule, TR_SCHEDULE_SCHEMAS)             \
    L(entity, TR_ENTITY_SCHEMAS)                 \
    L(state_task, TR_STATE_TASK_SCHEMAS)         \
    L(state_plugin, TR_STATE_PLUGIN_SCHEMAS)     \
    L(sample, TR_SAMPLE_SCHEMAS)                 \
    L(array, TR_STATE_ARRAY_SCHEMAS)             \
    L(state_launch, TR_STATE_LAUNCH_SCHEMAS)     \
    L(state_workflow, TR_STATE_WORKFLOW_SCHEMAS) \
    L(state_service, TR_STATE_SERVICE_SCHEMAS)   \
    L(state_refresh, TR_STATE_REFRESH_SCHEMAS)   \
    L(state_signals, TR_STATE_SIGNALS_SCHEMAS)

#define TABLE(name, SCHEMAS) \
    static const struct tr_schema *const name[] = {SCHEMAS(TR_SCHEMA_POINTER_ROW)};
LISTS(TABLE)

#define ROW(name, SCHEMAS) {name, TR_COUNT_OF(name)},
static const struct tr_schema_list lists[] = {LISTS(ROW)};

const struct tr_registry *schemas_all(void)
{
    static struct tr_registry registry;
    if (registry.count == 0) {
        char explain[TR_REGISTRY_EXPLAIN_BYTES];
        if (tr_registry_init(&registry, lists, TR_COUNT_OF(lists), explain) != 0) {
            fprintf(stderr, "%s\n", explain);
            abort();
        }
    }
    return &registry;
}
