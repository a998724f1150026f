/*
 * The process plugin's way through an attempt: which call follows which event, what is asked again
 * after a crash, how it is ended early, and what is cleaned up.
 */
#include <errno.h>
#include <string.h>

#include "plugins/process/process.h"
#include "runtime/troupe.h"
#include "schemas/runtime/files.h"
#include "tests/support/fake_task.h"

static struct fake_task fake;
static struct tr_process_attempt attempt;
static struct tr_transition transition;

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake);
    attempt = (struct tr_process_attempt){.run = 0};
    transition = (struct tr_transition){.phase = TR_TASK_PHASE_INITIALIZING};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_fini(&fake);
    return 0;
}

static void handle(const struct tr_task_event *event)
{
    assert_int_equal(tr_process_plugin.handle(&fake.context, &attempt, event, &transition), 0);
}

static void start(void)
{
    handle(&(struct tr_task_event){.kind = TR_TASK_START});
}

static void lose(uint64_t call, int error)
{
    handle(&(struct tr_task_event){.kind = TR_TASK_FAILED, .call = call, .error = error});
}

/* Documents as the service gives them: outputs (size 0: absent), and a log or none. */
static struct tr_bytes documents(uint64_t large, bool has_log)
{
    static uint8_t bytes[64];
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    tr_write_array(&writer, TRI_PROCESS_RESULT_COUNT);
    if (large > 0) {
        tr_write_u64(&writer, large);
    } else {
        tr_write_nil(&writer);
    }
    tr_write_nil(&writer);
    if (has_log) {
        tr_write_u64(&writer, 10);
    } else {
        tr_write_nil(&writer);
    }
    for (int i = TRI_PROCESS_RESULT_STDERR; i < TRI_PROCESS_RESULT_COUNT; i++) {
        tr_write_nil(&writer);
    }
    return (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
}

static void end_well(uint64_t call, uint64_t large)
{
    struct tr_process_over over = {.key = tr_text_of("x-n-0"),
                                   .outcome = TR_PROCESS_EXITED,
                                   .reason = tr_text_of(""),
                                   .documents = documents(large, false)};
    struct tr_task_event event = fake_answer(call, &tr_process_over_schema, &over);
    handle(&event);
}

static void test_one_call_and_its_end(void **state)
{
    (void)state;
    struct tr_process_started started = {.key = tr_text_of("x-n-0"), .pid = 17};
    start();
    const struct fake_sent *run = fake_sent(&fake, 0, &tr_process_run_schema);
    assert_int_equal(run->service, TR_SERVICE_PROCESSES);
    assert_int_equal(transition.phase, TR_TASK_PHASE_QUEUED);
    assert_string_equal(fake.folder, "/store/attempts/x/x-n-0");
    struct tr_task_event event = fake_answer(0, &tr_process_started_schema, &started);
    event.kind = TR_TASK_NEWS;
    handle(&event);
    assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
    assert_string_equal(fake_text(transition.reason), "process 17");
    started.unbounded = tr_text_of("there is no memory controller");
    event = fake_answer(0, &tr_process_started_schema, &started);
    event.kind = TR_TASK_NEWS;
    handle(&event);
    assert_string_equal(fake_text(transition.reason), "process 17, whose bound of memory is not "
                                                      "enforced: there is no memory controller");
    end_well(run->call, 0);
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
    assert_true(attempt.has_no_log);
    assert_int_equal(fake.sent_count, 1);
}

static void test_a_lost_call_is_said_again(void **state)
{
    (void)state;
    start();
    lose(fake.sent[0].call, TR_NO_CONNECTION);
    const struct fake_sent *first = fake_sent(&fake, 0, &tr_process_run_schema);
    const struct fake_sent *again = fake_sent(&fake, 1, &tr_process_run_schema);
    assert_int_equal(first->body.size, again->body.size);
    assert_memory_equal(first->body.data, again->body.data, first->body.size);
}

static void test_a_keeper_that_is_not_there_is_asked_less_and_less(void **state)
{
    (void)state;
    static const uint64_t delays_ms[] = {100, 200, 400, 800, 1600, 3200, 6400, 12800, 12800};
    start();
    lose(fake.sent[0].call, TR_NO_CONNECTION);
    for (size_t i = 0; i < TR_COUNT_OF(delays_ms); i++) {
        lose(fake.sent[fake.sent_count - 1].call, TR_NO_CONNECTION);
        assert_int_equal(fake.sent_count, 2 + i); /* nothing is said before the timer */
        assert_int_equal(fake.timer_ms, delays_ms[i]);
        assert_non_null(strstr(fake_text(transition.reason), "cannot be reached"));
        handle(&(struct tr_task_event){.kind = TR_TASK_TIMER, .call = fake.timer});
        assert_int_equal(fake.sent_count, 3 + i);
    }
    struct tr_process_started started = {.key = tr_text_of("x-n-0"), .pid = 17};
    struct tr_task_event news = fake_answer(0, &tr_process_started_schema, &started);
    news.kind = TR_TASK_NEWS;
    handle(&news); /* a word came between */
    lose(fake.sent[fake.sent_count - 1].call, TR_NO_CONNECTION);
    assert_int_equal(fake.sent_count, 4 + TR_COUNT_OF(delays_ms) - 1);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        int error;
        const char *code;
        uint8_t kind;
    } cases[] = {
        {TR_NOT_FOUND, "SecretNotFound", TR_FAILURE_USER},
        {TR_INVALID, "ProcessRefused", TR_FAILURE_USER},
        {TR_LIMIT, "ProcessRefused", TR_FAILURE_USER},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_process_refused refused = {
            .key = tr_text_of("x-n-0"), .error = cases[i].error, .reason = tr_text_of("why")};
        struct tr_task_event event = fake_answer(100, &tr_process_refused_schema, &refused);
        handle(&event);
        assert_int_equal(transition.phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
        assert_int_equal(transition.failure, cases[i].kind);
        assert_string_equal(fake_text(transition.code), cases[i].code);
        assert_string_equal(fake_text(transition.message), "why");
    }
}

/* Waits as long as it is put off, which takes no attempt and says why. */
static void expect_wait(uint64_t delay_ms, const char *words)
{
    size_t sent = fake.sent_count;
    assert_int_equal(transition.phase, TR_TASK_PHASE_QUEUED);
    assert_int_equal(fake.timer_ms, delay_ms);
    assert_string_equal(fake_text(transition.reason), words);
    handle(&(struct tr_task_event){.kind = TR_TASK_TIMER, .call = fake.timer});
    assert_int_equal(fake.sent_count, sent + 1);
    (void)fake_sent(&fake, sent, &tr_process_run_schema);
}

static void test_shortages_before_a_start_are_waited_out(void **state)
{
    (void)state;
    static const int errors[] = {TR_BUSY, TR_STORE_FULL, TR_MEMORY, TR_SYSTEM, TR_STORE_FAILED};
    for (size_t i = 0; i < TR_COUNT_OF(errors); i++) {
        struct tr_process_refused refused = {
            .key = tr_text_of("x-n-0"), .error = errors[i], .reason = tr_text_of("why")};
        attempt = (struct tr_process_attempt){0};
        start();
        struct tr_task_event event =
            fake_answer(fake.sent[fake.sent_count - 1].call, &tr_process_refused_schema, &refused);
        handle(&event);
        expect_wait(100, "why; tried again in 100 ms");
        event.call = fake.sent[fake.sent_count - 1].call;
        handle(&event);
        expect_wait(200, "why; tried again in 200 ms");
    }
}

static void test_what_cannot_be_started_for_now_waits(void **state)
{
    (void)state;
    struct tr_process_over over = {.key = tr_text_of("x-n-0"),
                                   .outcome = TR_PROCESS_NOT_STARTED,
                                   .status = EAGAIN,
                                   .reason = tr_text_of("cannot run sh: why")};
    start();
    struct tr_task_event event = fake_answer(fake.sent[0].call, &tr_process_over_schema, &over);
    handle(&event);
    (void)fake_sent(&fake, 1, &tr_process_forget_schema);
    expect_wait(100, "cannot run sh: why; tried again in 100 ms");
    over.status = ENOENT; /* no program: waiting brings none */
    event = fake_answer(fake.sent[2].call, &tr_process_over_schema, &over);
    handle(&event);
    assert_int_equal(transition.phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_int_equal(transition.failure, TR_FAILURE_USER);
}

static void test_a_request_too_large_is_refused(void **state)
{
    (void)state;
    fake.call_error = TR_LIMIT;
    start();
    assert_int_equal(transition.phase, TR_TASK_PHASE_PERMANENT_FAILURE);
    assert_string_equal(fake_text(transition.code), "BadTaskSpecification");
    assert_string_equal(fake_text(transition.message),
                        "its words, environment and inputs are more than one message takes");
}

/* ------------------------------------------------------------ large documents */

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void make_inputs(void)
{
    struct tr_blob_stored stored = {.uri = tr_text_of("blob:" DIGEST "-inputs.json")};
    struct tr_task_event event = fake_answer(attempt.make, &tr_blob_stored_schema, &stored);
    handle(&event);
}

static void test_large_inputs_are_written_first(void **state)
{
    (void)state;
    fake.inputs_json = NULL;
    start();
    const struct fake_sent *make = fake_sent(&fake, 0, &tr_blob_make_schema);
    assert_int_equal(make->service, TR_SERVICE_FILES);
    lose(make->call, TR_NO_CONNECTION);
    (void)fake_sent(&fake, 1, &tr_blob_make_schema);
    make_inputs();
    const struct fake_sent *sent = fake_sent(&fake, 2, &tr_process_run_schema);
    struct tr_process_run run;
    struct tr_cursor cursor;
    assert_int_equal(tr_process_run_unpack(sent->body, sent->version, &run), 0);
    assert_int_equal(tr_process_array_begin(run.files, &cursor), 0);
    static const char word[] = "TROUPE_INPUTS=/store/blobs/" DIGEST "-inputs.json";
    assert_non_null(memmem(run.environment.data, run.environment.size, word, sizeof word - 1));
    /* After a crash it takes up with the same file. */
    lose(sent->call, TR_NO_CONNECTION);
    const struct fake_sent *again = fake_sent(&fake, 3, &tr_process_run_schema);
    assert_memory_equal(sent->body.data, again->body.data, sent->body.size);
}

static void test_inputs_that_cannot_be_written(void **state)
{
    (void)state;
    static const struct {
        int error;
        const char *code;
        uint8_t phase;
    } cases[] = {
        {TR_LIMIT, "InputSizeExceeded", TR_TASK_PHASE_PERMANENT_FAILURE},
        {TR_NOT_FOUND, "StorageError", TR_TASK_PHASE_RETRYABLE_FAILURE},
    };
    fake.inputs_json = NULL;
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        start();
        struct tr_blob_failed failed = {.error = cases[i].error, .message = tr_text_of("why")};
        struct tr_task_event event = fake_answer(attempt.make, &tr_blob_failed_schema, &failed);
        handle(&event);
        assert_int_equal(transition.phase, cases[i].phase);
        assert_string_equal(fake_text(transition.code), cases[i].code);
        assert_string_equal(fake_text(transition.message), "why");
    }
    /* A full disk is waited out: they are written later. */
    start();
    struct tr_blob_failed full = {.error = TR_STORE_FULL, .message = tr_text_of("full")};
    struct tr_task_event event = fake_answer(attempt.make, &tr_blob_failed_schema, &full);
    size_t sent = fake.sent_count;
    handle(&event);
    assert_string_equal(fake_text(transition.reason), "full; tried again in 100 ms");
    handle(&(struct tr_task_event){.kind = TR_TASK_TIMER, .call = fake.timer});
    (void)fake_sent(&fake, sent, &tr_blob_make_schema);
    attempt = (struct tr_process_attempt){0};
    start();
    lose(attempt.make, TR_UNKNOWN_TYPE);
    assert_string_equal(fake_text(transition.code), "StorageError");
}

static void test_large_outputs_are_read_behind_it(void **state)
{
    (void)state;
    struct tr_values_given given = {
        .slots = {(const uint8_t *)"slots", 5}, .code = tr_text_of(""), .message = tr_text_of("")};
    struct tr_values_read read;
    start();
    end_well(fake.sent[0].call, TR_PROCESS_DOCUMENT_BYTES_MAX + 1);
    assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
    const struct fake_sent *sent = fake_sent(&fake, 1, &tr_values_read_schema);
    assert_int_equal(tr_values_read_unpack(sent->body, sent->version, &read), 0);
    assert_string_equal(fake_text(read.path), "/store/attempts/x/x-n-0/outputs.json");
    assert_int_equal(read.plan.size, strlen("/store/attempts/x/x-n-0/work"));
    lose(sent->call, TR_NO_CONNECTION);
    sent = fake_sent(&fake, 2, &tr_values_read_schema);
    struct tr_task_event event = fake_answer(sent->call, &tr_values_given_schema, &given);
    handle(&event);
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
    assert_string_equal(fake.outputs, "slots of 5 bytes");
    given.code = tr_text_of("MismatchingTypes");
    given.message = tr_text_of("why");
    event = fake_answer(sent->call, &tr_values_given_schema, &given);
    handle(&event);
    assert_int_equal(transition.phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_string_equal(fake_text(transition.code), "MismatchingTypes");
}

/* ------------------------------------------------------------------- the end */

static void abort_with(const struct tr_task_event *event, bool is_hard)
{
    assert_int_equal(tr_process_plugin.abort(&fake.context, &attempt, is_hard, event, &transition),
                     0);
}

static uint32_t grace_of(size_t index)
{
    struct tr_process_stop stop;
    const struct fake_sent *sent = fake_sent(&fake, index, &tr_process_stop_schema);
    assert_int_equal(tr_process_stop_unpack(sent->body, sent->version, &stop), 0);
    return stop.grace_ms;
}

static void test_it_is_stopped_with_its_grace(void **state)
{
    (void)state;
    struct tr_process_state known = {.key = tr_text_of("x-n-0"), .phase = TR_PROCESS_RUNNING};
    struct tr_process_ended ended = {.key = tr_text_of("x-n-0"), .reason = tr_text_of("")};
    abort_with(&(struct tr_task_event){.kind = TR_TASK_START}, false);
    abort_with(&(struct tr_task_event){.kind = TR_TASK_START}, true);
    assert_int_equal(grace_of(0), 10000);
    assert_int_equal(grace_of(1), 0);
    struct tr_task_event event = {
        .kind = TR_TASK_FAILED, .call = fake.sent[1].call, .error = TR_NO_CONNECTION};
    abort_with(&event, true);
    assert_int_equal(grace_of(2), 0);
    event = fake_answer(fake.sent[2].call, &tr_process_state_schema, &known);
    abort_with(&event, true);
    assert_int_not_equal(transition.phase, TR_TASK_PHASE_ABORTED);
    event = fake_answer(fake.sent[2].call, &tr_process_ended_schema, &ended);
    abort_with(&event, true);
    assert_int_equal(transition.phase, TR_TASK_PHASE_ABORTED);
    known.phase = TR_PROCESS_NEW;
    transition.phase = TR_TASK_PHASE_RUNNING;
    event = fake_answer(fake.sent[2].call, &tr_process_state_schema, &known);
    abort_with(&event, false);
    assert_int_equal(transition.phase, TR_TASK_PHASE_ABORTED);
}

static const char *removed(size_t index)
{
    struct tr_folder_remove remove;
    const struct fake_sent *sent = fake_sent(&fake, index, &tr_folder_remove_schema);
    assert_int_equal(tr_folder_remove_unpack(sent->body, sent->version, &remove), 0);
    return fake_text(remove.path);
}

static void finalize(uint8_t phase)
{
    fake.sent_count = 0;
    assert_int_equal(tr_process_plugin.finalize(&fake.context, &attempt, phase), 0);
    (void)fake_sent(&fake, 0, &tr_process_forget_schema);
}

static void test_what_is_left_depends_on_the_end(void **state)
{
    (void)state;
    finalize(TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_int_equal(fake.sent_count, 1);
    finalize(TR_TASK_PHASE_SUCCESS);
    assert_int_equal(fake.sent_count, 4);
    assert_string_equal(removed(1), "/store/checkpoints/x/n");
    assert_string_equal(removed(2), "/store/attempts/x/x-n-0/work");
    assert_string_equal(removed(3), "/store/attempts/x/x-n-0/tmp");
    attempt.has_no_log = true;
    finalize(TR_TASK_PHASE_SUCCESS);
    assert_int_equal(fake.sent_count, 3);
    assert_string_equal(removed(2), "/store/attempts/x/x-n-0");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_one_call_and_its_end),
        TEST(test_a_lost_call_is_said_again),
        TEST(test_a_keeper_that_is_not_there_is_asked_less_and_less),
        TEST(test_refusals),
        TEST(test_shortages_before_a_start_are_waited_out),
        TEST(test_what_cannot_be_started_for_now_waits),
        TEST(test_a_request_too_large_is_refused),
        TEST(test_large_inputs_are_written_first),
        TEST(test_inputs_that_cannot_be_written),
        TEST(test_large_outputs_are_read_behind_it),
        TEST(test_it_is_stopped_with_its_grace),
        TEST(test_what_is_left_depends_on_the_end),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
