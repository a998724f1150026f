/*
 * A few threads, each with a list of requests whose secrets it resolves in order. The values become
 * header lines, and go back with the task.
 *
 * Each thread has its own tri_secrets as cache, so no lock is needed. The first secret of a request
 * selects the thread: requests for the same secret meet on the same thread and share its cache.
 *
 * Values must not stay in freed memory: the buffers do not grow by themselves (make_room), and are
 * overwritten before they are freed.
 */
#include "runtime/http/http_secret.h"

#include <pthread.h>
#include <semaphore.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "runtime/env/thread.h"
#include "runtime/memory.h"
#include "runtime/secret/secret.h"
#include "runtime/secret/secret_limits.h"
#include "runtime/secret/token.h"
#include "schemas/codec/error.h"

#define THREADS TR_HTTP_SECRET_THREADS
#define MIXER 0x9e3779b97f4a7c15ULL /* spreads similar values */

struct asker {
    struct tri_http_secrets *all;
    bool is_started;
    pthread_t thread;
    sem_t news;
    struct tri_http_inbox inbox;
    struct tri_secrets *known; /* used by the thread only, as what follows */
    struct tri_tokens *tokens;
    struct tri_buffer value; /* allocated at full size, since it must not grow */
};

struct tri_http_secrets {
    const struct tr_secret_source *sources;
    size_t source_count;
    tri_http_found *found;
    void *self;
    atomic_bool is_stopping;
    struct asker askers[THREADS];
};

/* ---- A value as a line of a header. --------------------------------------------------------- */

/*
 * Describes an invalid value by its secret's name. The value must not get into words, since those
 * are logged.
 */
static int refuse_value(const struct tr_http_secret *secret, const char *words, char *reason)
{
    snprintf(reason, TR_REASON_BYTES_MAX, "secret %.*s%s%.*s: %s",
             (int)(secret->group.size < 128 ? secret->group.size : 128), secret->group.data,
             secret->group.size > 0 ? "/" : "",
             (int)(secret->key.size < 128 ? secret->key.size : 128), secret->key.data, words);
    return TR_INVALID;
}

/* The value without the line end that files and commands append. */
static struct tr_bytes value_in(const struct tri_buffer *buffer)
{
    struct tr_bytes value = {.data = tri_buffer_front(buffer), .size = tri_buffer_size(buffer)};
    value.size -= value.size > 0 && value.data[value.size - 1] == '\n' ? 1 : 0;
    value.size -= value.size > 0 && value.data[value.size - 1] == '\r' ? 1 : 0;
    return value;
}

/*
 * Whether the value fits into a header. Control bytes are refused: a line end would begin another
 * header.
 */
static bool fits_header(struct tr_bytes value)
{
    for (size_t i = 0; i < value.size; i++) {
        if ((value.data[i] < ' ' && value.data[i] != '\t') || value.data[i] == 0x7f) {
            return false;
        }
    }
    return value.size > 0;
}

/*
 * Makes room for `size` more bytes by copying to a larger buffer and overwriting the old one; a
 * buffer that grows by itself would free memory with values in it.
 */
static int make_room(struct tri_buffer *lines, size_t size)
{
    struct tri_buffer larger = {0};
    int error = tri_buffer_reserve(&larger, tri_buffer_size(lines) + size);
    if (error == 0 && tri_buffer_size(lines) > 0) {
        error = tri_buffer_append(&larger, tri_buffer_front(lines), tri_buffer_size(lines));
    }
    if (error != 0) {
        tri_buffer_fini(&larger);
        return error;
    }
    tri_secret_wipe(lines);
    tri_buffer_fini(lines);
    *lines = larger;
    return 0;
}

static void put(struct tri_buffer *lines, const void *data, size_t size)
{
    if (size > 0) {
        memcpy(lines->data + lines->end, data, size);
        lines->end += size;
    }
}

/*
 * Appends "Name: PREFIXvalue" and a zero. For basic credentials the value USER:PASSWORD is encoded
 * in base64 (RFC 7617).
 */
