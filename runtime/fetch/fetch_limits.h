/*
 * Every limit of downloads, once and by name. What one file or folder may have is
 * TR_BLOB_FETCH_BYTES_MAX of runtime/blob/blob_limits.h.
 */
#ifndef TR_RUNTIME_FETCH_FETCH_LIMITS_H
#define TR_RUNTIME_FETCH_FETCH_LIMITS_H

/* Downloads under way at once; others wait, executions in turn. */
#define TR_FETCHES_AT_ONCE 64

/* Objects of one folder on their way at once. */
#define TR_FETCH_OBJECTS_AT_ONCE 8

/* Objects of one folder, and bytes of their names and tags. */
#define TR_FETCH_OBJECTS_MAX 100000
#define TR_FETCH_NAMES_BYTES_MAX (64U << 20)

/* A page of a list; servers put a thousand objects into one. */
#define TR_FETCH_PAGE_BYTES_MAX (16U << 20)

/* Without a byte of an answer for so long, a download has failed. */
#define TR_FETCH_IDLE_MS 60000

/* Redirects that a request without a secret follows. */
#define TR_FETCH_REDIRECTS_MAX 10

/* A validator (ETag, Last-Modified) that is kept; what is longer counts as none. */
#define TR_FETCH_TAG_BYTES_MAX 100

/* How often what is being downloaded is marked as in use, so that no sweep takes it for left. */
#define TR_FETCH_RENEW_MS 60000

#endif
