/*
 * An object store that answers as a script says, whatever it is asked, and keeps what it was asked;
 * and the blobs that a test has there.
 */
#ifndef TR_TESTS_UNIT_RUNTIME_OBJECTS_OBJECT_SERVER_H
#define TR_TESTS_UNIT_RUNTIME_OBJECTS_OBJECT_SERVER_H

#include <pthread.h>

#include "runtime/objects/objects.h"

#define OBJECT_REQUESTS_MAX 16

/* The digits of the store that the test is. */
#define OBJECT_STORE_DIGITS "0123456789abcdef"

/* An answer; the connection is closed behind it. */
struct object_answer {
    const char *status;  /* such as "200 OK" */
    const char *headers; /* lines with their ends; NULL: none */
    const char *body;    /* NULL: none */
    size_t missing;      /* bytes that the answer has not, and should */
};

struct object_request {
    char line[400];   /* METHOD and what is asked for */
    char range[64];   /* the header; "": none */
    char *body;       /* of malloc; zero-terminated */
    size_t body_size; /* without the zero */
};

struct object_server {
    const struct object_answer *answers;
    size_t answer_count;
    bool may_lack_requests; /* not all answers need be asked for */
    pthread_mutex_t lock;   /* of the next three */
    struct object_request requests[OBJECT_REQUESTS_MAX];
    size_t request_count;
    size_t surplus_count; /* requests that there was no answer for */
    int listener;
    char endpoint[64];
    struct tr_object_store store;
    struct tri_blob_remote *remote;
    struct tri_blob_call call;
    atomic_bool is_stopping;
    pthread_t thread;
};

/* Starts it, and opens the place `uri` of it, without a secret. */
void object_server_start(struct object_server *server, const char *uri,
                         const struct object_answer *answers, size_t count);

/* A request that was answered. */
const struct object_request *object_server_request(struct object_server *server, size_t number);

/* Closes the place and stops; every answer must have been asked for, and no more. */
void object_server_stop(struct object_server *server);

#endif
