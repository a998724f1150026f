/*
 * Connecting to a keeper is a small state machine, in which each state waits for one thing:
 *
 *     DOWN -connect-> GREETING -hello-> UP -its end-> DOWN
 *                        | ^
 *        nobody listens  v | connected
 *                     STARTING -a line of the new keeper-> WAITING (for the next attempt)
 *
 * All descriptors are registered with one epoll descriptor, which the caller polls. One timer
 * bounds connecting: it is armed for the next attempt or the deadline, and disarmed in UP. Several
 * engines or commands may start keepers at the same time: the lock lets one live, the others report
 * "exists", and all clients connect to the one.
 */
#include "runtime/keeper_client/keeper_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/env/capture.h"
#include "runtime/env/clock.h"
#include "runtime/keeper_client/keeper_folder.h"
#include "runtime/memory.h"
#include "runtime/secret/secret.h"

#define COMMAND_WORDS_MAX 16

enum state {
    STATE_DOWN,
    STATE_STARTING, /* a keeper was started and has not reported yet */
    STATE_WAITING,  /* for the next attempt */
    STATE_GREETING, /* connected, the hello is on its way */
    STATE_UP,
};

struct tri_keeper_client {
    char *store_folder;
    char *program;
    char *command[COMMAND_WORDS_MAX + 2];
    bool is_passive;
    uint32_t running_max;
    enum state state;
    uint64_t deadline_ms; /* of connecting */
    int epoll;
    int timer;
    int folder;
    int line;    /* the pipe with the status line of a new keeper */
    pid_t child; /* the process that starts it, until it is reaped; it exits at once */
    int child_fd;
    struct tri_frames frames;
    bool is_output_awaited;
    bool is_cut; /* end of file; buffered frames may remain */
    bool has_event;
    struct tri_keeper_event event; /* a pending UP or DOWN */
    size_t text_size;
    char text[TR_REASON_BYTES_MAX]; /* the status line, later the words of UP or DOWN */
};

/* ---- Life. ---------------------------------------------------------------------------------- */

/* Copies argv and appends the store's folder, which is a view and freed only once. */
static int copy_command(struct tri_keeper_client *client, const char *const *command)
{
    size_t count = 0;
    while (command[count] != NULL) {
        if (count == COMMAND_WORDS_MAX) {
            return TR_LIMIT;
        }
        client->command[count] = tr_text_copy(tr_text_of(command[count]));
        if (client->command[count] == NULL) {
            return TR_MEMORY;
        }
        count++;
    }
    client->command[count] = client->store_folder;
    return count > 0 ? 0 : TR_INVALID;
}

static int copy_options(struct tri_keeper_client *client,
                        const struct tri_keeper_client_options *options)
{
    const char *program = options->program != NULL ? options->program : "/proc/self/exe";
    client->is_passive = options->is_passive;
    client->running_max = options->running_max;
    client->store_folder = tr_text_copy(tr_text_of(options->store_folder));
    client->program = tr_text_copy(tr_text_of(program));
    if (client->store_folder == NULL || client->program == NULL) {
        return TR_MEMORY;
    }
    return copy_command(client, options->command);
}

/* Adds a descriptor to epoll. */
static int await(struct tri_keeper_client *client, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};
    return epoll_ctl(client->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : TR_SYSTEM;
}

static int open_descriptors(struct tri_keeper_client *client)
{
    client->epoll = epoll_create1(EPOLL_CLOEXEC);
    client->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (client->epoll < 0 || client->timer < 0) {
        return TR_SYSTEM;
    }
    return await(client, client->timer, EPOLLIN);
}

int tri_keeper_client_new(const struct tri_keeper_client_options *options,
                          struct tri_keeper_client **client)
{
    struct tri_keeper_client *made = tr_alloc_zero(1, sizeof *made);
    if (made == NULL) {
        return TR_MEMORY;
    }
    made->epoll = -1;
    made->timer = -1;
    made->folder = -1;
    made->line = -1;
    made->child_fd = -1;
    made->frames.fd = -1;
    int error = copy_options(made, options);
    if (error == 0) {
        error = open_descriptors(made);
    }
    if (error != 0) {
        tri_keeper_client_free(made);
        return error;
    }
    *client = made;
    return 0;
}

