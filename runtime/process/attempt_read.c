/*
 * The end of an attempt: reads its documents, removes the files of secrets and empty outputs, and
 * later the whole folder.
 *
 * Nothing in the folder is trusted. Only regular files are read, never through a link, never a pipe
 * or device (O_NONBLOCK, then fstat), and at most as many bytes as requested. All documents share
 * one message, so each may use the bytes that the previous ones left.
 *
 * If a document cannot be read because of a shortage (memory, descriptors), the call fails and
 * removes nothing; the keeper keeps the end, and the documents are read again when the run is
 * requested again. An I/O error (EIO) does not make a document missing either: the process did not
 * cause it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/process/attempt_inside.h"
#include "runtime/process/environment.h"

/* Documents that are being packed into one message. */
struct reading {
    int folder; /* -1: there is none */
    struct tri_buffer *packed;
    size_t left; /* bytes that the message has room for */
    char *reason;
};

/*
 * Whether an open failed because of the process: a missing file, a link, a socket, or a file
 * without permission for its owner.
 */
static bool is_absent(int error)
{
    return error == TR_NOT_FOUND ||
           (error == TR_SYSTEM &&
            (errno == EACCES || errno == EPERM || errno == ENXIO || errno == ENAMETOOLONG));
}

/* Describes a failed system call. */
static int explain(const struct reading *reading, struct tr_text name)
{
    snprintf(reading->reason, TR_REASON_BYTES_MAX, "%.*s cannot be read: %s",
             (int)(name.size < 256 ? name.size : 256), name.data, strerror(errno));
    return TR_SYSTEM;
}

static int put_nil(struct reading *reading)
{
    uint8_t nil;
    struct tr_writer writer = tr_writer_of(&nil, sizeof nil);
    tr_write_nil(&writer);
    return tri_buffer_append(reading->packed, &nil, sizeof nil);
}

static int put_size(struct reading *reading, uint64_t size)
{
    uint8_t number[TR_SCALAR_BYTES_MAX];
    struct tr_writer writer = tr_writer_of(number, sizeof number);
    tr_write_u64(&writer, size);
    return tri_buffer_append(reading->packed, number, tr_writer_size(&writer));
}

/* Reads `size` bytes, or up to the end of the file. False with errno on an error. */
static bool read_bytes(int fd, uint8_t *bytes, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        ssize_t found = read(fd, bytes + *got, size - *got);
        if (found < 0 && errno == EINTR) {
            continue;
        }
        if (found <= 0) {
            return found == 0;
        }
        *got += (size_t)found;
    }
    return true;
}

/*
 * Packs the next `size` bytes of the file, or those up to its end. The packed form begins with the
 * size, which is known only after reading, so the content is read behind its place and moved.
 */
static int put_content(struct reading *reading, int fd, size_t size)
{
    size_t got;
    int error = tri_buffer_reserve(reading->packed, TR_BLOB_HEADER_BYTES_MAX + 2 * size + 1);
    if (error != 0) {
        return error;
    }
    /* The content is read behind the place where it is packed. */
    uint8_t *at = reading->packed->data + reading->packed->end;
    uint8_t *content = at + TR_BLOB_HEADER_BYTES_MAX + size;
    if (!read_bytes(fd, content, size, &got)) {
        return TR_SYSTEM;
    }
    struct tr_writer writer = tr_writer_of(at, TR_BLOB_HEADER_BYTES_MAX + size);
    tr_write_bytes(&writer, (struct tr_bytes){.data = content, .size = got});
    reading->packed->end += tr_writer_size(&writer);
    reading->left -= got;
    return writer.error;
}

/*
 * Packs one document: nil, bytes or a size. A descendant may still write to the file; all decisions
 * use the size of one fstat.
 */
