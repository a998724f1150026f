/*
 * The two files. `in-hand` is mapped, one slot per worker, written while handlers run; the kernel
 * keeps what a killed process wrote. `poison` is a short list, rewritten when it changes.
 *
 * A slot is busy while its turn is odd. A process that ends in order clears the slots; a killed one
 * leaves them, and the next start counts each busy slot and clears it. The lists are written before
 * the slots are cleared: a crash in between counts twice, which makes a start more careful, while
 * the other order could lose a count.
 *
 * The mapping survives the process but not a power loss. That is enough to find handlers that end
 * the process.
 */
#include "runtime/host/poison_message.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/host/aside.h"
#include "runtime/host/attribution.h"
#include "runtime/host/row_file.h"
#include "runtime/trace/line.h"

#define PATH_BYTES 4096
#define POISONS_MAX 256

/* After those of the workers: the group that a start is loading. */
#define LOADING TR_WORKERS_MAX
#define SLOTS (TR_WORKERS_MAX + 1)

/* A message that was handled when the process ended, and how often. */
struct poison_row {
    struct tr_key actor;
    struct tri_message_name name;
    uint32_t ends;   /* times its handler has ended the process */
    uint32_t silent; /* times the process ended while it was handled, by kill -9 or the like */
};

static const struct tri_row_file list = {.name = "poison",
                                         .mark = 0x32304e4f53494f50U, /* POISON02 */
                                         .row_bytes = sizeof(struct poison_row),
                                         .rows_max = POISONS_MAX};

struct tri_poison_messages {
    struct tri_current_message *slots; /* SLOTS, mapped */
    struct poison_row rows[POISONS_MAX];
    size_t row_count;
    char folder[PATH_BYTES];
};

static int map_hands(struct tri_poison_messages *poison, const char *folder)
{
    char path[PATH_BYTES];
    int path_size = snprintf(path, sizeof path, "%s/in-hand", folder);
    if (path_size < 0 || (size_t)path_size >= sizeof path) {
        return TR_INVALID;
    }
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
        return TR_SYSTEM;
    }
    size_t size = SLOTS * sizeof(struct tri_current_message);
    void *mapped = MAP_FAILED;
    /* One of another size was written by another version, with slots of another layout. */
    bool is_ours = lseek(file, 0, SEEK_END) == (off_t)size || ftruncate(file, 0) == 0;
    /* Allocates all of it now: a full disk later must not affect a handler. */
    if (is_ours && posix_fallocate(file, 0, (off_t)size) == 0) {
        mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    close(file);
    if (mapped == MAP_FAILED) {
        return TR_SYSTEM;
    }
    poison->slots = mapped;
    return 0;
}

static int write_rows(const struct tri_poison_messages *poison)
{
    return tri_row_file_write(&list, poison->folder, poison->rows, poison->row_count);
}

static struct tri_message_name name_of(const struct tri_current_message *slot)
{
    return (struct tri_message_name){
        .from = {{slot->from_group, slot->from_serial}, slot->from_incarnation},
        .sequence = slot->sequence,
        .digest = slot->digest,
        .type = (uint16_t)slot->type,
    };
}

/* The row of a slot's message, created if missing; the oldest is dropped when the list is full. */
static struct poison_row *row_of(struct tri_poison_messages *poison,
                                 const struct tri_current_message *slot)
{
    struct poison_row *rows = poison->rows;
    struct poison_row row = {
        .actor = {slot->actor_group, slot->actor_serial},
        .name = name_of(slot),
    };
    for (uint32_t i = 0; i < poison->row_count; i++) {
        if (tr_key_equal(rows[i].actor, row.actor) &&
            tri_message_name_equal(&rows[i].name, &row.name)) {
            return &rows[i];
        }
    }
    if (poison->row_count == POISONS_MAX) {
        memmove(&rows[0], &rows[1], (POISONS_MAX - 1) * sizeof row);
        poison->row_count--;
    }
    rows[poison->row_count] = row;
    return &rows[poison->row_count++];
}

/*
 * Whether a handler is known to have ended the process. Then slots without a recorded cause are
 * innocent; otherwise all are counted as silent ends, which weigh less.
 */
static bool has_culprit(struct tri_poison_messages *poison)
{
    bool has = false;
    for (uint32_t i = 0; i < TR_WORKERS_MAX; i++) {
        has = has ||
              (tri_current_message_is_busy(&poison->slots[i]) && poison->slots[i].ended_by != 0);
    }
    return has;
}

/* The group that was being loaded when the process ended; 0: none. */
static uint64_t loading_of(struct tri_poison_messages *poison)
{
    struct tri_current_message *slot = &poison->slots[LOADING];
    return tri_current_message_is_busy(slot) ? slot->actor_group : 0;
}

/* A crash is attributed to the called part of the program, not to its caller. */
static int count_slots(struct tri_poison_messages *poison)
{
    bool is_one_known = has_culprit(poison);
    bool has_changed = false;
    int error = 0;
    for (uint32_t i = 0; i < TR_WORKERS_MAX && error == 0; i++) {
        struct tri_current_message *slot = &poison->slots[i];
        if (!tri_current_message_is_busy(slot) || (is_one_known && slot->ended_by == 0)) {
            continue;
        }
        if (slot->ended_by != 0 && slot->part[0] != '\0') {
            error = tri_attribution_count(poison->folder, slot);
        } else {
            struct poison_row *row = row_of(poison, slot);
            *(slot->ended_by != 0 ? &row->ends : &row->silent) += 1;
            has_changed = true;
        }
    }
    if (error == 0 && has_changed) {
        error = write_rows(poison);
    }
    if (error == 0) {
        error = tri_aside_count(poison->folder, loading_of(poison));
    }
    if (error == 0) {
        memset(poison->slots, 0, SLOTS * sizeof *poison->slots);
    }
    return error;
}

