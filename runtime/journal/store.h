/*
 * What a store keeps and how it is written: the one interface to every database.
 *
 * A store holds the result of a host's total order up to one number: the last image of each actor,
 * its pages, sent and unhandled messages, the counters of spawns, and the records that people
 * query; beside them the graphs that they name, and how often something has ended the process. It
 * does not interpret them. The journal thread commits batches of operations; each commit
 * is atomic, checks the fence, and moves the store to a later number.
 *
 * One thread at a time uses a store. Commands open the same files by a `read_only` handle of their
 * own, also beside a live engine.
 */
#ifndef TR_RUNTIME_JOURNAL_STORE_H
#define TR_RUNTIME_JOURNAL_STORE_H

#include "schemas/codec/field.h"
#include "schemas/codec/view.h"

/* What survives a crash (runtime/ARCHITECTURE.md, "Durability"). */
enum tr_durability {
    TR_DURABILITY_NONE,    /* nothing is written: for throw-away runs */
    TR_DURABILITY_PROCESS, /* survives kill -9 of the process */
    TR_DURABILITY_FULL     /* survives a power loss: synced before it is acknowledged */
};

/* The kinds of operations, in their order within a commit. */
enum tri_op_kind {
    TRI_OP_PUT_COUNTER = 1, /* key.group, key.serial = worker, number = next serial there */
    TRI_OP_PUT_ACTOR,       /* key, incarnation, type = behaviour id, data = image */
    TRI_OP_DELETE_ACTOR,    /* key; deletes its pages, too */
    TRI_OP_PUT_PAGE,        /* key, number = page, data */
    TRI_OP_DELETE_PAGE,     /* key, number = page */
    /* to_group; key, incarnation = sender; number = its sequence; data = envelope and body */
    TRI_OP_PUT_MESSAGE,
    TRI_OP_DELETE_MESSAGE, /* to_group, key, incarnation, number as above */
    /*
     * type = record schema's id, data = packed row (version in `incarnation`). In a batch number is
     * 1 if its writer knows of no row of that key before.
     */
    TRI_OP_PUT_RECORD,
    TRI_OP_PUT_META,       /* number = a named cell (enum tri_meta), data = its bytes */
    TRI_OP_DELETE_COUNTER, /* key as for PUT_COUNTER: its group has ended */
    /*
     * type, incarnation and data as for PUT_RECORD: deletes the rows that share its first `number`
     * fields. It is sorted among the PUT_RECORDs by `turn`.
     */
    TRI_OP_DELETE_RECORDS,
    /*
     * A graph, which never changes under its hash: data = the hash and the graph behind it, number
     * = when it was put, in milliseconds. Of one that is there only that time changes, to a later.
     */
    TRI_OP_PUT_GRAPH,
    TRI_OP_DELETE_GRAPH, /* data = the hash; only if it was put at `number` or before */
    /*
     * type = enum tri_crash, key, number = which one; incarnation = of the store, data = counts
     * (crashes.h)
     */
    TRI_OP_PUT_CRASH,
    TRI_OP_DELETE_CRASH, /* type, key, number as above */
};

/* One more than the last kind. */
#define TRI_OP_KINDS (TRI_OP_DELETE_CRASH + 1)

/* Bytes of the hash by which a graph is known; the store does not compute it. */
#define TRI_GRAPH_HASH_BYTES 32

/* What has ended the process, and is counted across restarts (runtime/crashes/poison_message.h). */
enum tri_crash {
    TRI_CRASH_MESSAGE = 1, /* a message to the actor `key`; number = a digest of its name */
    TRI_CRASH_PART,        /* a part of the program; number = a digest of its name */
    TRI_CRASH_GROUP,       /* the loading of the group key.group */
};

/* Named cells of the store beside its actors. */
enum tri_meta {
    TRI_META_TENURES = 11,    /* which hosts have had it since when (runtime/members/tenure.h) */
    TRI_META_LOG = 12,        /* how far the log is in it (runtime/commits/commit_log.h) */
    TRI_META_PLACE = 13,      /* where its engine worked, of a store that knew no hosts yet */
    TRI_META_NUMBER = 14,     /* what tells this store from all others, a uint64_t */
    TRI_META_CLOCK = 15,      /* struct tri_kept_clock (runtime/env/env.h) */
    TRI_META_NEXT_GROUP = 16, /* + worker: number of groups created there, a uint64_t */
    TRI_META_USER = 64,       /* from here on: for the program */
    /* + slot × TR_WORKERS_MAX + worker: the same as NEXT_GROUP, of a host among several */
    TRI_META_NEXT_GROUP_OF_SLOT = 1 << 20,
    TRI_META_CLOCK_OF_SLOT = 1 << 21, /* + slot: the same as CLOCK, of a host among several */
    TRI_META_TENURES_OF_PARTITION = 1 << 22, /* + partition: the same as TENURES, of it alone */
    /* + host: where clients and the others reach it (schemas/runtime/place.h) */
    TRI_META_ENTRY_OF_HOST = 1 << 23,
};

