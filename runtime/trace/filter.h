/*
 * A tap's filter. All conditions must hold; zero is no condition. A filter must have a limit: an
 * unbounded tap could burden a busy host for ever.
 *
 * People write filters as words, as in `troupe tap`:
 *
 *     point=handled,failed   type=tick   address=/orders/worker[*]   key=7/12   trace=0x1f
 *     sample=100   limit=1000   rate=50   payload=256   seconds=60
 *
 * A filter is a value; no function allocates, and all may be called from any thread.
 */
#ifndef TR_RUNTIME_TRACE_FILTER_H
#define TR_RUNTIME_TRACE_FILTER_H

#include "runtime/limits.h"
#include "runtime/trace/point.h"
#include "schemas/codec/registry.h"
#include "schemas/runtime/tap.h"

/* Size of a buffer for any explanation of a refusal. */
#define TR_TAP_EXPLAIN_BYTES 256

struct tr_tap_filter {
    uint32_t points; /* 1 << enum tr_tap_point each */
    uint32_t type_count;
    uint16_t types[TR_TAP_TYPES_MAX];        /* of messages; events without one do not match */
    char address[TR_TAP_GLOB_BYTES_MAX + 1]; /* patterns (glob.h) for the actor's address */
    struct tr_key key;                       /* the actor, or the message's sender or receiver */
    uint64_t trace;
    uint32_t sample;        /* shows one in so many matching events, including the first */
    uint32_t payload_bytes; /* bytes shown of each message's body */
    uint64_t limit;         /* number of events, including lost ones, after which the tap ends */
    uint32_t rate;          /* events of each worker per second; those above are counted */
    uint32_t seconds;       /* after which the tap ends */
    bool is_recording;      /* of the actor `key` alone, with whole messages: record.h */
};

/*
 * Parses a filter from words. Types are named as in the registry, or by number; without a registry
 * only by number. Errors: TR_INVALID (an unknown word, a duplicate, or out of range; no limit) and
 * TR_NOT_FOUND (a type that is not registered). Then `explain` (TR_TAP_EXPLAIN_BYTES) names the
 * word, the problem and the remedy, and the filter is unchanged.
 */
TR_MUST_USE int tr_tap_filter_parse(const struct tr_text *words, size_t count,
                                    const struct tr_registry *registry, char *explain,
                                    struct tr_tap_filter *filter);

/* Checks a filter; on TR_INVALID `explain` says why, as above. */
TR_MUST_USE int tr_tap_filter_check(const struct tr_tap_filter *filter, char *explain);

/* ----------------------------------------- between the program and its workers */

/*
 * Packs a filter as a message; `types` gets the packed types and must live as long as the message.
 */
#define TRI_TAP_TYPES_BYTES (TR_BLOB_HEADER_BYTES_MAX + TR_TAP_TYPES_MAX * TR_SCALAR_BYTES_MAX)
struct tr_tap_open tri_tap_filter_pack(const struct tr_tap_filter *filter,
                                       uint8_t types[TRI_TAP_TYPES_BYTES]);

/* Unpacks a filter. TR_MALFORMED, TR_LIMIT, TR_INVALID. */
TR_MUST_USE int tri_tap_filter_unpack(const struct tr_tap_open *open, struct tr_tap_filter *filter);

/* The properties of an event before it is recorded. */
struct tri_tap_candidate {
    uint8_t point;
    bool has_message;
    uint16_t type;
    struct tr_key actor;
    struct tr_key from;
    struct tr_key to;
    uint64_t trace;
};

/* Whether all conditions hold except address and sampling, which are more expensive or stateful. */
bool tri_tap_filter_matches(const struct tr_tap_filter *filter,
                            const struct tri_tap_candidate *candidate);

#endif
