/*
 * The simulator's program: runs seeds until one shows a fault, and says how to see it again.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim/inject.h"
#include "tests/sim/world.h"

/* One in so many seeds runs twice: its two signatures must be equal. */
#define TWICE_EVERY 16

struct options {
    uint64_t first;
    uint64_t count;
    const struct sim_play *play; /* NULL: all of them */
    const struct sim_bug *bug;
    bool is_one;
    bool is_verbose;
};

static const char *program_name;
static uint64_t running_seed;
static const struct sim_play *running_play;
static const struct sim_bug *running_bug;

static void print_replay(void)
{
    fprintf(stderr, "replay: %s --play %s%s%s --seed %llu\n", program_name, running_play->name,
            running_bug == NULL ? "" : " --inject ", running_bug == NULL ? "" : running_bug->name,
            (unsigned long long)running_seed);
}

static void on_signal(int number)
{
    print_replay();
    signal(number, SIG_DFL);
    raise(number);
}

static void usage(void)
{
    fputs("Usage: simulate [--play NAME] [--seeds N] [--first S] [--seed S] [--inject NAME]\n"
          "                [--list-bugs]\n"
          "\n"
          "  --play NAME    what is played: workload, web, engine or idempotency; all, one after\n"
          "                 the other, unless it is given; with --seed and --inject workload\n"
          "  --seeds N      run N seeds (default 300)\n"
          "  --first S      the first of them (default 1)\n"
          "  --seed S       run this seed only, and say what happens in it\n"
          "  --quiet        with --seed: say only how it ended\n"
          "  --inject NAME  inject a bug, and end well when a seed finds it\n"
          "  --list-bugs    the bugs that can be injected: play, name, the first seed that finds\n"
          "                 it, what it breaks, and what finds it\n",
          stderr);
}

static uint64_t number_of(const char *text)
{
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0') {
        fprintf(stderr, "simulate: '%s' is no number\n", text);
        exit(2);
    }
    return number;
}

static void list_bugs(void)
{
    for (size_t i = 0; i < sim_play_count; i++) {
        const struct sim_play *play = sim_plays[i];
        for (size_t k = 0; k < *play->bug_count; k++) {
            printf("%-11s %-26s %5llu  %s\n%46s%s\n", play->name, play->bugs[k].name,
                   (unsigned long long)play->bugs[k].first_seed, play->bugs[k].text, "found by ",
                   play->bugs[k].found_by);
        }
    }
}

static const struct sim_play *play_of(const char *name)
{
    const struct sim_play *play = sim_play_find(name);
    if (play == NULL) {
        fprintf(stderr, "simulate: nobody knows the play '%s'\n", name);
        exit(2);
    }
    return play;
}

/* The play that has the injected bug, if none was named. */
static const struct sim_bug *bug_of(struct options *options, const char *name)
{
    for (size_t i = 0; i < sim_play_count; i++) {
        const struct sim_bug *bug = sim_inject_find(sim_plays[i], name);
        bool is_meant = options->play == NULL || options->play == sim_plays[i];
        if (bug != NULL && is_meant) {
            options->play = sim_plays[i];
            return bug;
        }
    }
    fprintf(stderr, "simulate: nobody knows the bug '%s' (--list-bugs)\n", name);
    exit(2);
}

static struct options read_options(int count, char **arguments)
{
    struct options options = {.first = 1, .count = 300, .is_verbose = true};
    for (int i = 1; i < count; i++) {
        const char *name = arguments[i];
        const char *value = i + 1 < count ? arguments[i + 1] : "";
        if (strcmp(name, "--list-bugs") == 0) {
            list_bugs();
            exit(0);
        } else if (strcmp(name, "--quiet") == 0) {
            options.is_verbose = false;
            continue;
        } else if (strcmp(name, "--seeds") == 0) {
            options.count = number_of(value);
        } else if (strcmp(name, "--first") == 0) {
            options.first = number_of(value);
        } else if (strcmp(name, "--seed") == 0) {
            options.first = number_of(value);
            options.is_one = true;
        } else if (strcmp(name, "--inject") == 0) {
            options.bug = bug_of(&options, value);
        } else if (strcmp(name, "--play") == 0) {
            options.play = play_of(value);
        } else {
            usage();
            exit(2);
        }
        i++;
    }
    return options;
}