/* One operation. The caller owns `data` and keeps it until commit returns. */
struct tri_op {
    enum tri_op_kind kind;
    uint16_t type;
    uint16_t key_size; /* of rows: bytes of the row key (tr_row_key_bytes) */
    bool is_new; /* a hint that nothing of its key is in the store, by which a put may be quicker */
    uint32_t incarnation;
    uint32_t turn;     /* of rows: number of deletions before it in the commit */
    struct tr_key key; /* of rows: the first bytes of those fields, to sort by */
    uint64_t to_group; /* of messages: the receiver's group, as in the envelope; otherwise 0 */
    uint64_t number;
    struct tr_bytes data;
};

/*
 * The order of a commit: by kind, the receiver's group, key, incarnation, number, so that writes go
 * in key order. Records are sorted by type, turn, the bytes of their keys, and number: rows without
 * a key, and those of equal keys, keep their order if `number` counts them.
 */
int tri_op_compare(const struct tri_op *a, const struct tri_op *b);

/* The row key of an operation: `key_size` bytes. */
struct tr_bytes tri_op_row_key(const struct tri_op *op);

/* Fills `key` from the row key. */
void tri_op_sort_by_row(struct tri_op *op);

/*
 * Fills `key_size` and `key` of a row by its schema; of a deletion from its `number` fields.
 * Errors: TR_LIMIT (TR_ROW_KEY_BYTES_MAX), TR_INVALID (a deletion with more fields than the key
 * has, or none), and those of reading.
 */
TR_MUST_USE int tri_op_find_row_key(struct tri_op *op, const struct tr_schema *schema);

/* Fills `key` of an operation on a graph from its data. */
void tri_op_sort_by_hash(struct tri_op *op);

/*
 * One atomic step of the store. Deleting a missing object is no error. A row replaces the one of
 * the same key; rows without a key are added. Rows and deletions of a type are applied in order.
 */
struct tri_commit {
    const struct tri_op
        *ops; /* at most one for each object, except records; sorted, or `gathers` */
    size_t count;
    uint64_t last_number; /* everything up to here is in; never decreases */
};

/* The first operation of an unknown kind, or whose data does not suit its kind; NULL: none. */
const struct tri_op *tri_commit_unsound(const struct tri_commit *commit);

/* A graph in a list: its hash is valid during the call. */
struct tri_graph_entry {
    const uint8_t *hash;
    uint64_t put_ms;
    uint64_t bytes; /* of the graph */
};

/* How much a log of commits may be ahead of its store: runtime/commits/commit_log.h. */
struct tri_commit_log_limits;

/*
 * Who opens a store that several hosts may have: known by the bytes in the file `place` of its
 * folder (runtime/store_place.h); the rest is for people, and for the others.
 */
struct tri_store_member {
    struct tr_bytes place;
    const char *name;          /* one of its own; NULL: of the machine */
    const char *machine;       /* the name of the machine */
    const char *folder;        /* of the store, there */
    const char *blobs;         /* where all hosts find its blobs; "": only it does */
    bool is_beside;            /* it works beside others; else it has all of the work, or none */
    uint32_t lease_ms;         /* silent for so long it may be fenced; 0: as it was */
    uint32_t process_lease_ms; /* its processes end so long behind its last word; 0: as it was */
};

/*
 * Into how many partitions the groups of a store in a database are divided unless something else is
 * wanted: enough for TRI_MEMBERS_MAX hosts to have about the same share, and few to be looked at.
 */
#define TRI_STORE_PARTITIONS 1024

/* Bytes of a host's name. */
#define TRI_STORE_MEMBER_NAME_BYTES_MAX 64

