/*
 * An engine without a terminal: a program of all rooms of deploy/ but those that speak with people
 * (cli, follow, look, debug, commands). It is linked from every object of those rooms, so it stops
 * to link when one of them comes to need the command line.
 *
 * It runs an execution in an engine of its own and reads it, beside the engine and after its end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/report.h"
#include "deploy/engine/launch.h"
#include "deploy/history/executions.h"
#include "deploy/server/serve.h"
#include "tests/support/folder.h"

#define LIMIT_MS 60000
#define REST_MS 100

static const char definition[] = "troupe: 1\n"
                                 "workflows: {main: {nodes: {wait: {sleep: 10ms}}}}\n";

static void must(int error, const char *what, const char *words)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s (%s)\n", what, tr_error_text(error), words);
        exit(1);
    }
}

static struct tr_graph *compile(void)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    const struct tr_definition_source source = {
        .path = tr_text_of("main.yaml"), .folder = tr_text_of("/"), .text = tr_text_of(definition)};
    tr_report_init(&report);
    must(tr_graph_compile(&source, &report, &graph), "compiling", "");
    tr_report_fini(&report);
    return graph;
}

static uint8_t phase_of(struct tr_reader *reader, uint64_t execution)
{
    struct tr_executions_row copy;
    must(tr_executions_get(reader, execution, &copy), "finding the execution",
         tr_reader_explain(reader));
    uint8_t phase = copy.row.phase;
    tr_executions_row_fini(&copy);
    return phase;
}

/* Steps the engine until the execution has ended. */
static void serve_until_end(struct tr_live *live, struct tr_serve *serve, uint64_t execution)
{
    uint64_t end_ms = tr_live_now_ms(live) + LIMIT_MS;
    uint8_t phase;
    do {
        char explain[TRI_STORE_EXPLAIN_BYTES] = "";
        struct tr_reader *reader;
        must(tr_live_now_ms(live) < end_ms ? 0 : TR_TIMEOUT, "waiting for its end", "");
        must(tr_live_rest(live, REST_MS), "resting", "");
        tr_serve_step(serve);
        must(tr_live_read(live, explain, &reader), "reading beside the engine", explain);
        phase = phase_of(reader, execution);
        tr_live_read_end(live);
    } while (!tr_phase_is_end(TR_SUBJECT_EXECUTION, phase));
}

static uint64_t run(const char *folder)
{
    static const uint8_t no_inputs[] = {0x90};
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_live *live;
    struct tr_serve *serve;
    struct tr_launch_outcome outcome;
    const struct tr_live_options options = {
        .folder = folder, .durability = TR_DURABILITY_PROCESS, .jobs = 1, .command = "headless"};
    const struct tr_order order = {.graph = compile(),
                                   .plan = TR_GRAPH_NONE,
                                   .inputs = {.data = no_inputs, .size = sizeof no_inputs}};
    must(tr_live_open(&options, explain, &live), "opening the engine", explain);
    must(tr_serve_new(live, &serve), "serving", "");
    must(tr_live_launch(live, &order, &outcome), "launching", outcome.message);
    serve_until_end(live, serve, outcome.execution);
    tr_serve_free(serve);
    tr_live_close(live);
    return outcome.execution;
}

int main(void)
{
    char folder[] = "/tmp/troupe-headless-XXXXXX";
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_reader *reader;
    must(mkdtemp(folder) != NULL ? 0 : TR_SYSTEM, "making a folder", "");
    uint64_t execution = run(folder);
    must(tr_history_open(folder, explain, &reader), "opening the history", explain);
    uint8_t phase = phase_of(reader, execution);
    tr_reader_close(reader);
    must(phase == TR_EXECUTION_SUCCEEDED ? 0 : TR_INVALID, "its end",
         tr_execution_phase_word(phase));
    must(folder_remove(folder), "removing the folder", folder);
    return 0;
}
