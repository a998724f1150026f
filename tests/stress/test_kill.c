/*
 * kill -9 at every write of a run: what was acknowledged is there, and the end is the same.
 *
 * This program runs itself as a child that counts its writes, syncs and truncations, and what it
 * sends to PostgreSQL (they are defined below, so those of the libraries go through here too), and
 * kills itself at the n-th. The child is a
 * durable host with jobs that use every kind of effect. What the host acknowledges goes to a file
 * outside of the store at once. Each start first looks at the store, before anything runs: of every
 * job that was acknowledged as done, the ledger must know. A start without a kill then goes on to
 * the end, where each job must have been booked exactly once.
 *
 * A tenth of the points by default, all with TROUPE_TEST_LONG.
 */
#include "tests/support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/store_open.h"
#include "runtime/troupe.h"
#include "tests/support/folder.h"
#include "tests/support/store_bind.h"

#define JOBS 6
#define PAGE_BYTES 64
#define STEP_DEFAULT 10
#define PATH_BYTES 128
#define CHILD_SECONDS_MAX 60

/* ------------------------------------------------- the calls that count */

static _Atomic long calls_left = -1; /* below 0: nobody counts */
static _Atomic long calls_made;

/* One more; at the last one allowed the process is gone. */
static void count_call(void)
{
    calls_made++;
    if (calls_left > 0 && --calls_left == 0) {
        kill(getpid(), SIGKILL);
    }
}

ssize_t write(int file, const void *data, size_t size)
{
    count_call();
    return syscall(SYS_write, file, data, size);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t offset)
{
    count_call();
    return syscall(SYS_pwrite64, file, data, size, offset);
}

int fsync(int file)
{
    count_call();
    return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file)
{
    count_call();
    return (int)syscall(SYS_fdatasync, file);
}

int ftruncate64(int file, off64_t size)
{
    count_call();
    return (int)syscall(SYS_ftruncate, file, size);
}

ssize_t send(int file, const void *data, size_t size, int flags)
{
    count_call();
    return syscall(SYS_sendto, file, data, size, flags, NULL, 0);
}

/* -------------------------------------------------------------- the actors */

#define TR_WORK_FIELDS(FIELD, ARRAY)
#define TR_BOOK_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
#define TR_BOOKED_FIELDS(FIELD, ARRAY) FIELD(u64, total, 1, 0)
#define TR_BOOKING_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)            \
    FIELD(u64, total, 1, 0)
#define TR_BOOKS_FIELDS(FIELD, ARRAY) FIELD(u64, total, 1, 0)
#define TR_JOB_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)        \
    FIELD(ref, books, 1, 0)         \
    FIELD(bool, is_begun, 1, 0)     \
    FIELD(u64, children, 1, 0)

#define KILL_SCHEMAS(S)                                           \
    S(work, 62000, TR_MESSAGE, 1, TR_DURABLE, TR_WORK_FIELDS)     \
    S(book, 62001, TR_MESSAGE, 1, TR_DURABLE, TR_BOOK_FIELDS)     \
    S(booked, 62002, TR_MESSAGE, 1, TR_DURABLE, TR_BOOKED_FIELDS) \
    S(booking, 62000, TR_RECORD, 1, 0, TR_BOOKING_FIELDS)         \
    S(books, 62000, TR_STATE, 1, 0, TR_BOOKS_FIELDS)              \
    S(job, 62001, TR_STATE, 1, 0, TR_JOB_FIELDS)

KILL_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
KILL_SCHEMAS(TR_SCHEMA_DEFINE)

#define TRY(call)           \
    do {                    \
        int error = (call); \
        if (error != 0) {   \
            return error;   \
        }                   \
    } while (false)

/* Books a job: its number in the state, in a page and in a record. */
static int books_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_books *books = state;
    struct tr_book book;
    void *page;
    if (!tr_message_is(message, &tr_book_schema)) {
        return tr_unexpected(context, message);
    }
    TRY(tr_message_read(message, book, &book));
    TRY(tr_page_edit(context, 0, PAGE_BYTES, &page));
    ((uint8_t *)page)[book.number % PAGE_BYTES]++;
    books->total++;
    struct tr_booking booking = {.number = book.number, .total = books->total};
    TRY(tr_record(context, &tr_booking_schema, &booking));
    return tr_reply(context, message, &tr_booked_schema, &(struct tr_booked){books->total});
}

static const struct tr_behaviour books_behaviour = {
    .name = "books", .id = 62000, .state = &tr_books_schema, .handle = books_handle};
static const struct tr_behaviour job_behaviour;

