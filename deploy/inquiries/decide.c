/*
 * The graph of a dynamic task, from its document: the graph of its node is read from the store, the
 * document is compiled behind it and looked at as a definition is before it runs; then it is
 * stored, and only then in the graph registry. What is wrong with the document is the task's
 * failure, all of it in one message.
 */
#include "deploy/inquiries/decide.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "actors/engine.h"
#include "actors/graph/import/import.h"
#include "actors/services/growth.h"
#include "actors/values/path.h"
#include "deploy/common/clock.h"
#include "deploy/common/file.h"
#include "deploy/graphs/graphs.h"
#include "deploy/history/entities.h"
#include "deploy/history/executions.h"
#include "deploy/inputs/offload.h"
#include "deploy/inputs/relocate.h"
#include "deploy/inputs/runnable.h"
#include "deploy/inquiries/decide_paths.h"
#include "deploy/inquiries/task_file.h"
#include "deploy/recovery/reuse.h"
#include "runtime/memory.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/inquiry.h"

_Static_assert(TR_EXCHANGE_EXPLAIN_BYTES >= TR_OFFLOAD_EXPLAIN_BYTES, "words fit");
_Static_assert(TR_EXCHANGE_EXPLAIN_BYTES >= TR_DECIDE_PATHS_BYTES, "words fit");

/* The document's name in messages, unless it is futures.pb, and the failure's code. */
#define DOCUMENT_NAME "outputs"
#define FAILED_CODE "DynamicWorkflowBuildFailed"

/* Errors in one message; a failure keeps little more. */
#define MESSAGE_BYTES_MAX 3500

static int failed(char *explain, int error, const char *what)
{
    const char *words = error == TR_SYSTEM ? strerror(errno) : tr_error_text(error);
    snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES, "%s: %s", what, words);
    return error;
}

/* All errors of a report, one in a line, as far as they fit. */
static int print_problems(struct tr_report *report, struct tr_buffer *message)
{
    struct tr_buffer line;
    tr_buffer_init(&line, 0);
    tr_report_finish(report);
    tr_report_print_head(report, message);
    uint32_t shown = 0;
    while (shown < report->count) {
        tr_buffer_cut(&line, 0);
        tr_buffer_add_string(&line, shown == 0 ? "" : "\n");
        tr_report_print_error(report, shown, &line);
        if (shown > 0 && message->size + line.size > MESSAGE_BYTES_MAX) {
            break;
        }
        tr_buffer_add(message, line.data, line.size);
        shown++;
    }
    uint32_t more = tr_report_total(report) - shown;
    if (more > 0) {
        tr_buffer_print(message, "\n(and %u more)", more);
    }
    int error = line.error != 0 ? line.error : message->error;
    tr_buffer_fini(&line);
    return error;
}

/* What futures.pb needs from outside: files of literals, and what was applied. */
struct outside {
    const struct tr_inquiry *inquiry;
    const struct tr_graph_make *make;
    struct tr_reader *reader; /* NULL: nothing was looked up yet */
};

static int open_literal(void *self, struct tr_report *report, struct tr_text uri,
                        struct tr_bytes *file)
{
    const struct outside *outside = self;
    const struct tr_graph_make *make = outside->make;
    const struct tr_fence fence = {make->folder, make->trusted_bytes};
    char words[TR_EXCHANGE_EXPLAIN_BYTES] = "it lies elsewhere; keep it on this machine";
    int error = TR_INVALID;
    if (tri_path_is_local(uri)) {
        error = tr_task_file_map(tri_path_local(uri), make->folder.size > 0 ? &fence : NULL,
                                 outside->inquiry->store_folder, file, words);
    }
    if (error == 0 || error == TR_MEMORY) {
        return error;
    }
    tri_report_add(report, (struct tri_place){0}, NULL, "a literal names '%.*s': %s",
                   TRI_SHOWN(uri), words);
    return TR_INVALID;
}

static void close_literal(void *self, struct tr_bytes file)
{
    (void)self;
    tr_file_unmap(file);
}

