/*
 * `troupe completion SHELL`: a script that completes commands, options and their values, made from
 * the rows of the commands, so that it is never behind them.
 *
 * What can follow is the same in all shells: words, files, folders, executions that the command is
 * for (`troupe names`), nodes, or plans, of the store that the line names, if it does. Behind an
 * execution no blank is added where a node may follow.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/commands/dispatch.h"
#include "schemas/engine/phase.h"

/* What the shells are told of the value of an option, or of the words of a command. */
struct values {
    char words[512]; /* with blanks between; empty: none are known */
    uint8_t completes;
    bool is_list;  /* several of the words, with commas between */
    bool is_value; /* something belongs there */
};

static void add_word(struct values *values, const char *word)
{
    size_t size = strlen(values->words);
    (void)snprintf(values->words + size, sizeof values->words - size, "%s%s", size > 0 ? " " : "",
                   word);
}

/* "a|b" */
static void add_words(struct values *values, const char *words)
{
    while (true) {
        char word[64];
        size_t size = strcspn(words, "|");
        (void)snprintf(word, sizeof word, "%.*s", (int)size, words);
        add_word(values, word);
        if (words[size] == '\0') {
            return;
        }
        words += size + 1;
    }
}

/* Phases as options take them, with dashes for blanks. */
static void add_phases(struct values *values, bool is_ended)
{
    for (uint8_t phase = 1; phase < TR_EXECUTION_PHASE_COUNT; phase++) {
        char word[32];
        (void)snprintf(word, sizeof word, "%s", tr_execution_phase_word(phase));
        for (char *blank = strchr(word, ' '); blank != NULL; blank = strchr(blank, ' ')) {
            *blank = '-';
        }
        if (!is_ended || tr_phase_is_end(TR_SUBJECT_EXECUTION, phase)) {
            add_word(values, word);
        }
    }
    values->is_list = true;
}

static void add_commands(struct values *values)
{
    for (const struct tr_command *const *command = tr_commands; *command != NULL; command++) {
        if ((*command)->summary != NULL) {
            add_word(values, (*command)->name);
        }
    }
}

static void add_completed(struct values *values)
{
    if (values->completes == TR_COMPLETES_PHASES ||
        values->completes == TR_COMPLETES_ENDED_PHASES) {
        add_phases(values, values->completes == TR_COMPLETES_ENDED_PHASES);
    } else if (values->completes == TR_COMPLETES_COMMANDS) {
        add_commands(values);
    }
}

static struct values values_of_option(const struct tr_command *command,
                                      const struct tr_option *option)
{
    struct values values = {.completes = option->completes, .is_value = option->value != NULL};
    bool is_output = strcmp(option->name, "output") == 0;
    const char *words = is_output ? command->outputs : option->words;
    if (words != NULL) {
        add_words(&values, words);
    }
    add_completed(&values);
    return values;
}

