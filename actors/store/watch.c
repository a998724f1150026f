/*
 * Monitors that are bounded, and the list of rows that wait for one.
 *
 * A row is in one of three states: watched (it has a monitor), listed (it waits for one), or
 * neither. A monitor that ends gives its place to the first row of the list, so rows are watched in
 * the order in which they came. If an actor that waits in the list ends unseen, its monitor later
 * tells so at once.
 */
#include "actors/store/watch.h"

static int list_add(struct tr_watch *watch, uint32_t number, struct tr_watched *row)
{
    row->is_listed = true;
    row->next = 0;
    row->previous = watch->last;
    if (watch->last == 0) {
        watch->first = number;
        watch->last = number;
        return 0;
    }
    void *last;
    int error = tr_rows_edit(watch->rows, watch->last, &last);
    if (error == 0) {
        ((struct tr_watched *)last)->next = number;
        watch->last = number;
    }
    return error;
}

/* Neighbours are rows of their own, so taking one out changes up to two other rows. */
static int list_remove(struct tr_watch *watch, struct tr_watched *row)
{
    void *other;
    int error = 0;
    if (row->previous == 0) {
        watch->first = row->next;
    } else {
        error = tr_rows_edit(watch->rows, row->previous, &other);
        if (error == 0) {
            ((struct tr_watched *)other)->next = row->next;
        }
    }
    if (error == 0 && row->next == 0) {
        watch->last = row->previous;
    } else if (error == 0) {
        error = tr_rows_edit(watch->rows, row->next, &other);
        if (error == 0) {
            ((struct tr_watched *)other)->previous = row->previous;
        }
    }
    row->is_listed = false;
    return error;
}

int tr_watch_begin(struct tr_watch *watch, uint32_t number, struct tr_watched *row)
{
    if (watch->count >= watch->count_max) {
        return list_add(watch, number, row);
    }
    int error = tr_monitor(watch->rows->context, row->actor, &row->monitor);
    if (error == 0) {
        watch->count++;
    }
    return error;
}

/*
 * It keeps its place. The next DOWN of this kind comes when the way is lost once more, or the actor
 * goes on on another host: so there is none for nothing.
 */
int tr_watch_again(struct tr_watch *watch, struct tr_watched *row)
{
    return tr_monitor(watch->rows->context, row->actor, &row->monitor);
}

/* There is room for one that waits. */
static int watch_next(struct tr_watch *watch)
{
    void *first;
    uint32_t number = watch->first;
    if (number == 0 || watch->count >= watch->count_max) {
        return 0;
    }
    int error = tr_rows_edit(watch->rows, number, &first);
    if (error != 0) {
        return error;
    }
    error = list_remove(watch, first);
    return error != 0 ? error : tr_watch_begin(watch, number, first);
}

int tr_watch_end(struct tr_watch *watch, uint32_t number, struct tr_watched *row, bool is_down)
{
    (void)number;
    if (row->is_listed) {
        return list_remove(watch, row);
    }
    if (row->monitor == 0) {
        return 0;
    }
    int error = is_down ? 0 : tr_demonitor(watch->rows->context, row->monitor);
    row->monitor = 0;
    if (error == 0) {
        watch->count--;
    }
    return error != 0 ? error : watch_next(watch);
}
