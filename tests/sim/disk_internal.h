/*
 * What the two files of the simulated disk share: disk.c is the disk (files, what is synced, the
 * crash), disk_vfs.c what SQLite asks of a file system (handles, locks, shared memory).
 */
#ifndef TR_TESTS_SIM_DISK_INTERNAL_H
#define TR_TESTS_SIM_DISK_INTERNAL_H

#include <sqlite3.h>

#include "tests/sim/disk.h"

#define TRI_DISK_SECTOR_BYTES 512
#define TRI_DISK_NAME_BYTES 512
#define TRI_DISK_LOCKS 8 /* slots of shared memory's locks: SQLITE_SHM_NLOCK */

/* Unsynced bytes of a file above which a system would have begun to write them by itself. */
#define TRI_DISK_UNSYNCED_BYTES_MAX (16U << 20)

/* Bytes of a file. */
struct tri_disk_content {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

/* A write or truncation that is not synced. */
struct tri_disk_change {
    bool is_truncation;
    size_t offset; /* of a truncation: the new size */
    size_t size;
    uint8_t *bytes;
};

/* Memory that connections share: the log's index. It outlives a crash only for stale handles. */
struct tri_disk_shared {
    uint8_t **regions;
    size_t region_count;
    size_t handles;
};

struct tri_disk_file {
    struct tri_disk_file *next;
    char name[TRI_DISK_NAME_BYTES];
    bool is_present; /* the name is there for who looks now */
    bool is_certain; /* the name is there after a crash */
    bool is_stale;   /* from before a crash: only its handles still know it */
    size_t handles;
    struct tri_disk_content now;
    struct tri_disk_content synced;
    struct tri_disk_change *changes;
    size_t change_count;
    size_t change_capacity;
    size_t change_bytes;
    struct tri_disk_shared *shared;
    struct tri_disk_handle *open; /* all handles */
};

/* One opening of a file, as SQLite holds it. */
struct tri_disk_handle {
    sqlite3_file base;
    struct tri_disk *disk;
    struct tri_disk_file *file;
    struct tri_disk_handle *next;
    const char *given_name; /* as it was opened; SQLite's own keeps the pointer, too. Or NULL */
    int lock;               /* SQLITE_LOCK_... */
    bool is_read_only;
    bool names_are_synced_first; /* a log or journal: its first sync syncs the folder too */
    bool is_temporary;
    struct tri_disk_shared *shared;
    uint16_t shared_locks;    /* slots that it holds with others */
    uint16_t exclusive_locks; /* slots that it holds alone */
};

struct tri_disk {
    sqlite3_vfs vfs;
    char name[32];
    uint64_t random;
    uint64_t clock_ms;
    bool is_off;
    size_t used_bytes;
    struct tri_disk_faults faults;
    struct tri_disk_counts counts;
    struct tri_disk_file *files;
};

/* The next random number of the disk. */
uint64_t tri_disk_random(struct tri_disk *disk);

/* The file of that name that is present, or NULL. */
struct tri_disk_file *tri_disk_find(const struct tri_disk *disk, const char *name);

/* A new empty file, which is present but not certain. */
struct tri_disk_file *tri_disk_create(struct tri_disk *disk, const char *name);

/* A handle has let go of the file: it is freed when nobody needs it any more. */
void tri_disk_let_go(struct tri_disk *disk, struct tri_disk_file *file);

/* Gives up one handle's hold of shared memory. */
void tri_disk_shared_unref(struct tri_disk_shared *shared);

/* Changes of files; they count steps, obey the faults, and return SQLite's results. */
int tri_disk_write(struct tri_disk *disk, struct tri_disk_file *file, const void *bytes,
                   size_t size, size_t offset);
int tri_disk_truncate(struct tri_disk *disk, struct tri_disk_file *file, size_t size);
int tri_disk_sync(struct tri_disk *disk, struct tri_disk_file *file, bool with_names);
int tri_disk_delete(struct tri_disk *disk, const char *name, bool with_names);

/* The functions that SQLite calls; `vfs` gets those of the file system. */
void tri_disk_vfs_init(sqlite3_vfs *vfs);

#endif
