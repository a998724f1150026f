/*
 * What a task's process is asked for with: argv, environment, files and what to read at its end.
 *
 * An attempt's folder is STORE/attempts/EXECUTION/GENERATED-NAME: its documents and logs, and below
 * it the empty working folder and TROUPE_TMP.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "plugins/process/process.h"

/* Arrays of a request: a header and nothing more beside their texts. */
#define ARRAY_BYTES 64

/* Words of the environment that every task has, besides its own. */
#define WORDS_MAX (25 + TRI_PROCESS_CLIENT_WORDS)

/* The execution's own name, behind project and domain. */
static struct tr_text execution_name(const struct tr_task_identity *identity)
{
    struct tr_text name = identity->execution;
    for (size_t i = name.size; i > 0; i--) {
        if (name.data[i - 1] == '/') {
            return (struct tr_text){.data = name.data + i, .size = name.size - i};
        }
    }
    return name;
}

/* ------------------------------------------------------------------------- the command */

/* A writer over scratch memory; without memory it has no room, which it says at the end. */
static struct tr_writer writer_new(struct tr_task_context *task, size_t size)
{
    void *buffer = tr_task_scratch(task, size);
    return tr_writer_of(buffer, buffer == NULL ? 0 : size);
}

static struct tr_bytes written(const struct tr_writer *writer)
{
    return (struct tr_bytes){.data = writer->begin, .size = tr_writer_size(writer)};
}

/* No program takes a zero byte in an argument. */
static void write_word(struct tr_writer *writer, struct tr_text word)
{
    if (word.size > 0 && memchr(word.data, 0, word.size) != NULL) {
        tr_writer_fail(writer, TR_INVALID);
    }
    tr_process_string_write(writer, (struct tr_bytes){(const uint8_t *)word.data, word.size});
}

static int write_arguments(struct tr_task_context *task, struct tr_process_run *run)
{
    const struct tr_task_template *template = tr_task_template(task);
    struct tri_process_words before;
    int error = tri_process_software_words(task, &before);
    if (error != 0) {
        return error;
    }
    size_t size = ARRAY_BYTES;
    for (uint32_t i = 0; i < before.count; i++) {
        size += before.items[i].size + ARRAY_BYTES;
    }
    for (uint32_t i = before.replaced; i < template->argc; i++) {
        size += template->argv[i].size + ARRAY_BYTES;
    }
    struct tr_writer writer = writer_new(task, size);
    tr_write_array(&writer, before.count + template->argc - before.replaced);
    for (uint32_t i = 0; i < before.count; i++) {
        write_word(&writer, before.items[i]);
    }
    for (uint32_t i = before.replaced; i < template->argc; i++) {
        write_word(&writer, template->argv[i]);
    }
    run->argv = written(&writer);
    return writer.error;
}

static bool is_container(struct tr_task_context *task)
{
    return tr_task_template(task)->software.kind == TR_SOFTWARE_CONTAINER;
}

/* What removes the container when the attempt has ended. */
static int write_after(struct tr_task_context *task, struct tr_process_run *run)
{
    struct tri_process_words after;
    if (!is_container(task)) {
        return 0;
    }
    int error = tri_process_container_after(task, &after);
    if (error != 0) {
        return error;
    }
    size_t size = ARRAY_BYTES;
    for (uint32_t i = 0; i < after.count; i++) {
        size += after.items[i].size + ARRAY_BYTES;
    }
    struct tr_writer writer = writer_new(task, size);
    tr_write_array(&writer, after.count);
    for (uint32_t i = 0; i < after.count; i++) {
        write_word(&writer, after.items[i]);
    }
    run->after = written(&writer);
    return writer.error;
}

/* By what the keeper knows the warm worker that may fork it. */
static int write_warm(struct tr_task_context *task, struct tr_process_run *run)
{
    struct tri_process_words names;
    int error = tri_process_warm_names(task, &names);
    if (error != 0) {
        return error;
    }
    size_t size = ARRAY_BYTES;
    for (uint32_t i = 0; i < names.count; i++) {
        size += names.items[i].size + ARRAY_BYTES;
    }
    struct tr_writer writer = writer_new(task, size);
    tr_write_array(&writer, names.count);
    for (uint32_t i = 0; i < names.count; i++) {
        write_word(&writer, names.items[i]);
    }
    run->warm = written(&writer);
    return writer.error;
}

/*
 * What Flyte's SDKs look for in their environment beside what they were packaged with. Flyte's
 * names of executions are small letters, digits and -, and its attempts count from 0.
 */
