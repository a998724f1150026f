/*
 * Heads that are refused before anybody sees them, each with its status and its words, and their
 * nearest neighbours that are not.
 */
#include "deploy/door/guard.h"

#include <string.h>

#include "tests/support/test.h"

static struct tr_door_header headers[8];

/* A request with these headers, name and value in turn, ended by NULL. */
static struct tr_door_request request_of(const char *path, const char *authority,
                                         const char *const *words)
{
    size_t count = 0;
    for (; words != NULL && words[2 * count] != NULL; count++) {
        assert_true(count < TR_COUNT_OF(headers));
        headers[count] =
            (struct tr_door_header){tr_text_of(words[2 * count]), tr_text_of(words[2 * count + 1])};
    }
    return (struct tr_door_request){.method = tr_text_of("GET"),
                                    .path = tr_text_of(path),
                                    .query = tr_text_of(""),
                                    .authority = tr_text_of(authority),
                                    .headers = headers,
                                    .header_count = count};
}

static void paths_lead_nowhere_else(void **state)
{
    static const char *const good[] = {"/",      "/a",      "/a/b/",      "/a//b", "/...",
                                       "/.a/b.", "/a%20b",  "/a%2Fb",     "/%25",  "/..a/a..",
                                       "/a:b@c", "/%2e%61", "/%2e%2e%2e", "/~a"};
    static const char *const bad[] = {
        "",        "a",     "*",    "http://a/", "/..",      "/../a",     "/a/..",
        "/a/../b", "/a/.",  "/./a", "/%2e%2e",   "/a/%2E./", "/a%00b",    "/a%",
        "/a%2",    "/a%2g", "/a b", "/a\tb",     "/\x7f",    "/\xc3\xa4", "/%2e"};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(good); i++) {
        assert_true(tri_guard_path(tr_text_of(good[i])));
    }
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        struct tr_door_request request = request_of(bad[i], "localhost", NULL);
        assert_int_equal(tri_guard_request(&request, false).status, 400);
        assert_false(tri_guard_path(tr_text_of(bad[i])));
    }
    assert_false(tri_guard_path((struct tr_text){.data = "/a\0b", .size = 4}));
}

static void a_length_is_said_once(void **state)
{
    static const struct {
        const char *words[7];
        bool is_fine;
        bool has_length;
        uint64_t length;
    } rows[] = {
        {{NULL}, true, false, 0},
        {{"content-length", "0", NULL}, true, true, 0},
        {{"content-length", "18446744073709551616", NULL}, false, false, 0},
        {{"content-length", "1844674407370955160", NULL}, true, true, 1844674407370955160U},
        {{"content-length", "5", "content-length", "5", NULL}, false, false, 0},
        {{"content-length", "5, 5", NULL}, false, false, 0},
        {{"content-length", "+5", NULL}, false, false, 0},
        {{"content-length", "-5", NULL}, false, false, 0},
        {{"content-length", "0x5", NULL}, false, false, 0},
        {{"content-length", "", NULL}, false, false, 0},
        {{"transfer-encoding", "chunked", NULL}, true, false, 0},
        {{"transfer-encoding", "Chunked", NULL}, true, false, 0},
        {{"transfer-encoding", "chunked", "content-length", "5", NULL}, false, false, 0},
        {{"content-length", "5", "transfer-encoding", "chunked", NULL}, false, false, 0},
        {{"transfer-encoding", "gzip, chunked", NULL}, false, false, 0},
        {{"transfer-encoding", "identity", NULL}, false, false, 0},
        {{"transfer-encoding", "chunked", "transfer-encoding", "chunked", NULL}, false, false, 0},
    };
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_door_request request = request_of("/", "localhost", rows[i].words);
        bool has_length = false;
        uint64_t length = 0;
        assert_int_equal(tri_guard_length(&request, &has_length, &length), rows[i].is_fine);
        if (rows[i].is_fine) {
            assert_int_equal(has_length, rows[i].has_length);
            assert_int_equal(length, rows[i].length);
        }
        assert_int_equal(tri_guard_request(&request, false).status, rows[i].is_fine ? 0 : 400);
    }
}

static void a_host_is_this_machine(void **state)
{
    static const char *const good[] = {
        "localhost", "localhost:30080", "LOCALHOST",     "127.0.0.1:30080",
        "192.0.2.7", "[::1]:30080",     "a.localhost:1", ""};
    static const char *const bad[] = {"example.org",
                                      "example.org:30080",
                                      "localhost.example.org",
                                      "127.0.0.1.nip.io",
                                      "notlocalhost",
                                      "1a.2",
                                      "[::1",
                                      "a:b@localhost"};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(good); i++) {
        struct tr_door_request request = request_of("/", good[i], NULL);
        assert_int_equal(tri_guard_request(&request, false).status, 0);
    }
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        struct tr_door_request request = request_of("/", bad[i], NULL);
        struct tri_refusal refusal = tri_guard_request(&request, false);
        assert_int_equal(refusal.status, 421);
        assert_string_equal(refusal.words, "this host is not served here; name it localhost, or "
                                           "by its IP address");
        assert_int_equal(tri_guard_request(&request, true).status, 0);
    }
}

static void pages_ask_their_own_host_alone(void **state)
{
    static const struct {
        const char *words[5];
        int status;
    } rows[] = {
        {{"origin", "http://localhost:30080", NULL}, 0},
        {{"origin", "https://LOCALHOST:30080", NULL}, 0},
        {{"origin", "http://localhost", NULL}, 403},
        {{"origin", "http://localhost:30081", NULL}, 403},
        {{"origin", "http://evil.example", NULL}, 403},
        {{"origin", "http://evil.example/://localhost:30080", NULL}, 403},
        {{"origin", "null", NULL}, 403},
        {{"origin", "", NULL}, 403},
        {{"sec-fetch-site", "cross-site", NULL}, 403},
        {{"sec-fetch-site", "same-origin", NULL}, 0},
        {{"sec-fetch-site", "none", NULL}, 0},
    };
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_door_request request = request_of("/", "localhost:30080", rows[i].words);
        struct tri_refusal refusal = tri_guard_request(&request, false);
        assert_int_equal(refusal.status, rows[i].status);
        if (refusal.status != 0) {
            assert_string_equal(refusal.words, "a page of another site may not ask this");
        }
    }
}

static void headers_are_made_of_their_characters(void **state)
{
    static const struct {
        const char *words[5];
        int status;
    } rows[] = {
        {{"x-a", "b\tc \xc3\xa4", NULL}, 0},
        {{"x a", "b", NULL}, 400},
        {{"content-length ", "5", NULL}, 400},
        {{"x:a", "b", NULL}, 400},
        {{"", "b", NULL}, 400},
        {{"x-a", "b\rc", NULL}, 400},
        {{"x-a", "b\nc", NULL}, 400},
        {{"x-a", "b\x7f", NULL}, 400},
        {{"host", "localhost", "host", "localhost", NULL}, 400},
    };
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_door_request request = request_of("/", "localhost", rows[i].words);
        assert_int_equal(tri_guard_request(&request, false).status, rows[i].status);
    }
    struct tr_door_request request = request_of("/", "localhost", NULL);
    request.method = tr_text_of("GET /");
    assert_int_equal(tri_guard_request(&request, false).status, 400);
    request.method = tr_text_of("");
    assert_int_equal(tri_guard_request(&request, false).status, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_lead_nowhere_else),
        cmocka_unit_test(a_length_is_said_once),
        cmocka_unit_test(a_host_is_this_machine),
        cmocka_unit_test(pages_ask_their_own_host_alone),
        cmocka_unit_test(headers_are_made_of_their_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
