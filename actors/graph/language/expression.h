/*
 * References ($node.output.field[0]), texts that hold some ("{$name}.csv"), and the conditions of
 * `when`, from text to trees of parts.
 *
 * Both are read without knowing what their names stand for; the compiler checks names and types
 * once it does. Texts are views into the text that was read.
 */
#ifndef TR_ACTORS_GRAPH_LANGUAGE_EXPRESSION_H
#define TR_ACTORS_GRAPH_LANGUAGE_EXPRESSION_H

#include "actors/graph/compiled/graph.h"

/* Among which names the name of a reference is looked up. */
enum tri_reference_scope {
    TRI_REFERENCE_ANY,   /* `$name`: of inputs and nodes, which differ in the language */
    TRI_REFERENCE_INPUT, /* `$start-node["name"]` */
    TRI_REFERENCE_NODE,  /* `$["name"]` */
};

/* `$name` with the steps behind it. */
struct tri_reference {
    struct tr_text text; /* as it is written */
    struct tr_text name;
    enum tri_reference_scope scope;
    const struct tr_step *steps;
    uint32_t step_count;
};

/*
 * Reads a whole text as a reference. False with what is wrong in `problem` (rule and remedy), or
 * with "" when memory ended.
 */
TR_MUST_USE bool tri_reference_parse(struct tr_arena *arena, struct tr_text text,
                                     struct tri_reference *reference, struct tr_text *problem);

/* A piece of a text: as it goes out, or what a reference in braces gives. */
struct tri_piece {
    bool is_reference;
    struct tr_text text; /* without what escapes */
    struct tri_reference reference;
};

/* A text with references in braces, in pieces. */
struct tri_interpolation {
    struct tr_text text; /* as it is written */
    const struct tri_piece *pieces;
    uint32_t count;
};

/*
 * Takes a text apart at its references, `{$name.field}`; `{$$` is `{$` as it goes out and, with
 * `has_lead`, `$$` at the beginning a dollar sign. False as tri_reference_parse.
 */
TR_MUST_USE bool tri_interpolation_parse(struct tr_arena *arena, struct tr_text text, bool has_lead,
                                         struct tri_interpolation *interpolation,
                                         struct tr_text *problem);

/* Whether it holds no reference; if so, the text as it goes out. */
bool tri_interpolation_is_literal(const struct tri_interpolation *interpolation,
                                  struct tr_text *literal);

/* Whether a text is a name of the language: [A-Za-z_][A-Za-z0-9_-]{0,62} */
bool tri_is_name(struct tr_text text);

/* What a literal in a condition looks like; its type may depend on what stands beside it. */
enum tri_token_kind {
    TRI_TOKEN_END,
    TRI_TOKEN_REFERENCE,
    TRI_TOKEN_NUMBER, /* also datetimes and durations, told apart when they are read */
    TRI_TOKEN_STRING,
    TRI_TOKEN_WORD, /* true, false, none, and, or, not */
    TRI_TOKEN_OPERATOR,
    TRI_TOKEN_WRONG,
};

/* A part of a condition as it is read; the numbers are positions among the parts. */
struct tri_part {
    uint8_t kind; /* enum tr_condition_kind */
    uint32_t left;
    uint32_t right;
    size_t offset;                                 /* in the text, for messages */
    struct tri_reference reference;                /* INPUT */
    const struct tri_interpolation *interpolation; /* INPUT: a text instead, or NULL */
    const struct tr_type *type; /* LITERAL: by its form; the compiler may narrow it */
    struct tr_tree tree;        /* LITERAL: to be read by the type beside it */
    struct tr_text text;        /* LITERAL: as messages show it */
};

struct tri_condition {
    const struct tri_part *parts; /* the root is the last */
    uint32_t count;
};

/*
 * Reads a condition. False with what is wrong in `problem` and where in `offset` (bytes into the
 * text), or with "" when memory ended.
 */
TR_MUST_USE bool tri_condition_parse(struct tr_types *types, struct tr_arena *arena,
                                     struct tr_text text, struct tri_condition *condition,
                                     struct tr_text *problem, size_t *offset);

#endif
