/*
 * The limits of uploads and downloads.
 */
#ifndef TR_DEPLOY_DATA_PROXY_DATA_PROXY_LIMITS_H
#define TR_DEPLOY_DATA_PROXY_DATA_PROXY_LIMITS_H

/* Bytes of an upload that wait for the disk; then the client waits. */
#define TR_UPLOAD_PENDING_BYTES_MAX (512U << 10)

/* Bytes of a download that are read at once. */
#define TR_DOWNLOAD_PIECE_BYTES_MAX (256U << 10)

#endif
