/*
 * The files of a commit log, beside the database: troupe.db-log0, troupe.db-log1 and so on.
 *
 * Each file is a segment: a page that says who writes, then entries one behind the other. Segments
 * are written again once all their entries are in the database, so after a while no write makes a
 * file longer, and a sync has nothing but the entry to write. What a segment had before stays
 * behind its newer entries until they reach it; sequences tell both apart.
 *
 * Which entries are read after a crash: from the mark on, each one with the next sequence, the
 * right checksum and the incarnation of the first. This is exactly what was acknowledged, and
 * perhaps the one entry that was being written:
 *   - An entry is written only after the one before is synced, so the first that is not whole is
 *     the last that was written. If there are synced ones behind it, it was damaged since, and the
 *     store says so, instead of forgetting what was acknowledged.
 *   - Whoever opens the store applies all entries before he appends one, and removes the files. So
 *     entries behind the mark are of one incarnation, the latest that has appended; files whose
 *     removal a loss of power has undone have a lower one.
 *
 * The fence: who opens the store for writing first puts his incarnation on the first page of
 * segment 0, then reads the log, and writes files of his own. Who appends looks at that page after
 * the sync, and acknowledges only if it still has his own. So an entry that is acknowledged was
 * written before the page was changed, and is read by whoever changed it. Both see the same page,
 * since they are on one machine. An owner writes that page again only to tell of a shortage, and
 * only while it is his.
 *
 * Files are reached through SQLite's file systems, so that the simulator's disk has them, too.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/commits/commit_log.h"
#include "runtime/journal/store_ask.h"
#include "runtime/journal/store_folder.h"
#include "runtime/memory.h"
#include "runtime/sqlite/sqlite.h"
#include "runtime/sqlite/sqlite_internal.h"

#define SEGMENTS_MAX 32
#define FIRST_ENTRY_AT TRI_COMMIT_ENTRY_ALIGNMENT
#define OWNER_MAGIC 0x31574f54U /* "TOW1" */

/* By how much a segment grows at once. */
#define GROWTH_BYTES (256U << 10)

/* How often a reader looks again at a log that was moved on while he looked. */
#define LOOKS_MAX 100

/*
 * How often a reader that waits looks again: at first as fast as an engine that was asked can have
 * written the tables. How often he asks again, and looks whether there is a shortage.
 */
#define LOOK_SOON_US 100
#define LOOK_LATER_US 1000
#define SOON_US 2000
#define ASK_AGAIN_US 2000
#define SHORTAGE_LOOK_US 100000

/* SQLite's file systems read and write less than 128 KiB at once. */
#define PIECE_BYTES 65536

/* The beginning of the first page of segment 0. */
struct owner {
    uint32_t magic;
    uint32_t shortage; /* why the tables cannot be written now, an enum tr_error; 0: they can */
    uint64_t incarnation;
};

struct segment {
    sqlite3_file *file;  /* NULL: not open */
    uint64_t size_bytes; /* of the file */
    uint64_t end;        /* where the next entry goes */
    uint64_t last;       /* sequence of the last entry; 0: none is needed */
};

struct sqlite_log {
    struct tri_commit_log log;
    sqlite3_vfs *vfs;
    uint64_t incarnation;
    bool is_read_only;
    struct segment segments[SEGMENTS_MAX];
    size_t current;
    uint64_t released; /* entries up to here are not needed */
    struct tri_store_ask ask;
    char path[TRI_SQLITE_PATH_BYTES]; /* of the database */
    char words[TRI_STORE_EXPLAIN_BYTES];
};

static struct sqlite_log *of(struct tri_commit_log *log)
{
    return (struct sqlite_log *)log;
}

static void segment_path(const char *database, size_t number, char path[TRI_SQLITE_PATH_BYTES + 32])
{
    (void)snprintf(path, TRI_SQLITE_PATH_BYTES + 32, "%s-log%zu", database, number);
}

