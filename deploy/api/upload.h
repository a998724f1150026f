/*
 * What clients upload: PUT /uploads/... of HTTP, whose body is taken as it comes. Who takes it is
 * not this room's matter.
 */
#ifndef TR_DEPLOY_API_UPLOAD_H
#define TR_DEPLOY_API_UPLOAD_H

#include "deploy/api/call.h"

/* Where uploads go, at the same port as everything else. */
#define TR_API_UPLOAD_PATH "/uploads/"

/* The largest upload. */
#define TR_API_UPLOAD_BYTES_MAX (64ULL << 30)

/* Who takes uploads. All is called on the door's thread, which may not be kept waiting. */
struct tr_api_uploads {
    void *self;
    /*
     * Begins one: `path` is what stands behind TR_API_UPLOAD_PATH, both are still escaped, `md5` is
     * the header Content-MD5, or empty. TR_API_OK: the call has its state; else the call is refused
     * by it, with `words` (TR_API_WORDS_BYTES).
     */
    enum tr_api_code (*begin)(void *self, struct tr_api_call *call, struct tr_text path,
                              struct tr_text query, struct tr_text md5, char *words);
    /* A piece of the body, and its end; then, or earlier, it is done or the call fails. */
    void (*take)(struct tr_api_call *call, struct tr_bytes piece);
    void (*end)(struct tr_api_call *call);
    /* The call is over: the time to free its state. */
    void (*gone)(struct tr_api_call *call);
};

/* Says that all of it is kept. */
void tr_api_upload_done(struct tr_api_call *call);

/* Holds the body: after that at most TR_DOOR_WINDOW_BYTES more of it come, until it may go on. */
void tr_api_upload_hold(struct tr_api_call *call, bool is_held);

#endif
