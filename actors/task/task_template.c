/*
 * What a plugin is told of its task: the template with the node's overrides, filled in.
 * It is made when it is first asked for in a handling.
 *
 * What is not to be filled in is handed over as the graph has it, without a copy. Errors of filling
 * are of two kinds: words for people, which fail the task (template_problem), and a lack of memory,
 * which fails the handler.
 */
#include <stdio.h>
#include <string.h>

#include "actors/task/task.h"
#include "actors/values/template_fill.h"
#include "schemas/runtime/process.h"

/* The last attempt that the system's budget allows is not one that may be interrupted (Flyte). */
static bool is_interruptible(const struct tri_task *task)
{
    uint32_t budget = task->engine->system_retries;
    uint8_t wish = task->start.interruptible;
    bool may_be = wish == TR_CHOICE_OPEN ? task->settings->is_interruptible : wish == TR_CHOICE_YES;
    return may_be && (budget == 0 || task->state->system_failures < budget);
}

/* ------------------------------------------------------------------ folders */

static struct tr_text store_of(const struct tri_task *task)
{
    const char *folder = task->engine->store_folder;
    return tr_text_of(folder == NULL ? "" : folder);
}

/*
 * Each attempt has a folder of its own, so what an earlier one still writes cannot reach it.
 * Checkpoints are the task's: the next attempt goes on from them.
 */
struct tr_text tri_task_attempt_folder(struct tri_task *task)
{
    const struct tr_task_identity *identity = tri_task_identity(task);
    return tr_arena_print(&task->arena, "%.*s/attempts/%.*s/%.*s", TRI_TEXT(store_of(task)),
                          TRI_TEXT(identity->execution), TRI_TEXT(identity->generated_name));
}

struct tr_text tri_task_attempt_name(struct tri_task *task)
{
    const struct tr_task_identity *identity = tri_task_identity(task);
    return tr_arena_print(&task->arena, "%.*s/%.*s", TRI_TEXT(identity->execution),
                          TRI_TEXT(identity->generated_name));
}

/*
 * A path of nodes without the brackets of elements, which programs take for a pattern of names:
 * @3 in the place of [3].
 */
static struct tr_text plain_path(struct tri_task *task, struct tr_text path)
{
    char *plain = tr_arena_alloc(&task->arena, path.size + 1);
    size_t size = 0;
    for (size_t i = 0; plain != NULL && i < path.size; i++) {
        if (path.data[i] != ']') {
            plain[size++] = path.data[i] == '[' ? '@' : path.data[i];
        }
    }
    return (struct tr_text){.data = plain, .size = size};
}

struct tr_text tri_task_checkpoint_folder(struct tri_task *task)
{
    const struct tr_task_identity *identity = tri_task_identity(task);
    char element[32] = "";
    if (identity->element != TR_ELEMENT_NONE) {
        snprintf(element, sizeof element, "@%llu", (unsigned long long)identity->element);
    }
    /* Below a dynamic node lie others, and its folder is removed before they have ended. */
    const char *own = tri_task_is_dynamic(task) ? "@" : "";
    return tr_arena_print(&task->arena, "%.*s/" TR_STORE_CHECKPOINTS "/%.*s/%.*s%s%s",
                          TRI_TEXT(store_of(task)), TRI_TEXT(identity->execution),
                          TRI_TEXT(plain_path(task, identity->path)), element, own);
}

/* ---------------------------------------------------------------- templates */

/* Of a handling whose template has something to be filled in. */
struct filling {
    struct tri_task *task;
    struct tr_template_values values;
    struct tr_template_problem problem;
    int error;
};

/*
 * The generated name as an identifier: letters and digits, a letter first. The room has one byte
 * more, in which the letter stands if the name begins with none.
 */
