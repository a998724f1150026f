/*
 * Reading the end of a small file that somebody else may be writing: what is no line yet, or no
 * regular file, says nothing.
 */
#include "deploy/look/task_progress.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/history/shared_folder.h"
#include "schemas/codec/utf8.h"
#include "schemas/runtime/process.h"

/* Opens the file; negative: there is none. A task could lead us anywhere by a link. */
static int open_file(const struct tr_attempt *row, struct stat *status)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%.*s/" TR_ATTEMPT_PROGRESS, (int)row->folder.size,
                        row->folder.data);
    if (row->folder.size == 0 || size < 0 || (size_t)size >= sizeof path ||
        tr_plugin_is_elsewhere(row->plugin)) {
        return -1;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
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
    progress->at_ms =
        (uint64_t)status.st_mtim.tv_sec * 1000 + (uint64_t)status.st_mtim.tv_nsec / 1000000;
    return true;
}
