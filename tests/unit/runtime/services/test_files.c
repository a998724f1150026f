/*
 * The files service of a real host: every message of schemas/runtime/files.h with its answer, and
 * what cannot be done with its words.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/fetch/fetch_limits.h"
#include "runtime/memory.h"
#include "runtime/troupe.h"
#include "schemas/runtime/files.h"
#include "tests/support/folder.h"
#include "tests/support/http_server.h"
#include "tests/support/test.h"

/* The actor says what the test has put there, and writes down the answer. */
#define WISHES_MAX 4
#define TR_FILES_WISH_FIELDS(FIELD, ARRAY) FIELD(u16, type, 1, 0)
#define TR_FILES_ACTOR_FIELDS(FIELD, ARRAY) FIELD(u64, ask, 1, 0)
#define TR_FILES_TEST_SCHEMAS(S)                                          \
    S(files_wish, 62301, TR_MESSAGE, 1, TR_DURABLE, TR_FILES_WISH_FIELDS) \
    S(files_actor, 62302, TR_STATE, 1, 0, TR_FILES_ACTOR_FIELDS)

TR_FILES_TEST_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_FILES_TEST_SCHEMAS(TR_SCHEMA_DEFINE)

static struct {
    const struct tr_schema *schema;
    const void *body;
} wanted[WISHES_MAX];

static struct {
    uint16_t type;
    struct tr_blob_stored stored;
    char uri[4096];
    uint64_t total;
    char bytes[64];
    size_t size;
    bool is_found;
    int error;
    char message[512];
} seen;

static void keep(char *to, size_t size, struct tr_text text)
{
    snprintf(to, size, "%.*s", (int)text.size, text.data);
}

static void keep_bytes(struct tr_bytes bytes)
{
    seen.size = bytes.size;
    if (bytes.size > 0) {
        memcpy(seen.bytes, bytes.data, bytes.size < sizeof seen.bytes ? bytes.size : 0);
    }
}

static int keep_answer(const struct tr_message *message)
{
    struct tr_blob_bytes bytes;
    struct tr_blob_failed failed;
    struct tr_document document;
    struct tr_ask_failed ask;
    int error = TR_UNKNOWN_TYPE;
    if (message->type == tr_blob_stored_schema.id) {
        error = tr_message_read(message, blob_stored, &seen.stored);
        keep(seen.uri, sizeof seen.uri, seen.stored.uri);
    } else if (message->type == tr_blob_bytes_schema.id) {
        error = tr_message_read(message, blob_bytes, &bytes);
        seen.total = bytes.total;
        keep_bytes(bytes.bytes);
    } else if (message->type == tr_blob_failed_schema.id) {
        error = tr_message_read(message, blob_failed, &failed);
        seen.error = (int)failed.error;
        keep(seen.message, sizeof seen.message, failed.message);
    } else if (message->type == tr_document_schema.id) {
        error = tr_message_read(message, document, &document);
        seen.is_found = document.is_found;
        keep_bytes(document.bytes);
    } else if (message->type == tr_ask_failed_schema.id) {
        error = tr_message_read(message, ask_failed, &ask);
        seen.error = -(int)ask.reason;
    }
    seen.type = message->type;
    return error;
}

static int actor_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_files_actor *actor = state;
    struct tr_files_wish wish;
    int error;
    if (tr_message_is(message, &tr_files_wish_schema)) {
        error = tr_message_read(message, files_wish, &wish);
        return error != 0 ? error
                          : tr_call(context, TR_SERVICE_FILES, wanted[wish.type].schema,
                                    wanted[wish.type].body, 0, &actor->ask);
    }
    error = keep_answer(message);
    return error != 0 ? error : tr_stop(context);
}

