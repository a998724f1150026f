/*
 * Reading templates: where the next one stands in a text, and what it names. Filling them in is
 * actors/values/template_fill.c; judging them at compile time is language/definition_template.c.
 *
 * The forms are those of Flyte's propeller: a name behind `.` or `$`, letters of either case,
 * blanks around it. Beyond Flyte there are the bar with `quote` and text in backticks. A text is
 * scanned from left to right and every byte is looked at a bounded number of times, but for texts
 * with many `{{` that are never closed. What is read are views into the text; nothing is allocated.
 *
 * What is not understood is reported as UNKNOWN or OPEN and never passed on as text: a template
 * with a typing error would otherwise reach a shell as it stands.
 */
#include "actors/graph/value/template.h"

#include <string.h>
#include <strings.h>

#include "schemas/engine/plugin.h"

#define BEGIN "{{"
#define END "}}"
#define MARK_BYTES 2
#define INPUTS "inputs."
#define LABEL "labels."

static const char *const names[] = {
#define TRI_TEMPLATE_WORD(name, word) [TR_TEMPLATE_##name] = (word),
    TR_TEMPLATES(TRI_TEMPLATE_WORD)
#undef TRI_TEMPLATE_WORD
};

const char *tr_template_name_text(enum tr_template_name name)
{
    return names[name];
}

static const char *find(const char *at, const char *end, const char *mark)
{
    return at < end ? memmem(at, (size_t)(end - at), mark, strlen(mark)) : NULL;
}

static struct tr_text between(const char *begin, const char *end)
{
    return (struct tr_text){.data = begin, .size = (size_t)(end - begin)};
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at)) {
        at++;
    }
    return at;
}

static struct tr_text without_blanks(struct tr_text text)
{
    const char *end = text.data + text.size;
    const char *begin = skip_blanks(text.data, end);
    while (end > begin && is_blank(end[-1])) {
        end--;
    }
    return between(begin, end);
}

/*
 * {{`...`}}: text as it stands, which may hold braces itself. The backtick ends it, so this is
 * tried before the search for closing braces. False, with `template` untouched, if it is none.
 */
static bool read_verbatim(const char *begin, const char *end, struct tr_template *template)
{
    const char *first = skip_blanks(begin + MARK_BYTES, end);
    const char *last =
        first < end && *first == '`' ? memchr(first + 1, '`', (size_t)(end - first) - 1) : NULL;
    const char *close = last == NULL ? end : skip_blanks(last + 1, end);
    if (end - close < MARK_BYTES || memcmp(close, END, MARK_BYTES) != 0) {
        return false;
    }
    *template = (struct tr_template){.kind = TR_TEMPLATE_IS_TEXT,
                                     .whole = between(begin, close + MARK_BYTES),
                                     .name = between(first + 1, last)};
    return true;
}

static bool begins_with_inputs(struct tr_text name)
{
    size_t size = sizeof INPUTS - 1;
    return name.size > size && strncasecmp(name.data, INPUTS, size) == 0;
}

/*
 * Cuts off what stands behind a bar. False when that is nothing a value could be handed to: the
 * template then stays unknown, with name and function apart, so that a message can show both.
 */
static bool read_function(struct tr_template *template)
{
    struct tr_text name = template->name;
    const char *bar = name.size > 0 ? memchr(name.data, '|', name.size) : NULL;
    if (bar == NULL) {
        return true;
    }
    template->name = without_blanks(between(name.data, bar));
    template->function = without_blanks(between(bar + 1, name.data + name.size));
    template->is_quoted = tr_text_equal(template->function, tr_text_of(TR_TEMPLATE_QUOTE));
    return template->is_quoted;
}

/*
 * What `.NAME` or `$NAME` names; the kind stays UNKNOWN where that is nothing of ours. An input's
 * name begins behind `inputs.` and is not looked up here: which inputs there are is the task's
 * matter.
 */
static void read_name(struct tr_template *template)
{
    struct tr_text name = template->name;
    if (name.size < 2 || (name.data[0] != '.' && name.data[0] != '$')) {
        return;
    }
    name = between(name.data + 1, name.data + name.size);
    if (begins_with_inputs(name)) {
        template->kind = TR_TEMPLATE_IS_INPUT;
        template->name = between(name.data + sizeof INPUTS - 1, name.data + name.size);
    }
    for (uint32_t i = 0; i < TR_COUNT_OF(names); i++) {
        if (name.size == strlen(names[i]) && strncasecmp(name.data, names[i], name.size) == 0) {
            template->kind = TR_TEMPLATE_IS_NAME;
            template->which = (enum tr_template_name)i;
        }
    }
}