/* Work begins with a child and a timer; a child's work is to end. */
static int begin(struct tr_context *context, struct tr_job *job)
{
    struct tr_ref child;
    if (job->is_begun) {
        return 0; /* told again after a crash */
    }
    job->is_begun = true;
    if (tr_parent(context).key.serial != 0) {
        return tr_stop(context);
    }
    struct tr_spawn_options options = {.is_watched = true};
    TRY(tr_spawn(context, &job_behaviour, &options, &child));
    TRY(tr_tell(context, child, &tr_work_schema, &(struct tr_work){}));
    return tr_timer_start(context, 1, 1);
}

/* When the child has ended and the timer has come, the job is booked. */
static int go_on(struct tr_context *context, struct tr_job *job)
{
    if (++job->children < 2) {
        return 0;
    }
    return tr_ask(context, job->books, &tr_book_schema, &(struct tr_book){job->number}, 0, NULL);
}

static int job_handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_job *job = state;
    if (tr_message_is(message, &tr_work_schema)) {
        return begin(context, job);
    }
    if (tr_message_is(message, &tr_timer_schema) || tr_message_is(message, &tr_down_schema)) {
        return go_on(context, job);
    }
    return tr_message_is(message, &tr_booked_schema) ? tr_stop(context)
                                                     : tr_unexpected(context, message);
}

static const struct tr_behaviour job_behaviour = {
    .name = "job", .id = 62001, .state = &tr_job_schema, .handle = job_handle};

/* ------------------------------------------------------- acknowledgements */

/* What the host has told the program, outside of the store: a letter and a number each. */
static char acknowledged_path[PATH_BYTES + 16];

enum { ACK_SPAWNED = 's', ACK_DONE = 'd', ACK_CALLS = 'c' };

struct acknowledgement {
    uint32_t what;
    uint32_t number;
};

static void acknowledge(uint32_t what, uint64_t number)
{
    struct acknowledgement line = {what, (uint32_t)number};
    int file = open(acknowledged_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || syscall(SYS_write, file, &line, sizeof line) != sizeof line) {
        abort();
    }
    close(file);
}

/* The last one of this kind and number (any number: UINT32_MAX); false if there is none. */
static bool find_acknowledgement(uint32_t what, uint64_t number, uint32_t *found)
{
    struct acknowledgement line;
    bool is_there = false;
    int file = open(acknowledged_path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && read(file, &line, sizeof line) == sizeof line) {
        if (line.what == what && (number == UINT32_MAX || line.number == number)) {
            is_there = true;
            *found = line.number;
        }
    }
    if (file >= 0) {
        close(file);
    }
    return is_there;
}

static bool is_acknowledged(uint32_t what, uint64_t number)
{
    uint32_t found;
    return find_acknowledgement(what, number, &found);
}

/* ---------------------------------------------------- looking at the store */

/* How often each job is booked: the page of the one actor that has any. */
static int read_bookings(void *self, const struct tri_op *op)
{
    if (op->data.size != PAGE_BYTES) {
        return TR_STORE_DAMAGED;
    }
    memcpy(self, op->data.data, PAGE_BYTES);
    return 0;
}

static const struct tr_schema *const records[] = {&tr_booking_schema};

/*
 * Whether the store knows of all that was acknowledged. No store is one that knows nothing, and one
 * whose making was cut off is none.
 */
