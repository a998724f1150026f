/*
 * Any bytes as a page of a bucket's list: refused, or objects whose names and tags are text, and a
 * token that is asked for next. And as the words of an error, and as a list of uploads.
 */
#include "runtime/fetch/fetch_list.h"

#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"
#include "tests/fuzz/fuzz.h"

/* As runtime/objects/objects_upload.c reads them. */
static void read_uploads(struct tr_bytes xml)
{
    struct tr_text upload;
    size_t at = 0;
    while (tri_fetch_find_element(xml, &at, "Upload", &upload)) {
        const struct tr_bytes inside = {(const uint8_t *)upload.data, upload.size};
        struct tri_buffer key = {0};
        struct tr_text text;
        size_t from = 0;
        if (tri_fetch_find_element(inside, &from, "Key", &text)) {
            int error = tri_fetch_add_text(&key, text);
            TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_MEMORY);
            TR_ASSERT(tri_buffer_size(&key) <= text.size);
            (void)tri_fetch_moment_ms(text);
        }
        tri_buffer_fini(&key);
    }
}

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
    read_uploads(xml);
    TR_ASSERT(tr_utf8_valid(tri_fetch_error_code(xml)));
    return 0;
}