static int report(struct sqlite_log *self, int code, const char *what)
{
    return tri_sqlite_file_error(self->path, code, what, self->words);
}

/* ---- Segments. ------------------------------------------------------------------------------- */

/*
 * The name lies behind the file and lives as long: SQLite keeps the pointer (xOpen of sqlite3_vfs),
 * and syncs the folder of that name with the first sync of a new file.
 */
static int open_file(sqlite3_vfs *vfs, const char *path, int flags, sqlite3_file **file)
{
    size_t file_bytes = (size_t)vfs->szOsFile;
    size_t name_bytes = strlen(path) + 1;
    sqlite3_file *opened = tr_alloc_zero(1, file_bytes + name_bytes);
    if (opened == NULL) {
        return SQLITE_NOMEM;
    }
    char *name = (char *)opened + file_bytes;
    memcpy(name, path, name_bytes);
    errno = 0;
    int code = vfs->xOpen(vfs, name, opened, flags | SQLITE_OPEN_WAL, NULL);
    if (code != SQLITE_OK) {
        if (opened->pMethods != NULL) {
            (void)opened->pMethods->xClose(opened);
        }
        tr_free(opened);
        return code;
    }
    *file = opened;
    return SQLITE_OK;
}

static void close_file(sqlite3_file *file)
{
    if (file != NULL) {
        (void)file->pMethods->xClose(file);
        tr_free(file);
    }
}

/* Opens a segment; one that is not there, and is not made, is not open afterwards. */
static int open_segment(struct sqlite_log *self, size_t number, bool makes)
{
    static const int writing = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    char path[TRI_SQLITE_PATH_BYTES + 32];
    struct segment *segment = &self->segments[number];
    int found = 1;
    segment_path(self->path, number, path);
    if (!makes && self->vfs->xAccess(self->vfs, path, SQLITE_ACCESS_EXISTS, &found) == SQLITE_OK &&
        !found) {
        return 0;
    }
    int code = open_file(self->vfs, path, self->is_read_only ? SQLITE_OPEN_READONLY : writing,
                         &segment->file);
    sqlite3_int64 size = 0;
    if (code == SQLITE_OK) {
        code = segment->file->pMethods->xFileSize(segment->file, &size);
    }
    if (code != SQLITE_OK) {
        return report(self, code, "opening its log");
    }
    segment->size_bytes = (uint64_t)size;
    segment->end = FIRST_ENTRY_AT;
    return 0;
}

/* Reads exactly `size` bytes; false beyond the end of the file. */
static bool read_bytes(sqlite3_file *file, uint64_t offset, uint8_t *bytes, size_t size, int *code)
{
    int result = SQLITE_OK;
    for (size_t at = 0; result == SQLITE_OK && at < size; at += PIECE_BYTES) {
        int piece = size - at < PIECE_BYTES ? (int)(size - at) : PIECE_BYTES;
        result = file->pMethods->xRead(file, bytes + at, piece, (sqlite3_int64)(offset + at));
    }
    if (result != SQLITE_OK && result != SQLITE_IOERR_SHORT_READ) {
        *code = result;
    }
    return result == SQLITE_OK;
}

static int write_bytes(sqlite3_file *file, uint64_t offset, const uint8_t *bytes, size_t size)
{
    int code = SQLITE_OK;
    errno = 0;
    for (size_t at = 0; code == SQLITE_OK && at < size; at += PIECE_BYTES) {
        int piece = size - at < PIECE_BYTES ? (int)(size - at) : PIECE_BYTES;
        code = file->pMethods->xWrite(file, bytes + at, piece, (sqlite3_int64)(offset + at));
    }
    return code;
}

/* ---- The fence. ------------------------------------------------------------------------------ */

static int put_owner(struct sqlite_log *self)
{
    sqlite3_file *file = self->segments[0].file;
    struct owner owner = {.magic = OWNER_MAGIC, .incarnation = self->incarnation};
    return report(self, write_bytes(file, 0, (const uint8_t *)&owner, sizeof owner),
                  "saying who writes its log");
}

