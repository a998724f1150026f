/*
 * Reading the URIs of blobs, by their text alone: whether the content is there only the blob store
 * can say.
 */
#include "schemas/runtime/blob_uri.h"

#include <string.h>

#define BLOBS "/blobs/"

static bool is_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool tr_blob_name_is(struct tr_text name)
{
    size_t at = 0;
    while (at < name.size && at < TR_BLOB_DIGITS && is_digit(name.data[at])) {
        at++;
    }
    return at == TR_BLOB_DIGITS &&
           (name.size == at || name.data[at] == '-' || name.data[at] == '/') &&
           memchr(name.data, '\0', name.size) == NULL;
}

/* The rest of a text from an offset on, if it is a blob's name. */
static struct tr_text name_from(struct tr_text text, size_t offset)
{
    struct tr_text name = {.data = text.data + offset, .size = text.size - offset};
    return tr_blob_name_is(name) ? name : (struct tr_text){.data = "", .size = 0};
}

struct tr_text tr_blob_uri_name(struct tr_text uri)
{
    size_t skipped = strlen(TR_BLOB_SCHEME);
    bool is_blob = uri.size > skipped && memcmp(uri.data, TR_BLOB_SCHEME, skipped) == 0;
    return name_from(uri, is_blob ? skipped : uri.size);
}

struct tr_text tr_blob_path_name(struct tr_text path)
{
    struct tr_text name = {.data = "", .size = 0};
    size_t skipped = strlen(BLOBS);
    for (size_t at = 0; path.size > skipped && at < path.size - skipped; at++) {
        if (memcmp(path.data + at, BLOBS, skipped) == 0) {
            struct tr_text found = name_from(path, at + skipped);
            name = found.size > 0 ? found : name;
        }
    }
    return name;
}
