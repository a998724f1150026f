/*
 * Tasks say in their variables where flytekit's programs and their modules are found (PATH and
 * PYTHONPATH). Those that say the same are one question to the Python beside that program, which a
 * process answers in lines: what flytekit it has, and what it could not import.
 */
#include "deploy/flyte/python.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actors/graph/compiled/pack.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/process.h"

extern char **environ;

/*
 * Answers are lines of words between tabs; what modules print goes elsewhere, and so do the
 * temporary folders that flytekit makes when it is imported, and leaves.
 */
static const char script[] =
    "import os, shutil, sys, tempfile\n"
    "tempfile.tempdir = tempfile.mkdtemp(prefix='troupe-')\n"
    "def end():\n"
    "    shutil.rmtree(tempfile.tempdir, ignore_errors=True)\n"
    "    os._exit(0)\n"
    "out = os.fdopen(os.dup(1), 'w')\n"
    "os.dup2(2, 1)\n"
    "def say(*words):\n"
    "    print(*(' '.join(str(word).split()) for word in words), sep='\\t', file=out, flush=True)\n"
    "try:\n"
    "    import flytekit\n"
    "    say('version', flytekit.__version__)\n"
    "except ImportError as error:\n"
    "    say('flytekit', error.name or '', error)\n"
    "    end()\n"
    "import importlib\n"
    "for name in sys.argv[1:]:\n"
    "    try:\n"
    "        importlib.import_module(name)\n"
    "    except ImportError as error:\n"
    "        say('module', name, error.name or '', error)\n"
    "    except BaseException:\n"
    "        pass\n"
    "say('end')\n"
    "end()\n";

/* Words before the modules: python -c SCRIPT. */
#define WORDS 3

/* Bytes of an answer. */
#define ANSWER_BYTES (1U << 16)

/* Tasks that are found by the same variables, and their modules. */
struct question {
    struct tr_text path;
    struct tr_text python_path;
    struct tri_vector modules; /* char * */
    char python[PATH_MAX];     /* beside flytekit's programs */
};

struct asking {
    const char *store;
    struct tr_report *report;
    struct tr_arena arena;
    struct tri_vector questions; /* struct question */
};

/* ------------------------------------------------------------------ what is asked */

/* What is passed on from the engine this process has, too. */
static struct tr_text variable_of(const struct tr_settings *settings, const char *name)
{
    for (uint32_t i = 0; i < settings->environment_count; i++) {
        const struct tr_environment *own = &settings->environment[i];
        if (tr_text_equal(own->name, tr_text_of(name)) &&
            (!own->is_passed_on || own->value.size > 0)) {
            return own->value;
        }
    }
    const char *value = getenv(name);
    return tr_text_of(value == NULL ? "" : value);
}

static struct question *question_of(struct asking *asking, const struct tr_settings *settings)
{
    struct tr_text path = variable_of(settings, "PATH");
    struct tr_text python_path = variable_of(settings, "PYTHONPATH");
    struct question *questions = asking->questions.items;
    for (uint32_t i = 0; i < asking->questions.count; i++) {
        if (tr_text_equal(questions[i].path, path) &&
            tr_text_equal(questions[i].python_path, python_path)) {
            return &questions[i];
        }
    }
    struct question *added = tri_vector_add(&asking->arena, &asking->questions, sizeof *added);
    if (added != NULL) {
        *added = (struct question){.path = path, .python_path = python_path};
    }
    return added;
}

/* A module once: the arguments of flytekit's tasks end with task-module MODULE task-name NAME. */
static void add_module(struct asking *asking, struct question *question, const struct tr_task *task)
{
    const char *const *known = question->modules.items;
    struct tr_text module = tr_text_of("");
    for (uint32_t i = 0; i + 1 < task->argc; i++) {
        if (tr_text_equal(task->argv[i], tr_text_of("task-module"))) {
            module = task->argv[i + 1];
        }
    }
    bool is_known = module.size == 0;
    for (uint32_t i = 0; !is_known && i < question->modules.count; i++) {
        is_known = tr_text_equal(tr_text_of(known[i]), module);
    }
    const char **added =
        is_known ? NULL : tri_vector_add(&asking->arena, &question->modules, sizeof(char *));
    if (added != NULL) {
        *added = tr_arena_print(&asking->arena, "%.*s", TRI_TEXT(module)).data;
    }
}

