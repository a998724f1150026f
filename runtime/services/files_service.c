/*
 * Serves actors' calls to the blob store, one at a time, executions round robin; only downloads run
 * concurrently.
 *
 * Each call is answered exactly once: by its own answer, by tr_blob_failed with an error and words,
 * or by tr_ask_failed if the call itself is malformed or unknown. All handlers run on the thread
 * that has the turn (files_threads.h). Long work calls `turn` between pieces, and other calls are
 * served within that: so no handler may keep `service->bytes` or the blob store's words across it.
 *
 * The service keeps no state: after a crash of the host the actors ask again. A blob is on the disk
 * before its answer leaves, so a record never references one that a power loss can take.
 */
#include "runtime/services/files_service.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "runtime/services/files_threads.h"
#include "runtime/store_blobs.h"
#include "schemas/runtime/files.h"

/* How often an idle thread checks whether the service is to stop. */
#define WAIT_NS 200000000

struct tri_files_service {
    struct tri_service base;
    struct tri_files_threads *threads;
    struct tri_blobs *blobs;
    struct tri_fetches *fetches;
    int wake; /* an epoll: a download has ended, or a thread wants its turn */
    struct tri_files_queue downloads; /* downloads that are queued */
    struct tri_buffer bytes;          /* buffer for reading */
    const char *folder;
    const struct tr_exchange *exchange;
    void *program;
    int (*put_graph)(void *host, struct tr_bytes row, uint64_t now_ms);
    void *host;
};

/* A call, as its handler gets it. */
struct call {
    struct tri_caller caller;
    struct tr_bytes envelope; /* the whole message */
    struct tr_bytes body;
    uint8_t version;
};

/* The caller of a download. */
struct fetcher {
    struct tri_fetch_owner owner; /* stays first */
    struct tri_caller caller;
};

/* ---- Answers. ------------------------------------------------------------------------------- */

static void reply(struct tri_files_service *service, const struct call *call,
                  const struct tr_schema *schema, const void *body)
{
    int error = tri_service_reply(&service->base, &call->caller, schema, body);
    if (error != 0) {
        tri_service_refuse(&service->base, &call->caller, error);
    }
}

/* Answers with a blob, named by its URI or by its path. */
static void reply_stored(struct tri_files_service *service, const struct call *call,
                         const struct tri_blob *blob, const char *name)
{
    struct tr_blob_stored stored = {
        .uri = tr_text_of(name),
        .digest = {blob->digest, blob->has_digest ? sizeof blob->digest : 0},
        .size = blob->size,
        .is_directory = blob->is_directory,
    };
    reply(service, call, &tr_blob_stored_schema, &stored);
}

/* Answers with the result of a blob operation. */
static void reply_blob(struct tri_files_service *service, const struct call *call,
                       const struct tri_blob *blob)
{
    reply_stored(service, call, blob, blob->uri);
}

/* Answers who wants to open it. */
static void reply_path(struct tri_files_service *service, const struct call *call,
                       const struct tri_blob *blob)
{
    reply_stored(service, call, blob, blob->path);
}

static void fail_with(struct tri_files_service *service, const struct call *call, int error,
                      struct tr_text words)
{
    /* A path may hold any bytes, a message only valid text. */
    struct tr_blob_failed failed = {
        .error = error,
        .message = tr_utf8_valid(words) ? words : tr_text_of(tr_error_text(error)),
    };
    reply(service, call, &tr_blob_failed_schema, &failed);
}

static void fail(struct tri_files_service *service, const struct call *call, int error)
{
    fail_with(service, call, error, tr_text_of(tri_blobs_words(service->blobs)));
}

/* ---- Calls. Each gives an error that has words; what cannot be read fails as a call. --------- */

/* NULL if the call names no folder: then paths are not restricted to one. */
static const struct tr_fence *fence_of(const struct tr_fence *fence)
{
    return fence->folder.size > 0 ? fence : NULL;
}

