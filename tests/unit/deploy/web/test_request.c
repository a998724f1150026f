/*
 * From a path, a query and a body to the words of a command.
 */
#include "deploy/web/request.h"

#include <stdio.h>
#include <string.h>

#include "runtime/memory.h"
#include "tests/support/test.h"

static struct tr_arena arena;
static struct tr_web_request request;
static char words[TR_WEB_WORDS_BYTES];

static enum tr_web_problem read_head(const char *method, const char *path, const char *query)
{
    const struct tr_web_head head = {
        .method = tr_text_of(method), .path = tr_text_of(path), .query = tr_text_of(query)};
    words[0] = '\0';
    return tr_web_request_read(&arena, &head, &request, words);
}

static enum tr_web_problem read_body(const char *body)
{
    struct tr_bytes bytes = {.data = (const uint8_t *)body, .size = strlen(body)};
    words[0] = '\0';
    return tr_web_request_read_body(&arena, bytes, &request, words);
}

/* The words of the command, each in brackets. */
static void assert_words(const char *expected)
{
    char all[4096] = "";
    size_t size = 0;
    int count = 0;
    char **given = tr_web_request_arguments(&arena, &request, "/s", &count);
    assert_non_null(given);
    assert_null(given[count]);
    for (int i = 0; i < count; i++) {
        size += (size_t)snprintf(all + size, sizeof all - size, "[%s]", given[i]);
    }
    assert_string_equal(all, expected);
}

static int begin(void **state)
{
    (void)state;
    tr_arena_init(&arena);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tr_arena_fini(&arena);
    return 0;
}

static void a_list_has_the_options_of_the_command(void **state)
{
    (void)state;
    assert_int_equal(read_head("GET", TR_WEB_BASE "/executions",
                               "phase=failed,aborted&label=a%3Db&label=c&all=true&reverse=false"),
                     TR_WEB_FINE);
    assert_words("[--store=/s][--quiet][--output=json][--limit=50][--phase=failed,aborted]"
                 "[--label=a=b][--label=c][--all][--]");
    assert_int_equal(read_head("HEAD", TR_WEB_BASE "/executions", "limit=7&cursor=1000-14"),
                     TR_WEB_FINE);
    assert_words("[--store=/s][--quiet][--output=json][--limit=7][--offset=14]"
                 "[--until=1970-01-01T00:00:01Z][--]");
    assert_int_equal(read_head("GET", TR_WEB_BASE "/executions", "until=2h&cursor=1000-14"),
                     TR_WEB_FINE);
    assert_words("[--store=/s][--quiet][--output=json][--limit=50][--offset=14][--until=2h][--]");
}

static void a_path_is_one_word(void **state)
{
    static const char path[] = TR_WEB_BASE "/executions/p/d/n%20x/node";
    (void)state;
    assert_int_equal(read_head("GET", path, "node=sq%5B3%5D/inner@2"), TR_WEB_FINE);
    assert_words("[--store=/s][--quiet][--output=json][--][/p/d/n x/sq[3]/inner@2]");
    assert_int_equal(read_head("GET", path, "node=--help"), TR_WEB_FINE);
    assert_words("[--store=/s][--quiet][--output=json][--][/p/d/n x/--help]");
}

static void what_could_mean_another_thing_is_no_name(void **state)
{
    static const char *const paths[] = {
        TR_WEB_BASE "/executions/p/d/@last", TR_WEB_BASE "/executions/p/d/a*",
        TR_WEB_BASE "/executions/p/d/%2a",   TR_WEB_BASE "/executions/p/d/a%2Fb",
        TR_WEB_BASE "/executions/p/d/a%5b",  TR_WEB_BASE "/executions/p/d/%00",
        TR_WEB_BASE "/executions/p/d/%ff",   TR_WEB_BASE "/executions/p//n",
        TR_WEB_BASE "/executions/p/d/n/",    "/api/troupe/v10/executions",
    };
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(paths); i++) {
        assert_int_equal(read_head("GET", paths[i], ""), TR_WEB_NOT_FOUND);
    }
    assert_int_equal(read_head("PUT", TR_WEB_BASE "/executions/p/d/n", ""), TR_WEB_METHOD);
}

static void nobody_gives_an_option_that_a_route_does_not_name(void **state)
{
    static const char *const queries[] = {"store=/etc", "output=text", "verbose",  "o=x",
                                          "help",       "waiting",     "offset=1", "--phase=x",
                                          "=x",         "name=x",      "node=x"};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(queries); i++) {
        assert_int_equal(read_head("GET", TR_WEB_BASE "/executions", queries[i]), TR_WEB_INVALID);
    }
    assert_int_equal(read_head("POST", TR_WEB_BASE "/executions/p/d/n/rerun", ""), TR_WEB_FINE);
    assert_int_equal(read_body("{\"file\": \"/etc/passwd\"}"), TR_WEB_INVALID);
    assert_int_equal(read_body("{\"inputs\": \"/etc/passwd\"}"), TR_WEB_INVALID);
    assert_int_equal(read_body("{\"name\": \"other\"}"), TR_WEB_INVALID);
}

