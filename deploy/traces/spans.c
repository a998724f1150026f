/*
 * Rows become spans as they are read; a document that is full is kept until the reader has let go,
 * so that no collector holds the store's moment.
 */
#include "deploy/traces/spans.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/document/arena.h"
#include "actors/graph/value/literal.h"
#include "deploy/common/program.h"
#include "deploy/history/executions.h"
#include "deploy/traces/trace_ids.h"
#include "schemas/codec/error.h"
#include "schemas/engine/phase.h"

/* SpanKind and StatusCode of OTLP. */
#define KIND_INTERNAL 1
#define STATUS_OK 1
#define STATUS_ERROR 2

struct writer {
    const struct tr_spans_request *request;
    const struct tr_execution *row;
    struct tr_text name; /* PROJECT/DOMAIN/NAME */
    char trace[TR_TRACE_ID_BYTES];
    uint64_t end_ms;
    uint64_t spans;
    uint64_t spans_of_document;
    struct tr_buffer json;
    struct tri_vector documents; /* struct tr_bytes */
    struct tr_arena arena;
};

/* A span that is being written. */
struct span {
    const char *id;
    const char *parent; /* NULL: it is the root */
    struct tr_text name;
    uint64_t start_ms;
    uint64_t end_ms;
    uint8_t status; /* 0: unset */
    struct tr_text message;
};

/* ---------------------------------------------------------------------------- parts */

static void add_text(struct writer *writer, struct tr_text text)
{
    size_t size = text.size < TR_TRACES_TEXT_BYTES ? text.size : TR_TRACES_TEXT_BYTES;
    while (size < text.size && size > 0 && ((uint8_t)text.data[size] & 0xc0) == 0x80) {
        size--; /* not within a character */
    }
    tri_text_write((struct tr_text){.data = text.data, .size = size}, &writer->json);
}

static void add_attribute(struct writer *writer, const char *key, struct tr_text value)
{
    if (value.size > 0) {
        tr_buffer_print(&writer->json, ",{\"key\":\"%s\",\"value\":{\"stringValue\":", key);
        add_text(writer, value);
        tr_buffer_add_string(&writer->json, "}}");
    }
}

/* As OTLP writes 64 bits in JSON. */
static void add_number(struct writer *writer, const char *key, uint64_t value)
{
    tr_buffer_print(&writer->json, ",{\"key\":\"%s\",\"value\":{\"intValue\":\"%" PRIu64 "\"}}",
                    key, value);
}

static void begin_document(struct writer *writer)
{
    struct tr_buffer *json = &writer->json;
    tr_buffer_cut(json, 0);
    tr_buffer_add_string(json, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":"
                               "\"service.name\",\"value\":{\"stringValue\":");
    tri_text_write(tr_text_of(writer->request->service), json);
    tr_buffer_print(json,
                    "}},{\"key\":\"service.version\",\"value\":{\"stringValue\":\"%s\"}},"
                    "{\"key\":\"service.instance.id\",\"value\":{\"stringValue\":\"%016" PRIx64
                    "\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"troupe\",\"version\":\"%s\"},"
                    "\"spans\":[",
                    TR_PROGRAM_VERSION, writer->request->store, TR_PROGRAM_VERSION);
    writer->spans_of_document = 0;
}

static int end_document(struct writer *writer)
{
    tr_buffer_add_string(&writer->json, "]}]}]}");
    struct tr_bytes *added = tri_vector_add(&writer->arena, &writer->documents, sizeof *added);
    if (writer->json.error != 0 || added == NULL) {
        return writer->json.error != 0 ? writer->json.error : writer->arena.error;
    }
    *added = tr_arena_bytes(&writer->arena, tr_buffer_bytes(&writer->json));
    return writer->arena.error;
}

