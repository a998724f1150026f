/*
 * Parses filters from words. Each word is NAME=VALUE; the table at the end of this file has one row
 * for each name. A refusal names the word and what would be correct.
 *
 * Lists are separated by commas, a name may occur once, in any order. Parsing stops at the first
 * wrong word, since there is one text for the explanation. The caller's filter changes only if all
 * words are correct and the filter is valid.
 */
#include "runtime/trace/filter.h"
#include "schemas/codec/print_scalar.h"
#include "schemas/codec/sink.h"

/* The filter being parsed, and its explanation. */
struct parsing {
    struct tr_tap_filter filter;
    const struct tr_registry *registry;
    struct tr_sink sink;
    struct tr_text word;
};

/* Begins a refusal: the word in quotes, and a colon. */
static struct tr_sink *begin_refusal(struct parsing *parsing)
{
    static const size_t shown_bytes_max = 64;
    struct tr_text word = parsing->word;
    word.size = word.size < shown_bytes_max ? word.size : shown_bytes_max;
    tr_print_json_text(&parsing->sink, word);
    tr_sink_put_string(&parsing->sink, ": ");
    return &parsing->sink;
}

/*
 * Parses a number, decimal or 0x and hexadecimal; false if it is invalid or has too many bits.
 * Digits are lower case. The bound is checked before each step, so the value never wraps. strchr
 * would find a zero byte at the end of the digits, so that is excluded first.
 */
static bool read_number(struct tr_text text, uint64_t *number)
{
    bool is_hexadecimal = text.size > 2 && text.data[0] == '0' && text.data[1] == 'x';
    uint64_t base = is_hexadecimal ? 16 : 10;
    uint64_t value = 0;
    for (size_t i = is_hexadecimal ? 2 : 0; i < text.size; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = text.data[i] == '\0' ? NULL : strchr(digits, text.data[i]);
        uint64_t place = digit == NULL ? base : (uint64_t)(digit - digits);
        if (place >= base || value > (UINT64_MAX - place) / base) {
            return false;
        }
        value = value * base + place;
    }
    *number = value;
    return text.size > 0;
}

/* Parses a number from 1 to `max`: zero would be no condition. */
static int parse_number(struct parsing *parsing, struct tr_text value, uint64_t max,
                        uint64_t *number)
{
    if (!read_number(value, number) || *number == 0 || *number > max) {
        tr_sink_format(begin_refusal(parsing), "write a whole number from 1 to %llu",
                       (unsigned long long)max);
        return TR_INVALID;
    }
    return 0;
}

static int parse_u32(struct parsing *parsing, struct tr_text value, uint64_t max, uint32_t *out)
{
    uint64_t number;
    int error = parse_number(parsing, value, max, &number);
    if (error == 0) {
        *out = (uint32_t)number;
    }
    return error;
}

/*
 * Removes the next part up to a separator; false if none is left. A rest without data means that
 * nothing is left, in contrast to an empty part: "a," has two parts. For NAME=VALUE this
 * distinguishes a word without the separator from one with an empty value.
 */
static bool next_part(struct tr_text *rest, char separator, struct tr_text *part)
{
    if (rest->data == NULL) {
        return false;
    }
    const char *end = memchr(rest->data, separator, rest->size);
    size_t size = end == NULL ? rest->size : (size_t)(end - rest->data);
    *part = (struct tr_text){.data = rest->data, .size = size};
    *rest = end == NULL ? (struct tr_text){0}
                        : (struct tr_text){.data = end + 1, .size = rest->size - size - 1};
    return true;
}

static int parse_points(struct parsing *parsing, struct tr_text value)
{
    struct tr_text part;
    while (next_part(&value, ',', &part)) {
        uint8_t point = tr_tap_point_find(part);
        /* LOST reports missing events and cannot be requested: here it means "no such name". */
        if (point == TR_TAP_LOST) {
            struct tr_sink *sink = begin_refusal(parsing);
            tr_sink_put_string(sink, "a point is one of");
#define TRI_NAME(name, number, text) tr_sink_put_string(sink, " " text);
            TR_TAP_POINTS(TRI_NAME)
#undef TRI_NAME
            return TR_INVALID;
        }
        parsing->filter.points |= 1U << point;
    }
    return 0;
}

/* Finds the type of a message by its name or its number. */
static int find_type(struct parsing *parsing, struct tr_text name, uint16_t *type)
{
    uint64_t number;
    if (read_number(name, &number)) {
        *type = (uint16_t)number;
        return number > 0 && number <= UINT16_MAX ? 0 : TR_INVALID;
    }
    const struct tr_schema *schema =
        parsing->registry == NULL ? NULL : tr_registry_find_name(parsing->registry, name);
    if (schema == NULL || schema->role != TR_MESSAGE) {
        return TR_NOT_FOUND;
    }
    *type = schema->id;
    return 0;
}

static int parse_types(struct parsing *parsing, struct tr_text value)
{
    struct tr_tap_filter *filter = &parsing->filter;
    struct tr_text part;
    while (next_part(&value, ',', &part)) {
        uint16_t type = 0;
        int error = find_type(parsing, part, &type);
        if (error == 0 && filter->type_count == TR_TAP_TYPES_MAX) {
            tr_sink_format(begin_refusal(parsing), "at most %d types", TR_TAP_TYPES_MAX);
            return TR_INVALID;
        }
        if (error != 0) {
            struct tr_sink *sink = begin_refusal(parsing);
            tr_sink_put_string(sink, error == TR_NOT_FOUND
                                         ? "no message has this name"
                                         : "the number of a type is from 1 to 65535");
            return error;
        }
        filter->types[filter->type_count++] = type;
    }
    return 0;
}

