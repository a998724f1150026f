/*
 * Labels: keys and values that people give to executions, by the rules of Kubernetes.
 *
 * Everywhere but in definitions they are one text, `team=data,tier=gold`: in the order of their
 * keys, each key once, no text for no labels. Neither a key nor a value can hold `,` or `=`, so
 * that nothing has to be quoted.
 */
#ifndef TR_ACTORS_GRAPH_DOCUMENT_LABELS_H
#define TR_ACTORS_GRAPH_DOCUMENT_LABELS_H

#include "actors/graph/document/buffer.h"

/* Labels of one execution, and bytes of their text. */
#define TR_LABELS_MAX 64U
#define TR_LABELS_BYTES_MAX 8192U

/* Bytes of a key's prefix, of its name, and of a value. */
#define TR_LABEL_PREFIX_BYTES_MAX 253U
#define TR_LABEL_NAME_BYTES_MAX 63U
#define TR_LABEL_VALUE_BYTES_MAX 63U

/* Bytes of a whole key. */
#define TR_LABEL_KEY_BYTES_MAX (TR_LABEL_PREFIX_BYTES_MAX + 1 + TR_LABEL_NAME_BYTES_MAX)

struct tr_label {
    struct tr_text key;
    struct tr_text value; /* may be empty */
};

/*
 * Whether a text may be a key or a value. A key is [PREFIX/]NAME: the prefix a DNS subdomain, the
 * name letters, digits, `-`, `_` and `.`, a letter or a digit first and last. A value is empty, or
 * like a name.
 */
bool tr_label_key_is_good(struct tr_text key);
bool tr_label_value_is_good(struct tr_text value);

/* What to do about one that is not. */
#define TR_LABEL_KEY_REMEDY                                                                    \
    "write letters, digits, -, _ and ., at most 63, a letter or a digit at both ends; before " \
    "that PREFIX/, a DNS subdomain, if you like"
#define TR_LABEL_VALUE_REMEDY \
    "write letters, digits, -, _ and ., at most 63, a letter or a digit at both ends, or \"\""

/* Takes KEY=VALUE apart; false if there is no `=`. Neither part is looked at. */
TR_MUST_USE bool tr_label_split(struct tr_text text, struct tr_label *label);

/* Takes the next label off `rest`, which is at first the text of all; false if none is left. */
TR_MUST_USE bool tr_labels_next(struct tr_text *rest, struct tr_label *label);

/* Finds the value of a key; false, and `value` untouched, if there is no such label. */
TR_MUST_USE bool tr_labels_get(struct tr_text labels, struct tr_text key, struct tr_text *value);

/* Whether a text is one of labels as above, within its limits: for what came from elsewhere. */
bool tr_labels_are_good(struct tr_text labels);

/*
 * Appends the text of labels, which it puts in order. Errors: TR_EXISTS (a key is there twice),
 * TR_LIMIT (TR_LABELS_MAX, TR_LABELS_BYTES_MAX), and those of the buffer, which is as it was then.
 */
TR_MUST_USE int tr_labels_print(struct tr_label *labels, size_t count, struct tr_buffer *text);

/*
 * Appends what two texts of labels come to: of a key that both have, the value of `strong`. Errors:
 * as above but TR_EXISTS.
 */
TR_MUST_USE int tr_labels_merge(struct tr_text weak, struct tr_text strong, struct tr_buffer *text);

#endif
