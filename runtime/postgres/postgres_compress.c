/*
 * Level 1 of zstd. Higher levels take longer than the server saves by what they find.
 */
#include "runtime/postgres/postgres_compress.h"

#include <string.h>
#include <zstd.h>

#include "runtime/env/library.h"
#include "runtime/memory.h"

#define LEVEL 1

/* More than an entry has: a value in PostgreSQL has at most 1 GiB, and was one before. */
#define PLAIN_BYTES_MAX (1ULL << 30)

/* How a frame of zstd begins (RFC 8878, section 3.1.1), as bytes. */
static const uint8_t frame_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

#define LIBRARY_FUNCTIONS(F) \
    F(compressBound)         \
    F(compressCCtx)          \
    F(createCCtx)            \
    F(decompress)            \
    F(freeCCtx)              \
    F(getFrameContentSize)   \
    F(isError)

/* ZSTD_NAME of the library, as member NAME. */
struct zstd {
#define LIBRARY_MEMBER(name) __typeof__ (&ZSTD_##name)(name);
    LIBRARY_FUNCTIONS(LIBRARY_MEMBER)
#undef LIBRARY_MEMBER
};

#define NAME(name) "ZSTD_" #name,

/* NULL: not installed. */
static const struct zstd *load(void)
{
    static struct zstd functions;
    static const char *const names[] = {LIBRARY_FUNCTIONS(NAME)};
    static struct tri_library library = {.name = TRI_POSTGRES_ZSTD,
                                         .names = names,
                                         .count = TR_COUNT_OF(names),
                                         .functions = &functions};
    return tri_library_open(&library);
}

bool tri_postgres_can_compress(void)
{
    return load() != NULL;
}

static int make_room(struct tri_postgres_compressor *self, size_t size)
{
    if (self->capacity >= size) {
        return 0;
    }
    uint8_t *bytes = tr_alloc(size);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    tr_free(self->bytes);
    self->bytes = bytes;
    self->capacity = size;
    return 0;
}

int tri_postgres_compress(struct tri_postgres_compressor *compressor, struct tr_bytes plain,
                          struct tr_bytes *compressed)
{
    const struct zstd *zstd = load();
    TR_ASSERT(zstd != NULL);
    if (compressor->context == NULL) {
        compressor->context = zstd->createCCtx();
    }
    int error = compressor->context == NULL ? TR_MEMORY : 0;
    if (error == 0) {
        error = make_room(compressor, zstd->compressBound(plain.size));
    }
    if (error != 0) {
        return error;
    }
    size_t size = zstd->compressCCtx(compressor->context, compressor->bytes, compressor->capacity,
                                     plain.data, plain.size, LEVEL);
    if (zstd->isError(size) != 0) { /* there is room, so it is memory of its own that it lacks */
        return TR_MEMORY;
    }
    *compressed = (struct tr_bytes){.data = compressor->bytes, .size = size};
    return 0;
}

void tri_postgres_compressor_fini(struct tri_postgres_compressor *compressor)
{
    if (compressor->context != NULL) {
        load()->freeCCtx(compressor->context);
    }
    tr_free(compressor->bytes);
    *compressor = (struct tri_postgres_compressor){.context = NULL};
}

static bool is_frame(struct tr_bytes stored)
{
    return stored.size >= sizeof frame_magic &&
           memcmp(stored.data, frame_magic, sizeof frame_magic) == 0;
}

/* The bytes that a frame says it has, which are as many as were compressed; freed by the caller. */
static int decompress(struct tr_bytes frame, uint8_t **plain, size_t *size)
{
    const struct zstd *zstd = load();
    TR_ASSERT(zstd != NULL);
    /* The two errors of this function are numbers above any limit. */
    unsigned long long whole = zstd->getFrameContentSize(frame.data, frame.size);
    if (whole == 0 || whole > PLAIN_BYTES_MAX) {
        return TR_INVALID;
    }
    uint8_t *bytes = tr_alloc((size_t)whole);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    if (zstd->decompress(bytes, (size_t)whole, frame.data, frame.size) != whole) {
        tr_free(bytes);
        return TR_INVALID;
    }
    *plain = bytes;
    *size = (size_t)whole;
    return 0;
}

int tri_postgres_restore_entry(struct tr_bytes stored, struct tri_commit_entry_head *head,
                               uint8_t **entry)
{
    uint8_t *plain = NULL;
    size_t size = 0;
    if (!is_frame(stored)) {
        return tri_commit_entry_restore(stored, head, entry);
    }
    int error = decompress(stored, &plain, &size);
    if (error == 0) {
        error =
            tri_commit_entry_restore((struct tr_bytes){.data = plain, .size = size}, head, entry);
    }
    tr_free(plain);
    return error;
}
