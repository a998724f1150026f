/*
 * The checksum of records in our files: the keeper's log, recordings, exports.
 */
#ifndef TR_RUNTIME_ENV_CRC32C_H
#define TR_RUNTIME_ENV_CRC32C_H

#include "schemas/codec/base.h"

/* CRC-32C (Castagnoli) of the bytes. */
uint32_t tri_crc32c(struct tr_bytes bytes);

#endif
