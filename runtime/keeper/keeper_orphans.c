/*
 * Finds and kills leftover processes, while their keeper lives and after it died.
 *
 * A process that leaves its group and session becomes a child of this subreaper when its parents
 * have ended. Usually its environment still has the keeper's mark, which identifies its key. After
 * the keeper's death only the mark is left, and the cgroup if there is one (keeper_cgroup.c).
 */
#include "runtime/keeper/keeper_orphans.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/keeper/keeper_children.h"
#include "runtime/keeper_client/keeper_limits.h"
#include "runtime/memory.h"
#include "runtime/process/proc.h"

/* Rounds of killing leftovers: processes that were being spawned are found in the next. */
#define REMAINS_ROUNDS_MAX 8

int tri_orphans_init(struct tri_orphans *orphans)
{
    *orphans = (struct tri_orphans){
        .list = tr_alloc(TR_KEEPER_ORPHANS_MAX * sizeof(struct tri_orphan)),
        .environment = tr_alloc(TR_KEEPER_ENVIRON_BYTES_MAX),
    };
    if (orphans->list == NULL || orphans->environment == NULL) {
        tri_orphans_fini(orphans);
        return TR_MEMORY;
    }
    return 0;
}

void tri_orphans_fini(struct tri_orphans *orphans)
{
    tr_free(orphans->list);
    tr_free(orphans->environment);
    *orphans = (struct tri_orphans){0};
}

void tri_orphans_ended(struct tri_orphans *orphans, uint32_t pid)
{
    orphans->is_wanted = true;
    for (size_t i = 0; i < orphans->count; i++) {
        if (orphans->list[i].pid == pid) {
            orphans->list[i] = orphans->list[--orphans->count];
            return;
        }
    }
}

struct tr_text tri_orphans_mark(uint64_t store, struct tr_text key, char *buffer, size_t size)
{
    int used =
        snprintf(buffer, size, "%016llx/%.*s", (unsigned long long)store, (int)key.size, key.data);
    TR_ASSERT(used > 0 && (size_t)used < size);
    return (struct tr_text){.data = buffer, .size = (size_t)used};
}

/* The key in a mark of this store. */
static bool key_of_mark(struct tr_text mark, uint64_t store, struct tr_text *key)
{
    char prefix[TRI_MARK_BYTES_MAX];
    struct tr_text wanted =
        tri_orphans_mark(store, (struct tr_text){.data = "", .size = 0}, prefix, sizeof prefix);
    if (mark.size < wanted.size || memcmp(mark.data, wanted.data, wanted.size) != 0) {
        return false;
    }
    *key = (struct tr_text){.data = mark.data + wanted.size, .size = mark.size - wanted.size};
    return true;
}

/* Whether the process carries a mark of this store, and of which key. */
static bool is_marked(struct tri_orphans *orphans, uint32_t pid, uint64_t store,
                      struct tr_text *key)
{
    struct tr_text mark;
    return tri_proc_variable(pid, TRI_PROCESS_MARK, orphans->environment,
                             TR_KEEPER_ENVIRON_BYTES_MAX, &mark) == 0 &&
           key_of_mark(mark, store, key);
}

/* ---- While the keeper lives. ---------------------------------------------------------------- */

struct search {
    struct tri_orphans *orphans;
    const struct tri_children *children;
};

static bool is_known(const struct tri_orphans *orphans, uint32_t pid)
{
    for (size_t i = 0; i < orphans->count; i++) {
        if (orphans->list[i].pid == pid) {
            return true;
        }
    }
    return false;
}

/*
 * The orphan's owner. One with a mark belongs to the child of that key; serial 0 means that the
 * child has gone, so the orphan is due at once. One without may belong to any child launched so
 * far. False: it is a living worker's, and becomes a child's.
 */
static bool describe(const struct search *search, uint32_t pid, struct tri_orphan *described)
{
    const struct tri_children *children = search->children;
    struct tri_orphan orphan = {.pid = pid, .serial = children->serial};
    struct tr_text key;
    if (is_marked(search->orphans, pid, children->store, &key)) {
        if (tri_warm_is_forked(&children->warm, key)) {
            return false;
        }
        const struct tri_key_entry *entry = tri_key_table_find(children->table, key);
        const struct tri_child *owner = entry != NULL ? entry->child : NULL;
        orphan.has_owner = true;
        orphan.serial = owner != NULL ? owner->serial : 0;
    }
    *described = orphan;
    return true;
}

