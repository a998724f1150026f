/*
 * The limits of uploads and downloads.
 */
#ifndef TR_DEPLOY_DATA_PROXY_DATA_PROXY_LIMITS_H
#define TR_DEPLOY_DATA_PROXY_DATA_PROXY_LIMITS_H

/*
 * Batches of an upload, one of which is filled while the others are written and digested, and the
 * bytes of one: when all are full the client waits.
 */
#define TR_UPLOAD_BATCHES 5
#define TR_UPLOAD_BATCH_BYTES (256U << 10)

/* As many new bytes of an upload are given to the disk at once, while more comes. */
#define TR_UPLOAD_WRITEBACK_BYTES (8U << 20)

/* Bytes of a download that are read at once. */
#define TR_DOWNLOAD_PIECE_BYTES_MAX (256U << 10)

#endif
