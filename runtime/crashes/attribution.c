/*
 * A row for each part of a program that has ended an engine, and how often.
 *
 * The function and the signal are those of the last time. A part that keeps ending the process is
 * counted until the program forgets its row.
 */
#include "runtime/crashes/attribution.h"

#include <string.h>

#include "schemas/codec/utf8.h"

/*
 * A text of a slot, without what is no text: the slot comes from a mapped file that a crash left,
 * where it may have no end, and a long one was cut.
 */
static struct tr_text tidy(char *text, size_t capacity)
{
    struct tr_text tidied = {.data = text, .size = strnlen(text, capacity - 1)};
    for (size_t i = 0; !tr_utf8_valid(tidied) && i < tidied.size; i++) {
        text[i] = (text[i] & 0x80) != 0 ? '?' : text[i];
    }
    return tidied;
}

void tri_attribution_count(struct tri_crashes *crashes, const struct tri_current_message *slot,
                           uint32_t incarnation)
{
    char name[sizeof slot->part];
    char function[sizeof slot->function];
    struct tri_crash_row wanted = {.kind = TRI_CRASH_PART};
    memcpy(name, slot->part, sizeof name);
    memcpy(function, slot->function, sizeof function);
    int error = tr_array_set(&wanted.part.part, tidy(name, sizeof name));
    TR_ASSERT(error == 0);
    struct tr_crash_part *part = &tri_crashes_row(crashes, &wanted, incarnation)->part;
    error = tr_array_set(&part->function, tidy(function, sizeof function));
    TR_ASSERT(error == 0);
    part->ended_by = slot->ended_by;
    part->ends++;
}
