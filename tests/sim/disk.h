/*
 * A simulated disk: a file system of SQLite's (a VFS) whose files lie in memory and whose power can
 * fail.
 *
 * What was written and what was synced are kept apart. A crash keeps everything that was synced and
 * loses any part of the rest: whole writes, and sectors of 512 bytes within a write, in no order,
 * as a disk's cache does. Names follow the same rule: a file that was made or deleted is certain
 * only after a new log or journal beside it was synced. Which part is lost, and everything else
 * that is left to chance, is drawn from the disk's seed. There is no real file, clock or sleep.
 *
 *     struct tri_disk *disk = tri_disk_new(seed);
 *     options.vfs = tri_disk_name(disk);
 *     tri_disk_faults(disk)->off_at_step = 17;
 *     ... until everything fails; close the stores ...
 *     tri_disk_crash(disk);
 *     ... and open them again
 *
 * Stores may also be closed after the crash: handles from before it only ever fail. One thread uses
 * a disk, and disks are made and freed while no other thread uses SQLite. Memory comes from the
 * system, and running out of it ends the process: a disk is a test's tool.
 */
#ifndef TR_TESTS_SIM_DISK_H
#define TR_TESTS_SIM_DISK_H

#include "schemas/codec/base.h"

struct tri_disk;

/* What goes wrong. All zero: nothing. A step is a write, truncation, sync or deletion. */
struct tri_disk_faults {
    uint64_t off_at_step;   /* the power fails with this step: it and all later I/O are errors */
    uint64_t fail_write_at; /* the write with this number fails and is half done */
    uint64_t fail_sync_at;  /* the sync with this number fails, and what it did not write is lost */
    bool room_is_limited;   /* files can grow by room_bytes more in all, then the disk is full */
    uint64_t room_bytes;
    /* Injected: a sync says that it was done, and does nothing; of all files, or of these only. */
    bool sync_lies;
    const char *sync_lies_for; /* names with this in them; NULL: none */
};

/* What has happened since the disk was made. */
struct tri_disk_counts {
    uint64_t steps;
    uint64_t writes;
    uint64_t syncs;
    uint64_t refusals; /* for lack of room */
};

/* Makes an empty disk and registers it with SQLite; also seeds SQLite's own random numbers. */
TR_MUST_USE struct tri_disk *tri_disk_new(uint64_t seed);

/* Unregisters and frees it; everything on it has been closed. */
void tri_disk_free(struct tri_disk *disk);

/* The name by which SQLite knows it; lives as long as the disk. */
const char *tri_disk_name(const struct tri_disk *disk);

/* The faults, to be set and cleared at any time. Numbers count as in tri_disk_counts, from 1. */
struct tri_disk_faults *tri_disk_faults(struct tri_disk *disk);

const struct tri_disk_counts *tri_disk_counts(const struct tri_disk *disk);

/* The power fails and returns: what was not synced may be lost or torn. Faults are cleared. */
void tri_disk_crash(struct tri_disk *disk);

/* Only the process ends: whatever was written stays. Faults are cleared. */
void tri_disk_kill(struct tri_disk *disk);

/* The sum over names, contents and what of them is synced: equal runs have equal sums. */
uint64_t tri_disk_signature(const struct tri_disk *disk);

/* The bytes of a file as they are read now, or NULL; valid until anything is written. */
const uint8_t *tri_disk_file(const struct tri_disk *disk, const char *name, size_t *size);

/* Changes bytes of a file behind everybody's back, durably; false when there are none there. */
bool tri_disk_damage(struct tri_disk *disk, const char *name, size_t offset, uint8_t flip);

/* Puts other bytes into a file, which may get longer, behind everybody's back, durably. */
bool tri_disk_put(struct tri_disk *disk, const char *name, size_t offset, struct tr_bytes bytes);

/* Cuts a file short behind everybody's back, durably. */
bool tri_disk_cut(struct tri_disk *disk, const char *name, size_t size);

#endif
