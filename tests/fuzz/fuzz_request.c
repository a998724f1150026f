/*
 * Any bytes as a frame at the engine's socket: refused, or a request that is made again as the same
 * bytes, and whose body is read as deep as the engine reads it; of a submission that is the graph,
 * the workflow's number and the inputs.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "deploy/engine/launch.h"
#include "runtime/link/endpoint.h"
#include "runtime/memory.h"
#include "schemas/runtime/request.h"

/* A body as it stands, in place of a value's packing. */
static int pack_body(const void *value, struct tr_writer *writer)
{
    const struct tr_bytes *body = value;
    TR_ASSERT((size_t)(writer->end - writer->at) >= body->size);
    if (body->size > 0) {
        memcpy(writer->at, body->data, body->size);
    }
    writer->at += body->size;
    return 0;
}

static size_t body_size(const void *value)
{
    return ((const struct tr_bytes *)value)->size;
}

static void make_again(const struct tri_request *request, struct tr_bytes frame)
{
    struct tr_schema any = {
        .id = request->type, .version = request->version, .size_max = body_size, .pack = pack_body};
    uint8_t *made;
    size_t size;
    TR_ASSERT(tri_request_make(request->number, &any, &request->body, &made, &size) == 0);
    TR_ASSERT(size == frame.size && memcmp(made, frame.data, size) == 0);
    tr_free(made);
}

static void read_submit(const struct tri_request *request)
{
    struct tr_submit submit;
    struct tr_graph *graph;
    if (tr_submit_unpack(request->body, request->version, &submit) != 0 ||
        tr_graph_unpack(submit.graph, &graph) != 0) {
        return;
    }
    struct tr_order order = {.graph = graph,
                             .workflow = submit.workflow,
                             .plan = submit.plan,
                             .inputs = submit.inputs,
                             .cache_mode = submit.cache_mode};
    if (tr_order_check(&order) == 0) {
        TR_ASSERT(order.workflow < graph->workflow_count);
        TR_ASSERT(order.plan == TR_GRAPH_NONE || order.plan < graph->plan_count);
    }
    tr_graph_free(graph);
}

/* Any request; what it says is forgotten. */
static void read_body(const struct tri_request *request)
{
    static const struct tr_schema *const schemas[] = {TR_REQUEST_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
    for (size_t i = 0; i < TR_COUNT_OF(schemas); i++) {
        if (schemas[i]->id == request->type) {
            size_t size = schemas[i]->struct_size; /* 0 where there are no fields */
            void *value = tr_alloc(size > 0 ? size : 1);
            TR_ASSERT(value != NULL);
            (void)!schemas[i]->unpack(request->body, request->version, value);
            tr_free(value);
        }
    }
    if (request->type == tr_submit_schema.id) {
        read_submit(request);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_bytes frame = {.data = data, .size = size};
    struct tri_request request;
    if (tri_request_read(frame, &request) == 0) {
        make_again(&request, frame);
        read_body(&request);
    }
    return 0;
}
