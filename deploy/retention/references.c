/*
 * Finding names in bytes: runs of hexadecimal digits, looked up by their first half, and numbers of
 * graphs, looked up at each byte behind a filter.
 */
#include "deploy/retention/references.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define HALF (TR_REFERENCE_DIGITS / 2)

/* A name need not be the first thing in its run: what stands before it may look like a digit. */
#define STARTS_MAX 4

/* Bits of a number that the filter knows. */
#define FILTER_BITS 16

struct name {
    char digits[TR_REFERENCE_DIGITS];
    size_t file; /* where its text begins */
    bool is_graph;
    bool is_read;
    bool is_named;
};

/* A graph's number, in the order of bytes of this machine and the other way round. */
struct number {
    uint64_t number;
    uint32_t name;
};

struct tr_references {
    struct name *references; /* by their digits */
    uint32_t *seconds;       /* by the second half of their digits */
    struct number *numbers;
    uint32_t *waiting; /* named, and to be read */
    size_t count;
    size_t capacity;
    size_t number_count;
    size_t waiting_count;
    struct tr_buffer files;
    uint8_t filter[(1U << FILTER_BITS) / 8];
};

/* ------------------------------------------------------------------------ the files */

int tr_references_new(struct tr_references **out)
{
    struct tr_references *references = tr_alloc_zero(1, sizeof *references);
    if (references == NULL) {
        return TR_MEMORY;
    }
    tr_buffer_init(&references->files, 0);
    *out = references;
    return 0;
}

void tr_references_free(struct tr_references *references)
{
    if (references != NULL) {
        tr_free(references->references);
        tr_free(references->seconds);
        tr_free(references->numbers);
        tr_free(references->waiting);
        tr_buffer_fini(&references->files);
        tr_free(references);
    }
}

static int digit_value(uint8_t byte)
{
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                                        : -1;
}

static bool has_digits(const char *file)
{
    for (size_t i = 0; i < TR_REFERENCE_DIGITS; i++) {
        if (digit_value((uint8_t)file[i]) < 0) {
            return false; /* the closing zero is none, too */
        }
    }
    return true;
}

static int grow(struct tr_references *references)
{
    size_t capacity = 2 * references->capacity + 64;
    struct name *grown = tr_realloc(references->references, capacity * sizeof *grown);
    if (grown == NULL) {
        return TR_MEMORY;
    }
    references->references = grown;
    references->capacity = capacity;
    return 0;
}

int tr_references_add(struct tr_references *references, const char *file, bool is_graph,
                      bool is_read)
{
    if (!has_digits(file)) {
        return 0;
    }
    int error = references->count == references->capacity ? grow(references) : 0;
    if (error != 0) {
        return error;
    }
    struct name name = {
        .file = references->files.size, .is_graph = is_graph, .is_read = is_read || is_graph};
    memcpy(name.digits, file, sizeof name.digits);
    tr_buffer_add(&references->files, file, strlen(file) + 1);
    if (references->files.error == 0) {
        references->references[references->count++] = name;
    }
    return references->files.error;
}

static int compare_names(const void *a, const void *b)
{
    return memcmp(((const struct name *)a)->digits, ((const struct name *)b)->digits,
                  TR_REFERENCE_DIGITS);
}

static int compare_seconds(const void *a, const void *b, void *references)
{
    const struct name *all = ((const struct tr_references *)references)->references;
    return memcmp(all[*(const uint32_t *)a].digits + HALF, all[*(const uint32_t *)b].digits + HALF,
                  HALF);
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = ((const struct number *)a)->number;
    uint64_t right = ((const struct number *)b)->number;
    return left < right ? -1 : left > right ? 1 : 0;
}

/* The number of a graph: the first bytes of its hash. */
static uint64_t number_of(const struct name *name)
{
    uint8_t bytes[sizeof(uint64_t)];
    uint64_t number;
    for (size_t i = 0; i < sizeof bytes; i++) {
        int high = digit_value((uint8_t)name->digits[2 * i]);
        bytes[i] = (uint8_t)(high << 4 | digit_value((uint8_t)name->digits[2 * i + 1]));
    }
    memcpy(&number, bytes, sizeof number);
    return number;
}

static void add_number(struct tr_references *references, uint64_t number, uint32_t name)
{
    uint32_t bit = (uint32_t)(number & ((1U << FILTER_BITS) - 1));
    references->filter[bit / 8] |= (uint8_t)(1U << bit % 8);
    references->numbers[references->number_count++] =
        (struct number){.number = number, .name = name};
}

int tr_references_sort(struct tr_references *references)
{
    size_t count = references->count + 1; /* nothing is allocated, too */
    references->seconds = tr_alloc_zero(count, sizeof *references->seconds);
    references->waiting = tr_alloc_zero(count, sizeof *references->waiting);
    references->numbers = tr_alloc_zero(2 * count, sizeof *references->numbers);
    if (references->seconds == NULL || references->waiting == NULL || references->numbers == NULL) {
        return TR_MEMORY;
    }
    if (references->count > 0) {
        qsort(references->references, references->count, sizeof *references->references,
              compare_names);
    }
    for (uint32_t i = 0; i < references->count; i++) {
        references->seconds[i] = i;
        if (references->references[i].is_graph) {
            uint64_t number = number_of(&references->references[i]);
            add_number(references, number, i);
            add_number(references, __builtin_bswap64(number), i);
        }
    }
    qsort_r(references->seconds, references->count, sizeof *references->seconds, compare_seconds,
            references);
    qsort(references->numbers, references->number_count, sizeof *references->numbers,
          compare_numbers);
    return 0;
}

