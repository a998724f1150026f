/*
 * Headers and trailers: copies of names and values, in as few blocks as possible. One thread.
 */
#ifndef TR_DEPLOY_DOOR_FIELDS_H
#define TR_DEPLOY_DOOR_FIELDS_H

#include "deploy/door/door.h"
#include "runtime/env/buffer.h"

/* All zero is empty. */
struct tri_fields {
    struct tr_door_header *items; /* views of `text`, once closed */
    size_t count;
    size_t capacity;
    struct tri_buffer text;
};

/* Adds a copy, the name in lower case. TR_MEMORY. */
TR_MUST_USE int tri_fields_add(struct tri_fields *fields, struct tr_text name,
                               struct tr_text value);

/* Adds a copy of a text that is no header; where it lies: tri_fields_text. TR_MEMORY. */
TR_MUST_USE int tri_fields_keep(struct tri_fields *fields, struct tr_text text, size_t *place);

/* Makes the items views; nothing is added after that. */
void tri_fields_close(struct tri_fields *fields);

/* A text that was kept. */
struct tr_text tri_fields_text(const struct tri_fields *fields, size_t place, size_t size);

/* Copies of all headers of a list, closed. TR_MEMORY: there is nothing to end. */
TR_MUST_USE int tri_fields_copy(struct tri_fields *fields, const struct tr_door_header *headers,
                                size_t count);

void tri_fields_fini(struct tri_fields *fields);

#endif
