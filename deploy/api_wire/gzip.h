/*
 * Messages that clients have compressed, and answers that are compressed for them, by zlib, which
 * is loaded when the first one comes.
 */
#ifndef TR_DEPLOY_API_WIRE_GZIP_H
#define TR_DEPLOY_API_WIRE_GZIP_H

#include "runtime/env/buffer.h"
#include "schemas/codec/base.h"

/*
 * Appends what is compressed in `bytes` with gzip. TR_LIMIT: that is more than `bytes_max`;
 * TR_MALFORMED: it is no whole gzip; TR_NOT_FOUND: zlib is not installed; TR_MEMORY.
 */
TR_MUST_USE int tr_gzip_read(struct tr_bytes bytes, uint64_t bytes_max, struct tri_buffer *message);

/*
 * Appends `bytes` compressed with gzip, quickly rather than well. TR_LIMIT: that is more than
 * `bytes_max`, and what was appended is worth nothing; TR_NOT_FOUND: zlib is not installed;
 * TR_MEMORY.
 */
TR_MUST_USE int tr_gzip_write(struct tr_bytes bytes, uint64_t bytes_max,
                              struct tri_buffer *message);

#endif