static bool is_kept(const char *folder)
{
    uint8_t bookings[PAGE_BYTES] = {0};
    struct tri_store_options options = {.folder = folder,
                                        .durability = TR_DURABILITY_FULL,
                                        .read_only = true,
                                        .records = records,
                                        .record_count = TR_COUNT_OF(records)};
    struct tri_store_visitor visitor = {.self = bookings, .page = read_bookings};
    struct tri_store *store = NULL;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    int error = tri_store_open(&options, explain, &store);
    if (error == 0) {
        error = tri_store_load(store, &visitor);
        tri_store_close(store);
    }
    if (error != 0 && error != TR_NOT_FOUND) {
        fprintf(stderr, "the store cannot be read: %s: %s\n", tr_error_name(error), explain);
        return false;
    }
    for (uint64_t i = 0; i < JOBS; i++) {
        if (bookings[i] > 1 || (bookings[i] == 0 && is_acknowledged(ACK_DONE, i))) {
            fprintf(stderr, "job %d is booked %d times\n", (int)i, bookings[i]);
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------- the child */

enum child_status {
    CHILD_DONE = 0,
    CHILD_LOST = 10,   /* what was acknowledged is not in the store */
    CHILD_FAILED = 11, /* something else */
};

static void need(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", what, tr_error_text(error));
        _exit(CHILD_FAILED);
    }
}

static struct tr_text name_of(char buffer[16], uint64_t number)
{
    (void)snprintf(buffer, 16, "job-%d", (int)number);
    return tr_text_of(buffer);
}

/* The actor of this name, spawned if it was never; a spawn that was acknowledged is not
 * repeated. */
static bool find_or_spawn(struct tr_host *host, const struct tr_behaviour *behaviour,
                          const struct tr_spawn_options *options, uint64_t number,
                          struct tr_ref *actor)
{
    char address[32];
    (void)snprintf(address, sizeof address, "/%.*s", (int)options->name.size, options->name.data);
    int error = tr_host_find(host, tr_text_of(address), actor);
    if (error == TR_NOT_FOUND && !is_acknowledged(ACK_SPAWNED, number)) {
        need(tr_host_spawn(host, behaviour, options, actor), "spawning");
        acknowledge(ACK_SPAWNED, number);
        return true;
    }
    return error == 0;
}

static void do_job(struct tr_host *host, struct tr_ref books, uint64_t number, bool is_hasty)
{
    char name[16];
    struct tr_job first = {.number = number, .books = books};
    struct tr_spawn_options options = {
        .name = name_of(name, number), .state = &first, .is_watched = true};
    struct tr_ref job;
    int reason;
    if (!find_or_spawn(host, &job_behaviour, &options, number, &job)) {
        return; /* it was spawned and is gone, so it is booked: the end will show */
    }
    need(tr_host_tell(host, job, &tr_work_schema, &(struct tr_work){}), "telling");
    if (is_hasty) {
        acknowledge(ACK_DONE, number); /* the planted fault */
    }
    need(tr_host_wait(host, job, 0, &reason), "waiting");
    /* A job of an earlier start may have ended between finding it and waiting for it. */
    need(reason == TR_NO_ACTOR ? 0 : reason, "the job");
    acknowledge(ACK_DONE, number);
}

static int run_child(const char *folder, long kill_at, bool is_hasty)
{
    if (!is_kept(folder)) {
        return CHILD_LOST;
    }
    const struct tr_behaviour *behaviours[] = {&books_behaviour, &job_behaviour};
    struct tr_host_options options = {.worker_count = 2,
                                      .durability = TR_DURABILITY_FULL,
                                      .folder = folder,
                                      .behaviours = behaviours,
                                      .behaviour_count = TR_COUNT_OF(behaviours),
                                      .records = records,
                                      .record_count = TR_COUNT_OF(records)};
    struct tr_host *host;
    struct tr_ref books;
    calls_left = kill_at;
    need(tr_host_new(&options, NULL, &host), "opening");
    need(tr_host_start(host), "starting");
    struct tr_spawn_options named = {.name = tr_text_of("books")};
    if (!find_or_spawn(host, &books_behaviour, &named, JOBS, &books)) {
        return CHILD_LOST;
    }
    for (uint64_t i = 0; i < JOBS; i++) {
        do_job(host, books, i, is_hasty);
    }
    tr_host_free(host);
    acknowledge(ACK_CALLS, (uint64_t)calls_made);
    return is_kept(folder) ? CHILD_DONE : CHILD_LOST;
}

/* ------------------------------------------------------------- the sweep */

static char own_path[4096];

struct run {
    char folder[PATH_BYTES];
    char store[PATH_BYTES + 16];
};

static struct run run_new(void)
{
    struct run run;
    /* A killed process leaves its writes with the system, so memory is as good as a disk. */
    const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(run.folder, sizeof run.folder, "%s/troupe-kill-XXXXXX", place);
    assert_non_null(mkdtemp(run.folder));
    (void)snprintf(run.store, sizeof run.store, "%s/store", run.folder);
    store_bind(run.store, records, TR_COUNT_OF(records));
    return run;
}

static void run_free(const struct run *run)
{
    assert_int_equal(folder_remove(run->folder), 0);
}

/* Runs the child to its end and gives its status; SIGKILL is -1. */
static int run_once(const struct run *run, long kill_at, bool is_hasty)
{
    char number[24];
    (void)snprintf(number, sizeof number, "%ld", kill_at);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl(own_path, own_path, "--child", run->folder, number, is_hasty ? "hasty" : "sound",
              (char *)NULL);
        _exit(CHILD_FAILED);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        assert_int_equal(WTERMSIG(status), SIGKILL);
        return -1;
    }
    return WEXITSTATUS(status);
}

static int count_booking(void *self, const void *row)
{
    const struct tr_booking *booking = row;
    uint64_t *bookings = self;
    assert_true(booking->number < JOBS);
    bookings[booking->number]++;
    return 0;
}

/* Each job has one record that says that it was booked, and the last one has the sum. */
static void expect_records(const struct run *run)
{
    uint64_t bookings[JOBS] = {0};
    uint64_t count = 0;
    struct tr_reader *reader;
    struct tr_reader_options options = {
        .folder = run->store, .records = records, .record_count = TR_COUNT_OF(records)};
    struct tr_reader_filter last = tr_filter_number("total", TR_FILTER_EQUAL, JOBS);
    struct tr_reader_query all = {.record = &tr_booking_schema};
    struct tr_reader_query one = {
        .record = &tr_booking_schema, .filters = &last, .filter_count = 1};
    assert_int_equal(tr_reader_open(&options, NULL, &reader), 0);
    assert_int_equal(tr_reader_rows(reader, &all, count_booking, bookings), 0);
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(bookings[i], 1);
    }
    assert_int_equal(tr_reader_count(reader, &one, &count), 0);
    assert_int_equal(count, 1);
    tr_reader_close(reader);
}

