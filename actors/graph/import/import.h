/*
 * From Flyte's entities to a graph: a package with what it refers to, and the futures.pb of a
 * dynamic task. They fill in the definition that the compiler compiles (compiler/fill.h), as a file
 * in YAML does; the compiler judges both.
 */
#ifndef TR_ACTORS_GRAPH_IMPORT_IMPORT_H
#define TR_ACTORS_GRAPH_IMPORT_IMPORT_H

#include "actors/graph/compiler/compile.h"
#include "actors/graph/flyte/flyte.h"

/* How messages call a package, and from where its tasks start. */
struct tr_import_place {
    struct tr_text path;
    struct tr_text folder; /* absolute */
};

/*
 * Compiles a package. Entities are known by their ids; one that is there twice counts once, and has
 * to be the same. 0 and a graph, which is the caller's; TR_INVALID when the report holds errors;
 * TR_LIMIT, TR_MEMORY, and what the package's own functions say.
 */
TR_MUST_USE int tr_import_package(const struct tr_flyte_package *package,
                                  const struct tr_import_place *place, struct tr_report *report,
                                  struct tr_graph **graph);

/* What a dynamic task has left, and what that needs from outside. */
struct tr_import_futures {
    struct tr_bytes bytes;        /* futures.pb */
    struct tr_flyte_files *files; /* of literals that lie in files of their own; NULL: refused */
    /* Finds what was applied and is referred to, as tr_flyte_package's; NULL: there is nothing. */
    int (*find)(void *self, struct tr_arena *arena, struct tr_entity *entity);
    void *self;
};

/*
 * Compiles what futures.pb decides, as tr_graph_decide does it with a document of JSON. The
 * decision's text is not looked at; its parent is taken, also on failure.
 */
TR_MUST_USE int tr_import_decide(const struct tr_decision *decision,
                                 const struct tr_import_futures *futures, struct tr_report *report,
                                 struct tr_graph **graph);

#endif
