/*
 * Mappings with known keys, read by tables, and the scalars that stand in them.
 *
 * Each reader reports what is wrong and returns false; its result is untouched then.
 */
#ifndef TR_ACTORS_GRAPH_LANGUAGE_KEYS_H
#define TR_ACTORS_GRAPH_LANGUAGE_KEYS_H

#include "actors/graph/language/definition.h"

typedef void tri_keys_key_reader(struct tri_definition *definition, const struct tr_tree *value,
                                 void *target);

/* One key of a mapping; `bodies` are the node bodies it goes with, 0 for all. */
struct tri_key {
    const char *name;
    tri_keys_key_reader *read;
    uint32_t bodies;
};

/*
 * Reads each pair of a mapping by its key's reader. What is no mapping, and what key is unknown
 * in it, is told: `what` names the mapping, as in "a task". Keys that the reader takes no part in
 * (NULL) are passed over.
 */
void tri_keys_read_keys(struct tri_definition *definition, const struct tr_tree *tree,
                        const char *what, const struct tri_key *keys, size_t count, void *target);

/*
 * Reads a mapping of names to things, `what` of the document: each thing begins with its struct
 * tri_name, is added to `items`, `size` bytes of zeros, and gets its value by `read`.
 */
void tri_keys_read_named(struct tri_definition *definition, const struct tr_tree *tree,
                         const char *what, struct tri_vector *items, size_t size,
                         tri_keys_key_reader *read);

/*
 * Reports an unknown key, and names the nearest one, or all if none is near: those that go with one
 * of the `bodies`, or with 0 any.
 */
void tri_keys_unknown_key(struct tri_definition *definition, const struct tr_tree *key,
                          const char *what, const struct tri_key *keys, size_t count,
                          uint32_t bodies);

/*
 * The nearest of some names, or an empty text if none is near or too much was searched already.
 * `name_at` gives the names by their positions.
 */
struct tr_text tri_keys_nearest(struct tri_definition *definition, struct tr_text name,
                                struct tr_text (*name_at)(const void *self, uint32_t position),
                                const void *self, uint32_t count);

/* "; did you mean 'x'?" for a message's remedy, or what to say instead. */
struct tr_text tri_keys_did_you_mean(struct tri_definition *definition, struct tr_text nearest,
                                     const char *otherwise);

/* Checks that a tree is a mapping or a list; told if not. */
bool tri_keys_expect_map(struct tri_definition *definition, const struct tr_tree *tree,
                         const char *what);
bool tri_keys_expect_list(struct tri_definition *definition, const struct tr_tree *tree,
                          const char *what);

/* Whether a text may be a name in a definition of Flyte's, where it may hold much; told if not. */
bool tri_keys_check_any_name(struct tri_definition *definition, struct tr_text text);

/* A name of the language where it is defined or used. */
bool tri_keys_read_name(struct tri_definition *definition, const struct tr_tree *tree,
                        struct tri_name *name);
bool tri_keys_read_names(struct tri_definition *definition, const struct tr_tree *tree,
                         const struct tri_name **names, uint32_t *count);

/* Text as it is written, copied into the graph's arena; without zero bytes, not empty. */
bool tri_keys_read_text(struct tri_definition *definition, const struct tr_tree *tree,
                        struct tr_text *text);

/* A whole number within bounds. */
bool tri_keys_read_count(struct tri_definition *definition, const struct tr_tree *tree,
                         uint32_t least, uint32_t most, uint32_t *count);

/* A number that is positive. */
bool tri_keys_read_positive(struct tri_definition *definition, const struct tr_tree *tree,
                            double *number);

bool tri_keys_read_bool(struct tri_definition *definition, const struct tr_tree *tree, bool *value);

/* A duration that is positive. */
bool tri_keys_read_duration(struct tri_definition *definition, const struct tr_tree *tree,
                            int64_t *nanoseconds);

/* A quantity in thousandths: 2, 500m, 1.5, 256Mi. Told if it is none. */
bool tri_keys_quantity(struct tri_definition *definition, struct tr_text text,
                       struct tri_place place, uint64_t *millis);

/* A quantity of whole units: 2, 1.5k, 256Mi. */
void tri_keys_read_units(struct tri_definition *definition, const struct tr_tree *tree,
                         uint64_t *units);

/* One of some words; the position of it. */
bool tri_keys_read_word(struct tri_definition *definition, const struct tr_tree *tree,
                        const char *const *words, uint32_t count, uint32_t *position);

/* A mapping of labels, as one text in the graph's arena (actors/graph/document/labels.h). */
bool tri_keys_read_labels(struct tri_definition *definition, const struct tr_tree *tree,
                          struct tr_text *labels);

/* A reference to a secret, GROUP/KEY[@VERSION]; its name and whether it is a file stay. */
bool tri_keys_read_secret(struct tri_definition *definition, const struct tr_tree *tree,
                          struct tr_secret *secret);

/* Waits between retries; `max` stays without a bound, the factor is 2 unless they are given. */
void tri_keys_read_backoff(struct tri_definition *definition, const struct tr_tree *tree,
                           struct tr_backoff *backoff);

/* A mapping of names of variables to secrets, in the graph's arena. */
bool tri_keys_read_secrets(struct tri_definition *definition, const struct tr_tree *tree,
                           struct tr_secret **secrets, uint32_t *count);

/* Who is told of executions (definition_notify.c), in the graph's arena; what is wrong is left out.
 */
void tri_keys_read_notify(struct tri_definition *definition, const struct tr_tree *tree,
                          const struct tr_notification **notifications, uint32_t *count);

/* The settings that tasks and nodes share, as rows of their own tables. */
#define TRI_SETTING_ROWS(bodies)                                                                   \
    {"retries", NULL, (bodies)}, {"retry_on", NULL, (bodies)}, {"never_retry_on", NULL, (bodies)}, \
        {"backoff", NULL, (bodies)}, {"timeout", NULL, (bodies)}, {"grace", NULL, (bodies)},       \
        {"cache", NULL, (bodies)}, {"interruptible", NULL, (bodies)},                              \
        {"resources", NULL, (bodies)}, {"pool", NULL, (bodies)}, {"env", NULL, (bodies)},          \
        {"secrets", NULL, (bodies)}, {"venv", NULL, (bodies)}, {"conda", NULL, (bodies)},          \
        {"container", NULL, (bodies)},                                                             \
    {                                                                                              \
        "config", NULL, (bodies)                                                                   \
    }

/* The keys of settings that definition_retry.c reads; `target` is a struct tri_settings. */
void tri_keys_read_retry_on(struct tri_definition *definition, const struct tr_tree *value,
                            void *target);
void tri_keys_read_never_retry_on(struct tri_definition *definition, const struct tr_tree *value,
                                  void *target);

/* The same of what a command runs in, definition_software.c. */
void tri_keys_read_venv(struct tri_definition *definition, const struct tr_tree *value,
                        void *target);
void tri_keys_read_conda(struct tri_definition *definition, const struct tr_tree *value,
                         void *target);
void tri_keys_read_container(struct tri_definition *definition, const struct tr_tree *value,
                             void *target);

/* Reads the settings among the pairs of a mapping; `first` is the first key of them. */
void tri_keys_read_settings(struct tri_definition *definition, const struct tr_tree *tree,
                            struct tri_settings *settings, struct tri_name *first);

#endif
