/*
 * Firing times by walking through the stretches in which a zone's clocks are equally far ahead of
 * UTC. Within one the clocks run straight on, so that the next match is plain arithmetic on dates;
 * months, days and hours that do not match are passed over whole.
 *
 * Two scales are used. Times (`after`, `begin`, `time`, `change`) are seconds since 1970 in UTC;
 * what the clocks show (`from`, `match`, `reached`) counts seconds since the clocks' own 1970.
 * Their difference within a stretch is `ahead`.
 */
#include "actors/graph/compiled/schedule_time.h"

#include <stdio.h>

#include "actors/graph/document/moment.h"

#define SECONDS_PER_MINUTE 60
#define SECONDS_PER_DAY 86400
#define MINUTES_PER_HOUR 60
#define HOURS_PER_DAY 24
#define NS_PER_SECOND 1000000000LL

/* A 29 February that is a Sunday comes every 28 years, and around 2100 after 40. */
#define HORIZON_SECONDS (60LL * 366 * SECONDS_PER_DAY)

#define EVERY_HOUR 0xffffffU

/* Rounds down, also before 1970, where C rounds towards zero. */
static int64_t floor_divide(int64_t number, int64_t divisor)
{
    return number / divisor - (number % divisor < 0 ? 1 : 0);
}

/* ------------------------------------------------------------------ cron, by the clocks */

/*
 * Crontab's rule: where both the day of the month and the weekday are restricted, either is enough;
 * where one begins with a star, both have to match. 1 January 1970 was a Thursday, hence the 4;
 * the second remainder makes days before 1970 positive.
 */
static bool matches_day(const struct tr_cron *cron, unsigned day, int64_t days)
{
    bool is_day = (cron->days >> day & 1) != 0;
    unsigned weekday = (unsigned)(((days + 4) % 7 + 7) % 7);
    bool is_weekday = (cron->weekdays >> weekday & 1) != 0;
    return cron->is_any_day || cron->is_any_weekday ? is_day && is_weekday : is_day || is_weekday;
}

/* The first minute of a day from `minute` on; false when the day has no more. */
static bool next_minute(const struct tr_cron *cron, unsigned minute, unsigned *match)
{
    unsigned skipped = minute % MINUTES_PER_HOUR;
    for (unsigned hour = minute / MINUTES_PER_HOUR; hour < HOURS_PER_DAY; hour++) {
        /* Shifting there and back clears the minutes that are over, in the first hour only. */
        uint64_t left = cron->minutes >> skipped << skipped;
        if ((cron->hours >> hour & 1) != 0 && left != 0) {
            *match = hour * MINUTES_PER_HOUR + (unsigned)__builtin_ctzll(left);
            return true;
        }
        skipped = 0;
    }
    return false;
}

/*
 * The first match in [from, until], both seconds of the zone's clocks since their 1970; it begins a
 * minute. Costs a step for each day of a month that matches, and one for each month that does not.
 */
static bool next_match(const struct tr_cron *cron, int64_t from, int64_t until, int64_t *match)
{
    int64_t minutes = floor_divide(from + SECONDS_PER_MINUTE - 1, SECONDS_PER_MINUTE);
    int64_t days = floor_divide(minutes, HOURS_PER_DAY * MINUTES_PER_HOUR);
    unsigned minute = (unsigned)(minutes - days * HOURS_PER_DAY * MINUTES_PER_HOUR);
    for (; days * SECONDS_PER_DAY <= until; minute = 0) {
        unsigned year;
        unsigned month;
        unsigned day;
        tr_date_from_days(days, &year, &month, &day);
        if ((cron->months >> month & 1) == 0) {
            days += tr_days_of_month(year, month) - day + 1;
            continue;
        }
        if (matches_day(cron, day, days) && next_minute(cron, minute, &minute)) {
            *match = days * SECONDS_PER_DAY + (int64_t)minute * SECONDS_PER_MINUTE;
            return *match <= until;
        }
        days++;
    }
    return false;
}

/*
 * The first time after `after` by the clocks of the zone.
 *
 * `reached` is how far the clocks have come in the stretches before: what lies between it and where
 * a stretch begins was jumped over, and what a stretch shows below it is shown again. So a stretch
 * is searched from `reached` on: a match that was jumped over fires when the stretch begins, and
 * one that is shown again does not fire again. Schedules that fire in every hour leave this out and
 * take the clocks as they are.
 *
 * The walk begins a day early, because a change shortly before `after` decides what is shown again
 * behind it, and clocks are never changed by more than a day. Matches up to `after` itself are no
 * answer: in the stretch that holds `after` the search begins one second behind it.
 */
static bool next_by_cron(const struct tr_cron *cron, const struct tr_zone *zone, int64_t after,
                         int64_t *next)
{
    bool is_hourly = cron->hours == EVERY_HOUR;
    int64_t begin = after - SECONDS_PER_DAY;
    int64_t until = after + HORIZON_SECONDS;
    int64_t reached = begin + tr_zone_ahead(zone, begin);
    for (;;) {
        int64_t ahead = tr_zone_ahead(zone, begin);
        int64_t first = begin > after ? begin : after + 1;
        int64_t from = first + ahead;
        int64_t match;
        if (!is_hourly && (begin > after || from < reached)) {
            from = reached;
        }
        if (!next_match(cron, from, until + ahead, &match)) {
            return false;
        }
        /* A match before the stretch was jumped over and fires as the stretch begins. */
        int64_t time = match - ahead > first ? match - ahead : first;
        /*
         * The match holds only if the clocks run on until then. If not, the next stretch decides.
         */
        int64_t change = tr_zone_change(zone, begin, time);
        if (change > time) {
            *next = time;
            return true;
        }
        /*
         * What the old clocks would show at the change. The maximum, since after a jump back the
         * clocks of the next change may not have come as far as before.
         */
        reached = change + ahead > reached ? change + ahead : reached;
        begin = change;
    }
}

