/*
 * The temporary tree of test_laws.c: made once per test, removed after it.
 *
 * It holds the least that keeps every law: what belongs at the top, and a README in each folder.
 */
#include "tests/unit/house/planted.h"

#include "tests/support/folder.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[256];
static size_t seen[HOUSE_LAW_COUNT];

static void full_path(const char *path, char *full, size_t size)
{
    assert_true((size_t)snprintf(full, size, "%s/%s", root, path) < size);
}

static void make_folders_above(const char *full)
{
    char folder[1024];
    for (const char *slash = strchr(full + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - full), full);
        mkdir(folder, 0755);
    }
}

void planted_write(const char *path, const char *text)
{
    char full[1024];
    full_path(path, full, sizeof(full));
    make_folders_above(full);
    FILE *file = fopen(full, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

void planted_write_code(const char *path, const char *code)
{
    static char text[65536];
    assert_true((size_t)snprintf(text, sizeof(text), "/* What this is. */\n/* And why. */\n%s\n",
                                 code) < sizeof(text));
    planted_write(path, text);
}

void planted_remove(const char *path)
{
    char full[1024];
    full_path(path, full, sizeof(full));
    assert_int_equal(unlink(full), 0);
    for (;;) {
        *strrchr(full, '/') = '\0';
        if (strcmp(full, root) == 0 || rmdir(full) != 0) {
            return;
        }
    }
}

void planted_rename(const char *from, const char *to)
{
    char full_from[1024];
    char full_to[1024];
    full_path(from, full_from, sizeof(full_from));
    full_path(to, full_to, sizeof(full_to));
    assert_int_equal(rename(full_from, full_to), 0);
}

int planted_setup(void **state)
{
    (void)state;
    const char *temporary = getenv("TMPDIR");
    snprintf(root, sizeof(root), "%s/house-XXXXXX", temporary != NULL ? temporary : "/tmp");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; house_top_level[i] != NULL; i++) {
        planted_write(house_top_level[i], "A line.\n");
    }
    for (size_t i = 0; house_folders[i] != NULL; i++) {
        char path[64];
        snprintf(path, sizeof(path), "%s/README.md", house_folders[i]);
        planted_write(path, "A line.\n");
    }
    return 0;
}

int planted_teardown(void **state)
{
    (void)state;
    return folder_remove(root);
}

void planted_expect(enum house_law law, const char *path, size_t line)
{
    struct house_findings findings = {0};
    house_check_tree(root, &findings);
    bool good = findings.count == 1 && findings.items[0].law == law &&
                findings.items[0].line == line && strcmp(findings.items[0].path, path) == 0;
    if (!good) {
        fprintf(stderr, "expected %s:%zu: %s, and found:\n", path, line, house_law_names[law]);
        house_findings_print(&findings, stderr);
    }
    house_findings_fini(&findings);
    seen[law] += good;
    assert_true(good);
}

void planted_expect_none(void)
{
    struct house_findings findings = {0};
    house_check_tree(root, &findings);
    size_t count = findings.count;
    house_findings_print(&findings, stderr);
    house_findings_fini(&findings);
    assert_int_equal(count, 0);
}

size_t planted_seen(enum house_law law)
{
    return seen[law];
}