/* Killed at one point, then started again: what comes of it. */
static int kill_and_go_on(long kill_at, bool is_hasty, bool *was_killed)
{
    struct run run = run_new();
    int status = run_once(&run, kill_at, is_hasty);
    *was_killed = status == -1;
    if (status == -1) {
        status = run_once(&run, 0, is_hasty);
    }
    if (status == CHILD_DONE) {
        expect_records(&run);
    }
    run_free(&run);
    return status;
}

/* How many calls a run makes that nobody kills. */
static long calls_of_a_run(void)
{
    struct run run = run_new();
    assert_int_equal(run_once(&run, 0, false), CHILD_DONE);
    expect_records(&run);
    uint32_t calls = 0;
    (void)snprintf(acknowledged_path, sizeof acknowledged_path, "%s/acknowledged", run.folder);
    assert_true(find_acknowledgement(ACK_CALLS, UINT32_MAX, &calls));
    run_free(&run);
    return calls;
}

static void test_nothing_acknowledged_is_lost_at_any_write(void **state)
{
    (void)state;
    long step = getenv("TROUPE_TEST_LONG") != NULL ? 1 : STEP_DEFAULT;
    long calls = calls_of_a_run();
    assert_true(calls > 3 * JOBS);
    int killed = 0;
    for (long kill_at = 1; kill_at <= calls; kill_at += step) {
        bool was_killed;
        int status = kill_and_go_on(kill_at, false, &was_killed);
        if (status != CHILD_DONE) {
            fprintf(stderr, "killed at call %ld of %ld\n", kill_at, calls);
        }
        assert_int_equal(status, CHILD_DONE);
        killed += was_killed ? 1 : 0;
    }
    printf("killed %d times in a run of %ld calls\n", killed, calls);
    assert_true(killed >= calls / step / 2);
}

/* The net must hold: acknowledging a job before it is done has to be found. */
static void test_an_early_acknowledgement_is_found(void **state)
{
    (void)state;
    int found = 0;
    long calls = calls_of_a_run();
    for (long kill_at = calls / 2; kill_at <= calls && found == 0; kill_at++) {
        bool was_killed;
        found += kill_and_go_on(kill_at, true, &was_killed) == CHILD_LOST ? 1 : 0;
    }
    assert_int_equal(found, 1);
}

/* --child FOLDER KILL_AT hasty|sound */
static int child_main(char **arguments)
{
    char store[PATH_BYTES];
    (void)snprintf(store, sizeof store, "%s/store", arguments[2]);
    (void)snprintf(acknowledged_path, sizeof acknowledged_path, "%s/acknowledged", arguments[2]);
    (void)alarm(CHILD_SECONDS_MAX); /* a child that waits for ever is a failure, not a wait */
    return run_child(store, strtol(arguments[3], NULL, 10), strcmp(arguments[4], "hasty") == 0);
}

int main(int count, char **arguments)
{
    if (count == 5 && strcmp(arguments[1], "--child") == 0) {
        return child_main(arguments);
    }
    ssize_t length = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    own_path[length < 0 ? 0 : length] = '\0';
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_acknowledged_is_lost_at_any_write),
        cmocka_unit_test(test_an_early_acknowledgement_is_found),
    };
    return cmocka_run_group_tests_name("kill", tests, NULL, NULL);
}
