/*
 * Lines built by hand. Text that cannot be written is dropped: later text matters more.
 *
 * Only write(2), memcpy and strlen are called, which POSIX allows in a signal handler. The buffer
 * is a field of the line, so it is on the caller's stack; a larger text is written in pieces.
 */
#include "runtime/trace/line.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void tri_line_init(struct tri_line *line, int descriptor)
{
    line->descriptor = descriptor;
    line->size = 0;
}

void tri_line_flush(struct tri_line *line)
{
    size_t done = 0;
    while (done < line->size) {
        ssize_t written = write(line->descriptor, line->bytes + done, line->size - done);
        if (written <= 0 && errno != EINTR) {
            break;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    line->size = 0;
}

void tri_line_text(struct tri_line *line, struct tr_text text)
{
    while (text.size > 0) {
        if (line->size == sizeof line->bytes) {
            tri_line_flush(line);
        }
        size_t room = sizeof line->bytes - line->size;
        size_t size = text.size < room ? text.size : room;
        memcpy(line->bytes + line->size, text.data, size);
        line->size += size;
        text = (struct tr_text){.data = text.data + size, .size = text.size - size};
    }
}

void tri_line_string(struct tri_line *line, const char *string)
{
    tri_line_text(line, tr_text_of(string));
}

void tri_line_number(struct tri_line *line, const char *label, uint64_t number)
{
    /* The largest number of 64 bits has 20 digits. They are produced from the last to the first. */
    char digits[20];
    size_t begin = sizeof digits;
    do {
        digits[--begin] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    tri_line_string(line, label);
    tri_line_text(line, (struct tr_text){digits + begin, sizeof digits - begin});
}

void tri_line_key(struct tri_line *line, const char *label, struct tr_key key)
{
    tri_line_number(line, label, tr_group_shown(key.group));
    tri_line_number(line, "/", key.serial);
}