static struct tr_text unique_key(struct tri_task *task)
{
    struct tr_text name = tri_task_identity(task)->generated_name;
    char *key = tr_arena_alloc(&task->arena, name.size + 2);
    if (key == NULL) {
        return tr_text_of("");
    }
    key[0] = 'a';
    for (size_t i = 0; i < name.size; i++) {
        key[i + 1] = name.data[i] == '-' ? '_' : name.data[i];
    }
    bool is_letter = name.size > 0 && name.data[0] >= 'a' && name.data[0] <= 'z';
    return (struct tr_text){.data = key + (is_letter ? 1 : 0), .size = name.size + !is_letter};
}

/* PROJECT-DOMAIN, from PROJECT/DOMAIN/NAME. */
static struct tr_text namespace_of(struct tri_task *task)
{
    struct tr_text name = tri_task_identity(task)->execution;
    const char *first = memchr(name.data, '/', name.size);
    const char *last = memrchr(name.data, '/', name.size);
    return first == NULL || first == last
               ? tr_text_of("")
               : tr_arena_print(&task->arena, "%.*s-%.*s", (int)(first - name.data), name.data,
                                (int)(last - first) - 1, first + 1);
}

/* A folder that nobody else has, in the attempt's own or under the prefix that its plan names. */
static struct tr_text raw_output_prefix(struct tri_task *task)
{
    struct tr_text prefix = task->start.raw_output_prefix;
    while (prefix.size > 1 && prefix.data[prefix.size - 1] == '/') {
        prefix.size--;
    }
    return prefix.size == 0
               ? tr_arena_print(&task->arena, "%.*s/work", TRI_TEXT(tri_task_attempt_folder(task)))
               : tr_arena_print(&task->arena, "%.*s/%.*s", TRI_TEXT(prefix),
                                TRI_TEXT(tri_task_attempt_name(task)));
}

static void set_values(struct filling *filling)
{
    struct tri_task *task = filling->task;
    struct tr_template_values *values = &filling->values;
    struct tr_text folder = tri_task_attempt_folder(task);
    struct tr_text checkpoints = tri_task_checkpoint_folder(task);
    bool is_first = task->state->attempt == 0;
    values->inputs = &task->task->interface.inputs;
    values->names[TR_TEMPLATE_INPUT] =
        tr_arena_print(&task->arena, "%.*s/" TR_FLYTE_INPUTS, TRI_TEXT(folder));
    values->names[TR_TEMPLATE_INPUT_PREFIX] = folder;
    values->names[TR_TEMPLATE_OUTPUT_PREFIX] = folder;
    values->names[TR_TEMPLATE_RAW_OUTPUT_PREFIX] = raw_output_prefix(task);
    values->names[TR_TEMPLATE_UNIQUE_KEY] = unique_key(task);
    values->names[TR_TEMPLATE_CHECKPOINT_PREFIX] = checkpoints;
    values->names[TR_TEMPLATE_PREVIOUS_CHECKPOINT] =
        is_first ? TRI_LITERAL_TEXT("\"\"") : checkpoints;
    values->names[TR_TEMPLATE_NAMESPACE] = namespace_of(task);
    values->names[TR_TEMPLATE_CODE_FOLDER] =
        tr_arena_print(&task->arena, "%.*s/" TR_STORE_CODE, TRI_TEXT(store_of(task)));
    filling->error = tri_task_inputs(task, &values->slots);
}

/* What was filled in, in the handling's memory; an error is noted. */
static struct tr_bytes take_filled(struct filling *filling, struct tr_buffer *buffer, int error)
{
    struct tr_bytes kept = {.size = 0};
    if (error == 0) {
        kept = tr_arena_bytes(&filling->task->arena, tr_buffer_bytes(buffer));
        error = filling->task->arena.error;
    }
    filling->error = filling->error != 0 ? filling->error : error;
    tr_buffer_fini(buffer);
    return kept;
}

static struct tr_text fill_text(struct filling *filling, struct tr_text text)
{
    struct tr_buffer buffer;
    if (filling->error != 0 || !tr_template_is_in(text.data, text.size)) {
        return text;
    }
    tr_buffer_init(&buffer, TR_MESSAGE_BYTES_MAX);
    int error = tr_template_fill(&filling->values, text, &buffer, &filling->problem);
    struct tr_bytes filled = take_filled(filling, &buffer, error);
    return (struct tr_text){.data = (const char *)filled.data, .size = filled.size};
}

