/*
 * The API with a table of calls of its own, asked over a socket file by libcurl: what handlers are
 * given and give, now, later and in pieces, by both forms; and that a role is asked for first.
 */
#include "deploy/api/api.h"

#include <curl/curl.h>
#include <flyteidl/identifier.pb-c.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

enum { MANY = 40000, LIMIT_S = 60 };

static struct tr_api *_Atomic api; /* read on the door's thread */
static char folder[] = "/tmp/troupe-api-XXXXXX";
static char path[64];
static pthread_t helper;
static atomic_int begun;
static atomic_int gone;
static sem_t one_has_gone;
static atomic_ulong number; /* of the call that another thread answers */

/* ------------------------------------------------------------------ the calls */

static void echo(struct tr_api_call *call, const void *request)
{
    tr_api_answer(call, request);
}

static void refuse(struct tr_api_call *call, const void *request)
{
    const Flyteidl__Core__NodeExecutionIdentifier *id = request;
    tr_api_fail(call, TR_API_ALREADY_EXISTS, "%s is there\n", id->node_id);
}

static void answer_late(void *argument)
{
    struct tr_api_call *call = tr_api_call_find(api, atomic_load(&number));
    (void)argument;
    if (call != NULL) {
        Flyteidl__Core__NodeExecutionIdentifier id;
        char *name = tr_arena_alloc(tr_api_call_arena(call), sizeof "late");
        assert_non_null(name);
        memcpy(name, "late", sizeof "late");
        flyteidl__core__node_execution_identifier__init(&id);
        id.node_id = name;
        tr_api_answer(call, &id.base);
    }
}

static void *run_helper(void *argument)
{
    assert_int_equal(tr_api_post(argument, answer_late, NULL), 0);
    return NULL;
}

static void begin_late(struct tr_api_call *call, const void *request)
{
    (void)request;
    atomic_store(&number, tr_api_call_number(call));
    assert_int_equal(pthread_create(&helper, NULL, run_helper, tr_api_call_api(call)), 0);
}

/* Nobody answers it before its time is over; then it is too late. */
static void begin_never(struct tr_api_call *call, const void *request)
{
    (void)request;
    atomic_fetch_add(&begun, 1);
    atomic_store(&number, tr_api_call_number(call));
}

static void has_gone(struct tr_api_call *call)
{
    free(tr_api_call_state(call));
    atomic_fetch_add(&gone, 1);
    (void)sem_post(&one_has_gone);
}

static void never_has_gone(struct tr_api_call *call)
{
    answer_late(NULL); /* which is passed over */
    has_gone(call);
}

static void send_many(struct tr_api_call *call)
{
    static char name[] = "a name of some letters, so that there are many bytes in all";
    Flyteidl__Core__NodeExecutionIdentifier id;
    int *left = tr_api_call_state(call);
    flyteidl__core__node_execution_identifier__init(&id);
    id.node_id = name;
    while (*left > 0) {
        if (tr_api_send(call, &id.base) != 0) {
            return; /* until there is room */
        }
        (*left)--;
    }
    tr_api_finish(call);
}

static void begin_many(struct tr_api_call *call, const void *request)
{
    int *left = malloc(sizeof *left);
    (void)request;
    assert_non_null(left);
    *left = MANY;
    tr_api_call_state_set(call, left);
    atomic_fetch_add(&begun, 1);
    send_many(call);
}

#define ID                                                                                     \
    .service = "test.Test", .request = &flyteidl__core__node_execution_identifier__descriptor, \
    .response = &flyteidl__core__node_execution_identifier__descriptor

static const struct tr_api_method methods[] = {
    {ID, .name = "Echo", .handle = echo,
     .rest = "GET /nodes/{execution_id.project}/{node_id}\nPOST /nodes\nPUT /nodes/{node_id}"},
    {ID, .name = "Fail", .handle = refuse, .rest = "GET /fail/{node_id}"},
    {ID, .name = "Late", .handle = begin_late, .rest = "GET /late"},
    {ID, .name = "Never", .handle = begin_never, .gone = never_has_gone},
    {ID, .name = "Many", .handle = begin_many, .room = send_many, .gone = has_gone,
     .is_stream = true},
    {ID, .name = "Closed", .handle = echo, .rest = "GET /closed", .role = TR_API_VIEW},
};

