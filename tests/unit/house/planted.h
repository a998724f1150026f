/*
 * A small tree in a temporary folder that keeps all laws, into which a test plants a violation.
 */
#ifndef TR_TESTS_UNIT_HOUSE_PLANTED_H
#define TR_TESTS_UNIT_HOUSE_PLANTED_H

#include "tests/unit/house/check.h"

/* Makes the tree and remembers where; for cmocka's setup and teardown. Both return 0. */
int planted_setup(void **state);
int planted_teardown(void **state);

/* Writes a file of the tree, and the folders above it. */
void planted_write(const char *path, const char *text);
/* Writes a .c file that keeps the laws of looks and holds `code` from its line 3 on. */
void planted_write_code(const char *path, const char *code);
/* Removes a file, and the folders above it as far as they are empty then. */
void planted_remove(const char *path);
/* Renames a file or folder of the tree. */
void planted_rename(const char *from, const char *to);

/*
 * Checks the tree: there must be exactly one finding, of this law, at this place. Where there is
 * not, prints what there is and fails the test.
 */
void planted_expect(enum house_law law, const char *path, size_t line);
/* Checks the tree: there must be no finding. */
void planted_expect_none(void);
/* How many findings of the law planted_expect has seen. */
size_t planted_seen(enum house_law law);

#endif
