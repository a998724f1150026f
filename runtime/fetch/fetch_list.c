/*
 * Reads lists of objects and other answers. It searches the needed elements by their tags, in
 * order, and skips all others: a list has no attributes, comments or sections around them, and one
 * that has is malformed. Entities in texts are decoded.
 */
#include "runtime/fetch/fetch_list.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"

#define CODE_BYTES_MAX 60
#define ENTITY_BYTES_MAX 10

bool tri_fetch_find_element(struct tr_bytes xml, size_t *at, const char *name, struct tr_text *text)
{
    char begin[32];
    char end[32];
    size_t begin_size = (size_t)snprintf(begin, sizeof begin, "<%s>", name);
    size_t end_size = (size_t)snprintf(end, sizeof end, "</%s>", name);
    const char *data = (const char *)xml.data;
    const char *from =
        *at < xml.size ? memmem(data + *at, xml.size - *at, begin, begin_size) : NULL;
    if (from == NULL) {
        return false;
    }
    from += begin_size;
    const char *to = memmem(from, xml.size - (size_t)(from - data), end, end_size);
    if (to == NULL) {
        return false;
    }
    *text = (struct tr_text){.data = from, .size = (size_t)(to - from)};
    *at = (size_t)(to - data) + end_size;
    return true;
}

static bool find_in(struct tr_text xml, const char *name, struct tr_text *text)
{
    size_t at = 0;
    return tri_fetch_find_element((struct tr_bytes){(const uint8_t *)xml.data, xml.size}, &at, name,
                                  text);
}

/* ---- Texts. --------------------------------------------------------------------------------- */

/* Encodes a character in UTF-8 and returns its size; 0: invalid. */
static size_t put_character(uint32_t character, char bytes[4])
{
    if (character < 0x80) {
        bytes[0] = (char)character;
        return character == 0 ? 0 : 1;
    }
    static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t count = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = count - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (character & 0x3f));
        character >>= 6;
    }
    bytes[0] = (char)(heads[count] | character);
    return count;
}

/* The number in `#10` or `#xA`; 0: invalid. */
static uint32_t number_of(struct tr_text entity)
{
    bool is_hex = entity.size > 1 && (entity.data[1] | 0x20) == 'x';
    uint32_t number = 0;
    for (size_t i = is_hex ? 2 : 1; i < entity.size; i++) {
        char c = entity.data[i];
        char lower = (char)(c | 0x20);
        int digit = c >= '0' && c <= '9'                     ? c - '0'
                    : is_hex && lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                                             : -1;
        if (digit < 0 || number > 0x10ffff) {
            return 0;
        }
        number = number * (is_hex ? 16 : 10) + (uint32_t)digit;
    }
    return number <= 0x10ffff ? number : 0;
}

/* Decodes an entity, without & and ;. 0: unknown. */
static size_t decode_entity(struct tr_text entity, char bytes[4])
{
    static const struct {
        const char *name;
        char character;
    } entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    for (size_t i = 0; i < TR_COUNT_OF(entities); i++) {
        if (tr_text_equal(entity, tr_text_of(entities[i].name))) {
            bytes[0] = entities[i].character;
            return 1;
        }
    }
    bool is_number = entity.size > 1 && entity.data[0] == '#';
    return is_number ? put_character(number_of(entity), bytes) : 0;
}

int tri_fetch_add_text(struct tri_buffer *buffer, struct tr_text text)
{
    int error = 0;
    for (size_t i = 0; i < text.size && error == 0;) {
        size_t left = text.size - i;
        char bytes[4] = {text.data[i]};
        size_t size = 1;
        size_t used = 1;
        if (text.data[i] == '<') {
            return TR_MALFORMED;
        }
        if (text.data[i] == '&') {
            size_t most = left < ENTITY_BYTES_MAX ? left : ENTITY_BYTES_MAX;
            const char *end = memchr(text.data + i, ';', most);
            used = end == NULL ? 0 : (size_t)(end - text.data) - i + 1;
            size =
                used < 3 ? 0 : decode_entity((struct tr_text){text.data + i + 1, used - 2}, bytes);
        }
        if (size == 0) {
            return TR_MALFORMED;
        }
        error = tri_buffer_append(buffer, bytes, size);
        i += used;
    }
    return error;
}

