/*
 * The names and texts of errors, read from the one table in error.h.
 */
#include "schemas/codec/error.h"

#include <stddef.h>

#include "schemas/codec/base.h"

struct error_words {
    const char *name;
    const char *text;
};

/* clang-format off */
static const struct error_words words[] = {
    [0] = {"ok", "success"},
#define TRI_ERROR_WORDS(name, number, text) [number] = {#name, text},
    TR_ERRORS(TRI_ERROR_WORDS)
#undef TRI_ERROR_WORDS
};
/* clang-format on */

static const struct error_words *find(int error)
{
    static const struct error_words unknown = {"UNKNOWN", "an error without a name"};
    if (error > 0 || error <= -(int)TR_COUNT_OF(words) || words[-error].name == NULL) {
        return &unknown;
    }
    return &words[-error];
}

const char *tr_error_name(int error)
{
    return find(error)->name;
}

const char *tr_error_text(int error)
{
    return find(error)->text;
}

bool tr_error_is_shortage(int error)
{
    return error == TR_MEMORY || error == TR_BUSY || error == TR_STORE_FULL;
}