static void a_value_of_a_body_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(read_head("POST", TR_WEB_BASE "/executions/p/d/n/rerun", ""), TR_WEB_FINE);
    assert_int_equal(read_body("{\"from\": [\"a\", \"b\"], \"failed\": true, \"input\": {\"x\": "
                               "\"@/etc/passwd\", \"y\": [1, null]}, \"set\": {\"a.b\": \"@f\"}, "
                               "\"label\": {\"k\": \"v\"}}"),
                     TR_WEB_FINE);
    assert_words("[--store=/s][--quiet][--output=json][--from=a][--from=b][--failed]"
                 "[--input=x=@@/etc/passwd][--input=y=[1, null]][--set=a.b=@@f]"
                 "[--label=k=v][--][/p/d/n]");
    assert_int_equal(read_head("POST", TR_WEB_BASE "/executions/p/d/n/rerun", ""), TR_WEB_FINE);
    assert_int_equal(read_body("{\"set\": [\"a.b=@f\"]}"), TR_WEB_INVALID);
    assert_int_equal(read_body("{\"input\": \"a=@f\"}"), TR_WEB_INVALID);
    assert_int_equal(read_body("{\"input\": {\"a=b\": 1}}"), TR_WEB_INVALID);
    assert_int_equal(read_head("POST", TR_WEB_BASE "/executions/p/d/n/signal", ""), TR_WEB_FINE);
    assert_int_equal(read_body("{\"value\": \"@f\", \"id\": \"--x\", \"message\": \"@f\"}"),
                     TR_WEB_FINE);
    assert_words("[--store=/s][--quiet][--output=json][--message=@f][--][/p/d/n][--x][@@f]");
    assert_int_equal(read_head("POST", TR_WEB_BASE "/executions/p/d/n/signal", ""), TR_WEB_FINE);
    assert_int_equal(read_body("{\"value\": null, \"id\": null}"), TR_WEB_FINE);
    assert_words("[--store=/s][--quiet][--output=json][--][/p/d/n][null]");
}

static void a_body_is_an_object(void **state)
{
    static const char *const bodies[] = {
        "[]", "1", "{", "{}{}", "null", "{\"message\": 1", "{\"message\": \"\\u0000\"}"};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(bodies); i++) {
        assert_int_equal(read_head("POST", TR_WEB_BASE "/executions/p/d/n/pause", ""), TR_WEB_FINE);
        assert_int_equal(read_body(bodies[i]), TR_WEB_INVALID);
        assert_true(words[0] != '\0');
    }
    /* With the place, also of one that was cut off. */
    assert_int_equal(read_body("{\"message\":\n \"a"), TR_WEB_INVALID);
    assert_non_null(strstr(words, "no object of JSON: line 2, column "));
    assert_int_equal(read_body("{\"message\": 1,, }"), TR_WEB_INVALID);
    assert_non_null(strstr(words, "no object of JSON: line 1, column 15: "));
    assert_int_equal(read_body("[1]"), TR_WEB_INVALID);
    assert_string_equal(words, "the body is no object of JSON: write {...}");
    assert_int_equal(read_body(""), TR_WEB_FINE);
    assert_int_equal(read_body("{\"message\": null}"), TR_WEB_FINE);
}

/* RFC 9110, 12.5.3. */
static void gzip_is_for_who_takes_it(void **state)
{
    static const struct {
        const char *header;
        bool is_taken;
    } rows[] = {
        {"", false},
        {"gzip", true},
        {"deflate, gzip;q=0.5, br", true},
        {"br;q=1.0 , \tgzip ; q=1", true},
        {"gzip;q=0", false},
        {"gzip; q=0.000", false},
        {"gzip;Q=0, *", false},
        {"*", true},
        {"*;q=0", false},
        {"identity", false},
        {"gzipped, x-gzip", false},
        {",,;=,", false},
    };
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        assert_int_equal(tr_web_takes_gzip(tr_text_of(rows[i].header)), rows[i].is_taken);
    }
}

static void what_is_given_is_bounded(void **state)
{
    char query[TR_WEB_GIVEN_MAX * 8 + 64] = "";
    (void)state;
    for (size_t i = 0; i <= TR_WEB_GIVEN_MAX; i++) {
        memcpy(query + 8 * i, "label=x&", 9);
    }
    assert_int_equal(read_head("GET", TR_WEB_BASE "/executions", query), TR_WEB_INVALID);
    assert_non_null(strstr(words, "TR_WEB_GIVEN_MAX"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_list_has_the_options_of_the_command, begin, end),
        cmocka_unit_test_setup_teardown(a_path_is_one_word, begin, end),
        cmocka_unit_test_setup_teardown(what_could_mean_another_thing_is_no_name, begin, end),
        cmocka_unit_test_setup_teardown(nobody_gives_an_option_that_a_route_does_not_name, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_value_of_a_body_is_no_file, begin, end),
        cmocka_unit_test_setup_teardown(a_body_is_an_object, begin, end),
        cmocka_unit_test_setup_teardown(gzip_is_for_who_takes_it, begin, end),
        cmocka_unit_test_setup_teardown(what_is_given_is_bounded, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
