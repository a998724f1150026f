/*
 * Reading the settings file: a table of keys, each with its reader, over the tree that definitions
 * are read from, too.
 */
#include "deploy/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/document/yaml.h"
#include "actors/graph/language/keys.h"
#include "actors/graph/value/literal.h"
#include "deploy/settings/bounds.h"
#include "deploy/settings/settings_inside.h"
#include "plugins/builtin/registry.h"

#define NS_PER_MS 1000000

/* ---------------------------------------------------------------------- the engine's own */

static void read_jobs(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tr_settings_file *settings = target;
    (void)tri_keys_read_count(definition, value, 1, TR_SETTINGS_JOBS_MAX, &settings->jobs);
}

static void read_durability(struct tri_definition *definition, const struct tr_tree *value,
                            void *target)
{
    static const char *const words[] = {"full", "process"};
    static const enum tr_durability levels[] = {TR_DURABILITY_FULL, TR_DURABILITY_PROCESS};
    struct tr_settings_file *settings = target;
    uint32_t position;
    if (tri_keys_read_word(definition, value, words, TR_COUNT_OF(words), &position)) {
        settings->durability = levels[position];
    }
}

static void read_resources(struct tri_definition *definition, const struct tr_tree *value,
                           void *target)
{
    static const char *const words[] = {"cut", "strict"};
    struct tr_settings_file *settings = target;
    uint32_t position;
    if (tri_keys_read_word(definition, value, words, TR_COUNT_OF(words), &position)) {
        settings->is_strict = position == 1;
    }
}

static void read_warm(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tr_settings_file *settings = target;
    bool is_warm;
    if (tri_keys_read_bool(definition, value, &is_warm)) {
        settings->is_cold = !is_warm;
    }
}

static void read_span(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    uint64_t *milliseconds = target;
    int64_t nanoseconds;
    if (tri_keys_read_duration(definition, value, &nanoseconds)) {
        *milliseconds = (uint64_t)nanoseconds / NS_PER_MS;
    }
}

#define READ_SPAN(field)                                                                     \
    static void read_##field(struct tri_definition *definition, const struct tr_tree *value, \
                             void *target)                                                   \
    {                                                                                        \
        read_span(definition, value, &((struct tr_settings_file *)target)->retention.field); \
    }
READ_SPAN(executions_ms)
READ_SPAN(failed_attempts_ms)
READ_SPAN(cache_ms)
READ_SPAN(audit_ms)
#undef READ_SPAN

/* ------------------------------------------------------------------ retention by label */

/* A rule in the making. */
struct rule_reader {
    struct tr_settings_file *settings;
    struct tr_retention_rule rule;
    bool has_labels;
};

static void read_rule_label(struct tri_definition *definition, const struct tr_tree *value,
                            void *target)
{
    struct rule_reader *reader = target;
    char problem[TR_LABEL_PROBLEM_BYTES];
    struct tr_text text;
    if (!tri_keys_read_text(definition, value, &text)) {
        return;
    }
    int error =
        tr_label_selector_read(&reader->settings->arena, text, &reader->rule.labels, problem);
    reader->has_labels = error == 0;
    if (error == TR_INVALID) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.*s' chooses no executions: %s\nwrite a selector such as team=data",
                       TRI_SHOWN(text), problem);
    }
}

/* A span, or the word for none. */
static void read_rule_executions(struct tri_definition *definition, const struct tr_tree *value,
                                 void *target)
{
    struct rule_reader *reader = target;
    if (!tr_tree_is_text(value) || !tr_text_equal(value->text, tr_text_of(TR_SETTINGS_FOREVER))) {
        read_span(definition, value, &reader->rule.executions_ms);
    }
}

/* Both keys have to be there; false: what is wrong is told. */
static bool read_rule(struct tri_definition *definition, const struct tr_tree *value,
                      struct rule_reader *reader)
{
    static const struct tri_key keys[] = {{"label", read_rule_label, 0},
                                          {"executions", read_rule_executions, 0}};
    tri_keys_read_keys(definition, value, "a retention by label", keys, TR_COUNT_OF(keys), reader);
    for (size_t i = 0; value->kind == TR_TREE_MAP && i < TR_COUNT_OF(keys); i++) {
        if (tr_tree_find(value, keys[i].name) == NULL) {
            tri_report_add(definition->report, value->place, "ValueRequired",
                           "a retention by label has no '%s'\nwrite {label: team=data, executions: "
                           "90d}, or " TR_SETTINGS_FOREVER " for the time",
                           keys[i].name);
            return false;
        }
    }
    return reader->has_labels;
}