/* ------------------------------------------------------------------------- the marks */

static void mark(struct tr_references *references, uint32_t index)
{
    struct name *name = &references->references[index];
    if (!name->is_named && name->is_read) {
        references->waiting[references->waiting_count++] = index;
    }
    name->is_named = true;
}

/* The first name whose digits are not below these. */
static size_t find_first(const struct tr_references *references, const uint8_t *digits, size_t size)
{
    size_t low = 0;
    size_t high = references->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memcmp(references->references[middle].digits, digits, size) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void mark_first_half(struct tr_references *references, const uint8_t *digits)
{
    for (size_t i = find_first(references, digits, HALF);
         i < references->count && memcmp(references->references[i].digits, digits, HALF) == 0;
         i++) {
        mark(references, (uint32_t)i);
    }
}

static const char *second_of(const struct tr_references *references, size_t place)
{
    return references->references[references->seconds[place]].digits + HALF;
}

static void mark_second_half(struct tr_references *references, const uint8_t *digits)
{
    size_t low = 0;
    size_t high = references->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memcmp(second_of(references, middle), digits, HALF) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < references->count && memcmp(second_of(references, low), digits, HALF) == 0;
         low++) {
        mark(references, references->seconds[low]);
    }
}

void tr_references_keep(struct tr_references *references, const char *file)
{
    size_t i = has_digits(file) ? find_first(references, (const uint8_t *)file, TR_REFERENCE_DIGITS)
                                : references->count;
    for (; i < references->count &&
           memcmp(references->references[i].digits, file, TR_REFERENCE_DIGITS) == 0;
         i++) {
        if (strcmp((const char *)references->files.data + references->references[i].file, file) ==
            0) {
            mark(references, (uint32_t)i);
        }
    }
}

bool tr_references_next(struct tr_references *references, const char **file, bool *is_graph)
{
    if (references->waiting_count == 0) {
        return false;
    }
    const struct name *name =
        &references->references[references->waiting[--references->waiting_count]];
    *file = (const char *)references->files.data + name->file;
    *is_graph = name->is_graph;
    return true;
}

bool tr_references_each(const struct tr_references *references, size_t *place, const char **file,
                        bool *is_graph)
{
    while (*place < references->count) {
        const struct name *name = &references->references[(*place)++];
        if (name->is_named) {
            *file = (const char *)references->files.data + name->file;
            *is_graph = name->is_graph;
            return true;
        }
    }
    return false;
}

bool tr_references_has(const struct tr_references *references, const char *file)
{
    size_t i = has_digits(file) ? find_first(references, (const uint8_t *)file, TR_REFERENCE_DIGITS)
                                : references->count;
    for (; i < references->count &&
           memcmp(references->references[i].digits, file, TR_REFERENCE_DIGITS) == 0;
         i++) {
        if (strcmp((const char *)references->files.data + references->references[i].file, file) ==
            0) {
            return references->references[i].is_named;
        }
    }
    return true;
}

/* ------------------------------------------------------------------------- the bytes */

/* A run of digits, of which at least half a name is there. */
static void read_run(struct tr_references *references, const uint8_t *run, size_t size, bool is_cut)
{
    size_t starts = size - HALF + 1 < STARTS_MAX ? size - HALF + 1 : STARTS_MAX;
    for (size_t i = 0; i < starts; i++) {
        mark_first_half(references, run + i);
    }
    for (size_t end = HALF; is_cut && end <= size && end <= TR_REFERENCE_DIGITS; end++) {
        mark_second_half(references, run + end - HALF);
    }
}

/* Looks at each half of a name's length for its end first, since most bytes are no digits. */
static void read_digits(struct tr_references *references, struct tr_bytes bytes, bool is_page)
{
    size_t at = 0; /* the run begins here, or something that is none */
    while (at + HALF <= bytes.size) {
        size_t end = at + HALF;
        while (end > at && digit_value(bytes.data[end - 1]) >= 0) {
            end--;
        }
        if (end > at) {
            at = end;
            continue;
        }
        end = at + HALF;
        while (end < bytes.size && digit_value(bytes.data[end]) >= 0) {
            end++;
        }
        read_run(references, bytes.data + at, end - at, is_page && at == 0);
        at = end;
    }
}

static void read_number(struct tr_references *references, uint64_t number)
{
    size_t low = 0;
    size_t high = references->number_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (references->numbers[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < references->number_count && references->numbers[low].number == number; low++) {
        mark(references, references->numbers[low].name);
    }
}

static void read_numbers(struct tr_references *references, struct tr_bytes bytes)
{
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size; at++) {
        uint64_t number;
        memcpy(&number, bytes.data + at, sizeof number);
        uint32_t bit = (uint32_t)(number & ((1U << FILTER_BITS) - 1));
        if ((references->filter[bit / 8] >> bit % 8 & 1) != 0) {
            read_number(references, number);
        }
    }
}

void tr_references_read(struct tr_references *references, struct tr_bytes bytes, bool is_page)
{
    read_digits(references, bytes, is_page);
    if (references->number_count > 0) {
        read_numbers(references, bytes);
    }
}
