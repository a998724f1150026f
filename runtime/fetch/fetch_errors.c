/*
 * Maps answers to errors, with words that name the answer, the credentials and a remedy. The words
 * do not contain a URL, since it may hold a signature, except that of an object.
 */
#include <stdio.h>

#include "runtime/fetch/fetch_inside.h"
#include "runtime/fetch/fetch_list.h"
#include "schemas/codec/error.h"

#define WHERE_BYTES 400

/* ---- Statuses. ------------------------------------------------------------------------------ */

static const char *remedy_of(const struct tri_fetch *fetch, uint32_t status, int error)
{
    bool is_object = fetch->location.bucket.size > 0;
    if (error == TR_NO_CONNECTION) {
        return "";
    }
    if (error == TR_NOT_FOUND) {
        return is_object ? "; name an existing object" : "; name an existing file";
    }
    if (status == 401 || status == 403) {
        return is_object
                   ? "; grant permission to read it, or set another secret under object_stores "
                     "(a missing object is refused, too, without permission to list the bucket)"
                   : "; set a secret that may read it under object_stores of the settings";
    }
    return "; check its endpoint, region and secret under object_stores of the settings";
}

/* " to GET URL" for an object, else "". */
static const char *where(const struct tri_fetch_request *request, char words[WHERE_BYTES])
{
    bool is_object = request->fetch->location.bucket.size > 0;
    snprintf(words, WHERE_BYTES, "%s%s", is_object ? " to GET " : "",
             is_object ? (const char *)tri_buffer_front(&request->url) : "");
    return words;
}

int tri_fetch_fail_status(const struct tri_fetch_request *request,
                          const struct tri_http_event *event)
{
    struct tri_fetch *fetch = request->fetch;
    char credentials[TRI_FETCH_SIGNER_BYTES];
    char target[WHERE_BYTES];
    int error = tri_fetch_status_error(event->status);
    struct tr_text code = tri_fetch_error_code(event->body);
    return tri_fetch_fail(fetch, error, "the server answers with status %u%s%.*s%s, %s%s",
                          event->status, code.size > 0 ? " " : "", (int)code.size, code.data,
                          where(request, target),
                          tri_fetch_location_signer(&fetch->location, credentials),
                          remedy_of(fetch, event->status, error));
}

/* ---- Faults. -------------------------------------------------------------------------------- */

int tri_fetch_fail_fault(const struct tri_fetch_request *request,
                         const struct tri_http_event *event)
{
    char target[WHERE_BYTES];
    const char *what = event->status == 0 ? "no answer" : "the answer was cut off";
    return tri_fetch_fail(request->fetch, tri_http_fault_error(event->fault), "%s%s: %s", what,
                          where(request, target), event->words);
}
