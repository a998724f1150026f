/*
 * Tickers and witnesses: what must come once, not too early, and not after it was taken back.
 */
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

#define TIMERS_MAX 8

/* No timer comes so late: hosts are up again before, whatever people set their clocks to. */
#define LATE_NS (120 * 1000000000ULL)

struct tick {
    uint64_t due_ms; /* by the steady clock */
    uint64_t due_ns; /* by the world's */
    bool is_active;
};

struct ticking {
    uint32_t worked;
    struct tick timers[TIMERS_MAX];
};

static int change_timer(struct tr_context *context, struct ticking *ticking)
{
    uint64_t choice = tr_random(context);
    uint64_t id = choice % TIMERS_MAX;
    struct tick *timer = &ticking->timers[id];
    uint64_t now_ms = tr_steady_ms(context);
    uint64_t now_ns = sim_world()->now_ns;
    uint64_t delay_ms = choice / 64 % 16 == 0 ? choice / 1024 % 5000 : choice / 1024 % 40;
    switch (choice / 8 % 4) {
    case 0:
        timer->is_active = false;
        return tr_timer_stop(context, id);
    case 1:
        *timer = (struct tick){.due_ms = now_ms - delay_ms, .due_ns = now_ns, .is_active = true};
        return tr_timer_start_at(context, id, timer->due_ms);
    default:
        *timer = (struct tick){
            .due_ms = now_ms + delay_ms, .due_ns = now_ns + delay_ms * 1000000, .is_active = true};
        return tr_timer_start(context, id, delay_ms);
    }
}

static int hear_timer(struct tr_context *context, struct ticking *ticking,
                      const struct tr_message *message)
{
    struct tr_timer fired;
    int error = tr_message_read(message, timer, &fired);
    if (error != 0) {
        return error;
    }
    struct tick *timer = &ticking->timers[fired.id % TIMERS_MAX];
    uint64_t now_ms = tr_steady_ms(context);
    uint64_t now_ns = sim_world()->now_ns;
    if (fired.id >= TIMERS_MAX || !timer->is_active) {
        return sim_wrong(context, message, "timer %llu comes though it is not running",
                         (unsigned long long)fired.id);
    }
    if (sim_is_early(context, timer->due_ms)) {
        return sim_wrong(context, message, "timer %llu comes %llu ms early",
                         (unsigned long long)fired.id,
                         (unsigned long long)(timer->due_ms - now_ms));
    }
    if (now_ns > timer->due_ns + LATE_NS) {
        return sim_wrong(context, message, "timer %llu comes %llu s late",
                         (unsigned long long)fired.id,
                         (unsigned long long)((now_ns - timer->due_ns) / 1000000000));
    }
    timer->is_active = false;
    return 0;
}

SIM_PLAY(ticker)
{
    SIM_TABLE(struct ticking, ticking, state);
    int error = 0;
    if (sim_is_go(message) || tr_message_is(message, &tr_sim_cast_schema)) {
        ticking.worked++;
        error = change_timer(context, &ticking);
        if (error == 0 && ticking.worked < state->size) {
            error = sim_go_on(context);
        }
    } else if (sim_is_signal(message, &tr_timer_schema)) {
        error = hear_timer(context, &ticking, message);
    } else {
        return sim_wrong(context, message, "not for a ticker");
    }
    bool is_complete = ticking.worked >= state->size;
    for (uint32_t i = 0; i < TIMERS_MAX; i++) {
        is_complete = is_complete && !ticking.timers[i].is_active;
    }
    if (error == 0 && is_complete) {
        error = tr_stop(context);
    }
    SIM_KEEP(ticking, state);
    return error;
}

/* ------------------------------------------------------------------------------ the witness */

#define WATCHES_MAX 24

struct watch {
    struct tr_key key;
    uint64_t monitor; /* 0: heard or taken back */
};

struct witnessing {
    bool has_cast;
    uint32_t count;
    struct watch watches[WATCHES_MAX];
};

static int watch_all(struct tr_context *context, struct witnessing *witnessing,
                     const struct tr_message *message)
{
    struct tr_sim_cast cast;
    struct sim_refs refs;
    int error = sim_read_cast(message, &cast, &refs);
    for (uint32_t i = 0; error == 0 && i < refs.count; i++) {
        /* Monitors stack: some are watched twice. */
        uint32_t times = 1 + (uint32_t)(tr_random(context) % 3 == 0);
        while (error == 0 && times-- > 0 && witnessing->count < WATCHES_MAX) {
            struct watch *watch = &witnessing->watches[witnessing->count++];
            watch->key = refs.refs[i].key;
            error = tr_monitor(context, refs.refs[i], &watch->monitor);
        }
    }
    witnessing->has_cast = true;
    return error != 0 ? error : sim_go_on(context);
}

static int take_one_back(struct tr_context *context, struct witnessing *witnessing)
{
    struct watch *watch = &witnessing->watches[tr_random(context) % WATCHES_MAX];
    uint64_t monitor = watch->monitor;
    watch->monitor = 0;
    return monitor == 0 ? 0 : tr_demonitor(context, monitor);
}

static int hear_end(struct tr_context *context, struct witnessing *witnessing,
                    const struct tr_message *message)
{
    struct tr_down down;
    int error = sim_down(message, &down);
    if (error != 0) {
        return error;
    }
    for (uint32_t i = 0; i < witnessing->count; i++) {
        struct watch *watch = &witnessing->watches[i];
        if (down.monitor != 0 && watch->monitor == down.monitor) {
            watch->monitor = 0;
            if (!tr_key_equal(watch->key, down.actor.key)) {
                return sim_wrong(context, message, "the monitor of another actor");
            }
            return 0;
        }
    }
    return sim_wrong(context, message, "DOWN for no monitor");
}

SIM_PLAY(witness)
{
    SIM_TABLE(struct witnessing, witnessing, state);
    int error = 0;
    if (tr_message_is(message, &tr_sim_cast_schema)) {
        error = watch_all(context, &witnessing, message);
    } else if (sim_is_go(message)) {
        error = take_one_back(context, &witnessing);
    } else if (sim_is_signal(message, &tr_down_schema)) {
        error = hear_end(context, &witnessing, message);
    } else {
        return sim_wrong(context, message, "not for a witness");
    }
    bool is_complete = witnessing.has_cast;
    for (uint32_t i = 0; i < witnessing.count; i++) {
        is_complete = is_complete && witnessing.watches[i].monitor == 0;
    }
    if (error == 0 && is_complete) {
        error = tr_stop(context);
    }
    SIM_KEEP(witnessing, state);
    return error;
}
