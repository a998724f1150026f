/*
 * Golden files: for each version of each schema that was ever released, the bytes of its sample
 * (ROLE_NAME_vVERSION.bin) and what they print as (.txt), and ids.txt, the list of all that was
 * given an id. They are the proof that this program still reads what older ones wrote.
 *
 * Files are only ever added. One thread.
 */
#ifndef TR_TESTS_UNIT_SCHEMAS_GOLDEN_H
#define TR_TESTS_UNIT_SCHEMAS_GOLDEN_H

#include "schemas/codec/registry.h"
#include "schemas/codec/sink.h"

/*
 * Holds all files in the folder against the registry. Each finding is a line that says what is
 * wrong and what to do; returns how many there are.
 */
size_t golden_check(const struct tr_registry *registry, const char *folder,
                    struct tr_sink *findings);

/*
 * Writes the files, and the lines of ids.txt, of all versions that have none, and says which;
 * never changes what is there. Returns how many versions were added, or -1 when a file cannot be
 * written.
 */
int golden_write(const struct tr_registry *registry, const char *folder, struct tr_sink *report);

#endif
