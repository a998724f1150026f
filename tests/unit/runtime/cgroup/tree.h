/*
 * A folder in the place of control groups: files that hold what the kernel's would, and take what
 * is written to them.
 */
#ifndef TR_TESTS_UNIT_RUNTIME_CGROUP_TREE_H
#define TR_TESTS_UNIT_RUNTIME_CGROUP_TREE_H

/* Makes the root of a tree; its path lives until the next one. */
const char *tree_new(void);
void tree_remove(void);

/* A path below the root (static, a few at once). */
const char *tree_path(const char *name);

/* Makes a group as the kernel does, with this in cgroup.controllers and cgroup.procs. */
void tree_group(const char *name, const char *controllers, const char *processes);

/* Writes a file, and reads one; "-": there is none. */
void tree_write(const char *group, const char *name, const char *text);
const char *tree_read(const char *group, const char *name);

/* Removes a file or an empty folder. */
void tree_drop(const char *group, const char *name);

#endif
