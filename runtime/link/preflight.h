/*
 * Checks that this process can get the resources without which libraries abort it: libzmq makes
 * threads, sockets and buffers, and cannot report that there are none.
 */
#ifndef TR_RUNTIME_LINK_PREFLIGHT_H
#define TR_RUNTIME_LINK_PREFLIGHT_H

#include "schemas/codec/base.h"

struct tri_preflight_needs {
    uint32_t threads;
    uint32_t descriptors;
    uint64_t bytes;
};

/* Needs of a command that connects to an engine. */
#define TRI_PREFLIGHT_CLIENT_NEEDS                           \
    (struct tri_preflight_needs)                             \
    {                                                        \
        .threads = 3, .descriptors = 24, .bytes = 8ULL << 20 \
    }

#define TRI_PREFLIGHT_WORDS_BYTES 200

/*
 * Allocates all of it at once, for a moment. TR_LIMIT: not available; `words`
 * (TRI_PREFLIGHT_WORDS_BYTES) name the resource and the limit that may be the cause.
 */
TR_MUST_USE int tri_preflight_check(struct tri_preflight_needs needs, char *words);

/*
 * Whether so many threads are far from each bound on them, as the system's files say, which lie
 * below `root` ("": those of this machine). False: a bound is near, or not in sight.
 */
TR_MUST_USE bool tri_preflight_has_threads(const char *root, uint32_t wanted);

#endif
