/*
 * Connecting to a keeper is a small state machine, in which each state waits for one thing:
 *
 *     DOWN -connect-> GREETING -hello-> UP -its end-> DOWN
 *                        | ^
 *        nobody listens  v | connected
 *                     STARTING -a line of the new keeper-> WAITING (a moment, then once more)
 *
 * All descriptors hang at one epoll descriptor, which is the one that the caller waits for. One
 * timer bounds the whole: it is armed for the next attempt or for the deadline, and disarmed in UP.
 * Several engines or commands may start keepers at the same time: the lock lets one live, the
 * others say "exists", and all clients connect to the one.
 */
#include "runtime/keeper/keeper_client.h"

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

#include "runtime/env/clock.h"
#include "runtime/env/heard.h"
#include "runtime/keeper/keeper_folder.h"
#include "runtime/memory.h"
#include "runtime/secret/secret.h"

#define COMMAND_WORDS_MAX 16

enum state {
    STATE_DOWN,
    STATE_STARTING, /* a keeper was started and has not said its line */
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
    int line;    /* where a new keeper says its line */
    pid_t child; /* the process that becomes it, until it was waited for; it ends at once */
    int child_fd;
    struct tri_frames frames;
    bool is_output_awaited;
    bool is_cut; /* nothing more comes after what is there */
    bool has_event;
    struct tri_keeper_event event; /* UP or DOWN, to be given out */
    size_t text_size;
    char text[TR_REASON_BYTES_MAX]; /* the line, then the words of DOWN */
};

/* ---- Life. ---------------------------------------------------------------------------------- */

/*
 * Copies argv. The store's folder becomes its last word; that one is a view and is freed only once.
 */
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

/* Has a descriptor waited for. */
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
 * Takes a descriptor out of epoll, then closes it. The explicit removal is needed: epoll watches
 * the open file and not the descriptor, and a process that is just being started may hold a copy of
 * it for a moment. Events would then come for a descriptor that is closed or means something else.
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
 * engine's life. Without a pidfd (an old kernel) it only looks once.
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

/* Closes the connection and the line. The starter that has not ended yet stays, to be reaped. */
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
 * Ends in DOWN and queues the event. The words are copied to the stack first, because they may be a
 * view of client->text, which is written to.
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

/* Another attempt in a moment, unless the deadline would pass before. */
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
 * Connected. The connection counts as up only after hello and session: until then it may be a
 * keeper of another version, or one that is just leaving.
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

/* Starts the program that becomes a keeper; its stdout is where we hear its line. */
static void start_keeper(struct tri_keeper_client *client)
{
    int ends[2];
    if (client->child > 0) {
        wait_a_moment(client); /* the last one has not ended yet */
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
    struct tri_heard keeper = {.program = client->program,
                               .argv = client->command,
                               .line = ends[1],
                               .environment = tri_secret_free_environment()};
    int number = keeper.environment == NULL ? ENOMEM : tri_heard_spawn(&keeper, &client->child);
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
        /* So that the caller's wait ends, although nothing is open. */
        arm_timer(client, 1);
    }
}

/* ---- What each state waits for. ------------------------------------------------------------- */

/*
 * Takes the line of a new keeper. "exists" is as good as "ready": another keeper holds the lock,
 * and it listens or will soon. A line that is missing means that the program ended before it became
 * a keeper, for instance because exec failed.
 */
static void understand_line(struct tri_keeper_client *client)
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
        /* A shortage passes; any other failure, such as a damaged log, would come again. */
        client->event.is_refused = !tr_error_is_shortage((int)error);
    } else {
        go_down(client, TR_SYSTEM, "the keeper ended before it could be reached");
    }
}

/*
 * Collects the line, which may come in pieces. It is whole with its newline, at the end of the
 * pipe, or when there is no room for more.
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
        understand_line(client);
    }
}

/* The keeper's first message has to be a hello that we can live with. */
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
 * Says the nonce back. The limit of running processes goes into the same flush, so the keeper knows
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

/* Takes what the keeper says before it can be asked. */
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
        go_down(client, error, "the keeper that runs here is of a version that is not understood");
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
    /* A connection that is broken is found out by reading, behind what came before. */
    (void)!tri_frames_flush(&client->frames);
    await_output(client, tri_frames_waiting(&client->frames) > 0);
}

/*
 * Frames that came before an end of file are still given out; `is_cut` turns into DOWN when the
 * last of them was taken (take_frame).
 */
static void on_socket(struct tri_keeper_client *client)
{
    int error = tri_frames_fill(&client->frames, TR_KEEPER_INPUT_BYTES_PER_TURN);
    if (client->state == STATE_GREETING) {
        on_greeting(client);
        if (client->state == STATE_GREETING && error != 0) {
            /* It was just leaving: the next one will answer. */
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
 * A frame that has come whole. After bytes that are no frame the stream has lost its boundaries, so
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
        go_down(client, error, "the keeper sends what is not understood");
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
 * A put is refused by the upper bound of a message's size, so twice the largest frame is left free.
 */
bool tri_keeper_client_has_room(const struct tri_keeper_client *client)
{
    return tri_frames_waiting(&client->frames) <
           TR_KEEPER_CLIENT_OUTPUT_BYTES_MAX - 2 * TR_KEEPER_FRAME_BYTES_MAX;
}

/*
 * What has come is given out before any descriptor is looked at, so an event never overtakes a
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
