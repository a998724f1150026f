/*
 * What a database does for readers: the one interface behind reader.h and images.h.
 */
#ifndef TR_RUNTIME_JOURNAL_READER_OPS_H
#define TR_RUNTIME_JOURNAL_READER_OPS_H

#include "runtime/journal/reader.h"

/* Which objects of the snapshot are visited, in the order of a load. */
enum tri_reader_visit {
    TRI_VISIT_GROUP,     /* the actors of the group `number` */
    TRI_VISIT_BEHAVIOUR, /* the actors of the behaviour `number` */
    TRI_VISIT_MESSAGES,  /* all messages */
};

struct tri_member_view; /* runtime/members/member.h */

/* A back end: functions have the contracts of the tr_reader function of their name. */
struct tri_reader_ops {
    int (*refresh)(struct tr_reader *reader);
    void (*release)(struct tr_reader *reader);
    int (*rows)(struct tr_reader *reader, const struct tr_reader_query *query,
                int (*row)(void *self, const void *row), void *self);
    int (*count)(struct tr_reader *reader, const struct tr_reader_query *query, uint64_t *count);
    /* Calls `each` with each object; what it returns other than 0 ends that and is returned. */
    int (*visit)(struct tr_reader *reader, enum tri_reader_visit what, uint64_t number,
                 int (*each)(void *self, const struct tri_op *op), void *self);
    /* The store of the snapshot, for pages and named cells. */
    struct tri_store *(*store)(const struct tr_reader *reader);
    /* The hosts of the store; NULL: it has none. */
    int (*members)(struct tr_reader *reader, struct tri_member_view *view);
    /* Sets the words for damaged data, and returns TR_STORE_DAMAGED. */
    int (*damaged)(struct tr_reader *reader, const char *what);
    void (*close)(struct tr_reader *reader);
};

/* The first member of every back end's reader. */
struct tr_reader {
    const struct tri_reader_ops *ops;
    char folder[TRI_STORE_FOLDER_BYTES];

    /* What it was opened with, where its thread may keep it (tr_reader_keep); else NULL. */
    const struct tr_schema *const *records;
    char *locator; /* "" where it has none */
};

/*
 * The reader that this thread has kept, with a new snapshot, if it was opened with the same and can
 * still be read; NULL: there is none. And marks one that was opened as one that may be kept.
 */
struct tr_reader *tri_reader_take_kept(const struct tr_reader_options *options);
void tri_reader_mark(struct tr_reader *reader, const struct tr_reader_options *options);

#endif
