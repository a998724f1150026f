/*
 * Words that a plugin puts together for people, in memory that lives as long as they are needed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plugins/sdk/plugin.h"

/* Most words are fewer, and printed once. */
#define FEW_BYTES 256

struct tr_text tr_task_format(struct tr_task_context *task, const char *format, ...)
{
    char few[FEW_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(few, sizeof few, format, arguments);
    va_end(arguments);
    char *words = size < 0 ? NULL : tr_task_scratch(task, (size_t)size + 1);
    if (words == NULL) {
        return (struct tr_text){0};
    }
    if ((size_t)size < sizeof few) {
        memcpy(words, few, (size_t)size + 1);
        return (struct tr_text){.data = words, .size = (size_t)size};
    }
    va_start(arguments, format);
    (void)vsnprintf(words, (size_t)size + 1, format, arguments);
    va_end(arguments);
    return (struct tr_text){.data = words, .size = (size_t)size};
}
