/*
 * The names of the tap points, made from their one list.
 *
 * Numbers of points are bits of a filter's mask, so they stay small. LOST has number 0 and is not
 * in the list: no filter can request it, and tr_tap_point_find returns it for an unknown name.
 */
#include "runtime/trace/point.h"

static const char *const names[] = {[TR_TAP_LOST] = "lost",
#define TRI_NAME(name, number, text) [number] = (text),
                                    TR_TAP_POINTS(TRI_NAME)
#undef TRI_NAME
};

const char *tr_tap_point_name(uint8_t point)
{
    return point < TR_COUNT_OF(names) ? names[point] : "unknown";
}

uint8_t tr_tap_point_find(struct tr_text name)
{
    for (size_t point = 1; point < TR_COUNT_OF(names); point++) {
        if (tr_text_equal(tr_text_of(names[point]), name)) {
            return (uint8_t)point;
        }
    }
    return TR_TAP_LOST;
}
