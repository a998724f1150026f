/*
 * Whether this process can have what libraries end it for when they cannot: libzmq makes threads,
 * sockets and buffers, and knows no way to say that there are none.
 */
#ifndef TR_RUNTIME_LINK_PREFLIGHT_H
#define TR_RUNTIME_LINK_PREFLIGHT_H

#include "schemas/codec/base.h"

struct tri_needs {
    uint32_t threads;
    uint32_t descriptors;
    uint64_t bytes;
};

/* Of a command that talks with an engine. */
#define TRI_NEEDS_OF_CLIENT                                  \
    (struct tri_needs)                                       \
    {                                                        \
        .threads = 3, .descriptors = 24, .bytes = 8ULL << 20 \
    }

#define TRI_AFFORD_WORDS_BYTES 200

/*
 * Takes all of it at once, for a moment. TR_LIMIT: it cannot be had; `words`
 * (TRI_AFFORD_WORDS_BYTES) say what, and which limit that may be.
 */
TR_MUST_USE int tri_afford(struct tri_needs needs, char *words);

#endif
