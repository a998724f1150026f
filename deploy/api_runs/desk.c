/*
 * A queue of calls that wait for a reader, and two lists, each with its order: orders for the
 * engine, answers for the door. One lock keeps both lists, and nobody works while he has it.
 *
 * A job that the engine has is in a list until it is answered, also after its client was told that
 * this takes too long: an answer may still come and find it.
 */
#include "deploy/api_runs/desk.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api_runs/graphs_kept.h"
#include "deploy/api_runs/startable.h"
#include "deploy/api_wire/api_limits.h"
#include "deploy/common/clock.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* How often it is looked whether the engine has left a job unanswered. */
#define LOOK_MS 1000

struct reader {
    struct tr_desk *desk;
    struct tr_reader *reader; /* NULL: it is not open */
    struct tr_graphs_kept *graphs;
    struct tr_startables *startables;
};

struct tr_desk {
    struct tr_live *live;
    struct tr_work_queue queue; /* of calls that wait for a reader */
    pthread_mutex_t mutex;      /* of what follows */
    struct tr_work_list orders;
    struct tr_work_list answers;
    size_t count; /* of all jobs that there are */
    struct tr_api *api;
    bool is_posted;
    bool is_stopping;
    int wake; /* eventfd: there are orders */
    struct reader readers[TR_DESK_READERS];
    bool has_begun;
    struct tr_desk_job *at_engine; /* the engine's thread alone knows these */
    uint64_t look_ms;              /* when it looks for late ones again; the engine's thread's */
};

static struct tr_desk_job *take(struct tr_work_list *jobs)
{
    return (struct tr_desk_job *)tr_work_list_take(jobs);
}

static void add(struct tr_work_list *jobs, struct tr_desk_job *job)
{
    tr_work_list_add(jobs, &job->in_list);
}

static void job_free(struct tr_desk_job *job)
{
    tr_arena_fini(&job->arena);
    tr_free(job);
}

const struct tr_engine *tr_desk_engine(const struct tr_desk *desk)
{
    return desk->live->engine;
}

struct tr_live *tr_desk_live(struct tr_desk *desk)
{
    return desk->live;
}

struct tr_desk_job *tr_desk_at_engine(const struct tr_desk *desk)
{
    return desk->at_engine;
}

const char *tr_desk_folder(const struct tr_desk *desk)
{
    return desk->live->folder;
}

/* ------------------------------------------------------------- answers */

static void tell(struct tr_api_call *call, const struct tr_desk_job *job)
{
    if (job->is_question && job->code == TR_API_OK) {
        tr_api_call_go_on(call, job->runs);
    } else if (job->response != NULL) {
        tr_api_answer(call, job->response);
    } else {
        tr_api_fail_with(call, job->code, job->detail, "%s", job->words == NULL ? "" : job->words);
    }
}

/* The door's thread: tells all that there is to tell. */
static void deliver(void *argument)
{
    struct tr_desk *desk = argument;
    pthread_mutex_lock(&desk->mutex);
    struct tr_work_list answers = desk->answers;
    desk->answers = (struct tr_work_list){.first = NULL};
    desk->is_posted = false;
    desk->count -= answers.count;
    pthread_mutex_unlock(&desk->mutex);
    for (struct tr_desk_job *job = take(&answers); job != NULL; job = take(&answers)) {
        struct tr_api_call *call = tr_api_call_find(desk->api, job->call);
        if (call != NULL) {
            tell(call, job);
        }
        job_free(job);
    }
}

/*
 * Hands a list of answers on. Without memory for that they wait for the next ones, which tell
 * of them, too.
 */
static void hand_on(struct tr_desk *desk, struct tr_work_list *jobs)
{
    pthread_mutex_lock(&desk->mutex);
    for (struct tr_desk_job *job = take(jobs); job != NULL; job = take(jobs)) {
        add(&desk->answers, job);
    }
    if (!desk->is_posted && desk->answers.count > 0 && !desk->is_stopping) {
        desk->is_posted = tr_api_post(desk->api, deliver, desk) == 0;
    }
    pthread_mutex_unlock(&desk->mutex);
}

void tr_desk_answer(struct tr_desk_job *job, const ProtobufCMessage *response)
{
    job->response = response;
    if (response == NULL || job->arena.error != 0) {
        (void)tr_desk_failed(job, job->arena.error != 0 ? job->arena.error : TR_MEMORY);
    }
}

