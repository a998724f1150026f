/*
 * What the files of settings.h share: settings.c reads the file, settings_plugins.c what it says of
 * plugins, settings_identity.c how these reach clusters, settings_stores.c what it says of object
 * stores, settings_http.c of HTTP, settings_clients.c of its clients, settings_oidc.c of a provider
 * of tokens, settings_traces.c of a collector of traces.
 */
#ifndef TR_DEPLOY_SETTINGS_SETTINGS_INSIDE_H
#define TR_DEPLOY_SETTINGS_SETTINGS_INSIDE_H

#include "actors/graph/language/definition.h"
#include "deploy/settings/settings.h"

/* A path from the folder of the settings on, as a string; NULL without memory. */
const char *tri_settings_place(struct tr_settings_file *settings, struct tr_text path);

/* The plugin that a text names, or NULL, which is told. */
const struct tr_plugin *tri_settings_find_plugin(struct tri_definition *definition,
                                                 const struct tr_settings_file *settings,
                                                 const struct tr_tree *name);

/* Loads those of `plugins` that have a path, before anything else of the settings is read. */
void tri_settings_load_plugins(struct tri_definition *definition, const struct tr_tree *tree,
                               struct tr_settings_file *settings);

/* A URL without a slash at its end, a password, a query or a fragment; false: it is told. */
bool tri_settings_read_url(struct tri_definition *definition, const struct tr_tree *value,
                           struct tr_text *url);

/* A file that is there and may be read, from the folder of the settings on; else it is told. */
void tri_settings_read_file(struct tri_definition *definition, struct tr_settings_file *settings,
                            const struct tr_tree *value, struct tr_text *file);

/* `none`, {basic: GROUP/KEY} or {bearer: GROUP/KEY}, as an enum tr_webapi_authorization; false: it
 * is told. */
bool tri_settings_read_authorization(struct tri_definition *definition, const struct tr_tree *value,
                                     uint8_t *authorization, struct tr_secret *secret);

/* What an endpoint says of a cluster; `what` is the endpoint, for words. */
struct tri_settings_wish {
    const char *what;
    const struct tr_tree *kubeconfig;
    const struct tr_tree *context;
    const struct tr_tree *in_cluster;
};

/*
 * Completes an endpoint by what it wishes for (settings_identity.c): its URL and who we are there.
 * `namespace` is the one that is meant where nothing else is said. False: it is told.
 */
bool tri_settings_identify(struct tri_definition *definition, struct tr_settings_file *settings,
                           const struct tri_settings_wish *wish, const char *plugin,
                           struct tr_webapi_endpoint *endpoint, struct tr_text *namespace);

/* Reads what its command prints (settings_credential.c), for struct tr_identity. */
int tri_settings_read_credential(struct tr_bytes printed, struct tr_credential *credential);

/* Reads `object_stores`; `target` is a struct tr_settings_file. */
void tri_settings_read_stores(struct tri_definition *definition, const struct tr_tree *value,
                              void *target);

/* Reads `blobs_cache`; the target is the same. */
void tri_settings_read_blobs_cache(struct tri_definition *definition, const struct tr_tree *value,
                                   void *target);

/* Reads `blobs`; `target` is a struct tr_settings_file. */
void tri_settings_read_blobs(struct tri_definition *definition, const struct tr_tree *value,
                             void *target);

/* Reads `http`; `target` is a struct tr_settings_file. */
void tri_settings_read_http(struct tri_definition *definition, const struct tr_tree *value,
                            void *target);

/* A string in the arena of the settings; NULL: it is told. */
const char *tri_settings_read_string(struct tri_definition *definition,
                                     struct tr_settings_file *settings,
                                     const struct tr_tree *value);

/* Whether it is a list of roles of the right length; `who` begins what is said if not. */
bool tri_settings_expect_roles(struct tri_definition *definition, const struct tr_tree *value,
                               const char *who);

/* A role of a client, or one that a claim gives, which may say for which `value`. */
struct tr_api_claim_grant;
void tri_settings_read_grant(struct tri_definition *definition, struct tr_settings_file *settings,
                             const struct tr_tree *value, bool is_claimed,
                             struct tr_api_claim_grant *grant);

/* Reads `oidc` of `http`; the target is the same. */
void tri_settings_read_oidc(struct tri_definition *definition, const struct tr_tree *value,
                            void *target);

/* Reads `clients` of `http`; the target is the same. */
void tri_settings_read_clients(struct tri_definition *definition, const struct tr_tree *value,
                               void *target);

/* Read `host_name` and the other settings of hosts; `target` is a struct tr_settings_file. */
void tri_settings_read_host_name(struct tri_definition *definition, const struct tr_tree *value,
                                 void *target);
void tri_settings_read_entry_address(struct tri_definition *definition, const struct tr_tree *value,
                                     void *target);
void tri_settings_read_entry_key(struct tri_definition *definition, const struct tr_tree *value,
                                 void *target);
void tri_settings_read_host_address(struct tri_definition *definition, const struct tr_tree *value,
                                    void *target);
void tri_settings_read_lease(struct tri_definition *definition, const struct tr_tree *value,
                             void *target);
void tri_settings_read_balance(struct tri_definition *definition, const struct tr_tree *value,
                               void *target);
void tri_settings_read_process_lease(struct tri_definition *definition, const struct tr_tree *value,
                                     void *target);

/* Reads `traces`; `target` is a struct tr_settings_file. */
void tri_settings_read_traces(struct tri_definition *definition, const struct tr_tree *value,
                              void *target);

/* Reads `plugins`; `target` is a struct tr_settings_file. */
void tri_settings_read_plugins(struct tri_definition *definition, const struct tr_tree *value,
                               void *target);

#endif