static void read_by_label(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    struct tr_settings_file *settings = target;
    if (!tri_keys_expect_list(definition, value, "by_label")) {
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        struct rule_reader reader = {.settings = settings};
        struct tr_retention_rule *added = NULL;
        if (read_rule(definition, value->items[i], &reader)) {
            added = tri_vector_add(&settings->arena, &settings->retention.rules, sizeof *added);
        }
        if (added != NULL) {
            *added = reader.rule;
        }
    }
}

static void read_retention(struct tri_definition *definition, const struct tr_tree *value,
                           void *target)
{
    static const struct tri_key keys[] = {{"executions", read_executions_ms, 0},
                                          {"failed_attempts", read_failed_attempts_ms, 0},
                                          {"cache", read_cache_ms, 0},
                                          {"audit", read_audit_ms, 0},
                                          {"by_label", read_by_label, 0}};
    tri_keys_read_keys(definition, value, "retention", keys, TR_COUNT_OF(keys), target);
}

/* ------------------------------------------------------------------------------- limits */

static void read_bytes(struct tri_definition *definition, const struct tr_tree *value,
                       uint64_t *bytes)
{
    uint64_t read = TR_BOUNDS_MEMORY_MIN;
    tri_keys_read_units(definition, value, &read);
    if (read < TR_BOUNDS_MEMORY_MIN) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "this is too little for an engine\nwrite at least %lluMi",
                       (unsigned long long)(TR_BOUNDS_MEMORY_MIN >> 20));
        return;
    }
    *bytes = read;
}

static void read_limit_memory(struct tri_definition *definition, const struct tr_tree *value,
                              void *target)
{
    read_bytes(definition, value, &((struct tr_bounds *)target)->host_bytes);
}

static void read_limit_execution_memory(struct tri_definition *definition,
                                        const struct tr_tree *value, void *target)
{
    read_bytes(definition, value, &((struct tr_bounds *)target)->group_bytes);
}

static void read_limit_execution_nodes(struct tri_definition *definition,
                                       const struct tr_tree *value, void *target)
{
    uint32_t count;
    if (tri_keys_read_count(definition, value, TR_SETTINGS_NODES_MIN, TR_SETTINGS_NODES_MAX,
                            &count)) {
        ((struct tr_bounds *)target)->group_actors = count;
    }
}

static void read_limits(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    static const struct tri_key keys[] = {{"memory", read_limit_memory, 0},
                                          {"execution_memory", read_limit_execution_memory, 0},
                                          {"execution_nodes", read_limit_execution_nodes, 0}};
    struct tr_settings_file *settings = target;
    tri_keys_read_keys(definition, value, "limits", keys, TR_COUNT_OF(keys), &settings->limits);
}

/* ---------------------------------------------------------------------------- task types */

/* One more element of a list of settings; NULL without memory. */
static void *add(struct tr_settings_file *settings, struct tri_vector *vector, size_t size)
{
    return tri_vector_add(&settings->arena, vector, size);
}

static void read_task_types(struct tri_definition *definition, const struct tr_tree *value,
                            void *target)
{
    struct tr_settings_file *settings = target;
    if (!tri_keys_expect_map(definition, value, "task_types")) {
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        struct tr_task_type type = {
            .plugin = tri_settings_find_plugin(definition, settings, value->pairs[i].value)};
        struct tr_task_type *added = NULL;
        if (tri_keys_read_text(definition, value->pairs[i].key, &type.name) &&
            type.plugin != NULL) {
            added = add(settings, &settings->task_types, sizeof *added);
        }
        if (added != NULL) {
            *added = type;
        }
    }
}

/* In their order, as the first that suits an image counts. */
static void read_python(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tr_settings_file *settings = target;
    if (!tri_keys_expect_map(definition, value, "python")) {
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        struct tr_text images;
        struct tr_text path;
        struct tr_settings_python *added = NULL;
        if (tri_keys_read_text(definition, value->pairs[i].key, &images) &&
            tri_keys_read_text(definition, value->pairs[i].value, &path)) {
            added = add(settings, &settings->pythons, sizeof *added);
        }
        if (added != NULL) {
            added->images = tr_arena_print(&settings->arena, "%.*s", TRI_TEXT(images)).data;
            added->python = tri_settings_place(settings, path);
        }
    }
}

static void read_default_plugin(struct tri_definition *definition, const struct tr_tree *value,
                                void *target)
{
    struct tr_settings_file *settings = target;
    settings->default_plugin = tri_settings_find_plugin(definition, settings, value);
}

/* -------------------------------------------------------------------------------- quotas */

