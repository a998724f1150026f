/*
 * Flyte's own documents, in protobuf: inputs.pb and outputs.pb, which are maps of literals,
 * error.pb, and packages of entities (../import/ makes graphs of them, and of futures.pb). What
 * literals say is what our JSON would say, so they become the same trees, which the same readers
 * take; and values are written by their types, as SDKs of Flyte write them.
 *
 * A struct goes out as a Binary with the tag "msgpack", as flytekit does it, since integers stay
 * integers in there; one that came as a google.protobuf.Struct goes on as one. The hash and the
 * words of a literal and the tag of bytes go on, too, as notes (value/note.h), but for those of a
 * list. An error has a node and a message only. What the wire cannot carry in C (text with a zero
 * byte, other than a string) is refused in both directions. Pure.
 */
#ifndef TR_ACTORS_GRAPH_FLYTE_FLYTE_H
#define TR_ACTORS_GRAPH_FLYTE_FLYTE_H

#include "actors/graph/value/literal_stream.h"
#include "schemas/engine/entity.h"

/* ------------------------------------------------------------------ reading */

/* A walk over a map of literals, or over the elements of a list. */
struct tr_flyte_walk {
    /* private */
    const uint8_t *at;
    const uint8_t *end;
    bool is_malformed;
};

/* An entry of a map: a literal under a name; the bytes of the literal are not looked at yet. */
struct tr_flyte_entry {
    struct tr_text name;
    struct tr_bytes literal;
};

/* Begins to walk over the entries of a document. */
struct tr_flyte_walk tr_flyte_entries(struct tr_bytes document);

/* The next one; false at the end, and where the document is none. */
bool tr_flyte_next_entry(struct tr_flyte_walk *walk, struct tr_flyte_entry *entry);

/* Begins to walk over the elements of a literal; false when it is no list. */
bool tr_flyte_elements(struct tr_bytes literal, struct tr_flyte_walk *walk);

/* The next element, a literal; false at the end, and where the list is none. */
bool tr_flyte_next_element(struct tr_flyte_walk *walk, struct tr_bytes *literal);

/* Whether the walk came to its end, and not to bytes that are no document. */
static inline bool tr_flyte_is_whole(const struct tr_flyte_walk *walk)
{
    return !walk->is_malformed;
}

/*
 * The literal of a name, the last one if there are several, as protobuf has it. TR_NOT_FOUND;
 * TR_MALFORMED: the document is no map of literals.
 */
TR_MUST_USE int tr_flyte_find(struct tr_bytes document, struct tr_text name,
                              struct tr_bytes *literal);

/* Where a literal lies that is kept in a file of its own, outside of its document. */
struct tr_flyte_elsewhere {
    struct tr_text uri;
    uint64_t size_bytes; /* of the file; 0: it is not said */
};

/* Whether a literal does; if so, where. */
bool tr_flyte_is_elsewhere(struct tr_arena *arena, struct tr_bytes literal,
                           struct tr_flyte_elsewhere *where);

/* Whether a file is as large as its literal says; told in the report where it is not. */
bool tr_flyte_is_size(const struct tr_flyte_elsewhere *where, struct tr_bytes file,
                      struct tr_report *report);

/* Who opens the files of such literals, wherever they stand in a document. */
struct tr_flyte_files {
    /* The bytes of a file, until they are closed. TR_INVALID: the report says why. */
    int (*open)(void *self, struct tr_report *report, struct tr_text uri, struct tr_bytes *file);
    void (*close)(void *self, struct tr_bytes file);
    void *self;
    uint64_t left_bytes; /* so many more may be read; counted down by what is */
};

/*
 * A literal as the tree that JSON of its value would give, for a place of a type; it may hold any
 * value all the same, which the reader of the tree finds out. NULL when it is no literal, which is
 * then in the report, or when memory ended (arena->error). `files` NULL: a literal that lies in a
 * file is refused.
 */
TR_MUST_USE const struct tr_tree *tr_flyte_literal(struct tr_arena *arena, struct tr_report *report,
                                                   const struct tr_type *type,
                                                   struct tr_bytes literal,
                                                   struct tr_flyte_files *files);

/* ------------------------------------------------------------------ writing */

/*
 * Writes an entry of a map in pieces; a document is its entries, one behind the other. `variant` is
 * 0, or which one of the union `type` the value is, + 1, where it is not told by the value.
 * TR_MALFORMED: it is no value of the type; TR_INVALID: it holds a zero byte in the key of a map, a
 * URI or an error; TR_LIMIT, TR_MEMORY, and what `put` says.
 */
