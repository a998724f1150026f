/*
 * An entry of a commit log: the operations of one commit as bytes that are written once and read
 * after a crash.
 *
 *     [head, 64 bytes] ([struct tri_batch_op][bytes])* [zeros up to a multiple of 4,096]
 *
 * in the machine's byte order, as pages of a store are. An entry says by itself which log it
 * belongs to, who wrote it and where its place is, so that nothing else has to be written with it.
 */
#ifndef TR_RUNTIME_COMMITS_COMMIT_ENTRY_H
#define TR_RUNTIME_COMMITS_COMMIT_ENTRY_H

#include "runtime/journal/commit_batch.h"

/* Entries begin at multiples of this: what is written never shares a page with what is synced. */
#define TRI_COMMIT_ENTRY_ALIGNMENT 4096

/* The head of an entry. */
struct tri_commit_entry_head {
    uint32_t magic;
    uint32_t checksum;    /* of the rest of the head, and of the operations */
    uint64_t log;         /* the number of the log */
    uint64_t incarnation; /* of who wrote it */
    uint64_t sequence;    /* counts the entries of a log from 1 on */
    uint64_t last_number; /* of the commit */
    uint64_t size_bytes;  /* of the operations */
    uint32_t op_count;
    uint32_t is_synced; /* it was written when all before it were synced */
    uint32_t reserved[2];
};

/* The bytes that an entry takes in a log. */
size_t tri_commit_entry_bytes(const struct tri_commit_entry_head *head);

/*
 * Makes the bytes of an entry, which the caller frees (tr_free): `head` has all but magic,
 * checksum, size and count, which are filled in. TR_MEMORY, TR_LIMIT (4 GiB).
 */
TR_MUST_USE int tri_commit_entry_pack(const struct tri_commit *commit,
                                      struct tri_commit_entry_head *head, uint8_t **entry);

/*
 * Reads the head of an entry from at least sizeof(struct tri_commit_entry_head) bytes, without
 * checking it against the operations. TR_INVALID: no entry begins here.
 */
TR_MUST_USE int tri_commit_entry_head(const uint8_t *bytes, struct tri_commit_entry_head *head);

/*
 * Checks all of an entry (tri_commit_entry_bytes) against its checksum and its form; afterwards it
 * can be unpacked. TR_INVALID.
 */
TR_MUST_USE int tri_commit_entry_check(struct tr_bytes entry);

/* An entry without the zeros at its end, as a table keeps it. */
struct tr_bytes tri_commit_entry_trimmed(struct tr_bytes entry,
                                         const struct tri_commit_entry_head *head);

/*
 * The same entry again as it was made and checked, which the caller frees (tr_free). TR_INVALID: it
 * is none, or damaged. TR_MEMORY.
 */
TR_MUST_USE int tri_commit_entry_restore(struct tr_bytes trimmed,
                                         struct tri_commit_entry_head *head, uint8_t **entry);

/* Adds the operations of a checked entry to a batch, which then points to its bytes. TR_MEMORY. */
TR_MUST_USE int tri_commit_entry_unpack(struct tr_bytes entry, struct tri_commit_batch *batch);

#endif
