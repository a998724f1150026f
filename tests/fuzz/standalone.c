/*
 * A main for fuzz targets where there is no libFuzzer, which is to say in every default test run:
 *
 *     fuzz_NAME FILE...                         feeds the files, one after the other
 *     fuzz_NAME --random SEED SECONDS FILE...   feeds the files, then inputs made from the seed
 *
 * A made input is a well-formed msgpack value, random bytes, or one of the files, and then most
 * often a few of its bytes are changed, cut off, doubled or put in. Input number n of a seed is
 * always the same. When the target dies, the input in hand is written to a file whose name is
 * printed: giving that file as an argument shows the fault again.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    INPUT_SIZE_MAX = 65536,
    MADE_SIZE_MAX = 2048,
    FILE_COUNT_MAX = 4096,
    CHANGES_MAX = 8,
    VALUE_DEPTH_MAX = 6,
};

struct bytes {
    uint8_t *data;
    size_t size;
};

struct random_source {
    uint64_t state;
};

static struct bytes corpus[FILE_COUNT_MAX];
static size_t corpus_count;

/* The input in hand, exactly as large as it is, so that a sanitizer sees the first byte too far. */
static struct bytes in_hand;

/* ---- Dying well. ---------------------------------------------------------------------------- */

/* Called by a sanitizer before it ends the process; absent in a build without one. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static char crash_name[64] = "crash-input";

/* Only what a signal handler may call: open, write, close. */
static void save_input_in_hand(void)
{
    static const char words[] = "\nThe input is saved; to see the fault again, give this file: ";
    int file = open(crash_name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0) {
        return;
    }
    bool written = write(file, in_hand.data, in_hand.size) == (ssize_t)in_hand.size;
    close(file);
    if (written && write(STDERR_FILENO, words, sizeof(words) - 1) > 0 &&
        write(STDERR_FILENO, crash_name, strlen(crash_name)) > 0) {
        (void)!write(STDERR_FILENO, "\n", 1);
    }
}

static void on_signal(int number)
{
    save_input_in_hand();
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_for_death(const char *program)
{
    const char *slash = strrchr(program, '/');
    snprintf(crash_name, sizeof(crash_name), "crash-%.40s-%d", slash ? slash + 1 : program,
             (int)getpid());
    signal(SIGABRT, on_signal);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(save_input_in_hand);
        return;
    }
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
    signal(SIGFPE, on_signal);
    signal(SIGILL, on_signal);
}

static void feed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) {
        fprintf(stderr, "no memory for an input of %zu bytes\n", size);
        exit(1);
    }
    if (size > 0) {
        memcpy(copy, data, size);
    }
    in_hand = (struct bytes){copy, size};
    LLVMFuzzerTestOneInput(copy, size);
    in_hand = (struct bytes){NULL, 0};
    free(copy);
}

/* ---- Inputs from files. --------------------------------------------------------------------- */