/* How a store is opened. */
struct tri_store_options {
    const char *folder;  /* created if missing, mode 0700; with a locator it may be NULL */
    const char *locator; /* of a database, in place of one in the folder; or NULL */
    enum tr_durability durability; /* PROCESS or FULL */
    uint32_t partitions; /* of one that is made in a database: into how many its groups are divided;
                            0: TRI_STORE_PARTITIONS, or as it is */
    bool takes_over;     /* of a store in a database: its engine works in this folder from now on */
    const struct tri_store_member *member; /* the same: as which host; NULL: as whoever has it */
    bool read_only;                        /* takes no lock and no fence; commits are refused */
    bool is_settled; /* for reading: what is read is in the tables, so no log is waited for */
    const struct tr_schema *const *records; /* the record schemas, each a table */
    size_t record_count;
    const struct tr_views *views;            /* views and indexes of the records; NULL: none */
    const char *vfs;                         /* SQLite's VFS; NULL: the system's */
    const struct tri_commit_log_limits *log; /* NULL: commits go to the tables at once */
};

/* The groups from `first` to `last`, both of them included. */
struct tri_group_range {
    uint64_t first;
    uint64_t last;
};

static const struct tri_group_range tri_all_groups = {0, UINT64_MAX};

static inline bool tri_group_range_has(struct tri_group_range range, uint64_t group)
{
    return range.first <= group && group <= range.last;
}

/*
 * Callbacks of a load, called in this order: counters, actors (each followed by its pages),
 * messages by the receiver's group, sender, incarnation and sequence. All data is of one snapshot,
 * also beside a live engine, and keys are in order below 2^63. A callback's error stops the load
 * and is returned; data for a NULL callback is not read. An operation and its bytes are valid
 * during the call.
 */
struct tri_store_visitor {
    void *self;
    int (*counter)(void *self, const struct tri_op *op);
    int (*actor)(void *self, const struct tri_op *op);
    int (*page)(void *self, const struct tri_op *op);
    int (*message)(void *self, const struct tri_op *op);
};

struct tri_store;

/* A back end: every function has the contract of the tri_store function of its name. */
struct tri_store_ops {
    const char *name;
    int (*commit)(struct tri_store *store, const struct tri_commit *commit);
    int (*load)(struct tri_store *store, struct tri_group_range range,
                const struct tri_store_visitor *visitor);
    int (*read_page)(struct tri_store *store, struct tr_key key, uint64_t number, void *buffer,
                     size_t capacity, size_t *size);
    int (*read_meta)(struct tri_store *store, uint64_t cell, void *buffer, size_t capacity,
                     size_t *size);
    int (*read_graph)(struct tri_store *store, const uint8_t *hash, uint8_t **data, size_t *size);
    int (*list_graphs)(struct tri_store *store, const uint8_t *after, size_t limit,
                       int (*each)(void *self, const struct tri_graph_entry *graph), void *self);
    int (*list_crashes)(struct tri_store *store, int (*each)(void *self, const struct tri_op *op),
                        void *self);
    int (*maintain)(struct tri_store *store);
    void (*release_memory)(struct tri_store *store);
    const char *(*explain)(struct tri_store *store);
    void (*leave)(struct tri_store *store); /* NULL: closing does it all */
    void (*close)(struct tri_store *store);
};

/* The first member of every back end's struct. */
struct tri_store {
    const struct tri_store_ops *ops;
    uint64_t incarnation; /* this host's; raised by each opening for writing */
    uint64_t last_number; /* of the last commit; for a reader, of its last load */
    uint64_t host;        /* of several that a store may have; 0: it has no such */
    bool gathers;         /* it adds commits to a batch of its own: they need not be sorted */
};

/*
 * Commits all operations or none. Errors: TR_STORE_FULL (no space: nothing was written, retry
 * later), TR_STORE_FAILED (an I/O error or a failed sync: the process must end; the store then
 * holds every acknowledged commit, and all or none of this one), TR_FENCED (a later incarnation has
 * opened the store), TR_STORE_DAMAGED; TR_BUSY (another program locks the database, or the
 * connection to it was lost and the outcome is unknown: the next commit must be the same, with the
 * same last_number, and is written once) and TR_MEMORY, after which the same commit may be retried.
 * Errors of the caller, with nothing written: TR_INVALID (a read-only handle, a decreasing number,
 * an unknown kind, a graph without a hash), TR_UNKNOWN_TYPE (a record without a schema), or those
 * of unpacking a record.
 */