static int check_owner(struct sqlite_log *self)
{
    struct owner owner = {0};
    int code = SQLITE_OK;
    bool is_read = read_bytes(self->segments[0].file, 0, (uint8_t *)&owner, sizeof owner, &code);
    if (code != SQLITE_OK) {
        return report(self, code, "reading who writes its log");
    }
    if (is_read && owner.magic == OWNER_MAGIC && owner.incarnation == self->incarnation) {
        return 0;
    }
    (void)snprintf(
        self->words, sizeof self->words,
        "%.380s: another engine has opened it (incarnation %llu, ours is %llu); this one "
        "must end",
        self->path, (unsigned long long)owner.incarnation, (unsigned long long)self->incarnation);
    return TR_FENCED;
}

/* ---- Appending. ------------------------------------------------------------------------------ */

static bool is_free(const struct sqlite_log *self, const struct segment *segment)
{
    return segment->last <= self->released;
}

static bool fits(const struct segment *segment, size_t size)
{
    return segment->end == FIRST_ENTRY_AT || segment->end + size <= TR_COMMIT_LOG_SEGMENT_BYTES;
}

/* The segment for the next entry: the current one, one that can be written again, or a new one. */
static int choose_segment(struct sqlite_log *self, size_t size, struct segment **chosen)
{
    size_t number = self->current;
    if (fits(&self->segments[number], size)) {
        *chosen = &self->segments[number];
        return 0;
    }
    for (number = 0; number < SEGMENTS_MAX; number++) {
        struct segment *segment = &self->segments[number];
        if (segment->file == NULL || (number != self->current && is_free(self, segment))) {
            break;
        }
    }
    if (number == SEGMENTS_MAX) {
        (void)snprintf(self->words, sizeof self->words, "%.400s: its log has no room", self->path);
        return TR_STORE_FULL;
    }
    int error = self->segments[number].file == NULL ? open_segment(self, number, true) : 0;
    if (error == 0) {
        self->segments[number].end = FIRST_ENTRY_AT;
        self->segments[number].last = 0;
        self->current = number;
        *chosen = &self->segments[number];
    }
    return error;
}

/*
 * Zeros behind an entry that makes its segment longer, so that the next ones need not. Without room
 * for them there may still be room for entries.
 */
static void grow(struct segment *segment, uint64_t end)
{
    static const uint8_t zeros[GROWTH_BYTES];
    int code = write_bytes(segment->file, end, zeros, sizeof zeros);
    segment->size_bytes = code == SQLITE_OK ? end + sizeof zeros : end;
}

static int write_entry(struct sqlite_log *self, struct segment *segment, struct tr_bytes entry)
{
    sqlite3_file *file = segment->file;
    uint64_t end = segment->end + entry.size;
    int code = write_bytes(file, segment->end, entry.data, entry.size);
    if (code != SQLITE_OK) {
        return report(self, code, "appending to its log");
    }
    if (end > segment->size_bytes) {
        grow(segment, end);
    }
    if (self->log.is_synced) {
        errno = 0;
        code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    }
    return report(self, code, "syncing its log");
}

static int append(struct tri_commit_log *log, struct tr_bytes entry,
                  const struct tri_commit_entry_head *head)
{
    struct sqlite_log *self = of(log);
    struct segment *segment = NULL;
    int error = choose_segment(self, entry.size, &segment);
    if (error == 0) {
        error = write_entry(self, segment, entry);
    }
    if (error == 0) {
        error = check_owner(self);
    }
    if (error == 0) {
        segment->end += entry.size;
        segment->last = head->sequence;
    }
    return error;
}

static void release(struct tri_commit_log *log, uint64_t sequence)
{
    of(log)->released = sequence;
}