#define READ_SLOTS(field)                                                                      \
    static void read_##field(struct tri_definition *definition, const struct tr_tree *value,   \
                             void *target)                                                     \
    {                                                                                          \
        struct tr_settings_quota *quota = target;                                              \
        (void)tri_keys_read_count(definition, value, 1, TR_SETTINGS_QUOTA_MAX, &quota->field); \
    }
READ_SLOTS(slots)
READ_SLOTS(per_project)
READ_SLOTS(per_domain)
#undef READ_SLOTS

/* A number of slots, or a mapping. */
static bool read_quota(struct tri_definition *definition, const struct tr_tree *value,
                       struct tr_settings_quota *quota)
{
    static const struct tri_key keys[] = {{"slots", read_slots, 0},
                                          {"per_project", read_per_project, 0},
                                          {"per_domain", read_per_domain, 0}};
    if (value->kind != TR_TREE_MAP) {
        return tri_keys_read_count(definition, value, 1, TR_SETTINGS_QUOTA_MAX, &quota->slots);
    }
    tri_keys_read_keys(definition, value, "a quota", keys, TR_COUNT_OF(keys), quota);
    return true;
}

static void read_quotas(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct tr_settings_file *settings = target;
    if (!tri_keys_expect_map(definition, value, "quotas")) {
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        struct tr_settings_quota quota = {.slots = 0};
        struct tr_settings_quota *added = NULL;
        if (tri_keys_read_text(definition, value->pairs[i].key, &quota.name) &&
            read_quota(definition, value->pairs[i].value, &quota)) {
            added = add(settings, &settings->quotas, sizeof *added);
        }
        if (added != NULL) {
            *added = quota;
        }
    }
}

/* ------------------------------------------------------------------------------- secrets */

/* A source in the making. */
struct source_reader {
    struct tr_settings_file *settings;
    struct tr_secret_source source;
};

const char *tri_settings_place(struct tr_settings_file *settings, struct tr_text path)
{
    char real[PATH_MAX];
    bool has_file = settings->path[0] != '\0' && realpath(settings->path, real) != NULL;
    struct tr_text folder =
        has_file ? tri_definition_path_folder(tr_text_of(real)) : tr_text_of("");
    struct tr_text joined = tri_definition_path_join(&settings->arena, folder, path);
    struct tr_text text = tr_arena_print(&settings->arena, "%.*s", TRI_TEXT(joined));
    return text.size == 0 ? NULL : text.data;
}

static void read_secrets_folder(struct tri_definition *definition, const struct tr_tree *value,
                                void *target)
{
    struct source_reader *reader = target;
    struct tr_text folder;
    if (tri_keys_read_text(definition, value, &folder)) {
        reader->source.kind = TR_SECRET_FOLDER;
        reader->source.folder = tri_settings_place(reader->settings, folder);
    }
}

/* Words that begin with a dot and a slash are paths, as those of `run` are. */
static const char *command_word(struct tr_settings_file *settings, struct tr_text word)
{
    bool is_path = (word.size > 1 && memcmp(word.data, "./", 2) == 0) ||
                   (word.size > 2 && memcmp(word.data, "../", 3) == 0);
    if (is_path) {
        return tri_settings_place(settings, word);
    }
    struct tr_text text = tr_arena_print(&settings->arena, "%.*s", TRI_TEXT(word));
    return text.size == 0 ? NULL : text.data;
}

static void read_secrets_command(struct tri_definition *definition, const struct tr_tree *value,
                                 void *target)
{
    struct source_reader *reader = target;
    const char **words = NULL;
    if (!tri_keys_expect_list(definition, value, "a command")) {
        return;
    }
    if (value->count == 0) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "a command has at least one word\nwrite [PROGRAM, WORD…]");
        return;
    }
    words = tr_arena_array(&reader->settings->arena, value->count + 1, sizeof *words);
    for (uint32_t i = 0; words != NULL && i < value->count; i++) {
        struct tr_text word;
        if (!tri_keys_read_text(definition, value->items[i], &word)) {
            return;
        }
        words[i] = command_word(reader->settings, word);
    }
    if (words != NULL) {
        words[value->count] = NULL;
        reader->source.kind = TR_SECRET_COMMAND;
        reader->source.command = words;
    }
}

