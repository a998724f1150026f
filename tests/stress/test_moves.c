/*
 * Moves with real threads and a store: askers and answerers are moved while questions, timers and
 * children are under way. Each question gets exactly one answer, each asker ends with its count,
 * and nothing is left when all have ended.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/memory.h"
#include "runtime/troupe.h"
#include "tests/support/draw.h"
#include "tests/support/folder.h"
#include "tests/support/store_bind.h"
#include "tests/support/test.h"

#define ASKERS 8
#define ANSWERERS 4
#define QUESTIONS 150
#define MOVES 250
#define WORKERS 3
#define PATIENCE_MS 60000

#define TR_RIDDLE_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
#define TR_SOLUTION_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
#define TR_BEGIN_FIELDS(FIELD, ARRAY)
#define TR_ASKER_FIELDS(FIELD, ARRAY) \
    FIELD(ref, answerer, 1, 0)        \
    FIELD(u64, asked, 1, 0)           \
    FIELD(u64, downs, 1, 0)           \
    FIELD(u64, timers, 1, 0)
#define TR_ANSWERER_FIELDS(FIELD, ARRAY) FIELD(u64, answered, 1, 0)

#define MOVES_SCHEMAS(S)                                              \
    S(riddle, 62200, TR_MESSAGE, 1, TR_DURABLE, TR_RIDDLE_FIELDS)     \
    S(solution, 62201, TR_MESSAGE, 1, TR_DURABLE, TR_SOLUTION_FIELDS) \
    S(begin, 62202, TR_MESSAGE, 1, TR_DURABLE, TR_BEGIN_FIELDS)       \
    S(asker, 62200, TR_STATE, 1, 0, TR_ASKER_FIELDS)                  \
    S(answerer, 62201, TR_STATE, 1, 0, TR_ANSWERER_FIELDS)

MOVES_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
MOVES_SCHEMAS(TR_SCHEMA_DEFINE)

#define TRY(call)           \
    do {                    \
        int error = (call); \
        if (error != 0) {   \
            return error;   \
        }                   \
    } while (false)

/* Answers a riddle and, spawned as a child, ends when it is told to begin. */
static int answerer_handle(struct tr_context *context, void *state,
                           const struct tr_message *message)
{
    struct tr_answerer *answerer = state;
    struct tr_riddle riddle;
    if (tr_message_is(message, &tr_begin_schema)) {
        return tr_stop(context);
    }
    if (!tr_message_is(message, &tr_riddle_schema)) {
        return tr_unexpected(context, message);
    }
    TRY(tr_message_read(message, riddle, &riddle));
    answerer->answered++;
    struct tr_solution solution = {.number = riddle.number + 1};
    return tr_reply(context, message, &tr_solution_schema, &solution);
}

static const struct tr_behaviour answerer_behaviour = {
    .name = "answerer", .id = 62201, .state = &tr_answerer_schema, .handle = answerer_handle};

/* A question, a timer and a child that ends at once: all three must come back. */
static int ask_next(struct tr_context *context, struct tr_asker *asker)
{
    struct tr_spawn_options options = {.is_watched = true};
    struct tr_riddle riddle = {.number = asker->asked * 2};
    struct tr_ref child;
    TRY(tr_ask(context, asker->answerer, &tr_riddle_schema, &riddle, PATIENCE_MS, NULL));
    TRY(tr_spawn(context, &answerer_behaviour, &options, &child));
    TRY(tr_tell(context, child, &tr_begin_schema, &(struct tr_begin){}));
    return tr_timer_start(context, asker->asked, 1);
}

static int go_on(struct tr_context *context, struct tr_asker *asker)
{
    bool is_complete = asker->asked == asker->downs && asker->asked == asker->timers;
    if (!is_complete) {
        return 0;
    }
    return asker->asked == QUESTIONS ? tr_stop(context) : ask_next(context, asker);
}

static int on_solution(struct tr_context *context, struct tr_asker *asker,
                       const struct tr_message *message)
{
    struct tr_solution solution;
    TRY(tr_message_read(message, solution, &solution));
    if (solution.number != asker->asked++ * 2 + 1) {
        return TR_FAILED;
    }
    return go_on(context, asker);
}

