/*
 * Reading the end of a small file that somebody else may be writing: what is no line yet, or no
 * regular file, says nothing.
 */
#include "deploy/follow/task_progress.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/common/show.h"
#include "deploy/history/shared_folder.h"
#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"
#include "schemas/runtime/process.h"

/* Opens the file; negative: there is none. A task could lead us anywhere by a link. */
static int open_file(const struct tr_attempt *row, struct stat *status)
{
    struct tri_shared shared = {.trusted_bytes = 0};
    bool is_shared = tr_shared_folder_of(row, &shared);
    if (!is_shared && tr_plugin_is_elsewhere(row->plugin)) {
        return -1;
    }
    int file = tr_attempt_file_open(row->folder, shared.trusted_bytes, TR_ATTEMPT_PROGRESS);
    if (file >= 0 && (fstat(file, status) != 0 || !S_ISREG(status->st_mode))) {
        close(file);
        return -1;
    }
    return file;
}

/* Cuts a text down to its last line that is not empty, from where a character begins. */
static struct tr_text last_line(struct tr_text text)
{
    while (text.size > 0 && strchr(" \t\r\n", text.data[text.size - 1]) != NULL) {
        text.size--;
    }
    const char *feed = text.size == 0 ? NULL : memrchr(text.data, '\n', text.size);
    size_t before = feed == NULL ? 0 : (size_t)(feed + 1 - text.data);
    while (before < text.size && ((uint8_t)text.data[before] & 0xc0U) == 0x80U) {
        before++;
    }
    return (struct tr_text){.data = text.data + before, .size = text.size - before};
}

/* How many percent a line says that it has come to, whole ones; -1: it begins with none. */
static int percent_of(struct tr_text line)
{
    size_t i = 0;
    int percent = 0;
    while (i < line.size && i < 3 && line.data[i] >= '0' && line.data[i] <= '9') {
        percent = 10 * percent + (line.data[i++] - '0');
    }
    bool has_digits = i > 0;
    if (i < line.size && (line.data[i] == '.' || line.data[i] == ',')) {
        for (i++; i < line.size && line.data[i] >= '0' && line.data[i] <= '9'; i++) {
        }
    }
    i += i < line.size && line.data[i] == ' ' ? 1 : 0;
    bool is_fine = has_digits && percent <= 100 && i < line.size && line.data[i] == '%';
    return is_fine ? percent : -1;
}

bool tr_task_progress_read(const struct tr_attempt *row, struct tr_task_progress *progress)
{
    char end[TR_TASK_PROGRESS_BYTES_MAX];
    struct stat status;
    int file = open_file(row, &status);
    if (file < 0) {
        return false;
    }
    off_t begin = status.st_size > (off_t)sizeof end ? status.st_size - (off_t)sizeof end : 0;
    ssize_t got = pread(file, end, sizeof end, begin);
    close(file);
    struct tr_text line = last_line((struct tr_text){end, got < 0 ? 0 : (size_t)got});
    if (line.size == 0 || !tr_utf8_valid(line)) {
        return false;
    }
    memcpy(progress->line, line.data, line.size);
    progress->size = line.size;
    progress->percent = percent_of(line);
    progress->at_ms =
        (uint64_t)status.st_mtim.tv_sec * 1000 + (uint64_t)status.st_mtim.tv_nsec / 1000000;
    return true;
}

/* What an attempt's row leads to. */
struct finding {
    struct tr_task_progress *progress;
    bool is_found;
};

static int take_attempt(void *self, const void *row)
{
    struct finding *finding = self;
    finding->is_found = tr_task_progress_read(row, finding->progress);
    return TR_CLOSED; /* the key has one row at most */
}

bool tr_task_progress_find(struct tr_reader *reader, const struct tr_attempt *key,
                           struct tr_task_progress *progress)
{
    struct finding finding = {.progress = progress};
    const struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, key->execution),
        tr_filter_text("path", TR_FILTER_EQUAL, key->path),
        tr_filter_number("element", TR_FILTER_EQUAL, key->element),
        tr_filter_number("attempt", TR_FILTER_EQUAL, key->attempt),
    };
    const struct tr_reader_query query = {
        .record = &tr_attempt_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    /* What cannot be read now has said nothing yet: nothing ends because of it. */
    (void)!tr_reader_rows(reader, &query, take_attempt, &finding);
    return finding.is_found;
}

void tr_task_progress_print(const struct tr_task_progress *progress, uint64_t now_ms,
                            struct tr_buffer *buffer)
{
    tr_buffer_add(buffer, progress->line, progress->size);
    tr_buffer_add_string(buffer, ", ");
    tr_age_print(now_ms < progress->at_ms ? 0 : now_ms - progress->at_ms, buffer);
    tr_buffer_add_string(buffer, " ago");
}

void tr_task_progress_write(const struct tr_task_progress *progress, struct tr_document *document)
{
    if (progress == NULL) {
        tr_document_null(document, "progress");
        return;
    }
    tr_document_begin_map(document, "progress");
    tr_document_text(document, "text",
                     (struct tr_text){.data = progress->line, .size = progress->size});
    if (progress->percent < 0) {
        tr_document_null(document, "percent");
    } else {
        tr_document_number(document, "percent", progress->percent);
    }
    tr_document_time(document, "at", progress->at_ms);
    tr_document_end(document);
}
