/*
 * `troupe serve`: an engine that stays, for submitted work, gates and schedules; a service as
 * service managers expect it.
 */
#include <stdio.h>
#include <unistd.h>

#include "deploy/api_runs/desk.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/diagnostics.h"
#include "deploy/cli/engine_options.h"
#include "deploy/cli/store.h"
#include "deploy/commands/serve_http.h"
#include "deploy/commands/serve_traces.h"
#include "deploy/commands/stand_by.h"
#include "deploy/common/notify.h"
#include "deploy/connect/connect.h"
#include "deploy/engine/leave_hosts.h"
#include "deploy/entry/entry.h"
#include "deploy/follow/follow_local.h"

static void note_begin(struct tr_service_log *log, const struct tr_live *live)
{
    char text[PATH_MAX + 160];
    uint32_t count = live->dormant.count;
    snprintf(text, sizeof text, "troupe %s serves %s, process %ld", TR_PROGRAM_VERSION,
             live->folder, (long)getpid());
    tr_service_log_note(log, false, text);
    if (live->settings->path[0] != '\0') {
        snprintf(text, sizeof text, "settings are those of %s", live->settings->path);
        tr_service_log_note(log, false, text);
    }
    if (count > 0) {
        snprintf(text, sizeof text, "%u unfinished execution%s on", count,
                 count == 1 ? " goes" : "s go");
        tr_service_log_note(log, false, text);
    }
}

/* What ends the host is said by whoever closes it. */
static void hand_over(struct tr_service_log *log, struct tr_live *live)
{
    char text[160];
    struct tr_leave_hosts left;
    if (tr_leave_hosts(live, &left) == 0 && left.had > 0) {
        (void)snprintf(text, sizeof text,
                       "this host has handed over %llu of its %llu partitions in %.1f s",
                       (unsigned long long)left.given, (unsigned long long)left.had,
                       (double)left.took_ms / 1000);
        tr_service_log_note(log, false, text);
    }
}

