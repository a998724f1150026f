/*
 * The table of RPCs: each row is whole and there once, its paths name fields that are there, and a
 * path of gRPC finds it.
 */
#include "deploy/api/methods.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api_wire/rest.h"
#include "deploy/api_wire/status.h"
#include "tests/support/test.h"

static const struct tr_api_method *find(const char *path, bool *has_service)
{
    return tr_api_method_find(tr_api_methods, tr_api_method_count, tr_text_of(path), has_service);
}

static void rows_are_found_by_their_paths(void **state)
{
    char path[256];
    bool has_service;
    (void)state;
    for (size_t i = 0; i < tr_api_method_count; i++) {
        const struct tr_api_method *row = &tr_api_methods[i];
        (void)snprintf(path, sizeof path, "/%s/%s", row->service, row->name);
        assert_ptr_equal(find(path, &has_service), row);
        assert_non_null(row->request);
        assert_non_null(row->response);
        assert_non_null(row->handle);
        assert_true(row->role <= TR_API_ADMIN);
        assert_true(row->is_stream || !row->is_dialogue);
        assert_false(row->is_stream && row->rest != NULL); /* REST has one response */
    }
    assert_null(find("/grpc.health.v1.Health/Nothing", &has_service));
    assert_true(has_service);
    assert_null(find("/flyteidl.service.Nothing/Check", &has_service));
    assert_false(has_service);
    static const char *const others[] = {
        "", "/", "//", "/Check", "grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Check/"};
    for (size_t i = 0; i < TR_COUNT_OF(others); i++) {
        assert_null(find(others[i], &has_service));
    }
}

/* What stands in braces can be set, and no two rows are for the same request. */
static void paths_of_rest_are_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < tr_api_method_count; i++) {
        const char *rest = tr_api_methods[i].rest;
        struct tr_text method;
        struct tr_text template;
        while (tr_rest_next(&rest, &method, &template)) {
            struct tr_rest_variable variables[TR_API_VARIABLES_MAX];
            char problem[TR_FLYTE_PROBLEM_BYTES];
            size_t count;
            struct tr_arena arena;
            tr_arena_init(&arena);
            assert_true(tr_rest_match(template, template, variables, &count));
            void *message = tr_flyte_message_new(&arena, tr_api_methods[i].request);
            for (size_t j = 0; j < count; j++) {
                assert_int_equal(tr_flyte_message_set(&arena, message, variables[j].field,
                                                      tr_text_of("1"), problem),
                                 0);
            }
            tr_arena_fini(&arena);
        }
    }
}

/* What a place names is there to be set, and a call that is about all has no place. */
static void places_are_fields(void **state)
{
    static const char *const about_all[] = {"ListMatchableAttributes", "CreateDownloadLocation"};
    (void)state;
    for (size_t i = 0; i < tr_api_method_count; i++) {
        const struct tr_api_method *row = &tr_api_methods[i];
        bool is_about_all = row->role == TR_API_ANYBODY;
        for (size_t j = 0; j < TR_COUNT_OF(about_all); j++) {
            is_about_all = is_about_all || strcmp(row->name, about_all[j]) == 0;
        }
        assert_true((row->place == NULL) == is_about_all);
        if (row->place == NULL || strcmp(row->place, TR_API_ANYWHERE) == 0) {
            continue;
        }
        char path[256];
        char problem[TR_FLYTE_PROBLEM_BYTES];
        struct tr_arena arena;
        tr_arena_init(&arena);
        bool is_message = row->place[strlen(row->place) - 1] == '.';
        const char *front = strcmp(row->place, ".") == 0 ? "" : row->place;
        (void)snprintf(path, sizeof path, "%s%s", front, is_message ? "project" : "");
        void *message = tr_flyte_message_new(&arena, row->request);
        assert_int_equal(
            tr_flyte_message_set(&arena, message, tr_text_of(path), tr_text_of("p"), problem), 0);
        struct tr_text inside = {.data = front, .size = strlen(front) - (front[0] != '\0')};
        const char *text = is_message ? tr_flyte_message_text(message, inside, "project") : NULL;
        assert_true(!is_message || (text != NULL && strcmp(text, "p") == 0));
        tr_arena_fini(&arena);
    }
}

static void codes_have_a_status(void **state)
{
    (void)state;
    assert_int_equal(tr_api_http_status(TR_API_OK), 200);
    assert_int_equal(tr_api_http_status(TR_API_NOT_FOUND), 404);
    assert_int_equal(tr_api_http_status(TR_API_UNAUTHENTICATED), 401);
    static const int refusals[] = {400, 403, 408, 413, 421, 429, 431, 503};
    for (size_t i = 0; i < TR_COUNT_OF(refusals); i++) {
        assert_int_not_equal(tr_api_code_of(refusals[i]), TR_API_INTERNAL);
    }
    assert_int_equal(tr_api_code_of(413), TR_API_RESOURCE_EXHAUSTED);
    assert_int_equal(tr_api_code_of(418), TR_API_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_by_their_paths),
        cmocka_unit_test(paths_of_rest_are_whole),
        cmocka_unit_test(places_are_fields),
        cmocka_unit_test(codes_have_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
