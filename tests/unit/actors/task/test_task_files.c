/*
 * Files and large values of a task: fetched, kept, passed on, offloaded; with a service that
 * fails, and a crash at every turn.
 */
#include <stdio.h>

#include "actors/graph/value/slot.h"
#include "schemas/engine/state_service.h"
#include "schemas/runtime/files.h"
#include "tests/unit/actors/task_stand.h"

static const char flow[] =
    "troupe: 1\n"
    "tasks:\n"
    "  doll: {type: fake, inputs: {in: file, more: [file]}, outputs: {out: file, all: [file]},\n"
    "         retries: 1}\n"
    "  far: {type: stranger, inputs: {in: file}, outputs: {out: file, all: [file]}}\n"
    "  other: {type: fake, inputs: {in: file}, outputs: {out: file, as: directory}}\n"
    "  data: {type: fake, inputs: {in: file}, outputs: {d: [dataset], s: struct}}\n"
    "  free: {type: fake, inputs: {in: file, s: struct, d: dataset},\n"
    "         outputs: {out: file, s: struct}}\n"
    "  late: {type: fake, inputs: {in: file}, timeout: 1s}\n"
    "  large: {type: fake, inputs: {a: int}, outputs: {small: string, text: string}}\n"
    "  ten: {type: fake, inputs: {a: int}, outputs: {a: string, b: string, c: string,\n"
    "        d: string, e: string, f: string, g: string, h: string, i: string, j: string}}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {in: file, more: [file], a: int, s: struct, d: dataset}\n"
    "    nodes:\n"
    "      doll: {task: doll, with: {in: $in, more: $more}}\n"
    "      far: {task: far, with: {in: $in}}\n"
    "      other: {task: other, with: {in: $in}}\n"
    "      late: {task: late, with: {in: $in}}\n"
    "      free: {task: free, with: {in: $in, s: $s, d: $d}}\n"
    "      data: {task: data, with: {in: $in}}\n"
    "      large: {task: large, with: {a: $a}}\n"
    "      ten: {task: ten, with: {a: $a}}\n";

/* What the service was asked, a letter each, and which of them it refuses. */
static char asked[1024];
static const char *refused;
static int refused_error;
static size_t written;
static size_t many_bytes;

static void note(const char *what, struct tr_text name)
{
    size_t used = strlen(asked);
    (void)snprintf(asked + used, sizeof asked - used, "%s(%.*s) ", what, TRI_TEXT(name));
}

/* Every file becomes a blob of its name; every address a file below /fetched. */
static void store(const struct outside_message *message, const char *front, struct tr_text path)
{
    char uri[256];
    const char *slash = memrchr(path.data, '/', path.size);
    size_t before = slash == NULL ? 0 : (size_t)(slash - path.data) + 1;
    (void)snprintf(uri, sizeof uri, "%s%.*s", front, (int)(path.size - before), path.data + before);
    if (refused != NULL && strstr(uri, refused) != NULL) {
        stand_answer(message, &tr_blob_failed_schema,
                     &(struct tr_blob_failed){.error = refused_error,
                                              .message = tr_text_of("it is not there")});
        return;
    }
    stand_answer(message, &tr_blob_stored_schema, &(struct tr_blob_stored){.uri = tr_text_of(uri)});
}

static void serve(const struct outside_message *message)
{
    struct tr_blob_put put;
    struct tr_blob_fetch fetch;
    struct tr_blob_write write;
    if (message->type == tr_blob_put_schema.id) {
        assert_int_equal(tr_blob_put_unpack(message->body, message->version, &put), 0);
        note("put", put.path);
        store(message, "/store/blobs/", put.path);
    } else if (message->type == tr_blob_fetch_schema.id) {
        assert_int_equal(tr_blob_fetch_unpack(message->body, message->version, &fetch), 0);
        note("fetch", fetch.uri);
        store(message, "/fetched/", fetch.uri);
    } else if (message->type == tr_blob_write_schema.id) {
        assert_int_equal(tr_blob_write_unpack(message->body, message->version, &write), 0);
        written = write.offset + write.bytes.size;
        store(message, "/store/blobs/", tr_text_of("large"));
    } else {
        fail_msg("an unexpected message, %u", message->type);
    }
}

