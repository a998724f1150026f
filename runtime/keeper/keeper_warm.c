/*
 * Workers and the attempts that wait for them.
 *
 * A worker's socket is what stands for its three standard files until it has read its own program
 * there: so what an interpreter says that cannot begin is a packet on it, too, and the reason why
 * the worker is refused. Packets of attempts wait here beyond a few, since the system queues few.
 *
 * A forked process is known by what the kernel says of who has sent its "r". Where a worker forks
 * twice it may be reparented later than that, but before its end is: its parent between ends
 * without doing anything.
 *
 * Its mark is a worker's until it has become an attempt's: /SERIAL, as no key begins, and blanks up
 * to the size of the longest, which it writes its own mark over.
 */
#include "runtime/keeper/keeper_warm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/keeper/keeper_orphans.h"
#include "runtime/keeper/warm_worker.h"
#include "runtime/memory.h"

/* What a worker is told: its own program, then attempts. */
#define BEGIN                                                                               \
    "import socket; control = socket.socket(fileno=0); exec(compile(control.recv(1 << 20)," \
    " 'warm_worker.py', 'exec'), {'__name__': 'warm_worker', 'control': control})"

#define FILES_MAX 3

static const char key_begin[] = "/";

int tri_warm_init(struct tri_warm *warm, const struct tri_process_spawner *spawner, uint64_t store)
{
    *warm = (struct tri_warm){.spawner = spawner, .store = store};
    for (size_t i = 0; i < TR_KEEPER_WARM_MAX; i++) {
        warm->workers[i].control = -1;
    }
    warm->events = epoll_create1(EPOLL_CLOEXEC);
    return warm->events < 0 ? TR_SYSTEM : 0;
}

static void listen_to(const struct tri_warm *warm, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    (void)epoll_ctl(warm->events, EPOLL_CTL_ADD, fd, &event);
}

/* ---- Whom it serves. ------------------------------------------------------------------------ */

/* Whether NAME=value is one of the variables that `names` lists. */
static bool is_named(struct tr_bytes word, struct tr_bytes names)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(names, &cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_bytes name = tr_process_string_next(&cursor);
        if (word.size > name.size && word.data[name.size] == '=' &&
            memcmp(word.data, name.data, name.size) == 0) {
            return true;
        }
    }
    return false;
}

/* How many of its variables are named; written one behind the other, if there is a writer. */
static uint32_t each_named(const struct tr_process_start *start, struct tr_writer *writer)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(start->environment, &cursor);
    uint32_t named = 0;
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_bytes word = tr_process_string_next(&cursor);
        if (cursor.error == 0 && is_named(word, start->warm)) {
            named++;
            if (writer != NULL) {
                tr_process_string_write(writer, word);
            }
        }
    }
    return named;
}

int tri_warm_environment(const struct tr_process_start *start, struct tr_bytes *environment)
{
    struct tr_cursor cursor;
    uint32_t names = tr_process_array_begin(start->warm, &cursor);
    if (names == 0 || cursor.error != 0) {
        *environment = (struct tr_bytes){0};
        return cursor.error;
    }
    size_t size = TR_BLOB_HEADER_BYTES_MAX + start->environment.size;
    uint8_t *bytes = tr_alloc(size);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    tr_write_array(&writer, each_named(start, NULL));
    (void)each_named(start, &writer);
    if (writer.error != 0) {
        tr_free(bytes);
        return writer.error;
    }
    *environment = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    return 0;
}

