/*
 * Reading archives with libarchive.
 *
 * An entry is judged by its header, before any of its bytes are unpacked: its kind, its name and
 * its size. A tar gives no more bytes than its headers say, so that what is kept in memory is one
 * entry, and the sum over all of them is bounded.
 */
#include "deploy/flyte/archive.h"

#include <string.h>
#include <sys/stat.h>

#include "deploy/flyte/archive_library.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"

/* An archive that is gone through. */
struct walk {
    const struct tr_libarchive *library;
    struct archive *archive;
    tr_archive_visit *visit;
    void *self;
    struct tr_report *report;
    uint64_t bytes;
    uint32_t files;
};

static int refuse(struct walk *walk, struct tr_text name, const char *words)
{
    tri_report_add(walk->report, (struct tri_place){0}, NULL, "the archive's entry '%.*s' %s",
                   TRI_SHOWN(name), words);
    return TR_INVALID;
}

/* What the library says is wrong with the archive as a whole. */
static int refuse_archive(struct walk *walk)
{
    const char *words = walk->library->error_string(walk->archive);
    tri_report_add(walk->report, (struct tri_place){0}, NULL,
                   "the archive cannot be read: %s\nmake it anew with `pyflyte package`",
                   words == NULL ? "it is damaged" : words);
    return TR_INVALID;
}

/* Whether a name leads out of the folder that it is put into: it is absolute, or has `..`. */
static bool leads_out(struct tr_text name)
{
    bool is_out = name.size > 0 && name.data[0] == '/';
    for (size_t begin = 0; !is_out && begin < name.size;) {
        const char *slash = memchr(name.data + begin, '/', name.size - begin);
        size_t end = slash == NULL ? name.size : (size_t)(slash - name.data);
        is_out = end - begin == 2 && memcmp(name.data + begin, "..", 2) == 0;
        begin = end + 1;
    }
    return is_out;
}

static const char *fault_of_name(struct tr_text name)
{
    if (name.size == 0 || name.size > TR_ARCHIVE_NAME_BYTES_MAX || !tr_utf8_valid(name)) {
        return "has no name that a file may have";
    }
    return leads_out(name) ? "leads out of the archive\nmake it anew with `pyflyte package`" : NULL;
}

/* What is wrong with an entry that is no folder, by its header; NULL: nothing. */
static const char *fault_of(const struct walk *walk, struct archive_entry *entry,
                            struct tr_text name)
{
    const struct tr_libarchive *library = walk->library;
    const char *fault = fault_of_name(name);
    int64_t size = library->entry_size(entry);
    if (fault != NULL) {
        return fault;
    }
    if (library->entry_filetype(entry) != AE_IFREG || library->entry_hardlink(entry) != NULL) {
        return "is a link or a device\nput the file itself into the archive";
    }
    if (size < 0 || (uint64_t)size > TR_ARCHIVE_UNPACKED_BYTES_MAX - walk->bytes) {
        return "makes it more than 1 GiB unpacked\npackage less";
    }
    return walk->files >= TR_ARCHIVE_FILES_MAX ? "is one of more than 100000\npackage less" : NULL;
}

/* Reads the bytes of an entry, as many as its header says. */
static int read_bytes(struct walk *walk, uint8_t *block, size_t size)
{
    size_t filled = 0;
    while (filled < size) {
        la_ssize_t count = walk->library->read_data(walk->archive, block + filled, size - filled);
        if (count <= 0) {
            return refuse_archive(walk);
        }
        filled += (size_t)count;
    }
    return 0;
}

static int visit_file(struct walk *walk, struct archive_entry *entry, struct tr_text name)
{
    size_t size = (size_t)walk->library->entry_size(entry);
    uint8_t *block = tr_alloc(size + 1);
    if (block == NULL) {
        return TR_MEMORY;
    }
    int error = read_bytes(walk, block, size);
    if (error == 0) {
        bool is_program = (walk->library->entry_perm(entry) & S_IXUSR) != 0;
        struct tr_bytes bytes = {.data = block, .size = size};
        error = walk->visit(walk->self, name, is_program, bytes);
    }
    walk->bytes += size;
    walk->files++;
    tr_free(block);
    return error;
}

static int visit_entry(struct walk *walk, struct archive_entry *entry)
{
    const char *path = walk->library->entry_pathname(entry);
    struct tr_text name = tr_text_of(path == NULL ? "" : path);
    while (name.size > 2 && memcmp(name.data, "./", 2) == 0) {
        name = (struct tr_text){.data = name.data + 2, .size = name.size - 2};
    }
    if (walk->library->entry_filetype(entry) == AE_IFDIR) {
        const char *fault = fault_of_name(name);
        return fault == NULL ? 0 : refuse(walk, name, fault);
    }
    const char *fault = fault_of(walk, entry, name);
    return fault == NULL ? visit_file(walk, entry, name) : refuse(walk, name, fault);
}

static int visit_all(struct walk *walk)
{
    for (;;) {
        struct archive_entry *entry;
        int result = walk->library->read_next_header(walk->archive, &entry);
        if (result == ARCHIVE_EOF) {
            return 0;
        }
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
            return refuse_archive(walk);
        }
        int error = visit_entry(walk, entry);
        if (error != 0) {
            return error;
        }
    }
}

static int walk_all(struct walk *walk, struct tr_bytes archive)
{
    const struct tr_libarchive *library = walk->library;
    if (library->read_support_filter_gzip(walk->archive) != ARCHIVE_OK ||
        library->read_support_format_tar(walk->archive) != ARCHIVE_OK) {
        return TR_MEMORY;
    }
    return library->read_open_memory(walk->archive, archive.data, archive.size) == ARCHIVE_OK
               ? visit_all(walk)
               : refuse_archive(walk);
}

int tr_archive_walk(struct tr_bytes archive, tr_archive_visit *visit, void *self,
                    struct tr_report *report)
{
    struct walk walk = {
        .library = tr_libarchive_load(), .visit = visit, .self = self, .report = report};
    if (walk.library == NULL) {
        tri_report_add(report, (struct tri_place){0}, NULL,
                       "the archive cannot be read: libarchive.so.13 is not there, or too old\n"
                       "install the package libarchive13");
        return TR_INVALID;
    }
    walk.archive = walk.library->read_new();
    if (walk.archive == NULL) {
        return TR_MEMORY;
    }
    int error = walk_all(&walk, archive);
    (void)walk.library->read_free(walk.archive);
    return error;
}
