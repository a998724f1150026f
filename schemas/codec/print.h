/*
 * Bodies as people and programs read them, made from the schemas (envelope_print.h has envelopes):
 *
 *     line: tick{count=3 token=<5 bytes redacted> title="noon"}
 *     JSON: {"count":3,"token":{"redacted":5},"title":"noon"}
 *
 * Fields marked TR_REDACTED show their size only, in both forms; bytes that cannot be decoded, or
 * whose schema is unknown, show their size only too, since there might be a secret in them.
 *
 * In JSON numbers stay numbers, however large; what is no number (NaN, an infinity) is null; bytes
 * are base64; keys and references are text as in a line (`7/12`, `7/12@3`); `any` is nested JSON,
 * with map keys that are no text written as text, and an extension as {"extension":TYPE,"data":…}.
 * Text in `any` that is no UTF-8 shows U+FFFD for each bad byte. Output is always valid UTF-8, and
 * valid JSON unless the sink says `truncated`.
 *
 * Printing never fails: what is wrong with the bytes is printed. Nothing allocates or recurses.
 * Numbers are printed by the C library: the program must leave LC_NUMERIC at "C".
 */
#ifndef TR_SCHEMAS_CODEC_PRINT_H
#define TR_SCHEMAS_CODEC_PRINT_H

#include "schemas/codec/field.h"
#include "schemas/codec/sink.h"

enum tr_print_form {
    TR_PRINT_LINE, /* for people: one line */
    TR_PRINT_JSON  /* for programs: one object */
};

/* Prints one msgpack value of any shape, no deeper than TR_NESTING_MAX; no bytes are null. */
void tr_print_any(struct tr_sink *sink, enum tr_print_form form, struct tr_bytes value);

/* Prints the body of a message, state or record that was packed at `version` of its schema. */
void tr_print_body(struct tr_sink *sink, enum tr_print_form form, const struct tr_schema *schema,
                   uint8_t version, struct tr_bytes body);

/* Prints the value of one field, or its size only where the field is redacted. */
struct tr_value;
void tr_print_field(struct tr_sink *sink, enum tr_print_form form, const struct tr_field *field,
                    const struct tr_value *value);

/*
 * The only writer of JSON's scalars: all JSON that is written anywhere has its texts, doubles and
 * bytes from here. jansson, which reads JSON for us, would always write a double with 17 digits
 * (0.10000000000000001), pass on DEL and U+0080 to U+009F, which steer terminals, refuse text that
 * is no UTF-8, and want all values as a tree first: of a million short texts it takes 390 ns each,
 * this 190.
 */

/* Text in quotes, escaped as JSON wants it; bytes that are no UTF-8 become U+FFFD. */
void tr_print_json_text(struct tr_sink *sink, struct tr_text text);

/* A finite double in the fewest digits that give it back; it always looks like one: 3.0, not 3. */
void tr_print_json_double(struct tr_sink *sink, double value);

/* Bytes as base64 with padding, without quotes. */
void tr_print_base64(struct tr_sink *sink, struct tr_bytes bytes);

#endif