uint64_t tri_fetch_moment_ms(struct tr_text text)
{
    char copy[32];
    unsigned parts[6];
    snprintf(copy, sizeof copy, "%.*s", (int)(text.size < 31 ? text.size : 31), text.data);
    if (sscanf(copy, "%4u-%2u-%2uT%2u:%2u:%2u", &parts[0], &parts[1], &parts[2], &parts[3],
               &parts[4], &parts[5]) != (int)TR_COUNT_OF(parts) ||
        parts[0] < 1970) {
        return 0;
    }
    struct tm moment = {.tm_year = (int)parts[0] - 1900,
                        .tm_mon = (int)parts[1] - 1,
                        .tm_mday = (int)parts[2],
                        .tm_hour = (int)parts[3],
                        .tm_min = (int)parts[4],
                        .tm_sec = (int)parts[5]};
    time_t seconds = timegm(&moment);
    return seconds > 0 ? (uint64_t)seconds * 1000 : 0;
}

/* ---- A page. -------------------------------------------------------------------------------- */

int tri_fetch_page_init(struct tri_fetch_page *page, struct tr_bytes xml)
{
    struct tr_text text;
    size_t at = 0;
    *page = (struct tri_fetch_page){.xml = xml};
    if (xml.size == 0 ||
        memmem(xml.data, xml.size, "<ListBucketResult", strlen("<ListBucketResult")) == NULL) {
        return TR_MALFORMED;
    }
    if (!tri_fetch_find_element(xml, &at, "NextContinuationToken", &text) || text.size == 0) {
        return 0;
    }
    int error = tri_fetch_add_text(&page->token, text);
    page->next = (struct tr_text){(const char *)tri_buffer_front(&page->token),
                                  tri_buffer_size(&page->token)};
    return error;
}

/* A size, in decimal digits. */
static bool read_size(struct tr_text text, uint64_t *size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c < '0' || c > '9' || number > (UINT64_MAX - 9) / 10) {
            return false;
        }
        number = number * 10 + (uint64_t)(c - '0');
    }
    *size = number;
    return text.size > 0;
}

int tri_fetch_page_next(struct tri_fetch_page *page, struct tri_fetch_listed *listed)
{
    struct tr_text object;
    struct tr_text key;
    struct tr_text size;
    struct tr_text tag = {0};
    struct tr_text changed = {0};
    if (!tri_fetch_find_element(page->xml, &page->at, "Contents", &object)) {
        return TR_NOT_FOUND;
    }
    if (!find_in(object, "Key", &key) || !find_in(object, "Size", &size) ||
        !read_size(size, &listed->size)) {
        return TR_MALFORMED;
    }
    (void)find_in(object, "ETag", &tag);
    (void)find_in(object, "LastModified", &changed);
    listed->changed_ms = tri_fetch_moment_ms(changed);
    tri_buffer_clear(&page->texts);
    int error = tri_fetch_add_text(&page->texts, key);
    size_t middle = tri_buffer_size(&page->texts);
    if (error == 0) {
        error = tri_fetch_add_text(&page->texts, tag);
    }
    if (error != 0) {
        return error;
    }
    const char *texts = (const char *)tri_buffer_front(&page->texts);
    listed->key = (struct tr_text){texts, middle};
    listed->tag = (struct tr_text){texts + middle, tri_buffer_size(&page->texts) - middle};
    bool is_text = tr_utf8_valid(listed->key) && tr_utf8_valid(listed->tag);
    return is_text ? 0 : TR_MALFORMED;
}

void tri_fetch_page_fini(struct tri_fetch_page *page)
{
    tri_buffer_fini(&page->token);
    tri_buffer_fini(&page->texts);
}

struct tr_text tri_fetch_error_code(struct tr_bytes xml)
{
    struct tr_text code = {0};
    size_t at = 0;
    bool is_there = tri_fetch_find_element(xml, &at, "Code", &code) && code.size <= CODE_BYTES_MAX;
    return is_there && tr_utf8_valid(code) ? code : (struct tr_text){0};
}

int tri_fetch_status_error(uint32_t status)
{
    switch (status) {
    case 404:
    case 410:
        return TR_NOT_FOUND;
    case 408:
    case 409:
    case 412:
    case 425:
    case 429:
        return TR_NO_CONNECTION;
    default:
        return status >= 500 ? TR_NO_CONNECTION : TR_DENIED;
    }
}
