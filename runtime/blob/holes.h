/*
 * Holes of files: ranges that take no place on the disk and read as zeroes. Who copies a file looks
 * for its data, and leaves holes where there is none.
 */
#ifndef TR_RUNTIME_BLOB_HOLES_H
#define TR_RUNTIME_BLOB_HOLES_H

#include "schemas/codec/base.h"

/* Bytes of a file from `begin` up to `end`. */
struct tri_range {
    uint64_t begin;
    uint64_t end;
};

/*
 * The next data of a file from an offset on: what lies before it is a hole. Behind the last one
 * both are the file's size. Where a file system knows no holes all is data. It moves the
 * descriptor's position. TR_SYSTEM (errno).
 */
TR_MUST_USE int tri_holes_next_data(int fd, uint64_t from, struct tri_range *data);

#endif
