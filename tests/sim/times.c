/*
 * The clock of a timetable, and cron by a walk over all minutes.
 */
#include "tests/sim/times.h"

#include "schemas/codec/error.h"

#define MINUTE 60
#define HOUR 3600

/* How far back clocks are looked at, so that a minute they show again is known. */
#define BACK_MINUTES 180

/* Until a change of clocks; a year has two where there are any. */
#define CHANGE_WITHIN (400LL * 24 * HOUR)

static const char *const zones[] = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                    "America/St_Johns", "Asia/Kolkata"};

bool sim_times_reads_zones = true;

void sim_times_init(struct sim_times *times, uint64_t pace, struct sim_random *random)
{
    int64_t begin = (int64_t)(SIM_WALL_BEGIN_MS / 1000);
    uint64_t zone = sim_below(random, TR_COUNT_OF(zones));
    bool has_change = sim_below(random, 2) == 0; /* the second one */
    int64_t before = (int64_t)sim_below(random, 100 * MINUTE);
    bool has_zone = pace > 1 && sim_times_reads_zones;
    *times = (struct sim_times){.zone_name = has_zone ? zones[zone] : "UTC", .pace = pace};
    int error = tr_zone_open(tr_text_of(times->zone_name), &times->zone);
    TR_ASSERT(error == 0);
    int64_t change = has_zone ? tr_zone_change(times->zone, begin, begin + CHANGE_WITHIN) : begin;
    if (has_zone && has_change) {
        change = tr_zone_change(times->zone, change, change + CHANGE_WITHIN);
    }
    times->ahead_ms = has_zone ? (change - before - begin) * 1000 : 0;
}

void sim_times_fini(struct sim_times *times)
{
    tr_zone_close(times->zone);
}

uint64_t sim_times_ms(const struct sim_times *times, uint64_t host_ms)
{
    int64_t since_ms = (int64_t)host_ms - (int64_t)SIM_WALL_BEGIN_MS;
    int64_t shown_ms =
        (int64_t)SIM_WALL_BEGIN_MS + times->ahead_ms + since_ms * (int64_t)times->pace;
    return (uint64_t)shown_ms;
}

bool sim_times_changed(const struct sim_times *times, int64_t first, int64_t last)
{
    return tr_zone_ahead(times->zone, first) != tr_zone_ahead(times->zone, last);
}

/* ----------------------------------------------------------------------------------------- cron */

/* What the zone's clocks show, in minutes. */
static int64_t local(const struct sim_times *times, int64_t minute)
{
    return minute + tr_zone_ahead(times->zone, minute * MINUTE) / MINUTE;
}

/* Whether minute and hour are those of an expression that takes every day. */
static bool has(const struct tr_cron *cron, int64_t clock)
{
    return (cron->minutes >> (clock % 60) & 1) != 0 &&
           ((uint64_t)cron->hours >> (clock / 60 % 24) & 1) != 0;
}

/* Whether it fires at a minute; `reached` is the latest that clocks have shown before. */
static bool fires(const struct sim_times *times, const struct tr_cron *cron, int64_t minute,
                  int64_t reached)
{
    int64_t now = local(times, minute);
    bool is_hourly = cron->hours == (1U << 24) - 1;
    bool fires = has(cron, now) && (is_hourly || now > reached);
    for (int64_t skipped = reached + 1; !is_hourly && skipped < now; skipped++) {
        fires = fires || has(cron, skipped);
    }
    return fires;
}

int64_t sim_times_next(const struct sim_times *times, const struct tr_schedule *schedule,
                       int64_t after)
{
    int64_t every = schedule->every_ns / 1000000000;
    if (every > 0) {
        return (after / every + 1) * every;
    }
    int64_t minute = after / MINUTE + 1;
    int64_t reached = 0;
    for (int64_t back = minute - BACK_MINUTES; back < minute; back++) {
        int64_t shown = local(times, back);
        reached = shown > reached ? shown : reached;
    }
    while (!fires(times, &schedule->cron, minute, reached)) {
        int64_t shown = local(times, minute++);
        reached = shown > reached ? shown : reached;
    }
    return minute * MINUTE;
}
