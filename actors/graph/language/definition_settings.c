/*
 * How a task is run: the keys that tasks and the nodes that override them have in common.
 *
 * Each reader sets its bit in `given`, also where the value is wrong: the key was there, so an
 * override must not fall back to the task's value while an error about it is pending. Which
 * settings of a node replace those of its task the compiler decides by these bits
 * (compile_settings.c).
 */
#include "actors/graph/document/limits.h"
#include "actors/graph/language/keys.h"

static void read_retries(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_settings *settings = target;
    settings->given |= TRI_RETRIES;
    (void)tri_keys_read_count(definition, value, 0, TR_RETRIES_MAX, &settings->settings.retries);
}

static void read_first(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tr_backoff *backoff = target;
    (void)tri_keys_read_duration(definition, value, &backoff->first_ns);
}

static void read_max(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tr_backoff *backoff = target;
    (void)tri_keys_read_duration(definition, value, &backoff->max_ns);
}

static void read_factor(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tr_backoff *backoff = target;
    if (tri_keys_read_positive(definition, value, &backoff->factor) && backoff->factor < 1) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "waits do not shrink from retry to retry\nwrite a factor of at least 1");
    }
}

/*
 * A backoff is replaced as a whole: a node that gives `first` alone does not keep the task's `max`.
 */
void tri_keys_read_backoff(struct tri_definition *definition, const struct tr_tree *tree,
                           struct tr_backoff *backoff)
{
    static const struct tri_key keys[] = {
        {"first", read_first, 0}, {"factor", read_factor, 0}, {"max", read_max, 0}};
    *backoff = (struct tr_backoff){.factor = 2};
    tri_keys_read_keys(definition, tree, "backoff", keys, TR_COUNT_OF(keys), backoff);
    if (tree->kind == TR_TREE_MAP && tr_tree_find(tree, "first") == NULL) {
        tri_report_add(definition->report, tree->place, "ValueRequired",
                       "backoff does not say how long the first wait is\nadd first: 1s");
    }
}

static void read_backoff(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_settings *settings = target;
    settings->given |= TRI_BACKOFF;
    tri_keys_read_backoff(definition, value, &settings->settings.backoff);
}

static void read_timeout(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_settings *settings = target;
    settings->given |= TRI_TIMEOUT;
    (void)tri_keys_read_duration(definition, value, &settings->settings.timeout_ns);
}

static void read_grace(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_settings *settings = target;
    settings->given |= TRI_GRACE;
    (void)tri_keys_read_duration(definition, value, &settings->settings.grace_ns);
}

static void read_version(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_settings *settings = target;
    (void)tri_keys_read_text(definition, value, &settings->settings.cache.version);
}

static void read_serialize(struct tri_definition *definition, const struct tr_tree *value,
                           void *target)
{
    struct tri_settings *settings = target;
    (void)tri_keys_read_bool(definition, value, &settings->settings.cache.is_serialized);
}

static void read_ignore(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tri_settings *settings = target;
    (void)tri_keys_read_names(definition, value, &settings->ignored, &settings->ignored_count);
}

/*
 * A version alone, or a mapping. The version is required, because the key of the cache does not
 * hold the program: without one, a changed program would be given the results of the old one.
 */
static void read_cache(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    static const struct tri_key keys[] = {
        {"version", read_version, 0},
        {"serialize", read_serialize, 0},
        {"ignore", read_ignore, 0},
    };
    struct tri_settings *settings = target;
    settings->given |= TRI_CACHE;
    if (value->kind != TR_TREE_MAP) {
        read_version(definition, value, settings);
        return;
    }
    tri_keys_read_keys(definition, value, "cache", keys, TR_COUNT_OF(keys), settings);
    if (tr_tree_find(value, "version") == NULL) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "cache has no version\nadd version: v1, and change it with the code");
    }
}

static void read_interruptible(struct tri_definition *definition, const struct tr_tree *value,
                               void *target)
{
    struct tri_settings *settings = target;
    settings->given |= TRI_INTERRUPTIBLE;
    (void)tri_keys_read_bool(definition, value, &settings->settings.is_interruptible);
}

/* The suffixes of quantities, as Kubernetes has them. */
struct suffix {
    const char *text;
    uint64_t millis; /* of one unit */
};

static const struct suffix suffixes[] = {
    {"m", 1},
    {"k", 1000000},
    {"M", 1000000000ULL},
    {"G", 1000000000000ULL},
    {"T", 1000000000000000ULL},
    {"Ki", 1000ULL << 10},
    {"Mi", 1000ULL << 20},
    {"Gi", 1000ULL << 30},
    {"Ti", 1000ULL << 40},
    {"", 1000},
};

