/*
 * The functions of schedules' messages, states and record, made from their definitions in
 * schedule.h.
 */
#include "schemas/engine/schedule.h"

TR_SCHEDULE_SCHEMAS(TR_SCHEMA_DEFINE)

#define WORD_ROW(name, number, word) [number] = (word),

static const char *word_of(const char *const *words, size_t count, uint8_t number)
{
    return number < count ? words[number] : "?";
}

const char *tr_schedule_step_words(uint8_t step)
{
    static const char *const words[] = {TR_SCHEDULE_STEPS(WORD_ROW)};
    return word_of(words, TR_COUNT_OF(words), step);
}

const char *tr_schedule_outcome_word(uint8_t outcome)
{
    static const char *const words[] = {TR_SCHEDULE_OUTCOMES(WORD_ROW)};
    return word_of(words, TR_COUNT_OF(words), outcome);
}

const char *tr_schedule_change_word(uint8_t change)
{
    static const char *const words[] = {TR_SCHEDULE_CHANGES(WORD_ROW)};
    return word_of(words, TR_COUNT_OF(words), change);
}
