/*
 * Envelopes and whole messages as people and programs read them: print.h says how, and what is
 * promised of it.
 */
#ifndef TR_SCHEMAS_RUNTIME_ENVELOPE_PRINT_H
#define TR_SCHEMAS_RUNTIME_ENVELOPE_PRINT_H

#include "schemas/codec/print.h"
#include "schemas/codec/registry.h"
#include "schemas/runtime/envelope.h"

/*
 * Prints an envelope: as a line without what is zero, as JSON with all fields by name, and
 * `kind_name` beside them.
 */
void tr_print_envelope(struct tr_sink *sink, enum tr_print_form form,
                       const struct tr_envelope *envelope);

/*
 * Prints an envelope and its body by the schema found in the registry:
 *
 *     tell 1/5@1#7 -> 1/9@1 type=40 version=2 body_size=12: tick{count=3 …}
 *     {"envelope":{…},"name":"tick","body":{"count":3,…}}
 */
void tr_print_message(struct tr_sink *sink, enum tr_print_form form,
                      const struct tr_registry *registry, struct tr_bytes message);

#endif
