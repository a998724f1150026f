/*
 * All limits of downloads. TR_BLOB_FETCH_BYTES_MAX of runtime/blob/blob_limits.h limits one file or
 * folder.
 */
#ifndef TR_RUNTIME_FETCH_FETCH_LIMITS_H
#define TR_RUNTIME_FETCH_FETCH_LIMITS_H

/* Downloads at once; others are queued, executions round robin. */
#define TR_FETCHES_AT_ONCE 64

/* Objects of one folder requested at once. */
#define TR_FETCH_OBJECTS_AT_ONCE 8

/* Objects of one folder, and bytes of their names and tags. */
#define TR_FETCH_OBJECTS_MAX 100000
#define TR_FETCH_NAMES_BYTES_MAX (64U << 20)

/* Bytes of a page of a list; servers put a thousand objects into one. */
#define TR_FETCH_PAGE_BYTES_MAX (16U << 20)

/* A download fails after this time without a byte. */
#define TR_FETCH_IDLE_MS 60000

/* Redirects that a request without a secret follows. */
#define TR_FETCH_REDIRECTS_MAX 10

/* Bytes of a validator (ETag, Last-Modified); a longer one counts as none. */
#define TR_FETCH_TAG_BYTES_MAX 100

/* Interval of renewing the parts of a running download, so that no sweep removes them. */
#define TR_FETCH_RENEW_MS 60000

#endif
