/*
 * Reading actors from each database: what their images say, beside an engine that goes on; and
 * what is none.
 */
#include "runtime/journal/images.h"

#include <stdio.h>
#include <string.h>

#include "runtime/actor/actor.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/envelope.h"
#include "tests/unit/runtime/stand.h"

static uint8_t pool[65536];
static size_t pool_used;

static struct tr_bytes pooled(struct tr_writer *writer)
{
    assert_int_equal(writer->error, 0);
    struct tr_bytes bytes = {.data = writer->begin, .size = (size_t)(writer->at - writer->begin)};
    pool_used += bytes.size;
    return bytes;
}

static struct tr_writer in_pool(void)
{
    return tr_writer_of(pool + pool_used, sizeof pool - pool_used);
}

static struct tr_bytes text_name(const char *name)
{
    struct tr_writer writer = in_pool();
    tr_write_text(&writer, tr_text_of(name));
    return pooled(&writer);
}

static struct tr_bytes element_name(uint64_t element)
{
    struct tr_writer writer = in_pool();
    tr_write_u64(&writer, element);
    return pooled(&writer);
}

/* Edges by kind, each with a due time. */
static struct tr_bytes edges(const uint64_t (*kinds)[2], uint32_t count)
{
    struct tr_writer writer = in_pool();
    tr_write_array(&writer, count);
    for (uint32_t i = 0; i < count; i++) {
        tr_write_array(&writer, 6);
        tr_write_u8(&writer, (uint8_t)kinds[i][0]);
        for (int field = 1; field < 5; field++) {
            tr_write_u64(&writer, 7);
        }
        tr_write_u64(&writer, kinds[i][1]);
    }
    return pooled(&writer);
}

static struct tri_op actor(uint64_t group, uint64_t serial, const struct tr_image *image)
{
    struct tr_image whole = *image;
    static const uint8_t nil[] = {0xc0};
    static const uint8_t none[] = {0x90};
    whole.name = whole.name.size > 0 ? whole.name : (struct tr_bytes){nil, sizeof nil};
    whole.edges = whole.edges.size > 0 ? whole.edges : (struct tr_bytes){none, sizeof none};
    whole.state = whole.state.size > 0 ? whole.state : (struct tr_bytes){none, sizeof none};
    struct tr_writer writer = in_pool();
    assert_int_equal(tr_image_pack(&whole, &writer), 0);
    return (struct tri_op){.kind = TRI_OP_PUT_ACTOR,
                           .key = {group, serial},
                           .incarnation = 3,
                           .type = image->behaviour,
                           .data = pooled(&writer)};
}

static struct tri_op message(uint64_t sequence, struct tr_key to)
{
    struct tr_envelope envelope = {.to_group = to.group,
                                   .to_serial = to.serial,
                                   .to_incarnation = 3,
                                   .envelope_version = TR_ENVELOPE_VERSION,
                                   .kind = TR_KIND_TELL,
                                   .from_group = 1,
                                   .from_serial = 9,
                                   .sequence = sequence};
    struct tr_writer writer = in_pool();
    assert_true((size_t)(writer.end - writer.at) >= TR_ENVELOPE_BYTES);
    tr_envelope_pack(&envelope, writer.at);
    writer.at += TR_ENVELOPE_BYTES;
    return (struct tri_op){.kind = TRI_OP_PUT_MESSAGE,
                           .key = {1, 9},
                           .incarnation = 1,
                           .to_group = to.group,
                           .number = sequence,
                           .data = pooled(&writer)};
}

/* What was shown, a line for each. */
static char shown[2048];
static size_t shown_size;

static int show(void *self, const struct tr_actor_image *image)
{
    (void)self;
    char name[64];
    if (image->is_element) {
        snprintf(name, sizeof name, "[%d]", (int)image->element);
    } else {
        snprintf(name, sizeof name, "%.*s", (int)image->name.size, image->name.data);
    }
    shown_size += (size_t)snprintf(
        shown + shown_size, sizeof shown - shown_size,
        "%d/%d@%d %s of %d, below %d, asks %u calls %u monitors %u timers %u due %d%s%s %d\n",
        (int)image->actor.key.group, (int)image->actor.key.serial, (int)image->actor.incarnation,
        name, image->behaviour, (int)image->parent.key.serial, image->asks, image->calls,
        image->monitors, image->timers, (int)image->due_ms,
        image->is_quarantined ? " quarantined" : "", image->is_backing_off ? " backing off" : "",
        image->failed_with);
    return 0;
}

static int show_to(void *self, struct tr_ref from, struct tr_ref to)
{
    (void)self;
    assert_true(tr_key_equal(from.key, (struct tr_key){1, 9}));
    shown_size += (size_t)snprintf(shown + shown_size, sizeof shown - shown_size, "to %d/%d@%d\n",
                                   (int)to.key.group, (int)to.key.serial, (int)to.incarnation);
    return 0;
}