/* The program's own answers: it knows the size of blob reads, and no digest. */
static int answer(const struct tr_inquiry *inquiry, char *explain)
{
    struct tr_files_wish wish;
    if (inquiry->type != tr_files_wish_schema.id) {
        return TR_UNKNOWN_TYPE;
    }
    int error = tr_files_wish_unpack(inquiry->body, inquiry->version, &wish);
    if (error != 0) {
        return error;
    }
    if (inquiry->program != &seen || inquiry->store_folder == NULL || wish.type == 0) {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES, "nobody asks for nothing");
        return TR_INVALID;
    }
    struct tr_blob_bytes bytes = {.bytes = {(const uint8_t *)"known", 5}, .total = wish.type};
    return tr_inquiry_answer(inquiry, &tr_blob_bytes_schema, &bytes);
}

/* Slots that no message carries. */
static int read_too_much(const struct tr_exchange_reading *reading, struct tr_bytes *slots,
                         char *code, char *explain_words)
{
    uint8_t *bytes = tr_alloc_zero(1, 2U << 20);
    (void)reading;
    (void)code;
    (void)explain_words;
    *slots = (struct tr_bytes){.data = bytes, .size = 2U << 20};
    return bytes == NULL ? TR_MEMORY : 0;
}

static const struct tr_exchange exchange = {.answer = answer, .read = read_too_much};

static const struct tr_behaviour actor_behaviour = {
    .name = "files", .id = 2301, .state = &tr_files_actor_schema, .handle = actor_handle};

/* An actor that has more downloads than there may be at once, and counts its answers. */
#define CROWD 400
static atomic_uint crowd_answers;
static int crowd_port;

static int crowd_begin(struct tr_context *context)
{
    int error = 0;
    for (int i = 0; i < CROWD && error == 0; i++) {
        char url[128];
        uint64_t ask;
        snprintf(url, sizeof url, "http://127.0.0.1:%d/slow/20?%d", crowd_port, i);
        const struct tr_blob_fetch fetch = {.uri = tr_text_of(url)};
        error = tr_call(context, TR_SERVICE_FILES, &tr_blob_fetch_schema, &fetch, 0, &ask);
    }
    return error;
}

static int crowd_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    (void)state;
    if (tr_message_is(message, &tr_files_wish_schema)) {
        return crowd_begin(context);
    }
    return atomic_fetch_add(&crowd_answers, 1) + 1 < CROWD ? 0 : tr_stop(context);
}

static const struct tr_behaviour crowd_behaviour = {
    .name = "crowd", .id = 2302, .state = &tr_files_actor_schema, .handle = crowd_handle};

struct world {
    char folder[64];
    struct tr_host *host;
};

static int setup(void **state)
{
    static struct world world;
    static const struct tr_behaviour *const behaviours[] = {&actor_behaviour, &crowd_behaviour};
    snprintf(world.folder, sizeof world.folder, "/tmp/troupe-files-XXXXXX");
    assert_non_null(mkdtemp(world.folder));
    struct tr_host_options options = {.worker_count = 1,
                                      .durability = TR_DURABILITY_PROCESS,
                                      .folder = world.folder,
                                      .behaviours = behaviours,
                                      .behaviour_count = TR_COUNT_OF(behaviours),
                                      .has_files = true,
                                      .exchange = &exchange,
                                      .program = &seen};
    assert_int_equal(tr_host_new(&options, NULL, &world.host), 0);
    assert_int_equal(tr_host_start(world.host), 0);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    tr_host_free(world->host);
    (void)folder_remove(world->folder);
    return 0;
}

/* Has an actor say this, and does not wait for the answer; each that does has its own place. */
static struct tr_ref say_only(struct world *world, uint16_t place, const struct tr_schema *schema,
                              const void *body)
{
    struct tr_ref actor;
    wanted[place].schema = schema;
    wanted[place].body = body;
    struct tr_spawn_options options = {.is_watched = true};
    assert_int_equal(tr_host_spawn(world->host, &actor_behaviour, &options, &actor), 0);
    assert_int_equal(tr_host_tell(world->host, actor, &tr_files_wish_schema,
                                  &(struct tr_files_wish){.type = place}),
                     0);
    return actor;
}

