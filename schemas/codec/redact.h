/*
 * Bodies without what is marked TR_REDACTED in their schema: for those that leave the hands of
 * those who may see it. What is left unpacks as before.
 */
#ifndef TR_SCHEMAS_CODEC_REDACT_H
#define TR_SCHEMAS_CODEC_REDACT_H

#include "schemas/codec/field.h"

/*
 * Copies a body, with nothing (zero, empty, nil) in the place of each redacted field. A copy is
 * never larger than its body. `is_blanked`: something was there. Errors: those of reading the body
 * (tr_body_check), and TR_LIMIT when the writer is too small. Any thread; nothing allocates.
 */
TR_MUST_USE int tr_body_redact(const struct tr_schema *schema, uint8_t version,
                               struct tr_bytes body, struct tr_writer *writer, bool *is_blanked);

#endif
