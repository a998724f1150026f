/*
 * What SQLite asks of a file system, answered by the simulated disk: opening, locks, the shared
 * memory of a log's index, and a clock and random numbers that come from the seed.
 *
 * Shared memory is real here (SQLite could do without, in its exclusive locking mode), so that a
 * reader beside a writer and an engine that is fenced off can be simulated too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/disk_internal.h"

static struct tri_disk_handle *handle_of(sqlite3_file *base)
{
    return (struct tri_disk_handle *)base;
}

static struct tri_disk *disk_of(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

static bool is_dead(const struct tri_disk_handle *handle)
{
    return handle->disk->is_off || handle->file->is_stale;
}

/* --- Reading and writing. --- */

static int handle_read(sqlite3_file *base, void *buffer, int size, sqlite3_int64 offset)
{
    struct tri_disk_handle *handle = handle_of(base);
    if (is_dead(handle)) {
        return SQLITE_IOERR_READ;
    }
    const struct tri_disk_content *content = &handle->file->now;
    size_t wanted = (size_t)size;
    size_t at = (size_t)offset;
    size_t there = at < content->size ? content->size - at : 0;
    size_t got = there < wanted ? there : wanted;
    if (got > 0) {
        memcpy(buffer, content->bytes + at, got);
    }
    if (got < wanted) {
        memset((uint8_t *)buffer + got, 0, wanted - got);
        return SQLITE_IOERR_SHORT_READ;
    }
    return SQLITE_OK;
}

static int handle_write(sqlite3_file *base, const void *bytes, int size, sqlite3_int64 offset)
{
    struct tri_disk_handle *handle = handle_of(base);
    if (handle->is_read_only) {
        return SQLITE_READONLY;
    }
    return tri_disk_write(handle->disk, handle->file, bytes, (size_t)size, (size_t)offset);
}

static int handle_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    struct tri_disk_handle *handle = handle_of(base);
    return tri_disk_truncate(handle->disk, handle->file, (size_t)size);
}

/* SQLite's own opens the folder by the name that it was given, which has to be there still. */
static void check_name(const struct tri_disk_handle *handle)
{
    TR_ASSERT(handle->given_name == NULL || strcmp(handle->given_name, handle->file->name) == 0);
}

static int handle_sync(sqlite3_file *base, int flags)
{
    (void)flags;
    struct tri_disk_handle *handle = handle_of(base);
    check_name(handle);
    int code = tri_disk_sync(handle->disk, handle->file, handle->names_are_synced_first);
    if (code == SQLITE_OK) {
        handle->names_are_synced_first = false;
    }
    return code;
}

static int handle_size(sqlite3_file *base, sqlite3_int64 *size)
{
    struct tri_disk_handle *handle = handle_of(base);
    if (is_dead(handle)) {
        return SQLITE_IOERR_FSTAT;
    }
    *size = (sqlite3_int64)handle->file->now.size;
    return SQLITE_OK;
}

/* --- Locks of a file: https://sqlite.org/lockingv3.html --- */

/* Whether another handle of the file holds at least this lock. */
static bool others_hold(const struct tri_disk_handle *handle, int lock)
{
    for (const struct tri_disk_handle *other = handle->file->open; other; other = other->next) {
        if (other != handle && other->lock >= lock) {
            return true;
        }
    }
    return false;
}

static int handle_lock(sqlite3_file *base, int lock)
{
    struct tri_disk_handle *handle = handle_of(base);
    if (is_dead(handle)) {
        return SQLITE_IOERR_LOCK;
    }
    if (handle->lock >= lock) {
        return SQLITE_OK;
    }
    if (lock == SQLITE_LOCK_SHARED) {
        if (others_hold(handle, SQLITE_LOCK_PENDING)) {
            return SQLITE_BUSY;
        }
        handle->lock = lock;
        return SQLITE_OK;
    }
    if (handle->is_read_only || others_hold(handle, SQLITE_LOCK_RESERVED)) {
        return SQLITE_BUSY;
    }
    if (lock == SQLITE_LOCK_EXCLUSIVE && others_hold(handle, SQLITE_LOCK_SHARED)) {
        handle->lock = SQLITE_LOCK_PENDING; /* nobody new comes in while we wait */
        return SQLITE_BUSY;
    }
    handle->lock = lock;
    return SQLITE_OK;
}

static int handle_unlock(sqlite3_file *base, int lock)
{
    struct tri_disk_handle *handle = handle_of(base);
    if (handle->lock > lock) {
        handle->lock = lock;
    }
    return SQLITE_OK;
}

