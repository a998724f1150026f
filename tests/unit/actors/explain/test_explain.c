/*
 * What a task waits for, in words, from its committed state and from those of the services.
 */
#include "actors/explain/explain.h"

#include <stdio.h>

#include "schemas/runtime/files.h"
#include "tests/unit/actors/task_jobs.h"

static const char flow[] =
    "troupe: 1\n"
    "tasks:\n"
    "  late: {type: echo, inputs: {a: int}, outputs: {a: int}, retries: 3,\n"
    "         backoff: {first: 8s, factor: 1}, config: {fail: 2, code: Nope, message: not today}}\n"
    "  job: {type: fake, inputs: {a: int}, outputs: {a: int}, timeout: 5s}\n"
    "  large: {type: fake, inputs: {a: int}, outputs: {a: int}, resources: {cpu: 2}}\n"
    "  alone: {type: fake, inputs: {a: int}, outputs: {a: int},\n"
    "          cache: {version: v1, serialize: true}}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {a: int}\n"
    "    nodes:\n"
    "      large: {task: large, with: {a: $a}}\n"
    "      late: {task: late, with: {a: $a}}\n"
    "      job: {task: job, with: {a: $a}}\n"
    "      alone: {task: alone, with: {a: $a}}\n";

static int page_of(void *self, uint32_t page, struct tr_bytes *bytes)
{
    *bytes = tri_page_bytes(self, page);
    return 0;
}

static struct tr_explain_pages pages_of(struct tri_actor *actor)
{
    return (struct tr_explain_pages){.page = page_of, .self = actor};
}

static const char *text_of(struct tr_buffer *buffer)
{
    static char text[1024];
    assert_true(buffer->size < sizeof text);
    memcpy(text, buffer->data, buffer->size);
    text[buffer->size] = '\0';
    tr_buffer_fini(buffer);
    return text;
}

static const char *task_words(void)
{
    struct tr_buffer text;
    struct tr_explain_pages pages = pages_of(stand_task());
    tr_buffer_init(&text, 0);
    assert_int_equal(tr_explain_task(stand_state(), &pages, tr_text_of("x-n-0"),
                                     (struct tr_explain_now){STAGE_START_WALL_MS, 0}, &text),
                     0);
    return text_of(&text);
}

static void assert_begins(const char *text, const char *wanted)
{
    if (strncmp(text, wanted, strlen(wanted)) != 0) {
        fail_msg("'%s' does not begin with '%s'", text, wanted);
    }
}

static void test_a_wait_to_retry(void **state)
{
    (void)state;
    stand_begin(flow, true);
    stand_start(JOB_START("late"));
    const char *words = task_words();
    assert_begins(words, "attempt 1 waits until 2023-11-14T22:13:2");
    assert_non_null(strstr(words, "Z, in "));
    assert_non_null(strstr(words, "; the one before failed with Nope: not today"));
    stand_end();
}

static int no_page(void *self, uint32_t page, struct tr_bytes *bytes)
{
    (void)self;
    (void)page;
    *bytes = (struct tr_bytes){0};
    return 0;
}

/* A dynamic task, whose graph is made, runs, or may not begin yet. */
static void test_a_graph_that_is_decided(void **state)
{
    (void)state;
    static const struct {
        struct tr_task_state state;
        const char *words;
    } cases[] = {
        {{.step = TR_STEP_GRAPH}, "it has its graph compiled"},
        {{.step = TR_STEP_INNER}, "it runs the graph it has decided"},
        {{.step = TR_STEP_INNER, .is_held = true},
         "it is paused, and begins when the execution goes on"},
    };
    const struct tr_explain_pages pages = {.page = no_page};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_buffer text;
        tr_buffer_init(&text, 0);
        assert_int_equal(tr_explain_task(&cases[i].state, &pages, (struct tr_text){0},
                                         (struct tr_explain_now){0}, &text),
                         0);
        tr_buffer_add(&text, "", 1);
        assert_string_equal((const char *)text.data, cases[i].words);
        tr_buffer_fini(&text);
    }
}

static int run_on(struct tr_task_context *task, struct tr_fake_actor_state *state,
                  const struct tr_task_event *event, struct tr_transition *transition)
{
    if (event->kind != TR_TASK_START) {
        return tr_task_is(transition, TR_TASK_PHASE_RUNNING, tr_text_of("step 2 of 5"));
    }
    int error = tr_task_folder(task, tr_text_of("/store/attempts/x"));
    error = error != 0 ? error : task_jobs_ask(task, state, JOB_SUBMIT);
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_QUEUED, tr_text_of("it was sent"));
}