int tr_schedule_next(const struct tr_schedule *schedule, const struct tr_zone *zone, int64_t after,
                     int64_t *next)
{
    int64_t every = schedule->every_ns / NS_PER_SECOND;
    int64_t offset = schedule->offset_ns / NS_PER_SECOND;
    int64_t time;
    if (every != 0) {
        time = (floor_divide(after - offset, every) + 1) * every;
    } else if (!next_by_cron(&schedule->cron, zone, after - offset, &time)) {
        return TR_NOT_FOUND;
    }
    *next = time + offset;
    return 0;
}

/* ------------------------------------------------------------------ times that have come */

static int64_t next_or_never(const struct tr_schedule *schedule, const struct tr_zone *zone,
                             int64_t after)
{
    int64_t next;
    return tr_schedule_next(schedule, zone, after, &next) == 0 ? next : INT64_MAX;
}

/* How many times there are in [first, now]. */
static int64_t count_until(const struct tr_schedule *schedule, const struct tr_zone *zone,
                           int64_t first, int64_t now)
{
    int64_t count = 0;
    for (; first <= now; first = next_or_never(schedule, zone, first)) {
        count++;
    }
    return count;
}

/*
 * The first of the last `most` times in [time, now], found from the end, in ever longer looks. So
 * the cost goes with `most`, and not with how long the times were missed: a schedule of every
 * second that rested for a year has 31 million of them. A look is doubled until it holds enough
 * times or reaches back to `time`.
 */
static int64_t latest(const struct tr_schedule *schedule, const struct tr_zone *zone, int64_t time,
                      int64_t now, int64_t most)
{
    int64_t first;
    int64_t count = 0;
    int64_t look = SECONDS_PER_MINUTE;
    do {
        bool is_all = now - time <= look;
        first = is_all ? time : next_or_never(schedule, zone, now - look);
        count = count_until(schedule, zone, first, now);
        if (is_all) {
            break;
        }
        look *= 2;
    } while (count < most);
    for (; count > most; count--) {
        first = next_or_never(schedule, zone, first);
    }
    return first;
}

struct tr_schedule_due tr_schedule_due(const struct tr_schedule *schedule,
                                       const struct tr_zone *zone, int64_t time, int64_t now)
{
    bool was_missed = now - time > TR_SCHEDULE_LATE_SECONDS;
    struct tr_schedule_due due = {.fires = true, .fire = time};
    if (was_missed && schedule->catch_up == TR_CATCH_UP_NONE) {
        due.fires = false;
        due.leaves_out = true;
        due.next = next_or_never(schedule, zone, now);
        return due;
    }
    if (was_missed) {
        bool is_all = schedule->catch_up == TR_CATCH_UP_ALL;
        due.fire = latest(schedule, zone, time, now, is_all ? TR_SCHEDULE_CATCH_UP_MAX : 1);
        due.leaves_out = due.fire > time;
    }
    /*
     * From what fires on, not from now: with catch_up: all the next missed time has come already,
     * and is dealt with in its turn.
     */
    due.next = next_or_never(schedule, zone, due.fire);
    return due;
}

/* --------------------------------------------------------------------------------- names */

/*
 * As much of a name as is kept beside a hash of all of it. A name of an execution has at most 63
 * characters; the time's suffix always stays whole, so that two times never share one name.
 */
#define SUFFIX_BYTES (sizeof "-20260820t030000z" - 1)
#define PLAN_BYTES_MAX (TR_SCHEDULE_NAME_BYTES - 1 - SUFFIX_BYTES)
#define HASH_BYTES (sizeof "-0123abcd" - 1)

/* FNV-1a: names are no secrets. It is a part of names in the store, so it must not change. */
static uint32_t hash_of(struct tr_text text)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < text.size; i++) {
        hash = (hash ^ (uint8_t)text.data[i]) * 16777619U;
    }
    return hash;
}

void tr_schedule_name(struct tr_text plan, int64_t time, char name[TR_SCHEDULE_NAME_BYTES])
{
    char hash[HASH_BYTES + 1] = "";
    unsigned year;
    unsigned month;
    unsigned day;
    int64_t days = floor_divide(time, SECONDS_PER_DAY);
    int seconds = (int)(time - days * SECONDS_PER_DAY);
    size_t kept = plan.size;
    if (kept > PLAN_BYTES_MAX) {
        kept = PLAN_BYTES_MAX - HASH_BYTES;
        snprintf(hash, sizeof hash, "-%08x", hash_of(plan));
    }
    tr_date_from_days(days, &year, &month, &day);
    snprintf(name, TR_SCHEDULE_NAME_BYTES, "%.*s%s-%04u%02u%02ut%02d%02d%02dz", (int)kept,
             plan.data, hash, year, month, day, seconds / 3600, seconds / 60 % 60, seconds % 60);
}
