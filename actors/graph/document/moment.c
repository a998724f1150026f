/*
 * Moments of days by the calendar (zone.h) and of clocks. GLib's own moments have microseconds,
 * ours nanoseconds; so fractions are read here, as decimal digits, never through floating point.
 *
 * The scan functions read from the left. scan_one_of passes over nothing where it gives false;
 * behind any other false the whole text is refused, so it does not matter how far the reading has
 * come. Texts have no closing zero, so each step asks for the end first.
 *
 * Datetimes and durations treat small digits differently: RFC 3339 sets no bound to them, so those
 * below a nanosecond are dropped; a duration that is no whole number of nanoseconds is refused,
 * because a person wrote it and meant it.
 */
#include "actors/graph/document/moment.h"

#include <stdio.h>

#include "actors/graph/document/zone.h"

#define NS_PER_SECOND 1000000000LL
#define SECONDS_PER_DAY 86400

/* Text that is read from the left. */
struct scan {
    const char *at;
    const char *end;
};

static bool scan_digits(struct scan *scan, unsigned count, unsigned *value)
{
    unsigned number = 0;
    for (unsigned i = 0; i < count; i++) {
        if (scan->at == scan->end || *scan->at < '0' || *scan->at > '9') {
            return false;
        }
        number = number * 10 + (unsigned)(*scan->at++ - '0');
    }
    *value = number;
    return true;
}

/*
 * Passes over one of some characters. strchr finds the closing zero of its list, too, so a zero
 * byte in the text is asked for apart.
 */
static bool scan_one_of(struct scan *scan, const char *characters)
{
    if (scan->at == scan->end || *scan->at == '\0' || strchr(characters, *scan->at) == NULL) {
        return false;
    }
    scan->at++;
    return true;
}

static bool scan_date(struct scan *scan, int64_t *days)
{
    unsigned year;
    unsigned month;
    unsigned day;
    if (!scan_digits(scan, 4, &year) || !scan_one_of(scan, "-") || !scan_digits(scan, 2, &month) ||
        !scan_one_of(scan, "-") || !scan_digits(scan, 2, &day)) {
        return false;
    }
    return tr_days_from_date(year, month, day, days);
}

/* Up to nine digits count; RFC 3339 sets no bound, so more are read and dropped. */
static bool scan_fraction(struct scan *scan, uint32_t *nanoseconds)
{
    *nanoseconds = 0;
    if (!scan_one_of(scan, ".")) {
        return true;
    }
    uint32_t scale = 100000000;
    const char *begin = scan->at;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++) {
        *nanoseconds += (uint32_t)(*scan->at - '0') * scale;
        scale /= 10;
    }
    return scan->at > begin;
}

static bool scan_clock(struct scan *scan, int64_t *seconds, uint32_t *nanoseconds)
{
    unsigned hour;
    unsigned minute;
    unsigned second;
    if (!scan_digits(scan, 2, &hour) || !scan_one_of(scan, ":") || !scan_digits(scan, 2, &minute) ||
        !scan_one_of(scan, ":") || !scan_digits(scan, 2, &second) ||
        !scan_fraction(scan, nanoseconds)) {
        return false;
    }
    *seconds = (int64_t)hour * 3600 + minute * 60 + second;
    /* A leap second is the first of the next minute, as POSIX counts it. */
    return hour < 24 && minute < 60 && second <= 60;
}

/*
 * `Z` or +hh:mm: how far the clock that was read is ahead of UTC. One of them is required behind a
 * clock, since a local time without its zone is no moment.
 */
static bool scan_zone(struct scan *scan, int64_t *seconds)
{
    *seconds = 0;
    if (scan_one_of(scan, "Zz")) {
        return true;
    }
    bool is_east = scan->at < scan->end && *scan->at == '+';
    unsigned hours;
    unsigned minutes;
    if (!scan_one_of(scan, "+-") || !scan_digits(scan, 2, &hours) || !scan_one_of(scan, ":") ||
        !scan_digits(scan, 2, &minutes) || hours > 23 || minutes > 59) {
        return false;
    }
    *seconds = ((int64_t)hours * 3600 + (int64_t)minutes * 60) * (is_east ? 1 : -1);
    return true;
}