/* ----------------------------------------------------------------- the client */

static char text[8 << 20];
static size_t text_size;
static char status_said[16];
static char words_said[256];

static size_t take(char *data, size_t size, size_t count, void *self)
{
    (void)self;
    assert_true(text_size + size * count < sizeof text);
    memcpy(text + text_size, data, size * count);
    text_size += size * count;
    text[text_size] = '\0';
    return size * count;
}

static size_t take_header(char *data, size_t size, size_t count, void *self)
{
    (void)self;
    (void)sscanf(data, "grpc-status: %15s", status_said);
    (void)sscanf(data, "grpc-message: %255[^\r\n]", words_said);
    return size * count;
}

/* A request with headers, a line each, and a body or none. */
static long ask(const char *method, const char *target, const char *headers, const char *body,
                size_t body_size, long version)
{
    long status = 0;
    char url[256];
    char line[128];
    struct curl_slist *list = NULL;
    CURL *curl = curl_easy_init();
    (void)snprintf(url, sizeof url, "http://localhost%s", target);
    for (; headers[0] != '\0'; headers += strcspn(headers, "\n")) {
        headers += headers[0] == '\n';
        (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(headers, "\n"), headers);
        list = curl_slist_append(list, line);
    }
    text_size = 0;
    text[0] = status_said[0] = words_said[0] = '\0';
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, path);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, version);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)LIMIT_S);
    if (body != NULL) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)body_size);
    }
    assert_int_equal(curl_easy_perform(curl), CURLE_OK);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(list);
    curl_easy_cleanup(curl);
    return status;
}

static long get(const char *target)
{
    return ask("GET", target, "", NULL, 0, CURL_HTTP_VERSION_1_1);
}

/* A call by gRPC of a message in bytes; what it ends with. */
static int call_of(const char *name, const char *headers, const char *body, size_t size)
{
    char target[64];
    char all[256];
    (void)snprintf(target, sizeof target, "/test.Test/%s", name);
    (void)snprintf(all, sizeof all, "content-type: application/grpc\nte: trailers%s", headers);
    assert_int_equal(ask("POST", target, all, body, size, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE),
                     200);
    assert_string_not_equal(status_said, "");
    return atoi(status_said);
}

/* ------------------------------------------------------------------------ tests */

static int open_with(enum tr_api_role everybody)
{
    char words[TR_DOOR_WORDS_BYTES];
    char address[80];
    const char *const addresses[] = {address};
    (void)snprintf(folder, sizeof folder, "/tmp/troupe-api-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/it", folder);
    (void)snprintf(address, sizeof address, "unix:%s", path);
    const struct tr_api_options options = {.addresses = addresses,
                                           .address_count = 1,
                                           .methods = methods,
                                           .method_count = TR_COUNT_OF(methods),
                                           .everybody = everybody};
    atomic_store(&begun, 0);
    atomic_store(&gone, 0);
    assert_int_equal(sem_init(&one_has_gone, 0, 0), 0);
    struct tr_api *opened = NULL;
    int error = tr_api_open(&options, words, &opened);
    atomic_store(&api, opened);
    return error;
}

static int begin(void **state)
{
    (void)state;
    return open_with(TR_API_ADMIN);
}

static int end(void **state)
{
    (void)state;
    tr_api_close(api);
    assert_int_equal(atomic_load(&gone), atomic_load(&begun));
    assert_int_equal(tr_memory_used(), 0);
    return folder_remove(folder);
}

#define ECHO(node, execution) "{\"node_id\": \"" node "\",\n\"execution_id\": " execution "}"
#define EXECUTION(project, name)                                                   \
    "{\"project\": \"" project "\",\n\"domain\": \"\",\n\"name\": \"" name "\",\n" \
    "\"org\": \"\"}"

