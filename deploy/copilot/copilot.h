/*
 * A raw container of Flyte's without its container: what the co-pilot beside it would do. Inputs
 * are laid out as files before its program begins, and outputs are taken from files when it has
 * ended. The parts of `troupe copilot` share this.
 */
#ifndef TR_DEPLOY_COPILOT_COPILOT_H
#define TR_DEPLOY_COPILOT_COPILOT_H

#include <limits.h>

#include "actors/graph/document/arena.h"
#include "actors/graph/document/tree.h"
#include "deploy/cli/command.h"

/* The largest file of an output that is no file itself, and of _ERROR, as Flyte has it. */
#define TR_COPILOT_VALUE_BYTES_MAX 1024U
#define TR_COPILOT_ERROR_BYTES_MAX (1U << 20)

/* Words of what is wrong. */
#define TR_COPILOT_WORDS_BYTES 1024

/* A folder as the container would have it, and where it is in this attempt. */
struct tr_copilot_folder {
    const char *wanted; /* "/var/inputs"; NULL: there is none */
    char here[PATH_MAX];
    bool is_named; /* in the program's words or environment, where it was replaced */
};

struct tr_copilot {
    const char *input_types;  /* NAME=TYPE, ... of those whose files are no plain text */
    const char *output_types; /* NAME=TYPE, ... */
    const char *format;       /* json, yaml or proto */
    const char *document;     /* inputs.pb */
    struct tr_copilot_folder inputs;
    struct tr_copilot_folder outputs;
    char **environment;                 /* of the program */
    struct tr_arena arena;              /* texts of the program's words and inputs */
    char words[TR_COPILOT_WORDS_BYTES]; /* what is wrong */
};

/*
 * The next NAME=TYPE of a list between commas; false at its end. Commas within brackets belong to a
 * type.
 */
bool tr_copilot_next(const char **list, struct tr_text *name, struct tr_text *type);

/* The type of a name in a list; empty: it is not there. */
struct tr_text tr_copilot_type(const char *list, struct tr_text name);

/*
 * Writes a file for each input, named by it: its text, a copy of a file or a folder, a folder of
 * the elements of a list or a map; beside them inputs.pb, and inputs.json or inputs.yaml as the
 * format says. TR_SYSTEM, TR_MALFORMED, TR_LIMIT, TR_MEMORY, with words.
 */
TR_MUST_USE int tr_copilot_lay_out(struct tr_copilot *copilot);

/*
 * Writes the document of outputs from the files that the program has left, or that of an error
 * where there is an _ERROR or something is missing: TR_INVALID. TR_SYSTEM, with words.
 */
TR_MUST_USE int tr_copilot_take_outputs(struct tr_copilot *copilot);

/* Writes the document of an error, as far as that is possible. */
void tr_copilot_fail(const char *code, const char *message);

/*
 * Shows a folder where the container would have it, to this process and its children alone: in a
 * namespace of mounts of its own. TR_SYSTEM (errno) where the kernel or who runs it does not allow
 * that.
 */
TR_MUST_USE int tr_copilot_show(const struct tr_copilot_folder *folder);

#endif