static uint32_t flyte_words(struct tr_task_context *task, struct tr_text *words)
{
    static const char *const names[] = {"PROJECT", "DOMAIN", "ID"};
    const struct tr_task_identity *identity = tr_task_identity(task);
    struct tr_text left = identity->execution;
    uint32_t count = 0;
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        const char *slash = left.size == 0 ? NULL : memchr(left.data, '/', left.size);
        size_t size = slash == NULL ? left.size : (size_t)(slash - left.data);
        words[count] = tr_task_format(task, "FLYTE_INTERNAL_EXECUTION_%s=%.*s", names[i], (int)size,
                                      left.data);
        count++;
        size += slash == NULL ? 0 : 1;
        left = (struct tr_text){.data = left.data + size, .size = left.size - size};
    }
    char *letters = (char *)(uintptr_t)words[count - 1].data;
    for (size_t i = sizeof "FLYTE_INTERNAL_EXECUTION_ID"; i < words[count - 1].size; i++) {
        bool is_large = letters[i] >= 'A' && letters[i] <= 'Z';
        letters[i] = letters[i] == '_' ? '-' : (char)(letters[i] + (is_large ? 'a' - 'A' : 0));
    }
    words[count++] = tr_task_format(task, "FLYTE_ATTEMPT_NUMBER=%u", identity->attempt);
    words[count++] = tr_text_of("FLYTE_PLATFORM_URL"); /* where this engine answers its clients */
    words[count++] = tr_text_of("FLYTE_PLATFORM_INSECURE");
    words[count++] = tr_text_of("FLYTE_CREDENTIALS_AUTH_MODE"); /* and how it shows who it is */
    words[count++] = tr_text_of("FLYTE_CREDENTIALS_COMMAND");
    words[count++] = tr_text_of("TROUPE_TOKEN");
    return count;
}

/* What every task is told about itself. Returns how many words there are. */
static uint32_t own_words(struct tr_task_context *task, struct tr_text folder,
                          struct tr_text inputs, struct tr_text words[WORDS_MAX])
{
    const struct tr_task_identity *identity = tr_task_identity(task);
    const struct tr_task_template *template = tr_task_template(task);
    struct tr_text name = execution_name(identity);
    struct tr_text checkpoints = tr_task_checkpoint_folder(task);
    bool is_file = inputs.size > 0;
    const struct {
        const char *name;
        struct tr_text value;
        const char *below;
    } rows[] = {
        {"TROUPE_FOLDER", template->folder, ""},
        {"TROUPE_EXECUTION", name, ""},
        {"TROUPE_NODE", identity->path, ""},
        {"TROUPE_CHECKPOINT", checkpoints, ""},
        {"TROUPE_TMP", folder, "/" TR_ATTEMPT_TMP},
        {"TROUPE_PROGRESS", folder, "/" TR_ATTEMPT_PROGRESS},
        {"TROUPE_INPUTS", is_file ? inputs : folder, is_file ? "" : "/" TR_PROCESS_INPUTS},
        {"TROUPE_OUTPUTS", folder, "/" TR_PROCESS_OUTPUTS},
        {"TROUPE_ERROR", folder, "/" TR_PROCESS_ERROR},
    };
    uint32_t count = 0;
    words[count++] = tr_text_of("PATH");
    words[count++] = tr_text_of("HOME");
    words[count++] = tr_text_of("LANG");
    words[count++] = tr_text_of("TRACEPARENT"); /* where traces are sent */
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        words[count++] = tr_task_format(task, "%s=%.*s%s", rows[i].name, (int)rows[i].value.size,
                                        rows[i].value.data, rows[i].below);
    }
    words[count++] = tr_task_format(task, "TROUPE_ATTEMPT=%u", identity->attempt);
    if (identity->element != UINT64_MAX) {
        words[count++] =
            tr_task_format(task, "TROUPE_ELEMENT=%llu", (unsigned long long)identity->element);
    }
    if (template->has_flyte_inputs) {
        count += flyte_words(task, words + count);
    }
    if (is_container(task)) {
        count += tri_process_container_words_of_client(words + count);
    }
    TR_ASSERT(count <= WORDS_MAX);
    return count;
}

static struct tr_text environment_word(struct tr_task_context *task,
                                       const struct tr_environment *entry)
{
    if (entry->is_passed_on && entry->value.size == 0) {
        return entry->name;
    }
    return tr_task_format(task, "%.*s=%.*s", (int)entry->name.size, entry->name.data,
                          (int)entry->value.size, entry->value.data);
}