static void close_open(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

/*
 * Removes a descriptor from epoll, then closes it. The explicit removal is needed: epoll watches
 * the open file, not the descriptor, and a process that is being spawned may hold a copy of it for
 * a moment. Events would then arrive for a descriptor that is closed or reused.
 */
static void close_awaited(const struct tri_keeper_client *client, int *fd)
{
    if (*fd >= 0) {
        (void)epoll_ctl(client->epoll, EPOLL_CTL_DEL, *fd, NULL);
    }
    close_open(fd);
}

/* Reaps the process that became a keeper, when it has ended. */
static void reap(struct tri_keeper_client *client)
{
    if (client->child > 0 && waitpid(client->child, NULL, WNOHANG) != 0) {
        client->child = 0;
        close_awaited(client, &client->child_fd);
    }
}

/*
 * The same when the client is freed: waits for a bounded time, since a zombie would stay for the
 * engine's life. Without a pidfd (an old kernel) it only checks once.
 */
static void reap_at_last(struct tri_keeper_client *client)
{
    if (client->child > 0 && client->child_fd >= 0) {
        struct pollfd polled = {.fd = client->child_fd, .events = POLLIN};
        (void)!poll(&polled, 1, TR_KEEPER_CHILD_END_MS_MAX);
    }
    reap(client);
    close_awaited(client, &client->child_fd);
}

/* Closes the connection and the status pipe. A starter that has not exited yet is reaped later. */
static void close_connection(struct tri_keeper_client *client)
{
    struct itimerspec never = {0};
    timerfd_settime(client->timer, 0, &never, NULL);
    reap(client);
    close_awaited(client, &client->line);
    if (client->frames.fd >= 0) {
        (void)epoll_ctl(client->epoll, EPOLL_CTL_DEL, client->frames.fd, NULL);
    }
    tri_frames_fini(&client->frames);
    client->is_output_awaited = false;
    client->is_cut = false;
}

void tri_keeper_client_free(struct tri_keeper_client *client)
{
    if (client == NULL) {
        return;
    }
    close_connection(client);
    reap_at_last(client);
    close_open(&client->folder);
    close_open(&client->timer);
    close_open(&client->epoll);
    for (size_t i = 0; i < COMMAND_WORDS_MAX && client->command[i] != NULL &&
                       client->command[i] != client->store_folder;
         i++) {
        tr_free(client->command[i]);
    }
    tr_free(client->store_folder);
    tr_free(client->program);
    tr_free(client);
}

int tri_keeper_client_fd(const struct tri_keeper_client *client)
{
    return client->epoll;
}

bool tri_keeper_client_is_up(const struct tri_keeper_client *client)
{
    return client->state == STATE_UP;
}

/* ---- Going from state to state. ------------------------------------------------------------- */

static void arm_timer(struct tri_keeper_client *client, uint64_t due_ms)
{
    struct itimerspec due = {.it_value = {.tv_sec = (time_t)(due_ms / 1000),
                                          .tv_nsec = (long)(due_ms % 1000) * 1000000}};
    timerfd_settime(client->timer, TFD_TIMER_ABSTIME, &due, NULL);
}

/*
 * Goes to DOWN and queues the event. The words are copied to the stack first, because they may be a
 * view of client->text, which is overwritten.
 */
static void go_down(struct tri_keeper_client *client, int error, const char *words)
{
    char kept[TR_REASON_BYTES_MAX];
    snprintf(kept, sizeof kept, "%s", words);
    memcpy(client->text, kept, sizeof kept);
    close_connection(client);
    close_open(&client->folder);
    client->state = STATE_DOWN;
    client->has_event = true;
    client->event =
        (struct tri_keeper_event){.kind = TRI_KEEPER_DOWN, .error = error, .words = client->text};
}

static void go_down_with_errno(struct tri_keeper_client *client, const char *what)
{
    char words[TR_REASON_BYTES_MAX];
    snprintf(words, sizeof words, "%s: %s", what, strerror(errno));
    go_down(client, TR_SYSTEM, words);
}

/* Schedules another attempt, unless the deadline would pass before. */
static void wait_a_moment(struct tri_keeper_client *client)
{
    close_connection(client);
    uint64_t due_ms = tri_monotonic_ms() + TR_KEEPER_CONNECT_RETRY_MS;
    if (due_ms >= client->deadline_ms) {
        go_down(client, TR_TIMEOUT, "the keeper cannot be reached");
        return;
    }
    client->state = STATE_WAITING;
    arm_timer(client, due_ms);
}

/*
 * Connected. The connection counts as up only after hello and session: until then the keeper may be
 * of another version, or about to leave.
 */
static void greet(struct tri_keeper_client *client, int fd)
{
    struct tr_keeper_hello hello = {.protocol = TR_KEEPER_PROTOCOL,
                                    .protocol_oldest = TR_KEEPER_PROTOCOL_OLDEST,
                                    .follow = !client->is_passive,
                                    .pid = (uint32_t)getpid()};
    tri_frames_init(&client->frames, fd, TR_KEEPER_FRAME_BYTES_MAX,
                    TR_KEEPER_CLIENT_OUTPUT_BYTES_MAX);
    client->state = STATE_GREETING;
    arm_timer(client, client->deadline_ms);
    int error = await(client, fd, EPOLLIN);
    if (error == 0) {
        error = tri_frames_put(&client->frames, &tr_keeper_hello_schema, &hello);
    }
    if (error == 0) {
        error = tri_frames_flush(&client->frames);
    }
    if (error != 0) {
        wait_a_moment(client);
    }
}

/* Starts a keeper; a pipe from its stdout carries its status line. */
static void start_keeper(struct tri_keeper_client *client)
{
    int ends[2];
    if (client->child > 0) {
        wait_a_moment(client); /* the previous starter has not exited yet */
        return;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        go_down_with_errno(client, "cannot start the keeper");
        return;
    }
    /*
     * Variables that hold secrets are left out: the keeper does not need them, and its
     * /proc/PID/environ would show them for as long as it lives.
     */
    struct tri_capture keeper = {.program = client->program,
                                 .argv = client->command,
                                 .output = ends[1],
                                 .environment = tri_secret_environment_without()};
    int number = keeper.environment == NULL ? ENOMEM : tri_capture_spawn(&keeper, &client->child);
    tr_free(keeper.environment);
    close(ends[1]);
    client->line = ends[0];
    client->text_size = 0;
    client->state = STATE_STARTING;
    arm_timer(client, client->deadline_ms);
    if (number != 0) {
        client->child = 0;
        errno = number;
        go_down_with_errno(client, "cannot start the keeper");
        return;
    }
    client->child_fd = (int)syscall(SYS_pidfd_open, client->child, 0);
    if (client->child_fd >= 0) {
        (void)!await(client, client->child_fd, EPOLLIN);
    }
    if (fcntl(client->line, F_SETFL, O_NONBLOCK) != 0 ||
        await(client, client->line, EPOLLIN) != 0) {
        go_down_with_errno(client, "cannot wait for the keeper");
    }
}

/* One attempt: connects, or starts a keeper where no process listens. */
static void attempt(struct tri_keeper_client *client)
{
    int fd;
    int error = tri_keeper_folder_connect(client->folder, &fd);
    if (error == 0) {
        greet(client, fd);
    } else if (error == TR_NO_CONNECTION) {
        start_keeper(client);
    } else {
        go_down_with_errno(client, "cannot connect to the keeper");
    }
}

void tri_keeper_client_connect(struct tri_keeper_client *client)
{
    if (client->state != STATE_DOWN || client->has_event) {
        return;
    }
    client->deadline_ms = tri_monotonic_ms() + TR_KEEPER_CONNECT_MS_MAX;
    if (tri_keeper_folder_open(client->store_folder, &client->folder) != 0) {
        go_down_with_errno(client, client->store_folder);
    } else {
        attempt(client);
    }
    if (client->has_event) {
        /* Wakes the caller's poll, although no descriptor is open. */
        arm_timer(client, 1);
    }
}

/* ---- What each state waits for. ------------------------------------------------------------- */

/*
 * Evaluates the status line of a new keeper. "exists" is as good as "ready": another keeper holds
 * the lock, and listens or soon will. A missing line means that the program ended before it became
 * a keeper, for instance because exec failed.
 */
static void read_status_line(struct tri_keeper_client *client)
{
    char *text = client->text;
    text[client->text_size] = '\0';
    text[strcspn(text, "\n")] = '\0';
    char *end;
    if (strcmp(text, "ready") == 0 || strcmp(text, "exists") == 0) {
        int fd;
        close_connection(client);
        if (tri_keeper_folder_connect(client->folder, &fd) == 0) {
            greet(client, fd);
        } else {
            wait_a_moment(client);
        }
    } else if (strncmp(text, "failed ", 7) == 0) {
        long error = strtol(text + 7, &end, 10);
        go_down(client, (int)error, *end == ' ' ? end + 1 : end);
        /* A shortage passes; any other failure, such as a damaged log, would occur again. */
        client->event.is_refused = !tr_error_is_shortage((int)error);
    } else {
        go_down(client, TR_SYSTEM, "the keeper ended before it could be reached");
    }
}

/*
 * Collects the status line, which may arrive in pieces. It is complete with its newline, at the end
 * of the pipe, or when the buffer is full.
 */
static void on_line(struct tri_keeper_client *client)
{
    size_t room = sizeof client->text - 1 - client->text_size;
    ssize_t size = read(client->line, client->text + client->text_size, room);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    client->text_size += size > 0 ? (size_t)size : 0;
    bool is_whole = memchr(client->text, '\n', client->text_size) != NULL;
    if (size <= 0 || is_whole || (size_t)size == room) {
        read_status_line(client);
    }
}

/* The keeper's first message must be a hello of a compatible version. */
static int take_hello(struct tri_keeper_client *client, const struct tri_packet *frame)
{
    struct tr_keeper_hello hello;
    int error = tr_keeper_hello_unpack(frame->body, frame->version, &hello);
    if (error == 0 && (hello.protocol < TR_KEEPER_PROTOCOL_OLDEST ||
                       hello.protocol_oldest > TR_KEEPER_PROTOCOL)) {
        error = TR_VERSION;
    }
    client->event = (struct tri_keeper_event){.kind = TRI_KEEPER_UP, .hello = hello};
    return error;
}

/*
 * Returns the nonce. The limit of running processes goes into the same flush, so the keeper knows
 * it before the first start. A passive client sends none: the keeper would take it for a new
 * engine.
 */
static int take_session(struct tri_keeper_client *client, const struct tri_packet *frame)
{
    struct tr_keeper_session session;
    struct tr_keeper_limit turns = {.running_max = client->running_max};
    int error = tr_keeper_session_unpack(frame->body, frame->version, &session);
    if (error != 0) {
        return error;
    }
    (void)snprintf(client->text, sizeof client->text, "%.*s", (int)session.unbounded.size,
                   session.unbounded.data);
    client->event.words = client->text;
    session.unbounded = tr_text_of("");
    error = tri_frames_put(&client->frames, &tr_keeper_session_schema, &session);
    if (error == 0 && !client->is_passive) {
        error = tri_frames_put(&client->frames, &tr_keeper_limit_schema, &turns);
    }
    if (error == 0) {
        struct itimerspec never = {0};
        timerfd_settime(client->timer, 0, &never, NULL);
        client->state = STATE_UP;
        client->has_event = true;
        tri_keeper_client_flush(client);
    }
    return error;
}

/* Handles the keeper's messages before the connection is up. */
static void on_greeting(struct tri_keeper_client *client)
{
    struct tri_packet frame;
    int error = 0;
    while (error == 0 && client->state == STATE_GREETING) {
        error = tri_frames_next(&client->frames, &frame);
        if (error == 0) {
            error = frame.type == tr_keeper_hello_schema.id     ? take_hello(client, &frame)
                    : frame.type == tr_keeper_session_schema.id ? take_session(client, &frame)
                                                                : TR_UNKNOWN_TYPE;
        }
    }
    if (error != 0 && error != TR_NOT_FOUND) {
        go_down(client, error, "the running keeper has an incompatible version");
    }
}

/*
 * Asks epoll for EPOLLOUT only while output waits; a socket is nearly always writable, so the
 * caller's wait would otherwise return at once.
 */
static void await_output(struct tri_keeper_client *client, bool is_awaited)
{
    if (client->is_output_awaited == is_awaited) {
        return;
    }
    struct epoll_event event = {.events = EPOLLIN | (is_awaited ? EPOLLOUT : 0),
                                .data.fd = client->frames.fd};
    if (epoll_ctl(client->epoll, EPOLL_CTL_MOD, client->frames.fd, &event) == 0) {
        client->is_output_awaited = is_awaited;
    }
}

void tri_keeper_client_flush(struct tri_keeper_client *client)
{
    if (client->state != STATE_UP) {
        return;
    }
    /* A broken connection is detected by reading, after the frames that arrived before. */
    (void)!tri_frames_flush(&client->frames);
    await_output(client, tri_frames_waiting(&client->frames) > 0);
}

/*
 * Frames that arrived before an end of file are still returned; `is_cut` becomes DOWN after the
 * last of them (take_frame).
 */
static void on_socket(struct tri_keeper_client *client)
{
    int error = tri_frames_fill(&client->frames, TR_KEEPER_INPUT_BYTES_PER_TURN);
    if (client->state == STATE_GREETING) {
        on_greeting(client);
        if (client->state == STATE_GREETING && error != 0) {
            /* The keeper was just leaving: the next one will answer. */
            wait_a_moment(client);
            return;
        }
    }
    client->is_cut = error != 0;
    tri_keeper_client_flush(client);
}

static void on_timer(struct tri_keeper_client *client)
{
    uint64_t expirations;
    (void)!read(client->timer, &expirations, sizeof expirations);
    if (client->state == STATE_WAITING) {
        attempt(client);
    } else if (client->state == STATE_STARTING || client->state == STATE_GREETING) {
        go_down(client, TR_TIMEOUT, "the keeper does not answer");
    }
}

/* ---- Events. -------------------------------------------------------------------------------- */

/*
 * Handles one descriptor that is ready; false when none is. One at a time, because handling one may
 * close others, whose events would be stale.
 */
static bool make_progress(struct tri_keeper_client *client)
{
    struct epoll_event ready;
    if (epoll_wait(client->epoll, &ready, 1, 0) != 1) {
        return false;
    }
    if (ready.data.fd == client->timer) {
        on_timer(client);
    } else if (ready.data.fd == client->child_fd) {
        reap(client);
    } else if (ready.data.fd == client->line) {
        on_line(client);
    } else if (ready.data.fd == client->frames.fd) {
        on_socket(client);
    }
    return true;
}

static bool take_event(struct tri_keeper_client *client, struct tri_keeper_event *event)
{
    if (!client->has_event) {
        return false;
    }
    client->has_event = false;
    *event = client->event;
    return true;
}

/*
 * Returns a complete frame. After bytes that are no frame the stream has lost its boundaries, so
 * the connection ends.
 */
static bool take_frame(struct tri_keeper_client *client, struct tri_keeper_event *event)
{
    struct tri_packet frame;
    if (client->state != STATE_UP) {
        return false;
    }
    int error = tri_frames_next(&client->frames, &frame);
    if (error == 0) {
        *event = (struct tri_keeper_event){.kind = TRI_KEEPER_PACKET, .packet = frame};
        return true;
    }
    if (error != TR_NOT_FOUND) {
        go_down(client, error, "the keeper sent an invalid message");
    } else if (client->is_cut) {
        go_down(client, TR_NO_CONNECTION, "the keeper ended");
    }
    return false;
}

int tri_keeper_client_send(struct tri_keeper_client *client, const struct tr_schema *schema,
                           const void *value)
{
    if (client->state != STATE_UP) {
        return TR_NO_CONNECTION;
    }
    return tri_frames_put(&client->frames, schema, value);
}

/*
 * tri_frames_put refuses by the upper bound of a message's size, so twice the largest frame is kept
 * free.
 */
bool tri_keeper_client_has_room(const struct tri_keeper_client *client)
{
    return tri_frames_waiting(&client->frames) <
           TR_KEEPER_CLIENT_OUTPUT_BYTES_MAX - 2 * TR_KEEPER_FRAME_BYTES_MAX;
}

/*
 * Buffered frames are returned before any descriptor is handled, so an event never overtakes a
 * frame.
 */
int tri_keeper_client_next(struct tri_keeper_client *client, struct tri_keeper_event *event)
{
    reap(client);
    do {
        if (take_event(client, event) || take_frame(client, event)) {
            return 0;
        }
    } while (client->has_event || make_progress(client));
    return TR_NOT_FOUND;
}
