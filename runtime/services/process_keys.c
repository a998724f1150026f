/*
 * A chained hash table of keys, whose entries may be queued (process_run.c). Entries do not move,
 * so pointers to them are valid until they are dropped. It grows with the open calls, which the
 * limits of the keeper bound, and never shrinks.
 */
#include "runtime/services/process_keys.h"

#include <string.h>

#include "runtime/memory.h"

#define BUCKETS_FIRST 64U

int tri_process_keys_init(struct tri_process_keys *keys)
{
    struct tri_process_key **buckets =
        tr_alloc_zero(BUCKETS_FIRST, sizeof(struct tri_process_key *));
    if (buckets == NULL) {
        return TR_MEMORY;
    }
    *keys = (struct tri_process_keys){.buckets = buckets, .mask = BUCKETS_FIRST - 1};
    return 0;
}

static void entry_free(struct tri_process_key *entry)
{
    tri_process_key_end(entry);
    tr_free(entry);
}

void tri_process_keys_clear(struct tri_process_keys *keys, void *self,
                            void (*visit)(void *self, struct tri_process_key *entry))
{
    for (uint32_t i = 0; keys->buckets != NULL && i <= keys->mask; i++) {
        while (keys->buckets[i] != NULL) {
            struct tri_process_key *entry = keys->buckets[i];
            keys->buckets[i] = entry->next;
            if (visit != NULL) {
                visit(self, entry);
            }
            entry_free(entry);
        }
    }
    keys->count = 0;
}

void tri_process_keys_fini(struct tri_process_keys *keys)
{
    tri_process_keys_clear(keys, NULL, NULL);
    tr_free(keys->buckets);
    *keys = (struct tri_process_keys){0};
}

/* FNV-1a of 32 bits. */
static uint32_t hash_of(struct tr_text key)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < key.size; i++) {
        hash = (hash ^ (uint8_t)key.data[i]) * 16777619U;
    }
    return hash;
}

/* The link that leads to a key's entry, or to the end of its bucket. */
static struct tri_process_key **locate(const struct tri_process_keys *keys, struct tr_text key)
{
    uint32_t hash = hash_of(key);
    struct tri_process_key **link = &keys->buckets[hash & keys->mask];
    while (*link != NULL && ((*link)->hash != hash || (*link)->size != key.size ||
                             memcmp((*link)->key, key.data, key.size) != 0)) {
        link = &(*link)->next;
    }
    return link;
}

struct tri_process_key *tri_process_keys_find(const struct tri_process_keys *keys,
                                              struct tr_text key)
{
    return *locate(keys, key);
}

/* Doubles the buckets; without memory the chains get longer. */
static void keys_grow(struct tri_process_keys *keys)
{
    uint32_t size = keys->mask + 1;
    struct tri_process_key **buckets =
        tr_alloc_zero((size_t)size * 2, sizeof(struct tri_process_key *));
    if (buckets == NULL) {
        return;
    }
    for (uint32_t i = 0; i < size; i++) {
        while (keys->buckets[i] != NULL) {
            struct tri_process_key *entry = keys->buckets[i];
            keys->buckets[i] = entry->next;
            /* Chains have no order: entries are inserted at the front. */
            entry->next = buckets[entry->hash & (size * 2 - 1)];
            buckets[entry->hash & (size * 2 - 1)] = entry;
        }
    }
    tr_free(keys->buckets);
    keys->buckets = buckets;
    keys->mask = size * 2 - 1;
}

static struct tri_process_key *keys_add(struct tri_process_keys *keys, struct tr_text key)
{
    if (keys->count > keys->mask) {
        keys_grow(keys);
    }
    struct tri_process_key *entry = tr_alloc(sizeof *entry + key.size);
    if (entry == NULL) {
        return NULL;
    }
    *entry = (struct tri_process_key){.hash = hash_of(key), .size = (uint32_t)key.size};
    memcpy(entry->key, key.data, key.size);
    *locate(keys, key) = entry;
    keys->count++;
    return entry;
}

struct tri_process_key *tri_process_keys_ensure(struct tri_process_keys *keys, struct tr_text key)
{
    struct tri_process_key *entry = tri_process_keys_find(keys, key);
    return entry != NULL ? entry : keys_add(keys, key);
}

int tri_process_keys_open(struct tri_process_keys *keys, struct tr_text key,
                          const struct tri_caller *caller)
{
    struct tri_process_key *entry = tri_process_keys_ensure(keys, key);
    if (entry == NULL) {
        return TR_MEMORY;
    }
    if (entry->open_count == TR_PROCESS_CALLS_MAX) {
        return TR_LIMIT;
    }
    entry->open[entry->open_count++] = *caller;
    return 0;
}

/* The keeper answers calls about one key in order, so an answer is for the oldest caller. */
bool tri_process_key_answer(struct tri_process_key *entry, struct tri_caller *caller)
{
    if (entry->open_count == 0) {
        return false;
    }
    *caller = entry->open[0];
    entry->open_count--;
    memmove(&entry->open[0], &entry->open[1], entry->open_count * sizeof entry->open[0]);
    return true;
}

int tri_process_key_hold(struct tri_process_key *entry, struct tr_bytes body, uint8_t version)
{
    uint8_t *held = tr_alloc(body.size);
    if (held == NULL) {
        return TR_MEMORY;
    }
    memcpy(held, body.data, body.size);
    entry->held = held;
    entry->held_size = body.size;
    entry->held_version = version;
    return 0;
}

void tri_process_key_release(struct tri_process_key *entry)
{
    tr_free(entry->held);
    entry->held = NULL;
    entry->held_size = 0;
}

void tri_process_queue_put(struct tri_process_queue *queue, struct tri_process_key *entry)
{
    entry->before = queue->last;
    entry->behind = NULL;
    if (queue->last != NULL) {
        queue->last->behind = entry;
    } else {
        queue->first = entry;
    }
    queue->last = entry;
}

void tri_process_queue_remove(struct tri_process_queue *queue, struct tri_process_key *entry)
{
    if (entry->before != NULL) {
        entry->before->behind = entry->behind;
    } else {
        queue->first = entry->behind;
    }
    if (entry->behind != NULL) {
        entry->behind->before = entry->before;
    } else {
        queue->last = entry->before;
    }
    entry->before = NULL;
    entry->behind = NULL;
}

void tri_process_key_end(struct tri_process_key *entry)
{
    tri_process_key_release(entry);
    tri_attempt_free(entry->attempt);
    entry->attempt = NULL;
    entry->is_stopped = false;
    entry->phase = TRI_PROCESS_RUN_NONE;
}

/*
 * The entry may be freed here, so the caller must not use it afterwards. A queued entry has a run,
 * and stays.
 */
void tri_process_keys_drop_unused(struct tri_process_keys *keys, struct tri_process_key *entry)
{
    if (entry->phase != TRI_PROCESS_RUN_NONE || entry->open_count > 0) {
        return;
    }
    struct tr_text key = {.data = entry->key, .size = entry->size};
    *locate(keys, key) = entry->next;
    keys->count--;
    entry_free(entry);
}
