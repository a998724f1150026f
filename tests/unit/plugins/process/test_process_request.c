/*
 * What a process is asked for with: words, environment, files, limits; and what of a configuration
 * is refused in which words.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "plugins/process/process.h"
#include "tests/support/fake_task.h"

static struct fake_task fake;
static struct tr_process_run run;
static struct tr_text problem;

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

static struct tr_bytes bytes_of(const char *text)
{
    return (struct tr_bytes){.data = (const uint8_t *)text, .size = strlen(text)};
}

static int ask(const char *json, const char *path)
{
    const struct tri_process_inputs inputs[TRI_PROCESS_FORMS] = {
        {.is_asked = true, .document = bytes_of(json), .path = tr_text_of(path)}};
    return tri_process_request(&fake.context, inputs, &run, &problem);
}

/* Whether a word is in an array of them. */
static bool has_word(struct tr_bytes array, const char *wanted)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(array, &cursor);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes word = tr_process_string_next(&cursor);
        if (word.size == strlen(wanted) && memcmp(word.data, wanted, word.size) == 0) {
            return true;
        }
    }
    assert_int_equal(cursor.error, 0);
    return false;
}

/* The word at a place of an array; NULL: it has fewer. */
static const char *word_at(struct tr_bytes array, uint32_t place)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(array, &cursor);
    struct tr_bytes word = {0};
    for (uint32_t i = 0; i < count && i <= place; i++) {
        word = tr_process_string_next(&cursor);
    }
    struct tr_text text = {.data = (const char *)word.data, .size = word.size};
    return place < count ? fake_text(text) : NULL;
}

/* The file of this name among those that are made; absent: of size 0. */
static struct tr_process_file file_named(const char *name)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(run.files, &cursor);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_process_file file = tr_process_file_next(&cursor);
        if (tr_text_equal(file.name, tr_text_of(name))) {
            return file;
        }
    }
    return (struct tr_process_file){.mode = 0};
}

static void expect_words(const char *const *words)
{
    uint32_t count = 0;
    for (; words[count] != NULL; count++) {
        assert_string_equal(word_at(run.argv, count), words[count]);
    }
    assert_null(word_at(run.argv, count));
}

/* A command that names what it runs in has lines of shell before it. */
static void test_software(void **state)
{
    (void)state;
    static const struct tr_text argv[] = {{"tell", 4}};
    static const struct tr_text lines[] = {{"a==1", 4}, {"b", 1}};
    static const char *const plain[] = {"tell", NULL};
    static const char *const own[] = {"/bin/sh",
                                      "/store/attempts/x/x-n-0/setup.sh",
                                      "venv",
                                      "/store/environments",
                                      "/store/attempts/x/x-n-0/requirements.txt",
                                      "python3",
                                      "tell",
                                      NULL};
    static const char *const named[] = {"/bin/sh",
                                        "/store/attempts/x/x-n-0/setup.sh",
                                        "conda",
                                        "/store/environments",
                                        "/flows/sub/own.yml",
                                        "python3",
                                        "tell",
                                        NULL};
    static const char *const absolute[] = {"/bin/sh",
                                           "/store/attempts/x/x-n-0/setup.sh",
                                           "venv",
                                           "/store/environments",
                                           "/etc/needed.txt",
                                           "python9",
                                           "tell",
                                           NULL};
    struct tr_software *software = &fake.template.software;
    fake.template.argv = argv;
    fake.template.argc = 1;
    fake.template.folder = tr_text_of("/flows");
    assert_int_equal(ask("{}", ""), 0);
    expect_words(plain);
    assert_int_equal(file_named("setup.sh").mode, 0);
    *software = (struct tr_software){
        .kind = TR_SOFTWARE_VENV, .requirements = lines, .requirement_count = 2};
    assert_int_equal(ask("{}", ""), 0);
    expect_words(own);
    assert_int_equal(file_named("setup.sh").mode, 0400);
    struct tr_process_file file = file_named("requirements.txt");
    assert_int_equal(file.bytes.size, 7);
    assert_memory_equal(file.bytes.data, "a==1\nb\n", 7);
    *software = (struct tr_software){.kind = TR_SOFTWARE_CONDA, .file = tr_text_of("sub/own.yml")};
    assert_int_equal(ask("{}", ""), 0);
    expect_words(named);
    assert_int_equal(file_named("requirements.txt").mode, 0);
    *software = (struct tr_software){.kind = TR_SOFTWARE_VENV,
                                     .file = tr_text_of("/etc/needed.txt"),
                                     .python = tr_text_of("python9")};
    assert_int_equal(ask("{}", ""), 0);
    expect_words(absolute);
}