static int take_put(struct tri_files_service *service, const struct call *call)
{
    struct tri_blob blob;
    struct tr_blob_put put;
    if (tr_blob_put_unpack(call->body, call->version, &put) != 0) {
        return TR_MALFORMED;
    }
    const struct tr_fence fence = {put.folder, put.trusted_bytes};
    const struct tri_blob_put wanted = {.path = put.path,
                                        .hint = put.name_hint,
                                        .kind = (enum tr_path_kind)put.kind,
                                        .fence = fence_of(&fence)};
    int error = tri_blob_put(service->blobs, &wanted, &blob);
    if (error == 0) {
        reply_blob(service, call, &blob);
    }
    return error;
}

static int take_write(struct tri_files_service *service, const struct call *call)
{
    struct tri_blob blob;
    struct tr_blob_write write;
    if (tr_blob_write_unpack(call->body, call->version, &write) != 0) {
        return TR_MALFORMED;
    }
    int error =
        tri_blob_write(service->blobs, write.name, write.offset, write.bytes, write.is_last, &blob);
    if (error == 0) {
        reply_blob(service, call, &blob);
    }
    return error;
}

static int take_read(struct tri_files_service *service, const struct call *call)
{
    struct tr_blob_read read;
    struct tr_blob_bytes answer;
    if (tr_blob_read_unpack(call->body, call->version, &read) != 0) {
        return TR_MALFORMED;
    }
    const struct tr_fence fence = {read.folder, read.trusted_bytes};
    int error = tri_blob_read(service->blobs, fence_of(&fence), read.uri, read.offset, read.size,
                              &service->bytes, &answer.total);
    if (error == 0) {
        answer.bytes =
            (struct tr_bytes){tri_buffer_front(&service->bytes), tri_buffer_size(&service->bytes)};
        reply(service, call, &tr_blob_bytes_schema, &answer);
    }
    return error;
}

static int take_digest(struct tri_files_service *service, const struct call *call)
{
    struct tri_blob blob;
    struct tr_blob_digest digest;
    if (tr_blob_digest_unpack(call->body, call->version, &digest) != 0) {
        return TR_MALFORMED;
    }
    int error = tri_blob_digest(service->blobs, digest.uri, &blob);
    if (error == 0) {
        reply_blob(service, call, &blob);
    }
    return error;
}

/* ---- Downloads. ----------------------------------------------------------------------------- */

static struct fetcher *fetcher_new(const struct tri_caller *caller)
{
    struct fetcher *fetcher = tr_alloc_zero(1, sizeof *fetcher);
    if (fetcher != NULL) {
        fetcher->caller = *caller;
    }
    return fetcher;
}

/* Takes ownership of the fetcher; answers a download that cannot begin. */
static void begin_download(struct tri_files_service *service, const struct tr_blob_fetch *fetch,
                           struct fetcher *fetcher)
{
    char words[TR_BLOB_WORDS_BYTES_MAX];
    int error = tri_fetch_begin(service->fetches, fetch->uri, (enum tr_path_kind)fetch->kind,
                                &fetcher->owner, words);
    if (error != 0) {
        struct call call = {.caller = fetcher->caller};
        fail_with(service, &call, error, tr_text_of(words));
        tr_free(fetcher);
    }
}

/* Queues the call; if that fails, the call fails and its task asks again. */
static void wait_for_room(struct tri_files_service *service, const struct call *call)
{
    struct tri_files_queue *queue = &service->downloads;
    int error = queue->bytes + call->envelope.size > TR_FILES_WAITING_BYTES_MAX
                    ? TR_BUSY
                    : tri_files_queue_add(queue, call->caller.ref.key.group, call->envelope, NULL);
    if (error != 0) {
        fail_with(service, call, error, tr_text_of(tr_error_text(error)));
    }
}

