/*
 * Any text as a FlyteWorkflow resource: it is refused with words, or becomes the files of a
 * package, which compiles or is refused with words.
 */
#include "actors/graph/flyteworkflow/flyteworkflow.h"
#include "actors/graph/import/import.h"
#include "schemas/codec/error.h"
#include "tests/fuzz/fuzz.h"

static void compile(const struct tr_flyte_file *files)
{
    const struct tr_flyte_package package = {
        .files = files,
        .file_count = TR_FLYTEWORKFLOW_FILES,
        .project = tr_text_of("p"),
        .domain = tr_text_of("d"),
        .version = tr_text_of("v"),
        .path = tr_text_of(""),
        .python_path = tr_text_of("/code"),
        .has_code = true,
    };
    struct tr_report report;
    struct tr_graph *graph = NULL;
    const struct tr_import_place place = {.path = tr_text_of("flow.json"),
                                          .folder = tr_text_of("/")};
    tr_report_init(&report);
    int error = tr_import_package(&package, &place, &report, &graph);
    TR_ASSERT(error == 0 || error == TR_INVALID || error == TR_LIMIT);
    TR_ASSERT(error != TR_INVALID || tr_report_total(&report) > 0);
    tr_graph_free(graph);
    tr_report_fini(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_text text = {.data = (const char *)data, .size = size};
    struct tr_flyte_file files[TR_FLYTEWORKFLOW_FILES] = {{.name = {0}}};
    struct tr_arena arena;
    struct tr_report report;
    (void)tr_flyteworkflow_is(text);
    tr_arena_init(&arena);
    tr_report_init(&report);
    (void)tri_report_source(&report, tr_text_of("flow.json"));
    int error = tr_flyteworkflow_read(&arena, &report, text, files);
    TR_ASSERT(error == 0 || error == TR_INVALID || error == TR_LIMIT);
    TR_ASSERT(error != TR_INVALID || tr_report_total(&report) > 0);
    if (error == 0) {
        compile(files);
    }
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    return 0;
}
