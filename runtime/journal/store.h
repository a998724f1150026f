/*
 * What a store keeps and how it is written: the one interface to every database.
 *
 * A store holds what is left of a host's total order up to one number: the last image of each
 * actor, its pages, the messages sent and not yet handled, the counters of spawns, and the records
 * that people query. It knows none of their meanings. The journal thread commits batches of
 * operations; each commit is atomic, checks the fence, and moves the store to a later number.
 *
 * One thread at a time uses a store. Reading commands open the same files by a handle of their own
 * (`read_only`), beside a live engine too.
 */
#ifndef TR_RUNTIME_JOURNAL_STORE_H
#define TR_RUNTIME_JOURNAL_STORE_H

#include "schemas/codec/field.h"
#include "schemas/codec/view.h"

/* What a crash may take (runtime/ARCHITECTURE.md, "Durability"). */
enum tr_durability {
    TR_DURABILITY_NONE,    /* nothing is written: throw-away runs */
    TR_DURABILITY_PROCESS, /* survives the end of the process, kill -9 too */
    TR_DURABILITY_FULL     /* survives the loss of power: synced before it is acknowledged */
};

/* What an operation does. The order is the order within a commit. */
enum tri_op_kind {
    TRI_OP_PUT_COUNTER = 1, /* key.group, key.serial = worker, number = next serial there */
    TRI_OP_PUT_ACTOR,       /* key, incarnation, type = behaviour id, data = image */
    TRI_OP_DELETE_ACTOR,    /* key; its pages go with it */
    TRI_OP_PUT_PAGE,        /* key, number = page, data */
    TRI_OP_DELETE_PAGE,     /* key, number = page */
    TRI_OP_PUT_MESSAGE, /* key, incarnation = sender; number = its sequence; data = envelope+body */
    TRI_OP_DELETE_MESSAGE, /* key, incarnation, number as above */
    TRI_OP_PUT_RECORD, /* type = record schema's id, data = packed row (version in `incarnation`) */
    TRI_OP_PUT_META,   /* number = a named cell (enum tri_meta), data = its bytes */
    TRI_OP_DELETE_COUNTER, /* key as for PUT_COUNTER: its group has ended */
    /*
     * type, incarnation and data as for PUT_RECORD: the rows go whose first fields, `number` of
     * them, are those of this one. It stands among the PUT_RECORDs, in the order of `turn`.
     */
    TRI_OP_DELETE_RECORDS,
};

/* Named cells of the store beside its actors. */
enum tri_meta {
    TRI_META_CLOCK = 15,      /* struct tri_kept_clock (runtime/env/env.h) */
    TRI_META_NEXT_GROUP = 16, /* + worker: how many groups began there, a uint64_t */
    TRI_META_USER = 64,       /* from here on: the program's own */
};

/* One operation. `data` belongs to the caller until commit returns. */
struct tri_op {
    enum tri_op_kind kind;
    uint16_t type;
    uint16_t
        key_size; /* of rows: the bytes of the fields that they are found by (tr_row_key_bytes) */
    uint32_t incarnation;
    uint32_t turn;     /* of rows: how many deletions of rows come before this within the commit */
    struct tr_key key; /* of rows: the first bytes of those fields, to sort by */
    uint64_t number;
    struct tr_bytes data;
};

/*
 * Sorts as a commit wants it: by kind, key, incarnation, number, so that writes go in key order.
 * Records are sorted by type, turn, the bytes of their keys, and number: rows without a key, and
 * those of equal keys, keep their order where `number` counts them.
 */
int tri_op_compare(const struct tri_op *a, const struct tri_op *b);

/* The bytes that `key_size` of an operation's row counts. */
struct tr_bytes tri_op_row_key(const struct tri_op *op);

/* Fills `key` from them. */
void tri_op_sort_by_row(struct tri_op *op);

/*
 * Fills `key_size` and `key` of a row as the schema has it: of a deletion the fields that `number`
 * counts. Errors: TR_LIMIT (TR_ROW_KEY_BYTES_MAX), TR_INVALID (a deletion of more fields than the
 * key has, or of none), and those of reading.
 */
TR_MUST_USE int tri_op_find_row_key(struct tri_op *op, const struct tr_schema *schema);

/*
 * One atomic step of the store. Deleting what is not there is no error. A row replaces the one of
 * the same key; rows without a key are added. Rows and deletions of a type happen in their order.
 */
struct tri_commit {
    const struct tri_op *ops; /* sorted, at most one for each thing but records */
    size_t count;
    uint64_t last_number; /* of the total order: everything up to here is in; never goes back */
};

