/*
 * Shared by the files of this room: objects.c is the table of operations, objects_upload.c sends,
 * objects_request.c makes requests. No other file includes this.
 */
#ifndef TR_RUNTIME_OBJECTS_OBJECTS_INSIDE_H
#define TR_RUNTIME_OBJECTS_OBJECTS_INSIDE_H

#include "runtime/env/buffer.h"
#include "runtime/fetch/fetch_location.h"
#include "runtime/http/http.h"
#include "runtime/objects/objects.h"
#include "runtime/objects/objects_limits.h"

/* Bytes of a key: S3 takes 1024. */
#define TRI_OBJECTS_KEY_BYTES 1100

struct tri_objects {
    struct tri_blob_remote base; /* stays first */
    struct tri_objects_options options;
    struct tri_fetch_location location; /* its key is the prefix, without a slash at the end */
    struct tri_http *http;              /* NULL until the first request */
};

/* A request, with the remote and the call it is for. */
struct tri_objects_request {
    struct tri_objects *objects;
    struct tri_blob_call *call;
    const char *method;
    struct tr_text key; /* of the object; empty: of the bucket */
    const char *query;  /* encoded, sorted; NULL: none */
    struct tr_bytes body;
    int descriptor; /* gets the body of a success; -1: the answer has it */
};

struct tri_objects_answer {
    uint32_t status;
    struct tri_buffer body; /* the caller's, from all zero on */
    char tag[TR_OBJECT_TAG_BYTES_MAX + 1];
    bool was_repeated; /* an earlier try may have been carried out */
};

/* ---- objects_request.c ----------------------------------------------------------------------- */

/*
 * Makes a request, and again what fails for the moment. An answer that is no success is an error
 * with words, but for `fine_status` (0: none). The answer is set in any case.
 */
TR_MUST_USE int tri_objects_ask(const struct tri_objects_request *request, uint32_t fine_status,
                                struct tri_objects_answer *answer);

/* Fails a call for an answer that makes no sense: TR_MALFORMED, with words. */
TR_MUST_USE int tri_objects_fail_malformed(const struct tri_objects_request *request,
                                           const char *what);

/* ---- objects.c ------------------------------------------------------------------------------- */

/* The key of an object by its name; "" is that of the prefix itself. */
struct tr_text tri_objects_key(const struct tri_objects *objects, const char *name,
                               char key[TRI_OBJECTS_KEY_BYTES]);

/* ---- objects_upload.c: operations of the table. ---------------------------------------------- */

TR_MUST_USE int tri_objects_begin(struct tri_blob_remote *remote, struct tri_blob_call *call,
                                  const char *name, struct tri_blob_upload **upload);
TR_MUST_USE int tri_objects_add(struct tri_blob_upload *upload, struct tr_bytes bytes);
TR_MUST_USE int tri_objects_end(struct tri_blob_upload *upload, bool is_whole);

/* Drops uploads below the prefix that began before a time. */
TR_MUST_USE int tri_objects_drop_uploads(struct tri_objects *objects, struct tri_blob_call *call,
                                         uint64_t before_ms);

#endif