/* Whether a word stands behind another. */
static bool has_pair(struct tr_bytes array, const char *first, const char *second)
{
    struct tr_cursor cursor;
    struct tr_text before = tr_text_of("");
    uint32_t count = tr_process_array_begin(array, &cursor);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes bytes = tr_process_string_next(&cursor);
        struct tr_text word = {.data = (const char *)bytes.data, .size = bytes.size};
        if (tr_text_equal(before, tr_text_of(first)) && tr_text_equal(word, tr_text_of(second))) {
            return true;
        }
        before = word;
    }
    return false;
}

/* The name, behind which a container is found again, is of the attempt's folder. */
static void test_a_container(void **state)
{
    (void)state;
    static const struct tr_text argv[] = {{"tell", 4}, {"me", 2}};
    static const struct tr_text mounts[] = {{"/data", 5}};
    static const struct tr_environment own[] = {{.name = {"OWN", 3}, .value = {"mine", 4}}};
    static const struct tr_secret secrets[] = {
        {.name = {"KEY", 3}, .group = {"own", 3}, .key = {"key", 3}}};
    static const char *const last[] = {"--entrypoint", "tell", "own:1", "me"};
    struct tr_task_template *template = &fake.template;
    template->argv = argv;
    template->argc = 2;
    template->folder = tr_text_of("/flows");
    template->environment = own;
    template->environment_count = 1;
    template->secrets = secrets;
    template->secret_count = 1;
    template->resources.memory_bytes = 64 << 20;
    template->software = (struct tr_software){.kind = TR_SOFTWARE_CONTAINER,
                                              .image = tr_text_of("own:1"),
                                              .mounts = mounts,
                                              .mount_count = 1};
    assert_int_equal(ask("{}", ""), 0);
    assert_string_equal(word_at(run.argv, 1), "/store/attempts/x/x-n-0/setup.sh");
    assert_string_equal(word_at(run.argv, 2), "");
    assert_int_equal(strncmp(word_at(run.argv, 3), "troupe-x-n-0-", 13), 0);
    assert_string_equal(word_at(run.argv, 4), "own:1");
    assert_string_equal(word_at(run.argv, 5), "67108864");
    assert_string_equal(word_at(run.argv, 6), "used its bound of 64 MiB");
    assert_true(has_pair(run.argv, "--mount",
                         "type=bind,source=/store/attempts/x/x-n-0,target=/store/attempts/x/"
                         "x-n-0"));
    assert_true(has_pair(run.argv, "--mount",
                         "type=bind,source=/store/blobs,target=/store/blobs,readonly"));
    assert_true(has_pair(run.argv, "--mount", "type=bind,source=/data,target=/data"));
    assert_true(has_pair(run.argv, "--env", "OWN"));
    assert_true(has_pair(run.argv, "--env", "KEY"));
    assert_false(has_word(run.argv, "PATH"));
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(run.argv, &cursor);
    for (uint32_t i = 0; i < TR_COUNT_OF(last); i++) {
        uint32_t place = count - (uint32_t)TR_COUNT_OF(last) + i;
        assert_string_equal(word_at(run.argv, place), last[i]);
    }
    /* The runtime bounds it, and removes it behind the end. */
    assert_int_equal(run.memory_max, 0);
    assert_string_equal(word_at(run.after, 4), "podman docker");
    assert_string_equal(word_at(run.after, 5), word_at(run.argv, 3));
    assert_true(has_word(run.environment, "DOCKER_HOST"));
    template->software.runtime = tr_text_of("docker");
    assert_int_equal(ask("{}", ""), 0);
    assert_string_equal(word_at(run.argv, 2), "docker");
    assert_string_equal(word_at(run.after, 4), "docker");
    template->software.kind = TR_SOFTWARE_NONE;
    assert_int_equal(ask("{}", ""), 0);
    assert_int_equal(run.memory_max, 64 << 20);
    assert_int_equal(run.after.size, 0);
}

