/*
 * The settings file: how engines of a store are to be, where the command line does not say.
 *
 * It is STORE/settings.yaml, else the file that $TROUPE_SETTINGS names, else troupe/settings.yaml
 * in $XDG_CONFIG_HOME or ~/.config: the first that is there, alone. deploy/README.md has the keys.
 */
#ifndef TR_DEPLOY_SETTINGS_SETTINGS_H
#define TR_DEPLOY_SETTINGS_SETTINGS_H

#include <limits.h>

#include "actors/engine.h"
#include "actors/graph/document/report.h"
#include "deploy/retention/janitor.h"
#include "plugins/builtin/load.h"

#define TR_SETTINGS_NAME "settings.yaml"

/* What stands for no time, where something is kept. */
#define TR_SETTINGS_FOREVER "forever"

/* The most of jobs, and of a quota. */
#define TR_SETTINGS_JOBS_MAX 10000
#define TR_SETTINGS_QUOTA_MAX 1000000

/* The most that executions may have at once, and the least. */
#define TR_SETTINGS_NODES_MAX 200000000U
#define TR_SETTINGS_NODES_MIN 100U

/* The most endpoints of all plugins together, calls a second, calls at once, streams. */
#define TR_SETTINGS_ENDPOINTS_MAX 64
#define TR_SETTINGS_CALLS_PER_SECOND_MAX 10000
#define TR_SETTINGS_CALLS_AT_ONCE_MAX 1000
#define TR_SETTINGS_STREAMS_MAX 10000

/* The longest time that one call may take. */
#define TR_SETTINGS_TIMEOUT_MS_MAX 3600000

/* How long a back end may take to show what it has made; and how long it may show nothing. */
#define TR_SETTINGS_LAG_MS_MIN 1000
#define TR_SETTINGS_LAG_MS_MAX 3600000
#define TR_SETTINGS_LOST_MS_MIN 120000
#define TR_SETTINGS_LOST_MS_MAX 86400000

/* A plugin of a shared object. */
struct tr_settings_plugin {
    const struct tr_plugin *plugin;
    const char *path;
    char version[TR_PLUGIN_VERSION_BYTES_MAX]; /* of the file */
};

/* How many slots a namespace of the resource manager has. */
struct tr_settings_quota {
    struct tr_text name;
    uint32_t slots;       /* 0: no bound for all together */
    uint32_t per_project; /* of them for one project, one domain of it; 0: no bound */
    uint32_t per_domain;
};

/* A Python for tasks of Flyte's packages, by a shell's pattern for their images. */
struct tr_settings_python {
    const char *images;
    const char *python; /* a path */
};

/* The largest request of HTTP, and the least that this may be; the most connections. */
#define TR_SETTINGS_REQUEST_BYTES_MIN (1ULL << 20)
#define TR_SETTINGS_REQUEST_BYTES_MAX (1ULL << 30)
#define TR_SETTINGS_CONNECTIONS_MAX 1000000

/* Clients, and roles of each. */
#define TR_SETTINGS_CLIENTS_MAX 1000
#define TR_SETTINGS_ROLES_MAX 100

struct tr_api_provider;

/* Where Flyte's clients are answered. */
struct tr_settings_http {
    struct tri_vector addresses; /* const char *; none: nowhere */
    const char *certificate;     /* paths; NULL: nothing is said */
    const char *key;
    struct tri_vector clients;              /* struct tr_api_client */
    const struct tr_api_provider *provider; /* of tokens; NULL: none. Without both everybody may */
    uint64_t request_bytes;                 /* each 0: nothing is said */
    uint32_t connections;
};

/* Where traces of executions are sent. */
struct tr_settings_traces {
    const char *endpoint; /* a URL without a slash at its end; NULL: nowhere */
    const char *service;  /* what the engine is called there; NULL: "troupe" */
    const char *ca_file;  /* NULL: the system's */
    uint8_t authorization;
    struct tr_secret secret; /* of it */
};

struct tr_settings_file {
    char path[PATH_MAX]; /* that was read; empty: there is none */
    uint32_t jobs;       /* 0: nothing is said */
    bool is_cold;        /* warm: false */
    bool is_strict;      /* resources: strict */
    uint32_t durability; /* enum tr_durability; TR_DURABILITY_NONE: nothing is said */
    struct tr_retention retention;
    struct tr_bounds limits;                /* each 0: nothing is said */
    struct tri_vector task_types;           /* struct tr_task_type */
    const struct tr_plugin *default_plugin; /* for types that nobody serves; NULL: none */
    struct tri_vector plugins;              /* const struct tr_plugin *: all there are */
    struct tri_vector loaded;               /* struct tr_settings_plugin: those of them */
    struct tri_vector endpoints;            /* struct tr_engine_endpoint */
    struct tri_vector quotas;               /* struct tr_settings_quota */
    struct tri_vector secrets;              /* struct tr_secret_source; none: nothing is said */
    struct tri_vector identities;           /* struct tr_identity: who we are at endpoints */
    struct tri_vector pythons;              /* struct tr_settings_python */
    struct tri_vector object_stores;        /* struct tr_object_store */
    struct tr_settings_http http;
    struct tr_settings_traces traces;
    const char *blobs;     /* the folder of blobs, or their URI; NULL: where the store has them */
    const char *sendmail;  /* the program that sends mail; NULL: TR_SENDMAIL */
    const char *mail_from; /* NULL: nothing is said */
    const char *host_name; /* of a store with several hosts; NULL: nothing is said */
    const char *host_address;  /* IP:PORT; NULL: it does not work beside others */
    const char *entry_address; /* IP:PORT, where clients come over the network; NULL: nowhere */
    const char *entry_key;     /* the file of its key; NULL: one in the store's folder */
    uint32_t lease_ms;         /* the same; 0: nothing is said */
    uint32_t process_lease_ms; /* the same */
    bool keeps_groups;         /* `balance: off` */
    const char
        *store; /* of commands that name none: a folder or a locator; NULL: nothing is said */

    /* private */
    struct tr_arena arena;
};

/* Settings in which nothing is said, with the plugins that are linked in. */
void tr_settings_init(struct tr_settings_file *settings);
void tr_settings_fini(struct tr_settings_file *settings);

/*
 * Finds the file for a store (`folder` may be empty: none yet), the first of those that are there;
 * one that $TROUPE_SETTINGS names has to be, and is not looked for. False: there is none, and
 * `path` is empty.
 */
bool tr_settings_find(const char *folder, char path[PATH_MAX]);

/* Reads settings from a text; `source` is its number in the report, which says what is wrong. */
void tr_settings_read(struct tr_settings_file *settings, struct tr_report *report, uint32_t source,
                      struct tr_text text);

/* Whether a host may be called so. */
bool tr_settings_is_host_name(struct tr_text name);

/* Whether a host may be reached there: IP:PORT. */
bool tr_settings_is_host_address(struct tr_text text);

/* Reads `store` alone: other keys are not looked at, and no plugin is loaded. */
void tr_settings_read_store(struct tr_settings_file *settings, struct tr_report *report,
                            uint32_t source, struct tr_text text);

/*
 * Gives an engine its tables of plugins, task types and endpoints, which live as long as the
 * settings; it notes the actors of its endpoints there. NULL: those of an engine without any.
 */
void tr_settings_tables(const struct tr_settings_file *settings, struct tr_engine *engine);

#endif