/* Begins the download of a call, or queues it until there is room. */
static int take_fetch(struct tri_files_service *service, const struct call *call)
{
    struct tri_blob blob;
    struct tr_blob_fetch fetch;
    if (tr_blob_fetch_unpack(call->body, call->version, &fetch) != 0) {
        return TR_MALFORMED;
    }
    if (!tri_fetch_is_supported(fetch.uri)) {
        int error = tri_blob_fetch(service->blobs, fetch.uri, &blob);
        if (error == 0) {
            reply_path(service, call, &blob);
        }
        return error;
    }
    struct fetcher *fetcher = fetcher_new(&call->caller);
    if (fetcher == NULL) {
        fail_with(service, call, TR_MEMORY, tr_text_of(tr_error_text(TR_MEMORY)));
    } else if (tri_fetch_join(service->fetches, fetch.uri, (enum tr_path_kind)fetch.kind,
                              &fetcher->owner)) {
        /* answered together with the same download in progress */
    } else if (tri_fetches_has_room(service->fetches)) {
        begin_download(service, &fetch, fetcher);
    } else {
        tr_free(fetcher);
        wait_for_room(service, call);
    }
    return 0; /* answered when the download has ended */
}

/* Has the program write a document into a new blob. */
static int take_make(struct tri_files_service *service, const struct call *call)
{
    /* The blob has no name until it is adopted, so an incomplete document is never visible. */
    struct tr_blob_make make;
    struct tri_blob blob;
    char explain[TR_EXCHANGE_EXPLAIN_BYTES] = "";
    char name[32];
    int file;
    if (tr_blob_make_unpack(call->body, call->version, &make) != 0) {
        return TR_MALFORMED;
    }
    int error = tri_blob_begin(service->blobs, name, &file);
    if (error != 0) {
        return error;
    }
    const struct tr_exchange_writing writing = {.plan = make.plan,
                                                .store_folder = service->folder,
                                                .descriptor = file,
                                                .turn = tri_files_threads_turn(service->threads)};
    error = service->exchange->write(&writing, explain);
    close(file);
    if (error != 0) {
        tri_blob_discard(service->blobs, name);
        fail_with(service, call, error,
                  tr_text_of(explain[0] != '\0' ? explain : tr_error_text(error)));
        return 0;
    }
    error = tri_blob_adopt(service->blobs, name, make.name_hint, &blob);
    if (error == 0) {
        reply_blob(service, call, &blob);
    }
    return error;
}

/* Has the program read a document. */
static int take_values(struct tri_files_service *service, const struct call *call)
{
    struct tr_values_read read;
    struct tr_values_given given = {.slots = {.size = 0}};
    char code[TR_EXCHANGE_CODE_BYTES] = "";
    char explain[TR_EXCHANGE_EXPLAIN_BYTES] = "";
    if (tr_values_read_unpack(call->body, call->version, &read) != 0) {
        return TR_MALFORMED;
    }
    const struct tr_fence fence = {read.folder, read.trusted_bytes};
    const struct tr_exchange_reading reading = {.plan = read.plan,
                                                .store_folder = service->folder,
                                                .path = read.path,
                                                .fence = fence_of(&fence),
                                                .turn = tri_files_threads_turn(service->threads)};
    int error = service->exchange->read(&reading, &given.slots, code, explain);
    if (error != 0) {
        fail_with(service, call, error,
                  tr_text_of(explain[0] != '\0' ? explain : tr_error_text(error)));
        return 0;
    }
    given.code = tr_text_of(code);
    given.message = tr_text_of(explain);
    reply(service, call, &tr_values_given_schema, &given);
    /* The program allocated the slots for this call, and the reply has copied them. */
    tr_free((void *)(uintptr_t)given.slots.data);
    return 0;
}

/* An inquiry to the program, and its caller. */
struct inquiry {
    struct tr_inquiry told;
    struct tri_files_service *service;
    const struct call *call;
};

static int answer_inquiry(const struct tr_inquiry *told, const struct tr_schema *schema,
                          const void *body)
{
    const struct inquiry *inquiry = (const struct inquiry *)told;
    return tri_service_reply(&inquiry->service->base, &inquiry->call->caller, schema, body);
}

