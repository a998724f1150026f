/*
 * Holes of files: ranges that take no space on the disk and read as zeroes. A copy finds the data
 * ranges and leaves holes between them.
 */
#ifndef TR_RUNTIME_BLOB_HOLES_H
#define TR_RUNTIME_BLOB_HOLES_H

#include "schemas/codec/base.h"

/* Bytes of a file from `begin` to before `end`. */
struct tri_range {
    uint64_t begin;
    uint64_t end;
};

/*
 * The next data range of a file from an offset; the bytes before it are a hole. After the last one
 * both bounds are the file's size. On a file system without holes everything is data. Moves the
 * descriptor's position. TR_SYSTEM (errno).
 */
TR_MUST_USE int tri_holes_next_data(int fd, uint64_t from, struct tri_range *data);

#endif