static int find_entity(void *self, struct tr_arena *arena, struct tr_entity *entity)
{
    struct outside *outside = self;
    char words[TRI_STORE_EXPLAIN_BYTES];
    int error = outside->reader != NULL
                    ? 0
                    : tr_history_open(outside->inquiry->store_folder, words, &outside->reader);
    return error != 0 ? error : tr_entities_find(outside->reader, arena, entity);
}

/* The graph of a document of the language, or of Flyte's. TR_INVALID with a report. */
static int decide(const struct tr_inquiry *inquiry, const struct tr_graph_make *make,
                  struct tr_decision *decision, struct tr_bytes document, struct tr_report *report,
                  struct tr_graph **graph)
{
    struct outside outside = {.inquiry = inquiry, .make = make};
    struct tr_flyte_files files = {.open = open_literal,
                                   .close = close_literal,
                                   .self = &outside,
                                   .left_bytes = TR_OUTPUTS_BYTES_MAX};
    struct tr_import_futures futures = {.files = &files, .find = find_entity, .self = &outside};
    if (!tr_flyte_futures_are(document, &futures.bytes)) {
        decision->path = tr_text_of(DOCUMENT_NAME);
        decision->text =
            (struct tr_text){.data = (const char *)document.data, .size = document.size};
        return tr_graph_decide(decision, report, graph);
    }
    decision->path = tr_text_of(TR_FLYTE_FUTURES);
    int error = tr_import_decide(decision, &futures, report, graph);
    tr_reader_close(outside.reader);
    return error;
}

/* Compiles it, and looks whether this program can run that. TR_INVALID with a report. */
static int compile(const struct tr_inquiry *inquiry, const struct tr_graph_make *make,
                   struct tr_graph *parent, struct tr_bytes document, struct tr_report *report,
                   struct tr_graph **graph)
{
    const struct tr_engine *engine = inquiry->program;
    struct tr_decision decision = {
        .parent = parent,
        .task = make->task,
        .depth = make->depth,
    };
    struct tr_graph *made;
    int error = decide(inquiry, make, &decision, document, report, &made);
    if (error != 0) {
        return error;
    }
    error = tr_graph_check_runnable(made, made->main_workflow, engine, DOCUMENT_NAME, report);
    if (error != 0) {
        tr_graph_free(made);
        return error;
    }
    *graph = made;
    return 0;
}

/* Files of the attempt that the graph names; what is wrong with one is the task's failure. */
static int keep_paths(const struct tr_inquiry *inquiry, const struct tr_graph_make *make,
                      struct tr_graph *graph, struct tr_graph_made *made, struct tr_buffer *message,
                      char *explain)
{
    char words[TR_DECIDE_PATHS_BYTES];
    const char *code = NULL;
    int error = tr_decide_paths(inquiry, make, graph, &code, words);
    if (error == TR_INVALID && code != NULL) {
        tr_buffer_add_string(message, words);
        made->code = tr_text_of(code);
        made->message = tr_buffer_text(message);
        return message->error;
    }
    if (error != 0) {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES, "%s", words);
    }
    return error;
}

/* It is committed with whatever the task does with the answer. */
static int store_graph(const struct tr_inquiry *inquiry, const struct tr_graph *graph)
{
    struct tr_buffer row;
    int error = tr_graphs_row(graph, &row);
    if (error == 0) {
        error = inquiry->put_graph(inquiry, tr_buffer_bytes(&row), tr_clock_wall_ms());
    }
    tr_buffer_fini(&row);
    return error;
}

