/*
 * The registrar's thread and the jobs on their way to it and back. A job has a copy of its request,
 * since the call may go while it waits; what comes back finds the call by its number, if it is
 * still there.
 */
#include "deploy/entities/registrar.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/entities/entity_calls.h"
#include "deploy/entities/registrar_inside.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* ------------------------------------------------------------------ jobs */

static void free_job(struct tri_job *job)
{
    tr_arena_fini(&job->arena);
    tr_free(job);
}

void *tri_job_new(struct tri_job *job, const ProtobufCMessageDescriptor *descriptor)
{
    void *message = tr_flyte_message_new(&job->arena, descriptor);
    if (message == NULL) {
        tri_job_fail_error(job, job->arena.error, "");
    }
    return message;
}

void *tri_job_unpack(struct tri_job *job, const ProtobufCMessageDescriptor *descriptor,
                     struct tr_bytes bytes)
{
    void *message =
        tr_flyte_message_unpack(&job->arena, descriptor, bytes, TR_API_MESSAGE_BYTES_MAX);
    if (message == NULL && job->arena.error != 0) {
        tri_job_fail_error(job, job->arena.error, "");
    } else if (message == NULL) {
        tri_job_fail(job, TR_API_DATA_LOSS, "what is kept of it is damaged: it is no %s",
                     descriptor->name);
    }
    return message;
}

char *tri_job_string(struct tri_job *job, struct tr_text text)
{
    struct tr_text copy = tr_arena_print(&job->arena, "%.*s", TRI_TEXT(text));
    if (job->arena.error != 0) {
        tri_job_fail_error(job, job->arena.error, "");
        return NULL;
    }
    return (char *)(uintptr_t)copy.data;
}

void tri_job_answer(struct tri_job *job, const ProtobufCMessage *response)
{
    job->code = TR_API_OK;
    job->response = response;
}

void tri_job_fail(struct tri_job *job, enum tr_api_code code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(job->words, sizeof job->words, format, values);
    va_end(values);
    job->code = code;
    job->response = NULL;
}

void tri_job_fail_error(struct tri_job *job, int error, const char *words)
{
    enum tr_api_code code = error == TR_LIMIT           ? TR_API_RESOURCE_EXHAUSTED
                            : error == TR_STORE_DAMAGED ? TR_API_DATA_LOSS
                            : error == TR_INVALID       ? TR_API_INVALID_ARGUMENT
                                                        : TR_API_UNAVAILABLE;
    tri_job_fail(job, code, "%s", words[0] != '\0' ? words : tr_error_text(error));
}

/* On the door's thread. */
static void give_back(void *argument)
{
    struct tri_job *job = argument;
    struct tr_api_call *call = tr_api_call_find(job->api, job->call);
    if (call != NULL && job->response != NULL) {
        tr_api_answer(call, job->response);
    } else if (call != NULL) {
        tr_api_fail_with(call, job->code, job->detail, "%s", job->words);
    }
    free_job(job);
}

static struct tri_job *new_job(struct tr_api_call *call, const ProtobufCMessage *request,
                               tri_work *work)
{
    struct tri_job *job = tr_alloc_zero(1, sizeof *job);
    struct tr_buffer bytes;
    if (job == NULL) {
        return NULL;
    }
    tr_arena_init(&job->arena);
    job->registrar = tr_api_call_services(call)->registrar;
    job->api = tr_api_call_api(call);
    job->call = tr_api_call_number(call);
    job->work = work;
    job->code = TR_API_INTERNAL;
    job->authority = tr_arena_text(&job->arena, tr_api_call_authority(call));
    job->is_secure = tr_api_call_is_secure(call);
    job->method = tr_api_call_method(call);
    job->who = tr_arena_print(&job->arena, "%s", tr_api_call_principal(call)).data;
    tr_buffer_init(&bytes, 0);
    tr_flyte_message_pack(request, &bytes);
    job->request = bytes.error != 0
                       ? NULL
                       : tr_flyte_message_unpack(&job->arena, request->descriptor,
                                                 tr_buffer_bytes(&bytes), TR_API_MESSAGE_BYTES_MAX);
    tr_buffer_fini(&bytes);
    if (job->request == NULL || job->who == NULL) {
        free_job(job);
        return NULL;
    }
    return job;
}

