/*
 * `troupe copilot`: what a raw container of Flyte's runs as. It lays out the inputs, runs the
 * program with the paths of the folders replaced by those of the attempt, and takes the outputs. It
 * stands in the graph as /proc/self/exe, which is this program wherever it lies: processes are
 * started by the keeper, which is the same one.
 *
 * A program that names a folder in none of its words knows it by itself. It sees the folder at its
 * own path then, by a namespace of mounts. Where that is not to be had, a program without its
 * folder of outputs would fail all the same, and is told so before.
 */
#include "deploy/copilot/copilot.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actors/graph/document/buffer.h"
#include "deploy/cli/commands.h"
#include "schemas/codec/error.h"

extern char **environ;

/* The status of a program that could not be started, as shells have it. */
#define STATUS_NOT_FOUND 127

/* ------------------------------------------------------------------ lists of types */

bool tr_copilot_next(const char **list, struct tr_text *name, struct tr_text *type)
{
    const char *at = *list;
    int depth = 0;
    if (at == NULL || *at == '\0') {
        return false;
    }
    size_t size = strcspn(at, "=");
    *name = (struct tr_text){.data = at, .size = size};
    at += size + (at[size] == '=' ? 1 : 0);
    const char *begin = at;
    while (*at != '\0' && (*at != ',' || depth > 0)) {
        depth += *at == '[' || *at == '{' || *at == '(' ? 1 : 0;
        depth -= *at == ']' || *at == '}' || *at == ')' ? 1 : 0;
        at++;
    }
    *type = (struct tr_text){.data = begin, .size = (size_t)(at - begin)};
    *list = at + (*at == ',' ? 1 : 0);
    return true;
}

struct tr_text tr_copilot_type(const char *list, struct tr_text name)
{
    struct tr_text found;
    struct tr_text type;
    while (tr_copilot_next(&list, &found, &type)) {
        if (tr_text_equal(found, name)) {
            return type;
        }
    }
    return tr_text_of("");
}

/* ------------------------------------------------------------------ paths */