static void messages_are_made_of_paths_queries_and_bodies(void **state)
{
    static const char both[] = "{\"nodeId\": \"b\", \"execution_id\": {\"project\": \"x\"}}";
    static const char octets[] = "accept: application/octet-stream\n"
                                 "content-type: application/octet-stream";
    (void)state;
    assert_int_equal(get("/nodes/p%2Fq/n%20m?execution_id.name=a+b&executionId.name=%c3%a4"), 200);
    assert_string_equal(text, ECHO("n m", EXECUTION("p/q", "\xc3\xa4")));
    assert_int_equal(ask("POST", "/nodes", "", both, strlen(both), CURL_HTTP_VERSION_1_1), 200);
    assert_string_equal(text, ECHO("b", EXECUTION("x", "")));
    assert_int_equal(ask("PUT", "/nodes/path", "", both, strlen(both), CURL_HTTP_VERSION_1_1), 200);
    assert_string_equal(text, ECHO("path", EXECUTION("x", "")));
    assert_int_equal(ask("POST", "/nodes", octets, "\x0a\1n", 3, CURL_HTTP_VERSION_1_1), 200);
    assert_int_equal(text_size, 3);
    assert_memory_equal(text, "\x0a\1n", 3);
    assert_int_equal(get("/nodes/p/n?node_id.x=1"), 400);
    assert_string_equal(text, "{\"code\": 3, \"message\": \"node_id.x: 'node_id' has no fields of "
                              "its own\", \"details\": []}");
    assert_int_equal(get("/nodes/p/%ff"), 400);
    assert_int_equal(ask("DELETE", "/nodes/p/n", "", NULL, 0, CURL_HTTP_VERSION_1_1), 405);
    assert_int_equal(get("/nodes"), 405);
    assert_int_equal(call_of("Echo", "", "\0\0\0\0\3\x0a\1n", 8), 0);
    assert_int_equal(text_size, 8);
    assert_memory_equal(text, "\0\0\0\0\3\x0a\1n", 8);
}

static void errors_have_their_code_in_both_forms(void **state)
{
    (void)state;
    assert_int_equal(get("/fail/100%25"), 409);
    assert_string_equal(text, "{\"code\": 6, \"message\": \"100% is there\\n\", \"details\": []}");
    assert_int_equal(call_of("Fail", "",
                             "\0\0\0\0\6\x0a\4"
                             "100%",
                             11),
                     6);
    assert_string_equal(words_said, "100%25 is there%0A");
}

static void others_answer_later(void **state)
{
    (void)state;
    assert_int_equal(get("/late"), 200);
    assert_string_equal(text, ECHO("late", "null"));
    assert_int_equal(pthread_join(helper, NULL), 0);
    assert_int_equal(call_of("Late", "", "\0\0\0\0\0", 5), 0);
    assert_int_equal(pthread_join(helper, NULL), 0);
    assert_memory_equal(text, "\0\0\0\0\6\x0a\4late", 11);
}

static void a_call_ends_with_its_deadline(void **state)
{
    (void)state;
    assert_int_equal(call_of("Never", "\ngrpc-timeout: 20m", "\0\0\0\0\0", 5), 4);
    assert_string_equal(words_said, "the deadline passed");
    (void)sem_wait(&one_has_gone);
    assert_int_equal(atomic_load(&gone), 1);
}

static void many_are_sent_as_they_are_taken(void **state)
{
    (void)state;
    assert_int_equal(call_of("Many", "", "\0\0\0\0\0", 5), 0);
    (void)sem_wait(&one_has_gone);
    assert_int_equal(text_size % MANY, 0);
    assert_memory_equal(text, text + text_size - text_size / MANY, text_size / MANY);
}

static void a_role_is_asked_for(void **state)
{
    (void)state;
    assert_int_equal(open_with(TR_API_ANYBODY), 0);
    assert_int_equal(get("/fail/x"), 409);
    assert_int_equal(get("/closed"), 403);
    assert_string_equal(text, "{\"code\": 7, \"message\": \"you may not call test.Test.Closed\", "
                              "\"details\": []}");
    assert_int_equal(call_of("Closed", "", "\0\0\0\0\0", 5), 7);
    assert_int_equal(end(state), 0);
    assert_int_equal(open_with(TR_API_VIEW), 0);
    assert_int_equal(get("/closed"), 200);
    assert_int_equal(end(state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_are_made_of_paths_queries_and_bodies, begin, end),
        cmocka_unit_test_setup_teardown(errors_have_their_code_in_both_forms, begin, end),
        cmocka_unit_test_setup_teardown(others_answer_later, begin, end),
        cmocka_unit_test_setup_teardown(a_call_ends_with_its_deadline, begin, end),
        cmocka_unit_test_setup_teardown(many_are_sent_as_they_are_taken, begin, end),
        cmocka_unit_test(a_role_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
