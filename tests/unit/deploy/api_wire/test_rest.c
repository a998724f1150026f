/*
 * Templates and paths, queries, escapes.
 */
#include "deploy/api_wire/rest.h"

#include <string.h>

#include "runtime/memory.h"
#include "tests/support/test.h"

static struct tr_rest_variable variables[TR_API_VARIABLES_MAX];
static size_t count;

static bool match(const char *template, const char *path)
{
    return tr_rest_match(tr_text_of(template), tr_text_of(path), variables, &count);
}

static void rows_are_walked(void **state)
{
    const char *rest = "GET /a/{b}\nPOST /a";
    struct tr_text method;
    struct tr_text path;
    (void)state;
    assert_true(tr_rest_next(&rest, &method, &path));
    assert_true(tr_text_equal(method, tr_text_of("GET")));
    assert_true(tr_text_equal(path, tr_text_of("/a/{b}")));
    assert_true(tr_rest_next(&rest, &method, &path));
    assert_true(tr_text_equal(method, tr_text_of("POST")));
    assert_true(tr_text_equal(path, tr_text_of("/a")));
    assert_false(tr_rest_next(&rest, &method, &path));
    rest = NULL;
    assert_false(tr_rest_next(&rest, &method, &path));
}

static void paths_are_matched_by_segments(void **state)
{
    static const char template[] = "/api/v1/tasks/{id.project}/{id.name}";
    static const char *const others[] = {"/api/v1/tasks",
                                         "/api/v1/tasks/p",
                                         "/api/v1/tasks/p/",
                                         "/api/v1/tasks//n",
                                         "/api/v1/tasks/p/n/",
                                         "/api/v1/tasks/p/n/v",
                                         "/api/v1/task/p/n",
                                         "/api/v1/tasks%2Fp/n",
                                         "/",
                                         ""};
    (void)state;
    assert_true(match(template, "/api/v1/tasks/p%2Fq/a.b"));
    assert_int_equal(count, 2);
    assert_true(tr_text_equal(variables[0].field, tr_text_of("id.project")));
    assert_true(tr_text_equal(variables[0].value, tr_text_of("p%2Fq")));
    assert_true(tr_text_equal(variables[1].field, tr_text_of("id.name")));
    assert_true(tr_text_equal(variables[1].value, tr_text_of("a.b")));
    for (size_t i = 0; i < TR_COUNT_OF(others); i++) {
        assert_false(match(template, others[i]));
    }
    assert_true(match("/me", "/me"));
    assert_int_equal(count, 0);
}

static void queries_are_parted(void **state)
{
    static const struct {
        const char *name;
        const char *value;
    } expected[] = {{"a", "1"}, {"b", ""}, {"c", ""}, {"", "d"}, {"e", "f=g"}};
    struct tr_text query = tr_text_of("&a=1&&b=&c&=d&e=f=g&");
    struct tr_text name;
    struct tr_text value;
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(expected); i++) {
        assert_true(tr_rest_parameter(&query, &name, &value));
        assert_true(tr_text_equal(name, tr_text_of(expected[i].name)));
        assert_true(tr_text_equal(value, tr_text_of(expected[i].value)));
    }
    assert_false(tr_rest_parameter(&query, &name, &value));
}

static void escapes_are_taken_away(void **state)
{
    static const struct {
        const char *text;
        bool is_query;
        const char *plain; /* NULL: it is refused */
    } rows[] = {{"", false, ""},
                {"a%20b+c", false, "a b+c"},
                {"a%20b+c", true, "a b c"},
                {"%c3%A4%2f%2B", true, "\xc3\xa4/+"},
                {"%00", false, NULL},
                {"%", false, NULL},
                {"%4", false, NULL},
                {"%4g", false, NULL},
                {"%ff", false, NULL},
                {"%c3", true, NULL}};
    struct tr_arena arena;
    struct tr_text plain;
    (void)state;
    tr_arena_init(&arena);
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        bool is_fine = tr_rest_unescape(&arena, tr_text_of(rows[i].text), rows[i].is_query, &plain);
        assert_int_equal(is_fine, rows[i].plain != NULL);
        if (is_fine) {
            assert_true(tr_text_equal(plain, tr_text_of(rows[i].plain)));
        }
    }
    struct tr_text zero = {.data = "a\0b", .size = 3};
    assert_false(tr_rest_unescape(&arena, zero, false, &plain));
    tr_arena_fini(&arena);
    assert_int_equal(tr_memory_used(), 0);
}

static void paths_are_made_of_templates(void **state)
{
    static const char template[] = "/api/{domain}/{name}/logs";
    const struct tr_rest_variable given[] = {{tr_text_of("name"), tr_text_of("a/b [\xc3\xa4]%~")},
                                             {tr_text_of("domain"), tr_text_of("d.e-f_g")}};
    struct tr_buffer path;
    struct tr_arena arena;
    struct tr_text plain;
    (void)state;
    tr_arena_init(&arena);
    tr_buffer_init(&path, 0);
    tr_rest_fill(tr_text_of(template), given, TR_COUNT_OF(given), &path);
    assert_int_equal(path.error, 0);
    assert_true(tr_text_equal(tr_buffer_text(&path),
                              tr_text_of("/api/d.e-f_g/a%2Fb%20%5B%C3%A4%5D%25~/logs")));
    assert_true(tr_rest_match(tr_text_of(template), tr_buffer_text(&path), variables, &count));
    assert_int_equal(count, 2);
    assert_true(tr_rest_unescape(&arena, variables[1].value, false, &plain));
    assert_true(tr_text_equal(plain, given[0].value));
    tr_buffer_fini(&path);
    tr_buffer_init(&path, 0);
    tr_rest_escape((struct tr_text){.data = "a/\0", .size = 3}, "/", &path);
    assert_true(tr_text_equal(tr_buffer_text(&path), tr_text_of("a/%00")));
    tr_buffer_fini(&path);
    tr_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_walked),
        cmocka_unit_test(paths_are_matched_by_segments),
        cmocka_unit_test(queries_are_parted),
        cmocka_unit_test(escapes_are_taken_away),
        cmocka_unit_test(paths_are_made_of_templates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
