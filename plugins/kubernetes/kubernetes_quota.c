/*
 * What a quota says of a pod that it has no room for:
 *
 *     exceeded quota: q, requested: cpu=2,pods=1, used: cpu=3,pods=9, limited: cpu=4,pods=9
 *
 * More than its limit it never grants, however much is free.
 */
#include "plugins/kubernetes/kubernetes.h"

/* Suffixes of quantities; what is none of these is no quantity. */
static const struct {
    const char *suffix;
    double factor;
} suffixes[] = {
    {"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},    {"k", 1e3},     {"M", 1e6},
    {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"E", 1e18},    {"Ki", 0x1p10}, {"Mi", 0x1p20},
    {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60},
};

/* "1500m", "2.5Gi". Powers of ten (1e3) nobody writes into a message: they are read as none. */
static bool read_quantity(struct tr_text text, double *quantity)
{
    double value = 0;
    double place = 0;
    size_t i = 0;
    for (; i < text.size && (text.data[i] == '.' || (text.data[i] >= '0' && text.data[i] <= '9'));
         i++) {
        bool is_point = text.data[i] == '.';
        value = is_point ? value : 10 * value + (text.data[i] - '0');
        place = is_point ? 1 : place * 10;
    }
    struct tr_text rest = {.data = text.data + i, .size = text.size - i};
    for (size_t j = 0; i > 0 && j < TR_COUNT_OF(suffixes); j++) {
        if (tr_text_equal(rest, tr_text_of(suffixes[j].suffix))) {
            *quantity = value * suffixes[j].factor / (place > 0 ? place : 1);
            return true;
        }
    }
    return false;
}

/* What stands behind a word, up to the next ", " or the end: "cpu=2,pods=1". */
static struct tr_text list_behind(struct tr_text message, const char *word)
{
    const char *at =
        message.size == 0 ? NULL : memmem(message.data, message.size, word, strlen(word));
    if (at == NULL) {
        return (struct tr_text){0};
    }
    at += strlen(word);
    size_t left = (size_t)(message.data + message.size - at);
    const char *end = memmem(at, left, ", ", 2);
    return (struct tr_text){.data = at, .size = end == NULL ? left : (size_t)(end - at)};
}

/* The next NAME=QUANTITY of a list, which gets shorter by it; false: there is none. */
static bool take_amount(struct tr_text *list, struct tr_text *name, double *quantity)
{
    const char *comma = list->size == 0 ? NULL : memchr(list->data, ',', list->size);
    size_t size = comma == NULL ? list->size : (size_t)(comma - list->data);
    const char *equals = size == 0 ? NULL : memchr(list->data, '=', size);
    if (equals == NULL) {
        return false;
    }
    size_t name_size = (size_t)(equals - list->data);
    struct tr_text value = {.data = equals + 1, .size = size - name_size - 1};
    *name = (struct tr_text){.data = list->data, .size = name_size};
    size_t taken = comma == NULL ? size : size + 1;
    *list = (struct tr_text){.data = list->data + taken, .size = list->size - taken};
    return read_quantity(value, quantity);
}

bool tri_kubernetes_exceeds_limits(struct tr_text message)
{
    struct tr_text requested = list_behind(message, "requested: ");
    struct tr_text name;
    double asked;
    while (take_amount(&requested, &name, &asked)) {
        struct tr_text limited = list_behind(message, "limited: ");
        struct tr_text other;
        double limit;
        while (take_amount(&limited, &other, &limit)) {
            if (tr_text_equal(name, other) && asked > limit) {
                return true;
            }
        }
    }
    return false;
}