static int put_inquired_graph(const struct tr_inquiry *told, struct tr_bytes row, uint64_t now_ms)
{
    const struct inquiry *inquiry = (const struct inquiry *)told;
    const struct tri_files_service *service = inquiry->service;
    return service->put_graph == NULL ? TR_INVALID : service->put_graph(service->host, row, now_ms);
}

/* Passes a message that is no call of this service to the program. */
static void take_inquiry(struct tri_files_service *service, const struct call *call, uint16_t type)
{
    char explain[TR_EXCHANGE_EXPLAIN_BYTES] = "";
    struct inquiry inquiry = {
        .told = {.program = service->program,
                 .store_folder = service->folder,
                 .type = type,
                 .version = call->version,
                 .body = call->body,
                 .turn = tri_files_threads_turn(service->threads),
                 .reply = answer_inquiry,
                 .put_graph = put_inquired_graph},
        .service = service,
        .call = call,
    };
    bool is_known = service->exchange != NULL && service->exchange->answer != NULL;
    int error = is_known ? service->exchange->answer(&inquiry.told, explain) : TR_UNKNOWN_TYPE;
    if (error == TR_UNKNOWN_TYPE || error == TR_MALFORMED) {
        tri_service_refuse(&service->base, &call->caller, error);
    } else if (error != 0) {
        fail_with(service, call, error,
                  tr_text_of(explain[0] != '\0' ? explain : tr_error_text(error)));
    }
}

static int take_get(struct tri_files_service *service, const struct call *call)
{
    struct tr_document_get get;
    if (tr_document_get_unpack(call->body, call->version, &get) != 0) {
        return TR_MALFORMED;
    }
    tri_buffer_clear(&service->bytes);
    int error = tri_document_get(service->blobs, get.path, &service->bytes);
    /* A missing document is an answer, not a failure. */
    if (error == 0 || error == TR_NOT_FOUND) {
        struct tr_document document = {.is_found = error == 0};
        document.bytes =
            (struct tr_bytes){tri_buffer_front(&service->bytes), tri_buffer_size(&service->bytes)};
        reply(service, call, &tr_document_schema, &document);
    }
    return error == TR_NOT_FOUND ? 0 : error;
}

static int take_document(struct tri_files_service *service, const struct call *call)
{
    struct tr_document_put put;
    if (tr_document_put_unpack(call->body, call->version, &put) != 0) {
        return TR_MALFORMED;
    }
    int error = tri_document_put(service->blobs, put.path, put.bytes);
    if (error == 0) {
        struct tr_document document = {.is_found = true};
        reply(service, call, &tr_document_schema, &document);
    }
    return error;
}

static const struct {
    const struct tr_schema *schema;
    int (*take)(struct tri_files_service *service, const struct call *call);
    bool needs_exchange;
} call_kinds[] = {
    {&tr_blob_put_schema, take_put, false},          {&tr_blob_write_schema, take_write, false},
    {&tr_blob_read_schema, take_read, false},        {&tr_blob_digest_schema, take_digest, false},
    {&tr_blob_fetch_schema, take_fetch, false},      {&tr_document_get_schema, take_get, false},
    {&tr_document_put_schema, take_document, false}, {&tr_blob_make_schema, take_make, true},
    {&tr_values_read_schema, take_values, true},
};

static void take_call(struct tri_files_service *service, const struct tri_files_work *work)
{
    tri_blobs_set_turn(service->blobs, tri_files_threads_turn(service->threads));
    struct call call = {
        .caller = tri_service_caller(work->envelope),
        .envelope = {.data = work->envelope, .size = work->size},
        .body = tr_envelope_body(work->envelope),
        .version = tr_envelope_get(work->envelope, 8, version),
    };
    const uint8_t *envelope = work->envelope;
    for (size_t i = 0; i < TR_COUNT_OF(call_kinds); i++) {
        if (tr_envelope_get(envelope, 16, type) == call_kinds[i].schema->id) {
            bool is_missing = call_kinds[i].needs_exchange && service->exchange == NULL;
            int error = is_missing ? TR_MALFORMED : call_kinds[i].take(service, &call);
            if (error == TR_MALFORMED) {
                tri_service_refuse(&service->base, &call.caller, error);
            } else if (error != 0) {
                fail(service, &call, error);
            }
            return;
        }
    }
    take_inquiry(service, &call, tr_envelope_get(envelope, 16, type));
}

