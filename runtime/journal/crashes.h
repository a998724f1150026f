/*
 * What has ended the process, counted across restarts: the rows of the table `crashes`, in memory.
 *
 * A host reads and counts them when it begins (crashes/poison_message.h). Whoever lifts what
 * follows from a count forgets its row. Nothing of this is on the way of a message.
 */
#ifndef TR_RUNTIME_JOURNAL_CRASHES_H
#define TR_RUNTIME_JOURNAL_CRASHES_H

#include "runtime/journal/reader.h"
#include "runtime/limits.h"
#include "schemas/runtime/crash.h"

/* Rows of messages that are kept; of parts TR_CRASH_ATTRIBUTIONS_MAX, of groups TR_ASIDE_MAX. */
#define TRI_CRASH_MESSAGES_MAX 256

/* Rows in memory: what is kept, and what one start counts beside it. */
#define TRI_CRASHES_MAX \
    (TRI_CRASH_MESSAGES_MAX + TR_CRASH_ATTRIBUTIONS_MAX + TR_ASIDE_MAX + TR_WORKERS_MAX + 1)

/* An upper bound of the bytes of a row's data. */
#define TRI_CRASH_BYTES_MAX 192

struct tri_crash_row {
    enum tri_crash kind;
    struct tr_key key;    /* of a message: the actor; of a group: its number alone */
    uint64_t number;      /* a digest of the message's or the part's name */
    uint32_t incarnation; /* of the store, when it was counted last */
    bool is_changed;      /* it is to be written */
    bool is_forgotten;    /* it is to be deleted */
    union {
        struct tr_crash_message message;
        struct tr_crash_part part;
        struct tr_crash_group group;
    };
};

struct tri_crashes {
    struct tri_crash_row rows[TRI_CRASHES_MAX];
    size_t count;
};

/* Reads all rows that can be unpacked. Errors are those of reading. */
TR_MUST_USE int tri_crashes_read(struct tri_store *store, struct tri_crashes *crashes);

/* The same from a reader's snapshot. */
TR_MUST_USE int tr_reader_crashes(struct tr_reader *reader, struct tri_crashes *crashes);

/* Unpacks a row; TR_STORE_DAMAGED: it makes no sense. */
TR_MUST_USE int tri_crash_row_read(const struct tri_op *op, struct tri_crash_row *row);

/*
 * The row of what `wanted` names (its kind, and key and name by that), for a count in this
 * incarnation of the store; it is added, with the contents of `wanted`, if it is missing. Of more
 * messages or parts than are kept the one that was counted the longest ago is forgotten.
 */
struct tri_crash_row *tri_crashes_row(struct tri_crashes *crashes,
                                      const struct tri_crash_row *wanted, uint32_t incarnation);

/* Whether there is a row of what `like` names. */
bool tri_crashes_has(const struct tri_crashes *crashes, const struct tri_crash_row *like);

/* Marks rows that are to be forgotten; returns how many. */
size_t tri_crashes_forget(struct tri_crashes *crashes,
                          bool (*is_meant)(const void *self, const struct tri_crash_row *row),
                          const void *self);

/* Forgets nothing of what is marked and not written. */
void tri_crashes_keep(struct tri_crashes *crashes);

/*
 * What is to be written, as sorted operations; returns their number. `bytes` has
 * TRI_CRASH_BYTES_MAX for each of them.
 */
size_t tri_crashes_changes(const struct tri_crashes *crashes, struct tri_op ops[TRI_CRASHES_MAX],
                           uint8_t *bytes);

/* The changes are written: drops what was forgotten. */
void tri_crashes_settle(struct tri_crashes *crashes);

/*
 * Commits the changes to a store that no journal uses, if there are any, and settles them. Errors
 * are those of a commit.
 */
TR_MUST_USE int tri_crashes_commit(struct tri_crashes *crashes, struct tri_store *store);

/*
 * What follows from them, in the order of the rows; each returns how many there are: parts that
 * have ended the process, and groups that are set aside.
 */
size_t tri_crashes_parts(const struct tri_crashes *crashes,
                         struct tr_crash_part parts[TR_CRASH_ATTRIBUTIONS_MAX]);
size_t tri_crashes_aside(const struct tri_crashes *crashes, uint64_t groups[TR_ASIDE_MAX]);

/* The same from a reader's snapshot. Errors are those of reading, and TR_MEMORY. */
TR_MUST_USE int tr_reader_crash_parts(struct tr_reader *reader,
                                      struct tr_crash_part parts[TR_CRASH_ATTRIBUTIONS_MAX],
                                      size_t *count);
TR_MUST_USE int tr_reader_aside(struct tr_reader *reader, uint64_t groups[TR_ASIDE_MAX],
                                size_t *count);

#endif