static int put_document(struct reading *reading, const struct tr_process_result *result)
{
    int fd;
    struct stat status;
    int error = reading->folder < 0 ? TR_NOT_FOUND
                                    : tri_below_open(reading->folder, result->name,
                                                     O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd);
    if (error != 0) {
        return is_absent(error) ? put_nil(reading) : error;
    }
    uint64_t tail_size = result->size_max < reading->left ? result->size_max : reading->left;
    if (fstat(fd, &status) != 0) {
        error = TR_SYSTEM;
    } else if (!S_ISREG(status.st_mode)) {
        error = put_nil(reading);
    } else if (result->is_tail && (uint64_t)status.st_size > tail_size) {
        error = lseek(fd, status.st_size - (off_t)tail_size, SEEK_SET) < 0
                    ? TR_SYSTEM
                    : put_content(reading, fd, tail_size);
    } else if ((uint64_t)status.st_size > result->size_max ||
               (uint64_t)status.st_size > reading->left) {
        error = put_size(reading, (uint64_t)status.st_size);
    } else {
        error = put_content(reading, fd, (size_t)status.st_size);
    }
    int number = errno;
    close(fd);
    errno = number;
    return error;
}

/* ------------------------------------------------------------------ several files as one */

/* Files whose contents become one document, one behind the other. */
struct joining {
    const struct tr_process_result *result;
    struct tri_buffer content;
    uint64_t size; /* of all of them; content that is too large is not read */
    bool is_there;
};

/* Adds one file; what is no regular file, or gone meanwhile, is none. */
static int join_file(const struct reading *reading, struct joining *joining, int folder,
                     const char *name)
{
    struct stat status;
    size_t got = 0;
    int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return is_absent(TR_SYSTEM) || errno == ENOENT || errno == ELOOP ? 0 : TR_SYSTEM;
    }
    int error = fstat(fd, &status) != 0 ? TR_SYSTEM : 0;
    if (error == 0 && S_ISREG(status.st_mode)) {
        size_t size = (size_t)status.st_size;
        joining->is_there = true;
        joining->size += size;
        bool is_read = joining->size <= joining->result->size_max && joining->size <= reading->left;
        error = is_read ? tri_buffer_reserve(&joining->content, size) : 0;
        if (is_read && error == 0) {
            uint8_t *at = joining->content.data + joining->content.end;
            error = read_bytes(fd, at, size, &got) ? 0 : TR_SYSTEM;
            joining->content.end += got;
        }
    }
    int number = errno;
    close(fd);
    errno = number;
    return error;
}

/* Adds all files of a folder that suit a pattern. */
static int join_files(const struct reading *reading, struct joining *joining,
                      const struct tri_below_place *place)
{
    int fd = openat(place->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        int number = errno;
        if (fd >= 0) {
            close(fd);
        }
        errno = number;
        return TR_SYSTEM;
    }
    int error = 0;
    const struct dirent *entry;
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        if (fnmatch(place->last, entry->d_name, FNM_PERIOD) == 0) {
            error = join_file(reading, joining, fd, entry->d_name);
        }
    }
    int number = errno;
    closedir(folder);
    errno = number;
    return error;
}

/* Packs what was joined: nil, bytes or a size. */
static int put_joined(struct reading *reading, const struct joining *joining)
{
    struct tri_buffer *packed = reading->packed;
    struct tr_bytes content = {.data = joining->content.data, .size = joining->content.end};
    if (!joining->is_there) {
        return put_nil(reading);
    }
    if (joining->size > joining->result->size_max || joining->size > reading->left) {
        return put_size(reading, joining->size);
    }
    int error = tri_buffer_reserve(packed, TR_BLOB_HEADER_BYTES_MAX + content.size);
    if (error != 0) {
        return error;
    }
    struct tr_writer writer =
        tr_writer_of(packed->data + packed->end, TR_BLOB_HEADER_BYTES_MAX + content.size);
    tr_write_bytes(&writer, content);
    packed->end += tr_writer_size(&writer);
    reading->left -= content.size;
    return writer.error;
}

static int put_matching(struct reading *reading, const struct tr_process_result *result)
{
    struct joining joining = {.result = result};
    struct tri_below_place place;
    int error = reading->folder < 0 ? TR_NOT_FOUND
                                    : tri_below_find(reading->folder, result->name, 0, &place);
    if (error != 0) {
        return is_absent(error) ? put_nil(reading) : error;
    }
    error = join_files(reading, &joining, &place);
    if (error == 0) {
        error = put_joined(reading, &joining);
    }
    int number = errno;
    tri_buffer_fini(&joining.content);
    tri_below_place_close(&place);
    errno = number;
    return error;
}

