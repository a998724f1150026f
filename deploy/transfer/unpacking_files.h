/*
 * The files of an archive, on their way into a store: written aside, held against their names, and
 * put in their places.
 */
#ifndef TR_DEPLOY_TRANSFER_UNPACKING_FILES_H
#define TR_DEPLOY_TRANSFER_UNPACKING_FILES_H

#include "schemas/codec/base.h"

/* Whether a path is one of a graph, a blob, or something in a blob. */
bool tr_unpacking_is_path(struct tr_text path);

#endif