static void gather_task(struct asking *asking, const struct tr_task *task,
                        const struct tr_settings *settings)
{
    bool is_flytekits =
        task->argc > 0 && tr_text_equal(task->argv[0], tr_text_of(TR_PYTHON_EXECUTE));
    struct question *question = is_flytekits ? question_of(asking, settings) : NULL;
    if (question != NULL) {
        add_module(asking, question, task);
    }
}

/* Nodes may have other images than their tasks. */
static void gather_nodes(struct asking *asking, const struct tr_graph *graph,
                         const struct tr_workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        const struct tr_node *node = &workflow->nodes[i];
        if (node->settings != NULL && node->target_kind == TR_TARGET_TASK) {
            gather_task(asking, &graph->tasks[node->target], node->settings);
        }
    }
}

static void gather(struct asking *asking, const struct tr_graph *graph)
{
    for (uint32_t i = 0; i < graph->task_count; i++) {
        gather_task(asking, &graph->tasks[i], &graph->tasks[i].settings);
    }
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        gather_nodes(asking, graph, &graph->workflows[i]);
    }
}

static bool is_program(char path[PATH_MAX], struct tr_text folder, const char *name)
{
    int size = snprintf(path, PATH_MAX, "%.*s/%s", TRI_TEXT(folder), name);
    return size > 0 && size < PATH_MAX && access(path, X_OK) == 0;
}

/* Finds the Python of the first folder that has flytekit's program. False: none has it. */
static bool find_python(struct question *question)
{
    struct tr_text rest = question->path;
    char path[PATH_MAX];
    while (rest.size > 0) {
        const char *colon = memchr(rest.data, ':', rest.size);
        size_t size = colon == NULL ? rest.size : (size_t)(colon - rest.data);
        struct tr_text folder = {.data = rest.data, .size = size};
        if (is_program(path, folder, TR_PYTHON_EXECUTE)) {
            if (!is_program(question->python, folder, "python") &&
                !is_program(question->python, folder, "python3")) {
                question->python[0] = '\0';
            }
            return true;
        }
        size += size < rest.size ? 1 : 0;
        rest = (struct tr_text){.data = rest.data + size, .size = rest.size - size};
    }
    return false;
}

/* ------------------------------------------------------------------ what was asked before */

/*
 * The file that notes a good answer: named by all that was asked, and by when the environment was
 * changed last. It begins with a point, so that backups leave it and pruning takes it by its age.
 */
static int note_path(const struct asking *asking, const struct question *question,
                     char path[PATH_MAX])
{
    struct stat status = {.st_mtim = {.tv_sec = 0}};
    struct tr_buffer words;
    uint8_t digest[TR_GRAPH_HASH_BYTES];
    char hex[2 * TR_GRAPH_HASH_BYTES + 1];
    const char *const *modules = question->modules.items;
    tr_buffer_init(&words, 0);
    (void)stat(question->python, &status);
    tr_buffer_print(&words, "%s\n%lld\n%.*s\n", question->python, (long long)status.st_mtim.tv_sec,
                    TRI_TEXT(question->python_path));
    for (uint32_t i = 0; i < question->modules.count; i++) {
        tr_buffer_print(&words, "%s\n", modules[i]);
    }
    tr_digest(tr_buffer_bytes(&words), digest);
    int error = words.error;
    tr_buffer_fini(&words);
    for (size_t i = 0; i < sizeof digest; i++) {
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
    int size = snprintf(path, PATH_MAX, "%s/" TR_STORE_CODE "/.checked-%s", asking->store, hex);
    return error != 0 ? error : size < 0 || size >= PATH_MAX ? TR_LIMIT : 0;
}

/* Without the note it is asked again, so that nothing has to go well here. */
static void take_note(const char *store, const char *path)
{
    char folder[PATH_MAX];
    int size = snprintf(folder, sizeof folder, "%s/" TR_STORE_CODE, store);
    if (size > 0 && (size_t)size < sizeof folder && (mkdir(folder, 0755) == 0 || errno == EEXIST)) {
        int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file >= 0) {
            (void)close(file);
        }
    }
}

/* ------------------------------------------------------------------ asking */

