/*
 * Packages of Flyte's: what `pyflyte package` writes, and folders and files of `pyflyte serialize`.
 * They are compiled to a graph as definitions are, and what their tasks need on this machine, in
 * the place of a container's image, is found before anything begins.
 */
#ifndef TR_DEPLOY_FLYTE_PACKAGE_H
#define TR_DEPLOY_FLYTE_PACKAGE_H

#include "actors/graph/compiled/graph.h"
#include "actors/graph/document/report.h"
#include "actors/graph/flyte/flyte.h"
#include "schemas/engine/entity.h"

/* A Python for the tasks that were packaged for images of a shell's pattern. */
struct tr_package_python {
    const char *images;
    const char *python; /* a path */
};

struct tr_package_options {
    const char *project; /* for ids that leave it open; NULL: default */
    const char *domain;  /* the same; NULL: development */
    const char *version; /* the same; NULL: the SHA-256 of the package */
    /* Beside it are flytekit's programs; NULL: by image, else of $VIRTUAL_ENV, else of $PATH. */
    const char *python;
    const struct tr_package_python *pythons; /* the first one that suits */
    size_t python_count;
    const char *code;     /* a folder with the modules of the tasks; NULL: a fast package's own */
    const char *unpacked; /* the name of code that the store has unpacked, which it is; or NULL */
    bool is_cold;         /* its tasks are not forked from warm workers */
    bool is_elsewhere;    /* they do not run on this machine: their images have flytekit */
    /*
     * The store whose tasks will run it: code is unpacked there, and flytekit has to be found.
     * NULL: the package is only looked at.
     */
    const char *store;
    void (*note)(void *self, const char *words); /* what is not as it was asked for; NULL: nobody */
    /* What was applied with other packages, and whoever keeps this one: as of tr_flyte_package. */
    int (*find)(void *self, struct tr_arena *arena, struct tr_entity *entity);
    int (*keep)(void *self, const struct tr_entity *entity);
    void *self;
};

/* Whether a path is a package, and no definition in YAML: by its name, or how it begins. */
bool tr_package_is(const char *path);

/*
 * Reads a package and compiles it. What is wrong with it is in the report: TR_INVALID. TR_MEMORY,
 * TR_LIMIT.
 */
TR_MUST_USE int tr_package_compile(const char *path, const struct tr_package_options *options,
                                   struct tr_report *report, struct tr_graph **graph);

/*
 * Fills in what the tasks of a package find on this machine, by its options: their programs, and
 * their modules, of an archive that is unpacked if the store has not done so before (`size` 0:
 * there is none). What is wrong is in the report: TR_INVALID. TR_MEMORY, TR_SYSTEM.
 */
TR_MUST_USE int tr_package_place(const struct tr_package_options *options, struct tr_bytes code,
                                 struct tr_arena *arena, struct tr_report *report,
                                 struct tr_flyte_package *package);

/*
 * Appends one of its workflows as Flyte's compiler leaves it (tr_flyte_closure). TR_NOT_FOUND: the
 * package has none of that name; else as tr_package_compile.
 */
TR_MUST_USE int tr_package_closure(const char *path, const struct tr_package_options *options,
                                   struct tr_text name, struct tr_report *report,
                                   struct tr_buffer *closure);

#endif