static int handle_is_reserved(sqlite3_file *base, int *answer)
{
    struct tri_disk_handle *handle = handle_of(base);
    *answer = handle->lock >= SQLITE_LOCK_RESERVED || others_hold(handle, SQLITE_LOCK_RESERVED);
    return SQLITE_OK;
}

/* --- Shared memory and its locks. --- */

static struct tri_disk_shared *shared_of(struct tri_disk_handle *handle)
{
    if (handle->shared == NULL) {
        struct tri_disk_file *file = handle->file;
        if (file->shared == NULL) {
            file->shared = calloc(1, sizeof *file->shared);
            TR_ASSERT(file->shared != NULL);
        }
        file->shared->handles++;
        handle->shared = file->shared;
    }
    return handle->shared;
}

static int handle_map(sqlite3_file *base, int region, int size, int extend, void volatile **memory)
{
    struct tri_disk_handle *handle = handle_of(base);
    *memory = NULL;
    if (is_dead(handle)) {
        return SQLITE_IOERR_SHMMAP;
    }
    struct tri_disk_shared *shared = shared_of(handle);
    while (extend != 0 && shared->region_count <= (size_t)region) {
        size_t count = shared->region_count + 1;
        shared->regions = realloc(shared->regions, count * sizeof *shared->regions);
        TR_ASSERT(shared->regions != NULL);
        shared->regions[count - 1] = calloc(1, (size_t)size);
        TR_ASSERT(shared->regions[count - 1] != NULL);
        shared->region_count = count;
    }
    if ((size_t)region < shared->region_count) {
        *memory = shared->regions[region];
    }
    return SQLITE_OK;
}

/* Whether another handle holds one of the slots: alone, or also together with others. */
static bool slots_are_held(const struct tri_disk_handle *handle, uint16_t slots, bool shared_too)
{
    for (const struct tri_disk_handle *other = handle->file->open; other; other = other->next) {
        uint16_t held = other->exclusive_locks;
        if (shared_too) {
            held |= other->shared_locks;
        }
        if (other != handle && (held & slots) != 0) {
            return true;
        }
    }
    return false;
}

static int handle_lock_shared(sqlite3_file *base, int first, int count, int flags)
{
    struct tri_disk_handle *handle = handle_of(base);
    uint16_t slots = (uint16_t)(((1U << count) - 1) << first);
    if (flags & SQLITE_SHM_UNLOCK) {
        handle->shared_locks &= (uint16_t)~slots;
        handle->exclusive_locks &= (uint16_t)~slots;
        return SQLITE_OK;
    }
    if (is_dead(handle)) {
        return SQLITE_IOERR_SHMLOCK;
    }
    bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    if (slots_are_held(handle, slots, exclusive)) {
        return SQLITE_BUSY;
    }
    if (exclusive) {
        handle->exclusive_locks |= slots;
    } else {
        handle->shared_locks |= slots;
    }
    return SQLITE_OK;
}

static void handle_barrier(sqlite3_file *base)
{
    (void)base; /* one thread */
}

static int handle_unmap(sqlite3_file *base, int delete_it)
{
    (void)delete_it; /* the last one to go takes it along in any case */
    struct tri_disk_handle *handle = handle_of(base);
    struct tri_disk_shared *shared = handle->shared;
    if (shared != NULL) {
        if (shared->handles == 1 && handle->file->shared == shared) {
            handle->file->shared = NULL;
        }
        handle->shared = NULL;
        tri_disk_shared_unref(shared);
    }
    handle->shared_locks = 0;
    handle->exclusive_locks = 0;
    return SQLITE_OK;
}

/* --- The rest of a file. --- */

static int handle_close(sqlite3_file *base)
{
    struct tri_disk_handle *handle = handle_of(base);
    (void)handle_unmap(base, 0);
    struct tri_disk_handle **place = &handle->file->open;
    while (*place != handle) {
        place = &(*place)->next;
    }
    *place = handle->next;
    if (handle->is_temporary) {
        handle->file->is_present = false;
    }
    tri_disk_let_go(handle->disk, handle->file);
    return SQLITE_OK;
}

static int handle_control(sqlite3_file *base, int operation, void *argument)
{
    (void)base;
    (void)operation;
    (void)argument;
    return SQLITE_NOTFOUND;
}

/* The same answers as SQLite's own file system on Linux, so that it behaves the same. */
static int handle_sector_size(sqlite3_file *base)
{
    (void)base;
    return 4096;
}

