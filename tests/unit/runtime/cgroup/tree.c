/*
 * The tree below a temporary folder.
 */
#include "tests/unit/runtime/cgroup/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "tests/support/test.h"

static char root[64];

const char *tree_new(void)
{
    (void)snprintf(root, sizeof root, "/tmp/troupe-cgroup-XXXXXX");
    assert_non_null(mkdtemp(root));
    return root;
}

void tree_remove(void)
{
    int above = open("/tmp", O_RDONLY | O_DIRECTORY);
    assert_true(above >= 0);
    assert_int_equal(tri_below_remove(above, tr_text_of(root + strlen("/tmp/"))), 0);
    close(above);
}

const char *tree_path(const char *name)
{
    static char paths[8][256];
    static size_t at;
    char *path = paths[at++ % TR_COUNT_OF(paths)];
    (void)snprintf(path, sizeof paths[0], "%s%s", root, name);
    return path;
}

static const char *file_path(const char *group, const char *name)
{
    char below[128];
    (void)snprintf(below, sizeof below, "%s/%s", group, name);
    return tree_path(below);
}

void tree_write(const char *group, const char *name, const char *text)
{
    FILE *file = fopen(file_path(group, name), "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

const char *tree_read(const char *group, const char *name)
{
    static char text[256];
    FILE *file = fopen(file_path(group, name), "r");
    if (file == NULL) {
        return "-";
    }
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

void tree_group(const char *name, const char *controllers, const char *processes)
{
    if (name[0] != '\0') {
        assert_int_equal(mkdir(tree_path(name), 0755), 0);
        tree_write(name, "cgroup.type", "domain\n");
        tree_write(name, "memory.max", "max\n");
        tree_write(name, "memory.high", "max\n");
    }
    tree_write(name, "cgroup.controllers", controllers);
    tree_write(name, "cgroup.subtree_control", "");
    tree_write(name, "cgroup.procs", processes);
}

void tree_drop(const char *group, const char *name)
{
    assert_int_equal(remove(file_path(group, name)), 0);
}