TR_MUST_USE int tr_flyte_write(struct tr_text name, const struct tr_type *type, uint32_t variant,
                               struct tr_bytes value, tr_literal_put *put, void *self);

/* ------------------------------------------------------------------- hashes */

#define TR_FLYTE_HASH_BYTES 32

/* Who makes it: propeller and datacatalog, or flytekit (flytekit.utils.pbhash). */
enum tr_flyte_hash_form { TR_FLYTE_HASH_OF_PROPELLER, TR_FLYTE_HASH_OF_FLYTEKIT };

/*
 * The hash of a map of literals that Flyte's keys of cached results are made of. TR_MALFORMED: the
 * document is none; TR_LIMIT, TR_MEMORY.
 */
TR_MUST_USE int tr_flyte_hash(struct tr_bytes document, enum tr_flyte_hash_form form,
                              uint8_t hash[TR_FLYTE_HASH_BYTES]);

/* ------------------------------------------------------------------- errors */

/* What error.pb says; texts in the arena that it was read into. */
struct tr_flyte_error {
    struct tr_text code;
    struct tr_text message;
    bool is_recoverable;
    bool is_systems; /* not the user's fault */
};

/*
 * Of several documents one behind the other the earliest error, as Flyte takes it of the workers of
 * one task. TR_MALFORMED: one is no error document; TR_LIMIT, TR_MEMORY.
 */
TR_MUST_USE int tr_flyte_error_read(struct tr_arena *arena, struct tr_bytes document,
                                    struct tr_flyte_error *error);

/* ------------------------------------------------------------------- graphs */

/*
 * What a dynamic task decides lies in the same places, be it a document of the language or its
 * futures.pb, which has a zero byte in front there: no text of the language has one.
 */

/* Appends futures.pb as what its task has decided; the errors of the buffer. */
TR_MUST_USE int tr_flyte_futures_keep(struct tr_bytes futures, struct tr_buffer *decision);

/* Whether what a task has decided is futures.pb; if so, its bytes. */
bool tr_flyte_futures_are(struct tr_bytes decision, struct tr_bytes *futures);

/* ----------------------------------------------------------------- packages */

/* A file of a package: what its name ends with says what it holds, as `pyflyte package` has it. */
struct tr_flyte_file {
    /* ..._1.pb: a task, ..._2.pb: a workflow, ..._3.pb: a launch plan, ...closure.pb: compiled */
    struct tr_text name;
    struct tr_bytes bytes;
};

/* The variable PATH of tasks whose images suit a shell's pattern. */
struct tr_flyte_path {
    const char *images;
    struct tr_text path;
};

/* A package of Flyte's, and what its tasks find on this machine in the place of their images. */
struct tr_flyte_package {
    const struct tr_flyte_file *files;
    size_t file_count;
    struct tr_text project; /* these three are for ids that leave them open */
    struct tr_text domain;
    struct tr_text version;
    struct tr_text path;               /* the variable PATH; empty: the engine's */
    const struct tr_flyte_path *paths; /* before that: the first one that suits a task's image */
    size_t path_count;
    struct tr_text python_path; /* the variable PYTHONPATH; empty: the engine's */
    struct tr_text warm;        /* the variable TROUPE_WARM; empty: the engine's */
    bool is_kept;               /* all of it was applied, so that names alone are enough */
    bool has_code;              /* of a fast package: it is where `python_path` says */
    struct tr_text code;        /* the name of that code in the store, or empty */
    void (*note)(void *self, const char *words); /* what of it does not act here; NULL: nobody */
    /*
     * Finds what was applied with another package, by the five fields of its id; the others go into
     * the arena. TR_NOT_FOUND, and other errors, which end the reading. NULL: there is nothing.
     */
    int (*find)(void *self, struct tr_arena *arena, struct tr_entity *entity);
    /* Hears of each entity of the package itself, for keeping it; an error ends it. NULL: nobody */
    int (*keep)(void *self, const struct tr_entity *entity);
    void *self;
    struct tr_flyte_files *literals; /* those in bindings and defaults that lie in files, or NULL */
};

/*
 * Appends the CompiledWorkflowClosure of one of its workflows, as Flyte's compiler leaves it: with
 * start and end nodes, the arms of branches among the nodes, the edges, and all that it needs. The
 * package has to be a right one. TR_NOT_FOUND: there is no such workflow; TR_INVALID, TR_LIMIT,
 * TR_MEMORY.
 */
TR_MUST_USE int tr_flyte_closure(const struct tr_flyte_package *package, struct tr_text name,
                                 struct tr_report *report, struct tr_buffer *buffer);

#endif
