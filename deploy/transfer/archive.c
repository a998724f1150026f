/*
 * Archives: entries behind eight bytes. The order of entries, and the count at the end, say whether
 * it is whole; each entry's checksum, whether it is what was written.
 */
#include "deploy/transfer/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

static int part_of(const char *path, char part[PATH_MAX])
{
    int size = snprintf(part, PATH_MAX, "%s" TR_ARCHIVE_PART, path);
    return size < 0 || size >= PATH_MAX ? TR_LIMIT : 0;
}

/* --------------------------------------------------------------------------- writing */

static void fail(struct tr_archive_writer *writer, int error)
{
    if (writer->error == 0) {
        writer->error = error;
        writer->number = errno;
    }
}

static void write_bytes(struct tr_archive_writer *writer, const void *data, size_t size)
{
    struct tr_bytes bytes = {.data = data, .size = size};
    if (writer->error != 0) {
        return;
    }
    int error = tri_below_write_all(writer->descriptor, bytes);
    if (error != 0) {
        fail(writer, error);
    }
}

int tr_archive_create(const char *path, struct tr_archive_writer *writer)
{
    static const uint8_t unsealed[TR_ARCHIVE_MAGIC_BYTES];
    char part[PATH_MAX];
    int error = part_of(path, part);
    if (error != 0) {
        return error;
    }
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return TR_SYSTEM;
    }
    *writer = (struct tr_archive_writer){.descriptor = fd};
    write_bytes(writer, unsealed, sizeof unsealed);
    return 0;
}

void tr_archive_add(struct tr_archive_writer *writer, const struct tr_schema *schema,
                    const void *value)
{
    uint8_t *entry;
    size_t size;
    if (writer->error != 0) {
        return;
    }
    int error = tr_recording_entry_make(schema, value, &entry, &size);
    if (error != 0) {
        fail(writer, error);
        return;
    }
    write_bytes(writer, entry, size);
    tr_free(entry);
    writer->end.ops += schema == &tr_archive_op_schema ? 1 : 0;
    writer->end.files += schema == &tr_archive_file_schema ? 1 : 0;
    writer->end.bytes += size;
}

int tr_archive_finish(struct tr_archive_writer *writer)
{
    struct tr_archive_end end = writer->end;
    tr_archive_add(writer, &tr_archive_end_schema, &end);
    if (writer->error == 0 && fsync(writer->descriptor) != 0) {
        fail(writer, TR_SYSTEM);
    }
    close(writer->descriptor);
    writer->descriptor = -1;
    errno = writer->number;
    return writer->error;
}

void tr_archive_abandon(struct tr_archive_writer *writer, const char *path)
{
    char part[PATH_MAX];
    if (writer->descriptor >= 0) {
        close(writer->descriptor);
        writer->descriptor = -1;
    }
    if (part_of(path, part) == 0) {
        (void)unlink(part);
    }
}

static int sync_folder_of(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1,
             slash == NULL ? "." : path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = fd < 0 || fsync(fd) != 0 ? TR_SYSTEM : 0;
    if (fd >= 0) {
        close(fd);
    }
    return error;
}

/* Writes the eight bytes that say what a file is. */
static int write_magic(const char *path, const char *magic)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return errno == ENOENT ? TR_NOT_FOUND : TR_SYSTEM;
    }
    bool is_written =
        pwrite(fd, magic, TR_ARCHIVE_MAGIC_BYTES, 0) == TR_ARCHIVE_MAGIC_BYTES && fsync(fd) == 0;
    int number = errno;
    close(fd);
    errno = number;
    return is_written ? 0 : TR_SYSTEM;
}

int tr_archive_seal(const char *path)
{
    char part[PATH_MAX];
    int error = part_of(path, part);
    if (error == 0) {
        error = write_magic(part, TR_ARCHIVE_MAGIC);
    }
    if (error == TR_NOT_FOUND) {
        return access(path, F_OK) == 0 ? TR_EXISTS : TR_SYSTEM;
    }
    if (error != 0) {
        return error;
    }
    if (rename(part, path) != 0) {
        return TR_SYSTEM;
    }
    return sync_folder_of(path);
}

int tr_archive_spend(const char *path)
{
    int error = write_magic(path, TR_ARCHIVE_SPENT);
    return error == TR_NOT_FOUND ? TR_SYSTEM : error;
}

/* --------------------------------------------------------------------------- reading */

/* Where the reading of a file stands. */
struct reading {
    const struct tr_archive_visitor *visitor;
    char *problem;
    struct tr_archive_end found;
    bool has_head;
    bool has_end;
    size_t at;
};

static int refuse(const struct reading *reading, int error, const char *words)
{
    snprintf(reading->problem, TR_ARCHIVE_PROBLEM_BYTES, "%s (at byte %zu)", words, reading->at);
    return error;
}

