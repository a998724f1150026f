/*
 * A thread that removes folders beside other work.
 *
 * Names go through a SOCK_SEQPACKET pair, which keeps message boundaries and is bounded by the
 * socket's buffer. When it is full the caller removes the folder itself, so that removals keep up
 * with new folders. The caller never touches a share, because a share may hang: such a folder waits
 * in a list until there is room. The thread ends at the end of file, after all names before it.
 */
#include "runtime/process/sweep.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/memory.h"
#include "runtime/process/attempt.h"

/* Header of a queued name. Without trusted bytes it is a folder of the store. */
struct head {
    uint32_t trusted_bytes;
    bool keeps_logs;
};

/* A folder that waits for room in the queue. */
struct waiting {
    struct waiting *next;
    struct head head;
    size_t size;
    char path[];
};

struct tri_sweep {
    pthread_t thread;
    int giving;
    struct waiting *first;
    struct waiting **end; /* where the next one is linked */
    uint32_t waiting;
    int taking; /* used by the thread, as what follows */
    struct tri_attempt_folders folders;
};

/* Errors are not reported: a folder that cannot be removed is left, as after a crash. */
static void remove_one(struct tri_sweep *sweep, const struct head *head, struct tr_text path)
{
    char reason[TR_REASON_BYTES_MAX];
    const struct tri_shared shared = {
        .path = path, .trusted_bytes = head->trusted_bytes, .keeps_logs = head->keeps_logs};
    if (head->trusted_bytes > 0) {
        (void)!tri_shared_remove(&shared);
    } else {
        (void)!tri_attempt_folder_remove(&sweep->folders, path, reason);
    }
}

static void *sweep_main(void *argument)
{
    struct tri_sweep *sweep = argument;
    char path[TR_PATH_BYTES_MAX];
    struct head head;
    struct iovec parts[] = {{&head, sizeof head}, {path, sizeof path}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = TR_COUNT_OF(parts)};
    ssize_t size;
    while ((size = recvmsg(sweep->taking, &message, 0)) > 0 || (size < 0 && errno == EINTR)) {
        if (size > (ssize_t)sizeof head) {
            remove_one(sweep, &head,
                       (struct tr_text){.data = path, .size = (size_t)size - sizeof head});
        }
    }
    return NULL;
}

int tri_sweep_start(const char *store_folder, struct tri_sweep **out)
{
    int ends[2];
    struct tri_sweep *sweep = tr_alloc_zero(1, sizeof *sweep);
    if (sweep == NULL) {
        return TR_MEMORY;
    }
    int error = tri_attempt_folders_init(&sweep->folders, store_folder);
    if (error != 0) {
        goto free_sweep;
    }
    error = TR_SYSTEM;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        goto fini_folders;
    }
    sweep->end = &sweep->first;
    sweep->giving = ends[0];
    sweep->taking = ends[1];
    if (pthread_create(&sweep->thread, NULL, sweep_main, sweep) != 0) {
        goto close_ends;
    }
    *out = sweep;
    return 0;

close_ends:
    close(ends[0]);
    close(ends[1]);
fini_folders:
    tri_attempt_folders_fini(&sweep->folders);
free_sweep:
    tr_free(sweep);
    return error;
}

static bool take(struct tri_sweep *sweep, struct head head, struct tr_text path)
{
    struct iovec parts[] = {{&head, sizeof head}, {(void *)(uintptr_t)path.data, path.size}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = TR_COUNT_OF(parts)};
    bool is_short = path.size > 0 && path.size <= TR_PATH_BYTES_MAX;
    return is_short && sendmsg(sweep->giving, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
                           (ssize_t)(sizeof head + path.size);
}

bool tri_sweep_take(struct tri_sweep *sweep, struct tr_text path)
{
    return take(sweep, (struct head){.trusted_bytes = 0}, path);
}

/* ---- What waits. ---------------------------------------------------------------------------- */

static bool add_waiting(struct tri_sweep *sweep, struct head head, struct tr_text path)
{
    bool is_fine = sweep->waiting < TR_SHARED_WAITING_MAX && path.size <= TR_PATH_BYTES_MAX;
    struct waiting *added = is_fine ? tr_alloc(sizeof *added + path.size) : NULL;
    if (added == NULL) {
        return false;
    }
    *added = (struct waiting){.head = head, .size = path.size};
    memcpy(added->path, path.data, path.size);
    *sweep->end = added;
    sweep->end = &added->next;
    sweep->waiting++;
    return true;
}

static void drop_first(struct tri_sweep *sweep)
{
    struct waiting *first = sweep->first;
    sweep->first = first->next;
    sweep->end = sweep->first == NULL ? &sweep->first : sweep->end;
    sweep->waiting--;
    tr_free(first);
}

bool tri_sweep_take_shared(struct tri_sweep *sweep, const struct tri_shared *shared)
{
    struct head head = {.trusted_bytes = shared->trusted_bytes, .keeps_logs = shared->keeps_logs};
    if (shared->trusted_bytes == 0 || shared->path.size == 0) {
        return false;
    }
    tri_sweep_go_on(sweep);
    return (sweep->first == NULL && take(sweep, head, shared->path)) ||
           add_waiting(sweep, head, shared->path);
}

void tri_sweep_go_on(struct tri_sweep *sweep)
{
    while (sweep != NULL && sweep->first != NULL &&
           take(sweep, sweep->first->head,
                (struct tr_text){.data = sweep->first->path, .size = sweep->first->size})) {
        drop_first(sweep);
    }
}

/* Moves waiting folders to the queue until the time is over; the rest stays. */
static void hand_on_last(struct tri_sweep *sweep)
{
    uint64_t end_ms = tri_monotonic_ms() + TR_SHARED_LAST_MS;
    uint64_t now_ms;
    while (sweep->first != NULL && (now_ms = tri_monotonic_ms()) < end_ms) {
        struct pollfd room = {.fd = sweep->giving, .events = POLLOUT};
        (void)poll(&room, 1, (int)(end_ms - now_ms));
        tri_sweep_go_on(sweep);
    }
    while (sweep->first != NULL) {
        drop_first(sweep);
    }
}

/* ---- Its end. ------------------------------------------------------------------------------- */

void tri_sweep_stop(struct tri_sweep *sweep)
{
    if (sweep == NULL) {
        return;
    }
    hand_on_last(sweep);
    /* Closing the socket ends the thread after the queued names. */
    close(sweep->giving);
    pthread_join(sweep->thread, NULL);
    close(sweep->taking);
    tri_attempt_folders_fini(&sweep->folders);
    tr_free(sweep);
}