static void serve_fetches(const struct outside_message *message)
{
    if (message->type == tr_blob_fetch_schema.id) {
        serve(message);
    }
}

/* Gives a file of its own, and passes its input on; sees its inputs. */
static char seen[512];
static char kinds[16]; /* of what was put, a letter each */
static const char *gives;

static int give_files(struct tr_task_context *task, struct tr_fake_actor_state *state,
                      const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_text json;
    struct tr_text problem;
    (void)event;
    state->events++;
    int error = tr_task_inputs_json(task, &json);
    (void)snprintf(seen, sizeof seen, "%.*s", TRI_TEXT(json));
    if (error == 0) {
        error = tr_task_outputs_json(task, tr_text_of(gives), tr_text_of("/made"), &problem);
    }
    return error != 0 && error != TR_INVALID ? error : tr_task_succeed(transition);
}

static const struct stand_start start_doll = {
    .node = "doll", .inputs = "{\"in\": \"/given/a\", \"more\": [\"http://h/x\", \"/given/b\"]}"};

static void begin(void)
{
    stand_begin(flow, true);
    stand.handle = give_files;
    gives = "{\"out\": \"result.txt\", \"all\": [\"/given/a\", \"b\", \"s3://x/y\"]}";
    asked[0] = '\0';
    kinds[0] = '\0';
    refused = NULL;
}

static void test_inputs_are_fetched_and_outputs_kept(void **state)
{
    (void)state;
    begin();
    stand_start(&start_doll);
    stand_run(serve);
    assert_string_equal(asked, "fetch(http://h/x) put(/made/result.txt) put(/made/b) ");
    assert_string_equal(seen, "{\"in\": \"/given/a\", \"more\": [\"/fetched/x\", \"/given/b\"]}");
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(stand_outputs(), "[\"/store/blobs/result.txt\", [\"/given/a\", "
                                         "\"/store/blobs/b\", \"s3://x/y\"]]");
    assert_int_equal(stand.finalized, 1);
    assert_int_equal(stand.finalized_phase, TR_TASK_PHASE_SUCCESS);
    stand_end();
}

static void test_a_file_that_is_missing_is_a_failure_of_the_task(void **state)
{
    (void)state;
    begin();
    refused = "b";
    refused_error = TR_NOT_FOUND;
    stand_start(&start_doll);
    stand_run(serve);
    stage_advance(&stand.stage, 2);
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_FAILED);
    assert_int_equal(stand.ended.failure, TR_FAILURE_USER);
    assert_true(tr_text_equal(stand.ended.code, tr_text_of("RetriesExhausted|OutputsNotFound")));
    stand_end();
}

/* Of work that is done elsewhere: its folder goes along, and only whole blobs are known as such. */

static const struct stand_start start_far = {.node = "far", .inputs = "{\"in\": \"/given/a\"}"};
static const char *shares; /* the folder; NULL: none */
static struct tr_fence fence;
static char fence_folder[64];

static int give_from_afar(struct tr_task_context *task, struct tr_fake_actor_state *state,
                          const struct tr_task_event *event, struct tr_transition *transition)
{
    int error = shares == NULL ? 0 : tr_task_shared_folder(task, tr_text_of(shares), 6);
    return error != 0 ? error : give_files(task, state, event, transition);
}

static void serve_afar(const struct outside_message *message)
{
    struct tr_blob_put put;
    if (message->type == tr_blob_put_schema.id) {
        assert_int_equal(tr_blob_put_unpack(message->body, message->version, &put), 0);
        (void)snprintf(fence_folder, sizeof fence_folder, "%.*s", TRI_TEXT(put.folder));
        (void)snprintf(kinds + strlen(kinds), sizeof kinds - strlen(kinds), "%c", "afd"[put.kind]);
        fence = (struct tr_fence){tr_text_of(fence_folder), put.trusted_bytes};
    }
    serve(message);
}

