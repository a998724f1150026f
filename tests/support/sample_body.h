/*
 * Bodies made from nothing but their schema, so that a new schema has samples without code.
 */
#ifndef TR_TESTS_SUPPORT_SAMPLE_BODY_H
#define TR_TESTS_SUPPORT_SAMPLE_BODY_H

#include "schemas/codec/field.h"

/* Enough for a sample of any schema whose arrays are no larger than a page of a state. */
#define SAMPLE_BODY_BYTES_MAX 65536

/*
 * Packs a body of `version` into `buffer` and returns its bytes, or 0 if it does not fit. Variant 0
 * is the sample of the golden table and never changes; other numbers draw other values, the limits
 * of each kind among them.
 */
size_t sample_body(const struct tr_schema *schema, uint8_t version, uint64_t variant,
                   uint8_t *buffer, size_t size);

#endif
