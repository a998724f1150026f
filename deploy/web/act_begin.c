/*
 * What begins executions, each once by the key of its client. The key becomes the name of the
 * execution, by a digest, and what else was asked a label of it: both are kept in the commit that
 * begins it. So a request that comes again, after a kill of the engine, too, finds what the first
 * one began, and one that asks something else with the same key is refused.
 *
 * A launch plan names its executions itself: there the digests stand in the cause, and the plan's
 * latest executions are looked at. One lock lets no two of them look at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/document/report.h"
#include "deploy/common/file.h"
#include "deploy/history/executions.h"
#include "deploy/history/target.h"
#include "deploy/web/handlers.h"
#include "deploy/web/job.h"
#include "schemas/codec/error.h"

#define DIGEST_BYTES 12
#define HEX_BYTES (2 * DIGEST_BYTES + 1)
#define LABEL "troupe/request"

static pthread_mutex_t trigger_lock = PTHREAD_MUTEX_INITIALIZER;

/* ----------------------------------------------------------------------------- keys */

static void add_text(crypto_generichash_state *state, const char *text)
{
    (void)crypto_generichash_update(state, (const uint8_t *)text, strlen(text) + 1);
}

/* Of who asks for what kind of thing with which key; and of all else that is asked. */
static void print_digests(const struct tr_web_job *job, char key[HEX_BYTES],
                          char request[HEX_BYTES])
{
    crypto_generichash_state states[2];
    uint8_t digest[DIGEST_BYTES];
    for (size_t i = 0; i < 2; i++) {
        (void)crypto_generichash_init(&states[i], NULL, 0, sizeof digest);
    }
    add_text(&states[0], job->principal);
    add_text(&states[0], job->request.route->name);
    add_text(&states[0], job->key);
    for (size_t i = 0; i < job->request.count; i++) {
        add_text(&states[1], job->request.given[i].name);
        add_text(&states[1], job->request.given[i].value);
    }
    for (size_t i = 0; i < 2; i++) {
        (void)crypto_generichash_final(&states[i], digest, sizeof digest);
        (void)sodium_bin2hex(i == 0 ? key : request, HEX_BYTES, digest, sizeof digest);
    }
}

/* What a row says of an earlier request, in words that only this file writes. */
struct earlier {
    const char *wanted;
    const char *same; /* where `wanted` is not enough to be the same request; NULL: it is */
    char name[TR_TARGET_EXECUTION_BYTES];
    bool is_there;
    bool is_same;
};

static bool has_text(struct tr_text text, const char *wanted)
{
    return memmem(text.data, text.size, wanted, strlen(wanted)) != NULL;
}

static int take_named(void *self, const void *value)
{
    struct earlier *earlier = self;
    const struct tr_execution *row = value;
    (void)snprintf(earlier->name, sizeof earlier->name, "%.*s", TRI_TEXT(row->name));
    earlier->is_there = true;
    earlier->is_same = has_text(row->labels, earlier->wanted);
    return 0;
}

static int take_caused(void *self, const void *value)
{
    struct earlier *earlier = self;
    const struct tr_execution *row = value;
    if (!earlier->is_there && has_text(row->cause, earlier->wanted)) {
        (void)snprintf(earlier->name, sizeof earlier->name, "%.*s", TRI_TEXT(row->name));
        earlier->is_there = true;
        earlier->is_same = earlier->same == NULL || has_text(row->cause, earlier->same);
    }
    return 0;
}

/* Looks whether it has begun before. False: that cannot be known, and the job is refused. */
static bool find_earlier(struct tr_web_job *job, const struct tr_reader_query *query,
                         int (*take)(void *self, const void *row), struct earlier *earlier)
{
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_reader *reader;
    int error = tr_history_open(tr_web_options(job->web)->folder, words, &reader);
    if (error == 0) {
        error = tr_reader_rows(reader, query, take, earlier);
        tr_reader_close(reader);
    }
    if (error != 0 && error != TR_NOT_FOUND) {
        tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "%s",
                          words[0] != '\0' ? words : tr_error_text(error));
    }
    return error == 0 || error == TR_NOT_FOUND;
}

/* Answers with what has begun before. */
static void answer_earlier(struct tr_web_job *job, const struct earlier *earlier)
{
    if (earlier->is_same) {
        tr_web_job_write_execution(job, earlier->name);
    } else {
        tr_web_job_refuse(job, TR_WEB_REUSED_KEY,
                          "this idempotency-key has begun %.200s, with another request",
                          earlier->name);
    }
}

/* ---------------------------------------------------------------------- by their names */

/* Gives it the name and the label of a key. False: the job is answered, or refused. */
static bool use_key(struct tr_web_job *job)
{
    char key[HEX_BYTES];
    char request[HEX_BYTES];
    struct earlier earlier = {.is_there = false};
    if (job->key == NULL) {
        return true;
    }
    if (tr_web_request_value(&job->request, "name") != NULL && job->request.route->target == NULL) {
        tr_web_job_refuse(job, TR_WEB_INVALID,
                          "a name makes an execution once by itself: leave it or the "
                          "idempotency-key out");
        return false;
    }
    print_digests(job, key, request);
    const char *name = tr_arena_print(&job->arena, "key-%s", key).data;
    const char *label = tr_arena_print(&job->arena, LABEL "=%s", request).data;
    if (name == NULL || label == NULL) {
        tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "%s", tr_error_text(TR_MEMORY));
        return false;
    }
    earlier.wanted = label;
    struct tr_reader_filter filter = tr_filter_text("name", TR_FILTER_EQUAL, tr_text_of(name));
    struct tr_reader_query query = {
        .record = &tr_execution_schema, .filters = &filter, .filter_count = 1, .limit = 1};
    if (!find_earlier(job, &query, take_named, &earlier)) {
        return false;
    }
    if (earlier.is_there) {
        answer_earlier(job, &earlier);
        return false;
    }
    job->begin_name = name;
    job->begin_label = label;
    return true;
}

