/*
 * Folders and graphs for tests of the program.
 */
#include "tests/unit/deploy/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/compiler/compile.h"
#include "tests/support/folder.h"

static char folder[64];

const char *help_folder_enter(void)
{
    snprintf(folder, sizeof folder, "/tmp/troupe-deploy-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    return folder;
}

void help_folder_leave(void)
{
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(folder_remove(folder), 0);
}

void help_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

struct tr_graph *help_graph(const char *yaml)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_definition_source request = {
        .path = tr_text_of("t.yaml"), .folder = tr_text_of("/defined"), .text = tr_text_of(yaml)};
    tr_report_init(&report);
    if (tr_graph_compile(&request, &report, &graph) != 0) {
        tr_report_finish(&report);
        fail_msg("%.*s", (int)report.problems[0].rule.size, report.problems[0].rule.data);
    }
    tr_report_fini(&report);
    return graph;
}
