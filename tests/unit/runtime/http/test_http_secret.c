/*
 * Requests with secrets in their headers, to a real server: what arrives, what is refused by which
 * words, who waits for a slow command, and what becomes of a 401.
 */
#include "runtime/http/http_secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "runtime/troupe.h"
#include "tests/support/helper_process.h"
#include "tests/support/http_server.h"
#include "tests/support/test.h"
#include "tests/unit/runtime/http/http_fixture.h"

static char folder[64];

/* A command that notes each time it is asked, and prints the file of the secret's name; for the
 * group slow it takes two seconds. */
static char script[1024];
static const char *const command[] = {"/bin/sh", "-c", script, "sh", NULL};
static const struct tr_secret_source sources[] = {{.kind = TR_SECRET_ENVIRONMENT},
                                                  {.kind = TR_SECRET_COMMAND, .command = command}};

static void write_secret(const char *name, const char *value)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(value, file) >= 0);
    fclose(file);
}

static size_t times_asked(void)
{
    char path[128];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/asked", folder);
    FILE *file = fopen(path, "r");
    for (int c = file != NULL ? fgetc(file) : EOF; c != EOF; c = fgetc(file)) {
        count += c == '\n' ? 1 : 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static int set_up(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/troupe-http-secret-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(script, sizeof script,
             "echo $1 >> %s/asked; case $1 in slow/*) sleep 2;; esac; cat %s/${1#*/}", folder,
             folder);
    *state = http_fixture_new((struct tri_http_options){
        .secret_sources = sources, .secret_source_count = TR_COUNT_OF(sources)});
    return 0;
}

static int take_down(void **state)
{
    char remove[128];
    http_fixture_free(*state);
    assert_int_equal(tr_memory_used(), 0);
    snprintf(remove, sizeof remove, "rm -rf %s", folder);
    return system(remove);
}

static struct tr_http_secret bearer(const char *group, const char *key)
{
    return (struct tr_http_secret){.header = tr_text_of("Authorization"),
                                   .prefix = tr_text_of("Bearer "),
                                   .group = tr_text_of(group),
                                   .key = tr_text_of(key),
                                   .version = tr_text_of("")};
}

static struct tri_http_request get(struct http_fixture *fixture, const char *path,
                                   const struct tr_http_secret *secrets, size_t count)
{
    struct tri_http_request request = http_get(fixture, path);
    request.secrets = secrets;
    request.secret_count = count;
    return request;
}

/* ---- What arrives. -------------------------------------------------------------------------- */

static void secrets_arrive_as_headers(void **state)
{
    struct http_fixture *fixture = *state;
    struct tr_http_secret secrets[] = {bearer("team", "token"), bearer("team", "login"),
                                       bearer("files", "key")};
    secrets[1].kind = TR_HTTP_SECRET_BASIC;
    secrets[1].header = tr_text_of("Proxy-Authorization");
    secrets[1].prefix = tr_text_of("");
    secrets[2].header = tr_text_of("X-Api-Key");
    secrets[2].prefix = tr_text_of("");
    setenv("TROUPE_SECRET_TEAM_TOKEN", "t0ken", 1);
    setenv("TROUPE_SECRET_TEAM_LOGIN", "Aladdin:open sesame", 1);
    write_secret("key", "from a command\n");
    struct tri_http_request request = get(fixture, "/echo", secrets, TR_COUNT_OF(secrets));
    const struct answer *answer = http_run(fixture, &request);
    assert_int_equal(answer->status, 200);
    assert_non_null(strstr(answer->body, "\nAuthorization: Bearer t0ken\n"));
    assert_non_null(
        strstr(answer->body, "\nProxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\n"));
    assert_non_null(strstr(answer->body, "\nX-Api-Key: from a command\n"));
}

/* The words name the secret and what is the matter, and never its value. */
static void what_is_no_header_is_refused(void **state)
{
    struct http_fixture *fixture = *state;
    static const struct {
        const char *value;
        uint8_t kind;
        const char *words;
    } rows[] = {
        {NULL, TR_HTTP_SECRET_PLAIN, "secret team/odd: "},
        {"hidden\r\nX-Other: 1", TR_HTTP_SECRET_PLAIN, "secret team/odd: its value has several"},
        {"hidden\x01", TR_HTTP_SECRET_PLAIN, "secret team/odd: its value has several"},
        {"", TR_HTTP_SECRET_PLAIN, "secret team/odd: its value is empty"},
        {"hidden", TR_HTTP_SECRET_BASIC, "not have the form USER:PASSWORD"},
        {"hidden", TR_HTTP_SECRET_SIGN, "not have the form ACCESS:SECRET"},
        {"hidden:", TR_HTTP_SECRET_SIGN, "not have the form ACCESS:SECRET"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_http_secret secret = bearer("team", "odd");
        secret.kind = rows[i].kind;
        secret.header = tr_text_of(rows[i].kind == TR_HTTP_SECRET_SIGN ? "" : "Authorization");
        if (rows[i].value != NULL) {
            setenv("TROUPE_SECRET_TEAM_ODD", rows[i].value, 1);
        }
        struct tri_http_request request = get(fixture, "/echo", &secret, 1);
        request.aws_region = tr_text_of("eu-test-1");
        request.aws_service = tr_text_of("s3");
        const struct answer *answer = http_run(fixture, &request);
        http_expect_fault(answer, TRI_HTTP_SECRET, rows[i].words);
        assert_int_equal(answer->status, 0);
        assert_null(strstr(answer->words, "hidden"));
    }
    unsetenv("TROUPE_SECRET_TEAM_ODD");
}

static void bad_references_are_refused(void **state)
{
    struct http_fixture *fixture = *state;
    struct tr_http_secret good[TR_HTTP_SECRETS_MAX + 1];
    for (size_t i = 0; i < TR_COUNT_OF(good); i++) {
        good[i] = bearer("team", "token");
    }
    struct tr_http_secret bad[] = {good[0], good[0], good[0], good[0]};
    bad[0].key = tr_text_of("");
    bad[1].header = tr_text_of("X\r\nY");
    bad[2].prefix = tr_text_of("a\nb");
    bad[3].kind = TR_HTTP_SECRET_KIND_COUNT;
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        struct tri_http_request request = get(fixture, "/echo", &bad[i], 1);
        assert_int_equal(tri_http_submit(fixture->http, &request), TR_INVALID);
    }
    struct tri_http_request request = get(fixture, "/echo", good, 1);
    request.redirects_max = 1;
    assert_int_equal(tri_http_submit(fixture->http, &request), TR_INVALID);
    request = get(fixture, "/echo", good, TR_COUNT_OF(good));
    assert_int_equal(tri_http_submit(fixture->http, &request), TR_LIMIT);
}

/* Requests of many forms are signed so that another program finds the same signature. */
static void object_stores_know_who_signs(void **state)
{
    struct http_fixture *fixture = *state;
    static uint8_t large[16 << 20];
    static const struct {
        const char *method;
        const char *path;
        size_t body_size;
    } rows[] = {
        {"GET", "/signed/", 0},
        {"GET", "/signed/bucket/a%20b/%C3%A4.txt", 0},
        {"GET", "/signed/bucket?uploads", 0},
        {"GET", "/signed/bucket?prefix=a/b&list-type=2&a-b=1&a=2&a=1", 0},
        {"PUT", "/signed/bucket/object", 5},
        {"PUT", "/signed/bucket/object", sizeof large},
        {"DELETE", "/signed/bucket/object", 0},
    };
    const struct tr_text headers[] = {tr_text_of("X-Amz-Meta-Name:  value "),
                                      tr_text_of("Content-Type: text/plain"),
                                      tr_text_of("If-None-Match: *")};
    static const char *const keys[] = {"AKID:s3cr3t/+key", "AKID:s3cr3t/+key:to:ken", "AKID:other"};
    struct tr_http_secret secret = bearer("store", "key");
    secret.kind = TR_HTTP_SECRET_SIGN;
    secret.header = secret.prefix = tr_text_of("");
    for (size_t i = 0; i < TR_COUNT_OF(rows) * TR_COUNT_OF(keys); i++) {
        size_t row = i % TR_COUNT_OF(rows);
        setenv("TROUPE_SECRET_STORE_KEY", keys[i / TR_COUNT_OF(rows)], 1);
        struct tri_http_request request = get(fixture, rows[row].path, &secret, 1);
        request.method = tr_text_of(rows[row].method);
        request.headers = headers;
        request.header_count = row % 4;
        request.body = (struct tr_bytes){.data = large, .size = rows[row].body_size};
        request.aws_region = tr_text_of("eu-test-1");
        request.aws_service = tr_text_of("s3");
        const struct answer *answer = http_run(fixture, &request);
        uint32_t expected = i / TR_COUNT_OF(rows) < 2 ? 200 : 403;
        if (answer->status != expected) {
            print_error("%s %s: %s\n", rows[row].method, rows[row].path, answer->body);
        }
        assert_int_equal(answer->status, expected);
    }
    struct tri_http_request request = get(fixture, "/signed/", &secret, 1);
    assert_int_equal(tri_http_submit(fixture->http, &request), TR_INVALID); /* for whom? */
}

/* ---- Waiting. ------------------------------------------------------------------------------- */

/* Another thread asks for team/quick than for slow/token. */
static void slow_commands_hold_up_nobody_else(void **state)
{
    struct http_fixture *fixture = *state;
    struct tr_http_secret slow = bearer("slow", "token");
    struct tr_http_secret quick = bearer("team", "quick");
    setenv("TROUPE_SECRET_TEAM_QUICK", "q", 1);
    write_secret("token", "s");
    struct tri_http_request first = get(fixture, "/bearer/s", &slow, 1);
    struct tri_http_request second = get(fixture, "/bearer/s", &slow, 1);
    struct tri_http_request late = get(fixture, "/bearer/s", &slow, 1);
    struct tri_http_request dropped = get(fixture, "/bearer/s", &slow, 1);
    struct tri_http_request other = get(fixture, "/bearer/q", &quick, 1);
    struct tri_http_request plain = get(fixture, "/status/200", NULL, 0);
    late.timeout_ms = 300;
    http_submit(fixture, &first);
    http_submit(fixture, &second);
    http_submit(fixture, &late);
    http_submit(fixture, &dropped);
    assert_true(http_run(fixture, &plain)->elapsed_us < 1000000);
    const struct answer *answer = http_run(fixture, &other);
    assert_int_equal(answer->status, 200);
    assert_true(answer->elapsed_us < 1000000);
    assert_int_equal(tri_http_cancel(fixture->http, dropped.id), 0);
    answer = http_await(fixture, dropped.id);
    http_expect_fault(answer, TRI_HTTP_CANCELLED, "cancelled");
    assert_true(answer->elapsed_us < 1000000);
    http_expect_fault(http_await(fixture, late.id), TRI_HTTP_TIMEOUT, "secrets");
    answer = http_await(fixture, first.id);
    assert_int_equal(answer->status, 200);
    assert_true(answer->elapsed_us > 1500000);
    assert_int_equal(http_await(fixture, second.id)->status, 200);
    assert_int_equal(times_asked(), 1);
}

static void stopping_ends_who_waits_for_secrets(void **state)
{
    struct http_fixture *fixture = *state;
    struct tr_http_secret slow = bearer("slow", "token");
    struct tri_http_request request = get(fixture, "/bearer/s", &slow, 1);
    http_submit(fixture, &request);
    helper_wait_ms(100);
    tri_http_stop(fixture->http);
    fixture->http = NULL;
    http_expect_fault(http_await(fixture, request.id), TRI_HTTP_CLOSED, "stopped");
}

/* ---- Another secret by now. ----------------------------------------------------------------- */

static uint32_t status_of(struct http_fixture *fixture, const char *path)
{
    struct tr_http_secret secret = bearer("vault", "token");
    struct tri_http_request request = get(fixture, path, &secret, 1);
    const struct answer *answer = http_run(fixture, &request);
    http_expect_fault(answer, TRI_HTTP_NONE, "");
    char body[32];
    snprintf(body, sizeof body, "status %u\n", answer->status);
    assert_string_equal(answer->body, body); /* of the last response alone */
    return answer->status;
}

static void a_401_has_secrets_asked_for_again(void **state)
{
    struct http_fixture *fixture = *state;
    write_secret("token", "old");
    assert_int_equal(status_of(fixture, "/bearer/old"), 200);
    assert_int_equal(status_of(fixture, "/bearer/old"), 200);
    assert_int_equal(times_asked(), 1);
    write_secret("token", "new");
    assert_int_equal(status_of(fixture, "/bearer/new"), 200);
    assert_int_equal(times_asked(), 2);
    /* The same once more is no use, and neither is none. */
    assert_int_equal(status_of(fixture, "/bearer/other"), 401);
    assert_int_equal(times_asked(), 3);
    write_secret("token", "");
    assert_int_equal(status_of(fixture, "/bearer/other"), 401);
    assert_int_equal(times_asked(), 4);
}

/* Whoever was refused with the old one does not ask for himself. */
static void many_refused_ask_once(void **state)
{
    struct http_fixture *fixture = *state;
    enum { COUNT = 20 };
    struct tr_http_secret secret = bearer("vault", "token");
    struct tri_http_request requests[COUNT];
    write_secret("token", "old");
    assert_int_equal(status_of(fixture, "/bearer/old"), 200);
    write_secret("token", "new");
    for (size_t i = 0; i < COUNT; i++) {
        requests[i] = get(fixture, "/bearer/new", &secret, 1);
        http_submit(fixture, &requests[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(http_await(fixture, requests[i].id)->status, 200);
    }
    assert_int_equal(times_asked(), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, take_down)
    const struct CMUnitTest tests[] = {
        TEST(secrets_arrive_as_headers),         TEST(what_is_no_header_is_refused),
        TEST(bad_references_are_refused),        TEST(object_stores_know_who_signs),
        TEST(slow_commands_hold_up_nobody_else), TEST(stopping_ends_who_waits_for_secrets),
        TEST(a_401_has_secrets_asked_for_again), TEST(many_refused_ask_once),
    };
    return cmocka_run_group_tests(tests, http_group_set_up, http_group_take_down);
}
