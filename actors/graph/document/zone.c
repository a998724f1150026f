/*
 * Time zones by GLib, the only file that knows it.
 *
 * GLib says which interval of a zone a time lies in, but not when an interval ends. That is found
 * by halving: first steps that no two changes fit into, then within the step that has one.
 */
#include "actors/graph/document/zone.h"

#include <glib.h>
#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* Changes of a zone's clocks are further apart: the nearest ones, of Ramadan, are a month. */
#define STEP_SECONDS (10LL * 86400)

#define NAME_BYTES_MAX 255
#define DATABASE_FOLDER "/usr/share/zoneinfo"
#define NAMES_FILE "tzdata.zi"

struct tr_zone {
    GTimeZone *zone;
};

static const char *database_folder(void)
{
    const char *folder = g_getenv("TZDIR");
    return folder != NULL ? folder : DATABASE_FOLDER;
}

/* GLib takes rules such as CET-1CEST, too, which are no names: those have a file. */
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
