/*
 * The golden table: an entry for each version of each schema that was ever released. It is the
 * proof that this program still reads what older ones wrote.
 *
 *     ROLE ID NAME VERSION
 *       the bytes of its sample, in hexadecimal digits
 *       what they print as: a line
 *       and JSON
 *
 * Lines that begin with # are comments. Entries are only ever added, at the end. One thread.
 */
#ifndef TR_TESTS_UNIT_SCHEMAS_GOLDEN_H
#define TR_TESTS_UNIT_SCHEMAS_GOLDEN_H

#include "schemas/codec/registry.h"
#include "schemas/codec/sink.h"

/*
 * Holds the table at `path` against the registry. Each finding is a line that says what is wrong
 * and what to do; returns how many there are.
 */
size_t golden_check(const struct tr_registry *registry, const char *path, struct tr_sink *findings);

/*
 * Adds the entries of all versions that have none, and says which; never changes what is there.
 * Returns how many were added, or -1 when the table cannot be written.
 */
int golden_write(const struct tr_registry *registry, const char *path, struct tr_sink *report);

#endif