static bool begins_with(struct tr_text text, const char *beginning)
{
    size_t size = strlen(beginning);
    return text.size >= size && memcmp(text.data, beginning, size) == 0;
}

/* `./` and `../` count from the definition's folder; joined, so that links stay as they are. */
static struct tr_text fill_argument(struct filling *filling, struct tr_text word)
{
    struct tr_text folder = filling->task->task->folder;
    struct tr_text filled = fill_text(filling, word);
    if (begins_with(word, "./")) {
        return tr_arena_print(&filling->task->arena, "%.*s/%.*s", TRI_TEXT(folder),
                              (int)filled.size - 2, filled.data + 2);
    }
    if (begins_with(word, "../")) {
        return tr_arena_print(&filling->task->arena, "%.*s/%.*s", TRI_TEXT(folder),
                              TRI_TEXT(filled));
    }
    return filled;
}

static bool is_plain_argument(struct tr_text word)
{
    return !begins_with(word, "./") && !begins_with(word, "../") &&
           !tr_template_is_in(word.data, word.size);
}

/* Copies the words only if one of them is to be filled in. */
static void fill_argv(struct filling *filling, struct tr_task_template *template)
{
    uint32_t plain = 0;
    while (plain < template->argc && is_plain_argument(template->argv[plain])) {
        plain++;
    }
    if (plain == template->argc) {
        return;
    }
    struct tr_text *argv = tr_arena_array(&filling->task->arena, template->argc, sizeof *argv);
    for (uint32_t i = 0; argv != NULL && i < template->argc; i++) {
        argv[i] = fill_argument(filling, template->argv[i]);
    }
    template->argv = argv != NULL ? argv : template->argv;
}

static void fill_environment(struct filling *filling, struct tr_task_template *template)
{
    uint32_t count = template->environment_count;
    struct tr_environment *environment =
        tr_arena_array(&filling->task->arena, count, sizeof *environment);
    for (uint32_t i = 0; environment != NULL && i < count; i++) {
        environment[i] = template->environment[i];
        environment[i].value = fill_text(filling, environment[i].value);
    }
    template->environment = environment != NULL ? environment : template->environment;
}

static void fill_config(struct filling *filling, struct tr_task_template *template)
{
    struct tr_buffer buffer;
    if (filling->error != 0 || !tr_template_is_in(template->config.data, template->config.size)) {
        return;
    }
    tr_buffer_init(&buffer, TR_MESSAGE_BYTES_MAX);
    int error =
        tr_template_fill_value(&filling->values, template->config, &buffer, &filling->problem);
    template->config = take_filled(filling, &buffer, error);
}

/* ------------------------------------------------------------- Flyte's documents */

#define FLYTES_INPUTS (1U << TR_TEMPLATE_INPUT | 1U << TR_TEMPLATE_INPUT_PREFIX)

bool tri_task_is_flytes(const struct tri_task *task)
{
    const struct tr_task_template command = {.argv = task->task->argv, .argc = task->task->argc};
    return (tr_template_names_of(&command) & FLYTES_INPUTS) != 0;
}

/* A task whose template names Flyte's documents gets them, where its plugin has any. */
static void ask_documents(struct tri_task *task)
{
    uint32_t names = tr_template_names_of(&task->template);
    bool has_input = (names & 1U << TR_TEMPLATE_INPUT) != 0;
    bool has_any = task->plugin != NULL && tr_plugin_has_documents(task->plugin);
    task->template.has_flyte_inputs = has_any && (names & FLYTES_INPUTS) != 0;
    task->template.has_flyte_outputs = has_any && (names & 1U << TR_TEMPLATE_OUTPUT_PREFIX) != 0;
    if (has_input && !has_any) {
        task->template_problem = TRI_LITERAL_TEXT(TR_TEMPLATE_NO_DOCUMENT);
    }
}