/* Begins queued downloads, executions round robin. */
static void begin_waiting(struct tri_files_service *service)
{
    struct tri_files_lane *lane;
    while (tri_fetches_has_room(service->fetches) &&
           (lane = tri_files_queue_next(&service->downloads)) != NULL) {
        struct tri_files_work *work = tri_files_queue_take(&service->downloads, lane);
        take_call(service, work);
        tr_free(work);
        tri_files_queue_return(&service->downloads, lane);
    }
}

/*
 * Answers all callers of an ended download, with its blob or its error, which makes room for
 * another.
 */
static void answer_fetch(struct tri_files_service *service, struct tri_fetch *fetch, int error,
                         const struct tri_blob *blob, const char *words)
{
    struct tri_fetch_owner *owner;
    while ((owner = tri_fetch_take_owner(fetch)) != NULL) {
        struct call call = {.caller = ((struct fetcher *)owner)->caller};
        if (error == 0) {
            reply_path(service, &call, blob);
        } else {
            fail_with(service, &call, error, tr_text_of(words));
        }
        tr_free(owner);
    }
    tri_fetch_free(fetch);
    begin_waiting(service);
}

/* ---- The queue. ------------------------------------------------------------------------------ */

/* Queues a call; refuses it without memory. */
static void add_call(struct tri_files_service *service, struct tri_files_queue *queue,
                     struct tr_bytes envelope)
{
    struct tri_caller caller = tri_service_caller(envelope.data);
    int error = tri_files_queue_add(queue, caller.ref.key.group, envelope, NULL);
    if (error != 0) {
        tri_service_refuse(&service->base, &caller, error);
    }
}

static void hear_frame(struct tri_files_service *service, struct tri_files_queue *queue,
                       const struct tri_frame *frame)
{
    struct tr_bytes bytes;
    bool is_stored;
    size_t size;
    size_t offset = 0;
    while (tri_frame_next(frame, &offset, &bytes, &is_stored)) {
        if (tr_envelope_check(bytes, &size) == 0) {
            add_call(service, queue, (struct tr_bytes){.data = bytes.data, .size = size});
        }
    }
}

/* Queues an ended download; without memory it fails. */
static void add_fetch(struct tri_files_service *service, struct tri_files_queue *queue,
                      struct tri_fetch *fetch)
{
    const struct fetcher *first = (const struct fetcher *)tri_fetch_owner(fetch);
    struct tr_bytes none = {.size = 0};
    int error = tri_files_queue_add(queue, first->caller.ref.key.group, none, fetch);
    if (error != 0) {
        answer_fetch(service, fetch, error, NULL, tr_error_text(error));
    }
}

static void hear(void *self, struct tri_files_queue *queue)
{
    struct tri_files_service *service = self;
    struct tri_fetch *fetch;
    struct tri_frame frame;
    /* Beyond this limit calls stay in the link, whose full pipe holds the workers back. */
    while (queue->bytes < TR_FILES_WAITING_BYTES_MAX &&
           tri_channel_receive(service->base.sender.link, &frame) == 0) {
        hear_frame(service, queue, &frame);
        tri_channel_release(service->base.sender.link, &frame);
    }
    while ((fetch = tri_fetches_next(service->fetches)) != NULL) {
        add_fetch(service, queue, fetch);
    }
    tri_sender_flush(&service->base.sender);
}

/* Makes the blob of an ended download. */
static void take_fetched(struct tri_files_service *service, struct tri_fetch *fetch)
{
    const struct tr_turn *turn = tri_files_threads_turn(service->threads);
    char words[TR_BLOB_WORDS_BYTES_MAX] = "";
    struct tri_blob blob;
    tri_blobs_set_turn(service->blobs, turn);
    int error = tri_fetch_finish(fetch, turn, &blob, words);
    answer_fetch(service, fetch, error, &blob, words);
}