/* The first line of a script, without its #!; false where it is none. */
static bool read_head(const char *script, char *line, size_t size)
{
    int fd = open(script, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t count = fd < 0 ? -1 : read(fd, line, size - 1);
    if (fd >= 0) {
        close(fd);
    }
    if (count < 2 || line[0] != '#' || line[1] != '!') {
        return false;
    }
    line[count] = '\0';
    size_t begin = 2 + strspn(line + 2, " \t");
    memmove(line, line + begin, strlen(line + begin) + 1);
    line[strcspn(line, " \t\r\n")] = '\0';
    return true;
}

/*
 * The Python that runs the script: what its first line says, or, where that is a shell that finds
 * it, the one beside the script.
 */
static bool find_interpreter(const struct tri_process_plan *plan, char path[TR_PATH_BYTES_MAX])
{
    char script[TR_PATH_BYTES_MAX];
    if (!tri_process_plan_program(plan, script) || !read_head(script, path, TR_PATH_BYTES_MAX)) {
        return false;
    }
    const char *slash = strrchr(path, '/');
    if (slash != NULL && strncmp(slash, "/python", strlen("/python")) == 0) {
        return access(path, X_OK) == 0;
    }
    slash = strrchr(script, '/');
    int used = slash == NULL ? -1
                             : snprintf(path, TR_PATH_BYTES_MAX, "%.*s/python3",
                                        (int)(slash - script), script);
    return used > 0 && used < TR_PATH_BYTES_MAX && access(path, X_OK) == 0;
}

/* ---- Workers. ------------------------------------------------------------------------------- */

static bool is_free(const struct tri_warm_worker *worker)
{
    return worker->interpreter == NULL;
}

static void free_place(struct tri_warm_worker *worker)
{
    tr_free(worker->interpreter);
    tr_free((void *)(uintptr_t)worker->environment.data);
    *worker = (struct tri_warm_worker){.control = -1};
}

static void hang_up(struct tri_warm_worker *worker)
{
    if (worker->control >= 0) {
        close(worker->control);
    }
    worker->control = -1;
}

/* It is reaped as all processes are. */
static void kill_worker(struct tri_warm_worker *worker)
{
    hang_up(worker);
    kill(-(pid_t)worker->pid, SIGKILL);
}

static void dismiss(struct tri_warm_worker *worker)
{
    worker->is_dismissed = true;
    kill_worker(worker);
}

static void refuse(struct tri_warm *warm, struct tri_warm_worker *worker, const char *words)
{
    worker->is_refused = true;
    snprintf(warm->words, sizeof warm->words,
             "attempts of %.100s start without a warm worker: %.300s", worker->interpreter, words);
}

static int pack_command(const char *interpreter, uint8_t *bytes, size_t size, struct tr_bytes *argv)
{
    const char *const words[] = {interpreter, "-c", BEGIN, NULL};
    struct tr_writer writer = tr_writer_of(bytes, size);
    int error = tr_process_strings_pack(words, &writer);
    *argv = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    return error;
}

/* Runs it with `socket` as its standard files. */
static int spawn(struct tri_warm *warm, struct tri_warm_worker *worker, int socket)
{
    uint8_t bytes[TR_PATH_BYTES_MAX + sizeof BEGIN + 64];
    char key[TR_KEEPER_KEY_BYTES_MAX + 1];
    char buffer[TRI_MARK_BYTES_MAX];
    char reason[TR_REASON_BYTES_MAX];
    struct tri_process_plan *plan;
    struct tri_process_spawn_failure failure;
    struct tri_process_spawner spawner = *warm->spawner;
    spawner.null_fd = socket;
    snprintf(key, sizeof key, "%s%-*llu", key_begin, TR_KEEPER_KEY_BYTES_MAX - 1,
             (unsigned long long)worker->serial);
    struct tr_process_start start = {.environment = worker->environment, .folder = tr_text_of("/")};
    int error = pack_command(worker->interpreter, bytes, sizeof bytes, &start.argv);
    if (error == 0) {
        struct tr_text mark = tri_orphans_mark(warm->store, tr_text_of(key), buffer, sizeof buffer);
        error = tri_process_plan_new(&start, mark, reason, &plan);
    }
    if (error == 0) {
        error = tri_process_spawn(&spawner, plan, TRI_SPAWN_NO_GROUP, &failure, &worker->pid);
        tri_process_plan_free(plan);
    }
    return error;
}

/* Its program fits into what a new socket takes at once. */
static bool tell_program(const struct tri_warm_worker *worker)
{
    return send(worker->control, tri_warm_worker_program, tri_warm_worker_program_size,
                MSG_NOSIGNAL) == (ssize_t)tri_warm_worker_program_size;
}

/* Starts a process for a place with an identity. */
static bool employ(struct tri_warm *warm, struct tri_warm_worker *worker)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    worker->serial = ++warm->serial;
    worker->asked = 0;
    worker->has_served = false;
    bool is_begun = spawn(warm, worker, ends[1]) == 0;
    close(ends[1]);
    worker->control = ends[0];
    if (!is_begun) {
        hang_up(worker);
        return false;
    }
    listen_to(warm, worker->control);
    if (fcntl(worker->control, F_SETFL, O_NONBLOCK) != 0 || !tell_program(worker)) {
        dismiss(worker);
        return false;
    }
    return true;
}