/* The body of an entry; what cannot be read says why. */
static int unpack(const struct reading *reading, const struct tr_schema *schema,
                  const struct tr_recording_entry *entry, void *value)
{
    int error = schema->unpack(entry->body, entry->version, value);
    if (error == TR_VERSION) {
        return refuse(reading, error, "it is of a newer program; import it with that one");
    }
    return error == 0 ? 0 : refuse(reading, TR_MALFORMED, "it is damaged");
}

static int read_head(struct reading *reading, const struct tr_recording_entry *entry)
{
    struct tr_archive_head head;
    int error = unpack(reading, &tr_archive_head_schema, entry, &head);
    reading->has_head = true;
    return error != 0 || reading->visitor->head == NULL
               ? error
               : reading->visitor->head(reading->visitor->self, &head);
}

static int read_op(struct reading *reading, const struct tr_recording_entry *entry)
{
    struct tr_archive_op op;
    int error = unpack(reading, &tr_archive_op_schema, entry, &op);
    reading->found.ops++;
    return error != 0 || reading->visitor->op == NULL
               ? error
               : reading->visitor->op(reading->visitor->self, &op);
}

static int read_file(struct reading *reading, const struct tr_recording_entry *entry)
{
    struct tr_archive_file file;
    int error = unpack(reading, &tr_archive_file_schema, entry, &file);
    reading->found.files++;
    return error != 0 || reading->visitor->file == NULL
               ? error
               : reading->visitor->file(reading->visitor->self, &file);
}

static int read_end(struct reading *reading, const struct tr_recording_entry *entry)
{
    struct tr_archive_end end;
    int error = unpack(reading, &tr_archive_end_schema, entry, &end);
    reading->has_end = true;
    if (error == 0 && (end.ops != reading->found.ops || end.files != reading->found.files ||
                       end.bytes != entry->at - TR_ARCHIVE_MAGIC_BYTES)) {
        return refuse(reading, TR_MALFORMED, "something is missing in it");
    }
    return error;
}

static int read_entry(struct reading *reading, const struct tr_recording_entry *entry)
{
    static const struct {
        const struct tr_schema *schema;
        int (*read)(struct reading *reading, const struct tr_recording_entry *entry);
    } kinds[] = {{&tr_archive_head_schema, read_head},
                 {&tr_archive_op_schema, read_op},
                 {&tr_archive_file_schema, read_file},
                 {&tr_archive_end_schema, read_end}};
    bool is_head = entry->type == tr_archive_head_schema.id;
    bool is_late = entry->type == tr_archive_op_schema.id && reading->found.files > 0;
    reading->at = entry->at;
    if (reading->has_end || is_head == reading->has_head || is_late) {
        return refuse(reading, TR_MALFORMED, "what stands there belongs elsewhere");
    }
    for (size_t i = 0; i < TR_COUNT_OF(kinds); i++) {
        if (kinds[i].schema->id == entry->type) {
            return kinds[i].read(reading, entry);
        }
    }
    return refuse(reading, TR_VERSION,
                  "it holds what this program does not know; import it with a newer one");
}

static int check_magic(const struct reading *reading, struct tr_bytes bytes)
{
    static const uint8_t unsealed[TR_ARCHIVE_MAGIC_BYTES];
    if (bytes.size < TR_ARCHIVE_MAGIC_BYTES) {
        return refuse(reading, TR_MALFORMED, "it is no export of an execution");
    }
    if (memcmp(bytes.data, unsealed, sizeof unsealed) == 0) {
        return refuse(reading, TR_BUSY,
                      "the export was not finished; say it again where it was begun");
    }
    if (memcmp(bytes.data, TR_ARCHIVE_SPENT, TR_ARCHIVE_MAGIC_BYTES) == 0) {
        return refuse(reading, TR_BUSY,
                      "it was imported already, and goes on there; export it there to move it on");
    }
    return memcmp(bytes.data, TR_ARCHIVE_MAGIC, TR_ARCHIVE_MAGIC_BYTES) == 0
               ? 0
               : refuse(reading, TR_MALFORMED, "it is no export of an execution");
}

int tr_archive_read(struct tr_bytes bytes, const struct tr_archive_visitor *visitor, char *problem)
{
    struct reading reading = {.visitor = visitor, .problem = problem};
    struct tr_recording_reader reader = {.bytes = bytes, .at = TR_ARCHIVE_MAGIC_BYTES};
    int error = check_magic(&reading, bytes);
    while (error == 0) {
        struct tr_recording_entry entry;
        int end = tr_recording_next(&reader, &entry);
        if (end == TR_NOT_FOUND) {
            return reading.has_end ? 0 : refuse(&reading, TR_TRUNCATED, "it is cut off");
        }
        reading.at = reader.at;
        if (end != 0) {
            return refuse(&reading, end, end == TR_TRUNCATED ? "it is cut off" : "it is damaged");
        }
        error = read_entry(&reading, &entry);
    }
    return error;
}