/* `environment`, `folder` (the user's own), {folder: …} or {command: […]}; false: it is told. */
static bool read_source(struct tri_definition *definition, const struct tr_tree *value,
                        struct source_reader *reader)
{
    static const char *const words[] = {"environment", "folder"};
    static const enum tr_secret_kind kinds[] = {TR_SECRET_ENVIRONMENT, TR_SECRET_FOLDER};
    static const struct tri_key keys[] = {{"folder", read_secrets_folder, 0},
                                          {"command", read_secrets_command, 0}};
    uint32_t position;
    if (value->kind != TR_TREE_MAP) {
        bool is_known = tri_keys_read_word(definition, value, words, TR_COUNT_OF(words), &position);
        reader->source.kind = is_known ? kinds[position] : TR_SECRET_ENVIRONMENT;
        return is_known;
    }
    if (value->count != 1) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "a source of secrets has one key\nwrite {folder: FOLDER} or {command: "
                       "[PROGRAM, WORD…]}, each in an element of its own");
        return false;
    }
    tri_keys_read_keys(definition, value, "a source of secrets", keys, TR_COUNT_OF(keys), reader);
    return reader->source.folder != NULL || reader->source.command != NULL;
}

static void read_secrets(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tr_settings_file *settings = target;
    if (!tri_keys_expect_list(definition, value, "secrets")) {
        return;
    }
    if (value->count == 0) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "secrets have at least one source\nleave the key out for [environment, "
                       "folder]");
    }
    for (uint32_t i = 0; i < value->count; i++) {
        struct source_reader reader = {.settings = settings};
        struct tr_secret_source *added = NULL;
        if (read_source(definition, value->items[i], &reader)) {
            added = add(settings, &settings->secrets, sizeof *added);
        }
        if (added != NULL) {
            *added = reader.source;
        }
    }
}

/* -------------------------------------------------------------------------------- mail */

static void read_sendmail(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    struct tr_settings_file *settings = target;
    struct tr_text word;
    if (tri_keys_read_text(definition, value, &word)) {
        settings->sendmail = command_word(settings, word);
    }
}

/* It becomes a line of each mail's head. */
static void read_from(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tr_settings_file *settings = target;
    struct tr_text text;
    if (!tri_keys_read_text(definition, value, &text)) {
        return;
    }
    bool is_line = memchr(text.data, '@', text.size) != NULL;
    for (size_t i = 0; i < text.size; i++) {
        is_line = is_line && (unsigned char)text.data[i] >= ' ';
    }
    if (!is_line) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.*s' is no address of a mail\nwrite one such as troupe@example.org",
                       TRI_SHOWN(text));
        return;
    }
    struct tr_text kept = tr_arena_print(&settings->arena, "%.*s", TRI_TEXT(text));
    settings->mail_from = kept.size == 0 ? NULL : kept.data;
}

static void read_mail(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    static const struct tri_key keys[] = {{"sendmail", read_sendmail, 0}, {"from", read_from, 0}};
    tri_keys_read_keys(definition, value, "mail", keys, TR_COUNT_OF(keys), target);
}

/* ------------------------------------------------------------------------------- store */

static void read_store(struct tri_definition *definition, const struct tr_tree *value, void *target)
{
    struct tr_settings_file *settings = target;
    struct tr_text text;
    if (!tri_keys_read_text(definition, value, &text)) {
        return;
    }
    if (memmem(text.data, text.size, "://", 3) == NULL) {
        settings->store = tri_settings_place(settings, text);
        return;
    }
    struct tr_text kept = tr_arena_print(&settings->arena, "%.*s", TRI_TEXT(text));
    settings->store = kept.size == 0 ? NULL : kept.data;
}

/* ---------------------------------------------------------------------------- all of it */

static const struct tri_key keys[] = {
    {"jobs", read_jobs, 0},
    {"durability", read_durability, 0},
    {"warm", read_warm, 0},
    {"resources", read_resources, 0},
    {"python", read_python, 0},
    {"retention", read_retention, 0},
    {"limits", read_limits, 0},
    {"task_types", read_task_types, 0},
    {"plugins", tri_settings_read_plugins, 0},
    {"quotas", read_quotas, 0},
    {"secrets", read_secrets, 0},
    {"object_stores", tri_settings_read_stores, 0},
    {"blobs", tri_settings_read_blobs, 0},
    {"blobs_cache", tri_settings_read_blobs_cache, 0},
    {"mail", read_mail, 0},
    {"http", tri_settings_read_http, 0},
    {"traces", tri_settings_read_traces, 0},
    {"store", read_store, 0},
    {"host_name", tri_settings_read_host_name, 0},
    {"host_address", tri_settings_read_host_address, 0},
    {"entry_address", tri_settings_read_entry_address, 0},
    {"entry_key", tri_settings_read_entry_key, 0},
    {"lease", tri_settings_read_lease, 0},
    {"process_lease", tri_settings_read_process_lease, 0},
    {"balance", tri_settings_read_balance, 0},
    {"default_plugin", read_default_plugin, 0},
};