static void print_counts(const struct sim_counts *counts)
{
#define PRINT_COUNT(name) fprintf(stderr, " " #name " %llu", (unsigned long long)counts->name);
    SIM_COUNTS(PRINT_COUNT)
#undef PRINT_COUNT
    fputc('\n', stderr);
}

static void add_counts(struct sim_counts *total, const struct sim_counts *counts)
{
#define ADD_COUNT(name) total->name += counts->name;
    SIM_COUNTS(ADD_COUNT)
#undef ADD_COUNT
}

/* Runs a seed, some twice. */
static struct sim_result run_seed(uint64_t seed, const struct options *options, bool is_verbose)
{
    running_seed = seed;
    struct sim_result result = sim_run(options->play, seed, options->bug, is_verbose);
    if (!result.has_failed && seed % TWICE_EVERY == 0) {
        struct sim_result again = sim_run(options->play, seed, options->bug, false);
        if (again.signature != result.signature) {
            result.has_failed = true;
            (void)snprintf(result.failure, sizeof result.failure,
                           "the same seed took another way: signature %016llx, then %016llx",
                           (unsigned long long)result.signature,
                           (unsigned long long)again.signature);
        }
    }
    return result;
}

/* What broke, and how to see it again. The process ends at once: a failed run keeps its memory. */
static _Noreturn void end_failed(const struct options *options, const struct sim_result *result)
{
    fprintf(stderr, "seed %llu: %s\n", (unsigned long long)running_seed, result->failure);
    print_replay();
    fflush(stderr);
    _exit(options->bug != NULL ? 0 : 1);
}

static void run_all(const struct options *options)
{
    struct sim_counts total = {0};
    uint64_t signatures = 0;
    uint64_t last = 0;
    time_t begin = time(NULL);
    for (uint64_t i = 0; i < options->count; i++) {
        struct sim_result result = run_seed(options->first + i, options, false);
        if (result.has_failed) {
            end_failed(options, &result);
        }
        add_counts(&total, &result.counts);
        signatures += result.signature != last ? 1 : 0;
        last = result.signature;
        if ((i + 1) % 1000 == 0) {
            fprintf(stderr, "%llu seeds, %lld s\n", (unsigned long long)i + 1,
                    (long long)(time(NULL) - begin));
        }
    }
    fprintf(stderr, "%s: %llu seeds without a finding in %lld s, %llu ways:", options->play->name,
            (unsigned long long)options->count, (long long)(time(NULL) - begin),
            (unsigned long long)signatures);
    print_counts(&total);
    if (signatures != options->count) {
        fputs("two seeds took the same way\n", stderr);
        exit(1);
    }
}

static void run_one(const struct options *options)
{
    struct sim_result result = run_seed(options->first, options, options->is_verbose);
    if (result.has_failed) {
        end_failed(options, &result);
    }
    fprintf(stderr, "seed %llu: well, signature %016llx, %.3f virtual seconds:",
            (unsigned long long)options->first, (unsigned long long)result.signature,
            (double)result.virtual_ns / 1e9);
    print_counts(&result.counts);
}

static void run_plays(struct options *options)
{
    for (size_t i = 0; i < sim_play_count; i++) {
        options->play = sim_plays[i];
        running_play = options->play;
        run_all(options);
    }
}

int main(int count, char **arguments)
{
    struct options options = read_options(count, arguments);
    bool is_all = options.play == NULL && !options.is_one;
    options.play = options.play == NULL ? &sim_workload : options.play;
    program_name = arguments[0];
    running_play = options.play;
    running_bug = options.bug;
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
    signal(SIGFPE, on_signal);
    signal(SIGABRT, on_signal);
    if (is_all) {
        run_plays(&options);
    } else if (!options.is_one) {
        run_all(&options);
    } else {
        run_one(&options);
    }
    if (options.bug != NULL) {
        fputs("the injected bug was not found\n", stderr);
        return 1;
    }
    return 0;
}
