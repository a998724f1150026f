/*
 * libarchive, loaded when the first archive is read. It brings libraries of XML and of all the
 * world's scripts with it, which take longer to load than the rest of most commands.
 *
 * Only for archive.c. Each function that it uses is a row of the list.
 */
#ifndef TR_DEPLOY_FLYTE_ARCHIVE_LIBRARY_H
#define TR_DEPLOY_FLYTE_ARCHIVE_LIBRARY_H

#include <archive.h>
#include <archive_entry.h>

#include "schemas/codec/base.h"

#define TR_LIBARCHIVE_FUNCTIONS(F) \
    F(entry_filetype)              \
    F(entry_hardlink)              \
    F(entry_pathname)              \
    F(entry_perm)                  \
    F(entry_size)                  \
    F(error_string)                \
    F(read_data)                   \
    F(read_free)                   \
    F(read_new)                    \
    F(read_next_header)            \
    F(read_open_memory)            \
    F(read_support_filter_gzip)    \
    F(read_support_format_tar)

/* archive_NAME of the library, as member NAME. */
struct tr_libarchive {
#define TR_LIBARCHIVE_MEMBER(name) __typeof__ (&archive_##name)(name);
    TR_LIBARCHIVE_FUNCTIONS(TR_LIBARCHIVE_MEMBER)
#undef TR_LIBARCHIVE_MEMBER
};

/*
 * The library's functions; loaded at the first call and kept until the process ends. Any thread.
 * NULL: not installed.
 */
const struct tr_libarchive *tr_libarchive_load(void);

#endif
