/*
 * What the files of settings.h share: settings.c reads the file, settings_plugins.c what it says
 * of plugins.
 */
#ifndef TR_DEPLOY_SETTINGS_SETTINGS_INSIDE_H
#define TR_DEPLOY_SETTINGS_SETTINGS_INSIDE_H

#include "actors/graph/language/definition.h"
#include "deploy/settings/settings.h"

/* A path from the folder of the settings on, as a string; NULL without memory. */
const char *tri_settings_place(struct tr_settings_file *settings, struct tr_text path);

/* The plugin that a text names, or NULL, which is told. */
const struct tr_plugin *tri_settings_find_plugin(struct tri_definition *definition,
                                                 const struct tr_settings_file *settings,
                                                 const struct tr_tree *name);

/* Loads those of `plugins` that have a path, before anything else of the settings is read. */
void tri_settings_load_plugins(struct tri_definition *definition, const struct tr_tree *tree,
                               struct tr_settings_file *settings);

/* Reads `plugins`; `target` is a struct tr_settings_file. */
void tri_settings_read_plugins(struct tri_definition *definition, const struct tr_tree *value,
                               void *target);

#endif
