/*
 * What tests of the program share: a folder of their own to stand in, and graphs from text.
 */
#ifndef TR_TESTS_UNIT_DEPLOY_HELP_H
#define TR_TESTS_UNIT_DEPLOY_HELP_H

#include "actors/graph/compiled/graph.h"
#include "tests/support/test.h"

/* Makes an empty folder and goes there; removes it with all that is in it, and goes away. */
const char *help_folder_enter(void);
void help_folder_leave(void);

/* Writes a file there. */
void help_write(const char *path, const char *text);

/* The graph of a definition that has no errors. */
struct tr_graph *help_graph(const char *yaml);

#endif
