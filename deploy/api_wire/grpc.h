/*
 * gRPC's own rules over HTTP/2: messages behind five bytes, times, and words in headers. Pure.
 */
#ifndef TR_DEPLOY_API_WIRE_GRPC_H
#define TR_DEPLOY_API_WIRE_GRPC_H

#include "runtime/env/buffer.h"
#include "schemas/codec/base.h"

/* One byte that says whether the message is compressed, and its size in big endian. */
#define TR_GRPC_PREFIX_BYTES 5

/* Reads messages from the pieces in which they come. All zero is one that waits for the first. */
struct tr_grpc_reader {
    uint8_t prefix[TR_GRPC_PREFIX_BYTES];
    size_t prefix_size;
    bool is_compressed; /* the message in hand */
    size_t size;        /* of it, once the prefix is there */
    struct tri_buffer message;
};

/*
 * Takes from a piece what belongs to the message in hand, and cuts it off there; `is_whole`: it is
 * complete. TR_LIMIT: it is larger than `bytes_max`, which its prefix says; TR_MALFORMED: this is
 * no message; TR_MEMORY.
 */
TR_MUST_USE int tr_grpc_read(struct tr_grpc_reader *reader, struct tr_bytes *piece,
                             uint64_t bytes_max, bool *is_whole);

/* The message, and waiting for the next one. Whether nothing of a message is there yet. */
struct tr_bytes tr_grpc_message(const struct tr_grpc_reader *reader);
void tr_grpc_reader_next(struct tr_grpc_reader *reader);
bool tr_grpc_reader_is_empty(const struct tr_grpc_reader *reader);
void tr_grpc_reader_fini(struct tr_grpc_reader *reader);

/* The five bytes of a message that is not compressed. */
void tr_grpc_prefix(size_t size, uint8_t prefix[TR_GRPC_PREFIX_BYTES]);

/* Reads a grpc-timeout: at most eight digits and one of H M S m u n. False: it is none. */
bool tr_grpc_timeout(struct tr_text text, uint64_t *milliseconds);

/*
 * Writes text as grpc-message has it: what is no printable ASCII, and %, as % and two digits. Cut
 * off where `room` ends; its size without the closing zero.
 */
size_t tr_grpc_words(struct tr_text text, char *room, size_t size);

#endif
