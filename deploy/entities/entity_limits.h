/*
 * The limits of registering, listing and uploading.
 */
#ifndef TR_DEPLOY_ENTITIES_ENTITY_LIMITS_H
#define TR_DEPLOY_ENTITIES_ENTITY_LIMITS_H

/* Requests that wait for a thread; further ones are refused. */
#define TR_REGISTRAR_JOBS_MAX 8192

/* How long a snapshot of the store is held while there are requests, and after the last one. */
#define TR_REGISTRAR_HOLD_MS 1000
#define TR_REGISTRAR_IDLE_MS 100

/* Entities that were kept and are in no snapshot yet; then there is a new one. */
#define TR_REGISTRAR_SHELF_MAX 512

/* Bytes of each part of an id. */
#define TR_ENTITY_ID_BYTES_MAX 1024

/* How many a page of a list has at most, and if its request does not say. */
#define TR_LIST_LIMIT_MAX 10000
#define TR_LIST_LIMIT 100

/* Bytes of the rows of one page: a client takes 20 MB in a message. */
#define TR_LIST_BYTES_MAX (12U << 20)

/* Values in one condition. */
#define TR_LIST_VALUES_MAX 256

/* Projects that are listed. */
#define TR_PROJECTS_MAX 10000

/* How long a URL for an upload is good at most, and if its request does not say. */
#define TR_UPLOAD_EXPIRY_S_MAX 3600

/* Bytes of one part of an upload's path. */
#define TR_UPLOAD_PART_BYTES_MAX 200

/* How long it is remembered that the store has unpacked some code. */
#define TR_CODE_KNOWN_MS 10000

#endif
