/*
 * The table of keys: chained hashing that doubles as it fills, two lists (live keys, ended keys),
 * and one table of transitions that checks every change.
 */
#include "runtime/keeper/keeper_table.h"

#include "runtime/keeper_client/keeper_limits.h"
#include "runtime/memory.h"

#define FIRST_BUCKETS 64

/* One more than the phase that follows; 0 where the event cannot happen. */
#define TO(phase) (1 + TR_PROCESS_##phase)

static const uint8_t transitions[TR_PROCESS_PHASE_COUNT][TRI_KEY_EVENT_COUNT] = {
    [TR_PROCESS_NEW] = {[TRI_KEY_ASK] = TO(STARTING)},
    [TR_PROCESS_STARTING] =
        {[TRI_KEY_START] = TO(RUNNING), [TRI_KEY_END] = TO(ENDED), [TRI_KEY_REFUSE] = TO(NEW)},
    [TR_PROCESS_RUNNING] = {[TRI_KEY_END] = TO(ENDED)},
    [TR_PROCESS_ENDED] = {[TRI_KEY_FORGET] = TO(FORGOTTEN)},
    [TR_PROCESS_FORGOTTEN] = {[TRI_KEY_ASK] = TO(STARTING)},
};

int tri_key_next_phase(enum tr_process_phase phase, enum tri_key_event event,
                       enum tr_process_phase *next)
{
    uint8_t found = transitions[phase][event];
    if (found == 0) {
        return TR_INVALID;
    }
    *next = (enum tr_process_phase)(found - 1);
    return 0;
}

/* FNV-1a: keys are short, come from our own engines, and are looked up a few times each. */
static uint64_t hash_of(struct tr_text key)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < key.size; i++) {
        hash = (hash ^ (uint8_t)key.data[i]) * 0x100000001b3u;
    }
    return hash ^ hash >> 32;
}

static struct tri_key_entry **bucket_of(const struct tri_key_table *table, uint64_t hash)
{
    return &table->buckets[hash & (table->bucket_count - 1)];
}

static void list_append(struct tri_key_list *list, struct tri_key_entry *entry)
{
    entry->previous = list->last;
    entry->next = NULL;
    if (list->last != NULL) {
        list->last->next = entry;
    } else {
        list->first = entry;
    }
    list->last = entry;
    list->count++;
}

static void list_remove(struct tri_key_list *list, struct tri_key_entry *entry)
{
    if (entry->previous != NULL) {
        entry->previous->next = entry->next;
    } else {
        list->first = entry->next;
    }
    if (entry->next != NULL) {
        entry->next->previous = entry->previous;
    } else {
        list->last = entry->previous;
    }
    list->count--;
}

int tri_key_table_init(struct tri_key_table *table, size_t keys_max)
{
    struct tri_key_entry **buckets = tr_alloc_zero(FIRST_BUCKETS, sizeof(struct tri_key_entry *));
    if (buckets == NULL) {
        return TR_MEMORY;
    }
    *table = (struct tri_key_table){
        .buckets = buckets, .bucket_count = FIRST_BUCKETS, .keys_max = keys_max};
    return 0;
}

static void free_after(struct tri_key_entry *entry)
{
    tr_free(entry->after_bytes);
    entry->after_bytes = NULL;
    entry->after = (struct tr_bytes){.size = 0};
}

static void free_entry(struct tri_key_entry *entry)
{
    free_after(entry);
    tr_free(entry->reason);
    tr_free(entry);
}

static void free_list(struct tri_key_list *list)
{
    while (list->first != NULL) {
        struct tri_key_entry *entry = list->first;
        list_remove(list, entry);
        free_entry(entry);
    }
}

void tri_key_table_fini(struct tri_key_table *table)
{
    free_list(&table->live);
    free_list(&table->ended);
    tr_free(table->buckets);
    *table = (struct tri_key_table){0};
}

struct tri_key_entry *tri_key_table_find(const struct tri_key_table *table, struct tr_text key)
{
    uint64_t hash = hash_of(key);
    struct tri_key_entry *entry = *bucket_of(table, hash);
    while (entry != NULL && (entry->hash != hash || !tr_text_equal(entry->key, key))) {
        entry = entry->next_in_bucket;
    }
    return entry;
}

/*
 * Doubles the buckets when there is a key for each. Entries keep their hash, so none is computed
 * again. Without memory the chains get longer, which costs time only.
 */
static void grow(struct tri_key_table *table)
{
    if (table->live.count + table->ended.count < table->bucket_count) {
        return;
    }
    size_t old_count = table->bucket_count;
    struct tri_key_entry **old = table->buckets;
    struct tri_key_entry **buckets = tr_alloc_zero(2 * old_count, sizeof(struct tri_key_entry *));
    if (buckets == NULL) {
        return;
    }
    table->buckets = buckets;
    table->bucket_count = 2 * old_count;
    for (size_t i = 0; i < old_count; i++) {
        while (old[i] != NULL) {
            struct tri_key_entry *entry = old[i];
            old[i] = entry->next_in_bucket;
            struct tri_key_entry **bucket = bucket_of(table, entry->hash);
            entry->next_in_bucket = *bucket;
            *bucket = entry;
        }
    }
    tr_free(old);
}