bool tr_moment_parse(struct tr_text text, struct tr_moment *moment)
{
    struct scan scan = {.at = text.data, .end = text.data + text.size};
    int64_t days;
    int64_t clock = 0;
    int64_t zone = 0;
    uint32_t nanoseconds = 0;
    if (!scan_date(&scan, &days)) {
        return false;
    }
    if (scan.at < scan.end &&
        (!scan_one_of(&scan, "Tt ") || !scan_clock(&scan, &clock, &nanoseconds) ||
         !scan_zone(&scan, &zone))) {
        return false;
    }
    /*
     * The zone may carry the moment out of the years 1 to 9999, which is what the second check is
     * for; the terms are far from the bounds of 64 bits.
     */
    int64_t seconds = days * SECONDS_PER_DAY + clock - zone;
    if (scan.at != scan.end || seconds < TR_MOMENT_SECONDS_MIN || seconds > TR_MOMENT_SECONDS_MAX) {
        return false;
    }
    *moment = (struct tr_moment){.seconds = seconds, .nanoseconds = nanoseconds};
    return true;
}

/* A fraction of nine digits without its closing zeros; nothing for zero. */
static void print_fraction(uint32_t nanoseconds, struct tr_buffer *buffer)
{
    if (nanoseconds == 0) {
        return;
    }
    unsigned width = 9;
    for (; nanoseconds % 10 == 0; nanoseconds /= 10) {
        width--;
    }
    tr_buffer_print(buffer, ".%0*u", (int)width, nanoseconds);
}

void tr_moment_print(struct tr_moment moment, struct tr_buffer *buffer)
{
    int64_t days = moment.seconds / SECONDS_PER_DAY;
    int64_t clock = moment.seconds % SECONDS_PER_DAY;
    if (clock < 0) {
        clock += SECONDS_PER_DAY;
        days--;
    }
    unsigned year;
    unsigned month;
    unsigned day;
    tr_date_from_days(days, &year, &month, &day);
    tr_buffer_print(buffer, "%04u-%02u-%02uT%02d:%02d:%02d", year, month, day, (int)(clock / 3600),
                    (int)(clock / 60 % 60), (int)(clock % 60));
    print_fraction(moment.nanoseconds, buffer);
    tr_buffer_add_string(buffer, "Z");
}

int tr_moment_compare(struct tr_moment a, struct tr_moment b)
{
    if (a.seconds != b.seconds) {
        return a.seconds < b.seconds ? -1 : 1;
    }
    return (a.nanoseconds > b.nanoseconds) - (a.nanoseconds < b.nanoseconds);
}

/* The units of a duration; where one begins like another, the longer comes first. */
struct unit {
    const char *name;
    int64_t nanoseconds;
};

static const struct unit units[] = {
    {"d", SECONDS_PER_DAY *NS_PER_SECOND},
    {"h", 3600 * NS_PER_SECOND},
    {"ms", 1000000},
    {"us", 1000},
    {"m", 60 * NS_PER_SECOND},
    {"s", NS_PER_SECOND},
};

static const struct unit *scan_unit(struct scan *scan)
{
    for (size_t i = 0; i < TR_COUNT_OF(units); i++) {
        size_t size = strlen(units[i].name);
        if ((size_t)(scan->end - scan->at) >= size && memcmp(scan->at, units[i].name, size) == 0) {
            scan->at += size;
            return &units[i];
        }
    }
    return NULL;
}

/*
 * The digits behind a point, as parts of a unit; what is below a nanosecond is refused. `scale` is
 * the worth of a digit's left neighbour, and exact as long as it can be divided by ten. Behind that
 * only zeros may follow: no unit's rest (864, 36, 6 or 1, divided further) comes to a multiple of
 * ten again, except to 0, which the second condition refuses.
 */
