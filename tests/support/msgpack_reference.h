/*
 * msgpack-c as the judge of our codec: values it makes, and its opinion of any bytes.
 */
#ifndef TR_TESTS_SUPPORT_MSGPACK_REFERENCE_H
#define TR_TESTS_SUPPORT_MSGPACK_REFERENCE_H

#include <msgpack.h>

#include "schemas/codec/codec.h"
#include "tests/support/draw.h"

/* Packs one drawn value of any shape, of some dozens of parts at most. */
void msgpack_reference_value(struct draw *draw, msgpack_packer *packer);

enum msgpack_reference_answer {
    ORACLE_ACCEPTED, /* by both, with the same extent */
    ORACLE_REFUSED,  /* by both */
    ORACLE_SILENT    /* the library was not asked, or has a lower limit than we have */
};

/*
 * Whether tr_read_any and the library think the same of these bytes; where they do not, the process
 * ends and says so.
 */
enum msgpack_reference_answer msgpack_reference_agrees(struct tr_bytes bytes);

#endif
