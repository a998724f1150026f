/*
 * Filters: checking, packing for the workers and unpacking, and matching. filter_parse.c parses
 * them from words.
 *
 * A filter is checked where it is made, for the words of the refusal, and again by each worker that
 * unpacks it, since a message from another thread is not trusted. A zero is no condition, so only
 * large numbers that cost memory or let a tap live too long are bounded: `sample` and `rate` may
 * have any value.
 */
#include "runtime/trace/filter.h"

#include "schemas/codec/sink.h"

/* The bounds of a filter's numbers, by their words. */
static int check_bounds(const struct tr_tap_filter *filter, struct tr_sink *sink)
{
    const struct {
        const char *name;
        uint64_t value;
        uint64_t max;
    } bounds[] = {
        {"limit", filter->limit, TR_TAP_EVENTS_MAX},
        {"payload", filter->payload_bytes,
         filter->is_recording ? TR_MESSAGE_BYTES_MAX : TR_TAP_PAYLOAD_BYTES_MAX},
        {"seconds", filter->seconds, TR_TAP_SECONDS_MAX},
    };
    for (size_t i = 0; i < TR_COUNT_OF(bounds); i++) {
        if (bounds[i].value > bounds[i].max) {
            tr_sink_format(sink, "`%s` is at most %llu", bounds[i].name,
                           (unsigned long long)bounds[i].max);
            return TR_INVALID;
        }
    }
    return 0;
}

/* strnlen, because a filter made by a program may lack the closing zero. */
static int check_address(const struct tr_tap_filter *filter, struct tr_sink *sink)
{
    const char *address = filter->address;
    struct tr_text text = {.data = address, .size = strnlen(address, sizeof filter->address)};
    if (text.size == sizeof filter->address) {
        tr_sink_format(sink, "`address` has at most %d bytes", TR_TAP_GLOB_BYTES_MAX);
        return TR_INVALID;
    }
    if (text.size > 0 && (!tr_utf8_valid(text) || (address[0] != '/' && address[0] != '*'))) {
        tr_sink_put_string(sink, "`address` is UTF-8 and begins with a slash, or with stars");
        return TR_INVALID;
    }
    return 0;
}

int tr_tap_filter_check(const struct tr_tap_filter *filter, char *explain)
{
    struct tr_sink sink = tr_sink_of(explain, TR_TAP_EXPLAIN_BYTES);
    if (filter->limit == 0) {
        tr_sink_format(&sink, "a tap must have a limit: say `limit=N`, with N events at most %llu",
                       TR_TAP_EVENTS_MAX);
        return TR_INVALID;
    }
    if ((filter->points & ~(uint32_t)TR_TAP_POINTS_ALL) != 0) {
        tr_sink_format(&sink, "unknown points %#x", filter->points & ~(uint32_t)TR_TAP_POINTS_ALL);
        return TR_INVALID;
    }
    if (filter->type_count > TR_TAP_TYPES_MAX) {
        tr_sink_format(&sink, "a tap takes at most %d types", TR_TAP_TYPES_MAX);
        return TR_INVALID;
    }
    int error = check_bounds(filter, &sink);
    return error != 0 ? error : check_address(filter, &sink);
}

struct tr_tap_open tri_tap_filter_pack(const struct tr_tap_filter *filter,
                                       uint8_t types[TRI_TAP_TYPES_BYTES])
{
    struct tr_writer writer = tr_writer_of(types, TRI_TAP_TYPES_BYTES);
    tr_write_array(&writer, filter->type_count);
    for (uint32_t i = 0; i < filter->type_count; i++) {
        tr_write_u16(&writer, filter->types[i]);
    }
    TR_ASSERT(writer.error == 0); /* the filter was checked */
    return (struct tr_tap_open){
        .points = filter->points,
        .types = {.data = types, .size = tr_writer_size(&writer)},
        .address = tr_text_of(filter->address),
        .key = filter->key,
        .trace = filter->trace,
        .sample = filter->sample,
        .limit = filter->limit,
        .rate = filter->rate,
        .payload_bytes = filter->payload_bytes,
        .seconds = filter->seconds,
        .is_recording = filter->is_recording,
    };
}

/* The count is checked before the first type is written. */
static int unpack_types(struct tr_bytes bytes, struct tr_tap_filter *filter)
{
    struct tr_cursor cursor = tr_cursor_of(bytes);
    uint32_t count = tr_read_array(&cursor);
    if (cursor.error == 0 && count > TR_TAP_TYPES_MAX) {
        return TR_LIMIT;
    }
    for (uint32_t i = 0; i < count; i++) {
        filter->types[i] = tr_read_u16(&cursor);
    }
    filter->type_count = count;
    return cursor.error;
}

int tri_tap_filter_unpack(const struct tr_tap_open *open, struct tr_tap_filter *out)
{
    struct tr_tap_filter filter = {
        .points = open->points,
        .key = open->key,
        .trace = open->trace,
        .sample = open->sample,
        .payload_bytes = open->payload_bytes,
        .limit = open->limit,
        .rate = open->rate,
        .seconds = open->seconds,
        .is_recording = open->is_recording,
    };
    char explain[TR_TAP_EXPLAIN_BYTES];
    if (open->address.size >= sizeof filter.address) {
        return TR_LIMIT;
    }
    memcpy(filter.address, open->address.data, open->address.size);
    int error = unpack_types(open->types, &filter);
    if (error == 0) {
        error = tr_tap_filter_check(&filter, explain);
    }
    if (error == 0) {
        *out = filter;
    }
    return error;
}

/* An event without a message has no type: it matches only a filter without types. */
static bool matches_type(const struct tr_tap_filter *filter,
                         const struct tri_tap_candidate *candidate)
{
    for (uint32_t i = 0; candidate->has_message && i < filter->type_count; i++) {
        if (filter->types[i] == candidate->type) {
            return true;
        }
    }
    return filter->type_count == 0;
}

/* People know a host by its number. */
static bool is_shown_as(struct tr_key wanted, struct tr_key key)
{
    key.group = tr_group_shown(key.group);
    return tr_key_equal(wanted, key);
}

/*
 * The key of a recording is only its actor: other actors handle the messages that it has sent. In
 * any other filter the key is also the sender or the receiver.
 */
bool tri_tap_filter_matches(const struct tr_tap_filter *filter,
                            const struct tri_tap_candidate *candidate)
{
    if (filter->points != 0 && (filter->points >> candidate->point & 1) == 0) {
        return false;
    }
    if (!matches_type(filter, candidate)) {
        return false;
    }
    struct tr_key key = filter->key;
    if (filter->is_recording) {
        return tr_key_equal(key, candidate->actor);
    }
    if (!tr_key_is_none(key) && !tr_key_equal(key, candidate->actor) &&
        !is_shown_as(key, candidate->from) && !is_shown_as(key, candidate->to)) {
        return false;
    }
    return filter->trace == 0 || filter->trace == candidate->trace;
}