/* Only these bytes: the page may be another's by now, who then tells of a shortage of ours. */
static void tell(struct tri_commit_log *log, int error)
{
    uint32_t shortage = (uint32_t)error;
    (void)write_bytes(of(log)->segments[0].file, offsetof(struct owner, shortage),
                      (const uint8_t *)&shortage, sizeof shortage);
}

/* ---- Reading. -------------------------------------------------------------------------------- */

/* Where an entry may be. */
struct found {
    struct tri_commit_entry_head head;
    size_t segment;
    uint64_t offset;
};

/* The head of the entry at an offset; false if none begins there. */
static bool read_head(sqlite3_file *file, uint64_t offset, struct tri_commit_entry_head *head,
                      int *code)
{
    uint8_t bytes[sizeof *head];
    return read_bytes(file, offset, bytes, sizeof bytes, code) &&
           tri_commit_entry_head(bytes, head) == 0;
}

/*
 * Finds the entry of a sequence, of this incarnation or, with 0, of the latest there is, by the
 * heads alone. A segment's entries are in order, so the first that is out of it ends the segment.
 */
static bool find_entry(const struct sqlite_log *self, uint64_t sequence, uint64_t incarnation,
                       struct found *found, int *code)
{
    bool is_found = false;
    for (size_t i = 0; i < SEGMENTS_MAX; i++) {
        struct tri_commit_entry_head head;
        uint64_t offset = FIRST_ENTRY_AT;
        uint64_t before = 0;
        sqlite3_file *file = self->segments[i].file;
        while (file != NULL && read_head(file, offset, &head, code) && head.sequence > before &&
               head.sequence <= sequence) {
            bool suits = incarnation == 0 || head.incarnation == incarnation;
            bool is_later = !is_found || head.incarnation > found->head.incarnation;
            if (head.sequence == sequence && suits && is_later) {
                *found = (struct found){.head = head, .segment = i, .offset = offset};
                is_found = true;
            }
            before = head.sequence;
            offset += tri_commit_entry_bytes(&head);
        }
    }
    return is_found;
}

/* The entry behind another one: in the same segment, or at the beginning of the next. */
static bool find_next(const struct sqlite_log *self, struct found *found, int *code)
{
    struct tri_commit_entry_head head;
    uint64_t offset = found->offset + tri_commit_entry_bytes(&found->head);
    uint64_t sequence = found->head.sequence + 1;
    if (read_head(self->segments[found->segment].file, offset, &head, code) &&
        head.sequence == sequence && head.incarnation == found->head.incarnation) {
        *found = (struct found){.head = head, .segment = found->segment, .offset = offset};
        return true;
    }
    for (size_t i = 0; i < SEGMENTS_MAX; i++) {
        if (self->segments[i].file != NULL &&
            read_head(self->segments[i].file, FIRST_ENTRY_AT, &head, code) &&
            head.sequence == sequence && head.incarnation == found->head.incarnation) {
            *found = (struct found){.head = head, .segment = i, .offset = FIRST_ENTRY_AT};
            return true;
        }
    }
    return false;
}

/* Reads all of an entry; TR_NOT_FOUND if it is not whole. */
static int read_entry(struct sqlite_log *self, const struct found *found, uint8_t **bytes)
{
    const struct segment *segment = &self->segments[found->segment];
    size_t size = tri_commit_entry_bytes(&found->head);
    int code = SQLITE_OK;
    if (found->offset + size > segment->size_bytes) {
        return TR_NOT_FOUND;
    }
    uint8_t *read = tr_alloc(size);
    if (read == NULL) {
        return report(self, SQLITE_NOMEM, "reading its log");
    }
    bool is_read = read_bytes(segment->file, found->offset, read, size, &code);
    if (is_read && tri_commit_entry_check((struct tr_bytes){.data = read, .size = size}) == 0) {
        *bytes = read;
        return 0;
    }
    tr_free(read);
    return code != SQLITE_OK ? report(self, code, "reading its log") : TR_NOT_FOUND;
}

