/*
 * What is in hand, and what is counted of it.
 *
 * The file `in-hand` is mapped, one slot per worker, written while handlers run; the kernel keeps
 * what a killed process wrote. It belongs to this machine, as the process does, and costs a message
 * some stores to memory, no commit. The counts that follow from it are rows of the store.
 *
 * A slot is busy while its turn is odd. A process that ends in order clears the slots; a killed one
 * leaves them, and the next start counts each busy slot and clears it. The invariant: no group is
 * loaded before what the slots say is counted in a commit, and no slot is cleared before that
 * commit. So whatever ends the process while it loads or handles is counted when the next one gets
 * there, and the order is: commit the counts, clear the slots, load. A start that cannot commit
 * leaves the slots, and ends; one that is killed between the commit and the clearing counts twice,
 * which makes a start more careful, while the other order could lose a count.
 *
 * The mapping survives the process but not a power loss. That is enough to find handlers that end
 * the process. On another machine, or in another folder, nothing is known of it, and nothing is
 * counted.
 */
#include "runtime/crashes/poison_message.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/crashes/aside.h"
#include "runtime/crashes/attribution.h"
#include "runtime/trace/line.h"

#define PATH_BYTES 4096

/* After those of the workers: the group that a start is loading. */
#define LOADING TR_WORKERS_MAX
#define SLOTS (TR_WORKERS_MAX + 1)