static void visit_child(void *self, uint32_t pid)
{
    struct search *search = self;
    struct tri_orphans *orphans = search->orphans;
    if (tri_children_find(search->children, pid) != NULL || is_known(orphans, pid) ||
        tri_warm_is_worker(&search->children->warm, pid)) {
        return;
    }
    if (orphans->count == TR_KEEPER_ORPHANS_MAX) {
        /* Too many orphans: this one is killed at once, whatever its owner. */
        kill((pid_t)pid, SIGKILL);
        return;
    }
    orphans->count += describe(search, pid, &orphans->list[orphans->count]) ? 1 : 0;
}

/* Whether all possible owners of the orphan have ended. */
static bool is_due(const struct tri_orphan *orphan, const struct tri_children *children)
{
    for (const struct tri_child *child = children->first; child != NULL; child = child->next) {
        bool may_own =
            orphan->has_owner ? child->serial == orphan->serial : child->serial <= orphan->serial;
        bool is_alive = (child->pid != 0 || child->is_starting) && !child->has_ended;
        if (may_own && is_alive) {
            return false;
        }
    }
    return true;
}

void tri_orphans_tick(struct tri_orphans *orphans, const struct tri_children *children)
{
    uint64_t begin_us = tri_monotonic_us();
    if (!orphans->is_wanted || begin_us < orphans->next_us) {
        return;
    }
    struct search search = {.orphans = orphans, .children = children};
    orphans->is_wanted = tri_proc_each_child(visit_child, &search) != 0;
    for (size_t i = 0; i < orphans->count; i++) {
        if (is_due(&orphans->list[i], children)) {
            kill((pid_t)orphans->list[i].pid, SIGKILL);
        }
    }
    uint64_t end_us = tri_monotonic_us();
    /* Waiting for a multiple of the search's duration bounds its share of the time. */
    orphans->next_us = end_us + (end_us - begin_us) * TR_KEEPER_ORPHAN_SCAN_SHARE;
}

/* ---- After a keeper died. ------------------------------------------------------------------- */

/*
 * Kills the group of a key if its leader is still the process that was started. pid and start time
 * together identify a process within a boot; a pid alone may be a stranger's by now.
 */
static bool kill_group(const struct tri_key_entry *entry)
{
    struct tri_proc_stat stat;
    if (entry->pid == 0 || tri_proc_stat(entry->pid, &stat) != 0 ||
        stat.start_time != entry->start_time) {
        return false;
    }
    return kill(-(pid_t)entry->pid, SIGKILL) == 0;
}

struct remains {
    struct tri_orphans *orphans;
    uint64_t store;
    size_t killed;
};

static void visit_remains(void *self, uint32_t pid)
{
    struct remains *remains = self;
    struct tr_text key;
    if (pid != (uint32_t)getpid() && is_marked(remains->orphans, pid, remains->store, &key) &&
        kill((pid_t)pid, SIGKILL) == 0) {
        remains->killed++;
    }
}

/*
 * Walks all processes again until a round kills none: one that was being forked during a round has
 * the mark too, and is found in the next. It gives up after REMAINS_ROUNDS_MAX.
 */
int tri_orphans_kill_remains(struct tri_orphans *orphans, const struct tri_key_table *table,
                             uint64_t store, size_t *killed)
{
    struct remains remains = {.orphans = orphans, .store = store};
    for (const struct tri_key_entry *entry = table->live.first; entry != NULL;
         entry = entry->next) {
        remains.killed += kill_group(entry) ? 1 : 0;
    }
    size_t before = SIZE_MAX;
    for (size_t round = 0; round < REMAINS_ROUNDS_MAX && before != remains.killed; round++) {
        before = remains.killed;
        int error = tri_proc_each(visit_remains, &remains);
        if (error != 0) {
            return error;
        }
    }
    *killed = remains.killed;
    return 0;
}
