/*
 * A store's number is a file of sixteen digits. One that cannot be read as such, as a power failure
 * may have left it, is given anew: names that were made with the old one stay as they are stored.
 */
#include "deploy/common/store_number.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "deploy/common/file.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define DIGITS 16

static uint64_t number_of(const char *text, size_t size)
{
    char *end;
    unsigned long long number = size == DIGITS + 1 ? strtoull(text, &end, 16) : 0;
    return number != 0 && end == text + DIGITS ? number : 0;
}

int tr_store_number(const char *folder, uint64_t life, uint64_t *number)
{
    char path[PATH_MAX];
    char text[DIGITS + 2];
    char *data = NULL;
    size_t size = 0;
    int written = snprintf(path, sizeof path, "%s/" TR_STORE_NUMBER_NAME, folder);
    if (written < 0 || (size_t)written >= sizeof path) {
        return TR_LIMIT;
    }
    int error = tr_file_read(path, DIGITS + 1, &data, &size);
    uint64_t found = error == 0 ? number_of(data, size) : 0;
    tr_free(data);
    if (error != 0 && error != TR_NOT_FOUND && error != TR_LIMIT) {
        return error;
    }
    if (found == 0) {
        (void)snprintf(text, sizeof text, "%016" PRIx64 "\n", life);
        const struct tr_bytes bytes = {(const uint8_t *)text, DIGITS + 1};
        error = tr_file_write(path, bytes, false);
        if (error != 0) {
            return error;
        }
    }
    *number = found != 0 ? found : life;
    return 0;
}