static int put_line(struct tri_buffer *lines, const struct tr_http_secret *secret,
                    struct tr_bytes value)
{
    static const char basic[] = "Basic ";
    size_t encoded = sodium_base64_ENCODED_LEN(value.size, sodium_base64_VARIANT_ORIGINAL);
    int error = make_room(lines, secret->header.size + secret->prefix.size + encoded + 16);
    if (error != 0) {
        return error;
    }
    put(lines, secret->header.data, secret->header.size);
    put(lines, ": ", secret->kind == TR_HTTP_SECRET_SIGN ? 0 : 2);
    put(lines, secret->prefix.data, secret->prefix.size);
    if (secret->kind == TR_HTTP_SECRET_BASIC) {
        put(lines, basic, sizeof basic - 1);
        sodium_bin2base64((char *)lines->data + lines->end, encoded, value.data, value.size,
                          sodium_base64_VARIANT_ORIGINAL);
        lines->end += encoded - 1;
    } else {
        put(lines, value.data, value.size);
    }
    put(lines, "", 1);
    return 0;
}

/* ---- Finding. ------------------------------------------------------------------------------- */

/* The words for a value without the form that its kind requires. */
static const char *const words_of_form[TR_HTTP_SECRET_KIND_COUNT] = {
    [TR_HTTP_SECRET_BASIC] = "its value does not have the form USER:PASSWORD",
    [TR_HTTP_SECRET_SIGN] = "its value does not have the form ACCESS:SECRET or ACCESS:SECRET:TOKEN",
};

static bool has_form(struct tr_bytes value, uint8_t kind)
{
    const uint8_t *colon = memchr(value.data, ':', value.size);
    const uint8_t *end = value.data + value.size;
    if (kind == TR_HTTP_SECRET_SIGN) {
        return colon != NULL && colon != value.data && colon + 1 < end && colon[1] != ':';
    }
    return kind == TR_HTTP_SECRET_PLAIN || colon != NULL;
}

/* Resolves one secret and adds its line; on failure `reason` names the secret and the cause. */
static int find(struct asker *asker, const struct tr_http_secret *secret, struct tri_buffer *lines,
                char *reason)
{
    struct tr_process_secret reference = {
        .group = secret->group, .key = secret->key, .version = secret->version};
    int error = tri_secret_find(asker->known, &reference, &asker->value, reason);
    if (error != 0) {
        return error;
    }
    struct tr_bytes found = value_in(&asker->value);
    if (!fits_header(found)) {
        return refuse_value(secret,
                            found.size == 0
                                ? "its value is empty"
                                : "its value has several lines, or bytes that no header can hold",
                            reason);
    }
    if (!has_form(found, secret->kind)) {
        return refuse_value(secret, words_of_form[secret->kind], reason);
    }
    error = put_line(lines, secret, found);
    return error != 0 ? refuse_value(secret, tr_error_text(error), reason) : 0;
}

/* Finds the token of an identity and adds its line; on failure `reason` is as above. */
static int find_token(struct asker *asker, const struct tr_identity *identity,
                      struct tri_buffer *lines, char *reason)
{
    const struct tr_http_secret header = {.header = tr_text_of("Authorization"),
                                          .prefix = tr_text_of("Bearer "),
                                          .group = tr_text_of("token"),
                                          .key = tr_text_of(identity->name)};
    int error = tri_tokens_find(&asker->tokens, identity, &asker->value, reason);
    if (error != 0) {
        return error;
    }
    struct tr_bytes found = value_in(&asker->value);
    if (!fits_header(found)) {
        return refuse_value(&header, "it is empty, or has bytes that no header can hold", reason);
    }
    error = put_line(lines, &header, found);
    return error != 0 ? refuse_value(&header, tr_error_text(error), reason) : 0;
}

/*
 * Turns a request's task into its answer. After a failure all values are dropped, and `found` holds
 * the words.
 */
static void look_up(struct asker *asker, struct tri_http_task *task)
{
    char reason[TR_REASON_BYTES_MAX] = "";
    const struct tri_http_request *request = &task->request;
    /*
     * A server refused values from before fresh_ms. If several requests were refused at the same
     * time, only the first runs the command again; its answer is recent enough for the others.
     */
    tri_secrets_forget(asker->known, task->fresh_ms);
    tri_tokens_forget(asker->tokens, task->fresh_ms);
    int error = tri_buffer_reserve(&asker->value, 2 * TR_SECRET_BYTES_MAX);
    for (size_t i = 0; i < request->secret_count && error == 0; i++) {
        error = find(asker, &request->secrets[i], &task->found, reason);
        tri_secret_wipe(&asker->value);
    }
    if (error == 0 && tr_identity_has_token(request->identity)) {
        error = find_token(asker, request->identity, &task->found, reason);
        tri_secret_wipe(&asker->value);
    }
    if (error != 0) {
        const char *words = reason[0] != '\0' ? reason : tr_error_text(error);
        tri_secret_wipe(&task->found);
        task->has_failed = true;
        /* Without memory the words are empty. */
        (void)!tri_buffer_append(&task->found, words, strlen(words) + 1);
    }
}

