/*
 * A row for each group whose loading has ended a start, and how often.
 *
 * A group is counted from its first row on and set aside at TR_ASIDE_ENDS. Only consecutive ends
 * count: a start that succeeds, or ends at another group, forgets all counts below that. Groups
 * that are set aside stay until an operator lifts them.
 */
#include "runtime/crashes/aside.h"

/* One that only this group could continue. */
static bool is_broken_off(const void *self, const struct tri_crash_row *row)
{
    const uint64_t *group = self;
    return row->kind == TRI_CRASH_GROUP && row->key.group != *group &&
           row->group.ends < TR_ASIDE_ENDS;
}

static bool is_counted(const struct tri_crashes *crashes, uint64_t group)
{
    for (size_t i = 0; i < crashes->count; i++) {
        if (crashes->rows[i].kind == TRI_CRASH_GROUP && crashes->rows[i].key.group == group) {
            return true;
        }
    }
    return false;
}

/*
 * An ordinary start changes no row, and does not wait for the disk. If there are as many groups set
 * aside as are kept, a new one is not counted.
 */
void tri_aside_count(struct tri_crashes *crashes, uint64_t group, uint32_t incarnation)
{
    uint64_t others[TR_ASIDE_MAX];
    const struct tri_crash_row wanted = {.kind = TRI_CRASH_GROUP, .key = {.group = group}};
    (void)tri_crashes_forget(crashes, is_broken_off, &group);
    bool is_full = tri_crashes_aside(crashes, others) == TR_ASIDE_MAX;
    if (!tr_group_is_none(group) && (!is_full || is_counted(crashes, group))) {
        tri_crashes_row(crashes, &wanted, incarnation)->group.ends++;
    }
}

bool tri_aside_is_group(const void *self, const struct tri_crash_row *row)
{
    const uint64_t *group = self;
    return row->kind == TRI_CRASH_GROUP && row->key.group == *group;
}

void tri_aside_lift(struct tri_crashes *crashes, const uint64_t *groups, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)tri_crashes_forget(crashes, tri_aside_is_group, &groups[i]);
    }
}
