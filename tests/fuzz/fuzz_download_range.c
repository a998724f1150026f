/*
 * Any text as the range of a download: what is given lies in the file, and is something.
 */
#include <string.h>

#include "deploy/data_proxy/download_store.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t file_size = 0;
    if (size < sizeof file_size) {
        return 0;
    }
    memcpy(&file_size, data, sizeof file_size);
    struct tr_text text = {.data = (const char *)data + sizeof file_size,
                           .size = size - sizeof file_size};
    struct tr_api_download_part part = {.size = file_size};
    tr_download_range(text, &part);
    TR_ASSERT(part.is_outside || (part.first <= part.end && part.end <= part.size));
    TR_ASSERT(part.is_outside || !part.is_part || part.first < part.end);
    return 0;
}
