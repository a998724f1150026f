/*
 * Any bytes as the body of a call, in any pieces: the same messages whatever the pieces, or the
 * same error. What is said to be compressed is decompressed within a bound. And any text as a
 * timeout and as words, which stay printable.
 */
#include <string.h>

#include "deploy/api_wire/grpc.h"
#include "deploy/api_wire/gzip.h"
#include "schemas/codec/error.h"
#include "tests/fuzz/fuzz.h"

#define MESSAGE_BYTES_MAX 4096
#define INFLATED_BYTES_MAX (1U << 20)

/* What came of a body: a number for all messages and their order, and how it ended. */
struct outcome {
    uint64_t sum;
    int error;
};

static void add(struct outcome *outcome, struct tr_bytes bytes)
{
    outcome->sum = outcome->sum * 31 + bytes.size + 1;
    for (size_t i = 0; i < bytes.size; i++) {
        outcome->sum = outcome->sum * 31 + bytes.data[i];
    }
}

static struct outcome read_in_pieces(const uint8_t *data, size_t size, size_t step)
{
    struct outcome outcome = {.sum = 0};
    struct tr_grpc_reader reader = {.size = 0};
    for (size_t at = 0; at < size && outcome.error == 0; at += step) {
        struct tr_bytes piece = {.data = data + at, .size = size - at < step ? size - at : step};
        bool is_whole = true;
        while (outcome.error == 0 && (piece.size > 0 || is_whole)) {
            size_t before = piece.size;
            outcome.error = tr_grpc_read(&reader, &piece, MESSAGE_BYTES_MAX, &is_whole);
            TR_ASSERT(piece.size <= before);
            if (outcome.error == 0 && is_whole) {
                add(&outcome, tr_grpc_message(&reader));
                tr_grpc_reader_next(&reader);
            } else if (outcome.error == 0) {
                TR_ASSERT(piece.size == 0);
                is_whole = false;
            }
        }
    }
    tr_grpc_reader_fini(&reader);
    return outcome;
}

static void inflate(const uint8_t *data, size_t size)
{
    struct tri_buffer message = {.capacity = 0};
    int error =
        tr_gzip_read((struct tr_bytes){.data = data, .size = size}, INFLATED_BYTES_MAX, &message);
    TR_ASSERT(error == 0 || error == TR_LIMIT || error == TR_MALFORMED);
    TR_ASSERT(error != 0 || tri_buffer_size(&message) <= INFLATED_BYTES_MAX);
    tri_buffer_fini(&message);
}

static void write_words(struct tr_text text)
{
    char room[256];
    size_t size = tr_grpc_words(text, room, sizeof room);
    TR_ASSERT(size < sizeof room && room[size] == '\0');
    for (size_t i = 0; i < size; i++) {
        TR_ASSERT(room[i] >= ' ' && room[i] <= '~');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_text text = {.data = (const char *)data, .size = size};
    uint64_t milliseconds;
    struct outcome whole = read_in_pieces(data, size, size == 0 ? 1 : size);
    static const size_t steps[] = {1, 2, 5, 7};
    for (size_t i = 0; i < TR_COUNT_OF(steps); i++) {
        struct outcome parts = read_in_pieces(data, size, steps[i]);
        TR_ASSERT(parts.error == whole.error && parts.sum == whole.sum);
    }
    inflate(data, size);
    write_words(text);
    if (tr_grpc_timeout(text, &milliseconds)) {
        TR_ASSERT(milliseconds <= 99999999ULL * 3600000);
    }
    return 0;
}