/* Whether the task's own environment says what one of ours would. */
static bool is_overridden(const struct tr_task_template *template, struct tr_text word)
{
    const char *end = memchr(word.data, '=', word.size);
    size_t size = end == NULL ? word.size : (size_t)(end - word.data);
    struct tr_text name = {.data = word.data, .size = size};
    for (uint32_t i = 0; i < template->environment_count; i++) {
        if (tr_text_equal(template->environment[i].name, name)) {
            return true;
        }
    }
    return false;
}

static int write_environment(struct tr_task_context *task, struct tr_text inputs,
                             struct tr_process_run *run)
{
    const struct tr_task_template *template = tr_task_template(task);
    struct tr_text own[WORDS_MAX];
    uint32_t own_count = 0;
    uint32_t all = own_words(task, run->folder, inputs, own);
    size_t size = ARRAY_BYTES;
    for (uint32_t i = 0; i < all; i++) {
        if (!is_overridden(template, own[i])) {
            own[own_count++] = own[i];
            size += own[own_count - 1].size + ARRAY_BYTES;
        }
    }
    for (uint32_t i = 0; i < template->environment_count; i++) {
        size +=
            template->environment[i].name.size + template->environment[i].value.size + ARRAY_BYTES;
    }
    struct tr_writer writer = writer_new(task, size);
    tr_write_array(&writer, own_count + template->environment_count);
    for (uint32_t i = 0; i < own_count; i++) {
        write_word(&writer, own[i]);
    }
    for (uint32_t i = 0; i < template->environment_count; i++) {
        write_word(&writer, environment_word(task, &template->environment[i]));
    }
    run->environment = written(&writer);
    return writer.error;
}

/* ----------------------------------------------------------------- secrets, files, folders */

static int write_secrets(struct tr_task_context *task, struct tr_process_run *run)
{
    const struct tr_task_template *template = tr_task_template(task);
    uint32_t count = template->secret_count;
    size_t size = ARRAY_BYTES;
    struct tr_process_secret *secrets = tr_task_scratch(task, (count + 1) * sizeof *secrets);
    if (secrets == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct tr_secret *secret = &template->secrets[i];
        secrets[i] = (struct tr_process_secret){.name = secret->name,
                                                .group = secret->group,
                                                .key = secret->key,
                                                .version = secret->version,
                                                .is_file = secret->is_file};
        size += secret->name.size + secret->group.size + secret->key.size + secret->version.size +
                ARRAY_BYTES;
    }
    struct tr_writer writer = writer_new(task, size);
    int error = tr_process_secrets_pack(secrets, count, &writer);
    run->secrets = written(&writer);
    return error;
}

int tri_process_inputs(struct tr_task_context *task, enum tr_document_form form, size_t size_max,
                       struct tr_bytes *document)
{
    struct tr_bytes made = {0};
    int error = tr_task_inputs_document(task, form, &made);
    if (error == 0 && made.size > size_max) {
        error = TR_LIMIT;
    }
    if (error == 0) {
        *document = made;
    }
    return error;
}

/*
 * The inputs in each form, unless there is a file of them already: $TROUPE_INPUTS says where that
 * is, and Flyte's, whose name is in the task's command, is a link to it.
 */
static int write_files(struct tr_task_context *task,
                       const struct tri_process_inputs inputs[TRI_PROCESS_FORMS],
                       struct tr_process_run *run)
{
    static const char *const names[] = {
        [TR_DOCUMENT_JSON] = TR_PROCESS_INPUTS, [TR_DOCUMENT_FLYTE] = TR_FLYTE_INPUTS};
    struct tr_process_file files[TRI_PROCESS_FORMS + TRI_PROCESS_SETUP_FILES];
    size_t count = 0;
    size_t size = ARRAY_BYTES;
    int error = tri_process_software_files(task, files, &count);
    if (error != 0) {
        return error;
    }
    for (size_t i = 0; i < count; i++) {
        size += files[i].bytes.size + ARRAY_BYTES;
    }
    for (size_t i = 0; i < TRI_PROCESS_FORMS; i++) {
        struct tr_text path = inputs[i].path;
        bool is_link = path.size > 0;
        if (!inputs[i].is_asked || (is_link && i == TR_DOCUMENT_JSON)) {
            continue;
        }
        struct tr_bytes target = {.data = (const uint8_t *)path.data, .size = path.size};
        files[count++] = (struct tr_process_file){.name = tr_text_of(names[i]),
                                                  .bytes = is_link ? target : inputs[i].document,
                                                  .mode = is_link ? S_IFLNK : 0400};
        size += files[count - 1].bytes.size + ARRAY_BYTES;
    }
    struct tr_writer writer = writer_new(task, size);
    error = tr_process_files_pack(files, count, &writer);
    run->files = written(&writer);
    return error;
}

