/*
 * A queue of work: its order, its bounds, its rest and its end.
 */
#include "deploy/common/work_queue.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

#define COUNT 1000

struct piece {
    struct tr_work work;
    size_t number;
    bool was_stopping;
};

/* What the threads do is noted here. */
struct notes {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t done;
    size_t numbers[COUNT];
    size_t most_at_once;
    size_t rests;
    bool is_held; /* the thread waits at its work */
};

static void do_work(void *self, struct tr_work_list *taken, bool is_stopping)
{
    struct notes *notes = self;
    pthread_mutex_lock(&notes->mutex);
    notes->most_at_once = taken->count > notes->most_at_once ? taken->count : notes->most_at_once;
    (void)pthread_cond_broadcast(&notes->changed);
    while (notes->is_held) {
        pthread_cond_wait(&notes->changed, &notes->mutex);
    }
    struct tr_work *work;
    while ((work = tr_work_list_take(taken)) != NULL) {
        struct piece *piece = (struct piece *)work;
        piece->was_stopping = is_stopping;
        notes->numbers[notes->done++] = piece->number;
    }
    (void)pthread_cond_broadcast(&notes->changed);
    pthread_mutex_unlock(&notes->mutex);
}

static void rest(void *self)
{
    struct notes *notes = self;
    pthread_mutex_lock(&notes->mutex);
    notes->rests++;
    (void)pthread_cond_broadcast(&notes->changed);
    pthread_mutex_unlock(&notes->mutex);
}

static void let_go(struct notes *notes)
{
    pthread_mutex_lock(&notes->mutex);
    notes->is_held = false;
    (void)pthread_cond_broadcast(&notes->changed);
    pthread_mutex_unlock(&notes->mutex);
}

static void wait_until(struct notes *notes, const size_t *figure, size_t least)
{
    pthread_mutex_lock(&notes->mutex);
    while (*figure < least) {
        pthread_cond_wait(&notes->changed, &notes->mutex);
    }
    pthread_mutex_unlock(&notes->mutex);
}

static struct notes none(bool is_held)
{
    return (struct notes){.mutex = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER,
                          .is_held = is_held};
}

static void test_one_thread_keeps_the_order(void **state)
{
    (void)state;
    static struct piece pieces[COUNT];
    struct notes notes = none(false);
    struct tr_work_queue queue;
    tr_work_queue_init(&queue, &(struct tr_work_options){.do_work = do_work, .taken_max = 7});
    assert_int_equal(tr_work_queue_begin(&queue, &notes), 0);
    for (size_t i = 0; i < COUNT; i++) {
        pieces[i].number = i;
        assert_int_equal(tr_work_queue_add(&queue, &pieces[i].work), TR_WORK_TAKEN);
    }
    wait_until(&notes, &notes.done, COUNT);
    tr_work_queue_stop(&queue);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(notes.numbers[i], i);
    }
    assert_in_range(notes.most_at_once, 1, 7);
    tr_work_queue_fini(&queue);
}

static void test_all_is_done_once_by_several(void **state)
{
    (void)state;
    static struct piece pieces[COUNT];
    bool seen[COUNT] = {false};
    struct notes notes = none(false);
    struct tr_work_queue queue;
    tr_work_queue_init(&queue, &(struct tr_work_options){.do_work = do_work});
    for (size_t i = 0; i < TR_WORK_THREADS_MAX; i++) {
        assert_int_equal(tr_work_queue_begin(&queue, &notes), 0);
    }
    assert_int_equal(tr_work_queue_begin(&queue, &notes), TR_LIMIT);
    for (size_t i = 0; i < COUNT; i++) {
        pieces[i].number = i;
        assert_int_equal(tr_work_queue_add(&queue, &pieces[i].work), TR_WORK_TAKEN);
    }
    tr_work_queue_stop(&queue);
    assert_int_equal(notes.done, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_false(seen[notes.numbers[i]]);
        seen[notes.numbers[i]] = true;
    }
    tr_work_queue_fini(&queue);
}

