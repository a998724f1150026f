/*
 * The keeper's log from any bytes. What is accepted must be a table that, written anew, is read
 * back the same; what is refused must say why.
 *
 * Checksums keep random bytes out, so each input is also read as the bodies of a well-formed log:
 * a byte of type and one of size, then the body, again and again.
 */
#include <stdlib.h>

#include "runtime/keeper/keeper_log.h"
#include "tests/fuzz/fuzz.h"

enum { KEYS_MAX = 1000 };

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void compare(const struct tri_key_list *list, const struct tri_key_table *other)
{
    for (const struct tri_key_entry *entry = list->first; entry != NULL; entry = entry->next) {
        const struct tri_key_entry *found = tri_key_table_find(other, entry->key);
        require(found != NULL && found->phase == entry->phase && found->pid == entry->pid);
        require(found->end.status == entry->end.status && found->may_run == entry->may_run);
        require(tr_text_equal(found->end.reason, entry->end.reason));
    }
}

/* Writes what was read, and reads it again. */
static void write_anew(struct tri_key_table *table, const struct tri_keeper_log_found *found)
{
    struct tri_buffer bytes = {0};
    struct tri_key_table again;
    struct tri_keeper_log_found found_again;
    struct tr_log_opened opened = {.store = found->store, .place = found->place};
    require(tri_keeper_log_begin(&bytes) == 0);
    require(tri_keeper_log_put(&bytes, 1, &tr_log_opened_schema, &opened, NULL) == 0);
    require(tri_keeper_log_put_table(&bytes, 1, table) == 0);
    require(tri_key_table_init(&again, KEYS_MAX) == 0);
    struct tr_bytes view = {.data = tri_buffer_front(&bytes), .size = tri_buffer_size(&bytes)};
    require(tri_keeper_log_read(view, &again, &found_again) == 0);
    require(!found_again.is_torn && found_again.store == found->store);
    require(again.live.count == table->live.count && again.ended.count == table->ended.count);
    compare(&table->live, &again);
    compare(&table->ended, &again);
    tri_key_table_fini(&again);
    tri_buffer_fini(&bytes);
}

static void read_log(struct tr_bytes bytes)
{
    struct tri_key_table table;
    struct tri_keeper_log_found found;
    require(tri_key_table_init(&table, KEYS_MAX) == 0);
    int error = tri_keeper_log_read(bytes, &table, &found);
    require(found.valid_bytes <= bytes.size);
    require(error == 0 || found.reason[0] != '\0');
    if (error == 0 && found.has_store) {
        write_anew(&table, &found);
    }
    tri_key_table_fini(&table);
}

/* A body as it stands, in place of a value's packing. */
static int pack_body(const void *value, struct tr_writer *writer)
{
    const struct tr_bytes *body = value;
    require((size_t)(writer->end - writer->at) >= body->size);
    memcpy(writer->at, body->data, body->size);
    writer->at += body->size;
    return 0;
}

static size_t body_size(const void *value)
{
    return ((const struct tr_bytes *)value)->size;
}

static void read_bodies(const uint8_t *data, size_t size)
{
    static const uint16_t types[] = {320, 321, 302, 304, 308, 322, 999};
    struct tri_buffer bytes = {0};
    struct tr_log_opened opened = {.store = 7, .place = tr_text_of("place")};
    require(tri_keeper_log_begin(&bytes) == 0);
    require(tri_keeper_log_put(&bytes, 1, &tr_log_opened_schema, &opened, NULL) == 0);
    while (size >= 2) {
        size_t taken = data[1] < size - 2 ? data[1] : size - 2;
        struct tr_bytes body = {.data = data + 2, .size = taken};
        struct tr_schema any = {.id = types[data[0] % TR_COUNT_OF(types)],
                                .version = data[0] < 250 ? 1 : 2,
                                .size_max = body_size,
                                .pack = pack_body};
        require(tri_keeper_log_put(&bytes, 1, &any, &body, NULL) == 0);
        data += 2 + taken;
        size -= 2 + taken;
    }
    read_log((struct tr_bytes){.data = tri_buffer_front(&bytes), .size = tri_buffer_size(&bytes)});
    tri_buffer_fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_log((struct tr_bytes){.data = data, .size = size});
    read_bodies(data, size);
    return 0;
}
