/*
 * The file `attribution`: a row for each part of a program that has ended an engine, and how often.
 *
 * One row for each part, in order of the first count. The function and the signal are those of the
 * last time. A part that keeps ending the process is counted until the program drops its row.
 */
#include "runtime/host/attribution.h"

#include <string.h>

#include "runtime/host/row_file.h"
#include "runtime/hosting.h"

static const struct tri_row_file file = {.name = "attribution",
                                         .mark = 0x3130454d414c4254U, /* TBLAME01 */
                                         .row_bytes = sizeof(struct tr_crash_attribution),
                                         .rows_max = TR_CRASH_ATTRIBUTIONS_MAX};

/* Terminates the texts of a row, which may be damaged. */
static void tidy(struct tr_crash_attribution *row)
{
    row->part[sizeof row->part - 1] = '\0';
    row->function[sizeof row->function - 1] = '\0';
}

static size_t read_rows(const char *folder,
                        struct tr_crash_attribution rows[TR_CRASH_ATTRIBUTIONS_MAX])
{
    size_t count = tri_row_file_read(&file, folder, rows);
    for (size_t i = 0; i < count; i++) {
        tidy(&rows[i]);
    }
    return count;
}

/*
 * The slot comes from a mapped file that a crash left, so its texts may not be terminated. A full
 * list drops its first row.
 */
int tri_attribution_count(const char *folder, const struct tri_current_message *slot)
{
    struct tr_crash_attribution rows[TR_CRASH_ATTRIBUTIONS_MAX];
    struct tr_crash_attribution row = {.ended_by = slot->ended_by, .count = 1};
    memcpy(row.part, slot->part, sizeof row.part);
    memcpy(row.function, slot->function, sizeof row.function);
    tidy(&row);
    size_t count = read_rows(folder, rows);
    size_t place = 0;
    while (place < count && strcmp(rows[place].part, row.part) != 0) {
        place++;
    }
    if (place < count) {
        row.count += rows[place].count;
    } else if (count == TR_CRASH_ATTRIBUTIONS_MAX) {
        memmove(&rows[0], &rows[1], (TR_CRASH_ATTRIBUTIONS_MAX - 1) * sizeof row);
        place = TR_CRASH_ATTRIBUTIONS_MAX - 1;
    } else {
        count++;
    }
    rows[place] = row;
    return tri_row_file_write(&file, folder, rows, count);
}

size_t tr_crash_attributions_read(const char *folder,
                                  struct tr_crash_attribution crashes[TR_CRASH_ATTRIBUTIONS_MAX])
{
    return read_rows(folder, crashes);
}

int tr_crash_attributions_forget(const char *folder,
                                 bool (*is_meant)(const void *self,
                                                  const struct tr_crash_attribution *crashes),
                                 const void *self)
{
    struct tr_crash_attribution rows[TR_CRASH_ATTRIBUTIONS_MAX];
    size_t count = read_rows(folder, rows);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_meant(self, &rows[i])) {
            rows[kept++] = rows[i];
        }
    }
    return kept == count ? 0 : tri_row_file_write(&file, folder, rows, kept);
}
