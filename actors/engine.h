/*
 * What all actors of the engine may look at: tables that the program sets up before anything runs
 * (tr_program). Nothing in it changes meanwhile but the graph registry and the list of workflows
 * that have counters, which are made for that.
 */
#ifndef TR_ACTORS_ENGINE_H
#define TR_ACTORS_ENGINE_H

#include "actors/metrics/metrics.h"
#include "actors/store/graph_registry.h"
#include "runtime/troupe.h"
#include "schemas/engine/flow.h"
#include "schemas/engine/webapi.h"

/* Which plugin runs tasks of a type, where people have decided that. */
struct tr_task_type {
    struct tr_text name;
    const struct tr_plugin *plugin;
};

/* A plugin as this engine has it. */
struct tr_engine_plugin {
    const struct tr_plugin *plugin;
    const char *blame;      /* "ID VERSION": what a crash is attributed to */
    const char *quarantine; /* why it is not called any more, in words; NULL: it is */
    const char *resource;   /* as in its table, or as the settings say; NULL: none */
    uint32_t per_project;   /* slots of it that one project may have; 0: as many as there are */
    uint32_t per_domain;    /* the same of one domain of a project */
};

/* Where a plugin of the Web API shape reaches its back end, and the actor that does. */
struct tr_engine_endpoint {
    const struct tr_plugin *plugin;
    struct tr_webapi_endpoint endpoint;
    struct tr_ref refresh;
};

struct tr_engine {
    struct tr_graph_registry registry;
    struct tr_metric_workflows metric_workflows;
    const struct tr_plugin *const *plugins; /* all there are */
    size_t plugin_count;
    const struct tr_engine_plugin *known; /* what more is known of them; none: all are called */
    size_t known_count;
    const struct tr_task_type *task_types; /* looked at before what plugins say of themselves */
    size_t task_type_count;
    const struct tr_plugin *default_plugin; /* for types that nobody serves; NULL: its own word */
    struct tr_engine_endpoint *endpoints;   /* by the settings; a plugin's first one is its own */
    size_t endpoint_count;
    struct tr_ref resources;  /* the resource manager; serial 0: none, every request is granted */
    struct tr_ref catalog;    /* the catalog; serial 0: no work is serialized */
    struct tr_ref notifier;   /* the notifier; serial 0: nobody is told of anything */
    const char *sendmail;     /* the program that sends mail; NULL: TR_SENDMAIL */
    const char *mail_from;    /* whom mail is from; NULL: as that program says */
    const char *store_folder; /* absolute; NULL: no store, no files */
    uint32_t launcher_shards; /* of a project and domain (launcher_shard.h); 0 or 1: one alone */
    uint32_t system_retries;  /* of failures that are not the task's fault (Flyte: 3) */
    uint64_t memory_max;      /* of all that it has in hand; 0: no bound */
    bool fires_schedules;     /* else they rest */
    bool is_strict;           /* tasks of Flyte's that want more than the machine has are refused */
    uint16_t host;  /* its number among those that work beside each other; 0: it is alone */
    uint64_t life;  /* no other start of any engine has this number */
    uint64_t store; /* no other store has this one; 0: nobody outside needs it */
};

/* The standard program that sends mail. */
#define TR_SENDMAIL "/usr/sbin/sendmail"

/* The engine that a handler runs in. */
static inline struct tr_engine *tr_engine_of(const struct tr_context *context)
{
    return tr_program(context);
}

/*
 * The plugin for a task type: the one decided on, else one that serves it, else the default one,
 * else NULL.
 */
const struct tr_plugin *tr_engine_plugin(const struct tr_engine *engine, struct tr_text task_type);

/*
 * The same for a task, whose `extra` is what Flyte says of it: one of a plugin of flytekit's runs
 * where its own type was decided on, else where its command does.
 */
const struct tr_plugin *tr_engine_plugin_of(const struct tr_engine *engine,
                                            struct tr_text task_type, struct tr_bytes extra);

/* The plugin of an id, or NULL: for states that name theirs. */
const struct tr_plugin *tr_engine_plugin_by_id(const struct tr_engine *engine, struct tr_text id);

/* An endpoint of a plugin by its name, empty: the first one; NULL: there is none. */
const struct tr_engine_endpoint *tr_engine_endpoint(const struct tr_engine *engine,
                                                    const struct tr_plugin *plugin,
                                                    struct tr_text name);

/* Why a plugin is not called any more, in words; NULL: it is. */
const char *tr_engine_quarantine(const struct tr_engine *engine, const struct tr_plugin *plugin);

/* What more is known of a plugin; NULL: nothing. */
const struct tr_engine_plugin *tr_engine_known(const struct tr_engine *engine,
                                               const struct tr_plugin *plugin);

/* The namespace of the resource manager that an attempt needs a token of; NULL: none. */
const char *tr_engine_resource(const struct tr_engine *engine, const struct tr_plugin *plugin);

/*
 * Around each call of a plugin's function: if that ends the process, the plugin is counted for it,
 * and from the second time on it is in quarantine.
 */
void tr_engine_call_begins(struct tr_context *context, const struct tr_plugin *plugin,
                           const char *function);
void tr_engine_call_ends(struct tr_context *context);

/* The actors' behaviours, for tr_host_options: one table, ids 100 to 199. */
extern const struct tr_behaviour tr_launcher_behaviour;     /* 100: launcher.c */
extern const struct tr_behaviour tr_workflow_behaviour;     /* 101: workflow.c */
extern const struct tr_behaviour tr_task_behaviour;         /* 102: task.c */
extern const struct tr_behaviour tr_array_behaviour;        /* 103: array.c */
extern const struct tr_behaviour tr_resources_behaviour;    /* 104: resources.c */
extern const struct tr_behaviour tr_catalog_behaviour;      /* 105: catalog.c */
extern const struct tr_behaviour tr_signals_behaviour;      /* 106: signals.c */
extern const struct tr_behaviour tr_launch_behaviour;       /* 107: launch.c */
extern const struct tr_behaviour tr_schedules_behaviour;    /* 108: schedules.c */
extern const struct tr_behaviour tr_schedule_behaviour;     /* 109: schedule.c */
extern const struct tr_behaviour tr_refresh_behaviour;      /* 110: refresh.c */
extern const struct tr_behaviour tr_notifier_behaviour;     /* 115: notification.c */
extern const struct tr_behaviour tr_notification_behaviour; /* 116: notification.c */
extern const struct tr_behaviour tr_graph_fetch_behaviour;  /* 117: graph_fetch.c */

#endif
