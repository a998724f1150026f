/*
 * Scripts of shells among the words of a command, so that one can tell what becomes code there.
 */
#ifndef TR_ACTORS_GRAPH_LANGUAGE_SCRIPT_H
#define TR_ACTORS_GRAPH_LANGUAGE_SCRIPT_H

#include "actors/graph/document/tree.h"

/*
 * The script in `sh -c SCRIPT` and its kin: a word of the command, which is a list and, where
 * `arguments` is another list, goes on there. NULL: there is none.
 */
const struct tr_tree *tri_script_find(const struct tr_tree *command,
                                      const struct tr_tree *arguments);

/* Where in a script one is. */
struct tri_script {
    char quote; /* inside of which one is, or '#'; 0: outside */
    bool is_in_word;
};

/* Goes on through a part of a script. */
void tri_script_read(struct tri_script *script, struct tr_text part);

static inline bool tri_script_is_in_quotes(const struct tri_script *script)
{
    return script->quote == '\'' || script->quote == '"';
}

#endif
