/*
 * Finds holes of files by lseek.
 *
 * SEEK_DATA fails with ENXIO if only a hole is left up to the end. Any other error means a file
 * system without holes: then everything is data. The file may change between the calls, so a data
 * range may end earlier.
 */
#include "runtime/blob/holes.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/codec/error.h"

int tri_holes_next_data(int fd, uint64_t from, struct tri_range *data)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return TR_SYSTEM;
    }
    uint64_t size = (uint64_t)status.st_size;
    if (from >= size) {
        *data = (struct tri_range){from, from};
        return 0;
    }
    off_t begin = lseek(fd, (off_t)from, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) {
        *data = (struct tri_range){size, size};
        return 0;
    }
    off_t end = begin < 0 ? begin : lseek(fd, begin, SEEK_HOLE);
    *data = end < 0 ? (struct tri_range){from, size}
                    : (struct tri_range){(uint64_t)begin, (uint64_t)end};
    return 0;
}