static bool is_end(char byte)
{
    bool is_name = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                   (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || byte == '.';
    return !is_name;
}

/* A text with a folder's path replaced wherever it stands as a whole; NULL without memory. */
static char *replace(struct tr_arena *arena, struct tr_copilot_folder *folder, const char *text)
{
    struct tr_buffer made;
    size_t size = folder->wanted == NULL ? 0 : strlen(folder->wanted);
    tr_buffer_init(&made, 0);
    while (*text != '\0') {
        const char *at = size == 0 ? NULL : strstr(text, folder->wanted);
        size_t before = at == NULL ? strlen(text) : (size_t)(at - text);
        tr_buffer_add(&made, text, before);
        text += before;
        if (at != NULL) {
            bool is_whole = is_end(at[size]);
            tr_buffer_add_string(&made, is_whole ? folder->here : folder->wanted);
            folder->is_named = folder->is_named || is_whole;
            text += size;
        }
    }
    tr_buffer_add(&made, "", 1);
    arena->error = arena->error != 0 ? arena->error : made.error;
    const char *copy = tr_arena_text(arena, tr_buffer_text(&made)).data;
    tr_buffer_fini(&made);
    return arena->error != 0 ? NULL : (char *)(uintptr_t)copy;
}

/* Both folders in a text, in a copy of it. */
static int replace_both(struct tr_copilot *copilot, char **text)
{
    char *first = replace(&copilot->arena, &copilot->inputs, *text);
    char *both = first == NULL ? NULL : replace(&copilot->arena, &copilot->outputs, first);
    if (both == NULL) {
        return TR_MEMORY;
    }
    *text = both;
    return 0;
}

/* The engine's own variables name files of the attempt and stay as they are. */
static int replace_all(struct tr_copilot *copilot, char **words)
{
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    copilot->environment = tr_arena_array(&copilot->arena, count + 1, sizeof(char *));
    int error = copilot->arena.error;
    for (size_t i = 0; error == 0 && words[i] != NULL; i++) {
        error = replace_both(copilot, &words[i]);
    }
    for (size_t i = 0; error == 0 && i <= count; i++) {
        copilot->environment[i] = environ[i];
        bool is_ours = i == count || strncmp(environ[i], "TROUPE_", strlen("TROUPE_")) == 0;
        error = is_ours ? 0 : replace_both(copilot, &copilot->environment[i]);
    }
    return error;
}

static int make_folder(struct tr_copilot *copilot, struct tr_copilot_folder *folder,
                       const char *name)
{
    char above[PATH_MAX];
    if (folder->wanted == NULL) {
        return 0;
    }
    bool is_made =
        getcwd(above, sizeof above) != NULL && (mkdir("copilot", 0777) == 0 || errno == EEXIST);
    int size = snprintf(folder->here, sizeof folder->here, "%s/copilot/%s", above, name);
    if (size < 0 || (size_t)size >= sizeof folder->here) {
        return TR_LIMIT;
    }
    if (!is_made || (mkdir(folder->here, 0777) != 0 && errno != EEXIST)) {
        snprintf(copilot->words, sizeof copilot->words, "%.900s cannot be made: %s", folder->here,
                 strerror(errno));
        return TR_SYSTEM;
    }
    return 0;
}

/* ------------------------------------------------------------------ the program */

/* In the child: folders that the program knows by itself are shown to it. */
static void show_folders(const struct tr_copilot *copilot)
{
    const struct tr_copilot_folder *folders[] = {&copilot->inputs, &copilot->outputs};
    for (size_t i = 0; i < TR_COUNT_OF(folders); i++) {
        bool is_outputs = folders[i] == &copilot->outputs;
        bool is_hidden = folders[i]->wanted != NULL && !folders[i]->is_named &&
                         (!is_outputs || copilot->output_types[0] != '\0');
        if (!is_hidden || tr_copilot_show(folders[i]) == 0) {
            continue;
        }
        fprintf(stderr,
                "troupe copilot: %s cannot be shown to the program at that path: %s; let its "
                "command name the path, or run it where namespaces of users and mounts are "
                "allowed\n",
                folders[i]->wanted, strerror(errno));
        if (is_outputs) {
            tr_copilot_fail("FolderNotShown",
                            "the program names its folder of outputs in none of its words, and it "
                            "cannot be shown at its own path here");
            _exit(STATUS_NOT_FOUND);
        }
    }
}

static int run_program(struct tr_copilot *copilot, char **words, int *status)
{
    pid_t pid = fork();
    if (pid < 0) {
        snprintf(copilot->words, sizeof copilot->words, "no process can be made: %s",
                 strerror(errno));
        return TR_SYSTEM;
    }
    if (pid == 0) {
        show_folders(copilot);
        (void)execvpe(words[0], words, copilot->environment);
        fprintf(stderr, "troupe copilot: %s: %s\n", words[0], strerror(errno));
        _exit(STATUS_NOT_FOUND);
    }
    /* A timeout or an abort tells all of the group: how the program takes it counts. */
    (void)signal(SIGTERM, SIG_IGN);
    while (waitpid(pid, status, 0) < 0) {
        if (errno != EINTR) {
            return TR_SYSTEM;
        }
    }
    return 0;
}

/* Ends as the program has ended. */
static enum tr_exit_status end_as(int status)
{
    if (WIFSIGNALED(status)) {
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)raise(WTERMSIG(status));
    }
    return (enum tr_exit_status)(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static int prepare(struct tr_copilot *copilot, char **words)
{
    int error = make_folder(copilot, &copilot->inputs, "inputs");
    if (error == 0) {
        error = make_folder(copilot, &copilot->outputs, "outputs");
    }
    if (error == 0 && copilot->inputs.wanted != NULL) {
        error = tr_copilot_lay_out(copilot);
    }
    return error != 0 ? error : replace_all(copilot, words);
}

static const char *value_of(const struct tr_invocation *invocation, const char *name)
{
    const char *value = tr_arguments_value(&invocation->arguments, name);
    return value == NULL ? "" : value;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    int status = 0;
    struct tr_copilot copilot = {
        .input_types = value_of(invocation, "input-types"),
        .output_types = value_of(invocation, "output-types"),
        .format = value_of(invocation, "format"),
        .document = tr_arguments_value(arguments, "document"),
        .inputs.wanted = tr_arguments_value(arguments, "inputs"),
        .outputs.wanted = tr_arguments_value(arguments, "outputs"),
    };
    tr_arena_init(&copilot.arena);
    char **words = tr_arena_array(&copilot.arena, arguments->word_count + 1, sizeof *words);
    int error = words == NULL ? TR_MEMORY : 0;
    for (size_t i = 0; error == 0 && i < arguments->word_count; i++) {
        words[i] = (char *)(uintptr_t)arguments->words[i];
    }
    if (error == 0) {
        words[arguments->word_count] = NULL;
        error = prepare(&copilot, words);
    }
    if (error == 0) {
        error = run_program(&copilot, words, &status);
    }
    if (error == 0 && status == 0 && copilot.outputs.wanted != NULL) {
        error = tr_copilot_take_outputs(&copilot);
    }
    tr_arena_fini(&copilot.arena);
    if (error == 0 && status != 0) {
        return end_as(status);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s",
                                 copilot.words[0] != '\0' ? copilot.words : tr_error_text(error));
    }
    return TR_EXIT_DONE;
}

static const struct tr_option options[] = {
    {0, "inputs", "FOLDER", "where the container would have its inputs", NULL, 0, false},
    {0, "outputs", "FOLDER", "where it would leave its outputs", NULL, 0, false},
    {0, "format", "FORM", "of the inputs as a whole: json, yaml or proto", NULL, 0, false},
    {0, "document", "FILE", "inputs.pb", NULL, 0, false},
    {0, "input-types", "TYPES", "NAME=TYPE,... of inputs that are files or durations", NULL, 0,
     false},
    {0, "output-types", "TYPES", "NAME=TYPE,... of all outputs", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_copilot = {
    .name = "copilot",
    .words = "PROGRAM [WORD...]",
    .text = "Files in and out of a raw container of Flyte's; its tasks run it.",
    .options = options,
    .words_min = 1,
    .words_max = UINT32_MAX,
    .run = run,
};