/* The command's words, with those that begin it once and let it run. */
static void call_begin(struct tr_web_job *job, bool detaches)
{
    char **words;
    int count = 0;
    char **own = tr_web_request_arguments(&job->arena, &job->request,
                                          tr_web_options(job->web)->folder, &count);
    words = own == NULL ? NULL : tr_arena_array(&job->arena, (size_t)count + 5, sizeof *words);
    size_t used = 0;
    if (words != NULL && detaches) {
        words[used++] = (char *)(uintptr_t)tr_arena_print(&job->arena, "--detach").data;
    }
    if (words != NULL && job->begin_name != NULL) {
        words[used++] =
            (char *)(uintptr_t)tr_arena_print(&job->arena, "--name=%s", job->begin_name).data;
        words[used++] =
            (char *)(uintptr_t)tr_arena_print(&job->arena, "--label=%s", job->begin_label).data;
        words[used++] = (char *)(uintptr_t)tr_arena_print(&job->arena, "--if-new").data;
    }
    if (words != NULL) {
        memcpy(words + used, own, ((size_t)count + 1) * sizeof *words);
    }
    tr_web_job_call(job, job->request.route->command, count + (int)used,
                    job->arena.error != 0 ? NULL : words);
    job->status = job->problem == TR_WEB_FINE ? 201 : job->status;
}

void tr_web_begin(struct tr_web_job *job)
{
    if (use_key(job)) {
        call_begin(job, true);
    }
}

/* -------------------------------------------------------------------- of a launch plan */

static void trigger(struct tr_web_job *job)
{
    char key[HEX_BYTES];
    char request[HEX_BYTES];
    struct earlier earlier = {.is_there = false};
    print_digests(job, key, request);
    const char *message = tr_web_request_value(&job->request, "message");
    earlier.wanted = tr_arena_print(&job->arena, "(key %s", key).data;
    earlier.same = tr_arena_print(&job->arena, "(key %s of %s)", key, request).data;
    const char *said = tr_arena_print(&job->arena, "%s%s%s", message == NULL ? "" : message,
                                      message == NULL ? "" : " ", earlier.same)
                           .data;
    struct tr_reader_filter filters[] = {
        tr_filter_text("plan", TR_FILTER_EQUAL,
                       tr_text_of(tr_web_request_value(&job->request, "plan"))),
        tr_filter_text("project", TR_FILTER_EQUAL,
                       tr_text_of(tr_web_request_value(&job->request, "project"))),
        tr_filter_text("domain", TR_FILTER_EQUAL,
                       tr_text_of(tr_web_request_value(&job->request, "domain"))),
    };
    struct tr_reader_query query = {.record = &tr_execution_schema,
                                    .filters = filters,
                                    .filter_count = TR_COUNT_OF(filters),
                                    .order = {{.field = "created_ms", .is_descending = true}},
                                    .limit = TR_WEB_KEYS_OF_PLAN};
    if (said == NULL || earlier.wanted == NULL || earlier.same == NULL) {
        tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "%s", tr_error_text(TR_MEMORY));
        return;
    }
    if (!find_earlier(job, &query, take_caused, &earlier)) {
        return;
    }
    if (earlier.is_there) {
        answer_earlier(job, &earlier);
        return;
    }
    tr_web_request_set(&job->request, "message", said);
    call_begin(job, false);
}

void tr_web_trigger(struct tr_web_job *job)
{
    if (job->key == NULL) {
        call_begin(job, false);
        return;
    }
    pthread_mutex_lock(&trigger_lock);
    trigger(job);
    pthread_mutex_unlock(&trigger_lock);
}

/* --------------------------------------------------------------------- of a definition */

/* Places of what is wrong are those of the definition, whatever file it was in. */
static void hide(char *words, const char *path)
{
    static const char name[] = "definition";
    size_t size = strlen(path);
    for (char *at = strstr(words, path); at != NULL; at = strstr(at, path)) {
        memcpy(at, name, sizeof name - 1);
        memmove(at + sizeof name - 1, at + size, strlen(at + size) + 1);
    }
}

/* Writes the definition into a file of the store, which the command reads, and removes it. */
static void with_file(struct tr_web_job *job, void (*act)(struct tr_web_job *job))
{
    const char *definition = tr_web_request_value(&job->request, "definition");
    char *path = (char *)(uintptr_t)tr_arena_print(&job->arena, "%s/request-XXXXXX.yaml",
                                                   tr_web_options(job->web)->folder)
                     .data;
    if (definition == NULL || path == NULL) {
        tr_web_job_refuse(job, TR_WEB_INVALID, "definition: the text of one is missing");
        return;
    }
    int file = mkostemps(path, sizeof ".yaml" - 1, O_CLOEXEC);
    if (file < 0) {
        tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "the definition cannot be kept: %s",
                          strerror(errno));
        return;
    }
    (void)close(file);
    struct tr_bytes bytes = {.data = (const uint8_t *)definition, .size = strlen(definition)};
    int error = tr_file_write(path, bytes, false);
    if (error == 0) {
        tr_web_request_set(&job->request, "definition", path);
        act(job);
        hide(job->words, path);
    } else {
        tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "the definition cannot be kept: %s",
                          error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    (void)unlink(path);
}

static void submit(struct tr_web_job *job)
{
    call_begin(job, false);
}

void tr_web_submit(struct tr_web_job *job)
{
    if (use_key(job)) {
        with_file(job, submit);
    }
}

void tr_web_apply(struct tr_web_job *job)
{
    with_file(job, tr_web_job_call_own);
}
