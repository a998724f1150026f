/*
 * The files service of the stage of workflows: it answers for an earlier execution, and binds what
 * looks into values that lie elsewhere, as the test says.
 */
#include "actors/values/bind_plan.h"
#include "schemas/engine/recovery.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/inquiry.h"
#include "tests/support/flow_inside.h"

void flow_recall_open(struct flow *flow)
{
    struct tr_env *env = &flow->stage.env;
    struct tri_shared *shared = &flow->stage.host.shared;
    shared->services |= 1U << TR_SERVICE_FILES;
    tri_service_init(&flow->files, env, shared->worker_count, shared->host, TR_SERVICE_FILES);
    assert_int_equal(env->ops->link_open(env, TRI_PLACE_FILES, &flow->files.sender.link), 0);
}

void flow_recall_close(struct flow *flow)
{
    tri_service_fini(&flow->files);
}

/* One node of a question, answered. */
static void answer_node(struct flow *flow, struct tr_text above, struct tr_cursor *cursor,
                        struct tr_buffer *nodes)
{
    struct tr_buffer path;
    struct tr_buffer slots;
    assert_int_equal(tr_read_array(cursor), 3);
    uint64_t node = tr_read_u64(cursor);
    struct tr_text id = tr_read_text(cursor);
    bool is_again = tr_read_bool(cursor);
    tr_buffer_init(&path, 0);
    tr_buffer_init(&slots, 0);
    tr_buffer_print(&path, "%.*s%s%.*s", TRI_TEXT(above), above.size > 0 ? "/" : "", TRI_TEXT(id));
    uint8_t way = flow->recall(flow->self, tr_buffer_text(&path), is_again, &slots);
    tr_buffer_array(nodes, 3);
    tr_buffer_u64(nodes, node);
    tr_buffer_u64(nodes, way);
    if (slots.size > 0) {
        tr_buffer_add(nodes, slots.data, slots.size);
    } else {
        tr_buffer_nil(nodes);
    }
    tr_buffer_fini(&slots);
    tr_buffer_fini(&path);
}

static void answer_nodes(struct flow *flow, const uint8_t *envelope)
{
    struct tri_caller caller = tri_service_caller(envelope);
    struct tr_recover_nodes question;
    struct tr_buffer nodes;
    assert_int_equal(tr_recover_nodes_unpack(tr_envelope_body(envelope), 1, &question), 0);
    assert_true(tr_text_equal(question.recovery, tr_text_of("plan")));
    struct tr_cursor cursor = tr_cursor_of(question.nodes);
    uint32_t count = tr_read_array(&cursor);
    assert_true(count > 0 && count <= TR_RECOVER_NODES_MAX);
    flow->asked_nodes += count;
    count = flow->answered_max > 0 && count > flow->answered_max ? flow->answered_max : count;
    tr_buffer_init(&nodes, 0);
    tr_buffer_array(&nodes, count);
    for (uint32_t i = 0; i < count; i++) {
        answer_node(flow, question.path, &cursor, &nodes);
    }
    assert_int_equal(cursor.error, 0);
    struct tr_recovered_nodes found = {.from = tr_text_of("earlier"),
                                       .nodes = tr_buffer_bytes(&nodes)};
    assert_int_equal(tri_service_reply(&flow->files, &caller, &tr_recovered_nodes_schema, &found),
                     0);
    tr_buffer_fini(&nodes);
}

/* ----------------------------------------------------------- values elsewhere */

static int open_elsewhere(void *self, const struct tr_offloaded *where, struct tr_bytes *literal)
{
    (void)where;
    *literal = ((const struct flow *)self)->elsewhere;
    return literal->size > 0 ? 0 : TR_NOT_FOUND;
}

static void close_elsewhere(void *self, struct tr_bytes literal)
{
    (void)self;
    (void)literal;
}

