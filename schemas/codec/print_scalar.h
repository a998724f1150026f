/*
 * The small parts of which printed values are made. For the printers of schemas/ only.
 */
#ifndef TR_SCHEMAS_CODEC_PRINT_SCALAR_H
#define TR_SCHEMAS_CODEC_PRINT_SCALAR_H

#include "schemas/codec/print.h"

/* Bytes: base64 in quotes in JSON, size and the first few in hexadecimal in a line. */
void tri_print_bytes(struct tr_sink *sink, enum tr_print_form form, struct tr_bytes bytes);

/* A double as in JSON; what is no number is null there, and nan, inf or -inf in a line. */
void tri_print_f64(struct tr_sink *sink, enum tr_print_form form, double value);

void tri_print_bool(struct tr_sink *sink, bool value);
void tri_print_unsigned(struct tr_sink *sink, uint64_t value);
void tri_print_signed(struct tr_sink *sink, int64_t value);

/* `7/12@3`, where @0 is left out; without quotes. */
void tri_print_ref(struct tr_sink *sink, struct tr_ref ref);

/* Begins a field: what separates it from the one before it, and its name. */
void tri_print_name(struct tr_sink *sink, enum tr_print_form form, bool is_first, const char *name);

/* In place of bytes that may not be shown: how many, and why. */
void tri_print_redacted(struct tr_sink *sink, enum tr_print_form form, size_t size);
void tri_print_undecodable(struct tr_sink *sink, enum tr_print_form form, int error,
                           const char *field, size_t size);

#endif
