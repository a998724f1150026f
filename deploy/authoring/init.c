/*
 * `troupe init`: the files of a small project that runs, and the command that runs it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/document/report.h"
#include "deploy/authoring/project.h"
#include "deploy/cli/commands.h"
#include "deploy/common/table.h"
#include "schemas/codec/error.h"

static const char *error_words(int error)
{
    return error == TR_SYSTEM ? strerror(errno) : tr_error_text(error);
}

/* Each template with what it shows; the names alone with `-o name`. */
static enum tr_exit_status print_list(const struct tr_invocation *invocation,
                                      const struct tr_projects *projects)
{
    struct tr_table table;
    tr_table_init(&table, 2);
    for (uint32_t i = 0; i < projects->count; i++) {
        const struct tr_project *project = &projects->items[i];
        if (invocation->output == TR_OUTPUT_NAME) {
            printf("%.*s\n", TRI_TEXT(project->name));
        }
        tr_table_text(&table, project->name);
        tr_table_text(&table, project->summary);
    }
    int error =
        invocation->output == TR_OUTPUT_NAME ? table.text.error : tr_table_write(&table, 0, stdout);
    tr_table_fini(&table);
    return error == 0 ? TR_EXIT_DONE
                      : tr_command_failed(invocation->command, "%s", tr_error_text(error));
}

static enum tr_exit_status refuse_name(const struct tr_invocation *invocation,
                                       const struct tr_projects *projects, struct tr_text name)
{
    struct tr_text nearest = tr_project_nearest(projects, name);
    if (nearest.size > 0) {
        return tr_command_refused(invocation->command,
                                  "there is no template '%.*s'; did you mean '%.*s'?",
                                  TRI_SHOWN(name), TRI_SHOWN(nearest));
    }
    return tr_command_refused(invocation->command,
                              "there is no template '%.*s'; `troupe init --list` shows all",
                              TRI_SHOWN(name));
}

static enum tr_exit_status write_project(const struct tr_invocation *invocation,
                                         const struct tr_project *project, struct tr_arena *arena)
{
    struct tr_text names = tr_text_of("");
    int error = tr_project_write(project, arena, &names);
    if (error == TR_EXISTS) {
        return tr_command_refused(invocation->command,
                                  "this folder has %.*s already, and nothing was written; move it "
                                  "away, or begin in another folder",
                                  TRI_TEXT(names));
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "the project cannot be written here: %s",
                                 error_words(error));
    }
    tr_command_note(invocation,
                    "wrote %.*s (template '%.*s'; --list shows others). Now run:", TRI_TEXT(names),
                    TRI_TEXT(project->name));
    printf("%.*s\n", TRI_TEXT(project->command));
    return TR_EXIT_DONE;
}

static enum tr_exit_status begin(const struct tr_invocation *invocation, struct tr_arena *arena)
{
    struct tr_projects projects;
    const struct tr_arguments *arguments = &invocation->arguments;
    int error = tr_projects_read(arena, &projects);
    if (error == TR_NOT_FOUND) {
        return tr_command_failed(invocation->command,
                                 "the templates are not there; they belong into "
                                 "../share/troupe/templates beside the program's folder, where "
                                 "`cmake --install` puts them");
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "the templates cannot be read: %s",
                                 error_words(error));
    }
    if (tr_arguments_has(arguments, "list")) {
        return print_list(invocation, &projects);
    }
    struct tr_text name =
        tr_text_of(arguments->word_count > 0 ? arguments->words[0] : TR_PROJECT_STANDARD);
    const struct tr_project *project = tr_project_find(&projects, name);
    return project == NULL ? refuse_name(invocation, &projects, name)
                           : write_project(invocation, project, arena);
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_arena arena;
    tr_arena_init(&arena);
    enum tr_exit_status status = begin(invocation, &arena);
    tr_arena_fini(&arena);
    return status;
}

static const struct tr_option options[] = {
    {0, "list", NULL, "list the templates", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_init = {
    .name = "init",
    .summary = "begin a project with files that run",
    .words = "[TEMPLATE]",
    .text = "Writes a definition and its tasks into this folder, which must not have files of\n"
            "these names, and prints the command that runs it. Without TEMPLATE it is `python`.",
    .examples = "  troupe init\n"
                "  troupe init shell\n"
                "  troupe init --list",
    .options = options,
    .outputs = "text|name",
    .completes = TR_COMPLETES_TEMPLATES,
    .words_max = 1,
    .run = run,
};