static int write_folders(struct tr_task_context *task, struct tr_process_run *run)
{
    struct tr_text checkpoints = tr_task_checkpoint_folder(task);
    struct tr_writer writer = writer_new(task, checkpoints.size + 3 * ARRAY_BYTES);
    tr_write_array(&writer, 2);
    tr_write_text(&writer, tr_text_of(TR_ATTEMPT_TMP));
    tr_write_text(&writer, checkpoints);
    run->folders = written(&writer);
    return writer.error;
}

static struct tr_process_result document_result(const char *name)
{
    return (struct tr_process_result){.name = tr_text_of(name),
                                      .size_max = TR_PROCESS_DOCUMENT_BYTES_MAX};
}

static int write_results(struct tr_task_context *task, struct tr_process_run *run)
{
    const struct tr_process_result results[] = {
        [TRI_PROCESS_RESULT_OUTPUTS] = document_result(TR_PROCESS_OUTPUTS),
        [TRI_PROCESS_RESULT_ERROR] = document_result(TR_PROCESS_ERROR),
        [TRI_PROCESS_RESULT_STDOUT] = {.name = tr_text_of(TR_ATTEMPT_STDOUT)},
        [TRI_PROCESS_RESULT_STDERR] = {.name = tr_text_of(TR_ATTEMPT_STDERR),
                                       .size_max = TR_ERROR_OUTPUT_BYTES_MAX,
                                       .is_tail = true},
        [TRI_PROCESS_RESULT_FLYTE_OUTPUTS] = document_result(TR_FLYTE_OUTPUTS),
        [TRI_PROCESS_RESULT_FLYTE_ERROR] = document_result(TR_FLYTE_ERRORS),
        [TRI_PROCESS_RESULT_FLYTE_FUTURES] = document_result(TR_FLYTE_FUTURES),
        [TRI_PROCESS_RESULT_FLYTE_DECK] = {.name = tr_text_of(TR_FLYTE_DECK)},
    };
    const struct tr_task_template *template = tr_task_template(task);
    size_t count =
        template->has_flyte_outputs ? TRI_PROCESS_RESULT_COUNT : TRI_PROCESS_RESULT_FLYTE_OUTPUTS;
    struct tr_writer writer = writer_new(task, 8 * ARRAY_BYTES);
    int error = tr_process_results_pack(results, count, &writer);
    run->results = written(&writer);
    return error;
}

/* -------------------------------------------------------------------------- configuration */

/* Reads one limit; false when it is none. */
static bool read_limit(struct tr_cursor *cursor, struct tr_process_limit *limit)
{
    limit->name = tr_read_text(cursor);
    int64_t value = tr_read_i64(cursor);
    limit->soft = (uint64_t)value;
    limit->hard = (uint64_t)value;
    return cursor->error == 0 && value >= 0;
}

#define LIMITS_MAX 16

#define AND_LIMIT(name, resource) " " name
#define UNKNOWN_LIMIT \
    "config.limits names what is no limit\nwrite one of:" TR_PROCESS_LIMITS(AND_LIMIT)

/* What a task's `config` says. */
struct config {
    struct tr_process_limit limits[LIMITS_MAX];
    uint32_t limit_count;
    bool is_final; /* an attempt of which nobody knows what it has done is not done again */
};

static bool is_limit(struct tr_text name)
{
    static const char *const names[] = {
#define TRI_LIMIT_NAME(limit, resource) (limit),
        TR_PROCESS_LIMITS(TRI_LIMIT_NAME)
#undef TRI_LIMIT_NAME
    };
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        if (tr_text_equal(name, tr_text_of(names[i]))) {
            return true;
        }
    }
    return false;
}

static bool read_limits(struct tr_cursor *cursor, struct config *config, const char **problem)
{
    uint32_t rows = tr_read_map(cursor);
    if (rows > LIMITS_MAX) {
        *problem = "config.limits: too many";
        return false;
    }
    for (config->limit_count = 0; config->limit_count < rows; config->limit_count++) {
        if (!read_limit(cursor, &config->limits[config->limit_count])) {
            *problem = "config.limits: each is a name and a number that is not negative";
            return false;
        }
        if (!is_limit(config->limits[config->limit_count].name)) {
            *problem = UNKNOWN_LIMIT;
            return false;
        }
    }
    return true;
}

static bool read_policy(struct tr_cursor *cursor, struct config *config, const char **problem)
{
    struct tr_text policy = tr_read_text(cursor);
    config->is_final = tr_text_equal(policy, tr_text_of("fail"));
    *problem = "config.in_doubt has to be fail or repeat";
    return cursor->error == 0 && (config->is_final || tr_text_equal(policy, tr_text_of("repeat")));
}