/* Whether a whole entry lies at an offset that was written when those before it were synced. */
static bool is_synced_behind(struct sqlite_log *self, size_t segment, uint64_t offset,
                             uint64_t sequence)
{
    struct found found = {.segment = segment, .offset = offset};
    uint8_t *bytes = NULL;
    int code = SQLITE_OK;
    if (!read_head(self->segments[segment].file, offset, &found.head, &code) ||
        found.head.sequence <= sequence || found.head.is_synced == 0 ||
        read_entry(self, &found, &bytes) != 0) {
        return false;
    }
    tr_free(bytes);
    return true;
}

/*
 * Reading has ended behind `sequence`: looks at all places where an entry may begin for one that
 * says that it did not end there.
 */
static int check_end(struct sqlite_log *self, uint64_t sequence)
{
    for (size_t i = 0; i < SEGMENTS_MAX; i++) {
        const struct segment *segment = &self->segments[i];
        uint64_t end = segment->file != NULL ? segment->size_bytes : 0;
        for (uint64_t at = FIRST_ENTRY_AT; at < end; at += TRI_COMMIT_ENTRY_ALIGNMENT) {
            if (is_synced_behind(self, i, at, sequence + 1)) {
                (void)snprintf(self->words, sizeof self->words,
                               "%.200s-log%zu: entry %llu of its log is damaged, and later ones "
                               "are not; keep a copy of the folder, and restore a backup",
                               self->path, i, (unsigned long long)sequence + 1);
                return TR_STORE_DAMAGED;
            }
        }
    }
    return 0;
}

/* Reads one entry and shows it; TR_NOT_FOUND if it is not whole. */
static int show_entry(struct sqlite_log *self, const struct found *found,
                      int (*each)(void *self, struct tr_bytes entry), void *target)
{
    uint8_t *bytes = NULL;
    int error = read_entry(self, found, &bytes);
    if (error == 0) {
        error = each(
            target, (struct tr_bytes){.data = bytes, .size = tri_commit_entry_bytes(&found->head)});
        tr_free(bytes);
    }
    return error;
}

static int read_log(struct tri_commit_log *log, uint64_t sequence,
                    int (*each)(void *self, struct tr_bytes entry), void *target)
{
    struct sqlite_log *self = of(log);
    struct found found;
    int code = SQLITE_OK;
    int error = 0;
    bool is_found = find_entry(self, sequence + 1, 0, &found, &code);
    self->words[0] = '\0';
    while (is_found && code == SQLITE_OK && error == 0) {
        error = show_entry(self, &found, each, target);
        if (error == 0) {
            sequence = found.head.sequence;
            is_found = find_next(self, &found, &code);
        }
    }
    if (code != SQLITE_OK) {
        return report(self, code, "reading its log");
    }
    return error == 0 || error == TR_NOT_FOUND ? check_end(self, sequence) : error;
}

/* ---- Opening and closing. -------------------------------------------------------------------- */

static int descriptor(struct tri_commit_log *log)
{
    return of(log)->ask.socket;
}

static void drain(struct tri_commit_log *log)
{
    tri_store_ask_take(&of(log)->ask);
}

static const char *explain_log(struct tri_commit_log *log)
{
    return of(log)->words;
}

/* A log that is applied leaves nothing behind, unless it is another engine's by now. */
static void close_log(struct tri_commit_log *log, bool is_applied)
{
    struct sqlite_log *self = of(log);
    is_applied = is_applied && check_owner(self) == 0;
    for (size_t i = SEGMENTS_MAX; i-- > 0;) {
        char path[TRI_SQLITE_PATH_BYTES + 32];
        bool was_open = self->segments[i].file != NULL;
        close_file(self->segments[i].file);
        segment_path(self->path, i, path);
        if (was_open && is_applied) {
            (void)self->vfs->xDelete(self->vfs, path, 0);
        }
    }
    tri_store_ask_close(&self->ask);
    tr_free(self);
}

