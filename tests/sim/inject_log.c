/*
 * Injected bugs of the log of commits in front of SQLite. What a start with the bug would read, a
 * sound one finds in the log: before it opens the store the bytes on the disk are changed to that.
 * So each mistake is one of the reader, made without a hook in it.
 *
 * Worlds are too small for a second segment, so all entries are in the first.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/commits/commit_entry.h"
#include "runtime/journal/checksum.h"
#include "tests/sim/inject.h"
#include "tests/sim/world.h"

#define SEGMENT "simulated/troupe.db-log0"

/* An entry in the segment. */
struct entry {
    struct tri_commit_entry_head head;
    size_t offset;
    size_t size_bytes;
};

/* The entries that a start would read if nothing of them were in the tables. */
struct entries {
    struct entry first;
    struct entry before; /* the last but one */
    struct entry last;
    size_t count;
    size_t end; /* behind the last */
};

static bool read_entry(const struct sim_host *host, size_t offset, struct entry *entry)
{
    size_t size = 0;
    const uint8_t *bytes = tri_disk_file(host->disk, SEGMENT, &size);
    if (bytes == NULL || offset + sizeof entry->head > size ||
        tri_commit_entry_head(bytes + offset, &entry->head) != 0) {
        return false;
    }
    entry->offset = offset;
    entry->size_bytes = tri_commit_entry_bytes(&entry->head);
    return entry->size_bytes <= size - offset;
}

static bool is_whole(const struct sim_host *host, const struct entry *entry)
{
    size_t size = 0;
    const uint8_t *bytes = tri_disk_file(host->disk, SEGMENT, &size);
    return tri_commit_entry_check(
               (struct tr_bytes){.data = bytes + entry->offset, .size = entry->size_bytes}) == 0;
}

static bool follows(const struct entries *entries, const struct entry *entry)
{
    return entries->count == 0 || (entry->head.sequence == entries->last.head.sequence + 1 &&
                                   entry->head.incarnation == entries->last.head.incarnation);
}

static struct entries find_entries(const struct sim_host *host)
{
    struct entries entries = {.end = TRI_COMMIT_ENTRY_ALIGNMENT};
    struct entry entry = {.offset = 0};
    while (host->disk != NULL && read_entry(host, entries.end, &entry) && is_whole(host, &entry) &&
           follows(&entries, &entry)) {
        entries.before = entries.last;
        entries.last = entry;
        entries.first = entries.count == 0 ? entry : entries.first;
        entries.count++;
        entries.end += entry.size_bytes;
    }
    return entries;
}

/* Puts a copy of an entry, with this sequence and the checksum of a sound one, at an offset. */
static void put_copy(struct sim_host *host, const struct entry *entry, uint64_t sequence,
                     size_t offset)
{
    size_t size = 0;
    const uint8_t *bytes = tri_disk_file(host->disk, SEGMENT, &size);
    struct tri_commit_entry_head head = entry->head;
    size_t from = offsetof(struct tri_commit_entry_head, log);
    uint8_t *copy = sim_must(malloc(entry->size_bytes));
    memcpy(copy, bytes + entry->offset, entry->size_bytes);
    head.sequence = sequence;
    memcpy(copy, &head, sizeof head);
    head.checksum = tri_checksum_bytes(
        (struct tr_bytes){.data = copy + from, .size = sizeof head + head.size_bytes - from});
    memcpy(copy, &head, sizeof head);
    bool is_put = tri_disk_put(host->disk, SEGMENT, offset,
                               (struct tr_bytes){.data = copy, .size = entry->size_bytes});
    TR_ASSERT(is_put);
    free(copy);
}

void sim_inject_syncs_no_log(struct sim_host *host)
{
    if (host->disk != NULL) {
        tri_disk_faults(host->disk)->sync_lies_for = "-log";
    }
}

void sim_inject_skips_hole(struct sim_host *host)
{
    struct entries entries = find_entries(host);
    if (entries.count >= 2) {
        put_copy(host, &entries.last, entries.before.head.sequence, entries.before.offset);
    }
}

void sim_inject_ignores_sequence(struct sim_host *host)
{
    struct entries entries = find_entries(host);
    if (entries.count >= 2) {
        put_copy(host, &entries.first, entries.last.head.sequence + 1, entries.end);
    }
}

void sim_inject_reuses_early(struct sim_host *host)
{
    struct entries entries = find_entries(host);
    if (entries.count >= 2) {
        put_copy(host, &entries.last, entries.last.head.sequence, entries.before.offset);
    }
}

void sim_inject_forgets_end(struct sim_host *host)
{
    static const uint8_t nothing[sizeof(struct tri_commit_entry_head)];
    struct entries entries = find_entries(host);
    if (entries.count >= 1) {
        bool is_put = tri_disk_put(host->disk, SEGMENT, entries.last.offset,
                                   (struct tr_bytes){.data = nothing, .size = sizeof nothing});
        TR_ASSERT(is_put);
    }
}

/* Few entries are torn by themselves, so the power fails more often, with a step of the disk. */
void sim_inject_takes_torn(struct sim_host *host)
{
    if (host->disk == NULL) {
        return;
    }
    struct entries entries = find_entries(host);
    struct entry torn = {.offset = 0};
    if (read_entry(host, entries.end, &torn) && !is_whole(host, &torn) &&
        follows(&entries, &torn)) {
        put_copy(host, &torn, torn.head.sequence, entries.end);
    }
    tri_disk_faults(host->disk)->off_at_step =
        tri_disk_counts(host->disk)->steps + sim_below(&host->world->chance.bug, 200);
}
