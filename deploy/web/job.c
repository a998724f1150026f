/*
 * Calling a command within an engine's process: its streams are buffers of the job, bounded, and
 * what it says on stderr are the words of a problem.
 */
#include "deploy/web/web_inside.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "actors/graph/value/literal.h"
#include "deploy/api_wire/gzip.h"
#include "deploy/common/clock.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"

#define DIGEST_BYTES 16
#define TEXT_TYPE "text/plain; charset=utf-8"
#define JSON_TYPE "application/json"

_Static_assert(TR_WEB_TAG_BYTES >= 2 * DIGEST_BYTES + 3, "a digest in quotes");

struct tr_web_job *tr_web_job_new(struct tr_web *web)
{
    struct tr_web_job *job = tr_alloc_zero(1, sizeof *job);
    if (job != NULL) {
        job->web = web;
        job->begun_ms = tr_clock_wall_ms();
        job->status = 200;
        job->type = JSON_TYPE;
        tr_arena_init(&job->arena);
        tr_buffer_init(&job->body, TR_WEB_BODY_BYTES_MAX);
        tr_buffer_init(&job->answer, TR_WEB_ANSWER_BYTES_MAX);
    }
    return job;
}

void tr_web_job_free(struct tr_web_job *job)
{
    if (job != NULL) {
        tri_web_file_free(job->file);
        tr_buffer_fini(&job->answer);
        tri_buffer_fini(&job->packed);
        tr_buffer_fini(&job->body);
        tr_arena_fini(&job->arena);
        tr_free(job);
    }
}

void tr_web_job_refuse(struct tr_web_job *job, enum tr_web_problem problem, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(job->words, sizeof job->words, format, values);
    va_end(values);
    job->problem = problem;
}

void tr_web_job_write_execution(struct tr_web_job *job, const char *name)
{
    tr_buffer_add_string(&job->answer, "{\"execution\":");
    tri_text_write(tr_text_of(name), &job->answer);
    tr_buffer_add_string(&job->answer, "}\n");
}

/* ------------------------------------------------------------------- a command's streams */

/* The C library's write: 0 is a failure, which a command sees as it sees a closed pipe. */
static ssize_t take(void *self, const char *data, size_t size)
{
    struct tr_buffer *buffer = self;
    tr_buffer_add(buffer, data, size);
    return buffer->error == 0 ? (ssize_t)size : 0;
}

FILE *tr_web_job_stream(struct tr_buffer *buffer)
{
    static const cookie_io_functions_t functions = {.write = take};
    return fopencookie(buffer, "w", functions);
}

/* What a command says, without its name in front of each line and without its usage. */
static void take_words(struct tr_web_job *job, const struct tr_command *command,
                       const struct tr_buffer *said)
{
    char prefix[64];
    size_t used = 0;
    struct tr_text rest = tr_buffer_text(said);
    size_t prefix_size = (size_t)snprintf(prefix, sizeof prefix, "troupe %s: ", command->name);
    while (rest.size > 0 && used + 2 < sizeof job->words) {
        const char *end = memchr(rest.data, '\n', rest.size);
        size_t size = end == NULL ? rest.size : (size_t)(end - rest.data);
        bool has_prefix = size >= prefix_size && memcmp(rest.data, prefix, prefix_size) == 0;
        size_t skip = has_prefix ? prefix_size : 0;
        size_t room = sizeof job->words - used - 2;
        size_t kept = size - skip < room ? size - skip : room;
        if (!(size > 6 && memcmp(rest.data, "usage:", 6) == 0) && kept > 0) {
            job->words[used] = '\n';
            used += used > 0 ? 1 : 0;
            memcpy(job->words + used, rest.data + skip, kept);
            used += kept;
        }
        rest.data += size + (end == NULL ? 0 : 1);
        rest.size -= size + (end == NULL ? 0 : 1);
    }
    job->words[used] = '\0';
    if (!tr_utf8_valid(tr_text_of(job->words))) {
        (void)snprintf(job->words, sizeof job->words, "what is wrong cannot be said");
    }
}

