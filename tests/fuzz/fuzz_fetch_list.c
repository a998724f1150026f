/*
 * Any bytes as a page of a bucket's list: refused, or objects whose names and tags are text, and a
 * token that is asked for next. And as the words of an error.
 */
#include "runtime/fetch/fetch_list.h"

#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_bytes xml = {.data = data, .size = size};
    struct tri_fetch_page page;
    struct tri_fetch_listed listed;
    int error = tri_fetch_page_init(&page, xml);
    TR_ASSERT(error == 0 || page.next.size <= size);
    while (error == 0) {
        error = tri_fetch_page_next(&page, &listed);
        TR_ASSERT(error != 0 || (tr_utf8_valid(listed.key) && tr_utf8_valid(listed.tag) &&
                                 listed.key.size + listed.tag.size <= size));
    }
    TR_ASSERT(error == TR_NOT_FOUND || error == TR_MALFORMED || error == TR_MEMORY);
    tri_fetch_page_fini(&page);
    TR_ASSERT(tr_utf8_valid(tri_fetch_error_code(xml)));
    return 0;
}
