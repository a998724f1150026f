/*
 * The shared parts of this room's tests.
 */
#include "tests/unit/actors/graph/help.h"

#include <time.h>

void help_init(struct help *help)
{
    tr_arena_init(&help->arena);
    tr_report_init(&help->report);
    tr_types_init(&help->types, &help->arena);
    tr_buffer_init(&help->text, 0);
    help->source = tri_report_source(&help->report, tr_text_of("t"));
}

void help_fini(struct help *help)
{
    tr_buffer_fini(&help->text);
    tr_report_fini(&help->report);
    tr_arena_fini(&help->arena);
}

const struct tr_tree *help_yaml(struct help *help, const char *text)
{
    return tr_yaml_read(&help->arena, &help->report, help->source, tr_text_of(text));
}

const struct tr_tree *help_json(struct help *help, const char *text)
{
    return tr_json_read(&help->arena, &help->report, help->source, tr_text_of(text));
}

const struct tr_type *help_type(struct help *help, const char *text)
{
    struct tr_text problem;
    const struct tr_type *type = tr_type_parse(&help->types, tr_text_of(text), &problem);
    if (type == NULL) {
        print_message("type %s: %.*s\n", text, TRI_TEXT(problem));
    }
    assert_non_null(type);
    return type;
}

const char *help_errors(struct help *help)
{
    tr_report_finish(&help->report);
    tr_buffer_cut(&help->text, 0);
    for (uint32_t i = 0; i < help->report.count + help->report.warning_count; i++) {
        uint32_t errors = help->report.count;
        tr_buffer_add_string(&help->text, i == 0 ? "" : "\n");
        tr_problem_print(i < errors ? &help->report.problems[i]
                                    : &help->report.warnings[i - errors],
                         &help->text);
    }
    tr_buffer_add(&help->text, "", 1);
    tr_report_fini(&help->report);
    help->source = tri_report_source(&help->report, tr_text_of("t"));
    return (const char *)help->text.data;
}

const char *help_value(struct help *help, const char *type, const struct tr_tree *tree)
{
    struct tr_literal_reader reader = {
        .report = &help->report, .arena = &help->arena, .folder = tr_text_of("/f")};
    struct tr_buffer value;
    tr_buffer_init(&value, 0);
    const struct tr_type *read_as = type == NULL ? NULL : help_type(help, type);
    if (tree == NULL || !tr_literal_read(&reader, read_as, tree, &value)) {
        tr_buffer_fini(&value);
        return help_errors(help);
    }
    tr_buffer_cut(&help->text, 0);
    assert_int_equal(tr_literal_json(read_as, tr_buffer_bytes(&value), &help->text), 0);
    tr_buffer_add(&help->text, "", 1);
    tr_buffer_fini(&value);
    return (const char *)help->text.data;
}

int64_t help_clock_ns(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