/*
 * Reads {limits: {NAME: NUMBER, ...}, in_doubt: fail|repeat}, or says in `problem` what is wrong.
 */
static bool read_config(struct tr_bytes packed, struct config *config, const char **problem)
{
    struct tr_cursor cursor = tr_cursor_of(packed);
    *config = (struct config){.limit_count = 0};
    if (packed.size == 0) {
        return true;
    }
    uint32_t keys = tr_read_map(&cursor);
    for (uint32_t i = 0; i < keys && cursor.error == 0; i++) {
        struct tr_text key = tr_read_text(&cursor);
        bool is_limits = tr_text_equal(key, tr_text_of("limits"));
        bool is_policy = tr_text_equal(key, tr_text_of("in_doubt"));
        *problem = "config: a process task knows only `limits` and `in_doubt`";
        if (!(is_limits ? read_limits(&cursor, config, problem)
                        : is_policy && read_policy(&cursor, config, problem))) {
            return false;
        }
    }
    *problem = "config: write a mapping such as {limits: {open_files: 1024}}";
    return cursor.error == 0;
}

bool tri_process_may_repeat(struct tr_task_context *task)
{
    struct config config;
    const char *words;
    return read_config(tr_task_template(task)->config, &config, &words) && !config.is_final;
}

bool tri_process_has_limits(struct tr_task_context *task)
{
    struct config config;
    const char *words;
    return read_config(tr_task_template(task)->config, &config, &words) && config.limit_count > 0;
}

int tri_process_check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    struct config config;
    const char *words = "";
    if (task->argc == 0) {
        snprintf(problem, problem_size, "run: a process task needs a program to run");
        return TR_INVALID;
    }
    if (!read_config(task->config, &config, &words)) {
        snprintf(problem, problem_size, "%s", words);
        return TR_INVALID;
    }
    return 0;
}

static int write_limits(struct tr_task_context *task, struct tr_process_run *run,
                        struct tr_text *problem)
{
    struct config config;
    const char *words = "";
    if (!read_config(tr_task_template(task)->config, &config, &words)) {
        *problem = tr_text_of(words);
        return TR_INVALID;
    }
    struct tr_writer writer = writer_new(task, ARRAY_BYTES * (config.limit_count + 1) * 2);
    int error = tr_process_limits_pack(config.limits, config.limit_count, &writer);
    run->limits = written(&writer);
    return error;
}

/* ------------------------------------------------------------------------------ all of it */

int tri_process_request(struct tr_task_context *task,
                        const struct tri_process_inputs inputs[TRI_PROCESS_FORMS],
                        struct tr_process_run *run, struct tr_text *problem)
{
    struct tr_text file = inputs[TR_DOCUMENT_JSON].path;
    struct tr_text stdin_path = file.size > 0 ? file : tr_text_of(TR_PROCESS_INPUTS);
    const struct tr_task_template *template = tr_task_template(task);
    int64_t grace_ms = template->grace_ns / 1000000;
    *run = (struct tr_process_run){
        .key = tr_task_identity(task)->generated_name,
        .folder = tr_task_attempt_folder(task),
        .work = tr_text_of(TR_ATTEMPT_WORK),
        .stdin_path = template->is_stdin_inputs ? stdin_path : tr_text_of(""),
        .stdout_path =
            tr_text_of(template->is_stdout_outputs ? TR_PROCESS_OUTPUTS : TR_ATTEMPT_STDOUT),
        .stderr_path = tr_text_of(TR_ATTEMPT_STDERR),
        .grace_ms = grace_ms < UINT32_MAX ? (uint32_t)grace_ms : UINT32_MAX - 1,
        .memory_max = is_container(task) ? 0 : template->resources.memory_bytes,
    };
    int error = run->folder.data == NULL ? TR_MEMORY : write_arguments(task, run);
    if (error != 0) {
        return error;
    }
    error = write_after(task, run);
    if (error != 0) {
        return error;
    }
    error = write_warm(task, run);
    if (error != 0) {
        return error;
    }
    error = write_environment(task, file, run);
    if (error != 0) {
        return error;
    }
    error = write_secrets(task, run);
    if (error != 0) {
        return error;
    }
    error = write_files(task, inputs, run);
    if (error != 0) {
        return error;
    }
    error = write_folders(task, run);
    if (error != 0) {
        return error;
    }
    error = write_results(task, run);
    return error != 0 ? error : write_limits(task, run, problem);
}
