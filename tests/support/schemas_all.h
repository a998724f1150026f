/*
 * Every schema of the project in one registry: the golden table, fuzz targets and all that must
 * miss none begin here.
 */
#ifndef TR_TESTS_SUPPORT_SCHEMAS_ALL_H
#define TR_TESTS_SUPPORT_SCHEMAS_ALL_H

#include "schemas/codec/registry.h"

/* The registry, made at the first call; a list that is refused ends the process with its reason. */
const struct tr_registry *schemas_all(void);

#endif
