/*
 * A line for each file, "DIGEST  PATH"; comments with the other entries, and the number of all. All
 * of it follows from the entries, so that it is checked by making it again.
 */
#include "deploy/backup/tar_sums.h"

#include <string.h>

/* A line for each file of the largest stores. */
#define TEXT_BYTES_MAX (4ULL << 30)

/* How the line of an entry without bytes begins. */
#define LINK "# "

/* Before a path stand its digest and two blanks. */
#define PATH_AT (2 * crypto_hash_sha256_BYTES + 2)

void tr_sums_init(struct tr_sums *sums)
{
    *sums = (struct tr_sums){.entries = 0};
    tr_buffer_init(&sums->text, TEXT_BYTES_MAX);
}

void tr_sums_fini(struct tr_sums *sums)
{
    tr_buffer_fini(&sums->text);
}

void tr_sums_begin(struct tr_sums *sums)
{
    (void)crypto_hash_sha256_init(&sums->state);
}

void tr_sums_update(struct tr_sums *sums, struct tr_bytes bytes)
{
    (void)crypto_hash_sha256_update(&sums->state, bytes.data, bytes.size);
}

void tr_sums_end(struct tr_sums *sums, const struct tr_tar_entry *entry)
{
    uint8_t digest[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof digest + 1];
    sums->entries++;
    if (entry->kind != TR_TAR_FILE) {
        tr_buffer_print(&sums->text, LINK "%s -> %s\n", entry->path, entry->target);
        return;
    }
    (void)crypto_hash_sha256_final(&sums->state, digest);
    (void)sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    tr_buffer_print(&sums->text, "%s  %s\n", hex, entry->path);
}

int tr_sums_finish(struct tr_sums *sums)
{
    tr_buffer_print(&sums->text, "# %llu entries\n", (unsigned long long)sums->entries);
    return sums->text.error;
}

static struct tr_text line_at(struct tr_text text, size_t at)
{
    const char *end = at < text.size ? memchr(text.data + at, '\n', text.size - at) : NULL;
    size_t size = end == NULL ? text.size - at : (size_t)(end - text.data) + 1 - at;
    return (struct tr_text){.data = text.data + at, .size = size};
}

static struct tr_text path_of(struct tr_text line)
{
    size_t at = line.data[0] == '#' ? strlen(LINK) : PATH_AT;
    size_t size = line.size > at ? line.size - at - 1 : 0;
    return size == 0 ? tr_text_of(TR_SUMS_NAME)
                     : (struct tr_text){.data = line.data + at, .size = size};
}

struct tr_text tr_sums_difference(const struct tr_sums *sums, struct tr_text found)
{
    struct tr_text own = tr_buffer_text(&sums->text);
    size_t at = 0;
    while (at < own.size) {
        struct tr_text line = line_at(own, at);
        if (at + line.size > found.size || memcmp(line.data, found.data + at, line.size) != 0) {
            return path_of(line);
        }
        at += line.size;
    }
    return found.size == own.size ? (struct tr_text){.size = 0} : tr_text_of(TR_SUMS_NAME);
}
