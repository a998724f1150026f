/*
 * Actor snapshots: what an actor takes along is all there on the other side; bytes that are not one
 * are refused, and nothing is left of them.
 */
#include "runtime/move/snapshot.h"
#include "tests/support/draw.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

#define NOTES 30
#define PAGES 5

static struct stage stage;

static int write_pages(struct tr_context *context, struct tr_fake_actor *fake,
                       const struct tr_act *act, const struct tr_message *message)
{
    (void)fake;
    (void)act;
    (void)message;
    for (uint32_t i = 0; i < PAGES; i++) {
        void *bytes;
        int error = tr_page_edit(context, i * 3, 100 + i, &bytes);
        if (error != 0) {
            return error;
        }
        memset(bytes, (int)i, 100 + i);
    }
    return 0;
}

/* An actor with pages and a full mailbox, every third message of which the journal has. */
static struct tr_ref loaded_actor(void)
{
    struct tr_ref actor = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    fake_actor_act(&stage, actor, write_pages, 0, actor);
    tri_actor_quarantine(stage_home(&stage, actor), stage_actor(&stage, actor));
    for (uint64_t i = 0; i < NOTES; i++) {
        fake_actor_note(&stage, actor, i);
    }
    stage_run(&stage);
    int count = 0;
    struct tri_message *message = stage_actor(&stage, actor)->mailbox_head;
    for (; message != NULL; message = message->next) {
        message->is_stored = count++ % 3 == 0;
    }
    return actor;
}

static void forget(struct tr_ref actor)
{
    struct tri_worker *worker = stage_home(&stage, actor);
    struct tri_actor *it = stage_actor(&stage, actor);
    while (it->mailbox_head != NULL) {
        tri_message_free(worker, tri_mailbox_pop(worker, it));
    }
    tri_actor_free(worker, it);
}

static struct tr_bytes pack(struct tr_ref actor, uint8_t **bytes)
{
    size_t size;
    assert_int_equal(
        tri_snapshot_pack(stage_home(&stage, actor), stage_actor(&stage, actor), bytes, &size), 0);
    return (struct tr_bytes){*bytes, size};
}

static void test_everything_is_there_on_the_other_side(void **state)
{
    (void)state;
    uint8_t *bytes;
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    struct tr_ref actor = loaded_actor();
    struct tr_bytes snapshot = pack(actor, &bytes);
    forget(actor);
    struct tri_actor *it;
    assert_int_equal(tri_snapshot_unpack(stage_worker(&stage, 1), actor.key, snapshot, &it), 0);
    tr_free(bytes);
    assert_true((it->flags & TRI_ACTOR_HELD) != 0);
    assert_int_equal(it->phase, TRI_QUARANTINED);
    for (uint32_t i = 0; i < PAGES; i++) {
        struct tr_bytes page = tri_page_bytes(it, i * 3);
        assert_int_equal(page.size, 100 + i);
        assert_int_equal(page.data[99], i);
    }
    assert_int_equal(it->mailbox_count, NOTES);
    uint64_t number = 0;
    for (struct tri_message *raw = it->mailbox_head; raw != NULL; raw = raw->next) {
        struct tr_message message = tri_message_view(raw);
        struct tr_note note;
        assert_int_equal(tr_message_read(&message, note, &note), 0);
        assert_int_equal(note.number, number);
        assert_int_equal(raw->is_stored, number++ % 3 == 0);
    }
    stage_close(&stage);
}

static void test_what_is_no_snapshot_is_refused(void **state)
{
    (void)state;
    uint8_t *sound;
    struct draw draw = {8};
    stage_open(&stage, &(struct stage_options){.worker_count = 1});
    struct tr_ref actor = loaded_actor();
    struct tr_bytes snapshot = pack(actor, &sound);
    forget(actor);
    uint8_t *broken = tr_alloc(snapshot.size);
    struct tri_worker *worker = stage_worker(&stage, 0);
    uint64_t memory = tr_memory_used();
    int refused = 0;
    for (int i = 0; i < 3000; i++) {
        size_t size = i % 2 == 0 ? draw_below(&draw, snapshot.size) : snapshot.size;
        memcpy(broken, sound, size);
        broken[draw_below(&draw, size + 1) % snapshot.size] = (uint8_t)draw_u64(&draw);
        struct tri_actor *it;
        int error = tri_snapshot_unpack(worker, actor.key, (struct tr_bytes){broken, size}, &it);
        if (error == 0) {
            forget(actor);
        } else {
            refused++;
        }
        assert_int_equal(stage_actor_count(&stage), 0);
        assert_int_equal(tr_memory_used(), memory);
    }
    assert_true(refused > 1500);
    tr_free(broken);
    tr_free(sound);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_there_on_the_other_side),
        cmocka_unit_test(test_what_is_no_snapshot_is_refused),
    };
    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
