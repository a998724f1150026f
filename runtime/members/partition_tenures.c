/*
 * Tenures of partitions: an array by partition, of which those are allocated that this host has.
 */
#include "runtime/members/partition_tenures.h"

#include <pthread.h>

#include "runtime/limits.h"
#include "runtime/members/tenure.h"
#include "runtime/memory.h"

struct tri_partition_tenures {
    pthread_mutex_t mutex;
    struct tri_tenures *items[TR_PARTITIONS_MAX]; /* NULL: not loaded */
};

struct tri_partition_tenures *tri_partition_tenures_new(void)
{
    struct tri_partition_tenures *self = tr_alloc_zero(1, sizeof *self);
    if (self != NULL) {
        (void)pthread_mutex_init(&self->mutex, NULL);
    }
    return self;
}

void tri_partition_tenures_free(struct tri_partition_tenures *self)
{
    if (self == NULL) {
        return;
    }
    for (size_t i = 0; i < TR_PARTITIONS_MAX; i++) {
        tr_free(self->items[i]);
    }
    (void)pthread_mutex_destroy(&self->mutex);
    tr_free(self);
}

static int read_cell(struct tri_store *store, uint64_t cell, struct tri_tenures *tenures)
{
    uint8_t bytes[sizeof tenures->items];
    size_t size = 0;
    int error = tri_store_read_meta(store, cell, bytes, sizeof bytes, &size);
    return error != 0 ? error
                      : tri_tenures_read((struct tr_bytes){.data = bytes, .size = size}, tenures);
}

int tri_partition_tenures_load(struct tri_partition_tenures *self, struct tri_store *store,
                               uint64_t partition)
{
    struct tri_tenures *read = tr_alloc_zero(1, sizeof *read);
    if (read == NULL) {
        return TR_MEMORY;
    }
    int error = read_cell(store, TRI_META_TENURES_OF_PARTITION + partition, read);
    if (error == TR_NOT_FOUND) {
        error = read_cell(store, TRI_META_TENURES, read);
        error = error == TR_NOT_FOUND ? 0 : error;
    }
    if (error != 0) {
        tr_free(read);
        return error;
    }
    (void)pthread_mutex_lock(&self->mutex);
    tr_free(self->items[partition]);
    self->items[partition] = read;
    (void)pthread_mutex_unlock(&self->mutex);
    return 0;
}

bool tri_partition_tenures_are_of(struct tri_partition_tenures *self, uint64_t partition,
                                  uint64_t host)
{
    (void)pthread_mutex_lock(&self->mutex);
    bool are = tri_tenures_are_of(self->items[partition], host);
    (void)pthread_mutex_unlock(&self->mutex);
    return are;
}

void tri_partition_tenures_begin(struct tri_partition_tenures *self, uint64_t partition,
                                 uint64_t host, uint64_t since_ms, struct tri_op *op)
{
    (void)pthread_mutex_lock(&self->mutex);
    tri_tenures_add(self->items[partition], host, since_ms);
    *op = (struct tri_op){.kind = TRI_OP_PUT_META,
                          .number = TRI_META_TENURES_OF_PARTITION + partition,
                          .data = tri_tenures_cell(self->items[partition])};
    (void)pthread_mutex_unlock(&self->mutex);
}

uint64_t tri_partition_tenures_find(struct tri_partition_tenures *self, uint64_t group,
                                    uint64_t time_ms)
{
    uint64_t partition = group >> TR_GROUP_PARTITION_SHIFT;
    uint64_t host = 0;
    (void)pthread_mutex_lock(&self->mutex);
    if (partition < TR_PARTITIONS_MAX && self->items[partition] != NULL) {
        host = tri_tenures_find(self->items[partition], time_ms);
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return host;
}
