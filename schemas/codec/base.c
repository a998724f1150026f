/*
 * What base.h promises: the end of a process whose invariants broke, and views of text.
 *
 * An assertion prints with plain write(2): stdio may be what is broken, and another thread may
 * hold its lock.
 */
#include "schemas/codec/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*assert_hook)(void);

void tr_assert_hook_set(void (*hook)(void))
{
    __atomic_store_n(&assert_hook, hook, __ATOMIC_RELEASE);
}

void tr_assert_failed(const char *condition, const char *file, int line)
{
    char text[512];
    int size = snprintf(text, sizeof text, "troupe: assertion failed: %s (%s:%d)\n", condition,
                        file, line);
    if (size > 0) {
        size_t shown = (size_t)size < sizeof text ? (size_t)size : sizeof text - 1;
        ssize_t written = write(STDERR_FILENO, text, shown);
        (void)written;
    }
    /* Taken away before it runs: once, even when it fails itself or two threads fail at once. */
    void (*hook)(void) = __atomic_exchange_n(&assert_hook, NULL, __ATOMIC_ACQ_REL);
    if (hook != NULL) {
        hook();
    }
    abort();
}

struct tr_text tr_text_of(const char *string)
{
    if (string == NULL) {
        return (struct tr_text){.data = "", .size = 0};
    }
    return (struct tr_text){.data = string, .size = strlen(string)};
}

bool tr_text_equal(struct tr_text a, struct tr_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Behind the digits at a place, if there are any. */
static size_t behind_number(struct tr_text text, size_t at)
{
    while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9') {
        at++;
    }
    return at;
}

bool tr_text_alike(struct tr_text a, struct tr_text b)
{
    size_t i = 0;
    size_t j = 0;
    while (i < a.size && j < b.size) {
        size_t behind_a = behind_number(a, i);
        size_t behind_b = behind_number(b, j);
        bool is_number = behind_a > i && behind_b > j;
        if (!is_number && a.data[i] != b.data[j]) {
            return false;
        }
        i = is_number ? behind_a : i + 1;
        j = is_number ? behind_b : j + 1;
    }
    return i == a.size && j == b.size;
}

int tr_text_order(struct tr_text a, struct tr_text b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size == 0 ? 0 : memcmp(a.data, b.data, size);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

int tr_text_order_at(const void *a, const void *b)
{
    return tr_text_order(*(const struct tr_text *)a, *(const struct tr_text *)b);
}

const void *tr_text_search(struct tr_text text, const void *items, size_t count, size_t size)
{
    return count == 0 ? NULL : bsearch(&text, items, count, size, tr_text_order_at);
}
