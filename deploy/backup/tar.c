/*
 * Headers of tar. Reading takes the fields out and writes the header again: what is not the same,
 * byte for byte, is refused.
 */
#include "deploy/backup/tar.h"

#include <stdio.h>
#include <string.h>

/* A header: where each field begins, and how long it is. */
#define NAME_AT 0
#define NAME_BYTES 100
#define MODE_AT 100
#define OWNER_AT 108
#define GROUP_AT 116
#define NUMBER_BYTES 8
#define SIZE_AT 124
#define TIME_AT 136
#define LARGE_BYTES 12
#define SUM_AT 148
#define KIND_AT 156
#define TARGET_AT 157
#define MAGIC_AT 257
#define MAGIC "ustar\00000"
#define MAGIC_BYTES 8
#define DEVICES_AT 329

/* What eleven octal digits hold. */
#define LARGE_MAX 077777777777ULL

/* Extended headers: the kind, what it is called, and how large it may be. */
#define EXTENDED 'x'
#define EXTENDED_NAME "././@PaxHeader"
#define EXTENDED_BYTES_MAX (3U * PATH_MAX)

static void put_octal(uint8_t *block, size_t at, size_t bytes, uint64_t value)
{
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%0*llo", (int)bytes - 1, (unsigned long long)value);
    memcpy(block + at, digits, bytes);
}

/* The sum of all bytes, with blanks in its own place. */
static void put_sum(uint8_t *block)
{
    uint32_t sum = 0;
    memset(block + SUM_AT, ' ', NUMBER_BYTES);
    for (size_t i = 0; i < TR_TAR_BLOCK_BYTES; i++) {
        sum += block[i];
    }
    put_octal(block, SUM_AT, NUMBER_BYTES - 1, sum);
}

/* What is longer than its field is cut: the extended header before it has all of it. */
static void put_text(uint8_t *block, size_t at, const char *text)
{
    size_t size = strlen(text);
    memcpy(block + at, text, size < NAME_BYTES ? size : NAME_BYTES);
}

static void put_block(struct tr_buffer *blocks, char kind, const struct tr_tar_entry *entry)
{
    uint8_t block[TR_TAR_BLOCK_BYTES] = {0};
    put_text(block, NAME_AT, entry->path);
    put_octal(block, MODE_AT, NUMBER_BYTES, entry->mode);
    put_octal(block, OWNER_AT, NUMBER_BYTES, 0);
    put_octal(block, GROUP_AT, NUMBER_BYTES, 0);
    put_octal(block, SIZE_AT, LARGE_BYTES, entry->size <= LARGE_MAX ? entry->size : 0);
    put_octal(block, TIME_AT, LARGE_BYTES, entry->modified_s & LARGE_MAX);
    block[KIND_AT] = (uint8_t)kind;
    put_text(block, TARGET_AT, entry->target);
    memcpy(block + MAGIC_AT, MAGIC, MAGIC_BYTES);
    put_octal(block, DEVICES_AT, NUMBER_BYTES, 0);
    put_octal(block, DEVICES_AT + NUMBER_BYTES, NUMBER_BYTES, 0);
    put_sum(block);
    tr_buffer_add(blocks, block, sizeof block);
}

/* "LENGTH KEY=VALUE\n", whose length counts its own digits. */
static void put_record(struct tr_buffer *records, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3;
    size_t length = rest + 1;
    while ((size_t)snprintf(NULL, 0, "%zu", length) + rest != length) {
        length++;
    }
    tr_buffer_print(records, "%zu %s=%s\n", length, key, value);
}

static void put_zeros(struct tr_buffer *blocks, uint32_t count)
{
    static const uint8_t zeros[TR_TAR_BLOCK_BYTES];
    tr_buffer_add(blocks, zeros, count);
}

uint32_t tr_tar_padding(uint64_t size)
{
    return (uint32_t)(-size & (TR_TAR_BLOCK_BYTES - 1));
}

int tr_tar_header(const struct tr_tar_entry *entry, struct tr_buffer *blocks)
{
    struct tr_buffer records;
    char digits[32];
    tr_buffer_init(&records, EXTENDED_BYTES_MAX);
    if (strlen(entry->path) > NAME_BYTES) {
        put_record(&records, "path", entry->path);
    }
    if (strlen(entry->target) > NAME_BYTES) {
        put_record(&records, "linkpath", entry->target);
    }
    if (entry->size > LARGE_MAX) {
        (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)entry->size);
        put_record(&records, "size", digits);
    }
    if (records.size > 0) {
        const struct tr_tar_entry extended = {
            .path = EXTENDED_NAME, .mode = 0600, .size = records.size};
        put_block(blocks, EXTENDED, &extended);
        tr_buffer_add(blocks, records.data, records.size);
        put_zeros(blocks, tr_tar_padding(records.size));
    }
    put_block(blocks, (char)entry->kind, entry);
    int error = records.error;
    tr_buffer_fini(&records);
    return error != 0 ? error : blocks->error;
}

