/*
 * Names and values one after the other in a buffer, which moves when it grows: until the list is
 * closed only sizes count, as each begins where the one before it ends, but for what is kept
 * between them.
 */
#include "deploy/door/fields.h"

#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define FIRST_COUNT 16

static int grow(struct tri_fields *fields)
{
    if (fields->count < fields->capacity) {
        return 0;
    }
    size_t capacity = fields->capacity == 0 ? FIRST_COUNT : 2 * fields->capacity;
    struct tr_door_header *items = tr_realloc(fields->items, capacity * sizeof *items);
    if (items == NULL) {
        return TR_MEMORY;
    }
    fields->items = items;
    fields->capacity = capacity;
    return 0;
}

int tri_fields_keep(struct tri_fields *fields, struct tr_text text, size_t *place)
{
    *place = fields->text.end;
    return tri_buffer_append(&fields->text, text.data, text.size);
}

/* A place in the buffer in the stead of a view, which tri_fields_close makes of it. */
static struct tr_text placed(size_t place, size_t size)
{
    return (struct tr_text){.data = (const char *)(uintptr_t)place, .size = size};
}

int tri_fields_add(struct tri_fields *fields, struct tr_text name, struct tr_text value)
{
    size_t name_at;
    size_t value_at;
    int error = grow(fields);
    if (error == 0) {
        error = tri_fields_keep(fields, name, &name_at);
    }
    if (error == 0) {
        error = tri_fields_keep(fields, value, &value_at);
    }
    if (error != 0) {
        return error;
    }
    for (size_t i = 0; i < name.size; i++) {
        uint8_t *letter = fields->text.data + name_at + i;
        *letter = (uint8_t)(*letter >= 'A' && *letter <= 'Z' ? *letter - 'A' + 'a' : *letter);
    }
    fields->items[fields->count++] = (struct tr_door_header){.name = placed(name_at, name.size),
                                                             .value = placed(value_at, value.size)};
    return 0;
}

struct tr_text tri_fields_text(const struct tri_fields *fields, size_t place, size_t size)
{
    const char *data = size == 0 ? "" : (const char *)fields->text.data + place;
    return (struct tr_text){.data = data, .size = size};
}

void tri_fields_close(struct tri_fields *fields)
{
    for (size_t i = 0; i < fields->count; i++) {
        struct tr_door_header *item = &fields->items[i];
        item->name = tri_fields_text(fields, (uintptr_t)item->name.data, item->name.size);
        item->value = tri_fields_text(fields, (uintptr_t)item->value.data, item->value.size);
    }
}

int tri_fields_copy(struct tri_fields *fields, const struct tr_door_header *headers, size_t count)
{
    *fields = (struct tri_fields){.count = 0};
    for (size_t i = 0; i < count; i++) {
        int error = tri_fields_add(fields, headers[i].name, headers[i].value);
        if (error != 0) {
            tri_fields_fini(fields);
            return error;
        }
    }
    tri_fields_close(fields);
    return 0;
}

void tri_fields_fini(struct tri_fields *fields)
{
    tr_free(fields->items);
    tri_buffer_fini(&fields->text);
    *fields = (struct tri_fields){.count = 0};
}
