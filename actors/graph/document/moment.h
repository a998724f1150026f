/*
 * Moments and spans of time as text: datetimes by RFC 3339, durations such as 1h30m.
 *
 * A moment is seconds since 1970 and nanoseconds of that second, from year 1 to 9999, as in
 * google.protobuf.Timestamp; a duration is nanoseconds in 64 bits (292 years each way).
 */
#ifndef TR_ACTORS_GRAPH_DOCUMENT_MOMENT_H
#define TR_ACTORS_GRAPH_DOCUMENT_MOMENT_H

#include "actors/graph/document/buffer.h"

struct tr_moment {
    int64_t seconds;
    uint32_t nanoseconds;
};

/* The seconds of 0001-01-01T00:00:00Z and of 9999-12-31T23:59:59Z. */
#define TR_MOMENT_SECONDS_MIN (-62135596800LL)
#define TR_MOMENT_SECONDS_MAX 253402300799LL

/* Texts of both are no longer than this, closing zero included. */
#define TR_MOMENT_BYTES_MAX 40
#define TR_DURATION_BYTES_MAX 64

/* RFC 3339, or a date alone, which is its midnight UTC; false if it is neither. */
bool tr_moment_parse(struct tr_text text, struct tr_moment *moment);

/* In UTC, with as many digits of the second as needed: 2026-08-20T09:30:00.5Z. */
void tr_moment_print(struct tr_moment moment, struct tr_buffer *buffer);

/* <0, 0 or >0. */
int tr_moment_compare(struct tr_moment a, struct tr_moment b);

/* Numbers with units d h m s ms us, largest first or not, as 1h30m, 1.5s or -250ms. */
bool tr_duration_parse(struct tr_text text, int64_t *nanoseconds);

/* In the largest units that fit, nanoseconds as a fraction of us: 1d2h, 1500ms is 1.5s. */
void tr_duration_print(int64_t nanoseconds, struct tr_buffer *buffer);

#endif
