/*
 * Files around the exchange of documents. Blobs in large inputs get their paths, which programs can
 * open; those of small ones have them already (actors/task/task_files.c). A task's own file is
 * copied before it is mapped, without a name, because somebody may still change it. Files that its
 * outputs name are kept where their list is large.
 */
#include "deploy/inquiries/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/values/exchange.h"
#include "actors/values/path.h"
#include "deploy/common/file.h"
#include "deploy/inputs/offload.h"
#include "deploy/inputs/relocate.h"
#include "deploy/inquiries/inquiries.h"
#include "deploy/inquiries/task_file.h"
#include "runtime/memory.h"
#include "runtime/store_blobs.h"
#include "schemas/runtime/files.h"

_Static_assert(TR_EXCHANGE_EXPLAIN_BYTES >= TR_EXCHANGE_WORDS_BYTES, "words fit");
_Static_assert(TR_EXCHANGE_EXPLAIN_BYTES >= TR_OFFLOAD_EXPLAIN_BYTES, "words fit");

/* ------------------------------------------------------------------ inputs */

/* A document on its way into a file. */
struct target {
    const char *folder; /* of the store */
    int descriptor;
    const struct tr_turn *turn;
    uint64_t size;
    char *explain;
    struct tr_buffer located; /* of the value in hand, if it names blobs */
};

static int put(void *self, struct tr_text text)
{
    struct target *target = self;
    target->size += text.size;
    if (target->size > TR_VALUES_BYTES_MAX) {
        snprintf(target->explain, TR_EXCHANGE_EXPLAIN_BYTES,
                 "the inputs are larger than TR_VALUES_BYTES_MAX (%llu bytes) as JSON; hand large "
                 "data on as a file",
                 TR_VALUES_BYTES_MAX);
        return TR_LIMIT;
    }
    while (text.size > 0) {
        ssize_t count = write(target->descriptor, text.data, text.size);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return tr_task_file_explain(target->explain, "the inputs cannot be written");
        }
        text.data += count;
        text.size -= (size_t)count;
    }
    return tr_turn_take(target->turn);
}

static int open_blob(void *self, const struct tr_offloaded *where, struct tr_bytes *literal)
{
    struct target *target = self;
    struct tr_bytes mapped;
    int error = tr_offloaded_map(target->folder, where, target->turn, &mapped, target->explain);
    if (error != 0 || !tr_relocate_has_any(mapped)) {
        *literal = mapped;
        return error;
    }
    tr_buffer_cut(&target->located, 0);
    char words[TR_BLOB_WORDS_BYTES_MAX] = "";
    const struct tr_relocation paths = {
        .to = tr_text_of(target->folder), .turn = target->turn, .words = words};
    error = tr_relocate_slots(&paths, mapped, &target->located);
    if (words[0] != '\0') {
        snprintf(target->explain, TR_EXCHANGE_EXPLAIN_BYTES, "a file of the inputs: %s", words);
    }
    tr_file_unmap(mapped);
    *literal = tr_buffer_bytes(&target->located);
    return error;
}

static void close_blob(void *self, struct tr_bytes literal)
{
    const struct target *target = self;
    if (literal.data != target->located.data) {
        tr_file_unmap(literal);
    }
}

static int write_inputs(const struct tr_exchange_writing *writing, char *explain)
{
    struct target target = {.folder = writing->store_folder,
                            .descriptor = writing->descriptor,
                            .turn = writing->turn,
                            .explain = explain};
    const struct tr_exchange_writer writer = {
        .open = open_blob, .close = close_blob, .put = put, .self = &target};
    tr_buffer_init(&target.located, 0);
    int error = tr_exchange_write(writing->plan, &writer);
    tr_buffer_fini(&target.located);
    return error;
}

/* ----------------------------------------------------------------- outputs */

/* Files of the task on their way into the blobs. */
struct keeping {
    const char *folder;
    const struct tr_fence *fence;
    const struct tr_turn *turn;
    struct tr_text attempt;  /* "EXECUTION/NAME" */
    struct tri_blobs *blobs; /* NULL until the first path */
    struct tr_exchange_problem *problem;
    char *explain;
};

/* A file that is not there, or may not be had, is the task's fault; a disk that fails is not. */
static int fail_path(struct keeping *keeping, struct tr_text uri, int error, const char *words)
{
    const char *code = tri_path_failure(error);
    if (code != NULL) {
        keeping->problem->code = code;
        snprintf(keeping->problem->words, sizeof keeping->problem->words, "names '%.*s': %s",
                 (int)uri.size, uri.data, words);
        return TR_INVALID;
    }
    snprintf(keeping->explain, TR_EXCHANGE_EXPLAIN_BYTES, "the output '%.*s' cannot be kept: %s",
             (int)uri.size, uri.data, words);
    return error;
}

static int open_blobs(struct keeping *keeping)
{
    if (keeping->blobs != NULL) {
        return 0;
    }
    int error = tri_store_blobs_open_beside(keeping->folder, &keeping->blobs);
    if (error == 0) {
        tri_blobs_set_turn(keeping->blobs, keeping->turn);
    }
    return error;
}

/* Keeps a file of this machine, and gives where it is kept; other places stay. */
static int keep_path(void *self, const struct tr_type *type, struct tr_blob blob,
                     struct tr_buffer *buffer)
{
    struct keeping *keeping = self;
    const struct tri_path path = {.uri = blob.uri, .type = type};
    struct tri_blob kept;
    if (!tri_path_is_kept(&path, keeping->attempt)) {
        tr_write_blob(buffer, blob);
        return buffer->error;
    }
    int error = open_blobs(keeping);
    if (error != 0) {
        return fail_path(keeping, blob.uri, error, tr_error_text(error));
    }
    const struct tri_blob_put put = {
        .path = tri_path_local(blob.uri), .kind = tri_path_kind(type), .fence = keeping->fence};
    error = tri_blob_put(keeping->blobs, &put, &kept);
    if (tri_path_may_stay(&path, error)) {
        tr_write_blob(buffer, blob);
        return buffer->error;
    }
    if (error != 0) {
        return fail_path(keeping, blob.uri, error, tri_blobs_words(keeping->blobs));
    }
    tr_write_blob(buffer, (struct tr_blob){.uri = tr_text_of(kept.uri), .format = blob.format});
    return buffer->error;
}