/* Our environment with the two variables; the store's code is where it is on this machine. */
static char **environment_of(struct asking *asking, const struct question *question)
{
    static const char code[] = "{{.codeFolder}}";
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **made = tr_arena_array(&asking->arena, count + 3, sizeof(char *));
    size_t kept = 0;
    for (size_t i = 0; made != NULL && i < count; i++) {
        bool is_ours =
            strncmp(environ[i], "PATH=", 5) == 0 || strncmp(environ[i], "PYTHONPATH=", 11) == 0;
        if (!is_ours) {
            made[kept++] = environ[i];
        }
    }
    struct tr_text rest = question->python_path;
    size_t lead = sizeof code - 1;
    bool is_stores = rest.size > lead && memcmp(rest.data, code, lead) == 0;
    if (is_stores) {
        rest = (struct tr_text){.data = rest.data + lead, .size = rest.size - lead};
    }
    struct tr_text python_path =
        tr_arena_print(&asking->arena, "PYTHONPATH=%s%s%.*s", is_stores ? asking->store : "",
                       is_stores ? "/" TR_STORE_CODE : "", TRI_TEXT(rest));
    struct tr_text path = tr_arena_print(&asking->arena, "PATH=%.*s", TRI_TEXT(question->path));
    if (asking->arena.error != 0) {
        return NULL;
    }
    made[kept++] = (char *)(uintptr_t)path.data;
    made[kept++] = (char *)(uintptr_t)python_path.data;
    made[kept] = NULL;
    return made;
}

static char **words_of(struct asking *asking, const struct question *question)
{
    uint32_t count = question->modules.count;
    char *const *modules = question->modules.items;
    char **words = tr_arena_array(&asking->arena, WORDS + count + 1, sizeof(char *));
    if (words == NULL) {
        return NULL;
    }
    words[0] = (char *)(uintptr_t)question->python;
    words[1] = (char *)(uintptr_t) "-c";
    words[2] = (char *)(uintptr_t)script;
    for (uint32_t i = 0; i < count; i++) {
        words[WORDS + i] = modules[i];
    }
    words[WORDS + count] = NULL;
    return words;
}

/* Starts it in a group of its own, which is ended as a whole; it writes into the pipe's end. */
static int start(const struct question *question, char *const *words, char *const *environment,
                 int output, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&files) != 0) {
        return TR_MEMORY;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return TR_MEMORY;
    }
    int number = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    number = number != 0 ? number : posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    number = number != 0 ? number
                         : posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null",
                                                            O_WRONLY, 0);
    number = number != 0 ? number : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    number = number != 0
                 ? number
                 : posix_spawn(pid, question->python, &files, &attributes, words, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    errno = number;
    return number == 0 ? 0 : TR_SYSTEM;
}

/* Reads until the end, or until nothing more has come for too long. */
static size_t read_answer(int input, char *answer, size_t room)
{
    struct pollfd waiting = {.fd = input, .events = POLLIN};
    size_t size = 0;
    ssize_t count = 1;
    while (count > 0 && size + 1 < room && poll(&waiting, 1, TR_PYTHON_CHECK_MS) > 0) {
        count = read(input, answer + size, room - 1 - size);
        size += count > 0 ? (size_t)count : 0;
    }
    answer[size] = '\0';
    return size;
}

