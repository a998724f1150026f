/*
 * Inside http.h: signatures for object stores and other services of AWS's kind (Signature Version
 * 4). Pure. Only the files of the http thread and the tests include this.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_SIGN_H
#define TR_RUNTIME_HTTP_HTTP_SIGN_H

#include "runtime/env/buffer.h"
#include "runtime/http/http_limits.h"
#include "runtime/http/http_types.h"

/* Bytes of a SHA-256 in hexadecimal, with its closing zero. */
#define TRI_HTTP_DIGEST_BYTES 65

void tri_http_digest(struct tr_bytes bytes, char digest[TRI_HTTP_DIGEST_BYTES]);

/* The parts of a URL that are signed. The path begins with a slash; the query may be empty. */
struct tri_http_target {
    struct tr_text host; /* as in the header Host */
    struct tr_text path;
    struct tr_text query;
};

/*
 * Appends the zero-terminated header lines that sign a request to `lines`: its date, its body's
 * digest and the signature. `key` is ACCESS:SECRET or ACCESS:SECRET:TOKEN. Signed are the host, the
 * content type and all headers x-amz-. TR_INVALID (the key), TR_LIMIT, TR_MEMORY.
 */
TR_MUST_USE int tri_http_sign(const struct tri_http_request *request,
                              const struct tri_http_target *target, const char *digest,
                              struct tr_text key, uint64_t now_ms, struct tri_buffer *lines);

#endif
