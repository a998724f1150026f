/*
 * From the words of a recovery to a plan. What an element of a map has launched recovers what that
 * element had launched in the earlier execution, which is found by its name
 * (actors/services/launch.h).
 */
#include <string.h>

#include "actors/services/launch.h"
#include "deploy/recovery/reuse_inside.h"

/* "RECOVERY!PATH[ELEMENT]", taken apart. */
struct launched {
    struct tr_text outer;
    struct tr_text element; /* PATH[ELEMENT] */
    struct tr_text path;
    uint64_t number;
};

/* Places of plans end with a digest, and no path has the mark. */
static bool read_launched(struct tr_text recovery, struct launched *launched)
{
    size_t mark = recovery.size;
    if (recovery.size == 0 || recovery.data[recovery.size - 1] != ']') {
        return false;
    }
    while (mark > 0 && recovery.data[mark - 1] != '!') {
        mark--;
    }
    if (mark == 0) {
        return false;
    }
    *launched = (struct launched){
        .outer = {.data = recovery.data, .size = mark - 1},
        .element = {.data = recovery.data + mark, .size = recovery.size - mark},
    };
    launched->path = launched->element;
    uint64_t unit = 1;
    for (launched->path.size--; launched->path.size > 0; unit *= 10) {
        char letter = launched->path.data[--launched->path.size];
        if (letter == '[') {
            break;
        }
        launched->number += (uint64_t)(letter - '0') * unit;
    }
    return launched->path.size > 0;
}

int tri_reuse_add_sources(struct tri_reuse *reuse, const struct tr_execution *row,
                          struct tr_recovery *plan)
{
    struct tr_recovery own = reuse->plan;
    int error = row->recovery.size == 0 ? 0 : tri_reuse_resolve(reuse, row->recovery);
    struct tr_recovery before = reuse->plan;
    reuse->plan = own;
    plan->from[plan->from_count++] = row->execution;
    for (uint32_t i = 0; row->recovery.size > 0 && i < before.from_count &&
                         plan->from_count < TR_RECOVERY_DEPTH_MAX;
         i++) {
        plan->from[plan->from_count++] = before.from[i];
    }
    return error;
}

static int take_target(void *self, const void *value)
{
    struct tri_reuse *reuse = self;
    const struct tr_node_status *row = value;
    reuse->launched = tr_arena_text(&reuse->arena, row->target);
    return reuse->arena.error;
}

/* The name of what the map at a path launches for each element, into `launched` of the question. */
static int read_target(struct tri_reuse *reuse, uint64_t execution, struct tr_text path)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
    };
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    reuse->launched = tr_text_of("");
    return tr_reader_rows(reuse->reader, &query, take_target, reuse);
}

/* The execution that the element had launched in the one of this number. TR_NOT_FOUND. */
static int find_launched(struct tri_reuse *reuse, uint64_t number, const struct launched *launched,
                         struct tr_executions_row *found)
{
    char name[TR_LAUNCH_NAME_BYTES];
    struct tr_executions_row outer;
    int error = read_target(reuse, number, launched->path);
    if (error != 0) {
        return error;
    }
    error = tr_executions_get(reuse->reader, number, &outer);
    if (error != 0) {
        return error;
    }
    const struct tr_execution *row = &outer.row;
    struct tr_node_start start = {
        .number = number,
        .execution = tr_arena_print(&reuse->arena, "%.*s/%.*s/%.*s", (int)row->project.size,
                                    row->project.data, (int)row->domain.size, row->domain.data,
                                    (int)row->name.size, row->name.data),
        .path = launched->path,
        .element = launched->number,
    };
    tr_launch_name(reuse->launched, &start, name);
    error = reuse->arena.error;
    if (error == 0) {
        error =
            tr_executions_named(reuse->reader, row->project, row->domain, tr_text_of(name), found);
    }
    tr_executions_row_fini(&outer);
    return error;
}

/* With the plan of the outer execution in hand. */
static int resolve_launched(struct tri_reuse *reuse, const struct launched *launched)
{
    struct tr_recovery plan = {.from_count = 0};
    struct tr_executions_row found;
    uint64_t execution = 0;
    uint8_t phase = TR_NODE_PHASE_NOT_YET_STARTED;
    int error = 0;
    if (tr_recovery_way(&reuse->plan, launched->element) != TR_RECOVERY_ANEW) {
        error = tri_reuse_find(reuse, launched->path, &execution, &phase);
    }
    if (error == 0 && phase != TR_NODE_PHASE_NOT_YET_STARTED) {
        error = find_launched(reuse, execution, launched, &found);
        if (error == 0) {
            error = tri_reuse_add_sources(reuse, &found.row, &plan);
            tr_executions_row_fini(&found);
        }
        error = error == TR_NOT_FOUND ? 0 : error; /* it was not launched, or is forgotten */
    }
    reuse->launched = tr_text_of("");
    reuse->plan = plan;
    return error;
}

int tri_reuse_resolve(struct tri_reuse *reuse, struct tr_text recovery)
{
    struct launched launched;
    if (!read_launched(recovery, &launched)) {
        return tr_recovery_read(tr_reader_folder(reuse->reader), recovery, &reuse->arena,
                                &reuse->plan, reuse->explain);
    }
    int error = tri_reuse_resolve(reuse, launched.outer);
    return error != 0 ? error : resolve_launched(reuse, &launched);
}

int tr_reuse_plan(struct tr_reader *reader, struct tr_text recovery, struct tr_arena *arena,
                  struct tr_recovery *plan, char *explain)
{
    struct launched launched;
    struct tri_reuse reuse = {.reader = reader, .explain = explain};
    if (!read_launched(recovery, &launched)) {
        return tr_recovery_read(tr_reader_folder(reader), recovery, arena, plan, explain);
    }
    tr_arena_init(&reuse.arena);
    int error = tri_reuse_resolve(&reuse, recovery);
    if (error == 0) {
        *plan = reuse.plan; /* of what was launched it has no words */
    }
    tr_arena_fini(&reuse.arena);
    return error;
}
