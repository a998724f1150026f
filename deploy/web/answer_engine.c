/*
 * What is asked about the engine itself: probes of service managers, metrics, and how it stands.
 */
#include <string.h>

#include "deploy/cli/commands.h"
#include "deploy/web/handlers.h"
#include "deploy/web/job.h"

#define TEXT "text/plain; charset=utf-8"
#define PROMETHEUS "text/plain; version=0.0.4; charset=utf-8"

/* A word that a command's table takes, which nobody writes to. */
static char *word_of(struct tr_web_job *job, const char *word)
{
    size_t size = strlen(word) + 1;
    char *copy = tr_arena_alloc(&job->arena, size);
    return copy == NULL ? NULL : memcpy(copy, word, size);
}

/* Calls a command of the store with one option; NULL: none. */
static void call(struct tr_web_job *job, const struct tr_command *command, const char *option)
{
    const char *folder = tr_web_options(job->web)->folder;
    char *words[] = {(char *)(uintptr_t)tr_arena_print(&job->arena, "--store=%s", folder).data,
                     option == NULL ? NULL : word_of(job, option), NULL};
    bool is_short = words[0] == NULL || (option != NULL && words[1] == NULL);
    tr_web_job_call(job, command, option == NULL ? 1 : 2, is_short ? NULL : words);
}

static void answer_text(struct tr_web_job *job, const char *text)
{
    job->problem = TR_WEB_FINE;
    job->type = TEXT;
    tr_buffer_cut(&job->answer, 0);
    tr_buffer_add_string(&job->answer, text);
}

/* An engine that answers lives, also where it waits for a disk: to restart it would help nobody. */
void tr_web_answer_health(struct tr_web_job *job)
{
    call(job, &tr_command_ping, "--output=json");
    bool has_engine = memmem(job->answer.data, job->answer.size, "\"engine\":{", 10) != NULL;
    if (job->problem == TR_WEB_FINE || has_engine) {
        answer_text(job, "ok\n");
    } else {
        job->problem = TR_WEB_UNAVAILABLE;
    }
}

void tr_web_answer_readiness(struct tr_web_job *job)
{
    call(job, &tr_command_ping, NULL);
    if (job->problem == TR_WEB_FINE) {
        answer_text(job, "ok\n");
    } else {
        job->problem = TR_WEB_UNAVAILABLE;
    }
}

void tr_web_answer_metrics(struct tr_web_job *job)
{
    call(job, &tr_command_metrics, "--prometheus");
    job->type = PROMETHEUS;
}

/* An engine that is stuck has a document, too, which says so. */
void tr_web_answer_ping(struct tr_web_job *job)
{
    call(job, &tr_command_ping, "--output=json");
    if (job->answer.error == 0 && job->answer.size > 0) {
        job->problem = TR_WEB_FINE;
    }
}