/* Has an actor say this, and gives the answer's type. */
static uint16_t say(struct world *world, const struct tr_schema *schema, const void *body)
{
    int reason;
    memset(&seen, 0, sizeof seen);
    struct tr_ref actor = say_only(world, 0, schema, body);
    assert_int_equal(tr_host_wait(world->host, actor, 30000, &reason), 0);
    assert_int_equal(reason, 0);
    return seen.type;
}

static struct tr_bytes bytes_of(const char *text)
{
    return (struct tr_bytes){(const uint8_t *)text, strlen(text)};
}

static void a_value_goes_in_and_comes_out(void **state)
{
    struct world *world = *state;
    char uri[4096];
    struct tr_blob_write first = {.name = tr_text_of("v"), .bytes = bytes_of("one")};
    struct tr_blob_write last = {
        .name = tr_text_of("v"), .offset = 3, .bytes = bytes_of("two"), .is_last = true};
    assert_int_equal(say(world, &tr_blob_write_schema, &first), tr_blob_stored_schema.id);
    assert_string_equal(seen.uri, "");
    assert_int_equal(say(world, &tr_blob_write_schema, &last), tr_blob_stored_schema.id);
    assert_int_equal(seen.stored.size, 6);
    assert_int_equal(seen.stored.digest.size, 32);
    memcpy(uri, seen.uri, sizeof uri);
    assert_memory_equal(uri, "blob:", 5);
    struct tr_blob_read read = {.uri = tr_text_of(uri), .offset = 2, .size = 2};
    assert_int_equal(say(world, &tr_blob_read_schema, &read), tr_blob_bytes_schema.id);
    assert_int_equal(seen.total, 6);
    assert_int_equal(seen.size, 2);
    assert_memory_equal(seen.bytes, "et", 2);
    struct tr_blob_fetch fetch = {.uri = tr_text_of(uri)};
    assert_int_equal(say(world, &tr_blob_fetch_schema, &fetch), tr_blob_stored_schema.id);
    assert_int_equal(strncmp(seen.uri, world->folder, strlen(world->folder)), 0);
    assert_string_equal(strrchr(seen.uri, '/') + 1, uri + 5);
    struct tr_blob_digest digest = {.uri = tr_text_of(uri)};
    assert_int_equal(say(world, &tr_blob_digest_schema, &digest), tr_blob_stored_schema.id);
    assert_int_equal(seen.stored.digest.size, 32);
    struct tr_blob_put put = {.path = tr_text_of(uri)};
    assert_int_equal(say(world, &tr_blob_put_schema, &put), tr_blob_stored_schema.id);
    assert_string_equal(seen.uri, uri);
}

static void a_document_goes_in_and_comes_out(void **state)
{
    struct world *world = *state;
    struct tr_document_get get = {.path = tr_text_of("cache/ab/abcd")};
    struct tr_document_put put = {.path = get.path, .bytes = bytes_of("kept")};
    assert_int_equal(say(world, &tr_document_get_schema, &get), tr_document_schema.id);
    assert_false(seen.is_found);
    assert_int_equal(say(world, &tr_document_put_schema, &put), tr_document_schema.id);
    assert_int_equal(say(world, &tr_document_get_schema, &get), tr_document_schema.id);
    assert_true(seen.is_found);
    assert_memory_equal(seen.bytes, "kept", 4);
}

