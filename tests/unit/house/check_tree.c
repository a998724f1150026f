/*
 * Walks a tree, checks each file by itself, and checks what only the tree shows: what lies at the
 * top, and that each folder has its README. Also the list that findings are collected in.
 *
 * Names that begin with a dot and the folder `build` at the top are passed over, but for .ci/.
 */
#include "tests/unit/house/check.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
    const char *root;
    struct house_findings *findings;
    struct house_readers_seen readers;
    size_t file_count;
};

/* ---- Findings. ------------------------------------------------------------------------------ */

void house_find(struct house_findings *findings, const char *path, size_t line, enum house_law law,
                const char *format, ...)
{
    size_t size = (findings->count + 1) * sizeof(findings->items[0]);
    struct house_finding *items = realloc(findings->items, size);
    char *kept = strdup(path);
    if (items == NULL || kept == NULL) {
        abort();
    }
    findings->items = items;
    struct house_finding *finding = &items[findings->count++];
    *finding = (struct house_finding){.path = kept, .line = line, .law = law};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof(finding->text), format, arguments);
    va_end(arguments);
}

void house_findings_print(const struct house_findings *findings, FILE *out)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct house_finding *finding = &findings->items[i];
        fprintf(out, "%s:%zu: %s: %s\n", finding->path, finding->line,
                house_law_names[finding->law], finding->text);
    }
}

void house_findings_fini(struct house_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].path);
    }
    free(findings->items);
    *findings = (struct house_findings){0};
}

/* ---- What only the tree shows. -------------------------------------------------------------- */

static bool exists(const char *root, const char *path)
{
    char full[4096];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    return access(full, F_OK) == 0;
}

static bool is_listed(const char *const *names, const char *name)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void check_top_name(struct walk *walk, const char *name)
{
    if (name[0] != '.' && strcmp(name, "build") != 0 && !is_listed(house_folders, name) &&
        !is_listed(house_top_level, name)) {
        house_find(walk->findings, name, 0, HOUSE_LAW_TOP_LEVEL,
                   "does not belong at the top; put it into the folder it is about");
    }
}

static void check_top_present(struct walk *walk)
{
    const char *const *const tables[] = {house_folders, house_top_level};
    for (size_t table = 0; table < 2; table++) {
        for (size_t i = 0; tables[table][i] != NULL; i++) {
            if (!exists(walk->root, tables[table][i])) {
                house_find(walk->findings, tables[table][i], 0, HOUSE_LAW_TOP_LEVEL,
                           "is missing at the top; add it");
            }
        }
    }
}

static void check_readme(struct walk *walk, const char *folder)
{
    char path[2048];
    snprintf(path, sizeof(path), "%s/README.md", folder);
    if (folder[0] != '.' && !exists(walk->root, path)) {
        house_find(walk->findings, folder, 0, HOUSE_LAW_README,
                   "has no README.md; say what lives here, how to read it, what it promises");
    }
}

/* ---- The walk. ------------------------------------------------------------------------------ */

static void visit_file(struct walk *walk, const char *path)
{
    struct house_source source;
    if (!house_source_init(&source, walk->root, path)) {
        return;
    }
    walk->file_count++;
    house_check_words(&source, walk->findings);
    house_check_shape(&source, walk->findings);
    house_check_readers(&source, &walk->readers, walk->findings);
    house_source_fini(&source);
}

static int by_name(const struct dirent **first, const struct dirent **second)
{
    return strcmp((*first)->d_name, (*second)->d_name);
}

static bool is_passed_over(const char *folder, const char *name)
{
    bool top = folder[0] == '\0';
    return (name[0] == '.' && !(top && strcmp(name, ".ci") == 0)) ||
           (top && strcmp(name, "build") == 0);
}

/* Visits what lies in `folder`, "" for the root, which lies `depth` folders below the root. */
static void visit_folder(struct walk *walk, const char *folder, size_t depth)
{
    char path[2048];
    struct dirent **entries = NULL;
    snprintf(path, sizeof(path), "%s/%s", walk->root, folder);
    int count = scandir(path, &entries, NULL, by_name);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (depth == 0) {
            check_top_name(walk, name);
        }
        if (!is_passed_over(folder, name)) {
            struct stat status;
            char full[4096];
            snprintf(path, sizeof(path), "%s%s%s", folder, depth > 0 ? "/" : "", name);
            snprintf(full, sizeof(full), "%s/%s", walk->root, path);
            if (lstat(full, &status) == 0 && S_ISDIR(status.st_mode)) {
                visit_folder(walk, path, depth + 1);
            } else {
                visit_file(walk, path);
            }
        }
        free(entries[i]);
    }
    free(entries);
    if (depth > 0 && depth <= HOUSE_README_DEPTH_MAX && count > 0) {
        check_readme(walk, folder);
    }
}

size_t house_check_tree(const char *root, struct house_findings *findings)
{
    struct walk walk = {.root = root, .findings = findings};
    check_top_present(&walk);
    visit_folder(&walk, "", 0);
    for (size_t i = 0; i < house_reader_count; i++) {
        free(walk.readers.paths[i]);
    }
    return walk.file_count;
}