/* Makes room for one more. TR_CLOSED: it is left out. */
static int begin_span(struct writer *writer, const struct span *span)
{
    int error = 0;
    if (writer->spans == TR_TRACES_SPANS_OF_EXECUTION) {
        (*writer->request->left_out)++;
        return TR_CLOSED;
    }
    if (writer->spans_of_document == TR_TRACES_SPANS_OF_DOCUMENT) {
        error = end_document(writer);
        begin_document(writer);
    }
    uint64_t end_ms = span->end_ms != 0 ? span->end_ms : writer->end_ms;
    struct tr_buffer *json = &writer->json;
    tr_buffer_print(json, "%s{\"traceId\":\"%s\",\"spanId\":\"%s\",",
                    writer->spans_of_document == 0 ? "" : ",", writer->trace, span->id);
    if (span->parent != NULL) {
        tr_buffer_print(json, "\"parentSpanId\":\"%s\",", span->parent);
    }
    tr_buffer_add_string(json, "\"name\":");
    add_text(writer, span->name);
    tr_buffer_print(json,
                    ",\"kind\":%d,\"startTimeUnixNano\":\"%" PRIu64 "000000\","
                    "\"endTimeUnixNano\":\"%" PRIu64 "000000\",\"status\":{\"code\":%u",
                    KIND_INTERNAL, span->start_ms,
                    end_ms < span->start_ms ? span->start_ms : end_ms, span->status);
    if (span->status == STATUS_ERROR) {
        tr_buffer_add_string(json, ",\"message\":");
        add_text(writer, span->message);
    }
    tr_buffer_add_string(json, "},\"attributes\":[{\"key\":\"troupe.execution\",\"value\":{"
                               "\"stringValue\":");
    add_text(writer, writer->name);
    tr_buffer_add_string(json, "}}");
    writer->spans++;
    writer->spans_of_document++;
    return error;
}

static int end_span(struct writer *writer)
{
    tr_buffer_add_string(&writer->json, "]}");
    return writer->json.error;
}

/* ---------------------------------------------------------------------------- spans */

static int write_execution(struct writer *writer)
{
    char id[TR_SPAN_ID_BYTES];
    const struct tr_execution *row = writer->row;
    bool is_fine = row->phase == TR_EXECUTION_SUCCEEDED;
    tr_span_id_of_execution(writer->request->store, writer->name, id);
    const struct span span = {.id = id,
                              .name = row->workflow,
                              .start_ms = row->created_ms,
                              .end_ms = row->ended_ms,
                              .status = is_fine ? STATUS_OK : STATUS_ERROR,
                              .message = row->message};
    int error = begin_span(writer, &span);
    add_attribute(writer, "troupe.workflow", row->workflow);
    add_attribute(writer, "troupe.plan", row->plan);
    add_attribute(writer, "troupe.phase", tr_text_of(tr_execution_phase_word(row->phase)));
    add_attribute(writer, "troupe.cause", row->cause);
    add_attribute(writer, "troupe.labels", row->labels);
    add_attribute(writer, "error.type", row->code);
    return error != 0 ? error : end_span(writer);
}

/* The span that the one at a path is within: of the node around it, of an element its array's. */
static void find_parent(const struct writer *writer, struct tr_text path, char id[TR_SPAN_ID_BYTES])
{
    const char *slash = memrchr(path.data, '/', path.size);
    struct tr_text around = {.data = path.data,
                             .size = slash == NULL ? 0 : (size_t)(slash - path.data)};
    if (around.size > 0 && around.data[around.size - 1] == ']') {
        const char *bracket = memrchr(around.data, '[', around.size);
        around.size = bracket == NULL ? around.size : (size_t)(bracket - around.data);
    }
    if (around.size == 0) {
        tr_span_id_of_execution(writer->request->store, writer->name, id);
    } else {
        tr_span_id_of_node(writer->request->store, writer->name, around, id);
    }
}

static uint8_t node_status(uint8_t phase)
{
    switch (phase) {
    case TR_NODE_PHASE_SUCCEEDED:
    case TR_NODE_PHASE_RECOVERED:
        return STATUS_OK;
    case TR_NODE_PHASE_FAILED:
    case TR_NODE_PHASE_TIMED_OUT:
    case TR_NODE_PHASE_ABORTED:
        return STATUS_ERROR;
    default:
        return 0;
    }
}

static int take_node(void *self, const void *value)
{
    struct writer *writer = self;
    const struct tr_node_status *row = value;
    char id[TR_SPAN_ID_BYTES];
    char parent[TR_SPAN_ID_BYTES];
    if (row->created_ms == 0) {
        return 0; /* it was not begun */
    }
    tr_span_id_of_node(writer->request->store, writer->name, row->path, id);
    find_parent(writer, row->path, parent);
    const struct span span = {.id = id,
                              .parent = parent,
                              .name = row->path,
                              .start_ms = row->created_ms,
                              .end_ms = row->ended_ms,
                              .status = node_status(row->phase),
                              .message = row->message};
    int error = begin_span(writer, &span);
    if (error != 0) {
        return error == TR_CLOSED ? 0 : error;
    }
    add_attribute(writer, "troupe.node", row->path);
    add_attribute(writer, "troupe.kind", row->kind);
    add_attribute(writer, "troupe.target", row->target);
    add_attribute(writer, "troupe.phase", tr_text_of(tr_node_phase_word(row->phase)));
    add_attribute(writer, "error.type", row->code);
    return end_span(writer);
}

