/*
 * Images: an actor with everything that may hang on it goes to bytes and back; states of older
 * versions are read; garbage is refused, and nothing is left of it.
 */
#include "runtime/actor/image.h"
#include "tests/support/draw.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

#define IMAGE_BYTES_MAX 4096

static struct stage stage;

/* The same state schema in two versions: the second brought a field. */
#define TR_AGED_OLD_FIELDS(FIELD, ARRAY) FIELD(u64, first, 1, 0)
#define TR_AGED_FIELDS(FIELD, ARRAY) \
    FIELD(u64, first, 1, 0)          \
    FIELD(u64, second, 2, 0)
#define AGED_SCHEMAS(S)                                    \
    S(aged_old, 61100, TR_STATE, 1, 0, TR_AGED_OLD_FIELDS) \
    S(aged, 61100, TR_STATE, 2, 0, TR_AGED_FIELDS)

AGED_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
AGED_SCHEMAS(TR_SCHEMA_DEFINE)

static int ignore(struct tr_context *context, void *state, const struct tr_message *message)
{
    (void)state;
    return tr_unexpected(context, message);
}

static const struct tr_behaviour old_behaviour = {
    .name = "aged", .id = 61100, .state = &tr_aged_old_schema, .handle = ignore};
static const struct tr_behaviour new_behaviour = {
    .name = "aged", .id = 61100, .state = &tr_aged_schema, .handle = ignore};

static struct tr_bytes write_image(struct tr_ref actor, uint8_t *buffer)
{
    struct tri_worker *worker = stage_home(&stage, actor);
    struct tri_actor *it = stage_actor(&stage, actor);
    struct tr_writer writer = tr_writer_of(buffer, IMAGE_BYTES_MAX);
    assert_int_equal(tri_image_write(worker, it, &writer), 0);
    assert_true(tr_writer_size(&writer) <= tri_image_size_max(worker, it));
    return (struct tr_bytes){buffer, tr_writer_size(&writer)};
}

/* Takes an actor out of the world without anybody hearing of it. */
static void forget(struct tr_ref actor)
{
    tri_actor_free(stage_home(&stage, actor), stage_actor(&stage, actor));
}

static void add_every_edge(struct tr_ref actor)
{
    struct tri_worker *worker = stage_home(&stage, actor);
    for (int kind = TRI_EDGE_TIMER; kind <= TRI_EDGE_BACKOFF; kind++) {
        struct tr_ref peer = {{10 + (uint64_t)kind, 20}, 30};
        struct tri_edge *edge = tri_edge_add(worker, stage_actor(&stage, actor),
                                             (enum tri_edge_kind)kind, peer, 40 + (uint64_t)kind);
        assert_non_null(edge);
        if (kind == TRI_EDGE_TIMER || kind == TRI_EDGE_ASK) {
            edge->due_ms = STAGE_START_WALL_MS + 1000;
            tri_wheel_insert(worker, edge);
        }
    }
}

static struct tr_ref decorated(void)
{
    struct tr_fake_actor first = {.count = 1, .number = UINT64_MAX, .peer = {{2, 3}, 4}};
    assert_int_equal(tr_array_set(&first.words, tr_text_of("w\xc3\xb6rds")), 0);
    struct tr_spawn_options options = {
        .name = tr_text_of("decorated"), .state = &first, .incarnation = 9};
    struct tr_ref actor = stage_spawn(&stage, &fake_actor_behaviour, &options);
    struct tri_actor *it = stage_actor(&stage, actor);
    it->sequence = 1234567;
    it->muted_by = 2;
    it->flags |=
        TRI_ACTOR_WATCHED | TRI_ACTOR_RETRIED | TRI_ACTOR_SPREAD_FAMILY | TRI_ACTOR_OVERLOADED;
    it->phase = TRI_QUARANTINED;
    add_every_edge(actor);
    return actor;
}

static void test_an_image_brings_everything_back(void **state)
{
    (void)state;
    uint8_t first[IMAGE_BYTES_MAX];
    uint8_t second[IMAGE_BYTES_MAX];
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref actor = decorated();
    struct tr_bytes image = write_image(actor, first);
    forget(actor);
    assert_null(stage_actor(&stage, actor));
    struct tri_actor *it;
    assert_int_equal(tri_image_read(stage_worker(&stage, 0), actor.key, image, &it), 0);
    struct tr_bytes again = write_image(actor, second);
    assert_int_equal(again.size, image.size);
    assert_memory_equal(second, first, image.size);
    assert_int_equal(it->sequence, 1234567);
    assert_int_equal(it->phase, TRI_QUARANTINED);
    assert_int_equal(it->incarnation, 9);
    assert_int_equal(it->edge_count, TRI_EDGE_BACKOFF + 1);
    assert_int_equal(fake_actor_state(&stage, actor)->number, UINT64_MAX);
    /* Its timers run. */
    assert_int_equal(stage_worker(&stage, 0)->wheel.count, 2);
    /* The name finds it. */
    struct tr_ref found;
    assert_int_equal(tr_host_find(&stage.host, tr_text_of("/decorated"), &found), 0);
    stage_close(&stage);
}