/* Where clients come in, if the settings say so. */
static enum tr_exit_status open_entry(const struct tr_invocation *invocation, struct tr_live *live,
                                      struct tr_service_log *log, struct tr_entry **entry)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    char locator[TR_HOST_ADDRESS_BYTES + 100];
    char text[sizeof locator + 40];
    if (tr_entry_open(live, explain, entry) != 0) {
        return tr_command_failed(invocation->command, "%s", explain);
    }
    if (*entry != NULL) {
        tr_entry_locator(*entry, locator, sizeof locator);
        (void)snprintf(text, sizeof text, "clients come in by --host %s", locator);
        tr_service_log_note(log, false, text);
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status serve(const struct tr_invocation *invocation, struct tr_live *live,
                                 const struct tr_serve_http *http,
                                 struct tr_trace_variables *variables, struct tr_desk *desk)
{
    struct tr_service_log *log;
    struct tr_serve_port port;
    struct tr_traces *traces = NULL;
    struct tr_entry *entry = NULL;
    int error = tr_service_log_new(invocation, live, &log);
    if (error != 0) {
        return tr_command_failed(invocation->command, "the history cannot be watched: %s",
                                 tr_error_text(error));
    }
    note_begin(log, live);
    enum tr_exit_status status = open_entry(invocation, live, log, &entry);
    if (status != TR_EXIT_DONE) {
        tr_service_log_free(log);
        return status;
    }
    status = tr_serve_traces_open(invocation, variables, live, log, &traces);
    if (status == TR_EXIT_DONE) {
        status = tr_serve_http_open(invocation, http, live, desk, log, &port);
    }
    if (status != TR_EXIT_DONE) {
        tr_traces_close(traces);
        tr_entry_close(entry);
        tr_service_log_free(log);
        return status;
    }
    tr_notify("READY=1");
    status = tr_follow_local_service(invocation, live, log, desk);
    tr_notify("STOPPING=1");
    tr_desk_stop(desk);
    tr_entry_close(entry);
    tr_serve_http_close(&port);
    hand_over(log, live);
    tr_traces_close(traces);
    tr_service_log_last(log);
    tr_service_log_free(log);
    return status;
}

/* With a desk where clients are answered; it goes when the engine answers nobody any more. */
static enum tr_exit_status serve_at_desk(const struct tr_invocation *invocation,
                                         struct tr_live *live, const struct tr_serve_http *http,
                                         struct tr_trace_variables *variables)
{
    struct tr_desk *desk = NULL;
    int error = http->options.address_count > 0 ? tr_desk_new(live, &desk) : 0;
    enum tr_exit_status status =
        error == 0 ? serve(invocation, live, http, variables, desk)
                   : tr_command_failed(invocation->command, "%s", tr_error_text(error));
    tr_live_close(live);
    tr_desk_free(desk);
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_store_place store;
    struct tr_live_options options;
    struct tr_settings_file settings;
    struct tr_serve_http http = {.pair = NULL};
    struct tr_trace_variables variables;
    struct tr_live *live = NULL;
    bool is_leaving = false;
    enum tr_exit_status status = tr_store_choose(invocation, true, &store);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    status = tr_diagnostics_load_settings(invocation, store.folder, &settings);
    if (status == TR_EXIT_DONE) {
        status = tr_engine_options_read(invocation, store.folder, &settings, &options);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_engine_options_read_address(invocation, &settings, &options);
    }
    options.fires_schedules = true;
    if (status == TR_EXIT_DONE) {
        status = tr_serve_http_read(invocation, &settings, &http);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_stand_by_check(invocation, &options);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_store_make(invocation, &store);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_serve_http_give_tokens(invocation, &http, store.folder, &options);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_serve_traces_read(invocation, &settings, store.folder, &options, &variables);
    }
    while (status == TR_EXIT_DONE && live == NULL && !is_leaving) {
        status = tr_stand_by(invocation, &options, &is_leaving);
        if (status == TR_EXIT_DONE && !is_leaving) {
            status = tr_connect_as_engine(invocation, &options, &live);
        }
    }
    if (status == TR_EXIT_DONE && !is_leaving) {
        status = serve_at_desk(invocation, live, &http, &variables);
    }
    tr_serve_http_fini(&http);
    tr_settings_fini(&settings);
    return status;
}

static const struct tr_option options_table[] = {
    TR_ENGINE_OPTIONS,
    TR_NO_WARM_OPTION,
    TR_SERVE_HTTP_OPTIONS,
    {0, "host-name", "NAME", "what this host of the store is called (else as the machine)", NULL, 0,
     false},
    {0, "host-address", "IP:PORT", "where hosts beside this one reach it", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_serve = {
    .name = "serve",
    .summary = "be an engine that stays",
    .words = "",
    .text =
        "Goes on with all that is unfinished and takes what other commands hand it, until\n"
        "SIGTERM, SIGHUP or Ctrl-C: then it commits and leaves with 0, and the next engine\n"
        "goes on. Tells on stderr which executions begin and end; -q warnings alone, -v every\n"
        "phase, -o json one document a line. deploy/package/troupe.service is a unit for systemd.\n"
        "--http answers programs and pages, by HTTP and JSON (deploy/HTTP_API.md), and Flyte's\n"
        "clients, by gRPC and REST (deploy/FLYTE_CLIENTS.md), at one port: on this machine (PORT\n"
        "is one of 127.0.0.1), and with --tls on others, too. Port 0 is any that is free; which\n"
        "one is told.\n"
        "On a store in PostgreSQL whose work another host has it stands by, and takes the work\n"
        "when that one leaves or is silent (deploy/HOSTS.md); `troupe hosts` shows who has it.",
    .examples = "  troupe serve\n"
                "  troupe serve --store /var/lib/troupe --jobs 8 -o json\n"
                "  troupe serve --http 30080\n"
                "  troupe serve --http 0.0.0.0:443 --tls cert.pem,key.pem",
    .options = options_table,
    .outputs = "text|json",
    .has_store = true,
    .run = run,
};