/* Whether nothing stands in a text but blanks and remarks. */
static bool is_blank(struct tr_text text)
{
    bool is_remark = false;
    for (size_t i = 0; i < text.size; i++) {
        is_remark = text.data[i] != '\n' && (is_remark || text.data[i] == '#');
        if (!is_remark && strchr(" \t\r\n", text.data[i]) == NULL) {
            return false;
        }
    }
    return true;
}

void tr_settings_read(struct tr_settings_file *settings, struct tr_report *report, uint32_t source,
                      struct tr_text text)
{
    struct tr_arena scratch;
    tr_arena_init(&scratch);
    struct tri_definition definition = {
        .arena = &settings->arena, .scratch = &scratch, .report = report, .nearest_left = 1000};
    const struct tr_tree *tree =
        is_blank(text) ? NULL : tr_yaml_read(&scratch, report, source, text);
    if (tree != NULL) {
        tri_settings_load_plugins(&definition, tree, settings);
        tri_keys_read_keys(&definition, tree, "the settings", keys, TR_COUNT_OF(keys), settings);
    }
    if (scratch.error != 0 && settings->arena.error == 0) {
        settings->arena.error = scratch.error;
    }
    tr_arena_fini(&scratch);
}

void tr_settings_read_store(struct tr_settings_file *settings, struct tr_report *report,
                            uint32_t source, struct tr_text text)
{
    struct tr_arena scratch;
    tr_arena_init(&scratch);
    struct tri_definition definition = {
        .arena = &settings->arena, .scratch = &scratch, .report = report, .nearest_left = 1000};
    const struct tr_tree *tree =
        is_blank(text) ? NULL : tr_yaml_read(&scratch, report, source, text);
    const struct tr_tree *value =
        tree != NULL && tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "store") : NULL;
    if (value != NULL) {
        read_store(&definition, value, settings);
    }
    if (scratch.error != 0 && settings->arena.error == 0) {
        settings->arena.error = scratch.error;
    }
    tr_arena_fini(&scratch);
}

void tr_settings_tables(const struct tr_settings_file *settings, struct tr_engine *engine)
{
    engine->sendmail = settings == NULL ? NULL : settings->sendmail;
    engine->mail_from = settings == NULL ? NULL : settings->mail_from;
    if (settings == NULL || settings->plugins.count == 0) {
        engine->plugins = tr_plugins;
        engine->plugin_count = tr_plugin_count;
        return;
    }
    engine->plugins = settings->plugins.items;
    engine->plugin_count = settings->plugins.count;
    engine->default_plugin = settings->default_plugin;
    engine->task_types = settings->task_types.items;
    engine->task_type_count = settings->task_types.count;
    engine->endpoints = settings->endpoints.items;
    engine->endpoint_count = settings->endpoints.count;
}

void tr_settings_init(struct tr_settings_file *settings)
{
    *settings = (struct tr_settings_file){.durability = TR_DURABILITY_NONE};
    tr_arena_init(&settings->arena);
    for (size_t i = 0; i < tr_plugin_count; i++) {
        const struct tr_plugin **added = add(settings, &settings->plugins, sizeof *added);
        if (added != NULL) {
            *added = tr_plugins[i];
        }
    }
}

void tr_settings_fini(struct tr_settings_file *settings)
{
    tr_arena_fini(&settings->arena);
    *settings = (struct tr_settings_file){.jobs = 0};
}

/* ------------------------------------------------------------------------- which file */

static bool put_path(char *path, const char *folder, const char *name)
{
    int size = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return size > 0 && size < PATH_MAX && access(path, F_OK) == 0;
}

/* The first of the files that is there; one that somebody named has to be. */
static bool find_file(const char *folder, char *path)
{
    const char *named = getenv("TROUPE_SETTINGS");
    const char *configuration = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    if (folder[0] != '\0' && put_path(path, folder, TR_SETTINGS_NAME)) {
        return true;
    }
    if (named != NULL && named[0] != '\0') {
        return snprintf(path, PATH_MAX, "%s", named) < PATH_MAX;
    }
    if (configuration != NULL && configuration[0] == '/') {
        return put_path(path, configuration, "troupe/" TR_SETTINGS_NAME);
    }
    return home != NULL && home[0] == '/' &&
           put_path(path, home, ".config/troupe/" TR_SETTINGS_NAME);
}

bool tr_settings_find(const char *folder, char path[PATH_MAX])
{
    bool is_found = find_file(folder, path);
    if (!is_found) {
        path[0] = '\0';
    }
    return is_found;
}