static int parse_address(struct parsing *parsing, struct tr_text value)
{
    bool is_usual = value.size > 0 && (value.data[0] == '/' || value.data[0] == '*');
    if (value.size > TR_TAP_GLOB_BYTES_MAX) {
        tr_sink_format(begin_refusal(parsing), "at most %d bytes", TR_TAP_GLOB_BYTES_MAX);
        return TR_INVALID;
    }
    if (!is_usual || !tr_utf8_valid(value) || memchr(value.data, '\0', value.size) != NULL) {
        tr_sink_put_string(begin_refusal(parsing),
                           "write a pattern such as /orders/worker[*] or /orders/**");
        return TR_INVALID;
    }
    memcpy(parsing->filter.address, value.data, value.size);
    return 0;
}

/* Also that of a host, by its number: 0 if it is alone. Serial 0 is no actor. */
static int parse_key(struct parsing *parsing, struct tr_text value)
{
    struct tr_text group = {0};
    struct tr_key key = {0};
    bool is_key = next_part(&value, '/', &group) && read_number(group, &key.group) &&
                  read_number(value, &key.serial) && key.serial != 0;
    if (!is_key) {
        tr_sink_put_string(begin_refusal(parsing), "write GROUP/SERIAL, such as key=7/12");
        return TR_INVALID;
    }
    parsing->filter.key = key;
    return 0;
}

static int parse_trace(struct parsing *parsing, struct tr_text value)
{
    return parse_number(parsing, value, UINT64_MAX, &parsing->filter.trace);
}

static int parse_sample(struct parsing *parsing, struct tr_text value)
{
    return parse_u32(parsing, value, UINT32_MAX, &parsing->filter.sample);
}

static int parse_limit(struct parsing *parsing, struct tr_text value)
{
    return parse_number(parsing, value, TR_TAP_EVENTS_MAX, &parsing->filter.limit);
}

static int parse_rate(struct parsing *parsing, struct tr_text value)
{
    return parse_u32(parsing, value, UINT32_MAX, &parsing->filter.rate);
}

static int parse_payload(struct parsing *parsing, struct tr_text value)
{
    return parse_u32(parsing, value, TR_TAP_PAYLOAD_BYTES_MAX, &parsing->filter.payload_bytes);
}

static int parse_seconds(struct parsing *parsing, struct tr_text value)
{
    return parse_u32(parsing, value, TR_TAP_SECONDS_MAX, &parsing->filter.seconds);
}

/* All words, by name. */
static const struct {
    const char *name;
    int (*parse)(struct parsing *parsing, struct tr_text value);
} words_known[] = {
    {"point", parse_points},    {"type", parse_types},  {"address", parse_address},
    {"key", parse_key},         {"trace", parse_trace}, {"sample", parse_sample},
    {"limit", parse_limit},     {"rate", parse_rate},   {"payload", parse_payload},
    {"seconds", parse_seconds},
};

/* The row of a word's name, or the number of rows. */
static size_t find_word(struct tr_text name)
{
    size_t row = 0;
    while (row < TR_COUNT_OF(words_known) &&
           !tr_text_equal(tr_text_of(words_known[row].name), name)) {
        row++;
    }
    return row;
}

static int refuse_word(struct parsing *parsing)
{
    struct tr_sink *sink = begin_refusal(parsing);
    tr_sink_put_string(sink, "write NAME=VALUE, with a name of");
    for (size_t i = 0; i < TR_COUNT_OF(words_known); i++) {
        tr_sink_format(sink, " %s", words_known[i].name);
    }
    return TR_INVALID;
}

static int parse_word(struct parsing *parsing, uint32_t *seen)
{
    struct tr_text value = parsing->word;
    struct tr_text name = {0};
    bool has_name = next_part(&value, '=', &name);
    size_t row = has_name && value.data != NULL ? find_word(name) : TR_COUNT_OF(words_known);
    if (row == TR_COUNT_OF(words_known)) {
        return refuse_word(parsing);
    }
    if ((*seen >> row & 1) != 0) {
        tr_sink_format(begin_refusal(parsing), "`%s` is given twice; write lists with commas",
                       words_known[row].name);
        return TR_INVALID;
    }
    *seen |= 1U << row;
    return words_known[row].parse(parsing, value);
}

int tr_tap_filter_parse(const struct tr_text *words, size_t count,
                        const struct tr_registry *registry, char *explain,
                        struct tr_tap_filter *filter)
{
    struct parsing parsing = {
        .registry = registry,
        .sink = tr_sink_of(explain, TR_TAP_EXPLAIN_BYTES),
    };
    uint32_t seen = 0;
    for (size_t i = 0; i < count; i++) {
        parsing.word = words[i];
        int error = parse_word(&parsing, &seen);
        if (error != 0) {
            return error;
        }
    }
    int error = tr_tap_filter_check(&parsing.filter, explain);
    if (error == 0) {
        *filter = parsing.filter;
    }
    return error;
}
