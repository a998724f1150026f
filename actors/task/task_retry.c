/*
 * Whether a failure is tried again by its names: the settings' `retry_on` and `never_retry_on`.
 *
 * They choose among the failures of the task that may be tried again at all. What is permanent
 * stays so, and failures of the system have retries of their own, which nobody chooses.
 *
 * An exception that ends a program in Python shows in the end of its stderr alone, so that is where
 * its name is taken from. Only the form of a traceback counts, behind the exit status that Python
 * gives: a name that merely stands in a log must not decide over retries.
 */
#include <string.h>

#include "actors/graph/compiled/retry_codes.h"
#include "actors/graph/document/limits.h"
#include "actors/task/task.h"

_Static_assert(TR_RETRY_CODE_BYTES_MAX >= TR_FAILURE_CODE_BYTES_MAX, "each code can be named");

/* How the lines of a traceback begin that name a place. */
#define FRAME "  File \""

static struct tr_text line_at(const char *at, const char *end)
{
    const char *feed = memchr(at, '\n', (size_t)(end - at));
    return (struct tr_text){.data = at, .size = (size_t)((feed == NULL ? end : feed) - at)};
}

/* The line behind the last place of the last traceback and the lines of source below that. */
static struct tr_text exception_line(struct tr_text output)
{
    const char *end = output.data + output.size;
    struct tr_text found = tr_text_of("");
    bool is_in_frame = false;
    for (const char *at = output.data; at < end;) {
        struct tr_text line = line_at(at, end);
        bool is_frame = line.size > strlen(FRAME) && memcmp(line.data, FRAME, strlen(FRAME)) == 0;
        bool is_inside = line.size > 0 && (line.data[0] == ' ' || line.data[0] == '\t');
        if (is_in_frame && !is_inside) {
            found = line;
        }
        is_in_frame = is_frame || (is_in_frame && is_inside);
        at = line.data + line.size + 1;
    }
    return found;
}

/* "KeyError: 'x'" and "KeyError", but no other words. */
struct tr_text tri_task_exception(struct tr_text output)
{
    struct tr_text line = exception_line(output);
    size_t size = 0;
    while (size < line.size && line.data[size] != ':') {
        char byte = line.data[size];
        char lower = (char)(byte | 0x20);
        bool is_letter = (lower >= 'a' && lower <= 'z') || byte == '_';
        bool is_later = (byte >= '0' && byte <= '9') || byte == '.';
        if (!is_letter && !(is_later && size > 0)) {
            return tr_text_of("");
        }
        size++;
    }
    return (struct tr_text){.data = line.data, .size = size};
}

/* Why it is not tried again, behind the cause. */
static struct tr_text with_reason(struct tri_task *task, const struct tr_failure_names *names,
                                  struct tr_text pattern, struct tr_text message)
{
    bool has_exception = names->exception.size > 0;
    struct tr_text reason =
        pattern.size > 0 ? tr_arena_print(&task->arena, "never_retry_on: %.*s", TRI_TEXT(pattern))
        : has_exception
            ? tr_arena_print(&task->arena, "retry_on names neither %.*s nor %.*s",
                             TRI_TEXT(names->code), TRI_TEXT(names->exception))
            : tr_arena_print(&task->arena, "retry_on does not name %.*s", TRI_TEXT(names->code));
    return message.size == 0
               ? tr_arena_print(&task->arena, "not tried again: %.*s", TRI_TEXT(reason))
               : tr_arena_print(&task->arena, "%.*s (not tried again: %.*s)", TRI_TEXT(message),
                                TRI_TEXT(reason));
}

void tri_task_choose_retry(struct tri_task *task, struct tri_task_failure *failure)
{
    bool is_pythons =
        failure->exit_status == 1 && tr_text_equal(failure->code, tr_text_of("ProcessFailed"));
    struct tr_failure_names names = {.code = failure->code, .exception = tr_text_of("")};
    struct tr_text pattern;
    if (failure->is_permanent || failure->kind == TR_FAILURE_SYSTEM) {
        return;
    }
    if (is_pythons) {
        names.exception = tri_task_exception(task->error_output);
    }
    if (!tr_retry_allows(task->settings, &names, &pattern)) {
        failure->is_permanent = true;
        failure->message = with_reason(task, &names, pattern, failure->message);
    }
}
