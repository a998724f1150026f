/*
 * Failures of elements, grouped by code and cause, which are alike if only their numbers differ:
 *
 *     9,800 x killed at 256 MiB [OOMKilled], first [17]; 12 x 'a' [KeyError], first [3]
 *
 * All of it is a page of fixed size, however many elements fail, and one more for the end of what
 * the first of them wrote to stderr.
 */
#include <stdio.h>

#include "actors/array/array.h"

/* Groups that are told apart; what comes beyond them is counted together. */
#define GROUPS_MAX 16U

#define CODE_BYTES_MAX 80U
#define CAUSE_BYTES_MAX 200U
#define MESSAGE_BYTES_MAX 1024U
#define PATH_BYTES_MAX 512U

struct group {
    uint64_t first;
    uint32_t count;
    uint16_t code_size;
    uint16_t cause_size;
    char code[CODE_BYTES_MAX];
    char cause[CAUSE_BYTES_MAX];
};

/* The page. Zeros are no failure at all. */
struct errors {
    uint8_t has_first;
    uint8_t is_own; /* it is the map's own, not an element's */
    uint8_t failure;
    uint8_t unused;
    uint32_t group_count;
    uint64_t others;
    uint64_t failed_element;
    uint16_t message_size; /* of the first failure */
    uint16_t failed_size;
    uint32_t details_size;
    char message[MESSAGE_BYTES_MAX];
    char failed[PATH_BYTES_MAX];
    struct group groups[GROUPS_MAX];
};

_Static_assert(sizeof(struct errors) <= 8192, "the page is copied for each failure");

/*
 * Copies as much as there is room for, cut between characters. Bytes of the form 10xxxxxx go on
 * with a character: the cut moves in front of its first byte.
 */
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

/* The page of errors, to change; made of zeros at the first failure. */
static int edit(struct tri_array *array, struct errors **errors)
{
    void *page;
    int error = tr_page_edit(array->context, TRI_ARRAY_ERRORS, sizeof **errors, &page);
    if (error == 0) {
        *errors = page;
    }
    return error;
}

static struct tr_text code_of(const struct group *group)
{
    return (struct tr_text){group->code, group->code_size};
}

static struct tr_text cause_of(const struct group *group)
{
    return (struct tr_text){group->cause, group->cause_size};
}

/* Counts a failure in the group of those alike, as long as there is room for it. */
static void count(struct errors *errors, uint64_t element, struct tr_text code,
                  struct tr_text cause)
{
    /*
     * The cut texts are compared, since only those are kept: two that differ behind the cut are
     * alike.
     */
    struct group wanted = {.first = element, .count = 1};
    wanted.code_size = copy(wanted.code, sizeof wanted.code, code);
    wanted.cause_size = copy(wanted.cause, sizeof wanted.cause, cause);
    for (uint32_t i = 0; i < errors->group_count; i++) {
        struct group *known = &errors->groups[i];
        if (tr_text_equal(code_of(known), code_of(&wanted)) &&
            tr_text_alike(cause_of(known), cause_of(&wanted))) {
            known->count++;
            known->first = element < known->first ? element : known->first;
            return;
        }
    }
    if (errors->group_count < GROUPS_MAX) {
        errors->groups[errors->group_count++] = wanted;
    } else {
        errors->others++;
    }
}

/* Keeps what the first element that failed wrote to stderr, in a page of its own. */
static int keep_details(struct tri_array *array, struct tr_text output)
{
    void *page;
    if (output.size == 0) {
        return 0;
    }
    int error = tr_page_edit(array->context, TRI_ARRAY_ERROR_DETAILS, output.size, &page);
    if (error == 0) {
        memcpy(page, output.data, output.size);
    }
    return error;
}

/* Counts the element's failure; of the first one the message and the path are kept. */
int tri_array_errors_add(struct tri_array *array, const struct tr_node_ended *ended)
{
    struct errors *errors;
    int error = edit(array, &errors);
    if (error != 0) {
        return error;
    }
    count(errors, ended->element, ended->code.size > 0 ? ended->code : tr_text_of("UnknownError"),
          ended->message);
    if (errors->has_first) {
        return 0;
    }
    errors->has_first = 1;
    errors->failure = ended->failure;
    errors->failed_element = ended->failed.size > 0 ? ended->failed_element : ended->element;
    errors->message_size = copy(errors->message, sizeof errors->message, ended->message);
    errors->failed_size = copy(errors->failed, sizeof errors->failed, ended->failed);
    errors->details_size = (uint32_t)ended->details.size;
    return keep_details(array, ended->details);
}

