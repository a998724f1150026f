/*
 * A small file of a store with rows of one size after a mark, rewritten as a whole when one of them
 * changes: the old file stays until the new one is on the disk.
 */
#ifndef TR_RUNTIME_HOST_ROW_FILE_H
#define TR_RUNTIME_HOST_ROW_FILE_H

#include "schemas/codec/base.h"

struct tri_row_file {
    const char *name;
    uint64_t mark; /* first bytes of the file; another layout of the rows has another mark */
    size_t row_bytes;
    size_t rows_max;
};

/*
 * Reads the rows of the file in `folder` into an array of rows_max; returns their number. A missing
 * file or one with another mark has none; a partial last row is ignored.
 */
size_t tri_row_file_read(const struct tri_row_file *file, const char *folder, void *rows);

/* Rewrites the file. TR_SYSTEM. */
TR_MUST_USE int tri_row_file_write(const struct tri_row_file *file, const char *folder,
                                   const void *rows, size_t count);

#endif
