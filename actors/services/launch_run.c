/*
 * What is said of all tasks of an execution, merged from two sides.
 */
#include "actors/services/launch_run.h"

/* Begins with a list of names and values in turn: how many pairs. Nothing is no pair. */
static uint32_t begin(struct tr_bytes list, struct tr_cursor *cursor)
{
    *cursor = tr_cursor_of(list);
    if (list.size == 0 || tr_read_nil(cursor)) {
        return 0;
    }
    uint32_t count = tr_read_array(cursor);
    if (count % 2 != 0) {
        tr_cursor_fail(cursor, TR_MALFORMED);
    }
    return count / 2;
}

static bool has(struct tr_bytes list, struct tr_text name)
{
    struct tr_cursor cursor;
    uint32_t count = begin(list, &cursor);
    bool is_found = false;
    for (uint32_t i = 0; i < count && !is_found && cursor.error == 0; i++) {
        is_found = tr_text_equal(tr_read_text(&cursor), name);
        (void)tr_read_text(&cursor);
    }
    return is_found;
}

/* Adds the pairs whose names `others` does not have: how many. */
static uint32_t add(struct tr_bytes list, struct tr_bytes others, struct tr_buffer *pairs,
                    int *error)
{
    struct tr_cursor cursor;
    uint32_t count = begin(list, &cursor);
    uint32_t added = 0;
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_text name = tr_read_text(&cursor);
        struct tr_text value = tr_read_text(&cursor);
        if (cursor.error == 0 && !has(others, name)) {
            tr_buffer_text_value(pairs, name);
            tr_buffer_text_value(pairs, value);
            added++;
        }
    }
    *error = cursor.error != 0 ? TR_INVALID : *error;
    return added;
}

static void add_plans(const struct tr_run_settings *run, struct tr_buffer *list)
{
    tr_buffer_array(list, 2 * run->environment_count);
    for (uint32_t i = 0; i < run->environment_count; i++) {
        tr_buffer_text_value(list, run->environment[i].name);
        tr_buffer_text_value(list, run->environment[i].value);
    }
}

/* Without a variable nothing is added: most executions have none. */
static int merge(struct tr_bytes weak, struct tr_bytes strong, struct tr_buffer *environment)
{
    struct tr_buffer pairs;
    int error = 0;
    tr_buffer_init(&pairs, 0);
    uint32_t count = add(weak, strong, &pairs, &error);
    count += add(strong, (struct tr_bytes){0}, &pairs, &error);
    if (count > 0) {
        tr_buffer_array(environment, 2 * count);
        tr_buffer_add(environment, pairs.data, pairs.size);
    }
    if (error == 0) {
        error = pairs.error != 0 ? pairs.error : environment->error;
    }
    if (error == 0 && environment->size > TR_RUN_ENVIRONMENT_BYTES_MAX) {
        error = TR_LIMIT;
    }
    tr_buffer_fini(&pairs);
    return error;
}

int tri_launch_run(const struct tr_launch *request, const struct tr_plan *plan,
                   struct tr_buffer *environment, struct tr_node_start *start)
{
    static const struct tr_run_settings none;
    const struct tr_run_settings *run = plan == NULL ? &none : &plan->run;
    bool is_inherited = !tr_key_is_none(request->launching.key);
    bool plan_wins_prefix =
        run->raw_output_prefix.size > 0 && (is_inherited || request->raw_output_prefix.size == 0);
    bool plan_wins_choice = run->interruptible != TR_CHOICE_OPEN &&
                            (is_inherited || request->interruptible == TR_CHOICE_OPEN);
    struct tr_buffer plans;
    tr_buffer_init(&plans, 0);
    add_plans(run, &plans);
    struct tr_bytes own = tr_buffer_bytes(&plans);
    int error = plans.error;
    if (error == 0) {
        error = is_inherited ? merge(request->environment, own, environment)
                             : merge(own, request->environment, environment);
    }
    tr_buffer_fini(&plans);
    if (error == 0) {
        start->environment = tr_buffer_bytes(environment);
        start->raw_output_prefix =
            plan_wins_prefix ? run->raw_output_prefix : request->raw_output_prefix;
        start->interruptible = plan_wins_choice ? run->interruptible : request->interruptible;
        start->parallelism = run->max_parallelism;
        start->cache_mode = run->refreshes_cache && request->cache_mode == TR_CACHE_USE
                                ? TR_CACHE_REFRESH
                                : request->cache_mode;
    }
    return error;
}