static void expect(const char *expected)
{
    assert_string_equal(shown, expected);
    shown[0] = '\0';
    shown_size = 0;
}

static void test_images_of_a_moment(void **state)
{
    static const uint64_t kinds[][2] = {{TRI_EDGE_TIMER, 90}, {TRI_EDGE_TIMER, 80},
                                        {TRI_EDGE_ASK, 0},    {TRI_EDGE_CALL, 5},
                                        {TRI_EDGE_OWED, 0},   {TRI_EDGE_MONITORING, 0}};
    pool_used = 0;
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    struct tr_image root = {.behaviour = 101, .name = text_name("main")};
    struct tr_image child = {.behaviour = 102,
                             .flags = TRI_ACTOR_ELEMENT,
                             .name = element_name(17),
                             .parent = {{1, 9}, 3},
                             .edges = edges(kinds, TR_COUNT_OF(kinds))};
    struct tr_image sick = {.behaviour = 102, .phase = TRI_QUARANTINED, .parent = {{1, 9}, 3}};
    static const uint64_t failure[][2] = {{TRI_EDGE_BACKOFF, 70}};
    struct tr_image ill = {.behaviour = 104, .phase = TRI_BACKING_OFF, .edges = edges(failure, 1)};
    assert_int_equal(COMMIT(store, 1, actor(1, 9, &root), actor(1, 20, &child), actor(1, 21, &sick),
                            actor(2, 1, &ill), op_page(1, 20, 2, "page"),
                            message(1, (struct tr_key){1, 20}), message(2, (struct tr_key){2, 1})),
                     0);
    struct tr_reader *reader = stand_read(stand);
    assert_int_equal(COMMIT(store, 2, op_delete_actor(1, 21), op_delete_message(1, 9, 1, 1)), 0);
    assert_int_equal(tr_images_of_group(reader, 1, show, NULL), 0);
    expect("1/9@3 main of 101, below 0, asks 0 calls 0 monitors 0 timers 0 due 0 0\n"
           "1/20@3 [17] of 102, below 9, asks 1 calls 1 monitors 1 timers 2 due 80 0\n"
           "1/21@3  of 102, below 9, asks 0 calls 0 monitors 0 timers 0 due 0 quarantined 0\n");
    assert_int_equal(tr_images_of_behaviour(reader, 104, show, NULL), 0);
    expect("2/1@3  of 104, below 0, asks 0 calls 0 monitors 0 timers 0 due 0 backing off -7\n");
    assert_int_equal(tr_images_messages(reader, show_to, NULL), 0);
    expect("to 1/20@3\nto 2/1@3\n");
    assert_int_equal(tr_reader_refresh(reader), 0);
    assert_int_equal(tr_images_of_group(reader, 3, show, NULL), 0);
    expect("");
    assert_int_equal(tr_images_messages(reader, show_to, NULL), 0);
    expect("to 2/1@3\n");
    char page[8];
    size_t size = 0;
    assert_int_equal(tr_image_page(reader, (struct tr_key){1, 20}, 2, page, sizeof page, &size), 0);
    assert_int_equal(size, 4);
    assert_memory_equal(page, "page", 4);
    assert_int_equal(tr_image_page(reader, (struct tr_key){1, 20}, 3, page, sizeof page, &size),
                     TR_NOT_FOUND);
    tr_reader_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

static int stop(void *self, const struct tr_actor_image *image)
{
    (void)image;
    return ++*(int *)self == 2 ? TR_CLOSED : 0;
}

static void test_a_visitor_ends_it(void **state)
{
    pool_used = 0;
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    struct tr_image one = {.behaviour = 101};
    assert_int_equal(COMMIT(store, 1, actor(1, 1, &one), actor(1, 2, &one), actor(1, 3, &one)), 0);
    struct tr_reader *reader = stand_read(stand);
    int count = 0;
    assert_int_equal(tr_images_of_group(reader, 1, stop, &count), TR_CLOSED);
    assert_int_equal(count, 2);
    tr_reader_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

static void test_what_is_no_image_is_damage(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "no image"), op_message(1, 1, 1, 1, "no")),
                     0);
    struct tr_reader *reader = stand_read(stand);
    assert_int_equal(tr_images_of_group(reader, 1, show, NULL), TR_STORE_DAMAGED);
    assert_non_null(strstr(tr_reader_explain(reader), "has no valid image"));
    assert_int_equal(tr_images_messages(reader, show_to, NULL), TR_STORE_DAMAGED);
    expect("");
    tr_reader_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

int main(void)
{
    static const struct stand_test tests[] = {
        STAND_TEST(test_images_of_a_moment),
        STAND_TEST(test_a_visitor_ends_it),
        STAND_TEST(test_what_is_no_image_is_damage),
    };
    return stand_run_databases("images", tests, TR_COUNT_OF(tests));
}