TR_MUST_USE static inline int tri_store_commit(struct tri_store *store,
                                               const struct tri_commit *commit)
{
    return store->ops->commit(store, commit);
}

/*
 * Passes the contents of a range of groups to the visitor: their counters, actors and pages, and
 * the messages to them, whoever sent those. Only the load of all groups checks the structure of the
 * tables as well. Errors: the visitor's, TR_STORE_DAMAGED, _FAILED, TR_BUSY, TR_MEMORY.
 */
TR_MUST_USE static inline int tri_store_load_groups(struct tri_store *store,
                                                    struct tri_group_range range,
                                                    const struct tri_store_visitor *visitor)
{
    return store->ops->load(store, range, visitor);
}

/* The same with the whole contents. */
TR_MUST_USE static inline int tri_store_load(struct tri_store *store,
                                             const struct tri_store_visitor *visitor)
{
    return tri_store_load_groups(store, tri_all_groups, visitor);
}

/*
 * Copies one page. Errors: TR_NOT_FOUND, TR_LIMIT (capacity), TR_STORE_DAMAGED, _FAILED, TR_BUSY,
 * TR_MEMORY.
 */
TR_MUST_USE static inline int tri_store_read_page(struct tri_store *store, struct tr_key key,
                                                  uint64_t number, void *buffer, size_t capacity,
                                                  size_t *size)
{
    return store->ops->read_page(store, key, number, buffer, capacity, size);
}

/* Copies one named cell. Errors as read_page. */
TR_MUST_USE static inline int tri_store_read_meta(struct tri_store *store, uint64_t cell,
                                                  void *buffer, size_t capacity, size_t *size)
{
    return store->ops->read_meta(store, cell, buffer, capacity, size);
}

/*
 * Reads the graph of a hash (TRI_GRAPH_HASH_BYTES); the caller frees `data` (tr_free) and checks
 * that it is what the hash says. Errors: TR_NOT_FOUND, TR_STORE_DAMAGED, _FAILED, TR_BUSY,
 * TR_MEMORY.
 */
TR_MUST_USE static inline int tri_store_read_graph(struct tri_store *store, const uint8_t *hash,
                                                   uint8_t **data, size_t *size)
{
    return store->ops->read_graph(store, hash, data, size);
}

/*
 * Shows at most `limit` graphs in the order of their hashes, from the first behind `after` on
 * (NULL: from the first). A nonzero result of `each` stops and is returned. Other errors as
 * read_graph.
 */
TR_MUST_USE static inline int tri_store_list_graphs(
    struct tri_store *store, const uint8_t *after, size_t limit,
    int (*each)(void *self, const struct tri_graph_entry *graph), void *self)
{
    return store->ops->list_graphs(store, after, limit, each, self);
}

/*
 * Shows all counts of what has ended the process, as operations that put them, in the order of
 * type, key and number. A nonzero result of `each` stops and is returned. Other errors as
 * read_page.
 */
TR_MUST_USE static inline int tri_store_list_crashes(
    struct tri_store *store, int (*each)(void *self, const struct tri_op *op), void *self)
{
    return store->ops->list_crashes(store, each, self);
}

/*
 * Housekeeping between commits: the journal calls it after a commit when no other waits, so that
 * commits need not do it. It is cheap when nothing is due. Errors as commit, of which a shortage
 * ends by itself; without these calls commits do the housekeeping.
 */
TR_MUST_USE static inline int tri_store_maintain(struct tri_store *store)
{
    return store->ops->maintain(store);
}

/* Releases caches; called when no commit is expected soon. */
static inline void tri_store_release_memory(struct tri_store *store)
{
    store->ops->release_memory(store);
}

/* The last error in words, with the file and the remedy; never NULL. */
static inline const char *tri_store_explain(struct tri_store *store)
{
    return store->ops->explain(store);
}

/*
 * Lets a store end beside its user, who only closes it any more, and has less to wait for then.
 * NULL is fine.
 */
static inline void tri_store_leave(struct tri_store *store)
{
    if (store != NULL && store->ops->leave != NULL) {
        store->ops->leave(store);
    }
}

static inline void tri_store_close(struct tri_store *store)
{
    if (store != NULL) {
        store->ops->close(store);
    }
}

/* Size of a buffer for any explanation of a failed opening. */
#define TRI_STORE_EXPLAIN_BYTES 512

/* Size of a buffer for the path of a store's folder. */
#define TRI_STORE_FOLDER_BYTES 4096

#endif
