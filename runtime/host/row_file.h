/*
 * A small file of a store that holds rows of one size behind a mark, and is rewritten whole when
 * one of them changes: the old file stays until the new one is on the disk.
 */
#ifndef TR_RUNTIME_HOST_ROW_FILE_H
#define TR_RUNTIME_HOST_ROW_FILE_H

#include "schemas/codec/base.h"

struct tri_row_file {
    const char *name;
    uint64_t mark; /* what it begins with: another form of the rows is another number */
    size_t row_bytes;
    size_t rows_max;
};

/* Reads the rows of the file in `folder` into room for all of them; how many. A file that is not
 * there or has another mark has none, and half a row at the end is none. */
size_t tri_row_file_read(const struct tri_row_file *file, const char *folder, void *rows);

/* Writes it anew. TR_SYSTEM. */
TR_MUST_USE int tri_row_file_write(const struct tri_row_file *file, const char *folder,
                                   const void *rows, size_t count);

#endif