/*
 * Thousandths are exact for cpu, and 64 bits of them hold 9 PB of memory. Of the suffixes at most
 * one equals the rest, as the rest is compared whole; the empty one is a row like the others.
 * Rounded to the nearest one, since 0.1 has no exact double.
 */
bool tri_keys_quantity(struct tri_definition *definition, struct tr_text text,
                       struct tri_place place, uint64_t *millis)
{
    size_t digits = 0;
    while (digits < text.size &&
           ((text.data[digits] >= '0' && text.data[digits] <= '9') || text.data[digits] == '.')) {
        digits++;
    }
    struct tr_text number = {.data = text.data, .size = digits};
    struct tr_text rest = {.data = text.data + digits, .size = text.size - digits};
    double value;
    for (size_t i = 0; digits > 0 && i < TR_COUNT_OF(suffixes); i++) {
        if (tr_text_equal(rest, tr_text_of(suffixes[i].text)) && tri_text_number(number, &value)) {
            double total = value * (double)suffixes[i].millis;
            if (total >= 1 && total < 9e18) {
                *millis = (uint64_t)(total + 0.5);
                return true;
            }
        }
    }
    tri_report_add(definition->report, place, "InvalidValue",
                   "this is no quantity\nwrite a positive number, with a unit as in 500m or 256Mi");
    return false;
}

static bool read_quantity(struct tri_definition *definition, const struct tr_tree *tree,
                          uint64_t *millis)
{
    struct tr_text text = tr_tree_is_text(tree) ? tree->text : tr_text_of("");
    return tri_keys_quantity(definition, text, tree->place, millis);
}

static void read_cpu(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tr_resources *resources = target;
    (void)read_quantity(definition, value, &resources->cpu_millis);
}

/* Rounded up to whole units: 500m of memory is one byte and not none. */
void tri_keys_read_units(struct tri_definition *definition, const struct tr_tree *value,
                         uint64_t *units)
{
    uint64_t millis;
    if (read_quantity(definition, value, &millis)) {
        *units = (millis + 999) / 1000;
    }
}

static void read_memory(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tr_resources *resources = target;
    tri_keys_read_units(definition, value, &resources->memory_bytes);
}

static void read_gpu(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tr_resources *resources = target;
    tri_keys_read_units(definition, value, &resources->gpu_count);
}

static void read_storage(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tr_resources *resources = target;
    tri_keys_read_units(definition, value, &resources->storage_bytes);
}

static void read_ephemeral_storage(struct tri_definition *definition, const struct tr_tree *value,
                                   void *target)
{
    struct tr_resources *resources = target;
    tri_keys_read_units(definition, value, &resources->ephemeral_storage_bytes);
}

static void read_resources(struct tri_definition *definition, const struct tr_tree *value,
                           void *target)
{
    static const struct tri_key keys[] = {
        {"cpu", read_cpu, 0},
        {"memory", read_memory, 0},
        {"gpu", read_gpu, 0},
        {"storage", read_storage, 0},
        {"ephemeral_storage", read_ephemeral_storage, 0},
    };
    struct tri_settings *settings = target;
    settings->given |= TRI_RESOURCES;
    tri_keys_read_keys(definition, value, "resources", keys, TR_COUNT_OF(keys),
                       &settings->settings.resources);
}

static void read_pool(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tri_settings *settings = target;
    settings->given |= TRI_POOL;
    (void)tri_keys_read_name(definition, value, &settings->pool);
}

/* The name of an environment variable, by POSIX any bytes but `=` and zero. */
static bool read_variable_name(struct tri_definition *definition, const struct tr_tree *key,
                               struct tr_text *name)
{
    if (!tri_keys_read_text(definition, key, name)) {
        return false;
    }
    if (memchr(name->data, '=', name->size) != NULL) {
        tri_report_add(definition->report, key->place, "InvalidValue",
                       "'%.*s' is no name of an environment variable\nleave out the '='",
                       TRI_SHOWN(*name));
        return false;
    }
    return true;
}

/*
 * Three kinds of values: nothing behind the key passes the engine's variable on, "" in quotes is an
 * empty value, and any other text is the value. tri_keys_read_text refuses empty text, so the
 * second kind is told apart before it.
 */