/* ---- The threads. --------------------------------------------------------------------------- */

static int open_link(void *self)
{
    struct tri_service *base = &((struct tri_files_service *)self)->base;
    int error = base->env->ops->link_open(base->env, TRI_PLACE_FILES, &base->sender.link);
    if (error != 0) {
        tri_service_fail(base, error);
    }
    return error;
}

static void work(void *self, const struct tri_files_work *work)
{
    struct tri_files_service *service = self;
    if (work->fetch != NULL) {
        take_fetched(service, work->fetch);
    } else {
        take_call(service, work);
    }
    /* Answers are sent after each piece of work, because the next one may take long. */
    tri_sender_flush(&service->base.sender);
}

static void wait(void *self)
{
    struct tri_files_service *service = self;
    tri_channel_wait_also(service->base.sender.link, service->wake, WAIT_NS);
}

static int wait_on(const struct tri_files_service *service, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(service->wake, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : TR_SYSTEM;
}

static int start_hands(struct tri_files_service *service)
{
    const struct tri_files_threads_options options = {.env = service->base.env,
                                                      .self = service,
                                                      .is_stopping = &service->base.is_stopping,
                                                      .open = open_link,
                                                      .hear = hear,
                                                      .work = work,
                                                      .wait = wait};
    int error = tri_files_threads_start(&options, &service->threads);
    if (error == 0) {
        error = wait_on(service, tri_files_threads_fd(service->threads));
        if (error != 0) {
            atomic_store(&service->base.is_stopping, true);
            tri_files_threads_stop(service->threads);
        }
    }
    return error;
}

static void files_service_free(struct tri_files_service *service)
{
    tri_files_queue_fini(&service->downloads);
    tri_fetches_free(service->fetches);
    if (service->wake >= 0) {
        close(service->wake);
    }
    tri_blobs_close(service->blobs);
    tri_buffer_fini(&service->bytes);
    tri_service_fini(&service->base);
    tr_free(service);
}

int tri_files_service_start(const struct tri_files_service_options *options,
                            struct tri_files_service **out)
{
    struct tri_files_service *service = tr_alloc_zero(1, sizeof *service);
    if (service == NULL) {
        return TR_MEMORY;
    }
    tri_service_init(&service->base, options->env, options->worker_count, options->host_ref,
                     TR_SERVICE_FILES);
    service->base.fatal = options->fatal;
    service->folder = options->folder;
    service->exchange = options->exchange;
    service->program = options->program;
    service->put_graph = options->put_graph;
    service->host = options->host;
    service->wake = epoll_create1(EPOLL_CLOEXEC);
    int error = service->wake < 0 ? TR_SYSTEM : 0;
    if (error == 0) {
        error = tri_store_blobs_open(options->folder, &service->base.is_stopping, &service->blobs);
    }
    if (error == 0) {
        const struct tri_fetches_options fetches = {.blobs = service->blobs,
                                                    .stores = options->object_stores,
                                                    .store_count = options->object_store_count,
                                                    .secrets = options->secrets,
                                                    .secret_count = options->secret_count};
        error = tri_fetches_new(&fetches, &service->fetches);
    }
    if (error == 0) {
        error = wait_on(service, tri_fetches_fd(service->fetches));
    }
    if (error == 0) {
        error = start_hands(service);
    }
    if (error != 0) {
        int number = errno;
        files_service_free(service);
        errno = number;
        return error;
    }
    *out = service;
    return 0;
}

void tri_files_service_figures(const struct tri_files_service *service,
                               struct tr_service_figures *figures)
{
    figures->files_waiting = tri_files_threads_waiting(service->threads);
}

void tri_files_service_request_stop(struct tri_files_service *service)
{
    atomic_store(&service->base.is_stopping, true);
}

void tri_files_service_stop(struct tri_files_service *service)
{
    if (service != NULL) {
        atomic_store(&service->base.is_stopping, true);
        tri_files_threads_stop(service->threads);
        files_service_free(service);
    }
}
