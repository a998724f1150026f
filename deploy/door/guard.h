/*
 * What no handler gets to see: requests that mean something else to somebody in between, that come
 * from a foreign page in a browser, or whose path leads elsewhere. Pure.
 */
#ifndef TR_DEPLOY_DOOR_GUARD_H
#define TR_DEPLOY_DOOR_GUARD_H

#include "deploy/door/door.h"

/* Why a request is refused, and with which status; 0: it is not. Words are constant. */
struct tri_refusal {
    int status;
    const char *words;
};

/* Looks at a whole head; `takes_any_host`: what is asked for is known otherwise, as behind TLS. */
struct tri_refusal tri_guard_request(const struct tr_door_request *request, bool takes_any_host);

/* Whether a path is as tr_door_request promises. */
bool tri_guard_path(struct tr_text path);

/*
 * How long a body is, by the headers of HTTP/1.1. False: they say it twice or in a form of their
 * own, so that two readers could find two ends. `has_length`: a number of bytes is said.
 */
bool tri_guard_length(const struct tr_door_request *request, bool *has_length, uint64_t *length);

/* The first header of a name in lower case; `data` NULL: there is none. */
struct tr_text tri_guard_header(const struct tr_door_request *request, const char *name);

#endif
