/*
 * When the plans of a timetable fire: by a clock of their own, which runs faster than that of the
 * hosts where plans have cron expressions, and begins shortly before the clocks of a time zone
 * change. Cron is worked out once more here, minute by minute (support/cron_reference.py does it
 * so).
 */
#ifndef TR_TESTS_SIM_TIMES_H
#define TR_TESTS_SIM_TIMES_H

#include "actors/graph/compiled/graph.h"
#include "actors/graph/document/zone.h"
#include "tests/sim/world.h"

struct sim_times {
    const char *zone_name;
    struct tr_zone *zone;
    uint64_t pace;    /* seconds in one second of the hosts */
    int64_t ahead_ms; /* of the hosts' clocks, when those show SIM_WALL_BEGIN_MS */
};

/*
 * Whether time zones are read: files of the real world. Else all plans are in UTC, which is for a
 * process that may open none.
 */
extern bool sim_times_reads_zones;

/* A clock like the hosts', in UTC; or one with `pace`, near a change of some zone's clocks. */
void sim_times_init(struct sim_times *times, uint64_t pace, struct sim_random *random);
void sim_times_fini(struct sim_times *times);

/* What the clock shows when a host's shows this. */
uint64_t sim_times_ms(const struct sim_times *times, uint64_t host_ms);

/* Whether the zone's clocks have changed between two times. */
bool sim_times_changed(const struct sim_times *times, int64_t first, int64_t last);

/* The first time after `after` at which a schedule fires. */
int64_t sim_times_next(const struct sim_times *times, const struct tr_schedule *schedule,
                       int64_t after);

#endif
