/*
 * The calendar and time zones by GLib, the only file that knows it.
 *
 * GLib says which interval of a zone a time lies in, but not when an interval ends. That is found
 * by halving: first steps that no two changes fit into, then within the step that has one. A search
 * over a year takes about 37 steps and 20 halvings, each a search of GLib's in its table.
 *
 * A GTimeZone does not change once it is made, so a zone may be read by any thread.
 */
#include "actors/graph/document/zone.h"

#include <glib.h>
#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"

/*
 * Changes of a zone's clocks are further apart: the nearest ones, of Ramadan, are a month. Two
 * within one step would cancel each other, and both would be missed.
 */
#define STEP_SECONDS (10LL * 86400)

/* GLib counts days from 0001-01-01, which is day 1. */
#define DAY_OF_1970 719163
#define DAY_MAX 3652059 /* 9999-12-31 */
#define YEAR_MAX 9999

#define NAME_BYTES_MAX 255
#define DATABASE_FOLDER "/usr/share/zoneinfo"
#define NAMES_FILE "tzdata.zi"

struct tr_zone {
    GTimeZone *zone;
};

bool tr_days_from_date(unsigned year, unsigned month, unsigned day, int64_t *days)
{
    GDate date;
    if (year > YEAR_MAX || month > 12 || day > 31 ||
        !g_date_valid_dmy((GDateDay)day, (GDateMonth)month, (GDateYear)year)) {
        return false;
    }
    g_date_clear(&date, 1);
    g_date_set_dmy(&date, (GDateDay)day, (GDateMonth)month, (GDateYear)year);
    *days = (int64_t)g_date_get_julian(&date) - DAY_OF_1970;
    return true;
}

void tr_date_from_days(int64_t days, unsigned *year, unsigned *month, unsigned *day)
{
    GDate date;
    days = CLAMP(days, 1 - DAY_OF_1970, DAY_MAX - DAY_OF_1970);
    g_date_clear(&date, 1);
    g_date_set_julian(&date, (guint32)(days + DAY_OF_1970));
    *year = g_date_get_year(&date);
    *month = g_date_get_month(&date);
    *day = g_date_get_day(&date);
}

unsigned tr_days_of_month(unsigned year, unsigned month)
{
    return g_date_get_days_in_month((GDateMonth)month, (GDateYear)year);
}

static const char *database_folder(void)
{
    const char *folder = g_getenv("TZDIR");
    return folder != NULL ? folder : DATABASE_FOLDER;
}

/*
 * Whether a name is one of the database, which has a file for each. GLib itself takes rules such as
 * CET-1CEST, too, which are no names.
 */
static bool is_in_database(const char *name)
{
    char *path = g_build_filename(database_folder(), name, NULL);
    bool is_there = g_file_test(path, G_FILE_TEST_IS_REGULAR);
    g_free(path);
    return is_there;
}

int tr_zone_open(struct tr_text text, struct tr_zone **out)
{
    char name[NAME_BYTES_MAX + 1];
    if (text.size == 0 || text.size > NAME_BYTES_MAX || memchr(text.data, '\0', text.size)) {
        return TR_NOT_FOUND;
    }
    memcpy(name, text.data, text.size);
    name[text.size] = '\0';
    /*
     * UTC needs no database, so that schedules without a zone work where there is no tzdata. `..`
     * is refused because the name becomes a part of a path.
     */
    bool is_utc = strcmp(name, "UTC") == 0;
    if (!is_utc && (strstr(name, "..") != NULL || !is_in_database(name))) {
        return TR_NOT_FOUND;
    }
    struct tr_zone *zone = tr_alloc_zero(1, sizeof *zone);
    if (zone == NULL) {
        return TR_MEMORY;
    }
    zone->zone = is_utc ? g_time_zone_new_utc() : g_time_zone_new_identifier(name);
    if (zone->zone == NULL) {
        tr_free(zone);
        return TR_NOT_FOUND; /* a file that is no zone's */
    }
    *out = zone;
    return 0;
}

void tr_zone_close(struct tr_zone *zone)
{
    if (zone != NULL) {
        g_time_zone_unref(zone->zone);
        tr_free(zone);
    }
}

int64_t tr_zone_ahead(const struct tr_zone *zone, int64_t at)
{
    int interval = g_time_zone_find_interval(zone->zone, G_TIME_TYPE_UNIVERSAL, at);
    return interval < 0 ? 0 : g_time_zone_get_offset(zone->zone, interval);
}

/*
 * `same` is the latest time known to have the offset of `at`, and `other` a later one: equal to it
 * while no change was found, and with another offset afterwards. Halving keeps both true until they
 * are neighbours, so `other` is the first second of the new offset. A change that keeps the offset
 * (of a name, or of summer time alone) is none here.
 */
int64_t tr_zone_change(const struct tr_zone *zone, int64_t at, int64_t until)
{
    int64_t ahead = tr_zone_ahead(zone, at);
    int64_t same = at;
    int64_t other = at;
    while (other == same) {
        if (same >= until) {
            return until + 1;
        }
        other = until - same > STEP_SECONDS ? same + STEP_SECONDS : until;
        same = tr_zone_ahead(zone, other) == ahead ? other : same;
    }
    while (other - same > 1) {
        int64_t middle = same + (other - same) / 2;
        bool is_same = tr_zone_ahead(zone, middle) == ahead;
        same = is_same ? middle : same;
        other = is_same ? other : middle;
    }
    return other;
}

/* A line of the database's source: "Z NAME ..." is a zone, "L OTHER NAME" another name of one. */
static bool read_name(char *line, struct tr_text *name)
{
    bool is_zone = g_str_has_prefix(line, "Z ");
    char *end;
    if (!is_zone && !g_str_has_prefix(line, "L ")) {
        return false;
    }
    char *begin = is_zone ? line + 2 : strchr(line + 2, ' ');
    if (begin == NULL) {
        return false;
    }
    begin += is_zone ? 0 : 1;
    end = begin + strcspn(begin, " ");
    *name = (struct tr_text){.data = begin, .size = (size_t)(end - begin)};
    return true;
}

/* Without the file there are no names, which is no error: they only serve suggestions. */
int tr_zone_visit_names(int (*visit)(void *self, struct tr_text name), void *self)
{
    char *path = g_build_filename(database_folder(), NAMES_FILE, NULL);
    char *text = NULL;
    int error = 0;
    if (g_file_get_contents(path, &text, NULL, NULL)) {
        char **lines = g_strsplit(text, "\n", -1);
        for (size_t i = 0; error == 0 && lines[i] != NULL; i++) {
            struct tr_text name;
            error = read_name(lines[i], &name) ? visit(self, name) : 0;
        }
        g_strfreev(lines);
    }
    g_free(text);
    g_free(path);
    return error;
}
