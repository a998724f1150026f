/*
 * Any bytes as an archive, whose files are read as a package, and as a single entity of each kind:
 * they are refused with words, or are a definition, which compiles or is refused with words. The
 * closure of one of its workflows can be read again.
 */
#include "actors/graph/import/import.h"
#include "deploy/flyte/archive.h"
#include "schemas/codec/error.h"
#include "tests/fuzz/fuzz.h"

/* The files of one archive. */
struct files {
    struct tr_arena *arena;
    struct tri_vector items; /* struct tr_flyte_file */
};

static int add_file(void *self, struct tr_text name, bool is_program, struct tr_bytes bytes)
{
    struct files *files = self;
    struct tr_flyte_file *file = tri_vector_add(files->arena, &files->items, sizeof *file);
    (void)is_program;
    if (file != NULL) {
        file->name = tr_arena_text(files->arena, name);
        file->bytes = tr_arena_bytes(files->arena, bytes);
    }
    return files->arena->error;
}

/* What is written of a workflow is read again. */
static void close_over(const struct tr_flyte_package *package, struct tr_text name)
{
    struct tr_report report;
    struct tr_buffer first;
    struct tr_buffer second;
    struct tr_flyte_package again = *package;
    tr_report_init(&report);
    tr_buffer_init(&first, 0);
    tr_buffer_init(&second, 0);
    int error = tr_flyte_closure(package, name, &report, &first);
    TR_ASSERT(error == 0 || error == TR_NOT_FOUND || error == TR_LIMIT);
    if (error == 0) {
        const struct tr_flyte_file file = {.name = tr_text_of("closure.pb"),
                                           .bytes = tr_buffer_bytes(&first)};
        again.files = &file;
        again.file_count = 1;
        (void)!tr_flyte_closure(&again, name, &report, &second);
    }
    tr_buffer_fini(&second);
    tr_buffer_fini(&first);
    tr_report_fini(&report);
}

static void compile(const struct files *files)
{
    const struct tr_flyte_package package = {
        .files = files->items.items,
        .file_count = files->items.count,
        .project = tr_text_of("p"),
        .domain = tr_text_of("d"),
        .version = tr_text_of("v"),
        .path = tr_text_of(""),
        .python_path = tr_text_of("/code"),
        .has_code = true,
    };
    struct tr_report report;
    struct tr_graph *graph = NULL;
    const struct tr_import_place place = {.path = tr_text_of("flows.tgz"),
                                          .folder = tr_text_of("/")};
    tr_report_init(&report);
    int error = tr_import_package(&package, &place, &report, &graph);
    TR_ASSERT(error == 0 || error == TR_INVALID || error == TR_LIMIT);
    TR_ASSERT(error != TR_INVALID || tr_report_total(&report) > 0);
    if (error == 0 && graph->workflow_count > 0) {
        close_over(&package, graph->workflows[0].name);
    }
    tr_graph_free(graph);
    tr_report_fini(&report);
}

static void look_at_entity(const char *name, struct tr_bytes bytes)
{
    struct tr_arena arena;
    tr_arena_init(&arena);
    struct files files = {.arena = &arena};
    if (add_file(&files, tr_text_of(name), false, bytes) == 0) {
        compile(&files);
    }
    tr_arena_fini(&arena);
}

static void look_at_archive(struct tr_bytes bytes)
{
    struct tr_arena arena;
    struct tr_report report;
    tr_arena_init(&arena);
    tr_report_init(&report);
    struct files files = {.arena = &arena};
    int error = tr_archive_walk(bytes, add_file, &files, &report);
    TR_ASSERT(error != TR_INVALID || tr_report_total(&report) > 0);
    if (error == 0) {
        compile(&files);
    }
    tr_report_fini(&report);
    tr_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"0_e_1.pb", "0_e_2.pb", "0_e_3.pb", "closure.pb"};
    struct tr_bytes bytes = {.data = data, .size = size};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        look_at_entity(names[i], bytes);
    }
    look_at_archive(bytes);
    return 0;
}
