/*
 * Applies the laws of laws.h to a tree of files and collects what it finds.
 *
 *     struct house_findings findings = {0};
 *     house_check_tree("/home/me/troupe", &findings);
 *     house_findings_print(&findings, stderr);
 *     house_findings_fini(&findings);
 *
 * Everything here belongs to one thread.
 */
#ifndef TR_TESTS_UNIT_HOUSE_CHECK_H
#define TR_TESTS_UNIT_HOUSE_CHECK_H

#include "tests/unit/house/laws.h"
#include "tests/unit/house/source.h"

#include <stdio.h>

struct house_finding {
    char *path;
    size_t line; /* 0 where the finding is about the file or folder itself */
    enum house_law law;
    char text[256]; /* what is wrong, and what to do */
};

struct house_findings {
    struct house_finding *items;
    size_t count;
};

void house_find(struct house_findings *findings, const char *path, size_t line, enum house_law law,
                const char *format, ...) __attribute__((format(printf, 5, 6)));
void house_findings_print(const struct house_findings *findings, FILE *out);
void house_findings_fini(struct house_findings *findings);

/* Which C file reads which of house_readers: kept from file to file of one tree. */
struct house_readers_seen {
    char *paths[8];
};

/* The laws about what a file says, and about what it looks like. */
void house_check_words(const struct house_source *source, struct house_findings *findings);
void house_check_shape(const struct house_source *source, struct house_findings *findings);
void house_check_readers(const struct house_source *source, struct house_readers_seen *seen,
                         struct house_findings *findings);

/* Checks every file and folder below `root`. Returns how many files it read. */
size_t house_check_tree(const char *root, struct house_findings *findings);

#endif
