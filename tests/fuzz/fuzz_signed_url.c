/*
 * Any text as the query of an upload's URL: none of it is taken unless it was signed with the key,
 * and then it is printed as itself.
 */
#include <string.h>

#include "deploy/data_proxy/signed_url.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t key[TR_SIGNED_KEY_BYTES] = {7};
    struct tr_text text = {.data = (const char *)data, .size = size};
    struct tr_signed_url url = {.method = "PUT", .path = tr_text_of("p/d/a/b")};
    struct tr_buffer printed;
    if (!tr_signed_url_read(&url, text, key)) {
        return 0;
    }
    tr_buffer_init(&printed, 0);
    tr_signed_url_print(&url, key, &printed);
    TR_ASSERT(printed.error == 0 && printed.size == size + 1 &&
              memcmp(printed.data + 1, data, size) == 0);
    tr_buffer_fini(&printed);
    return 0;
}