/* A free place, or that of the worker which is not used for the longest time, once it has ended. */
static struct tri_warm_worker *find_place(struct tri_warm *warm)
{
    struct tri_warm_worker *oldest = NULL;
    for (size_t i = 0; i < TR_KEEPER_WARM_MAX; i++) {
        struct tri_warm_worker *worker = &warm->workers[i];
        if (is_free(worker)) {
            return worker;
        }
        bool is_idle = worker->asked == 0 && !worker->is_dismissed;
        if (is_idle && (oldest == NULL || worker->used_ms < oldest->used_ms)) {
            oldest = worker;
        }
    }
    if (oldest != NULL && oldest->pid != 0) {
        dismiss(oldest);
        return NULL;
    }
    if (oldest != NULL) {
        free_place(oldest);
    }
    return oldest;
}

static struct tri_warm_worker *find_known(struct tri_warm *warm, const char *interpreter,
                                          struct tr_bytes environment)
{
    for (size_t i = 0; i < TR_KEEPER_WARM_MAX; i++) {
        struct tri_warm_worker *worker = &warm->workers[i];
        if (!is_free(worker) && strcmp(worker->interpreter, interpreter) == 0 &&
            worker->environment.size == environment.size &&
            memcmp(worker->environment.data, environment.data, environment.size) == 0) {
            return worker;
        }
    }
    return NULL;
}

/* Gives a place to an identity. */
static bool take_place(struct tri_warm_worker *worker, const char *interpreter,
                       struct tr_bytes environment)
{
    uint8_t *copy = tr_alloc(environment.size);
    worker->interpreter = tr_text_copy(tr_text_of(interpreter));
    worker->environment = (struct tr_bytes){.data = copy, .size = environment.size};
    if (copy == NULL || worker->interpreter == NULL) {
        free_place(worker);
        return false;
    }
    memcpy(copy, environment.data, environment.size);
    return true;
}

/* The worker of an identity; it may still be importing. NULL: there is none. */
static struct tri_warm_worker *worker_for(struct tri_warm *warm, const char *interpreter,
                                          struct tr_bytes environment)
{
    struct tri_warm_worker *worker = find_known(warm, interpreter, environment);
    if (worker == NULL) {
        worker = find_place(warm);
        if (worker == NULL || !take_place(worker, interpreter, environment)) {
            return NULL;
        }
    }
    if (worker->control >= 0) {
        return worker;
    }
    bool may_begin = worker->pid == 0 && !worker->is_refused;
    return may_begin && employ(warm, worker) ? worker : NULL;
}

/* ---- Attempts. ------------------------------------------------------------------------------ */

static void free_start(struct tri_warm_start *start)
{
    if (start->answer >= 0) {
        close(start->answer);
    }
    tr_free(start);
}

/* Whether the worker that it was given to serves. */
static bool is_served(const struct tri_warm_start *start)
{
    return start->worker->serial == start->worker_serial && start->worker->control >= 0;
}

/* One packet with descriptors. */
static bool send_files(int socket, struct tr_bytes words, const int *files, size_t count)
{
    union {
        char bytes[CMSG_SPACE(FILES_MAX * sizeof(int))];
        struct cmsghdr aligned;
    } control = {{0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)words.data, .iov_len = words.size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), files, count * sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)words.size;
}

/* Asks the worker for it. */
static bool send_start(const struct tri_warm *warm, struct tri_warm_start *start)
{
    int ends[2];
    int is_wanted = 1;
    int plan = tri_process_plan_write(start->plan);
    if (plan < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)) {
        if (plan >= 0) {
            close(plan);
        }
        return false;
    }
    const int files[FILES_MAX] = {ends[1], plan, start->group};
    size_t count = start->group == TRI_SPAWN_NO_GROUP ? FILES_MAX - 1 : FILES_MAX;
    bool is_sent = setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &is_wanted, sizeof is_wanted) == 0;
    /* The other side waits for its answer. */
    is_sent = is_sent && fcntl(ends[1], F_SETFL, 0) == 0 &&
              send_files(start->worker->control, tri_process_plan_words(start->plan), files, count);
    close(ends[1]);
    close(plan);
    if (!is_sent) {
        close(ends[0]);
        return false;
    }
    start->answer = ends[0];
    start->worker->asked++;
    listen_to(warm, start->answer);
    return true;
}

