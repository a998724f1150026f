/*
 * Where uploads lie: STORE/uploads/PROJECT/DOMAIN/PREFIX/NAME, a file each, as tasks open it. What
 * comes is written beside, and has its name when it is whole, is what its URL says, and is on the
 * disk.
 */
#ifndef TR_DEPLOY_DATA_PROXY_UPLOAD_STORE_H
#define TR_DEPLOY_DATA_PROXY_UPLOAD_STORE_H

#include <limits.h>

#include "deploy/api/upload.h"
#include "deploy/common/work_queue.h"
#include "deploy/data_proxy/signed_url.h"
#include "schemas/runtime/process.h"

struct tri_upload;

struct tri_upload_store {
    struct tr_api_uploads uploads; /* what the API calls */
    char folder[PATH_MAX];         /* absolute, of uploads */
    uint8_t key[TR_SIGNED_KEY_BYTES];
    struct tr_work_queue writing;   /* of batches of bytes */
    struct tr_work_queue digesting; /* of the same ones */
    pthread_mutex_t placing;
};

/*
 * Opens the uploads of a store, whose key is drawn if it has none, and removes what was left
 * unfinished. TR_SYSTEM (errno), TR_MEMORY; to be closed in any case.
 */
TR_MUST_USE int tri_upload_store_open(struct tri_upload_store *store, const char *store_folder);

/* Ends the threads; what waits for it is refused. Then, when no call can come, the rest. */
void tri_upload_store_stop(struct tri_upload_store *store);
void tri_upload_store_close(struct tri_upload_store *store);

/* Whether a path is one of an upload. */
bool tri_upload_store_has(const struct tri_upload_store *store, const char *path);

#endif