/* ---- Reading. ------------------------------------------------------------------------------- */

static uint64_t octal_at(const uint8_t *block, size_t at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i + 1 < bytes; i++) {
        value = value << 3 | (block[at + i] & 7U);
    }
    return value;
}

static void text_at(const uint8_t *block, size_t at, char text[PATH_MAX])
{
    (void)snprintf(text, PATH_MAX, "%.*s", NAME_BYTES, (const char *)block + at);
}

/* What the records say, as far as they are any; whether that is right, the comparison says. */
static void read_records(struct tr_text records, struct tr_tar_entry *entry)
{
    static const char size_key[] = "size=";
    const char *at = records.data;
    const char *end = records.data + records.size;
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        const char *key = memchr(at, ' ', (size_t)(end - at));
        const char *value = memchr(at, '=', (size_t)(end - at));
        if (line == NULL || key == NULL || value == NULL || value > line || key > value) {
            return;
        }
        int size = (int)(line - value - 1);
        if (strncmp(key + 1, "path=", strlen("path=")) == 0) {
            (void)snprintf(entry->path, sizeof entry->path, "%.*s", size, value + 1);
        } else if (strncmp(key + 1, "linkpath=", strlen("linkpath=")) == 0) {
            (void)snprintf(entry->target, sizeof entry->target, "%.*s", size, value + 1);
        } else if (strncmp(key + 1, size_key, strlen(size_key)) == 0) {
            (void)sscanf(value + 1, "%20lu", &entry->size);
        }
        at = line + 1;
    }
}

static bool is_empty(const uint8_t *block)
{
    static const uint8_t zeros[TR_TAR_BLOCK_BYTES];
    return memcmp(block, zeros, sizeof zeros) == 0;
}

static void read_block(const uint8_t *block, struct tr_tar_entry *entry)
{
    entry->kind = (enum tr_tar_kind)block[KIND_AT];
    entry->mode = (uint32_t)octal_at(block, MODE_AT, NUMBER_BYTES);
    entry->size = octal_at(block, SIZE_AT, LARGE_BYTES);
    entry->modified_s = octal_at(block, TIME_AT, LARGE_BYTES);
    text_at(block, NAME_AT, entry->path);
    text_at(block, TARGET_AT, entry->target);
}

static bool is_kind(const struct tr_tar_entry *entry)
{
    bool has_target = entry->kind == TR_TAR_HARD_LINK || entry->kind == TR_TAR_LINK;
    bool is_one = has_target || entry->kind == TR_TAR_FILE || entry->kind == TR_TAR_FOLDER;
    return is_one && has_target == (entry->target[0] != '\0') &&
           (entry->kind == TR_TAR_FILE || entry->size == 0);
}

/* Whether the header that is there is the one that the entry has. */
static int compare(struct tr_bytes bytes, const struct tr_tar_entry *entry, size_t *size)
{
    struct tr_buffer blocks;
    tr_buffer_init(&blocks, 0);
    int error = tr_tar_header(entry, &blocks);
    if (error == 0) {
        bool is_same =
            blocks.size <= bytes.size && memcmp(blocks.data, bytes.data, blocks.size) == 0;
        error = is_same && is_kind(entry) ? 0 : TR_MALFORMED;
    }
    *size = blocks.size;
    tr_buffer_fini(&blocks);
    return error;
}

int tr_tar_read(struct tr_bytes bytes, struct tr_tar_entry *entry, size_t *size)
{
    const uint8_t *block = bytes.data;
    struct tr_text records = {.size = 0};
    size_t before = 0;
    if (bytes.size < TR_TAR_BLOCK_BYTES) {
        return TR_TRUNCATED;
    }
    if (is_empty(block)) {
        return TR_NOT_FOUND;
    }
    if (block[KIND_AT] == EXTENDED) {
        uint64_t record_bytes = octal_at(block, SIZE_AT, LARGE_BYTES);
        if (record_bytes > EXTENDED_BYTES_MAX) {
            return TR_MALFORMED;
        }
        before = TR_TAR_BLOCK_BYTES + record_bytes + tr_tar_padding(record_bytes);
        if (bytes.size < before + TR_TAR_BLOCK_BYTES) {
            return TR_TRUNCATED;
        }
        records = (struct tr_text){(const char *)block + TR_TAR_BLOCK_BYTES, record_bytes};
    }
    memset(entry, 0, sizeof *entry);
    read_block(block + before, entry);
    read_records(records, entry);
    return compare(bytes, entry, size);
}
