/*
 * Files of a store that clients may have by a signed URL: what they uploaded, what tasks left, and
 * decks. A thread reads them.
 */
#ifndef TR_DEPLOY_DATA_PROXY_DOWNLOAD_STORE_H
#define TR_DEPLOY_DATA_PROXY_DOWNLOAD_STORE_H

#include <limits.h>

#include "deploy/api/download.h"
#include "deploy/common/work_queue.h"
#include "deploy/data_proxy/signed_url.h"

struct tri_download;

struct tri_download_store {
    struct tr_api_downloads downloads; /* what the API calls */
    char folder[PATH_MAX];             /* of the store, absolute */
    const uint8_t *key;                /* of TR_SIGNED_KEY_BYTES */
    struct tr_work_queue queue;        /* of parts to read */
};

/*
 * Begins for a store whose URLs are signed with a key, which outlives it. TR_SYSTEM (errno); to be
 * closed in any case.
 */
TR_MUST_USE int tri_download_store_open(struct tri_download_store *store, const char *store_folder,
                                        const uint8_t key[TR_SIGNED_KEY_BYTES]);

/* Ends the thread; what waits for it is refused. Then, when no call can come, the rest. */
void tri_download_store_stop(struct tri_download_store *store);
void tri_download_store_close(struct tri_download_store *store);

/*
 * The name below a store's folder, as URLs have it, of a real path; false: it is in none of the
 * folders whose files clients may have.
 */
TR_MUST_USE bool tr_download_name(const char *store_folder, const char *path, char file[PATH_MAX]);

/*
 * The bytes that a header Range asks for of a file: is_part and is_outside of `part`, whose size is
 * set. One that asks for several, or is none, is as if it were not there. Pure.
 */
void tr_download_range(struct tr_text range, struct tr_api_download_part *part);

#endif
