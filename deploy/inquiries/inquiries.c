/*
 * The table of what actors ask the program, and the short answers; longer ones have files of their
 * own.
 */
#include "deploy/inquiries/inquiries.h"

#include "actors/engine.h"
#include "deploy/inputs/bind_values.h"
#include "deploy/inquiries/decide.h"
#include "deploy/inquiries/graph_read.h"
#include "deploy/inquiries/schedule_look.h"
#include "deploy/recovery/reuse.h"
#include "schemas/engine/recovery.h"
#include "schemas/engine/schedule.h"
#include "schemas/runtime/inquiry.h"

/* An actor does not need the graph that it has asked for any more. */
static int drop_graph(const struct tr_inquiry *inquiry, char *explain)
{
    struct tr_graph_drop drop;
    struct tr_engine *engine = inquiry->program;
    (void)explain;
    if (tr_graph_drop_unpack(inquiry->body, inquiry->version, &drop) != 0) {
        return TR_MALFORMED;
    }
    if (tr_graph_registry_find(&engine->registry, drop.graph) != NULL) {
        tr_graph_registry_drop(&engine->registry, drop.graph);
    }
    return 0;
}

static const struct {
    const struct tr_schema *schema;
    int (*answer)(const struct tr_inquiry *inquiry, char *explain);
} rows[] = {
    {&tr_graph_make_schema, tr_decide_graph},
    {&tr_graph_drop_schema, drop_graph},
    {&tr_graph_read_schema, tr_graph_read_answer},
    {&tr_values_bind_schema, tr_bind_values},
    {&tr_schedule_look_schema, tr_schedule_look_answer},
    {&tr_recover_nodes_schema, tr_reuse_nodes},
    {&tr_recover_elements_schema, tr_reuse_elements},
};

int tr_inquiry_take(const struct tr_inquiry *inquiry, char *explain)
{
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        if (rows[i].schema->id == inquiry->type) {
            return rows[i].answer(inquiry, explain);
        }
    }
    return TR_UNKNOWN_TYPE;
}
