/*
 * The text of a definition, and how those it includes are read.
 */
#ifndef TR_ACTORS_GRAPH_LANGUAGE_DEFINITION_SOURCE_H
#define TR_ACTORS_GRAPH_LANGUAGE_DEFINITION_SOURCE_H

#include "schemas/codec/base.h"

struct tr_definition_source {
    struct tr_text path;   /* the file's name as messages show it */
    struct tr_text folder; /* absolute: relative paths in it count from here */
    struct tr_text text;   /* YAML */
    /*
     * Reads an included file: 0 and a block of tr_alloc, which the compiler gives back, or an
     * error. NULL refuses includes.
     */
    int (*read)(void *self, struct tr_text path, uint8_t **data, size_t *size);
    void *self;
};

#endif