static void submit(struct tr_api_call *call, const void *request, tri_work *work)
{
    struct tr_registrar *registrar = tr_api_call_services(call)->registrar;
    if (registrar == NULL) {
        tr_api_fail(call, TR_API_UNIMPLEMENTED, "entities are not served here");
        return;
    }
    struct tri_job *job = new_job(call, request, work);
    if (job == NULL) {
        tr_api_fail(call, TR_API_RESOURCE_EXHAUSTED, "there is no memory for the request");
        return;
    }
    enum tr_work_taken taken = tr_work_queue_add(&registrar->queue, &job->in_queue);
    if (taken == TR_WORK_TAKEN) {
        return;
    }
    free_job(job);
    if (taken == TR_WORK_STOPPING) {
        tr_api_fail(call, TR_API_UNAVAILABLE, "the engine leaves");
    } else {
        tr_api_fail(call, TR_API_RESOURCE_EXHAUSTED,
                    "%u requests wait already (TR_REGISTRAR_JOBS_MAX); try again later",
                    TR_REGISTRAR_JOBS_MAX);
    }
}

/* The handlers of the table of RPCs (deploy/api/methods.c). */
#define TRI_HANDLE(name)                                              \
    void tr_api_##name(struct tr_api_call *call, const void *request) \
    {                                                                 \
        submit(call, request, tri_##name);                            \
    }
TR_API_ENTITY_CALLS(TRI_HANDLE)
#undef TRI_HANDLE

/* ------------------------------------------------------------------ the thread */

/* A snapshot is held for a while only. */
static void rest(void *self)
{
    tri_view_rest(self);
}

static void finish(struct tri_job *job)
{
    if (tr_api_post(job->api, give_back, job) != 0) {
        free_job(job); /* the call waits in vain, until its client gives up */
    }
}

static void do_work(void *self, struct tr_work_list *taken, bool is_stopping)
{
    struct tri_job *job = (struct tri_job *)tr_work_list_take(taken);
    (void)self;
    if (is_stopping) {
        tri_job_fail(job, TR_API_UNAVAILABLE, "the engine leaves");
    } else {
        job->work(job, job->request);
    }
    finish(job);
}

/* ------------------------------------------------------------------ opening */

int tr_registrar_open(struct tr_live *live, struct tr_registrar **out)
{
    static const struct tr_work_options options = {.do_work = do_work,
                                                   .rest = rest,
                                                   .rest_ms = TR_REGISTRAR_IDLE_MS,
                                                   .waiting_max = TR_REGISTRAR_JOBS_MAX};
    struct tr_registrar *registrar = tr_alloc_zero(1, sizeof *registrar);
    if (registrar == NULL) {
        return TR_MEMORY;
    }
    registrar->live = live;
    tr_arena_init(&registrar->view.arena);
    tr_work_queue_init(&registrar->queue, &options);
    int error = tri_upload_store_open(&registrar->uploads, live->folder);
    if (error == 0) {
        error =
            tri_download_store_open(&registrar->downloads, live->folder, registrar->uploads.key);
    }
    if (error == 0) {
        error = tr_work_queue_begin(&registrar->queue, registrar);
    }
    if (error != 0) {
        tr_registrar_stop(registrar);
        tr_registrar_free(registrar);
        return error;
    }
    *out = registrar;
    return 0;
}

const struct tr_api_uploads *tr_registrar_uploads(const struct tr_registrar *registrar)
{
    return &registrar->uploads.uploads;
}

const struct tr_api_downloads *tr_registrar_downloads(const struct tr_registrar *registrar)
{
    return &registrar->downloads.downloads;
}

const uint8_t *tr_registrar_key(const struct tr_registrar *registrar)
{
    return registrar->uploads.key;
}

void tr_registrar_stop(struct tr_registrar *registrar)
{
    if (registrar == NULL) {
        return;
    }
    tr_live_calls_close(registrar->live->calls);
    tr_work_queue_stop(&registrar->queue);
    tri_upload_store_stop(&registrar->uploads);
    tri_download_store_stop(&registrar->downloads);
}

void tr_registrar_free(struct tr_registrar *registrar)
{
    if (registrar != NULL) {
        tri_upload_store_close(&registrar->uploads);
        tri_download_store_close(&registrar->downloads);
        tri_view_fini(&registrar->view);
        tr_work_queue_fini(&registrar->queue);
        tr_free(registrar);
    }
}
