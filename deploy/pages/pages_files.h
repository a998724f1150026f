/*
 * The files of the pages, as bundle.mjs writes them when Troupe is built.
 */
#ifndef TR_DEPLOY_PAGES_PAGES_FILES_H
#define TR_DEPLOY_PAGES_PAGES_FILES_H

#include "schemas/codec/base.h"

struct tri_pages_file {
    const char *path; /* with its first slash */
    const char *type;
    const char *tag;      /* the etag, of what is packed here */
    const uint8_t *bytes; /* compressed by gzip */
    size_t size;
};

extern const struct tri_pages_file tri_pages_files[];
extern const size_t tri_pages_file_count; /* 0: they were left out */

#endif
