/*
 * Cron expressions as crontab(5) has them: minute, hour, day of the month, month, day of the week;
 * lists, ranges, steps, names of months and days, and the words @hourly, @daily, ... They become
 * sets of bits, one bit for each value, so that asking whether a time fires is a test of five bits
 * (compiled/schedule_time.c).
 *
 *     field  item ( "," item )*
 *     item   ( "*" | "?" | value [ "-" value ] ) [ "/" step ]
 *
 * Fields are parted by blanks; there is no field of seconds and none of years. A shorthand is
 * replaced by its five fields before anything is read.
 */
#include "actors/graph/language/definition.h"

struct field {
    const char *name;
    unsigned least;
    unsigned most;
    const char *words; /* three letters each, the first standing for `least` */
};

static const struct field fields[] = {
    {"minute", 0, 59, ""},
    {"hour", 0, 23, ""},
    {"day of the month", 1, 31, ""},
    {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    {"day of the week", 0, 7, "sunmontuewedthufrisat"},
};

#define FIELD_COUNT 5

struct shorthand {
    const char *word;
    const char *text;
};

static const struct shorthand shorthands[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

struct scan {
    const char *at;
    const char *end;
};

/* The name of a month or a day, three letters in any case. */
static bool scan_word(struct scan *scan, const struct field *field, unsigned *value)
{
    size_t size = strlen(field->words);
    for (size_t i = 0; i + 3 <= size && scan->end - scan->at >= 3; i += 3) {
        bool is_equal = true;
        for (size_t k = 0; k < 3; k++) {
            is_equal = is_equal && (scan->at[k] | 0x20) == field->words[i + k];
        }
        if (is_equal) {
            scan->at += 3;
            *value = field->least + (unsigned)(i / 3);
            return true;
        }
    }
    return false;
}

/*
 * Stops at 1,000 and more, so the number cannot overflow. No field reaches that, and the digits
 * left over fail what is scanned next.
 */
static bool scan_number(struct scan *scan, unsigned *value)
{
    const char *begin = scan->at;
    unsigned number = 0;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9' && number < 1000;
         scan->at++) {
        number = number * 10 + (unsigned)(*scan->at - '0');
    }
    *value = number;
    return scan->at > begin;
}

static bool scan_value(struct scan *scan, const struct field *field, unsigned *value)
{
    return (scan_word(scan, field, value) || scan_number(scan, value)) && *value >= field->least &&
           *value <= field->most;
}

static bool scan_sign(struct scan *scan, char sign)
{
    if (scan->at == scan->end || *scan->at != sign) {
        return false;
    }
    scan->at++;
    return true;
}

/*
 * One item of a list: a star, a value or a range, each with a step or without. A single value with
 * a step goes on to the end of the field (5/15 is 5, 20, 35, 50). A range never wraps around:
 * fri-mon is refused.
 */
static bool scan_item(struct scan *scan, const struct field *field, uint64_t *bits)
{
    unsigned first = field->least;
    unsigned last = field->most;
    bool is_single = false;
    if (!scan_sign(scan, '*') && !scan_sign(scan, '?')) {
        if (!scan_value(scan, field, &first)) {
            return false;
        }
        is_single = !scan_sign(scan, '-');
        last = first;
        if (!is_single && (!scan_value(scan, field, &last) || last < first)) {
            return false;
        }
    }
    unsigned step = 1;
    if (scan_sign(scan, '/')) {
        if (!scan_number(scan, &step) || step == 0) {
            return false;
        }
        last = is_single ? field->most : last;
    }
    for (unsigned value = first; value <= last; value += step) {
        *bits |= 1ULL << value;
    }
    return true;
}

/*
 * `is_any` looks at the first character alone, as Vixie's cron does: a field that begins with a
 * star, with a step or not, does not count as restricted when days and weekdays are combined.
 */
static bool scan_field(struct scan *scan, const struct field *field, uint64_t *bits, bool *is_any)
{
    *is_any = scan->at < scan->end && (*scan->at == '*' || *scan->at == '?');
    *bits = 0;
    do {
        if (!scan_item(scan, field, bits)) {
            return false;
        }
    } while (scan_sign(scan, ','));
    return scan->at == scan->end || *scan->at == ' ';
}

static struct tr_text expand(struct tr_text text)
{
    for (size_t i = 0; i < TR_COUNT_OF(shorthands); i++) {
        if (tr_text_equal(text, tr_text_of(shorthands[i].word))) {
            return tr_text_of(shorthands[i].text);
        }
    }
    return text;
}

/*
 * Whether there is such a date: the 31st of February never comes. February has 29 days here. Where
 * both the day and the weekday are restricted either is enough, so the weekday alone makes it come.
 */
static bool comes(const struct tr_cron *cron)
{
    static const uint8_t days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (unsigned month = 1; month <= 12; month++) {
        uint32_t possible = (uint32_t)((2ULL << days[month - 1]) - 2);
        if ((cron->months >> month & 1) != 0 && (cron->days & possible) != 0) {
            return true;
        }
    }
    return !cron->is_any_weekday;
}

bool tri_cron_parse(struct tr_text text, struct tr_cron *cron, const char **problem)
{
    uint64_t bits[FIELD_COUNT];
    bool is_any[FIELD_COUNT];
    text = expand(text);
    struct scan scan = {.at = text.data, .end = text.data + text.size};
    *problem = "this is no cron expression";
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        while (scan.at < scan.end && *scan.at == ' ') {
            scan.at++;
        }
        if (!scan_field(&scan, &fields[i], &bits[i], &is_any[i])) {
            *problem = fields[i].name;
            return false;
        }
    }
    while (scan.at < scan.end && *scan.at == ' ') {
        scan.at++;
    }
    if (scan.at != scan.end) {
        *problem = "sixth field";
        return false;
    }
    struct tr_cron read = {
        .minutes = bits[0],
        .hours = (uint32_t)bits[1],
        .days = (uint32_t)bits[2],
        .months = (uint16_t)bits[3],
        /* Sunday is 0 and 7: bit 7 is folded onto bit 0. */
        .weekdays = (uint8_t)((bits[4] | bits[4] >> 7) & 0x7f),
        .is_any_day = is_any[2],
        .is_any_weekday = is_any[4],
    };
    if (!comes(&read)) {
        *problem = "date, which never comes";
        return false;
    }
    *cron = read;
    return true;
}
