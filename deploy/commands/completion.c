/*
 * `troupe completion SHELL`: a script that completes commands, options and their values, made from
 * the rows of the commands, so that it is never behind them.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/commands/dispatch.h"

/* What the three shells are told of one option of one command. */
static const char *words_of(const struct tr_command *command, const struct tr_option *option)
{
    return strcmp(option->name, "output") == 0 ? command->outputs : option->words;
}

static void for_each_option(const struct tr_command *command,
                            void (*print)(const struct tr_command *command,
                                          const struct tr_option *option))
{
    const struct tr_option *tables[TR_COMMAND_TABLES_MAX];
    tr_command_tables(command, tables);
    for (const struct tr_option **table = tables; *table != NULL; table++) {
        for (const struct tr_option *option = *table; option->name != NULL; option++) {
            print(command, option);
        }
    }
}

static void for_each_command(void (*print)(const struct tr_command *command))
{
    for (const struct tr_command *const *command = tr_commands; *command != NULL; command++) {
        if ((*command)->summary != NULL) {
            print(*command);
        }
    }
}

/* "a|b" with other words between. */
static void print_list(const char *words, const char *between)
{
    while (true) {
        size_t size = strcspn(words, "|");
        printf("%.*s", (int)size, words);
        if (words[size] == '\0') {
            return;
        }
        fputs(between, stdout);
        words += size + 1;
    }
}

/* What gives the names of executions, the newest ones, in any shell. */
#define EXECUTIONS "troupe list -o name --limit 100 2>/dev/null"

/* What gives all nodes of the execution $execution, as EXEC/NODE. */
#define NODES                                                                          \
    "troupe get \"$execution\" -o json 2>/dev/null | grep -o '\"node\":\"[^\"]*\"' | " \
    "cut -d '\"' -f 4 | sort -u | sed \"s|^|$execution/|\""

/* What gives the names of what the definition $file has. */
#define NAMES "troupe check \"$file\" -o name --without-plugins 2>/dev/null"

/* What gives the names of templates of projects. */
#define TEMPLATES "troupe init --list -o name 2>/dev/null"

static bool takes_executions(const struct tr_command *command)
{
    return command->completes == TR_COMPLETES_EXECUTIONS;
}

static bool takes_definitions(const struct tr_command *command)
{
    return command->completes == TR_COMPLETES_DEFINITIONS;
}

static bool takes_templates(const struct tr_command *command)
{
    return command->completes == TR_COMPLETES_TEMPLATES;
}

/* Whether EXEC/NODE is meant, too. */
static bool takes_nodes(const struct tr_command *command)
{
    return takes_executions(command) && strstr(command->words, "/NODE") != NULL;
}

/* ------------------------------------------------------------------------- bash */

static void bash_name(const struct tr_command *command)
{
    printf(" %s", command->name);
}

static void bash_flag(const struct tr_command *command, const struct tr_option *option)
{
    (void)command;
    printf(" --%s", option->name);
}

/* What completes the value of an option, as a branch of a case. */
static void bash_value(const struct tr_command *command, const struct tr_option *option)
{
    const char *words = words_of(command, option);
    if (option->value == NULL) {
        return;
    }
    printf("        %s:--%s", command->name, option->name);
    if (option->letter != 0) {
        printf("|%s:-%c", command->name, option->letter);
    }
    if (words != NULL) {
        printf(") COMPREPLY=($(compgen -W '");
        print_list(words, " ");
        printf("' -- \"$word\")) ;;\n");
    } else {
        printf(") COMPREPLY=($(compgen %s -- \"$word\")) ;;\n",
               option->completes == TR_COMPLETES_FOLDERS ? "-d" : "-f");
    }
}

static void bash_values(const struct tr_command *command)
{
    for_each_option(command, bash_value);
}

static void bash_flags(const struct tr_command *command)
{
    printf("        %s) flags='", command->name);
    for_each_option(command, bash_flag);
    printf("' ;;\n");
}

/* A branch for the commands whose words are of a kind, under one more condition. */
static void bash_branch(bool (*takes)(const struct tr_command *command), const char *condition)
{
    printf("        elif [[ ' ");
    for (const struct tr_command *const *command = tr_commands; *command != NULL; command++) {
        if ((*command)->summary != NULL && takes(*command)) {
            printf(" %s", (*command)->name);
        }
    }
    printf(" ' == *\" $command \"* %s]]; then\n", condition);
}