/* The map's own failure takes the place of its elements'; the first of its own stays. */
int tri_array_errors_set(struct tri_array *array, const char *code, struct tr_text message)
{
    struct errors *errors;
    int error = edit(array, &errors);
    if (error != 0 || errors->is_own) {
        return error;
    }
    *errors = (struct errors){.has_first = 1, .is_own = 1, .failure = TR_FAILURE_USER};
    errors->failed_element = TR_ELEMENT_NONE;
    count(errors, TR_ELEMENT_NONE, tr_text_of(code), (struct tr_text){0});
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

/* The groups, the most frequent first; of equals the one that was seen first. */
static void sort_groups(const struct errors *errors, uint32_t order[GROUPS_MAX])
{
    for (uint32_t i = 0; i < errors->group_count; i++) {
        uint32_t at = i;
        while (at > 0 && errors->groups[order[at - 1]].count < errors->groups[i].count) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

/* One group is said in whole: "[17] killed at 256 MiB (and 9,799 more like it)". */
static void print_one(const struct errors *errors, struct tr_buffer *buffer)
{
    const struct group *group = &errors->groups[0];
    tr_buffer_print(buffer, "[%llu] ", (unsigned long long)group->first);
    tr_buffer_add(buffer, errors->message, errors->message_size);
    if (group->count > 1) {
        tr_buffer_add_string(buffer, " (and ");
        add_number(buffer, group->count - 1);
        tr_buffer_add_string(buffer, " more like it)");
    }
}

static void print_groups(const struct errors *errors, const uint32_t *order,
                         struct tr_buffer *buffer)
{
    for (uint32_t i = 0; i < errors->group_count; i++) {
        const struct group *group = &errors->groups[order[i]];
        tr_buffer_add_string(buffer, i > 0 ? "; " : "");
        add_number(buffer, group->count);
        tr_buffer_add_string(buffer, " x ");
        tr_buffer_add_text(buffer, cause_of(group));
        tr_buffer_print(buffer, " [%.*s], first [%llu]", TRI_TEXT(code_of(group)),
                        (unsigned long long)group->first);
    }
    if (errors->others > 0) {
        tr_buffer_add_string(buffer, "; ");
        add_number(buffer, errors->others);
        tr_buffer_add_string(buffer, " x others");
    }
}

static void print(const struct errors *errors, const uint32_t *order, struct tr_buffer *buffer)
{
    if (errors->is_own) {
        tr_buffer_add(buffer, errors->message, errors->message_size);
    } else if (errors->group_count == 1) {
        print_one(errors, buffer);
    } else {
        print_groups(errors, order, buffer);
    }
}

/*
 * Fills in the failure of the array's last message: the most frequent code, all counts in words,
 * and the node and element of the first failure. Nothing where nothing failed.
 */
int tri_array_errors_tell(struct tri_array *array, struct tr_buffer *buffer,
                          struct tr_node_ended *ended)
{
    struct tr_bytes page;
    struct tr_bytes output = {0};
    uint32_t order[GROUPS_MAX] = {0};
    int error = tr_page_get(array->context, TRI_ARRAY_ERRORS, &page);
    if (error != 0 || page.size < sizeof(struct errors)) {
        return error;
    }
    const struct errors *errors = (const struct errors *)(const void *)page.data;
    if (errors->details_size > 0) {
        error = tr_page_get(array->context, TRI_ARRAY_ERROR_DETAILS, &output);
    }
    sort_groups(errors, order);
    print(errors, order, buffer);
    if (error != 0) {
        return error;
    }
    if (buffer->error != 0) {
        return buffer->error;
    }
    ended->failure = errors->failure;
    ended->code = code_of(&errors->groups[order[0]]);
    ended->message = tr_buffer_text(buffer);
    ended->failed = (struct tr_text){errors->failed, errors->failed_size};
    ended->failed_element = errors->failed_element;
    ended->details = (struct tr_text){(const char *)output.data, output.size};
    return 0;
}