struct tri_poison_messages {
    struct tri_current_message *slots; /* SLOTS, mapped */
    struct tri_crashes crashes;
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

/* The row of a slot's message. */
static struct tr_crash_message *message_of(struct tri_crashes *crashes,
                                           const struct tri_current_message *slot,
                                           uint32_t incarnation)
{
    const struct tri_crash_row wanted = {
        .kind = TRI_CRASH_MESSAGE,
        .key = {slot->actor_group, slot->actor_serial},
        .message = {.from = {{slot->from_group, slot->from_serial}, slot->from_incarnation},
                    .sequence = slot->sequence,
                    .digest = slot->digest,
                    .type = (uint16_t)slot->type},
    };
    return &tri_crashes_row(crashes, &wanted, incarnation)->message;
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
static void count_slots(struct tri_poison_messages *poison, uint32_t incarnation)
{
    bool is_one_known = has_culprit(poison);
    for (uint32_t i = 0; i < TR_WORKERS_MAX; i++) {
        struct tri_current_message *slot = &poison->slots[i];
        if (!tri_current_message_is_busy(slot) || (is_one_known && slot->ended_by == 0)) {
            continue;
        }
        if (slot->ended_by != 0 && slot->part[0] != '\0') {
            tri_attribution_count(&poison->crashes, slot, incarnation);
        } else {
            struct tr_crash_message *message = message_of(&poison->crashes, slot, incarnation);
            *(slot->ended_by != 0 ? &message->ends : &message->silent) += 1;
        }
    }
    tri_aside_count(&poison->crashes, loading_of(poison), incarnation);
}

static void close_slots(struct tri_poison_messages *poison)
{
    if (poison->slots != NULL) {
        munmap(poison->slots, SLOTS * sizeof *poison->slots);
    }
    tr_free(poison);
}

int tri_poison_message_open(const char *folder, struct tri_store *store,
                            struct tri_poison_messages **out)
{
    struct tri_poison_messages *poison = tr_alloc_zero(1, sizeof *poison);
    if (poison == NULL) {
        return TR_MEMORY;
    }
    int error = map_hands(poison, folder);
    if (error == 0) {
        error = tri_crashes_read(store, &poison->crashes);
    }
    if (error == 0) {
        count_slots(poison, (uint32_t)store->incarnation);
        error = tri_crashes_commit(&poison->crashes, store);
    }
    if (error != 0) {
        close_slots(poison); /* as they are: the next start counts them */
        return error;
    }
    memset(poison->slots, 0, SLOTS * sizeof *poison->slots);
    *out = poison;
    return 0;
}

/*
 * Clears the slots of the workers, but not that of the loading: a start that gives up while it
 * loads a group counts for that group.
 */
void tri_poison_message_close(struct tri_poison_messages *poison)
{
    if (poison != NULL) {
        memset(poison->slots, 0, TR_WORKERS_MAX * sizeof *poison->slots);
        close_slots(poison);
    }
}

struct tri_crashes *tri_poison_message_crashes(struct tri_poison_messages *poison)
{
    return &poison->crashes;
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
static uint64_t weight_of(const struct tr_crash_message *message)
{
    return message->ends * (uint64_t)(TR_POISON_SILENT_ENDS / TR_POISON_ENDS) + message->silent;
}

static bool is_poison(const struct tr_crash_message *message)
{
    return weight_of(message) >= TR_POISON_SILENT_ENDS;
}

/* This actor's message with the greatest weight, or NULL. */
static const struct tr_crash_message *worst_of(const struct tri_crashes *crashes,
                                               struct tr_key actor)
{
    const struct tr_crash_message *worst = NULL;
    for (size_t i = 0; crashes != NULL && i < crashes->count; i++) {
        const struct tri_crash_row *row = &crashes->rows[i];
        if (row->kind == TRI_CRASH_MESSAGE && tr_key_equal(row->key, actor) &&
            (worst == NULL || weight_of(&row->message) > weight_of(worst))) {
            worst = &row->message;
        }
    }
    return worst;
}

static const struct tri_crashes *crashes_of(const struct tri_poison_messages *poison)
{
    return poison == NULL ? NULL : &poison->crashes;
}

uint32_t tri_poison_message_count(const struct tri_poison_messages *poison, struct tr_key actor)
{
    const struct tr_crash_message *worst = worst_of(crashes_of(poison), actor);
    return worst == NULL ? 0 : worst->ends + worst->silent;
}

/* Reports that an actor is quarantined, and why. */
static void tell_quarantined(struct tri_worker *worker, struct tri_actor *actor,
                             const struct tr_crash_message *message)
{
    char address[TR_ADDRESS_BYTES_MAX];
    struct tri_line line;
    tri_line_init(&line, STDERR_FILENO);
    tri_line_string(&line, "troupe: ");
    tri_line_text(&line, tri_actor_address(worker, actor, address, sizeof address));
    tri_line_key(&line, " (", actor->key);
    tri_line_number(&line, ") is quarantined: its message of type ", message->type);
    tri_line_key(&line, " from ", message->from.key);
    tri_line_number(&line, " has ended the process ", message->ends + message->silent);
    tri_line_string(&line, " times; it does not run until it is resumed\n");
    tri_line_flush(&line);
}

/*
 * With one identified end the actor counts as failed once: if its handler fails with an error at
 * the next try, it is quarantined without another one.
 */
void tri_poison_message_judge(const struct tri_crashes *crashes, struct tri_worker *worker,
                              struct tri_actor *actor)
{
    const struct tr_crash_message *worst = worst_of(crashes, actor->key);
    if (worst != NULL && is_poison(worst)) {
        tri_actor_quarantine(worker, actor);
        tell_quarantined(worker, actor, worst);
    } else if (worst != NULL && worst->ends > 0) {
        actor->flags |= TRI_ACTOR_RETRIED;
    }
}

void tri_poison_message_apply(struct tri_poison_messages *poison, struct tri_worker *worker,
                              struct tri_actor *actor)
{
    tri_poison_message_judge(crashes_of(poison), worker, actor);
}

struct tri_message_name tri_poison_message_name(const struct tri_poison_messages *poison,
                                                struct tr_key actor)
{
    const struct tr_crash_message *worst = worst_of(crashes_of(poison), actor);
    if (worst == NULL || !is_poison(worst)) {
        return (struct tri_message_name){0};
    }
    return (struct tri_message_name){.from = worst->from,
                                     .sequence = worst->sequence,
                                     .digest = worst->digest,
                                     .type = worst->type};
}
