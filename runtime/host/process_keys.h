/*
 * Who wants to hear of which process: the callers that wait for an answer about a key, oldest
 * first, and the last one that asked, who hears of its end.
 */
#ifndef TR_RUNTIME_HOST_PROCESS_KEYS_H
#define TR_RUNTIME_HOST_PROCESS_KEYS_H

#include "runtime/host/service.h"

/* Calls about one key that may be open at once. */
#define TR_PROCESS_CALLS_MAX 8

struct tri_process_key {
    struct tri_process_key *next; /* of the same bucket */
    struct tri_caller owner;
    struct tri_caller open[TR_PROCESS_CALLS_MAX];
    uint32_t open_count;
    uint32_t hash;
    uint32_t size;
    char key[];
};

struct tri_process_keys {
    struct tri_process_key **buckets;
    uint32_t mask;
    uint32_t count;
};

TR_MUST_USE int tri_process_keys_init(struct tri_process_keys *keys);
void tri_process_keys_fini(struct tri_process_keys *keys);

/* The key's entry, or NULL. */
struct tri_process_key *tri_process_keys_find(const struct tri_process_keys *keys,
                                              struct tr_text key);

/* A call about a key: it is open, and its caller owns the key. TR_LIMIT (too many open calls),
 * TR_MEMORY. */
TR_MUST_USE int tri_process_keys_open(struct tri_process_keys *keys, struct tr_text key,
                                      const struct tri_caller *caller);

/* Takes the oldest open call of an entry; false when there is none. */
bool tri_process_key_answer(struct tri_process_key *entry, struct tri_caller *caller);

/* Forgets a key; none is fine. */
void tri_process_keys_remove(struct tri_process_keys *keys, struct tr_text key);

/* Calls for each entry; the table may not change meanwhile. */
void tri_process_keys_each(struct tri_process_keys *keys, void *self,
                           void (*visit)(void *self, struct tri_process_key *entry));

#endif