int tri_poison_message_open(const char *folder, struct tri_poison_messages **out)
{
    struct tri_poison_messages *poison = tr_alloc_zero(1, sizeof *poison);
    if (poison == NULL) {
        return TR_MEMORY;
    }
    snprintf(poison->folder, sizeof poison->folder, "%s", folder);
    int error = map_hands(poison, folder);
    if (error == 0) {
        /* A list that cannot be read counts as empty: it only makes a start more careful. */
        poison->row_count = tri_row_file_read(&list, folder, poison->rows);
        error = count_slots(poison);
    }
    if (error != 0) {
        tri_poison_message_close(poison);
        return error;
    }
    *out = poison;
    return 0;
}

/*
 * Clears the slots of the workers, but not that of the loading: a start that gives up while it
 * loads a group counts for that group.
 */
void tri_poison_message_close(struct tri_poison_messages *poison)
{
    if (poison == NULL) {
        return;
    }
    if (poison->slots != NULL) {
        memset(poison->slots, 0, TR_WORKERS_MAX * sizeof *poison->slots);
        munmap(poison->slots, SLOTS * sizeof *poison->slots);
    }
    tr_free(poison);
}

/*
 * The turn is even while the group changes, so a crash never leaves a half written number as busy.
 */
void tri_poison_message_note_loading(struct tri_poison_messages *poison, uint64_t group)
{
    struct tri_current_message *slot = &poison->slots[LOADING];
    if (slot->actor_group == group) {
        return;
    }
    atomic_store_explicit(&slot->turn, 0, memory_order_release);
    slot->actor_group = group;
    atomic_store_explicit(&slot->turn, !tr_group_is_none(group), memory_order_release);
}

struct tri_current_message *tri_poison_message_slot(struct tri_poison_messages *poison,
                                                    uint32_t worker)
{
    return &poison->slots[worker];
}

/* The weight in silent ends: an identified end counts as several of them. */
static uint64_t weight_of(const struct poison_row *row)
{
    return row->ends * (uint64_t)(TR_POISON_SILENT_ENDS / TR_POISON_ENDS) + row->silent;
}

static bool is_poison(const struct poison_row *row)
{
    return weight_of(row) >= TR_POISON_SILENT_ENDS;
}

/* The row of this actor's message with the greatest weight, or NULL. */
static const struct poison_row *worst_of(const struct tri_poison_messages *poison,
                                         struct tr_key actor)
{
    const struct poison_row *worst = NULL;
    for (uint32_t i = 0; poison != NULL && i < poison->row_count; i++) {
        const struct poison_row *row = &poison->rows[i];
        if (tr_key_equal(row->actor, actor) &&
            (worst == NULL || weight_of(row) > weight_of(worst))) {
            worst = row;
        }
    }
    return worst;
}

uint32_t tri_poison_message_count(const struct tri_poison_messages *poison, struct tr_key actor)
{
    const struct poison_row *worst = worst_of(poison, actor);
    return worst == NULL ? 0 : worst->ends + worst->silent;
}

/* Reports that an actor is quarantined, and why. */
static void tell_quarantined(struct tri_worker *worker, struct tri_actor *actor,
                             const struct poison_row *row)
{
    char address[TR_ADDRESS_BYTES_MAX];
    struct tri_line line;
    tri_line_init(&line, STDERR_FILENO);
    tri_line_string(&line, "troupe: ");
    tri_line_text(&line, tri_actor_address(worker, actor, address, sizeof address));
    tri_line_key(&line, " (", actor->key);
    tri_line_number(&line, ") is quarantined: its message of type ", row->name.type);
    tri_line_key(&line, " from ", row->name.from.key);
    tri_line_number(&line, " has ended the process ", row->ends + row->silent);
    tri_line_string(&line, " times; it does not run until it is resumed\n");
    tri_line_flush(&line);
}

/*
 * With one identified end the actor counts as failed once: if its handler fails with an error at
 * the next try, it is quarantined without another one.
 */
void tri_poison_message_apply(struct tri_poison_messages *poison, struct tri_worker *worker,
                              struct tri_actor *actor)
{
    const struct poison_row *worst = worst_of(poison, actor->key);
    if (worst != NULL && is_poison(worst)) {
        tri_actor_quarantine(worker, actor);
        tell_quarantined(worker, actor, worst);
    } else if (worst != NULL && worst->ends > 0) {
        actor->flags |= TRI_ACTOR_RETRIED;
    }
}

/* All rows of the actor are dropped, also those of other messages. */
int tri_poison_message_take(struct tri_poison_messages *poison, struct tr_key actor,
                            struct tri_message_name *name)
{
    const struct poison_row *worst = worst_of(poison, actor);
    *name = (struct tri_message_name){0};
    if (worst == NULL) {
        return 0;
    }
    if (is_poison(worst)) {
        *name = worst->name;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < poison->row_count; i++) {
        if (!tr_key_equal(poison->rows[i].actor, actor)) {
            poison->rows[kept++] = poison->rows[i];
        }
    }
    poison->row_count = kept;
    return write_rows(poison);
}