/* Whether anything in it is no plain text. */
static bool has_templates(const struct tr_task_template *template)
{
    bool has = tr_template_is_in(template->config.data, template->config.size);
    for (uint32_t i = 0; i < template->argc && !has; i++) {
        has = !is_plain_argument(template->argv[i]);
    }
    for (uint32_t i = 0; i < template->environment_count && !has; i++) {
        struct tr_text value = template->environment[i].value;
        has = tr_template_is_in(value.data, value.size);
    }
    return has;
}

static void fill(struct tri_task *task)
{
    struct filling filling = {.task = task};
    ask_documents(task);
    set_values(&filling);
    fill_argv(&filling, &task->template);
    fill_environment(&filling, &task->template);
    fill_config(&filling, &task->template);
    if (filling.error == TR_INVALID) {
        task->template_problem = tr_arena_print(&task->arena, "%s", filling.problem.words);
    } else if (filling.error == TR_LIMIT) {
        task->template_problem =
            TRI_LITERAL_TEXT("with its templates filled in it is more than one message takes");
    } else if (filling.error != 0) {
        task->failure = task->failure != 0 ? task->failure : filling.error;
    }
}

/* ------------------------------------------------------------- of a launch plan */

/*
 * Variables that the launch plan gives all tasks win over the task's own, and are taken as they
 * are. A damaged list cannot be: the launcher has made it.
 */
static void add_run_environment(struct tri_task *task)
{
    struct tr_task_template *template = &task->template;
    struct tr_cursor cursor = tr_cursor_of(task->start.environment);
    bool is_none = task->start.environment.size == 0 || tr_read_nil(&cursor);
    uint32_t given = is_none ? 0 : tr_read_array(&cursor) / 2;
    uint32_t count = template->environment_count;
    struct tr_environment *all =
        given == 0 ? NULL : tr_arena_array(&task->arena, count + given, sizeof *all);
    if (all == NULL) {
        return;
    }
    memcpy(all, template->environment, count * sizeof *all);
    for (uint32_t i = 0; i < given; i++) {
        struct tr_text name = tr_read_text(&cursor);
        uint32_t at = 0;
        while (at < count && !tr_text_equal(all[at].name, name)) {
            at++;
        }
        all[at] = (struct tr_environment){.name = name, .value = tr_read_text(&cursor)};
        count += at == count ? 1 : 0;
    }
    template->environment = all;
    template->environment_count = count;
}

/* ----------------------------------------------------------------- all of it */

const struct tr_task_template *tri_task_template(struct tri_task *task)
{
    if (task->has_template) {
        return &task->template;
    }
    const struct tr_task *of = task->task;
    const struct tr_settings *settings = task->settings;
    task->has_template = true;
    task->template = (struct tr_task_template){
        .name = of->name,
        .type = of->type,
        .folder = of->folder,
        .argv = of->argv,
        .argc = of->argc,
        .is_stdin_inputs = of->is_stdin_inputs,
        .is_stdout_outputs = of->is_stdout_outputs,
        .is_interruptible = is_interruptible(task),
        .timeout_ns = settings->timeout_ns,
        .grace_ns = settings->grace_ns,
        .resources = settings->resources,
        .environment = settings->environment,
        .environment_count = settings->environment_count,
        .secrets = settings->secrets,
        .secret_count = settings->secret_count,
        .config = settings->config,
        .software = settings->software,
        .output_count = of->interface.outputs.count,
        .input_count = of->interface.inputs.count,
        .is_dynamic = tri_task_is_dynamic(task),
        .extra = of->extra,
        .node_extra = task->node->extra,
    };
    if (has_templates(&task->template)) {
        fill(task);
    }
    add_run_environment(task);
    return &task->template;
}

int tri_task_fence(struct tri_task *task, struct tr_text *folder, uint32_t *trusted_bytes)
{
    int error = task->plugin->is_local ? 0 : tri_task_note(task, false);
    if (error == 0 && !task->plugin->is_local) {
        *folder = task->note.folder;
        *trusted_bytes = task->state->trusted_bytes;
    }
    return error;
}
