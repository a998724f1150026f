/*
 * A few digits each: people compare such numbers, and reckon with none of them.
 */
#include "actors/graph/document/usage.h"

void tr_span_print(uint64_t milliseconds, struct tr_buffer *buffer)
{
    unsigned long long seconds = milliseconds / 1000;
    if (milliseconds < 10000) {
        tr_buffer_print(buffer, "%llu.%02us", seconds, (unsigned)(milliseconds % 1000 / 10));
    } else if (seconds < 60) {
        tr_buffer_print(buffer, "%llu.%us", seconds, (unsigned)(milliseconds % 1000 / 100));
    } else if (seconds < 3600) {
        tr_buffer_print(buffer, "%llum%02llus", seconds / 60, seconds % 60);
    } else {
        tr_buffer_print(buffer, "%lluh%02llum", seconds / 3600, seconds / 60 % 60);
    }
}

void tr_size_print(uint64_t bytes, struct tr_buffer *buffer)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    size_t unit = 0;
    while (size >= 1024 && unit + 1 < TR_COUNT_OF(units)) {
        size /= 1024;
        unit++;
    }
    tr_buffer_print(buffer, unit == 0 ? "%.0f %s" : "%.1f %s", size, units[unit]);
}

void tr_usage_print(const struct tr_usage *usage, struct tr_buffer *buffer)
{
    if (usage->elapsed_us == 0) {
        return;
    }
    tr_span_print(usage->elapsed_us / 1000, buffer);
    tr_buffer_add_string(buffer, ", CPU ");
    tr_span_print(usage->cpu_us / 1000, buffer);
    tr_buffer_add_string(buffer, ", memory ");
    tr_size_print(usage->memory_bytes_max, buffer);
    tr_buffer_add_string(buffer, " at most");
    if (usage->memory_bound > 0) {
        tr_buffer_add_string(buffer, " (the bound of ");
        tr_size_print(usage->memory_bound, buffer);
        tr_buffer_add_string(buffer,
                             usage->is_bound_kept ? " was enforced)" : " was not enforced)");
    }
}