static const struct tri_commit_log_ops log_ops = {
    .append = append,
    .read = read_log,
    .release = release,
    .tell = tell,
    .descriptor = descriptor,
    .drain = drain,
    .explain = explain_log,
    .close = close_log,
};

static int open_segments(struct sqlite_log *self, bool makes)
{
    int error = open_segment(self, 0, makes);
    bool is_there = self->segments[0].file != NULL;
    if (error == 0 && is_there && !self->is_read_only) {
        error = put_owner(self);
    }
    /* They are made in order, and removed in reverse: behind a missing one there is none. */
    for (size_t i = 1; error == 0 && is_there && i < SEGMENTS_MAX; i++) {
        error = open_segment(self, i, false);
        is_there = self->segments[i].file != NULL;
    }
    return error;
}

static int log_new(struct tri_sqlite *store, const char *vfs, struct sqlite_log **log)
{
    struct sqlite_log *self = tr_alloc_zero(1, sizeof *self);
    if (self == NULL) {
        return tri_sqlite_error(store, SQLITE_NOMEM, "opening its log");
    }
    self->log.ops = &log_ops;
    self->vfs = sqlite3_vfs_find(vfs);
    self->incarnation = store->store.incarnation;
    self->log.is_synced = store->durability == TR_DURABILITY_FULL;
    self->is_read_only = store->read_only;
    self->ask = (struct tri_store_ask){.folder = -1, .socket = -1};
    (void)snprintf(self->path, sizeof self->path, "%s", store->path);
    self->log.path = self->path;
    *log = self;
    return 0;
}

int tri_sqlite_log_open(struct tri_sqlite *store, const struct tri_store_options *options,
                        bool makes, struct tri_commit_log **log)
{
    struct sqlite_log *self = NULL;
    int error = log_new(store, options->vfs, &self);
    if (error != 0) {
        return error;
    }
    error = open_segments(self, makes);
    if (error != 0) {
        (void)tri_sqlite_report(store, error, "%s", self->words);
        close_log(&self->log, false);
        return error;
    }
    if (self->segments[0].file == NULL) {
        close_log(&self->log, false);
        *log = NULL;
        return 0;
    }
    if (makes && options->vfs == NULL) {
        tri_store_ask_open(options->folder, &self->ask);
    }
    *log = &self->log;
    return 0;
}

/* ---- Readers. -------------------------------------------------------------------------------- */

/* What the files say to a reader. */
struct ahead {
    uint64_t end;     /* sequence of the last entry behind the mark, or that of the mark */
    bool is_shortage; /* the tables cannot be written now */
};

/*
 * Looks at the files. The heads are enough: an entry that is being written is applied soon, and one
 * that never was whole is settled by the next opening for writing. A log that cannot be read, or is
 * just being removed, has nothing for readers.
 */
static int look_ahead(struct tri_sqlite *store, const struct tri_commit_log_mark *mark,
                      struct ahead *ahead)
{
    struct sqlite_log *self = NULL;
    struct owner owner = {0};
    struct found found;
    int code = SQLITE_OK;
    int error = log_new(store, NULL, &self);
    if (error != 0) {
        return error;
    }
    error = open_segments(self, false);
    bool is_found = error == 0 && find_entry(self, mark->sequence + 1, 0, &found, &code) &&
                    found.head.log == mark->log;
    ahead->end = mark->sequence;
    ahead->is_shortage =
        is_found && read_bytes(self->segments[0].file, 0, (uint8_t *)&owner, sizeof owner, &code) &&
        owner.shortage != 0;
    while (is_found) {
        ahead->end = found.head.sequence;
        is_found = find_next(self, &found, &code);
    }
    close_log(&self->log, false);
    return 0;
}

/*
 * The same, for sure: an entry is where it was written until the mark has moved over it. So what
 * was found is all there was, unless the mark has moved meanwhile, which is seen afterwards.
 */