static int handle_characteristics(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = handle_close,
    .xRead = handle_read,
    .xWrite = handle_write,
    .xTruncate = handle_truncate,
    .xSync = handle_sync,
    .xFileSize = handle_size,
    .xLock = handle_lock,
    .xUnlock = handle_unlock,
    .xCheckReservedLock = handle_is_reserved,
    .xFileControl = handle_control,
    .xSectorSize = handle_sector_size,
    .xDeviceCharacteristics = handle_characteristics,
    .xShmMap = handle_map,
    .xShmLock = handle_lock_shared,
    .xShmBarrier = handle_barrier,
    .xShmUnmap = handle_unmap,
};

/* --- The file system. --- */

static int disk_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *base, int flags,
                     int *flags_out)
{
    struct tri_disk *disk = disk_of(vfs);
    struct tri_disk_handle *handle = handle_of(base);
    base->pMethods = NULL;
    if (disk->is_off) {
        return SQLITE_CANTOPEN;
    }
    struct tri_disk_file *file = name != NULL ? tri_disk_find(disk, name) : NULL;
    bool is_new = file == NULL;
    if (is_new && (flags & SQLITE_OPEN_CREATE) == 0) {
        return SQLITE_CANTOPEN;
    }
    if (is_new) {
        file = tri_disk_create(disk, name != NULL ? name : "");
    }
    /* As SQLite's own does, whether the file is new or was there. */
    bool syncs_names = (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
    *handle = (struct tri_disk_handle){
        .base = {.pMethods = &methods},
        .disk = disk,
        .file = file,
        .next = file->open,
        .given_name = name,
        .is_read_only = (flags & SQLITE_OPEN_READONLY) != 0,
        .names_are_synced_first = (flags & SQLITE_OPEN_CREATE) != 0 && syncs_names,
        .is_temporary = name == NULL || (flags & SQLITE_OPEN_DELETEONCLOSE) != 0,
    };
    file->open = handle;
    file->handles++;
    if (flags_out != NULL) {
        *flags_out = flags;
    }
    return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    return tri_disk_delete(disk_of(vfs), name, sync_folder != 0);
}

static int disk_access(sqlite3_vfs *vfs, const char *name, int flags, int *answer)
{
    const struct tri_disk_file *file = tri_disk_find(disk_of(vfs), name);
    *answer = file != NULL;
    if (flags == SQLITE_ACCESS_EXISTS && file != NULL && file->now.size == 0) {
        *answer = 0; /* as SQLite's own does: an empty log or journal is none */
    }
    return disk_of(vfs)->is_off ? SQLITE_IOERR_ACCESS : SQLITE_OK;
}

static int disk_full_name(sqlite3_vfs *vfs, const char *name, int size, char *full)
{
    (void)vfs;
    int length = snprintf(full, (size_t)size, "%s", name);
    return length >= 0 && length < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int disk_randomness(sqlite3_vfs *vfs, int size, char *bytes)
{
    for (int i = 0; i < size; i++) {
        bytes[i] = (char)tri_disk_random(disk_of(vfs));
    }
    return size;
}

/* Nobody sleeps: the time is over at once. */
static int disk_sleep(sqlite3_vfs *vfs, int microseconds)
{
    disk_of(vfs)->clock_ms += (uint64_t)microseconds / 1000;
    return microseconds;
}

static int disk_time(sqlite3_vfs *vfs, sqlite3_int64 *julian_ms)
{
    *julian_ms = (sqlite3_int64)disk_of(vfs)->clock_ms + 212000000000000LL;
    return SQLITE_OK;
}

static int disk_time_in_days(sqlite3_vfs *vfs, double *days)
{
    sqlite3_int64 julian_ms = 0;
    int code = disk_time(vfs, &julian_ms);
    *days = (double)julian_ms / 86400000.0;
    return code;
}

static int disk_last_error(sqlite3_vfs *vfs, int size, char *text)
{
    (void)vfs;
    (void)size;
    (void)text;
    return 0;
}

void tri_disk_vfs_init(sqlite3_vfs *vfs)
{
    *vfs = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = sizeof(struct tri_disk_handle),
        .mxPathname = TRI_DISK_NAME_BYTES - 1,
        .xOpen = disk_open,
        .xDelete = disk_delete,
        .xAccess = disk_access,
        .xFullPathname = disk_full_name,
        .xRandomness = disk_randomness,
        .xSleep = disk_sleep,
        .xCurrentTime = disk_time_in_days,
        .xCurrentTimeInt64 = disk_time,
        .xGetLastError = disk_last_error,
    };
}
