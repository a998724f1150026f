/*
 * What the files of this room share on the door's thread: visits, which are exchanges with their
 * requests, and feeds, which are documents that visits stay with.
 */
#ifndef TR_DEPLOY_WEB_WEB_INSIDE_H
#define TR_DEPLOY_WEB_WEB_INSIDE_H

#include <stdatomic.h>

#include "deploy/data_proxy/signed_url.h"
#include "deploy/web/job.h"

#define TRI_WEB_PARTS 4

struct tr_web_follower;

/* An exchange. */
struct tri_web_visit {
    struct tr_web *web;
    struct tr_door_exchange *exchange;
    const struct tr_api_client *client; /* NULL: nobody has said who it is */
    struct tr_api_client outside;       /* who, by a provider's token; its texts are the job's */
    struct tr_web_job *job; /* whose request is coming, or whose file waits; NULL: handed on */

    struct tr_web_follower *follower; /* a stream that goes on with something; NULL: none */

    /* Of a stream of documents. */
    struct tr_web_feed *feed; /* NULL: it is none */
    struct tri_web_visit *next;
    struct tri_web_visit **link;
    char known_tag[TR_WEB_TAG_BYTES]; /* what it has */
    size_t had_bytes;                 /* of the feed's batch, what it has got already */
    uint64_t had_count;
    uint64_t missed; /* documents that it had no room for since it was told */
    bool is_behind;
};

/* A document that somebody watches; all who watch the same share it. */
struct tr_web_feed {
    struct tr_web *web;
    struct tr_web_feed *next;
    struct tri_web_visit *visits;
    char *path; /* as it came, as the query */
    char *query;
    const struct tr_web_route *route;
    bool is_running;  /* a job looks at it now */
    bool is_changed;  /* it is to be looked at again */
    uint64_t next_ms; /* not looked at before */
    uint64_t send_ms; /* nothing is sent before */
    uint64_t sent_us; /* what its thread had worked when something was sent; 0: nothing was */
    uint64_t looked_ms;
    uint64_t told_ms;
    char tag[TR_WEB_TAG_BYTES]; /* of `event`; "" before the first */
    struct tr_buffer event;     /* the newest, as it is sent */
    struct tr_buffer batch;     /* events that wait to be sent together */
    uint64_t batch_count;
};

struct tr_web {
    struct tr_web_options options;
    struct tr_oidc *_Atomic oidc; /* NULL: there is no provider of tokens, or not yet */
    struct tr_door_part parts[TRI_WEB_PARTS];
    struct tr_work_queue looking;
    struct tr_work_queue acting;
    size_t looking_count; /* that wait or are worked at; the door's thread */
    size_t acting_count;
    struct tr_door *door;             /* once something came through it */
    uint8_t key[TR_SIGNED_KEY_BYTES]; /* of URLs of files */

    pthread_mutex_t mutex; /* of what follows */
    struct tr_work_list done;
    bool is_posted;
    struct tr_web_follower *followers;

    /* Streams: the door's thread. */
    struct tr_web_feed *feeds;
    size_t stream_count;
    size_t follower_count;

    /* The thread that waits for changes of the store. */
    pthread_t watcher;
    bool has_watcher;
    int wake; /* an eventfd; -1: there is no thread */
    int changes;
    atomic_bool is_stopping;
    atomic_uint rest_ms; /* how long it may rest; UINT32_MAX: until somebody watches */
};

/* The door's thread: hands a job to a queue; what has no room is refused, which frees it. */
void tri_web_hand(struct tr_web *web, struct tr_web_job *job);

/* Whether a client knows the answer with this tag, in either form. */
bool tri_web_is_tag(struct tr_text known, const char *tag);

/* Answers an exchange with what a job has come to. */
void tri_web_answer(struct tr_door_exchange *exchange, struct tr_web_job *job);

/* Whether a request wants events; then it stays with a feed, which has its job freed. */
TR_MUST_USE bool tri_web_stream_begin(struct tri_web_visit *visit);

/* A job of a feed is done; it is freed by the caller. */
void tri_web_stream_take(struct tr_web_feed *feed, struct tr_web_job *job);

/* There is room again; the time of a stream is over; its client has gone. */
void tri_web_stream_room(struct tri_web_visit *visit);
void tri_web_stream_end(struct tri_web_visit *visit);
void tri_web_stream_leave(struct tri_web_visit *visit);

/* Whether the client takes events; begins the response of a stream. */
bool tri_web_wants_events(const struct tri_web_visit *visit);
void tri_web_stream_begin_response(struct tri_web_visit *visit);

/* follow.c: the same of streams that go on with something; a time without events has passed. */
TR_MUST_USE bool tri_web_follow_begin(struct tri_web_visit *visit);
void tri_web_follow_room(struct tri_web_visit *visit);
void tri_web_follow_beat(struct tri_web_visit *visit);
void tri_web_follow_leave(struct tri_web_visit *visit);
void tri_web_follow_stop(struct tr_web *web);
void tri_web_follow_free(struct tr_web *web);

/*
 * file.c: whether a request is for a file, whose job comes back with each piece of it, until it is
 * freed; there is room again.
 */
TR_MUST_USE bool tri_web_file_begin(struct tri_web_visit *visit);
void tri_web_file_take(struct tr_web_job *job);
void tri_web_file_room(struct tri_web_visit *visit);
void tri_web_file_free(struct tr_web_file *file);

/* What a command's console links files by (tr_console); `self` is the job. Any thread. */
int tri_web_link(void *self, struct tr_console_file *file);

/* Ends the thread; and frees what is left, when the door is closed. */
void tri_web_streams_stop(struct tr_web *web);
void tri_web_streams_free(struct tr_web *web);

#endif