static int put_documents(struct reading *reading, struct tr_bytes results)
{
    uint8_t head[TR_BLOB_HEADER_BYTES_MAX];
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(results, &cursor);
    struct tr_writer writer = tr_writer_of(head, sizeof head);
    tr_write_array(&writer, count);
    int error = tri_buffer_append(reading->packed, head, tr_writer_size(&writer));
    for (uint32_t i = 0; i < count && error == 0; i++) {
        struct tr_process_result result = tr_process_result_next(&cursor);
        bool is_pattern = memchr(result.name.data, '*', result.name.size) != NULL;
        error = is_pattern ? put_matching(reading, &result) : put_document(reading, &result);
        error = error == TR_SYSTEM ? explain(reading, result.name) : error;
    }
    return error;
}

/* Removes an empty output. */
static void remove_empty(int folder, struct tr_text name)
{
    struct tri_below_place place;
    struct stat status;
    if (name.size == 0 || tri_below_find(folder, name, 0, &place) != 0) {
        return;
    }
    bool is_empty = fstatat(place.folder, place.last, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISREG(status.st_mode) && status.st_size == 0;
    if (is_empty) {
        (void)unlinkat(place.folder, place.last, 0); /* an empty file that stays does no harm */
    }
    tri_below_place_close(&place);
}

/* Removes files that are not needed after the documents are read. */
static void remove_rest(const struct tri_attempt *attempt, int folder)
{
    remove_empty(folder, attempt->outputs[0]);
    remove_empty(folder, attempt->outputs[1]);
    if (attempt->has_secrets) {
        (void)!tri_below_remove(folder, tr_text_of(TRI_SECRETS_FOLDER));
    }
}

/*
 * Reads first and removes afterwards, and only files that are not read again: a second call must
 * find the same. A missing folder gives absent documents, not an error: the process may have
 * removed it.
 */
int tri_attempt_read(struct tri_attempt_folders *folders, const struct tri_attempt *attempt,
                     struct tri_buffer *documents, char *reason)
{
    struct reading reading = {.folder = -1, /* absent */
                              .packed = documents,
                              .left = TR_ATTEMPT_DOCUMENTS_BYTES_MAX,
                              .reason = reason};
    reason[0] = '\0';
    int error = tri_attempt_open(folders, attempt, &reading.folder);
    if (error != 0 && !is_absent(error)) {
        return error == TR_SYSTEM ? explain(&reading, attempt->folder) : error;
    }
    error = put_documents(&reading, attempt->results);
    if (reading.folder >= 0 && (error == 0 || error == TR_SYSTEM)) {
        remove_rest(attempt, reading.folder);
    }
    if (reading.folder >= 0) {
        close(reading.folder);
    }
    return error;
}

void tri_attempt_discard(struct tri_attempt_folders *folders, const struct tri_attempt *attempt)
{
    /* A folder that stays is removed when the key is requested again. */
    (void)!tri_below_remove(folders->store, attempt->folder);
}

int tri_attempt_folder_remove(struct tri_attempt_folders *folders, struct tr_text path,
                              char *reason)
{
    struct tr_text below;
    reason[0] = '\0';
    if (tri_attempt_below(folders, path, &below) != 0) {
        snprintf(reason, TR_REASON_BYTES_MAX, "%.*s does not lie below the store's folder",
                 (int)(path.size < 256 ? path.size : 256), path.data);
        return TR_INVALID;
    }
    errno = 0;
    int error = tri_below_remove(folders->store, below);
    if (error == 0 || error == TR_NOT_FOUND) {
        return 0;
    }
    snprintf(reason, TR_REASON_BYTES_MAX, "%.*s: %s", (int)(path.size < 256 ? path.size : 256),
             path.data, errno != 0 ? strerror(errno) : tr_error_text(error));
    return error;
}