void tr_desk_fail(struct tr_desk_job *job, enum tr_api_code code, const char *format, ...)
{
    static char none[] = "";
    char words[TR_API_WORDS_BYTES];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(words, sizeof words, format, values);
    va_end(values);
    job->response = NULL;
    job->code = code;
    job->words = (char *)(uintptr_t)tr_arena_text(&job->arena, tr_text_of(words)).data;
    job->words = job->words == NULL ? none : job->words;
}

/* A store that is away, full or being recovered may be asked again; what is damaged may not. */
bool tr_desk_failed(struct tr_desk_job *job, int error)
{
    if (error == 0) {
        return false;
    }
    const char *words = job->reader == NULL ? "" : tr_reader_explain(job->reader);
    enum tr_api_code code = error == TR_STORE_DAMAGED || error == TR_MALFORMED ? TR_API_DATA_LOSS
                            : error == TR_LIMIT ? TR_API_RESOURCE_EXHAUSTED
                                                : TR_API_UNAVAILABLE;
    tr_desk_fail(job, code, "%s", words[0] != '\0' ? words : tr_error_text(error));
    return true;
}

/* ------------------------------------------------------------- readers */

/* What was there when the first of the calls came is seen by all of them. */
static int look(struct reader *self, char *words)
{
    if (self->reader == NULL) {
        return tr_history_open(self->desk->live->folder, words, &self->reader);
    }
    int error = tr_reader_refresh(self->reader);
    if (error != 0) {
        (void)snprintf(words, TRI_STORE_EXPLAIN_BYTES, "%s", tr_reader_explain(self->reader));
        tr_reader_close(self->reader);
        self->reader = NULL;
    }
    return error;
}

static void work_at(struct reader *self, struct tr_desk_job *job)
{
    struct tr_bytes packed = {.data = job->packed, .size = job->request_bytes};
    job->request =
        tr_flyte_message_unpack(&job->arena, job->descriptor, packed, TR_API_MESSAGE_BYTES_MAX);
    job->reader = self->reader;
    job->graphs = self->graphs;
    job->startables = self->startables;
    if (job->request == NULL) {
        (void)tr_desk_failed(job, TR_MEMORY);
    } else {
        job->work(job, job->request);
    }
    job->reader = NULL;
    job->graphs = NULL;
    job->startables = NULL;
}

static void wake_engine(const struct tr_desk *desk)
{
    (void)!write(desk->wake, &(uint64_t){1}, sizeof(uint64_t));
}

/* Works at some calls; those that the engine is to do are handed to it, all others answered. */
static void work_at_all(struct reader *self, struct tr_work_list *jobs, bool is_stopping)
{
    struct tr_desk *desk = self->desk;
    struct tr_work_list answers = {.first = NULL};
    struct tr_work_list orders = {.first = NULL};
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    int error = is_stopping ? TR_CLOSED : look(self, words);
    for (struct tr_desk_job *job = take(jobs); job != NULL; job = take(jobs)) {
        if (error != 0) {
            tr_desk_fail(job, TR_API_UNAVAILABLE, "the store cannot be read now: %s",
                         words[0] != '\0' ? words : tr_error_text(error));
        } else {
            work_at(self, job);
        }
        add(job->carry_out != NULL && error == 0 ? &orders : &answers, job);
    }
    if (orders.count > 0) {
        pthread_mutex_lock(&desk->mutex);
        for (struct tr_desk_job *job = take(&orders); job != NULL; job = take(&orders)) {
            add(&desk->orders, job);
        }
        pthread_mutex_unlock(&desk->mutex);
        wake_engine(desk);
    }
    hand_on(desk, &answers);
}

/* Nobody is kept waiting by a moment of the store that nobody looks at. */
static void rest(struct reader *self)
{
    if (self->reader != NULL) {
        tr_reader_release(self->reader);
    }
}

static void read_on(void *argument, struct tr_work_list *taken, bool is_stopping)
{
    struct reader *self = argument;
    work_at_all(self, taken, is_stopping);
    rest(self);
}

/* The threads begin when somebody asks: a door that nobody uses costs none. */
static bool begin(struct tr_desk *desk)
{
    if (desk->has_begun) {
        return true;
    }
    for (size_t i = 0; i < TR_DESK_READERS; i++) {
        if (tr_work_queue_begin(&desk->queue, &desk->readers[i]) == 0) {
            desk->has_begun = true; /* one will do */
        }
    }
    return desk->has_begun;
}

/* ------------------------------------------------------------- calls */

