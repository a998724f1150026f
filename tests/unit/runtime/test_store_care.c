/*
 * A check looks into what a store keeps: in each database it finds an image, a state, a message and
 * a count that cannot be read although the row is as it was written, and a graph that is not what
 * its hash says; and nothing in a store that is well.
 */
#include "runtime/store_care.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "runtime/journal/crashes.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/envelope.h"
#include "tests/unit/runtime/stand.h"

/* The behaviour whose states cannot be read. */
#define STRANGE 666

static char found[4096];
static uint64_t checked; /* rows */

static void tell(void *self, const struct tri_finding *finding)
{
    size_t size = strlen(found);
    (void)self;
    (void)snprintf(found + size, sizeof found - size, "%s: %s\n", finding->place, finding->what);
}

static int go_on(void *self, const char *table, uint64_t rows)
{
    (void)self;
    (void)table;
    (void)rows;
    return 0;
}

static void finish(void *self, const char *table, uint64_t rows)
{
    (void)go_on(self, table, rows);
    checked += rows;
}

static int read_state(void *self, uint16_t behaviour, uint8_t version, struct tr_bytes state)
{
    (void)self;
    assert_int_equal(version, 3);
    assert_int_equal(state.size, 5);
    return behaviour == STRANGE ? TR_UNKNOWN_TYPE : 0;
}

static void expect(struct stand *stand, const char *text)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    const struct tri_store_checking checking = {.options = stand_options(stand),
                                                .found = tell,
                                                .read_state = read_state,
                                                .progress = go_on,
                                                .finished = finish};
    found[0] = '\0';
    checked = 0;
    assert_int_equal(tri_store_check(&checking, explain), 0);
    assert_string_equal(found, text);
}

/* An actor of a behaviour, whose image is packed into `bytes`. */
static struct tri_op actor(uint64_t group, uint16_t behaviour, uint8_t bytes[512])
{
    struct tr_image image = {.behaviour = behaviour,
                             .state_version = 3,
                             .name = {.data = (const uint8_t *)"\241a", .size = 2},
                             .edges = {.data = (const uint8_t *)"\220", .size = 1},
                             .state = {.data = (const uint8_t *)"\244four", .size = 5}};
    struct tr_writer writer = tr_writer_of(bytes, 512);
    assert_int_equal(tr_image_pack(&image, &writer), 0);
    return (struct tri_op){.kind = TRI_OP_PUT_ACTOR,
                           .type = behaviour,
                           .incarnation = 1,
                           .key = {group, 1},
                           .data = {.data = bytes, .size = tr_writer_size(&writer)}};
}

static struct tri_op message(uint64_t group, uint8_t bytes[TR_ENVELOPE_BYTES])
{
    const struct tr_envelope envelope = {.envelope_version = TR_ENVELOPE_VERSION,
                                         .kind = TR_KIND_TELL,
                                         .type = 700,
                                         .to_group = group,
                                         .to_serial = 1,
                                         .from_group = group,
                                         .from_serial = 1};
    tr_envelope_pack(&envelope, bytes);
    return (struct tri_op){.kind = TRI_OP_PUT_MESSAGE,
                           .to_group = group,
                           .key = {group, 1},
                           .incarnation = 1,
                           .number = 4,
                           .data = {.data = bytes, .size = TR_ENVELOPE_BYTES}};
}

/* A graph behind its hash. */
static struct tri_op graph(const char *text, uint8_t bytes[128])
{
    crypto_hash_sha256(bytes, (const uint8_t *)text, strlen(text));
    memcpy(bytes + TRI_GRAPH_HASH_BYTES, text, strlen(text));
    struct tri_op op = {.kind = TRI_OP_PUT_GRAPH,
                        .data = {.data = bytes, .size = TRI_GRAPH_HASH_BYTES + strlen(text)}};
    tri_op_sort_by_hash(&op);
    return op;
}

static void test_what_can_be_read_is_well(void **state)
{
    uint8_t image[512];
    uint8_t envelope[TR_ENVELOPE_BYTES];
    uint8_t bytes[128];
    uint8_t record[128];
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    struct tri_op sent = message(5, envelope);
    sent.number = UINT64_MAX;
    assert_int_equal(COMMIT(store, 1, op_counter(5, 0, 5), actor(5, 7, image),
                            op_page(5, 1, 0, "page"), op_to(3, sent), op_meta(TRI_META_USER, "c"),
                            graph("a graph", bytes), op_door(1, 1, "front", "Ann"),
                            op_grown(2, 7, "what", record, sizeof record),
                            op_crash(TRI_CRASH_GROUP, 9, 0, "\001\221\003")),
                     0);
    tri_store_close(store);
    expect(stand, "");
    assert_int_equal(checked, 9);
    stand_free(stand);
}

static void test_what_cannot_be_read_is_found(void **state)
{
    uint8_t image[512];
    uint8_t envelope[TR_ENVELOPE_BYTES];
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    struct tri_op sent = message(6, envelope);
    sent.data.size -= 1;
    assert_int_equal(COMMIT(store, 1, actor(5, STRANGE, image), op_actor(6, 1, 1, "no image"), sent,
                            op_graph('g', 3, "a graph"),
                            op_crash(TRI_CRASH_GROUP, 9, 0, "\001\221")),
                     0);
    tri_store_close(store);
    char expected[1024];
    char hash[2 * TRI_GRAPH_HASH_BYTES + 1] = "";
    for (size_t i = 0; i < TRI_GRAPH_HASH_BYTES; i++) {
        memcpy(hash + 2 * i, "67", 2);
    }
    (void)snprintf(
        expected, sizeof expected,
        "actors (group 5, serial 1): its contents cannot be read: %s\n"
        "actors (group 6, serial 1): its contents cannot be read: %s\n"
        "messages (group 6, serial 1, incarnation 1, sequence 4): its contents cannot be "
        "read: %s\n"
        "crashes (kind 3, group 9, serial 1, number 0): its contents cannot be read: %s\n"
        "graphs (hash %s): the graph is not what its hash says\n",
        tr_error_text(TR_UNKNOWN_TYPE), tr_error_text(TR_MALFORMED), tr_error_text(TR_TRUNCATED),
        tr_error_text(TR_STORE_DAMAGED), hash);
    expect(stand, expected);
    stand_free(stand);
}

int main(void)
{
    const struct stand_test tests[] = {
        STAND_TEST(test_what_can_be_read_is_well),
        STAND_TEST(test_what_cannot_be_read_is_found),
    };
    return stand_run_databases("store_care", tests, TR_COUNT_OF(tests));
}
