/*
 * The calendar, and time zones: how far the clocks of a place are ahead of UTC, and when that
 * changes.
 *
 * GLib reads the system's time zone database (package tzdata; TZDIR names another folder), anew for
 * each zone that is opened, so that an update of it counts at once. What the database says of the
 * years beyond its tables is GLib's matter; it knows all changes up to 2037.
 */
#ifndef TR_ACTORS_GRAPH_DOCUMENT_ZONE_H
#define TR_ACTORS_GRAPH_DOCUMENT_ZONE_H

#include "schemas/codec/base.h"

/* The days from 1970-01-01 to a date of the years 1 to 9999; false: there is no such date. */
bool tr_days_from_date(unsigned year, unsigned month, unsigned day, int64_t *days);

/* The way back; a day before year 1 or after 9999 gives the first or the last date of these. */
void tr_date_from_days(int64_t days, unsigned *year, unsigned *month, unsigned *day);
unsigned tr_days_of_month(unsigned year, unsigned month);

struct tr_zone;

/*
 * Opens a zone by its IANA name, such as Europe/Berlin; UTC is always there. From any thread; it
 * reads files. TR_NOT_FOUND: the database has no such zone; TR_MEMORY.
 */
TR_MUST_USE int tr_zone_open(struct tr_text name, struct tr_zone **zone);

/* Gives it back; NULL is fine. */
void tr_zone_close(struct tr_zone *zone);

/* The seconds that the zone's clocks are ahead of UTC at a time in seconds since 1970. */
int64_t tr_zone_ahead(const struct tr_zone *zone, int64_t at);

/* The first time after `at`, and up to `until`, from which that is another; `until` + 1: none. */
int64_t tr_zone_change(const struct tr_zone *zone, int64_t at, int64_t until);

/* Gives all names that the database has, old ones too, to `visit`, whose error ends it. */
TR_MUST_USE int tr_zone_visit_names(int (*visit)(void *self, struct tr_text name), void *self);

#endif