/* A job with the request in it, packed; NULL without memory. */
static struct tr_desk_job *job_new(struct tr_api_call *call, const ProtobufCMessage *request,
                                   void (*work)(struct tr_desk_job *job, const void *request))
{
    struct tr_buffer bytes;
    tr_buffer_init(&bytes, 0);
    tr_flyte_message_pack(request, &bytes);
    size_t size = bytes.size;
    struct tr_desk_job *job = bytes.error != 0 ? NULL : tr_alloc(sizeof *job + size);
    if (job == NULL) {
        tr_buffer_fini(&bytes);
        return NULL;
    }
    *job = (struct tr_desk_job){.call = tr_api_call_number(call),
                                .desk = tr_api_call_services(call)->desk,
                                .method = tr_api_call_method(call),
                                .is_secure = tr_api_call_is_secure(call),
                                .downloads = tr_api_call_services(call)->downloads,
                                .logs = tr_api_call_services(call)->logs,
                                .descriptor = request->descriptor,
                                .request_bytes = size,
                                .work = work};
    tr_arena_init(&job->arena);
    job->principal =
        (char *)(uintptr_t)tr_arena_print(&job->arena, "%s", tr_api_call_principal(call)).data;
    job->authority = tr_arena_text(&job->arena, tr_api_call_authority(call));
    if (job->arena.error != 0) {
        job_free(job);
        tr_buffer_fini(&bytes);
        return NULL;
    }
    if (size > 0) {
        memcpy(job->packed, bytes.data, size);
    }
    tr_buffer_fini(&bytes);
    return job;
}

void tr_desk_take(struct tr_api_call *call, const void *request,
                  void (*work)(struct tr_desk_job *job, const void *request))
{
    struct tr_desk *desk = tr_api_call_services(call)->desk;
    if (desk == NULL) {
        tr_api_fail(call, TR_API_UNAVAILABLE, "no engine is behind this port");
        return;
    }
    struct tr_desk_job *job = job_new(call, request, work);
    if (job == NULL) {
        tr_api_fail(call, TR_API_UNAVAILABLE, "%s", tr_error_text(TR_MEMORY));
        return;
    }
    pthread_mutex_lock(&desk->mutex);
    desk->api = tr_api_call_api(call);
    bool has_room = desk->count < TR_DESK_CALLS_MAX;
    bool is_leaving = desk->is_stopping;
    bool is_taken = has_room && !is_leaving && begin(desk) &&
                    tr_work_queue_add(&desk->queue, &job->in_list) == TR_WORK_TAKEN;
    desk->count += is_taken ? 1 : 0;
    pthread_mutex_unlock(&desk->mutex);
    if (!is_taken) {
        job_free(job);
        tr_api_fail(call, has_room ? TR_API_UNAVAILABLE : TR_API_RESOURCE_EXHAUSTED, "%s",
                    !has_room    ? "too many calls wait (TR_DESK_CALLS_MAX); try again later"
                    : is_leaving ? "the engine is leaving"
                                 : "no thread can be begun");
    }
}

/* ------------------------------------------------------------- the engine */

void tr_desk_order(struct tr_desk_job *job,
                   void (*carry_out)(struct tr_desk_job *job, struct tr_live *live))
{
    job->carry_out = carry_out;
}

/* Out of the list of those that the engine has. */
static void forget(struct tr_desk *desk, struct tr_desk_job *job)
{
    struct tr_desk_job **link = &desk->at_engine;
    while (*link != NULL && *link != job) {
        link = &(*link)->before;
    }
    if (*link == job) {
        *link = job->before;
    }
}

void tr_desk_finish(struct tr_desk_job *job)
{
    struct tr_work_list one = {.first = NULL};
    if (!job->is_finished) {
        job->is_finished = true;
        tri_desk_audit_refusal(job);
    }
    if (job->audits > 0) {
        return; /* it is finished once more when they are kept */
    }
    if (job->audit_error != 0 && job->response != NULL) {
        tr_desk_fail(job, TR_API_UNAVAILABLE,
                     "it is done, but could not be written into the audit: %s",
                     tr_error_text(job->audit_error));
    }
    forget(job->desk, job);
    add(&one, job);
    hand_on(job->desk, &one);
}

/* A word of its own to the client of a job, which stays with the engine. */
static void tell_late(struct tr_desk *desk, const struct tr_desk_job *job)
{
    struct tr_work_list one = {.first = NULL};
    struct tr_desk_job *word = tr_alloc(sizeof *word);
    if (word == NULL) {
        return;
    }
    *word = (struct tr_desk_job){.call = job->call, .desk = desk};
    tr_arena_init(&word->arena);
    tr_desk_fail(word, TR_API_UNAVAILABLE,
                 "the engine has not answered within %u ms (TR_DESK_ENGINE_MS_MAX); it may do it "
                 "yet, so look before you ask again",
                 TR_DESK_ENGINE_MS_MAX);
    pthread_mutex_lock(&desk->mutex);
    desk->count++;
    pthread_mutex_unlock(&desk->mutex);
    add(&one, word);
    hand_on(desk, &one);
}