static int check_new(const struct tri_key_table *table, struct tr_text key)
{
    if (key.size == 0) {
        return TR_INVALID;
    }
    if (key.size > TR_KEEPER_KEY_BYTES_MAX) {
        return TR_LIMIT;
    }
    if (tri_key_table_find(table, key) != NULL) {
        return TR_EXISTS;
    }
    return table->live.count + table->ended.count >= table->keys_max ? TR_BUSY : 0;
}

int tri_key_table_ask(struct tri_key_table *table, struct tr_text key, struct tri_key_entry **entry)
{
    int error = check_new(table, key);
    if (error != 0) {
        return error;
    }
    struct tri_key_entry *made = tr_alloc_zero(1, sizeof(struct tri_key_entry) + key.size);
    if (made == NULL) {
        return TR_MEMORY;
    }
    grow(table);
    memcpy(made->key_bytes, key.data, key.size);
    made->key = (struct tr_text){.data = made->key_bytes, .size = key.size};
    made->hash = hash_of(key);
    error = tri_key_next_phase(TR_PROCESS_NEW, TRI_KEY_ASK, &made->phase);
    TR_ASSERT(error == 0);
    struct tri_key_entry **bucket = bucket_of(table, made->hash);
    made->next_in_bucket = *bucket;
    *bucket = made;
    list_append(&table->live, made);
    *entry = made;
    return 0;
}

int tri_key_table_after(struct tri_key_entry *entry, struct tr_bytes after)
{
    if (after.size == 0) {
        return 0;
    }
    uint8_t *copy = tr_alloc(after.size);
    if (copy == NULL) {
        return TR_MEMORY;
    }
    memcpy(copy, after.data, after.size);
    free_after(entry);
    entry->after_bytes = copy;
    entry->after = (struct tr_bytes){.data = copy, .size = after.size};
    return 0;
}

int tri_key_table_launch(struct tri_key_entry *entry)
{
    if (entry->phase != TR_PROCESS_STARTING) {
        return TR_INVALID;
    }
    entry->may_run = true;
    return 0;
}

int tri_key_table_start(struct tri_key_table *table, struct tri_key_entry *entry,
                        const struct tr_process_started *started)
{
    (void)table;
    int error = tri_key_next_phase(entry->phase, TRI_KEY_START, &entry->phase);
    if (error == 0) {
        entry->may_run = true;
        entry->pid = started->pid;
        entry->start_time = started->start_time;
        entry->started_ms = started->started_ms;
    }
    return error;
}

int tri_key_table_end(struct tri_key_table *table, struct tri_key_entry *entry,
                      const struct tr_process_ended *ended)
{
    enum tr_process_phase next;
    int error = tri_key_next_phase(entry->phase, TRI_KEY_END, &next);
    if (error != 0) {
        return error;
    }
    /*
     * Before anything changes: after TR_MEMORY the key is in its old phase, and the call can be
     * repeated.
     */
    if (ended->reason.size > 0) {
        entry->reason = tr_text_copy(ended->reason);
        if (entry->reason == NULL) {
            return TR_MEMORY;
        }
    }
    free_after(entry);
    entry->phase = next;
    entry->end = *ended;
    entry->end.key = entry->key;
    entry->end.reason = (struct tr_text){.data = entry->reason != NULL ? entry->reason : "",
                                         .size = ended->reason.size};
    entry->end_number = ++table->end_number;
    list_remove(&table->live, entry);
    list_append(&table->ended, entry);
    return 0;
}

/*
 * Ends that were not synced become LOST: the log survived, but the outputs may not have. Called for
 * each change of boot in the log and at its end, so an end is judged by every restart after it.
 */
void tri_key_table_restarted(struct tri_key_table *table)
{
    for (struct tri_key_entry *entry = table->ended.first; entry != NULL; entry = entry->next) {
        struct tr_process_ended *end = &entry->end;
        bool has_run = end->outcome == TR_PROCESS_EXITED || end->outcome == TR_PROCESS_SIGNALLED;
        if (has_run && !end->is_synced) {
            end->outcome = TR_PROCESS_LOST;
            end->status = 0;
            end->reason = tr_text_of("the machine was restarted after it had ended, and its "
                                     "files were not synced");
        }
    }
}

/* Removes an entry from its chain and its list, and frees it. */
static void drop(struct tri_key_table *table, struct tri_key_list *list,
                 struct tri_key_entry *entry)
{
    struct tri_key_entry **link = bucket_of(table, entry->hash);
    while (*link != entry) {
        link = &(*link)->next_in_bucket;
    }
    *link = entry->next_in_bucket;
    list_remove(list, entry);
    free_entry(entry);
}

int tri_key_table_forget(struct tri_key_table *table, struct tri_key_entry *entry)
{
    int error = tri_key_next_phase(entry->phase, TRI_KEY_FORGET, &entry->phase);
    if (error == 0) {
        table->forgotten_bytes += entry->log_bytes;
        drop(table, &table->ended, entry);
    }
    return error;
}

int tri_key_table_refuse(struct tri_key_table *table, struct tri_key_entry *entry)
{
    int error = tri_key_next_phase(entry->phase, TRI_KEY_REFUSE, &entry->phase);
    if (error == 0) {
        drop(table, &table->live, entry);
    }
    return error;
}