static void print_bash(void)
{
    printf("# bash completion of troupe; load it with:  source <(troupe completion bash)\n"
           "_troupe() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local command=${COMP_WORDS[1]} flags= file=\n"
           "    if [[ $COMP_CWORD -eq 1 ]]; then\n"
           "        COMPREPLY=($(compgen -W '");
    for_each_command(bash_name);
    printf("' -- \"$word\"))\n"
           "        return\n"
           "    fi\n"
           "    for file in \"${COMP_WORDS[@]:2:COMP_CWORD-2}\" ''; do\n"
           "        [[ -f $file ]] && break\n"
           "    done\n"
           "    case $command:$before in\n");
    for_each_command(bash_values);
    printf("    *)\n"
           "        case $command in\n");
    for_each_command(bash_flags);
    printf("        esac\n"
           "        if [[ $word == -* ]]; then\n"
           "            COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n");
    bash_branch(takes_nodes, "&& $word == */* ");
    printf("            local execution=${word%%%%/*}\n"
           "            COMPREPLY=($(compgen -W \"$(" NODES ")\" -- \"$word\"))\n");
    bash_branch(takes_executions, "");
    printf("            COMPREPLY=($(compgen -W \"@last $(" EXECUTIONS ")\" -- \"$word\"))\n");
    bash_branch(takes_definitions, "&& -n $file ");
    printf("            COMPREPLY=($(compgen -W \"$(" NAMES ")\" -- \"$word\"))\n");
    bash_branch(takes_templates, "");
    printf("            COMPREPLY=($(compgen -W \"$(" TEMPLATES ")\" -- \"$word\"))\n"
           "        else\n"
           "            COMPREPLY=($(compgen -f -- \"$word\"))\n"
           "        fi\n"
           "        ;;\n"
           "    esac\n"
           "}\n"
           "complete -o filenames -F _troupe troupe\n");
}

/* -------------------------------------------------------------------------- zsh */

/* Text within single quotes and brackets. */
static void zsh_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs("'\\''", stdout);
        } else if (strchr("[]:\\", *text) != NULL) {
            printf("\\%c", *text);
        } else {
            fputc(*text, stdout);
        }
    }
}

static void zsh_name(const struct tr_command *command)
{
    printf("        '%s:", command->name);
    zsh_text(command->summary);
    printf("'\n");
}

static void zsh_option(const struct tr_command *command, const struct tr_option *option)
{
    const char *words = words_of(command, option);
    printf(" \\\n            '%s--%s%s[", option->is_repeatable ? "*" : "", option->name,
           option->value != NULL ? "=" : "");
    zsh_text(option->text);
    printf("]");
    if (option->value != NULL) {
        printf(":%s:", option->value);
        if (words != NULL) {
            printf("(");
            print_list(words, " ");
            printf(")");
        } else {
            printf("%s", option->completes == TR_COMPLETES_FOLDERS ? "_files -/" : "_files");
        }
    }
    printf("'");
}

/* What completes the words of a command. */
static const char *zsh_words(const struct tr_command *command)
{
    return takes_nodes(command)         ? "_troupe_nodes"
           : takes_executions(command)  ? "(@last $(" EXECUTIONS "))"
           : takes_definitions(command) ? "_troupe_definitions"
           : takes_templates(command)   ? "($(" TEMPLATES "))"
                                        : "_files";
}

static void zsh_options(const struct tr_command *command)
{
    printf("    %s)\n        _arguments", command->name);
    for_each_option(command, zsh_option);
    printf(" \\\n            '*:word:%s' ;;\n", zsh_words(command));
}