/* How a store is opened. */
struct tri_store_options {
    const char *folder;                     /* made where it is missing, mode 0700 */
    enum tr_durability durability;          /* PROCESS or FULL */
    bool read_only;                         /* no lock, no fence, no writing; commit is refused */
    const struct tr_schema *const *records; /* the record schemas, each a table */
    size_t record_count;
    const struct tr_views *views; /* how people see them, and what they are found by; NULL: none */
    const char *vfs;              /* the database's own file system, NULL: the system's */
};

/*
 * What a store tells while it loads, in this order: counters, actors (each with its pages right
 * behind it), messages by sender, incarnation and sequence. All of it is of one moment, also beside
 * a live engine, and keys come in order as long as they are below 2^63. A callback's error ends the
 * loading and is returned; what a NULL callback would be told is not even read. An operation and
 * its bytes last as long as the call.
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
    int (*load)(struct tri_store *store, const struct tri_store_visitor *visitor);
    int (*read_page)(struct tri_store *store, struct tr_key key, uint64_t number, void *buffer,
                     size_t capacity, size_t *size);
    int (*read_meta)(struct tri_store *store, uint64_t cell, void *buffer, size_t capacity,
                     size_t *size);
    int (*tend)(struct tri_store *store);
    void (*rest)(struct tri_store *store);
    const char *(*explain)(struct tri_store *store);
    void (*close)(struct tri_store *store);
};

/* The head of every back end's own struct. */
struct tri_store {
    const struct tri_store_ops *ops;
    uint64_t incarnation; /* this host's, raised by each opening for writing */
    uint64_t last_number; /* of the last commit; for a reading handle as of its last loading */
};

/*
 * Commits a batch or nothing of it. Errors: TR_STORE_FULL (no room: nothing was written, the same
 * commit may be tried again later), TR_STORE_FAILED (an I/O error or a failed sync: the process
 * must end; the store then holds every acknowledged commit, and of this one all or nothing),
 * TR_FENCED (a later incarnation has opened the store), TR_STORE_DAMAGED; TR_BUSY (another program
 * holds the database) and TR_MEMORY, after which the same commit may be tried again; and for what
 * the caller got wrong, with nothing written: TR_INVALID (a reading handle, a number going back,
 * an unknown kind), TR_UNKNOWN_TYPE (a record without a schema), or what unpacking a record says.
 */
TR_MUST_USE static inline int tri_store_commit(struct tri_store *store,
                                               const struct tri_commit *commit)
{
    return store->ops->commit(store, commit);
}

/*
 * Tells the visitor everything that is left. Errors: the visitor's, TR_STORE_DAMAGED, _FAILED,
 * TR_BUSY, TR_MEMORY.
 */
TR_MUST_USE static inline int tri_store_load(struct tri_store *store,
                                             const struct tri_store_visitor *visitor)
{
    return store->ops->load(store, visitor);
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
 * Does what can wait between commits: the journal calls it when it has acknowledged a commit and no
 * other waits, so that no commit has to. It costs next to nothing where nothing is due. Errors as
 * commit; a store that is never tended does the same inside its commits.
 */
TR_MUST_USE static inline int tri_store_tend(struct tri_store *store)
{
    return store->ops->tend(store);
}

/* Gives back memory that only makes the next commits quicker; for when none is near. */
static inline void tri_store_rest(struct tri_store *store)
{
    store->ops->rest(store);
}

/* The last error in words for a person, with the file and the remedy; never NULL. */
static inline const char *tri_store_explain(struct tri_store *store)
{
    return store->ops->explain(store);
}

static inline void tri_store_close(struct tri_store *store)
{
    if (store != NULL) {
        store->ops->close(store);
    }
}

/* A buffer that is enough for any explanation of a failed opening. */
#define TRI_STORE_EXPLAIN_BYTES 512

/*
 * Opens the SQLite store in `options->folder` (file troupe.db). For writing it takes the folder's
 * lock, raises the incarnation and commits that; with a `vfs` of its own the folder is a name and
 * there is no lock, only the fence. Errors: TR_STORE_LOCKED, TR_STORE_FOREIGN, TR_STORE_NEWER,
 * TR_STORE_DAMAGED, TR_STORE_FULL, TR_STORE_FAILED, TR_BUSY, TR_MEMORY, TR_LIMIT (too many columns
 * in a record), TR_INVALID, and TR_NOT_FOUND where a reader finds no store; `explain`
 * (TRI_STORE_EXPLAIN_BYTES, or NULL) then says file, what was found and what to do. A foreign or
 * newer file is not changed in a single byte.
 */
TR_MUST_USE int tri_sqlite_open(const struct tri_store_options *options, char *explain,
                                struct tri_store **store);

#endif
