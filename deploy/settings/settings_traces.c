/*
 * What the settings say of a collector of traces.
 */
#include "actors/graph/language/keys.h"
#include "deploy/settings/settings_inside.h"

static void read_endpoint(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    struct tr_settings_file *settings = target;
    struct tr_text url;
    if (tri_settings_read_url(definition, value, &url)) {
        struct tr_text kept = tr_arena_print(&settings->arena, "%.*s", TRI_TEXT(url));
        settings->traces.endpoint = kept.size == 0 ? NULL : kept.data;
    }
}

static void read_service(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tr_settings_file *settings = target;
    settings->traces.service = tri_settings_read_string(definition, settings, value);
}

static void read_ca_file(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct tr_settings_file *settings = target;
    struct tr_text file = {.size = 0};
    tri_settings_read_file(definition, settings, value, &file);
    settings->traces.ca_file = file.size == 0 ? NULL : file.data;
}

static void read_authorization(struct tri_definition *definition, const struct tr_tree *value,
                               void *target)
{
    struct tr_settings_file *settings = target;
    (void)tri_settings_read_authorization(definition, value, &settings->traces.authorization,
                                          &settings->traces.secret);
}

void tri_settings_read_traces(struct tri_definition *definition, const struct tr_tree *value,
                              void *target)
{
    static const struct tri_key keys[] = {{"endpoint", read_endpoint, 0},
                                          {"service", read_service, 0},
                                          {"ca_file", read_ca_file, 0},
                                          {"authorization", read_authorization, 0}};
    struct tr_settings_file *settings = target;
    uint32_t before = tr_report_total(definition->report);
    tri_keys_read_keys(definition, value, "traces", keys, TR_COUNT_OF(keys), target);
    if (tr_report_total(definition->report) == before && settings->traces.endpoint == NULL) {
        tri_report_add(definition->report, value->place, "ValueRequired",
                       "traces have no 'endpoint'\nwrite the URL of a collector, such as "
                       "http://127.0.0.1:4318");
    }
}