static void print_zsh(void)
{
    printf("#compdef troupe\n"
           "# zsh completion of troupe; load it with:  source <(troupe completion zsh)\n"
           "_troupe_nodes() {\n"
           "    local execution=${PREFIX%%%%/*}\n"
           "    if [[ $PREFIX == */* ]]; then\n"
           "        compadd -- $(" NODES ")\n"
           "    else\n"
           "        compadd -- @last $(" EXECUTIONS ")\n"
           "    fi\n"
           "}\n"
           "_troupe_definitions() {\n"
           "    local file\n"
           "    for file in ${words[2,CURRENT-1]} ''; do\n"
           "        [[ -f $file ]] && break\n"
           "    done\n"
           "    if [[ -n $file ]]; then\n"
           "        compadd -- $(" NAMES ")\n"
           "    else\n"
           "        _files\n"
           "    fi\n"
           "}\n"
           "_troupe() {\n"
           "    local -a commands\n"
           "    commands=(\n");
    for_each_command(zsh_name);
    printf("    )\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n"
           "        return\n"
           "    fi\n"
           "    local command=$words[2]\n"
           "    shift words\n"
           "    (( CURRENT-- ))\n"
           "    case $command in\n");
    for_each_command(zsh_options);
    printf("    esac\n"
           "}\n"
           "compdef _troupe troupe\n");
}

/* ------------------------------------------------------------------------- fish */

static void fish_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') {
            fputc('\\', stdout);
        }
        fputc(*text, stdout);
    }
}

static void fish_name(const struct tr_command *command)
{
    printf("complete -c troupe -n __fish_use_subcommand -a %s -d '", command->name);
    fish_text(command->summary);
    printf("'\n");
}

static void fish_option(const struct tr_command *command, const struct tr_option *option)
{
    const char *words = words_of(command, option);
    printf("complete -c troupe -n '__fish_seen_subcommand_from %s' -l %s", command->name,
           option->name);
    if (option->letter != 0) {
        printf(" -s %c", option->letter);
    }
    if (words != NULL) {
        printf(" -x -a '");
        print_list(words, " ");
        printf("'");
    } else if (option->value != NULL) {
        printf(" -r");
    }
    printf(" -d '");
    fish_text(option->text);
    printf("'\n");
}

/* What completes the words of a command beside files, or in their place; NULL: files alone do. */
static const char *fish_words(const struct tr_command *command)
{
    return takes_nodes(command)         ? "-f -a '(__troupe_nodes)'"
           : takes_executions(command)  ? "-f -a '@last (" EXECUTIONS ")'"
           : takes_definitions(command) ? "-a '(__troupe_names)'"
           : takes_templates(command)   ? "-f -a '(" TEMPLATES ")'"
                                        : NULL;
}

static void fish_options(const struct tr_command *command)
{
    const char *words = fish_words(command);
    if (words != NULL) {
        printf("complete -c troupe -n '__fish_seen_subcommand_from %s' %s\n", command->name, words);
    }
    for_each_option(command, fish_option);
}

static void print_fish(void)
{
    printf("# fish completion of troupe; load it with:  troupe completion fish | source\n"
           "function __troupe_nodes\n"
           "    set -l word (commandline -ct)\n"
           "    set -l execution (string replace -r '/.*' '' -- $word)\n"
           "    if string match -q '*/*' -- $word\n"
           "        " NODES "\n"
           "    else\n"
           "        echo @last\n"
           "        " EXECUTIONS "\n"
           "    end\n"
           "end\n"
           "function __troupe_names\n"
           "    for file in (commandline -opc)[3..-1]\n"
           "        if test -f \"$file\"\n"
           "            " NAMES "\n"
           "            return\n"
           "        end\n"
           "    end\n"
           "end\n");
    for_each_command(fish_name);
    for_each_command(fish_options);
}

/* ------------------------------------------------------------------ the command */

static const struct {
    const char *name;
    void (*print)(void);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    const char *name = invocation->arguments.words[0];
    for (size_t i = 0; i < TR_COUNT_OF(shells); i++) {
        if (strcmp(shells[i].name, name) == 0) {
            shells[i].print();
            return TR_EXIT_DONE;
        }
    }
    return tr_command_mistake(invocation->command,
                              "'%.60s' is no shell known here; write bash, "
                              "zsh or fish",
                              name);
}

const struct tr_command tr_command_completion = {
    .name = "completion",
    .summary = "print completions for bash, zsh or fish",
    .words = "bash|zsh|fish",
    .examples = "  source <(troupe completion bash)",
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