/*
 * Takes the list, handles it, sleeps. The semaphore counts, so a task pushed between the take and
 * the wait wakes the thread at once.
 */
static void *asker_main(void *argument)
{
    struct asker *asker = argument;
    struct tri_http_secrets *all = asker->all;
    while (!atomic_load(&all->is_stopping)) {
        struct tri_http_task *task = tri_http_inbox_take(&asker->inbox);
        while (task != NULL) {
            struct tri_http_task *next = task->next;
            if (!atomic_load(&all->is_stopping)) {
                look_up(asker, task);
                all->found(all->self, task);
            } else {
                tri_http_task_free(task);
            }
            task = next;
        }
        while (sem_wait(&asker->news) != 0) {
            continue; /* interrupted */
        }
    }
    return NULL;
}

/* ---- The threads. --------------------------------------------------------------------------- */

static uint64_t mix(uint64_t mixed, struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        mixed = (mixed ^ (uint8_t)text.data[i]) * MIXER;
    }
    return mixed;
}

/* The thread of a request: by its first secret, else by its identity. */
static struct asker *asker_of(struct tri_http_secrets *secrets,
                              const struct tri_http_request *request)
{
    uint64_t mixed = request->secret_count > 0
                         ? mix(mix(0, request->secrets[0].key), request->secrets[0].group)
                         : mix(0, tr_text_of(request->identity->name));
    return &secrets->askers[(mixed >> 32) % THREADS];
}

static int start(struct asker *asker)
{
    struct tri_http_secrets *all = asker->all;
    int error = tri_secrets_new(all->sources, all->source_count, &asker->known);
    if (error != 0) {
        return error;
    }
    tri_secrets_set_cache_ms(asker->known, TR_HTTP_SECRET_CACHED_MS);
    error = tri_thread_start("troupe-secret", asker_main, asker, &asker->thread);
    asker->is_started = error == 0;
    if (error != 0) {
        tri_secrets_free(asker->known);
        asker->known = NULL;
    }
    return error;
}

int tri_http_secrets_new(const struct tr_secret_source *sources, size_t count,
                         tri_http_found *found, void *self, struct tri_http_secrets **out)
{
    struct tri_http_secrets *secrets = tr_alloc_zero(1, sizeof *secrets);
    if (secrets == NULL) {
        return TR_MEMORY;
    }
    secrets->sources = sources;
    secrets->source_count = count;
    secrets->found = found;
    secrets->self = self;
    for (size_t i = 0; i < THREADS; i++) {
        secrets->askers[i].all = secrets;
        sem_init(&secrets->askers[i].news, 0, 0);
    }
    *out = secrets;
    return 0;
}

/*
 * All threads are told to end before the first is joined, so the wait is as long as the slowest
 * command.
 */
void tri_http_secrets_free(struct tri_http_secrets *secrets)
{
    if (secrets == NULL) {
        return;
    }
    atomic_store(&secrets->is_stopping, true);
    for (size_t i = 0; i < THREADS; i++) {
        sem_post(&secrets->askers[i].news);
    }
    for (size_t i = 0; i < THREADS; i++) {
        struct asker *asker = &secrets->askers[i];
        if (asker->is_started) {
            pthread_join(asker->thread, NULL);
        }
        tri_http_tasks_free(tri_http_inbox_take(&asker->inbox));
        tri_secrets_free(asker->known);
        tri_tokens_free(asker->tokens);
        tri_buffer_fini(&asker->value);
        sem_destroy(&asker->news);
    }
    tr_free(secrets);
}

int tri_http_secrets_ask(struct tri_http_secrets *secrets, const struct tri_http_request *request,
                         uint64_t serial, uint64_t fresh_ms)
{
    struct asker *asker = asker_of(secrets, request);
    struct tri_http_task *task;
    struct tri_http_request asked = {.id = request->id,
                                     .secrets = request->secrets,
                                     .secret_count = request->secret_count,
                                     .identity = request->identity};
    int error = asker->is_started ? 0 : start(asker);
    if (error != 0) {
        return error;
    }
    error = tri_http_task_copy(&asked, &task);
    if (error != 0) {
        return error;
    }
    task->kind = TRI_HTTP_TASK_FOUND;
    task->serial = serial;
    task->fresh_ms = fresh_ms;
    if (tri_http_inbox_push(&asker->inbox, task)) {
        sem_post(&asker->news);
    }
    return 0;
}