static int abort_on(struct tr_task_context *task, struct tr_fake_actor_state *state,
                    const struct tr_task_event *event, struct tr_transition *transition)
{
    (void)task;
    (void)state;
    (void)event;
    (void)transition;
    return 0;
}

static void test_a_plugins_phase_and_an_abort(void **state)
{
    (void)state;
    stand_begin(flow, true);
    stand.handle = run_on;
    stand.abort = abort_on;
    stand_start(JOB_START("job"));
    assert_string_equal(task_words(),
                        "attempt 0 is queued (it was sent); it was submitted, and no answer "
                        "has come yet; its folder is /store/attempts/x");
    stand_say(TR_SERVICE_PROCESSES, &tr_outside_told_schema, &(struct tr_outside_told){0});
    assert_string_equal(task_words(),
                        "attempt 0 is running (step 2 of 5); its folder is /store/attempts/x");
    stage_advance(&stand.stage, 5000);
    assert_string_equal(task_words(), "it waits for the end of its work; then attempt 0 has "
                                      "failed with TimeoutExpired: task execution timeout [5s] "
                                      "expired");
    stand_abort(TR_NODE_PHASE_ABORTED, false);
    assert_string_equal(task_words(), "it waits for the end of its work; then it is aborted: "
                                      "the test says so");
    stand_end();
}

/* A folder that is called as the attempt: the name behind it is not kept a second time. */
static int run_elsewhere(struct tr_task_context *task, struct tr_fake_actor_state *state,
                         const struct tr_task_event *event, struct tr_transition *transition)
{
    char folder[256];
    struct tr_text name = tr_task_generated_name(task);
    if (event->kind != TR_TASK_START) {
        return tr_task_is(transition, TR_TASK_PHASE_RUNNING, tr_text_of("at node-7"));
    }
    (void)snprintf(folder, sizeof folder, "/share/set/%.*s//", (int)name.size, name.data);
    int error = tr_task_folder(task, tr_text_of(folder));
    error = error != 0 ? error : task_jobs_ask(task, state, JOB_SUBMIT);
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_QUEUED, tr_text_of("it was sent"));
}

static void test_a_folder_called_as_the_attempt(void **state)
{
    (void)state;
    stand_begin(flow, true);
    stand.handle = run_elsewhere;
    stand_start(JOB_START("job"));
    for (int i = 0; i < 2; i++) { /* and once more, when it was read */
        struct tr_task_note note;
        assert_int_equal(tr_task_note_unpack(tri_page_bytes(stand_task(), 2),
                                             tr_task_note_schema.version, &note),
                         0);
        assert_text(note.folder, "/share/set/");
        assert_non_null(strstr(task_words(), "; its folder is /share/set/x-n-0"));
        stand_say(TR_SERVICE_PROCESSES, &tr_outside_told_schema, &(struct tr_outside_told){0});
    }
    stand_abort(TR_NODE_PHASE_ABORTED, false);
    stand_end();
}

static void test_a_token_that_is_waited_for(void **state)
{
    (void)state;
    stand_begin(flow, true);
    stand.handle = run_on;
    stand_begin_resources(1);
    stand_start(JOB_START("job"));
    stand_start(&(struct stand_start){
        .node = "job", .inputs = "{\"a\": 1}", .is_element = true, .element = 4});
    assert_string_equal(task_words(), "it waits for a slot in 'fakes'");
    struct tri_actor *manager = stage_actor(&stand.stage, stand.engine->resources);
    struct tr_explain_pages pages = pages_of(manager);
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    assert_int_equal(tr_explain_request(tri_actor_state(manager), &pages, stand_child().key,
                                        (struct tr_explain_now){STAGE_START_WALL_MS, 0}, NULL,
                                        &text),
                     0);
    const char *words = text_of(&text);
    assert_begins(words, "it waits since 2023-11-14T22:13:20Z: for a slot in 'fakes' (1 of 1 in "
                         "use: exec-job-");
    assert_non_null(strstr(words, "; 1 task waits in all, and executions take turns"));
    tr_buffer_init(&text, 0);
    assert_int_equal(tr_explain_request(tri_actor_state(manager), &pages, stand.boss.key,
                                        (struct tr_explain_now){0}, NULL, &text),
                     TR_NOT_FOUND);
    tr_buffer_fini(&text);
    stand_end();
}