/*
 * The template that begins here. One that another begins in, or the text ends in, is open. The
 * search for `}}` stops at the next `{{`, so that a forgotten end does not swallow the template
 * behind it.
 */
static void read_one(const char *begin, const char *end, struct tr_template *template)
{
    const char *inside = begin + MARK_BYTES;
    const char *next = find(inside, end, BEGIN);
    next = next == NULL ? end : next;
    const char *close = find(inside, next, END);
    *template = (struct tr_template){.kind = TR_TEMPLATE_IS_OPEN};
    if (close == NULL) {
        template->whole = template->name = between(begin, next);
        return;
    }
    template->kind = TR_TEMPLATE_IS_UNKNOWN;
    template->whole = between(begin, close + MARK_BYTES);
    template->name = without_blanks(between(inside, close));
    if (read_function(template)) {
        read_name(template);
    }
}

/*
 * An open template is passed over up to the next one, so each call takes at least two bytes and the
 * caller's loop ends.
 */
bool tr_template_next(struct tr_text *text, struct tr_text *before, struct tr_template *template)
{
    const char *end = text->data + text->size;
    const char *begin = find(text->data, end, BEGIN);
    if (begin == NULL) {
        *before = *text;
        *text = between(end, end);
        return false;
    }
    while (begin + MARK_BYTES < end && begin[MARK_BYTES] == '{') {
        begin++; /* of many braces the last two begin it */
    }
    *before = between(text->data, begin);
    if (!read_verbatim(begin, end, template)) {
        read_one(begin, end, template);
    }
    *text = between(template->whole.data + template->whole.size, end);
    return true;
}

static const char *const notify_names[] = {
#define TRI_NOTIFY_NAME_WORD(name, word) [TR_NOTIFY_NAME_##name] = (word),
    TR_NOTIFY_NAMES(TRI_NOTIFY_NAME_WORD)
#undef TRI_NOTIFY_NAME_WORD
};

const char *tr_notify_name_text(enum tr_notify_name name)
{
    return notify_names[name];
}

bool tr_notify_name_find(struct tr_text name, enum tr_notify_name *which, struct tr_text *label)
{
    if (name.size < 2 || (name.data[0] != '.' && name.data[0] != '$')) {
        return false;
    }
    name = between(name.data + 1, name.data + name.size);
    size_t size = sizeof LABEL - 1;
    if (name.size > size && strncasecmp(name.data, LABEL, size) == 0) {
        *which = TR_NOTIFY_NAME_LABELS;
        *label = between(name.data + size, name.data + name.size);
        return true;
    }
    for (uint32_t i = 0; i < TR_COUNT_OF(notify_names); i++) {
        if (name.size == strlen(notify_names[i]) &&
            strncasecmp(name.data, notify_names[i], name.size) == 0) {
            *which = (enum tr_notify_name)i;
            *label = tr_text_of("");
            return true;
        }
    }
    return false;
}

bool tr_template_is_in(const void *bytes, size_t size)
{
    return size >= MARK_BYTES && memmem(bytes, size, BEGIN, MARK_BYTES) != NULL;
}

static uint32_t names_in(struct tr_text text)
{
    uint32_t found = 0;
    struct tr_text before;
    struct tr_template template;
    while (tr_template_next(&text, &before, &template)) {
        found |= template.kind == TR_TEMPLATE_IS_NAME ? 1U << template.which : 0;
    }
    return found;
}

/*
 * The packed configuration is read as one text. Braces of two texts may pair up, but what then
 * stands between them is no known name.
 */
uint32_t tr_template_names_of(const struct tr_task_template *task)
{
    struct tr_text config = {.data = (const char *)task->config.data, .size = task->config.size};
    uint32_t found = names_in(config);
    for (uint32_t i = 0; i < task->argc; i++) {
        found |= names_in(task->argv[i]);
    }
    for (uint32_t i = 0; i < task->environment_count; i++) {
        found |= names_in(task->environment[i].value);
    }
    return found;
}
