/*
 * Failures of elements, grouped: how often each code was seen, and the first failure in words.
 *
 *     9,800 x OOMKilled, 12 x KeyError; first: [17] killed at 256 MiB
 *
 * All of it is one page of fixed size, however many elements fail.
 */
#include <stdio.h>

#include "actors/array/array.h"

/* Codes that are told apart; what comes beyond them is counted together. */
#define CODES_MAX 16U

#define CODE_BYTES_MAX 80U
#define MESSAGE_BYTES_MAX 1024U
#define PATH_BYTES_MAX 512U

struct code {
    uint32_t count;
    uint16_t size;
    char text[CODE_BYTES_MAX];
};

/* The page. Zeros are no failure at all. */
struct errors {
    uint8_t has_first;
    uint8_t is_own; /* it is the map's own, not an element's */
    uint8_t failure;
    uint8_t unused;
    uint32_t code_count;
    uint64_t others;
    uint64_t element;
    uint64_t failed_element;
    uint16_t message_size;
    uint16_t failed_size;
    char message[MESSAGE_BYTES_MAX];
    char failed[PATH_BYTES_MAX];
    struct code codes[CODES_MAX];
};

_Static_assert(sizeof(struct errors) <= 4096, "the page is copied for each failure");

/* Copies as much as there is room for, cut between characters. */
static uint16_t copy(char *to, size_t size_max, struct tr_text text)
{
    size_t size = text.size < size_max ? text.size : size_max;
    while (size < text.size && size > 0 && ((uint8_t)text.data[size] & 0xc0) == 0x80) {
        size--;
    }
    if (size > 0) {
        memcpy(to, text.data, size);
    }
    return (uint16_t)size;
}

static int edit(struct tri_array *array, struct errors **errors)
{
    void *page;
    int error = tr_page_edit(array->context, TRI_ARRAY_ERRORS, sizeof **errors, &page);
    if (error == 0) {
        *errors = page;
    }
    return error;
}

/* The code's own count, as long as there is room for it. */
static void count_code(struct errors *errors, struct tr_text code)
{
    struct code wanted = {.count = 1};
    wanted.size = copy(wanted.text, sizeof wanted.text, code);
    for (uint32_t i = 0; i < errors->code_count; i++) {
        struct code *known = &errors->codes[i];
        if (known->size == wanted.size && memcmp(known->text, wanted.text, wanted.size) == 0) {
            known->count++;
            return;
        }
    }
    if (errors->code_count < CODES_MAX) {
        errors->codes[errors->code_count++] = wanted;
    } else {
        errors->others++;
    }
}

int tri_errors_add(struct tri_array *array, const struct tr_node_ended *ended)
{
    struct errors *errors;
    int error = edit(array, &errors);
    if (error != 0) {
        return error;
    }
    count_code(errors, ended->code.size > 0 ? ended->code : tr_text_of("UnknownError"));
    if (!errors->has_first) {
        errors->has_first = 1;
        errors->failure = ended->failure;
        errors->element = ended->element;
        errors->failed_element = ended->failed.size > 0 ? ended->failed_element : ended->element;
        errors->message_size = copy(errors->message, sizeof errors->message, ended->message);
        errors->failed_size = copy(errors->failed, sizeof errors->failed, ended->failed);
    }
    return 0;
}

int tri_errors_set(struct tri_array *array, const char *code, struct tr_text message)
{
    struct errors *errors;
    int error = edit(array, &errors);
    if (error != 0 || errors->is_own) {
        return error;
    }
    *errors = (struct errors){.has_first = 1, .is_own = 1, .failure = TR_FAILURE_USER};
    errors->failed_element = TR_ELEMENT_NONE;
    errors->code_count = 1;
    errors->codes[0].size =
        copy(errors->codes[0].text, sizeof errors->codes[0].text, tr_text_of(code));
    errors->message_size = copy(errors->message, sizeof errors->message, message);
    return 0;
}

/* ------------------------------------------------------------------------ in words */

/* A number as people write it: 9,800. */
static void add_number(struct tr_buffer *buffer, uint64_t number)
{
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) {
            tr_buffer_add_string(buffer, ",");
        }
        tr_buffer_add(buffer, &digits[i], 1);
    }
}

/* The codes, the most frequent first; of equals the one that was seen first. */
static void sort_codes(const struct errors *errors, uint32_t order[CODES_MAX])
{
    for (uint32_t i = 0; i < errors->code_count; i++) {
        uint32_t at = i;
        while (at > 0 && errors->codes[order[at - 1]].count < errors->codes[i].count) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

static void print(const struct errors *errors, const uint32_t *order, struct tr_buffer *buffer)
{
    for (uint32_t i = 0; i < errors->code_count && !errors->is_own; i++) {
        const struct code *code = &errors->codes[order[i]];
        tr_buffer_add_string(buffer, i > 0 ? ", " : "");
        add_number(buffer, code->count);
        tr_buffer_add_string(buffer, " x ");
        tr_buffer_add(buffer, code->text, code->size);
    }
    if (errors->others > 0) {
        tr_buffer_add_string(buffer, ", ");
        add_number(buffer, errors->others);
        tr_buffer_add_string(buffer, " x others");
    }
    if (!errors->is_own) {
        tr_buffer_print(buffer, "; first: [%llu] ", (unsigned long long)errors->element);
    }
    tr_buffer_add(buffer, errors->message, errors->message_size);
}

int tri_errors_tell(struct tri_array *array, struct tr_buffer *buffer, struct tr_node_ended *ended)
{
    struct tr_bytes page;
    uint32_t order[CODES_MAX] = {0};
    int error = tr_page_get(array->context, TRI_ARRAY_ERRORS, &page);
    if (error != 0 || page.size < sizeof(struct errors)) {
        return error;
    }
    const struct errors *errors = (const struct errors *)(const void *)page.data;
    sort_codes(errors, order);
    print(errors, order, buffer);
    if (buffer->error != 0) {
        return buffer->error;
    }
    ended->failure = errors->failure;
    ended->code = (struct tr_text){errors->codes[order[0]].text, errors->codes[order[0]].size};
    ended->message = tr_buffer_text(buffer);
    ended->failed = (struct tr_text){errors->failed, errors->failed_size};
    ended->failed_element = errors->failed_element;
    return 0;
}
