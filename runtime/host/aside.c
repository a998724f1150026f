/*
 * The file `aside`: a row for each group whose loading has ended a start, and how often.
 *
 * A group is counted from its first row on and set aside at TR_ASIDE_ENDS. Only consecutive ends
 * count: a start that succeeds, or ends at another group, drops all counts below that. Groups that
 * are set aside stay until an operator lifts them.
 */
#include "runtime/host/aside.h"

#include "runtime/host/row_file.h"
#include "runtime/hosting.h"

struct row {
    uint64_t group;
    uint64_t ends;
};

static const struct tri_row_file file = {.name = "aside",
                                         .mark = 0x3130454449534154U, /* TASIDE01 */
                                         .row_bytes = sizeof(struct row),
                                         .rows_max = TR_ASIDE_MAX};

/*
 * An unchanged file is not written, so an ordinary start does not wait for the disk. If the list is
 * full of groups that are set aside, a new one is not counted.
 */
int tri_aside_count(const char *folder, uint64_t group)
{
    struct row rows[TR_ASIDE_MAX];
    size_t count = tri_row_file_read(&file, folder, rows);
    size_t kept = 0;
    struct row row = {.group = group, .ends = 1};
    for (size_t i = 0; i < count; i++) {
        if (!tr_group_is_none(group) && rows[i].group == group) {
            row.ends += rows[i].ends;
        } else if (rows[i].ends >= TR_ASIDE_ENDS) {
            rows[kept++] = rows[i];
        }
    }
    if (tr_group_is_none(group) && kept == count) {
        return 0;
    }
    if (!tr_group_is_none(group) && kept < TR_ASIDE_MAX) {
        rows[kept++] = row;
    }
    return tri_row_file_write(&file, folder, rows, kept);
}

size_t tr_aside_read(const char *folder, uint64_t groups[TR_ASIDE_MAX])
{
    struct row rows[TR_ASIDE_MAX];
    size_t count = tri_row_file_read(&file, folder, rows);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].ends >= TR_ASIDE_ENDS) {
            groups[found++] = rows[i].group;
        }
    }
    return found;
}

int tr_aside_lift(const char *folder, uint64_t group)
{
    struct row rows[TR_ASIDE_MAX];
    size_t count = tri_row_file_read(&file, folder, rows);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].group != group) {
            rows[kept++] = rows[i];
        }
    }
    return kept == count ? 0 : tri_row_file_write(&file, folder, rows, kept);
}