static struct values values_of_command(const struct tr_command *command)
{
    struct values values = {.completes = command->completes, .is_value = command->words_max > 0};
    if (command->choices != NULL) {
        add_words(&values, command->choices);
    }
    add_completed(&values);
    return values;
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

/* Runs a command on the store that the line names; each shell has a function of this name. */
#define ASK "_troupe_ask"

/* What gives all nodes of the execution $execution, as EXEC/NODE. */
#define NODES                                                                               \
    ASK " get \"$execution\" -o json | grep -o '\"node\":\"[^\"]*\"' | cut -d '\"' -f 4 | " \
        "sort -u | sed \"s|^|$execution/|\""

/* What gives the names of what the definition $file has. */
#define NAMES "troupe check \"$file\" -o name --without-plugins 2>/dev/null"

/* What gives the names of templates of projects. */
#define TEMPLATES "troupe init --list -o name 2>/dev/null"

/* What gives the names of plans that have a schedule. */
#define PLANS ASK " schedules -o name"

/* Whether EXEC/NODE is meant, too. */
static bool takes_nodes(const struct tr_command *command)
{
    return command->completes == TR_COMPLETES_EXECUTIONS && strstr(command->words, "/NODE") != NULL;
}

static const char *kind_of(uint8_t kind)
{
    static const char *const words[] = {
#define KIND_WORD(name, word) [TR_EXECUTION_KIND_##name] = (word),
        TR_EXECUTION_KINDS(KIND_WORD)
#undef KIND_WORD
    };
    return words[kind];
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

/* What completes a value, as the end of a branch of a case. */
static void bash_complete(const struct values *values, const char *kind, bool takes_nodes)
{
    if (values->completes == TR_COMPLETES_PLANS) {
        printf("_troupe_plans '%s' ;;\n", values->words);
    } else if (values->words[0] != '\0') {
        printf("_troupe_%s '%s' ;;\n", values->is_list ? "list" : "words", values->words);
    } else if (values->completes == TR_COMPLETES_EXECUTIONS) {
        printf("_troupe_%s %s ;;\n", takes_nodes ? "nodes" : "executions", kind);
    } else {
        static const char *const functions[] = {
            [TR_COMPLETES_FILES] = "_troupe_files -f",
            [TR_COMPLETES_FOLDERS] = "_troupe_files -d",
            [TR_COMPLETES_DEFINITIONS] = "_troupe_definitions",
            [TR_COMPLETES_TEMPLATES] = "_troupe_reply < <(" TEMPLATES ")",
        };
        const char *function =
            values->completes < TR_COUNT_OF(functions) ? functions[values->completes] : NULL;
        printf("%s ;;\n", function != NULL ? function : ":");
    }
}

static void bash_value(const struct tr_command *command, const struct tr_option *option)
{
    struct values values = values_of_option(command, option);
    if (!values.is_value) {
        return;
    }
    printf("    %s:--%s", command->name, option->name);
    if (option->letter != 0) {
        printf("|%s:-%c", command->name, option->letter);
    }
    printf(") ");
    bash_complete(&values, kind_of(TR_EXECUTION_KIND_ANY), false);
}

static void bash_values(const struct tr_command *command)
{
    for_each_option(command, bash_value);
}

static void bash_words(const struct tr_command *command)
{
    struct values values = values_of_command(command);
    printf("    %s:*:-*) _troupe_words '", command->name);
    for_each_option(command, bash_flag);
    printf("' ;;\n"
           "    %s:*) ",
           command->name);
    bash_complete(&values, kind_of(command->kind), takes_nodes(command));
}

/* What the others call: the reply, and the store. */
static void bash_helpers(void)
{
    printf(
        "# bash completion of troupe; load it with:  source <(troupe completion bash)\n"
        "# The lines that begin with the word, but for what readline keeps of it: all up to the\n"
        "# last letter at which it breaks words; an @ belongs to what is behind it.\n"
        "_troupe_reply() {\n"
        "    local line breaks=${COMP_WORDBREAKS//@/}\n"
        "    local kept=${word%%\"${word##*[$breaks]}\"}\n"
        "    while IFS= read -r line; do\n"
        "        [[ -n $line && $line == \"$word\"* ]] && COMPREPLY+=(\"${line#\"$kept\"}\")\n"
        "    done\n"
        "}\n"
        "_troupe_words() {\n"
        "    _troupe_reply < <(printf '%%s\\n' $1)\n"
        "}\n"
        "_troupe_list() {\n"
        "    local before=${word%%\"${word##*,}\"} choice\n"
        "    _troupe_reply < <(for choice in $1; do echo \"$before$choice\"; done)\n"
        "    compopt -o nospace 2>/dev/null\n"
        "}\n"
        "_troupe_ask() {\n"
        "    troupe \"$@\" \"${store[@]}\" 2>/dev/null\n"
        "}\n"
        "_troupe_store() {\n"
        "    local i last=$((${#words[@]} - 1))\n"
        "    for ((i = 1; i < last; i++)); do\n"
        "        local word=${words[i]}\n"
        "        case $word in\n"
        "        --store=*) store=(\"$word\") ;;\n"
        "        --store) ((i + 1 < last)) && store=(\"$word=${words[i + 1]}\") ;;\n"
        "        esac\n"
        "    done\n"
        "    store=(\"${store[@]/#--store=~\\//--store=$HOME/}\")\n"
        "    while [[ ${words[1]} == --store=* && ${#words[@]} -gt 2 ]]; do\n"
        "        words=(\"${words[0]}\" \"${words[@]:2}\")\n"
        "    done\n"
        "    while [[ ${words[1]} == --store && ${#words[@]} -gt 3 ]]; do\n"
        "        words=(\"${words[0]}\" \"${words[@]:3}\")\n"
        "    done\n"
        "}\n");
}

/* What the branches call, each for the word in hand. */
static void bash_functions(void)
{
    printf("_troupe_executions() {\n"
           "    _troupe_reply < <(_troupe_ask names \"$1\" \"$word\")\n"
           "}\n"
           "_troupe_nodes() {\n"
           "    local execution=${word%%%%/*}\n"
           "    if [[ $word == */* ]]; then\n"
           "        _troupe_reply < <(" NODES ")\n"
           "    else\n"
           "        _troupe_executions \"$1\"\n"
           "        compopt -o nospace 2>/dev/null\n"
           "    fi\n"
           "}\n"
           "_troupe_files() {\n"
           "    _troupe_reply < <(compgen \"$1\" -- \"$word\")\n"
           "    compopt -o filenames 2>/dev/null\n"
           "}\n"
           "_troupe_definitions() {\n"
           "    local file\n"
           "    for file in \"${words[@]:2:${#words[@]}-3}\" ''; do\n"
           "        [[ -f $file ]] && break\n"
           "    done\n"
           "    if [[ -n $file ]]; then\n"
           "        _troupe_reply < <(" NAMES ")\n"
           "    else\n"
           "        _troupe_files -f\n"
           "    fi\n"
           "}\n"
           "_troupe_plans() {\n"
           "    local choice is_chosen=$1\n"
           "    for choice in \"${words[@]:2:${#words[@]}-3}\"; do\n"
           "        [[ \" $1 \" == *\" $choice \"* ]] && is_chosen=\n"
           "    done\n"
           "    if [[ -z $is_chosen ]]; then\n"
           "        _troupe_reply < <(" PLANS ")\n"
           "    else\n"
           "        _troupe_words \"$1\"\n"
           "    fi\n"
           "}\n");
}

static void print_bash(void)
{
    bash_helpers();
    bash_functions();
    printf("_troupe() {\n"
           "    local words word before=\n"
           "    local -a store=()\n"
           "    read -ra words <<<\"${COMP_LINE:0:COMP_POINT}\"\n"
           "    [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=('')\n"
           "    word=${words[-1]}\n"
           "    COMPREPLY=()\n"
           "    _troupe_store\n"
           "    if [[ ${#words[@]} -le 2 ]]; then\n"
           "        _troupe_words '");
    for_each_command(bash_name);
    printf("'\n"
           "        return\n"
           "    fi\n"
           "    before=${words[-2]}\n"
           "    if [[ $word == --*=* ]]; then\n"
           "        before=${word%%%%=*}\n"
           "        word=${word#*=}\n"
           "    fi\n"
           "    case ${words[1]}:$before in\n");
    for_each_command(bash_values);
    printf("    *:--store) _troupe_files -d ;;\n"
           "    *) _troupe_rest \"${words[1]}\" ;;\n"
           "    esac\n"
           "}\n"
           "_troupe_rest() {\n"
           "    case $1::$word in\n");
    for_each_command(bash_words);
    printf("    esac\n"
           "}\n"
           "complete -F _troupe troupe\n");
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

/* An action of _arguments; a blank before a function keeps its words as they are. */
static void zsh_complete(const struct values *values, const char *kind, bool takes_nodes)
{
    if (values->words[0] != '\0') {
        printf(values->is_list ? " _troupe_list %s" : "(%s)", values->words);
    } else if (values->completes == TR_COMPLETES_EXECUTIONS) {
        printf(" _troupe_%s %s", takes_nodes ? "nodes" : "executions", kind);
    } else {
        static const char *const actions[] = {
            [TR_COMPLETES_FILES] = "_files",
            [TR_COMPLETES_FOLDERS] = "_files -/",
            [TR_COMPLETES_DEFINITIONS] = " _troupe_definitions",
            [TR_COMPLETES_TEMPLATES] = "($(" TEMPLATES "))",
        };
        const char *action =
            values->completes < TR_COUNT_OF(actions) ? actions[values->completes] : NULL;
        printf("%s", action != NULL ? action : " ");
    }
}

static void zsh_option(const struct tr_command *command, const struct tr_option *option)
{
    struct values values = values_of_option(command, option);
    const char *repeats = option->is_repeatable ? "*" : "";
    for (int is_letter = 0; is_letter < (option->letter != 0 ? 2 : 1); is_letter++) {
        if (is_letter == 1) {
            printf(" \\\n            '%s-%c%s[", repeats, option->letter,
                   values.is_value ? "+" : "");
        } else {
            printf(" \\\n            '%s--%s%s[", repeats, option->name,
                   values.is_value ? "=" : "");
        }
        zsh_text(option->text);
        printf("]");
        if (values.is_value) {
            printf(":%s:", option->value);
            zsh_complete(&values, kind_of(TR_EXECUTION_KIND_ANY), false);
        }
        printf("'");
    }
}

static void zsh_options(const struct tr_command *command)
{
    struct values values = values_of_command(command);
    printf("    %s)\n        _arguments", command->name);
    for_each_option(command, zsh_option);
    if (values.completes == TR_COMPLETES_PLANS) {
        printf(" \\\n            ");
        printf(values.words[0] != '\0' ? "'1:word:(%s)' " : "%s", values.words);
        printf("'*:plan: _troupe_plans'");
    } else if (values.is_value) {
        printf(" \\\n            '*:word:");
        zsh_complete(&values, kind_of(command->kind), takes_nodes(command));
        printf("'");
    }
    printf(" ;;\n");
}

/* What the rest calls, each for the word in hand. */
static void zsh_functions(void)
{
    printf("#compdef troupe\n"
           "# zsh completion of troupe; load it with:  source <(troupe completion zsh)\n"
           "_troupe_ask() {\n"
           "    troupe $@ $store 2>/dev/null\n"
           "}\n"
           "_troupe_executions() {\n"
           "    compadd -- ${(f)\"$(_troupe_ask names $1 \"$PREFIX\")\"}\n"
           "}\n"
           "_troupe_plans() {\n"
           "    compadd -- ${(f)\"$(" PLANS ")\"}\n"
           "}\n"
           "_troupe_nodes() {\n"
           "    local execution=${PREFIX%%%%/*}\n"
           "    if [[ $PREFIX == */* ]]; then\n"
           "        compadd -- ${(f)\"$(" NODES ")\"}\n"
           "    else\n"
           "        compadd -S '' -- ${(f)\"$(_troupe_ask names $1 \"$PREFIX\")\"}\n"
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
           "_troupe_list() {\n"
           "    [[ $PREFIX == *,* ]] && compset -P '*,'\n"
           "    compadd -S '' -- $@\n"
           "}\n"
           "_troupe_store() {\n"
           "    local i\n"
           "    for (( i = 2; i < CURRENT; i++ )); do\n"
           "        case $words[i] in\n"
           "        --store=*) store=(--store=${(Q)words[i]#*=}) ;;\n"
           "        --store) (( i + 1 < CURRENT )) && store=(--store=${(Q)words[i + 1]}) ;;\n"
           "        esac\n"
           "    done\n"
           "    store=(${store/#--store=\\~\\//--store=$HOME/})\n"
           "}\n");
}

/* A function that sets words or CURRENT finds them as they were when it has returned. */
static void print_zsh(void)
{
    zsh_functions();
    printf("_troupe() {\n"
           "    local -a commands store\n"
           "    _troupe_store\n"
           "    while [[ $words[2] == --store=* ]] && (( CURRENT > 2 )); do\n"
           "        words[2]=()\n"
           "        (( CURRENT-- ))\n"
           "    done\n"
           "    while [[ $words[2] == --store ]] && (( CURRENT > 3 )); do\n"
           "        words[2,3]=()\n"
           "        (( CURRENT -= 2 ))\n"
           "    done\n"
           "    commands=(\n");
    for_each_command(zsh_name);
    printf("    )\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n"
           "        return\n"
           "    elif [[ $words[2] == --store ]]; then\n"
           "        _files -/\n"
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
    printf("complete -c troupe -n __fish_use_subcommand -f -a %s -d '", command->name);
    fish_text(command->summary);
    printf("'\n");
}

/* What may stand there, but for files. */
static void fish_choices(const struct values *values, const char *kind, bool takes_nodes)
{
    if (values->completes == TR_COMPLETES_PLANS) {
        printf(values->words[0] != '\0' ? " -a '(__troupe_plans %s)'" : " -a '(" PLANS "%s)'",
               values->words);
    } else if (values->words[0] != '\0') {
        printf(values->is_list ? " -a '(__troupe_list %s)'" : " -a '%s'", values->words);
    } else if (values->completes == TR_COMPLETES_EXECUTIONS) {
        printf(" -a '(__troupe_%s %s)'", takes_nodes ? "nodes" : "executions", kind);
    } else if (values->completes == TR_COMPLETES_FOLDERS) {
        printf(" -a '(__fish_complete_directories)'");
    } else if (values->completes == TR_COMPLETES_DEFINITIONS) {
        printf(" -a '(__troupe_names)'");
    } else if (values->completes == TR_COMPLETES_TEMPLATES) {
        printf(" -a '(" TEMPLATES ")'");
    }
}

static void fish_option(const struct tr_command *command, const struct tr_option *option)
{
    struct values values = values_of_option(command, option);
    printf("complete -c troupe -n '__fish_seen_subcommand_from %s' -l %s", command->name,
           option->name);
    if (option->letter != 0) {
        printf(" -s %c", option->letter);
    }
    if (values.is_value) {
        printf(values.completes == TR_COMPLETES_FILES ? " -r" : " -x");
        fish_choices(&values, kind_of(TR_EXECUTION_KIND_ANY), false);
    }
    printf(" -d '");
    fish_text(option->text);
    printf("'\n");
}

static void fish_options(const struct tr_command *command)
{
    struct values values = values_of_command(command);
    if (values.completes != TR_COMPLETES_FILES) {
        printf("complete -c troupe -n '__fish_seen_subcommand_from %s'%s", command->name,
               values.completes == TR_COMPLETES_DEFINITIONS ? "" : " -f");
        fish_choices(&values, kind_of(command->kind), takes_nodes(command));
        printf("\n");
    }
    for_each_option(command, fish_option);
}

/*
 * Fish adds a blank behind what is certain. That a slash may follow an execution, and a comma a
 * word of a list, leaves them open.
 */
static void print_fish(void)
{
    printf("# fish completion of troupe; load it with:  troupe completion fish | source\n"
           "function _troupe_ask\n"
           "    set -l store\n"
           "    set -l tokens (commandline -opc)\n"
           "    for i in (seq 2 (count $tokens))\n"
           "        if string match -q -- '--store=*' $tokens[$i]\n"
           "            set store $tokens[$i]\n"
           "        else if test \"$tokens[$i]\" = --store -a $i -lt (count $tokens)\n"
           "            set store --store=$tokens[(math $i + 1)]\n"
           "        end\n"
           "    end\n"
           "    set store (string replace -r '^--store=~/' -- \"--store=$HOME/\" $store)\n"
           "    troupe $argv $store 2>/dev/null\n"
           "end\n"
           "function __troupe_executions\n"
           "    set -l word (string replace -r '^-[^=]*=' '' -- (commandline -ct))\n"
           "    _troupe_ask names $argv[1] \"$word\"\n"
           "end\n"
           "function __troupe_nodes\n"
           "    set -l word (commandline -ct)\n"
           "    set -l execution (string replace -r '/.*' '' -- $word)\n"
           "    if string match -q '*/*' -- $word\n"
           "        " NODES "\n"
           "    else\n"
           "        for name in (__troupe_executions $argv[1])\n"
           "            printf '%%s\\n' $name $name/\n"
           "        end\n"
           "    end\n"
           "end\n"
           "function __troupe_names\n"
           "    for file in (commandline -opc)[3..-1]\n"
           "        if test -f \"$file\"\n"
           "            " NAMES "\n"
           "            return\n"
           "        end\n"
           "    end\n"
           "end\n"
           "function __troupe_plans\n"
           "    for choice in (commandline -opc)[3..-1]\n"
           "        if contains -- $choice $argv\n"
           "            " PLANS "\n"
           "            return\n"
           "        end\n"
           "    end\n"
           "    printf '%%s\\n' $argv\n"
           "end\n"
           "function __troupe_list\n"
           "    set -l word (string replace -r '^-[^=]*=' '' -- (commandline -ct))\n"
           "    set -l before (string replace -r '[^,]*$' '' -- $word)\n"
           "    for choice in $argv\n"
           "        printf '%%s\\n' $before$choice $before$choice,\n"
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
    .choices = "bash|zsh|fish",
    .examples = "  source <(troupe completion bash)",
    .words_min = 1,
    .words_max = 1,
    .run = run,
};