static void what_fails_has_words(void **state)
{
    struct world *world = *state;
    struct tr_blob_fetch absent = {.uri = tr_text_of("/no/such/file")};
    assert_int_equal(say(world, &tr_blob_fetch_schema, &absent), tr_blob_failed_schema.id);
    assert_int_equal(seen.error, TR_NOT_FOUND);
    assert_non_null(strstr(seen.message, "/no/such/file"));
    struct tr_blob_fetch strange = {.uri = tr_text_of("ftp://host/key")};
    assert_int_equal(say(world, &tr_blob_fetch_schema, &strange), tr_blob_failed_schema.id);
    assert_int_equal(seen.error, TR_INVALID);
    assert_non_null(strstr(seen.message, "ftp://host/key"));
    struct tr_blob_fetch bucket = {.uri = tr_text_of("s3://bucket")};
    assert_int_equal(say(world, &tr_blob_fetch_schema, &bucket), tr_blob_failed_schema.id);
    assert_int_equal(seen.error, TR_INVALID);
    assert_string_equal(seen.message, "it names a bucket but no object");
    struct tr_document_get outside = {.path = tr_text_of("../x")};
    assert_int_equal(say(world, &tr_document_get_schema, &outside), tr_blob_failed_schema.id);
    assert_int_equal(seen.error, TR_INVALID);
    struct tr_values_read large = {.path = tr_text_of("/x")};
    assert_int_equal(say(world, &tr_values_read_schema, &large), tr_ask_failed_schema.id);
    assert_int_equal(seen.error, TR_LIMIT);
    struct tr_blob_failed nonsense = {.message = tr_text_of("an answer, not a question")};
    assert_int_equal(say(world, &tr_blob_failed_schema, &nonsense), tr_ask_failed_schema.id);
    assert_int_equal(seen.error, TR_UNKNOWN_TYPE);
}

/* Whether something is being written into the blob store. */
static bool is_writing(const struct world *world)
{
    char path[128];
    bool is_there = false;
    const struct dirent *entry;
    snprintf(path, sizeof path, "%s/blobs/.new", world->folder);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        is_there = is_there || entry->d_name[0] != '.';
    }
    closedir(folder);
    return is_there;
}

/* Makes a file that takes seconds to be digested, and no place. */
static void make_large(const struct world *world, const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", world->folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 256 << 20), 0);
    close(fd);
}

static void long_work_lets_others_go_first(void **state)
{
    struct world *world = *state;
    char large[128];
    int reason;
    make_large(world, "large", large);
    struct tr_blob_put put = {.path = tr_text_of(large)};
    struct tr_ref first = say_only(world, 1, &tr_blob_put_schema, &put);
    while (!is_writing(world)) {
        (void)sched_yield();
    }
    struct tr_blob_write write = {
        .name = tr_text_of("v"), .bytes = bytes_of("small"), .is_last = true};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(say(world, &tr_blob_write_schema, &write), tr_blob_stored_schema.id);
        assert_int_equal(seen.stored.size, 5);
    }
    assert_true(is_writing(world));
    assert_int_equal(tr_host_wait(world->host, first, 120000, &reason), 0);
    assert_int_equal(seen.stored.size, 256 << 20);
}

/* Of several that have begun each is given up, and none waits for another's end. */
static void long_work_ends_with_the_host(void **state)
{
    struct world *world = *state;
    char large[128];
    make_large(world, "large", large);
    struct tr_blob_put put = {.path = tr_text_of(large)};
    for (uint16_t place = 1; place < WISHES_MAX; place++) {
        (void)say_only(world, place, &tr_blob_put_schema, &put);
    }
    struct tr_document_get get = {.path = tr_text_of("none")};
    while (!is_writing(world)) {
        (void)sched_yield();
    }
    assert_int_equal(say(world, &tr_document_get_schema, &get), tr_document_schema.id);
    tr_host_stop(world->host);
    assert_false(is_writing(world)); /* who gives up takes away what was written */
}

/* Has a path of the server fetched, and gives the answer's type. */
static uint16_t fetch_from(struct world *world, int port, const char *path)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", port, path);
    return say(world, &tr_blob_fetch_schema, &(struct tr_blob_fetch){.uri = tr_text_of(url)});
}

