/*
 * The balancer helps: actors with real work, all spawned on one worker, end sooner when idle
 * workers may take some of them; and nobody's work is lost or done twice on the way.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "runtime/troupe.h"
#include "tests/support/test.h"

#define CHILDREN 60
#define TASKS_EACH 10
#define TASK_NS 1000000

#define TR_CHORE_FIELDS(FIELD, ARRAY) FIELD(u64, left, 1, 0)
#define TR_CREW_FIELDS(FIELD, ARRAY) \
    FIELD(u64, children, 1, 0)       \
    FIELD(u64, done, 1, 0)
#define TR_HAND_FIELDS(FIELD, ARRAY) FIELD(u64, handled, 1, 0)

#define TR_BALANCE_SCHEMAS(S)                                    \
    S(chore, 62001, TR_MESSAGE, 1, TR_PRIORITY, TR_CHORE_FIELDS) \
    S(crew, 62002, TR_STATE, 1, 0, TR_CREW_FIELDS)               \
    S(hand, 62003, TR_STATE, 1, 0, TR_HAND_FIELDS)

TR_BALANCE_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_BALANCE_SCHEMAS(TR_SCHEMA_DEFINE)

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Works for a while on each message, and sends itself the next one. */
static int hand_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_hand *hand = state;
    struct tr_chore chore;
    int error = tr_message_read(message, chore, &chore);
    uint64_t begin = now_ns();
    while (now_ns() - begin < TASK_NS) {
    }
    hand->handled++;
    if (error != 0 || --chore.left > 0) {
        return error != 0 ? error : tr_tell(context, tr_self(context), &tr_chore_schema, &chore);
    }
    error = tr_tell(context, tr_parent(context), &tr_chore_schema,
                    &(struct tr_chore){.left = hand->handled});
    return error != 0 ? error : tr_stop(context);
}

static const struct tr_behaviour hand_behaviour = {
    .name = "hand", .id = 2002, .state = &tr_hand_schema, .handle = hand_handle};

static int begin_work(struct tr_context *context, struct tr_crew *crew)
{
    while (crew->children < CHILDREN) {
        struct tr_ref child;
        int error = tr_spawn(context, &hand_behaviour, NULL, &child);
        if (error == 0) {
            error = tr_tell(context, child, &tr_chore_schema, &(struct tr_chore){TASKS_EACH});
        }
        if (error != 0) {
            return error;
        }
        crew->children++;
    }
    return 0;
}

/* Stops when every child has said that it did all of its work, no more and no less. */
static int crew_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_crew *crew = state;
    struct tr_chore chore;
    int error = tr_message_read(message, chore, &chore);
    if (error != 0 || crew->children == 0) {
        return error != 0 ? error : begin_work(context, crew);
    }
    if (chore.left != TASKS_EACH) {
        return TR_INVALID;
    }
    return ++crew->done == CHILDREN ? tr_stop(context) : 0;
}

static const struct tr_behaviour crew_behaviour = {
    .name = "crew", .id = 2001, .state = &tr_crew_schema, .handle = crew_handle};

/* How long the crew takes, in milliseconds. */
static uint64_t work(bool is_balanced)
{
    static const struct tr_behaviour *const behaviours[] = {&crew_behaviour, &hand_behaviour};
    struct tr_host_options options = {
        .worker_count = 2,
        .behaviours = behaviours,
        .behaviour_count = TR_COUNT_OF(behaviours),
        .is_balanced = is_balanced,
    };
    struct tr_host *host;
    struct tr_ref crew;
    int reason = TR_INVALID;
    assert_int_equal(tr_host_new(&options, NULL, &host), 0);
    assert_int_equal(tr_host_start(host), 0);
    assert_int_equal(tr_host_spawn(host, &crew_behaviour, NULL, &crew), 0);
    uint64_t begin = now_ns();
    assert_int_equal(tr_host_tell(host, crew, &tr_chore_schema, &(struct tr_chore){1}), 0);
    assert_int_equal(tr_host_wait(host, crew, 60000, &reason), 0);
    uint64_t elapsed_ms = (now_ns() - begin) / 1000000;
    assert_int_equal(reason, 0);
    tr_host_free(host);
    return elapsed_ms;
}

static void test_balancing_helps(void **state)
{
    (void)state;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || TEST_SLOWNESS > 1) {
        /* One core cannot do two things at once, and a sanitizer's time says nothing. */
        (void)work(true);
        return;
    }
    /* The machine may be busy: one good turn of three is enough to show that it helps. */
    for (int turn = 0; turn < 3; turn++) {
        uint64_t alone_ms = work(false);
        uint64_t shared_ms = work(true);
        print_message("on one worker %llu ms, balanced %llu ms\n", (unsigned long long)alone_ms,
                      (unsigned long long)shared_ms);
        if (shared_ms * 10 < alone_ms * 9) {
            return;
        }
    }
    fail_msg("the balancer did not help");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_balancing_helps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