static void test_what_every_task_is_told(void **state)
{
    (void)state;
    static const char *const words[] = {"PATH",
                                        "HOME",
                                        "LANG",
                                        "TRACEPARENT",
                                        "TROUPE_FOLDER=/defined",
                                        "TROUPE_EXECUTION=x",
                                        "TROUPE_NODE=n",
                                        "TROUPE_ATTEMPT=0",
                                        "TROUPE_CHECKPOINT=/store/checkpoints/x/n",
                                        "TROUPE_TMP=/store/attempts/x/x-n-0/tmp",
                                        "TROUPE_PROGRESS=/store/attempts/x/x-n-0/progress",
                                        "TROUPE_INPUTS=/store/attempts/x/x-n-0/inputs.json",
                                        "TROUPE_OUTPUTS=/store/attempts/x/x-n-0/outputs.json",
                                        "TROUPE_ERROR=/store/attempts/x/x-n-0/error.json"};
    struct tr_cursor cursor;
    assert_int_equal(ask("{\"a\": 1}", ""), 0);
    assert_int_equal(tr_process_array_begin(run.environment, &cursor), TR_COUNT_OF(words));
    for (size_t i = 0; i < TR_COUNT_OF(words); i++) {
        assert_true(has_word(run.environment, words[i]));
    }
    assert_true(has_word(run.argv, "true"));
    assert_string_equal(fake_text(run.key), "x-n-0");
    assert_string_equal(fake_text(run.work), "work");
    assert_int_equal(run.stdin_path.size, 0);
    assert_string_equal(fake_text(run.stdout_path), "stdout");
    assert_int_equal(run.grace_ms, 10000);
    assert_int_equal(tr_process_array_begin(run.files, &cursor), 1);
    struct tr_process_file file = tr_process_file_next(&cursor);
    assert_string_equal(fake_text(file.name), "inputs.json");
    assert_memory_equal(file.bytes.data, "{\"a\": 1}", file.bytes.size);
    assert_int_equal(file.mode, 0400);
    assert_true(has_word(run.folders, "tmp"));
    assert_true(has_word(run.folders, "/store/checkpoints/x/n"));
}

static void test_an_element_knows_its_number(void **state)
{
    (void)state;
    fake.identity.element = 17;
    fake.identity.attempt = 2;
    assert_int_equal(ask("{}", ""), 0);
    assert_true(has_word(run.environment, "TROUPE_ELEMENT=17"));
    assert_true(has_word(run.environment, "TROUPE_ATTEMPT=2"));
}

static void test_its_own_environment_wins(void **state)
{
    (void)state;
    const struct tr_environment own[] = {
        {.name = tr_text_of("PATH"), .value = tr_text_of("/bin")},
        {.name = tr_text_of("HOME"), .is_passed_on = true},
        {.name = tr_text_of("TROUPE_NODE"), .value = tr_text_of("mine")}};
    fake.template.environment = own;
    fake.template.environment_count = 3;
    assert_int_equal(ask("{}", ""), 0);
    assert_true(has_word(run.environment, "PATH=/bin"));
    assert_false(has_word(run.environment, "PATH"));
    assert_true(has_word(run.environment, "HOME"));
    assert_true(has_word(run.environment, "TROUPE_NODE=mine"));
    assert_false(has_word(run.environment, "TROUPE_NODE=n"));
}

static void test_pipes_and_large_inputs(void **state)
{
    (void)state;
    struct tr_cursor cursor;
    fake.template.is_stdin_inputs = true;
    fake.template.is_stdout_outputs = true;
    assert_int_equal(ask("{}", ""), 0);
    assert_string_equal(fake_text(run.stdin_path), "inputs.json");
    assert_string_equal(fake_text(run.stdout_path), "outputs.json");
    assert_int_equal(ask("", "/store/blobs/abc"), 0);
    assert_string_equal(fake_text(run.stdin_path), "/store/blobs/abc");
    assert_true(has_word(run.environment, "TROUPE_INPUTS=/store/blobs/abc"));
    assert_int_equal(tr_process_array_begin(run.files, &cursor), 0);
}

static void test_secrets_are_references(void **state)
{
    (void)state;
    const struct tr_secret secrets[] = {{.name = tr_text_of("TOKEN"),
                                         .group = tr_text_of("crm"),
                                         .key = tr_text_of("token"),
                                         .version = tr_text_of("2"),
                                         .is_file = true}};
    struct tr_cursor cursor;
    fake.template.secrets = secrets;
    fake.template.secret_count = 1;
    assert_int_equal(ask("{}", ""), 0);
    assert_int_equal(tr_process_array_begin(run.secrets, &cursor), 1);
    struct tr_process_secret secret = tr_process_secret_next(&cursor);
    assert_string_equal(fake_text(secret.name), "TOKEN");
    assert_string_equal(fake_text(secret.version), "2");
    assert_true(secret.is_file);
}

static void test_no_word_holds_a_zero_byte(void **state)
{
    (void)state;
    static const struct tr_text words[] = {{.data = "a\0b", .size = 3}};
    fake.template.argv = words;
    assert_int_equal(ask("{}", ""), TR_INVALID);
}

