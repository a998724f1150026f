/*
 * What a shell makes of words, as far as warnings need it: which word is a script, and where in it
 * quotes are open. Options before -c may stand together, and -o takes a word of its own.
 *
 * This is no parser of the shell: here-documents, `$(...)` and quotes inside of those are read as
 * plain text. A wrong guess gives a warning too many or too few, and never changes what runs.
 */
#include "actors/graph/language/script.h"

#include <string.h>

/*
 * How many words of options a shell may have before its script. It keeps the search linear where a
 * command has many words that are called like a shell.
 */
#define OPTION_WORDS_MAX 16

/* Command and arguments as one list, as Kubernetes joins them; NULL behind the last word. */
static const struct tr_tree *word_at(const struct tr_tree *command, const struct tr_tree *arguments,
                                     uint32_t position)
{
    if (position < command->count) {
        return command->items[position];
    }
    position -= command->count;
    return arguments != NULL && position < arguments->count ? arguments->items[position] : NULL;
}

/*
 * By the last part of its path, so that /bin/sh counts. Words in front of it (env, nice, timeout)
 * do not matter, as every word of the command is asked.
 */
static bool is_shell(const struct tr_tree *word)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ash", "ksh", "zsh"};
    struct tr_text name = tr_tree_is_text(word) ? word->text : tr_text_of("");
    const char *slash = name.size > 0 ? memrchr(name.data, '/', name.size) : NULL;
    if (slash != NULL) {
        name = (struct tr_text){.data = slash + 1,
                                .size = (size_t)(name.data + name.size - slash) - 1};
    }
    for (size_t i = 0; i < TR_COUNT_OF(shells); i++) {
        if (tr_text_equal(name, tr_text_of(shells[i]))) {
            return true;
        }
    }
    return false;
}

/* Whether a word is options of one letter each, with this one among them. */
static bool has_option(struct tr_text word, char letter)
{
    return word.size > 1 && word.data[0] == '-' && word.data[1] != '-' &&
           memchr(word.data + 1, letter, word.size - 1) != NULL;
}

/*
 * The script behind a shell's options, the first of which is at `position`: the first word that is
 * no option, if -c came before it. Without -c that word is a file.
 */
static const struct tr_tree *script_behind(const struct tr_tree *command,
                                           const struct tr_tree *arguments, uint32_t position)
{
    const struct tr_tree *word;
    bool is_script = false;
    uint32_t last = position + OPTION_WORDS_MAX;
    while (position < last && (word = word_at(command, arguments, position)) != NULL &&
           tr_tree_is_text(word)) {
        bool is_option =
            word->text.size > 1 && (word->text.data[0] == '-' || word->text.data[0] == '+');
        if (!is_option) {
            return is_script ? word : NULL;
        }
        is_script = is_script || has_option(word->text, 'c');
        position += has_option(word->text, 'o') ? 2 : 1;
    }
    return NULL;
}

const struct tr_tree *tri_script_find(const struct tr_tree *command,
                                      const struct tr_tree *arguments)
{
    const struct tr_tree *word;
    for (uint32_t i = 0; (word = word_at(command, arguments, i)) != NULL; i++) {
        const struct tr_tree *script =
            is_shell(word) ? script_behind(command, arguments, i + 1) : NULL;
        if (script != NULL) {
            return script;
        }
    }
    return NULL;
}

/*
 * The state at the end of a part is that of the beginning of the next one: a template stands
 * between them, and `before` of the next call goes on behind it. In single quotes a backslash is
 * plain, by POSIX; `#` begins a comment only where a word could begin.
 */
void tri_script_read(struct tri_script *script, struct tr_text part)
{
    for (size_t i = 0; i < part.size; i++) {
        char byte = part.data[i];
        char quote = script->quote;
        if (byte == '\\' && quote != '\'' && quote != '#') {
            i++;
        } else if (quote == '#') {
            script->quote = byte == '\n' ? '\0' : quote;
        } else if (quote != '\0') {
            script->quote = byte == quote ? '\0' : quote;
        } else if (byte == '\'' || byte == '"' || (byte == '#' && !script->is_in_word)) {
            script->quote = byte;
        }
        script->is_in_word = byte != ' ' && byte != '\t' && byte != '\n' && byte != ';';
    }
}