static bool fraction_of(const char *digits, size_t count, int64_t unit, int64_t *nanoseconds)
{
    int64_t sum = 0;
    int64_t scale = unit;
    for (size_t i = 0; i < count; i++) {
        int64_t digit = digits[i] - '0';
        if (digit != 0 && (scale % 10 != 0 || scale < 10)) {
            return false;
        }
        scale /= 10;
        sum += digit * scale;
    }
    *nanoseconds = sum;
    return true;
}

/*
 * One number with its unit, such as 1.5s. There have to be digits before the point and behind it;
 * no sign, exponent or blank. False also where it does not fit into 64 bits.
 */
static bool scan_part(struct scan *scan, int64_t *nanoseconds)
{
    int64_t whole = 0;
    const char *begin = scan->at;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++) {
        if (__builtin_mul_overflow(whole, (int64_t)10, &whole) ||
            __builtin_add_overflow(whole, (int64_t)(*scan->at - '0'), &whole)) {
            return false;
        }
    }
    size_t whole_digits = (size_t)(scan->at - begin);
    const char *digits = scan->at;
    size_t count = 0;
    if (scan_one_of(scan, ".")) {
        for (digits = scan->at; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9';
             scan->at++) {
            count++;
        }
        whole_digits = count == 0 ? 0 : whole_digits;
    }
    const struct unit *unit = whole_digits == 0 ? NULL : scan_unit(scan);
    int64_t fraction;
    return unit != NULL && fraction_of(digits, count, unit->nanoseconds, &fraction) &&
           !__builtin_mul_overflow(whole, unit->nanoseconds, &whole) &&
           !__builtin_add_overflow(whole, fraction, nanoseconds);
}

bool tr_duration_parse(struct tr_text text, int64_t *nanoseconds)
{
    struct scan scan = {.at = text.data, .end = text.data + text.size};
    bool is_negative = scan_one_of(&scan, "-");
    int64_t sum = 0;
    if (scan.at == scan.end) {
        return false;
    }
    /*
     * Units may come in any order and repeatedly; the sum counts. The sign is that of the whole, so
     * the smallest 64-bit number cannot be written.
     */
    while (scan.at < scan.end) {
        int64_t part;
        if (!scan_part(&scan, &part) || __builtin_add_overflow(sum, part, &sum)) {
            return false;
        }
    }
    *nanoseconds = is_negative ? -sum : sum;
    return true;
}

void tr_duration_print(int64_t nanoseconds, struct tr_buffer *buffer)
{
    /* The negation is done on unsigned numbers, since that of INT64_MIN does not fit. */
    uint64_t left = nanoseconds < 0 ? 0 - (uint64_t)nanoseconds : (uint64_t)nanoseconds;
    if (left == 0) {
        tr_buffer_add_string(buffer, "0s");
        return;
    }
    tr_buffer_add_string(buffer, nanoseconds < 0 ? "-" : "");
    static const struct unit whole_units[] = {
        {"d", SECONDS_PER_DAY * NS_PER_SECOND},
        {"h", 3600 * NS_PER_SECOND},
        {"m", 60 * NS_PER_SECOND},
    };
    for (size_t i = 0; i < TR_COUNT_OF(whole_units); i++) {
        uint64_t unit = (uint64_t)whole_units[i].nanoseconds;
        if (left >= unit) {
            tr_buffer_print(buffer, "%llu%s", (unsigned long long)(left / unit),
                            whole_units[i].name);
            left %= unit;
        }
    }
    if (left >= NS_PER_SECOND) {
        tr_buffer_print(buffer, "%llu", (unsigned long long)(left / NS_PER_SECOND));
        print_fraction((uint32_t)(left % NS_PER_SECOND), buffer);
        tr_buffer_add_string(buffer, "s");
    } else if (left >= 1000000) {
        tr_buffer_print(buffer, "%llu", (unsigned long long)(left / 1000000));
        print_fraction((uint32_t)(left % 1000000) * 1000, buffer);
        tr_buffer_add_string(buffer, "ms");
    } else if (left > 0) {
        tr_buffer_print(buffer, "%llu", (unsigned long long)(left / 1000));
        print_fraction((uint32_t)(left % 1000) * 1000000, buffer);
        tr_buffer_add_string(buffer, "us");
    }
}
