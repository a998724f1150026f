/*
 * Any bytes as an item of which a few members are scanned: refused, or found as jansson finds them.
 * What jansson takes is refused only where a name has escapes; the views never leave the bytes.
 */
#include "plugins/sdk/scan.h"

#include <jansson.h>
#include <string.h>

#include "plugins/sdk/webapi.h"
#include "tests/fuzz/fuzz.h"

static const char *const paths[] = {"/metadata/labels/a~1b", "/metadata/labels", "/metadata/name",
                                    "/status/list",          "/status/phase",    "/type"};
#define PATHS TR_COUNT_OF(paths)

static char room[1U << 16];
static size_t used;

static void *api_scratch(struct tr_webapi_batch *batch, size_t size)
{
    (void)batch;
    if (size > sizeof room - used) {
        return NULL;
    }
    used += size;
    return room + used - size;
}

static const json_t *at(const json_t *item, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        item = json_object_get(item, names[i]);
    }
    return item;
}

/* The same member, by the other way. */
static const json_t *member(const json_t *item, size_t path)
{
    static const char *const names[PATHS][4] = {
        {"metadata", "labels", "a/b"}, {"metadata", "labels"},
        {"metadata", "name"},          {"status", "list"},
        {"status", "phase"},           {"type"}};
    return at(item, names[path]);
}

static void require_same(struct tr_bytes value, const json_t *expected)
{
    TR_ASSERT((value.size == 0) == (expected == NULL));
    if (expected == NULL) {
        return;
    }
    json_t *found = json_loadb((const char *)value.data, value.size,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
    TR_ASSERT(found != NULL && json_equal(found, expected));
    json_decref(found);
}

/* Texts are the same, or none; lists have as many items. */
static void read_value(struct tr_bytes value, const json_t *expected)
{
    static const struct tr_webapi_api api = {.abi = TR_PLUGIN_ABI, .scratch = api_scratch};
    struct tr_webapi_batch batch = {.api = &api};
    struct tr_text text;
    int error = tr_scan_text(&batch, value, &text);
    if (json_is_string(expected) && error == 0) {
        TR_ASSERT(text.size == json_string_length(expected) &&
                  memcmp(text.data == NULL ? "" : text.data, json_string_value(expected),
                         text.size) == 0);
    }
    TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_MEMORY);
    size_t count = 0;
    struct tr_scan_walk walk = tr_scan_walk(value);
    while (tr_scan_next(&walk)) {
        TR_ASSERT(walk.item.data >= value.data &&
                  walk.item.data + walk.item.size <= value.data + value.size);
        count++;
    }
    TR_ASSERT(expected == NULL || !json_is_array(expected) ||
              (walk.error == 0 && count == json_array_size(expected)));
    (void)tr_scan_i64(value, 0);
    (void)tr_scan_bool(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_bytes found[PATHS];
    used = 0;
    bool is_text = size > 0 && memchr(data, 0, size) == NULL; /* zeros are blanks to jansson */
    json_t *item = is_text
                       ? json_loadb((const char *)data, size,
                                    JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL)
                       : NULL;
    int error = tr_scan((struct tr_bytes){.data = data, .size = size}, paths, PATHS, found);
    TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_LIMIT);
    TR_ASSERT(error != TR_MALFORMED || item == NULL || memchr(data, '\\', size) != NULL);
    for (size_t i = 0; error == 0 && i < PATHS; i++) {
        TR_ASSERT(found[i].size == 0 ||
                  (found[i].data >= data && found[i].data + found[i].size <= data + size));
        if (item != NULL) {
            require_same(found[i], member(item, i));
        }
        read_value(found[i], item == NULL ? NULL : member(item, i));
    }
    json_decref(item);
    return 0;
}
