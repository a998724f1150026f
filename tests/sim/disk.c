/*
 * The simulated disk itself: files, what of them is synced, and the crash.
 *
 * A file is kept twice, as it is read now and as it was at its last sync, with the list of changes
 * between. A sync applies the list; a crash applies some of it, by chance. After a failed sync the
 * list is gone, as a kernel marks pages clean that it could not write: a second sync would succeed
 * and write nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/disk_internal.h"

static void *must(void *block)
{
    TR_ASSERT(block != NULL);
    return block;
}

/* SplitMix64: every seed gives another sequence, and all of them are good enough to toss coins. */
uint64_t tri_disk_random(struct tri_disk *disk)
{
    disk->random += 0x9e3779b97f4a7c15ULL;
    uint64_t value = disk->random;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

/* --- Contents. --- */

static void content_resize(struct tri_disk_content *content, size_t size)
{
    if (size > content->capacity) {
        size_t capacity = content->capacity * 2 > size ? content->capacity * 2 : size;
        content->bytes = must(realloc(content->bytes, capacity));
        content->capacity = capacity;
    }
    if (size > content->size) {
        memset(content->bytes + content->size, 0, size - content->size);
    }
    content->size = size;
}

static void content_write(struct tri_disk_content *content, size_t offset, const uint8_t *bytes,
                          size_t size)
{
    if (offset + size > content->size) {
        content_resize(content, offset + size);
    }
    if (size > 0) {
        memcpy(content->bytes + offset, bytes, size);
    }
}

static void content_copy(struct tri_disk_content *to, const struct tri_disk_content *from)
{
    to->size = 0;
    content_write(to, 0, from->bytes, from->size);
}

/* --- Changes that are not synced. --- */

static void add_change(struct tri_disk_file *file, struct tri_disk_change change)
{
    if (file->change_count == file->change_capacity) {
        file->change_capacity = file->change_capacity * 2 + 16;
        file->changes = must(realloc(file->changes, file->change_capacity * sizeof *file->changes));
    }
    file->changes[file->change_count++] = change;
    file->change_bytes += change.is_truncation ? 0 : change.size;
}

static void apply(struct tri_disk_content *content, const struct tri_disk_change *change)
{
    if (change->is_truncation) {
        content_resize(content, change->offset);
    } else {
        content_write(content, change->offset, change->bytes, change->size);
    }
}

/* Applies the sectors of a write on which the coin falls well. */
static void apply_torn(struct tri_disk *disk, struct tri_disk_content *content,
                       const struct tri_disk_change *change)
{
    size_t at = 0;
    while (at < change->size) {
        size_t in_sector = TRI_DISK_SECTOR_BYTES - (change->offset + at) % TRI_DISK_SECTOR_BYTES;
        size_t size = in_sector < change->size - at ? in_sector : change->size - at;
        if (tri_disk_random(disk) % 2 == 0) {
            content_write(content, change->offset + at, change->bytes + at, size);
        }
        at += size;
    }
}

/* One change is lost, kept, or torn. */
static void apply_by_chance(struct tri_disk *disk, struct tri_disk_content *content,
                            const struct tri_disk_change *change)
{
    switch (tri_disk_random(disk) % 3) {
    case 0:
        break;
    case 1:
        apply(content, change);
        break;
    default:
        if (!change->is_truncation) {
            apply_torn(disk, content, change);
        }
        break;
    }
}

static void forget_changes(struct tri_disk_file *file)
{
    for (size_t i = 0; i < file->change_count; i++) {
        free(file->changes[i].bytes);
    }
    file->change_count = 0;
    file->change_bytes = 0;
}

static void sync_changes(struct tri_disk_file *file)
{
    for (size_t i = 0; i < file->change_count; i++) {
        apply(&file->synced, &file->changes[i]);
    }
    forget_changes(file);
}

static void lose_changes(struct tri_disk *disk, struct tri_disk_file *file)
{
    for (size_t i = 0; i < file->change_count; i++) {
        apply_by_chance(disk, &file->synced, &file->changes[i]);
    }
    forget_changes(file);
}

/* --- Files and names. --- */

struct tri_disk_file *tri_disk_find(const struct tri_disk *disk, const char *name)
{
    for (struct tri_disk_file *file = disk->files; file != NULL; file = file->next) {
        if (file->is_present && strcmp(file->name, name) == 0) {
            return file;
        }
    }
    return NULL;
}

struct tri_disk_file *tri_disk_create(struct tri_disk *disk, const char *name)
{
    struct tri_disk_file *file = must(calloc(1, sizeof *file));
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    file->is_present = true;
    /* At the end, so that of two files of one name the newer is behind the older. */
    struct tri_disk_file **place = &disk->files;
    while (*place != NULL) {
        place = &(*place)->next;
    }
    *place = file;
    return file;
}

static void file_free(struct tri_disk_file *file)
{
    forget_changes(file);
    free(file->changes);
    free(file->now.bytes);
    free(file->synced.bytes);
    free(file);
}

void tri_disk_shared_unref(struct tri_disk_shared *shared)
{
    shared->handles--;
    if (shared->handles == 0) {
        for (size_t i = 0; i < shared->region_count; i++) {
            free(shared->regions[i]);
        }
        free(shared->regions);
        free(shared);
    }
}

static bool is_needed(const struct tri_disk_file *file)
{
    return file->handles > 0 || (!file->is_stale && (file->is_present || file->is_certain));
}

/* Frees the files that neither a handle nor the folder knows. */
static void sweep(struct tri_disk *disk)
{
    struct tri_disk_file **place = &disk->files;
    while (*place != NULL) {
        struct tri_disk_file *file = *place;
        if (is_needed(file)) {
            place = &file->next;
        } else {
            *place = file->next;
            file_free(file);
        }
    }
}

void tri_disk_let_go(struct tri_disk *disk, struct tri_disk_file *file)
{
    file->handles--;
    sweep(disk);
}

static void sync_names(struct tri_disk *disk)
{
    for (struct tri_disk_file *file = disk->files; file != NULL; file = file->next) {
        file->is_certain = file->is_present;
    }
    sweep(disk);
}

/* --- What SQLite does to files. --- */

/* Counts a step; the power may fail with it. */
static void count_step(struct tri_disk *disk)
{
    disk->counts.steps++;
    if (disk->counts.steps == disk->faults.off_at_step) {
        disk->is_off = true;
    }
}

static bool has_room(struct tri_disk *disk, size_t growth)
{
    if (!disk->faults.room_is_limited) {
        return true;
    }
    if (growth > disk->faults.room_bytes) {
        disk->counts.refusals++;
        return false;
    }
    disk->faults.room_bytes -= growth;
    return true;
}

int tri_disk_write(struct tri_disk *disk, struct tri_disk_file *file, const void *bytes,
                   size_t size, size_t offset)
{
    if (disk->is_off || file->is_stale) {
        return SQLITE_IOERR_WRITE;
    }
    count_step(disk);
    disk->counts.writes++;
    size_t end = offset + size;
    if (end > file->now.size && !has_room(disk, end - file->now.size)) {
        return disk->is_off ? SQLITE_IOERR_WRITE : SQLITE_FULL;
    }
    bool fails = disk->counts.writes == disk->faults.fail_write_at;
    size_t done = fails ? size / 2 : size;
    struct tri_disk_change change = {
        .offset = offset, .size = done, .bytes = must(malloc(done + 1))};
    memcpy(change.bytes, bytes, done);
    add_change(file, change);
    apply(&file->now, &change);
    if (file->change_bytes > TRI_DISK_UNSYNCED_BYTES_MAX) {
        sync_changes(file);
    }
    return fails || disk->is_off ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

int tri_disk_truncate(struct tri_disk *disk, struct tri_disk_file *file, size_t size)
{
    if (disk->is_off || file->is_stale) {
        return SQLITE_IOERR_TRUNCATE;
    }
    count_step(disk);
    struct tri_disk_change change = {.is_truncation = true, .offset = size};
    add_change(file, change);
    apply(&file->now, &change);
    return disk->is_off ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static bool sync_lies(const struct tri_disk *disk, const struct tri_disk_file *file)
{
    const char *part = disk->faults.sync_lies_for;
    return disk->faults.sync_lies || (part != NULL && strstr(file->name, part) != NULL);
}

int tri_disk_sync(struct tri_disk *disk, struct tri_disk_file *file, bool with_names)
{
    if (disk->is_off || file->is_stale) {
        return SQLITE_IOERR_FSYNC;
    }
    count_step(disk);
    disk->counts.syncs++;
    if (disk->is_off) {
        return SQLITE_IOERR_FSYNC; /* the crash decides what of it was done */
    }
    if (disk->counts.syncs == disk->faults.fail_sync_at) {
        lose_changes(disk, file);
        return SQLITE_IOERR_FSYNC;
    }
    if (!sync_lies(disk, file)) {
        sync_changes(file);
        if (with_names) {
            sync_names(disk);
        }
    }
    return SQLITE_OK;
}

int tri_disk_delete(struct tri_disk *disk, const char *name, bool with_names)
{
    if (disk->is_off) {
        return SQLITE_IOERR_DELETE;
    }
    struct tri_disk_file *file = tri_disk_find(disk, name);
    if (file == NULL) {
        return SQLITE_IOERR_DELETE_NOENT;
    }
    count_step(disk);
    file->is_present = false;
    if (with_names && !disk->is_off && !disk->faults.sync_lies) {
        sync_names(disk);
    } else {
        sweep(disk);
    }
    return disk->is_off ? SQLITE_IOERR_DELETE : SQLITE_OK;
}

/* --- Ends. --- */

/* Whether a name survives a crash: certain ones do, the rest is chance. */
static bool name_survives(struct tri_disk *disk, const struct tri_disk_file *file)
{
    if (file->is_present == file->is_certain) {
        return file->is_present;
    }
    return tri_disk_random(disk) % 2 == 0;
}

/* Puts a file without handles in the place of one whose handles belong to the dead. */
static void replace(struct tri_disk *disk, struct tri_disk_file *old)
{
    struct tri_disk_file *file = tri_disk_create(disk, old->name);
    file->is_certain = old->is_certain;
    content_copy(&file->now, &old->now);
    content_copy(&file->synced, &old->synced);
    file->changes = old->changes;
    file->change_count = old->change_count;
    file->change_capacity = old->change_capacity;
    file->change_bytes = old->change_bytes;
    old->changes = NULL;
    old->change_count = 0;
    old->change_capacity = 0;
    old->is_present = false;
    old->is_certain = false;
    old->is_stale = true;
    old->shared = NULL;
}

static void restart(struct tri_disk *disk)
{
    size_t count = 0;
    for (struct tri_disk_file *file = disk->files; file != NULL; file = file->next) {
        count++;
    }
    struct tri_disk_file *file = disk->files;
    for (size_t i = 0; i < count; i++, file = file->next) {
        if (file->handles > 0 && file->is_present) {
            replace(disk, file);
        } else if (file->handles > 0) {
            file->is_stale = true;
        }
    }
    disk->is_off = false;
    disk->faults = (struct tri_disk_faults){0};
    sweep(disk);
}

void tri_disk_kill(struct tri_disk *disk)
{
    restart(disk);
}

void tri_disk_crash(struct tri_disk *disk)
{
    restart(disk);
    for (struct tri_disk_file *file = disk->files; file != NULL; file = file->next) {
        if (file->is_stale) {
            continue;
        }
        file->is_present = name_survives(disk, file);
        file->is_certain = file->is_present;
        lose_changes(disk, file);
        content_copy(&file->now, &file->synced);
        /* Of two files of one name only one can be there: the newer, where it survived. */
        for (struct tri_disk_file *older = disk->files; older != file; older = older->next) {
            if (file->is_present && strcmp(older->name, file->name) == 0) {
                older->is_present = false;
                older->is_certain = false;
            }
        }
    }
    sweep(disk);
}

struct tri_disk *tri_disk_new(uint64_t seed)
{
    static unsigned count;
    struct tri_disk *disk = must(calloc(1, sizeof *disk));
    (void)snprintf(disk->name, sizeof disk->name, "simdisk-%u", count++);
    disk->random = seed;
    tri_disk_vfs_init(&disk->vfs);
    disk->vfs.zName = disk->name;
    disk->vfs.pAppData = disk;
    int code = sqlite3_vfs_register(&disk->vfs, 0);
    TR_ASSERT(code == SQLITE_OK);
    /* SQLite draws the salts of its logs from numbers of its own, which would differ each time. */
    (void)sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, (int)(seed | 1), NULL);
    return disk;
}

void tri_disk_free(struct tri_disk *disk)
{
    if (disk == NULL) {
        return;
    }
    while (disk->files != NULL) {
        struct tri_disk_file *file = disk->files;
        TR_ASSERT(file->handles == 0);
        disk->files = file->next;
        file_free(file);
    }
    (void)sqlite3_vfs_unregister(&disk->vfs);
    free(disk);
}

const char *tri_disk_name(const struct tri_disk *disk)
{
    return disk->name;
}

struct tri_disk_faults *tri_disk_faults(struct tri_disk *disk)
{
    return &disk->faults;
}

const struct tri_disk_counts *tri_disk_counts(const struct tri_disk *disk)
{
    return &disk->counts;
}

static uint64_t sum_of(uint64_t sum, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++) {
        sum = (sum ^ at[i]) * 0x100000001b3ULL; /* FNV-1a */
    }
    return sum;
}

uint64_t tri_disk_signature(const struct tri_disk *disk)
{
    uint64_t sum = 0xcbf29ce484222325ULL;
    for (const struct tri_disk_file *file = disk->files; file != NULL; file = file->next) {
        sum = sum_of(sum, file->name, strlen(file->name));
        sum = sum_of(sum, &file->is_present, sizeof file->is_present);
        sum = sum_of(sum, file->now.bytes, file->now.size);
        sum = sum_of(sum, file->synced.bytes, file->synced.size);
    }
    return sum;
}

const uint8_t *tri_disk_file(const struct tri_disk *disk, const char *name, size_t *size)
{
    const struct tri_disk_file *file = tri_disk_find(disk, name);
    if (file == NULL) {
        return NULL;
    }
    *size = file->now.size;
    return file->now.size > 0 ? file->now.bytes : (const uint8_t *)"";
}

bool tri_disk_damage(struct tri_disk *disk, const char *name, size_t offset, uint8_t flip)
{
    struct tri_disk_file *file = tri_disk_find(disk, name);
    if (file == NULL || offset >= file->now.size) {
        return false;
    }
    sync_changes(file);
    file->now.bytes[offset] ^= flip;
    file->synced.bytes[offset] ^= flip;
    return true;
}

bool tri_disk_put(struct tri_disk *disk, const char *name, size_t offset, struct tr_bytes bytes)
{
    struct tri_disk_file *file = tri_disk_find(disk, name);
    if (file == NULL) {
        return false;
    }
    sync_changes(file);
    content_write(&file->now, offset, bytes.data, bytes.size);
    content_write(&file->synced, offset, bytes.data, bytes.size);
    return true;
}

bool tri_disk_cut(struct tri_disk *disk, const char *name, size_t size)
{
    struct tri_disk_file *file = tri_disk_find(disk, name);
    if (file == NULL || size > file->now.size) {
        return false;
    }
    sync_changes(file);
    content_resize(&file->now, size);
    content_resize(&file->synced, size);
    return true;
}
