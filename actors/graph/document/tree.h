/*
 * A document as a tree of lists, mappings and scalars, each with its place: what yaml.c and json.c
 * make, and what everything else in this room reads.
 *
 * A plain YAML scalar is kept as it is written, because its meaning depends on the type of its
 * place; tr_tree_resolve gives YAML 1.2's core schema where no type is known. Trees are immutable
 * and may share parts (aliases); they live as long as their arena.
 */
#ifndef TR_ACTORS_GRAPH_DOCUMENT_TREE_H
#define TR_ACTORS_GRAPH_DOCUMENT_TREE_H

#include "actors/graph/document/buffer.h"
#include "actors/graph/document/report.h"

enum tr_tree_kind {
    TR_TREE_PLAIN,  /* a YAML scalar without quotes: its text */
    TR_TREE_STRING, /* text that is text: quoted, a block scalar, or a JSON string */
    TR_TREE_INT,
    TR_TREE_FLOAT,
    TR_TREE_BOOL,
    TR_TREE_NULL,
    TR_TREE_LIST,
    TR_TREE_MAP,
    TR_TREE_REFERENCE, /* to a value, as Flyte's graphs have it: no text that is still to be read */
};

struct tr_tree;
struct tr_note;
struct tri_reference;

struct tr_pair {
    const struct tr_tree *key; /* a scalar; its text is the key as it is written */
    const struct tr_tree *value;
};

struct tr_tree {
    uint8_t kind;
    bool has_dollar;            /* a scalar in it may refer to something: tri_text_has_dollar */
    uint32_t count;             /* elements or pairs */
    uint32_t weight;            /* values in it after aliases are followed, itself included */
    const struct tr_note *note; /* what came beside the value (value/note.h), or NULL */
    struct tri_place place;
    union {
        struct tr_text text;                   /* PLAIN, STRING */
        int64_t integer;                       /* INT */
        double number;                         /* FLOAT */
        bool boolean;                          /* BOOL */
        struct tr_tree **items;                /* LIST */
        const struct tr_pair *pairs;           /* MAP, in the order they are written */
        const struct tri_reference *reference; /* REFERENCE (language/expression.h) */
    };
};

/* Whether it is text as it is written: plain or quoted. */
static inline bool tr_tree_is_text(const struct tr_tree *tree)
{
    return tree->kind == TR_TREE_PLAIN || tree->kind == TR_TREE_STRING;
}

/* Whether it is a plain scalar with nothing in it, as behind `key:`. */
static inline bool tr_tree_is_empty(const struct tr_tree *tree)
{
    return tree->kind == TR_TREE_PLAIN && tree->text.size == 0;
}

/* The value of a key, or NULL. For mappings with few keys: it looks at each. */
const struct tr_tree *tr_tree_find(const struct tr_tree *map, const char *key);

/* What it is, for messages: "a list", "a mapping", "text", "an integer". */
const char *tr_tree_noun(const struct tr_tree *tree);

/* Gives a plain scalar its kind by YAML 1.2's core schema; others are copied as they are. */
struct tr_tree tr_tree_resolve(const struct tr_tree *tree);

/* Reads a number of the core schema; false if the text is none or does not fit. */
bool tri_text_integer(struct tr_text text, int64_t *value);
bool tri_text_number(struct tr_text text, double *value);

/* Whether the text has the form of an integer, fitting or not. */
bool tri_text_is_integer(struct tr_text text);

/* Whether a text begins with a dollar sign, or has one behind a brace, as in "{$name}.csv". */
bool tri_text_has_dollar(struct tr_text text);

/*
 * A run-time value (msgpack of nil, bools, numbers, text, lists and maps) as the tree that its
 * JSON would give. NULL when the bytes are malformed or memory ended.
 */
TR_MUST_USE const struct tr_tree *tri_tree_of_value(struct tr_arena *arena, struct tr_bytes value);

/* Appends a tree without references as JSON; a plain scalar is text. */
void tr_tree_write(const struct tr_tree *tree, struct tr_buffer *buffer);

/*
 * For readers that build trees. A map is closed once its pairs are complete: repeated keys are
 * reported, and the pairs that merge keys (`<<`) bring are added behind its own.
 */
TR_MUST_USE struct tr_tree *tri_tree_new(struct tr_arena *arena, enum tr_tree_kind kind,
                                         struct tri_place place);
void tri_tree_close_list(struct tr_tree *list, const struct tri_vector *items);
TR_MUST_USE bool tri_tree_close_map(struct tr_arena *arena, struct tr_report *report,
                                    struct tr_tree *map, const struct tri_vector *pairs);

#endif