int tri_warm_begin(struct tri_warm *warm, const struct tri_process_plan *plan,
                   struct tr_bytes environment, int group, void *user)
{
    char interpreter[TR_PATH_BYTES_MAX];
    struct tri_warm_worker *worker =
        find_interpreter(plan, interpreter) ? worker_for(warm, interpreter, environment) : NULL;
    if (worker == NULL) {
        return TR_NOT_FOUND;
    }
    struct tri_warm_start *start = tr_alloc_zero(1, sizeof *start);
    if (start == NULL) {
        return TR_MEMORY;
    }
    worker->used_ms = tri_monotonic_ms();
    *start = (struct tri_warm_start){.user = user,
                                     .plan = plan,
                                     .group = group,
                                     .answer = -1,
                                     .due_ms = worker->used_ms + TR_KEEPER_WARM_WAIT_MS,
                                     .worker = worker,
                                     .worker_serial = worker->serial};
    if (worker->asked < TR_KEEPER_WARM_AHEAD && !send_start(warm, start)) {
        free_start(start);
        return TR_NOT_FOUND;
    }
    struct tri_warm_start **link = &warm->first;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = start;
    return 0;
}

/* The process that says it is ready; 0: none will; TR_BUSY: it is not known yet. */
static int64_t receive_ready(int answer)
{
    char word = 0;
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr aligned;
    } control = {{0}};
    struct iovec part = {.iov_base = &word, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t count = recvmsg(answer, &message, MSG_CMSG_CLOEXEC);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return TR_BUSY;
    }
    struct ucred who = {0};
    const struct cmsghdr *head = count == 1 && word == 'r' ? CMSG_FIRSTHDR(&message) : NULL;
    if (head != NULL && head->cmsg_type == SCM_CREDENTIALS) {
        memcpy(&who, CMSG_DATA(head), sizeof who);
    }
    return who.pid;
}

/* Whether the attempt is settled, and by which process. */
static bool settle(struct tri_warm *warm, struct tri_warm_start *start, uint32_t *pid)
{
    bool is_late = tri_monotonic_ms() >= start->due_ms;
    *pid = 0;
    if (start->answer < 0) {
        bool is_turn = is_served(start) && start->worker->asked < TR_KEEPER_WARM_AHEAD;
        return is_late || !is_served(start) || (is_turn && !send_start(warm, start));
    }
    int64_t ready = receive_ready(start->answer);
    if (ready == TR_BUSY && is_late && is_served(start)) {
        refuse(warm, start->worker, "it has not imported what they need in time");
        kill_worker(start->worker);
    }
    if (ready == TR_BUSY) {
        return is_late;
    }
    if (ready > 0 && send(start->answer, "g", 1, MSG_NOSIGNAL) == 1) {
        *pid = (uint32_t)ready;
    }
    return true;
}

/* The worker has one less to answer. */
static void answered(struct tri_warm_start *start, uint32_t pid)
{
    struct tri_warm_worker *worker = start->worker;
    if (start->answer >= 0 && worker->serial == start->worker_serial) {
        worker->asked -= worker->asked > 0 ? 1 : 0;
        worker->has_served = worker->has_served || pid != 0;
    }
}

/* One whose processes never get ready would cost each attempt another fork. */
static void count_failure(struct tri_warm *warm, const struct tri_warm_start *start)
{
    struct tri_warm_worker *worker = start->worker;
    if (start->answer < 0 || !is_served(start) || worker->has_served) {
        return;
    }
    worker->deaths++;
    if (worker->deaths >= TR_KEEPER_WARM_DEATHS_MAX) {
        refuse(warm, worker, "what it forks does not become an attempt");
        kill_worker(worker);
    }
}

/* What a worker says is why it does not serve. */
static void listen_to_workers(struct tri_warm *warm)
{
    for (size_t i = 0; i < TR_KEEPER_WARM_MAX; i++) {
        struct tri_warm_worker *worker = &warm->workers[i];
        char words[TR_REASON_BYTES_MAX];
        if (worker->control < 0) {
            continue;
        }
        ssize_t count = recv(worker->control, words, sizeof words - 1, 0);
        if (count > 0) {
            words[count] = '\0';
            words[strcspn(words, "\n")] = '\0';
            refuse(warm, worker, words);
        }
        if (count >= 0 || (errno != EAGAIN && errno != EINTR)) {
            hang_up(worker);
        }
    }
}

