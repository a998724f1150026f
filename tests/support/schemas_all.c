/*
 * The one list of all definition lists. Whoever adds a list to schemas/ adds two lines here.
 */
#include "tests/support/schemas_all.h"

#include <stdio.h>
#include <stdlib.h>

#include "schemas/control.h"
#include "schemas/files.h"
#include "schemas/flow.h"
#include "schemas/history.h"
#include "schemas/http.h"
#include "schemas/process.h"
#include "schemas/request.h"
#include "schemas/state_array.h"
#include "schemas/state_plugin.h"
#include "schemas/state_task.h"
#include "schemas/tap.h"
#include "tests/support/sample.h"

static const struct tr_schema *const control[] = {TR_CONTROL_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const flow[] = {TR_FLOW_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const http[] = {TR_HTTP_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const process[] = {TR_PROCESS_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const tap[] = {TR_TAP_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
static const struct tr_schema *const sample[] = {TR_SAMPLE_SCHEMAS(TR_SCHEMA_POINTER_ROW)};

static const struct tr_schema_list lists[] = {
    {control, TR_COUNT_OF(control)}, {process, TR_COUNT_OF(process)}, {http, TR_COUNT_OF(http)},
    {tap, TR_COUNT_OF(tap)},         {flow, TR_COUNT_OF(flow)},       {sample, TR_COUNT_OF(sample)},
};

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
