/*
 * Traces of `troupe serve`: from its settings to the thread of deploy/traces/.
 */
#include "deploy/commands/serve_traces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/codec/error.h"

#define SERVICE "troupe"

/* A service that was itself begun within a trace does not hand that one on to all its tasks. */
enum tr_exit_status tr_serve_traces_read(const struct tr_invocation *invocation,
                                         const struct tr_settings_file *settings,
                                         const char *folder, struct tr_live_options *options,
                                         struct tr_trace_variables *variables)
{
    const struct tr_variable_maker otherwise = options->variables;
    (void)unsetenv("TRACEPARENT");
    if (settings->traces.endpoint == NULL) {
        return TR_EXIT_DONE;
    }
    if (tr_trace_variables_init(variables, folder, &otherwise) != 0) {
        return tr_command_failed(invocation->command, "traces: the path of the store is too long");
    }
    options->variables = tr_trace_variables_maker(variables);
    return TR_EXIT_DONE;
}

static void warn(void *self, const char *words)
{
    tr_service_log_note(self, true, words);
}

enum tr_exit_status tr_serve_traces_open(const struct tr_invocation *invocation,
                                         struct tr_trace_variables *variables, struct tr_live *live,
                                         struct tr_service_log *log, struct tr_traces **traces)
{
    char words[TR_TRACES_WORDS_BYTES];
    char note[2048];
    const struct tr_settings_file *settings = live->settings;
    if (settings == NULL || settings->traces.endpoint == NULL) {
        return TR_EXIT_DONE;
    }
    const struct tr_settings_traces *said = &settings->traces;
    const struct tr_traces_options options = {
        .folder = live->folder,
        .endpoint = said->endpoint,
        .service = said->service == NULL ? SERVICE : said->service,
        .authorization = said->authorization,
        .secret = said->secret,
        .ca_file = said->ca_file,
        .secret_sources = settings->secrets.items,
        .secret_source_count = settings->secrets.count,
        .store = tr_host_store_number(live->host),
        .warn = warn,
        .self = log,
        .sent = &live->traces_sent,
        .lost = &live->traces_lost,
    };
    atomic_store(&variables->store, options.store);
    int error = tr_traces_open(&options, words, traces);
    if (error != 0) {
        return tr_command_failed(invocation->command, "traces cannot be sent: %s",
                                 words[0] != '\0'     ? words
                                 : error == TR_SYSTEM ? strerror(errno)
                                                      : tr_error_text(error));
    }
    (void)snprintf(note, sizeof note, "sends traces to %.1900s", said->endpoint);
    tr_service_log_note(log, false, note);
    return TR_EXIT_DONE;
}