/* What the writer makes in one pass is what the schema would make. */
static void test_an_image_is_what_its_schema_says(void **state)
{
    (void)state;
    uint8_t first[IMAGE_BYTES_MAX];
    uint8_t second[IMAGE_BYTES_MAX];
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref actor = decorated();
    struct tr_bytes bytes = write_image(actor, first);
    struct tr_image image;
    assert_int_equal(tr_image_unpack(bytes, tr_image_schema.version, &image), 0);
    struct tr_writer writer = tr_writer_of(second, sizeof second);
    assert_int_equal(tr_image_pack(&image, &writer), 0);
    assert_int_equal(tr_writer_size(&writer), bytes.size);
    assert_memory_equal(first, second, bytes.size);
    stage_close(&stage);
}

static void test_an_older_state_is_read(void **state)
{
    (void)state;
    uint8_t buffer[IMAGE_BYTES_MAX];
    const struct tr_behaviour *olds[] = {&old_behaviour};
    const struct tr_behaviour *news[] = {&new_behaviour};
    stage_open(&stage, &(struct stage_options){.behaviours = olds, .behaviour_count = 1});
    struct tr_aged_old first = {.first = 11};
    struct tr_spawn_options options = {.state = &first};
    struct tr_ref actor = stage_spawn(&stage, &old_behaviour, &options);
    struct tr_bytes image = write_image(actor, buffer);
    stage_close(&stage);
    stage_open(&stage, &(struct stage_options){.behaviours = news, .behaviour_count = 1});
    struct tri_actor *it;
    assert_int_equal(tri_image_read(stage_worker(&stage, 0), actor.key, image, &it), 0);
    const struct tr_aged *aged = tri_actor_state(it);
    assert_int_equal(aged->first, 11);
    assert_int_equal(aged->second, 0);
    image = write_image(actor, buffer);
    stage_close(&stage);
    /* And a newer one is refused by name. */
    stage_open(&stage, &(struct stage_options){.behaviours = olds, .behaviour_count = 1});
    assert_int_equal(tri_image_read(stage_worker(&stage, 0), actor.key, image, &it), TR_VERSION);
    assert_int_equal(stage_actor_count(&stage), 0);
    stage_close(&stage);
}

static void test_an_unknown_behaviour_is_refused(void **state)
{
    (void)state;
    uint8_t buffer[IMAGE_BYTES_MAX];
    const struct tr_behaviour *news[] = {&new_behaviour};
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref actor = decorated();
    struct tr_bytes image = write_image(actor, buffer);
    stage_close(&stage);
    stage_open(&stage, &(struct stage_options){.behaviours = news, .behaviour_count = 1});
    struct tri_actor *it;
    assert_int_equal(tri_image_read(stage_worker(&stage, 0), actor.key, image, &it),
                     TR_UNKNOWN_TYPE);
    stage_close(&stage);
}

/* Bytes changed, cut and drawn: an error or an actor, and nothing left over. */
static void test_garbage_is_refused(void **state)
{
    (void)state;
    uint8_t sound[IMAGE_BYTES_MAX];
    uint8_t broken[IMAGE_BYTES_MAX];
    struct draw draw = {99};
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref actor = decorated();
    struct tr_bytes image = write_image(actor, sound);
    forget(actor);
    int refused = 0;
    for (int i = 0; i < 20000; i++) {
        size_t size = image.size;
        memcpy(broken, sound, size);
        if (i % 3 == 0) {
            size = draw_below(&draw, size);
        } else {
            broken[draw_below(&draw, size)] = (uint8_t)draw_u64(&draw);
        }
        struct tri_actor *it;
        struct tr_bytes bytes = {broken, size};
        int error = tri_image_read(stage_worker(&stage, 0), actor.key, bytes, &it);
        if (error == 0) {
            tri_actor_free(stage_worker(&stage, 0), it);
        } else {
            refused++;
        }
        assert_int_equal(stage_actor_count(&stage), 0);
        assert_int_equal(stage_worker(&stage, 0)->edge_slab.live_count, 0);
        assert_int_equal(stage_worker(&stage, 0)->wheel.count, 0);
    }
    assert_true(refused > 5000);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_image_brings_everything_back),
        cmocka_unit_test(test_an_image_is_what_its_schema_says),
        cmocka_unit_test(test_an_older_state_is_read),
        cmocka_unit_test(test_an_unknown_behaviour_is_refused),
        cmocka_unit_test(test_garbage_is_refused),
    };
    return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
