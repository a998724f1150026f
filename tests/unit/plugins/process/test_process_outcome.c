/*
 * What each end of a process means: code, words, whose budget pays, and which of several signs of a
 * failure counts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plugins/process/process.h"
#include "schemas/runtime/files.h"
#include "tests/support/fake_task.h"

static struct fake_task fake;
static struct tr_transition transition;

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_fini(&fake);
    return 0;
}

/* An end: documents of size 0 are absent, those without text are only a size. */
struct end {
    uint8_t outcome;
    uint32_t status;
    uint8_t stopped_by;
    const char *reason;
    const char *outputs;
    const char *error;
    uint64_t outputs_size;
    uint64_t error_size;
    const char *flyte_outputs;
    const char *flyte_error;
    const char *futures;
    const char *error_output;
    uint8_t memory_kill;
    bool core_dumped;
    uint64_t memory_max;
};

static void write_document(struct tr_writer *writer, const char *text, uint64_t size)
{
    if (text != NULL) {
        tr_write_bytes(writer,
                       (struct tr_bytes){.data = (const uint8_t *)text, .size = strlen(text)});
    } else if (size > 0) {
        tr_write_u64(writer, size);
    } else {
        tr_write_nil(writer);
    }
}

static enum tr_document_form large_form;

static bool classify(const struct end *end)
{
    static uint8_t bytes[8192];
    struct tri_process_large large;
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    tr_write_array(&writer, TRI_PROCESS_RESULT_COUNT);
    write_document(&writer, end->outputs, end->outputs_size);
    write_document(&writer, end->error, end->error_size);
    tr_write_nil(&writer);
    write_document(&writer, end->error_output, 0);
    write_document(&writer, end->flyte_outputs, 0);
    write_document(&writer, end->flyte_error, 0);
    write_document(&writer, end->futures, 0);
    tr_write_nil(&writer); /* a deck */
    struct tr_process_over over = {
        .outcome = end->outcome,
        .status = end->status,
        .stopped_by = end->stopped_by,
        .reason = tr_text_of(end->reason == NULL ? "" : end->reason),
        .documents = {.data = bytes, .size = tr_writer_size(&writer)},
        .memory_kill = end->memory_kill,
        .core_dumped = end->core_dumped,
        .elapsed_us = 350000,
        .cpu_user_us = 100000,
        .cpu_system_us = 20000,
        .memory_bytes_max = 64 << 20,
        .memory_max = end->memory_max,
    };
    transition = (struct tr_transition){.phase = TR_TASK_PHASE_RUNNING};
    assert_int_equal(tri_process_outcome(&fake.context, &over, &large, &transition), 0);
    large_form = large.form;
    return large.is_one;
}

static void expect_failure(uint8_t phase, const char *code, const char *message)
{
    assert_int_equal(transition.phase, phase);
    assert_string_equal(fake_text(transition.code), code);
    assert_string_equal(fake_text(transition.message), message);
    assert_int_equal(transition.outcome.size, 0);
}

