/*
 * The two files. `in-hand` is mapped, one line per worker, written while handlers run; the kernel
 * keeps what a killed process wrote. `poison` is a short list, rewritten whole at a start.
 */
#include "runtime/host/poison.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define POISONS_MAX 256

/* A message that was in hand when the process ended, and how often. */
struct poison_row {
    struct tr_key actor;
    struct tr_key from;
    uint64_t from_incarnation;
    uint64_t sequence;
    uint64_t count;
};

struct tri_poison {
    struct tri_in_hand *hands; /* TR_WORKERS_MAX, mapped */
    struct poison_row rows[POISONS_MAX];
    uint32_t row_count;
};

static int open_in(const char *folder, const char *name, int flags)
{
    char path[PATH_BYTES];
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (size < 0 || (size_t)size >= sizeof path) {
        return TR_INVALID;
    }
    int file = open(path, flags | O_CLOEXEC, 0600);
    return file < 0 ? TR_SYSTEM : file;
}

static int map_hands(struct tri_poison *poison, const char *folder)
{
    size_t size = TR_WORKERS_MAX * sizeof(struct tri_in_hand);
    int file = open_in(folder, "in-hand", O_RDWR | O_CREAT);
    if (file < 0) {
        return file;
    }
    void *mapped = MAP_FAILED;
    if (ftruncate(file, (off_t)size) == 0) {
        mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    close(file);
    if (mapped == MAP_FAILED) {
        return TR_SYSTEM;
    }
    poison->hands = mapped;
    return 0;
}

/* A list that cannot be read is an empty one: it only ever makes a start more careful. */
static void read_rows(struct tri_poison *poison, const char *folder)
{
    int file = open_in(folder, "poison", O_RDONLY);
    if (file < 0) {
        return;
    }
    ssize_t size = read(file, poison->rows, sizeof poison->rows);
    close(file);
    poison->row_count = size < 0 ? 0 : (uint32_t)((size_t)size / sizeof poison->rows[0]);
}

static int write_rows(const struct tri_poison *poison, const char *folder)
{
    int file = open_in(folder, "poison", O_WRONLY | O_CREAT | O_TRUNC);
    if (file < 0) {
        return file;
    }
    size_t size = poison->row_count * sizeof poison->rows[0];
    bool is_written = write(file, poison->rows, size) == (ssize_t)size && fsync(file) == 0;
    close(file);
    return is_written ? 0 : TR_SYSTEM;
}

/* The row of what was in hand, made where it is missing; the oldest goes when there is no room. */
static struct poison_row *row_of(struct tri_poison *poison, const struct tri_in_hand *hand)
{
    struct poison_row row = {
        .actor = {hand->actor_group, hand->actor_serial},
        .from = {hand->from_group, hand->from_serial},
        .from_incarnation = hand->from_incarnation,
        .sequence = hand->sequence,
    };
    for (uint32_t i = 0; i < poison->row_count; i++) {
        struct poison_row *known = &poison->rows[i];
        if (tr_key_equal(known->actor, row.actor) && tr_key_equal(known->from, row.from) &&
            known->from_incarnation == row.from_incarnation && known->sequence == row.sequence) {
            return known;
        }
    }
    if (poison->row_count == POISONS_MAX) {
        memmove(&poison->rows[0], &poison->rows[1], (POISONS_MAX - 1) * sizeof row);
        poison->row_count--;
    }
    poison->rows[poison->row_count] = row;
    return &poison->rows[poison->row_count++];
}

static int count_hands(struct tri_poison *poison, const char *folder)
{
    bool has_changed = false;
    for (uint32_t i = 0; i < TR_WORKERS_MAX; i++) {
        struct tri_in_hand *hand = &poison->hands[i];
        if (tri_in_hand_is_busy(hand)) {
            row_of(poison, hand)->count++;
            has_changed = true;
        }
    }
    int error = has_changed ? write_rows(poison, folder) : 0;
    if (error == 0) {
        memset(poison->hands, 0, TR_WORKERS_MAX * sizeof *poison->hands);
    }
    return error;
}

int tri_poison_open(const char *folder, struct tri_poison **out)
{
    struct tri_poison *poison = tr_alloc_zero(1, sizeof *poison);
    if (poison == NULL) {
        return TR_MEMORY;
    }
    int error = map_hands(poison, folder);
    if (error == 0) {
        read_rows(poison, folder);
        error = count_hands(poison, folder);
    }
    if (error != 0) {
        tri_poison_close(poison);
        return error;
    }
    *out = poison;
    return 0;
}

void tri_poison_close(struct tri_poison *poison)
{
    if (poison == NULL) {
        return;
    }
    if (poison->hands != NULL) {
        size_t size = TR_WORKERS_MAX * sizeof *poison->hands;
        memset(poison->hands, 0, size);
        munmap(poison->hands, size);
    }
    tr_free(poison);
}

struct tri_in_hand *tri_poison_hand(struct tri_poison *poison, uint32_t worker)
{
    return &poison->hands[worker];
}

uint32_t tri_poison_count(const struct tri_poison *poison, struct tr_key actor)
{
    uint64_t most = 0;
    for (uint32_t i = 0; poison != NULL && i < poison->row_count; i++) {
        const struct poison_row *row = &poison->rows[i];
        if (tr_key_equal(row->actor, actor) && row->count > most) {
            most = row->count;
        }
    }
    return (uint32_t)most;
}

void tri_poison_apply(struct tri_poison *poison, struct tri_worker *worker, struct tri_actor *actor)
{
    uint32_t count = tri_poison_count(poison, actor->key);
    if (count >= 2) {
        tri_quarantine(worker, actor);
    } else if (count == 1) {
        actor->flags |= TRI_ACTOR_RETRIED;
    }
}