static void test_inputs_above_one_document(void **state)
{
    (void)state;
    static char json[TR_PROCESS_DOCUMENT_BYTES_MAX + 2];
    struct tr_bytes document;
    memset(json, ' ', sizeof json - 1);
    fake.inputs_json = json;
    assert_int_equal(tri_process_inputs(&fake.context, TR_DOCUMENT_JSON,
                                        TR_PROCESS_DOCUMENT_BYTES_MAX, &document),
                     TR_LIMIT);
    json[TR_PROCESS_DOCUMENT_BYTES_MAX] = '\0';
    assert_int_equal(tri_process_inputs(&fake.context, TR_DOCUMENT_JSON,
                                        TR_PROCESS_DOCUMENT_BYTES_MAX, &document),
                     0);
}

/* Flyte's inputs lie beside it, or a link with their name leads to them. */
static void test_inputs_in_flytes_form(void **state)
{
    (void)state;
    struct tr_cursor cursor;
    struct tri_process_inputs inputs[TRI_PROCESS_FORMS] = {
        {.is_asked = true, .document = bytes_of("{}")}, {.is_asked = true}};
    fake.template.has_flyte_outputs = true;
    assert_int_equal(tri_process_request(&fake.context, inputs, &run, &problem), 0);
    assert_int_equal(tr_process_array_begin(run.files, &cursor), 2);
    (void)tr_process_file_next(&cursor);
    struct tr_process_file file = tr_process_file_next(&cursor);
    assert_string_equal(fake_text(file.name), "inputs.pb");
    assert_int_equal(file.bytes.size, 0); /* no inputs are a document of no bytes */
    assert_int_equal(tr_process_array_begin(run.results, &cursor), TRI_PROCESS_RESULT_COUNT);
    inputs[TR_DOCUMENT_FLYTE].path = tr_text_of("/store/blobs/abc");
    assert_int_equal(tri_process_request(&fake.context, inputs, &run, &problem), 0);
    assert_int_equal(tr_process_array_begin(run.files, &cursor), 2);
    (void)tr_process_file_next(&cursor);
    file = tr_process_file_next(&cursor);
    assert_true(S_ISLNK(file.mode));
    assert_memory_equal(file.bytes.data, "/store/blobs/abc", file.bytes.size);
}

/* --------------------------------------------------------------- configuration */

static uint8_t packed[256];

/* {KEY: {NAME: number}} */
static struct tr_bytes config(const char *key, const char *name, int64_t number)
{
    struct tr_writer writer = tr_writer_of(packed, sizeof packed);
    tr_write_map(&writer, 1);
    tr_write_text(&writer, tr_text_of(key));
    tr_write_map(&writer, 1);
    tr_write_text(&writer, tr_text_of(name));
    tr_write_i64(&writer, number);
    return (struct tr_bytes){.data = packed, .size = tr_writer_size(&writer)};
}

static void test_limits(void **state)
{
    (void)state;
    struct tr_cursor cursor;
    fake.template.config = config("limits", "open_files", 1024);
    assert_int_equal(ask("{}", ""), 0);
    assert_int_equal(tr_process_array_begin(run.limits, &cursor), 1);
    struct tr_process_limit limit = tr_process_limit_next(&cursor);
    assert_string_equal(fake_text(limit.name), "open_files");
    assert_int_equal(limit.soft, 1024);
    assert_int_equal(limit.hard, 1024);
}

static void refuses(struct tr_bytes bytes, const char *words)
{
    char said[256] = "";
    fake.template.config = bytes;
    assert_int_equal(tri_process_check(&fake.template, said, sizeof said), TR_INVALID);
    assert_string_equal(said, words);
}

static void test_wrong_configurations(void **state)
{
    (void)state;
    static const uint8_t text[] = {0xa1, 'x'};
    refuses(config("limit", "open_files", 1),
            "config: a process task knows only `limits` and `in_doubt`");
    refuses(config("limits", "open_fils", 1),
            "config.limits names what is no limit\nwrite one of: address_space core cpu_seconds "
            "data file_size locked_memory open_files processes stack");
    refuses(config("limits", "open_files", -1),
            "config.limits: each is a name and a number that is not negative");
    refuses((struct tr_bytes){.data = text, .size = sizeof text},
            "config: write a mapping such as {limits: {open_files: 1024}}");
    fake.template.argc = 0;
    refuses((struct tr_bytes){.size = 0}, "run: a process task needs a program to run");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_software),
        TEST(test_a_container),
        TEST(test_what_every_task_is_told),
        TEST(test_an_element_knows_its_number),
        TEST(test_its_own_environment_wins),
        TEST(test_pipes_and_large_inputs),
        TEST(test_secrets_are_references),
        TEST(test_no_word_holds_a_zero_byte),
        TEST(test_inputs_above_one_document),
        TEST(test_limits),
        TEST(test_wrong_configurations),
        TEST(test_inputs_in_flytes_form),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
