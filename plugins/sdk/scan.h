/*
 * A projecting scanner of JSON: paths in, values out, and the rest is skipped. For long items of
 * which a plugin needs a few members, as those of lists and watches: an object of 6 kB takes a few
 * microseconds, where api->read_json builds all of it.
 *
 *     static const char *const paths[] = {"/metadata/name", "/status/phase"};
 *     struct tr_bytes found[2];
 *     error = tr_scan(item, paths, 2, found);
 *     ...
 *     error = tr_scan_text(batch, found[0], &name);
 *
 * Paths are JSON pointers (RFC 6901) without places in lists: "~1" is a / of a name, "~0" a ~. A
 * value is a view of its JSON, to be read by the functions below or scanned again; nothing is empty
 * bytes. The scanner is strict about what it goes through: TR_MALFORMED where that is no JSON, a
 * name comes twice, or is escaped. Of what it skips it checks that strings and brackets end.
 */
#ifndef TR_PLUGINS_SDK_SCAN_H
#define TR_PLUGINS_SDK_SCAN_H

#include "plugins/sdk/plugin.h"

#define TR_SCAN_PATHS_MAX 32
#define TR_SCAN_DEPTH_MAX 128

/*
 * The values at `count` paths, at most TR_SCAN_PATHS_MAX, each of which begins with a /. A path
 * through something else than an object finds nothing. TR_LIMIT: deeper than TR_SCAN_DEPTH_MAX.
 */
TR_MUST_USE int tr_scan(struct tr_bytes json, const char *const *paths, size_t count,
                        struct tr_bytes *values);

/* Whether there is nothing, or null. */
bool tr_scan_is_none(struct tr_bytes value);

/*
 * The text of a string: a view of it, or of scratch memory where it has escapes. Nothing, and null,
 * are empty. TR_MALFORMED: it is something else, no UTF-8, or has a zero in it. TR_MEMORY.
 */
TR_MUST_USE int tr_scan_text(struct tr_webapi_batch *batch, struct tr_bytes value,
                             struct tr_text *text);

/* A whole number; `otherwise` for anything else. */
int64_t tr_scan_i64(struct tr_bytes value, int64_t otherwise);

/* Whether it is true. */
bool tr_scan_bool(struct tr_bytes value);

/*
 * Takes the next item off a list, which begins as its value: false at its end, where `*error` says
 * whether it was one. Nothing, and null, are an empty list.
 */
struct tr_scan_walk {
    struct tr_bytes item;
    int error;

    /* private */
    struct tr_bytes rest;
    bool has_begun;
    bool has_ended;
};
struct tr_scan_walk tr_scan_walk(struct tr_bytes list);
bool tr_scan_next(struct tr_scan_walk *walk);

#endif
