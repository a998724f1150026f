/*
 * Definitions of several files: names across them, folders of their own, circles among them, and
 * what cannot be read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/compiler/compile.h"
#include "tests/unit/actors/graph/help.h"

/* A folder for one test, and the files put into it. */
struct place {
    char folder[64];
    char *paths[8];
    unsigned count;
};

static int make_folder(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    assert_non_null(place);
    (void)snprintf(place->folder, sizeof place->folder, "/tmp/troupe-check-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    char inner[128];
    (void)snprintf(inner, sizeof inner, "%s/sub", place->folder);
    assert_int_equal(mkdir(inner, 0700), 0);
    *state = place;
    return 0;
}

static int remove_folder(void **state)
{
    struct place *place = *state;
    for (unsigned i = 0; i < place->count; i++) {
        (void)unlink(place->paths[i]);
        free(place->paths[i]);
    }
    char inner[128];
    (void)snprintf(inner, sizeof inner, "%s/sub", place->folder);
    (void)rmdir(inner);
    (void)rmdir(place->folder);
    free(place);
    return 0;
}

static const char *put(struct place *place, const char *name, const char *text)
{
    size_t size = strlen(place->folder) + strlen(name) + 2;
    char *path = malloc(size);
    assert_non_null(path);
    place->paths[place->count++] = path;
    (void)snprintf(path, size, "%s/%s", place->folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* The graph, or NULL with the errors in the help, the folder cut from their front. */
static struct tr_graph *check(struct help *help, const char *path)
{
    struct tr_graph *graph = NULL;
    int error = tr_graph_check_file(path, &help->report, &graph);
    assert_int_equal(error, graph == NULL ? TR_INVALID : 0);
    return graph;
}

static void test_includes(void **state)
{
    struct place *place = *state;
    struct help help;
    help_init(&help);
    (void)put(place, "sub/common.yaml",
              "troupe: 1\n"
              "include: [../flow.yaml, ./more.yaml]\n"
              "project: other\n"
              "tasks: {t: {inputs: {f: {type: file, default: x.txt}}, run: [./t]}}\n");
    (void)put(place, "sub/more.yaml", "troupe: 1\ntasks: {u: {run: [u]}}\n");
    const char *path = put(place, "flow.yaml",
                           "troupe: 1\n"
                           "project: own\n"
                           "include: [sub/common.yaml]\n"
                           "workflows: {w: {nodes: {a: {task: t}, b: {task: u}}}}\n");
    struct tr_graph *graph = check(&help, path);
    if (graph == NULL) {
        fail_msg("%s", help_errors(&help));
        return;
    }
    char expected[128];
    (void)snprintf(expected, sizeof expected, "%s/sub", place->folder);
    const struct tr_task *task = &graph->tasks[tr_graph_find_task(graph, tr_text_of("t"))];
    assert_true(tr_text_equal(task->folder, tr_text_of(expected)));
    assert_true(tr_text_equal(graph->workflows[0].folder, tr_text_of(place->folder)));
    assert_true(tr_text_equal(graph->project, tr_text_of("own")));
    (void)snprintf(expected, sizeof expected, "\"%s/sub/x.txt\"", place->folder);
    const struct tr_variable *input = &task->interface.inputs.items[0];
    assert_int_equal(tr_literal_json(input->type, input->default_value, &help.text), 0);
    assert_true(tr_text_equal(tr_buffer_text(&help.text), tr_text_of(expected)));
    tr_graph_free(graph);
    help_fini(&help);
}

static void test_errors_name_their_files(void **state)
{
    struct place *place = *state;
    struct help help;
    help_init(&help);
    (void)put(place, "sub/common.yaml", "troupe: 1\ntasks: {t: {run: [t], retry: 1}}\n");
    const char *path = put(place, "flow.yaml",
                           "troupe: 1\n"
                           "include: [sub/common.yaml, gone.yaml]\n"
                           "tasks: {t: {run: [t]}}\n");
    assert_null(check(&help, path));
    char expected[1024];
    (void)snprintf(
        expected, sizeof expected,
        "%s/sub/common.yaml:2:9: the name 't' is taken in line 3 of %s; tasks, workflows "
        "and launch plans share one set of names: choose another [DuplicateId]\n"
        "%s/sub/common.yaml:2:23: t: 'retry' is no key of a task; the nearest one is "
        "'retries' [InvalidValue]\n"
        "%s/gone.yaml: the included file cannot be read: not found; its path counts from "
        "the file that includes it",
        place->folder, path, place->folder, place->folder);
    assert_string_equal(help_errors(&help), expected);
    help_fini(&help);
}

/* In flow style two equal names may stand in one line: the one further to the right is told. */
static void test_equal_names_in_one_line(void **state)
{
    struct place *place = *state;
    struct help help;
    char expected[512];
    help_init(&help);
    const char *path = put(place, "flow.yaml",
                           "{troupe: 1, tasks: {t: {run: [t]}}, workflows: {"
                           "w: {nodes: {n: {task: t}}}, t: {nodes: {n: {task: t}}}}}\n");
    assert_null(check(&help, path));
    (void)snprintf(expected, sizeof expected,
                   "%s:1:77: the name 't' is taken in line 1; tasks, workflows and launch plans "
                   "share one set of names: choose another [DuplicateId]",
                   path);
    assert_string_equal(help_errors(&help), expected);
    help_fini(&help);
}

static void test_unreadable(void **state)
{
    struct place *place = *state;
    struct help help;
    help_init(&help);
    char expected[256];
    (void)snprintf(expected, sizeof expected,
                   "%s: the file cannot be read: it is a folder or a device, not a file; check its "
                   "name",
                   place->folder);
    assert_null(check(&help, place->folder));
    assert_string_equal(help_errors(&help), expected);
    assert_null(check(&help, "/nonexistent/flow.yaml"));
    assert_string_equal(help_errors(&help), "/nonexistent/flow.yaml: the file cannot be read: not "
                                            "found; check its name");
    help_fini(&help);
}

/*
 * A file that ends before the size it had when it was opened, as every one of sysfs does: what was
 * read may be a part of a definition.
 */
static void test_shorter_than_it_was(void **state)
{
    static const char path[] = "/sys/kernel/uevent_seqnum";
    struct help help;
    (void)state;
    if (access(path, R_OK) != 0) {
        skip();
    }
    help_init(&help);
    assert_null(check(&help, path));
    assert_string_equal(help_errors(&help),
                        "/sys/kernel/uevent_seqnum: the file cannot be read: busy: try again "
                        "later; it was changed meanwhile");
    help_fini(&help);
}

/* What people of Flyte have is named, and is no error of YAML. */
static void test_programs_of_flyte_are_named(void **state)
{
    struct place *place = *state;
    static const struct {
        const char *name;
        const char *text;
        const char *words;
    } files[] = {
        {"flow.py", "import flytekit\n",
         "this is a program in Python, which has to be run to know its workflows; package it: "
         "pyflyte --pkgs MODULE package --image none:1 -o flows.tgz --fast; or write a definition "
         "in YAML: `troupe init` begins one"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(files); i++) {
        struct help help;
        char expected[1024];
        help_init(&help);
        const char *path = put(place, files[i].name, files[i].text);
        assert_null(check(&help, path));
        (void)snprintf(expected, sizeof expected, "%s: %s", path, files[i].words);
        assert_string_equal(help_errors(&help), expected);
        help_fini(&help);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_includes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_programs_of_flyte_are_named, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_errors_name_their_files, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_equal_names_in_one_line, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_unreadable, make_folder, remove_folder),
        cmocka_unit_test(test_shorter_than_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