/* A store that cannot be written, or an actor that stands still, keeps no client for ever. */
static void look_for_late(struct tr_desk *desk, uint64_t now_ms)
{
    for (struct tr_desk_job *job = desk->at_engine; job != NULL; job = job->before) {
        if (!job->is_late && now_ms - job->begun_ms >= TR_DESK_ENGINE_MS_MAX) {
            job->is_late = true;
            tell_late(desk, job);
        }
    }
}

void tr_desk_step(struct tr_desk *desk)
{
    uint64_t count;
    uint64_t now_ms = tr_clock_ms();
    (void)!read(desk->wake, &count, sizeof count);
    if (now_ms >= desk->look_ms) {
        desk->look_ms = now_ms + LOOK_MS;
        look_for_late(desk, now_ms);
    }
    pthread_mutex_lock(&desk->mutex);
    struct tr_work_list orders = desk->orders;
    desk->orders = (struct tr_work_list){.first = NULL};
    pthread_mutex_unlock(&desk->mutex);
    for (struct tr_desk_job *job = take(&orders); job != NULL; job = take(&orders)) {
        job->begun_ms = now_ms;
        job->before = desk->at_engine;
        desk->at_engine = job;
        job->carry_out(job, desk->live);
    }
}

uint32_t tr_desk_timeout_ms(const struct tr_desk *desk)
{
    return desk->at_engine == NULL ? UINT32_MAX : LOOK_MS;
}

/* ------------------------------------------------------------- a desk's life */

int tr_desk_new(struct tr_live *live, struct tr_desk **out)
{
    struct tr_desk *desk = tr_alloc_zero(1, sizeof *desk);
    int error = desk == NULL ? TR_MEMORY : 0;
    if (error != 0) {
        return error;
    }
    desk->live = live;
    const struct tr_work_options options = {
        .do_work = read_on, .taken_max = TR_DESK_TAKEN_MAX, .yields = true};
    tr_work_queue_init(&desk->queue, &options);
    (void)pthread_mutex_init(&desk->mutex, NULL);
    desk->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    error = desk->wake < 0 ? TR_SYSTEM : tr_live_watch(live, desk->wake);
    for (size_t i = 0; error == 0 && i < TR_DESK_READERS; i++) {
        struct reader *reader = &desk->readers[i];
        reader->desk = desk;
        error = tr_graphs_kept_new(&reader->graphs);
        if (error == 0) {
            error = tr_startables_new(&reader->startables);
        }
    }
    if (error != 0) {
        tr_desk_free(desk);
        return error;
    }
    *out = desk;
    return 0;
}

void tr_desk_stop(struct tr_desk *desk)
{
    if (desk == NULL) {
        return;
    }
    pthread_mutex_lock(&desk->mutex);
    desk->is_stopping = true;
    pthread_mutex_unlock(&desk->mutex);
    tr_work_queue_stop(&desk->queue);
    for (size_t i = 0; i < TR_DESK_READERS; i++) {
        struct reader *reader = &desk->readers[i];
        /* Before the store's end: the last one that closes it tidies its log up. */
        tr_reader_close(reader->reader);
        reader->reader = NULL;
    }
}

static void drop(struct tr_work_list *jobs)
{
    for (struct tr_desk_job *job = take(jobs); job != NULL; job = take(jobs)) {
        job_free(job);
    }
}

void tr_desk_free(struct tr_desk *desk)
{
    if (desk == NULL) {
        return;
    }
    drop(&desk->orders);
    drop(&desk->answers);
    while (desk->at_engine != NULL) {
        struct tr_desk_job *job = desk->at_engine;
        desk->at_engine = job->before;
        job_free(job);
    }
    for (size_t i = 0; i < TR_DESK_READERS; i++) {
        tr_reader_close(desk->readers[i].reader);
        tr_graphs_kept_free(desk->readers[i].graphs);
        tr_startables_free(desk->readers[i].startables);
    }
    if (desk->wake >= 0) {
        (void)close(desk->wake);
    }
    tr_work_queue_fini(&desk->queue);
    (void)pthread_mutex_destroy(&desk->mutex);
    tr_free(desk);
}