static uint8_t attempt_status(uint8_t phase)
{
    return phase == TR_TASK_PHASE_SUCCESS            ? STATUS_OK
           : tr_phase_is_end(TR_SUBJECT_TASK, phase) ? STATUS_ERROR
                                                     : 0;
}

static int take_attempt(void *self, const void *value)
{
    struct writer *writer = self;
    const struct tr_attempt *row = value;
    char id[TR_SPAN_ID_BYTES];
    char parent[TR_SPAN_ID_BYTES];
    char name[64];
    (void)snprintf(name, sizeof name, "attempt %u", row->attempt);
    tr_span_id_of_attempt(writer->request->store, row->generated_name, id);
    tr_span_id_of_node(writer->request->store, writer->name, row->path, parent);
    const struct span span = {.id = id,
                              .parent = parent,
                              .name = tr_text_of(name),
                              .start_ms = row->created_ms,
                              .end_ms = row->ended_ms,
                              .status = attempt_status(row->phase),
                              .message = row->message};
    int error = begin_span(writer, &span);
    if (error != 0) {
        return error == TR_CLOSED ? 0 : error;
    }
    add_attribute(writer, "troupe.node", row->path);
    if (row->element != TR_ELEMENT_NONE) {
        add_number(writer, "troupe.element", row->element);
    }
    add_number(writer, "troupe.attempt", row->attempt);
    add_attribute(writer, "troupe.generated_name", row->generated_name);
    add_attribute(writer, "troupe.plugin", row->plugin);
    add_attribute(writer, "troupe.phase", tr_text_of(tr_task_phase_word(row->phase)));
    add_attribute(writer, "error.type", row->code);
    return end_span(writer);
}

/* ---------------------------------------------------------------------------- all of them */

static int read_rows(struct writer *writer, const struct tr_schema *schema,
                     int (*take)(void *self, const void *row))
{
    struct tr_reader_filter filter =
        tr_filter_number("execution", TR_FILTER_EQUAL, writer->request->execution);
    struct tr_reader_query query = {.record = schema, .filters = &filter, .filter_count = 1};
    return tr_reader_rows(writer->request->reader, &query, take, writer);
}

static int write_documents(struct writer *writer)
{
    tr_trace_id(writer->request->store, writer->name, writer->trace);
    writer->end_ms = writer->row->ended_ms;
    begin_document(writer);
    int error = write_execution(writer);
    if (error == 0) {
        error = read_rows(writer, &tr_node_status_schema, take_node);
    }
    if (error == 0) {
        error = read_rows(writer, &tr_attempt_schema, take_attempt);
    }
    return error != 0 ? error : end_document(writer);
}

int tr_spans_send(const struct tr_spans_request *request,
                  int (*send)(void *self, struct tr_bytes document), void *self)
{
    struct tr_executions_row copy;
    struct writer writer = {.request = request};
    int error = tr_executions_get(request->reader, request->execution, &copy);
    if (error != 0) {
        return error;
    }
    tr_arena_init(&writer.arena);
    tr_buffer_init(&writer.json, 0);
    writer.row = &copy.row;
    writer.name = tr_arena_print(&writer.arena, "%.*s/%.*s/%.*s", (int)copy.row.project.size,
                                 copy.row.project.data, (int)copy.row.domain.size,
                                 copy.row.domain.data, (int)copy.row.name.size, copy.row.name.data);
    error = writer.arena.error != 0 ? writer.arena.error : write_documents(&writer);
    tr_reader_release(request->reader);
    const struct tr_bytes *documents = writer.documents.items;
    for (uint32_t i = 0; error == 0 && i < writer.documents.count; i++) {
        error = send(self, documents[i]);
    }
    tr_buffer_fini(&writer.json);
    tr_arena_fini(&writer.arena);
    tr_executions_row_fini(&copy);
    return error;
}
