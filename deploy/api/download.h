/*
 * What clients download: GET /downloads/... of HTTP, whose body goes as it is read. Who has it, and
 * who signs the URLs, is not this room's matter.
 */
#ifndef TR_DEPLOY_API_DOWNLOAD_H
#define TR_DEPLOY_API_DOWNLOAD_H

#include <limits.h>

#include "actors/graph/document/buffer.h"
#include "deploy/api/call.h"

/* Where downloads are, at the same port as everything else. */
#define TR_API_DOWNLOAD_PATH "/downloads/"

/*
 * What a page that a task has written may do: its own scripts run, in an origin of its own, and
 * nothing is loaded or sent anywhere.
 */
#define TR_API_PAGE_POLICY                                                                       \
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob: " \
    "data:; style-src 'unsafe-inline' data:; img-src data: blob:; font-src data:; media-src "    \
    "data: blob:; worker-src blob: data:; base-uri 'none'; form-action 'none'; "                 \
    "frame-ancestors 'self'"

/* What is asked for. */
struct tr_api_download {
    struct tr_text path;  /* behind TR_API_DOWNLOAD_PATH, as it came */
    struct tr_text file;  /* the same without escapes */
    struct tr_text query; /* as it came */
    struct tr_text range; /* the header; empty: all of it */
};

/* A URL that somebody wants: of a file below the store, until a time. */
struct tr_api_download_url {
    struct tr_text authority;
    bool is_secure;
    struct tr_text file;
    uint64_t expires_s; /* since 1970 */
};

/* Who has the files. All but `sign` is called on the door's thread, which may not wait. */
struct tr_api_downloads {
    void *self;
    /* TR_API_OK: the call has its state; else it is refused, with `words` (TR_API_WORDS_BYTES). */
    enum tr_api_code (*begin)(void *self, struct tr_api_call *call,
                              const struct tr_api_download *asked, char *words);
    /* There is room again, after tr_api_download_write had said TR_BUSY. */
    void (*room)(struct tr_api_call *call);
    /* The call is over: the time to free its state. */
    void (*gone)(struct tr_api_call *call);
    /*
     * The name below the store, as URLs have it, of the file at a path, wherever links lead; it may
     * wait for the disk. TR_NOT_FOUND, TR_DENIED, TR_NO_FILE (it is a folder), TR_OUTSIDE: nobody
     * may have it.
     */
    int (*find)(void *self, const char *path, char file[PATH_MAX]);
    /* Appends a whole URL, from any thread; errors stay in the buffer. */
    void (*sign)(void *self, const struct tr_api_download_url *wanted, struct tr_buffer *url);
};

/* What is given: the bytes from `first` to before `end` of a file of `size`. */
struct tr_api_download_part {
    uint64_t size;
    uint64_t first;
    uint64_t end;
    bool is_part;     /* a range was asked for */
    bool is_outside;  /* and the file has no such bytes */
    const char *name; /* of the file, for what its type is */
};

/* Begins the response. False: nobody wants the bytes, so that it is over. */
TR_MUST_USE bool tr_api_download_begin(struct tr_api_call *call,
                                       const struct tr_api_download_part *part);

/* Gives more of it. TR_BUSY: wait for `room`; TR_CLOSED: nobody gets it. */
TR_MUST_USE int tr_api_download_write(struct tr_api_call *call, struct tr_bytes bytes);
void tr_api_download_end(struct tr_api_call *call);

/* What was announced cannot be given: the client sees that something is missing. */
void tr_api_download_break(struct tr_api_call *call);

#endif
