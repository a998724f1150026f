/*
 * Passing the turn among threads: the one that has it posts the semaphore of the next one and waits
 * for its own.
 *
 * Only the thread with the turn runs, so all that they share (the line, the blob store, the service
 * itself) needs no lock: posting and waiting order what one wrote before what the next one reads.
 *
 * A thread is in one of these states: it has the turn; it is parked within long work (its lane's
 * `parked`); it is idle (in the list `idle`). Exactly one has the turn, from the start to the end.
 * A semaphore holds the turn while it is on its way, so it does not matter whether the next thread
 * waits for it already.
 *
 * Threads are made when a long piece of work meets other work, up to TR_FILES_HANDS_MAX; they are
 * kept. If there are so many, long work keeps the turn, and the others wait for it.
 */
#include "runtime/services/files_threads.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "runtime/blob/blob_limits.h"
#include "runtime/env/env.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

struct hand {
    struct tri_files_hands *hands;
    pthread_t thread;
    sem_t turn;
    struct tri_files_lane *lane; /* that it serves; NULL: none */
    uint64_t since_ns;           /* its turn */
    struct hand *next_idle;
};

struct tri_files_hands {
    struct tri_files_hands_options options;
    struct tri_files_line line;
    struct tr_turn turn;
    struct hand *current; /* the thread with the turn */
    struct hand *idle;
    struct hand all[TR_FILES_HANDS_MAX];
    uint32_t count;
    sem_t over; /* the last of them has seen to all others' ends */
};

static bool is_stopping(const struct tri_files_hands *hands)
{
    return atomic_load_explicit(hands->options.is_stopping, memory_order_acquire);
}

static void wait_for_turn(struct hand *hand)
{
    while (sem_wait(&hand->turn) != 0 && errno == EINTR) {
    }
    hand->hands->current = hand;
    hand->since_ns = tri_monotonic_ns(hand->hands->options.env);
}

/*
 * A thread without work gives the turn to one that has it, and is idle until it gets it back.
 *
 * It puts itself into the list before it posts: behind the post the list is the other thread's.
 */
static void hand_over(struct hand *hand, struct hand *to)
{
    hand->next_idle = hand->hands->idle;
    hand->hands->idle = hand;
    sem_post(&to->turn);
    wait_for_turn(hand);
}

/* ---- The end. ------------------------------------------------------------------------------- */

/*
 * One that has begun with something, or that is idle; what nobody has begun with is dropped. At the
 * end every thread must wake once, to see that it has to stop: parked ones within their work, whose
 * take_turn returns TR_CLOSED, idle ones in `serve`.
 */
static struct hand *take_any(struct tri_files_hands *hands)
{
    struct tri_files_lane *lane;
    while ((lane = tri_files_line_next(&hands->line)) != NULL) {
        struct hand *parked = lane->parked;
        lane->parked = NULL;
        if (parked != NULL) {
            return parked;
        }
        tri_files_line_drop(&hands->line, lane);
    }
    struct hand *idle = hands->idle;
    hands->idle = idle == NULL ? NULL : idle->next_idle;
    return idle;
}

/*
 * One after the other the threads end, each with its turn, so that nothing is shared at any moment.
 * The last one finds none and tells tri_files_hands_stop.
 */
static void end(struct tri_files_hands *hands)
{
    struct hand *next = take_any(hands);
    sem_post(next != NULL ? &next->turn : &hands->over);
}

/* ---- Work. ---------------------------------------------------------------------------------- */

/* One piece of work of the group whose turn it is. It may park this thread in between (take_turn)
 * and go on with a later turn. */
static void serve_lane(struct hand *hand, struct tri_files_lane *lane)
{
    struct tri_files_hands *hands = hand->hands;
    struct tri_files_work *work = tri_files_line_take(&hands->line, lane);
    hand->lane = lane;
    hand->since_ns = tri_monotonic_ns(hands->options.env);
    hands->options.work(hands->options.self, work);
    hand->lane = NULL;
    tr_free(work);
    tri_files_line_back(&hands->line, lane);
}

/* The thread with the turn: hears what came, and works on the lane that is next. A lane whose work
 * was parked gets the thread back that began it. */
static void serve(struct hand *hand)
{
    struct tri_files_hands *hands = hand->hands;
    while (!is_stopping(hands)) {
        /*
         * New calls are heard before each piece of work, so a new group gets its turn behind the
         * groups that wait, not behind all of their work.
         */
        hands->options.hear(hands->options.self, &hands->line);
        struct tri_files_lane *lane = tri_files_line_next(&hands->line);
        if (lane == NULL) {
            hands->options.wait(hands->options.self);
        } else if (lane->parked != NULL) {
            struct hand *parked = lane->parked;
            lane->parked = NULL;
            hand_over(hand, parked);
        } else {
            serve_lane(hand, lane);
        }
    }
    end(hands);
}

