/*
 * What is installed beside the program: PREFIX/share/troupe of PREFIX/bin/troupe. In a build it is
 * share/troupe in the folder of the program, or in the one above that of a test.
 */
#ifndef TR_DEPLOY_SETTINGS_INSTALLED_H
#define TR_DEPLOY_SETTINGS_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

/* Finds a folder of share/troupe by its name; false: it is not there. Any thread. */
bool tr_installed_find(const char *name, char path[PATH_MAX]);

#endif