static void read_environment(struct tri_definition *definition, const struct tr_tree *value,
                             void *target)
{
    struct tri_settings *settings = target;
    settings->given |= TRI_ENVIRONMENT;
    if (!tri_keys_expect_map(definition, value, "env")) {
        return;
    }
    struct tr_environment *items = tr_arena_array(definition->arena, value->count, sizeof *items);
    uint32_t count = 0;
    for (uint32_t i = 0; items != NULL && i < value->count; i++) {
        const struct tr_pair *pair = &value->pairs[i];
        struct tr_environment *item = &items[count];
        item->is_passed_on = tr_tree_is_empty(pair->value);
        item->value = tr_text_of("");
        bool is_blank = pair->value->kind == TR_TREE_STRING && pair->value->text.size == 0;
        if (read_variable_name(definition, pair->key, &item->name) &&
            (item->is_passed_on || is_blank ||
             tri_keys_read_text(definition, pair->value, &item->value))) {
            count++;
        }
    }
    settings->settings.environment = items;
    settings->settings.environment_count = count;
}

static void read_secret_file(struct tri_definition *definition, const struct tr_tree *value,
                             void *target)
{
    struct tr_secret *secret = target;
    secret->is_file = tri_keys_read_secret(definition, value, secret);
}

/*
 * GROUP/KEY becomes the variable's value; {file: GROUP/KEY} a path to it. A mapping without `file`
 * leaves is_file false, and so fails after it was reported or was empty.
 */
static bool read_secret(struct tri_definition *definition, const struct tr_tree *tree,
                        struct tr_secret *secret)
{
    static const struct tri_key keys[] = {{"file", read_secret_file, 0}};
    if (tree->kind != TR_TREE_MAP) {
        return tri_keys_read_secret(definition, tree, secret);
    }
    tri_keys_read_keys(definition, tree, "a secret", keys, TR_COUNT_OF(keys), secret);
    return secret->is_file;
}

bool tri_keys_read_secrets(struct tri_definition *definition, const struct tr_tree *tree,
                           struct tr_secret **secrets, uint32_t *count)
{
    if (!tri_keys_expect_map(definition, tree, "secrets")) {
        return false;
    }
    struct tr_secret *items = tr_arena_array(definition->arena, tree->count, sizeof *items);
    uint32_t kept = 0;
    for (uint32_t i = 0; items != NULL && i < tree->count; i++) {
        const struct tr_pair *pair = &tree->pairs[i];
        if (read_variable_name(definition, pair->key, &items[kept].name) &&
            read_secret(definition, pair->value, &items[kept])) {
            kept++;
        }
    }
    *secrets = items;
    *count = kept;
    return items != NULL && kept == tree->count;
}

static void read_secrets(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tri_settings *settings = target;
    struct tr_secret *items = NULL;
    settings->given |= TRI_SECRETS;
    (void)tri_keys_read_secrets(definition, value, &items, &settings->settings.secret_count);
    settings->settings.secrets = items;
}

static void read_config(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tri_settings *settings = target;
    settings->given |= TRI_CONFIG;
    settings->settings.config_origin = tri_definition_origin(definition, value->place);
    settings->config = tri_keys_expect_map(definition, value, "config") ? value : NULL;
}

static const struct tri_key setting_keys[] = {
    {"retries", read_retries, 0},
    {"retry_on", tri_keys_read_retry_on, 0},
    {"never_retry_on", tri_keys_read_never_retry_on, 0},
    {"backoff", read_backoff, 0},
    {"timeout", read_timeout, 0},
    {"grace", read_grace, 0},
    {"cache", read_cache, 0},
    {"interruptible", read_interruptible, 0},
    {"resources", read_resources, 0},
    {"pool", read_pool, 0},
    {"env", read_environment, 0},
    {"secrets", read_secrets, 0},
    {"venv", tri_keys_read_venv, 0},
    {"conda", tri_keys_read_conda, 0},
    {"container", tri_keys_read_container, 0},
    {"config", read_config, 0},
};

void tri_definition_begin_settings(struct tri_settings *settings)
{
    settings->settings.pool = TR_GRAPH_NONE;
    settings->settings.grace_ns = TR_GRACE_NS;
}

/*
 * Keys that are no settings are passed over: the caller's own table knows them. `first` is where a
 * message points that settings do not go with a node at all.
 */
void tri_keys_read_settings(struct tri_definition *definition, const struct tr_tree *tree,
                            struct tri_settings *settings, struct tri_name *first)
{
    tri_definition_begin_settings(settings);
    settings->tree = tree;
    for (uint32_t i = 0; tree->kind == TR_TREE_MAP && i < tree->count; i++) {
        const struct tr_pair *pair = &tree->pairs[i];
        for (size_t k = 0; k < TR_COUNT_OF(setting_keys); k++) {
            if (tr_text_equal(pair->key->text, tr_text_of(setting_keys[k].name))) {
                if (settings->given == 0) {
                    *first = (struct tri_name){.text = pair->key->text, .place = pair->key->place};
                }
                definition->key = pair->key->text;
                setting_keys[k].read(definition, pair->value, settings);
                definition->key = tr_text_of("");
            }
        }
    }
}
