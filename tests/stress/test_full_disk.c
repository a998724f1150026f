/*
 * A disk that is really full: a host on a small file system of memory goes on when there is room
 * again, loses nothing, and what was committed can be read meanwhile.
 *
 * Mounting needs the rights of root; without them the test says so and is skipped.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "runtime/sqlite/sqlite.h"
#include "runtime/troupe.h"
#include "tests/support/store_bind.h"

#define DISK_OPTIONS "size=2m"
#define NOTES 4000
#define NOTE_BYTES 8192
#define PATH_BYTES 128
#define WHILE_FULL_MS 400
#define BETWEEN_MS 5
#define PATIENCE_MS 30000

#define TR_PIECE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)          \
    FIELD(bytes, content, 1, 0)
#define TR_SHELF_FIELDS(FIELD, ARRAY) FIELD(u64, count, 1, 0)
#define DISK_SCHEMAS(S)                                         \
    S(piece, 62300, TR_MESSAGE, 1, TR_DURABLE, TR_PIECE_FIELDS) \
    S(shelf, 62300, TR_STATE, 1, 0, TR_SHELF_FIELDS)

DISK_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
DISK_SCHEMAS(TR_SCHEMA_DEFINE)

/* Keeps each piece in one of a few pages; the last piece ends it. */
static int shelf_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_shelf *shelf = state;
    struct tr_piece piece;
    void *page;
    int error = tr_message_read(message, piece, &piece);
    if (error == 0 && piece.number != ++shelf->count) {
        error = TR_FAILED;
    }
    if (error == 0) {
        error = tr_page_edit(context, (uint32_t)(piece.number % 16), piece.content.size, &page);
    }
    if (error != 0) {
        return error;
    }
    memcpy(page, piece.content.data, piece.content.size);
    return piece.number == NOTES ? tr_stop(context) : 0;
}

static const struct tr_behaviour shelf_behaviour = {
    .name = "shelf", .id = 62300, .state = &tr_shelf_schema, .handle = shelf_handle};

struct disk {
    char folder[PATH_BYTES];
    char store[PATH_BYTES + 8];
    char filler[PATH_BYTES + 8];
};

static bool disk_mount(struct disk *disk)
{
    (void)snprintf(disk->folder, sizeof disk->folder, "/tmp/troupe-disk-XXXXXX");
    assert_non_null(mkdtemp(disk->folder));
    (void)snprintf(disk->store, sizeof disk->store, "%s/store", disk->folder);
    (void)snprintf(disk->filler, sizeof disk->filler, "%s/filler", disk->folder);
    if (mount("troupe", disk->folder, "tmpfs", 0, DISK_OPTIONS) == 0) {
        return true;
    }
    print_message("SKIPPED: no small file system could be mounted: %s\n", strerror(errno));
    (void)rmdir(disk->folder);
    return false;
}

static void disk_unmount(const struct disk *disk)
{
    assert_int_equal(umount(disk->folder), 0);
    assert_int_equal(rmdir(disk->folder), 0);
}

/* Writes until there is no room, down to the last byte. */
static void disk_fill(const struct disk *disk)
{
    static const char block[4096];
    int file = open(disk->filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    for (size_t size = sizeof block; size > 0; size /= 2) {
        while (write(file, block, size) == (ssize_t)size) {
        }
    }
    assert_int_equal(errno, ENOSPC);
    close(file);
}

static void tell_pieces(struct tr_host *host, struct tr_ref shelf, uint64_t first, uint64_t last)
{
    static uint8_t content[NOTE_BYTES];
    for (uint64_t i = first; i <= last; i++) {
        memset(content, (int)i, sizeof content);
        struct tr_piece piece = {.number = i, .content = {content, sizeof content}};
        assert_int_equal(tr_host_tell(host, shelf, &tr_piece_schema, &piece), 0);
    }
}

static int count_actor(void *self, const struct tri_op *op)
{
    (void)op;
    ++*(int *)self;
    return 0;
}

/* What was in the tables can be read beside the host, full disk or not. */
static void expect_readable(const struct disk *disk)
{
    struct tri_store_options options = {
        .folder = disk->store, .durability = TR_DURABILITY_FULL, .read_only = true};
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store *store = NULL;
    int actors = 0;
    struct tri_store_visitor visitor = {.self = &actors, .actor = count_actor};
    int error = tri_sqlite_open(&options, explain, &store);
    if (error != 0) {
        print_message("%s\n", explain);
    }
    assert_int_equal(error, 0);
    assert_int_equal(tri_store_load(store, &visitor), 0);
    assert_int_equal(actors, 1);
    tri_store_close(store);
}

static void play(const struct disk *disk)
{
    const struct tr_behaviour *behaviours[] = {&shelf_behaviour};
    struct tr_host_options options = {.worker_count = 1,
                                      .durability = TR_DURABILITY_FULL,
                                      .folder = disk->store,
                                      .behaviours = behaviours,
                                      .behaviour_count = 1};
    struct tr_spawn_options wish = {.is_watched = true};
    struct tr_host *host = NULL;
    struct tr_ref shelf;
    int reason = TR_INVALID;
    assert_int_equal(tr_host_new(&options, NULL, &host), 0);
    assert_int_equal(tr_host_start(host), 0);
    assert_int_equal(tr_host_spawn(host, &shelf_behaviour, &wish, &shelf), 0);
    expect_readable(disk); /* and so the tables are written */
    disk_fill(disk);
    /* What the log has room for is still kept, until the tables cannot be written. */
    uint64_t told = 0;
    while (tr_host_waits_for(host) == 0 && told < NOTES - 1) {
        tell_pieces(host, shelf, told + 1, told + 1);
        told++;
        assert_int_equal(tr_host_wait(host, shelf, BETWEEN_MS, &reason), TR_TIMEOUT);
    }
    tell_pieces(host, shelf, told + 1, NOTES);
    /* The shelf has handled its last piece, but nobody outside hears of it before it is kept. */
    assert_int_equal(tr_host_wait(host, shelf, WHILE_FULL_MS, &reason), TR_TIMEOUT);
    assert_string_equal(tr_host_explain(host), "");
    assert_int_equal(tr_host_waits_for(host), TR_STORE_FULL);
    expect_readable(disk);
    assert_int_equal(unlink(disk->filler), 0);
    int error = tr_host_wait(host, shelf, PATIENCE_MS, &reason);
    print_message("after the full disk: %s %s\n", tr_error_name(error), tr_host_explain(host));
    assert_int_equal(error, 0);
    assert_int_equal(reason, 0);
    assert_int_equal(tr_host_waits_for(host), 0);
    tr_host_free(host);
}

static void test_a_host_waits_out_a_full_disk(void **state)
{
    (void)state;
    struct disk disk;
    if (store_is_elsewhere("full_disk", "its own disk is full, not the server's") ||
        !disk_mount(&disk)) {
        skip();
    }
    play(&disk);
    disk_unmount(&disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_host_waits_out_a_full_disk),
    };
    return cmocka_run_group_tests_name("full_disk", tests, NULL, NULL);
}
