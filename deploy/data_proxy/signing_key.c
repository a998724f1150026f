/*
 * A few random bytes in a file that only its owner may read.
 */
#include "deploy/data_proxy/signing_key.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "deploy/common/file.h"
#include "runtime/env/env.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

int tr_signing_key_draw(uint8_t key[TR_SIGNED_KEY_BYTES])
{
    struct tr_env *env;
    int error = tri_env_real_new(&env);
    for (size_t i = 0; error == 0 && i < TR_SIGNED_KEY_BYTES; i += sizeof(uint64_t)) {
        uint64_t bits = tri_entropy(env);
        memcpy(key + i, &bits, sizeof bits);
    }
    if (error == 0) {
        tri_env_real_free(env);
    }
    return error;
}

int tr_signing_key_read(const char *store_folder, uint8_t key[TR_SIGNED_KEY_BYTES])
{
    char path[PATH_MAX];
    char *data = NULL;
    size_t size = 0;
    (void)snprintf(path, sizeof path, "%s/" TR_STORE_SIGNING_KEY, store_folder);
    int error = tr_file_read(path, TR_SIGNED_KEY_BYTES, &data, &size);
    bool is_there = error == 0 && size == TR_SIGNED_KEY_BYTES;
    if (is_there) {
        memcpy(key, data, size);
    }
    if (error == 0) {
        tr_free(data);
    }
    if (is_there || (error != 0 && error != TR_NOT_FOUND && error != TR_LIMIT)) {
        return error;
    }
    error = tr_signing_key_draw(key);
    struct tr_bytes bytes = {.data = key, .size = TR_SIGNED_KEY_BYTES};
    return error != 0 ? error : tr_file_write(path, bytes, true);
}
