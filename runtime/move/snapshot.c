/*
 * An actor snapshot: image, pages and mailbox in one message. Each message of the mailbox has a
 * mark whether the journal has it.
 *
 * The format is that of tr_actor_snapshot (schemas/runtime/control.h), written field by field
 * because image, pages and mailbox are packed in place, without a copy of each.
 */
#include "runtime/move/snapshot.h"

#include "runtime/actor/image.h"

struct measure {
    size_t bytes;
    uint32_t count;
};

static void measure_page(void *self, uint32_t page, struct tr_bytes bytes)
{
    struct measure *measure = self;
    (void)page;
    measure->bytes += bytes.size + 3 * TR_SCALAR_BYTES_MAX;
    measure->count++;
}

static void write_page(void *self, uint32_t page, struct tr_bytes bytes)
{
    tr_write_array(self, 2);
    tr_write_u32(self, page);
    tr_write_bytes(self, bytes);
}

/* `first` is the first message of the mailbox, or NULL: none of it. */
static void write_mailbox(const struct tri_actor *actor, const struct tri_message *first,
                          struct tr_writer *writer)
{
    tr_write_array(writer, first == NULL ? 0 : actor->mailbox_count);
    for (const struct tri_message *message = first; message != NULL; message = message->next) {
        tr_write_array(writer, 2);
        tr_write_bool(writer, message->is_stored != 0);
        tr_write_bytes(writer, (struct tr_bytes){message->bytes, message->size});
    }
}

/* An upper bound, so that packing needs one block and cannot run out of space. */
static size_t size_max(struct tri_worker *worker, const struct tri_actor *actor,
                       const struct tri_message *first, uint32_t *page_count)
{
    struct measure measure = {0};
    tri_page_each(actor, &measure, measure_page);
    *page_count = measure.count;
    size_t size = 4 * TR_SCALAR_BYTES_MAX + measure.bytes + tri_image_size_max(worker, actor);
    for (const struct tri_message *message = first; message != NULL; message = message->next) {
        size += message->size + 3 * TR_SCALAR_BYTES_MAX;
    }
    return size;
}

static int pack(struct tri_worker *worker, struct tri_actor *actor, const struct tri_message *first,
                uint8_t **bytes, size_t *size)
{
    uint32_t page_count;
    size_t most = size_max(worker, actor, first, &page_count);
    uint8_t *buffer = tr_alloc(most);
    if (buffer == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(buffer, most);
    tr_write_array(&writer, tr_actor_snapshot_schema.field_count);
    int error = tri_image_write(worker, actor, &writer);
    tr_write_array(&writer, page_count);
    tri_page_each(actor, &writer, write_page);
    write_mailbox(actor, first, &writer);
    if (error == 0) {
        error = writer.error;
    }
    if (error != 0) {
        tr_free(buffer);
        return error;
    }
    *bytes = buffer;
    *size = tr_writer_size(&writer);
    return 0;
}

int tri_snapshot_pack(struct tri_worker *worker, struct tri_actor *actor, uint8_t **bytes,
                      size_t *size)
{
    return pack(worker, actor, actor->mailbox_head, bytes, size);
}

int tri_snapshot_pack_bare(struct tri_worker *worker, struct tri_actor *actor, uint8_t **bytes,
                           size_t *size)
{
    return pack(worker, actor, NULL, bytes, size);
}

/* Pages are copied into memory of their own, since the snapshot's message is freed. */
static int read_pages(struct tri_worker *worker, struct tri_actor *actor, struct tr_bytes bytes)
{
    struct tr_cursor cursor = tr_cursor_of(bytes);
    uint32_t count = tr_read_array(&cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        bool is_pair = tr_read_array(&cursor) == 2;
        uint32_t page = tr_read_u32(&cursor);
        struct tr_bytes content = tr_read_bytes(&cursor);
        if (cursor.error != 0) {
            return cursor.error;
        }
        if (!is_pair || content.size > TR_PAGE_BYTES_MAX) {
            return TR_MALFORMED;
        }
        int error = tri_page_reserve(actor, page);
        if (error != 0) {
            return error;
        }
        void *copy = tr_alloc(content.size);
        if (copy == NULL) {
            return TR_MEMORY;
        }
        memcpy(copy, content.data, content.size);
        tri_page_put(worker, actor, page, copy, content.size);
    }
    return cursor.error;
}

static int read_mailbox(struct tri_worker *worker, struct tri_actor *actor, struct tr_bytes bytes)
{
    struct tr_cursor cursor = tr_cursor_of(bytes);
    uint32_t count = tr_read_array(&cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        bool is_pair = tr_read_array(&cursor) == 2;
        bool is_stored = tr_read_bool(&cursor);
        struct tr_bytes content = tr_read_bytes(&cursor);
        size_t size;
        if (cursor.error != 0) {
            return cursor.error;
        }
        if (!is_pair || tr_envelope_check(content, &size) != 0) {
            return TR_MALFORMED;
        }
        struct tri_message *message = tri_message_copy(worker, content);
        if (message == NULL) {
            return TR_MEMORY;
        }
        message->is_stored = is_stored;
        tri_mailbox_push(actor, message);
    }
    return cursor.error;
}

/* Frees an actor that could not be read completely. */
static void discard(struct tri_worker *worker, struct tri_actor *actor)
{
    while (actor->mailbox_head != NULL) {
        tri_message_free(worker, tri_mailbox_pop(worker, actor));
    }
    tri_actor_free(worker, actor);
}

int tri_snapshot_unpack(struct tri_worker *worker, struct tr_key key, struct tr_bytes bytes,
                        struct tri_actor **out)
{
    struct tr_actor_snapshot snapshot;
    int error = tr_actor_snapshot_unpack(bytes, tr_actor_snapshot_schema.version, &snapshot);
    struct tri_actor *actor = NULL;
    if (error == 0) {
        error = tri_image_read(worker, key, snapshot.image, &actor);
    }
    if (error != 0) {
        return error;
    }
    error = read_pages(worker, actor, snapshot.pages);
    if (error == 0) {
        error = read_mailbox(worker, actor, snapshot.mailbox);
    }
    if (error != 0) {
        discard(worker, actor);
        return error;
    }
    actor->flags |= TRI_ACTOR_HELD;
    *out = actor;
    return 0;
}