static int asker_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_asker *asker = state;
    if (tr_message_is(message, &tr_solution_schema)) {
        return on_solution(context, asker, message);
    }
    if (tr_message_is(message, &tr_down_schema)) {
        asker->downs++;
        return go_on(context, asker);
    }
    if (tr_message_is(message, &tr_timer_schema)) {
        asker->timers++;
        return go_on(context, asker);
    }
    return tr_message_is(message, &tr_begin_schema) ? ask_next(context, asker) : TR_FAILED;
}

static const struct tr_behaviour asker_behaviour = {
    .name = "asker", .id = 62200, .state = &tr_asker_schema, .handle = asker_handle};

struct company {
    struct tr_host *host;
    struct tr_ref askers[ASKERS];
    struct tr_ref answerers[ANSWERERS];
};

static void start(struct company *company, const char *folder)
{
    static const struct tr_behaviour *const behaviours[] = {&asker_behaviour, &answerer_behaviour};
    struct tr_host_options options = {
        .worker_count = WORKERS,
        .durability = folder == NULL ? TR_DURABILITY_NONE : TR_DURABILITY_PROCESS,
        .folder = folder,
        .behaviours = behaviours,
        .behaviour_count = TR_COUNT_OF(behaviours),
    };
    assert_int_equal(tr_host_new(&options, NULL, &company->host), 0);
    assert_int_equal(tr_host_start(company->host), 0);
    for (size_t i = 0; i < ANSWERERS; i++) {
        assert_int_equal(
            tr_host_spawn(company->host, &answerer_behaviour, NULL, &company->answerers[i]), 0);
    }
    for (size_t i = 0; i < ASKERS; i++) {
        struct tr_asker first = {.answerer = company->answerers[i % ANSWERERS]};
        struct tr_spawn_options wish = {.state = &first, .is_watched = true};
        struct tr_ref *asker = &company->askers[i];
        assert_int_equal(tr_host_spawn(company->host, &asker_behaviour, &wish, asker), 0);
        struct tr_begin begin = {};
        assert_int_equal(tr_host_tell(company->host, *asker, &tr_begin_schema, &begin), 0);
    }
}

static void move_at_random(const struct company *company)
{
    struct draw draw = {17};
    int moved = 0;
    for (int i = 0; i < MOVES; i++) {
        size_t place = draw_below(&draw, ASKERS + ANSWERERS);
        struct tr_ref actor =
            place < ASKERS ? company->askers[place] : company->answerers[place - ASKERS];
        int error = tr_host_move(company->host, actor, (uint32_t)draw_below(&draw, WORKERS));
        assert_true(error == 0 || error == TR_NO_ACTOR);
        moved += error == 0 ? 1 : 0;
    }
    assert_true(moved > 20);
}

static void expect_ends(const struct company *company)
{
    for (size_t i = 0; i < ASKERS; i++) {
        int reason = TR_INVALID;
        assert_int_equal(tr_host_wait(company->host, company->askers[i], PATIENCE_MS, &reason), 0);
        assert_int_equal(reason, 0);
    }
    struct tr_metric metrics[TR_METRICS_MAX];
    size_t count = 0;
    assert_int_equal(tr_host_metrics(company->host, metrics, &count), 0);
    for (size_t i = 0; i < count; i++) {
        struct tr_text name = tr_text_of(metrics[i].name);
        if (tr_text_equal(name, tr_text_of("dead_letters")) ||
            tr_text_equal(name, tr_text_of("handler_failures"))) {
            assert_int_equal(metrics[i].value, 0);
        }
    }
}

static void play(const char *folder)
{
    struct company company;
    uint64_t before = tr_memory_used();
    start(&company, folder);
    move_at_random(&company);
    expect_ends(&company);
    tr_host_free(company.host);
    assert_int_equal(tr_memory_used(), before);
}

static void test_moves_without_a_store(void **state)
{
    (void)state;
    play(NULL);
}

static void test_moves_with_a_store(void **state)
{
    (void)state;
    char folder[] = "/tmp/troupe-moves-XXXXXX";
    assert_non_null(mkdtemp(folder));
    store_bind(folder, NULL, 0);
    play(folder);
    assert_int_equal(folder_remove(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves_without_a_store),
        cmocka_unit_test(test_moves_with_a_store),
    };
    return cmocka_run_group_tests_name("moves", tests, NULL, NULL);
}