static void judge(struct tr_web_job *job, const struct tr_command *command,
                  const struct tr_buffer *said)
{
    if (job->answer.error == TR_LIMIT) {
        tr_web_job_refuse(job, TR_WEB_TOO_LARGE,
                          "the answer is larger than %u bytes (TR_WEB_ANSWER_BYTES_MAX); ask for "
                          "less of it",
                          TR_WEB_ANSWER_BYTES_MAX);
    } else if (job->answer.error != 0) {
        tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "%s", tr_error_text(job->answer.error));
    } else if (job->exit_status != TR_EXIT_DONE) {
        take_words(job, command, said);
        job->problem = tr_web_problem_of_exit(job->exit_status, job->error);
    }
}

void tr_web_job_call_with(struct tr_web_job *job, const struct tr_command *command, int count,
                          char **words, struct tr_console *console)
{
    struct tr_buffer said;
    tr_buffer_init(&said, 4 * (size_t)TR_WEB_WORDS_BYTES);
    console->err = tr_web_job_stream(&said);
    if (console->out == NULL || console->err == NULL || words == NULL) {
        tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "%s", tr_error_text(TR_MEMORY));
    } else {
        tr_console_set(console);
        job->exit_status = tr_command_call(command, count, words);
        tr_console_set(NULL);
        (void)fflush(console->out);
    }
    if (console->err != NULL) {
        (void)fclose(console->err);
    }
    job->error = console->error;
    job->has_more = console->has_more;
    job->next = console->next;
    if (job->problem == TR_WEB_FINE) {
        judge(job, command, &said);
    }
    tr_buffer_fini(&said);
}

void tr_web_job_call(struct tr_web_job *job, const struct tr_command *command, int count,
                     char **words)
{
    struct tr_console console = {.out = tr_web_job_stream(&job->answer),
                                 .identity = job->principal,
                                 .answer_ms = TR_WEB_ENGINE_MS,
                                 .is_gone = tr_web_is_stopping(job->web),
                                 .link = tri_web_link,
                                 .link_self = job};
    tr_web_job_call_with(job, command, count, words, &console);
    if (console.out != NULL) {
        (void)fclose(console.out);
    }
}

void tr_web_job_call_own(struct tr_web_job *job)
{
    int count = 0;
    char **words = tr_web_request_arguments(&job->arena, &job->request,
                                            tr_web_options(job->web)->folder, &count);
    tr_web_job_call(job, job->request.route->command, count, words);
    if (job->request.route->schema == NULL) {
        job->type = TEXT_TYPE;
    }
}

/* --------------------------------------------------------------------------- the answer */

/* An answer is known by its bytes. */
static void print_tag(struct tr_web_job *job)
{
    uint8_t digest[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES + 1];
    (void)crypto_generichash(digest, sizeof digest, job->answer.data, job->answer.size, NULL, 0);
    (void)sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    (void)snprintf(job->tag, sizeof job->tag, "\"%s\"", hex);
}

/* What it does not make much smaller, or cannot be, goes as it is. */
static void pack(struct tr_web_job *job)
{
    size_t size = job->answer.size;
    if (job->takes_gzip && size >= TR_WEB_GZIP_BYTES_MIN &&
        tr_gzip_write(tr_buffer_bytes(&job->answer), size / 100 * TR_WEB_GZIP_PERCENT_MAX,
                      &job->packed) != 0) {
        tri_buffer_fini(&job->packed);
    }
}

uint64_t tr_web_worked_us(void)
{
    struct rusage used = {0};
    (void)getrusage(RUSAGE_THREAD, &used);
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

void tr_web_job_do(struct tr_web_job *job)
{
    const struct tr_web_route *route = job->request.route;
    uint64_t begin_us = tr_web_worked_us();
    if (route->handle != NULL) {
        route->handle(job);
    } else {
        tr_web_job_call_own(job);
    }
    job->worked_us = tr_web_worked_us() - begin_us;
    if (job->problem == TR_WEB_FINE) {
        print_tag(job);
        pack(job);
    }
}