static void begin_afar(const char *folder, const char *outputs)
{
    begin();
    stand.handle = give_from_afar;
    shares = folder;
    gives = outputs;
    fence = (struct tr_fence){.trusted_bytes = 0};
    stand_start(&start_far);
}

static void test_files_from_afar_are_kept_within_a_fence(void **state)
{
    (void)state;
    begin_afar("/share/set/a",
               "{\"out\": \"/share/set/a/x\", \"all\": [\"/given/a\", \"/store/blobs/11\", "
               "\"/store/blobs/../x\", \"/store/blobs/1/x\"]}");
    stand_run(serve_afar);
    assert_string_equal(asked, "put(/share/set/a/x) put(/store/blobs/11) put(/store/blobs/../x) "
                               "put(/store/blobs/1/x) ");
    assert_true(tr_text_equal(fence.folder, tr_text_of("/share/set/a")));
    assert_int_equal(fence.trusted_bytes, 6);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

static void test_files_of_this_machine_have_no_fence(void **state)
{
    (void)state;
    begin();
    gives = "{\"out\": \"/etc/passwd\", \"all\": []}";
    fence = (struct tr_fence){.trusted_bytes = 0};
    stand_start(&start_doll);
    stand_run(serve_afar);
    assert_string_equal(asked, "fetch(http://h/x) put(/etc/passwd) ");
    assert_int_equal(fence.folder.size, 0);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

static void expect_failure(const char *wanted, const char *words)
{
    struct tr_text code = stand.ended.code;
    struct tr_text message = stand.ended.message;
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_FAILED);
    assert_int_equal(stand.ended.failure, TR_FAILURE_USER);
    assert_non_null(memmem(code.data, code.size, wanted, strlen(wanted)));
    assert_non_null(memmem(message.data, message.size, words, strlen(words)));
    stand_end();
}

static void test_a_file_outside_of_the_fence_is_a_failure_of_the_task(void **state)
{
    (void)state;
    begin_afar("/share/set/a", "{\"out\": \"/share/set/a/x\", \"all\": [\"file:///etc/passwd\"]}");
    refused = "passwd";
    refused_error = TR_OUTSIDE;
    stand_run(serve_afar);
    expect_failure("OutputNotAllowed",
                   "the output 'all' names 'file:///etc/passwd': it is not there");
}

static void test_without_a_folder_no_file_comes_from_afar(void **state)
{
    (void)state;
    begin_afar(NULL, "{\"out\": \"/etc/passwd\", \"all\": []}");
    stand_run(serve_afar);
    assert_string_equal(asked, "");
    expect_failure("OutputNotAllowed",
                   "the output 'out' names '/etc/passwd': the engine sees no folder of where "
                   "this was done; put the file where others find it, and give its URI");
}

static void test_a_blob_from_afar_needs_no_folder(void **state)
{
    (void)state;
    begin_afar(NULL, "{\"out\": \"/store/blobs/11\", \"all\": []}");
    stand_run(serve_afar);
    assert_string_equal(asked, "put(/store/blobs/11) ");
    assert_true(tr_text_equal(fence.folder, tr_text_of("/store/blobs/11")));
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

/* What was given as a file is looked at where it goes on as a folder. */
static void test_the_service_is_told_what_has_to_be_there(void **state)
{
    (void)state;
    begin();
    gives = "{\"out\": \"result.txt\", \"as\": \"/given/a\"}";
    refused = "blobs/a";
    refused_error = TR_MISMATCH;
    stand_start(&(struct stand_start){.node = "other", .inputs = "{\"in\": \"/given/a\"}"});
    stand_run(serve_afar);
    assert_string_equal(asked, "put(/made/result.txt) put(/given/a) ");
    assert_string_equal(kinds, "fd");
    expect_failure("MismatchingTypes", "the output 'as' names '/given/a': it is not there");
}

/* Names what lies in its folder, and what does not. */
static int give_own(struct tr_task_context *task, struct tr_fake_actor_state *state,
                    const struct tr_task_event *event, struct tr_transition *transition)
{
    static char json[1024];
    struct tr_text name = tr_task_generated_name(task);
    (void)snprintf(json, sizeof json,
                   "{\"d\": [{\"uri\": \"file:///a/%.*s/t\", \"format\": \"csv\"}, "
                   "\"/a/%.*s\", \"/other/t\", \"s3://x/%.*s/t\"], "
                   "\"s\": {\"x\": [\"/a/%.*s/work/s\", 1], \"y\": \"/a/%.*s/work\", "
                   "\"z\": \"/a/%.*s/work/gone\", \"/a/%.*s/work/key\": null}}",
                   TRI_TEXT(name), TRI_TEXT(name), TRI_TEXT(name), TRI_TEXT(name), TRI_TEXT(name),
                   TRI_TEXT(name), TRI_TEXT(name));
    gives = json;
    return give_files(task, state, event, transition);
}

static void test_what_lies_in_its_own_folder_is_kept(void **state)
{
    (void)state;
    begin();
    stand.handle = give_own;
    refused = "gone";
    refused_error = TR_NOT_FOUND;
    stand_start(&(struct stand_start){.node = "data", .inputs = "{\"in\": \"/given/a\"}"});
    stand_run(serve_afar);
    assert_string_equal(kinds, "aaa");
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_non_null(strstr(stand_outputs(), "[[[\"/store/blobs/t\", \"csv\"], \"/a/"));
    assert_non_null(strstr(stand_outputs(), "\"/other/t\", \"s3://x/"));
    assert_non_null(strstr(stand_outputs(), "\"x\": [\"/store/blobs/s\", 1], \"y\": \"/a/"));
    assert_non_null(strstr(stand_outputs(), "/work\", \"z\": \"/a/"));
    stand_end();
}

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Wherever a blob stands, programs get its path; what they give back is a blob again. */
static void test_blobs_are_paths_for_programs_alone(void **state)
{
    (void)state;
    begin();
    gives = "{\"out\": \"/old/blobs/" DIGEST "-b\", \"s\": {\"f\": [\"/fetched/x\", "
            "\"/store/blobs/" DIGEST "-c\", \"blob:" DIGEST "-d\"]}}";
    stand_start(&(struct stand_start){
        .node = "free",
        .inputs = "{\"in\": \"/old/blobs/" DIGEST "-b\", \"s\": {\"f\": [\"blob:" DIGEST
                  "-c\", \"s3://x/y\"]}, \"d\": \"blob:" DIGEST "-d\"}"});
    stand_run(serve);
    assert_string_equal(asked,
                        "fetch(/old/blobs/" DIGEST "-b) fetch(blob:" DIGEST "-c) fetch(blob:" DIGEST
                        "-d) put(/old/blobs/" DIGEST "-b) put(/store/blobs/" DIGEST "-c) ");
    assert_non_null(strstr(seen, "\"in\": \"/fetched/" DIGEST "-b\""));
    assert_non_null(strstr(seen, "{\"f\": [\"/fetched/blob:" DIGEST "-c\", \"s3://x/y\"]}"));
    assert_non_null(strstr(seen, "\"/fetched/blob:" DIGEST "-d\""));
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

static void test_a_blob_that_is_missing_fails_its_task(void **state)
{
    (void)state;
    begin();
    refused = DIGEST;
    refused_error = TR_NOT_FOUND;
    stand_start(&(struct stand_start){.node = "free",
                                      .inputs = "{\"in\": \"/a\", \"s\": {\"f\": \"blob:" DIGEST
                                                "\"}, \"d\": \"/d\"}"});
    stand_run(serve);
    expect_failure("InputsNotFoundError", "the input 'blob:" DIGEST "': it is not there");
}

/* ---- Time. ---------------------------------------------------------------------------------- */

static uint64_t work_ms;

/* Asks the files service, then works, then asks it again. */
static int ask_files(struct tr_task_context *task, struct tr_fake_actor_state *state,
                     const struct tr_task_event *event, struct tr_transition *transition)
{
    const struct tr_blob_make make = {.name_hint = tr_text_of("inputs")};
    state->events++;
    if (state->events == 4) {
        return tr_task_succeed(transition);
    }
    int error = state->events == 2
                    ? tr_task_timer(task, 1, work_ms)
                    : tr_task_call(task, TR_SERVICE_FILES, &tr_blob_make_schema, &make, 0, NULL);
    (void)event;
    return error != 0 ? error : tr_task_is(transition, TR_TASK_PHASE_RUNNING, tr_text_of(""));
}

static void answer_last(void)
{
    (void)stand_look_outside();
    stand_answer(stand_outside_last(&tr_blob_make_schema), &tr_blob_stored_schema,
                 &(struct tr_blob_stored){.uri = tr_text_of("/store/blobs/1")});
    stage_run(&stand.stage);
}

/* The engine's own waiting is no part of the task's time. */
static void test_waiting_for_files_takes_no_time_of_the_task(void **state)
{
    (void)state;
    begin();
    stand.handle = ask_files;
    work_ms = 900;
    stand_start(&(struct stand_start){.node = "late", .inputs = "{\"in\": \"/given/a\"}"});
    stage_advance(&stand.stage, 60000);
    answer_last();
    stage_advance(&stand.stage, 901);
    assert_int_equal(stand_outside_times(&tr_blob_make_schema), stand_look_outside());
    stage_advance(&stand.stage, 60000);
    answer_last();
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

/* Nor is what its inputs take that lie elsewhere. */
static void test_fetching_takes_no_time_of_the_task(void **state)
{
    (void)state;
    begin();
    stand.handle = ask_files;
    work_ms = 900;
    stand_start(&(struct stand_start){.node = "late", .inputs = "{\"in\": \"s3://b/x\"}"});
    stage_advance(&stand.stage, 60000);
    assert_int_equal(stand_state()->step, TR_STEP_FETCH);
    stand_run(serve_fetches);
    answer_last();
    stage_advance(&stand.stage, 901);
    answer_last();
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

static void test_work_between_takes_time_of_the_task(void **state)
{
    (void)state;
    begin();
    stand.handle = ask_files;
    work_ms = 1100;
    stand_start(&(struct stand_start){.node = "late", .inputs = "{\"in\": \"/given/a\"}"});
    stage_advance(&stand.stage, 60000);
    answer_last();
    stage_advance(&stand.stage, 1101);
    expect_failure("TimeoutExpired", "task execution timeout [1s] expired");
}

static void test_an_input_that_cannot_be_had_names_itself(void **state)
{
    (void)state;
    begin();
    refused = "/fetched/x";
    refused_error = TR_SYSTEM;
    stand_start(&start_doll);
    for (int i = 0; i < 10; i++) {
        stand_run(serve);
        stage_advance(&stand.stage, SYSTEM_RETRY_MS);
    }
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_FAILED);
    assert_int_equal(stand.ended.attempts, 4);
    assert_true(tr_text_equal(stand.ended.code, tr_text_of("RetriesExhausted|StorageError")));
    assert_true(tr_text_equal(stand.ended.flyte_message,
                              tr_text_of("[3/3] currentAttempt done. Last Error: SYSTEM::the "
                                         "input 'http://h/x': it is not there")));
    stand_end();
}

/* A full disk ends nothing: the same is asked for again, with no attempt lost. */
static void test_a_shortage_is_waited_out(void **state)
{
    (void)state;
    static const char *const paths[] = {"/fetched/x", "/store/blobs/result.txt"};
    for (size_t i = 0; i < TR_COUNT_OF(paths); i++) {
        begin();
        refused = paths[i];
        refused_error = i == 0 ? TR_BUSY : TR_STORE_FULL;
        stand_start(&start_doll);
        for (int turn = 0; turn < 5; turn++) {
            stand_run(serve);
            stage_advance(&stand.stage, 1000);
        }
        assert_int_equal(stand_ends(), 0);
        refused = NULL;
        stand_run(serve);
        stage_advance(&stand.stage, 1000);
        stand_run(serve);
        assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
        assert_int_equal(stand.ended.attempts, 1);
        stand_end();
    }
}

static void test_it_ends_the_same_wherever_the_engine_dies(void **state)
{
    (void)state;
    bool goes_on = true;
    for (uint32_t turns = 1; goes_on; turns++) {
        begin();
        goes_on = stand_run_with_crash(&start_doll, serve, turns, 10);
        assert_int_equal(stand_ends(), 1);
        assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
        assert_string_equal(stand_outputs(), "[\"/store/blobs/result.txt\", [\"/given/a\", "
                                             "\"/store/blobs/b\", \"s3://x/y\"]]");
        stand_end();
        assert_true(turns < 1000);
    }
}

/* Nobody is there to answer: after some tries it is an error, and not for ever. */
static void test_without_a_service_it_fails(void **state)
{
    (void)state;
    begin();
    stand.stage.host.shared.services &= ~(1U << TR_SERVICE_FILES);
    stand_start(&start_doll);
    for (int i = 0; i < 10; i++) {
        stage_advance(&stand.stage, SYSTEM_RETRY_MS);
    }
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_FAILED);
    assert_true(tr_text_equal(stand.ended.code, tr_text_of("RetriesExhausted|StorageError")));
    stand_end();
}

static void ignore(const struct outside_message *message)
{
    (void)message;
}

/* A store that is away is asked again for about two minutes, at waits that double; then that is a
 * failure of the system, which begins anew. */
static void test_a_store_that_is_away_is_asked_again(void **state)
{
    (void)state;
    begin();
    refused = "x";
    refused_error = TR_NO_CONNECTION;
    stand_start(&start_doll);
    uint64_t waited_ms = 0;
    uint32_t asked_times = 1;
    for (stand_run(serve); stand_state()->step == TR_STEP_FETCH; stand_run(serve)) {
        asked_times++;
        while (stand_state()->call == 0) {
            stage_advance(&stand.stage, 100);
            waited_ms += 100;
            assert_true(waited_ms < 200000);
        }
    }
    assert_int_equal(stand_state()->step, TR_STEP_BACKOFF);
    assert_int_equal(asked_times, 8);
    assert_in_range(waited_ms, 50000, 130000);
    refused = NULL;
    stage_advance(&stand.stage, SYSTEM_RETRY_MS);
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

/* What cannot be had is the user's or the system's, and for good or not, by the service's word. */
static void test_each_failure_of_a_fetch(void **state)
{
    (void)state;
    static const struct {
        int error;
        uint8_t failure;
        const char *code;
    } cases[] = {
        {TR_NOT_FOUND, TR_FAILURE_USER, "RetriesExhausted|InputsNotFoundError"},
        {TR_INVALID, TR_FAILURE_USER, "RetriesExhausted|InputsNotFoundError"},
        {TR_MISMATCH, TR_FAILURE_USER, "MismatchingTypes"},
        {TR_LIMIT, TR_FAILURE_USER, "InputSizeExceeded"},
        {TR_DENIED, TR_FAILURE_SYSTEM, "StorageDenied"},
        {TR_SYSTEM, TR_FAILURE_SYSTEM, "RetriesExhausted|StorageError"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        begin();
        refused = "x";
        refused_error = cases[i].error;
        stand_start(&start_doll);
        stand_run(serve);
        for (int k = 0; k < 10 && stand.ended.phase == 0; k++) {
            stage_advance(&stand.stage, SYSTEM_RETRY_MS);
            stand_run(serve);
        }
        assert_int_equal(stand.ended.phase, TR_NODE_PHASE_FAILED);
        assert_int_equal(stand.ended.failure, cases[i].failure);
        assert_true(tr_text_equal(stand.ended.code, tr_text_of(cases[i].code)));
        assert_non_null(memmem(stand.ended.message.data, stand.ended.message.size,
                               "the input 'http://h/x': it is not there", 39));
        stand_end();
    }
}

/* The service is silent: an abort does not wait for it, and what the plugin began is cleaned up. */
static void test_an_abort_waits_for_no_file(void **state)
{
    (void)state;
    static const struct {
        stand_service *serve;
        uint8_t step;
        uint32_t finalized;
    } cases[] = {{ignore, TR_STEP_FETCH, 0}, {serve_fetches, TR_STEP_KEEP, 1}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        begin();
        stand_begin_resources(1);
        stand_start(&start_doll);
        stand_run(cases[i].serve);
        assert_int_equal(stand_state()->step, cases[i].step);
        stand_crash();
        stand_run(cases[i].serve);
        assert_int_equal(stand_state()->step, cases[i].step);
        stand_abort(TR_NODE_PHASE_ABORTED, false);
        assert_int_equal(stand.ended.phase, TR_NODE_PHASE_ABORTED);
        assert_int_equal(stand.finalized, cases[i].finalized);
        assert_int_equal(stage_actor_count(&stand.stage), stand.bystanders);
        const struct tr_resources_state *resources =
            tri_actor_state(stage_actor(&stand.stage, stand.engine->resources));
        assert_int_equal(resources->held, 0);
        stand_end();
    }
}

/* Ten of 100 KiB: each is small enough, and all together are not. */
static int give_many(struct tr_task_context *task, struct tr_fake_actor_state *state,
                     const struct tr_task_event *event, struct tr_transition *transition)
{
    (void)state;
    (void)event;
    size_t each = many_bytes;
    char *text = tr_task_scratch(task, each);
    void *bytes = tr_task_scratch(task, 12 * each);
    if (text == NULL || bytes == NULL) {
        return TR_MEMORY;
    }
    memset(text, 'x', each);
    struct tr_writer writer = tr_writer_of(bytes, 12 * each);
    tr_write_array(&writer, 10);
    for (int i = 0; i < 10; i++) {
        tr_write_text(&writer, (struct tr_text){.data = text, .size = each});
    }
    int error =
        tr_task_outputs(task, (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)});
    return error != 0 && error != TR_INVALID ? error : tr_task_succeed(transition);
}

static void test_outputs_that_are_too_many_go_too(void **state)
{
    (void)state;
    begin();
    stand.handle = give_many;
    many_bytes = 100U << 10;
    stand_start(&(struct stand_start){.node = "ten", .inputs = "{\"a\": 1}"});
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_true(stand.ended.outputs.size < TR_TASK_INLINE_BYTES_MAX);
    assert_in_range(stand_outside_times(&tr_blob_write_schema), 3, 10);
    stand_end();
    begin();
    stand.handle = give_many;
    many_bytes = 200U << 10;
    stand_start(&(struct stand_start){.node = "ten", .inputs = "{\"a\": 1}"});
    stand_run(serve);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_FAILED);
    assert_true(tr_text_equal(stand.ended.code, tr_text_of("RetriesExhausted|OutputSizeExceeded")));
    stand_end();
}

#define LARGE (TR_INLINE_BYTES_MAX * 2 + 100)

static int give_large(struct tr_task_context *task, struct tr_fake_actor_state *state,
                      const struct tr_task_event *event, struct tr_transition *transition)
{
    (void)state;
    (void)event;
    size_t size = LARGE + 64;
    char *text = tr_task_scratch(task, LARGE);
    void *bytes = tr_task_scratch(task, size);
    if (text == NULL || bytes == NULL) {
        return TR_MEMORY;
    }
    memset(text, 'x', LARGE);
    struct tr_writer writer = tr_writer_of(bytes, size);
    tr_write_array(&writer, 2);
    tr_write_text(&writer, tr_text_of("s"));
    tr_write_text(&writer, (struct tr_text){.data = text, .size = LARGE});
    int error =
        tr_task_outputs(task, (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)});
    return error != 0 ? error : tr_task_succeed(transition);
}

static void assert_large_outputs(void)
{
    struct tr_bytes slot;
    struct tr_offloaded where;
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(tr_slots_get(stand.ended.outputs, 0, &slot), 0);
    assert_int_equal(slot.size, 2);
    assert_int_equal(tr_slots_get(stand.ended.outputs, 1, &slot), 0);
    assert_true(tr_slot_is_offloaded(slot, &where));
    assert_true(tr_text_equal(where.uri, tr_text_of("/store/blobs/large")));
    assert_int_equal(where.size_bytes, LARGE + 5);
}

static void test_large_outputs_go_into_the_blob_store(void **state)
{
    (void)state;
    begin();
    stand.handle = give_large;
    stand_start(&(struct stand_start){.node = "large", .inputs = "{\"a\": 1}"});
    stand_run(serve);
    assert_large_outputs();
    assert_int_equal(written, LARGE + 5);
    assert_int_equal(stand_outside_times(&tr_blob_write_schema), 3);
    stand_end();
}

static void test_large_outputs_are_the_same_wherever_the_engine_dies(void **state)
{
    (void)state;
    static const struct stand_start start = {.node = "large", .inputs = "{\"a\": 1}"};
    bool goes_on = true;
    for (uint32_t turns = 1; goes_on; turns++) {
        begin();
        stand.handle = give_large;
        goes_on = stand_run_with_crash(&start, serve, turns, 10);
        assert_int_equal(stand_ends(), 1);
        assert_large_outputs();
        stand_end();
        assert_true(turns < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inputs_are_fetched_and_outputs_kept),
        cmocka_unit_test(test_a_file_that_is_missing_is_a_failure_of_the_task),
        cmocka_unit_test(test_files_from_afar_are_kept_within_a_fence),
        cmocka_unit_test(test_files_of_this_machine_have_no_fence),
        cmocka_unit_test(test_a_file_outside_of_the_fence_is_a_failure_of_the_task),
        cmocka_unit_test(test_without_a_folder_no_file_comes_from_afar),
        cmocka_unit_test(test_waiting_for_files_takes_no_time_of_the_task),
        cmocka_unit_test(test_fetching_takes_no_time_of_the_task),
        cmocka_unit_test(test_work_between_takes_time_of_the_task),
        cmocka_unit_test(test_a_blob_from_afar_needs_no_folder),
        cmocka_unit_test(test_what_lies_in_its_own_folder_is_kept),
        cmocka_unit_test(test_the_service_is_told_what_has_to_be_there),
        cmocka_unit_test(test_an_input_that_cannot_be_had_names_itself),
        cmocka_unit_test(test_a_shortage_is_waited_out),
        cmocka_unit_test(test_it_ends_the_same_wherever_the_engine_dies),
        cmocka_unit_test(test_without_a_service_it_fails),
        cmocka_unit_test(test_a_store_that_is_away_is_asked_again),
        cmocka_unit_test(test_each_failure_of_a_fetch),
        cmocka_unit_test(test_blobs_are_paths_for_programs_alone),
        cmocka_unit_test(test_a_blob_that_is_missing_fails_its_task),
        cmocka_unit_test(test_an_abort_waits_for_no_file),
        cmocka_unit_test(test_outputs_that_are_too_many_go_too),
        cmocka_unit_test(test_large_outputs_go_into_the_blob_store),
        cmocka_unit_test(test_large_outputs_are_the_same_wherever_the_engine_dies),
    };
    return cmocka_run_group_tests_name("task files", tests, NULL, NULL);
}