static void test_what_is_too_much_or_too_late_is_refused(void **state)
{
    (void)state;
    struct piece pieces[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    struct notes notes = none(false);
    struct tr_work_queue queue;
    tr_work_queue_init(&queue, &(struct tr_work_options){.do_work = do_work, .waiting_max = 2});
    assert_int_equal(tr_work_queue_add(&queue, &pieces[0].work), TR_WORK_TAKEN);
    assert_int_equal(tr_work_queue_add(&queue, &pieces[1].work), TR_WORK_TAKEN);
    assert_int_equal(tr_work_queue_add(&queue, &pieces[2].work), TR_WORK_FULL);
    assert_int_equal(tr_work_queue_begin(&queue, &notes), 0);
    tr_work_queue_stop(&queue);
    tr_work_queue_stop(&queue);
    assert_int_equal(notes.done, 2);
    assert_int_equal(tr_work_queue_add(&queue, &pieces[3].work), TR_WORK_STOPPING);
    tr_work_queue_fini(&queue);
}

/* What waits at a stop is done, and knows of it. */
static void *stop(void *queue)
{
    tr_work_queue_stop(queue);
    return NULL;
}

static void test_what_waits_at_the_end_is_told(void **state)
{
    (void)state;
    struct piece pieces[2] = {{.number = 0}, {.number = 1}};
    struct piece late = {.number = 2};
    struct notes notes = none(true);
    struct tr_work_queue queue;
    pthread_t stopper;
    tr_work_queue_init(&queue, &(struct tr_work_options){.do_work = do_work});
    assert_int_equal(tr_work_queue_begin(&queue, &notes), 0);
    assert_int_equal(tr_work_queue_add(&queue, &pieces[0].work), TR_WORK_TAKEN);
    wait_until(&notes, &notes.most_at_once, 1);
    assert_int_equal(tr_work_queue_add(&queue, &pieces[1].work), TR_WORK_TAKEN);
    assert_int_equal(pthread_create(&stopper, NULL, stop, &queue), 0);
    bool is_stopping = false;
    while (!is_stopping) {
        pthread_mutex_lock(&queue.mutex);
        is_stopping = queue.is_stopping;
        pthread_mutex_unlock(&queue.mutex);
    }
    assert_int_equal(tr_work_queue_add(&queue, &late.work), TR_WORK_STOPPING);
    let_go(&notes);
    assert_int_equal(pthread_join(stopper, NULL), 0);
    assert_int_equal(notes.done, 2);
    assert_false(pieces[0].was_stopping);
    assert_true(pieces[1].was_stopping);
    tr_work_queue_fini(&queue);
}

static void test_it_rests_once_after_each_work(void **state)
{
    (void)state;
    struct piece piece = {.number = 0};
    struct notes notes = none(false);
    struct tr_work_queue queue;
    tr_work_queue_init(&queue,
                       &(struct tr_work_options){.do_work = do_work, .rest = rest, .rest_ms = 1});
    assert_int_equal(tr_work_queue_begin(&queue, &notes), 0);
    wait_until(&notes, &notes.rests, 1);
    assert_int_equal(tr_work_queue_add(&queue, &piece.work), TR_WORK_TAKEN);
    wait_until(&notes, &notes.rests, 2);
    tr_work_queue_stop(&queue);
    assert_int_equal(notes.rests, 2);
    assert_int_equal(notes.done, 1);
    tr_work_queue_fini(&queue);
}

/* Notes how nice the thread is. */
static void note_nice(void *self, struct tr_work_list *taken, bool is_stopping)
{
    (void)is_stopping;
    (void)tr_work_list_take(taken);
    *(int *)self = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
}

static void test_who_yields_is_nicer_than_all_others(void **state)
{
    (void)state;
    int own = getpriority(PRIO_PROCESS, 0);
    for (int yields = 0; yields < 2; yields++) {
        int nice = -100;
        struct piece piece = {.number = 0};
        struct tr_work_queue queue;
        tr_work_queue_init(&queue,
                           &(struct tr_work_options){.do_work = note_nice, .yields = yields != 0});
        assert_int_equal(tr_work_queue_begin(&queue, &nice), 0);
        assert_int_equal(tr_work_queue_add(&queue, &piece.work), TR_WORK_TAKEN);
        tr_work_queue_stop(&queue);
        int most = 19 - own < TR_WORK_NICER ? 19 - own : TR_WORK_NICER;
        assert_int_equal(nice - own, yields == 0 ? 0 : most);
        assert_int_equal(getpriority(PRIO_PROCESS, 0), own);
        tr_work_queue_fini(&queue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_thread_keeps_the_order),
        cmocka_unit_test(test_all_is_done_once_by_several),
        cmocka_unit_test(test_what_is_too_much_or_too_late_is_refused),
        cmocka_unit_test(test_what_waits_at_the_end_is_told),
        cmocka_unit_test(test_it_rests_once_after_each_work),
        cmocka_unit_test(test_who_yields_is_nicer_than_all_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