static void name_host(void *self, uint16_t host, struct tr_buffer *text)
{
    (void)self;
    tr_buffer_add_string(text, host == 2 ? "b" : "");
}

/* What is said of the request of the task begun last, behind what it always says. */
static const char *request_words(void)
{
    static const struct tr_explain_hosts hosts = {.name = name_host};
    struct tri_actor *manager = stage_actor(&stand.stage, stand.engine->resources);
    struct tr_explain_pages pages = pages_of(manager);
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    assert_int_equal(tr_explain_request(tri_actor_state(manager), &pages, stand_child().key,
                                        (struct tr_explain_now){STAGE_START_WALL_MS, 0}, &hosts,
                                        &text),
                     0);
    const char *words = text_of(&text);
    const char *begin = "it waits since 2023-11-14T22:13:20Z: ";
    assert_begins(words, begin);
    return words + strlen(begin);
}

static void tell_machine(uint64_t cpu_millis)
{
    struct tr_resource_quota machine = {.cpu_millis = cpu_millis, .host = stand.engine->host};
    stage_tell(&stand.stage, stand.engine->resources, &tr_resource_quota_schema, &machine);
    stage_run(&stand.stage);
}

/* Where there are several hosts it is said whose machine is waited for. */
static void test_the_machine_that_is_waited_for(void **state)
{
    (void)state;
    stand_begin(flow, true);
    stand.handle = run_on;
    stand_begin_resources(0);
    tell_machine(2000);
    stand_start(JOB_START("large"));
    const struct stand_start another = {
        .node = "large", .inputs = "{\"a\": 1}", .is_element = true, .element = 4};
    stand_start(&another);
    assert_begins(request_words(), "for 2 CPU (2 of 2 in use); 1 task waits in all");
    stand_end();
    stand_begin(flow, true);
    stand.handle = run_on;
    stand_begin_resources(0);
    stand.engine->host = 2;
    stand_start(JOB_START("large"));
    assert_begins(request_words(), "for host b, which has not said yet what it has; 1 task");
    tell_machine(2000);
    stand_start(&another);
    assert_begins(request_words(), "for 2 CPU of host b (2 of 2 in use); 1 task waits in all");
    stand_end();
}

static void serve(const struct outside_message *message)
{
    stand_answer(message, &tr_document_schema, &(struct tr_document){.is_found = false});
}

static void test_who_makes_what_is_waited_for(void **state)
{
    (void)state;
    stand_begin(flow, true);
    stand.handle = run_on;
    stand_begin_catalog();
    for (uint64_t i = 0; i < 2; i++) {
        stand_start(&(struct stand_start){
            .node = "alone", .inputs = "{\"a\": 1}", .is_element = true, .element = i});
        stand_run(serve);
    }
    assert_string_equal(task_words(), "it waits for another task that makes the same");
    struct tri_actor *catalog = stage_actor(&stand.stage, stand.engine->catalog);
    struct tr_explain_pages pages = pages_of(catalog);
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    uint64_t maker;
    assert_int_equal(
        tr_explain_cache(tri_actor_state(catalog), &pages, stand_child().key, &text, &maker), 0);
    assert_int_equal(maker, stand_child().key.group);
    assert_begins(text_of(&text), "it waits for what exec/alone[0] makes");
    stand_end();
}

static void test_pages_that_are_none_are_refused(void **state)
{
    (void)state;
    stand_begin(flow, true);
    stand_start(JOB_START("late"));
    struct tr_bytes page = tri_page_bytes(stand_task(), 2);
    *(uint8_t *)(uintptr_t)page.data = 0xc1;
    struct tr_buffer text;
    struct tr_explain_pages pages = pages_of(stand_task());
    tr_buffer_init(&text, 0);
    assert_int_equal(tr_explain_task(stand_state(), &pages, (struct tr_text){0},
                                     (struct tr_explain_now){0}, &text),
                     TR_MALFORMED);
    tr_buffer_fini(&text);
    stand_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_to_retry),
        cmocka_unit_test(test_a_graph_that_is_decided),
        cmocka_unit_test(test_a_plugins_phase_and_an_abort),
        cmocka_unit_test(test_a_folder_called_as_the_attempt),
        cmocka_unit_test(test_a_token_that_is_waited_for),
        cmocka_unit_test(test_the_machine_that_is_waited_for),
        cmocka_unit_test(test_who_makes_what_is_waited_for),
        cmocka_unit_test(test_pages_that_are_none_are_refused),
    };
    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