/* Stores the graph, then holds it in the graph registry, which owns it from then on. */
static int keep(const struct tr_inquiry *inquiry, const struct tr_graph_make *make,
                struct tr_graph *graph, struct tr_graph_made *made, uint8_t *hash, char *explain)
{
    struct tr_engine *engine = inquiry->program;
    struct tr_buffer none;
    uint64_t number;
    tr_buffer_init(&none, 0);
    tr_buffer_array(&none, 0);
    int error = tr_offload(inquiry->store_folder, graph, &none, explain);
    tr_buffer_fini(&none);
    if (error == 0) {
        error = store_graph(inquiry, graph);
        error = error == 0 ? 0 : failed(explain, error, "the graph cannot be stored");
    }
    if (error == 0 && make->recovery.size > 0) {
        error = tr_reuse_graph(inquiry, make->recovery, make->path, graph->hash, &made->is_same,
                               explain);
    }
    if (error != 0) {
        tr_graph_free(graph);
        return error;
    }
    memcpy(hash, graph->hash, TR_GRAPH_HASH_BYTES);
    made->graph = (struct tr_bytes){.data = hash, .size = TR_GRAPH_HASH_BYTES};
    made->workflow = graph->main_workflow;
    error = tr_graph_registry_put(&engine->registry, graph, &number);
    return error == 0 ? 0
                      : failed(explain, error, "the graph cannot be held (TR_GRAPH_REGISTRY_MAX)");
}

/* Makes the graph of a document and answers. The parent is taken. */
static int answer(const struct tr_inquiry *inquiry, const struct tr_graph_make *make,
                  struct tr_graph *parent, struct tr_bytes document, char *explain)
{
    struct tr_engine *engine = inquiry->program;
    struct tr_graph *graph = NULL;
    struct tr_graph_made made = {.engine_start = engine->life};
    struct tr_report report;
    struct tr_buffer message;
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    struct tr_growth growth = tr_growth_of_graph(engine->memory_max);
    tr_report_init(&report);
    tr_buffer_init(&message, 0);
    if (growth.code != NULL) {
        tr_graph_free(parent);
        made.code = tr_text_of(growth.code);
        made.message = tr_text_of(growth.message);
        return tr_inquiry_answer(inquiry, &tr_graph_made_schema, &made);
    }
    int error = compile(inquiry, make, parent, document, &report, &graph);
    if (error == TR_INVALID) {
        made.code = tr_text_of(FAILED_CODE);
        error = print_problems(&report, &message);
        made.message = tr_buffer_text(&message);
    } else if (error == 0) {
        error = keep_paths(inquiry, make, graph, &made, &message, explain);
        if (error == 0 && made.code.size == 0) {
            error = keep(inquiry, make, graph, &made, hash, explain);
        } else {
            tr_graph_free(graph);
        }
    } else {
        error = failed(explain, error, "the document cannot be compiled");
    }
    if (error == 0) {
        error = tr_inquiry_answer(inquiry, &tr_graph_made_schema, &made);
    }
    tr_buffer_fini(&message);
    tr_report_fini(&report);
    return error;
}

/* The document from where it lies. */
static int open_document(const struct tr_inquiry *inquiry, const struct tr_graph_make *make,
                         struct tr_bytes *mapped, char *explain)
{
    char words[TR_BLOB_WORDS_BYTES_MAX];
    int error = tr_relocate_map(inquiry->store_folder, make->uri, inquiry->turn, words, mapped);
    if (error != 0 && words[0] != '\0') {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES, "the document cannot be read: %.700s", words);
        return error;
    }
    return error == 0 ? 0 : failed(explain, error, "the document cannot be read");
}

int tr_decide_graph(const struct tr_inquiry *inquiry, char *explain)
{
    struct tr_graph_make make;
    struct tr_graph *parent = NULL;
    struct tr_bytes mapped = {.size = 0};
    if (tr_graph_make_unpack(inquiry->body, inquiry->version, &make) != 0 ||
        make.graph.size != TR_GRAPH_HASH_BYTES) {
        return TR_MALFORMED;
    }
    int error = tr_graphs_get(inquiry->store_folder, make.graph, &parent);
    if (error != 0) {
        return failed(explain, error, "the definition cannot be read");
    }
    error = make.task >= parent->task_count ? TR_MALFORMED : 0;
    struct tr_bytes document = make.futures;
    if (document.size == 0) {
        document = (struct tr_bytes){(const uint8_t *)make.text.data, make.text.size};
    }
    if (error == 0 && document.size == 0) {
        error = open_document(inquiry, &make, &mapped, explain);
        document = mapped;
    }
    if (error != 0) {
        tr_graph_free(parent);
        return error;
    }
    error = answer(inquiry, &make, parent, document, explain);
    tr_file_unmap(mapped);
    return error;
}
