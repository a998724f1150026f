/*
 * All limits of the blobs in an object store.
 */
#ifndef TR_RUNTIME_OBJECTS_OBJECTS_LIMITS_H
#define TR_RUNTIME_OBJECTS_OBJECTS_LIMITS_H

/*
 * An object above this size is sent in parts of this size, of which object stores take 10,000.
 * Twice as much memory is taken for each object that is being sent.
 */
#define TR_OBJECT_PART_BYTES (8U << 20)
#define TR_OBJECT_PARTS_MAX 10000

/* Bytes of one object. */
#define TR_OBJECT_BYTES_MAX ((uint64_t)TR_OBJECT_PART_BYTES * TR_OBJECT_PARTS_MAX)

/*
 * A request that failed for the moment is made again so often; the wait before it doubles, up to a
 * maximum, which also bounds what the server asks for. Whoever called may call again later.
 */
#define TR_OBJECT_TRIES_MAX 6
#define TR_OBJECT_WAIT_MS 100
#define TR_OBJECT_WAIT_MS_MAX 5000

/* A request fails after this time without a byte of its answer. */
#define TR_OBJECT_IDLE_MS 120000

/* Bytes of an answer that is no object: a page of a list has a thousand of them. */
#define TR_OBJECT_ANSWER_BYTES_MAX (16U << 20)

/* Bytes of the validator (ETag) of a part, and of the number of an upload. */
#define TR_OBJECT_TAG_BYTES_MAX 200
#define TR_OBJECT_UPLOAD_BYTES_MAX 1024

#endif