static int ask(struct asking *asking, const struct question *question, char *answer)
{
    char **words = words_of(asking, question);
    char **environment = environment_of(asking, question);
    int ends[2];
    pid_t pid = 0;
    if (words == NULL || environment == NULL) {
        return TR_MEMORY;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return TR_SYSTEM;
    }
    int error = start(question, words, environment, ends[1], &pid);
    (void)close(ends[1]);
    if (error == 0) {
        (void)read_answer(ends[0], answer, ANSWER_BYTES);
        (void)kill(-pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    (void)close(ends[0]);
    return error;
}

/* ------------------------------------------------------------------ what is answered */

static void tell(struct asking *asking, const char *subject, const char *words, const char *remedy)
{
    struct tr_text before = tri_report_subject(asking->report, tr_text_of(subject));
    tri_report_add(asking->report, (struct tri_place){0}, NULL, "%s\n%s", words, remedy);
    (void)tri_report_subject(asking->report, before);
}

/* Whether a module is the other one, or a package around it. */
static bool is_around(const char *outer, const char *module)
{
    size_t size = strlen(outer);
    return size > 0 && strncmp(outer, module, size) == 0 &&
           (module[size] == '\0' || module[size] == '.');
}

static void take_module(struct asking *asking, const struct question *question, char *rest)
{
    const char *module = strsep(&rest, "\t");
    const char *missing = rest == NULL ? "" : strsep(&rest, "\t");
    char words[1024];
    char remedy[PATH_MAX + 256];
    if (is_around(missing, module)) {
        snprintf(words, sizeof words, "%.400s does not find the module of its tasks",
                 question->python);
        snprintf(remedy, sizeof remedy,
                 "package it with --fast, or give the folder with its modules: --code FOLDER");
    } else {
        snprintf(words, sizeof words, "%.400s cannot import the module: %.400s", question->python,
                 rest == NULL ? "" : rest);
        snprintf(remedy, sizeof remedy, "install what it needs: %s -m pip install %.100s",
                 question->python, missing[0] == '\0' ? "PACKAGE" : missing);
    }
    tell(asking, module, words, remedy);
}

static void take_flytekit(struct asking *asking, const struct question *question, char *rest)
{
    char words[1024];
    char remedy[PATH_MAX + 256];
    (void)strsep(&rest, "\t");
    snprintf(words, sizeof words, "%.400s cannot import flytekit: %.400s", question->python,
             rest == NULL ? "" : rest);
    snprintf(remedy, sizeof remedy, "install it there: %s -m pip install flytekit",
             question->python);
    tell(asking, "", words, remedy);
}

/* Of Flyte 2 there is another SDK, whose tasks are not run so. */
static void take_version(struct asking *asking, const struct question *question, const char *rest)
{
    char words[1024];
    char remedy[PATH_MAX + 256];
    bool is_first = strncmp(rest, "1.", 2) == 0 || strncmp(rest, "0.0", 3) == 0;
    if (!is_first) {
        snprintf(words, sizeof words, "%.400s has flytekit %.60s, which is not that of Flyte 1",
                 question->python, rest);
        snprintf(remedy, sizeof remedy, "install that: %s -m pip install 'flytekit<2'",
                 question->python);
        tell(asking, "", words, remedy);
    }
}

/* Whether the answer is whole. */
static bool take_answer(struct asking *asking, const struct question *question, char *answer)
{
    bool is_whole = false;
    char *line = strsep(&answer, "\n");
    for (; line != NULL; line = answer == NULL ? NULL : strsep(&answer, "\n")) {
        const char *kind = strsep(&line, "\t");
        is_whole = is_whole || strcmp(kind, "end") == 0;
        if (line == NULL) {
            continue;
        }
        if (strcmp(kind, "module") == 0) {
            take_module(asking, question, line);
        } else if (strcmp(kind, "flytekit") == 0) {
            take_flytekit(asking, question, line);
        } else if (strcmp(kind, "version") == 0) {
            take_version(asking, question, line);
        }
    }
    return is_whole;
}

/* ------------------------------------------------------------------ all of them */

static int check(struct asking *asking, struct question *question)
{
    char path[PATH_MAX];
    if (!find_python(question)) {
        tell(asking, "", "there is no " TR_PYTHON_EXECUTE ", which runs its tasks",
             "activate the environment that has flytekit, or name its Python: "
             "--python venv/bin/python");
        return 0;
    }
    if (question->python[0] == '\0') {
        return 0; /* its own Python is elsewhere */
    }
    int error = note_path(asking, question, path);
    if (error != 0 || access(path, F_OK) == 0) {
        return error;
    }
    uint32_t before = tr_report_total(asking->report);
    char *answer = tr_arena_alloc(&asking->arena, ANSWER_BYTES);
    error = answer == NULL ? TR_MEMORY : ask(asking, question, answer);
    if (error == TR_SYSTEM) {
        tell(asking, question->python, strerror(errno), "name another Python: --python FILE");
        return 0;
    }
    bool is_whole = error == 0 && take_answer(asking, question, answer);
    if (is_whole && tr_report_total(asking->report) == before) {
        take_note(asking->store, path);
    }
    return error;
}

int tr_python_check(const struct tr_graph *graph, const char *store, struct tr_report *report)
{
    struct asking asking = {.store = store, .report = report};
    uint32_t before = tr_report_total(report);
    tr_arena_init(&asking.arena);
    gather(&asking, graph);
    struct question *questions = asking.questions.items;
    int error = asking.arena.error;
    for (uint32_t i = 0; error == 0 && i < asking.questions.count; i++) {
        error = check(&asking, &questions[i]);
    }
    tr_arena_fini(&asking.arena);
    return error != 0 ? error : tr_report_total(report) > before ? TR_INVALID : 0;
}