static int find_end(struct tri_sqlite *store, struct tri_commit_log_mark *mark, struct ahead *ahead)
{
    struct tri_commit_log_mark before;
    int error = tri_commit_log_mark(&store->store, mark);
    for (uint32_t tries = 0; error == 0 && tries < LOOKS_MAX; tries++) {
        before = *mark;
        error = look_ahead(store, mark, ahead);
        if (error == 0) {
            error = tri_commit_log_mark(&store->store, mark);
        }
        if (error == 0 && mark->sequence == before.sequence) {
            break;
        }
    }
    return error;
}

/*
 * Nobody will apply what an engine has left: it is done here, by opening the store for writing. Not
 * all of it need be whole, so the tables may never come to where the heads of the entries end: what
 * they have then is all.
 */
static int apply_rest(struct tri_sqlite *store, const struct tri_store_options *options,
                      bool *is_settled)
{
    char words[TRI_STORE_EXPLAIN_BYTES];
    struct tri_store_options writing = *options;
    struct tri_store *opened = NULL;
    writing.read_only = false;
    writing.durability = TR_DURABILITY_FULL;
    int error = tri_sqlite_open(&writing, words, &opened);
    if (error == TR_STORE_LOCKED) {
        return 0; /* an engine has come, and does it */
    }
    tri_store_close(opened);
    *is_settled = error == 0;
    return error == 0 ? 0
                      : tri_sqlite_report(store, error,
                                          "%.100s: has commits that are not in its tables yet: "
                                          "%.300s",
                                          store->path, words);
}

static uint32_t patience_us(const struct ahead *ahead)
{
    return 1000 * (ahead->is_shortage ? TR_COMMIT_LOG_SHORTAGE_MS : TR_COMMIT_LOG_READER_MS);
}

/* One look later. Without an engine the reader writes the tables, and need not look again. */
static int look_again(struct tri_sqlite *store, const struct tri_store_options *options,
                      uint32_t wait_us, struct tri_commit_log_mark *mark, bool *is_settled)
{
    bool is_held = false;
    (void)tri_store_folder_holder(options->folder, &is_held);
    const struct timespec wait = {.tv_nsec = wait_us * 1000L};
    int error = is_held ? 0 : apply_rest(store, options, is_settled);
    if (!*is_settled) {
        (void)ppoll(NULL, 0, &wait, NULL);
    }
    return error != 0 ? error : tri_commit_log_mark(&store->store, mark);
}

/*
 * What the engine has not counted yet it does not write when it is asked: so it is asked again. The
 * waits add up to each multiple of both intervals.
 */
static int wait_for_tables(struct tri_sqlite *store, const struct tri_store_options *options,
                           struct tri_commit_log_mark *mark, const struct ahead *ahead)
{
    struct ahead now = *ahead;
    uint32_t still_us = 0;
    bool is_settled = false;
    int error = 0;
    while (error == 0 && !is_settled && mark->sequence < ahead->end &&
           still_us < patience_us(&now)) {
        uint64_t before = mark->sequence;
        uint32_t wait_us = still_us < SOON_US ? LOOK_SOON_US : LOOK_LATER_US;
        if (still_us % ASK_AGAIN_US == 0) {
            tri_store_ask(options->folder);
        }
        error = look_again(store, options, wait_us, mark, &is_settled);
        still_us = mark->sequence == before ? still_us + wait_us : 0;
        if (error == 0 && still_us > 0 && still_us % SHORTAGE_LOOK_US == 0) {
            error = look_ahead(store, mark, &now);
        }
    }
    return error;
}

int tri_sqlite_log_wait(struct tri_sqlite *store, const struct tri_store_options *options)
{
    struct tri_commit_log_mark mark = {0};
    struct ahead ahead = {.end = 0};
    if (options->vfs != NULL || store->is_immutable) {
        return 0;
    }
    int error = find_end(store, &mark, &ahead);
    return error != 0 ? error : wait_for_tables(store, options, &mark, &ahead);
}
