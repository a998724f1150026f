/*
 * Texts of labels: checked, taken apart and merged.
 *
 * A text is in the order of its keys, so that two of them are merged in one walk, and equal labels
 * are equal texts.
 */
#include "actors/graph/document/labels.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/codec/error.h"

static bool is_alphanumeric(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9');
}

/* Letters and digits at both ends, and `-`, `_` and `.` between. */
static bool is_name(struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        bool is_end = i == 0 || i + 1 == text.size;
        char letter = text.data[i];
        bool is_between = letter == '-' || letter == '_' || letter == '.';
        if (!is_alphanumeric(letter) && (is_end || !is_between)) {
            return false;
        }
    }
    return text.size > 0;
}

/* A DNS subdomain: parts with points between, of small letters, digits, and `-` inside. */
static bool is_subdomain(struct tr_text text)
{
    bool is_first = true; /* of its part */
    char before = '.';
    for (size_t i = 0; i < text.size; i++) {
        char letter = text.data[i];
        bool is_large = letter >= 'A' && letter <= 'Z';
        bool is_point = letter == '.';
        bool is_inside = (letter == '-' || is_point) && !is_first;
        if (is_large || (!is_alphanumeric(letter) && !is_inside) || (is_point && before == '-')) {
            return false;
        }
        is_first = is_point;
        before = letter;
    }
    return is_alphanumeric(before);
}

bool tr_label_key_is_good(struct tr_text key)
{
    const char *slash = key.size == 0 ? NULL : memchr(key.data, '/', key.size);
    struct tr_text name = key;
    if (slash != NULL) {
        struct tr_text prefix = {.data = key.data, .size = (size_t)(slash - key.data)};
        if (prefix.size > TR_LABEL_PREFIX_BYTES_MAX || !is_subdomain(prefix)) {
            return false;
        }
        name = (struct tr_text){.data = slash + 1, .size = key.size - prefix.size - 1};
    }
    return name.size <= TR_LABEL_NAME_BYTES_MAX && is_name(name);
}

bool tr_label_value_is_good(struct tr_text value)
{
    return value.size == 0 || (value.size <= TR_LABEL_VALUE_BYTES_MAX && is_name(value));
}

bool tr_label_split(struct tr_text text, struct tr_label *label)
{
    const char *equals = text.size == 0 ? NULL : memchr(text.data, '=', text.size);
    if (equals == NULL) {
        return false;
    }
    size_t size = (size_t)(equals - text.data);
    label->key = (struct tr_text){.data = text.data, .size = size};
    label->value = (struct tr_text){.data = equals + 1, .size = text.size - size - 1};
    return true;
}

bool tr_labels_next(struct tr_text *rest, struct tr_label *label)
{
    const char *comma = rest->size == 0 ? NULL : memchr(rest->data, ',', rest->size);
    size_t size = comma == NULL ? rest->size : (size_t)(comma - rest->data);
    struct tr_text first = {.data = rest->data, .size = size};
    if (!tr_label_split(first, label)) {
        return false;
    }
    size_t taken = comma == NULL ? size : size + 1;
    rest->data += taken;
    rest->size -= taken;
    return true;
}

bool tr_labels_get(struct tr_text labels, struct tr_text key, struct tr_text *value)
{
    struct tr_label label;
    while (tr_labels_next(&labels, &label)) {
        if (tr_text_equal(label.key, key)) {
            *value = label.value;
            return true;
        }
    }
    return false;
}

bool tr_labels_are_good(struct tr_text labels)
{
    struct tr_text rest = labels;
    struct tr_text before = {0};
    struct tr_label label;
    uint32_t count = 0;
    if (labels.size > TR_LABELS_BYTES_MAX ||
        (labels.size > 0 && labels.data[labels.size - 1] == ',')) {
        return false;
    }
    while (tr_labels_next(&rest, &label)) {
        if (!tr_label_key_is_good(label.key) || !tr_label_value_is_good(label.value) ||
            tr_text_order(before, label.key) >= 0) {
            return false;
        }
        before = label.key;
        count++;
    }
    return rest.size == 0 && count <= TR_LABELS_MAX;
}

/* ----------------------------------------------------------------- making texts */

/* A text that is being made; nothing of it stays where it becomes too much. */
struct making {
    struct tr_buffer *text;
    size_t begin;
    uint32_t count;
};

static void add(struct making *making, const struct tr_label *label)
{
    if (making->count++ > 0) {
        tr_buffer_add_string(making->text, ",");
    }
    tr_buffer_add_text(making->text, label->key);
    tr_buffer_add_string(making->text, "=");
    tr_buffer_add_text(making->text, label->value);
}

static int finish(struct making *making, int error)
{
    bool is_too_much =
        making->count > TR_LABELS_MAX || making->text->size - making->begin > TR_LABELS_BYTES_MAX;
    if (error == 0) {
        error = making->text->error != 0 ? making->text->error : is_too_much ? TR_LIMIT : 0;
    }
    if (error != 0) {
        tr_buffer_cut(making->text, making->begin);
    }
    return error;
}

int tr_labels_print(struct tr_label *labels, size_t count, struct tr_buffer *text)
{
    struct making making = {.text = text, .begin = text->size};
    int error = 0;
    qsort(labels, count, sizeof *labels, tr_text_order_at);
    for (size_t i = 0; error == 0 && i < count && making.count <= TR_LABELS_MAX; i++) {
        bool is_twice = i > 0 && tr_text_equal(labels[i - 1].key, labels[i].key);
        error = is_twice ? TR_EXISTS : 0;
        add(&making, &labels[i]);
    }
    return finish(&making, error);
}

/* What is left of one of two texts: its next label, if there is one. */
struct side {
    struct tr_text rest;
    struct tr_label label;
    bool has_label;
};

static void advance(struct side *side)
{
    side->has_label = tr_labels_next(&side->rest, &side->label);
}

/* Which of the two labels goes next: below 0 the weak one, 0 both, above 0 the strong one. */
static int order_of(const struct side *weak, const struct side *strong)
{
    return !weak->has_label     ? 1
           : !strong->has_label ? -1
                                : tr_text_order(weak->label.key, strong->label.key);
}

int tr_labels_merge(struct tr_text weak_labels, struct tr_text strong_labels,
                    struct tr_buffer *text)
{
    struct side weak = {.rest = weak_labels};
    struct side strong = {.rest = strong_labels};
    struct making making = {.text = text, .begin = text->size};
    advance(&weak);
    advance(&strong);
    while (weak.has_label || strong.has_label) {
        int order = order_of(&weak, &strong);
        add(&making, order < 0 ? &weak.label : &strong.label);
        if (order <= 0) {
            advance(&weak);
        }
        if (order >= 0) {
            advance(&strong);
        }
    }
    return finish(&making, 0);
}
