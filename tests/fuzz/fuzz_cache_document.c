/*
 * Any bytes as a document of the cache: refused, or what it says, written again, is read the same.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "actors/values/cache.h"

static bool is_same(struct tr_bytes a, struct tr_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void write_again(const struct tr_cache_document *document)
{
    struct tr_buffer buffer;
    struct tr_cache_document again;
    tr_buffer_init(&buffer, 0);
    TR_ASSERT(tr_cache_document_write(document, &buffer) == 0);
    TR_ASSERT(tr_cache_document_read(tr_buffer_bytes(&buffer), &again) == 0);
    TR_ASSERT(is_same(document->subject.key, again.subject.key));
    TR_ASSERT(is_same(document->subject.inputs, again.subject.inputs));
    TR_ASSERT(is_same(document->outputs, again.outputs) && document->element == again.element);
    TR_ASSERT(tr_text_equal(document->subject.task, again.subject.task));
    TR_ASSERT(tr_text_equal(document->subject.version, again.subject.version));
    TR_ASSERT(tr_text_equal(document->execution, again.execution));
    TR_ASSERT(tr_text_equal(document->path, again.path) && document->made_ms == again.made_ms);
    tr_buffer_fini(&buffer);
}

static void count_input(void *self, struct tr_text input)
{
    (void)input;
    (*(uint32_t *)self)++;
}

/* Nothing differs from itself, whatever its inputs are. */
static void compare(const struct tr_cache_subject *subject)
{
    struct tr_cache_difference difference;
    uint32_t count = 0;
    int error = tr_cache_compare(subject, subject, count_input, &count, &difference);
    TR_ASSERT(error == 0 || error == TR_MALFORMED);
    TR_ASSERT(error != 0 || (count == 0 && !difference.has_version && !difference.has_interface));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_cache_document document;
    struct tr_bytes bytes = {.data = data, .size = size};
    int error = tr_cache_document_read(bytes, &document);
    TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_VERSION);
    if (error == 0) {
        write_again(&document);
        compare(&document.subject);
    }
    return 0;
}
