/*
 * What a tap shows. All conditions must hold; what is zero is no condition. The one thing that a
 * filter must say is its limit: a tap that nobody bounds could cost a busy host for ever.
 *
 * People write filters as words, as in `troupe tap`:
 *
 *     point=handled,failed   type=tick   address=/orders/worker[*]   key=7/12   trace=0x1f
 *     sample=100   limit=1000   rate=50   payload=256   seconds=60
 *
 * A filter is a value; nothing here allocates, and everything may be called from any thread.
 */
#ifndef TR_RUNTIME_TRACE_FILTER_H
#define TR_RUNTIME_TRACE_FILTER_H

#include "runtime/limits.h"
#include "runtime/trace/point.h"
#include "schemas/codec/registry.h"
#include "schemas/runtime/tap.h"

/* A buffer that is enough for any explanation of a refusal. */
#define TR_TAP_EXPLAIN_BYTES 256

struct tr_tap_filter {
    uint32_t points; /* 1 << enum tr_tap_point each */
    uint32_t type_count;
    uint16_t types[TR_TAP_TYPES_MAX];        /* of messages; events without one do not match */
    char address[TR_TAP_GLOB_BYTES_MAX + 1]; /* patterns (glob.h) for the actor's address */
    struct tr_key key;                       /* the actor, or the message's sender or receiver */
    uint64_t trace;
    uint32_t sample;        /* shows one in so many that match, the first of them first */
    uint32_t payload_bytes; /* shows so much of each message's body */
    uint64_t limit;         /* events, after which the tap ends; missing ones count */
    uint32_t rate;          /* events of each worker in a second; what is above is counted */
    uint32_t seconds;       /* after which the tap ends */
    bool is_recording;      /* of the actor `key` alone, with whole messages: record.h */
};

/*
 * Reads a filter from words. Types are named as in the registry, or numbers; without a registry
 * only numbers. Errors: TR_INVALID (a word that is none, given twice or out of bounds; no limit)
 * and TR_NOT_FOUND (a type that the registry has not). Then `explain` (TR_TAP_EXPLAIN_BYTES) says
 * which word, what is wrong and what to write, and the filter is untouched.
 */
TR_MUST_USE int tr_tap_filter_parse(const struct tr_text *words, size_t count,
                                    const struct tr_registry *registry, char *explain,
                                    struct tr_tap_filter *filter);

/* Whether a filter makes sense; if not (TR_INVALID), `explain` says why, as above. */
TR_MUST_USE int tr_tap_filter_check(const struct tr_tap_filter *filter, char *explain);

/* ----------------------------------------- between the program and its workers */

/* A filter as a message; `types` holds the packed types and must live as long as the message. */
#define TRI_TAP_TYPES_BYTES (TR_BLOB_HEADER_BYTES_MAX + TR_TAP_TYPES_MAX * TR_SCALAR_BYTES_MAX)
struct tr_tap_open tri_tap_filter_pack(const struct tr_tap_filter *filter,
                                       uint8_t types[TRI_TAP_TYPES_BYTES]);

/* And back. TR_MALFORMED, TR_LIMIT, TR_INVALID. */
TR_MUST_USE int tri_tap_filter_unpack(const struct tr_tap_open *open, struct tr_tap_filter *filter);

/* What is known of an event before anything is written down. */
struct tri_tap_candidate {
    uint8_t point;
    bool has_message;
    uint16_t type;
    struct tr_key actor;
    struct tr_key from;
    struct tr_key to;
    uint64_t trace;
};

/* Whether all conditions hold but the address and the sampling, which cost more or count. */
bool tri_tap_filter_matches(const struct tr_tap_filter *filter,
                            const struct tri_tap_candidate *candidate);

#endif
