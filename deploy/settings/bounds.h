/*
 * How much an engine has in hand at most: what the settings say, else a share of what the machine,
 * the control group and the limits of this process leave.
 */
#ifndef TR_DEPLOY_SETTINGS_BOUNDS_H
#define TR_DEPLOY_SETTINGS_BOUNDS_H

#include "deploy/settings/settings.h"

/*
 * The share of memory that is counted, where nobody says how much: the rest is for libraries, what
 * lies between blocks, and a margin.
 */
#define TR_BOUNDS_MEMORY_PERCENT 50

/* The share of it that one execution may have. */
#define TR_BOUNDS_EXECUTION_PERCENT 75

/* The least that settings may say. */
#define TR_BOUNDS_MEMORY_MIN (16ULL << 20)

/* The bounds by settings, which may be NULL. */
struct tr_bounds tr_bounds_wanted(const struct tr_settings_file *settings);

/* The memory that this process can get at all: of machine, control group and limits the least. */
uint64_t tr_bounds_memory(void);

#endif
