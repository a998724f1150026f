/*
 * Processes per second: /bin/true through the keeper, beside a bare posix_spawn loop that makes the
 * same files. Both in one run, turn by turn, with as many processes at once.
 *
 *     bench_keeper [TURNS [PROCESSES_A_TURN [AT_ONCE]]]
 *
 * One JSON line per figure (tests/bench/README.md): medians over the turns. Keepers with a synced
 * log and without are measured, each with processes that wait there for their turn and, one_by_one,
 * with a start only when another has ended. The loop is the yardstick of all.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "runtime/keeper/keeper.h"
#include "runtime/keeper_client/keeper_client.h"

/* Every process writes its outputs into files of its own in one folder. */
struct place {
    char store[64];
    char work[80];
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static double rate(int count, uint64_t begin_us)
{
    return count * 1e6 / (double)(tri_monotonic_us() - begin_us);
}

/* ---- The bare loop. ------------------------------------------------------------------------- */

static void spawn_bare(const struct place *place, int number)
{
    static char program[] = "/bin/true";
    char *argv[] = {program, NULL};
    char out[128];
    char err[128];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t pid;
    snprintf(out, sizeof out, "%s/%d.out", place->work, number);
    snprintf(err, sizeof err, "%s/%d.err", place->work, number);
    int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, out, flags, 0644);
    posix_spawn_file_actions_addopen(&files, 2, err, flags, 0644);
    posix_spawn_file_actions_addchdir_np(&files, place->work);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    if (posix_spawn(&pid, program, &files, &attributes, argv, environ) != 0) {
        fail("posix_spawn");
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
}

static double run_bare(const struct place *place, int count, int at_once)
{
    uint64_t begin_us = tri_monotonic_us();
    for (int i = 0; i < count + at_once; i++) {
        int status;
        if (i >= at_once && (waitpid(-1, &status, 0) < 0 || status != 0)) {
            fail("waitpid");
        }
        if (i < count) {
            spawn_bare(place, i);
        }
    }
    return rate(count, begin_us);
}

/* ---- Through the keeper. -------------------------------------------------------------------- */

static void start_kept(struct tri_keeper_client *client, const struct place *place, int number)
{
    static uint8_t words[64];
    static const char *const argv[] = {"/bin/true", NULL};
    struct tr_writer writer = tr_writer_of(words, sizeof words);
    char key[32];
    char out[128];
    char err[128];
    snprintf(key, sizeof key, "bench/%d/0", number);
    snprintf(out, sizeof out, "%s/%d.out", place->work, number);
    snprintf(err, sizeof err, "%s/%d.err", place->work, number);
    int error = tr_process_strings_pack(argv, &writer);
    struct tr_process_start start = {
        .key = tr_text_of(key),
        .argv = {.data = words, .size = tr_writer_size(&writer)},
        .folder = tr_text_of(place->work),
        .stdout_path = tr_text_of(out),
        .stderr_path = tr_text_of(err),
    };
    if (error != 0 || tri_keeper_client_send(client, &tr_process_start_schema, &start) != 0) {
        fail("start");
    }
}

/* Forgets a process that ended well. */
static void take_end(struct tri_keeper_client *client, const struct tri_packet *frame)
{
    struct tr_process_ended ended;
    if (tr_process_ended_unpack(frame->body, frame->version, &ended) != 0 ||
        ended.outcome != TR_PROCESS_EXITED || ended.status != 0) {
        fail("a process failed");
    }
    struct tr_process_forget forget = {.key = ended.key};
    if (tri_keeper_client_send(client, &tr_process_forget_schema, &forget) != 0) {
        fail("forget");
    }
}

static void await(struct tri_keeper_client *client)
{
    struct pollfd polled = {.fd = tri_keeper_client_fd(client), .events = POLLIN};
    tri_keeper_client_flush(client);
    poll(&polled, 1, -1);
}

static double run_kept(struct tri_keeper_client *client, const struct place *place, int count,
                       int asked_at_once)
{
    struct tri_keeper_event event;
    uint64_t begin_us = tri_monotonic_us();
    int started = 0;
    int ended = 0;
    while (ended < count) {
        while (started < count && started < ended + asked_at_once) {
            start_kept(client, place, started++);
        }
        await(client);
        while (tri_keeper_client_next(client, &event) == 0) {
            if (event.kind != TRI_KEEPER_PACKET) {
                fail("the keeper is gone");
            }
            if (event.packet.type == tr_process_ended_schema.id) {
                take_end(client, &event.packet);
                ended++;
            }
        }
    }
    return rate(count, begin_us);
}

/* ---- The whole. ----------------------------------------------------------------------------- */

static void make_place(struct place *place)
{
    snprintf(place->store, sizeof place->store, "/tmp/troupe-bench-XXXXXX");
    if (mkdtemp(place->store) == NULL) {
        fail("mkdtemp");
    }
    snprintf(place->work, sizeof place->work, "%s/work", place->store);
    if (mkdir(place->work, 0700) != 0) {
        fail("mkdir");
    }
}

static struct tri_keeper_client *connect_to(const struct place *place, bool is_unsynced,
                                            int at_once, uint32_t *pid)
{
    const char *command[] = {"bench", "keeper", is_unsynced ? "unsynced" : "synced", NULL};
    struct tri_keeper_client_options options = {
        .store_folder = place->store, .command = command, .running_max = (uint32_t)at_once};
    struct tri_keeper_client *client;
    struct tri_keeper_event event;
    if (tri_keeper_client_new(&options, &client) != 0) {
        fail("client");
    }
    tri_keeper_client_connect(client);
    while (tri_keeper_client_next(client, &event) != 0) {
        await(client);
    }
    if (event.kind != TRI_KEEPER_UP) {
        fprintf(stderr, "%s\n", event.words);
        exit(1);
    }
    *pid = event.hello.pid;
    return client;
}

/* Turns of one measurement: short ones, so that all kinds meet the same machine. */
enum { TURNS_MAX = 1000 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

/* What is asked for at once, as a multiple of what runs: the rest waits for its turn. */
enum { AHEAD = 4 };

static void print_figure(const char *figure, int count, int at_once, double value, double bare,
                         double ratio)
{
    printf("{\"bench\":\"keeper\",\"figure\":\"%s\",\"n\":%d,\"at_once\":%d,\"value\":%.0f,"
           "\"unit\":\"1/s\",\"yardstick\":{\"posix_spawn\":%.0f},\"ratio\":%.3f}\n",
           figure, count, at_once, value, bare, ratio);
}

/* A keeper in a place of its own. */
struct bench {
    const char *figure;
    bool is_unsynced;
    int ahead;
    struct place place;
    uint32_t pid;
    struct tri_keeper_client *client;
    double rates[TURNS_MAX];
    double ratios[TURNS_MAX];
};

static void end_bench(struct bench *bench)
{
    char command[128];
    tri_keeper_client_free(bench->client);
    kill((pid_t)bench->pid, SIGTERM);
    snprintf(command, sizeof command, "rm -rf '%s'", bench->place.store);
    if (system(command) != 0) {
        fail("rm");
    }
}

static void measure(int turns, int turn_size, int at_once)
{
    static struct bench benches[] = {
        {.figure = "processes_synced", .ahead = AHEAD},
        {.figure = "processes_synced_one_by_one", .ahead = 1},
        {.figure = "processes_unsynced", .ahead = AHEAD, .is_unsynced = true},
        {.figure = "processes_unsynced_one_by_one", .ahead = 1, .is_unsynced = true},
    };
    static double bare[TURNS_MAX];
    for (size_t i = 0; i < TR_COUNT_OF(benches); i++) {
        make_place(&benches[i].place);
        benches[i].client =
            connect_to(&benches[i].place, benches[i].is_unsynced, at_once, &benches[i].pid);
    }
    for (int turn = 0; turn < turns; turn++) {
        bare[turn] = run_bare(&benches[0].place, turn_size, at_once);
        for (size_t i = 0; i < TR_COUNT_OF(benches); i++) {
            struct bench *bench = &benches[i];
            bench->rates[turn] =
                run_kept(bench->client, &bench->place, turn_size, at_once * bench->ahead);
            bench->ratios[turn] = bench->rates[turn] / bare[turn];
        }
    }
    double bare_median = median(bare, turns);
    for (size_t i = 0; i < TR_COUNT_OF(benches); i++) {
        struct bench *bench = &benches[i];
        print_figure(bench->figure, turns * turn_size, at_once, median(bench->rates, turns),
                     bare_median, median(bench->ratios, turns));
        end_bench(bench);
    }
}

int main(int count, char **arguments)
{
    if (count == 4 && strcmp(arguments[1], "keeper") == 0) {
        struct tri_keeper_options options = {.is_detached = true,
                                             .is_unsynced = strcmp(arguments[2], "unsynced") == 0};
        return tri_keeper_main(arguments[3], &options) == 0 ? 0 : 1;
    }
    int turns = count > 1 ? atoi(arguments[1]) : 30;
    int turn_size = count > 2 ? atoi(arguments[2]) : 100;
    int at_once = count > 3 ? atoi(arguments[3]) : 2;
    measure(turns < TURNS_MAX ? turns : TURNS_MAX, turn_size, at_once);
    return 0;
}