static void load(const char *path)
{
    static uint8_t buffer[INPUT_SIZE_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    size_t size = fread(buffer, 1, sizeof(buffer), file);
    fclose(file);
    feed(buffer, size);
    if (corpus_count < FILE_COUNT_MAX) {
        uint8_t *kept = malloc(size > 0 ? size : 1);
        if (kept != NULL) {
            memcpy(kept, buffer, size);
            corpus[corpus_count++] = (struct bytes){kept, size};
        }
    }
}

static void free_corpus(void)
{
    while (corpus_count > 0) {
        free(corpus[--corpus_count].data);
    }
}

/* ---- Inputs from a seed. -------------------------------------------------------------------- */

/* splitmix64: each state gives one number, and neighbouring seeds have nothing in common. */
static uint64_t draw(struct random_source *source)
{
    uint64_t mixed = source->state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

static size_t below(struct random_source *source, size_t bound)
{
    return bound > 0 ? (size_t)(draw(source) % bound) : 0;
}

static void put(struct bytes *input, uint64_t byte)
{
    if (input->size < MADE_SIZE_MAX) {
        input->data[input->size++] = (uint8_t)byte;
    }
}

static void put_random(struct random_source *source, struct bytes *input, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        put(input, draw(source));
    }
}

/* The first bytes of msgpack's scalar forms, and how many bytes follow each. */
static const struct {
    uint8_t first;
    uint8_t follow;
} scalar_forms[] = {
    {0xc0, 0}, {0xc2, 0}, {0xc3, 0}, {0xca, 4}, {0xcb, 8}, {0xcc, 1}, {0xcd, 2},
    {0xce, 4}, {0xcf, 8}, {0xd0, 1}, {0xd1, 2}, {0xd2, 4}, {0xd3, 8},
};

static void put_scalar(struct random_source *source, struct bytes *input)
{
    size_t form = below(source, sizeof(scalar_forms) / sizeof(scalar_forms[0]));
    put(input, scalar_forms[form].first);
    put_random(source, input, scalar_forms[form].follow);
}

/* A well-formed value. `open` counts the members still owed at each depth. */
static void put_value(struct random_source *source, struct bytes *input)
{
    size_t open[VALUE_DEPTH_MAX] = {1};
    size_t depth = 0;
    for (;;) {
        while (open[depth] == 0) {
            if (depth == 0) {
                return;
            }
            depth--;
        }
        open[depth]--;
        size_t length = below(source, 16);
        switch (below(source, depth == 0 ? 2 : 8)) {
        case 0:
        case 1:
            if (depth + 1 < VALUE_DEPTH_MAX) {
                put(input, 0x90u | length);
                open[++depth] = length;
            } else {
                put(input, 0xc0);
            }
            break;
        case 2:
            put(input, 0xa0u | length);
            put_random(source, input, length);
            break;
        case 3:
            put(input, 0xc4);
            put(input, length);
            put_random(source, input, length);
            break;
        case 4:
            put_scalar(source, input);
            break;
        default:
            put(input, draw(source) & 0x7fu);
            break;
        }
    }
}

enum change { SET, FLIP, CUT, PUT_IN, DOUBLE, NUDGE, CHANGE_COUNT };

static void change(struct random_source *source, struct bytes *input)
{
    if (input->size == 0) {
        put(input, draw(source));
        return;
    }
    size_t at = below(source, input->size);
    switch ((enum change)below(source, CHANGE_COUNT)) {
    case SET:
        input->data[at] = (uint8_t)draw(source);
        break;
    case FLIP:
        input->data[at] ^= (uint8_t)(1u << below(source, 8));
        break;
    case CUT:
        input->size = at;
        break;
    case PUT_IN:
        put(input, 0);
        memmove(&input->data[at + 1], &input->data[at], input->size - at - 1);
        input->data[at] = (uint8_t)draw(source);
        break;
    case DOUBLE:
        for (size_t i = 0; i < 8 && at + i < input->size; i++) {
            put(input, input->data[at + i]);
        }
        break;
    case NUDGE:
        input->data[at] = (uint8_t)(input->data[at] + (draw(source) & 1u ? 1 : -1));
        break;
    case CHANGE_COUNT:
        break;
    }
}

static void make_input(struct random_source *source, struct bytes *input)
{
    input->size = 0;
    size_t origin = below(source, corpus_count > 0 ? 8 : 4);
    if (origin >= 4) {
        const struct bytes *chosen = &corpus[below(source, corpus_count)];
        input->size = chosen->size < MADE_SIZE_MAX ? chosen->size : MADE_SIZE_MAX;
        memcpy(input->data, chosen->data, input->size);
    } else if (origin >= 1) {
        put_value(source, input);
    } else {
        put_random(source, input, below(source, 64));
    }
    if (below(source, 8) != 0) {
        for (size_t left = 1 + below(source, CHANGES_MAX); left > 0; left--) {
            change(source, input);
        }
    }
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void feed_random(uint64_t seed, double seconds)
{
    static uint8_t buffer[MADE_SIZE_MAX + 1];
    struct bytes input = {buffer, 0};
    uint64_t number = 0;
    double end = seconds_now() + seconds;
    do {
        struct random_source source = {seed * 0x100000001b3u + number};
        draw(&source);
        make_input(&source, &input);
        feed(input.data, input.size);
        number++;
    } while (number % 64 != 0 || seconds_now() < end);
    printf("%llu inputs made from seed %llu\n", (unsigned long long)number,
           (unsigned long long)seed);
}

int main(int count, char **arguments)
{
    int first = 1;
    bool made = count > 1 && strcmp(arguments[1], "--random") == 0;
    if (count < 2 || (made && count < 4)) {
        fprintf(stderr, "Usage: %s [--random SEED SECONDS] [FILE...]\n", arguments[0]);
        return 2;
    }
    watch_for_death(arguments[0]);
    if (made) {
        first = 4;
    }
    for (int i = first; i < count; i++) {
        load(arguments[i]);
    }
    printf("%d files fed\n", count - first);
    if (made) {
        feed_random(strtoull(arguments[2], NULL, 10), strtod(arguments[3], NULL));
    }
    free_corpus();
    return 0;
}