bool tri_warm_next(struct tri_warm *warm, struct tri_warm_news *news)
{
    listen_to_workers(warm);
    for (struct tri_warm_start **link = &warm->first; *link != NULL; link = &(*link)->next) {
        struct tri_warm_start *start = *link;
        uint32_t pid;
        if (settle(warm, start, &pid)) {
            answered(start, pid);
            if (pid == 0) {
                count_failure(warm, start);
            }
            *news = (struct tri_warm_news){.user = start->user, .pid = pid};
            *link = start->next;
            free_start(start);
            return true;
        }
    }
    return false;
}

void tri_warm_cancel(struct tri_warm *warm, const void *user)
{
    struct tri_warm_start **link = &warm->first;
    while (*link != NULL && (*link)->user != user) {
        link = &(*link)->next;
    }
    struct tri_warm_start *start = *link;
    if (start != NULL) {
        answered(start, 0);
        *link = start->next;
        free_start(start);
    }
}

/* ---- Their ends. ---------------------------------------------------------------------------- */

void tri_warm_tick(struct tri_warm *warm, bool is_wanted)
{
    uint64_t now_ms = tri_monotonic_ms();
    for (size_t i = 0; i < TR_KEEPER_WARM_MAX; i++) {
        struct tri_warm_worker *worker = &warm->workers[i];
        bool is_unused = !is_wanted || now_ms - worker->used_ms >= TR_KEEPER_WARM_IDLE_MS;
        if (is_free(worker) || worker->asked > 0 || !is_unused) {
            continue;
        }
        if (worker->pid == 0) {
            free_place(worker);
        } else if (!worker->is_dismissed) {
            dismiss(worker);
        }
    }
}

/* One that exits with 0 has seen that its files have changed, or has said why it does not serve. */
void tri_warm_ended(struct tri_warm *warm, uint32_t pid, int status)
{
    listen_to_workers(warm);
    for (size_t i = 0; i < TR_KEEPER_WARM_MAX; i++) {
        struct tri_warm_worker *worker = &warm->workers[i];
        if (is_free(worker) || worker->pid != pid) {
            continue;
        }
        hang_up(worker);
        worker->pid = 0;
        if (worker->is_dismissed) {
            free_place(worker);
            continue;
        }
        worker->deaths += status != 0 && worker->asked > 0 ? 1 : 0;
        bool is_useless = status != 0 && !worker->has_served;
        if (!worker->is_refused && (is_useless || worker->deaths >= TR_KEEPER_WARM_DEATHS_MAX)) {
            refuse(warm, worker, "it has died while it imported what they need");
        }
    }
}

bool tri_warm_is_worker(const struct tri_warm *warm, uint32_t pid)
{
    for (size_t i = 0; i < TR_KEEPER_WARM_MAX; i++) {
        if (warm->workers[i].pid == pid) {
            return true;
        }
    }
    return false;
}

bool tri_warm_is_forked(const struct tri_warm *warm, struct tr_text key)
{
    if (key.size < sizeof key_begin || memcmp(key.data, key_begin, sizeof key_begin - 1) != 0) {
        return false;
    }
    uint64_t serial = strtoull(key.data + sizeof key_begin - 1, NULL, 10);
    for (size_t i = 0; i < TR_KEEPER_WARM_MAX; i++) {
        const struct tri_warm_worker *worker = &warm->workers[i];
        if (worker->pid != 0 && worker->serial == serial) {
            return true;
        }
    }
    return false;
}

void tri_warm_fini(struct tri_warm *warm)
{
    while (warm->first != NULL) {
        struct tri_warm_start *start = warm->first;
        warm->first = start->next;
        free_start(start);
    }
    for (size_t i = 0; i < TR_KEEPER_WARM_MAX; i++) {
        struct tri_warm_worker *worker = &warm->workers[i];
        if (worker->pid != 0) {
            dismiss(worker);
            while (waitpid((pid_t)worker->pid, NULL, 0) < 0 && errno == EINTR) {
                continue;
            }
        }
        free_place(worker);
    }
    close(warm->events);
}
