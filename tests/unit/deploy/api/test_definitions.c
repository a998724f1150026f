/*
 * Definitions: each message, service and RPC of the table is declared by a file, whose needs are
 * all there; nothing else is.
 */
#include "deploy/api/definitions.h"

#include <stdio.h>
#include <string.h>

#include "deploy/api/methods.h"
#include "tests/support/test.h"

static struct tr_definitions definitions;

static int begin(void **state)
{
    (void)state;
    return tr_definitions_init(&definitions, tr_api_methods, tr_api_method_count);
}

static int end(void **state)
{
    (void)state;
    tr_definitions_fini(&definitions);
    return 0;
}

static const struct tr_definition *declaring(const char *symbol)
{
    return tr_definitions_declaring(&definitions, tr_text_of(symbol));
}

static void all_of_the_table_is_declared(void **state)
{
    (void)state;
    for (size_t i = 0; i < tr_api_method_count; i++) {
        const struct tr_api_method *row = &tr_api_methods[i];
        char name[256];
        (void)snprintf(name, sizeof name, "%s.%s", row->service, row->name);
        assert_non_null(declaring(name));
        assert_ptr_equal(declaring(name), declaring(row->service));
        assert_true(tr_definitions_has_message(&definitions, tr_text_of(row->request->name)));
        assert_true(tr_definitions_has_message(&definitions, tr_text_of(row->response->name)));
        (void)snprintf(name, sizeof name, "%s.proto", row->service);
        assert_ptr_equal(tr_definitions_file(&definitions, tr_text_of(name)),
                         declaring(row->service));
    }
}

/* A client that gets a file with its needs can make all of it. */
static void what_is_needed_is_whole(void **state)
{
    const struct tr_definition *needed[256];
    (void)state;
    assert_true(definitions.count <= TR_COUNT_OF(needed));
    for (size_t i = 0; i < definitions.count; i++) {
        size_t count = tr_definitions_needed(&definitions, &definitions.items[i], needed);
        assert_ptr_equal(needed[0], &definitions.items[i]);
        for (size_t j = 0; j < count; j++) {
            const Troupe__Descriptor__File *file = needed[j]->file;
            assert_string_equal(file->syntax, "proto3");
            for (size_t k = 0; k < file->n_dependency; k++) {
                size_t l = 0;
                while (l < count && strcmp(needed[l]->file->name, file->dependency[k]) != 0) {
                    l++;
                }
                assert_true(l < count);
            }
        }
    }
}

static void other_names_are_none(void **state)
{
    static const char *const none[] = {"",
                                       ".",
                                       "flyteidl",
                                       "flyteidl.core",
                                       "flyteidl.core.",
                                       "flyteidl.core.Liter",
                                       "flyteidl.core.Literal.",
                                       "flyteidl.core.Literal.Scalar",
                                       "flyteidl.core.Literals",
                                       ".flyteidl.core.Literal",
                                       "flyteidl.service.AdminService.",
                                       "flyteidl.service.AdminService.GetTask.x"};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(none); i++) {
        assert_null(declaring(none[i]));
    }
    assert_non_null(declaring("flyteidl.core.TaskExecution.Phase"));
    assert_false(
        tr_definitions_has_message(&definitions, tr_text_of("flyteidl.core.TaskExecution.Phase")));
    assert_null(tr_definitions_file(&definitions, tr_text_of("flyteidl")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_the_table_is_declared),
        cmocka_unit_test(what_is_needed_is_whole),
        cmocka_unit_test(other_names_are_none),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
