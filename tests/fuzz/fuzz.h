/*
 * What every fuzz target of this folder defines: one function that takes any bytes at all and
 * comes back. The name is libFuzzer's, so that the same file is a libFuzzer program in the preset
 * fuzz and is linked with standalone.c in all others.
 *
 * A target must not keep anything between two calls; what it finds wrong it says by aborting.
 */
#ifndef TR_TESTS_FUZZ_FUZZ_H
#define TR_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Feeds `size` bytes to the decoder under test. The bytes belong to the caller. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