/* A failure that is known by how the process ended; what it wrote last is the message. */
static void expect_end(const char *code, const char *outcome, const char *message)
{
    assert_int_equal(transition.phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_string_equal(fake_text(transition.code), code);
    assert_string_equal(fake_text(transition.outcome), outcome);
    assert_string_equal(fake_text(transition.message), message);
}

static void test_successes(void **state)
{
    (void)state;
    assert_false(classify(&(struct end){.outcome = TR_PROCESS_EXITED, .outputs = "{\"a\": 1}"}));
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
    assert_string_equal(fake.outputs, "{\"a\": 1}");
    assert_string_equal(fake.outputs_folder, "/store/attempts/x/x-n-0/work");
    assert_false(classify(&(struct end){.outcome = TR_PROCESS_EXITED}));
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
    assert_string_equal(fake.outputs, "{}");
}

static void test_exits_and_signals(void **state)
{
    (void)state;
    classify(&(struct end){.outcome = TR_PROCESS_EXITED, .status = 3, .outputs = "{}"});
    expect_end("ProcessFailed", "exit status 3", "");
    assert_int_equal(transition.exit_status, 3);
    classify(&(struct end){.outcome = TR_PROCESS_SIGNALLED, .status = 11});
    expect_end("ProcessSignalled", "signal 11 (SIGSEGV, Segmentation fault)", "");
    assert_int_equal(transition.failure, TR_FAILURE_USER);
    assert_int_equal(transition.signal, 11);
    classify(&(struct end){
        .outcome = TR_PROCESS_SIGNALLED, .status = 15, .stopped_by = TR_PROCESS_STOPPED_BY_KEEPER});
    assert_int_equal(transition.failure, TR_FAILURE_SYSTEM);
    classify(
        &(struct end){.outcome = TR_PROCESS_NOT_STARTED, .status = 2, .reason = "x: not there"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "ProcessNotStarted", "x: not there");
    assert_int_equal(transition.failure, TR_FAILURE_USER);
    classify(
        &(struct end){.outcome = TR_PROCESS_NOT_STARTED, .status = ECANCELED, .reason = "died"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "ProcessNotStarted", "died");
    assert_int_equal(transition.failure, TR_FAILURE_SYSTEM);
}

static void test_ends_in_words(void **state)
{
    (void)state;
    static const struct {
        struct end end;
        const char *outcome;
    } cases[] = {
        {{.outcome = TR_PROCESS_EXITED, .status = 1}, "exit status 1"},
        {{.outcome = TR_PROCESS_EXITED, .status = 126},
         "exit status 126 (to a shell: found, but cannot be executed)"},
        {{.outcome = TR_PROCESS_EXITED, .status = 127},
         "exit status 127 (to a shell: command not found)"},
        {{.outcome = TR_PROCESS_EXITED, .status = 139},
         "exit status 139 (128 + 11: SIGSEGV, Segmentation fault)"},
        {{.outcome = TR_PROCESS_EXITED, .status = 137, .memory_kill = TR_MEMORY_KILL_CGROUP},
         "exit status 137 (128 + 9: SIGKILL, Killed: out of memory, killed by the kernel at the "
         "limit of its cgroup)"},
        {{.outcome = TR_PROCESS_EXITED, .status = 255}, "exit status 255"},
        {{.outcome = TR_PROCESS_SIGNALLED, .status = 6, .core_dumped = true},
         "signal 6 (SIGABRT, Aborted, core dumped)"},
        {{.outcome = TR_PROCESS_SIGNALLED, .status = 9, .memory_kill = TR_MEMORY_KILL_MACHINE},
         "signal 9 (SIGKILL, Killed: the kernel killed for want of memory on this machine at that "
         "time)"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        classify(&cases[i].end);
        assert_string_equal(fake_text(transition.outcome), cases[i].outcome);
    }
}

/* The bound's own kill is the cause, however the leader has ended. */
static void test_a_bound_of_memory(void **state)
{
    (void)state;
    static const struct {
        uint64_t bound;
        const char *outcome;
    } cases[] = {
        {256 << 20, "killed by the kernel for memory: used its bound of 256 MiB"},
        {3ULL << 30, "killed by the kernel for memory: used its bound of 3 GiB"},
        {1000000, "killed by the kernel for memory: used its bound of 1000000 B"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        classify(&(struct end){.outcome = TR_PROCESS_SIGNALLED,
                               .status = 9,
                               .error_output = "reading",
                               .memory_kill = TR_MEMORY_KILL_BOUND,
                               .memory_max = cases[i].bound});
        expect_end("OOMKilled", cases[i].outcome, "reading");
        assert_int_equal(transition.failure, TR_FAILURE_USER);
        assert_int_equal(transition.signal, 9);
        assert_int_equal(transition.usage.memory_bound, cases[i].bound);
        assert_true(transition.usage.is_bound_kept);
    }
    classify(&(struct end){.outcome = TR_PROCESS_EXITED,
                           .status = 1,
                           .memory_kill = TR_MEMORY_KILL_BOUND,
                           .memory_max = 1024});
    expect_end("OOMKilled", "killed by the kernel for memory: used its bound of 1 KiB", "");
    /* What was asked for and not enforced. */
    fake.template.resources.memory_bytes = 1024;
    classify(&(struct end){.outcome = TR_PROCESS_SIGNALLED, .status = 9});
    expect_end("ProcessSignalled", "signal 9 (SIGKILL, Killed)", "");
    assert_int_equal(transition.usage.memory_bound, 1024);
    assert_false(transition.usage.is_bound_kept);
}

static void test_what_was_written_last_is_the_cause(void **state)
{
    (void)state;
    static char much[TR_ERROR_OUTPUT_BYTES_MAX + 1];
    static const char traceback[] = "Traceback (most recent call last):\n  File x\nKeyError: 'a'";
    classify(&(struct end){.outcome = TR_PROCESS_EXITED,
                           .status = 1,
                           .error_output = "Traceback (most recent call last):\n  File x\n"
                                           "KeyError: 'a'\n\n"});
    expect_end("ProcessFailed", "exit status 1", "KeyError: 'a'");
    assert_string_equal(fake_text(transition.error_output), traceback);
    assert_int_equal(transition.usage.cpu_us, 120000);
    assert_int_equal(transition.usage.elapsed_us, 350000);
    assert_int_equal(transition.usage.memory_bytes_max, 64 << 20);
    /* As much as is read begins in the middle of a line, which is left out. */
    memset(much, 'x', TR_ERROR_OUTPUT_BYTES_MAX);
    memcpy(much + 100, "\nwhole line\nlast", 16);
    much[116] = '\n';
    memset(much + 117, ' ', TR_ERROR_OUTPUT_BYTES_MAX - 117);
    classify(&(struct end){.outcome = TR_PROCESS_EXITED, .status = 1, .error_output = much});
    assert_string_equal(fake_text(transition.error_output), "whole line\nlast");
    /* What an error document says goes before; the end of stderr is kept beside it. */
    classify(&(struct end){
        .outcome = TR_PROCESS_EXITED, .status = 1, .error = "{no}", .error_output = "a warning\n"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "FromDocument", "{no}");
    assert_string_equal(fake_text(transition.error_output), "a warning");
}

static void test_an_error_document_is_a_failure_whatever_the_status(void **state)
{
    (void)state;
    classify(&(struct end){.outcome = TR_PROCESS_EXITED, .outputs = "{}", .error = "{no}"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "FromDocument", "{no}");
    classify(&(struct end){.outcome = TR_PROCESS_SIGNALLED, .status = 9, .error = "{no}"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "FromDocument", "{no}");
    classify(&(struct end){.outcome = TR_PROCESS_EXITED, .error_size = 600000});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "ErrorDocumentTooLarge",
                   "the document at $TROUPE_ERROR has 600000 bytes; at most 524288 are read");
}

static void test_outputs_that_are_none(void **state)
{
    (void)state;
    fake.refusal = "the output 'a' is missing";
    classify(&(struct end){.outcome = TR_PROCESS_EXITED});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "OutputsNotFound",
                   "nothing was written to $TROUPE_OUTPUTS: the output 'a' is missing");
    /* Those that are there are the engine's to refuse. */
    classify(&(struct end){.outcome = TR_PROCESS_EXITED, .outputs = "{}"});
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
}

static void test_large_outputs(void **state)
{
    (void)state;
    assert_true(classify(&(struct end){.outcome = TR_PROCESS_EXITED, .outputs_size = 600000}));
    assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
    assert_true(classify(
        &(struct end){.outcome = TR_PROCESS_EXITED, .outputs_size = TR_OUTPUTS_BYTES_MAX}));
    assert_false(classify(
        &(struct end){.outcome = TR_PROCESS_EXITED, .outputs_size = TR_OUTPUTS_BYTES_MAX + 1}));
    expect_failure(
        TR_TASK_PHASE_PERMANENT_FAILURE, "OutputSizeExceeded",
        "the document at $TROUPE_OUTPUTS has 67108865 bytes, more than "
        "TR_OUTPUTS_BYTES_MAX (67108864); write large data to a file and return its path");
    assert_false(
        classify(&(struct end){.outcome = TR_PROCESS_EXITED, .status = 1, .outputs_size = 600000}));
}

static void test_an_unknown_end_is_known_by_its_outputs(void **state)
{
    (void)state;
    classify(&(struct end){.outcome = TR_PROCESS_UNKNOWN, .reason = "the keeper died"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "OutcomeUnknown",
                   "outcome unknown: the keeper died");
    assert_int_equal(transition.failure, TR_FAILURE_SYSTEM);
    assert_true(transition.is_unknown);
    classify(&(struct end){.outcome = TR_PROCESS_UNKNOWN, .outputs = "{}"});
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
    classify(&(struct end){.outcome = TR_PROCESS_UNKNOWN, .error = "{no}"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "FromDocument", "{no}");
    /* It was killed while it wrote. */
    fake.refusal = "this is no JSON";
    classify(&(struct end){
        .outcome = TR_PROCESS_UNKNOWN, .outputs = "{", .error = "", .reason = "the keeper died"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "OutcomeUnknown",
                   "outcome unknown: the keeper died");
    assert_int_equal(transition.failure, TR_FAILURE_SYSTEM);
    assert_true(transition.is_unknown);
}

/* A keeper's end in the middle of an error document is no failure that the task has reported. */
static void test_a_torn_error_document_is_no_word(void **state)
{
    (void)state;
    classify(&(struct end){.outcome = TR_PROCESS_UNKNOWN, .error = "{\"co", .reason = "died"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "OutcomeUnknown", "outcome unknown: died");
    classify(&(struct end){.outcome = TR_PROCESS_SIGNALLED,
                           .status = 9,
                           .stopped_by = TR_PROCESS_STOPPED_BY_KEEPER,
                           .error = "{\"co"});
    expect_end("ProcessSignalled", "signal 9 (SIGKILL, Killed)", "");
    assert_int_equal(transition.failure, TR_FAILURE_SYSTEM);
    classify(&(struct end){.outcome = TR_PROCESS_EXITED, .error = "{\"co"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "ErrorDocumentMalformed", "{\"co");
}

/* After a restart of the machine a whole document may name what never came to the disk. */
static void test_a_lost_end_leaves_nothing_to_believe(void **state)
{
    (void)state;
    classify(&(struct end){.outcome = TR_PROCESS_LOST, .outputs = "{}", .reason = "restarted"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "OutcomeUnknown", "outcome unknown: restarted");
    assert_int_equal(transition.failure, TR_FAILURE_SYSTEM);
    assert_true(transition.is_unknown);
    classify(&(struct end){.outcome = TR_PROCESS_LOST, .error = "{no}", .reason = "restarted"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "OutcomeUnknown", "outcome unknown: restarted");
}

/* Where both are there, Flyte's counts: the template asked for it. */
static void test_flytes_documents_go_before_json(void **state)
{
    (void)state;
    assert_false(classify(&(struct end){
        .outcome = TR_PROCESS_EXITED, .outputs = "{\"a\": 1}", .flyte_outputs = "pb"}));
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
    assert_string_equal(fake.outputs, "pb");
    assert_int_equal(fake.form, TR_DOCUMENT_FLYTE);
    classify(&(struct end){.outcome = TR_PROCESS_EXITED,
                           .outputs = "{}",
                           .error = "json",
                           .flyte_outputs = "pb",
                           .flyte_error = "failed"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "FromDocument", "failed");
    assert_int_equal(fake.form, TR_DOCUMENT_FLYTE);
    classify(&(struct end){.outcome = TR_PROCESS_EXITED, .error = "json", .flyte_outputs = "pb"});
    expect_failure(TR_TASK_PHASE_RETRYABLE_FAILURE, "FromDocument", "json");
    assert_int_equal(fake.form, TR_DOCUMENT_JSON);
    classify(
        &(struct end){.outcome = TR_PROCESS_EXITED, .flyte_outputs = "pb", .futures = "graph"});
    assert_string_equal(fake.outputs, "pb"); /* it is no dynamic task */
    fake.template.is_dynamic = true;
    classify(
        &(struct end){.outcome = TR_PROCESS_EXITED, .flyte_outputs = "pb", .futures = "graph"});
    assert_string_equal(fake.outputs, "graph");
    assert_int_equal(fake.form, TR_DOCUMENT_FLYTE_FUTURES);
    fake.refusal = "the output 'a' is missing";
    fake.template.has_flyte_outputs = true;
    classify(&(struct end){.outcome = TR_PROCESS_EXITED});
    expect_failure(
        TR_TASK_PHASE_RETRYABLE_FAILURE, "OutputsNotFound",
        "nothing was written to $TROUPE_OUTPUTS or outputs.pb: the output 'a' is missing");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_successes),
        TEST(test_exits_and_signals),
        TEST(test_ends_in_words),
        TEST(test_a_bound_of_memory),
        TEST(test_what_was_written_last_is_the_cause),
        TEST(test_an_error_document_is_a_failure_whatever_the_status),
        TEST(test_outputs_that_are_none),
        TEST(test_large_outputs),
        TEST(test_an_unknown_end_is_known_by_its_outputs),
        TEST(test_a_torn_error_document_is_no_word),
        TEST(test_a_lost_end_leaves_nothing_to_believe),
        TEST(test_flytes_documents_go_before_json),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