static void answer_values(struct flow *flow, const uint8_t *envelope)
{
    struct tri_caller caller = tri_service_caller(envelope);
    const struct tr_bind_reader reader = {
        .open = open_elsewhere, .close = close_elsewhere, .self = flow};
    struct tr_values_bind question;
    struct tr_bind_problem problem;
    struct tr_buffer slots;
    bool is_condition;
    assert_int_equal(tr_values_bind_unpack(tr_envelope_body(envelope), 1, &question), 0);
    tr_buffer_init(&slots, 0);
    int error = tr_bind_carry_out(question.plan, &reader, &slots, &is_condition, &problem);
    if (error != 0 && error != TR_INVALID) {
        tri_service_refuse(&flow->files, &caller, error);
    } else {
        struct tr_values_given given = {.slots = tr_buffer_bytes(&slots),
                                        .code = tr_text_of(problem.code),
                                        .message = tr_text_of(problem.words)};
        assert_int_equal(tri_service_reply(&flow->files, &caller, &tr_values_given_schema, &given),
                         0);
    }
    tr_buffer_fini(&slots);
}

/* -------------------------------------------------------------- the graph of a launch */

static void answer_graph(struct flow *flow, const uint8_t *envelope)
{
    struct tri_caller caller = tri_service_caller(envelope);
    struct tr_graph_registry *registry = &flow->engine->registry;
    struct tr_graph_read question;
    uint64_t number;
    assert_int_equal(tr_graph_read_unpack(tr_envelope_body(envelope), 1, &question), 0);
    bool is_there = tr_graph_registry_share(registry, question.graph.data);
    if (!is_there && flow->stored == NULL) {
        const struct tr_blob_failed failed = {.error = TR_NOT_FOUND,
                                              .message = tr_text_of("it is not there")};
        assert_int_equal(tri_service_reply(&flow->files, &caller, &tr_blob_failed_schema, &failed),
                         0);
        return;
    }
    if (!is_there) {
        assert_int_equal(tr_graph_registry_put(registry, flow->stored, &number), 0);
        flow->stored = NULL;
    }
    const struct tr_graph_made made = {.graph = question.graph, .engine_start = flow->engine->life};
    assert_int_equal(tri_service_reply(&flow->files, &caller, &tr_graph_made_schema, &made), 0);
}

/* ------------------------------------------------------------------ questions */

static void let_go(struct flow *flow, const uint8_t *envelope)
{
    struct tr_graph_drop drop;
    assert_int_equal(tr_graph_drop_unpack(tr_envelope_body(envelope), 1, &drop), 0);
    tr_graph_registry_drop(&flow->engine->registry, drop.graph);
}

static void answer(struct flow *flow, const uint8_t *envelope)
{
    struct tri_caller caller = tri_service_caller(envelope);
    if (tr_envelope_get(envelope, 16, type) == tr_graph_drop_schema.id) {
        let_go(flow, envelope);
        return;
    }
    flow->asked++;
    if (flow->refusals > 0) {
        flow->refusals--;
        tri_service_refuse(&flow->files, &caller, flow->refusal);
    } else if (tr_envelope_get(envelope, 16, type) == tr_values_bind_schema.id) {
        answer_values(flow, envelope);
    } else if (tr_envelope_get(envelope, 16, type) == tr_graph_read_schema.id) {
        answer_graph(flow, envelope);
    } else {
        answer_nodes(flow, envelope);
    }
}

bool flow_recall_serve(struct flow *flow)
{
    struct tri_frame frame;
    bool did = false;
    while (tri_channel_receive(flow->files.sender.link, &frame) == 0) {
        struct tr_bytes bytes;
        bool is_stored;
        size_t offset = 0;
        while (tri_frame_next(&frame, &offset, &bytes, &is_stored)) {
            answer(flow, bytes.data);
            did = true;
        }
        tri_channel_release(flow->files.sender.link, &frame);
    }
    tri_sender_flush(&flow->files.sender);
    return did;
}
