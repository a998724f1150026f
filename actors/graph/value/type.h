/*
 * The type system: that of the Flyte IDL (flyteidl.core.LiteralType), written as
 * examples/README.md says.
 *
 * Types are immutable and interned: within one table, equal types are the same pointer, and each
 * has a number, by which a packed graph names it. Parts come before what is made of them.
 *
 * A place whose type is known only at run time (a field of a struct) has the type NULL.
 */
#ifndef TR_ACTORS_GRAPH_VALUE_TYPE_H
#define TR_ACTORS_GRAPH_VALUE_TYPE_H

#include "actors/graph/document/buffer.h"
#include "actors/graph/document/tree.h"

/* Kinds: name, number on disk (never reused), the word in the language, text in JSON. */
#define TR_TYPE_KINDS(K)          \
    K(NONE, 0, "none")            \
    K(INT, 1, "int")              \
    K(FLOAT, 2, "float")          \
    K(STRING, 3, "string")        \
    K(BOOL, 4, "bool")            \
    K(DATETIME, 5, "datetime")    \
    K(DURATION, 6, "duration")    \
    K(BYTES, 7, "bytes")          \
    K(ERROR, 8, "error")          \
    K(STRUCT, 9, "struct")        \
    K(FILE, 10, "file")           \
    K(DIRECTORY, 11, "directory") \
    K(DATASET, 12, "dataset")     \
    K(ENUM, 13, "enum")           \
    K(LIST, 14, "list")           \
    K(MAP, 15, "map")             \
    K(UNION, 16, "union")

/* The first ten are the numbers of flyteidl.core.SimpleType. */
enum tr_type_kind {
#define TRI_TYPE_ENUM(name, number, word) TR_TYPE_##name = (number),
    TR_TYPE_KINDS(TRI_TYPE_ENUM)
#undef TRI_TYPE_ENUM
};

/* How many kinds are one word and nothing else. */
#define TR_TYPE_SIMPLE_COUNT 13

struct tr_type {
    uint32_t index;                     /* its number in its table */
    uint8_t kind;                       /* enum tr_type_kind */
    uint8_t depth;                      /* 0 for what has no parts */
    uint16_t part_total;                /* all types in it, itself included */
    uint32_t count;                     /* parts, or values of an enum */
    const struct tr_type *const *parts; /* LIST, MAP: the element; UNION: the variants */
    const struct tr_text *values;       /* ENUM */
    struct tr_text format;              /* FILE, DIRECTORY, DATASET: "" is any */
    /*
     * Flyte's structure.tag: what an SDK calls its own type, by which it knows variants of a union.
     * "" where nobody said; it decides nothing but which variant is meant.
     */
    struct tr_text tag;
    struct tr_text schema; /* of a struct: what SDKs say about its fields, JSON (type_schema.h) */
    struct tr_text extra;  /* what else Flyte says of the type, base64; it decides nothing */
};

/* A table of types; it lives in an arena. */
struct tr_types {
    const struct tr_type **items;
    uint32_t count;

    /* private */
    uint32_t capacity;
    uint32_t *slots;
    uint32_t slot_count;
    struct tr_arena *arena;
};

/* An empty table in `arena`. */
void tr_types_init(struct tr_types *types, struct tr_arena *arena);

/* A table that goes on from the types that lie in `arena`. False without memory. */
TR_MUST_USE bool tr_types_resume(struct tr_types *types, struct tr_arena *arena,
                                 const struct tr_type *const *items, uint32_t count);

/*
 * Types by their parts. NULL when a limit is reached (depth, parts, variants, all types) or memory
 * ended. A union is flattened and its repeated variants dropped; of one variant it is that one.
 */
TR_MUST_USE const struct tr_type *tr_type_simple(struct tr_types *types, enum tr_type_kind kind);
TR_MUST_USE const struct tr_type *tr_type_list(struct tr_types *types,
                                               const struct tr_type *element);
TR_MUST_USE const struct tr_type *tr_type_map(struct tr_types *types,
                                              const struct tr_type *element);
TR_MUST_USE const struct tr_type *tr_type_union(struct tr_types *types,
                                                const struct tr_type *const *variants,
                                                uint32_t count);
TR_MUST_USE const struct tr_type *tr_type_enum(struct tr_types *types, const struct tr_text *values,
                                               uint32_t count);

/* T | none; a type that can be none already stays. */
TR_MUST_USE const struct tr_type *tr_type_optional(struct tr_types *types,
                                                   const struct tr_type *type);

/* FILE, DIRECTORY or DATASET of a format. */
TR_MUST_USE const struct tr_type *tr_type_format(struct tr_types *types, enum tr_type_kind kind,
                                                 struct tr_text format);

/* The same type with what Flyte says of it in `words`: tag, schema (of a struct only), extra. */
TR_MUST_USE const struct tr_type *tr_type_described(struct tr_types *types,
                                                    const struct tr_type *type,
                                                    const struct tr_type *words);

/* Whether none is a value of it, so that an input may be left out. */
bool tr_type_is_optional(const struct tr_type *type);

/* The position of a value in an enum, or -1. */
int64_t tr_type_enum_find(const struct tr_type *type, struct tr_text value);

/* Whether values of one type may go where the other is declared. */
enum tr_castable {
    TR_CASTABLE_NO,
    TR_CASTABLE_YES,
    TR_CASTABLE_AMBIGUOUS, /* into more than one variant of a union */
};

/*
 * By the rules of the Flyte IDL: the same type; enum and string into each other; enums of the same
 * values; formats that are equal or not given; structs by their schemas (type_schema.h); lists and
 * maps by their elements; from a union when every variant may, into a union when exactly one
 * variant takes it (or the type is one of them). Never between int and float. NULL (known at run
 * time) goes anywhere and takes everything.
 */
enum tr_castable tr_type_castable(const struct tr_type *from, const struct tr_type *to);

/* The variant of a union that takes a type: its position, or -1 for none or several. */
int64_t tr_type_variant_for(const struct tr_type *from, const struct tr_type *to);

/*
 * The type as people read it, without formats, and with tags only where variants differ by nothing
 * else. NULL is written "anything".
 */
void tr_type_print(const struct tr_type *type, struct tr_buffer *buffer);

/* The whole type, as documents hand it on: what is read again is the same. */
void tr_type_write(const struct tr_type *type, struct tr_buffer *buffer);

/* A variant as people read it where its union is known: no two of one are the same. */
void tr_type_print_variant(const struct tr_type *type, uint32_t variant, struct tr_buffer *buffer);

/*
 * The position of the variant that a type names, or -1: the same one, or the only one but for tags.
 */
int64_t tr_type_variant_named(const struct tr_type *type, const struct tr_type *named);

/* The same as a text in an arena, for messages. */
struct tr_text tr_type_text(struct tr_arena *arena, const struct tr_type *type);

/*
 * Reads a type expression: a name, [T], {string: T}, A | B, enum(a, b); behind each of them may
 * stand (format: "F", tag: "T", title: "C", schema: "S", extra: "E"), or some of these; a title is
 * a schema that says nothing else. NULL with what is wrong in `problem`, as tri_report_add takes it
 * (rule and remedy), or with "" when memory ended.
 */
TR_MUST_USE const struct tr_type *tr_type_parse(struct tr_types *types, struct tr_text text,
                                                struct tr_text *problem);

/* Reads a type from a document: an expression, a list of one type, or {string: T}. Told if NULL. */
TR_MUST_USE const struct tr_type *tr_type_read(struct tr_types *types, struct tr_report *report,
                                               const struct tr_tree *tree);

#endif
