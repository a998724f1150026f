/*
 * Control groups (v2) as folders and files. Paths are absolute, and where the hierarchy is mounted
 * is known by what /proc says; tests use folders of their own. Any thread.
 */
#ifndef TR_RUNTIME_CGROUP_CGROUP_H
#define TR_RUNTIME_CGROUP_CGROUP_H

#include <limits.h>
#include <sys/types.h>

#include "schemas/codec/base.h"

/* Where the whole v2 hierarchy is mounted. False: nowhere, or the path does not fit. */
bool tri_cgroup_mount(char *path, size_t size);

/* This process's group: the path below the mount, "/" for the root. False as above. */
bool tri_cgroup_own(char *path, size_t size);

/* Opens a group's folder, and checks that it is one. -1: it is none. */
int tri_cgroup_open(const char *path);

/* Writes a word to a file of a group that is there. False, with errno, where it was not taken. */
bool tri_cgroup_write(int group, const char *name, const char *word);

/* The beginning of a file of a group, with a closing zero; empty where it cannot be read. */
void tri_cgroup_read(int group, const char *name, char *text, size_t size);

/* The number behind a word at the beginning of a line; empty: the first number. 0 without. */
uint64_t tri_cgroup_number(int group, const char *name, const char *word);

/* Whether a file of words has this one, as cgroup.controllers has `memory`. */
bool tri_cgroup_has_word(int group, const char *name, const char *word);

/* Kills all that is in a group and below (Linux 5.14). False: nothing was killed. */
bool tri_cgroup_kill(int group);

/* Removes a group with all groups below it. False with errno: processes are left in one. */
bool tri_cgroup_remove(int above, const char *name);

#endif