static void *hand_main(void *argument)
{
    struct hand *hand = argument;
    wait_for_turn(hand);
    serve(hand);
    return NULL;
}

/* The first thread opens what the work needs, so that a start does not wait for it. */
static void *first_main(void *argument)
{
    struct hand *hand = argument;
    struct tri_files_hands *hands = hand->hands;
    if (hands->options.open(hands->options.self) != 0) {
        sem_post(&hands->over);
        return NULL;
    }
    return hand_main(hand);
}

/* ---- Turns. --------------------------------------------------------------------------------- */

/* One more thread; NULL: there are as many as there may be. */
static struct hand *new_hand(struct tri_files_hands *hands, void *(*begin)(void *))
{
    if (hands->count == TR_FILES_HANDS_MAX) {
        return NULL;
    }
    struct hand *hand = &hands->all[hands->count];
    *hand = (struct hand){.hands = hands};
    if (sem_init(&hand->turn, 0, 0) != 0 || pthread_create(&hand->thread, NULL, begin, hand) != 0) {
        return NULL;
    }
    hands->count++;
    return hand;
}

static struct hand *take_idle(struct tri_files_hands *hands)
{
    struct hand *idle = hands->idle;
    if (idle == NULL) {
        return new_hand(hands, hand_main);
    }
    hands->idle = idle->next_idle;
    return idle;
}

/* Waits for the next turn, if another group waits for one and a thread can be had for it. */
static void park(struct hand *hand)
{
    struct tri_files_hands *hands = hand->hands;
    struct hand *other = hands->line.first == NULL ? NULL : take_idle(hands);
    if (other == NULL) {
        hand->since_ns = tri_monotonic_ns(hands->options.env);
        return;
    }
    /*
     * The lane goes to the end of the line with its thread in it. The thread that reaches it there
     * hands the turn to it, so the calls of one group never run at once.
     */
    hand->lane->parked = hand;
    tri_files_line_back(&hands->line, hand->lane);
    sem_post(&other->turn);
    wait_for_turn(hand);
}

/* Called from within long work, by the thread that has the turn: after TR_FILES_TURN_MS others go
 * first. TR_CLOSED ends the work. */
static int take_turn(void *self)
{
    struct tri_files_hands *hands = self;
    struct hand *hand = hands->current;
    uint64_t passed_ns = tri_monotonic_ns(hands->options.env) - hand->since_ns;
    if (hand->lane != NULL && passed_ns >= TR_FILES_TURN_MS * 1000000ULL && !is_stopping(hands)) {
        hands->options.hear(hands->options.self, &hands->line);
        park(hand);
    }
    return is_stopping(hands) ? TR_CLOSED : 0;
}

const struct tr_turn *tri_files_hands_turn(const struct tri_files_hands *hands)
{
    return &hands->turn;
}

size_t tri_files_hands_waiting(const struct tri_files_hands *hands)
{
    return atomic_load_explicit(&hands->line.count, memory_order_relaxed);
}

/* ---- Start and stop. ------------------------------------------------------------------------ */

int tri_files_hands_start(const struct tri_files_hands_options *options,
                          struct tri_files_hands **out)
{
    struct tri_files_hands *hands = tr_alloc_zero(1, sizeof *hands);
    if (hands == NULL) {
        return TR_MEMORY;
    }
    hands->options = *options;
    hands->turn = (struct tr_turn){.take = take_turn, .self = hands};
    *out = hands; /* for the first one's work */
    struct hand *first = sem_init(&hands->over, 0, 0) != 0 ? NULL : new_hand(hands, first_main);
    if (first == NULL) {
        /* Freeing may change errno, and the caller tells it to the person. */
        int number = errno;
        tr_free(hands);
        *out = NULL;
        errno = number;
        return TR_SYSTEM;
    }
    sem_post(&first->turn);
    return 0;
}

void tri_files_hands_stop(struct tri_files_hands *hands)
{
    if (hands == NULL) {
        return;
    }
    while (sem_wait(&hands->over) != 0 && errno == EINTR) {
    }
    for (uint32_t i = 0; i < hands->count; i++) {
        pthread_join(hands->all[i].thread, NULL);
        sem_destroy(&hands->all[i].turn);
    }
    sem_destroy(&hands->over);
    tri_files_line_fini(&hands->line);
    tr_free(hands);
}