static void what_the_web_has_is_fetched(void **state)
{
    struct world *world = *state;
    struct http_server server;
    assert_int_equal(unsetenv("http_proxy"), 0);
    http_server_start(&server, NULL, NULL);
    assert_int_equal(fetch_from(world, server.port, "/chunks/3000000#part"),
                     tr_blob_stored_schema.id);
    assert_int_equal(seen.stored.size, 3000000);
    assert_non_null(strstr(seen.uri, "/blobs/"));
    assert_string_equal(strrchr(seen.uri, '-'), "-3000000");
    assert_int_equal(access(seen.uri, R_OK), 0);
    assert_int_equal(fetch_from(world, server.port, "/status/404"), tr_blob_failed_schema.id);
    assert_int_equal(seen.error, TR_NOT_FOUND);
    assert_non_null(strstr(seen.message, "404"));
    assert_int_equal(fetch_from(world, server.port, "/broken"), tr_blob_failed_schema.id);
    assert_int_equal(seen.error, TR_NO_CONNECTION);
    http_server_stop(&server);
    assert_int_equal(fetch_from(world, 1, "/"), tr_blob_failed_schema.id);
    assert_int_equal(seen.error, TR_NO_CONNECTION);
}

/* One download of an execution does not wait for hundreds of another one. */
static void downloads_take_turns(void **state)
{
    struct world *world = *state;
    struct http_server server;
    struct tr_ref crowd;
    int reason;
    assert_int_equal(unsetenv("http_proxy"), 0);
    http_server_start(&server, NULL, NULL);
    crowd_port = server.port;
    atomic_store(&crowd_answers, 0);
    const struct tr_spawn_options options = {.is_watched = true};
    assert_int_equal(tr_host_spawn(world->host, &crowd_behaviour, &options, &crowd), 0);
    assert_int_equal(
        tr_host_tell(world->host, crowd, &tr_files_wish_schema, &(struct tr_files_wish){.type = 0}),
        0);
    while (atomic_load(&crowd_answers) == 0) {
        (void)sched_yield();
    }
    assert_int_equal(fetch_from(world, server.port, "/bytes/5"), tr_blob_stored_schema.id);
    assert_true(atomic_load(&crowd_answers) < CROWD - 2 * TR_FETCHES_AT_ONCE);
    assert_int_equal(tr_host_wait(world->host, crowd, 60000, &reason), 0);
    assert_int_equal(atomic_load(&crowd_answers), CROWD);
    http_server_stop(&server);
}

static void what_no_call_of_its_own_is_the_program_answers(void **state)
{
    struct world *world = *state;
    assert_int_equal(say(world, &tr_files_wish_schema, &(struct tr_files_wish){.type = 7}),
                     tr_blob_bytes_schema.id);
    assert_int_equal(seen.total, 7);
    assert_int_equal(say(world, &tr_files_wish_schema, &(struct tr_files_wish){.type = 0}),
                     tr_blob_failed_schema.id);
    assert_int_equal(seen.error, TR_INVALID);
    assert_string_equal(seen.message, "nobody asks for nothing");
    assert_int_equal(say(world, &tr_blob_stored_schema, &(struct tr_blob_stored){.size = 1}),
                     tr_ask_failed_schema.id);
    assert_int_equal(seen.error, TR_UNKNOWN_TYPE);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_value_goes_in_and_comes_out, setup, teardown),
        cmocka_unit_test_setup_teardown(a_document_goes_in_and_comes_out, setup, teardown),
        cmocka_unit_test_setup_teardown(what_fails_has_words, setup, teardown),
        cmocka_unit_test_setup_teardown(long_work_lets_others_go_first, setup, teardown),
        cmocka_unit_test_setup_teardown(long_work_ends_with_the_host, setup, teardown),
        cmocka_unit_test_setup_teardown(what_no_call_of_its_own_is_the_program_answers, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_the_web_has_is_fetched, setup, teardown),
        cmocka_unit_test_setup_teardown(downloads_take_turns, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
