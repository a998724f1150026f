/*
 * Which tasks are forked from a warm worker: those whose command is a program of flytekit's, which
 * spends most of its time with imports. What the worker imports sees the variables that all
 * attempts of an environment have in common, and none that say which attempt or task this is.
 */
#include <string.h>

#include "plugins/process/process.h"

/* flytekit's programs that run a task in their own process. */
static const char *const programs[] = {"pyflyte-execute", "pyflyte-map-execute"};

/* What every attempt gets from the engine that is the same for all of them. */
static const char *const common[] = {"PATH", "HOME", "LANG"};

/* Variables that say which task this is, or what it alone needs. */
static const char *const of_task[] = {"FLYTE_INTERNAL_", "_F_"};

/* A task's own variable, and its value, that keeps it from being forked. */
#define SWITCH "TROUPE_WARM"
#define SWITCH_OFF "off"

static bool is_program(struct tr_text word)
{
    size_t begin = word.size;
    while (begin > 0 && word.data[begin - 1] != '/') {
        begin--;
    }
    struct tr_text name = {.data = word.data + begin, .size = word.size - begin};
    for (size_t i = 0; i < TR_COUNT_OF(programs); i++) {
        if (tr_text_equal(name, tr_text_of(programs[i]))) {
            return true;
        }
    }
    return false;
}

static bool is_of_task(struct tr_text name)
{
    for (size_t i = 0; i < TR_COUNT_OF(of_task); i++) {
        size_t size = strlen(of_task[i]);
        if (name.size >= size && memcmp(name.data, of_task[i], size) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_switched_off(const struct tr_task_template *template)
{
    for (uint32_t i = 0; i < template->environment_count; i++) {
        const struct tr_environment *entry = &template->environment[i];
        if (tr_text_equal(entry->name, tr_text_of(SWITCH)) &&
            tr_text_equal(entry->value, tr_text_of(SWITCH_OFF))) {
            return true;
        }
    }
    return false;
}

/* Resource limits are set before the interpreter begins, which would feel them, too. */
static bool may_fork(struct tr_task_context *task)
{
    const struct tr_task_template *template = tr_task_template(task);
    return template->argc > 0 && template->has_flyte_inputs && template->has_flyte_outputs &&
           template->software.kind == TR_SOFTWARE_NONE && is_program(template->argv[0]) &&
           !tri_process_has_limits(task) && !is_switched_off(template);
}

int tri_process_warm_names(struct tr_task_context *task, struct tri_process_words *names)
{
    const struct tr_task_template *template = tr_task_template(task);
    *names = (struct tri_process_words){.count = 0};
    if (!may_fork(task)) {
        return 0;
    }
    size_t max = TR_COUNT_OF(common) + template->environment_count;
    names->items = tr_task_scratch(task, max * sizeof *names->items);
    if (names->items == NULL) {
        return TR_MEMORY;
    }
    for (size_t i = 0; i < TR_COUNT_OF(common); i++) {
        names->items[names->count++] = tr_text_of(common[i]);
    }
    for (uint32_t i = 0; i < template->environment_count; i++) {
        struct tr_text name = template->environment[i].name;
        if (!is_of_task(name)) {
            names->items[names->count++] = name;
        }
    }
    return 0;
}