/* A value that no message carries goes into the blobs as it is. */
static int put_value(void *self, struct tr_bytes value, struct tr_buffer *slots)
{
    struct keeping *keeping = self;
    return tr_offload_literal(keeping->folder, value, false, slots, keeping->explain);
}

/* The file of a literal that a document keeps outside of itself. */
static int open_literal(void *self, struct tr_text uri, struct tr_bytes *literal)
{
    struct keeping *keeping = self;
    if (!tri_path_is_local(uri)) {
        return fail_path(keeping, uri, TR_INVALID, "it lies elsewhere; keep it on this machine");
    }
    int error = tr_task_file_map(tri_path_local(uri), keeping->fence, keeping->folder, literal,
                                 keeping->explain);
    bool is_users =
        error == TR_SYSTEM || error == TR_INVALID || error == TR_LIMIT || error == TR_NOT_FOUND;
    return is_users || error == TR_OUTSIDE
               ? fail_path(keeping, uri, is_users ? TR_INVALID : error, keeping->explain)
               : error;
}

static int take_turn(void *self)
{
    return tr_turn_take(((struct keeping *)self)->turn);
}

static void close_literal(void *self, struct tr_bytes literal)
{
    (void)self;
    tr_file_unmap(literal);
}

/* The attempt that a document is of: it lies in the attempt's folder, EXECUTION/NAME. */
static struct tr_text attempt_of(struct tr_text path)
{
    const char *last = path.size == 0 ? NULL : memrchr(path.data, '/', path.size);
    const char *before = last;
    for (int i = 0; i < 2 && before != NULL; i++) {
        before = memrchr(path.data, '/', (size_t)(before - path.data));
    }
    return before == NULL
               ? tr_text_of("")
               : (struct tr_text){.data = before + 1, .size = (size_t)(last - before) - 1};
}

/* Reads the document, and keeps the files of large lists of them. */
static int read_document(const struct tr_exchange_reading *reading, struct tr_bytes document,
                         struct tr_buffer *slots, bool *is_decision,
                         struct tr_exchange_problem *problem, char *explain)
{
    struct keeping keeping = {.folder = reading->store_folder,
                              .fence = reading->fence,
                              .turn = reading->turn,
                              .attempt = attempt_of(reading->path),
                              .problem = problem,
                              .explain = explain};
    const struct tr_exchange_keeper keeper = {.keep = keep_path,
                                              .put = put_value,
                                              .open = open_literal,
                                              .close = close_literal,
                                              .turn = take_turn,
                                              .self = &keeping};
    int error = tr_exchange_read(reading->plan, document, &keeper, slots, is_decision, problem);
    tri_blobs_close(keeping.blobs);
    return error;
}

/* Puts the document of a graph into the blob store: the task's own, or what it was turned into. */
static int offload_decision(const char *folder, struct tr_bytes document, struct tr_buffer *slots,
                            char *explain)
{
    struct tr_buffer turned = *slots;
    tr_buffer_init(slots, TR_VALUES_BYTES_MAX);
    struct tr_bytes decision = turned.size > 0 ? tr_buffer_bytes(&turned) : document;
    int error = tr_offload_document(folder, decision, slots, explain);
    tr_buffer_fini(&turned);
    return error;
}

/* Reads the document and puts what is large into the blob store: one that decides a graph whole. */
static int take_outputs(const struct tr_exchange_reading *reading, struct tr_bytes document,
                        struct tr_buffer *slots, char *code, char *explain)
{
    struct tr_exchange_problem problem;
    const char *folder = reading->store_folder;
    bool is_decision = false;
    int error = read_document(reading, document, slots, &is_decision, &problem, explain);
    if (error == TR_INVALID) {
        snprintf(code, TR_EXCHANGE_CODE_BYTES, "%s", problem.code);
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES, "%s", problem.words);
        tr_buffer_cut(slots, 0);
        return 0;
    }
    if (error == 0 && is_decision) {
        return offload_decision(folder, document, slots, explain);
    }
    if (error == 0) {
        error = tr_offload_slots(folder, slots, explain);
    }
    if (error == TR_LIMIT) {
        snprintf(code, TR_EXCHANGE_CODE_BYTES, "OutputSizeExceeded");
        tr_buffer_cut(slots, 0);
        return 0;
    }
    return error;
}

static int read_outputs(const struct tr_exchange_reading *reading, struct tr_bytes *out, char *code,
                        char *explain)
{
    struct tr_bytes bytes = {.size = 0};
    struct tr_buffer slots;
    int error =
        tr_task_file_map(reading->path, reading->fence, reading->store_folder, &bytes, explain);
    if (error != 0) {
        return error;
    }
    tr_buffer_init(&slots, TR_VALUES_BYTES_MAX);
    error = take_outputs(reading, bytes, &slots, code, explain);
    tr_file_unmap(bytes);
    if (error != 0) {
        tr_buffer_fini(&slots);
        return error;
    }
    *out = tr_buffer_bytes(&slots); /* the caller's from now on */
    return 0;
}

const struct tr_exchange tr_live_exchange = {
    .write = write_inputs, .read = read_outputs, .answer = tr_inquiry_take};
